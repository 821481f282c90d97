"""Kernel ridge regression as a linear smoother, for many penalties at once, and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.kernel_machines.kernel_ridge.gram_system import (
    GramSystem,
    KeptRows,
    as_columns,
    require_psd,
    training_gram,
)
from assay.kernel_machines.kernel_ridge.solver import GramSpectrum, spectrum
from assay.kernel_machines.kernel_ridge.widths import fold_widths, search_widths, within
from assay.kernels import Kernel, Precomputed
from assay.models.capabilities import PairwiseModel
from assay.models.path import PenaltyPath
from assay.models.selection import Criterion, FoldTable, Said, Selection, folds, squared_row_loss
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
    weight: Any,
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


class HasKernelPath(PairwiseModel):
    """What kernel ridge regression tells as ŷ = S y, computed when it is asked for, `path` and `select`."""

    kernel: Any
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
        parameters.require("KernelRidge.path", PENALTIES, alphas=alphas)
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
        cv: Any = None,
        criterion: Criterion | None = None,
        random_state: RandomState = None,
    ) -> Selection:
        """Choose the penalty and the width of least leave-one-out error, and fit at the choice.

        Every width costs one eigendecomposition of its Gram matrix; all penalties come with it. Of many rows,
        500 first say which two widths are worth it; the curve is NaN at the others.

        Parameters
        ----------
        X, y
            As in `fit`.
        penalty_strengths : array-like of positive numbers, optional
            λ on the mean of squares, which carries over from a sample to all rows; 27 from 10⁻⁶ to 3.
        gammas : array-like of positive numbers, optional
            Scales of a named kernel; 0.01 to 1 over the number of features by default. The linear kernel, a
            precomputed one and `Kernel` objects keep theirs.
        max_rows : int, default=1000
            Beyond so many rows the choice is made on a sample of them.
        cv : int, "split" or splitter, optional
            Folds whose mean squared error decides in place of the leave-one-out error.
        criterion : assay.models.Criterion, optional
            What folds, five by default, make least in place of the squared error.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Draws the sample, and shuffles the rows of the folds.

        Returns
        -------
        selection : Selection
            With a dict of gamma (NaN where no width is searched) and penalty_strength for each pair.

        Examples
        --------
        >>> import numpy as np
        >>> from assay.kernel_machines import KernelRidge
        >>> X = np.linspace(-2, 2, 60)[:, None]
        >>> chosen = KernelRidge(kernel="rbf").select(X, np.sin(3 * X[:, 0]))
        >>> chosen.model.certificates_.holds
        True
        """
        given = STRENGTHS if penalty_strengths is None else penalty_strengths
        strengths = _positive("penalty_strengths", given)
        opened, target, _ = self._with()._open_training(X, y, None)
        widths, machines = self._of_widths(WIDTHS / opened.shape[1] if gammas is None else gammas)
        shown = np.arange(opened.shape[0])
        if shown.size > max_rows and not self._is_precomputed:
            shown = generator(random_state).choice(shown.size, max_rows, replace=False)
        name = "leave-one-out error"
        # Many small eigenproblems: a second BLAS thread costs more than it brings.
        if cv is None and criterion is None:
            errors = alone(search_widths, machines, opened[shown], target[shown], strengths)
        else:
            table, name = FoldTable(opened, target, None), criterion.name if criterion else "validation loss"
            pairs = within(folds("KernelRidge.select", cv or 5, table, random_state), shown)
            errors = alone(fold_widths, machines, table, strengths, pairs, criterion)
        index = int(np.nanargmin(errors))
        tried = [{"gamma": w.item(), "penalty_strength": s.item()} for w in widths for s in strengths]
        best = machines[index // strengths.size]._with(penalty_strength=tried[index]["penalty_strength"])
        measured = tried, name, errors.reshape(-1), None, index, "min", tried[index], best.fit(X, y)
        return Selection("gamma, penalty_strength", *measured)

    def _of_widths(self, gammas: Any) -> tuple[NDArray, list[Self]]:
        """The widths to search and the machine of each; NaN and this machine where there is no width."""
        if not isinstance(self.kernel, str) or self.kernel in ("linear", "precomputed"):
            return np.array([np.nan]), [self]
        widths = _positive("gammas", gammas)
        return widths, [self._with(gamma=float(width)) for width in widths]

    def _along(self, table: FoldTable, alphas: NDArray, share: float) -> Any:
        return self.path(table.X, table.y, alphas * share).predict

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> NDArray:
        return squared_row_loss(y, predictions)

    def _said(self, predictions: NDArray) -> Said:
        return Said(predictions)

    def _with(self, **changed: Any) -> Any:
        return type(self)(**{**self.get_params(deep=False), **changed})


def _positive(name: str, values: Any) -> NDArray:
    parameters.require("KernelRidge.select", POSITIVE, **{name: values})
    return np.asarray(values, dtype=np.float64)
