"""Balls of the three vector norms, boxes, the simplex, with exact projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.parameters import check, one_of, real, refusal
from assay.penalties.penalty import euclidean, floating, numbers, product, rounding, rows_of
from assay.penalties.sets import ConvexSet


@dataclass(frozen=True, slots=True)
class Simplex(ConvexSet):
    """{x ≥ 0 : Σ_j x_j = total}.

    Parameters
    ----------
    total : float, default=1.0
        The sum of the entries, above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Simplex
    >>> Simplex().project(np.array([1.0, 0.5, -1.0]))
    array([0.75, 0.25, 0.  ])
    """

    total: float = 1.0

    def __post_init__(self) -> None:
        check("Simplex", {"total": self.total}, {"total": real(above=0)})

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether the entries are non-negative and sum to the total, up to tolerance · total."""
        x, room = floating(x), tolerance * self.total
        return bool(np.all(x >= -room) and abs(np.sum(x) - self.total) <= room)

    def project(self, x: NDArray) -> NDArray:
        """(x − θ)₊ with the θ for which the entries sum to the total; O(d log d)."""
        return cut_to_total(floating(x), self.total)

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """The vertex of the smallest entry of a."""
        a = floating(a)
        vertex = np.zeros_like(a)
        vertex[np.argmin(a)] = self.total
        return vertex


@dataclass(frozen=True, slots=True)
class L1Ball(ConvexSet):
    """{x : ‖x‖₁ ≤ radius}, around zero.

    Parameters
    ----------
    radius : float, default=1.0
        At least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import L1Ball
    >>> L1Ball(2.0).project(np.array([3.0, -2.0, 0.1]))
    array([ 1.5, -0.5,  0. ])
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        check("L1Ball", {"radius": self.radius}, {"radius": real(at_least=0)})

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether ‖x‖₁ ≤ radius, up to tolerance · max(1, radius)."""
        return bool(np.sum(np.abs(x)) <= self.radius + tolerance * max(1.0, self.radius))

    def project(self, x: NDArray) -> NDArray:
        """Soft thresholding at the level for which the norm is the radius; O(d log d)."""
        x = floating(x)
        magnitude = np.abs(x)
        if np.sum(magnitude) <= self.radius:
            return x.copy()
        if self.radius == 0:
            return np.zeros_like(x)
        return np.copysign(cut_to_total(magnitude, self.radius), x)

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """The vertex ∓ radius along the largest entry of |a|."""
        a = floating(a)
        vertex = np.zeros_like(a)
        j = np.argmax(np.abs(a))
        vertex[j] = -np.copysign(self.radius, a[j])
        return vertex

    def support(self, a: NDArray) -> float:
        """Radius times max_j |a_j|."""
        return float(self.radius * np.max(np.abs(a)))


def cut_to_total(x: NDArray, total: float) -> NDArray:
    """(x − θ)₊ with the θ for which the entries sum to the total."""
    # Everything is counted from the maximum: θ then has the precision of the differences.
    below_top = x - np.max(x)
    ordered = np.sort(below_top)[::-1]
    candidates = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    count = max(int(np.sum(ordered > candidates)), 1)
    return np.maximum(below_top - candidates[count - 1].astype(x.dtype), 0)


_ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}


@dataclass(frozen=True, slots=True, eq=False)
class Ball(ConvexSet):
    """{x : ‖x − center‖ ≤ radius} in the l1, l2 or l∞ norm.

    Parameters
    ----------
    center : float or array of shape (d,), default=0.0
        The centre; a number stands for the vector of d times it.
    radius : float, default=1.0
        At least 0.
    norm : {"l1", "l2", "linf"}, default="l2"
        The norm.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Ball
    >>> Ball(radius=5.0).project(np.array([6.0, 8.0])), Ball(radius=5.0).multiplier(np.array([6.0, 8.0]))
    (array([3., 4.]), 1.0)

    References
    ----------
    Rudi & Şimşekli §2.2.2.
    """

    center: Any = 0.0
    radius: float = 1.0
    norm: str = "l2"

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", numbers("Ball", "center", self.center, ndim=(0, 1)))
        domains = {"radius": real(at_least=0), "norm": one_of(*_ORDERS)}
        check("Ball", {"radius": self.radius, "norm": self.norm}, domains)

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether ‖x − center‖ ≤ radius, up to tolerance · max(1, radius)."""
        length = np.linalg.norm(self._from_center(x), _ORDERS[self.norm])
        return bool(length <= self.radius + tolerance * max(1.0, self.radius))

    def project(self, x: NDArray) -> NDArray:
        """The nearest point: a shorter radius (l2), soft thresholding (l1), clipping (l∞)."""
        offset = self._from_center(x)
        if self.norm == "l1":
            offset = L1Ball(self.radius).project(offset)
        elif self.norm == "linf":
            offset = np.clip(offset, -self.radius, self.radius)
        else:
            length = float(np.linalg.norm(offset))
            offset = offset * (self.radius / length) if self._outside(length, offset) else offset
        return self._center(offset) + offset

    def multiplier(self, x: NDArray) -> float:
        """The μ ≥ 0 at which Π x is stationary for ‖y − x‖² + μ (‖y − center‖² − radius²), l2 norm.

        μ = ‖x − center‖/radius − 1 outside the ball and 0 in it, a point on the sphere up to the rounding of
        its length included; Slater's condition asks for a positive radius.
        """
        domains = {"norm": one_of("l2"), "radius": real(above=0)}
        check("Ball.multiplier", {"norm": self.norm, "radius": self.radius}, domains)
        offset = self._from_center(x)
        length = float(np.linalg.norm(offset))
        return length / self.radius - 1 if self._outside(length, offset) else 0.0

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """The centre minus radius times a direction at which the dual norm of a is reached."""
        a = floating(a)
        if self.norm == "l1":
            step = L1Ball(self.radius).linear_minimiser(a)
        elif self.norm == "linf":
            step = -self.radius * np.sign(a)
        else:
            step = -self.radius * a / max(float(np.linalg.norm(a)), np.finfo(a.dtype).tiny)
        return self._center(a) + step

    def _outside(self, length: float, offset: NDArray) -> bool:
        # A computed length is off by at most (d/2 + 1) units in the last place.
        return length > self.radius * (1 + rounding(offset) * (1 + offset.size / 32))

    def _center(self, x: NDArray) -> NDArray:
        return np.broadcast_to(self.center, x.shape).astype(x.dtype)

    def _from_center(self, x: NDArray) -> NDArray:
        x = floating(x)
        return x - self._center(x)


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
        corner = np.where(a > 0, lower, np.where(a < 0, upper, np.clip(0, lower, upper)))
        if not np.all(np.isfinite(corner)):
            self._no_minimiser(a)
        return corner

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
