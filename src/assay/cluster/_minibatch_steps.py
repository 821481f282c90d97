"""Mini-batch steps: centres as running means of the rows drawn so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.base import Watch
from assay.cluster._centers import place
from assay.cluster._inspection import inspect_block
from assay.rows import Block, Matrix

SMOOTHING_BATCHES = 200
"""The inertia of batches is smoothed over at most about this many of them."""


class Steps(NamedTuple):
    """Result of `minibatch_steps`: `counts` are the rows averaged in each centre, `trace` the mean squared
    distance of every batch to the centres it met.
    """  # noqa: D205

    centers: NDArray
    counts: NDArray
    trace: list[float]
    n_steps: int
    converged: bool


def averaged(points: NDArray, counts: NDArray, sums: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """Running means after a batch, c_k + (Σ_{i ∈ B_k} w_i (x_i − c_k)) / N_k, and the new N_k."""
    total = counts + weights
    rate = np.divide(1.0, total, out=np.zeros_like(total), where=weights > 0.0)
    return points + (sums - weights[:, np.newaxis] * points) * rate[:, np.newaxis], total


def minibatch_steps(
    batches: Iterator[Matrix],
    start: NDArray,
    *,
    shift: NDArray,
    n_terms: int,
    max_steps: int,
    smoothing: float,
    tol: float,
    max_no_improvement: int | None,
    reassignment_ratio: float,
    random: np.random.Generator,
    watch: Watch,
    report: Callable[[NDArray, int], dict[str, Any]],
) -> Steps:
    """Assign one batch after the other and move the centres to the running means of their rows.

    Converged when the smoothed inertia of the batches has had no new minimum for `max_no_improvement` steps,
    or when the smoothed squared movement of the centres falls to `tol`.

    Parameters
    ----------
    batches : iterator of arrays
        The rows, already drawn.
    start : array of shape (n_clusters, n_features)
        The initial centres.
    shift : array of shape (n_features,)
        A point amid the rows, for precision; 0 for CSR.
    n_terms : int
        Terms in the product of a row and a centre.
    smoothing : float
        Weight of the newest batch in the smoothed values.
    reassignment_ratio : float
        A centre given fewer rows than this times those of the busiest, since the last look, starts afresh
        at a row drawn with probability proportional to its squared distance.
    """
    points, counts = start.astype(np.float64) - shift, np.zeros(len(start))
    recent = np.zeros(len(start))
    # By then a centre with an equal share of the rows has met 1 / ratio of them.
    patience = len(start) / reassignment_ratio if reassignment_ratio > 0.0 else np.inf
    trace: list[float] = []
    smooth_inertia = smooth_movement = least = np.inf
    n_waited, n_steps, converged = 0, 0, False
    while n_steps < max_steps:
        rows = next(batches)
        n_rows = rows.shape[0]
        distances = np.empty(n_rows)
        centers = place(points + shift, shift, n_terms)
        found = inspect_block(Block(rows, None, None, 0), centers, None, distances)
        moved, counts = averaged(points, counts, found.sums, found.counts)
        movement, points, n_steps = float(((moved - points) ** 2).sum()), moved, n_steps + 1
        trace.append(found.inertia / n_rows)
        smooth_inertia = _smoothed(smooth_inertia, trace[-1], smoothing)
        smooth_movement = _smoothed(smooth_movement, movement, smoothing)
        n_waited = 0 if smooth_inertia < least else n_waited + 1
        least = min(least, smooth_inertia)
        recent += found.counts
        if recent.sum() >= patience:
            idle = np.flatnonzero(recent < reassignment_ratio * recent.max())[: n_rows // 2]
            if idle.size and _restart(points, counts, idle, rows, distances, shift, random):
                n_waited = 0
            recent[:] = 0.0
        stopped = watch.iteration(lambda: report(points + shift, n_steps))  # noqa: B023
        converged = n_steps > 1 and (
            smooth_movement <= tol or (max_no_improvement is not None and n_waited >= max_no_improvement)
        )
        if converged or stopped:
            break
    return Steps(points + shift, counts, trace, n_steps, converged)


def _smoothed(before: float, new: float, smoothing: float) -> float:
    return new if np.isinf(before) else before + smoothing * (new - before)


def _restart(
    points: NDArray,
    counts: NDArray,
    idle: NDArray,
    rows: Matrix,
    distances: NDArray,
    shift: NDArray,
    random: np.random.Generator,
) -> bool:
    """Put idle centres at rows of the batch, in place; whether there was one away from every centre."""
    cumulative = np.cumsum(distances)
    if not cumulative[-1] > 0.0:
        return False
    places = np.searchsorted(cumulative, random.random(len(idle)) * cumulative[-1], side="right")
    places = np.unique(np.minimum(places, np.searchsorted(cumulative, cumulative[-1], side="left")))
    taken = rows[places]
    taken = taken if isinstance(taken, np.ndarray) else taken.toarray()
    chosen = idle[: len(places)]
    points[chosen], counts[chosen] = taken.astype(np.float64) - shift, 0.0
    return True
