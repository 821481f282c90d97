"""The frontier between two Gaussian classes: a quadric, in coefficients and by its type."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NOTHING = 1e-9
"""Eigenvalues, and levels, at or below this share of the largest are none."""


class Quadric(NamedTuple):
    """The frontier {x : ½xᵀQx + ⟨w, x⟩ + b = 0} between two classes, the second where it is positive.

    Attributes
    ----------
    matrix : array of shape (n_features, n_features)
        Q = Σ_first⁻¹ − Σ_second⁻¹.
    normal : array of shape (n_features,)
        w = Σ_second⁻¹ μ_second − Σ_first⁻¹ μ_first.
    offset : float
        b.
    kind : str
        "hyperplane", "ellipsoid", "hyperboloid", "paraboloid", "cone", "cylinder", "point" or "empty"; in the
        plane "line", "ellipse", "hyperbola", "parabola", "crossing lines" or "parallel lines".
    signature : tuple of three int
        Positive, negative and zero eigenvalues of Q.
    """

    matrix: Array
    normal: Array
    offset: float
    kind: str
    signature: tuple[int, int, int]

    def value(self, X: Any) -> Array:
        """½xᵀQx + ⟨w, x⟩ + b at rows in memory: the log-odds of the second class."""
        rows = np.asarray(X, dtype=np.float64)
        return np.asarray(
            0.5 * np.einsum("ij,ij->i", rows @ self.matrix, rows) + rows @ self.normal + self.offset
        )


PLANE = {
    "hyperplane": "line",
    "ellipsoid": "ellipse",
    "hyperboloid": "hyperbola",
    "paraboloid": "parabola",
    "cone": "crossing lines",
    "cylinder": "parallel lines",
}


def quadric(matrix: Array, normal: Array, offset: float, scale: Array) -> Quadric:
    """A quadric with its type.

    Parameters
    ----------
    matrix, normal, offset
        Q, w and b.
    scale : array of shape (n_features,)
        Units of the columns: what is zero is told in these.
    """
    inside = matrix * scale * scale[:, None]
    if not np.isfinite(inside).all():
        return Quadric(matrix, normal, float(offset), "unknown", (0, 0, len(scale)))
    values, vectors = np.linalg.eigh(inside)
    slope, size = vectors.T @ (normal * scale), float(np.abs(values).max(initial=0.0))
    flat = np.abs(values) <= NOTHING * max(size, NOTHING)
    signature = int((values[~flat] > 0).sum()), int((values[~flat] < 0).sum()), int(flat.sum())
    kind = _kind(values[~flat], slope[~flat], slope[flat], offset, signature)
    if len(scale) == 2:
        kind = PLANE.get(kind, kind)
    return Quadric(matrix, normal, float(offset), kind, signature)


def _kind(values: Array, slope: Array, rest: Array, offset: float, signature: tuple[int, int, int]) -> str:
    """The type, from ½Σλz² + ⟨slope, z⟩ + ⟨rest, flat coordinates⟩ + b = 0."""
    level = float(np.abs(rest).max(initial=0.0))
    size = float(np.abs(np.append(slope, rest)).max(initial=0.0))
    if not values.size:
        return "hyperplane" if level > 0 else "empty"
    if level > NOTHING * size:
        return "paraboloid"
    # ½Σλ(z + s/λ)² = height
    height = 0.5 * float(np.sum(slope**2 / values)) - offset
    zero = abs(height) <= NOTHING * (1 + abs(offset) + 0.5 * float(np.sum(np.abs(slope**2 / values))))
    positive, negative, none = signature
    if positive and negative:
        return "cone" if zero else "hyperboloid"
    if zero:
        return "hyperplane" if none else "point"
    if (height > 0) != (positive > 0):
        return "empty"
    return "cylinder" if none else "ellipsoid"
