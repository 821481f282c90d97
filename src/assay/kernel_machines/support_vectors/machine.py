"""One machine with a sided loss: what it minimises, how it is solved, where its rows stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import SidedLoss
from assay.solvers.rkhs.box import BoxOptions, exact_products, solve_box
from assay.solvers.rkhs.constraint import strength_of_budget, strength_of_radius
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.newton import solve_newton
from assay.solvers.rkhs.problem import (
    Array,
    RKHSGap,
    RKHSProblem,
    RKHSSolution,
    box,
    measure,
    measure_each,
    sides_of,
    split,
    stacked,
)

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
    gram: GramLines | None

    @property
    def matrix(self) -> Array | None:
        """The Gram matrix as an array."""
        return None if self.gram is None else np.asarray(self.gram)


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
    problem = data.problem
    if not problem.loss.cornered:
        limits: dict[str, Any] = {"tol": options.tol, "max_iter": min(options.max_iter, NEWTON_STEPS)}
        return solve_newton(problem, kernel, data.X, gram=data.matrix, start=start, **limits)
    point = None
    if start is not None:
        upper, lower = box(problem)
        inside = np.all((start.coef <= upper) & (start.coef >= -lower))
        share = 1.0 if inside else float(problem.cost.min() / max(np.abs(start.coef).max(), 1e-300))
        point = min(share, 1.0) * start.coef
    return solve_box(problem, kernel, data.X, options, gram=data.gram, start=point)


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
        return np.column_stack([data.gram.product(side) for side in sides_of(coef).T])
    return exact_products(kernel, data.X.astype(np.float64), coef)


def stand_all(
    kernel: Kernel,
    machines: Sequence[MachineData],
    coefs: Sequence[Array],
    intercepts: Array,
    products: Sequence[Array],
    *,
    digits: float = 1e-13,
) -> list[Standing]:
    """Measure machines on their rows, all at once; a coefficient within `digits` of its bound is at it."""
    problem = stacked([data.problem for data in machines])
    sizes = np.array([len(data.rows) for data in machines])
    starts = np.cumsum(sizes) - sizes
    coef, columns = np.concatenate(coefs), np.concatenate(products)
    upper, lower = box(problem)
    epsilon = problem.loss.row_form.epsilon
    width = upper + lower
    excess = np.maximum(np.maximum(coef - upper, -lower - coef), 0.0)
    outside = np.maximum.reduceat(excess / np.where(width > 0, width, 1.0), starts)
    inside = np.clip(coef, -lower, upper)
    inside = np.where((upper > 0) & (inside >= (1 - digits) * upper), upper, inside)
    inside = np.where((lower > 0) & (inside <= (digits - 1) * lower), -lower, inside)
    imbalance = np.zeros(len(sizes))
    if problem.fit_intercept:
        total, excess = np.add.reduceat(np.abs(coef), starts), np.abs(np.add.reduceat(coef, starts))
        imbalance = excess / np.where(total > 0, total, 1.0)
    slope = problem.target - (columns[:, 0] - columns[:, 1]) - np.repeat(intercepts, sizes)
    if not problem.loss.cornered:  # the conjugate of a square bends
        side = np.where(inside >= 0, *problem.loss.sides(problem.target)) * problem.cost
        slope = slope - inside / np.where(side > 0, problem.loss.row_form.curve * side, 1.0)
    # Slopes of the dual in either direction; the intercept is taken off already.
    rise = slope - np.where(inside >= 0, epsilon, -epsilon)
    fall = slope + np.where(inside <= 0, epsilon, -epsilon)
    rise[inside >= upper], fall[inside <= -lower] = -np.inf, np.inf
    violations = np.maximum(np.maximum(rise, -fall), 0.0)
    at_end = (inside != 0) & ((inside >= upper) | (inside <= -lower))
    sets = np.where(inside == 0, OUTSIDE, np.where(at_end, BOUND, MARGIN)).astype(np.int8)
    ends = np.zeros((2, len(sizes)))
    if problem.fit_intercept:
        held = np.logical_or.reduceat(sets == MARGIN, starts)
        ends[0] = np.where(held, 0.0, np.minimum(np.maximum.reduceat(rise, starts), 0.0)) + intercepts
        ends[1] = np.where(held, 0.0, np.maximum(np.minimum.reduceat(fall, starts), 0.0)) + intercepts
    gaps = measure_each(problem, sizes, inside, intercepts, columns)
    slack = np.concatenate([gap.row_loss for gap in gaps]) / problem.cost
    rows = zip(*(split(each, sizes) for each in (inside, violations, slack, sets, slope)), strict=True)
    numbers = zip(outside.tolist(), imbalance.tolist(), ends.T.tolist(), strict=True)
    standings = []
    for data, gap, of_rows, (out, unequal, interval) in zip(machines, gaps, rows, numbers, strict=True):
        nu, violation, loss, places, residual = of_rows
        diagonal = kernel.diagonal(data.X) if data.gram is None else data.gram.diagonal()
        where = loss, places, (interval[0], interval[1]), float(diagonal.max())
        standings.append(Standing(nu, gap, violation, out, unequal, *where, data.problem, residual))
    return standings
