"""Certificates of sparse linear models, from the rows and the fitted coefficients alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, agreement, at_most
from assay.linear.least_squares.certificates import CERTAIN, beside
from assay.linear.least_squares.engine import Array
from assay.penalties.coordinates import coordinate_form
from assay.rows import Block, Rows
from assay.solvers.rounding import ROUNDINGS, gap_rounding

FLOAT32 = np.dtype(np.float32)
SOURCE = "Douc & Le Corff §6.3.2; Rudi & Şimşekli §1.5.1, §3.1"
CONSTANT = 1e-7
"""Share of a column's size below which its spread is taken for rounding."""


class SparseEvidence(NamedTuple):
    """What the certificates are computed from; means are over Σ s = W, about the mean with an intercept.

    `corr` is (1/W) Xᵀ S r less the part that unpenalised columns explain; `projected_square` is (1/W) Σ s r²
    after projection off those; `norms` are √((1/W) Σ s x²), `linear` is (1/W) Xᵀ S y. `size` is the root mean
    square of what is added up in a residual, nothing centred: 0 where the solver vouches for its own digits.
    """

    weight: float
    corr: Array
    residual_mean: float
    residual_square: float
    projected_square: float
    target_square: float
    norms: Array
    linear: Array
    size: float = 0.0

    def lost(self, dtype: np.dtype) -> float:
        """Rounding of a residual at coefficients in the precision of the table."""
        return ROUNDINGS * float(np.finfo(dtype).eps) * self.size


def sparse_evidence(
    data: Rows, coef: Array, intercept: float, *, center: bool, free: NDArray
) -> SparseEvidence:
    """One walk over the rows with the coefficients in hand; sparse rows stay sparse."""
    shift = float(data.head(512, target_mean)) if center else 0.0
    sums = data.reduce(evidence_step, coef, intercept, shift, free)
    weight, cross, r_sum, r_ss, x_ss, y_sum, y_ss = sums
    mean = cross[:, 1] / weight if center else np.zeros(coef.size)
    r_mean, y_mean = (r_sum / weight, y_sum / weight) if center else (0.0, 0.0)
    corr = cross[:, 0] / weight - mean * r_mean
    linear = cross[:, 2] / weight - mean * y_mean
    spread = x_ss / weight - mean**2
    norms = np.sqrt(np.where(spread > CONSTANT**2 * x_ss / weight, spread, 0.0))
    square = max(r_ss / weight - r_mean**2, 0.0)
    projected = square
    if free.size:
        gram = cross[:, 3:] / weight - np.outer(mean, mean[free])  # (d, f)
        step = np.linalg.pinv(gram[free], hermitian=True) @ corr[free]
        projected = max(square - float(step @ corr[free]), 0.0)
        corr = corr - gram @ step
        corr[free] = 0.0
    target = max(y_ss / weight - y_mean**2, 0.0)
    size = float(np.sqrt(x_ss / weight) @ np.abs(coef) + np.hypot(np.sqrt(target), shift + y_mean))
    return SparseEvidence(float(weight), corr, float(r_mean), square, projected, target, norms, linear, size)


def evidence_step(
    block: Block, coef: Array, intercept: float, shift: float, free: NDArray
) -> tuple[Any, ...]:
    """Sums over one block of the residual and the target against everything."""
    assert block.y is not None
    X = block.X.astype(np.float64, copy=False)
    n = X.shape[0]
    y = block.y.reshape(n).astype(np.float64)
    weight = block.weights
    residual = y - np.asarray(X @ coef) - intercept
    beside = [weight * residual, weight, weight * (y - shift)]
    if free.size:
        columns = X[:, free].toarray() if block.is_sparse else X[:, free]
        beside.append(weight[:, None] * columns)
    cross = np.asarray(X.T @ np.column_stack(beside))
    squares = X.multiply(X).T @ weight if block.is_sparse else np.einsum("ij,ij,i->j", X, X, weight)
    return (
        float(weight.sum()),
        cross,
        float(weight @ residual),
        float(weight @ residual**2),
        np.asarray(squares),
        float(weight @ (y - shift)),
        float(weight @ (y - shift) ** 2),
    )


def target_mean(block: Block) -> float:
    """Plain mean of the target over a few rows."""
    assert block.y is not None
    return float(np.mean(block.y, dtype=np.float64))


