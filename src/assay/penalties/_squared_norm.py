"""The squared Euclidean norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SquaredNorm:
    """Ω(w) = (α/2) ‖w‖², column by column: one α, or one a column of w.

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
