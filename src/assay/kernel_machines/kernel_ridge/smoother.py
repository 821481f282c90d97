"""Fitted kernel models as linear smoothers of the target: degrees of freedom, leave-one-out errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay.base import Model
from assay.kernel_machines.kernel_ridge.gram_system import GramSystem, KeptRows, as_columns, training_gram
from assay.kernel_machines.kernel_ridge.solver import GramSpectrum, spectrum
from assay.kernels import Kernel, Precomputed


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
    decomposition: GramSpectrum, targets: NDArray, residuals: NDArray, alphas: NDArray
) -> Smoothing:
    """The same from an eigendecomposition."""
    coordinates = decomposition.coordinates(targets)
    leverages = np.column_stack([decomposition.leverages(alpha) for alpha in alphas])
    left_out = np.column_stack(
        [decomposition.leave_one_out(coordinates[:, [j]], alpha)[:, 0] for j, alpha in enumerate(alphas)]
    )
    return summarise(leverages, left_out, residuals, np.square(decomposition.root_weight))


def summarise(leverages: NDArray, left_out: NDArray, residuals: NDArray, weights: NDArray) -> Smoothing:
    """Degrees of freedom and cross-validation scores from leverages and residuals, one column per target."""
    total = weights.sum()
    df = leverages.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gcv = weights @ np.square(residuals) / total / np.square(1.0 - df / total)
    return Smoothing(df, leverages, left_out, weights @ np.square(left_out) / total, gcv)


class KernelSmoother(Model):
    """What a kernel ridge fit tells as ŷ = S y; nothing here is computed before it is asked for."""

    fit_intercept: bool
    alpha_: Any
    dual_coef_: NDArray
    fitted_values_: NDArray
    residuals_: NDArray
    X_fit_: Any
    kernel_: Kernel
    solver_: str
    _weight: NDArray | None
    _smoothing: Smoothing | None

    def _kept_rows(self) -> KeptRows:
        return KeptRows(self.X_fit_, self._weight, precomputed=isinstance(self.kernel_, Precomputed))

    def smoothing(self) -> Smoothing:
        """The fit as a linear smoother: degrees of freedom, leverages, leave-one-out and GCV.

        Computed at the first call, in the memory of one Gram matrix and about three times the work of the
        fit, and kept. Rows of weight zero are left out of the leverages and leave-one-out residuals.
        """
        check_is_fitted(self)
        if self._smoothing is None:
            self._smoothing = self._compute_smoothing()
        return self._smoothing

    def _compute_smoothing(self) -> Smoothing:
        kept = self._kept_rows()
        coef, residuals = kept.take(as_columns(self.dual_coef_)), kept.take(as_columns(self.residuals_))
        alphas = np.broadcast_to(np.asarray(self.alpha_, dtype=np.float64), coef.shape[1:])
        gram = training_gram(self.kernel_, kept.X)
        intercept = bool(self.fit_intercept)
        if self.solver_ == "cholesky" and alphas.min() > 0:
            result = smoothing_by_cholesky(GramSystem(gram), coef, residuals, alphas, kept.weight, intercept)
        else:
            targets = residuals + kept.take(as_columns(self.fitted_values_))
            result = smoothing_by_spectrum(spectrum(gram, kept.weight, intercept), targets, residuals, alphas)
        if self.dual_coef_.ndim == 1:
            return Smoothing(*(values[..., 0] for values in result))
        return result

    @property
    def effective_df_(self) -> Any:
        """Effective degrees of freedom, trace of the smoother (the intercept counts one)."""
        return self.smoothing().effective_df

    @property
    def leave_one_out_error_(self) -> Any:
        """Mean squared leave-one-out residual."""
        return self.smoothing().leave_one_out_error

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation score."""
        return self.smoothing().gcv

    def smoother_matrix(self, target: int = 0) -> NDArray:
        """The matrix S with ŷ = S y on the training rows of positive weight (for one target's α)."""
        check_is_fitted(self)
        kept = self._kept_rows()
        gram = training_gram(self.kernel_, kept.X)
        alpha = np.atleast_1d(self.alpha_)
        decomposition = spectrum(gram, kept.weight, bool(self.fit_intercept))
        return decomposition.smoother(float(alpha[target if alpha.size > 1 else 0]))
