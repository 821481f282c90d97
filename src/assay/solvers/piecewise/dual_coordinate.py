"""Dual coordinate descent with shrinking, for machines with many columns.

The dual of ½‖w‖² + ½ρb² + Σℓ is minimised over one ν_i at a time, w = Xᵀν and b = Σν/ρ kept beside it. A
free intercept (ρ = 0) is the limit of proximal steps: ½ρ(b − b̄)² with b̄ moved to b after every pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.loops import compiled
from assay.losses import SidedLoss
from assay.losses.residual import dual_step, row_sides, slope_bound
from assay.parameters import refusal
from assay.rows import Block, MemoryRows
from assay.solvers.in_memory import add_row, loop_rows, row_product
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import Frame, MachineLoss
from assay.solvers.piecewise.gap import MachineGap, MachineProblem, gather_sided
from assay.solvers.piecewise.interior import interior_point
from assay.solvers.piecewise.newton import sided_newton

ROUND = 10
"""Passes between two looks at the duality gap."""

FINISH_COLUMNS, FINISH_ROWS, FINISH_GAP = 256, 20_000, 1e-3
"""Size of tables on which the last digits, once the gap is this small, come from second-order steps."""


@compiled
def coordinate_pass(rows, target, weight, norms, order, nu, coef, state, form, gap):  # type: ignore[no-untyped-def]
    """One ν_i after the other along `order`, each minimised exactly; rows that stay at a bound are dropped.

    `state` is [b, 1/ρ]: with an intercept, b moves by Δν/ρ. Rows whose slope exceeds `gap` at a bound leave
    the front of `order`; returns how many stay and the largest violation seen.
    """
    kept, worst, epsilon = 0, 0.0, form.epsilon
    for place in range(order.shape[0]):
        i = order[place]
        upper, lower = row_sides(form, target[i])
        up, low = weight[i] * upper, weight[i] * lower
        if up + low == 0.0:
            continue
        slope = state[0] - target[i] + row_product(rows, i, coef)
        stiffness = norms[i] + state[1]
        now = nu[i]
        new = dual_step(form, up, low, stiffness, stiffness * now - slope)
        change = new - now
        worst = max(worst, abs(change) * max(stiffness, 1e-300))
        top, bottom = slope_bound(form, up), slope_bound(form, low)
        # Invariant: a row is dropped only where its exact minimiser stays put for slopes up to `gap` away.
        at_bound = change == 0.0 and (
            (now == 0.0 and abs(slope) < epsilon - gap)
            or (now == 0.0 and low == 0.0 and slope + epsilon > gap)
            or (now == 0.0 and up == 0.0 and slope - epsilon < -gap)
            or (now == top and top > 0.0 and slope + epsilon < -gap)
            or (now == -bottom and bottom > 0.0 and slope - epsilon > gap)
        )
        if not at_bound:
            order[kept] = i
            kept += 1
        if change != 0.0:
            nu[i] = new
            state[0] += change * state[1]
            add_row(rows, i, change, coef)
    return kept, worst


class DualCoordinate(NamedTuple):
    """Result of `dual_coordinate`: primal point, dual point, relative gap and how the passes ended."""

    coef: Array
    intercept: float
    dual: Array
    gap: MachineGap
    n_iter: int
    converged: bool
    gaps: list[float]


def dual_coordinate(
    data: MemoryRows,
    problem: MachineProblem,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    report: Callable[[Array, float], bool] = lambda coef, intercept: False,
) -> DualCoordinate:
    """Minimise ½‖w‖² + ½ρb² + Σ s ℓ(y, w·x + b), ℓ sided, until the relative duality gap is `tol`.

    `max_iter` bounds the passes, of which `rng` gives the orders; `report` is told w and b at each look at
    the gap, and true asks to stop.
    """
    machine, (n, d) = problem.machine, data.shape
    if not isinstance(machine.loss, SidedLoss):
        raise refusal("dual_coordinate", "loss", "a sided loss", machine.loss)
    rows, (target, weight) = loop_rows(data.X), machine.read(data._block(0, n))
    norms, nu, coef = squared_norms(data), np.zeros(n), np.zeros(d)
    if not np.isfinite(norms).all():
        raise ValueError(
            f"The squares of row {int(np.argmin(np.isfinite(norms)))} of X are too large for floating point. "
            "Divide the columns by their scale."
        )
    free, softness = problem.fit_intercept and problem.intercept_penalty == 0, 0.0
    if problem.fit_intercept:
        softness = float(norms.mean()) or 1.0 if free else 1 / problem.intercept_penalty
    state, everyone = np.array([0.0, softness]), np.flatnonzero(weight > 0)
    gaps: list[float] = []
    iteration = 0
    while True:
        order, level = everyone.copy(), np.inf
        for _ in range(min(ROUND, max_iter - iteration)):
            rng.shuffle(order)
            kept, worst = coordinate_pass(
                rows, target, weight, norms, order, nu, coef, state, machine.loss.row_form, level
            )
            order, level = order[:kept], max(worst, 1e-14)
            iteration += 1
            if free:
                state[0] += softness * nu.sum()
            if kept == 0:
                break
        # w drifts by rounding over many passes: computed again from ν.
        coef = np.asarray(data.X.T @ nu, dtype=np.float64)
        if problem.fit_intercept and not free:
            state[0] = nu.sum() * softness
        point = coef, float(state[0]), nu
        gap = _measure(data, problem, *point)
        if gap.relative <= FINISH_GAP and d <= FINISH_COLUMNS and n <= FINISH_ROWS:
            exact = _finish(data, problem, coef, float(state[0]))
            there = _measure(data, problem, *exact)
            if there.relative <= tol:
                return DualCoordinate(*exact, there, iteration, True, [*gaps, there.relative])
        gaps.append(gap.relative)
        converged = gap.relative <= tol
        if report(coef, float(state[0])) or converged or iteration >= max_iter:
            return DualCoordinate(*point, gap, iteration, converged, gaps)


def squared_norms(data: MemoryRows) -> Array:
    """‖x_i‖² of every row."""
    if data.is_sparse:
        return np.asarray(data.X.astype(np.float64).power(2).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", data.X, data.X, dtype=np.float64)


def _measure(
    data: MemoryRows, problem: MachineProblem, coef: Array, intercept: float, nu: Array
) -> MachineGap:
    """The duality gap at a primal and a dual point."""
    evidence, _ = gather_sided(data, problem.machine, coef, intercept, nu)
    return problem.gap(evidence, coef, intercept)


def _finish(
    data: MemoryRows, problem: MachineProblem, coef: Array, intercept: float
) -> tuple[Array, float, Array]:
    """The last digits on a table with few columns: by Newton, or by the interior point."""
    machine, ones = problem.machine, np.ones(len(coef))
    frame = Frame(np.zeros(len(coef)), ones, problem.fit_intercept)
    penalty = np.append(ones, problem.intercept_penalty) if problem.fit_intercept else ones
    if machine.loss.cornered:
        inner = interior_point(data, machine, frame, penalty, tol=1e-10, max_iter=100)
        return *frame.outside(inner.point), inner.dual
    start = frame.inside(coef, intercept)
    newton = sided_newton(data, machine, frame, penalty, tol=1e-12, max_iter=50, start=start)
    coef, intercept = frame.outside(newton.point)
    return coef, intercept, data.map(row_slopes, machine, coef, intercept, dtype=np.float64)


def row_slopes(block: Block, machine: MachineLoss[SidedLoss], coef: Array, intercept: float) -> Array:
    """ν of the rows of one block at given coefficients."""
    target, weight = machine.read(block)
    return -weight * machine.loss.gradient(target, np.asarray(block.X @ coef) + intercept)
