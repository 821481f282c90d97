"""Neighbours by a tree, in blocks of queries on threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.distances._nearest_loops import home_leaves, nearest_points
from assay.distances._radius_loops import count_points, list_points, near_leaves
from assay.distances._tree import Tree, build_tree, with_balls
from assay.distances._tree_loops import LEAF
from assay.rows import ordered_map

BLOCK = 64 * LEAF
"""Queries a block: whole leaves of them when the queries are the points."""

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
        self.tree: Tree = with_balls(build_tree(X), power) if balls else build_tree(X)

    def nearest(self, n_neighbors: int, queries: NDArray | None) -> tuple[NDArray, NDArray]:
        """Powers and numbers of the nearest rows."""
        own, tree = queries is None, self.tree
        queries = self.X if queries is None else queries
        distances = np.empty((len(queries), n_neighbors), dtype=self.X.dtype)
        indices = np.empty((len(queries), n_neighbors), dtype=np.intp)

        def step(visited: NDArray, homes: NDArray) -> None:
            nearest_points(*tree, queries, visited, own, self.power, distances, indices)

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
        weights, cumulated = self._weights_of_leaves(weight)

        def step(visited: NDArray, homes: NDArray) -> None:
            count_points(
                tree.leaves, tree.boxes, tree.n_points, weights, cumulated,
                queries, visited, homes, self.power, limit, inside, counts,
            )  # fmt: skip

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
            list_points(
                tree.leaves, tree.order, tree.boxes,
                queries, visited, homes, self.power, limit, indptr, indices, distances,
            )  # fmt: skip

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
            _blockwise(
                lambda part: home_leaves(
                    self.tree.boxes, len(self.tree.leaves), queries[part], self.power, homes[part]
                ),
                n_queries,
            )
            order = np.argsort(homes, kind="stable")
            homes = homes[order]
        _blockwise(lambda part: step(order[part].astype(np.intp), homes[part]), n_queries)

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
    found, whole = np.empty((n_leaves, 2), dtype=np.intp), np.empty((0, 3), dtype=np.intp)
    n_opened = sum(
        near_leaves(tree.boxes, n_leaves, row, row, power, limit, False, found, whole)[0]
        for row, limit in zip(sample, powers[:, -1], strict=True)
    )
    pays = n_opened * n_features <= paying_leaves * n_leaves * len(sample)
    return search if pays else None


def _blockwise(step: Callable[[slice], Any], n_items: int) -> None:
    blocks = [slice(start, min(start + BLOCK, n_items)) for start in range(0, n_items, BLOCK)]
    if len(blocks) <= 1:
        for block in blocks:
            step(block)
        return
    for _ in ordered_map(step, blocks):
        pass
