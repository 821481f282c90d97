"""Mini-batch steps: centres as running means of the rows drawn so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.base import Watch
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.centers import Centers, inspect_block
from assay.rows import Block, Matrix, MemoryRows, Rows

# A draw is one uniform number looked up in the cumulative weights of the rows, so that a row of weight 3 is
# drawn as often as three rows. Up to 2¹⁸ rows are looked up in an order that depends on their content alone:
# the same seed then draws the same rows however they are ordered, weighted or stored.


WINDOW_BYTES = 2**27
"""Rows outside memory are fetched at once if they fit in here (128 MiB), else for as many batches as do."""

WINDOW_BATCHES = 64


class Draws:
    """An endless source of rows drawn with replacement, with probability proportional to their weights."""

    def __init__(self, data: Rows, random: Generator) -> None:
        self._data, self._random = data, random
        self._order: NDArray | None = None
        self._cumulative: NDArray | None = None
        n_samples, row_bytes = data.shape[0], max(1, data.shape[1] * data.dtype.itemsize)
        self._window_rows = WINDOW_BYTES // row_bytes
        self._rows: Matrix | None = None
        if isinstance(data, MemoryRows):
            self._rows = data.X
        elif n_samples <= self._window_rows:
            self._rows = data.take(np.arange(n_samples))
        if n_samples <= _init.SAMPLE_ROWS:
            self._order = np.argsort(_init.order_keys(data), kind="stable")
        if data.has_weight:
            weight = _init.weights_of(data).astype(np.float64)
            self._cumulative = np.cumsum(weight if self._order is None else weight[self._order])

    def batch(self, n_rows: int) -> Matrix:
        """So many rows, dense or CSR as the data are."""
        return next(self._windows(n_rows, 1))

    def batches(self, n_rows: int) -> Iterator[Matrix]:
        """Batches of so many rows, for ever."""
        outside = self._rows is None
        return self._windows(n_rows, max(1, self._window_rows // n_rows) if outside else WINDOW_BATCHES)

    def _windows(self, n_rows: int, n_batches: int) -> Iterator[Matrix]:
        """Batches that are drawn, and fetched from outside memory, `n_batches` at a time."""
        while True:
            indices = self._indices(self._random.random((n_batches, n_rows)))
            rows = self._rows
            if rows is None:
                fetched, places = np.unique(indices, return_inverse=True)
                rows, indices = self._data.take(fetched), places.reshape(indices.shape)
            for chosen in indices:
                yield rows[chosen]

    def _indices(self, uniforms: NDArray) -> NDArray:
        """The rows at which the cumulative weight passes these shares of its total."""
        if self._cumulative is None:
            places = (uniforms * self._data.shape[0]).astype(np.int64)
        else:
            places = _init.positions(self._cumulative, uniforms)
        return places if self._order is None else self._order[places]


class Steps(NamedTuple):
    """Centres, rows averaged in each, and the mean squared distance of every batch to the centres it met."""

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


class StoppingRule(NamedTuple):
    """When steps end; `smoothing` is the weight of the newest batch in smoothed values.

    A centre given fewer rows than `reassignment_ratio` times those of the busiest, since the last look,
    starts afresh at a row drawn with probability proportional to its squared distance.
    """

    max_steps: int
    smoothing: float
    tol: float
    max_no_improvement: int | None
    reassignment_ratio: float


def minibatch_steps(
    batches: Iterator[Matrix], start: Centers, rule: StoppingRule, *, random: Generator, watch: Watch
) -> Steps:
    """Assign one batch after the other and move the centres to the running means of their rows.

    Converged when the smoothed inertia of the batches has had no new minimum for `max_no_improvement` steps,
    or when the smoothed squared movement of the centres falls to `tol`.
    """
    points, shift, n_clusters = start.points, start.shift, len(start.points)
    counts, recent = np.zeros(n_clusters), np.zeros(n_clusters)
    # By then a centre with an equal share of the rows has met 1 / ratio of them.
    patience = n_clusters / rule.reassignment_ratio if rule.reassignment_ratio > 0.0 else np.inf
    trace: list[float] = []
    smooth_inertia, smooth_movement, least = 0.0, 0.0, np.inf
    n_waited, n_steps, converged = 0, 0, False
    while n_steps < rule.max_steps:
        rows = next(batches)
        n_rows = rows.shape[0]
        distances = np.empty(n_rows)
        centers = start.moved(points + shift)
        batch = inspect_block(Block(rows, None, None, 0), centers, None, distances)
        moved, counts = averaged(points, counts, batch.sums, batch.counts)
        movement, points, n_steps = float(((moved - points) ** 2).sum()), moved, n_steps + 1
        trace.append(batch.inertia / n_rows)
        share = rule.smoothing if n_steps > 1 else 1.0
        smooth_inertia += share * (trace[-1] - smooth_inertia)
        smooth_movement += share * (movement - smooth_movement)
        n_waited = 0 if smooth_inertia < least else n_waited + 1
        least = min(least, smooth_inertia)
        recent += batch.counts
        if recent.sum() >= patience:
            idle = np.flatnonzero(recent < rule.reassignment_ratio * recent.max())[: n_rows // 2]
            cumulative = np.cumsum(distances)
            if idle.size and cumulative[-1] > 0.0:  # there is a row away from every centre
                places = np.unique(_init.positions(cumulative, random.random(len(idle))))
                taken, chosen = Block(rows[places], None, None, 0).dense, idle[: len(places)]
                points[chosen], counts[chosen], n_waited = taken.astype(np.float64) - shift, 0.0, 0
            recent[:] = 0.0
        now = {"cluster_centers_": points + shift, "n_steps_": n_steps}
        stopped = watch.iteration(lambda: now)  # noqa: B023
        converged = n_steps > 1 and (
            smooth_movement <= rule.tol
            or (rule.max_no_improvement is not None and n_waited >= rule.max_no_improvement)
        )
        if converged or stopped:
            break
    return Steps(points + shift, counts, trace, n_steps, converged)
