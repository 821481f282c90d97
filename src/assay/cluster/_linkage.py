"""The tree of any linkage, by the algorithm that suits it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster import _linkage_center_loops as center_loops
from assay.cluster._hierarchy_loops import label_edges, prim_step
from assay.cluster._linkage_loops import ward_costs
from assay.cluster._linkage_merges import Linkage, Merges
from assay.cluster._linkage_rounds import FEW, link_pairs
from assay.distances import Metric, NeighborSearch, distance_matrix, euclidean_spanning_tree

LINKAGES = ("ward", "single", "complete", "average", "weighted", "centroid", "median")
CENTRED = ("ward", "centroid", "median")
"""Linkages between centres: they are about Euclidean distances."""

FEW_FEATURES = 32
"""Up to here a distance between two centres costs less than keeping it."""
MANY_ROWS = 40_000
"""From here on the triangle of all pairs is not stored where centres will do."""


class RowLeaves(NamedTuple):
    """Leaves that are rows."""

    X: NDArray
    weights: NDArray
    metric: Metric

    def ordered(self, order: NDArray) -> RowLeaves:
        """The same leaves in another order."""
        return RowLeaves(self.X[order], self.weights[order], self.metric)

    def block(self, start: int, stop: int) -> NDArray:
        """Dissimilarities of the leaves start, …, stop − 1 to the leaves 0, …, stop − 1."""
        return distance_matrix(self.X[start:stop], self.X[:stop], metric=self.metric)


class WardLeaves(NamedTuple):
    """Leaves that are rows, by the increase of the inertia when two are joined."""

    X: NDArray
    weights: NDArray

    def ordered(self, order: NDArray) -> WardLeaves:
        """The same leaves in another order."""
        return WardLeaves(self.X[order], self.weights[order])

    def block(self, start: int, stop: int) -> NDArray:
        """Costs of joining the leaves start, …, stop − 1 with the leaves 0, …, stop − 1."""
        squares = distance_matrix(self.X[start:stop], self.X[:stop], metric="sqeuclidean")
        ward_costs(squares, self.weights, start, stop - start)
        return squares


class GivenLeaves(NamedTuple):
    """Leaves whose dissimilarities are given."""

    D: NDArray
    weights: NDArray

    def ordered(self, order: NDArray) -> GivenLeaves:
        """The same leaves in another order."""
        return GivenLeaves(self.D[np.ix_(order, order)], self.weights[order])

    def block(self, start: int, stop: int) -> NDArray:
        """Dissimilarities of the leaves start, …, stop − 1 to the leaves 0, …, stop − 1."""
        return self.D[start:stop, :stop].astype(np.float64, copy=False)


def link(X: NDArray, weights: NDArray, linkage: str, metric: Metric) -> Linkage:
    """Join rows, or leaves given by the matrix of their dissimilarities ("precomputed").

    Heights are those of the definition of the linkage, for Ward the increase of the inertia.
    """
    n = X.shape[0]
    if n == 1:
        return Linkage(np.empty((0, 2), dtype=np.int64), np.empty(0))
    if linkage == "single":
        return _link_single(X, metric)
    if metric == "precomputed":
        return link_pairs(GivenLeaves(X, weights), linkage)
    X = X.astype(np.float64, copy=False)
    if linkage in CENTRED and (linkage != "ward" or X.shape[1] <= FEW_FEATURES or n > MANY_ROWS):
        return _link_centers(X, weights, linkage)
    uniform = bool((weights == weights[0]).all())
    nearest: tuple[NDArray, NDArray] | None = None
    if n > FEW and not callable(metric) and (linkage != "ward" or uniform):
        found = NeighborSearch(X, metric=metric).nearest(1)
        nearest = found.distances[:, 0].astype(np.float64), found.indices[:, 0].astype(np.int64)
    if linkage == "ward":
        if nearest is not None:
            nearest = 0.5 * weights[0] * nearest[0] ** 2, nearest[1]
        return link_pairs(WardLeaves(X, weights), linkage, nearest=nearest)
    return link_pairs(RowLeaves(X, weights, metric), linkage, nearest=nearest)


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


def _link_single(X: NDArray, metric: Metric) -> Linkage:
    """Join along the minimum spanning tree: its edges, by increasing length, are the joins (Kruskal)."""
    if isinstance(metric, str) and metric in ("euclidean", "l2"):
        first, second, length = euclidean_spanning_tree(X.astype(np.float64, copy=False))
    else:
        first, second, length = _spanning_tree_by_rows(X, metric)
    children = np.empty((len(length), 2), dtype=np.int64)
    label_edges(first.astype(np.int64), second.astype(np.int64), children)
    return Linkage(children, length.astype(np.float64))


def _spanning_tree_by_rows(X: NDArray, metric: Metric) -> tuple[NDArray, NDArray, NDArray]:
    """Prim's algorithm with one row of dissimilarities at a time, in O(n) memory beside the rows."""
    n = X.shape[0]
    distance, origin = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    first, second, length = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    added = 0
    distance[0] = -1.0  # in the tree
    for t in range(n - 1):
        row: Any = (
            X[added] if metric == "precomputed" else distance_matrix(X[added : added + 1], X, metric=metric)
        )
        added = prim_step(np.ravel(row).astype(np.float64, copy=False), added, distance, origin)
        length[t], distance[added] = distance[added], -1.0
        first[t], second[t] = min(added, origin[added]), max(added, origin[added])
    order = np.lexsort((second, first, length))
    return first[order], second[order], length[order]
