"""Certificates of least squares and ridge, from the evidence alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, agreement, at_most
from assay.linear.least_squares.engine import Array, CentredTriangle, FitEvidence
from assay.linear.least_squares.influence import inverse_root
from assay.penalties import SquaredNorm
from assay.solvers import Solution
from assay.solvers.rounding import ROUNDINGS

FLOAT32 = np.dtype(np.float32)

ROUNDING_OF_SUMS = 32 * float(np.finfo(np.float64).eps)
"""Rounding of a sum of squares by blocks, relative, with room."""

LARGEST_CONDITION = 1e11
"""Condition number beyond which fewer than about four digits of a coefficient are certain."""


def orthogonality(evidence: FitEvidence, coef: Array, alpha: NDArray, dtype: np.dtype) -> Certificate:
    """Stationarity: every column (and the intercept's column of ones) against the residual, less α w."""
    target = target_scale(evidence, dtype)
    seen = evidence.column_norms[:, None] > 0  # the intercept stands for constant columns
    pull = np.where(seen, np.abs(evidence.cross - alpha * coef), 0.0)
    scale = evidence.column_norms[:, None] * target + alpha * np.abs(coef)
    cosine = np.divide(pull, scale, out=np.zeros_like(pull), where=scale > 0)
    ones = np.sqrt(evidence.weight) * target
    level = np.divide(np.abs(evidence.residual_sum), ones, out=np.zeros_like(ones), where=ones > 0)
    claim = "The residual is orthogonal to every column: the gradient of the empirical risk vanishes."
    if alpha.max(initial=0.0) > 0:
        claim = "The gradient of the penalised risk vanishes."
    value = max(cosine.max(initial=0.0), level.max(initial=0.0))
    source = "Rudi & Şimşekli §1.3, §1.5.2; Douc & Le Corff §6.2.1, §6.3.1"
    return at_most(claim, "normal-equation residual", value, _rounding(dtype), source)


def pythagoras(evidence: FitEvidence, coef: Array, dtype: np.dtype) -> Certificate:
    """‖y‖² = ‖ŷ‖² + ‖y − ŷ‖²: the fitted values are an orthogonal projection."""
    gap = 2 * np.abs(np.sum(coef * evidence.cross, axis=0))
    scale = np.sqrt(evidence.target_ss) * target_scale(evidence, dtype)
    share = np.divide(gap, scale, out=np.zeros_like(gap), where=scale > 0)
    claim, value = "Total variation splits into explained and residual variation.", share.max(initial=0.0)
    return at_most(claim, "Pythagoras defect", value, _rounding(dtype), "Rudi & Şimşekli §1.3.2")


def uniqueness(solution: Solution, n_features: int, dtype: np.dtype) -> Certificate:
    """Full rank: the coefficients are unique and well determined. Else: they have the least norm."""
    if solution.row_space is None:
        assert solution.condition is not None
        claim = "X has full column rank: the coefficients are unique, to at least four digits."
        bound, source = LARGEST_CONDITION, "Rudi & Şimşekli §1.3.1"
        return at_most(claim, "condition number", solution.condition, bound, source)
    inside = solution.row_space @ (solution.row_space.T @ solution.coef)
    size = float(np.linalg.norm(solution.coef))
    share = float(np.linalg.norm(solution.coef - inside)) / size if size > 0 else 0.0
    rank = f"X has rank {solution.rank} of {n_features}"
    claim = f"{rank}: many coefficients give the same fit, these have the least norm."
    source = "Peyré, least squares (pseudo-inverse)"
    # Rounding turns the row space by the distance of its shortest direction from zero.
    bound = max(_rounding(dtype), ROUNDING_OF_SUMS * (solution.condition or 1.0))
    return at_most(claim, "component outside the row space", share, bound, source)


def noise_digits(total_ss: Array, residual_ss: Array, *, squared: bool) -> Certificate:
    """Whether the noise variance is more than rounding, worst target.

    Σ s r² from second moments is a difference of numbers of the size of Σ s y², and has lost their rounding;
    from the residuals themselves only the rounding of y is lost.
    """
    ratio = np.divide(total_ss, residual_ss, out=np.full_like(total_ss, np.inf), where=residual_ss > 0)
    lost = ROUNDING_OF_SUMS * (ratio if squared else np.sqrt(ratio))
    remedy = "; give inference the rows to measure it on the residuals" if squared else ""
    claim = f"The noise variance is known to at least four digits{remedy}."
    name = "relative rounding of the noise variance"
    return at_most(claim, name, lost.max(), 1e-4, "Rudi & Şimşekli §1.3.3")


def duality_gap(evidence: FitEvidence, coef: Array, alpha: NDArray, dtype: np.dtype) -> Certificate:
    """Gap of ridge at the dual point ν = residual, relative to the objective.

    Primal ½‖y − Xw‖² + (α/2)‖w‖², dual −½‖ν‖² + νᵀy − ‖Xᵀν‖²/(2α): at ν = y − Xw the gap is
    ‖αw − Xᵀν‖²/(2α), a square and so never negative.
    """
    penalty = SquaredNorm(alpha)
    objective = evidence.residual_ss / 2 + penalty.value(coef)
    # What the rounding of the residual alone does to Xᵀν counts as a gap of the tolerance.
    noise = ROUNDINGS * _eps(dtype) * evidence.size * np.linalg.norm(evidence.column_norms)
    scale = np.sqrt(np.maximum(objective, 0.0) + noise / (2 * alpha) * (noise / _rounding(dtype)))
    scale = np.where(scale > 0, scale, 1.0)
    share = penalty.fenchel_young_gap(coef / scale, evidence.cross / scale)
    claim, source = "The objective is this close to its minimum.", "Wei §6.2.1; Peyré, ridge (dual form)"
    return at_most(claim, "relative duality gap", share.max(initial=0.0), _rounding(dtype), source)


# What a fit has stored and others read, against a second walk over the rows.

SAME_COLUMNS, SAME_RESIDUALS = 1e-6, 1e-4
"""Relative differences that two ways to the same moments, and to the same squared residuals, may have."""

CERTAIN = 64 * float(np.finfo(np.float64).eps)
"""Rounding of products of columns, relative to their lengths about zero, with room."""

Pair = tuple[Any, Any]


def beside(stored: Any, fresh: Any, size: Any) -> Pair:
    """A pair for `agreement` whose difference is taken relative to a size of its own, entry by entry."""
    first, second = np.asarray(stored, dtype=np.float64), np.asarray(fresh, dtype=np.float64)
    if first.shape != second.shape:
        return first, second
    size = np.broadcast_to(np.asarray(size, dtype=np.float64), second.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.where(first == second, 0.0, (first - second) / np.where(size > 0, size, 1.0))
    return 1 + off, np.ones_like(off)


def stored_columns(model: Any, known: CentredTriangle, *, squared: bool) -> Certificate:
    """XᵀX, its triangle and inverse, means, variances of the targets and Σ s, against a second walk.

    Products of columns are compared relative to the lengths of the columns, so that units do not matter. A
    length that is nothing beside the mean of its column is known up to the rounding of that mean (of its
    square where `squared` says that the fit did not centre before it squared).
    """
    d, root = known.x.shape[1], np.sqrt(known.weight)
    norms = np.linalg.norm(np.hstack([known.x, known.y]), axis=0)
    levels = root * np.abs(np.concatenate([known.mean_x, known.mean_y]))
    room = CERTAIN / SAME_COLUMNS
    lengths = np.hypot(norms, np.sqrt(room) * levels) if squared else norms + room * levels
    pairs = {"total_weight_": beside(model.total_weight_, known.weight, known.weight)}
    if getattr(model, "feature_means_", None) is not None:
        size = np.hypot(norms, levels)[:d] / root
        pairs["feature_means_"] = beside(model.feature_means_, known.mean_x, size)
    if getattr(model, "target_variance_", None) is not None:
        fresh = norms[d:] ** 2 / known.weight
        stored = np.atleast_1d(model.target_variance_)
        pairs["target_variance_"] = beside(stored, fresh, lengths[d:] ** 2 / known.weight)
    scatter, triangle = model.scatter_, getattr(model, "triangle_", None)
    if scatter is not None:
        fresh, sizes = known.x.T @ known.x, np.outer(lengths[:d], lengths[:d])
        pairs["scatter_"] = beside(scatter, fresh, sizes)
        if triangle is not None:
            pairs["triangle_"] = beside(triangle.T @ triangle, fresh, sizes)
        inverse = inverse_root(scatter, triangle) if model.rank_ == d else None
        if inverse is not None and known.x.shape[0] >= d and norms[:d].all():
            far = float((np.hypot(norms, levels)[:d] / norms[:d]).max(initial=1.0))
            errors = np.linalg.norm(inverse, axis=1) * norms[:d]
            pairs["(XᵀX)⁻¹"] = _inverse_pair(errors, known.x / norms[:d], far, squared=triangle is None)
    claim = "What the fit stored of the columns is what the rows give again."
    return agreement(claim, pairs, "Rudi & Şimşekli §1.3.1, §1.4.3", rtol=SAME_COLUMNS)


def _inverse_pair(errors: Array, unit: Array, far: float, *, squared: bool) -> Pair:
    """Standard errors, up to the noise and the units, that the stored inverse gives and that the rows give.

    They are certain up to rounding times the condition number (its square after squaring) of the columns of
    unit norm, whose entries are `far` times smaller than what they were before their means were subtracted.
    """
    _, values, vt = np.linalg.svd(unit, full_matrices=False)
    if not values[-1] > 0:
        return errors, np.full_like(errors, np.inf)
    fresh = np.linalg.norm(vt / values[:, None], axis=0)
    condition = float(values[0] / values[-1])
    room = CERTAIN / SAME_COLUMNS * far * (condition**2 if squared else condition)
    return beside(errors, fresh, fresh * max(1.0, room))


def stored_residuals(
    model: Any, evidence: FitEvidence, coef: Array, free: float | None, dtype: np.dtype
) -> Certificate:
    """Empirical risk against the residuals of the rows; noise variance and likelihood against that risk."""
    n = evidence.weight
    fresh, stored = evidence.residual_ss / n, np.atleast_1d(model.empirical_risk_)
    summands = np.abs(coef).T @ evidence.column_norms + np.sqrt(evidence.target_ss)
    noise = ROUNDINGS * _eps(dtype) * evidence.size / np.sqrt(n)
    lost = noise * (np.sqrt(fresh) + noise) + CERTAIN * summands**2 / n
    pairs = {"empirical_risk_": beside(stored, fresh, fresh + lost / SAME_RESIDUALS)}
    if not model.fit_intercept:
        pairs["intercept_"] = model.intercept_, np.zeros_like(model.intercept_)
    if (model.noise_variance_ is None) != (free is None):
        pairs["noise_variance_"] = model.noise_variance_, free
    elif free is not None:
        variance = stored * n / free
        pairs["noise_variance_"] = beside(np.atleast_1d(model.noise_variance_), variance, variance)
    if free is None or stored.min() == 0 or model.log_likelihood_ is None:
        there = free is not None and stored.min() > 0
        pairs["log_likelihood_"] = model.log_likelihood_, there or None
    else:
        likelihood = gaussian_log_likelihood(stored, n)
        size = np.minimum(np.abs(likelihood), n)
        pairs["log_likelihood_"] = beside(np.atleast_1d(model.log_likelihood_), likelihood, size)
    claim = "What the fit stored of the residuals is what the rows give again."
    return agreement(claim, pairs, "Rudi & Şimşekli §1.3.3; Douc & Le Corff §6.2", rtol=SAME_RESIDUALS)


def gaussian_log_likelihood(risk: Array, n: float) -> Array:
    """−(n/2)(log 2πσ² + 1) at the maximum-likelihood variance."""
    return np.asarray(-n / 2 * (np.log(2 * np.pi * risk) + 1))


def target_scale(evidence: FitEvidence, dtype: np.dtype) -> Array:
    """‖y‖ of each target, or the length at which the rounding of the residual is what rounding may leave.

    Coefficients in the precision of the table give a residual that is known up to a few eps times the size of
    what is added up in it, far more than ‖y‖ eps where columns are nearly collinear or far from zero.
    """
    noise = ROUNDINGS * _eps(dtype) * evidence.size
    return np.maximum(np.sqrt(evidence.target_ss), noise / _rounding(dtype))


def _eps(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).eps)


def _rounding(dtype: np.dtype) -> float:
    """What rounding may leave: coefficients are kept in the precision of the table."""
    return 1e-4 if np.dtype(dtype) == FLOAT32 else 1e-8
