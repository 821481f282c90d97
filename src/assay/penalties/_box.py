"""Boxes, as sets and as penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties._convex_set import ConvexSet
from assay.penalties._penalty import euclidean, floating, numbers, product, rounding, rows_of


@dataclass(frozen=True, slots=True, eq=False)
class Box(ConvexSet):
    """{x : lower ≤ x ≤ upper}, and the penalty that is 0 in it and ∞ outside.

    As a penalty it is separable: each column of a (d, t) array is a problem of its own with the same bounds.
    It has no strength: `critical_strength` is 0 or ∞.

    Parameters
    ----------
    lower, upper : float or array of shape (d,), default=-inf, inf
        The bounds, infinite where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Box
    >>> box = Box(0.0, [1.0, 2.0])
    >>> box.project(np.array([-1.0, 5.0])), box.support(np.array([-1.0, 1.0]))
    (array([0., 2.]), 2.0)
    """

    convex: ClassVar[bool] = True

    lower: Any = -np.inf
    upper: Any = np.inf

    def __post_init__(self) -> None:
        lower = numbers("Box", "lower", self.lower, ndim=(0, 1), infinite=True)
        upper = numbers("Box", "upper", self.upper, ndim=(0, 1), infinite=True)
        if lower.ndim == upper.ndim == 1 and len(lower) != len(upper):
            raise refusal("Box", "upper", f"of length {len(lower)}, that of 'lower'", self.upper)
        if not np.all((lower <= upper) & (lower < np.inf) & (upper > -np.inf)):
            raise refusal("Box", "lower", "at most 'upper' in every entry", self.lower)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether no bound is passed by more than the tolerance times max(1, |bound|)."""
        return bool(np.all(self._inside(floating(x), tolerance)))

    def project(self, x: NDArray) -> NDArray:
        """The entries clipped."""
        x = floating(x)
        lower, upper = self._bounds(x)
        return np.clip(x, lower, upper)

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """The lower bound where a > 0, the upper bound where a < 0, the point nearest to zero elsewhere."""
        a = floating(a)
        lower, upper = self._bounds(a)
        found = np.where(a > 0, lower, np.where(a < 0, upper, np.clip(0, lower, upper)))
        if not np.all(np.isfinite(found)):
            self._no_minimiser(a)
        return found

    def support(self, a: NDArray) -> float:
        """Σ_j max(lower_j a_j, upper_j a_j)."""
        return float(np.sum(self.conjugate(a)))

    def value(self, coef: NDArray) -> NDArray:
        """0 for a column in the box (within rounding), ∞ for another."""
        coef = floating(coef)
        return np.where(np.all(self._inside(coef, rounding(coef)), axis=0), 0.0, np.inf)

    def proximal(self, coef: NDArray, step: Any) -> NDArray:
        """The projection, whatever the step."""
        return self.project(coef)

    def conjugate(self, dual: NDArray) -> NDArray:
        """The support function of each column."""
        dual = floating(dual)
        lower, upper = self._bounds(dual)
        return np.sum(product(upper, np.maximum(dual, 0)) + product(lower, np.minimum(dual, 0)), axis=0)

    def fenchel_young_gap(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Σ_j u_j₊ (upper_j − w_j) + u_j₋ (w_j − lower_j) where w is in the box, ∞ elsewhere."""
        coef, dual = floating(coef), floating(dual)
        lower, upper = self._bounds(coef)
        above = product(np.maximum(upper - coef, 0), np.maximum(dual, 0))
        below = product(np.maximum(coef - lower, 0), np.maximum(-dual, 0))
        return np.sum(above + below, axis=0) + self.value(coef)

    def subgradient_distance(self, coef: NDArray, dual: NDArray) -> NDArray:
        """Distance from u to the normal cone at w, column by column; ∞ outside the box."""
        coef, dual = floating(coef), floating(dual)
        lower, upper = self._bounds(coef)
        residual = np.where(coef >= upper, np.minimum(dual, 0), dual)
        residual = np.where(coef <= lower, np.maximum(residual, 0), residual)
        return euclidean(residual) + self.value(coef)

    def critical_strength(self, gradient_at_zero: NDArray) -> NDArray:
        """0 where zero minimises the linear function ⟨g, w⟩ over the box, ∞ elsewhere."""
        gradient = floating(gradient_at_zero)
        return np.where(self.subgradient_distance(np.zeros_like(gradient), -gradient) == 0, 0.0, np.inf)

    def _bounds(self, x: NDArray) -> tuple[NDArray, NDArray]:
        lower, upper = (
            rows_of("Box", bound, x, "bounds") if bound.ndim else bound.astype(x.dtype)
            for bound in (self.lower, self.upper)
        )
        return lower, upper

    def _inside(self, x: NDArray, tolerance: float) -> NDArray:
        lower, upper = self._bounds(x)
        room = [tolerance * np.maximum(1, np.abs(np.where(np.isinf(b), 0, b))) for b in (lower, upper)]
        return (x >= lower - room[0]) & (x <= upper + room[1])
