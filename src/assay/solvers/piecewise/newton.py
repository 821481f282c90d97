"""Newton steps over rows for losses that are quadratic in pieces: squared hinge, squared tube, Huber.

Only the rows on a quadratic piece enter the Hessian. Near the solution the function is quadratic, so that one
step ends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from assay.losses import SidedLoss
from assay.parameters import refusal
from assay.rows import Block, Rows
from assay.solvers.in_memory import pilot
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import Frame, MachineLoss, design, gram, pulled, scores
from assay.solvers.smooth.newton import EPSILON, RowNewton, row_newton

ROUGH = 1e-4
"""Relative decrement that is enough for a start."""


class CurvedRows(Protocol):
    """What Newton asks of the rows of a block: sums of their losses as a function of the point."""

    def curve(self, block: Block, point: Array) -> tuple[float, Array, Array]:
        """Value, gradient and Hessian of one block."""

    def line(self, block: Block, point: Array, direction: Array, steps: Array) -> Array:
        """Values of one block at several steps along a direction."""


def penalised_newton(
    data: Rows,
    rows: CurvedRows,
    penalty: Array,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    gain: float = 0.0,
    report: Callable[[Array], bool] = lambda point: False,
) -> RowNewton:
    """Minimise ½θᵀPθ and the losses of the rows, P diagonal; see `row_newton`."""

    def evaluate(point: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = data.reduce(rows.curve, point)
        hessian[np.diag_indices_from(hessian)] += penalty
        return value + float(penalty @ point**2) / 2, gradient + penalty * point, hessian

    def along(point: Array, direction: Array, steps: Array) -> Array:
        places = point + steps[:, None] * direction
        return data.reduce(rows.line, point, direction, steps) + places**2 @ penalty / 2

    return row_newton(evaluate, along, start, tol=tol, max_iter=max_iter, gain=gain, report=report)


def rough_start(data: Rows, rows: CurvedRows, penalty: Array, start: Array) -> Array:
    """The solution of a pilot of a long table, else the start itself."""
    some = pilot(data, len(penalty))
    if some is None:
        return start
    share = some.shape[0] / data.shape[0]
    return penalised_newton(some, rows, share * penalty, start, tol=ROUGH, max_iter=20).point


class SidedRows(NamedTuple):
    """Rows whose scores a smooth sided loss charges."""

    machine: MachineLoss[SidedLoss]
    frame: Frame

    def curve(self, block: Block, point: Array) -> tuple[float, Array, Array]:
        """Value, gradient and Hessian of one block."""
        target, weight = self.machine.read(block)
        terms = self.machine.loss.terms(target, scores(block, self.frame, point))
        bend = weight * terms.curvature
        curved = np.flatnonzero(bend)
        rows = design(block, self.frame, np.sqrt(bend[curved]), curved)
        slope = pulled(block, self.frame, weight * terms.slope)
        return float(weight @ terms.value), slope, gram(rows, self.frame)

    def line(self, block: Block, point: Array, direction: Array, steps: Array) -> Array:
        """Values of one block at several steps along a direction."""
        target, weight = self.machine.read(block)
        score, move = scores(block, self.frame, point), scores(block, self.frame, direction)
        return np.array([weight @ self.machine.loss.value(target, score + step * move) for step in steps])


def sided_newton(
    data: Rows,
    machine: MachineLoss[SidedLoss],
    frame: Frame,
    penalty: Array,
    *,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    report: Callable[[Array], bool] = lambda point: False,
) -> RowNewton:
    """Minimise ½θᵀPθ + Σ s ℓ(y, Aθ) for a sided loss without corners, on rows anywhere; see `row_newton`.

    `penalty` is the diagonal of P in the coordinates of the frame. The default start is the solution of a
    pilot of the rows, or zero.
    """
    if not isinstance(machine.loss, SidedLoss) or machine.loss.cornered:
        raise refusal("sided_newton", "loss", "a sided loss without corners", machine.loss)
    rows, zero = SidedRows(machine, frame), np.zeros(len(penalty))
    at_zero = data.reduce(rows.line, zero, zero, np.zeros(1))
    if not np.isfinite(at_zero).all():
        raise ValueError(
            "The squares of the target are too large for floating point. Divide it by its scale."
        )
    if start is None:
        start = rough_start(data, rows, penalty, zero)
    # Residuals are rounded to EPSILON of the target: what that leaves of its squares is no gain.
    gain = EPSILON**2 * float(at_zero[0])
    return penalised_newton(data, rows, penalty, start, tol=tol, max_iter=max_iter, gain=gain, report=report)
