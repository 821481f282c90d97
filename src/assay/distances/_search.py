"""Neighbours of rows: the k nearest, and all within a radius."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances._brute_search import BruteSearch
from assay.distances._function_search import FunctionSearch
from assay.distances._metrics import SCALES, Metric, Scale, check_metric, check_table, is_proper_radius
from assay.distances._tree_search import TreeSearch, try_tree
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
        rows = self._scale.prepare(self.X)
        power = self._scale.power
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
        indptr, indices, distances = self._engine.within(
            limit, self._prepare(queries), keep_distances=return_distance
        )
        return Neighborhoods(indptr, indices, self._scale.distances(distances))

    def count_within(
        self, radius: float, queries: NDArray | None = None, *, weight: NDArray | None = None
    ) -> NDArray:
        """Number, or weight, of the rows within the radius."""
        limit = self._limit("count_within", radius)
        if weight is not None and np.shape(weight) != (len(self.X),):
            raise refusal(
                "count_within", "weight", f"one number a row ({len(self.X)})", f"shape {np.shape(weight)}"
            )
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
        return self._scale.prepare(table.astype(self.X.dtype, copy=False))


def _by_distance_then_index(distances: NDArray, indices: NDArray) -> Nearest:
    """Put the indices of equal distances in order: two powers that differ may have the same root."""
    swapped = (distances[:, 1:] == distances[:, :-1]) & (indices[:, 1:] < indices[:, :-1])
    for row in np.flatnonzero(swapped.any(axis=1)):
        indices[row] = indices[row, np.lexsort((indices[row], distances[row]))]
    return Nearest(distances, indices)
