"""Compiled loops of bisecting k-means: the way of a row down the tree, and sums over the leaves.

Rows come dense or as CSR, as in `assay.cluster._kmeans_loops`.
"""

from __future__ import annotations

import numpy as np

from assay.cluster._kmeans_loops import add_row, squared_distance
from assay.loops import compiled


@compiled
def descend(dense, values, columns, starts, children, centers, norms, node_labels, labels):  # type: ignore[no-untyped-def]
    """Label of the leaf that each row reaches, at every node by the nearer child; ties go to the first."""
    for i in range(labels.shape[0]):
        norm, node = 0.0, np.int64(0)
        if values is not None:
            for position in range(starts[i], starts[i + 1]):
                norm += np.float64(values[position]) ** 2
        while children[node, 0] >= 0:
            first, second = np.int64(children[node, 0]), np.int64(children[node, 1])
            to_first = squared_distance(dense, values, columns, starts, i, norm, centers, norms, first)
            to_second = squared_distance(dense, values, columns, starts, i, norm, centers, norms, second)
            node = second if to_second < to_first else first
        labels[i] = node_labels[node]


@compiled
def survey_rows(  # type: ignore[no-untyped-def]
    dense, values, columns, starts, weight, shift, centers, norms, labels, sums, counts, inertias
):  # fmt: skip
    """Add every row to the sums, counts and inertias of its cluster; return Σ w ‖x − shift‖².

    `norms` are ‖c‖² and only used for CSR rows, whose shift is 0.
    """
    scatter = 0.0
    for i in range(labels.shape[0]):
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        label, norm = np.int64(labels[i]), 0.0
        if values is not None:
            for position in range(starts[i], starts[i + 1]):
                norm += np.float64(values[position]) ** 2
        if dense is not None:
            for f in range(sums.shape[1]):
                norm += (np.float64(dense[i, f]) - shift[f]) ** 2
        own = squared_distance(dense, values, columns, starts, i, norm, centers, norms, label)
        add_row(dense, values, columns, starts, shift, i, w, sums, label)
        counts[label] += w
        inertias[label] += w * own
        scatter += w * norm
    return scatter
