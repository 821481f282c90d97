"""MCP and SCAD: penalties that stop growing, so that large coefficients are not shrunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties.penalty import euclidean, floating, non_negative, numbers
from assay.penalties.separable import l1_residual, soft_threshold


class _Concave:
    """What the two share: one profile per entry, bounded, with slope α at 0⁺ and 0 far away."""

    __slots__ = ()

    convex: ClassVar[bool] = False
    smallest_gamma: ClassVar[float]
    strength: float
    gamma: float

    def __post_init__(self) -> None:
        owner, above = type(self).__name__, self.smallest_gamma
        non_negative(owner, "strength", self.strength, ndim=(0,))
        if not numbers(owner, "gamma", self.gamma, ndim=(0,)) > above:
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
