"""The column space of a matrix and the projection onto it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.penalties._convex_set import ConvexSet
from assay.penalties._penalty import floating, numbers


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSpace(ConvexSet):
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

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """Zero, when a is orthogonal to the span; elsewhere there is no minimum."""
        if self.support(a) == np.inf:
            self._no_minimiser(a)
        return np.zeros_like(floating(a))

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
