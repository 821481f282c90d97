"""Penalties that are sums over the coefficients: l1 norm, squared norm, elastic net, MCP, SCAD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties import penalty as shared
from assay.penalties.penalty import BlockNorms, Weighted, euclidean, floating, product, quotient, rounding


def soft_threshold(values: NDArray, threshold: Any) -> NDArray:
    """sign(x) (|x| − threshold)₊, entry by entry.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import soft_threshold
    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
    array([ 2.,  0., -1.])
    """
    return values - np.clip(values, -threshold, threshold)


def l1_residual(coef: NDArray, dual: NDArray, bound: Any) -> NDArray:
    """Distance from u to the subdifferential of bound · |x|, entry by entry."""
    bound, dual = np.broadcast_to(bound, coef.shape), np.broadcast_to(dual, coef.shape)
    at_zero = np.maximum(np.abs(dual) - bound, 0)
    return np.where(coef == 0, at_zero, np.abs(dual - np.copysign(bound, coef)))


@dataclass(frozen=True, slots=True, eq=False)
class L1(BlockNorms):
    """Ω(w) = α Σ_j ω_j |w_j|, column by column.

    Separable: each column of a (d, t) array is a problem of its own, with the same weights.

    Parameters
    ----------
    strength : float or array of shape (t,)
        α, at least 0; one for all columns or one per column.
    weights : array of shape (d,), default=None
        ω, at least 0; 0 leaves the feature unpenalised, ∞ keeps its coefficient at zero. None means ones.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import L1
    >>> penalty = L1(1.0, weights=[1.0, 0.0, np.inf])
    >>> penalty.proximal(np.array([3.0, 3.0, 3.0]), step=0.5)
    array([2.5, 3. , 0. ])

    References
    ----------
    Wei §1.2.1; Tibshirani (1996).
    """

    per_column: ClassVar[bool] = True

    strength: Any
    weights: Any = None

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding at step · α · ω."""
        coef = floating(coef)
        return soft_threshold(coef, step * self._bound(coef))

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Σ_j α ω_j |w_j| − w_j u_j where u is feasible, ∞ elsewhere; no term is negative."""
        coef, dual = floating(coef), floating(dual)
        terms = product(np.maximum(self._bound(coef) - np.sign(coef) * dual, 0), np.abs(coef))
        return np.sum(terms, axis=0) + self.conjugate(dual)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to ∂Ω(w), column by column; ∞ where an excluded feature has a coefficient."""
        coef = floating(coef)
        return euclidean(l1_residual(coef, dual, self._bound(coef)))

    def _norms(self, coef: NDArray) -> NDArray:
        return np.abs(floating(coef))


@dataclass(frozen=True, slots=True)
class SquaredNorm:
    """Ω(w) = (α/2) ‖w‖², column by column: one α, or one per column of w.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import SquaredNorm
    >>> penalty = SquaredNorm(2.0)
    >>> w = np.array([[1.0], [2.0]])
    >>> penalty.value(w), penalty.proximal(w, step=0.5).ravel()
    (array([5.]), array([0.5, 1. ]))
    """

    convex: ClassVar[bool] = True

    strength: Any

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        return self.strength * np.sum(coef**2, axis=0) / 2

    def gradient(self, coef: NDArray) -> NDArray:
        """α w."""
        return self.strength * coef

    def proximal(self, coef: NDArray, step: float) -> NDArray:
        """argmin_v ½‖v − w‖² + step · Ω(v) = w/(1 + step · α)."""
        return coef / (1 + step * self.strength)

    def conjugate(self, dual: NDArray) -> NDArray:
        """Ω*(u) = ‖u‖²/(2α) of each column."""
        return np.sum(dual**2, axis=0) / (2 * self.strength)

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Ω(w) + Ω*(u) − ⟨w, u⟩ = ‖αw − u‖²/(2α): never negative, zero exactly when u = ∇Ω(w).

        The duality gap of a regularised risk is the sum of the gaps of its loss and of its penalty; at the
        dual point ν = −∇ℓ that of the loss vanishes.
        """
        return np.sum((self.strength * coef - dual) ** 2, axis=0) / (2 * self.strength)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """‖u − αw‖ of each column."""
        return np.sqrt(np.sum((dual - self.strength * coef) ** 2, axis=0))

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """No finite strength gives zero: ∞, or 0 for a column whose gradient is zero already."""
        return np.where(np.any(np.asarray(gradient_at_zero) != 0, axis=0), np.inf, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class ElasticNet(Weighted):
    """Ω(w) = α Σ_j ω_j (ρ |w_j| + (1 − ρ) w_j²/2), column by column.

    scikit-learn's convention: `ElasticNet(alpha=α, l1_ratio=ρ)` there adds this Ω, with ω = 1, to
    ‖y − Xw‖²/(2n). The weights multiply both parts. Separable: each column of a (d, t) array is a problem of
    its own.

    Parameters
    ----------
    strength : float or array of shape (t,)
        α, at least 0; one for all columns or one per column.
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

    per_column: ClassVar[bool] = True

    strength: Any
    l1_ratio: float = 0.5
    weights: Any = None

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
        weights = self._weights(gradient)
        penalised = (weights > 0) & (weights < np.inf)
        slopes = self.l1_ratio * np.where(penalised, weights, 1)
        return np.max(quotient(np.abs(np.where(penalised, gradient, 0)), slopes), axis=0)

    def _parts(self, coef: NDArray) -> tuple[NDArray, NDArray]:
        """Slope and curvature of the penalty; an excluded feature has both infinite."""
        bound = self._bound(coef)
        excluded = np.isinf(bound)
        finite = np.where(excluded, 0, bound)
        parts = (self.l1_ratio * finite, (1 - self.l1_ratio) * finite)
        slope, curvature = (np.where(excluded, np.inf, part).astype(coef.dtype) for part in parts)
        return slope, curvature


