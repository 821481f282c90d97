"""Polytopes, by their faces or by their vertices, and the self-dual cones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from assay.parameters import refusal
from assay.penalties.penalty import floating, numbers
from assay.penalties.sets import Cone, ConvexSet


@dataclass(frozen=True, slots=True, eq=False)
class Polytope(ConvexSet):
    """{x : A x ≥ b}, an intersection of half-spaces.

    The projection is Lawson & Hanson's least-distance programme, one non-negative least squares problem;
    linear functions are minimised by SciPy's linear programme.

    Parameters
    ----------
    matrix : array of shape (m, d)
        A, one inward normal per row.
    offset : array of shape (m,)
        b.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Polytope
    >>> triangle = Polytope([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.0, 0.0, -1.0])
    >>> triangle.project(np.array([2.0, 2.0])).round(12)
    array([0.5, 0.5])

    References
    ----------
    Rudi & Şimşekli §2.2.2; Lawson & Hanson (1974), chapter 23.
    """

    matrix: Any
    offset: Any

    def __post_init__(self) -> None:
        matrix = numbers("Polytope", "matrix", self.matrix, ndim=(2,))
        offset = numbers("Polytope", "offset", self.offset, ndim=(1,))
        if len(offset) != len(matrix):
            raise refusal("Polytope", "offset", f"of length {len(matrix)}, one per row", self.offset)
        if not np.all(np.any(matrix != 0, axis=1)):
            raise refusal("Polytope", "matrix", "without a row of zeros", self.matrix)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "offset", offset)

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether every ⟨a_i, x⟩ ≥ b_i, up to the tolerance relative to the scale of x and of the face."""
        x = floating(x)
        lengths = np.linalg.norm(self.matrix, axis=1)
        room = np.maximum(lengths * max(1.0, float(np.linalg.norm(x))), np.abs(self.offset))
        return bool(np.all(self.matrix @ x >= self.offset - tolerance * room))

    def project(self, x: NDArray) -> NDArray:
        """The nearest point; a polytope without points is refused."""
        x = floating(x)
        lengths = np.linalg.norm(self.matrix, axis=1)
        normals, missing = self.matrix / lengths[:, None], (self.offset - self.matrix @ x) / lengths
        scale = float(np.max(missing))
        if scale <= 0:
            return x.copy()
        system = np.vstack([normals.T, missing / scale])
        target = np.append(np.zeros(len(x)), 1.0)
        multipliers, _ = optimize.nnls(system, target)
        residual = system @ multipliers - target
        if -residual[-1] <= 1e-12:
            words = "such that some point satisfies every inequality"
            raise refusal("Polytope", "offset", words, self.offset)
        return (x - scale * residual[:-1] / residual[-1]).astype(x.dtype)

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """A minimiser of the linear programme; refused where it is unbounded."""
        lowest = self._minimiser(floating(a))
        if lowest is None:
            self._no_minimiser(a)
        return lowest

    def support(self, a: NDArray) -> float:
        """Supremum of ⟨a, x⟩ by the linear programme, ∞ where it is unbounded."""
        a = floating(a)
        highest = self._minimiser(-a)
        return np.inf if highest is None else float(a @ highest)

    def _minimiser(self, a: NDArray) -> NDArray | None:
        self.project(np.zeros(len(a)))  # refuses a polytope without points
        return optimize.linprog(a, A_ub=-self.matrix, b_ub=-self.offset, bounds=(None, None)).x


