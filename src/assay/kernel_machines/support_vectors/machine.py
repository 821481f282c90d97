"""One machine with a sided loss: what it minimises, how it is solved, where its rows stand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import SidedLoss
from assay.solvers.rkhs.box import BoxOptions, exact_products, solve_box
from assay.solvers.rkhs.problem import Array, RKHSGap, RKHSProblem, RKHSSolution, box, measure, sides_of

OUTSIDE, MARGIN, BOUND = 0, 1, 2
"""Where a row stands: ν = 0, ν inside its box, ν at the end of its box."""


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


def solve_machine(
    kernel: Kernel, data: MachineData, options: BoxOptions, start: Array | None = None
) -> RKHSSolution:
    """Minimise the objective of a machine, by the solver that suits its loss."""
    return solve_box(data.problem, kernel, data.X, options, gram=data.gram, start=start)


def machine_products(kernel: Kernel, data: MachineData, coef: Array) -> Array:
    """K ν⁺ and K ν⁻ in double precision, afresh."""
    if data.gram is not None:
        return data.gram @ sides_of(coef)
    return exact_products(kernel, data.X.astype(np.float64), coef)


def stand(kernel: Kernel, data: MachineData, coef: Array, intercept: float, products: Array) -> Standing:
    """Measure a machine on its rows."""
    problem = data.problem
    upper, lower = box(problem)
    epsilon = problem.loss.row_form.epsilon
    width = upper + lower
    beyond = np.maximum(coef - upper, -lower - coef) / np.where(width > 0, width, 1.0)
    outside = max(float(np.max(beyond, initial=0.0)), 0.0) if np.isfinite(width).all() else 0.0
    inside = np.clip(coef, -lower, upper)
    total = float(np.abs(coef).sum())
    imbalance = abs(float(coef.sum())) / total if problem.fit_intercept and total > 0 else 0.0
    residual = problem.target - (products[:, 0] - products[:, 1]) - intercept
    # Slopes of the dual in either direction; the intercept is taken off already.
    rise = residual - np.where(inside >= 0, epsilon, -epsilon)
    fall = residual + np.where(inside <= 0, epsilon, -epsilon)
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
    return Standing(inside, gap, violations, outside, imbalance, slack, sets, interval, float(diagonal.max()))
