"""Neighbours by comparing every query with every row, tile by tile on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.distances._tile_loops import absorb_tile, count_tile, fill_tile, list_tile, lower_tile
from assay.rows import ordered_map

TILE_QUERIES, TILE_ROWS = 256, 256

DIRECT_FEATURES = 24
"""Up to this many features differences are summed; beyond, inner products are faster."""


class BruteSearch:
    """Searches the rows `X` for neighbours of queries; `queries=None` stands for the rows themselves.

    Distances and limits are powers, as in `TreeSearch`. Memory is a tile a thread, besides the rows and the
    result. Squared distances of many features are first bounded by inner products of rows moved to their
    mean; those that may count are summed from the differences, so that the answers are those of a tree.
    """

    def __init__(self, X: NDArray, power: int) -> None:
        self.X, self.power = X, power
        self.rounding = 0.0
        self.columns = self.norms = np.empty(0, dtype=X.dtype)
        n_features = X.shape[1]
        if power == 2 and n_features > DIRECT_FEATURES:
            # Products, norms, the move to the mean and the sum of differences itself all round.
            self.rounding = (2 * n_features + 16) * float(np.finfo(X.dtype).eps)
            self.center = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
            self.centered = self.X - self.center
            self.norms = np.einsum("ij,ij->i", self.centered, self.centered)
        else:
            self.columns = np.ascontiguousarray(X.T)

    def nearest(self, n_neighbors: int, queries: NDArray | None) -> tuple[NDArray, NDArray]:
        """Powers and numbers of the nearest rows."""
        own = queries is None
        queries = self.X if queries is None else queries
        best = np.full((len(queries), n_neighbors), np.inf, dtype=self.X.dtype)
        numbers = np.full((len(queries), n_neighbors), len(self.X), dtype=np.intp)

        def step(block: slice) -> None:
            part = queries[block]
            start = block.start if own else -1 - len(queries)
            for first, tile, _ in self._tiles(part):
                absorb_tile(tile, self.rounding, part, self.X, first, start, best[block], numbers[block])

        _blockwise(step, len(queries))
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

        _blockwise(step, len(queries))
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

        found = list(_results(step, len(queries)))
        np.cumsum(indptr, out=indptr)
        numbers, powers = (np.concatenate(pieces) for pieces in zip(*found, strict=True))
        return indptr, numbers, powers

    def _tiles(self, queries: NDArray) -> Iterator[tuple[int, NDArray, NDArray]]:
        """First row of each tile, the tile, and the squared norms of the queries where there are any."""
        room = np.empty((len(queries), TILE_ROWS), dtype=self.X.dtype)
        norms = self.norms[:0]
        if self.rounding:
            centered = queries - self.center
            norms = np.einsum("ij,ij->i", centered, centered)
        for first in range(0, len(self.X), TILE_ROWS):
            last = min(first + TILE_ROWS, len(self.X))
            tile = room[:, : last - first]
            if self.rounding:
                np.matmul(centered, self.centered[first:last].T, out=tile)
                lower_tile(tile, norms, self.norms[first:last], self.rounding)
            else:
                fill_tile(queries, self.columns, first, self.power, tile)
            yield first, tile, norms


def _results(step: Callable[[slice], Any], n_queries: int) -> Iterator[Any]:
    blocks = [
        slice(start, min(start + TILE_QUERIES, n_queries)) for start in range(0, n_queries, TILE_QUERIES)
    ]
    return map(step, blocks) if len(blocks) <= 1 else ordered_map(step, blocks)


def _blockwise(step: Callable[[slice], Any], n_queries: int) -> None:
    for _ in _results(step, n_queries):
        pass
