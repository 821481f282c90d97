"""What every convex set offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties._penalty import floating

if TYPE_CHECKING:
    from assay.penalties._affine_sets import Hyperplane
    from assay.penalties._composed_sets import Homothetic, Intersection


class ConvexSet(ABC):
    """A closed convex set C of points of a Euclidean space.

    A point is one array; matrices carry the Frobenius inner product. `C & D` is the intersection,
    `C.scaled(λ)` the set λC and `C.translated(β)` the set C + β.
    """

    __slots__ = ()

    @abstractmethod
    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether x satisfies what defines the set, up to the tolerance (relative to the set's own scale)."""

    @abstractmethod
    def project(self, x: NDArray) -> NDArray:
        """The point of the set nearest to x."""

    def distance(self, x: NDArray) -> float:
        """‖x − Π x‖."""
        return float(np.linalg.norm(np.ravel(floating(x) - self.project(x))))

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """A point of the set at which ⟨a, x⟩ is smallest; refused where there is none."""
        self._no_minimiser(a)

    def support(self, a: NDArray) -> float:
        """Supremum of ⟨a, x⟩ over the set, ∞ where it is unbounded."""
        a = floating(a)
        return float(np.sum(a * self.linear_minimiser(-a)))

    def separating_hyperplane(self, x: NDArray) -> Hyperplane:
        """The hyperplane halfway between x, outside the set, and its projection.

        The set lies strictly on the side ⟨normal, c⟩ < offset and x strictly on the other.
        """
        from assay.penalties._affine_sets import Hyperplane

        nearest = np.ravel(self.project(x))
        x = np.ravel(floating(x))
        gap = x - nearest
        length = np.linalg.norm(gap)
        if length <= 1e-9 * max(1.0, float(np.linalg.norm(x))):
            raise refusal(type(self).__name__ + ".separating_hyperplane", "x", "outside the set", x)
        return Hyperplane(gap / length, gap @ (x + nearest) / (2 * length))

    def scaled(self, factor: float) -> Homothetic:
        """The set λC."""
        from assay.penalties._composed_sets import Homothetic

        return Homothetic(self, factor=factor)

    def translated(self, shift: Any) -> Homothetic:
        """The set C + β."""
        from assay.penalties._composed_sets import Homothetic

        return Homothetic(self, shift=shift)

    def __and__(self, other: ConvexSet) -> Intersection:
        from assay.penalties._composed_sets import Intersection

        return Intersection((self, other))

    def _no_minimiser(self, a: Any) -> NoReturn:
        owner = f"{type(self).__name__}.linear_minimiser"
        raise refusal(owner, "a", "a direction in which the set is bounded below, with a known minimiser", a)


class Cone(ConvexSet):
    """A closed convex cone that is its own dual: ⟨x, y⟩ ≥ 0 for every pair of its points."""

    __slots__ = ()

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """The apex, when a lies in the cone; elsewhere ⟨a, x⟩ has no minimum."""
        if not self.contains(a):
            self._no_minimiser(a)
        return np.zeros_like(floating(a))

    def support(self, a: NDArray) -> float:
        """0 when −a lies in the cone, ∞ otherwise."""
        return 0.0 if self.contains(-floating(a)) else np.inf
