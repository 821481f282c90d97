"""Damped Newton steps on a convex sum over rows, with one walk a step when the full step is good."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import linalg

from assay.solvers.least_squares.direct import Array

Evaluate: TypeAlias = "Callable[[Array], tuple[float, Array, Array]]"
"""Value, gradient and Hessian at a point."""

Along: TypeAlias = "Callable[[Array, Array, Array], Array]"
"""Values at point + t · direction for each t of a list."""

STEPS: Array = np.float64(0.5) ** np.arange(1.0, 31.0)


class RowNewton(NamedTuple):
    """Result of `row_newton`; `decrement` is ½∇fᵀH⁻¹∇f before the last step, relative to the value."""

    point: Array
    decrement: float
    n_iter: int
    converged: bool
    values: list[float]


def row_newton(
    evaluate: Evaluate,
    along: Along,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    report: Callable[[Array], bool] = lambda point: False,
) -> RowNewton:
    """Minimise a convex function with pieces that are nearly quadratic.

    Stops when ½∇fᵀH⁻¹∇f, what the quadratic model promises to gain, is at most `tol` times the value; that
    last step is still taken, which on a quadratic piece ends on the minimiser itself.

    Parameters
    ----------
    evaluate : callable
        Value, gradient and Hessian at a point, by one walk.
    along : callable
        Values at several steps along a direction, by one walk; called when the full step is too long.
    start : array
    tol, max_iter
        Relative decrement at which to stop, most steps.
    report : callable
        Told the point after each step; true asks to stop.
    """
    point = start
    value, gradient, hessian = evaluate(point)
    values = [value]
    for iteration in range(1, max_iter + 1):
        direction, decrement = newton_direction(hessian, gradient)
        relative = decrement / max(abs(value), 1e-300)
        if relative <= tol:
            report(point + direction)
            return RowNewton(point + direction, relative, iteration, True, values)
        new_value, new_gradient, new_hessian = evaluate(point + direction)
        room = 4 * np.finfo(float).eps * abs(value)
        step = 1.0
        if not new_value <= value - decrement / 4 + room:
            there = along(point, direction, STEPS)
            enough = there <= value - STEPS * decrement / 4 + room
            if not enough.any():
                return RowNewton(point, relative, iteration, False, values)
            step = float(STEPS[np.argmax(enough)])
            new_value, new_gradient, new_hessian = evaluate(point + step * direction)
        point = point + step * direction
        value, gradient, hessian = new_value, new_gradient, new_hessian
        values.append(value)
        if report(point):
            break
    return RowNewton(point, relative, iteration, False, values)


def newton_direction(hessian: Array, gradient: Array) -> tuple[Array, float]:
    """−H⁻¹∇f and ½∇fᵀH⁻¹∇f; flat directions are left alone."""
    diagonal = np.diagonal(hessian)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = hessian / np.outer(root, root)
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        shifted = scaled + (jitter if jitter else 0.0) * np.eye(len(scaled))
        shifted[np.diag_indices_from(shifted)] += diagonal <= 0
        try:
            factor = linalg.cho_factor(shifted, check_finite=False)
        except linalg.LinAlgError:
            continue
        direction = -linalg.cho_solve(factor, gradient / root, check_finite=False) / root
        return direction, float(-gradient @ direction) / 2
    values, vectors = np.linalg.eigh(scaled)
    inverse = np.where(values > 1e-10, 1 / np.maximum(values, 1e-10), 0.0)
    direction = -(vectors @ (inverse * (vectors.T @ (gradient / root)))) / root
    return direction, float(-gradient @ direction) / 2
