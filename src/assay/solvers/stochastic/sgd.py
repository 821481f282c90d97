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

from assay.losses import Loss
from assay.parameters import refusal
from assay.rows import Block, Matrix, MemoryRows, Rows, block_rows
from assay.solvers.in_memory import LARGEST_BYTES, in_memory, loop_rows, targets_and_weights
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import Frame, MachineLoss, design, gram, scores
from assay.solvers.stochastic import loops
from assay.solvers.stochastic.loops import SlopeSums, Window, batch_pass

ADAPTIVE = ("adagrad", "rmsprop", "adadelta", "adam")
LEARNING_RATES = ("auto", "invscaling", "root", "optimal", "constant", *ADAPTIVE)

PILOT_ROWS = 4096
"""Rows from which the curvature is estimated."""

FLATTEST = 1e-4
"""Share of the largest curvature below which the curvature at a point is not trusted."""

SLAB_BYTES = 2**28
"""What is fetched at once (256 MiB) from a table too large for memory."""

MOST_AHEAD = 64
"""Most passes over one batch in one call."""

PATIENCE = 256
"""Passes after which three looks at the gap without progress end the descent."""


class Rule(NamedTuple):
    """Steps: the number of the rule in the loops, η, the power of t, λ of "optimal", the unit of a slope."""

    code: int
    eta: float
    power: float = 0.0
    decay: float = 0.0
    unit: float = 1.0


class Strengths(NamedTuple):
    """λ₁‖w‖₁ + ½λ₂‖w‖², a number of each for every coordinate of θ."""

    l1: Array
    l2: Array


class SgdSetting(NamedTuple):
    """Coordinates, penalty and steps of a machine."""

    frame: Frame
    strengths: Strengths
    rule: Rule


class SgdPlan(NamedTuple):
    """Rows per batch, whether the answer is an average, most passes, whether slopes of rows are kept."""

    batch_size: int
    average: bool
    max_iter: int
    keep_slopes: bool


