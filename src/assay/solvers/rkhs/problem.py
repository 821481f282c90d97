"""A risk in the Hilbert space of a kernel, its dual, and the duality gap that is a sum over rows.

With h = Σ ν_i k(x_i, ·) the problem and its dual are

    min over (h, b)   ½‖h‖² + Σ c_i ℓ(y_i, h(x_i) + b),
    max over ν        −½ νᵀKν − Σ c_i ℓ*(y_i, −ν_i/c_i),        Σν = 0 with an intercept.

At one and the same ν their difference is Σ_i [c_i ℓ(y_i, f_i) + c_i ℓ*(y_i, −ν_i/c_i) + ν_i f_i] with f = Kν
+ b: by the inequality of Fenchel and Young no term is negative, and each tells how far its row is from the
optimality conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss, SidedLoss
from assay.solvers.piecewise.gap import balanced

Array = NDArray[np.float64]
LossType = TypeVar("LossType", bound=Loss, covariant=True)

PERFECT = 1e-9
"""Share of the loss at zero below which an objective is rounding: gaps are relative to no less."""


class RKHSProblem(NamedTuple, Generic[LossType]):
    """What a kernel machine minimises on its rows: ½‖h‖² + Σ cost · ℓ(target, h + b).

    `cost` is C times the weight of each row, above 0: rows of weight 0 are left out before.
    """

    loss: LossType
    target: Array
    cost: Array
    fit_intercept: bool

    def take(self, rows: NDArray) -> RKHSProblem[LossType]:
        """The same problem on some of the rows."""
        return self._replace(target=self.target[rows], cost=self.cost[rows])

    @property
    def losses_at_zero(self) -> Array:
        """Loss of the function 0 at each row, times its cost."""
        return np.asarray(self.cost * self.loss.value(self.target, np.zeros_like(self.target)))

    @property
    def loss_at_zero(self) -> float:
        """Σ c ℓ(y, 0), the objective of the function 0."""
        return float(self.losses_at_zero.sum())


class RKHSSolution(NamedTuple):
    """Result of a solver: h = Σ coef_i k(x_i, ·), its values at the rows, and how it ended.

    `products` are K ν⁺ and K ν⁻ in double precision, made afresh from the kernel, one column each;
    `intervals` is the interval of intercepts that are as good, `trace` the dual value after each round when
    it was asked for.
    """

    coef: Array
    intercept: float
    interval: tuple[float, float]
    products: Array
    n_iter: int
    converged: bool
    trace: list[float]


class RKHSGap(NamedTuple):
    """Primal value, what separates it from a dual value, and its parts."""

    primal: float
    gap: float
    """Distance of the objective from a lower bound of its minimum."""
    squared_norm: float
    row_loss: Array
    """c ℓ of each row."""
    row_gaps: Array
    """c ℓ + c ℓ* + ν f of each row, 0 at an optimum."""
    scale: float

    @property
    def dual(self) -> float:
        """A lower bound of the minimum."""
        return self.primal - self.gap

    @property
    def relative(self) -> float:
        """The gap over the objective, or over what rounding leaves of its value at zero, if larger."""
        return self.gap / self.scale if self.scale > 0 else 0.0


class Function(NamedTuple):
    """Coefficients, K times them, and the square of the norm."""

    coef: Array
    values: Array
    squared_norm: float


def sides_of(coef: Array) -> Array:
    """ν⁺ and ν⁻ as two columns, both at least 0: ν = ν⁺ − ν⁻."""
    return np.column_stack([np.maximum(coef, 0.0), np.maximum(-coef, 0.0)])


def within_box(problem: RKHSProblem[SidedLoss], coef: Array) -> Array:
    """The nearest coefficients that the dual of a sided loss allows."""
    upper, lower = box(problem)
    return np.clip(coef, -lower, upper)


def box(problem: RKHSProblem[SidedLoss]) -> tuple[Array, Array]:
    """Largest ν of each row, and the largest −ν: the cost times the steepest slope of either side."""
    upper, lower = problem.loss.sides(problem.target)
    steepest = problem.loss.row_form.steepest
    if steepest < np.inf:
        return problem.cost * upper * steepest, problem.cost * lower * steepest
    with np.errstate(invalid="ignore"):  # squares have no steepest slope, and 0 of it is none
        return (
            np.where(upper > 0, problem.cost * upper * steepest, 0.0),
            np.where(lower > 0, problem.cost * lower * steepest, 0.0),
        )


def stacked(problems: Sequence[RKHSProblem[LossType]]) -> RKHSProblem[LossType]:
    """The problems of several machines with one loss, their rows one after the other."""
    first = problems[0]
    if len(problems) == 1:
        return first
    targets = np.concatenate([problem.target for problem in problems])
    return first._replace(target=targets, cost=np.concatenate([problem.cost for problem in problems]))


def measure(
    problem: RKHSProblem, coef: Array, intercept: float, products: Array, function: Function | None = None
) -> RKHSGap:
    """Primal value at (ν, b) and its distance from the dual value at ν, made feasible; see `measure_each`."""
    intercepts = np.array([intercept])
    return measure_each(problem, np.array([len(coef)]), coef, intercepts, products, function)[0]


def measure_each(
    problem: RKHSProblem,
    sizes: NDArray[np.intp],
    coef: Array,
    intercepts: Array,
    products: Array,
    function: Function | None = None,
) -> list[RKHSGap]:
    """Primal values of stacked machines of these sizes, and what separates them from dual values.

    `products` are K ν⁺ and K ν⁻, K the Gram matrix of each machine.

    With an intercept the dual point μ must have Σμ = 0: the heavier side of ν is scaled down. The distance is
    the sum of the rows' terms at μ and ½‖ν − μ‖², of which none is negative and none cancels, however large
    the coefficients. `function` is the one whose primal value is asked for where it is not that of ν.
    """
    loss, y, cost, _ = problem
    starts = np.cumsum(sizes) - sizes
    values = products[:, 0] - products[:, 1]
    squared_norm = np.maximum(np.add.reduceat(coef * values, starts), 0.0)
    alpha = coef
    if function is not None:
        alpha, values, squared_norm = function.coef, function.values, np.array([function.squared_norm])
    scores = values + np.repeat(intercepts, sizes)
    row_loss = cost * loss.value(y, scores)
    primal = 0.5 * squared_norm + np.add.reduceat(row_loss, starts)
    row_dual = cost * loss.conjugate(y, -coef / cost)
    row_gaps = np.maximum(row_loss + row_dual + coef * scores, 0.0)
    sides = sides_of(coef)
    share = np.ones((len(sizes), 2))
    if problem.fit_intercept:
        share = balanced(np.add.reduceat(sides, starts, axis=0))
    signs = np.repeat(share * [1.0, -1.0], sizes, axis=0)
    point, terms = np.einsum("ij,ij->i", sides, signs), row_gaps
    if np.any(share != 1.0):
        terms = np.maximum(row_loss + cost * loss.conjugate(y, -point / cost) + point * scores, 0.0)
    difference = (alpha - point) * (values - np.einsum("ij,ij->i", products, signs))
    gap = np.add.reduceat(terms, starts) + 0.5 * np.maximum(np.add.reduceat(difference, starts), 0.0)
    # The loss at zero matters to a fit that is nearly perfect alone.
    perfect = (primal <= 1e-3 * np.maximum.reduceat(np.abs(row_dual), starts)) | (squared_norm == 0)
    scale = np.abs(primal)
    if perfect.any():
        at_zero = np.add.reduceat(problem.losses_at_zero, starts)
        scale = np.where(perfect, np.maximum(scale, PERFECT * at_zero), scale)
    numbers = zip(primal.tolist(), gap.tolist(), squared_norm.tolist(), strict=True)
    parts = zip(split(row_loss, sizes), split(row_gaps, sizes), scale.tolist(), strict=True)
    return [RKHSGap(*several, *part) for several, part in zip(numbers, parts, strict=True)]


def split(values: NDArray, sizes: NDArray[np.intp]) -> list[NDArray]:
    """The parts of stacked values."""
    ends = np.cumsum(sizes).tolist()
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]
