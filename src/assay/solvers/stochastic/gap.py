"""Duality gap of a convex loss with an elastic-net penalty, at slopes of its rows.

For P = (1/W) Σ s ℓ(y, f) + λ₁‖w‖₁ + ½λ₂‖w‖² and any slopes u, D = −(1/W) Σ s ℓ*(y, u) − Ω*(−Xᵀu/W) is a lower
bound where Σ s u = 0 (free intercept). Slopes scaled down by c ≤ 1 stay in the domain and ℓ*(cu) ≤ c ℓ*(u),
because ℓ*(0) = −min ℓ = 0: so the heavier of the two signs is scaled down to balance them. The slopes are
those of the loss at the point, a good dual point near the minimum of a smooth loss; or others handed in, such
as the mean slopes of a descent on a loss with corners.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss
from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.gap import PERFECT, balanced, largest_ratio


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
        float(weight @ (y * score <= 0)),
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


def risk_gap(evidence: RiskEvidence, coef: Array, l1: float, l2: float, *, fit_intercept: bool) -> RiskGap:
    """Gap and subgradient at given coefficients; with λ₂ = 0 no dual point is at hand."""
    total, mass = evidence.weight, evidence.mass
    objective = evidence.loss / total + l1 * float(np.abs(coef).sum()) + l2 * float(coef @ coef) / 2
    scale = max(objective, PERFECT * evidence.loss_at_level / total)
    smooth = evidence.pulls.sum(axis=0) / total + l2 * coef
    left = np.where(coef == 0, np.maximum(np.abs(smooth) - l1, 0), np.abs(smooth + l1 * np.sign(coef)))
    gradient = largest_ratio(left, np.abs(evidence.pulls).sum(axis=0) / total + l2 * np.abs(coef) + l1)
    if fit_intercept and mass.sum() > 0:
        gradient = max(gradient, float(abs(mass[0] - mass[1]) / mass.sum()))
    if evidence.slack > 0:
        gradient = max(gradient, evidence.slack / total / scale if scale > 0 else np.inf)
    if l2 == 0 or not np.isfinite(evidence.conjugate).all():
        return RiskGap(objective, np.inf, gradient)
    share = balanced(mass) if fit_intercept else np.ones(2)
    pull = share @ evidence.pulls / total
    dual = -share @ evidence.conjugate / total - np.sum(np.maximum(np.abs(pull) - l1, 0) ** 2) / (2 * l2)
    relative = max(objective - float(dual), 0.0) / scale if scale > 0 else 0.0
    return RiskGap(objective, relative, gradient)
