"""What all linear models share once they have coefficients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificates
from assay.linear.least_squares.engine import (
    LARGEST_GRAM,
    Array,
    CentredTriangle,
    Fit,
    FitEvidence,
    centred_triangle,
    fit_linear,
    gather_evidence,
)
from assay.models import convergence
from assay.models.capabilities import Regressor, target_dimension, vector_target
from assay.parameters import Domain
from assay.rows import Block, MemoryRows, Rows

__all__ = [
    "LinearModel",
    "LinearPredictor",
    "LinearRegressor",
    "RowRegressor",
    "affine",
    "in_precision",
    "vector_target",
    "warn_unfinished",
]

SOLVERS = ("auto", "cholesky", "qr", "dual", "gradient_descent", "conjugate_gradient")


SMALLEST_TOL = 64 * float(np.finfo(np.float64).eps)
"""Tolerances below which rounding may keep an iteration from ending."""


class LinearPredictor(IterativeModel):
    """Scores x ↦ w·x + b: one, or one per row of `coef_`."""

    coef_: NDArray
    intercept_: Any

    def _scores(self, X: Any) -> Any:
        """Scores of each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        width = self.coef_.shape[0] if self.coef_.ndim == 2 else None
        return data.map(affine, self.coef_.T, self.intercept_, dtype=self.coef_.dtype, width=width)


class LinearRegressor(Regressor, LinearPredictor):
    """A prediction x ↦ w·x + b of a number, or of several."""

    def predict(self, X: Any) -> Any:
        """Predicted target of each row: an array, or a lazy Dask array for Dask input."""
        return self._scores(X)


class RowRegressor(LinearRegressor):
    """A linear regressor that is fitted, and certified, on opened rows: `_fit_rows` and `_certify_rows`."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or column name(s)
            One column for models that predict one number.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        self._fit_rows(X, y, self._open_training(X, y, sample_weight))
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk or two.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        return self._certify_rows(self._open_new_rows(X, y, sample_weight, with_target=True))

    def _open_training(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        return self._open_rows(X, y, sample_weight, with_target=True)

    @abstractmethod
    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        """Set the fitted attributes from the rows; `X` and `y` are for the callbacks."""

    @abstractmethod
    def _certify_rows(self, data: Rows) -> Certificates:
        """Certificates of the fitted attributes on rows."""

    def _columns(self) -> tuple[Array, Array]:
        """Coefficients as (d, t) and intercepts as (t,), in float64."""
        check_is_fitted(self)
        coef = np.asarray(self.coef_, dtype=np.float64).reshape(-1, self.n_features_in_)
        return coef.T, np.atleast_1d(np.asarray(self.intercept_, dtype=np.float64))

    def _targets(self, data: Rows) -> bool:
        """Whether the target is a vector (and not a matrix of one or more columns)."""
        if isinstance(data, MemoryRows) and data.y is not None:  # a small fit notices a walk to its first row
            return data.y.ndim == 1
        return bool(data.head(1, target_dimension) == 1)

    def _set_coefficients(self, coef: Array, intercept: Array, data: Rows) -> None:
        """Store coefficients (d, t) and intercepts (t,) in the shape of the target."""
        rows, level = in_precision(self, data.dtype, coef.T, intercept)
        vector = self._targets(data)
        self.coef_, self.intercept_ = (rows[0], level[0]) if vector else (rows, level)


class LinearModel(MultiOutputMixin, RowRegressor):
    """Least squares and ridge: a linear prediction with the geometry of the table it was fitted on."""

    _domains: ClassVar[Mapping[str, Domain]] = {
        "fit_intercept": parameters.boolean,
        "solver": parameters.one_of(*SOLVERS),
        "tol": parameters.real(above=0),
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
    }
    _checks_finite = True
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    history: bool

    def leverage(self, X: Any, sample_weight: Any = None) -> NDArray:
        """Diagonal of the hat matrix of the table `X`: what each row weighs in its own prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table of the fit.
        sample_weight : array-like, optional

        Returns
        -------
        leverage : array of shape (n_samples,)
            Between 0 and 1; the sum is the effective number of parameters.
        """
        basis, shrinkage = self._smoothing_basis(X, sample_weight)
        return np.einsum("ij,j,ij->i", basis, shrinkage, basis)

    def hat_matrix(self, X: Any, sample_weight: Any = None) -> NDArray:
        """The n × n matrix H with fitted values H y, for the table `X` of the fit (√s-weighted rows)."""
        basis, shrinkage = self._smoothing_basis(X, sample_weight)
        return (basis * shrinkage) @ basis.T

    def _smoothing_basis(self, X: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Orthonormal columns U and factors c in [0, 1] with H = U diag(c) Uᵀ."""
        data = self._open_new_rows(X, sample_weight=sample_weight)
        table = data.reduce(weighted_rows, combine=lambda above, below: np.vstack([above, below]))
        root, X = table[:, -1], table[:, :-1]
        columns: list[Array] = []
        if self.fit_intercept:
            ones = root / np.linalg.norm(root)
            X = X - np.outer(ones, ones @ X)
            columns = [ones[:, None]]
        u, values, _ = np.linalg.svd(X, full_matrices=False)
        rank = int(np.count_nonzero(values > values[:1].sum() * max(X.shape) * np.finfo(float).eps))
        squares = values[:rank] ** 2
        alpha = self._single_alpha()
        basis = np.hstack([*columns, u[:, :rank]])
        return basis, np.concatenate([np.ones(len(columns)), squares / (squares + alpha)])

    def _single_alpha(self) -> float:
        return 0.0

    def _solve(self, X: Any, y: Any, data: Rows, alpha: NDArray, *, vector: bool) -> Fit:
        """Run the engine with the parameters of the model, callbacks looking on."""
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)
        which = 0 if vector else slice(None)

        def report(coef: Array, intercept: Array) -> bool:
            return watch.iteration(lambda: {"coef_": coef.T[which], "intercept_": intercept[which]})

        rule: Any = {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter, "report": report}
        with watch.run(self.solver):
            fit = fit_linear(data, alpha, fit_intercept=self.fit_intercept, **rule)
        watch.finish()
        return fit

    def _store(self, fit: Fit, data: Rows) -> None:
        """Turn a fit into attributes, in the precision of the table and the shape of the target."""
        level = fit.intercept if self.fit_intercept else np.zeros(data.n_targets)
        self._set_coefficients(fit.coef, level, data)
        solution = fit.solution
        self.rank_, self.condition_number_ = solution.rank, solution.condition
        self.n_iter_, self.converged_, self.solver_ = solution.n_iter, solution.converged, fit.solver
        self.scatter_, self.total_weight_ = fit.scatter, fit.evidence.weight
        if self.history:
            self.history_ = np.array(fit.trace)
        if not self.converged_:
            warn_unfinished(self, f"iterations of {fit.solver}")

    def _evidence(self, data: Rows) -> FitEvidence:
        """Evidence of the fitted attributes against data, by one walk."""
        coef, intercept = self._columns()
        return gather_evidence(data, coef, intercept, fit_intercept=self.fit_intercept)

    def _known(self, data: Rows) -> CentredTriangle | None:
        """The triangle of a table, found again from its rows; None where it would be too large to form."""
        if min(data.shape) > LARGEST_GRAM:
            return None
        return centred_triangle(data, fit_intercept=self.fit_intercept)


