"""Dual coordinate descent with shrinking, for machines with many columns.

The dual of ½‖w‖² + ½ρb² + Σℓ(r) is minimised over one ν_i at a time, w = Xᵀν and b = Σν/ρ kept beside it. A
free intercept (ρ = 0) is the limit of proximal steps: ½ρ(b − b̄)² with b̄ moved to b after every pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.loops import compiled
from assay.rows import MemoryRows
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.gap import Gap, gather_tilted, tilted_gap
from assay.solvers.piecewise.newton import tilted_newton
from assay.solvers.piecewise.quantile_interior import tilted_interior
from assay.solvers.piecewise.tilted import Frame, Tilt, row_slopes, sides

# Compiled loops of dual coordinate descent: one pass over some rows, dense or CSR.
#
# Rows are dense (`dense`, the other three None) or CSR (`dense` None, then `values`, `columns`, `starts`);
# the tests `is not None` are decided when a loop is compiled.


@compiled
def squared_norms(dense, values, starts, norms):  # type: ignore[no-untyped-def]
    """‖x_i‖² of every row."""
    for i in range(norms.shape[0]):
        total = 0.0
        if dense is not None:
            for j in range(dense.shape[1]):
                total += np.float64(dense[i, j]) ** 2
        if values is not None:
            for position in range(starts[i], starts[i + 1]):
                total += np.float64(values[position]) ** 2
        norms[i] = total


@compiled
def coordinate_pass(  # type: ignore[no-untyped-def]
    dense, values, columns, starts, target, upper, lower, norms, order, nu, coef, state, epsilon, squared, gap
):
    """One ν_i after the other along `order`, each minimised exactly; rows that stay at a bound are dropped.

    `state` is [b, 1/ρ]: with an intercept, b moves by Δν/ρ. Rows whose slope exceeds `gap` at a bound leave
    the front of `order`; returns how many stay and the largest violation seen.
    """
    kept, worst = 0, 0.0
    for place in range(order.shape[0]):
        i = order[place]
        up, low = upper[i], lower[i]
        if up + low == 0.0:
            continue
        slope = state[0] - target[i]
        if dense is not None:
            for j in range(dense.shape[1]):
                slope += np.float64(dense[i, j]) * coef[j]
        if values is not None:
            for position in range(starts[i], starts[i + 1]):
                slope += np.float64(values[position]) * coef[columns[position]]
        curve = norms[i] + state[1]
        now = nu[i]
        new = 0.0
        if squared:
            if up > 0.0 and curve * now - slope - epsilon > 0.0:
                new = (curve * now - slope - epsilon) / (curve + 0.5 / up)
            elif low > 0.0 and curve * now - slope + epsilon < 0.0:
                new = (curve * now - slope + epsilon) / (curve + 0.5 / low)
        elif curve > 0.0:
            if curve * now - slope - epsilon > 0.0:
                new = min((curve * now - slope - epsilon) / curve, up)
            elif curve * now - slope + epsilon < 0.0:
                new = max((curve * now - slope + epsilon) / curve, -low)
        else:
            new = up if -slope - epsilon > 0.0 else (-low if -slope + epsilon < 0.0 else 0.0)
        change = new - now
        worst = max(worst, abs(change) * max(curve, 1e-300))
        at_bound = change == 0.0 and (
            (now == 0.0 and abs(slope) < epsilon - gap)
            or (now == 0.0 and low == 0.0 and slope + epsilon > gap)
            or (now == 0.0 and up == 0.0 and slope - epsilon < -gap)
            or (not squared and now == up and up > 0.0 and slope + epsilon < -gap)
            or (not squared and now == -low and low > 0.0 and slope - epsilon > gap)
        )
        if not at_bound:
            order[kept] = i
            kept += 1
        if change != 0.0:
            nu[i] = new
            state[0] += change * state[1]
            if dense is not None:
                for j in range(dense.shape[1]):
                    coef[j] += change * np.float64(dense[i, j])
            if values is not None:
                for position in range(starts[i], starts[i + 1]):
                    coef[columns[position]] += change * np.float64(values[position])
    return kept, worst


ROUND = 10
"""Passes between two looks at the duality gap."""

FINISH_COLUMNS, FINISH_ROWS, FINISH_GAP = 256, 20_000, 1e-3
"""Size of tables on which the last digits, once the gap is this small, come from second-order steps."""


class Intercept(NamedTuple):
    """Whether there is an intercept, and its penalty ρ."""

    fit: bool
    penalty: float


class DualCoordinate(NamedTuple):
    """Result of `dual_coordinate`: primal point, dual point, relative gap and how the passes ended."""

    coef: Array
    intercept: float
    dual: Array
    gap: Gap
    n_iter: int
    converged: bool
    gaps: list[float]


def dual_coordinate(
    data: MemoryRows,
    tilt: Tilt,
    *,
    fit_intercept: bool,
    intercept_penalty: float,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    report: Callable[[Array, float], bool] = lambda coef, intercept: False,
) -> DualCoordinate:
    """Minimise ½‖w‖² + ½ρb² + Σℓ(target − w·x − b) until the relative duality gap is `tol`.

    Parameters
    ----------
    data : MemoryRows
        Dense or CSR.
    tilt : Tilt
        The loss, of either power.
    fit_intercept : bool
    intercept_penalty : float
        ρ; 0 leaves b free.
    tol, max_iter
        Relative duality gap at which to stop, most passes over the rows.
    rng : Generator
        Orders of the rows, one a pass.
    report : callable
        Told w and b at each look at the gap; true asks to stop.
    """
    n, d = data.shape
    target, upper, lower = sides(data._block(0, n), tilt)
    X = data.X
    dense, values, columns, starts = X, None, None, None
    if data.is_sparse:
        dense, values, columns, starts = None, X.data, X.indices, X.indptr
    norms, nu, coef = np.empty(n), np.zeros(n), np.zeros(d)
    squared_norms(dense, values, starts, norms)
    free = fit_intercept and intercept_penalty == 0
    softness = 0.0
    if fit_intercept:
        softness = float(norms.mean()) or 1.0 if free else 1 / intercept_penalty
    state = np.array([0.0, softness])
    everyone = np.flatnonzero(upper + lower > 0)
    order, level = everyone.copy(), np.inf
    gaps: list[float] = []
    iteration, converged = 0, False
    settings = Intercept(fit_intercept, intercept_penalty)
    while True:
        for _ in range(min(ROUND, max_iter - iteration)):
            rng.shuffle(order)
            kept, worst = coordinate_pass(
                dense, values, columns, starts, target, upper, lower, norms, order, nu, coef, state,
                tilt.epsilon, tilt.squared, level,
            )  # fmt: skip
            order, level = order[:kept], max(worst, 1e-14)
            iteration += 1
            if free:
                state[0] += softness * nu.sum()
            if kept == 0:
                break
        # w drifts by rounding over many passes: found again from ν.
        coef = np.asarray(X.T @ nu, dtype=np.float64)
        if fit_intercept and not free:
            state[0] = nu.sum() * softness
        gap = _measure(data, tilt, coef, float(state[0]), nu, settings)
        if gap.relative <= FINISH_GAP and d <= FINISH_COLUMNS and n <= FINISH_ROWS:
            exact = _finish(data, tilt, coef, float(state[0]), settings)
            there = _measure(data, tilt, *exact, settings)
            if there.relative <= tol:
                return DualCoordinate(*exact, there, iteration, True, [*gaps, there.relative])
        gaps.append(gap.relative)
        converged = gap.relative <= tol
        if report(coef, float(state[0])) or converged or iteration >= max_iter:
            return DualCoordinate(coef, float(state[0]), nu, gap, iteration, converged, gaps)
        order, level = everyone.copy(), np.inf


def _measure(
    data: MemoryRows, tilt: Tilt, coef: Array, intercept: float, nu: Array, settings: Intercept
) -> Gap:
    """The duality gap at a primal and a dual point."""
    evidence, _ = gather_tilted(data, tilt, coef, intercept, nu)
    return tilted_gap(
        evidence, coef, intercept, fit_intercept=settings.fit, intercept_penalty=settings.penalty
    )


def _finish(
    data: MemoryRows, tilt: Tilt, coef: Array, intercept: float, settings: Intercept
) -> tuple[Array, float, Array]:
    """The last digits on a table with few columns: by Newton, or by the interior point."""
    frame = Frame(np.zeros(len(coef)), np.ones(len(coef)), settings.fit)
    penalty = np.append(np.ones(len(coef)), settings.penalty) if settings.fit else np.ones(len(coef))
    if tilt.squared:
        start = frame.inside(coef, intercept)
        point = tilted_newton(data, tilt, frame, penalty, tol=1e-12, max_iter=50, start=start).point
        coef, intercept = frame.outside(point)
        return coef, intercept, data.map(row_slopes, tilt, coef, intercept, dtype=np.float64)
    found = tilted_interior(data, tilt, frame, penalty, tol=1e-10, max_iter=100)
    return *frame.outside(found.point), found.dual
