"""Projections on simple convex sets, as functions for `projected_gradient`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay.parameters import real, refusal
from assay.solvers._least_squares import Array


def onto_ball(radius: float, center: Any = 0.0) -> Callable[[Array], Array]:
    """Projection on the ball ‖x − c‖ ≤ r: points outside are pulled back along the ray from the centre."""
    _positive("onto_ball", radius)

    def project(point: Array) -> Array:
        difference = point - center
        norm = float(np.linalg.norm(difference))
        return np.asarray(point if norm <= radius else center + difference * (radius / norm))

    return project


def onto_box(low: Any, high: Any) -> Callable[[Array], Array]:
    """Projection on the box low ≤ x ≤ high, coordinate by coordinate."""
    if not np.all(np.asarray(low) <= np.asarray(high)):
        raise refusal("onto_box", "low", "at most 'high' in every coordinate", low)
    return lambda point: np.clip(point, low, high)


def onto_simplex(total: float = 1.0) -> Callable[[Array], Array]:
    """Projection on {x ≥ 0, Σx = total}: subtract one number from all coordinates and cut at zero."""
    _positive("onto_simplex", total, "total")

    def project(point: Array) -> Array:
        falling = np.sort(point)[::-1]
        shift = (np.cumsum(falling) - total) / np.arange(1, len(point) + 1)
        return np.maximum(point - shift[np.flatnonzero(falling > shift)[-1]], 0.0)

    return project


def onto_l1_ball(radius: float) -> Callable[[Array], Array]:
    """Projection on ‖x‖₁ ≤ r: that of |x| on the simplex, with the signs given back."""
    _positive("onto_l1_ball", radius)
    simplex = onto_simplex(radius)

    def project(point: Array) -> Array:
        if np.abs(point).sum() <= radius:
            return point
        return np.asarray(np.sign(point) * simplex(np.abs(point)))

    return project


def _positive(owner: str, value: Any, name: str = "radius") -> None:
    if not real(above=0).contains(value):
        raise refusal(owner, name, "a finite number above 0", value)
