"""Duality gap of a convex loss with an elastic-net penalty, at slopes of its rows.

For P = (1/W) Σ s ℓ(y, f) + λ₁‖w‖₁ + ½λ₂‖w‖² and any slopes u, D = −(1/W) Σ s ℓ*(y, u) − Ω*(−Xᵀu/W) is a lower
bound where Σ s u = 0 (free intercept). Slopes scaled down by c ≤ 1 stay in the domain and ℓ*(cu) ≤ c ℓ*(u),
because ℓ*(0) = −min ℓ = 0: so the heavier of the two signs is scaled down to balance them. The slopes are
those of the loss at the point, a good dual point near the minimum of a smooth loss; or others handed in, such
as the mean slopes of a descent on a loss with corners.

With λ₂ = 0, Ω* asks for |Xᵀu|/W ≤ λ₁: the slopes are scaled down until it is so. Without any penalty it asks
for Xᵀu = 0: `cancelled` moves each slope by a share of the room that it has in its domain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss, SidedLoss, mistaken
from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.gap import balanced, largest_ratio

SMALL = 1e-3
"""Share of the loss of a constant below which an objective is a perfect fit: gaps are relative to no less."""

LARGEST_CANCELLED = 1000
"""Columns up to which slopes are made to cancel."""


class RiskEvidence(NamedTuple):
    """Sums over the rows; `conjugate`, `mass` and `pulls` for each sign of u.

    `loss_at_level` is the loss of a constant, the start of the descent, that tells what is a small objective.
    `slack` is Σ s (ℓ(y, f) + ℓ*(y, u) − u f), never negative and 0 where u is the slope at f.
    """

    weight: float
    loss: float
    loss_at_level: float
    wrong: float
    slack: float
    conjugate: Array
    mass: Array
    pulls: Array


class RiskGap(NamedTuple):
    """Objective, relative gap, and subgradient relative to the sizes of what cancels in it.

    `gradient` is no less than the slack of the slopes relative to the objective: with them it tells how far
    the point is from a minimum even where the slopes are not its own.
    """

    objective: float
    relative: float
    gradient: float


def gather_risk(
    data: Rows,
    machine: MachineLoss[Loss],
    coef: Array,
    intercept: float,
    dual: NDArray | None = None,
    *,
    level: float = 0.0,
) -> RiskEvidence:
    """Evidence at given coefficients, by one walk; `dual` are slopes of the rows in place of the loss's."""
    rowwise = () if dual is None else (dual,)
    return data.reduce(risk_step, machine, coef, intercept, level, rowwise=rowwise)


def risk_step(
    block: Block,
    machine: MachineLoss[Loss],
    coef: Array,
    intercept: float,
    level: float,
    dual: NDArray | None = None,
) -> RiskEvidence:
    """Evidence of one block."""
    loss, (y, weight) = machine.loss, machine.read(block)
    score = np.asarray(block.X @ coef, dtype=np.float64) + intercept
    value, slope, _ = loss.terms(y, score.copy())
    # At the slope of the loss itself Fenchel's inequality is an equality.
    conjugate = slope * score - value
    if dual is not None:
        slope, conjugate = inside_domain(loss, y, dual)
        conjugate = np.where(weight > 0, conjugate, 0.0)
    value, terms, pushed, up = weight * value, weight * conjugate, weight * slope, slope > 0
    parts = np.stack([np.where(up, pushed, 0.0), np.where(up, 0.0, pushed)])
    constant = loss.terms(y, np.full(len(y), level)).value
    return RiskEvidence(
        float(weight.sum()),
        float(value.sum()),
        float(np.sum(weight * constant)),
        float(weight @ mistaken(y, score)),
        0.0 if dual is None else float(np.maximum(value + terms - pushed * score, 0.0).sum()),
        np.array([terms[up].sum(), terms[~up].sum()]),
        np.abs(parts).sum(axis=1),
        np.asarray(block.X.T @ parts.T, dtype=np.float64).T,
    )


def inside_domain(loss: Loss, y: Array, dual: NDArray) -> tuple[Array, Array]:
    """Slopes handed in and their conjugates; slopes that rounding put outside the domain move a little in."""
    slope = dual.astype(np.float64)
    conjugate = loss.conjugate(y, slope)
    outside = ~np.isfinite(conjugate)
    if outside.any():
        slope[outside] *= 1 - (1e-12 if dual.dtype == np.float64 else 1e-6)
        conjugate = loss.conjugate(y, slope)
    return slope, conjugate


