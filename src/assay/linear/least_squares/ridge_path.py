"""The whole regularisation path of ridge from one decomposition, and the choice of a penalty on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.path import PenaltyPath
from assay.models.selection import Candidates, FoldTable, PathFit, squared_row_loss
from assay.parameters import refusal
from assay.rows import Block, Rows
from assay.solvers import augmented_rows, moments, triangle

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RidgePath(PenaltyPath):
    """Ridge solutions along a grid of penalties.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties on the scale of the sum, increasing.
    coef : array of shape (n_alphas, n_targets, n_features)
    intercept : array of shape (n_alphas, n_targets)
    penalty_strengths : array of shape (n_alphas,)
        The penalties divided by n.
    effective_degrees_of_freedom : array of shape (n_alphas,)
        Σ_j λ_j/(λ_j + α), plus 1 for the intercept.
    training_error : array of shape (n_alphas,)
        Mean squared residual, averaged over targets.
    leave_one_out_error : array of shape (n_alphas,)
        Mean squared error of predicting each row from the others.
    generalized_cross_validation : array of shape (n_alphas,)
        Training error / (1 − df/n)².
    spectrum : array of shape (n_features,)
        Eigenvalues λ_j of XᵀX, decreasing.
    """

    penalty_strengths: Array
    effective_degrees_of_freedom: Array
    training_error: Array
    leave_one_out_error: Array
    generalized_cross_validation: Array
    spectrum: Array

    @property
    def best_alpha(self) -> float:
        """The penalty with the smallest leave-one-out error."""
        return float(self.alphas[np.argmin(self.leave_one_out_error)])


def default_alphas(spectrum: Array, count: int = 100) -> Array:
    """Penalties from a millionth to a thousand times the largest eigenvalue of XᵀX."""
    top = float(spectrum[0]) if spectrum.size and spectrum[0] > 0 else 1.0
    return np.geomspace(1e-6 * top, 1e3 * top, count)


@dataclass(frozen=True, eq=False)
class RidgeSolutions(PenaltyPath):
    """Solutions along increasing penalties, and the decomposition X = U diag(√λ) Vᵀ they come from.

    Attributes
    ----------
    alphas, coef, intercept
        As in `RidgePath`.
    spectrum : array of shape (n_features,)
        λ, decreasing.
    vt : array of shape (n_features, n_features)
    mean : array of shape (n_features + n_targets,)
        What was taken off the columns and the targets.
    weight : float
        Σ s.
    """

    spectrum: Array
    vt: Array
    mean: Array
    weight: float


def ridge_solutions(data: Rows, alphas: Any, *, fit_intercept: bool) -> RidgeSolutions:
    """Decompose X once, from its QR triangle; every penalty is then a matter of its spectrum."""
    d = data.shape[1]
    stats = moments(data, center=fit_intercept)
    mean = np.concatenate([stats.mean_x, stats.mean_y])
    factor = triangle(data, mean)
    factor[:, :d][:, stats.constant] = 0.0
    u, values, vt = np.linalg.svd(factor[:, :d], full_matrices=False)
    spectrum = values**2
    grid = default_alphas(spectrum) if alphas is None else np.sort(np.asarray(alphas, dtype=np.float64))
    if grid.ndim != 1 or grid.size == 0 or not np.all(np.isfinite(grid)) or grid[0] <= 0:
        raise refusal("Ridge.path", "alphas", "a list of positive numbers", alphas)
    rotated = u.T @ factor[:, d:]  # (d, t): Uᵀy
    shrink = values / (spectrum + grid[:, None])  # (a, d)
    # (a, t, d): one matrix product for all penalties and targets
    coef = (shrink[:, None, :] * rotated.T).reshape(-1, len(values)) @ vt
    coef = coef.reshape(grid.size, -1, d)
    intercept = stats.mean_y - coef @ stats.mean_x
    return RidgeSolutions(grid, coef, intercept, spectrum, vt, mean, stats.weight)


def ridge_path(data: Rows, alphas: Any, *, fit_intercept: bool) -> RidgePath:
    """The solutions, then one walk for all leave-one-out errors."""
    path = ridge_solutions(data, alphas, fit_intercept=fit_intercept)
    grid, spectrum, weight = path.alphas, path.spectrum, path.weight
    inverse = 1 / (spectrum + grid[:, None])
    residual, left_out = data.reduce(
        leave_one_out_step, path.mean, path.coef, path.vt, inverse, fit_intercept / weight
    )
    df = np.sum(spectrum * inverse, axis=1) + fit_intercept
    training = residual / (weight * data.n_targets)
    with np.errstate(divide="ignore"):
        gcv = training / np.maximum(1 - df / weight, 0.0) ** 2
    return RidgePath(
        grid,
        path.coef,
        path.intercept,
        grid / weight,
        df,
        training,
        left_out / (weight * data.n_targets),
        gcv,
        spectrum,
    )


def leave_one_out_step(
    block: Block, mean: Array, coef: Array, vt: Array, inverse: Array, level: float
) -> tuple[Array, Array]:
    """Squared residuals and leave-one-out residuals r_i/(1 − h_i) of one block, for every penalty."""
    rows = augmented_rows(block, mean, ones=True)
    d = vt.shape[1]
    X, y, root = rows[:, :d], rows[:, d:-1], rows[:, -1]
    squares = (X @ vt.T) ** 2
    kept = np.maximum(1 - squares @ inverse.T - level * (root**2)[:, None], np.finfo(float).eps)
    residual_ss, left_out_ss = np.empty(len(inverse)), np.empty(len(inverse))
    for index, weights in enumerate(coef):
        residual = y - X @ weights.T
        residual_ss[index] = np.sum(residual**2)
        left_out_ss[index] = np.sum((residual / kept[:, index : index + 1]) ** 2)
    return residual_ss, left_out_ss


# How ridge is selected: its grid, its degrees of freedom, the oracle of its risk bound.


def ridge_candidates(model: Any, refit: Any, noise_std: float | None, coef_norm: float | None) -> Candidates:
    """The functions by which `Ridge` is selected."""

    def solutions(table: FoldTable, alphas: Array | None) -> RidgeSolutions:
        data = model._path_rows(table.X, table.y, table.weight)
        return ridge_solutions(data, alphas, fit_intercept=model.fit_intercept)

    def predictor(train: FoldTable, alphas: Array, share: float) -> Any:
        path = solutions(train, alphas * share)
        return lambda X: path.predict(X)[:, ::-1]  # penalties decreasing

    def fitted(table: FoldTable, alphas: Array) -> PathFit:
        path = model.path(table.X, table.y, alphas, sample_weight=table.weight)
        return PathFit(path.training_error[::-1], path.effective_degrees_of_freedom[::-1])

    return Candidates(
        lambda table: solutions(table, None).alphas[::-1].copy(),
        predictor,
        lambda y, predictions: squared_row_loss(y, predictions) / predictions.shape[2],
        refit,
        fitted,
        lambda table, best: ridge_oracle(model, table, best, noise_std, coef_norm),
        noise_std,
    )


def ridge_oracle(
    model: Any, table: FoldTable, best: float, noise_std: float | None, coef_norm: float | None
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
