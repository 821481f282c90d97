"""Quasi-Newton steps from a good guess of the Hessian: few evaluations, each a walk over the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Evaluate = Callable[[Array], tuple[float, Array]]

MEMORY = 30
ARMIJO = 1e-4
SMALLEST_STEP = 1e-12
NEAR, FLATTER = 100.0, 0.9
EPSILON = float(np.finfo(float).eps)


class QuasiNewton(NamedTuple):
    """Result of `quasi_newton`.

    `decrement` is √(gᵀBg) for the approximation B of the inverse Hessian: how far the point is from the
    minimum, in the norm of the Hessian. `values` are those of the accepted points, the start first.
    """

    point: Array
    value: float
    gradient: Array
    decrement: float
    n_iter: int
    converged: bool
    values: list[float]


def quasi_newton(
    evaluate: Evaluate,
    start: Array,
    inverse: Callable[[Array], Array],
    *,
    tol: float,
    max_iter: int,
    first: tuple[float, Array] | None = None,
    rounding: float = EPSILON,
    report: Callable[[Array], bool] = lambda point: False,
) -> QuasiNewton:
    """Minimise a convex function by limited-memory BFGS steps on top of an approximate inverse Hessian.

    Stops when the decrement √(gᵀBg) is at most `tol`, or when it no longer shrinks and promises less than the
    rounding of the value. A step starts at length 1 and is cut by quadratic interpolation until it decreases
    the function enough; where the values cannot tell, until it flattens the slope.

    Parameters
    ----------
    evaluate : callable
        Value and gradient at a point.
    start : array
    inverse : callable
        Applies a positive definite approximation of the inverse Hessian at the minimum.
    tol, max_iter
        Stopping rule.
    first : tuple, optional
        Value and gradient at the start, where they are known.
    rounding : float
        Relative rounding of the values.
    report : callable
        Told the point after each step; true asks to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.solvers import quasi_newton
    >>> fit = quasi_newton(lambda x: (x @ x / 2, x), np.ones(3), lambda g: 0.9 * g, tol=1e-10, max_iter=20)
    >>> fit.converged, bool(np.abs(fit.point).max() < 1e-9)
    (True, True)
    """
    point = start
    value, gradient = evaluate(point) if first is None else first
    values = [value]
    moves: list[tuple[Array, Array, float]] = []
    direction = _direction(gradient, moves, inverse)
    decrement = _decrement(gradient, direction)
    converged = decrement <= tol
    n_iter = 0
    while not converged and n_iter < max_iter:
        accepted = _search(evaluate, point, value, gradient, direction, rounding)
        if accepted is None:
            break
        new_point, new_value, new_gradient = accepted
        _remember(moves, new_point - point, new_gradient - gradient)
        point, value, gradient = new_point, new_value, new_gradient
        values.append(value)
        n_iter += 1
        before, direction = decrement, _direction(gradient, moves, inverse)
        decrement = _decrement(gradient, direction)
        converged = decrement <= tol
        stalled = decrement > 0.5 * before and decrement**2 <= 8 * rounding * abs(value)
        if report(point) or stalled:
            break
    return QuasiNewton(point, value, gradient, decrement, n_iter, converged, values)


def _search(
    evaluate: Evaluate, point: Array, value: float, gradient: Array, direction: Array, rounding: float
) -> tuple[Array, float, Array] | None:
    """A point along the direction that is enough lower; None when rounding leaves none.

    Values that differ by less than their rounding say nothing of a step: there the slope along the direction,
    which the gradients still tell, must have shrunk.
    """
    slope = float(np.vdot(gradient, direction))
    room = 8 * rounding * abs(value)
    size = 1.0
    while size > SMALLEST_STEP:
        trial = point + size * direction
        new_value, new_gradient = evaluate(trial)
        if new_value <= value + ARMIJO * size * slope + room:
            return trial, new_value, new_gradient
        near = -slope <= NEAR * room and new_value <= value + NEAR * room
        if near and abs(float(np.vdot(new_gradient, direction))) <= FLATTER * -slope:
            return trial, new_value, new_gradient
        cut = 0.1
        if np.isfinite(new_value):
            cut = min(max(-slope * size / (2 * (new_value - value - slope * size)), 0.1), 0.5)
        size *= cut
    return None


def _remember(moves: list[tuple[Array, Array, float]], move: Array, change: Array) -> None:
    product = float(np.vdot(move, change))
    if product > 1e-14 * float(np.linalg.norm(move) * np.linalg.norm(change)):
        moves.append((move, change, 1 / product))
        del moves[:-MEMORY]


def _direction(
    gradient: Array, moves: list[tuple[Array, Array, float]], inverse: Callable[[Array], Array]
) -> Array:
    """−Bg by the two loops of limited-memory BFGS."""
    result = -gradient
    shares = []
    for move, change, factor in reversed(moves):
        share = factor * float(np.vdot(move, result))
        result = result - share * change
        shares.append(share)
    result = inverse(result)
    for (move, change, factor), share in zip(moves, reversed(shares), strict=True):
        result = result + (share - factor * float(np.vdot(change, result))) * move
    return result


def _decrement(gradient: Array, direction: Array) -> float:
    return float(np.sqrt(max(-float(np.vdot(gradient, direction)), 0.0)))