def relative_gap(evidence: SparseEvidence, coef: Array, penalty: Any) -> float:
    """Duality gap at the best admissible multiple κ of the residual, over the objective without features.

    ½ r̄² + ½ (‖r‖² − ‖r'‖²) + ½ (1 − κ)² ‖r'‖² + Ω(w) + Ω*(κ g) − κ wᵀg, with r' the projected residual and g
    its correlations: a sum of terms of which none is negative.
    """
    off = evidence.residual_mean**2 / 2 + (evidence.residual_square - evidence.projected_square) / 2
    best = np.inf
    for scale in {1.0, feasible_scale(evidence.corr, penalty)}:
        terms = float(penalty.fenchel_young_gap(coef, scale * evidence.corr))
        best = min(best, (1 - scale) ** 2 * evidence.projected_square / 2 + terms)
    gap, null = off + best, evidence.target_square / 2
    if null > 0:
        return gap / null
    return np.inf if gap > 0 else 0.0


def feasible_scale(corr: Array, penalty: Any) -> float:
    """The largest κ ≤ 1 for which κ g is in the domain of Ω*, where Ω is a norm.

    A penalty with an l1 part and little curvature pays dearly for what is beyond the l1 part: the largest κ
    for which nothing is.
    """
    if not hasattr(penalty, "dual_norm"):
        slope = coordinate_form(penalty, corr.size).slope
        bent = (slope > 0) & np.isfinite(slope)
        ratio = float(np.max(np.abs(corr[bent]) / slope[bent], initial=1.0))
        return 1 / ratio
    reach = float(penalty.dual_norm(corr))
    return 1.0 if reach <= penalty.strength else float(penalty.strength) / reach


def gap_certificate(
    evidence: SparseEvidence, value: float, strength: float, tol: float, dtype: np.dtype
) -> Certificate:
    """The objective is within tol, relative to the objective of the model without features."""
    bound = max(1.01 * tol, 1e-4 if np.dtype(dtype) == FLOAT32 else 1e-10)
    claim = "The objective is this close to its minimum."
    room = rounding_of(evidence, strength, dtype)
    return at_most(claim, "relative duality gap", value, bound + room, source=SOURCE)


def rounding_of(evidence: SparseEvidence, strength: float, dtype: np.dtype) -> float:
    """What rounding alone makes of the relative gap, at coefficients in the precision of the table."""
    column, eps = float(evidence.norms.max(initial=0.0)), float(np.finfo(dtype).eps)
    return gap_rounding(column, evidence.size, strength, evidence.target_square, eps)


def kkt_certificate(evidence: SparseEvidence, distance: Array, tol: float, dtype: np.dtype) -> Certificate:
    """Every correlation is in the subdifferential of the penalty, as a cosine with the target.

    A gap of tol/2 · ‖y‖² leaves the residual within √tol ‖y‖ of the best one.
    """
    scale = evidence.norms * np.sqrt(evidence.target_square)
    cosine = np.divide(distance, scale, out=np.zeros_like(distance), where=scale > 0)
    level = abs(evidence.residual_mean)
    spread = np.sqrt(evidence.target_square)
    off = level / spread if spread > 0 else 0.0
    return at_most(
        "Each correlation with the residual is at most the penalty, and equal to it on the support.",
        "KKT residual",
        max(np.max(cosine, initial=0.0), off),
        max(float(np.sqrt(tol)), 1e-2 if np.dtype(dtype) == FLOAT32 else 1e-6)
        + (evidence.lost(dtype) / spread if spread > 0 else 0.0),
        source=SOURCE,
    )


def stored_certificate(model: Any, weight: float, pairs: dict[str, tuple[Any, Any]]) -> Certificate:
    """The penalty in its three parametrisations and Σ s against the parameters and the rows, and `pairs`."""
    alpha = model._alpha(weight)
    known = {
        "alpha_": (model.alpha_, alpha),
        "penalty_strength_": (model.penalty_strength_, 2 * alpha),
        "total_penalty_strength_": (model.total_penalty_strength_, 2 * weight * alpha),
        "total_weight_": (model.total_weight_, weight),
        **pairs,
    }
    return agreement("What the fit stored is what its rows give again.", known, SOURCE, rtol=STORED)


def measured_pair(stored: float, fresh: float, evidence: SparseEvidence, room: float) -> tuple[Any, Any]:
    """A stored multiple of the mean of squares without features, up to what rounding makes of it."""
    null = evidence.target_square
    return beside(stored, fresh, fresh + (room + CERTAIN * evidence.size**2 / (null or 1.0)) / STORED)


STORED = 1e-4
"""Relative difference that two ways to the same number may have, rounding beside them."""


def critical_certificate(critical: float, alpha: float) -> Certificate:
    """Zero is the solution: the penalty is at least the critical strength."""
    return at_most(
        "No feature is correlated enough with the target: the solution is exactly zero.",
        "critical strength",
        critical,
        alpha,
        source=SOURCE,
        tolerance=1e-6 * alpha,
    )
