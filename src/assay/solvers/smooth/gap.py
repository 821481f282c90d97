"""The duality gap of a penalised risk in a linear score, from sums that a walk has already taken.

With slopes u_i = ℓ'(y_i, f_i) the problem min (1/W) Σ s ℓ(y, Xw + b) + Ω(w) has the dual value

    D(u) = −(1/W) Σ s ℓ*(y, u) − Ω*(−c),        c = Xᵀ(s u)/W,        Σ s u = 0 for the intercept.

The slopes of a fit satisfy the last condition up to the solver's tolerance only. A dual point u' that does,
exactly, is a convex combination of u, of the slopes of single groups of rows (the others at 0), and of 0: its
sums are the combination of sums known from one walk, and as ℓ* is convex the combination of the conjugates is
a bound of its conjugate. So D(u') is bounded below without another look at the rows.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

from assay.solvers.smooth.row_risk import RowMeasure, RowRisk
from assay.solvers.smooth.row_sums import Array, Split


def row_duality_gap(
    risk: RowRisk, point: Array, measured: RowMeasure, split: Split | None = None, *, l1: Array | None = None
) -> float:
    """Value at a point less a lower bound of the minimum; inf when there is no feasible dual point.

    Parameters
    ----------
    risk : RowRisk
        Its `alpha` is the squared-norm part of the penalty.
    point : array of shape (p, k)
    measured : RowMeasure
        At the point.
    split : Split, optional
        Of this or any other point, from which the repairing slopes are taken; that of `measured` by default.
    l1 : array of shape (d,), optional
        Strengths of a further penalty Σ_j l1_j |w_j|, summed over scores.
    """
    split = measured.split if split is None else split
    coef, _ = risk.split_point(point)
    d = coef.shape[0]
    weak = np.zeros(d) if l1 is None else l1
    if np.any((risk.alpha <= 0) & (weak <= 0)):
        return float("inf")
    slope = measured.gradient[:d] - risk.alpha[:, None] * coef  # c in the shifted columns
    if not risk.fit_intercept:
        share = 1.0
        conjugate = float(np.sum(slope * coef)) - measured.risk
        rest = 0.0 if l1 is None else _rest(split, risk)
    else:
        assert split is not None
        total = measured.gradient[-1]
        repair = _repair(split.total / risk.weight, total, symmetric=risk.loss.symmetric)
        if repair is None:
            return float("inf")
        share, parts = 1 / (1 + repair.sum()), repair / (1 + repair.sum())
        moved = split.slope - risk.inner[:, None] * split.total[:, None, :]
        rest = _rest(split, risk)
        # A part takes the slopes of one group and leaves the others at 0, where ℓ* is `rest`.
        alone = split.conjugate + (split.rest.sum() - split.rest)
        conjugate = share * (float(np.sum(slope * coef) + total @ point[-1]) - measured.risk)
        conjugate += float(parts @ alone) / risk.weight
        slope = share * slope + np.tensordot(parts, moved, axes=1) / risk.weight
    penalty = 0.5 * float(np.sum(risk.alpha[:, None] * coef**2)) + float(weak @ np.abs(coef).sum(axis=1))
    scale = _scale(slope, risk.alpha, weak)
    dual = scale * conjugate + (1 - scale) * rest + _conjugate_penalty(scale * slope, risk.alpha, weak)
    return max(measured.risk + penalty + dual, 0.0)


def _rest(split: Split | None, risk: RowRisk) -> float:
    return 0.0 if split is None else float(split.rest.sum()) / risk.weight


def _repair(totals: Array, total: Array, *, symmetric: bool) -> Array | None:
    """Weights δ ≥ 0 of the groups with Σ δ_g totals_g = −total, up to rounding; None when there are none."""
    if symmetric:  # slopes of a row have sum 0 but for rounding
        totals, total = totals - totals.mean(axis=1, keepdims=True), total - total.mean()
    size = float(np.abs(total).max())
    if size == 0.0:
        return np.zeros(len(totals))
    weights, residual = optimize.nnls(totals.T / size, -total / size)
    return weights if residual <= max(1e-9, 1e-14 / size) else None


def _scale(slope: Array, alpha: Array, l1: Array) -> float:
    """Largest factor at most 1 that keeps |c_j| ≤ l1_j where there is no squared norm."""
    only = alpha <= 0
    if not only.any():
        return 1.0
    largest = np.abs(slope[only]).max(axis=1)
    with np.errstate(divide="ignore"):
        return float(min(1.0, np.min(np.where(largest > 0, l1[only] / largest, np.inf))))


def _conjugate_penalty(slope: Array, alpha: Array, l1: Array) -> float:
    """Σ (|c| − l1)₊²/(2α), which is 0 where α is."""
    excess = np.maximum(np.abs(slope) - l1[:, None], 0.0)
    squares = np.divide(excess**2, 2 * alpha[:, None], out=np.zeros_like(excess), where=alpha[:, None] > 0)
    return float(squares.sum())
