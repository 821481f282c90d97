"""The whole regularisation path of ridge from one decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.parameters import refusal
from assay.rows import Block, Rows
from assay.solvers import augmented_rows, moments, triangle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RidgePath:
    """Ridge solutions along a grid of penalties.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties on the scale of the sum, increasing.
    penalty_strengths : array of shape (n_alphas,)
        The same divided by n.
    coef : array of shape (n_alphas, n_targets, n_features)
    intercept : array of shape (n_alphas, n_targets)
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

    alphas: Array
    penalty_strengths: Array
    coef: Array
    intercept: Array
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


class RidgeSolutions(NamedTuple):
    """Solutions along a grid of penalties, and the decomposition X = U diag(√λ) Vᵀ they come from.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Increasing.
    coef : array of shape (n_alphas, n_targets, n_features)
    intercept : array of shape (n_alphas, n_targets)
    spectrum : array of shape (n_features,)
        λ, decreasing.
    vt : array of shape (n_features, n_features)
    mean : array of shape (n_features + n_targets,)
        What was taken off the columns and the targets.
    weight : float
        Σ s.
    """

    alphas: Array
    coef: Array
    intercept: Array
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
    found = ridge_solutions(data, alphas, fit_intercept=fit_intercept)
    grid, spectrum, weight = found.alphas, found.spectrum, found.weight
    inverse = 1 / (spectrum + grid[:, None])
    residual, left_out = data.reduce(
        leave_one_out_step, found.mean, found.coef, found.vt, inverse, fit_intercept / weight
    )
    df = np.sum(spectrum * inverse, axis=1) + fit_intercept
    training = residual / (weight * data.n_targets)
    with np.errstate(divide="ignore"):
        gcv = training / np.maximum(1 - df / weight, 0.0) ** 2
    return RidgePath(
        grid,
        grid / weight,
        found.coef,
        found.intercept,
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
