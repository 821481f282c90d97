"""Plain cyclic coordinate descent for the lasso, as it is taught."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.loops import compiled

Array = NDArray[np.float64]


class CoordinateDescent(NamedTuple):
    """Result of `coordinate_descent`.

    Attributes
    ----------
    coef : array of shape (d,)
    history : array of shape (n_iter + 1,)
        Objective at the start and after each cycle; never rises.
    n_iter : int
    converged : bool
        Whether the last cycle changed no coefficient by more than the tolerance.
    """

    coef: Array
    history: Array
    n_iter: int
    converged: bool

    @property
    def active(self) -> NDArray:
        """Indices of the non-zero coefficients."""
        return np.flatnonzero(self.coef)


@compiled
def lasso_cycle(columns, squares, coef, residual, threshold):  # type: ignore[no-untyped-def]
    """Set each coefficient in turn to sign(v_j)(|v_j| − threshold)₊/‖X_j‖²; returns the largest change."""
    largest = 0.0
    for j in range(coef.size):
        if squares[j] == 0.0:
            continue
        inner = squares[j] * coef[j]
        for i in range(residual.size):
            inner += columns[j, i] * residual[i]
        size = abs(inner) - threshold
        new = 0.0 if size <= 0.0 else (size if inner > 0.0 else -size) / squares[j]
        change = new - coef[j]
        if change != 0.0:
            coef[j] = new
            largest = max(largest, abs(change))
            for i in range(residual.size):
                residual[i] -= change * columns[j, i]
    return largest


def coordinate_descent(
    X: ArrayLike, y: ArrayLike, penalty_strength: float, *, tol: float = 1e-10, max_iter: int = 10_000
) -> CoordinateDescent:
    """Minimise ‖y − Xβ‖² + λ‖β‖₁ one coordinate at a time.

    With v_j = X_jᵀ(y − Σ_{i≠j} β_i X_i) the minimiser in β_j is sign(v_j)(|v_j| − λ/2)₊/‖X_j‖²: zero exactly
    when |v_j| ≤ λ/2. Cycles until none changes by more than `tol`. `sparse_path` is the fast way.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    penalty_strength : float
        λ, beside the sum of squares.
    tol, max_iter
        Largest change of a coefficient at which to stop, and most cycles.

    Examples
    --------
    >>> from assay.optimize import coordinate_descent
    >>> coordinate_descent([[1.0, 0.0], [0.0, 2.0]], [3.0, 1.0], 2.0).coef
    array([2.  , 0.25])

    References
    ----------
    Douc & Le Corff §6.3.2.
    """
    table, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    columns = np.ascontiguousarray(table.T)
    squares = np.einsum("ji,ji->j", columns, columns)
    coef, residual = np.zeros(columns.shape[0]), target.copy()
    history = [float(residual @ residual)]
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        change = lasso_cycle(columns, squares, coef, residual, penalty_strength / 2)
        history.append(float(residual @ residual + penalty_strength * np.abs(coef).sum()))
        n_iter, converged = n_iter + 1, bool(change <= tol)
    return CoordinateDescent(coef, np.array(history), n_iter, converged)
