"""The sum of the norms of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.penalties._group_l2 import group_shrinkage
from assay.penalties._penalty import (
    bounds,
    euclidean,
    floating,
    non_negative,
    product,
    quotient,
    rounding,
    rows_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class RowSparse:
    """Ω(B) = α ‖B‖_{1,2} = α Σ_i ω_i ‖B_i‖₂, B_i the rows of B.

    A matrix penalty: a row of a (d, t) array is zero in all columns or in none, and every method returns one
    number for the whole matrix. A (d,) array is a matrix of one column.

    Parameters
    ----------
    strength : float
        α, at least 0.
    weights : array of shape (d,), default=None
        ω, at least 0; 0 leaves the row unpenalised, ∞ keeps it at zero. None means ones.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import RowSparse
    >>> RowSparse(1.0).proximal(np.array([[3.0, 4.0], [0.3, 0.4]]), step=1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])

    References
    ----------
    Wei §1.2.1.
    """

    convex: ClassVar[bool] = True

    strength: float
    weights: Any = None

    def __post_init__(self) -> None:
        non_negative("RowSparse", "strength", self.strength, ndim=(0,))
        if self.weights is not None:
            weights = non_negative("RowSparse", "weights", self.weights, ndim=(1,), infinite=True)
            object.__setattr__(self, "weights", weights)

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of the matrix."""
        norms = row_norms(coef)
        return np.sum(product(self._bound(norms), norms))

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Each row scaled by (1 − step · α ω_i/‖B_i‖)₊."""
        coef, norms = floating(coef), row_norms(coef)
        scale = group_shrinkage(norms, step * self._bound(norms))
        return coef * scale.reshape((-1,) + (1,) * (coef.ndim - 1))

    def conjugate(self, dual: NDArray) -> NDArray:
        """0 when every ‖U_i‖ ≤ α ω_i (within rounding), ∞ otherwise."""
        norms = row_norms(dual)
        return np.where(np.all(norms <= self._bound(norms) * (1 + rounding(norms))), 0.0, np.inf)[()]

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Σ_i α ω_i ‖B_i‖ − ⟨B_i, U_i⟩ when U is feasible, ∞ otherwise; no term is negative."""
        norms = row_norms(coef)
        inner = np.sum((floating(coef) * dual).reshape(len(norms), -1), axis=1)
        terms = np.maximum(product(self._bound(norms), norms) - inner, 0)
        return np.sum(terms) + self.conjugate(dual)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Frobenius distance from U to ∂Ω(B)."""
        norms = row_norms(coef)
        bound = np.broadcast_to(self._bound(norms), norms.shape)
        excluded, active = np.isinf(bound), norms > 0
        scale = np.divide(np.where(excluded, 0, bound), norms, out=np.zeros_like(norms), where=active)
        coef = floating(coef).reshape(len(norms), -1)
        dual = floating(dual).reshape(len(norms), -1)
        at_coef = np.where(excluded, np.inf, row_norms(dual - scale[:, None] * coef))
        return euclidean(np.where(active, at_coef, np.maximum(row_norms(dual) - bound, 0)))

    def dual_norm(self, dual: NDArray) -> NDArray:
        """max_i ‖U_i‖/ω_i, the norm dual to Σ ω_i ‖B_i‖."""
        norms = row_norms(dual)
        return np.max(quotient(norms, self._weights(norms)))

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """max_i ‖G_i‖/ω_i over the penalised rows.

        With unpenalised rows, G is the gradient at the fit of those alone, where their entries vanish.
        """
        norms = row_norms(gradient_at_zero)
        weights = self._weights(norms)
        return np.max(quotient(np.where(weights > 0, norms, 0), weights))

    def _weights(self, norms: NDArray) -> NDArray:
        return np.ones_like(norms) if self.weights is None else rows_of("RowSparse", self.weights, norms)

    def _bound(self, norms: NDArray) -> NDArray:
        return bounds(self.strength, self._weights(norms))


def row_norms(coef: NDArray) -> NDArray:
    """Euclidean norm of each row."""
    coef = floating(coef)
    return euclidean(coef.reshape(len(coef), -1), axis=1)
