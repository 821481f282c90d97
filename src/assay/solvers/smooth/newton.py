"""The Newton direction and damped Newton steps, with one walk a step when the full step is good."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg

from assay.solvers.least_squares.direct import Array

Evaluate: TypeAlias = "Callable[[Array], tuple[float, Array, Array, *tuple[Any, ...]]]"
"""Value, gradient and Hessian at a point, and whatever else is known of it."""

Along: TypeAlias = "Callable[[Array, Array, Array], Array]"
"""Values at point + t · direction for each t of a list."""

STEPS: Array = np.float64(0.5) ** np.arange(1.0, 41.0)
EPSILON = float(np.finfo(float).eps)
LIFT = 1e-14
"""Curvature that flat directions are taken to have, relative to the coordinates."""


class NewtonStep(NamedTuple):
    """−H⁻¹g, the decrement √(gᵀH⁻¹g), and the rank of H."""

    direction: Array
    decrement: float
    rank: int


def newton_step(
    hessian: Array,
    gradient: Array,
    noise: Array | float = 0.0,
    *,
    level: Array | None = None,
    lift: float = 0.0,
) -> NewtonStep:
    """The Newton step of a positive semi-definite Hessian, after scaling its diagonal to one.

    Directions of no curvature (columns that repeat each other) are left alone, or taken to have the curvature
    `lift`. A coordinate whose curvature is at most the square of its `noise` times `level`, the curvature of
    a column of ones (the largest one by default), stays too.
    """
    inverse = inverse_scale(hessian, noise, level)
    scaled = hessian * inverse[:, None] * inverse
    flat = gradient * inverse
    rank = size = flat.shape[0]
    try:
        if not inverse.all():
            raise linalg.LinAlgError
        # LAPACK itself: the checks of linalg.cholesky cost more than a small system.
        factor, failure = linalg.lapack.dpotrf(scaled, lower=True)
        if failure or (not lift and np.diagonal(factor).min() ** 2 < size * 4 * EPSILON):
            raise linalg.LinAlgError
        step = linalg.lapack.dpotrs(factor, flat, lower=True)[0]
        decrement = math.sqrt(max(float(flat @ step), 0.0))
    except linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        kept = values > size * 4 * EPSILON * values[-1]
        rank = int(np.count_nonzero(kept))
        if lift:
            values, kept = np.maximum(values, lift), np.ones(size, dtype=bool)
        coordinates = vectors[:, kept].T @ flat
        step = vectors[:, kept] @ (coordinates / values[kept])
        decrement = float(np.sqrt(np.sum(coordinates**2 / values[kept])))
    return NewtonStep(-(step * inverse), decrement, rank)


def inverse_scale(hessian: Array, noise: Array | float = 0.0, level: Array | None = None) -> Array:
    """1/√H_jj, and 0 for a coordinate whose curvature is at most that of its noise."""
    diagonal = np.maximum(np.diagonal(hessian), 0.0)
    height = np.sqrt(diagonal.max(initial=0.0) if level is None else level)
    floor = np.square(noise * height) + np.finfo(float).tiny * 1e8
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > floor)


def newton_direction(hessian: Array, gradient: Array) -> tuple[Array, float]:
    """−H⁻¹g and ½gᵀH⁻¹g, what the quadratic model promises to gain; every direction has some curvature."""
    missing = np.diagonal(hessian) <= 0
    if missing.any():
        hessian = hessian + np.diag(missing.astype(np.float64))
    step = newton_step(hessian, gradient, lift=LIFT)
    return step.direction, step.decrement**2 / 2


class RowNewton(NamedTuple):
    """Result of `row_newton`.

    `decrement` is ½∇fᵀH⁻¹∇f before the last step, relative to the value. `last` is what `evaluate` said of
    the point; of the one before, if the last step was not measured.
    """

    point: Array
    decrement: float
    n_iter: int
    converged: bool
    values: list[float]
    last: Any


def row_newton(
    evaluate: Evaluate,
    along: Along | None,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    report: Callable[[Array], bool] = lambda point: False,
    direction_of: Callable[[Array, Array], tuple[Array, float]] = newton_direction,
    rounding: float = EPSILON,
    gain: float = 0.0,
    finish: bool = True,
) -> RowNewton:
    """Minimise a convex function by damped Newton steps.

    Stops when ½∇fᵀH⁻¹∇f, what the quadratic model promises to gain, is at most `tol` times the value. A step
    is halved until it gives a quarter of the decrease that its slope promises, up to the rounding of the
    value.

    Parameters
    ----------
    evaluate : callable
        Value, gradient and Hessian at a point, by one walk.
    along : callable or None
        Values at several steps along a direction, by one walk, for when the full step is too long; without
        it shorter steps are evaluated one by one.
    start : array
    tol, max_iter
        Relative decrement at which to stop, most steps.
    report : callable
        Told the point after each step; true asks to stop.
    direction_of : callable
        Direction and half the squared decrement, from a Hessian and a gradient.
    rounding : float
        Relative rounding of the values.
    gain : float
        Promised gain, in the unit of the function, at which to stop as well.
    finish : bool
        Whether the last step, whose gain is below the tolerance, is still taken, without measuring it: on a
        quadratic piece it ends on the minimiser itself.
    """
    point, here = start, evaluate(start)
    direction, promised = direction_of(here[2], here[1])
    values, n_iter, stopped = [here[0]], 0, False
    while True:
        # Invariant: `here` is the evaluation of `point`, `direction` and `promised` are its Newton step.
        scale, room = max(abs(here[0]), 1e-300), 8 * rounding * abs(here[0])
        converged = promised <= max(tol * scale, gain)
        if converged or n_iter >= max_iter or stopped:
            break
        step, there = damped(evaluate, along, point, direction, here[0] + room, promised / 2)
        if there is None:
            break
        point, here, before = point + step * direction, there, promised
        direction, promised = direction_of(here[2], here[1])
        values.append(here[0])
        n_iter += 1
        stopped = report(point) or (promised > 0.25 * before and 2 * promised <= room)
    if converged and finish and n_iter < max_iter and not stopped:
        point, n_iter = point + direction, n_iter + 1
        report(point)
    return RowNewton(point, promised / scale, n_iter, converged, values, here)


def damped(
    evaluate: Evaluate, along: Along | None, point: Array, direction: Array, value: float, enough: float
) -> tuple[float, Any]:
    """The first of the steps 1, ½, ¼, … that gains its share of `enough`, and its evaluation or None."""
    there = evaluate(point + direction)
    if there[0] <= value - enough:
        return 1.0, there
    if along is not None:
        good = along(point, direction, STEPS) <= value - STEPS * enough
        step = float(STEPS[np.argmax(good)])
        return step, evaluate(point + step * direction) if good.any() else None
    for step in STEPS.tolist():
        there = evaluate(point + step * direction)
        if there[0] <= value - step * enough:
            return step, there
    return 0.0, None