@dataclass(frozen=True, slots=True, eq=False)
class ConvexHull(ConvexSet):
    """The convex hull of finitely many points.

    A linear function has the same minimum over the points as over their hull.

    Parameters
    ----------
    points : array of shape (m, d)
        One point per row.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import ConvexHull
    >>> hull = ConvexHull([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> hull.linear_minimiser(np.array([-1.0, 0.5]))
    array([2., 0.])
    >>> hull.project(np.array([2.0, 2.0])).round(12)
    array([1., 1.])

    References
    ----------
    Rudi & Şimşekli §3.1.
    """

    points: Any

    def __post_init__(self) -> None:
        points = numbers("ConvexHull", "points", self.points, ndim=(2,))
        if len(points) == 0:
            raise refusal("ConvexHull", "points", "at least one row", self.points)
        object.__setattr__(self, "points", points)

    def barycentric(self, x: NDArray) -> NDArray:
        """Weights in the simplex of the points whose mean is the projection of x."""
        offsets = self.points - floating(x)
        scale = float(np.max(np.linalg.norm(offsets, axis=1))) or 1.0
        # Over λ = sμ with μ in the simplex, min_s s²‖Σμ_i q_i‖² + (s − 1)² grows with ‖Σμ_i q_i‖ alone.
        system = np.vstack([offsets.T / scale, np.ones(len(offsets))])
        weights, _ = optimize.nnls(system, np.append(np.zeros(offsets.shape[1]), 1.0))
        return weights / np.sum(weights)

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether the distance to the hull is at most the tolerance times the largest norm of a point."""
        size = max(1.0, float(np.max(np.linalg.norm(self.points, axis=1))))
        return self.distance(x) <= tolerance * size

    def project(self, x: NDArray) -> NDArray:
        """The nearest point, by non-negative least squares."""
        return (self.barycentric(x) @ self.points).astype(floating(x).dtype)

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """The first point at which ⟨a, x⟩ is smallest."""
        return self.points[np.argmin(self.points @ floating(a))].copy()


@dataclass(frozen=True, slots=True)
class NonNegative(Cone):
    """{x : x ≥ 0}.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import NonNegative
    >>> NonNegative().project(np.array([-1.0, 2.0]))
    array([0., 2.])
    """

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether no entry is below −tolerance · max|x|."""
        x = floating(x)
        return bool(np.all(x >= -tolerance * np.max(np.abs(x), initial=0)))

    def project(self, x: NDArray) -> NDArray:
        """The positive parts."""
        return np.maximum(floating(x), 0)


@dataclass(frozen=True, slots=True)
class SecondOrderCone(Cone):
    """{(x, r) : ‖x‖₂ ≤ r}, points of d + 1 entries with r last.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import SecondOrderCone
    >>> SecondOrderCone().project(np.array([3.0, 4.0, 0.0]))
    array([1.5, 2. , 2.5])

    References
    ----------
    Rudi & Şimşekli §2.2.2.
    """

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether ‖x‖ ≤ r, up to the tolerance relative to the length of (x, r)."""
        x = floating(x)
        return bool(np.linalg.norm(x[:-1]) <= x[-1] + tolerance * np.linalg.norm(x))

    def project(self, x: NDArray) -> NDArray:
        """The point itself, the apex, or the point of the boundary ray below it."""
        x = floating(x)
        length, height = np.linalg.norm(x[:-1]), x[-1]
        if length <= height:
            return x.copy()
        if length <= -height:
            return np.zeros_like(x)
        radius = (length + height) / 2
        return np.concatenate([x[:-1] * (radius / length), [radius]]).astype(x.dtype)


@dataclass(frozen=True, slots=True)
class PositiveSemidefinite(Cone):
    """Symmetric matrices with no negative eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import PositiveSemidefinite
    >>> PositiveSemidefinite().project(np.diag([1.0, -2.0]))
    array([[1., 0.],
           [0., 0.]])
    """

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether the matrix is symmetric and its eigenvalues are ≥ 0, up to the tolerance times ‖x‖."""
        room, half = tolerance * np.linalg.norm(x), _symmetric(x)
        symmetric = 2 * np.linalg.norm(half - x) <= room
        return bool(symmetric and np.linalg.eigvalsh(half)[0] >= -room)

    def project(self, x: NDArray) -> NDArray:
        """The symmetric part without its negative eigenvalues."""
        values, vectors = np.linalg.eigh(_symmetric(x))
        kept = vectors * np.maximum(values, 0) @ vectors.T
        return (kept + kept.T) / 2

    def support(self, a: NDArray) -> float:
        """0 when the symmetric part of −a is in the cone, ∞ otherwise."""
        return super(PositiveSemidefinite, self).support(_symmetric(a))


def _symmetric(x: NDArray) -> NDArray:
    """The symmetric part of a square matrix."""
    x = floating(x)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise refusal("PositiveSemidefinite", "x", "a square matrix", x)
    return (x + x.T) / 2
