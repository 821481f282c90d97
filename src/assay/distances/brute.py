"""Neighbours by comparing every query with every row, tile by tile on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.distances.filtering import SingleFilter
from assay.distances.loops import insert, squared_distance
from assay.loops import compiled
from assay.rows import ordered_map

TILE_QUERIES, TILE_ROWS = 256, 256

DIRECT_FEATURES = 24
"""Up to this many features differences are summed; beyond, inner products are faster."""

PART_FEATURES = 128
"""Features of a tile that are read together: with as many rows they stay in the cache of a core."""

FILTERED_ROWS, MANY_QUERIES = 2048, 4096
"""Rows from which on a filter in single precision is tried; queries from which on its blocks are larger."""


class BruteSearch:
    """Searches the rows `X` for neighbours of queries; `queries=None` stands for the rows themselves.

    Distances and limits are powers, as in `TreeSearch`. Memory is a tile per thread, besides the rows and the
    result. Squared distances of many features are first bounded by inner products of rows moved to their
    mean; those that may count are summed from the differences, so that the answers are those of a tree.
    """

    def __init__(self, X: NDArray, power: int) -> None:
        self.X, self.power = X, power
        self.rounding, self.filter = 0.0, None
        self.columns = self.norms = np.empty(0, dtype=X.dtype)
        n_features = X.shape[1]
        if power == 2 and n_features > DIRECT_FEATURES:
            # Products, norms, the move to the mean and the sum of differences itself all round.
            self.rounding = (2 * n_features + 16) * float(np.finfo(X.dtype).eps)
            self.center = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
            self.centered = self.X - self.center
            self.norms = np.einsum("ij,ij->i", self.centered, self.centered)
            self.filter = self._choose_filter()
        else:
            self.columns = np.ascontiguousarray(X.T)

    def _choose_filter(self) -> SingleFilter | None:
        """A filter in single precision, where it pays: many rows, not crowded far from their mean."""
        if len(self.X) < FILTERED_ROWS:
            return None
        tried = SingleFilter(self.X, self.center, self.norms)
        return tried if tried.serves(self.nearest) else None

    def nearest(self, n_neighbors: int, queries: NDArray | None) -> tuple[NDArray, NDArray]:
        """Powers and numbers of the nearest rows."""
        own = queries is None
        queries = self.X if queries is None else queries
        best = np.full((len(queries), n_neighbors), np.inf, dtype=self.X.dtype)
        numbers = np.full((len(queries), n_neighbors), len(self.X), dtype=np.intp)

        def step(block: slice) -> None:
            part = queries[block]
            start = block.start if own else -1 - len(queries)
            if self.filter is not None and self.filter.absorb(part, start, best[block], numbers[block]):
                return
            for first, tile, norms in self._tiles(part):
                absorb_tile(
                    tile, self.rounding, norms, self.norms[first : first + TILE_ROWS],
                    part, self.X, first, start, best[block], numbers[block],
                )  # fmt: skip

        many = self.filter is not None and len(queries) >= MANY_QUERIES
        blockwise(step, len(queries), 2 * TILE_QUERIES if many else TILE_QUERIES)
        return best, numbers

    def count(self, limit: float, queries: NDArray | None, weight: NDArray | None) -> NDArray:
        """Number, or weight, of the rows within the limit."""
        queries = self.X if queries is None else queries
        weights = np.empty(0) if weight is None else np.asarray(weight, dtype=np.float64)
        counts = np.zeros(len(queries), dtype=np.float64)

        def step(block: slice) -> None:
            part = queries[block]
            for first, tile, norms in self._tiles(part):
                count_tile(
                    tile, self.rounding, norms, self.norms[first : first + TILE_ROWS],
                    part, self.X, first, weights, limit, counts[block],
                )  # fmt: skip

        blockwise(step, len(queries))
        return counts.astype(np.intp) if weight is None else counts

    def within(
        self, limit: float, queries: NDArray | None, *, keep_distances: bool
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Starts, numbers and powers of the rows within the limit."""
        queries = self.X if queries is None else queries
        indptr = np.zeros(len(queries) + 1, dtype=np.intp)

        def step(block: slice) -> tuple[NDArray, NDArray]:
            part = queries[block]
            lists = [
                list_tile(
                    tile, self.rounding, norms, self.norms[first : first + TILE_ROWS],
                    part, self.X, first, limit,
                )
                for first, tile, norms in self._tiles(part)
            ]  # fmt: skip
            owners, numbers, powers = (np.concatenate(pieces) for pieces in zip(*lists, strict=True))
            indptr[block.start + 1 : block.stop + 1] = np.bincount(owners, minlength=len(part))
            order = np.argsort(owners, kind="stable")
            return numbers[order], powers[order] if keep_distances else powers[:0]

        blocks = blockwise(step, len(queries))
        np.cumsum(indptr, out=indptr)
        numbers, powers = (np.concatenate(pieces) for pieces in zip(*blocks, strict=True))
        return indptr, numbers, powers

    def _tiles(self, queries: NDArray) -> Iterator[tuple[int, NDArray, NDArray]]:
        """First row of each tile, the tile, and the squared norms of the queries where there are any."""
        room = np.empty(len(queries) * min(TILE_ROWS, len(self.X)), dtype=self.X.dtype)
        norms = self.norms[:0]
        if self.rounding:
            centered = queries - self.center
            norms = np.einsum("ij,ij->i", centered, centered)
        for first in range(0, len(self.X), TILE_ROWS):
            last = min(first + TILE_ROWS, len(self.X))
            tile = room[: len(queries) * (last - first)].reshape(len(queries), last - first)
            if self.rounding:
                np.matmul(centered, self.centered[first:last].T, out=tile)
                lower_tile(tile, norms, self.norms[first:last], self.rounding)
            else:
                fill_tile(queries, self.columns, first, self.power, tile)
            yield first, tile, norms