# MCP and SCAD: penalties that stop growing, so that large coefficients are not shrunk.


class _Concave:
    """What the two share: one profile per entry, bounded, with slope α at 0⁺ and 0 far away."""

    __slots__ = ()

    convex: ClassVar[bool] = False
    smallest_gamma: ClassVar[float]
    strength: float
    gamma: float

    def __post_init__(self) -> None:
        owner, above = type(self).__name__, self.smallest_gamma
        shared.non_negative(owner, "strength", self.strength, ndim=(0,))
        if not shared.numbers(owner, "gamma", self.gamma, ndim=(0,)) > above:
            raise refusal(owner, "gamma", f"above {above:g}", self.gamma)

    @property
    def _bend(self) -> float:
        """The slope falls at the rate 1/bend once it falls: γ for MCP, γ − 1 for SCAD."""
        return self.gamma + 1 - self.smallest_gamma

    @property
    def weak_convexity(self) -> float:
        """The smallest c for which Ω + (c/2)‖·‖² is convex: 1/γ for MCP, 1/(γ − 1) for SCAD."""
        return 1 / self._bend

    @property
    def _knee(self) -> float:
        """Up to here Ω is the l1 norm: 0 for MCP, α for SCAD."""
        return (self.smallest_gamma - 1) * self.strength

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        x = np.minimum(np.abs(floating(coef)), self.gamma * self.strength)
        return np.sum(self.strength * x - np.maximum(x - self._knee, 0) ** 2 / (2 * self._bend), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding at step · α up to the knee, stretched up to γα; the identity beyond."""
        if not np.all(np.asarray(step) < self._bend):
            formula = "gamma" if self.smallest_gamma == 1 else "gamma - 1"
            must_be = f"below {formula} = {self._bend:g}, where the proximal problem is strictly convex"
            raise refusal(f"{type(self).__name__}.proximal", "step", must_be, step)
        coef, threshold, flat = floating(coef), step * self.strength, self.gamma * self.strength
        x = np.abs(coef)
        middle = (self._bend * coef - np.sign(coef) * step * flat) / (self._bend - step)
        outer = np.where(x <= flat, middle, coef)
        return np.where(x <= self._knee + threshold, soft_threshold(coef, threshold), outer)

    def _slope(self, magnitude: NDArray) -> NDArray:
        falling = np.maximum(self.gamma * self.strength - magnitude, 0) / self._bend
        return np.minimum(falling, self.strength)

    def conjugate(self, dual: NDArray) -> NDArray:
        """0 where u = 0, ∞ elsewhere, as Ω is bounded: there is no useful duality gap."""
        return np.where(np.all(np.asarray(dual) == 0, axis=0), 0.0, np.inf)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to the (regular) subdifferential of Ω at w, column by column."""
        coef = floating(coef)
        return euclidean(l1_residual(coef, dual, self._slope(np.abs(coef))))

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """max_j |g_j|, the smallest strength for which zero is a stationary point."""
        return np.max(np.abs(floating(gradient_at_zero)), axis=0)


@dataclass(frozen=True, slots=True)
class MCP(_Concave):
    """Minimax concave penalty, column by column.

    Ω(w) = Σ_j ρ(|w_j|) with, for x ≥ 0,

        ρ(x) = αx − x²/(2γ) up to γα,        γα²/2 beyond.

    Not convex; Ω + ‖·‖²/(2γ) is. The proximal map exists in closed form for steps below γ. Separable: each
    column of a (d, t) array is a problem of its own.

    Parameters
    ----------
    strength : float
        α, at least 0.
    gamma : float, default=3.0
        γ above 1; the larger, the closer to the l1 norm.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import MCP
    >>> MCP(1.0, gamma=3.0).proximal(np.array([0.5, 2.0, 5.0]), step=1.0)
    array([0. , 1.5, 5. ])

    References
    ----------
    Zhang (2010).
    """

    smallest_gamma: ClassVar[float] = 1.0

    strength: float
    gamma: float = 3.0


@dataclass(frozen=True, slots=True)
class SCAD(_Concave):
    """Smoothly clipped absolute deviation, column by column.

    Ω(w) = Σ_j ρ(|w_j|) with, for x ≥ 0,

        ρ(x) = αx up to α,    (2γαx − x² − α²)/(2(γ − 1)) up to γα,    α²(γ + 1)/2 beyond.

    Not convex; Ω + ‖·‖²/(2(γ − 1)) is. The proximal map exists in closed form for steps below γ − 1.
    Separable: each column of a (d, t) array is a problem of its own.

    Parameters
    ----------
    strength : float
        α, at least 0.
    gamma : float, default=3.7
        γ above 2; the larger, the closer to the l1 norm.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import SCAD
    >>> SCAD(1.0, gamma=3.0).proximal(np.array([0.5, 1.5, 2.5, 5.0]), step=1.0)
    array([0. , 0.5, 2. , 5. ])

    References
    ----------
    Fan & Li (2001).
    """

    smallest_gamma: ClassVar[float] = 2.0

    strength: float
    gamma: float = 3.7
