"""MCP and SCAD: penalties that stop growing, so that large coefficients are not shrunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties._l1 import l1_residual, soft_threshold
from assay.penalties._penalty import euclidean, floating, non_negative, numbers


def _check_step(owner: str, step: Any, limit: float, formula: str) -> None:
    if not np.all(np.asarray(step) < limit):
        must_be = f"below {formula} = {limit:g}, where the proximal problem is strictly convex"
        raise refusal(f"{owner}.proximal", "step", must_be, step)


def _check_gamma(owner: str, gamma: Any, above: float) -> None:
    if not numbers(owner, "gamma", gamma, ndim=(0,)) > above:
        raise refusal(owner, "gamma", f"above {above:g}", gamma)


class _Concave:
    """What the two share: one profile an entry, bounded, with slope α at 0⁺ and 0 far away."""

    __slots__ = ()

    convex: ClassVar[bool] = False
    strength: float

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

    strength: float
    gamma: float = 3.0

    def __post_init__(self) -> None:
        non_negative("MCP", "strength", self.strength, ndim=(0,))
        _check_gamma("MCP", self.gamma, above=1)

    @property
    def weak_convexity(self) -> float:
        """1/γ: the smallest c for which Ω + (c/2)‖·‖² is convex."""
        return 1 / self.gamma

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        x = np.minimum(np.abs(floating(coef)), self.gamma * self.strength)
        return np.sum(self.strength * x - x**2 / (2 * self.gamma), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding at step · α, stretched by 1/(1 − step/γ), up to γα; the identity beyond."""
        _check_step("MCP", step, self.gamma, "gamma")
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

    strength: float
    gamma: float = 3.7

    def __post_init__(self) -> None:
        non_negative("SCAD", "strength", self.strength, ndim=(0,))
        _check_gamma("SCAD", self.gamma, above=2)

    @property
    def weak_convexity(self) -> float:
        """1/(γ − 1): the smallest c for which Ω + (c/2)‖·‖² is convex."""
        return 1 / (self.gamma - 1)

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        x, a, g = np.abs(floating(coef)), self.strength, self.gamma
        clipped = np.minimum(x, g * a)
        curved = (2 * g * a * clipped - clipped**2 - a**2) / (2 * (g - 1))
        return np.sum(np.where(x <= a, a * x, curved), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding near zero, a stretched one in the middle, the identity beyond γα."""
        _check_step("SCAD", step, self.gamma - 1, "gamma - 1")
        coef, a, g = floating(coef), self.strength, self.gamma
        x = np.abs(coef)
        middle = ((g - 1) * coef - np.sign(coef) * step * g * a) / (g - 1 - step)
        return np.where(
            x <= a * (1 + step), soft_threshold(coef, step * a), np.where(x <= g * a, middle, coef)
        )

    def _slope(self, magnitude: NDArray) -> NDArray:
        falling = np.maximum(self.gamma * self.strength - magnitude, 0) / (self.gamma - 1)
        return np.minimum(falling, self.strength)
