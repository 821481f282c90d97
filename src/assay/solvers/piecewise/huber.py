"""Huber regression with its scale: with z = r/σ, r = y − Aθ, minimises Σ s (σ + σ H(z)) + ½θᵀPθ.

H is twice Huber's loss; the minimum is over θ and, unless it is given, over σ ≥ 0: convex in both. At σ = 0
the sum is its limit 2ε Σ s|r|, and where few enough residuals are not zero that limit is the minimum.

Newton steps end on the minimiser where σ is well above zero. Near zero the function is nearly homogeneous and
its pieces are many; an interior point on the dual, which knows σ as the multiplier of a ball, goes there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.losses import Absolute, Huber
from assay.rows import Block, Rows
from assay.solvers.in_memory import LARGEST_BYTES, in_memory
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import (
    Frame,
    MachineLoss,
    design,
    gram,
    pulled,
    require_spread,
    row_targets,
    scores,
    target_squares,
    target_sums,
)
from assay.solvers.piecewise.gap import MachineGap
from assay.solvers.piecewise.huber_interior import huber_interior
from assay.solvers.piecewise.interior import interior_point
from assay.solvers.piecewise.newton import penalised_newton, rough_start

SMALLEST_SCALE = 1e-10
"""Scale below which Newton steps end, relative to the spread of the target."""

NEARLY_ZERO = 1e-3
"""Scale below which the limit σ = 0 is tried, in the same unit."""

CLOSE = 1e-9
"""Relative duality gap at which a fit by the interior point has converged, if `tol` is less."""

Judge = Callable[[Rows, Array, float, "Array | None"], tuple[MachineGap, float]]
"""Duality gap and relative gradient at θ and σ, and a ν (None: the slopes of the loss)."""


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


class HuberFit(NamedTuple):
    """Result of `huber_regression`; `dual` has one ν per row where the residuals do not tell it."""

    point: Array
    scale: float
    dual: Array | None
    n_iter: int
    converged: bool
    values: list[float]


def huber_regression(
    data: Rows,
    frame: Frame,
    penalty: Array,
    *,
    loss: Huber,
    scale: float | None,
    tol: float,
    max_iter: int,
    judge: Judge,
    report: Callable[[Array, float], bool] = lambda point, scale: False,
) -> HuberFit:
    """Minimise over θ and, when `scale` is None, over σ ≥ 0.

    `penalty` is α of each coordinate, 0 for the intercept; δ of the loss is ε, from which it is linear.
    `report` is told θ and σ after each step. Half of `max_iter` are Newton steps; where they stall, the other
    half is for the interior point, if the rows are in this process or fit into memory.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        weight, total, squares = data.reduce(target_sums)
    require_spread(max(float(np.sqrt(squares / weight)), 1.0))
    if total != 0 and squares < 1e-300 * weight:  # the squares of targets as small as this are lost
        require_spread(abs(total) / weight)
    center = total / weight if frame.intercept else 0.0
    spread = float(np.sqrt(max(data.reduce(target_squares, center), 0.0) / weight))
    cold, free, rows = np.zeros(len(penalty)), scale is None, HuberRows(frame, loss, scale)
    if frame.intercept:
        cold[-1] = center
    if free and spread <= 8 * np.finfo(float).eps * np.sqrt(squares / weight):
        return HuberFit(cold, 0.0, np.zeros(data.shape[0]) if data.local else None, 1, True, [0.0])
    require_spread(spread)
    solver = _Stages(data, rows, 2 * penalty, cold, spread, tol, max_iter, judge, report)
    start = rough_start(data, rows, rows.join(2 * penalty, 0.0), rows.join(cold, spread))
    usable = rows.split(start)[1] > SMALLEST_SCALE * spread
    first = solver.newton(start if usable else rows.join(cold, spread), max_iter - max_iter // 2)
    near = data.local or data.shape[0] * data.shape[1] * data.dtype.itemsize <= LARGEST_BYTES
    if first.converged and not solver.proven(data, first):
        # The pieces are found, the last digits are not yet: a step or two more.
        more = solver._replace(tol=1e-3 * tol).newton(rows.join(first.point, first.scale), max_iter // 2)
        first = more._replace(n_iter=first.n_iter + more.n_iter, values=[*first.values, *more.values[1:]])
    if not near or max_iter < 2 or (first.converged and solver.proven(data, first)):
        return first
    here = data if data.local else in_memory(data, "Huber's loss", "")
    return solver._replace(data=here).inside(first)


class _Stages(NamedTuple):
    """The stages of a fit: Newton steps, the interior point, and the exact last step from there."""

    data: Rows
    rows: HuberRows
    penalty: Array
    cold: Array
    spread: float
    tol: float
    max_iter: int
    judge: Judge
    report: Callable[[Array, float], bool]

    def newton(self, start: Array, max_iter: int) -> HuberFit:
        """Joint Newton steps in θ and σ; they do not converge where σ falls towards zero."""
        rows, free, smallest = self.rows, self.rows.scale is None, SMALLEST_SCALE * self.spread

        def told(point: Array) -> bool:
            theta, sigma = rows.split(point)
            return self.report(theta, sigma) or (free and sigma <= smallest)

        curved = rows.join(self.penalty, 0.0)
        result = penalised_newton(
            self.data, rows, curved, start, tol=self.tol, max_iter=max_iter, report=told
        )
        theta, sigma = rows.split(result.point)
        converged = result.converged and sigma > (smallest if free else 0.0)
        return HuberFit(theta, sigma, None, result.n_iter, converged, result.values)

    def inside(self, first: HuberFit) -> HuberFit:
        """The interior point and the exact last step: on the pieces it found, or at σ = 0."""
        data, rows, epsilon, free = self.data, self.rows, self.rows.loss.delta, self.rows.scale is None
        frame, limit = rows.frame, self.max_iter // 2
        inner = huber_interior(
            data, frame, self.penalty, self.cold, float(rows.scale or self.spread),
            epsilon=epsilon, free=free, tol=min(self.tol, 1e-10), max_iter=limit, report=self.report,
        )  # fmt: skip
        n_iter, values = first.n_iter + inner.n_iter, [*first.values, *inner.values[1:]]
        near = inner.scale < NEARLY_ZERO * self.spread
        # Where σ is rounding, its limit takes its place.
        scale = inner.scale if inner.scale > SMALLEST_SCALE * self.spread or not free else 0.0
        fits = [first, HuberFit(inner.point, scale, inner.dual, n_iter, False, values)]
        if scale > 0:
            last = self.newton(rows.join(inner.point, scale), 20)
            fits.append(last._replace(n_iter=n_iter + last.n_iter, values=[*values, *last.values[1:]]))
        if free and near:
            machine = MachineLoss(Absolute(), 2 * epsilon)
            corner = interior_point(data, machine, frame, self.penalty, tol=1e-10, max_iter=200)
            duals = (inner.dual, corner.dual, np.zeros_like(inner.dual))
            fits.extend(HuberFit(corner.point, 0.0, dual, n_iter, False, values) for dual in duals)
        judged = [self.judge(data, fit.point, fit.scale, fit.dual) for fit in fits]
        # The least objective counts, up to rounding; then the dual point that proves it best.
        least = min(gap.objective for gap, _ in judged)
        rest = [
            gap.relative + gradient if gap.objective <= least + CLOSE * gap.scale else np.inf
            for gap, gradient in judged
        ]
        place = int(np.argmin(rest))
        return fits[place]._replace(converged=self.proven(data, fits[place]))

    def proven(self, data: Rows, fit: HuberFit) -> bool:
        """Whether the duality gap and the gradient of a fit are small."""
        gap, gradient = self.judge(data, fit.point, fit.scale, fit.dual)
        enough = max(self.tol, CLOSE)
        return bool(gap.relative <= enough and gradient <= enough**0.5)
