"""New rows of a density clustering: the row of the fit that reaches them most closely, and its cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances import Metric, check_metric, distance_matrix
from assay.loops import compiled
from assay.rows import Block

BLOCK_PAIRS = 2**22


class Fitted(NamedTuple):
    """What predictions need of a fit.

    Attributes
    ----------
    rows : array of shape (n_samples, n_features) or None
        The rows of the fit; None when new rows come as dissimilarities to them.
    core_distances : array of shape (n_samples,)
    labels : array of int32 of shape (n_samples,)
    cluster_reach : array of shape (n_clusters,)
        The reachability up to which each cluster takes rows.
    n_core : int
        With n_core > 0 the new row's own core distance, that to its n_core-th nearest row, is a lower bound.
    """

    rows: NDArray | None
    core_distances: NDArray
    labels: NDArray
    cluster_reach: NDArray
    metric: Metric
    n_core: int = 0


def labels_by_reach(block: Block, fitted: Fitted) -> NDArray:
    """Label of the row p with the least max(c_p, d(p, x)), if its cluster takes rows at that distance."""
    X = np.asarray(block.X)
    result = np.full(len(X), -1, dtype=np.int32)
    if not fitted.cluster_reach.size:
        return result
    step = max(1, BLOCK_PAIRS // fitted.labels.size)
    for start in range(0, len(X), step):
        part = X[start : start + step]
        distances = _distances(part, fitted)
        reach = np.maximum(distances, fitted.core_distances)
        nearest = reach.argmin(axis=1)
        height = reach[np.arange(len(part)), nearest]
        if fitted.n_core > 0:
            own = np.partition(distances, fitted.n_core - 1, axis=1)[:, fitted.n_core - 1]
            height = np.maximum(height, own)
        labels = fitted.labels[nearest]
        # Rounding must not part a row from the cluster whose reach it made.
        taken = (labels >= 0) & (height <= fitted.cluster_reach[np.maximum(labels, 0)] * (1.0 + 1e-12))
        result[start : start + step] = np.where(taken, labels, -1)
    return result


def _distances(part: NDArray, fitted: Fitted) -> NDArray:
    exact = part.astype(np.float64, copy=False)
    if fitted.rows is None:
        return exact
    return distance_matrix(exact, fitted.rows.astype(np.float64, copy=False), metric=fitted.metric)


# Growth of a tree from row to row by least reachability: the walk of OPTICS.


TILE = 256
TIE = 1e-13


class Growth(NamedTuple):
    """The rows in the order they were reached, from where and at which distance.

    A row that nothing reaches begins anew: its reachability is infinite and its predecessor −1.
    """

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
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        grow_rows(columns, core_distances, max_eps, waiting, ordering, reachability, predecessor)
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
            nearest, best = reach_from(
                row,
                distances,
                core_distances[row],
                max_eps,
                waiting,
                predecessor,
                start,
                stop,
                best,
                nearest,
            )
        while nearest < 0 and first < n_rows and np.isnan(waiting[first]):
            first += 1
        row = first if nearest < 0 else nearest
