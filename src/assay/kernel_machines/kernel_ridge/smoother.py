"""Fitted kernel models as linear smoothers of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay.base import Model
from assay.kernel_machines.kernel_ridge.gram_system import GramSystem, training_gram
from assay.kernel_machines.kernel_ridge.kept_rows import KeptRows, as_columns
from assay.kernel_machines.kernel_ridge.results import Smoothing, smoothing_by_cholesky, smoothing_by_spectrum
from assay.kernel_machines.kernel_ridge.spectrum import spectrum
from assay.kernels import Kernel, Precomputed


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
            found = smoothing_by_cholesky(GramSystem(gram), coef, residuals, alphas, kept.weight, intercept)
        else:
            targets = residuals + kept.take(as_columns(self.fitted_values_))
            found = smoothing_by_spectrum(spectrum(gram, kept.weight, intercept), targets, residuals, alphas)
        if self.dual_coef_.ndim == 1:
            return Smoothing(*(values[..., 0] for values in found))
        return found

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
