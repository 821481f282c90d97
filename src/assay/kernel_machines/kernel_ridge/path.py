"""Kernel ridge regression for many penalties at once, and the choice of one of them and of a width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.kernel_machines.kernel_ridge.gram_system import (
    GramSystem,
    KeptRows,
    as_columns,
    require_psd,
    training_gram,
)
from assay.kernel_machines.kernel_ridge.smoother import KernelSmoother, summarise
from assay.kernel_machines.kernel_ridge.solver import spectrum
from assay.kernels import Kernel
from assay.models.capabilities import PairwiseModel
from assay.models.path import PenaltyPath
from assay.models.selection import Selection
from assay.randomness import RandomState, generator
from assay.rows import alone

STRENGTHS = np.logspace(-6.0, 0.5, 27)
WIDTHS = np.array([0.01, 0.03, 0.1, 0.3, 1.0])
"""Scales of a kernel times the number of features: rows of unit variance are about √(2d) apart."""

PENALTIES = parameters.array(
    "a list of finite numbers at least 0",
    lambda values: values.ndim == 1 and values.size > 0 and bool((values >= 0).all()),
)
POSITIVE = parameters.array(
    "a list of finite numbers above 0",
    lambda values: values.ndim == 1 and values.size > 0 and bool((values > 0).all()),
)


@dataclass(frozen=True, eq=False)
class KernelRidgePath(PenaltyPath):
    """Kernel ridge regression for many penalties, in the order given; the first axis is the penalty.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties on the sum of squares.
    coef : array of shape (n_alphas, n_samples) or (n_alphas, n_samples, n_targets)
        Dual coefficients.
    intercept : array of shape (n_alphas,) or (n_alphas, n_targets)
    penalty_strengths : array of shape (n_alphas,)
        The penalties on the mean of squares.
    rkhs_norms : array of the shape of intercept
    effective_df : array of shape (n_alphas,)
    leave_one_out_error, gcv : arrays of shape (n_alphas,)
        Means over the targets.
    kernel, X_fit
        What predictions are made of.
    """

    penalty_strengths: NDArray
    rkhs_norms: NDArray
    effective_df: NDArray
    leave_one_out_error: NDArray
    gcv: NDArray
    kernel: Kernel
    X_fit: Any

    @property
    def n_nonzero(self) -> NDArray:
        """Rows with a dual coefficient that is not zero, for each penalty."""
        return np.count_nonzero(self.coef.reshape(*self.coef.shape[:2], -1).any(axis=2), axis=1)

    def predict(self, X: Any) -> NDArray:
        """Predictions of every model, shape (n_samples, n_alphas) or (n_samples, n_alphas, n_targets)."""
        columns = np.moveaxis(self.coef, 0, 1)
        flat = self.kernel.apply(X, self.X_fit, columns.reshape(len(columns), -1))
        return flat.reshape(-1, *columns.shape[1:]) + self.intercept

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


def kernel_ridge_path(
    kernel: Kernel, kept: KeptRows, targets: NDArray, alphas: NDArray, fit_intercept: bool
) -> KernelRidgePath:
    """All penalties from one eigendecomposition of the Gram matrix of the rows that are there."""
    gram = training_gram(kernel, kept.X)
    if not kernel.positive_definite:
        require_psd(GramSystem(gram), kernel)
    decomposition = spectrum(gram, kept.weight, fit_intercept)
    columns = kept.take(as_columns(targets))
    coordinates = decomposition.coordinates(columns)
    weights = np.square(decomposition.root_weight)
    records: list[tuple[Any, ...]] = []
    for alpha in alphas:
        coef = decomposition.dual_coef(coordinates, float(alpha))
        summary = summarise(
            decomposition.leverages(alpha)[:, None],
            decomposition.leave_one_out(coordinates, alpha),
            decomposition.residuals(coordinates, alpha),
            weights,
        )
        shrunk = decomposition.inverse(alpha)[:, None] * coordinates
        norms = np.sqrt((decomposition.values[:, None] * np.square(shrunk)).sum(axis=0))
        scores = summary.effective_df[0], summary.leave_one_out_error.mean(), summary.gcv.mean()
        records.append((kept.put_back(coef), decomposition.intercept(columns, coef), norms, *scores))
    stacked = (np.array(column) for column in zip(*records, strict=True))
    coefs, intercepts, norms, df, errors, gcv = stacked
    if targets.ndim == 1:
        coefs, intercepts, norms = coefs[:, :, 0], intercepts[:, 0], norms[:, 0]
    strengths = alphas / float(weights.sum())
    return KernelRidgePath(alphas, coefs, intercepts, strengths, norms, df, errors, gcv, kernel, kept.X_fit)


class HasKernelPath(KernelSmoother, PairwiseModel):
    """Gives kernel ridge regression `path` and `select`."""

    kernel: Any

    def path(self, X: Any, y: Any, alphas: Any, sample_weight: Any = None) -> KernelRidgePath:
        """Fit every penalty from one eigendecomposition; the model itself is not fitted.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        alphas : array of shape (n_alphas,)
            Penalties on the sum of squares; `alpha` and `penalty_strength` are not used.

        Returns
        -------
        path : KernelRidgePath
            Coefficients, norms, degrees of freedom, leave-one-out errors and generalised cross-validation for
            each, and `best_alpha`.
        """
        parameters.check("KernelRidge.path", {"alphas": alphas}, {"alphas": PENALTIES})
        model = self._with()
        X, targets, weight = model._open_training(X, y, sample_weight)
        kept = KeptRows(X, weight, precomputed=self._is_precomputed)
        grid = np.asarray(alphas, dtype=np.float64)
        return kernel_ridge_path(model.kernel_, kept, targets, grid, bool(self.fit_intercept))

    def select(
        self,
        X: Any,
        y: Any,
        *,
        penalty_strengths: Any = None,
        gammas: Any = None,
        max_rows: int = 1000,
        random_state: RandomState = None,
    ) -> Selection:
        """Choose the penalty and the width of least leave-one-out error, and fit at the choice.

        Every width costs one eigendecomposition of its Gram matrix; all penalties come with it.

        Parameters
        ----------
        X, y
            As in `fit`.
        penalty_strengths : array-like of positive numbers, optional
            λ on the mean of squares, which carries over from a sample to all rows; 27 from 10⁻⁶ to 3 by
            default.
        gammas : array-like of positive numbers, optional
            Scales of a named kernel; 0.01 to 1 over the number of features by default. The linear kernel, a
            precomputed one and `Kernel` objects keep theirs.
        max_rows : int, default=1000
            Beyond so many rows the choice is made on a sample of them.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Draws the sample.

        Returns
        -------
        selection : Selection
            With a dict of gamma (NaN where no width is searched) and penalty_strength for each pair.

        Examples
        --------
        >>> import numpy as np
        >>> from assay.kernel_machines import KernelRidge
        >>> X = np.linspace(-2, 2, 60)[:, None]
        >>> chosen = KernelRidge(kernel="rbf", fit_intercept=True).select(X, np.sin(3 * X[:, 0]))
        >>> chosen.model.certificates_.holds
        True
        """
        strengths = _positive(
            "penalty_strengths", STRENGTHS if penalty_strengths is None else penalty_strengths
        )
        opened, target, _ = self._with()._open_training(X, y, None)
        scaled = isinstance(self.kernel, str) and self.kernel not in ("linear", "precomputed")
        widths = np.array([np.nan])
        if scaled:
            widths = _positive("gammas", WIDTHS / opened.shape[1] if gammas is None else gammas)
        machines = [self._with(gamma=float(width)) if scaled else self for width in widths]
        shown = np.arange(opened.shape[0])
        if shown.size > max_rows and not self._is_precomputed:
            shown = generator(random_state).choice(shown.size, max_rows, replace=False)
        # Many small eigenproblems: a second BLAS thread costs more than it brings.
        errors = alone(leave_one_out_table, machines, opened[shown], target[shown], strengths)
        curve = errors.reshape(-1)
        index = int(np.argmin(curve))
        pairs = [{"gamma": w.item(), "penalty_strength": s.item()} for w in widths for s in strengths]
        machine = machines[index // strengths.size]
        model = machine._with(penalty_strength=pairs[index]["penalty_strength"]).fit(X, y)
        return Selection(
            "gamma, penalty_strength", pairs, "leave-one-out error", curve, None, index, "min", pairs[index],
            model,
        )  # fmt: skip

    def _with(self, **changed: Any) -> Any:
        return type(self)(**{**self.get_params(deep=False), **changed})


def leave_one_out_table(machines: list[Any], X: Any, y: NDArray, strengths: NDArray) -> NDArray:
    """Leave-one-out errors of every machine (one per width) at every penalty on the mean of squares."""
    rows = [machine.path(X, y, alphas=strengths * len(y)).leave_one_out_error for machine in machines]
    errors = np.array(rows, dtype=np.float64)
    return np.where(np.isnan(errors), np.inf, errors)


def _positive(name: str, values: Any) -> NDArray:
    parameters.check("KernelRidge.select", {name: values}, {name: POSITIVE})
    return np.asarray(values, dtype=np.float64)
