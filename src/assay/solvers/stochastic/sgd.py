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
from assay.rows import Block, MemoryRows, Rows, block_rows
from assay.solvers.in_memory import (
    LARGEST_BYTES,
    DenseRows,
    SparseRows,
    in_memory,
    loop_rows,
    targets_and_weights,
)
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import Frame, MachineLoss, design, gram, scores
from assay.solvers.stochastic import loops
from assay.solvers.stochastic.loops import batch_pass

RULES = {
    "auto": (loops.FALLING, 1.0, 0.5),
    "invscaling": (loops.FALLING, 1.0, 0.25),
    "root": (loops.FALLING, 1.0, 0.5),
    "optimal": (loops.OPTIMAL, 1.0, 0.0),
    "constant": (loops.FALLING, 0.5, 0.0),
    "adagrad": (loops.ADAGRAD, 0.5, 0.0),
    "rmsprop": (loops.RMSPROP, 0.3, 0.5),
    "adadelta": (loops.ADADELTA, 1.0, 0.0),
    "adam": (loops.ADAM, 0.3, 0.5),
}
"""Number of each rule in the loops, its first step in units of 1/L or of the spread, and its power of t."""

ADAPTIVE = ("adagrad", "rmsprop", "adadelta", "adam")
LEARNING_RATES = tuple(RULES)

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


class SgdSetting(NamedTuple):
    """Coordinates, penalty and steps of a machine.

    The penalty is λ₁‖w‖₁ + ½λ₂‖w‖²: `strengths` has λ₁ and λ₂ of every coordinate of θ as its rows.
    """

    frame: Frame
    strengths: Array
    rule: Rule


class SgdPlan(NamedTuple):
    """Rows per batch, whether the answer is an average, most passes, whether slopes of rows are kept."""

    batch_size: int
    average: bool
    max_iter: int
    keep_slopes: bool


class SgdState(NamedTuple):
    """What is carried from update to update.

    `vectors` are, row by row, the point, the sum of the last `n_averaged` points, and two running means.
    """

    vectors: Array
    updates: int = 0
    n_averaged: int = 0

    @classmethod
    def start(cls, size: int, level: float = 0.0) -> SgdState:
        """At zero, but for a last coordinate, the intercept, at a level."""
        vectors = np.zeros((4, size))
        if level:
            vectors[0, -1] = level
        return cls(vectors)

    @property
    def point(self) -> Array:
        """θ."""
        return self.vectors[0]

    def forgotten(self) -> SgdState:
        """The same point, with an average that begins anew."""
        self.vectors[1] = 0.0
        return self._replace(n_averaged=0)


class Sgd(NamedTuple):
    """Result of `sgd`: θ in the coordinates of the frame, and how the passes ended.

    `slopes`, where they were asked for, are the means of the slopes of each row on the way, weighted by the
    steps: a dual point, since they stay in a convex domain, with a gradient (θ₀ − θ)/Σ steps.
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

    The arrays of `state`, to go on from, are changed. `done` is told the answer and the mean slopes; `report`
    the answer after each pass: true asks to stop. `retune` is told the point after 1, 2, 4, … 64, 128, 192, …
    passes and gives the steps from there on. `scaled`: whether weights are divided by their mean.
    """
    if not machine.loss.convex or machine.loss.row_form is None:
        raise refusal("sgd", "loss", "a convex loss with a row form, which compiled loops take", machine.loss)
    walk = Walk(data, machine, setting, plan, scaled=scaled)
    one_batch = min(plan.batch_size, block_rows(*data.shape[1:], data.dtype.itemsize))
    ahead = report is None and data.shape[0] <= one_batch
    gaps: list[float] = []
    answer, converged, slopes, iteration = state.point.copy(), False, None, 0
    while iteration < plan.max_iter:
        # One batch, nobody to report to: the passes up to the next look are one call.
        next_look = (1 << iteration.bit_length()) - iteration
        passes = min(next_look, plan.max_iter - iteration, MOST_AHEAD) if ahead else 1
        iteration += passes
        state = walk(setting.rule, passes, rng, state)
        if not np.isfinite(state.point).all():
            zero = np.zeros_like(state.point)
            return Sgd(zero, iteration, False, [*gaps, np.inf], None, SgdState.start(len(zero)))
        answer = state.vectors[1] / state.n_averaged if plan.average else state.point.copy()
        stop = report is not None and report(answer)
        looks = iteration & (iteration - 1) == 0
        if looks or iteration == plan.max_iter:
            slopes = walk.mean_slopes()
            gap, converged = done(answer, slopes)
            gaps.append(gap)
            stop = stop or (iteration >= PATIENCE and min(gaps[-3:]) > 0.9 * gaps[-4])
        if converged or stop:
            break
        if looks and iteration < plan.max_iter:
            walk.table[:, 2:] = 0.0
            state = state.forgotten()
        if retune is not None and (looks or iteration % MOST_AHEAD == 0):
            setting = setting._replace(rule=retune(state.point))
    return Sgd(answer, iteration, converged, gaps, walk.mean_slopes(), state)


