"""Newton steps for squared hinge and squared ε-insensitive losses: only rows that cost something enter H."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.rows import Block, Rows
from assay.solvers.in_memory import pilot
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.tilted import Frame, Tilt, design, gram, losses, pulled, scores, sides
from assay.solvers.smooth.newton import RowNewton, row_newton

ROUGH = 1e-4
"""Relative decrement that is enough for a start."""


def tilted_newton(
    data: Rows,
    tilt: Tilt,
    frame: Frame,
    penalty: Array,
    *,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    report: Callable[[Array], bool] = lambda point: False,
) -> RowNewton:
    """Minimise ½θᵀPθ + Σ_i [u_i (r_i − ε)₊² + l_i (−r_i − ε)₊²], r = c − Aθ, on rows anywhere.

    The function is quadratic on pieces: near the solution one Newton step ends on it.

    Parameters
    ----------
    data, tilt, frame : Rows, Tilt, Frame
        The rows, the loss (`squared`), the coordinates of θ.
    penalty : array of shape (k,)
        Diagonal of P in these coordinates.
    tol, max_iter, report
        See `row_newton`.
    start : array of shape (k,), optional
        By default the solution of a pilot of the rows, or zero.
    """

    def evaluate(point: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = data.reduce(curve_step, tilt, frame, point)
        hessian[np.diag_indices_from(hessian)] += penalty
        return value + float(penalty @ point**2) / 2, gradient + penalty * point, hessian

    def along(point: Array, direction: Array, steps: Array) -> Array:
        values = data.reduce(line_step, tilt, frame, point, direction, steps)
        places = point + steps[:, None] * direction
        return values + places**2 @ penalty / 2

    first = np.zeros(len(penalty)) if start is None else start
    some = pilot(data, len(penalty)) if start is None else None
    if some is not None:
        share = some.shape[0] / data.shape[0]
        rough = tilted_newton(some, tilt, frame, share * penalty, tol=ROUGH, max_iter=20, start=first)
        first = rough.point
    return row_newton(evaluate, along, first, tol=tol, max_iter=max_iter, report=report)


def curve_step(block: Block, tilt: Tilt, frame: Frame, point: Array) -> tuple[float, Array, Array]:
    """Value, gradient and Hessian of one block."""
    target, upper, lower = sides(block, tilt)
    residual = target - scores(block, frame, point)
    above, under = residual - tilt.epsilon, -residual - tilt.epsilon
    value = float(losses(residual, upper, lower, tilt).sum())
    pull = upper * np.maximum(above, 0) - lower * np.maximum(under, 0)
    weight = upper * (above > 0) + lower * (under > 0)
    costly = np.flatnonzero(weight)
    rows = design(block, frame, np.sqrt(2 * weight[costly]), costly)
    return value, -2 * pulled(block, frame, pull), gram(rows, frame)


def line_step(block: Block, tilt: Tilt, frame: Frame, point: Array, direction: Array, steps: Array) -> Array:
    """Values of one block at several steps along a direction."""
    target, upper, lower = sides(block, tilt)
    residual, move = target - scores(block, frame, point), scores(block, frame, direction)
    return np.array([losses(residual - step * move, upper, lower, tilt).sum() for step in steps])
