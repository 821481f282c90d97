"""Splitting one cluster after the other in two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.bisecting.tree import Router, SplitTree, leaf_rows, route, router, survey
from assay.cluster.kmeans.small_loops import EMPTY, SETTLED, SPENT, STILL, TILE
from assay.cluster.kmeans.solver import Lloyd
from assay.loops import compiled, inner
from assay.rows import Block, MemoryRows, Rows

LEAF_BYTES = 2**27
"""A leaf of rows outside memory is brought into memory once it is no larger than this (128 MiB)."""

MAX_VALUES, MAX_ITERATIONS = 2**21, 2**12
"""Values of a leaf, and iterations, up to which one loop on one thread splits it: beyond, bounds pay."""

STUMP = np.array([[1, 2], [-1, -1], [-1, -1]], dtype=np.int32)
STUMP_LABELS = np.array([0, 0, 1], dtype=np.int32)

Split = Callable[[Rows, _init.Pool, np.random.Generator], Lloyd]


def bisect(
    data: Rows, n_clusters: int, split: Split, *, strategy: str, randoms: list[np.random.Generator]
) -> tuple[SplitTree, int, bool]:
    """Split the leaf of largest inertia or weight in two, until there are `n_clusters` or none can be split.

    `split` is 2-means of the rows of a leaf, with rows to draw its start from and a generator of its own;
    `randoms` are one generator for the pool and one for each split. Returns the tree, the number of all
    iterations, and whether every split converged.
    """
    growing = _Growing(data, randoms[0])
    claims = growing.inertias if strategy == "biggest_inertia" else growing.weights
    waiting, n_iter, converged, draws = [0], 0, True, iter(randoms[1:])
    while len(growing.split_nodes) + 1 < n_clusters and waiting:
        chosen = waiting.pop(int(np.argmax([claims[node] for node in waiting])))
        rows, pool = growing.open_leaf(chosen)
        if not _differ(pool.data):
            continue
        result = split(rows, pool, next(draws))
        if not growing.grow(chosen, rows, pool, result.centers):
            continue
        n_iter, converged = n_iter + result.n_iter, converged and result.converged
        waiting += growing.children[chosen]
    return growing.tree(), n_iter, converged


def halve_rows(data: Rows, start: NDArray, *, tol: float, max_iter: int) -> Lloyd | None:
    """2-means of dense rows in one loop; None where there are too many, or one side loses its rows."""
    if not isinstance(data, MemoryRows) or data.is_sparse or data.X.size > MAX_VALUES:
        return None
    n_rows, n_features = data.shape
    shift = start.mean(axis=0, dtype=np.float64)
    n_tiles = -(-n_rows // TILE)
    tiles, mass = np.empty((n_tiles, n_features, TILE)), np.zeros(n_tiles * TILE)
    mass[:n_rows] = 1.0 if data.weight is None else data.weight
    radius = float(np.sqrt(fill_tiles(np.ascontiguousarray(data.X), shift, tiles)))
    centers, sides = start - shift, np.full(len(mass), 2, dtype=np.int8)
    most = min(max_iter, MAX_ITERATIONS)
    trace = np.empty(most + 1)
    n_iter, n_trace, ending = halve(tiles, mass, radius, centers, tol, most, sides, trace)
    if ending == EMPTY or (ending == SPENT and most < max_iter):
        return None
    settled = ending == SETTLED
    given = (centers + shift).astype(data.dtype)
    n_iter = min(n_iter + 1, max_iter) if settled else n_iter
    return Lloyd(given, None, trace[:n_trace].tolist(), n_iter, ending != SPENT, settled, [])


@compiled
def fill_tiles(X, shift, tiles):  # type: ignore[no-untyped-def]
    """Write rows about the shift into tiles, feature by feature; returns the largest squared norm."""
    largest = 0.0
    for t in range(tiles.shape[0]):
        begin = t * TILE
        for i in range(min(TILE, X.shape[0] - begin)):
            norm = 0.0
            for f in range(X.shape[1]):
                value = np.float64(X[begin + i, f]) - shift[f]
                tiles[t, f, i] = value
                norm += value * value
            largest = max(largest, norm)
        for i in range(max(X.shape[0] - begin, 0), TILE):
            for f in range(X.shape[1]):
                tiles[t, f, i] = 0.0
    return largest


@inner
def cut_tiles(tiles, mass, normal, offset, doubt, centers, sides, sums):  # type: ignore[no-untyped-def]
    """Put each row on its side of the plane x · normal = offset; returns weight and changes of the far side.

    `sums` gets the sum of the far rows. Rows within `doubt` of the plane are decided by their distances to
    both centres. Rows without mass stay where they are.
    """
    d = normal.shape[0]
    scores, far = np.empty(TILE), np.empty(TILE)
    sums[:] = 0.0
    weight, n_changed = 0.0, 0
    for t in range(tiles.shape[0]):
        begin, n_doubtful = t * TILE, 0
        for i in range(TILE):
            scores[i] = -offset
        for f in range(d):
            factor = normal[f]
            for i in range(TILE):
                scores[i] += factor * tiles[t, f, i]
        for i in range(TILE):
            n_doubtful += abs(scores[i]) <= doubt
        if n_doubtful > 0:
            for i in range(TILE):
                if abs(scores[i]) <= doubt:
                    first, second = 0.0, 0.0
                    for f in range(d):
                        first += (tiles[t, f, i] - centers[0, f]) ** 2
                        second += (tiles[t, f, i] - centers[1, f]) ** 2
                    scores[i] = first - second
        for i in range(TILE):
            side = scores[i] > 0.0
            w = mass[begin + i]
            n_changed += (w > 0.0) & (side != sides[begin + i])
            sides[begin + i] = side
            far[i] = w if side else 0.0
            weight += far[i]
        for f in range(d):
            total = 0.0
            for i in range(TILE):
                total += far[i] * tiles[t, f, i]
            sums[f] += total
    return weight, n_changed


@compiled
def halve(tiles, mass, radius, centers, tol, max_iter, sides, trace):  # type: ignore[no-untyped-def]
    """Lloyd's iteration with two centres: one product x · (c_1 − c_0) decides where a row goes.

    `centers` are about the shift of the tiles and end as those of the last assignment; `radius` is the
    largest norm of a row, `tol` what two updates in a row may move the centres by, relative to the mean
    variance. The sums of one side are those of all rows less those of the other. `trace` gets the inertia of
    every assignment. Returns the number of updates, of values in `trace`, and how it ended.
    """
    d = centers.shape[1]
    normal, sums, totals = np.empty(d), np.empty((2, d)), np.empty(d)
    total, scatter = 0.0, 0.0
    totals[:] = 0.0
    for t in range(tiles.shape[0]):
        for f in range(d):
            for i in range(TILE):
                value = mass[t * TILE + i] * tiles[t, f, i]
                totals[f] += value
                scatter += value * tiles[t, f, i]
        for i in range(TILE):
            total += mass[t * TILE + i]
    spread = scatter / total
    for f in range(d):
        spread -= (totals[f] / total) ** 2
    small_move = tol * max(spread, 0.0) / d
    previous, n_iter, counts = np.inf, 0, np.empty(2)
    while True:
        offset, length = 0.0, 0.0
        for f in range(d):
            normal[f] = centers[1, f] - centers[0, f]
            offset += 0.5 * (centers[1, f] ** 2 - centers[0, f] ** 2)
            length += normal[f] ** 2
        # The product is wrong by less than `doubt`: nearer to the plane, both distances are measured.
        doubt = 4.0e-16 * (d + 8) * (radius * np.sqrt(length) + abs(offset))
        counts[1], n_changed = cut_tiles(tiles, mass, normal, offset, doubt, centers, sides, sums[1])
        counts[0] = total - counts[1]
        if not min(counts[0], counts[1]) > 1e-12 * total:
            return n_iter, n_iter, EMPTY
        # Σ w ‖x − c‖² from the sums alone: Σ w ‖x‖² + Σ_c c · (n_c c − 2 Σ_c w x).
        inertia, movement = scatter, 0.0
        for f in range(d):
            sums[0, f] = totals[f] - sums[1, f]
            for c in range(2):
                inertia += centers[c, f] * (counts[c] * centers[c, f] - 2.0 * sums[c, f])
                movement += (sums[c, f] / counts[c] - centers[c, f]) ** 2
        trace[n_iter] = inertia
        if n_iter > 0 and n_changed == 0:
            return n_iter, n_iter + 1, SETTLED
        if n_iter > 0 and max(previous, movement) <= small_move:
            return n_iter, n_iter + 1, STILL
        if n_iter == max_iter:
            return n_iter, n_iter + 1, SPENT
        previous = movement
        for c in range(2):
            for f in range(d):
                centers[c, f] = sums[c, f] / counts[c]
        n_iter += 1


class _Growing:
    """The tree while it grows, and where the rows of its leaves are."""

    def __init__(self, data: Rows, random: np.random.Generator) -> None:
        self._data, self._pool = data, _init.open_pool(data, random)
        zero = np.zeros(data.shape[1])
        guess = zero if data.is_sparse else self._pool.data.take(np.array([0]))[0].astype(np.float64)
        for _ in range(1 if data.is_sparse else 2):  # the mean of rows about a first mean keeps all digits
            sums, weight = data.reduce(_sums_about, guess)
            guess = guess + sums / weight
        center = guess[np.newaxis].astype(data.dtype)
        alone = router(np.full((1, 2), -1, dtype=np.int32), center, np.zeros(1, dtype=np.int32))
        whole = survey(data, alone, center, zero if data.is_sparse else guess)
        self.children: list[list[int]] = [[-1, -1]]
        self.centers, self.labels = [center[0]], [0]
        self.inertias, self.weights = [float(whole.inertias[0])], [float(whole.counts[0])]
        self.split_nodes: list[int] = []
        self._in_memory = isinstance(data, MemoryRows)
        self._rows: dict[int, _init.Pool] = {0: self._pool} if self._in_memory else {}
        self._kept_bytes = 0  # of leaves brought into memory and waiting there

    def tree(self) -> SplitTree:
        children, labels = np.array(self.children, dtype=np.int32), np.array(self.labels, dtype=np.int32)
        measured = np.array(self.centers), labels, np.array(self.inertias), np.array(self.weights)
        return SplitTree(children, *measured, np.array(self.split_nodes, dtype=np.int32))

    def open_leaf(self, node: int) -> tuple[Rows, _init.Pool]:
        """The rows of a leaf, and those to draw a start from."""
        kept = self._rows.pop(node, None)
        if kept is not None:
            self._kept_bytes -= _size(kept.data)
            return kept.data, kept
        rows = self._fetched(node)
        if isinstance(rows, MemoryRows):
            return rows, _init.open_pool(rows, np.random.default_rng(0))
        inside = self._pool.data.map(route, self._router(), dtype=np.int32) == self.labels[node]
        if not inside.any():  # no row of the sample lies there: the leaf cannot be told to have two parts
            inside[:1] = True
        return rows, _init.part_of_pool(self._pool, inside)

    def _router(self) -> Router:
        tree = self.tree()
        return router(tree.children, tree.centers, tree.labels)

    def _fetched(self, node: int) -> Rows:
        """Rows outside memory: in memory if the leaf is small, else among all, the others with weight 0."""
        data, way, label = self._data, self._router(), self.labels[node]
        row_bytes = data.shape[1] * data.dtype.itemsize
        share = 1.0 if data.shape[0] * row_bytes <= LEAF_BYTES else self.weights[node] / self.weights[0]
        if share < 1.0 and share * data.shape[0] * row_bytes > LEAF_BYTES:
            return leaf_rows(data, way, label)
        members = np.flatnonzero(np.asarray(data.map(route, way, dtype=np.int32)) == label)
        if members.size * row_bytes > LEAF_BYTES:
            return leaf_rows(data, way, label)
        weight = _init.weights_of(data)[members] if data.has_weight else None
        return MemoryRows(data.take(members), None, weight)

    def grow(self, node: int, rows: Rows, pool: _init.Pool, centers: NDArray) -> bool:
        """Hang two children below a leaf; false, and nothing is done, where one would have no rows."""
        stump = router(STUMP, np.vstack([centers[:1], centers]), STUMP_LABELS)
        shift = np.zeros(centers.shape[1]) if rows.is_sparse else centers.mean(axis=0, dtype=np.float64)
        sides = np.full(rows.shape[0], -1, dtype=np.int32) if isinstance(rows, MemoryRows) else None
        halves = survey(rows, stump, centers, shift, sides)
        if not halves.counts.min() > 0.0:
            return False
        first = len(self.children)
        self.children[node] = [first, first + 1]
        self.split_nodes.append(node)
        for side in range(2):
            self.children.append([-1, -1])
            self.centers.append(centers[side])
            self.labels.append(len(self.split_nodes) if side else self.labels[node])
            self.inertias.append(float(halves.inertias[side]))
            self.weights.append(float(halves.counts[side]))
        if sides is not None and (self._in_memory or self._kept_bytes + _size(pool.data) <= LEAF_BYTES):
            self._kept_bytes += _size(pool.data)
            for side in range(2):
                self._rows[first + side] = _init.part_of_pool(pool, sides == side)
        return True


def _size(rows: MemoryRows) -> int:
    """Bytes of the rows, as if dense."""
    return rows.shape[0] * rows.shape[1] * rows.dtype.itemsize


def _differ(data: MemoryRows) -> bool:
    """Whether two rows of positive weight differ."""
    place = 0 if data.weight is None else int(np.argmax(data.weight > 0.0))
    first = data.take(np.array([place]))
    return bool(data.head(64, _spread, first) or data.reduce(_spread, first, combine=max))


def _spread(block: Block, first: NDArray) -> bool:
    return bool(((block.dense != first).any(axis=1) & (block.weights > 0.0)).any())


def _sums_about(block: Block, shift: NDArray) -> tuple[NDArray, float]:
    weight = block.weights
    sums = weight @ block.X if block.is_sparse else weight @ (block.X - shift)
    return np.asarray(sums, dtype=np.float64), float(weight.sum())
