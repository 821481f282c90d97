"""Compiled: the errors of every number of neighbours from one sorted list of them."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled

FIRST, POSITIVE = 0, 1


@compiled
def path_mistakes(labels, weights, truth, n_classes, ties, wrong):  # type: ignore[no-untyped-def]
    """Whether the first 1, 2, … neighbours of each query decide for another class than the true one.

    Only the class of the neighbour that joins gains votes, so that it or the winner so far wins. `ties` is
    the place of the rule: the first class, the last, or the class that was met first. `weights` has one
    number per neighbour, or is a single one.
    """
    counts, met = np.empty(n_classes), np.empty(n_classes, np.int64)
    n_rows, n_columns = weights.shape
    for i in range(labels.shape[0]):
        counts[:] = 0.0
        met[:] = labels.shape[1]
        winner = labels[i, 0]
        for j in range(labels.shape[1]):
            label = labels[i, j]
            met[label] = min(met[label], j)
            counts[label] += weights[i if n_rows > 1 else 0, j if n_columns > 1 else 0]
            if counts[label] > counts[winner]:
                winner = label
            elif counts[label] == counts[winner] and label != winner:
                if ties == FIRST:
                    winner = min(winner, label)
                elif ties == POSITIVE:
                    winner = max(winner, label)
                elif met[label] < met[winner]:
                    winner = label
            wrong[i, j] = winner != truth[i]
