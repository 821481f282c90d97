"""Hyperplanes, half-spaces, affine subspaces, column spaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties.penalty import floating, numbers
from assay.penalties.sets import UnboundedSet

_PARALLEL = 1e-12


class _Linear(UnboundedSet):
    """What hyperplanes and half-spaces share."""

    __slots__ = ()

    normal: Any
    offset: float

    def __post_init__(self) -> None:
        owner = type(self).__name__
        normal = numbers(owner, "normal", self.normal, ndim=(1,))
        if not np.any(normal):
            raise refusal(owner, "normal", "a vector other than zero", self.normal)
        object.__setattr__(self, "normal", normal)
        object.__setattr__(self, "offset", float(numbers(owner, "offset", self.offset, ndim=(0,))))

    def excess(self, x: NDArray) -> float:
        """⟨normal, x⟩ − offset."""
        return float(self.normal @ floating(x) - self.offset)

    def _room(self, x: NDArray, tolerance: float) -> float:
        length = float(np.linalg.norm(self.normal))
        return tolerance * length * max(1.0, float(np.linalg.norm(x)), abs(self.offset) / length)

    def _along(self, a: NDArray) -> float | None:
        """The s with a = s · normal, None when there is none."""
        scale = float(a @ self.normal / (self.normal @ self.normal))
        parallel = np.linalg.norm(a - scale * self.normal) <= _PARALLEL * np.linalg.norm(a)
        return scale if parallel else None

    def _nearest_to_zero(self, a: NDArray) -> NDArray:
        return self._foot(np.zeros_like(a))

    def _foot(self, x: NDArray) -> NDArray:
        return x - (self.excess(x) / float(self.normal @ self.normal)) * self.normal.astype(x.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane(_Linear):
    """{x : ⟨normal, x⟩ = offset}.

    Parameters
    ----------
    normal : array of shape (d,)
        A vector other than zero.
    offset : float
        The value of the linear form on the hyperplane.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Hyperplane
    >>> plane = Hyperplane([3.0, 4.0], 5.0)
    >>> plane.project(np.array([6.0, 8.0])), plane.distance(np.array([6.0, 8.0]))
    (array([0.6, 0.8]), 9.0)

    References
    ----------
    Rudi & Şimşekli §2.2.2; Sangnier, exercise 1.9.
    """

    normal: Any
    offset: float = 0.0

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether ⟨normal, x⟩ = offset, up to the tolerance relative to the scale of x and of the set."""
        return abs(self.excess(x)) <= self._room(x, tolerance)

    def project(self, x: NDArray) -> NDArray:
        """The point minus ν · normal, with ν the multiplier."""
        return self._foot(floating(x))

    def multiplier(self, x: NDArray) -> float:
        """The ν that maximises the dual ν (⟨a, x⟩ − b) − ν² ‖a‖²/2 of min_y ½‖y − x‖² on the hyperplane."""
        return self.excess(x) / float(self.normal @ self.normal)

    def support(self, a: NDArray) -> float:
        """The value s · offset where a = s · normal, ∞ elsewhere."""
        scale = self._along(floating(a))
        return np.inf if scale is None else scale * self.offset


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace(_Linear):
    """{x : ⟨normal, x⟩ ≥ offset}: the normal points into the set.

    Parameters
    ----------
    normal : array of shape (d,)
        A vector other than zero.
    offset : float
        The smallest value of the linear form in the set.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import HalfSpace
    >>> HalfSpace([1.0, 0.0], 2.0).project(np.array([0.0, 7.0]))
    array([2., 7.])

    References
    ----------
    Rudi & Şimşekli §2.2.2.
    """

    normal: Any
    offset: float = 0.0

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether ⟨normal, x⟩ ≥ offset, up to the tolerance relative to the scale of x and of the set."""
        return self.excess(x) >= -self._room(x, tolerance)

    def project(self, x: NDArray) -> NDArray:
        """The foot on the boundary for a point outside, the point itself inside."""
        x = floating(x)
        return self._foot(x) if self.excess(x) < 0 else x.copy()

    def support(self, a: NDArray) -> float:
        """The value s · offset where a = s · normal with s ≤ 0, ∞ elsewhere."""
        scale = self._along(floating(a))
        return np.inf if scale is None or scale > 0 else scale * self.offset


@dataclass(frozen=True, slots=True, eq=False)
class AffineSubspace(UnboundedSet):
    """{x : A x = b}; the rows of A may depend on one another as long as the system has a solution.

    Parameters
    ----------
    matrix : array of shape (m, d)
        A. Singular values below max(m, d) · eps · σ₁ count as zero.
    offset : array of shape (m,)
        b, in the column space of A.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import AffineSubspace
    >>> AffineSubspace([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]], [2.0, 4.0]).project(np.zeros(3))
    array([1., 1., 0.])

    References
    ----------
    Rudi & Şimşekli §2.2.2.
    """

    matrix: Any
    offset: Any
    _directions: NDArray = field(init=False, repr=False)
    _foot: NDArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        matrix = numbers("AffineSubspace", "matrix", self.matrix, ndim=(2,))
        offset = numbers("AffineSubspace", "offset", self.offset, ndim=(1,))
        if len(offset) != len(matrix):
            raise refusal("AffineSubspace", "offset", f"of length {len(matrix)}, one per row", self.offset)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        rank = int(np.sum(values > max(matrix.shape) * np.finfo(np.float64).eps * values[0]))
        foot = right[:rank].T @ ((left[:, :rank].T @ offset) / values[:rank])
        scale = max(float(np.linalg.norm(offset)), np.finfo(np.float64).tiny)
        if np.linalg.norm(matrix @ foot - offset) > 1e-9 * scale:
            raise refusal("AffineSubspace", "offset", "such that Ax = b has a solution", self.offset)
        fields = {"matrix": matrix, "offset": offset, "_directions": right[:rank], "_foot": foot}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def dimension(self) -> int:
        """Number of features minus the rank of A."""
        return self.matrix.shape[1] - len(self._directions)

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether ‖Ax − b‖ ≤ tolerance · (‖A‖‖x‖ + ‖b‖)."""
        x = floating(x)
        scale = np.linalg.norm(self.matrix) * np.linalg.norm(x) + np.linalg.norm(self.offset)
        return bool(np.linalg.norm(self.matrix @ x - self.offset) <= tolerance * scale)

    def project(self, x: NDArray) -> NDArray:
        """The point minus A⁺(Ax − b)."""
        x = floating(x)
        return x - (self._directions.T @ (self._directions @ (x - self._foot))).astype(x.dtype)

    def _nearest_to_zero(self, a: NDArray) -> NDArray:
        return self._foot.copy()

    def support(self, a: NDArray) -> float:
        """The value at any point of the set when a is in the row space of A, ∞ elsewhere."""
        a = floating(a)
        outside = a - self._directions.T @ (self._directions @ a)
        constant = np.linalg.norm(outside) <= _PARALLEL * np.linalg.norm(a)
        return float(a @ self._foot) if constant else np.inf


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSpace(UnboundedSet):
    """{Xβ}, the span of the columns of X, of any rank.

    The projection is X(XᵀX)⁻¹Xᵀy where the columns are independent, and X X⁺ y always; it is computed from
    an orthonormal basis U of the span (singular value decomposition), as UUᵀy.

    Parameters
    ----------
    matrix : array of shape (n, d)
        X. Singular values below max(n, d) · eps · σ₁ count as zero.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import ColumnSpace
    >>> space = ColumnSpace([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    >>> space.rank, space.project(np.array([1.0, 3.0, 5.0])).round(12) + 0.0
    (1, array([2., 2., 0.]))

    References
    ----------
    Wei §1.2.3.
    """

    matrix: Any
    basis: NDArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        matrix = numbers("ColumnSpace", "matrix", self.matrix, ndim=(2,))
        left, values, _ = np.linalg.svd(matrix, full_matrices=False)
        threshold = max(matrix.shape) * np.finfo(np.float64).eps * np.max(values, initial=0)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "basis", left[:, values > threshold])

    @property
    def rank(self) -> int:
        """Number of independent columns."""
        return self.basis.shape[1]

    def contains(self, x: NDArray, tolerance: float = 1e-9) -> bool:
        """Whether the part of x outside the span is at most tolerance · ‖x‖."""
        return self.distance(x) <= tolerance * float(np.linalg.norm(x))

    def project(self, x: NDArray) -> NDArray:
        """The nearest point of the span, for one vector (n,) or for each column of (n, t)."""
        x = floating(x)
        return (self.basis @ (self.basis.T @ x)).astype(x.dtype)

    def support(self, a: NDArray) -> float:
        """0 when a is orthogonal to the span, ∞ elsewhere."""
        inside = np.linalg.norm(self.basis.T @ floating(a))
        return 0.0 if inside <= 1e-12 * np.linalg.norm(a) else np.inf

    def hat_matrix(self) -> NDArray:
        """The matrix of the projection, n × n."""
        return self.basis @ self.basis.T

    def leverage(self) -> NDArray:
        """Diagonal of the hat matrix, without forming it: between 0 and 1, with sum the rank."""
        return np.sum(self.basis**2, axis=1)
