"""Prim's algorithm: all pairs once, memory of order n."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.distances._boruvka import Edges
from assay.distances._function_search import check_distance
from assay.distances._metrics import SCALES, Metric
from assay.distances._prim_loops import absorb_point
from assay.distances._tile_loops import fill_tile

DistancesFrom: TypeAlias = Callable[[int, NDArray], NDArray]
"""Distances of point i to the points of these numbers, which are those of the last call but for one."""


def prim(n_points: int, distances_from: DistancesFrom, core_distances: NDArray | None) -> Edges:
    """The minimum spanning tree under max(core_i, core_j, distance), grown point by point from the first."""
    cores = np.zeros(n_points) if core_distances is None else np.asarray(core_distances, dtype=np.float64)
    remaining, parents = np.arange(1, n_points), np.zeros(n_points - 1, dtype=np.intp)
    closest = np.full(n_points - 1, np.inf)
    first, second = np.empty((2, n_points - 1), dtype=np.intp)
    lengths, current = np.empty(n_points - 1), 0
    for n_left in range(n_points - 1, 0, -1):
        open_points = remaining[:n_left]
        distances = distances_from(current, open_points)
        place = absorb_point(distances, current, cores, open_points, closest[:n_left], parents[:n_left])
        current, parent = int(remaining[place]), int(parents[place])
        first[n_left - 1], second[n_left - 1] = min(current, parent), max(current, parent)
        lengths[n_left - 1] = closest[place]
        for values in (remaining, closest, parents):
            values[place] = values[n_left - 1]
    return Edges(first, second, lengths)


def distances_of_rows(X: NDArray, metric: Metric) -> DistancesFrom:
    """What `prim` needs to know of rows under a metric: a name or a function of two of them."""
    if not isinstance(metric, str):
        return lambda i, numbers: np.array([check_distance(metric(X[i], X[j])) for j in numbers.tolist()])
    scale = SCALES[metric]
    rows = scale.prepare(X)
    columns, known = np.array(rows.T, order="C"), np.arange(len(X))
    tile = np.empty((1, len(X)), dtype=X.dtype)

    def distances_from(i: int, numbers: NDArray) -> NDArray:
        # The columns follow the numbers, of which one has changed since the last call.
        changed = np.flatnonzero(known[: len(numbers)] != numbers)
        known[changed] = numbers[changed]
        columns[:, changed] = rows[numbers[changed]].T
        part = tile[:, : len(numbers)]
        fill_tile(rows[i : i + 1], columns, 0, scale.power, part)
        return scale.distances(part)[0]

    return distances_from
