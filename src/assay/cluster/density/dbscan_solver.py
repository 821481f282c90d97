"""DBSCAN: core rows, their connected components, and the rows at their borders."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.density import dbscan_loops as loops
from assay.distances import Metric, Neighborhoods, NeighborSearch
from assay.loops import compiled
from assay.order_statistics import select
from assay.rows import ordered_map

CELL_ROWS = 16


class Cells(NamedTuple):
    """Nodes of the tree, the root first; a node without children (−1) is a cell.

    A node holds the rows `order[starts[node]:stops[node]]` and their `weights`; `columns` and `mass` are the
    coordinates (one line for each feature) and weights of rows in that order, `lower` and `upper` tight
    boxes, `leaves` the cells from left to right.
    """

    order: NDArray
    columns: NDArray
    mass: NDArray
    starts: NDArray
    stops: NDArray
    left: NDArray
    right: NDArray
    lower: NDArray
    upper: NDArray
    weights: NDArray
    leaves: NDArray


def make_cells(X: NDArray, mass: NDArray) -> Cells:
    """Halve the rows along the widest side of their box until they are few or all the same."""
    points = np.ascontiguousarray(X, dtype=np.float64)
    n_rows, n_features = points.shape
    order = np.arange(n_rows)
    # A node of more than CELL_ROWS rows is halved: no cell has fewer than half of that.
    n_nodes = 2 * (n_rows // (CELL_ROWS // 2) + 1)
    spans = np.full((n_nodes, 4), -1)
    lower, upper = np.empty((n_nodes, n_features)), np.empty((n_nodes, n_features))
    used = halve_rows(points, order, np.empty(n_rows), CELL_ROWS, spans, lower, upper)
    starts, stops, left, right = (np.ascontiguousarray(column) for column in spans[:used].T)
    before = np.concatenate([[0.0], np.cumsum(mass[order])])
    leaves = np.flatnonzero(left < 0)
    tree = starts, stops, left, right, lower[:used], upper[:used], before[stops] - before[starts]
    columns = np.ascontiguousarray(points[order].T)
    return Cells(order, columns, mass[order], *tree, leaves[np.argsort(starts[leaves])])


@compiled
def halve_rows(points, order, keys, cell_rows, spans, lower, upper):  # type: ignore[no-untyped-def]
    """Write start, stop and both children of each node into `spans`, its box beside; returns their number."""
    n_features = points.shape[1]
    waiting = np.empty(128, dtype=np.int64)
    spans[0, 0], spans[0, 1] = 0, points.shape[0]
    waiting[0] = 0
    n_waiting, used = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        start, stop = spans[node, 0], spans[node, 1]
        for f in range(n_features):
            lower[node, f] = upper[node, f] = points[order[start], f]
        for position in range(start + 1, stop):
            row = order[position]
            for f in range(n_features):
                lower[node, f] = min(lower[node, f], points[row, f])
                upper[node, f] = max(upper[node, f], points[row, f])
        widest, width = 0, 0.0
        for f in range(n_features):
            side = upper[node, f] - lower[node, f]
            if side > width:
                widest, width = f, side
        if stop - start <= cell_rows or width == 0.0:
            continue
        for position in range(start, stop):
            keys[position] = points[order[position], widest]
        middle = (start + stop) // 2
        select(keys, order, start, stop - 1, middle)
        spans[node, 2], spans[node, 3] = used, used + 1
        spans[used, 0], spans[used, 1] = start, middle
        spans[used + 1, 0], spans[used + 1, 1] = middle, stop
        waiting[n_waiting], waiting[n_waiting + 1] = used + 1, used
        n_waiting += 2
        used += 2
    return used


TASK_ROWS = 2**14
MAX_TASKS = 64
BLOCK_PAIRS = 2**22


class NeighborLists(NamedTuple):
    """A way to ask for the rows near given rows, by their indices, at most `most_rows` at once."""

    lists: Callable[[NDArray], Neighborhoods]
    most_rows: int


class DensityPartition(NamedTuple):
    """Result of `dbscan`: clusters numbered by their lowest core row, −1 for noise."""

    labels: NDArray
    core: NDArray
    ambiguous: NDArray
    n_clusters: int


def dbscan_by_cells(X: NDArray, limit: float, min_weight: float, weight: NDArray | None) -> DensityPartition:
    """Clusters of rows near when their squared Euclidean distance is at most `limit`; memory O(n).

    Every step is a set of tasks that write to places of their own. The unions of each task are made apart and
    merged: components do not depend on the order of unions, nor the labels on the number of threads.
    """
    n_rows = len(X)
    cells = make_cells(X, np.ones(n_rows) if weight is None else weight.astype(np.float64))
    tasks = np.array_split(cells.leaves, min(MAX_TASKS, n_rows // TASK_ROWS + 1, cells.leaves.size))
    core = np.zeros(n_rows, dtype=np.bool_)
    _run(lambda leaves: loops.mark_core(cells, leaves, limit, min_weight, core), tasks)
    spans = np.empty((cells.starts.size, 2), dtype=np.int64)
    loops.core_spans(cells, core, spans)
    parent = _components(cells, tasks, limit, core, spans)
    labels = np.full(n_rows, -1, dtype=np.int32)
    place = np.empty_like(cells.order)
    place[cells.order] = np.arange(n_rows)
    n_clusters = loops.number_clusters(parent, core, place, labels)
    ambiguous = np.zeros(n_rows, dtype=np.bool_)
    _run(lambda leaves: loops.claim_borders(cells, leaves, limit, core, spans, labels, ambiguous), tasks)
    return DensityPartition(labels[place], core[place], ambiguous[place], n_clusters)


def _components(cells: Cells, tasks: list[NDArray], limit: float, core: NDArray, spans: NDArray) -> NDArray:
    """Connected components of core rows, as a forest of parents.

    Each task first joins its own rows, then, in a copy of all that is known, its rows and those to the right.
    """
    parent = np.arange(core.size, dtype=np.int32 if core.size < 2**31 else np.int64)
    single = np.zeros(cells.starts.size, dtype=np.bool_)
    # Sets do not reach from one task's rows to another's before each has a copy: tasks write at once.
    begins = cells.starts[[leaves[0] for leaves in tasks]]
    first, last = (np.searchsorted(begins, rows, "right") for rows in (cells.starts, cells.stops - 1))
    inside = first == last
    loops.unite_small_nodes(cells, inside, limit, core, parent, single)

    def join(leaves: NDArray, begin: int, end: int, single: NDArray, parent: NDArray) -> None:
        loops.unite_between(cells, leaves, begin, end, limit, core, spans, single, parent)

    def join_inside(leaves: NDArray) -> None:
        loops.unite_within(cells.columns, leaves, limit, core, spans, parent)
        join(leaves, 0, cells.stops[leaves[-1]], single, parent)

    _run(join_inside, tasks)
    known = parent.copy()

    def join_outside(leaves: NDArray) -> NDArray:
        own = known.copy()
        join(leaves, cells.stops[leaves[-1]], core.size, single.copy(), own)
        return own

    if len(tasks) > 1:
        for own in ordered_map(join_outside, tasks[:-1]):
            loops.merge_unions(parent, own)
    return parent


def _run(step: Callable[[NDArray], Any], tasks: list[NDArray]) -> None:
    deque(map(step, tasks) if len(tasks) == 1 else ordered_map(step, tasks), maxlen=0)


def dbscan_by_lists(
    n_rows: int, neighbors: NeighborLists, min_weight: float, weight: NDArray | None
) -> DensityPartition:
    """Clusters from lists of neighbours, asked for block by block and not kept."""
    mass = np.ones(n_rows) if weight is None else weight.astype(np.float64)
    core = np.zeros(n_rows, dtype=np.bool_)
    for rows, near in walk_lists(np.arange(n_rows), neighbors):
        core[rows] = (list_sums(mass[near.indices], near.indptr) >= min_weight) & (mass[rows] > 0.0)
    parent = np.arange(n_rows)
    for rows, near in walk_lists(np.flatnonzero(core), neighbors):
        loops.unite_lists(rows, near.indptr, near.indices, core, parent)
    labels = np.full(n_rows, -1, dtype=np.int32)
    n_clusters = loops.number_clusters(parent, core, np.arange(n_rows), labels)
    ambiguous = np.zeros(n_rows, dtype=np.bool_)
    for rows, near in walk_lists(np.flatnonzero(~core), neighbors):
        loops.claim_from_lists(rows, near.indptr, near.indices, core, labels, ambiguous)
    return DensityPartition(labels, core, ambiguous, n_clusters)


def walk_lists(rows: NDArray, neighbors: NeighborLists) -> Iterator[tuple[NDArray, Neighborhoods]]:
    """The lists of neighbours of rows, in blocks of about `BLOCK_PAIRS` entries."""
    start, step = 0, min(256, neighbors.most_rows)
    while start < rows.size:
        block = rows[start : start + step]
        near = neighbors.lists(block)
        yield block, near
        start += step
        mean = max(near.indices.size / block.size, 1.0)
        step = max(1, min(int(BLOCK_PAIRS / mean), 8 * step, neighbors.most_rows))


def list_sums(values: NDArray, indptr: NDArray) -> NDArray:
    """Sums of the values of each list."""
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return sums[indptr[1:]] - sums[indptr[:-1]]


def neighbors_by_search(X: NDArray, radius: float, metric: Metric) -> NeighborLists:
    """Lists of neighbours found by `NeighborSearch`."""
    search = NeighborSearch(X, metric=metric)
    return NeighborLists(lambda rows: search.within(radius, X[rows]), max(len(X), 1))


def neighbors_by_distances(
    distances: Callable[[NDArray], NDArray], n_rows: int, radius: float
) -> NeighborLists:
    """Lists of neighbours read off rows of a matrix of distances."""

    def lists(rows: NDArray) -> Neighborhoods:
        block = distances(rows)
        near = block <= radius
        indptr = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
        return Neighborhoods(indptr, np.nonzero(near)[1], block[near])

    return NeighborLists(lists, max(BLOCK_PAIRS // max(n_rows, 1), 1))
