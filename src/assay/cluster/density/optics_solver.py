"""OPTICS: rows in the order of their reachability, and the clusters read off the plot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances import Metric, check_metric, distance_matrix
from assay.loops import compiled, read_only


class Plot(NamedTuple):
    """A reachability plot: rows in the order of OPTICS, with a last bar of infinite height."""

    ordering: NDArray
    heights: NDArray
    predecessors: NDArray


class SteepDescent(NamedTuple):
    """A steep way down, and the greatest height between its end and here."""

    start: int
    end: int
    highest_since: float


def cut(ordering: NDArray, reachability: NDArray, core_distances: NDArray, eps: float) -> NDArray:
    """Labels of DBSCAN at a smaller eps, but for some border rows, numbered along the ordering."""
    far = (reachability > eps) | np.isinf(reachability)
    begins = far & (core_distances <= eps)
    labels = np.empty(ordering.size, dtype=np.int32)
    labels[ordering] = np.cumsum(begins[ordering]) - 1
    labels[far & ~begins] = -1
    return labels


def dents(plot: Plot, xi: float, min_samples: int, min_cluster_size: int) -> NDArray:
    """First and last place of each ξ-cluster, the inner ones before those around them.

    A cluster begins in a steep descent and ends in a steep ascent, by a factor 1 − ξ from bar to bar, and all
    between is lower than both ends by that factor (Ankerst et al. 1999, definition 11).
    """
    heights, keep = plot.heights, 1.0 - xi
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = heights[:-1] / heights[1:]
    falls, rises = ratio >= 1.0 / keep, ratio <= keep
    descents: list[SteepDescent] = []
    clusters: list[tuple[int, int]] = []
    place, highest = 0, 0.0
    for steep in np.flatnonzero(falls | rises):
        if steep < place:
            continue
        highest = max(highest, float(heights[place : steep + 1].max()))
        descents = _still_open(descents, highest, heights, keep)
        if falls[steep]:
            end = _flank(falls, ratio < 1.0, int(steep), min_samples)
            descents.append(SteepDescent(int(steep), end, 0.0))
        else:
            end = _flank(rises, ratio > 1.0, int(steep), min_samples)
            closed = [_between(plot, descent, (int(steep), end), keep) for descent in descents]
            clusters += [span for span in closed[::-1] if span and span[1] - span[0] + 1 >= min_cluster_size]
        place = end + 1
        highest = float(heights[place])
    return np.array(clusters, dtype=np.int64).reshape(-1, 2)


def innermost(ordering: NDArray, clusters: NDArray) -> NDArray:
    """Labels by the clusters that hold no other."""
    along = np.full(ordering.size, -1, dtype=np.int32)
    n_clusters = 0
    for start, end in clusters:
        if (along[start : end + 1] < 0).all():
            along[start : end + 1] = n_clusters
            n_clusters += 1
    labels = np.empty_like(along)
    labels[ordering] = along
    return labels


def _flank(steep: NDArray, against: NDArray, start: int, min_samples: int) -> int:
    """Last steep place of the flank from `start`: never against it, no long stretch that is not steep."""
    end, idle = start, 0
    for place in range(start, steep.size):
        if steep[place]:
            end, idle = place, 0
        elif against[place] or idle >= min_samples:
            break
        else:
            idle += 1
    return end


def _still_open(
    descents: list[SteepDescent], highest: float, heights: NDArray, keep: float
) -> list[SteepDescent]:
    """The descents whose top is still higher, by the factor, than all that came since."""
    if np.isinf(highest):
        return []
    return [
        descent._replace(highest_since=max(descent.highest_since, highest))
        for descent in descents
        if highest <= heights[descent.start] * keep
    ]


def _between(
    plot: Plot, descent: SteepDescent, ascent: tuple[int, int], keep: float
) -> tuple[int, int] | None:
    """The cluster from a descent to an ascent, its ends level, or None."""
    heights, (start, end) = plot.heights, (descent.start, ascent[1])
    top, exit_height = heights[start], heights[end + 1]
    if exit_height * keep < descent.highest_since:
        return None
    if top * keep >= exit_height:  # begin where the descent has come down to the height of the exit
        while start < descent.end and heights[start + 1] > exit_height:
            start += 1
    elif exit_height * keep >= top:  # end where the ascent has come up to the height of the start
        while end > ascent[0] and heights[end - 1] > top:
            end -= 1
    span = _held_together(plot, start, end)
    return span if span and span[0] <= descent.end and span[1] >= ascent[0] else None


def _held_together(plot: Plot, start: int, end: int) -> tuple[int, int] | None:
    """The span without last rows that were reached from outside it (Schubert & Gertz 2018)."""
    while start < end:
        inside = plot.ordering[start:end]
        if plot.heights[start] > plot.heights[end] or (inside == plot.predecessors[end]).any():
            return start, end
        end -= 1
    return None


TILE = 256
TIE = 1e-13


class Growth(NamedTuple):
    """The rows in the order reached, at which distance (infinite where one begins anew), from where (−1)."""

    ordering: NDArray
    reachability: NDArray
    predecessor: NDArray


def grow(X: NDArray, core_distances: NDArray, *, metric: Metric, max_eps: float = np.inf) -> Growth:
    """Take the row of least reachability next, the lowest of several; O(n²) distances, memory O(n).

    A row p that is core reaches a row x within `max_eps` at max(c_p, d(p, x)).
    """
    n_rows = len(X)
    ordering, predecessor = np.empty(n_rows, dtype=np.int64), np.full(n_rows, -1)
    reachability, waiting = np.full(n_rows, np.inf), np.full(n_rows, np.inf)
    name = metric if _is_precomputed(metric) else check_metric(metric)
    if isinstance(name, str) and name == "euclidean":
        columns = read_only(np.asarray(X.T, dtype=np.float64))
        grow_rows(columns, read_only(core_distances), max_eps, waiting, ordering, reachability, predecessor)
        return Growth(ordering, reachability, predecessor)
    row = first = 0
    for step in range(n_rows):
        ordering[step], reachability[row], waiting[row] = row, waiting[row], np.nan
        distances = X[row] if _is_precomputed(name) else distance_matrix(X[row : row + 1], X, metric=name)[0]
        core = core_distances[row]
        row = reach_from(row, distances, core, max_eps, waiting, predecessor, 0, n_rows, np.inf, -1)[0]
        while row < 0 and first < n_rows and np.isnan(waiting[first]):
            first += 1
        row = first if row < 0 else row
    return Growth(ordering, reachability, predecessor)


def _is_precomputed(metric: Metric) -> bool:
    return isinstance(metric, str) and metric == "precomputed"


@compiled
def reach_from(  # type: ignore[no-untyped-def]
    row, distances, core, max_eps, waiting, predecessor, start, stop, best, nearest
):
    """Reach the rows from start to stop from one row; NaN in `waiting` marks those already taken.

    Returns the row that waits at the least distance and that distance, given those of the rows before.
    """
    for j in range(start, stop):
        distance = np.float64(distances[j - start])
        # The row that makes p core is at its core distance, whatever the rounding: ties go by index.
        reach = core if distance <= core * (1.0 + TIE) else distance
        if distance <= max_eps and reach < waiting[j]:
            waiting[j] = reach
            predecessor[j] = row
        if waiting[j] < best:
            best, nearest = waiting[j], j
    return nearest, best


@compiled
def grow_rows(columns, core_distances, max_eps, waiting, ordering, reachability, predecessor):  # type: ignore[no-untyped-def]
    """The walk under the Euclidean distance; rows come as columns."""
    n_features, n_rows = columns.shape
    distances = np.empty(TILE)
    row = first = 0
    for step in range(n_rows):
        ordering[step], reachability[row], waiting[row] = row, waiting[row], np.nan
        nearest, best = -1, np.inf
        for start in range(0, n_rows, TILE):
            stop = min(start + TILE, n_rows)
            distances[:] = 0.0
            for f in range(n_features):
                value = columns[f, row]
                for j in range(start, stop):
                    distances[j - start] += (columns[f, j] - value) ** 2
            for j in range(stop - start):
                distances[j] = np.sqrt(distances[j])
            core = core_distances[row]
            nearest, best = reach_from(
                row, distances, core, max_eps, waiting, predecessor, start, stop, best, nearest
            )
        while nearest < 0 and first < n_rows and np.isnan(waiting[first]):
            first += 1
        row = first if nearest < 0 else nearest
