"""Balls of the three vector norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.parameters import check, one_of, real
from assay.penalties._convex_set import ConvexSet
from assay.penalties._penalty import floating, numbers
from assay.penalties._simplex import L1Ball

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
            length = np.linalg.norm(offset)
            offset = offset * (self.radius / length) if length > self.radius else offset
        return self._center(offset) + offset

    def multiplier(self, x: NDArray) -> float:
        """The μ ≥ 0 at which Π x is stationary for ‖y − x‖² + μ (‖y − center‖² − radius²), l2 norm.

        μ = (‖x − center‖/radius − 1)₊; Slater's condition asks for a positive radius.
        """
        domains = {"norm": one_of("l2"), "radius": real(above=0)}
        check("Ball.multiplier", {"norm": self.norm, "radius": self.radius}, domains)
        return max(float(np.linalg.norm(self._from_center(x))) / self.radius - 1, 0.0)

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

    def _center(self, x: NDArray) -> NDArray:
        return np.broadcast_to(self.center, x.shape).astype(x.dtype)

    def _from_center(self, x: NDArray) -> NDArray:
        x = floating(x)
        return x - self._center(x)
