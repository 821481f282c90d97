"""How ridge is selected: its grid, its degrees of freedom, the oracle of its risk bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.linear._engine import Array
from assay.linear._ridge_path import RidgeSolutions, ridge_solutions
from assay.linear._selection import Family, Fitted, Table


def ridge_family(model: Any, noise_std: float | None, coef_norm: float | None) -> Family:
    """The functions by which `Ridge` is selected."""

    def solutions(table: Table, alphas: Array | None) -> RidgeSolutions:
        data = model._path_rows(table.X, table.y, table.weight)
        return ridge_solutions(data, alphas, fit_intercept=model.fit_intercept)

    def grid(table: Table) -> Array:
        return solutions(table, None).alphas[::-1].copy()

    def predictor(train: Table, alphas: Array, share: float) -> Any:
        found = solutions(train, alphas * share)
        n_alphas, n_targets, d = found.coef.shape
        coef = found.coef[::-1].reshape(-1, d).T

        def predict(X: Any) -> Array:
            # (n, targets, alphas) with penalties decreasing, the mean over targets taken by the loss
            flat = np.asarray(X @ coef).reshape(-1, n_alphas, n_targets) + found.intercept[::-1]
            return np.moveaxis(flat, 1, 2)

        return predict

    def fitted(table: Table, alphas: Array) -> Fitted:
        path = model.path(table.X, table.y, alphas, sample_weight=table.weight)
        return Fitted(path.training_error[::-1], path.effective_degrees_of_freedom[::-1])

    def oracle(table: Table, best: float) -> float:
        return ridge_oracle(model, table, best, noise_std, coef_norm)

    return Family(grid, predictor, _mean_squared_row_loss, fitted, oracle)


def _mean_squared_row_loss(y: NDArray, predictions: Array) -> Array:
    """(y − f)² for each row and each model, averaged over the targets."""
    return np.mean((y.reshape(len(y), -1, 1) - predictions) ** 2, axis=1)


def ridge_oracle(
    model: Any, table: Table, best: float, noise_std: float | None, coef_norm: float | None
) -> float:
    """The penalty n λ* with λ* = σ √(tr Σ)/(‖θ*‖ √n); what is not given is that of the best model so far."""
    n = table.total_weight
    path = model.path(table.X, table.y, [best], sample_weight=table.weight)
    trace = float(path.spectrum.sum()) / n
    freedom = float(path.effective_degrees_of_freedom[0])
    if noise_std is None:
        noise_std = float(np.sqrt(path.training_error[0] * n / max(n - freedom, 1.0)))
    if coef_norm is None:
        coef_norm = float(np.sqrt(np.mean(np.sum(path.coef[0] ** 2, axis=1))))
    if coef_norm == 0 or noise_std == 0:
        return best
    return n * noise_std * float(np.sqrt(trace)) / (coef_norm * float(np.sqrt(n)))
