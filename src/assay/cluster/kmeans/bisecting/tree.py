"""The tree of splits: routing rows to its leaves, and measuring the leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans.bisecting import tree as loops
from assay.cluster.kmeans.centers import read_only, table
from assay.cluster.kmeans.loops import add_row, squared_distance
from assay.loops import compiled
from assay.rows import Block, MappedRows, Rows

# Compiled loops of bisecting k-means: the way of a row down the tree, and sums over the leaves.
#
# Rows come dense or as CSR, as in `assay.cluster.kmeans.loops`.


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


Step = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class SplitTree:
    """A tree of splits; node 0 is the root. The s-th split makes the nodes 2s + 1 and 2s + 2.

    The first child of a node keeps its label, the second takes the next free one: dropping the last splits
    gives the partitions into fewer clusters, each nested in the one before.

    Parameters
    ----------
    children : array of int32 of shape (n_nodes, 2)
        Children of each node; −1 for leaves.
    centers : array of shape (n_nodes, n_features)
        Centre of each node: rows of its parent that are nearer to it than to its sibling are its own.
    labels : array of int32 of shape (n_nodes,)
        Label of each node among the leaves of its time.
    inertias : array of shape (n_nodes,)
        Inertia of the rows of each node about its centre.
    weights : array of shape (n_nodes,)
        Number of rows, or weight, of each node.
    split_nodes : array of int32 of shape (n_leaves − 1,)
        The nodes split, in order.
    """

    children: NDArray
    centers: NDArray
    labels: NDArray
    inertias: NDArray
    weights: NDArray
    split_nodes: NDArray

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.split_nodes) + 1

    @property
    def leaves(self) -> NDArray:
        """The leaves in the order of their labels."""
        ends = np.flatnonzero(self.children[:, 0] < 0)
        return ends[np.argsort(self.labels[ends])]

    def parents(self, n_clusters: int) -> NDArray:
        """Label, in the partition into `n_clusters`, of each label of the leaves."""
        merged = np.arange(self.n_leaves, dtype=np.int32)
        for label in range(n_clusters, self.n_leaves):
            merged[label] = merged[self.labels[self.split_nodes[label - 1]]]
        return merged

    def paths(self) -> NDArray:
        """Which leaves (columns, in the order of their labels) lie below which nodes (rows)."""
        below = np.zeros((len(self.children), self.n_leaves), dtype=bool)
        below[self.leaves, np.arange(self.n_leaves)] = True
        for node in self.split_nodes[::-1]:
            below[node] = below[self.children[node]].any(axis=0)
        return below


class Router(NamedTuple):
    """A tree as the loops take it; `centers` are float64, `norms` their squares."""

    children: NDArray
    centers: NDArray
    norms: NDArray
    labels: NDArray


class Survey(NamedTuple):
    """Sums (about the shift), weights and inertias of the leaves, total scatter, rows with another label."""

    sums: NDArray
    counts: NDArray
    inertias: NDArray
    scatter: float
    n_misrouted: int


def router(children: NDArray, centers: NDArray, labels: NDArray) -> Router:
    """Lay out a tree for routing."""
    points = centers.astype(np.float64)
    return Router(children, points, np.einsum("kd,kd->k", points, points), labels)


def route(block: Block, way: Router) -> NDArray:
    """Labels of the leaves that the rows of a block reach."""
    labels = np.empty(block.X.shape[0], dtype=np.int32)
    loops.descend(*table(block)[0], *way, labels)
    return labels


def survey(
    data: Rows, way: Router, leaf_centers: NDArray, shift: NDArray, labels: NDArray | None = None
) -> Survey:
    """Measure the leaves in one walk; labels of −1 are filled in, others are compared."""
    rowwise = () if labels is None else (labels,)
    return data.reduce(_survey_block, way, leaf_centers.astype(np.float64), shift, rowwise=rowwise)


def _survey_block(
    block: Block, way: Router, centers: NDArray, shift: NDArray, labels: NDArray | None = None
) -> Survey:
    routed = route(block, way)
    n_misrouted = 0
    if labels is not None:
        unknown = labels < 0
        labels[unknown] = routed[unknown]
        n_misrouted = int(np.count_nonzero(labels != routed))
        routed = labels
    sums, counts, inertias = np.zeros(centers.shape), np.zeros(len(centers)), np.zeros(len(centers))
    features, weight = table(block)
    norms = np.einsum("kd,kd->k", centers, centers)
    scatter = loops.survey_rows(
        *features, weight, shift, centers, norms, read_only(routed), sums, counts, inertias
    )
    return Survey(sums, counts, inertias, scatter, n_misrouted)


def leaf_rows(data: Rows, way: Router, label: int) -> Rows:
    """The rows of one leaf of a table outside memory: the other rows are there with weight 0.

    Nothing is kept for each row, so that a leaf of any size on any source can be walked.
    """
    return MappedRows(data, _on_leaf, way, label, has_weight=True, local=False)


def _on_leaf(block: Block, way: Router, label: int) -> Block:
    inside = route(block, way) == label
    weight = inside.astype(block.X.dtype) if block.weight is None else np.where(inside, block.weight, 0.0)
    return block._replace(weight=weight.astype(block.X.dtype, copy=False))
