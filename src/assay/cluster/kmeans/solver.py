"""Lloyd's iteration over any rows: exact, with distance bounds where the rows are local."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.base import Watch
from assay.cluster.kmeans import centers as layouts
from assay.cluster.kmeans import loops
from assay.cluster.kmeans import small_loops as center_loops
from assay.cluster.kmeans.centers import Centers, find_nearest, inspect, placed, table, update_means
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
    watch: Watch,
    tol: float,
    max_iter: int,
    empty_clusters: str = "reseed",
    bounded: bool = True,
    keep_steps: bool = False,
) -> Lloyd:
    """Alternate assignments to the nearest centre and means of the clusters, from given centres.

    Converged when an assignment changes no label, or when two updates in a row (so that the centres returned
    move no further) move them by a sum of squares of at most `tol` times the mean variance of the features.
    `bounded` passes over local rows whose label cannot have changed, which changes no label.
    """
    if bounded and not keep_steps and watch.is_idle and is_small(data, len(start)):
        result = _lloyd_of_small(data, start, tol=tol, max_iter=max_iter)
        if result is not None:
            return result
    centers = placed(data, start)
    state = _Assignment(data, start.shape, bounded=bounded)
    trace: list[float] = []
    steps: list[tuple[NDArray, NDArray | None]] = []
    scatter = variance = 0.0
    movement, n_iter, stopped = np.inf, 0, False
    # At the head of the loop `centers` are those to assign to, and `trace` ends with their update.
    while True:
        n_changed, first_scatter = state.assign(centers)
        if not trace:
            scatter = first_scatter
            variance = layouts.mean_variance(scatter, state.sums, state.counts)
        trace.append(_inertia(scatter, state.sums, state.counts, centers))
        if keep_steps:
            steps.append((centers.given, None if state.labels is None else state.labels.copy()))
        now = state.sums, state.counts, state.labels
        means, state.sums, state.counts, relocated = update_means(data, centers, *now, policy=empty_clusters)
        step = means - centers.points
        moved = centers.moved((means + centers.shift).astype(data.dtype, copy=False))
        previous, movement = movement, float(np.vdot(step, step))
        unchanged = not relocated.size and (
            n_changed == 0 or (n_changed < 0 and np.array_equal(moved.given, centers.given))
        )
        converged = n_iter > 0 and (unchanged or max(previous, movement) <= tol * variance)
        if converged or stopped or n_iter == max_iter:
            break
        trace.append(_inertia(scatter, state.sums, state.counts, moved))
        state.widen(centers, moved, relocated)
        centers, n_iter = moved, n_iter + 1
        report = {"cluster_centers_": centers.given, "n_iter_": n_iter, "inertia_": trace[-1]}
        stopped = watch.iteration(lambda: report)  # noqa: B023
    settled = converged and unchanged
    n_iter = min(n_iter + 1, max_iter) if settled else n_iter
    return Lloyd(centers.given, state.labels, trace, n_iter, converged, settled, steps)


class _Assignment:
    """Labels of local rows, sums and weights of the clusters: by differences where bounds pass over rows."""

    def __init__(self, data: Rows, shape: tuple[int, ...], *, bounded: bool) -> None:
        self.data = data
        bounded = bounded and data.local and data.shape[0] * shape[0] > FEW_DISTANCES
        self.bounds = new_bounds(data, shape[0]) if bounded else None
        self.labels: NDArray | None = None
        self.sums, self.counts = np.zeros(shape), np.zeros(shape[0])

    def assign(self, centers: Centers) -> tuple[int, float]:
        """How many labels change (−1 where that is not known), and Σ w ‖x − shift‖² of new rows."""
        data = self.data
        if self.bounds is None:
            before, self.labels = self.labels, np.full(data.shape[0], -1, np.int32) if data.local else None
            walk = inspect(data, centers, self.labels)
            self.sums, self.counts = walk.sums, walk.counts
            known = before is not None and self.labels is not None
            return int(np.count_nonzero(before != self.labels)) if known else -1, walk.scatter
        moves = _assign(data, centers, self.bounds)
        self.labels = self.bounds.labels
        self.sums, self.counts = self.sums + moves.sums, self.counts + moves.counts
        if data.has_weight and self.counts.min() < TINY_SHARE * self.counts.max():
            # Differences of weights hide a small cluster: sum its rows anew.
            walk = inspect(data, centers, self.labels)
            self.sums, self.counts = walk.sums, walk.counts
        return moves.n_changed, moves.scatter

    def widen(self, centers: Centers, moved: Centers, relocated: NDArray) -> None:
        """Account for the movement of the centres: the own one, and the farthest-moving of the others."""
        if self.bounds is None:
            return
        bounds = self.bounds
        center_loops.widen(centers.points, moved.points, REACH, bounds.thresholds, bounds.decay)
        bounds.slack[relocated] = bounds.lower[relocated] = -np.inf


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


class Bounds(NamedTuple):
    """Rowwise memory of the bounded assignment, and how far the centres have moved since it was written."""

    labels: NDArray
    slack: NDArray
    lower: NDArray
    thresholds: NDArray
    decay: NDArray


def new_bounds(data: Rows, n_clusters: int) -> Bounds:
    """Bounds that know nothing: every row is visited."""
    labels = np.full(data.shape[0], -1, dtype=np.int32)
    slack, lower = np.full((2, len(labels)), -np.inf, dtype=np.float32)
    return Bounds(labels, slack, lower, np.zeros(n_clusters), np.zeros(n_clusters))


def _assign(data: Rows, centers: Centers, bounds: Bounds) -> Moves:
    moving = bounds.thresholds, bounds.decay
    return data.reduce(_assign_block, centers, moving, centers.gaps(), rowwise=bounds[:3])


def _assign_block(
    block: Block, centers: Centers, moving: tuple[NDArray, NDArray], gaps: NDArray, *rowwise: NDArray
) -> Moves:
    features, bounds = table(block), (*rowwise, *moving)
    sums, counts = np.zeros(centers.points.shape), np.zeros(len(centers.points))
    visited = np.empty(block.X.shape[0], dtype=np.int64)
    room = np.empty(min(RUN_ROWS, len(visited)))
    rounding = 2.0 * (len(centers.shift) + 8) * float(np.finfo(block.X.dtype).eps)
    own = centers.given, centers.centers, centers.norms
    n_visited = loops.doubtful_rows(features, own, bounds, gaps, visited, room, rounding)
    if n_visited == 0:
        return Moves(sums, counts, 0.0, 0)
    visited = visited[:n_visited]
    result = find_nearest(features, centers.layout, visited)
    n_changed, scatter = loops.settle(features, centers.shift, bounds, visited, result, sums, counts)
    return Moves(sums, counts, scatter, n_changed)


def _inertia(scatter: float, sums: NDArray, counts: NDArray, centers: Centers) -> float:
    """Σ w ‖x − c‖² = Σ w ‖x‖² − 2 Σ_k c_k · S_k + Σ_k n_k ‖c_k‖²."""
    return max(float(scatter - 2.0 * np.vdot(centers.points, sums) + counts @ centers.norms), 0.0)
