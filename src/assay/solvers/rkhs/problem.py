"""A risk in the Hilbert space of a kernel, its dual, and the duality gap that is a sum over rows.

With h = Σ ν_i k(x_i, ·) the problem and its dual are

    min over (h, b)   ½‖h‖² + Σ c_i ℓ(y_i, h(x_i) + b),
    max over ν        −½ νᵀKν − Σ c_i ℓ*(y_i, −ν_i/c_i),        Σν = 0 with an intercept.

At one and the same ν their difference is Σ_i [c_i ℓ(y_i, f_i) + c_i ℓ*(y_i, −ν_i/c_i) + ν_i f_i] with f = Kν
+ b: by the inequality of Fenchel and Young no term is negative, and each tells how far its row is from the
optimality conditions.
"""

from __future__ import annotations

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
    def loss_at_zero(self) -> float:
        """Σ c ℓ(y, 0), the objective of the function 0."""
        return float(self.cost @ self.loss.value(self.target, np.zeros_like(self.target)))


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
    """Primal and dual value, and what separates them."""

    primal: float
    dual: float
    squared_norm: float
    row_loss: Array
    """c ℓ of each row."""
    row_gaps: Array
    """c ℓ + c ℓ* + ν f of each row, 0 at an optimum."""
    scale: float

    @property
    def gap(self) -> float:
        """Distance of the objective from a lower bound of its minimum."""
        return max(self.primal - self.dual, 0.0)

    @property
    def relative(self) -> float:
        """The gap over the objective, or over what rounding leaves of its value at zero, if larger."""
        return self.gap / self.scale if self.scale > 0 else 0.0


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


def measure(problem: RKHSProblem, coef: Array, intercept: float, products: Array) -> RKHSGap:
    """Primal value at (ν, b) and dual value at ν, made feasible, from K ν⁺ and K ν⁻.

    With an intercept the dual point must have Σν = 0: the heavier of its sides is scaled down.
    """
    loss, y, cost, _ = problem
    sides = sides_of(coef)
    values = products[:, 0] - products[:, 1]
    squared_norm = max(float(coef @ values), 0.0)
    scores = values + intercept
    row_loss = cost * loss.value(y, scores)
    primal = 0.5 * squared_norm + float(row_loss.sum())
    row_dual = cost * loss.conjugate(y, -coef / cost)
    row_gaps = np.maximum(row_loss + row_dual + coef * scores, 0.0)
    share = balanced(sides.sum(axis=0)) if problem.fit_intercept else np.ones(2)
    if np.all(share == 1.0):
        dual = -0.5 * squared_norm - float(row_dual.sum())
    else:
        point, at = sides @ (share * [1.0, -1.0]), products @ (share * [1.0, -1.0])
        dual = -0.5 * float(point @ at) - float(np.sum(cost * loss.conjugate(y, -point / cost)))
    # The loss at zero matters to a fit that is nearly perfect alone.
    perfect = primal <= 1e-3 * float(np.max(np.abs(row_dual), initial=0.0)) or squared_norm == 0
    scale = max(abs(primal), PERFECT * problem.loss_at_zero) if perfect else abs(primal)
    return RKHSGap(primal, dual, squared_norm, row_loss, row_gaps, scale)
