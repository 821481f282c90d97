"""The l1 norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.penalties._penalty import (
    bounds,
    columns_of,
    euclidean,
    floating,
    non_negative,
    product,
    quotient,
    rounding,
    rows_of,
)


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
class L1:
    """Ω(w) = α Σ_j ω_j |w_j|, column by column.

    Separable: each column of a (d, t) array is a problem of its own, with the same weights.

    Parameters
    ----------
    strength : float or array of shape (t,)
        α, at least 0; one for all columns or one a column.
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

    convex: ClassVar[bool] = True

    strength: Any
    weights: Any = None

    def __post_init__(self) -> None:
        non_negative("L1", "strength", self.strength, ndim=(0, 1))
        if self.weights is not None:
            weights = non_negative("L1", "weights", self.weights, ndim=(1,), infinite=True)
            object.__setattr__(self, "weights", weights)

    def value(self, coef: NDArray) -> NDArray:
        """Penalty of each column."""
        coef = floating(coef)
        return np.sum(product(self._bound(coef), np.abs(coef)), axis=0)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """Soft thresholding at step · α · ω."""
        coef = floating(coef)
        return soft_threshold(coef, step * self._bound(coef))

    def conjugate(self, dual: NDArray) -> NDArray:
        """0 where every |u_j| ≤ α ω_j (within rounding), ∞ elsewhere."""
        dual = floating(dual)
        inside = np.abs(dual) <= self._bound(dual) * (1 + rounding(dual))
        return np.where(np.all(inside, axis=0), 0.0, np.inf)

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Σ_j α ω_j |w_j| − w_j u_j where u is feasible, ∞ elsewhere; no term is negative."""
        coef, dual = floating(coef), floating(dual)
        terms = product(np.maximum(self._bound(coef) - np.sign(coef) * dual, 0), np.abs(coef))
        return np.sum(terms, axis=0) + self.conjugate(dual)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to ∂Ω(w), column by column; ∞ where an excluded feature has a coefficient."""
        coef = floating(coef)
        return euclidean(l1_residual(coef, dual, self._bound(coef)))

    def dual_norm(self, dual: NDArray) -> NDArray:
        """max_j |u_j|/ω_j, the norm dual to Σ ω_j |w_j|; ∞ where u acts on an unpenalised feature."""
        dual = floating(dual)
        return np.max(quotient(np.abs(dual), self._weights(dual)), axis=0)

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """max_j |g_j|/ω_j over the penalised features.

        With unpenalised features, g is the gradient at the fit of those alone, where their entries vanish.
        """
        gradient = floating(gradient_at_zero)
        weights = self._weights(gradient)
        return self.dual_norm(np.where(weights > 0, gradient, 0))

    def _weights(self, coef: NDArray) -> NDArray:
        return np.ones_like(coef) if self.weights is None else rows_of("L1", self.weights, coef)

    def _bound(self, coef: NDArray) -> NDArray:
        if self.weights is None:
            return columns_of("L1", self.strength, coef)
        return bounds(columns_of("L1", self.strength, coef), rows_of("L1", self.weights, coef))