class Walk:
    """Passes over the rows; a `table` has target, factor and, where slopes are kept, their sums of each.

    What does not change from pass to pass is laid out once. The unit of slopes is that of the first rule.
    """

    def __init__(
        self, data: Rows, machine: MachineLoss[Loss], setting: SgdSetting, plan: SgdPlan, *, scaled: bool
    ) -> None:
        frame, strengths, rule = setting
        y, weight = targets_and_weights(data)
        self.table = np.zeros((len(y), 4 if plan.keep_slopes else 2))
        self.table[:, 0] = machine.target(y)
        self.table[:, 1] = 1.0 if weight is None else weight / (weight.mean(dtype=float) if scaled else 1.0)
        self.table[:, 1] /= rule.unit
        self.data, self.batch_size, self.form = data, plan.batch_size, machine.loss.row_form
        self.free, ones = frame.intercept, np.ones(int(frame.intercept))
        self.frame = np.vstack([np.append(frame.shift, 0 * ones), np.append(frame.scale, ones), strengths])
        self.frame[2:] /= rule.unit
        self.near = list(windows(data, self.batch_size)) if isinstance(data, MemoryRows) else None

    def __call__(self, rule: Rule, passes: int, rng: np.random.Generator, state: SgdState) -> SgdState:
        """Visit every row once, or `passes` times where all are one batch; vectors and table are changed."""
        vectors, before, averaged = state
        updates, steps = before, np.array(rule[:4])
        for rows, first, last in self.near or windows(self.data, self.batch_size):
            order, size = np.arange(last - first), self.batch_size
            if len(order) > size:
                rng.shuffle(order)
            if passes > 1:
                order, size = np.tile(order, passes), len(order)
            part = self.table[first:last]
            updates = batch_pass(
                rows, part, order, size, self.form, self.frame, self.free, steps, vectors, updates
            )
        return SgdState(vectors, updates, averaged + updates - before)

    def mean_slopes(self) -> Array | None:
        """Mean slope of each row since the sums began, weighted by the steps; 0 for a row not visited."""
        if self.table.shape[1] == 2:
            return None
        slope, step = self.table[:, 2:].T
        return np.divide(slope, step, out=np.zeros_like(slope), where=step > 0)


def windows(data: Rows, batch_size: int) -> Iterator[tuple[DenseRows | SparseRows, int, int]]:
    """Windows of whole batches of the rows in order: features, first and one past the last row."""
    n, d = data.shape
    size = batch_size * max(1, block_rows(d, data.dtype.itemsize) // batch_size)
    near = data.X if isinstance(data, MemoryRows) else None
    slab = n if near is not None else size * max(1, SLAB_BYTES // (size * d * data.dtype.itemsize))
    for begin in range(0, n, slab):
        X = near if near is not None else data.take(np.arange(begin, min(begin + slab, n)))
        for first in range(0, X.shape[0], size):
            part = X[first : first + size]
            yield loop_rows(part), begin + first, begin + first + part.shape[0]


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
        bend = weight * machine.loss.terms(machine.target(block.y), scores(block, frame, point)).curvature
    return gram(design(block, frame, np.sqrt(bend)), frame) / weight.sum()


def make_rule(
    rate: str, loss: Loss, step: float, spread: float, decay: float, eta0: float, *, noisy: bool = True
) -> Rule:
    """A rule by the name of its steps; those of "auto" fall where gradients are `noisy` or jump at corners.

    `step` is 1/L. Steps that adapt to coordinates are in units of the `spread` of the target, and their
    slopes in units of the slope that a row has at first.
    """
    code, factor, power = RULES[rate]
    if code >= loops.ADAGRAD:
        unit = min(loss.lipschitz, spread * min(loss.smoothness, loss.lipschitz / spread))
        return Rule(code, eta0 * (factor * spread), power, unit=unit)
    if rate == "auto" and not noisy and not has_corners(loss, spread):
        power = 0.0
    return Rule(code, eta0 * (factor * step), power, decay if code == loops.OPTIMAL else 0.0)
