"""Searches beside the trees and tiles of `assay.distances`: given distances, other metrics, rows on disk.

Each has the two verbs of `NeighborSearch`: `nearest(n_neighbors, queries)` sorted by distance, then by row,
and `within(radius, queries)` by row; `queries=None` stands for the rows themselves, which `nearest` leaves
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.distances import METRICS, Nearest, Neighborhoods, NeighborSearch, check_sums
from assay.distances.others import other_distances
from assay.rows import Block, MemoryRows, Rows

MATRIX_NUMBERS = 2**22
"""Distances of one matrix that are held at once."""

QUERIES_AT_ONCE = 2**16
"""Queries that rows outside memory are walked for at once."""


class PairwiseSearch:
    """Searches rows by matrices of distances, a few queries at a time.

    Serves sparse rows and the metrics that only `sklearn.metrics.pairwise_distances` knows.
    """

    def __init__(self, X: Any, metric: Any, options: Mapping[str, Any]) -> None:
        self.X, self.metric, self.options = X, metric, dict(options)

    def nearest(self, n_neighbors: int, queries: Any = None) -> Nearest:
        """The nearest rows of each query; without queries, of each row, itself left out."""
        parts = [
            sorted_nearest(matrix, n_neighbors, start if queries is None else None)
            for start, matrix in self._matrices(queries)
        ]
        return Nearest(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def within(self, radius: float, queries: Any = None) -> Neighborhoods:
        """All rows at a distance of at most `radius`; without queries, of each row, itself included."""
        return joined([listed_within(matrix, radius) for _, matrix in self._matrices(queries)])

    def _matrices(self, queries: Any) -> Iterator[tuple[int, NDArray]]:
        asked = self.X if queries is None else queries
        step = max(1, MATRIX_NUMBERS // self.X.shape[0])
        for start in range(0, asked.shape[0], step):
            yield start, self._matrix(asked[start : start + step])

    def _matrix(self, queries: Any) -> NDArray:
        return other_distances(queries, self.X, self.metric, self.options).astype(self.X.dtype)


class GivenDistances:
    """Searches a given matrix of distances; queries are rows of distances to the rows of the fit."""

    def __init__(self, D: NDArray) -> None:
        self.X = D

    def nearest(self, n_neighbors: int, queries: Any = None) -> Nearest:
        """The nearest rows of each query; without queries, of each row, itself left out."""
        if queries is None:
            return sorted_nearest(self.X, n_neighbors, 0)
        if sparse.issparse(queries):
            return GivenGraph(queries).nearest(n_neighbors, queries)
        return sorted_nearest(queries, n_neighbors)

    def within(self, radius: float, queries: Any = None) -> Neighborhoods:
        """All rows at a distance of at most `radius`; without queries, of each row, itself included."""
        if sparse.issparse(queries):
            return GivenGraph(queries).within(radius, queries)
        return listed_within(self.X if queries is None else queries, radius)


class GivenGraph:
    """Searches a given sparse matrix of distances, whose missing entries are no neighbours.

    Such a graph is what `kneighbors_graph(mode="distance")` gives; a stored entry of 0 is a distance.
    """

    def __init__(self, graph: Any) -> None:
        self.X = sparse.csr_matrix(graph)

    def nearest(self, n_neighbors: int, queries: Any = None) -> Nearest:
        """The nearest rows of each query; without queries, of each row, itself left out."""
        if queries is not None and not sparse.issparse(queries):
            return sorted_nearest(queries, n_neighbors)
        lists = self._listed(queries, leave_out=queries is None)
        sizes = np.diff(lists.indptr)
        if len(sizes) and int(sizes.min()) < n_neighbors:
            row, size = int(np.argmin(sizes)), int(sizes.min())
            raise ValueError(
                f"{n_neighbors} neighbors are required for each row, and row {row} of the sparse matrix of "
                f"distances has only {size}; give a matrix with more entries."
            )
        owners = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((lists.indices, lists.distances, owners))
        first = lists.indptr[:-1, None] + np.arange(n_neighbors)
        places = order[first]
        return Nearest(lists.distances[places], lists.indices[places])

    def within(self, radius: float, queries: Any = None) -> Neighborhoods:
        """All rows with a distance of at most `radius`; without queries, of each row, itself included."""
        if queries is not None and not sparse.issparse(queries):
            return listed_within(queries, radius)
        lists = self._listed(queries, leave_out=False)
        owners = np.repeat(np.arange(len(lists.indptr) - 1), np.diff(lists.indptr))
        near = lists.distances <= radius
        counts = np.bincount(owners[near], minlength=len(lists.indptr) - 1)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Neighborhoods(indptr, lists.indices[near], lists.distances[near])

    def _listed(self, queries: Any, *, leave_out: bool) -> Neighborhoods:
        graph = self.X if queries is None else sparse.csr_matrix(queries)
        graph.sort_indices()
        lists = Neighborhoods(graph.indptr.astype(np.intp), graph.indices.astype(np.intp), graph.data)
        if not leave_out:
            return lists
        owners = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        stay = lists.indices != owners
        counts = np.bincount(owners[stay], minlength=graph.shape[0])
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Neighborhoods(indptr, lists.indices[stay], lists.distances[stay])


def sorted_nearest(matrix: NDArray, n_neighbors: int, own: int | None = None) -> Nearest:
    """The least entries of each line of a matrix, by size, then by place; `own` is the first row left out."""
    if own is not None:
        matrix = matrix.copy()
        matrix[np.arange(len(matrix)), own + np.arange(len(matrix))] = np.inf
    indices = np.argsort(matrix, axis=1, kind="stable")[:, :n_neighbors]
    return Nearest(np.take_along_axis(matrix, indices, axis=1), indices)


def listed_within(matrix: NDArray, radius: float) -> Neighborhoods:
    """The entries of each line of a matrix that are at most the radius."""
    near = matrix <= radius
    owners, indices = np.nonzero(near)
    indptr = np.searchsorted(owners, np.arange(len(matrix) + 1))
    return Neighborhoods(indptr, indices, matrix[near])


def joined(parts: list[Neighborhoods]) -> Neighborhoods:
    """Neighbourhoods of blocks of queries as those of all queries."""
    counts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
    indices, distances = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "distances")
    )
    return Neighborhoods(np.cumsum(counts), indices, distances)


class WalkedSearch:
    """Searches rows outside memory: each walk keeps the best of every block, merged in the order of the rows.

    Rows of weight 0 are passed over. The answers are those of the same rows in memory, to the bit.
    """

    def __init__(self, data: Rows, metric: Any) -> None:
        self.data, self.metric = data, metric

    def nearest(self, n_neighbors: int, queries: NDArray | None = None) -> Nearest:
        """The nearest rows of each query, which must be given."""
        assert queries is not None, "rows outside memory are not asked about themselves"
        parts = []
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            asked = queries[start : start + QUERIES_AT_ONCE].astype(self.data.dtype)
            merge = partial(merge_nearest, n_neighbors=n_neighbors)
            parts.append(self.data.reduce(nearest_of_block, asked, n_neighbors, self.metric, combine=merge))
        return Nearest(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def within(self, radius: float, queries: NDArray | None = None) -> Neighborhoods:
        """All rows at a distance of at most `radius`."""
        assert queries is not None, "rows outside memory are not asked about themselves"
        asked = np.asarray(queries).astype(self.data.dtype)
        return self.data.reduce(within_block, asked, radius, self.metric, combine=merge_within)


class Part(NamedTuple):
    """The rows of a block that weigh something, and their numbers."""

    X: NDArray
    numbers: NDArray


def _part_of(block: Block) -> Part:
    numbers = block.start + np.arange(block.X.shape[0])
    if block.weight is None:
        return Part(block.X, numbers)
    kept = block.weight > 0
    return Part(block.X[kept], numbers[kept])


def nearest_of_block(block: Block, queries: NDArray, n_neighbors: int, metric: Any) -> Nearest:
    """The nearest rows among those of a block; fewer than asked for where it has no more."""
    part = _part_of(block)
    if not len(part.X):
        return Nearest(np.empty((len(queries), 0), queries.dtype), np.empty((len(queries), 0), np.intp))
    search = NeighborSearch(part.X, metric=metric, method="brute")
    found = search.nearest(min(n_neighbors, len(part.X)), queries)
    return Nearest(found.distances, part.numbers[found.indices])


def merge_nearest(left: Nearest, right: Nearest, *, n_neighbors: int) -> Nearest:
    """The best of both: all rows of the left have lower numbers, so that a stable sort decides ties."""
    distances = np.concatenate([left.distances, right.distances], axis=1)
    indices = np.concatenate([left.indices, right.indices], axis=1)
    order = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    return Nearest(np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1))


def within_block(block: Block, queries: NDArray, radius: float, metric: Any) -> Neighborhoods:
    """The rows of a block within the radius."""
    part = _part_of(block)
    if not len(part.X):
        return Neighborhoods(np.zeros(len(queries) + 1, np.intp), np.empty(0, np.intp), np.empty(0))
    found = NeighborSearch(part.X, metric=metric, method="brute").within(radius, queries)
    return found._replace(indices=part.numbers[found.indices])


def merge_within(left: Neighborhoods, right: Neighborhoods) -> Neighborhoods:
    """The rows of both for each query, those of the left first."""
    n_queries = len(left.indptr) - 1
    owners = np.concatenate([np.repeat(np.arange(n_queries), np.diff(side.indptr)) for side in (left, right)])
    order = np.argsort(owners, kind="stable")
    indices, distances = (
        np.concatenate([getattr(side, name) for side in (left, right)])[order]
        for name in ("indices", "distances")
    )
    return Neighborhoods(left.indptr + right.indptr, indices, distances)


Search: TypeAlias = NeighborSearch | PairwiseSearch | GivenDistances | GivenGraph | WalkedSearch


def make_search(data: Rows, metric: Any, options: Mapping[str, Any], method: str) -> Search:
    """The search that serves some rows and a metric."""
    own = callable(metric) or (metric in METRICS and not options)
    if not isinstance(data, MemoryRows):
        if not own:
            raise ValueError(
                f"Rows outside memory are searched by a function or one of {', '.join(map(repr, METRICS))}. "
                f"Got the metric {metric!r} instead; bring the rows into memory for it."
            )
        return WalkedSearch(data, partial(metric, **options) if callable(metric) and options else metric)
    if isinstance(metric, str) and metric == "precomputed":
        return GivenGraph(data.X) if data.is_sparse else GivenDistances(data.X)
    if data.is_sparse and not callable(metric):
        check_sums(data, metric if metric in METRICS else "sqeuclidean")
    if data.is_sparse or not own:
        return PairwiseSearch(data.X, metric, options)
    if callable(metric):
        metric = partial(metric, **options) if options else metric
        method = "brute" if method == "kd_tree" else method
    return NeighborSearch(data.X, metric=metric, method=method)
