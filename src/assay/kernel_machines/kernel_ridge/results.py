"""What kernel ridge regression reports beside predictions: leave-one-out errors, paths of penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernel_machines.kernel_ridge.gram_system import GramSystem
from assay.kernel_machines.kernel_ridge.spectrum import Spectrum, spectrum


class Smoothing(NamedTuple):
    """The fit as a linear smoother ŷ = S y; with several targets, the last axis is the target."""

    effective_df: NDArray
    """Trace of S."""
    leverages: NDArray
    """S_ii."""
    leave_one_out_residuals: NDArray
    """y_i − ŷ_i under the fit without row i (with all its weight)."""
    leave_one_out_error: NDArray
    """Weighted mean of their squares."""
    gcv: NDArray
    """Generalised cross-validation: mean squared residual over (1 − effective_df/n)²."""


class KernelRidgePath(NamedTuple):
    """Kernel ridge regression for many penalties; the first axis is the penalty."""

    alphas: NDArray
    penalty_strengths: NDArray
    dual_coefs: NDArray
    intercepts: NDArray
    rkhs_norms: NDArray
    effective_df: NDArray
    leave_one_out_error: NDArray
    """Mean over the targets."""
    gcv: NDArray
    """Mean over the targets."""

    @property
    def best_index(self) -> int:
        """Where the leave-one-out error is the smallest."""
        return int(np.nanargmin(self.leave_one_out_error))

    @property
    def best_alpha(self) -> float:
        """The α with the smallest leave-one-out error."""
        return float(self.alphas[self.best_index])

    @property
    def best_alpha_gcv(self) -> float:
        """The α with the smallest generalised cross-validation score."""
        return float(self.alphas[int(np.nanargmin(self.gcv))])


def smoothing_by_cholesky(
    system: GramSystem,
    dual_coef: NDArray,
    residuals: NDArray,
    alphas: NDArray,
    weight: NDArray | None,
    fit_intercept: bool,
) -> Smoothing:
    """Leverages from the diagonal of the inverse: 1 − S_ii = α G_ii / w_i, leave-one-out residual β_i/G_ii.

    G is the block of β in the inverse of the bordered system: A⁻¹ − A⁻¹11ᵀA⁻¹/(1ᵀA⁻¹1) with A = K + αW⁻¹.
    """
    n_samples = len(dual_coef)
    weights = np.ones(n_samples) if weight is None else weight.astype(np.float64)
    leverages, left_out = np.empty(dual_coef.shape), np.empty(dual_coef.shape)
    for alpha in np.unique(alphas):
        system.factor(np.asarray(alpha / weights, dtype=dual_coef.dtype))
        correction = np.zeros(n_samples)
        if fit_intercept:
            constant = system.solve(np.ones((n_samples, 1), dtype=dual_coef.dtype))[:, 0].astype(np.float64)
            correction = constant**2 / constant.sum()
        inverse = system.inverse_diagonal() - correction
        for column in np.flatnonzero(alphas == alpha):
            leverages[:, column] = 1.0 - alpha * inverse / weights
            left_out[:, column] = dual_coef[:, column] / inverse
    return summarise(leverages, left_out, residuals, weights)


def smoothing_by_spectrum(
    decomposition: Spectrum, targets: NDArray, residuals: NDArray, alphas: NDArray
) -> Smoothing:
    """The same from an eigendecomposition."""
    coordinates = decomposition.coordinates(targets)
    leverages = np.column_stack([decomposition.leverages(alpha) for alpha in alphas])
    left_out = np.column_stack(
        [decomposition.leave_one_out(coordinates[:, [j]], alpha)[:, 0] for j, alpha in enumerate(alphas)]
    )
    return summarise(leverages, left_out, residuals, np.square(decomposition.root_weight))


def summarise(leverages: NDArray, left_out: NDArray, residuals: NDArray, weights: NDArray) -> Smoothing:
    """Degrees of freedom and cross-validation scores from leverages and residuals, one column a target."""
    total = weights.sum()
    df = leverages.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gcv = weights @ np.square(residuals) / total / np.square(1.0 - df / total)
    return Smoothing(df, leverages, left_out, weights @ np.square(left_out) / total, gcv)


def kernel_ridge_path(
    gram: NDArray, targets: NDArray, alphas: NDArray, weight: NDArray | None, fit_intercept: bool
) -> KernelRidgePath:
    """All penalties from one eigendecomposition of the Gram matrix, which is overwritten."""
    decomposition = spectrum(gram, weight, fit_intercept)
    coordinates = decomposition.coordinates(targets)
    weights = np.square(decomposition.root_weight)
    coefs, intercepts, norms, df, errors, scores = [], [], [], [], [], []
    for alpha in alphas:
        coef = decomposition.dual_coef(coordinates, float(alpha))
        summary = summarise(
            decomposition.leverages(alpha)[:, None],
            decomposition.leave_one_out(coordinates, alpha),
            decomposition.residuals(coordinates, alpha),
            weights,
        )
        shrunk = decomposition.inverse(alpha)[:, None] * coordinates
        coefs.append(coef)
        intercepts.append(decomposition.intercept(targets, coef))
        norms.append(np.sqrt((decomposition.values[:, None] * np.square(shrunk)).sum(axis=0)))
        df.append(summary.effective_df[0])
        errors.append(summary.leave_one_out_error.mean())
        scores.append(summary.gcv.mean())
    return KernelRidgePath(
        alphas=alphas,
        penalty_strengths=alphas / float(weights.sum()),
        dual_coefs=np.array(coefs),
        intercepts=np.array(intercepts),
        rkhs_norms=np.array(norms),
        effective_df=np.array(df),
        leave_one_out_error=np.array(errors),
        gcv=np.array(scores),
    )
