"""The tree of any linkage, by the algorithm that suits it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.cluster.hierarchy import center_loops
from assay.cluster.hierarchy.rounds import FEW, Leaves, Linkage, Merges, link_pairs
from assay.cluster.hierarchy.tree import label_edges
from assay.distances import Metric, NeighborSearch, spanning_tree

LINKAGES = ("ward", "single", "complete", "average", "weighted", "centroid", "median")
CENTRED = ("ward", "centroid", "median")
"""Linkages between centres: they are about Euclidean distances."""

FEW_FEATURES = 32
"""Up to here a distance between two centres costs less than keeping it."""
MANY_ROWS = 40_000
"""From here on the triangle of all pairs is not stored where centres will do."""


def link(X: NDArray, weights: NDArray, linkage: str, metric: Metric) -> Linkage:
    """Join rows, or leaves given by the matrix of their dissimilarities ("precomputed").

    Heights are those of the definition of the linkage, for Ward the increase of the inertia.
    """
    n = X.shape[0]
    if n == 1:
        return Linkage(np.empty((0, 2), dtype=np.int64), np.empty(0))
    if linkage == "single":
        # The edges of the minimum spanning tree, by increasing length, are the joins (Kruskal).
        first, second, length = spanning_tree(X.astype(np.float64, copy=False), metric=metric)
        children = np.empty((len(length), 2), dtype=np.int64)
        label_edges(first.astype(np.int64), second.astype(np.int64), children)
        return Linkage(children, length.astype(np.float64))
    if metric == "precomputed":
        return link_pairs(Leaves(X, weights, metric), linkage)
    X = X.astype(np.float64, copy=False)
    if linkage in CENTRED and (linkage != "ward" or X.shape[1] <= FEW_FEATURES or n > MANY_ROWS):
        return _link_centers(X, weights, linkage)
    uniform = bool((weights == weights[0]).all())
    nearest = None
    if n > FEW and not callable(metric) and (linkage != "ward" or uniform):
        near = NeighborSearch(X, metric=metric).nearest(1)
        nearest = near.distances[:, 0].astype(np.float64), near.indices[:, 0].astype(np.int64)
    if linkage == "ward" and nearest is not None:
        nearest = 0.5 * weights[0] * nearest[0] ** 2, nearest[1]
    return link_pairs(Leaves(X, weights, "ward" if linkage == "ward" else metric), linkage, nearest=nearest)


def _link_centers(X: NDArray, weights: NDArray, linkage: str) -> Linkage:
    """Join by distances of centres, in O(n · n_features) memory."""
    n = len(X)
    # About the mean, differences of centres keep their digits wherever the rows lie.
    centers = np.ascontiguousarray((X - np.average(X, axis=0, weights=weights)).T)
    left, right, height = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    state = centers, weights.astype(np.float64), np.arange(n), left, right, height
    if linkage == "ward":
        center_loops.ward_chain(*state)
        merges = Merges(n)
        merges.add(left, right, height)
        return merges.sorted()
    kind = center_loops.CENTROID if linkage == "centroid" else center_loops.MEDIAN
    center_loops.join_closest(kind, *state)
    return Linkage(np.sort(np.column_stack([left, right]), axis=1), np.sqrt(height))


def ward_distance(
    A: ArrayLike, B: ArrayLike, *, weight_a: ArrayLike | None = None, weight_b: ArrayLike | None = None
) -> float:
    """Increase of the within sum of squares when two clusters are joined.

    D(A, B) = I(A ∪ B) − I(A) − I(B) = |A||B| / (|A| + |B|) ‖m_A − m_B‖², I(C) the inertia of C about its mean
    m_C. SciPy's and scikit-learn's Ward height of that join is √(2 D).

    Parameters
    ----------
    A, B : arrays of shape (n_rows, n_features)
        The rows of the two clusters.
    weight_a, weight_b : arrays of shape (n_rows,), optional
        Weights of the rows; a weight of 2 means that the row counts twice.

    Examples
    --------
    >>> from assay.cluster import ward_distance
    >>> ward_distance([[0.0], [2.0]], [[4.0]])
    6.0

    References
    ----------
    Sangnier §2.3.1; Douc & Le Corff §8.7.
    """
    rows = [_matrix(A, "A"), _matrix(B, "B")]
    if rows[0].shape[1] != rows[1].shape[1]:
        raise ValueError(
            "ward_distance takes rows with as many features. "
            f"Got {rows[0].shape[1]} and {rows[1].shape[1]} instead."
        )
    weights = [_weights(weight_a, rows[0], "weight_a"), _weights(weight_b, rows[1], "weight_b")]
    shift = rows[0][0]
    means = [np.average(part - shift, axis=0, weights=w) for part, w in zip(rows, weights, strict=True)]
    a, b = weights[0].sum(), weights[1].sum()
    return float(a * b / (a + b) * ((means[0] - means[1]) ** 2).sum())


def _matrix(values: ArrayLike, name: str) -> NDArray:
    matrix = np.asarray(values, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] == 0 or not np.isfinite(matrix).all():
        raise ValueError(
            f"The {name!r} parameter of ward_distance must be a matrix of finite numbers, rows × features."
        )
    return matrix


def _weights(values: ArrayLike | None, rows: NDArray, name: str) -> NDArray:
    if values is None:
        return np.ones(len(rows))
    weights = np.asarray(values, dtype=float)
    if weights.shape != rows.shape[:1] or not (weights >= 0.0).all() or not 0.0 < weights.sum() < np.inf:
        raise ValueError(
            f"The {name!r} parameter of ward_distance must hold one number at least 0 per row, not all 0."
        )
    return weights
