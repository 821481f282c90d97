"""Splitting one cluster after the other in two."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.bisecting.tree import SplitTree, leaf_rows, route, router, survey
from assay.cluster.kmeans.centers import inspect, place
from assay.cluster.kmeans.lloyd import Lloyd
from assay.rows import Block, MemoryRows, Rows

LEAF_BYTES = 2**27
"""A leaf of rows outside memory is brought into memory once it is no larger than this (128 MiB)."""

STUMP = np.array([[1, 2], [-1, -1], [-1, -1]], dtype=np.int32)
STUMP_LABELS = np.array([0, 0, 1], dtype=np.int32)

Split = Callable[[Rows, _init.Pool, np.random.Generator], Lloyd]


class Bisection(NamedTuple):
    """Result of `bisect`."""

    tree: SplitTree
    n_iter: int
    converged: bool


class Leaf(NamedTuple):
    """A node that may be split: its number, how much calls for it, and its rows where they are in memory."""

    node: int
    claim: float
    rows: MemoryRows | None


def bisect(
    data: Rows, n_clusters: int, split: Split, *, strategy: str, randoms: list[np.random.Generator]
) -> Bisection:
    """Split the leaf of largest inertia or weight in two, until there are `n_clusters` or none can be split.

    Parameters
    ----------
    data : Rows
        The rows to cluster.
    split : callable
        2-means of the rows of a leaf, with rows to draw its start from and a generator of its own.
    strategy : {"biggest_inertia", "largest_cluster"}
        What is split next.
    randoms : list of Generator
        One for the pool and one for each split.
    """
    growing = _Growing(data, randoms[0])
    waiting = [growing.leaf(0, strategy)]
    n_iter, converged = 0, True
    draws = iter(randoms[1:])
    while len(growing.split_nodes) + 1 < n_clusters and waiting:
        chosen = waiting.pop(int(np.argmax([leaf.claim for leaf in waiting])))
        rows, pool = growing.open_leaf(chosen)
        if pool is None:
            continue
        result = split(rows, pool, next(draws))
        if not growing.grow(chosen, rows, result.centers):
            continue
        n_iter, converged = n_iter + result.n_iter, converged and result.converged
        waiting += [growing.leaf(int(node), strategy) for node in growing.children[chosen.node]]
    return Bisection(growing.tree(), n_iter, converged)


class _Growing:
    """The tree while it grows, and where the rows of its leaves are."""

    def __init__(self, data: Rows, random: np.random.Generator) -> None:
        self._data, self._pool = data, _init.open_pool(data, random)
        guess = self._pool.data.take(np.array([0])).astype(np.float64)
        zero = np.zeros(data.shape[1])
        n_terms = data.shape[1]
        for _ in range(2):  # the mean of rows about a first mean keeps all digits
            found = inspect(data, place(guess, zero if data.is_sparse else guess[0], n_terms))
            guess = found.sums / found.counts.sum() + (0.0 if data.is_sparse else guess)
        center = guess.astype(data.dtype)
        alone = router(np.full((1, 2), -1, dtype=np.int32), center, np.zeros(1, dtype=np.int32))
        whole = survey(data, alone, center, zero if data.is_sparse else guess[0])
        self.children: list[list[int]] = [[-1, -1]]
        self.centers, self.labels = [center[0]], [0]
        self.inertias, self.weights = [float(whole.inertias[0])], [float(whole.counts[0])]
        self.split_nodes: list[int] = []
        self._in_memory = isinstance(data, MemoryRows)
        self._rows: dict[int, MemoryRows] = {0: data} if isinstance(data, MemoryRows) else {}
        self._kept_bytes = 0  # of leaves brought into memory and waiting there

    def tree(self) -> SplitTree:
        return SplitTree(
            np.array(self.children, dtype=np.int32),
            np.array(self.centers),
            np.array(self.labels, dtype=np.int32),
            np.array(self.inertias),
            np.array(self.weights),
            np.array(self.split_nodes, dtype=np.int32),
        )

    def leaf(self, node: int, strategy: str) -> Leaf:
        claim = self.inertias[node] if strategy == "biggest_inertia" else self.weights[node]
        return Leaf(node, claim, self._rows.pop(node, None))

    def open_leaf(self, leaf: Leaf) -> tuple[Rows, _init.Pool | None]:
        """The rows of a leaf, and those to draw a start from; None where the rows are all the same."""
        rows: Rows = self._fetched(leaf) if leaf.rows is None else leaf.rows
        if leaf.rows is not None:
            self._kept_bytes -= _size(leaf.rows)
        if isinstance(rows, MemoryRows):
            pool = self._pool if rows is self._pool.data else _init.open_pool(rows, np.random.default_rng(0))
        else:
            pool = self._part_of_pool(leaf)
        return rows, pool if _differ(pool.data) else None

    def _router(self) -> tuple[NDArray, NDArray, NDArray]:
        return (
            np.array(self.children, dtype=np.int32),
            np.array(self.centers),
            np.array(self.labels, dtype=np.int32),
        )

    def _fetched(self, leaf: Leaf) -> Rows:
        """Rows outside memory: in memory if the leaf is small, else among all, the others with weight 0."""
        data, way, label = self._data, router(*self._router()), self.labels[leaf.node]
        row_bytes = data.shape[1] * data.dtype.itemsize
        all_small = data.shape[0] * row_bytes <= LEAF_BYTES
        if not all_small and self._share(leaf) * data.shape[0] * row_bytes > LEAF_BYTES:
            return leaf_rows(data, way, label)
        members = np.flatnonzero(np.asarray(data.map(route, way, dtype=np.int32)) == label)
        if members.size * row_bytes > LEAF_BYTES:
            return leaf_rows(data, way, label)
        weight = np.asarray(data.map(_weights_of, dtype=data.dtype))[members] if data.has_weight else None
        return MemoryRows(data.take(members), None, weight)

    def _share(self, leaf: Leaf) -> float:
        return self.weights[leaf.node] / self.weights[0]

    def _part_of_pool(self, leaf: Leaf) -> _init.Pool:
        """The drawn rows that lie in a leaf."""
        drawn = self._pool.data
        inside = drawn.map(route, router(*self._router()), dtype=np.int32) == self.labels[leaf.node]
        if not inside.any():  # no row of the sample lies there: the leaf cannot be told to have two parts
            inside[:1] = True
        weight = None if drawn.weight is None else drawn.weight[inside]
        return _init.open_pool(MemoryRows(drawn.X[inside], None, weight), np.random.default_rng(0))

    def grow(self, leaf: Leaf, rows: Rows, centers: NDArray) -> bool:
        """Hang two children below a leaf; false, and nothing is done, where one would have no rows."""
        stump = router(STUMP, np.vstack([centers[:1], centers]), STUMP_LABELS)
        shift = np.zeros(centers.shape[1]) if rows.is_sparse else centers.mean(axis=0, dtype=np.float64)
        found = survey(rows, stump, centers, shift)
        if not found.counts.min() > 0.0:
            return False
        first = len(self.children)
        self.children[leaf.node] = [first, first + 1]
        self.split_nodes.append(leaf.node)
        for side in range(2):
            self.children.append([-1, -1])
            self.centers.append(centers[side])
            self.labels.append(len(self.split_nodes) if side else self.labels[leaf.node])
            self.inertias.append(float(found.inertias[side]))
            self.weights.append(float(found.counts[side]))
        if isinstance(rows, MemoryRows) and (self._in_memory or self._kept_bytes + _size(rows) <= LEAF_BYTES):
            self._keep(rows, rows.map(route, stump, dtype=np.int32), first)
        return True

    def _keep(self, rows: MemoryRows, sides: NDArray, first: int) -> None:
        """Remember the rows of two new leaves."""
        self._kept_bytes += _size(rows)
        for side in range(2):
            inside = np.flatnonzero(sides == side)
            weight = None if rows.weight is None else rows.weight[inside]
            self._rows[first + side] = MemoryRows(rows.X[inside], None, weight)


def _size(rows: MemoryRows) -> int:
    """Bytes of the rows, as if dense."""
    return rows.shape[0] * rows.shape[1] * rows.dtype.itemsize


def _differ(data: MemoryRows) -> bool:
    """Whether two rows of positive weight differ."""
    first = data.take(np.array([_first_present(data)]))
    return bool(data.head(64, _spread, first) or data.reduce(_spread, first, combine=max))


def _first_present(data: MemoryRows) -> int:
    return 0 if data.weight is None else int(np.argmax(data.weight > 0.0))


def _spread(block: Block, first: NDArray) -> bool:
    rows = block.X if isinstance(block.X, np.ndarray) else block.X.toarray()
    different = (rows != first).any(axis=1)
    return bool(different.any() if block.weight is None else (different & (block.weight > 0.0)).any())


def _weights_of(block: Block) -> NDArray | None:
    return block.weight
