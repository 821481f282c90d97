"""Solutions of a sparse model along a grid of penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.linear.least_squares.engine import Array
from assay.models.path import PenaltyPath
from assay.models.selection import Candidates, FoldTable, PathFit, checked_alphas, squared_row_loss
from assay.parameters import refusal
from assay.rows import MemoryRows, Rows


@dataclass(frozen=True, eq=False)
class SparsePath(PenaltyPath):
    """Solutions along a grid of penalties.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties in scikit-learn's parametrisation, decreasing.
    coef : array or CSR array of shape (n_alphas, n_features)
        CSR where an array would be large.
    intercept : array of shape (n_alphas,)
    dual_gap : array of shape (n_alphas,)
        Relative duality gap (distance to stationarity where the penalty is not convex).
    training_error : array of shape (n_alphas,)
        Mean squared residual.
    n_iter, converged : arrays of shape (n_alphas,)
    """

    dual_gap: Array
    training_error: Array
    n_iter: NDArray
    converged: NDArray

    @property
    def penalty_strengths(self) -> Array:
        """The penalties on the scale of the mean of squares, 2α."""
        return 2 * np.asarray(self.alphas)


def penalty_grid(critical: float, n_alphas: int, eps: float, owner: str) -> Array:
    """Geometric grid from the critical strength down to eps times it."""
    if not np.isfinite(critical):
        raise refusal(owner, "alphas", "given when nothing of the penalty is an l1 norm", None)
    top = critical if critical > 0 else 1.0
    return np.geomspace(top, eps * top, n_alphas)


def sparse_model_path(model: Any, data: Rows, alphas: Any, n_alphas: int, eps: float) -> SparsePath:
    """Open the table once and solve down the grid."""
    owner = f"{type(model).__name__}.path"
    if not isinstance(n_alphas, (int, np.integer)) or n_alphas < 1:
        raise refusal(owner, "n_alphas", "an int at least 1", n_alphas)
    if not 0 < eps < 1:
        raise refusal(owner, "eps", "between 0 and 1", eps)
    size = n_alphas if alphas is None else np.size(alphas)
    problem = model._problem(data, n_strengths=size)
    if alphas is None:
        grid = penalty_grid(problem.critical_strength(), n_alphas, eps, owner)
    else:
        grid = checked_alphas(alphas, owner)
    solutions = problem.solve(grid, tol=model.tol, max_iter=model.max_iter)
    return SparsePath(
        grid,
        solutions.coef.astype(data.dtype, copy=False),
        solutions.intercept if model.fit_intercept else np.zeros(grid.size),
        solutions.relative_gap,
        2 * solutions.loss,
        solutions.n_iter,
        solutions.converged,
    )


# How sparse models are selected: their grid, their degrees of freedom, their universal penalty.


SCALED_ROUNDS = 50


def sparse_candidates(model: Any, refit: Any, noise_std: float | None) -> Candidates:
    """The functions by which `Lasso` and its kin are selected."""

    def grid(table: FoldTable) -> Array:
        data = MemoryRows(table.X, table.y.reshape(-1), table.weight)
        critical = model._problem(data).critical_strength()
        # Beside a squared norm, the penalty must come further down before it shrinks nothing.
        reach = 1e-4 if getattr(model, "l1_ratio", 1.0) < 1 else 1e-3
        return penalty_grid(critical, 100, reach, f"{type(model).__name__}.select")

    def predictor(train: FoldTable, alphas: Array, share: float) -> Any:
        return model.path(train.X, train.y, alphas, sample_weight=train.weight).predict

    def fitted(table: FoldTable, alphas: Array) -> PathFit:
        path = model.path(table.X, table.y, alphas, sample_weight=table.weight)
        coef = path.coef if isinstance(path.coef, np.ndarray) else path.coef.toarray()
        freedom = [
            model._degrees_of_freedom(table, row, alpha) for row, alpha in zip(coef, alphas, strict=True)
        ]
        return PathFit(path.training_error, np.array(freedom) + model.fit_intercept)

    def oracle(table: FoldTable, best: float) -> float:
        return universal_penalty(model, table, noise_std)

    return Candidates(grid, predictor, squared_row_loss, refit, fitted, oracle, noise_std)


def universal_penalty(model: Any, table: FoldTable, noise_std: float | None) -> float:
    """σ √(2 log d / n) times the largest root mean square of a column over the slope of its penalty.

    With Gaussian noise of deviation σ the correlations of the columns with the noise stay below it with
    probability tending to one, so that noise alone lets no feature in. Where σ is not given it is the fixed
    point σ² = ‖y − Xw(α)‖²/n of the scaled lasso.
    """
    n, d = table.total_weight, table.X.shape[1]
    data = MemoryRows(table.X, table.y.reshape(-1), table.weight)
    problem = model._problem(data)
    scale = model._largest_norm(problem, d) * np.sqrt(2 * np.log(max(d, 2)) / n)
    if not 0 < scale < np.inf:
        raise refusal(f"{type(model).__name__}.select", "rule", "another one without an l1 penalty", "oracle")
    if noise_std is not None:
        return noise_std * scale
    noise = float(np.sqrt(problem.target_square))
    coef = None
    for _ in range(SCALED_ROUNDS):
        grid = np.array([noise * scale])
        solutions = problem.solve(grid, tol=model.tol, max_iter=model.max_iter, start=coef)
        before, noise = noise, float(np.sqrt(2 * solutions.loss[-1]))
        coef = solutions.coef[-1] if isinstance(solutions.coef, np.ndarray) else None
        if noise == 0 or abs(noise - before) <= 1e-6 * before:
            break
    return max(noise, np.finfo(np.float64).eps) * scale


def trace_of_smoother(table: FoldTable, coef: Array, bend: float, *, center: bool) -> float:
    """The trace of X_A (X_AᵀX_A + bend I)⁻¹ X_Aᵀ on the support A, weighted and centred."""
    support = np.flatnonzero(coef)
    if not support.size or bend == 0:
        return float(support.size)
    columns = table.X[:, support]
    columns = np.asarray(columns.toarray() if hasattr(columns, "toarray") else columns, dtype=np.float64)
    weight = np.ones(len(columns)) if table.weight is None else table.weight.astype(np.float64)
    if center:
        columns = columns - weight @ columns / weight.sum()
    values = np.linalg.svd(np.sqrt(weight)[:, None] * columns, compute_uv=False) ** 2
    return float(np.sum(values / (values + bend)))
