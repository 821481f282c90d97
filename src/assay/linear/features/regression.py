"""Least squares and ridge on the features of a map, block by block."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificates
from assay.linear.features.base import FeatureMap, expanded_rows
from assay.linear.least_squares.certificates import duality_gap, orthogonality
from assay.linear.least_squares.engine import Array, FitEvidence
from assay.linear.least_squares.influence import ColumnGeometry
from assay.linear.least_squares.linear_regression import LinearRegression
from assay.linear.least_squares.ridge import solutions_along
from assay.linear.predictor import LinearModel, affine
from assay.models.path import HasPenaltyPath
from assay.models.selection import FoldTable
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers import Solution

SOLVERS = ("auto", "cholesky", "qr", "dual", "conjugate_gradient")
"""Those of a linear model that do not crawl on features, which are far from orthogonal."""


class FeatureRegression(HasPenaltyPath, LinearRegression):
    """Base of linear regressions on features φ(x); a subclass says which map.

    The raw rows are opened as always; whatever walks them afterwards sees φ of each block, so that
    everything a linear model can do (certificates, inference, intervals, influence) is done on the features,
    and the table of features never stands in memory whole.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **{name: LinearModel._domains[name] for name in ("fit_intercept", "tol", "max_iter")},
        "solver": parameters.one_of(*SOLVERS),
        "alpha": parameters.real(at_least=0),
    }
    history = False
    _accepts_sparse: ClassVar[bool] = False
    _checks_finite: ClassVar[bool] = False
    _size_name: ClassVar[str] = "size"  # the parameter that stands for the sizes of maps
    alpha: float
    map_: FeatureMap
    alpha_: float

    @abstractmethod
    def _feature_map(self) -> FeatureMap:
        """The map, not fitted."""

    def _fit_rows(self, X: Any, y: Any, raw: Rows) -> None:
        self.map_ = self._learned_map(raw)
        data = expanded_rows(raw, self.map_._expansion())
        alpha = np.full(data.n_targets, float(self.alpha))
        vector = self._targets(raw)
        fit = self._solve(X, y, data, alpha, vector=vector)
        self._store(fit, data)
        self.alpha_ = float(self.alpha)
        self.feature_means_, self.triangle_ = fit.mean_x, fit.triangle
        self._store_likelihood(fit.evidence, vector=vector)
        self.certificates_ = self._certificates(fit.evidence, fit.coef, fit.solution)
        self.optimality_ = self.certificates_[0].value

    def _along(self, table: FoldTable, grid: Array, share: float) -> Callable[[Any], Array]:
        """One decomposition of the features serves every penalty."""
        if table.y.ndim > 1:
            return super()._along(table, grid, share)
        probe = self._with()
        raw = probe._open_training(table.X, table.y, table.weight)
        probe.map_ = probe._learned_map(raw)
        data = expanded_rows(raw, probe.map_._expansion())
        path = solutions_along(data, grid, fit_intercept=self.fit_intercept)
        coef, intercept = path.coef[::-1, 0].T, path.intercept[::-1, 0]
        affinely: dict[str, Any] = {"dtype": np.float64, "width": grid.size}
        return lambda X: np.asarray(probe._open_new_rows(X).map(affine, coef, intercept, **affinely))

    def _learned_map(self, raw: Rows) -> FeatureMap:
        """The map of the parameters, fitted to rows that are open already; refusals speak for the model."""
        fitted = self._feature_map()
        fitted.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            fitted.feature_names_in_ = self.feature_names_in_
        try:
            fitted._check_parameters()
            fitted._learn(raw)
        except parameters.ParameterError as error:
            name = str(error).split("'")[1]
            own = name if name in self.get_params(deep=False) else self._size_name
            sentence = str(error).replace(
                f"{name!r} parameter of {type(fitted).__name__} must",
                f"{own!r} parameter of {type(self).__name__} must",
            )
            raise parameters.ParameterError(sentence) from None
        fitted.n_features_out_ = fitted._expansion().width
        return fitted

    def _residual_freedom(self) -> float | None:
        """N less the effective number of parameters tr XᵀX(XᵀX + αI)⁻¹; None where that is not known."""
        if self.alpha_ == 0:
            return super()._residual_freedom()
        if self.scatter_ is None:
            return None
        values = np.maximum(np.linalg.eigvalsh(self.scatter_), 0.0)
        free = self.total_weight_ - float(np.sum(values / (values + self.alpha_))) - self.fit_intercept
        return free if free > 0 else None

    def _open_new_rows(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, with_target: bool = False
    ) -> Rows:
        """The features of new rows."""
        data = super()._open_new_rows(X, y, sample_weight, with_target=with_target)
        return expanded_rows(data, self.map_._expansion())

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates of the linear model on the features, and of the map on the rows.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        certificates = super().certify(X, y, sample_weight)
        raw = LinearRegression._open_new_rows(self, X, sample_weight=sample_weight)
        return Certificates([*certificates, *self.map_._learned_certificates(raw)])

    def features(self, X: Any) -> Any:
        """The features φ(x) of each row: an array, or a lazy Dask array for Dask input."""
        check_is_fitted(self)
        return self.map_.transform(X)

    def get_feature_names_out(self) -> NDArray:
        """Names of the features, in the order of the coefficients."""
        check_is_fitted(self)
        return self.map_.get_feature_names_out()

    def _certificates(self, evidence: FitEvidence, coef: Array, solution: Solution) -> Certificates:
        if self.alpha_ == 0:
            return super()._certificates(evidence, coef, solution)
        alpha, dtype = np.full(coef.shape[1], self.alpha_), self.coef_.dtype
        return Certificates(
            [orthogonality(evidence, coef, alpha, dtype), duality_gap(evidence, coef, alpha, dtype)]
        )

    def _single_alpha(self) -> float:
        return self.alpha_

    # What the linear model below knows by the number of its columns is asked of a view on the features.

    def _on_features(self) -> FeatureRegression:
        """The same fit, with the features in the place of the columns."""
        view = copy.copy(self)
        view.n_features_in_ = self.map_.n_features_out_
        view.feature_names_in_ = self.get_feature_names_out()
        return view

    def _columns(self) -> tuple[Array, Array]:
        check_is_fitted(self)
        return LinearRegression._columns(self._on_features())

    def _design(self, data: Rows | None = None) -> ColumnGeometry:
        return LinearRegression._design(self._on_features(), data)

    def _degrees_of_freedom(self) -> float:
        check_is_fitted(self)
        if self.alpha_ > 0:
            raise self._refuse("alpha", "0 for inference: a penalty biases the coefficients")
        return LinearRegression._degrees_of_freedom(self._on_features())

    def _parameter_names(self) -> tuple[str, ...]:
        return LinearRegression._parameter_names(self._on_features())

    def covariance(self) -> NDArray:
        """Estimated covariance σ̂²(ΦᵀΦ)⁻¹ of the coefficients; see `LinearRegression.covariance`."""
        self._degrees_of_freedom()
        return super().covariance()
