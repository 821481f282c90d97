"""The simplex and the l1 ball, with exact projections by sorting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.parameters import check, real
from assay.penalties._convex_set import ConvexSet
from assay.penalties._penalty import floating


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