def risk_gap(
    evidence: RiskEvidence,
    coef: Array,
    l1: float,
    l2: float,
    *,
    fit_intercept: bool,
    conjugate: float | None = None,
) -> RiskGap:
    """Gap and subgradient at given coefficients.

    `conjugate` is Σ s ℓ*(y, u) at slopes with Σ s u x = 0, for a risk without penalty; without it the gap of
    such a risk is infinite.
    """
    total, mass = evidence.weight, evidence.mass
    objective = evidence.loss / total + l1 * float(np.abs(coef).sum()) + l2 * float(coef @ coef) / 2
    scale = max(objective, SMALL * evidence.loss_at_level / total)
    smooth = evidence.pulls.sum(axis=0) / total + l2 * coef
    left = np.where(coef == 0, np.maximum(np.abs(smooth) - l1, 0), np.abs(smooth + l1 * np.sign(coef)))
    gradient = largest_ratio(left, np.abs(evidence.pulls).sum(axis=0) / total + l2 * np.abs(coef) + l1)
    if fit_intercept and mass.sum() > 0:
        gradient = max(gradient, float(abs(mass[0] - mass[1]) / mass.sum()))
    if evidence.slack > 0:
        gradient = max(gradient, evidence.slack / total / scale if scale > 0 else np.inf)
    share = balanced(mass) if fit_intercept else np.ones(2)
    pull = share @ evidence.pulls / total
    if l2 == 0 and l1 > 0:
        share, pull = share * min(1.0, l1 / max(float(np.abs(pull).max()), l1)), np.zeros_like(pull)
    dual = -np.inf
    if l2 > 0 or l1 > 0:
        over = np.sum(np.maximum(np.abs(pull) - l1, 0) ** 2) / (2 * l2) if l2 > 0 else 0.0
        dual = -float(share @ evidence.conjugate) / total - float(over)
    elif conjugate is not None:
        dual = -conjugate / total
    if not np.isfinite(dual):
        return RiskGap(objective, np.inf, gradient)
    relative = max(objective - dual, 0.0) / scale if scale > 0 else 0.0
    return RiskGap(objective, relative, gradient)


# A dual point for a risk without penalty: slopes that cancel in every column.


def cancelled(
    data: Rows,
    machine: MachineLoss[Loss],
    coef: Array,
    intercept: float,
    dual: NDArray | None,
    *,
    fit_intercept: bool,
    tol: float,
) -> float:
    """Σ s ℓ*(y, u) at slopes near those of the point with Σ s u x = 0; infinite where none are found.

    With h_i the room of a slope in its domain and (Σ s h xxᵀ)v = Σ s u x, the slopes u − h(x·v) cancel, and
    they stay in the domain where |x·v| ≤ 1. Slopes at the ends of their domain have no room: where the others
    do not suffice, all are scaled down by a share of `tol` first.
    """
    if data.shape[1] > LARGEST_CANCELLED:
        return float(np.inf)
    rowwise = () if dual is None else (dual,)
    for share in (1.0, 1 - tol / 8, 1 - tol / 2):
        walk = machine, coef, intercept, fit_intercept, share
        matrix, pull = data.reduce(room_step, *walk, rowwise=rowwise)
        diagonal = np.sqrt(np.where(np.diagonal(matrix) > 0, np.diagonal(matrix), 1.0))
        scaled, *_ = np.linalg.lstsq(matrix / np.outer(diagonal, diagonal), pull / diagonal, rcond=1e-12)
        moved, sizes, total = data.reduce(cancelled_step, *walk, scaled / diagonal, rowwise=rowwise)
        if np.isfinite(total) and largest_ratio(moved, sizes) <= 1e-9:
            return float(total)
    return float(np.inf)


def room_step(
    block: Block,
    machine: MachineLoss[Loss],
    coef: Array,
    intercept: float,
    fit_intercept: bool,
    share: float,
    dual: NDArray | None = None,
) -> tuple[Array, Array]:
    """Σ s h xxᵀ and Σ s u x of one block, x with a 1 for the intercept."""
    rows, weight, _, slope, room = _slopes(block, machine, coef, intercept, fit_intercept, share, dual)
    return rows.T @ (rows * (weight * room)[:, None]), (weight * slope) @ rows


def cancelled_step(
    block: Block,
    machine: MachineLoss[Loss],
    coef: Array,
    intercept: float,
    fit_intercept: bool,
    share: float,
    direction: Array,
    dual: NDArray | None = None,
) -> tuple[Array, Array, float]:
    """Σ s u x after the slopes moved, the sizes of its terms, and Σ s ℓ*(y, u), of one block."""
    rows, weight, y, slope, room = _slopes(block, machine, coef, intercept, fit_intercept, share, dual)
    slope = slope - room * (rows @ direction)
    conjugate = np.where(weight > 0, machine.loss.conjugate(y, slope), 0.0)
    return (weight * slope) @ rows, (weight * np.abs(slope)) @ np.abs(rows), float(weight @ conjugate)


def _slopes(
    block: Block,
    machine: MachineLoss[Loss],
    coef: Array,
    intercept: float,
    fit_intercept: bool,
    share: float,
    dual: NDArray | None,
) -> tuple[Array, Array, Array, Array, Array]:
    """Rows, weights, targets, slopes scaled down to a share, and their room."""
    loss, (y, weight) = machine.loss, machine.read(block)
    rows = np.column_stack([block.dense, np.ones(len(y))]) if fit_intercept else block.dense
    rows = rows.astype(np.float64)
    slope = loss.terms(y, block.dense @ coef + intercept).slope if dual is None else dual.astype(np.float64)
    return rows, weight, y, share * slope, slope_room(loss, y, share * slope)


def slope_room(loss: Loss, y: Array, slope: Array) -> Array:
    """Distance of each slope from the ends of its domain; 1 where it has none."""
    if isinstance(loss, SidedLoss):
        ends = [np.where(side > 0, side, 0.0) for side in loss.sides(y)]
        steepest = loss.row_form.steepest
        upper, lower = (np.multiply(side, steepest, out=np.zeros_like(side), where=side > 0) for side in ends)
    else:  # logistic: between 0 and minus the label
        upper, lower = np.where(y > 0, 1.0, 0.0), np.where(y > 0, 0.0, 1.0)
    room = np.minimum(lower - slope, slope + upper)
    return np.where(np.isfinite(room), np.maximum(room, 0.0), 1.0)
