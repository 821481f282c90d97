"""Certificates of least squares and ridge, from the evidence alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.linear.least_squares.engine import Array, FitEvidence
from assay.penalties import SquaredNorm
from assay.solvers import Solution

FLOAT32 = np.dtype(np.float32)

ROUNDING_OF_SUMS = 32 * float(np.finfo(np.float64).eps)
"""Rounding of a sum of squares by blocks, relative, with room."""

LARGEST_CONDITION = 1e11
"""Condition number beyond which fewer than about four digits of a coefficient are certain."""


def orthogonality(evidence: FitEvidence, coef: Array, alpha: NDArray, dtype: np.dtype) -> Certificate:
    """Stationarity: every column (and the intercept's column of ones) against the residual, less α w."""
    target = np.sqrt(evidence.target_ss)
    pull = np.abs(evidence.cross - alpha * coef)
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
    share = np.divide(gap, evidence.target_ss, out=np.zeros_like(gap), where=evidence.target_ss > 0)
    claim, value = "Total variation splits into explained and residual variation.", share.max(initial=0.0)
    return at_most(claim, "Pythagoras defect", value, _rounding(dtype), "Rudi & Şimşekli §1.3.2")


def uniqueness(solution: Solution, n_features: int) -> Certificate:
    """Full rank: the coefficients are unique and well determined. Else: they have the least norm."""
    if solution.row_space is None:
        claim = "X has full column rank: the coefficients are unique, to at least four digits."
        bound, source = LARGEST_CONDITION, "Rudi & Şimşekli §1.3.1"
        return at_most(claim, "condition number", solution.condition, bound, source)
    inside = solution.row_space @ (solution.row_space.T @ solution.coef)
    size = float(np.linalg.norm(solution.coef))
    share = float(np.linalg.norm(solution.coef - inside)) / size if size > 0 else 0.0
    rank = f"X has rank {solution.rank} of {n_features}"
    claim = f"{rank}: many coefficients give the same fit, these have the least norm."
    source = "Peyré, least squares (pseudo-inverse)"
    return at_most(claim, "component outside the row space", share, 1e-8, source)


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
    gap = penalty.fenchel_young_gap(coef, evidence.cross)
    objective = evidence.residual_ss / 2 + penalty.value(coef)
    share = np.divide(gap, objective, out=np.where(gap > 0, np.inf, 0.0), where=objective > 0)
    claim, source = "The objective is this close to its minimum.", "Wei §6.2.1; Peyré, ridge (dual form)"
    return at_most(claim, "relative duality gap", share.max(initial=0.0), _rounding(dtype), source)


def _rounding(dtype: np.dtype) -> float:
    """What rounding may leave: coefficients are kept in the precision of the table."""
    return 1e-4 if np.dtype(dtype) == FLOAT32 else 1e-8
