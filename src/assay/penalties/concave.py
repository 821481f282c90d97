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
    def weak_convexity(self) -> float:
        """The smallest c for which Ω + (c/2)‖·‖² is convex: 1/γ for MCP, 1/(γ − 1) for SCAD."""
        return 1 / self._longest_step

    @property
    def _longest_step(self) -> float:
        return self.gamma + 1 - self.smallest_gamma

    def _check_step(self, step: Any) -> None:
        if not np.all(np.asarray(step) < self._longest_step):
            formula = "gamma" if self.smallest_gamma == 1 else "gamma - 1"
            must_be = (
                f"below {formula} = {self._longest_step:g}, where the proximal problem is strictly convex"
            )
            raise refusal(f"{type(self).__name__}.proximal", "step", must_be, step)

    def _slope(self, magnitude: NDArray) -> NDArray:
        raise NotImplementedError

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

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        x = np.minimum(np.abs(floating(coef)), self.gamma * self.strength)
        return np.sum(self.strength * x - x**2 / (2 * self.gamma), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding at step · α, stretched by 1/(1 − step/γ), up to γα; the identity beyond."""
        self._check_step(step)
        coef = floating(coef)
        stretched = soft_threshold(coef, step * self.strength) / (1 - step / self.gamma)
        return np.where(np.abs(coef) <= self.gamma * self.strength, stretched, coef)

    def _slope(self, magnitude: NDArray) -> NDArray:
        return np.maximum(self.strength - magnitude / self.gamma, 0)


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

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        x, a, g = np.abs(floating(coef)), self.strength, self.gamma
        clipped = np.minimum(x, g * a)
        curved = (2 * g * a * clipped - clipped**2 - a**2) / (2 * (g - 1))
        return np.sum(np.where(x <= a, a * x, curved), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding near zero, a stretched one in the middle, the identity beyond γα."""
        self._check_step(step)
        coef, a, g = floating(coef), self.strength, self.gamma
        x = np.abs(coef)
        middle = ((g - 1) * coef - np.sign(coef) * step * g * a) / (g - 1 - step)
        return np.where(
            x <= a * (1 + step), soft_threshold(coef, step * a), np.where(x <= g * a, middle, coef)
        )

    def _slope(self, magnitude: NDArray) -> NDArray:
        falling = np.maximum(self.gamma * self.strength - magnitude, 0) / (self.gamma - 1)
        return np.minimum(falling, self.strength)
