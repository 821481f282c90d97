"""The elastic net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.penalties._l1 import l1_residual, soft_threshold
from assay.penalties._penalty import (
    bounds,
    columns_of,
    euclidean,
    floating,
    non_negative,
    product,
    quotient,
    ratio,
    rounding,
    rows_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class ElasticNet:
    """Ω(w) = α Σ_j ω_j (ρ |w_j| + (1 − ρ) w_j²/2), column by column.

    scikit-learn's convention: `ElasticNet(alpha=α, l1_ratio=ρ)` there adds this Ω, with ω = 1, to
    ‖y − Xw‖²/(2n). The weights multiply both parts. Separable: each column of a (d, t) array is a problem of
    its own.

    Parameters
    ----------
    strength : float or array of shape (t,)
        α, at least 0; one for all columns or one a column.
    l1_ratio : float, default=0.5
        ρ between 0 (squared norm) and 1 (l1 norm).
    weights : array of shape (d,), default=None
        ω, at least 0; 0 leaves the feature unpenalised, ∞ keeps its coefficient at zero. None means ones.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import ElasticNet
    >>> ElasticNet(1.0, l1_ratio=0.5).proximal(np.array([3.5, 0.2]), step=1.0)
    array([2., 0.])
    """

    convex: ClassVar[bool] = True

    strength: Any
    l1_ratio: float = 0.5
    weights: Any = None

    def __post_init__(self) -> None:
        non_negative("ElasticNet", "strength", self.strength, ndim=(0, 1))
        object.__setattr__(self, "l1_ratio", ratio("ElasticNet", "l1_ratio", self.l1_ratio))
        if self.weights is not None:
            weights = non_negative("ElasticNet", "weights", self.weights, ndim=(1,), infinite=True)
            object.__setattr__(self, "weights", weights)

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        coef = floating(coef)
        profile = self.l1_ratio * np.abs(coef) + (1 - self.l1_ratio) * coef**2 / 2
        return np.sum(product(self._bound(coef), profile), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding at step · α ω ρ, then division by 1 + step · α ω (1 − ρ)."""
        coef = floating(coef)
        slope, curvature = self._parts(coef)
        return soft_threshold(coef, step * slope) / (1 + step * curvature)

    def conjugate(self, dual: NDArray) -> NDArray:
        """Σ_j (|u_j| − α ω_j ρ)₊² / (2 α ω_j (1 − ρ)); where nothing is squared, an indicator."""
        dual = floating(dual)
        slope, curvature = self._parts(dual)
        room = np.where(curvature > 0, slope, slope * (1 + rounding(dual)))
        excess = np.maximum(np.abs(dual) - room, 0)
        return np.sum(quotient(excess**2, 2 * curvature), axis=0)

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Ω(w) + Ω*(u) − ⟨w, u⟩, summed from terms of which none is negative."""
        coef, dual = floating(coef), floating(dual)
        slope, curvature = self._parts(coef)
        inside = np.clip(dual, -slope, slope)
        l1_terms = product(np.maximum(slope - np.sign(coef) * inside, 0), np.abs(coef))
        # With e = u − clip(u), the rest is (c/2) w² + e²/(2c) − w e = (c w − e)²/(2c), a square.
        finite = np.isfinite(curvature) & (curvature > 0)
        safe = np.where(finite, curvature, 1)
        squares = (safe * coef - (dual - inside)) ** 2 / (2 * safe)
        degenerate = np.where(curvature > 0, product(curvature, np.abs(coef)), 0)
        per_column = np.sum(l1_terms + np.where(finite, squares, degenerate), axis=0)
        return np.where(np.isfinite(self.conjugate(dual)), per_column, np.inf)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to ∂Ω(w), column by column."""
        coef = floating(coef)
        slope, curvature = self._parts(coef)
        bent = np.where(np.isinf(curvature), 0, curvature) * coef
        return euclidean(l1_residual(coef, dual - bent, slope))

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """max_j |g_j|/(ω_j ρ) over the penalised features; ∞ when ρ = 0 and the gradient is not zero.

        With unpenalised features, g is the gradient at the fit of those alone, where their entries vanish.
        """
        gradient = floating(gradient_at_zero)
        weights = np.ones_like(gradient)
        if self.weights is not None:
            weights = rows_of("ElasticNet", self.weights, gradient)
        penalised = (weights > 0) & (weights < np.inf)
        slopes = self.l1_ratio * np.where(penalised, weights, 1)
        return np.max(quotient(np.abs(np.where(penalised, gradient, 0)), slopes), axis=0)

    def _bound(self, coef: NDArray) -> NDArray:
        if self.weights is None:
            return columns_of("ElasticNet", self.strength, coef)
        return bounds(
            columns_of("ElasticNet", self.strength, coef), rows_of("ElasticNet", self.weights, coef)
        )

    def _parts(self, coef: NDArray) -> tuple[NDArray, NDArray]:
        """Slope and curvature of the penalty; an excluded feature has both infinite."""
        bound = self._bound(coef)
        excluded = np.isinf(bound)
        finite = np.where(excluded, 0, bound)
        parts = (self.l1_ratio * finite, (1 - self.l1_ratio) * finite)
        slope, curvature = (np.where(excluded, np.inf, part).astype(coef.dtype) for part in parts)
        return slope, curvature
