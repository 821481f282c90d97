"""Neighbours of rows: the k nearest, and all within a radius."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances.brute import BruteSearch, blockwise
from assay.distances.functions import FunctionSearch
from assay.distances.loops import home_leaves, nearest_points
from assay.distances.metrics import (
    SCALES,
    Metric,
    Scale,
    check_metric,
    check_table,
    is_proper_radius,
)
from assay.distances.radius_loops import count_points, list_points, near_leaves
from assay.distances.ranges import check_range
from assay.distances.tree import LEAF, PointTree, build_tree, wide_tree, with_balls
from assay.parameters import one_of, refusal

METHODS = one_of("auto", "kd_tree", "ball_tree", "brute")


class Nearest(NamedTuple):
    """The nearest rows of each query, sorted by distance, then by index: arrays of shape (n_queries, k)."""

    distances: NDArray
    indices: NDArray


class Neighborhoods(NamedTuple):
    """All rows within a radius of each query q: `indices[indptr[q]:indptr[q + 1]]`, by increasing index."""

    indptr: NDArray
    indices: NDArray
    distances: NDArray


class NeighborSearch:
    """Finds neighbours among given rows.

    Queries run in blocks on threads. Every method gives the same answers, ties included: distances are those
    of the differences of the rows in their own precision, rows at the same distance come by index.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows, float32 or float64; distances have their dtype.
    metric : str or function
        A name of `METRICS` or a function d(x, z) of two rows.
    method : {"auto", "kd_tree", "ball_tree", "brute"}
        "kd_tree" bounds distances by boxes and serves every name of a metric; "ball_tree" bounds them by
        balls, and serves functions that obey the triangle inequality too; "brute" compares all rows, which
        is faster where these fill many dimensions. "auto" takes a KD-tree up to 7 features, tries one out
        on a few rows up to 64, and compares all beyond; for a function too, which is always right.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.distances import NeighborSearch
    >>> search = NeighborSearch(np.array([[0.0], [1.0], [3.0]]))
    >>> search.nearest(1).indices.ravel()
    array([1, 0, 1])
    >>> search.count_within(2.0)
    array([2, 3, 2])
    """

    def __init__(self, X: NDArray, *, metric: Metric = "euclidean", method: str = "auto") -> None:
        self.X, self.metric, self.method = check_table(X), check_metric(metric), method
        if not METHODS.contains(method):
            raise refusal("NeighborSearch", "method", METHODS.words, method)
        check_range(self.X, self.metric)
        self._scale = Scale(2)
        self._engine: TreeSearch | BruteSearch | FunctionSearch
        if not isinstance(self.metric, str):
            if method == "kd_tree":
                raise ValueError(
                    "The 'kd_tree' method of NeighborSearch needs a named metric; "
                    "take 'ball_tree' or 'brute' for a function."
                )
            self._engine = FunctionSearch(self.X, self.metric, tree=method == "ball_tree")
            return
        self._scale = SCALES[self.metric]
        rows, power = self._scale.prepare(self.X), self._scale.power
        if method == "auto":
            self._engine = try_tree(rows, power) or BruteSearch(rows, power)
        elif method == "brute":
            self._engine = BruteSearch(rows, power)
        else:
            self._engine = TreeSearch(rows, power, balls=method == "ball_tree")

    def nearest(self, n_neighbors: int, queries: NDArray | None = None) -> Nearest:
        """The nearest rows of each query; without queries, of each row, itself left out."""
        most = len(self.X) - (queries is None)
        if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors <= most:
            must_be = f"an int from 1 to {most}, the number of rows to choose from"
            raise refusal("nearest", "n_neighbors", must_be, n_neighbors)
        distances, indices = self._engine.nearest(int(n_neighbors), self._prepare(queries))
        return _by_distance_then_index(self._scale.distances(distances), indices)

    def within(
        self, radius: float, queries: NDArray | None = None, *, return_distance: bool = True
    ) -> Neighborhoods:
        """All rows at a distance of at most `radius`; without queries, of each row, itself included.

        Without `return_distance`, `distances` stays empty.
        """
        limit = self._limit("within", radius)
        near = self._engine.within(limit, self._prepare(queries), keep_distances=return_distance)
        return Neighborhoods(near[0], near[1], self._scale.distances(near[2]))

    def count_within(
        self, radius: float, queries: NDArray | None = None, *, weight: NDArray | None = None
    ) -> NDArray:
        """Number, or weight, of the rows within the radius."""
        limit = self._limit("count_within", radius)
        if weight is not None and np.shape(weight) != (len(self.X),):
            must_be = f"one number per row ({len(self.X)})"
            raise refusal("count_within", "weight", must_be, f"shape {np.shape(weight)}")
        return self._engine.count(limit, self._prepare(queries), weight)

    def _limit(self, owner: str, radius: Any) -> float:
        if not is_proper_radius(radius):
            raise refusal(owner, "radius", "a number at least 0", radius)
        return self._scale.limit(radius, self.X.dtype)

    def _prepare(self, queries: NDArray | None) -> NDArray | None:
        if queries is None:
            return None
        table = check_table(queries, "queries")
        if table.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"The queries have {table.shape[1]} columns but the rows have {self.X.shape[1]}; "
                "they must be as many."
            )
        table = np.ascontiguousarray(table, dtype=self.X.dtype)
        check_range(table, self.metric, spread=False)
        return self._scale.prepare(table)


def _by_distance_then_index(distances: NDArray, indices: NDArray) -> Nearest:
    """Put the indices of equal distances in order: two powers that differ may have the same root."""
    swapped = (distances[:, 1:] == distances[:, :-1]) & (indices[:, 1:] < indices[:, :-1])
    for row in np.flatnonzero(swapped.any(axis=1)):
        indices[row] = indices[row, np.lexsort((indices[row], distances[row]))]
    return Nearest(distances, indices)


BLOCK = 64 * LEAF
"""Queries per block: whole leaves of them when the queries are the points."""

SURE_FEATURES, MOST_FEATURES = 7, 64
"""Up to the first many features a tree pays, beyond the second it does not; between, it is tried out."""

PILOT_ROWS, PILOT_NEIGHBORS = 16, 8
PAYING_LEAVES = 1.6
"""A tree pays while a query opens at most this part of the leaves, over the number of features (measured)."""


class TreeSearch:
    """Searches the rows `X` for neighbours of queries; `queries=None` stands for the rows themselves.

    Distances and limits are powers: Σ (x − z)² for `power` 2, Σ |x − z| for 1, max |x − z| for 0.
    """

    def __init__(self, X: NDArray, power: int, *, balls: bool = False) -> None:
        self.X, self.power = X, power
        self.tree: PointTree = with_balls(build_tree(X), power) if balls else build_tree(X)
        self.wide = wide_tree(self.tree)

    def nearest(self, n_neighbors: int, queries: NDArray | None) -> tuple[NDArray, NDArray]:
        """Powers and numbers of the nearest rows."""
        own, tree, wide = queries is None, self.tree, self.wide
        queries = self.X if queries is None else queries
        distances = np.empty((len(queries), n_neighbors), dtype=self.X.dtype)
        indices = np.empty((len(queries), n_neighbors), dtype=np.intp)

        def step(visited: NDArray, homes: NDArray) -> None:
            nearest_points(tree, wide, queries, visited, own, self.power, distances, indices)

        self._walk(step, queries, own)
        return distances, indices

    def count(self, limit: float, queries: NDArray | None, weight: NDArray | None) -> NDArray:
        """Number, or weight, of the rows within the limit."""
        counts = self._count(limit, queries, weight, inside=True)
        return counts.astype(np.intp) if weight is None else counts

    def _count(
        self, limit: float, queries: NDArray | None, weight: NDArray | None, *, inside: bool
    ) -> NDArray:
        own, tree = queries is None, self.tree
        queries = self.X if queries is None else queries
        counts = np.empty(len(queries))
        masses = self._weights_of_leaves(weight)

        def step(visited: NDArray, homes: NDArray) -> None:
            count_points(tree, masses, queries, visited, homes, self.power, limit, inside, counts)

        self._walk(step, queries, own)
        return counts

    def within(
        self, limit: float, queries: NDArray | None, *, keep_distances: bool
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Starts, numbers and powers of the rows within the limit: counted first, then written."""
        own, tree = queries is None, self.tree
        # Counted in the very way in which they are listed: the two must not differ by one rounding.
        counts = self._count(limit, queries, None, inside=False)
        queries = self.X if queries is None else queries
        indptr = np.zeros(len(queries) + 1, dtype=np.intp)
        np.cumsum(counts.astype(np.intp), out=indptr[1:])
        indices = np.empty(indptr[-1], dtype=np.intp)
        distances = np.empty(indptr[-1] if keep_distances else 0, dtype=self.X.dtype)

        def step(visited: NDArray, homes: NDArray) -> None:
            list_points(tree, queries, visited, homes, self.power, limit, indptr, indices, distances)

        self._walk(step, queries, own)
        return indptr, indices, distances

    def _walk(self, step: Callable[[NDArray, NDArray], None], queries: NDArray, own: bool) -> None:
        """Call `step(visited, homes)` for blocks of queries that stand near each other in the tree."""
        n_queries = len(queries)
        if own:
            order: NDArray = self.tree.order
            homes: Any = np.arange(n_queries) // LEAF
        else:
            homes = np.empty(n_queries, dtype=np.intp)

            def send_home(part: slice) -> None:
                home_leaves(self.wide, queries[part], self.power, homes[part])

            blockwise(send_home, n_queries, BLOCK)
            order = np.argsort(homes, kind="stable")
            homes = homes[order]
        blockwise(lambda part: step(order[part].astype(np.intp), homes[part]), n_queries, BLOCK)

    def _weights_of_leaves(self, weight: NDArray | None) -> tuple[NDArray, NDArray]:
        n_leaves = len(self.tree.leaves)
        if weight is None:
            return np.empty((0, LEAF)), np.empty(0)
        weights = np.zeros((n_leaves, LEAF))
        weights.reshape(-1)[: len(weight)] = weight[self.tree.order]
        cumulated = np.zeros(n_leaves + 1)
        np.cumsum(weights.sum(axis=1), out=cumulated[1:])
        return weights, cumulated


def try_tree(X: NDArray, power: int, *, paying_leaves: float = PAYING_LEAVES) -> TreeSearch | None:
    """A tree over the rows, or None where comparing all of them is expected to be faster.

    That depends on the dimension the rows fill rather than on their number of features: a few rows spread
    over the table ask for their neighbours, and what counts is the part of the leaves they have to open.
    """
    n_rows, n_features = X.shape
    if n_features > MOST_FEATURES:
        return None
    search = TreeSearch(X, power)
    if n_features <= SURE_FEATURES:
        return search
    tree, n_leaves = search.tree, len(search.tree.leaves)
    sample = X[:: -(-n_rows // PILOT_ROWS)]
    powers, _ = search.nearest(min(PILOT_NEIGHBORS, n_rows), sample)
    near, whole = np.empty((n_leaves, 2), dtype=np.intp), np.empty((0, 3), dtype=np.intp)
    n_opened = sum(
        near_leaves(tree.boxes, n_leaves, row, row, power, limit, False, near, whole)[0]
        for row, limit in zip(sample, powers[:, -1], strict=True)
    )
    pays = n_opened * n_features <= paying_leaves * n_leaves * len(sample)
    return search if pays else None
