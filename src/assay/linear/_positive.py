"""The elastic net on non-negative coefficients, as the certificates see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.linear._engine import Array

ROUNDING = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class PositiveElasticNet:
    """α Σ ω_j (ρ w_j + (1 − ρ) w_j²/2) for w ≥ 0, ∞ elsewhere; ω > 0, where ∞ excludes a feature."""

    strength: float
    l1_ratio: float
    weights: Any = None

    def _parts(self, size: int) -> tuple[Array, Array]:
        weights = np.ones(size) if self.weights is None else self.weights
        kept = np.where(np.isinf(weights), 0.0, weights) * self.strength
        slope = np.where(np.isinf(weights), np.inf, self.l1_ratio * kept)
        return slope, (1 - self.l1_ratio) * kept

    def fenchel_young_gap(self, coef: Array, dual: Array) -> float:
        """Ω(w) + Ω*(u) − ⟨w, u⟩ with Ω*(u) = (u − a)₊²/(2c), or an indicator; each term at least 0."""
        slope, curvature = self._parts(coef.size)
        excluded = np.isinf(slope)
        if np.any(coef < 0) or np.any(coef[excluded] != 0):
            return np.inf
        if np.any((curvature == 0) & (dual > slope * (1 + ROUNDING))):
            return np.inf
        inside = np.minimum(dual, slope)
        terms = np.where(excluded, 0.0, np.where(excluded, 0.0, slope - inside) * coef)
        bent = np.where(curvature > 0, curvature, 1.0)
        squares = (bent * coef - (dual - inside)) ** 2 / (2 * bent)
        return float(np.sum(terms) + np.sum(squares[curvature > 0]))

    def dual_norm(self, dual: Array) -> float:
        """max_j (u_j)₊/(ω_j ρ), or 0 where the square makes every u admissible."""
        if self.l1_ratio < 1:
            return 0.0
        slope, _ = self._parts(dual.size)
        return float(np.max(np.maximum(dual, 0.0) / slope, initial=0.0)) * self.strength

    def critical_strength(self, gradient_at_zero: Array) -> float:
        """The smallest strength at which zero is the solution."""
        slope, _ = self._parts(gradient_at_zero.size)
        pull = np.maximum(gradient_at_zero, 0.0) * self.strength
        return float(np.max(np.divide(pull, slope, out=np.zeros_like(pull), where=slope > 0), initial=0.0))
