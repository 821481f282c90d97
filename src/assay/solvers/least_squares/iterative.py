"""Iterations for least squares: gradient descent on the moments, conjugate gradients on the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array, Solution
from assay.solvers.least_squares.moments import TableMoments, require_range

Report = Callable[[Array, Array], bool]
"""Told the coefficients and intercepts after each iteration; true asks the solver to stop."""


def by_gradient_descent(
    moments: TableMoments, alpha: NDArray, *, tol: float, max_iter: int, report: Report
) -> tuple[Solution, list[float]]:
    """Gradient descent from zero with the constant step 1/L, L = 2 (λ_max(XᵀX) + α)/n.

    Stops when the gradient, relative to its first value, is at most `tol`. Also returns the trace of the
    objective (1/n)(‖y − Xw‖² + α‖w‖²).
    """
    n = moments.weight
    smoothness = 2 * (np.linalg.eigvalsh(moments.xx)[-1] + alpha.max(initial=0.0)) / n
    coef = np.zeros_like(moments.xy)
    trace: list[float] = []
    start, converged, iteration = 0.0, False, 0
    while iteration < max_iter:
        iteration += 1
        product = moments.xx @ coef + alpha * coef
        gradient = 2 / n * (product - moments.xy)
        norm = float(np.linalg.norm(gradient))
        trace.append(float((moments.yy.sum() + np.sum(coef * (product - 2 * moments.xy))) / n))
        start = start or norm
        converged = norm <= tol * start or bool(smoothness == 0)
        if converged:
            break
        coef = coef - gradient / smoothness
        if report(coef, moments.mean_y - moments.mean_x @ coef):
            break
    # From zero, descent never leaves the row space: its limit is the minimum-norm solution.
    return Solution(coef, len(coef), None, None, iteration, converged), trace


def gram_times(block: Block, mean: Array, direction: Array) -> Any:
    """Σ s (x − mean)(x − mean)ᵀ v over one block, without forming the centred rows."""
    projected = np.asarray(block.X @ direction) - mean @ direction
    return _adjoint(block, mean, projected)


def cross_target(block: Block, mean: Array, mean_y: Array) -> Any:
    """Σ s (x − mean)(y − mean_y) over one block."""
    assert block.y is not None
    return _adjoint(block, mean, block.y.reshape(block.X.shape[0], -1) - mean_y)


def _adjoint(block: Block, mean: Array, values: Array) -> Any:
    if block.weight is not None:
        values = values * block.weight[:, None]
    return np.asarray(block.X.T @ values) - np.outer(mean, values.sum(axis=0))


def weighted_sums(block: Block) -> tuple[float, Array, Array]:
    """Σ s, Σ s·[x, y] and Σ s·[x, y]² of one block."""
    n = block.X.shape[0]
    weight = block.weights
    assert block.y is not None
    X, y = block.X.astype(np.float64, copy=False), block.y.reshape(n, -1).astype(np.float64)
    squared = X.multiply(X) if block.is_sparse else X**2
    sums, squares = (
        np.concatenate([np.asarray(first.T @ weight), second.T @ weight])
        for first, second in ((X, y), (squared, y**2))
    )
    return float(weight.sum()), sums, squares


def by_conjugate_gradient(
    data: Rows, alpha: NDArray, *, center: bool, tol: float, max_iter: int, report: Report
) -> tuple[Solution, Array, Array]:
    """Conjugate gradients on (XᵀX + αI) w = Xᵀy, two products with X a step and no d × d matrix.

    Stops when the residual of the normal equations, relative to Xᵀy, is at most `tol`. Also returns the
    means that were subtracted.
    """
    d = data.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        total, sums, squares = data.reduce(weighted_sums)
    require_range(squares, np.zeros_like(sums), data)
    mean = sums / total if center else np.zeros_like(sums)
    mean_x, mean_y = mean[:d], mean[d:]
    residual = data.reduce(cross_target, mean_x, mean_y)
    coef, direction = np.zeros_like(residual), residual.copy()
    squared = np.sum(residual**2, axis=0)
    goal = tol**2 * squared
    iteration, converged = 0, bool(np.all(squared <= goal))
    while not converged and iteration < max_iter:
        iteration += 1
        image = data.reduce(gram_times, mean_x, direction) + alpha * direction
        curvature = np.sum(direction * image, axis=0)
        step = np.divide(squared, curvature, out=np.zeros_like(squared), where=curvature > 0)
        coef = coef + step * direction
        residual = residual - step * image
        previous, squared = squared, np.sum(residual**2, axis=0)
        converged = bool(np.all(squared <= goal))
        ratio = np.divide(squared, previous, out=np.zeros_like(squared), where=previous > 0)
        direction = residual + ratio * direction
        if report(coef, mean_y - mean_x @ coef):
            break
    return Solution(coef, len(coef), None, None, max(iteration, 1), converged), mean_x, mean_y
