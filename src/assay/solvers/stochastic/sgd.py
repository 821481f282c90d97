"""Stochastic gradient descent for linear models: batches of rows, in one order whatever their source.

Rows are visited in windows of a size that depends on the table alone, one window after the other; within a
window they are shuffled by the seed and cut into batches. A table in memory, on disk and on a cluster thus
give the same batches. A weight is a factor of the gradient of its row; where all rows are one batch, that is
a repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss
from assay.rows import Matrix, MemoryRows, Rows, block_rows
from assay.solvers.in_memory import LARGEST_BYTES, in_memory, targets_and_weights
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.tilted import Frame
from assay.solvers.stochastic import loops
from assay.solvers.stochastic.steps import Rule, coded_target, loss_code

SLAB_BYTES = 2**28
"""What is fetched at once (256 MiB) from a table too large for memory."""

MOST_AHEAD = 64
"""Most passes over one batch in one call."""

PATIENCE = 256
"""Passes after which three looks at the gap without progress end the descent."""


class Penalty(NamedTuple):
    """λ₁‖w‖₁ + ½λ₂‖w‖², a number of each for every coordinate of θ."""

    l1: Array
    l2: Array


class Descent(NamedTuple):
    """What is carried from update to update; `total` is the sum of the last `n_averaged` points."""

    point: Array
    total: Array
    first: Array
    second: Array
    updates: int = 0
    n_averaged: int = 0

    @classmethod
    def start(cls, size: int, level: float = 0.0) -> Descent:
        """At zero, but for a last coordinate, the intercept, at a level."""
        point = np.zeros(size)
        if level:
            point[-1] = level
        return cls(point, np.zeros(size), np.zeros(size), np.zeros(size))


class Sgd(NamedTuple):
    """Result of `sgd`.

    Attributes
    ----------
    point : array
        θ in the coordinates of the frame.
    n_iter, converged : int, bool
        Passes, and whether `done` ended them.
    gaps : list of float
        Gaps seen.
    slopes : array or None
        Mean of the slopes of each row on the way, weighted by the steps, where they were asked for: a dual
        point, since they stay in a convex domain, with a gradient (θ₀ − θ)/Σ steps.
    descent : Descent
        To go on from.
    """

    point: Array
    n_iter: int
    converged: bool
    gaps: list[float]
    slopes: Array | None
    descent: Descent


def sgd(
    data: Rows,
    loss: Loss,
    frame: Frame,
    penalty: Penalty,
    rule: Rule,
    *,
    positive: int | None,
    batch_size: int,
    average: bool,
    max_iter: int,
    rng: np.random.Generator,
    done: Callable[[Array, Array | None], tuple[float, bool]],
    report: Callable[[Array], bool] | None = None,
    retune: Callable[[Array], Rule] | None = None,
    descent: Descent | None = None,
    keep_slopes: bool = False,
    scaled: bool = True,
) -> Sgd:
    """Minimise (1/W) Σ s ℓ(y, Aθ) + λ₁‖w‖₁ + ½λ₂‖w‖² by batches.

    The average is that of the points since the last power of two of passes, so that the start is forgotten.
    After 1, 2, 4, … passes and the last `done` is asked about the answer so far; it gives the gap and whether
    that is enough.

    Parameters
    ----------
    data, loss, frame, penalty, rule : Rows, Loss, Frame, Penalty, Rule
    positive : int or None
        Class number whose label is +1.
    batch_size, average, max_iter
        As in `assay.linear.SGDRegressor`.
    rng : Generator
        Orders of the rows.
    done, report : callable
        `done` is told the answer and the mean slopes; `report`, if there is one, the answer after each pass:
        true asks to stop.
    retune : callable, optional
        Told the point after 1, 2, 4, … 64, 128, 192, … passes; gives the steps from there on.
    descent : Descent, optional
        To go on from; at zero by default. Its arrays are changed.
    keep_slopes : bool
        Whether to keep the mean slope of each row.
    scaled : bool
        Whether weights are divided by their mean.
    """
    y, weight = targets_and_weights(data)
    target = coded_target(y.reshape(-1), positive)
    factor = np.ones(len(target)) if weight is None else weight.astype(np.float64)
    if weight is not None and scaled:
        factor /= factor.mean()
    now = Descent.start(len(penalty.l1)) if descent is None else descent
    slopes, masses = (np.zeros(len(target) if keep_slopes else 0) for _ in range(2))
    gaps: list[float] = []
    answer, converged, mean_slopes = now.point.copy(), False, None
    iteration = 0
    while iteration < max_iter:
        # One batch, nobody to report to: the passes up to the next look are one call.
        passes = 1
        if report is None and len(target) <= min(
            batch_size, block_rows(*data.shape[1:], data.dtype.itemsize)
        ):
            passes = min((1 << iteration.bit_length()) - iteration, max_iter - iteration, MOST_AHEAD)
        iteration += passes
        now = walk(
            data, target, factor, loss, frame, penalty, rule, batch_size, passes, rng, now, slopes, masses
        )
        if not np.isfinite(now.point).all():
            zero = np.zeros_like(now.point)
            return Sgd(zero, iteration, False, [*gaps, np.inf], None, Descent.start(len(zero)))
        answer = now.total / now.n_averaged if average else now.point.copy()
        if keep_slopes:
            mean_slopes = np.divide(slopes, masses, out=np.zeros_like(slopes), where=masses > 0)
        stop = report is not None and report(answer)
        if iteration & (iteration - 1) == 0 or iteration == max_iter:
            gap, converged = done(answer, mean_slopes)
            gaps.append(gap)
            stalled = iteration >= PATIENCE and min(gaps[-3:]) > 0.9 * gaps[-4]
            if converged or stop or stalled:
                break
            if iteration < max_iter:
                now.total[:], slopes[:], masses[:] = 0.0, 0.0, 0.0
                now = now._replace(n_averaged=0)
        elif stop:
            break
        if retune is not None and (iteration & (iteration - 1) == 0 or iteration % MOST_AHEAD == 0):
            rule = retune(now.point)
    return Sgd(answer, iteration, converged, gaps, mean_slopes, now)


def walk(
    data: Rows,
    target: Array,
    factor: Array,
    loss: Loss,
    frame: Frame,
    penalty: Penalty,
    rule: Rule,
    batch_size: int,
    passes: int,
    rng: np.random.Generator,
    now: Descent,
    slopes: Array,
    masses: Array,
) -> Descent:
    """Visit every row once, or `passes` times where all are one batch.

    The arrays of `now` and the sums of slopes are changed.
    """
    code, parameter = loss_code(loss)
    updates, coef, gradient = now.updates, np.empty(data.shape[1]), np.empty(len(now.point))
    for X, first, last in windows(data, batch_size):
        order = np.arange(last - first)
        if len(order) > batch_size:
            rng.shuffle(order)
        size = batch_size
        if passes > 1:
            order, size = np.tile(order, passes), len(order)
        kept = slice(first, last) if len(slopes) else slice(0, 0)
        updates = loops.batch_pass(
            *parts(X), target[first:last], factor[first:last] / rule.unit, order, size, code, parameter,
            frame.shift, frame.scale, frame.intercept, penalty.l1 / rule.unit, penalty.l2 / rule.unit,
            rule.code, rule.eta, rule.power, rule.decay, updates,
            now.point, now.total, now.first, now.second, coef, gradient, slopes[kept], masses[kept],
        )  # fmt: skip
    return now._replace(updates=updates, n_averaged=now.n_averaged + updates - now.updates)


def parts(X: Matrix) -> tuple[NDArray | None, NDArray | None, NDArray | None, NDArray | None]:
    """Rows as the loops take them: dense in C order, or values, columns and starts of a CSR matrix."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X), None, None, None
    return None, X.data, X.indices, X.indptr


def windows(data: Rows, batch_size: int) -> Iterator[tuple[Matrix, int, int]]:
    """Windows of whole batches of the rows in order: features, first and one past the last row."""
    n, d = data.shape
    size = batch_size * max(1, block_rows(d, data.dtype.itemsize) // batch_size)
    if isinstance(data, MemoryRows):
        for first in range(0, n, size):
            yield data.X[first : first + size], first, min(first + size, n)
        return
    slab = size * max(1, SLAB_BYTES // (size * d * data.dtype.itemsize))
    for begin in range(0, n, slab):
        X = data.take(np.arange(begin, min(begin + slab, n)))
        for first in range(0, X.shape[0], size):
            part = X[first : first + size]
            yield part, begin + first, begin + first + part.shape[0]


def near_rows(data: Rows, owner: str) -> Rows:
    """The rows in memory where they fit, else as they are."""
    n, d = data.shape
    fits = n * d * data.dtype.itemsize <= LARGEST_BYTES
    return in_memory(data, owner, "") if fits else data
