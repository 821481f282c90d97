"""Newton steps over rows for losses that are quadratic in pieces: squared hinge, squared tube, Huber.

Only the rows on a quadratic piece enter the Hessian. Near the solution the function is quadratic, so that one
step ends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from assay.losses import Huber, SidedLoss
from assay.parameters import refusal
from assay.rows import Block, Rows
from assay.solvers.in_memory import pilot
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import (
    Frame,
    MachineLoss,
    design,
    gram,
    pulled,
    row_targets,
    scores,
    target_squares,
    target_sums,
)
from assay.solvers.smooth.newton import RowNewton, row_newton

ROUGH = 1e-4
"""Relative decrement that is enough for a start."""

SMALLEST_SCALE = 1e-10
"""Scale at which a fit counts as perfect, relative to the spread of the target."""


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

    return row_newton(evaluate, along, start, tol=tol, max_iter=max_iter, report=report)


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
    rows = SidedRows(machine, frame)
    if start is None:
        start = rough_start(data, rows, penalty, np.zeros(len(penalty)))
    return penalised_newton(data, rows, penalty, start, tol=tol, max_iter=max_iter, report=report)


# Huber regression with its scale: with z = r/σ, r = y − Aθ, minimises Σ s (σ + σ H(z)) + α‖w‖² over (w, b)
# and, unless it is given, over σ > 0, where H is twice Huber's loss: convex in both.


class HuberRows(NamedTuple):
    """Rows charged σ + σ H(r/σ); the point is θ and, where `scale` is None, σ."""

    frame: Frame
    loss: Huber
    scale: float | None

    def split(self, point: Array) -> tuple[Array, float]:
        """θ and σ."""
        return (point[:-1], float(point[-1])) if self.scale is None else (point, float(self.scale))

    def join(self, theta: Array, sigma: float) -> Array:
        """The point of θ and σ."""
        return np.append(theta, sigma) if self.scale is None else theta

    def curve(self, block: Block, point: Array) -> tuple[float, Array, Array]:
        """Value, gradient and Hessian of one block; infinite for σ ≤ 0."""
        (theta, sigma), size = self.split(point), len(point)
        if sigma <= 0:
            return np.inf, np.zeros(size), np.eye(size)
        weight = block.weights
        z = (row_targets(block) - scores(block, self.frame, theta)) / sigma
        losses, slope, bend = self.loss.terms(z, np.zeros_like(z))
        value = sigma * float(weight @ (1 + 2 * losses))
        gradient = np.append(2 * pulled(block, self.frame, weight * slope), weight @ (1 - slope**2))
        inner = np.flatnonzero(bend * weight)
        root = np.sqrt(2 * weight[inner] / sigma)
        rows, k = design(block, self.frame, root, inner), len(theta)
        hessian, across = np.empty((k + 1, k + 1)), z[inner] * root
        hessian[:k, :k], hessian[k, k] = gram(rows, self.frame), across @ across
        border = across @ rows
        border[: len(self.frame.scale)] /= self.frame.scale
        hessian[:k, k] = hessian[k, :k] = border
        return value, gradient[:size], hessian[:size, :size]

    def line(self, block: Block, point: Array, direction: Array, steps: Array) -> Array:
        """Values of one block at several steps along a direction."""
        theta, move = (scores(block, self.frame, self.split(vector)[0]) for vector in (point, direction))
        residual, values = row_targets(block) - theta, np.full(len(steps), np.inf)
        for place, step in enumerate(steps):
            _, sigma = self.split(point + step * direction)
            if sigma > 0:
                z = (residual - step * move) / sigma
                values[place] = sigma * (block.weights @ (1 + 2 * self.loss.value(z, np.zeros_like(z))))
        return values

    def best_scale(self, block: Block, theta: Array, sigma: float) -> tuple[float, float]:
        """Σ s r² of the inner rows, Σ s less ε² times the outer: their ratio is the best σ² of the split."""
        weight = block.weights
        residual = row_targets(block) - scores(block, self.frame, theta)
        inner = np.abs(residual) <= self.loss.delta * sigma
        outer = weight.sum() - self.loss.delta**2 * weight[~inner].sum()
        return float(weight[inner] @ residual[inner] ** 2), float(outer)


class HuberFit(NamedTuple):
    """Result of `huber_newton`."""

    point: Array
    scale: float
    n_iter: int
    converged: bool
    values: list[float]


def huber_newton(
    data: Rows,
    frame: Frame,
    penalty: Array,
    *,
    loss: Huber,
    scale: float | None,
    tol: float,
    max_iter: int,
    report: Callable[[Array, float], bool] = lambda point, scale: False,
) -> HuberFit:
    """Minimise over θ and, when `scale` is None, over σ; see `row_newton`.

    `penalty` is α of each coordinate, 0 for the intercept; δ of the loss is ε, from which it is linear.
    `report` is told θ and σ after each step.
    """
    weight, total, squares = data.reduce(target_sums)
    center = total / weight if frame.intercept else 0.0
    spread = float(np.sqrt(max(data.reduce(target_squares, center), 0.0) / weight))
    cold, free, rows = np.zeros(len(penalty)), scale is None, HuberRows(frame, loss, scale)
    if frame.intercept:
        cold[-1] = center
    if free and spread <= 8 * np.finfo(float).eps * np.sqrt(squares / weight):
        return HuberFit(cold, float(np.finfo(float).tiny ** 0.5), 1, True, [0.0])
    smallest = SMALLEST_SCALE * spread
    curved = rows.join(2 * penalty, 0.0)

    def solve(start: Array) -> RowNewton:
        def told(point: Array) -> bool:
            theta, sigma = rows.split(point)
            return report(theta, sigma) or (free and sigma <= smallest)

        return penalised_newton(data, rows, curved, start, tol=tol, max_iter=max_iter, report=told)

    start = rough_start(data, rows, curved, rows.join(cold, spread))
    result = solve(start if rows.split(start)[1] > smallest else rows.join(cold, spread))
    theta, sigma = rows.split(result.point)
    if free and not result.converged and sigma > smallest and result.n_iter < max_iter:
        # Towards σ = 0 the function is nearly homogeneous, Newton's matrix singular: one after the other.
        limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "report": report}
        inner = huber_newton(data, frame, penalty, loss=loss, scale=sigma, **limits)
        above, below = data.reduce(rows.best_scale, inner.point, sigma)
        sigma = float(np.sqrt(above / below)) if below > 0 else sigma
        theta, sigma = inner.point, max(sigma, smallest)
        if sigma > smallest:
            result = solve(rows.join(theta, sigma))
            theta, sigma = rows.split(result.point)
    perfect = free and sigma <= smallest
    return HuberFit(theta, sigma, result.n_iter, result.converged or perfect, result.values)
