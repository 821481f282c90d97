"""Lloyd's iteration over any rows: exact, with distance bounds where the rows are local."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.base import Watch
from assay.cluster.kmeans import loops
from assay.cluster.kmeans import small_loops as center_loops
from assay.cluster.kmeans.centers import (
    Centers,
    find_nearest,
    inspect,
    longest_row,
    mean_variance,
    place,
    table,
)
from assay.cluster.kmeans.empty import update_means
from assay.cluster.kmeans.small_loops import EMPTY, SETTLED, SPENT, TILE, iterate
from assay.rows import Block, MemoryRows, Rows

TINY_SHARE = 1e-8
SMALL_WORK = 2**19  # values times clusters up to which one loop does all iterations
SMALL_ITERATIONS = 2**12
FEW_DISTANCES = 2**13  # up to here, bounds cost more than the distances they save
RUN_ROWS = 512
REACH = 1.0 + 1e-9  # distances between centres are rounded; the bounds built on them are widened by this


class Moves(NamedTuple):
    """What one assignment changes: sums and weights of the clusters, scatter of new rows, rows that moved."""

    sums: NDArray
    counts: NDArray
    scatter: float
    n_changed: int


class Bounds(NamedTuple):
    """Rowwise memory of the bounded assignment, and how far the centres have moved since it was written."""

    labels: NDArray
    slack: NDArray
    lower: NDArray
    thresholds: NDArray
    decay: NDArray


class Lloyd(NamedTuple):
    """Result of `lloyd`.

    `trace` holds the inertia after every half-step, assignment and update in turn; it starts and ends with
    an assignment. `settled` tells that the last assignment changed nothing; `steps` holds the (centres,
    labels) of every assignment when they were asked for.
    """

    centers: NDArray
    labels: NDArray | None
    trace: list[float]
    n_iter: int
    converged: bool
    settled: bool
    steps: list[tuple[NDArray, NDArray | None]]


def lloyd(
    data: Rows,
    start: NDArray,
    *,
    tol: float,
    max_iter: int,
    empty_clusters: str,
    watch: Watch,
    report: Callable[[NDArray, int, float], dict[str, Any]],
    bounded: bool = True,
    keep_steps: bool = False,
) -> Lloyd:
    """Alternate assignments to the nearest centre and means of the clusters, from given centres.

    Converged when an assignment changes no label, or when two updates in a row move the centres by a sum of
    squares of at most `tol` times the mean variance of the features: the second makes sure that the centres
    returned, and not only their predecessors, move no further.

    Parameters
    ----------
    data : Rows
        The rows to cluster.
    start : array of shape (n_clusters, n_features)
        The initial centres.
    tol, max_iter
        The stopping rule.
    empty_clusters : {"reseed", "keep", "error"}
        What becomes of a cluster that loses its last row.
    watch : Watch
        Told about every iteration.
    report : callable
        Fitted attributes, for the watch, of (centres, iterations, inertia).
    bounded : bool
        Whether to pass over rows whose label cannot have changed (local rows only); the labels are the same.
    keep_steps : bool
        Whether to remember the centres and labels of every iteration.
    """
    if bounded and not keep_steps and watch.is_idle and is_small(data, len(start)):
        result = _lloyd_of_small(data, start, tol=tol, max_iter=max_iter)
        if result is not None:
            return result
    shift = np.zeros(data.shape[1]) if data.is_sparse else start.mean(axis=0, dtype=np.float64)
    n_terms = longest_row(data)
    centers = place(start, shift, n_terms)
    bounded = bounded and data.local and data.shape[0] * len(start) > FEW_DISTANCES
    bounds = new_bounds(data, len(start)) if bounded else None
    labels: NDArray | None = None
    sums, counts = np.zeros(start.shape), np.zeros(len(start))
    trace: list[float] = []
    steps: list[tuple[NDArray, NDArray | None]] = []
    scatter = variance = 0.0
    movement, n_iter, stopped = np.inf, 0, False
    while True:
        if bounds is None:
            before, labels = labels, np.full(data.shape[0], -1, dtype=np.int32) if data.local else None
            walk = inspect(data, centers, labels)
            sums, counts, first_scatter = walk.sums, walk.counts, walk.scatter
            n_changed = -1 if before is None or labels is None else int(np.count_nonzero(before != labels))
        else:
            labels, moves = bounds.labels, _assign(data, centers, bounds)
            sums, counts = sums + moves.sums, counts + moves.counts
            n_changed, first_scatter = moves.n_changed, moves.scatter
            if data.has_weight and counts.min() < TINY_SHARE * counts.max():
                # Differences of weights hide a small cluster: sum its rows anew.
                walk = inspect(data, centers, labels)
                sums, counts = walk.sums, walk.counts
        if not trace:
            scatter = first_scatter
            variance = mean_variance(scatter, sums, counts)
        trace.append(_inertia(scatter, sums, counts, centers))
        if keep_steps:
            steps.append((centers.given, None if labels is None else labels.copy()))
        update = update_means(data, centers, sums, counts, labels, policy=empty_clusters)
        sums, counts, step = update.sums, update.counts, update.means - centers.points
        moved = place((update.means + shift).astype(data.dtype, copy=False), shift, n_terms)
        previous, movement = movement, float(np.vdot(step, step))
        unchanged = not update.relocated.size and (
            n_changed == 0 or (n_changed < 0 and np.array_equal(moved.given, centers.given))
        )
        converged = n_iter > 0 and (unchanged or max(previous, movement) <= tol * variance)
        if converged or stopped or n_iter == max_iter:
            break
        trace.append(_inertia(scatter, sums, counts, moved))
        if bounds is not None:
            _widen(bounds, centers, moved)
            bounds.slack[update.relocated] = bounds.lower[update.relocated] = -np.inf
        centers, n_iter = moved, n_iter + 1
        stopped = watch.iteration(lambda: report(centers.given, n_iter, trace[-1]))  # noqa: B023
    settled = converged and unchanged
    n_iter = min(n_iter + 1, max_iter) if settled else n_iter
    return Lloyd(centers.given, labels, trace, n_iter, converged, settled, steps)


def is_small(data: Rows, n_clusters: int) -> bool:
    """Whether one loop does all iterations: a walk each would cost more."""
    return isinstance(data, MemoryRows) and not data.is_sparse and data.X.size * n_clusters <= SMALL_WORK


def _lloyd_of_small(data: Any, start: NDArray, *, tol: float, max_iter: int) -> Lloyd | None:
    """The same iteration in one loop; None where a cluster loses its rows, or it goes on and on."""
    weight = np.empty(0, dtype=data.dtype) if data.weight is None else data.weight
    centers, labels = start.astype(data.dtype), np.empty(data.shape[0], dtype=np.int32)
    X = data.X.astype(np.float64, copy=False)
    mean = np.average(X, axis=0, weights=data.weight)
    variance = float(np.average(np.square(X - mean).mean(axis=1), weights=data.weight))
    n_samples, n_features = X.shape
    padded = np.zeros((-(-n_samples // TILE) * TILE, n_features))
    padded[:n_samples] = X
    tiles = padded.reshape(-1, TILE, n_features).transpose(0, 2, 1).copy()
    most = min(max_iter, SMALL_ITERATIONS)
    trace = np.empty(2 * most + 2)
    n_iter, n_trace, ending = iterate(tiles, n_samples, weight, centers, tol * variance, most, labels, trace)
    if ending == EMPTY or (ending == SPENT and most < max_iter):
        return None
    settled = ending == SETTLED
    n_iter = min(n_iter + 1, max_iter) if settled else n_iter
    return Lloyd(centers, labels, trace[:n_trace].tolist(), n_iter, ending != SPENT, settled, [])


def new_bounds(data: Rows, n_clusters: int) -> Bounds:
    """Bounds that know nothing: every row is visited."""
    n_samples = data.shape[0]
    return Bounds(
        np.full(n_samples, -1, dtype=np.int32),
        np.full(n_samples, -np.inf, dtype=np.float32),
        np.full(n_samples, -np.inf, dtype=np.float32),
        np.zeros(n_clusters),
        np.zeros(n_clusters),
    )


def _assign(data: Rows, centers: Centers, bounds: Bounds) -> Moves:
    return data.reduce(
        _assign_block,
        centers,
        bounds.thresholds,
        bounds.decay,
        centers.gaps(),
        rowwise=(bounds.labels, bounds.slack, bounds.lower),
    )


def _assign_block(
    block: Block,
    centers: Centers,
    thresholds: NDArray,
    decay: NDArray,
    gaps: NDArray,
    labels: NDArray,
    slack: NDArray,
    lower: NDArray,
) -> Moves:
    features, weight = table(block)
    sums, counts = np.zeros(centers.points.shape), np.zeros(len(centers.points))
    visited = np.empty(block.X.shape[0], dtype=np.int64)
    n_visited = loops.doubtful_rows(
        *features,
        centers.given,
        centers.centers,
        centers.norms,
        thresholds,
        decay,
        gaps,
        labels,
        slack,
        lower,
        visited,
        np.empty(min(RUN_ROWS, len(visited))),
        2.0 * (len(centers.shift) + 8) * float(np.finfo(block.X.dtype).eps),
    )
    if n_visited == 0:
        return Moves(sums, counts, 0.0, 0)
    visited = visited[:n_visited]
    found = find_nearest(features, centers, visited)
    n_changed, scatter = loops.settle(
        *features,
        weight,
        centers.shift,
        thresholds,
        decay,
        visited,
        *found,
        labels,
        slack,
        lower,
        sums,
        counts,
    )
    return Moves(sums, counts, scatter, n_changed)


def _widen(bounds: Bounds, centers: Centers, moved: Centers) -> None:
    """Account for the movement of the centres: the own one, and the farthest-moving of the others."""
    center_loops.widen(centers.points, moved.points, REACH, bounds.thresholds, bounds.decay)


def _inertia(scatter: float, sums: NDArray, counts: NDArray, centers: Centers) -> float:
    """Σ w ‖x − c‖² = Σ w ‖x‖² − 2 Σ_k c_k · S_k + Σ_k n_k ‖c_k‖²."""
    return max(float(scatter - 2.0 * np.vdot(centers.points, sums) + counts @ centers.norms), 0.0)
