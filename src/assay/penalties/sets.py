"""Convex sets: what each offers, and the sets made of others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from assay.parameters import check, integer, real, refusal
from assay.penalties.penalty import floating, numbers

if TYPE_CHECKING:
    from assay.penalties.affine import Hyperplane


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
        from assay.penalties.affine import Hyperplane

        nearest = np.ravel(self.project(x))
        x = np.ravel(floating(x))
        gap = x - nearest
        length = np.linalg.norm(gap)
        if length <= 1e-9 * max(1.0, float(np.linalg.norm(x))):
            raise refusal(type(self).__name__ + ".separating_hyperplane", "x", "outside the set", x)
        return Hyperplane(gap / length, gap @ (x + nearest) / (2 * length))

    def scaled(self, factor: float) -> Homothetic:
        """The set λC."""
        return Homothetic(self, factor=factor)

    def translated(self, shift: Any) -> Homothetic:
        """The set C + β."""
        return Homothetic(self, shift=shift)

    def __and__(self, other: ConvexSet) -> Intersection:
        return Intersection((self, other))

    def _no_minimiser(self, a: Any) -> NoReturn:
        owner = f"{type(self).__name__}.linear_minimiser"
        raise refusal(owner, "a", "a direction in which the set is bounded below, with a known minimiser", a)


class UnboundedSet(ConvexSet):
    """A set on which a linear function has a minimum in few directions only."""

    __slots__ = ()

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """The point nearest to zero, where ⟨a, x⟩ has a minimum on the set; refused elsewhere."""
        a = floating(a)
        if self.support(-a) == np.inf:
            self._no_minimiser(a)
        return self._nearest_to_zero(a)

    def _nearest_to_zero(self, a: NDArray) -> NDArray:
        return np.zeros_like(a)


class Cone(UnboundedSet):
    """A closed convex cone that is its own dual: ⟨x, y⟩ ≥ 0 for every pair of its points."""

    __slots__ = ()

    def support(self, a: NDArray) -> float:
        """0 when −a lies in the cone, ∞ otherwise."""
        return 0.0 if self.contains(-floating(a)) else np.inf


@dataclass(frozen=True, slots=True)
class Intersection(ConvexSet):
    """The points that lie in every one of a list of convex sets.

    The projection is Dykstra's algorithm: projections in turn, each correcting for the set's own last
    correction. It stops when the corrections change in a cycle by less than `tol`, relative to the largest
    entry of the point or 1; sets without a common point are told by corrections that never settle.

    Parameters
    ----------
    sets : sequence of ConvexSet
        The sets.
    tol : float, default=1e-10
        Relative change of the corrections at which the projection stops.
    max_iter : int, default=10000
        Cycles after which the projection is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Ball, HalfSpace
    >>> half_disk = Ball() & HalfSpace([1.0, 0.0])
    >>> half_disk.project(np.array([-1.0, 2.0])).round(6) + 0.0
    array([0., 1.])

    References
    ----------
    Boyle & Dykstra (1986); Rudi & Şimşekli §2.2.2.
    """

    sets: tuple[ConvexSet, ...]
    tol: float = 1e-10
    max_iter: int = 10_000

    def __post_init__(self) -> None:
        try:
            members = tuple(self.sets)
        except TypeError:
            members = ()
        if not members or not all(isinstance(member, ConvexSet) for member in members):
            raise refusal("Intersection", "sets", "a sequence of at least one ConvexSet", self.sets)
        domains = {"tol": real(above=0), "max_iter": integer(at_least=1)}
        check("Intersection", {"tol": self.tol, "max_iter": self.max_iter}, domains)
        object.__setattr__(self, "sets", members)

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether every set contains x."""
        return all(member.contains(x, tolerance) for member in self.sets)

    def project(self, x: NDArray) -> NDArray:
        """The nearest common point."""
        x = floating(x)
        point, corrections = x, [np.zeros_like(x) for _ in self.sets]
        for _ in range(self.max_iter):
            change = 0.0
            for i, member in enumerate(self.sets):
                shifted = point + corrections[i]
                point = member.project(shifted)
                update = shifted - point
                change += float(np.sum((update - corrections[i]) ** 2))
                corrections[i] = update
            scale = max(1.0, float(np.max(np.abs(x))))
            if np.sqrt(change) <= max(self.tol, 8 * float(np.finfo(x.dtype).eps)) * scale:
                return point
        words = "large enough for sets that have a common point"
        raise refusal("Intersection", "max_iter", words, self.max_iter)


@dataclass(frozen=True, slots=True, eq=False)
class Homothetic(ConvexSet):
    """λK + β, a scaled and translated copy of a convex set K.

    Parameters
    ----------
    original : ConvexSet
        K.
    factor : float, default=1.0
        λ, other than 0.
    shift : float or array of shape (d,), default=0.0
        β.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Simplex
    >>> Simplex().scaled(2.0).translated([1.0, 0.0]).support(np.array([1.0, 0.0]))
    3.0

    References
    ----------
    Rudi & Şimşekli §2.2.2.
    """

    original: ConvexSet
    factor: float = 1.0
    shift: Any = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.original, ConvexSet):
            raise refusal("Homothetic", "original", "a ConvexSet", self.original)
        if float(numbers("Homothetic", "factor", self.factor, ndim=(0,))) == 0:
            raise refusal("Homothetic", "factor", "other than 0", self.factor)
        object.__setattr__(self, "shift", numbers("Homothetic", "shift", self.shift, ndim=(0, 1, 2)))

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether K contains (x − β)/λ."""
        return self.original.contains(self._preimage(x), tolerance)

    def project(self, x: NDArray) -> NDArray:
        """λ Π_K((x − β)/λ) + β."""
        return self._image(self.original.project(self._preimage(x)))

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """The image of the minimiser of ⟨λa, k⟩ over K."""
        return self._image(self.original.linear_minimiser(self.factor * floating(a)))

    def support(self, a: NDArray) -> float:
        """σ_K(λa) + ⟨a, β⟩."""
        a = floating(a)
        return self.original.support(self.factor * a) + float(np.sum(a * self.shift))

    def _preimage(self, x: NDArray) -> NDArray:
        x = floating(x)
        return ((x - self.shift) / self.factor).astype(x.dtype)

    def _image(self, point: NDArray) -> NDArray:
        return (self.factor * point + self.shift).astype(point.dtype)
