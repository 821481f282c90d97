"""A row risk with an l1 penalty, for several scores or rows out of memory: proximal steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.loops import compiled
from assay.penalties import soft_threshold
from assay.solvers.requirements import requires
from assay.solvers.smooth.fit import SmoothFit, mean_squares
from assay.solvers.smooth.row_risk import RowMeasure, RowRisk, row_duality_gap
from assay.solvers.smooth.row_sums import Array

# Coordinate descent on a quadratic model with an l1 penalty.


@compiled
def quadratic_l1_cycles(hessian, gradient, threshold, point, moved, tol, max_iter):  # type: ignore[no-untyped-def]
    """Minimise g·d + ½ dᵀHd + Σ t|x + d| over d by cycles of coordinates; d is `moved`, 0 at first.

    `gradient` is kept equal to g + H d. Ends when no coordinate of a cycle gains more than `tol`; returns the
    number of cycles.
    """
    size = point.shape[0]
    for cycle in range(max_iter):
        gain = 0.0
        for j in range(size):
            curvature = hessian[j, j]
            if curvature <= 0.0:
                continue
            old = point[j] + moved[j]
            raw = curvature * old - gradient[j]
            new = 0.0
            if raw > threshold[j]:
                new = (raw - threshold[j]) / curvature
            elif raw < -threshold[j]:
                new = (raw + threshold[j]) / curvature
            step = new - old
            if step != 0.0:
                moved[j] += step
                for i in range(size):
                    gradient[i] += step * hessian[j, i]
                gain = max(gain, curvature * step * step)
        if gain <= tol:
            return cycle + 1
    return max_iter


GAP_EVERY = 10
LARGEST_HESSIAN = 1024
"""Parameters up to which steps are Newton's, whose models are solved by coordinates."""


def proximal_rows(
    risk: RowRisk,
    start: Array,
    l1: Array,
    *,
    tol: float,
    max_iter: int,
    report: Callable[[Array], bool] = lambda point: False,
) -> SmoothFit:
    """Minimise risk + Σ_j l1_j |w_j| until the duality gap, the `decrement` of the result, is at most `tol`.

    Proximal Newton steps, a walk each, where the Hessian is of moderate size; else accelerated proximal
    gradient steps in the metric of the mean squares of the columns, with a backtracking step size and a
    restart wherever the momentum points uphill, two walks each.
    """
    requires("proximal_rows", risk.loss, smooth=True, convex=True)
    if risk.shape[0] * risk.shape[1] <= LARGEST_HESSIAN:
        return _newton(risk, start, l1, tol=tol, max_iter=max_iter, report=report)
    return _accelerated(risk, start, l1, tol=tol, max_iter=max_iter, report=report)


def _newton(
    risk: RowRisk, start: Array, l1: Array, *, tol: float, max_iter: int, report: Callable[[Array], bool]
) -> SmoothFit:
    p, k = risk.shape
    column = np.append(l1, np.zeros(int(risk.fit_intercept)))
    threshold = np.tile(column, k)
    risk = risk.with_alpha(risk.alpha)
    risk.free = risk.free & (column == 0)

    def objective(measured: RowMeasure, point: Array) -> float:
        return measured.value + float(column @ np.abs(point).sum(axis=1))

    point, measured = start, risk.measure(start, hessian=True, split=True)
    value = objective(measured, point)
    values, n_iter = [value], 0
    gap = row_duality_gap(risk, point, measured, l1=l1)
    while gap > tol and n_iter < max_iter:
        slope, moved = measured.gradient.T.reshape(-1).copy(), np.zeros(p * k)
        flat = np.ascontiguousarray(point.T).reshape(-1)
        hessian = np.ascontiguousarray(measured.hessian)
        quadratic_l1_cycles(hessian, slope, threshold, flat, moved, min(tol, gap) * 1e-2, 10_000)
        direction = moved.reshape(k, p).T
        promised = float(np.vdot(measured.gradient, direction)) + float(
            column @ (np.abs(point + direction) - np.abs(point)).sum(axis=1)
        )
        size, room = 1.0, 8 * risk.rounding * abs(value)
        while True:
            trial = point + size * direction
            there = risk.measure(trial, hessian=True, split=True)
            new_value = objective(there, trial)
            if new_value <= value + 1e-4 * size * promised + room or size < 1e-10:
                break
            size /= 2
        n_iter += 1
        stuck = size < 1e-10 or not np.any(direction)
        point, measured, value = trial, there, new_value
        values.append(value)
        gap = row_duality_gap(risk, point, measured, l1=l1)
        if report(point) or stuck:
            break
    ends = gap, n_iter, gap <= tol, values, point.size
    return SmoothFit(point, measured, measured.split, *ends, "proximal_newton")


def _accelerated(
    risk: RowRisk, start: Array, l1: Array, *, tol: float, max_iter: int, report: Callable[[Array], bool]
) -> SmoothFit:
    metric = risk.data.reduce(mean_squares, risk.inner, risk.fit_intercept) / risk.data.shape[0]
    metric = np.maximum(metric, metric.max(initial=0.0) * 1e-12 + np.finfo(float).tiny)[:, None]
    threshold = np.append(l1, np.zeros(int(risk.fit_intercept)))[:, None]

    def penalty(point: Array) -> float:
        return float(np.sum(threshold * np.abs(point)))

    point = ahead = start
    measured = risk.measure(point, split=True)
    value = measured.value + penalty(point)
    gap = row_duality_gap(risk, point, measured, l1=l1)
    values, momentum, lipschitz, n_iter = [value], 1.0, 0.05, 0
    # The quadratic with this curvature lies above the risk along the step, so that its minimum lowers both.
    while gap > tol and n_iter < max_iter:
        here = risk.measure(ahead)
        while True:
            step = 1 / (lipschitz * metric)
            new = soft_threshold(ahead - step * here.gradient, step * threshold)
            move = new - ahead
            there = risk.measure(new, split=n_iter % GAP_EVERY == GAP_EVERY - 1)
            room = 8 * risk.rounding * abs(here.value)
            model = here.value + float(np.vdot(here.gradient, move))
            if there.value <= model + lipschitz / 2 * float(np.sum(metric * move**2)) + room:
                break
            lipschitz *= 2
        n_iter += 1
        if np.vdot(ahead - new, metric * (new - point)) > 0:  # the momentum points uphill
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - point)
        point, momentum, measured = new, following, there
        values.append(there.value + penalty(new))
        lipschitz *= 0.95
        if there.split is not None:
            gap = row_duality_gap(risk, point, there, l1=l1)
        if report(point):
            break
    if measured.split is None:
        measured = risk.measure(point, split=True)
        gap = row_duality_gap(risk, point, measured, l1=l1)
    ends = gap, n_iter, gap <= tol, values, point.size
    return SmoothFit(point, measured, measured.split, *ends, "proximal_gradient")
