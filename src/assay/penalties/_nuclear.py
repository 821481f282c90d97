"""The nuclear norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.penalties._penalty import floating, non_negative, rounding


@dataclass(frozen=True, slots=True)
class Nuclear:
    """Ω(B) = α ‖B‖_* = α Σ_i σ_i(B), the sum of the singular values.

    A matrix penalty: every method returns one number for the whole (d, t) array. A (d,) array is a matrix of
    one column.

    Parameters
    ----------
    strength : float
        α, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Nuclear
    >>> Nuclear(1.0).proximal(np.diag([3.0, 0.5]), step=1.0)
    array([[2., 0.],
           [0., 0.]])

    References
    ----------
    Wei §1.2.1.
    """

    convex: ClassVar[bool] = True

    strength: float

    def __post_init__(self) -> None:
        non_negative("Nuclear", "strength", self.strength, ndim=(0,))

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of the matrix."""
        return self.strength * np.sum(singular_values(coef))

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding of the singular values at step · α."""
        coef = floating(coef)
        left, values, right = np.linalg.svd(_matrix(coef), full_matrices=False)
        kept = np.maximum(values - step * self.strength, 0).astype(coef.dtype)
        return ((left * kept) @ right).reshape(coef.shape)

    def conjugate(self, dual: NDArray) -> NDArray:
        """0 when the spectral norm of U is at most α (within rounding), ∞ otherwise."""
        norm = self.dual_norm(dual)
        return np.where(norm <= self.strength * (1 + rounding(norm)), 0.0, np.inf)[()]

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """α ‖B‖_* − ⟨B, U⟩ when U is feasible, ∞ otherwise; never negative."""
        gap = self.value(coef) - np.sum(floating(coef) * dual)
        return np.maximum(gap, 0) + self.conjugate(dual)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Frobenius distance from U to ∂Ω(B) = α {LRᵀ + W : LᵀW = 0, WR = 0, ‖W‖ ≤ 1}.

        L and R hold the singular vectors of B at its numerical rank: singular values below
        max(d, t) · eps · σ₁ count as zero.
        """
        matrix, dual = _matrix(floating(coef)), _matrix(floating(dual))
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        rank = int(np.sum(values > max(matrix.shape) * np.finfo(matrix.dtype).eps * values[0]))
        left, right = left[:, :rank], right[:rank]
        outside = dual - left @ (left.T @ dual)
        outside = outside - (outside @ right.T) @ right
        inside = dual - outside - self.strength * (left @ right)
        excess = np.maximum(singular_values(outside) - self.strength, 0)
        return np.sqrt(np.sum(inside**2) + np.sum(excess**2))

    def dual_norm(self, dual: NDArray) -> NDArray:
        """The spectral norm, dual to the nuclear norm."""
        return np.max(singular_values(dual))

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """The spectral norm of the gradient."""
        return self.dual_norm(gradient_at_zero)


def singular_values(coef: NDArray) -> NDArray:
    """Singular values, largest first."""
    return np.linalg.svd(_matrix(floating(coef)), compute_uv=False)


def _matrix(coef: NDArray) -> NDArray:
    return coef.reshape(len(coef), -1)