def blockwise(step: Callable[[slice], Any], n_items: int, size: int = TILE_QUERIES) -> list[Any]:
    """Results of a step on blocks of items, on threads when there are several."""
    blocks = [slice(start, min(start + size, n_items)) for start in range(0, n_items, size)]
    return list(map(step, blocks) if len(blocks) <= 1 else ordered_map(step, blocks))


@compiled
def fill_tile(queries, columns, first, power, tile):  # type: ignore[no-untyped-def]
    """Powers between queries and the rows from `first` on, whose features are the rows of `columns`.

    Sums are kept in contiguous room and features are taken as slices: other forms do not vectorise. All
    queries meet a part of the features before the next part, so that wide rows are read from a near cache.
    """
    width, n_features = tile.shape[1], columns.shape[0]
    room = np.zeros(width, tile.dtype)
    for begin in range(0, n_features, PART_FEATURES):
        end = min(begin + PART_FEATURES, n_features)
        for i in range(tile.shape[0]):
            powers = tile[i]
            if begin > 0:
                for j in range(width):
                    room[j] = powers[j]
            else:
                for j in range(width):
                    room[j] = 0.0
            for f in range(begin, end):
                value, others = queries[i, f], columns[f][first : first + width]
                if power == 2:
                    for j in range(width):
                        difference = others[j] - value
                        room[j] += difference * difference
                elif power == 1:
                    for j in range(width):
                        room[j] += abs(others[j] - value)
                else:
                    for j in range(width):
                        difference = abs(others[j] - value)
                        room[j] = difference if difference > room[j] else room[j]
            for j in range(width):
                powers[j] = room[j]


@compiled
def lower_tile(tile, query_norms, row_norms, rounding):  # type: ignore[no-untyped-def]
    """Turn inner products into lower bounds on squared distances."""
    for i in range(tile.shape[0]):
        norm = query_norms[i]
        for j in range(tile.shape[1]):
            total = norm + row_norms[j]
            tile[i, j] = total - rounding * total - (tile[i, j] + tile[i, j])


@compiled
def absorb_tile(tile, rounding, query_norms, row_norms, queries, X, first, own, best, numbers):  # type: ignore[no-untyped-def]
    """Bring the best of each query up to date with the rows `first`, first + 1, … of a tile.

    `own` is the number of the first query among the rows, or less than −n_queries when they are not rows.
    """
    n_neighbors = best.shape[1]
    for i in range(tile.shape[0]):
        worst, n_near = best[i, n_neighbors - 1], 0
        for j in range(tile.shape[1]):
            n_near += tile[i, j] <= worst
        if n_near == 0:
            continue
        limit = worst
        if rounding > 0.0 and n_near > n_neighbors + 1:
            # One more than are sought, for one may be the query itself, are no farther than this: a row
            # that surely is needs no sum, which takes long where features are many.
            least = np.partition(tile[i], n_neighbors)[n_neighbors]
            limit = min(worst, least + doubt(rounding, query_norms[i], row_norms.max()))
        for j in range(tile.shape[1]):
            if tile[i, j] <= min(limit, best[i, n_neighbors - 1]) and first + j != own + i:
                distance = tile[i, j]
                if rounding > 0.0:
                    distance = squared_distance(queries, i, X, first + j)
                # Rows come by increasing number: one that ties with the worst stays out.
                if distance < best[i, n_neighbors - 1]:
                    insert(distance, first + j, best[i], numbers[i])


@compiled
def count_tile(tile, rounding, query_norms, row_norms, queries, X, first, weights, limit, counts):  # type: ignore[no-untyped-def]
    """Add the number, or the weight, of the rows of a tile within the limit."""
    for i in range(tile.shape[0]):
        total = 0.0
        for j in range(tile.shape[1]):
            near = tile[i, j] <= limit
            if near and rounding > 0.0 and tile[i, j] + doubt(rounding, query_norms[i], row_norms[j]) > limit:
                near = squared_distance(queries, i, X, first + j) <= limit
            if near:
                total += weights[first + j] if weights.shape[0] > 0 else 1.0
        counts[i] += total


@compiled
def list_tile(tile, rounding, query_norms, row_norms, queries, X, first, limit):  # type: ignore[no-untyped-def]
    """Query, row and power of the pairs of a tile within the limit."""
    n_pairs = 0
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            n_pairs += tile[i, j] <= limit
    owners, numbers = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int64)
    powers = np.empty(n_pairs, tile.dtype)
    n_pairs = 0
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            if tile[i, j] <= limit:
                power = tile[i, j]
                if rounding > 0.0:
                    power = squared_distance(queries, i, X, first + j)
                if power <= limit:
                    owners[n_pairs], numbers[n_pairs], powers[n_pairs] = i, first + j, power
                    n_pairs += 1
    return owners[:n_pairs], numbers[:n_pairs], powers[:n_pairs]


@compiled
def doubt(rounding, query_norm, row_norm):  # type: ignore[no-untyped-def]
    """How far above its lower bound a squared distance may be."""
    return 2.0 * rounding * (query_norm + row_norm)


@compiled
def copy_upper(tile, first_row, first_column, n_rows, condensed):  # type: ignore[no-untyped-def]
    """Copy what a tile holds of the strict upper triangle to its place in the condensed form."""
    for i in range(tile.shape[0]):
        row = first_row + i
        # Entry (row, column) stands at offset + column.
        offset = row * n_rows - row * (row + 1) // 2 - row - 1
        for j in range(max(0, row + 1 - first_column), tile.shape[1]):
            condensed[offset + first_column + j] = tile[i, j]
