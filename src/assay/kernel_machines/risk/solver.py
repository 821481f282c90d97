"""A risk under a penalty or in a ball, and what proves the solution of either."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.kernels import Kernel
from assay.losses import Loss
from assay.solvers.rkhs.constraint import OnPath, strength_of_radius
from assay.solvers.rkhs.curved import GramOperator
from assay.solvers.rkhs.problem import (
    PERFECT,
    Array,
    Function,
    RKHSGap,
    RKHSProblem,
    RKHSSolution,
    measure,
    sides_of,
)
from assay.solvers.rkhs.solve import allowed, solve_rkhs

SOURCE = "Sangnier §1.4.3; Wei §6.2.4; Rudi & Şimşekli §4.2"
SMALLEST_GAP = 1e-14
INACTIVE = 1e-4
"""Gap that a ball too large to matter is proved to, relative to the loss."""


class Standing(NamedTuple):
    """A fit measured: its gap as a penalised problem, the way of its coefficients to the dual, its norm."""

    gap: RKHSGap
    outside: float
    norm: float
    mean_loss: float
    violation: float
    """Largest of the rows' parts of the gap, relative to the mean loss of a row at the zero function."""


def solve_in_ball(
    problem: RKHSProblem[Loss],
    kernel: Kernel,
    X: Any,
    gram: NDArray | None,
    radius: float,
    *,
    tol: float,
    max_iter: int,
) -> OnPath:
    """The point of the path of penalties whose norm is the radius; the costs of `problem` are weights."""
    # A norm is as exact as the root of the gap, and a start that is good enough would not move at all.
    precise = tol if problem.loss.cornered else max(1e-4 * tol, SMALLEST_GAP)

    def solve(cost: float, start: Any) -> tuple[float, float, Any]:
        here = problem._replace(cost=problem.cost * cost)
        warm = None if start is None else (start[0], cost / start[1])
        found = solve_rkhs(here, kernel, X, tol=precise, max_iter=max_iter, gram=gram, start=warm)
        values = found.products[:, 0] - found.products[:, 1]
        norm = float(np.sqrt(operator.squared_norm(found.coef, values)))
        loss = float(problem.cost @ problem.loss.value(problem.target, values + found.intercept))
        return norm, loss, (found, cost)

    operator = GramOperator(kernel, X, gram, memory=0.0)
    typical = float(np.abs(operator.diagonal).mean(dtype=np.float64))
    first = 1.0 / max(float(problem.cost.mean()) * typical * 100.0, 1e-300)
    point = strength_of_radius(
        solve, radius, first=first, tol=1e-9, solved=lambda each: bool(each[0].converged)
    )
    return point._replace(solution=point.solution[0])


def stand(problem: RKHSProblem[Loss], coef: Array, intercept: float, operator: GramOperator) -> Standing:
    """Measure coefficients on products with the kernel."""
    values = operator @ coef
    point = allowed(problem, coef, values + intercept)
    size = max(float(np.abs(coef).max(initial=0.0)), 1e-300)
    # The objective is that of the function as it is: it does not fall by what made a dual point of it.
    function = Function(coef, values, operator.squared_norm(coef, values))
    gap = measure(problem, point, intercept, operator @ sides_of(point), function)
    row = problem.loss_at_zero / len(problem.cost)
    return Standing(
        gap,
        float(np.abs(point - coef).max()) / size,
        float(np.sqrt(gap.squared_norm)),
        float(gap.row_loss.sum()) / float(problem.cost.sum()),
        float(gap.row_gaps.max(initial=0.0)) / max(row, 1e-300),
    )


class OverBall(NamedTuple):
    """What certifies a fit in a ball: the gap of its penalty, C Σ s ℓ there and at 0, its norm."""

    gap: float
    loss: float
    loss_at_zero: float
    norm: float

    def relative_gap(self, radius: float) -> float:
        """Gap of the mean loss over the ball, relative to it: the gap of the penalty and (c − ‖h‖)‖h‖."""
        excess = self.gap + max(radius - self.norm, 0.0) * self.norm
        return excess / max(self.loss, PERFECT * self.loss_at_zero, 1e-300)


def over_ball(problem: RKHSProblem[Loss], standing: Standing) -> OverBall:
    """Of a fit on a kernel."""
    gap = standing.gap
    return OverBall(gap.gap, float(gap.row_loss.sum()), problem.loss_at_zero, standing.norm)


def risk_certificates(
    problem: RKHSProblem[Loss], standing: Standing, tol: float, *, single: bool
) -> list[Certificate]:
    """Of the penalised problem: the gap, and that the coefficients are a point of the dual."""
    return [
        at_most(
            "The objective is this close to its minimum over the whole RKHS.",
            "relative duality gap",
            standing.gap.relative,
            max(1.01 * tol, 1e-6 if single else 1e-9),
            SOURCE,
            assumptions=("the kernel is positive semi-definite",),
        ),
        at_most(
            "Each row meets its optimality condition: its coefficient is minus a slope of its loss.",
            "largest part of a row in the gap",
            standing.violation,
            max(100 * tol, 1e-4 if single else 1e-6),
            SOURCE,
        ),
        at_most(
            "The coefficients are a point of the dual: each in its domain.",
            "distance from the dual's domain",
            standing.outside,
            max(10 * np.sqrt(tol), 1e-3 if single else 1e-6),
            SOURCE,
        ),
    ]


def ball_certificates(
    standing: OverBall, radius: float, *, active: bool, tol: float, single: bool
) -> list[Certificate]:
    """Of the constrained problem: inside the ball, complementary, and optimal there."""
    rounding = 1e-3 if single else 1e-5
    source = "Sangnier §1.4.7, proposition 41"
    slack = max(radius - standing.norm, 0.0) / radius
    bound = max(100 * tol, rounding) if active else INACTIVE
    return [
        at_most(
            "The function is in the ball.", "norm over radius", standing.norm / radius, 1 + rounding, source
        ),
        at_most(
            "The ball binds or the penalty is nothing: λ(‖h‖ − c) = 0.",
            "slack of the ball, relative" if active else "penalty times slack, relative",
            slack if active else standing.relative_gap(radius),
            rounding if active else INACTIVE,
            source,
        ),
        at_most(
            "The mean loss is this close to its minimum over the ball.",
            "relative gap in the ball",
            standing.relative_gap(radius),
            bound,
            source,
        ),
    ]


def solution_of_penalty(
    problem: RKHSProblem[Loss], kernel: Kernel, X: Any, gram: NDArray | None, *, tol: float, max_iter: int
) -> RKHSSolution:
    """The solution at the costs of the problem."""
    return solve_rkhs(problem, kernel, X, tol=tol, max_iter=max_iter, gram=gram)
