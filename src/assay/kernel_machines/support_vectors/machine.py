"""One machine with a sided loss: what it minimises, how it is solved, where its rows stand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import SidedLoss
from assay.solvers.rkhs.box import BoxOptions, exact_products, solve_box
from assay.solvers.rkhs.constraint import strength_of_budget, strength_of_radius
from assay.solvers.rkhs.newton import solve_newton
from assay.solvers.rkhs.problem import Array, RKHSGap, RKHSProblem, RKHSSolution, box, measure, sides_of

NEWTON_STEPS = 1000

OUTSIDE, MARGIN, BOUND = 0, 1, 2
"""Where a row stands: ν = 0, ν inside its box, ν at the end of its box."""


class Limit(NamedTuple):
    """A constraint in the place of the penalty: its kind, "radius" or "budget", and its size."""

    kind: str
    size: float


class MachineData(NamedTuple):
    """The training rows of a machine: their places in the table, and what it minimises on them.

    `gram` is their Gram matrix where it is in memory.
    """

    rows: NDArray[np.intp]
    problem: RKHSProblem[SidedLoss]
    X: Any
    gram: NDArray | None


class Standing(NamedTuple):
    """A machine measured on its rows, from coefficients and intercept alone."""

    coef: Array
    gap: RKHSGap
    violations: Array
    """How far each residual is from where its ν says it must be."""
    outside: float
    """Largest violation of the box of ν, relative to its width."""
    imbalance: float
    """|Σν| over Σ|ν|, 0 without an intercept."""
    slack: Array
    sets: NDArray[np.int8]
    interval: tuple[float, float]
    reach: float
    """The largest k(x, x)."""
    problem: RKHSProblem[SidedLoss]
    slope: Array
    """Residual of each row, y − h(x) − b; of squares less what their conjugate bends."""


def solve_machine(
    kernel: Kernel, data: MachineData, options: BoxOptions, start: RKHSSolution | None = None
) -> RKHSSolution:
    """Minimise the objective of a machine: pairs of rows for a loss with corners, Newton steps for squares.

    A solution for another cost to start from is brought into the box of this one.
    """
    problem, gram = data.problem, data.gram
    if not problem.loss.cornered:
        limits: dict[str, Any] = {"tol": options.tol, "max_iter": min(options.max_iter, NEWTON_STEPS)}
        return solve_newton(problem, kernel, data.X, gram=gram, start=start, **limits)
    point = None
    if start is not None:
        upper, lower = box(problem)
        inside = np.all((start.coef <= upper) & (start.coef >= -lower))
        share = 1.0 if inside else float(problem.cost.min() / max(np.abs(start.coef).max(), 1e-300))
        point = min(share, 1.0) * start.coef
    return solve_box(problem, kernel, data.X, options, gram=gram, start=point)


def solve_constrained(
    kernel: Kernel, data: MachineData, options: BoxOptions, limit: Limit
) -> tuple[MachineData, RKHSSolution, float]:
    """The machine of a ball ‖h‖ ≤ c or of a budget Σ s ℓ ≤ B, and the cost at which the penalty gives it."""

    def solve(cost: float, start: RKHSSolution | None) -> tuple[float, float, RKHSSolution]:
        problem = data.problem._replace(cost=cost * data.problem.cost)
        solution = solve_machine(kernel, data._replace(problem=problem), options, start)
        gap = measure(problem, solution.coef, solution.intercept, solution.products)
        return float(np.sqrt(gap.squared_norm)), float(gap.row_loss.sum()) / cost, solution

    # A gap moves the norm by its root: the constraint is met to the root of what the solver reaches.
    options = options._replace(tol=min(options.tol, 1e-10))
    meet = strength_of_radius if limit.kind == "radius" else strength_of_budget
    point = meet(solve, limit.size, tol=1e-6)
    problem = data.problem._replace(cost=point.cost * data.problem.cost)
    return data._replace(problem=problem), point.solution, point.cost


def machine_products(kernel: Kernel, data: MachineData, coef: Array) -> Array:
    """K ν⁺ and K ν⁻ in double precision, afresh."""
    if data.gram is not None:
        return data.gram @ sides_of(coef)
    return exact_products(kernel, data.X.astype(np.float64), coef)


def stand(
    kernel: Kernel,
    data: MachineData,
    coef: Array,
    intercept: float,
    products: Array,
    *,
    digits: float = 1e-13,
) -> Standing:
    """Measure a machine on its rows; a coefficient within `digits` of its bound is at it."""
    problem = data.problem
    upper, lower = box(problem)
    epsilon = problem.loss.row_form.epsilon
    width = upper + lower
    excess = np.maximum(np.maximum(coef - upper, -lower - coef), 0.0)
    outside = float(np.max(excess / np.where(width > 0, width, 1.0), initial=0.0))
    inside = np.clip(coef, -lower, upper)
    inside = np.where((upper > 0) & (inside >= (1 - digits) * upper), upper, inside)
    inside = np.where((lower > 0) & (inside <= (digits - 1) * lower), -lower, inside)
    total = float(np.abs(coef).sum())
    imbalance = abs(float(coef.sum())) / total if problem.fit_intercept and total > 0 else 0.0
    slope = problem.target - (products[:, 0] - products[:, 1]) - intercept
    if not problem.loss.cornered:  # the conjugate of a square bends
        side = np.where(inside >= 0, *problem.loss.sides(problem.target)) * problem.cost
        slope = slope - inside / np.where(side > 0, problem.loss.row_form.curve * side, 1.0)
    # Slopes of the dual in either direction; the intercept is taken off already.
    rise = slope - np.where(inside >= 0, epsilon, -epsilon)
    fall = slope + np.where(inside <= 0, epsilon, -epsilon)
    rise[inside >= upper], fall[inside <= -lower] = -np.inf, np.inf
    violations = np.maximum(np.maximum(rise, -fall), 0.0)
    ends = (float(rise.max()) + intercept, float(fall.min()) + intercept)
    at_end = (inside != 0) & ((inside >= upper) | (inside <= -lower))
    sets = np.where(inside == 0, OUTSIDE, np.where(at_end, BOUND, MARGIN)).astype(np.int8)
    interval = (min(ends[0], intercept), max(ends[1], intercept)) if problem.fit_intercept else (0.0, 0.0)
    if (sets == MARGIN).any():
        interval = (intercept, intercept)
    gap = measure(problem, inside, intercept, products)
    slack = gap.row_loss / problem.cost
    diagonal = kernel.diagonal(data.X) if data.gram is None else data.gram.diagonal()
    reach = float(diagonal.max())
    where = slack, sets, interval
    return Standing(inside, gap, violations, outside, imbalance, *where, reach, problem, slope)
