"""Solutions of a sparse model along a grid of penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.linear._engine import Array
from assay.parameters import refusal
from assay.rows import Rows


@dataclass(frozen=True)
class SparsePath:
    """Solutions along a grid of penalties.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties in scikit-learn's parametrisation, decreasing.
    penalty_strengths : array of shape (n_alphas,)
        The same on the scale of the mean of squares, 2α.
    coef : array or CSR array of shape (n_alphas, n_features)
        CSR where an array would be large.
    intercept : array of shape (n_alphas,)
    dual_gap : array of shape (n_alphas,)
        Relative duality gap (distance to stationarity where the penalty is not convex).
    n_iter : array of shape (n_alphas,)
    n_nonzero : array of shape (n_alphas,)
        Number of non-zero coefficients: for the lasso the degrees of freedom.
    training_error : array of shape (n_alphas,)
        Mean squared residual.
    converged : array of shape (n_alphas,)
    """

    alphas: Array
    penalty_strengths: Array
    coef: Any
    intercept: Array
    dual_gap: Array
    n_iter: NDArray
    n_nonzero: NDArray
    training_error: Array
    converged: NDArray

    def predict(self, X: Any) -> Array:
        """Predictions of every model of the path, of shape (n_samples, n_alphas)."""
        coef = self.coef if isinstance(self.coef, np.ndarray) else self.coef.toarray()
        return np.asarray(X @ coef.T) + self.intercept


def penalty_grid(critical: float, n_alphas: int, eps: float, owner: str) -> Array:
    """Geometric grid from the critical strength down to eps times it."""
    if not np.isfinite(critical):
        raise refusal(owner, "alphas", "given when nothing of the penalty is an l1 norm", None)
    top = critical if critical > 0 else 1.0
    return np.geomspace(top, eps * top, n_alphas)


def checked_alphas(alphas: Any, owner: str) -> Array:
    """Given penalties as a decreasing array."""
    try:
        grid = np.sort(np.asarray(alphas, dtype=np.float64))[::-1]
    except (TypeError, ValueError):
        raise refusal(owner, "alphas", "a list of positive numbers", alphas) from None
    if grid.ndim != 1 or grid.size == 0 or not np.all(np.isfinite(grid)) or grid[-1] <= 0:
        raise refusal(owner, "alphas", "a list of positive numbers", alphas)
    return np.ascontiguousarray(grid)


def sparse_model_path(model: Any, data: Rows, alphas: Any, n_alphas: int, eps: float) -> SparsePath:
    """Open the table once and walk down the grid."""
    owner = f"{type(model).__name__}.path"
    if not isinstance(n_alphas, (int, np.integer)) or n_alphas < 1:
        raise refusal(owner, "n_alphas", "an int at least 1", n_alphas)
    if not 0 < eps < 1:
        raise refusal(owner, "eps", "between 0 and 1", eps)
    unit = model._unit(data.shape[1])
    size = n_alphas if alphas is None else np.size(alphas)
    problem = model._problem(data, unit, n_strengths=size)
    if alphas is None:
        grid = penalty_grid(problem.critical_strength(), n_alphas, eps, owner)
    else:
        grid = checked_alphas(alphas, owner)
    found = problem.solve(grid, tol=model.tol, max_iter=model.max_iter)
    coef = found.coef
    if isinstance(coef, np.ndarray):
        n_nonzero = np.count_nonzero(coef, axis=1)
    else:
        n_nonzero = np.diff(coef.indptr)
    return SparsePath(
        grid,
        2 * grid,
        coef.astype(data.dtype, copy=False),
        found.intercept if model.fit_intercept else np.zeros(grid.size),
        found.relative_gap,
        found.n_iter,
        n_nonzero,
        2 * found.loss,
        found.converged,
    )
