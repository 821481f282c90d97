"""Self-dual cones: the orthant, the second-order cone, the positive semi-definite matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.penalties._convex_set import Cone
from assay.penalties._penalty import floating


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
        x = _square(x)
        room = tolerance * np.linalg.norm(x)
        symmetric = np.linalg.norm(x - x.T) <= room
        return bool(symmetric and np.linalg.eigvalsh((x + x.T) / 2)[0] >= -room)

    def project(self, x: NDArray) -> NDArray:
        """The symmetric part without its negative eigenvalues."""
        x = _square(x)
        values, vectors = np.linalg.eigh((x + x.T) / 2)
        kept = vectors * np.maximum(values, 0) @ vectors.T
        return (kept + kept.T) / 2

    def linear_minimiser(self, a: NDArray) -> NDArray:
        """Zero, when the symmetric part of a is in the cone: ⟨a, x⟩ sees nothing else."""
        return super(PositiveSemidefinite, self).linear_minimiser(_symmetric(a))

    def support(self, a: NDArray) -> float:
        """0 when the symmetric part of −a is in the cone, ∞ otherwise."""
        return super(PositiveSemidefinite, self).support(_symmetric(a))


def _square(x: NDArray) -> NDArray:
    x = floating(x)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise refusal("PositiveSemidefinite", "x", "a square matrix", x)
    return x


def _symmetric(x: NDArray) -> NDArray:
    x = _square(x)
    return (x + x.T) / 2