class SgdState(NamedTuple):
    """What is carried from update to update; `total` is the sum of the last `n_averaged` points."""

    point: Array
    total: Array
    first: Array
    second: Array
    updates: int = 0
    n_averaged: int = 0

    @classmethod
    def start(cls, size: int, level: float = 0.0) -> SgdState:
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
    state : SgdState
        To go on from.
    """

    point: Array
    n_iter: int
    converged: bool
    gaps: list[float]
    slopes: Array | None
    state: SgdState


def sgd(
    data: Rows,
    machine: MachineLoss[Loss],
    setting: SgdSetting,
    plan: SgdPlan,
    state: SgdState,
    *,
    rng: np.random.Generator,
    done: Callable[[Array, Array | None], tuple[float, bool]],
    report: Callable[[Array], bool] | None = None,
    retune: Callable[[Array], Rule] | None = None,
    scaled: bool = True,
) -> Sgd:
    """Minimise (1/W) Σ s ℓ(y, Aθ) + λ₁‖w‖₁ + ½λ₂‖w‖² by batches.

    The average is that of the points since the last power of two of passes, so that the start is forgotten.
    After 1, 2, 4, … passes and the last `done` is asked about the answer so far; it gives the gap and whether
    that is enough.

    Parameters
    ----------
    data, machine, setting, plan : Rows, MachineLoss, SgdSetting, SgdPlan
    state : SgdState
        To go on from. Its arrays are changed.
    rng : Generator
        Orders of the rows.
    done, report : callable
        `done` is told the answer and the mean slopes; `report`, if there is one, the answer after each pass:
        true asks to stop.
    retune : callable, optional
        Told the point after 1, 2, 4, … 64, 128, 192, … passes; gives the steps from there on.
    scaled : bool
        Whether weights are divided by their mean.
    """
    if not machine.loss.convex or machine.loss.row_form is None:
        raise refusal("sgd", "loss", "a convex loss with a row form, which compiled loops take", machine.loss)
    target, factor = _targets_and_factors(data, machine, scaled)
    sums = SlopeSums(*np.zeros((2, len(target) if plan.keep_slopes else 0)))
    ahead = report is None and len(target) <= min(
        plan.batch_size, block_rows(*data.shape[1:], data.dtype.itemsize)
    )
    gaps: list[float] = []
    answer, converged, slopes, iteration = state.point.copy(), False, None, 0
    while iteration < plan.max_iter:
        # One batch, nobody to report to: the passes up to the next look are one call.
        next_look = (1 << iteration.bit_length()) - iteration
        passes = min(next_look, plan.max_iter - iteration, MOST_AHEAD) if ahead else 1
        iteration += passes
        state = walk(data, target, factor, machine.loss, setting, plan.batch_size, passes, rng, state, sums)
        if not np.isfinite(state.point).all():
            zero = np.zeros_like(state.point)
            return Sgd(zero, iteration, False, [*gaps, np.inf], None, SgdState.start(len(zero)))
        answer = state.total / state.n_averaged if plan.average else state.point.copy()
        if plan.keep_slopes:
            slopes = np.divide(sums.slope, sums.step, out=np.zeros_like(target), where=sums.step > 0)
        stop = report is not None and report(answer)
        looks = iteration & (iteration - 1) == 0
        if looks or iteration == plan.max_iter:
            gap, converged = done(answer, slopes)
            gaps.append(gap)
            stop = stop or (iteration >= PATIENCE and min(gaps[-3:]) > 0.9 * gaps[-4])
        if converged or stop:
            break
        if looks and iteration < plan.max_iter:
            state.total[:], sums.slope[:], sums.step[:] = 0.0, 0.0, 0.0
            state = state._replace(n_averaged=0)
        if retune is not None and (looks or iteration % MOST_AHEAD == 0):
            setting = setting._replace(rule=retune(state.point))
    return Sgd(answer, iteration, converged, gaps, slopes, state)


def _targets_and_factors(data: Rows, machine: MachineLoss[Loss], scaled: bool) -> tuple[Array, Array]:
    """Targets as the loss wants them, and factors of the gradients of the rows."""
    y, weight = targets_and_weights(data)
    factor = np.ones(len(y)) if weight is None else weight.astype(np.float64)
    return machine.target(y), factor / factor.mean() if weight is not None and scaled else factor


def walk(
    data: Rows,
    target: Array,
    factor: Array,
    loss: Loss,
    setting: SgdSetting,
    batch_size: int,
    passes: int,
    rng: np.random.Generator,
    state: SgdState,
    sums: SlopeSums,
) -> SgdState:
    """Visit every row once, or `passes` times where all are one batch.

    The arrays of the state and the sums of slopes are changed.
    """
    frame, strengths, rule = setting
    strengths = Strengths(strengths.l1 / rule.unit, strengths.l2 / rule.unit)
    form, before = loss.row_form, state.updates
    for X, first, last in windows(data, batch_size):
        order = np.arange(last - first)
        if len(order) > batch_size:
            rng.shuffle(order)
        size = batch_size
        if passes > 1:
            order, size = np.tile(order, passes), len(order)
        kept = slice(first, last) if len(sums.slope) else slice(0, 0)
        window = Window(loop_rows(X), target[first:last], factor[first:last] / rule.unit)
        part = SlopeSums(sums.slope[kept], sums.step[kept])
        updates = batch_pass(window, order, size, form, frame, strengths, rule, state, part)
        state = state._replace(updates=updates)
    return state._replace(n_averaged=state.n_averaged + state.updates - before)


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


# Steps: rules by name, and the curvature that they are measured in.


def has_corners(loss: Loss, spread: float) -> bool:
    """Whether the slope turns within much less than the spread of the target, as Huber's for a small δ.

    Slopes at one point are then a poor dual point, and their mean over the descent is kept.
    """
    return loss.smoothness > loss.lipschitz / spread


def base_step(
    data: Rows,
    frame: Frame,
    machine: MachineLoss[Loss],
    spread: float,
    batch_size: int,
    point: Array | None = None,
) -> float:
    """1/L of the risk of a batch: its largest second moment times the curvature of the loss.

    The curvature is the largest there is or, given a point, that of the rows at this point. The slope of a
    loss with corners turns by at most its Lipschitz constant over the spread of the target.
    """
    loss = machine.loss

    def largest(*state: object) -> float:
        moments = data.head(PILOT_ROWS, pilot_moments, frame, *state)
        return float(np.linalg.eigvalsh(moments)[-1] + np.trace(moments) / batch_size)

    bound = min(loss.smoothness, loss.lipschitz / spread) * largest()
    if point is not None and not has_corners(loss, spread):
        bound = min(bound, max(largest(machine, point), FLATTEST * bound))
    return 1 / bound if bound > 0 else 1.0


def pilot_moments(
    block: Block, frame: Frame, machine: MachineLoss[Loss] | None = None, point: Array | None = None
) -> Array:
    """Second moments of the first rows in the coordinates of the frame.

    Given a loss, those of its curvature at a point.
    """
    weight = block.weights if block.weight is None or block.weight.any() else np.ones(block.X.shape[0])
    bend = weight
    if machine is not None and point is not None:
        assert block.y is not None
        bend = weight * machine.loss.curvature(machine.target(block.y), scores(block, frame, point))
    return gram(design(block, frame, np.sqrt(bend)), frame) / weight.sum()


def make_rule(
    rate: str, loss: Loss, step: float, spread: float, decay: float, eta0: float, *, noisy: bool = True
) -> Rule:
    """A rule by the name of its steps; those of "auto" fall where gradients are `noisy` or jump at corners.

    `step` is 1/L. Steps that adapt to coordinates are in units of the `spread` of the target, and their
    slopes in units of the slope that a row has at first.
    """
    falls = noisy or has_corners(loss, spread)
    unit = min(loss.lipschitz, spread * min(loss.smoothness, loss.lipschitz / spread))
    rules = {
        "constant": Rule(loops.FALLING, step / 2),
        "optimal": Rule(loops.OPTIMAL, step, decay=decay),
        "auto": Rule(loops.FALLING, step, 0.5 if falls else 0.0),
        "invscaling": Rule(loops.FALLING, step, 0.25),
        "root": Rule(loops.FALLING, step, 0.5),
        "adagrad": Rule(loops.ADAGRAD, 0.5 * spread, unit=unit),
        "rmsprop": Rule(loops.RMSPROP, 0.3 * spread, 0.5, unit=unit),
        "adadelta": Rule(loops.ADADELTA, spread, unit=unit),
        "adam": Rule(loops.ADAM, 0.3 * spread, 0.5, unit=unit),
    }
    rule = rules[rate]
    return rule._replace(eta=eta0 * rule.eta)