def in_precision(model: Any, dtype: np.dtype, *values: Any) -> list[NDArray]:
    """Coefficients in the precision of the table; refused where they overflow it."""
    with np.errstate(over="ignore"):
        rounded = [np.asarray(value).astype(dtype) for value in values]
    if not all(np.isfinite(value).all() for value in rounded):
        raise ValueError(
            f"The coefficients of {type(model).__name__} overflow {dtype}: columns of X are too small beside "
            "y; scale them first."
        )
    return rounded


def warn_unfinished(model: Any, iterations: str, far: str = "its certificates say how far it is") -> None:
    """Say after how many iterations a fit stopped before `tol`, how far it is, and what would help."""
    count = f"max_iter={model.max_iter}"
    if model.n_iter_ < model.max_iter:
        count, way_out = f"{model.n_iter_}", "It was asked to stop."
    elif model.tol < SMALLEST_TOL:
        way_out = f"Raise tol: {model.tol:g} is below the rounding of the rows."
    else:
        way_out = "Increase max_iter."
    convergence.warn(
        f"{type(model).__name__} stopped after {count} {iterations} before reaching tol; {far}. {way_out}"
    )


def affine(block: Block, coef: NDArray, intercept: Any) -> NDArray:
    """w·x + b for the rows of one block."""
    return np.asarray(block.X @ coef) + intercept


def weighted_rows(block: Block) -> NDArray:
    """√s·[x, 1] of one block."""
    X = block.dense
    table = np.column_stack([X, np.ones(X.shape[0])]).astype(np.float64)
    if block.weight is not None:
        table *= np.sqrt(block.weight.astype(np.float64))[:, None]
    return table
