"""The elastic net."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay import parameters, penalties
from assay.certificates import Certificates
from assay.linear.least_squares.certificates import orthogonality
from assay.linear.least_squares.engine import Array, fit_linear, gather_evidence
from assay.linear.sparse.base import FEATURE_WEIGHTS, SparseModel
from assay.linear.sparse.certificates import sparse_evidence
from assay.linear.sparse.path import trace_of_smoother
from assay.models.selection import FoldTable
from assay.parameters import Domain
from assay.penalties.separable import l1_residual
from assay.rows import Rows
from assay.solvers import elastic_net_profile
from assay.solvers.sparse.subproblem import Profile
from assay.suitability import Suitability

# The elastic net on non-negative coefficients, as the certificates see it.


ROUNDING = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class PositiveElasticNet:
    """α Σ ω_j (ρ w_j + (1 − ρ) w_j²/2) for w ≥ 0, ∞ elsewhere; ω > 0, where ∞ excludes a feature."""

    strength: float
    l1_ratio: float
    weights: Any = None

    def _parts(self, size: int) -> tuple[Array, Array]:
        weights = np.ones(size) if self.weights is None else self.weights
        kept = np.where(np.isinf(weights), 0.0, weights) * self.strength
        slope = np.where(np.isinf(weights), np.inf, self.l1_ratio * kept)
        return slope, (1 - self.l1_ratio) * kept

    def fenchel_young_gap(self, coef: Array, dual: Array) -> float:
        """Ω(w) + Ω*(u) − ⟨w, u⟩ with Ω*(u) = (u − a)₊²/(2c), or an indicator; each term at least 0."""
        slope, curvature = self._parts(coef.size)
        excluded = np.isinf(slope)
        if np.any(coef < 0) or np.any(coef[excluded] != 0):
            return np.inf
        if np.any((curvature == 0) & (dual > slope * (1 + ROUNDING))):
            return np.inf
        inside = np.minimum(dual, slope)
        terms = np.where(excluded, 0.0, np.where(excluded, 0.0, slope - inside) * coef)
        bent = np.where(curvature > 0, curvature, 1.0)
        squares = (bent * coef - (dual - inside)) ** 2 / (2 * bent)
        return float(np.sum(terms) + np.sum(squares[curvature > 0]))

    def dual_norm(self, dual: Array) -> float:
        """max_j (u_j)₊/(ω_j ρ), or 0 where the square makes every u admissible."""
        if self.l1_ratio < 1:
            return 0.0
        slope, _ = self._parts(dual.size)
        return float(np.max(np.maximum(dual, 0.0) / slope, initial=0.0)) * self.strength

    def critical_strength(self, gradient_at_zero: Array) -> float:
        """The smallest strength at which zero is the solution."""
        slope, _ = self._parts(gradient_at_zero.size)
        pull = np.maximum(gradient_at_zero, 0.0) * self.strength
        return float(np.max(np.divide(pull, slope, out=np.zeros_like(pull), where=slope > 0), initial=0.0))


class ElasticNet(SparseModel):
    """Least squares with an l1 and a squared-norm penalty.

    Minimises over (w, b)

        (1/2n) Σ_i s_i (y_i − x_iᵀw − b)² + α Σ_j ω_j (ρ |w_j| + (1 − ρ) w_j²/2),        b not penalised,

    with n = Σ s and ρ = l1_ratio, by coordinate descent on working sets of columns (on XᵀX when there are
    many more rows than columns), with extrapolation, gap-safe screening and a duality gap as stopping rule.

    Assumes: a mean of y that is linear in columns of comparable scales, few of which matter, correlated ones
    together.

    Certificates: duality gap, KKT residual; for a solution of zero, the critical strength; with α = 0, the
    normal-equation residual of least squares.

    Parameters
    ----------
    alpha : float, default=1.0
        α, scikit-learn's parametrisation; 0 is least squares.
    l1_ratio : float, default=0.5
        ρ between 0 (ridge) and 1 (lasso).
    penalty_strength : float, optional
        λ = 2α, the penalty beside the mean of squares (1/n)‖y − Xw‖²; takes the place of `alpha`.
    total_penalty_strength : float, optional
        2nα, the penalty beside the sum of squares ‖y − Xw‖²; takes the place of `alpha`.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    positive : bool, default=False
        Whether coefficients must not be negative.
    feature_weights : array of shape (n_features,), optional
        ω; 0 leaves a feature unpenalised, inf excludes it.
    tol : float, default=1e-6
        Duality gap at which to stop, relative to the objective of the model without features.
    max_iter : int, default=10000
        Most cycles of coordinate descent.
    history : bool, default=False
        Whether the objective after every cycle is kept in `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    alpha_, penalty_strength_, total_penalty_strength_ : float
        The penalty in the three parametrisations.
    dual_gap_ : float
        Duality gap relative to the objective of the model without features, never negative.
    n_iter_, converged_, optimality_
        Cycles, whether they ended by `tol`, and the KKT residual.
    history_ : array
        Objective after each cycle, with `history=True`; never rises.
    total_weight_ : float
        n, the number of rows counted with their weights.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import SparseLinear
    >>> from assay.linear import ElasticNet
    >>> law = SparseLinear(30, 3, rho=0.9, random_state=0)
    >>> X, y = law.sample(100, random_state=1)
    >>> model = ElasticNet(alpha=0.1, l1_ratio=0.5).fit(X, y)
    >>> model.certificates_.holds, model.dual_gap_ <= 1e-6
    (True, True)

    References
    ----------
    Rudi & Şimşekli §1.5.1; Zou & Hastie (2005).
    """

    _suits: ClassVar[Suitability | None] = Suitability(complexity=3, select={}, settings={"l1_ratio": 0.5})
    _domains: ClassVar[Mapping[str, Domain]] = {
        **SparseModel._domains,
        "l1_ratio": parameters.real(at_least=0, at_most=1),
        "positive": parameters.boolean,
        "feature_weights": FEATURE_WEIGHTS,
    }
    l1_ratio: float
    positive: bool
    feature_weights: Any

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        penalty_strength: float | None = None,
        total_penalty_strength: float | None = None,
        fit_intercept: bool = True,
        positive: bool = False,
        feature_weights: Any = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        history: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.penalty_strength = penalty_strength
        self.total_penalty_strength = total_penalty_strength
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.feature_weights = feature_weights
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def _ratio(self) -> float:
        return float(self.l1_ratio)

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticNet:
        """Fit to rows in memory, or to many more rows than columns on disk or on a cluster.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,), or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row stands there twice.
        """
        data = self._open_vector(X, y, sample_weight)
        unit = self._unit(data.shape[1])
        weight = data.total_weight
        alpha = self._alpha(weight)
        if alpha == 0:
            return self._fit_unpenalised(X, y, data)
        problem = self._problem(data, unit)
        found = self._run(X, y, problem, alpha)
        self._store(found, alpha, weight, data.dtype)
        free = self._free(data.shape[1])
        if free.size:
            coef = np.asarray(self.coef_, dtype=np.float64)
            options: dict[str, Any] = {"center": self.fit_intercept, "free": free}
            evidence = sparse_evidence(data, coef, float(self.intercept_), **options)
        else:
            evidence = self._evidence_of(problem, found, weight, alpha)
        self._conclude(evidence)
        return self

    def _fit_unpenalised(self, X: Any, y: Any, data: Rows) -> ElasticNet:
        """Least squares, of least norm where it is not unique."""
        if self.positive or (self.feature_weights is not None and np.any(np.isinf(self.feature_weights))):
            raise self._refuse("alpha", "above 0 with positive=True or with excluded features")
        watch = self._watch_fit(X, y, n_runs=1, max_iter=1)
        with watch.run("least squares"):
            options: dict[str, Any] = {"solver": "auto", "tol": 1e-10, "max_iter": self.max_iter}
            fit = fit_linear(data, np.zeros(1), fit_intercept=self.fit_intercept, **options)
            watch.iteration(lambda: {"coef_": fit.coef[:, 0], "intercept_": fit.intercept[0]})
        watch.finish()
        dtype, weight = data.dtype, fit.evidence.weight
        self.coef_ = fit.coef[:, 0].astype(dtype)
        self.intercept_ = dtype.type(fit.intercept[0] if self.fit_intercept else 0)
        self.alpha_ = self.penalty_strength_ = self.total_penalty_strength_ = 0.0
        self.total_weight_, self.n_iter_, self.converged_ = weight, max(fit.solution.n_iter, 1), True
        self.dual_gap_ = 0.0
        if self.history:
            self.history_ = fit.evidence.residual_ss / (2 * weight)
        self.certificates_ = Certificates([orthogonality(fit.evidence, fit.coef, np.zeros(1), dtype)])
        self.optimality_ = self.certificates_[0].value
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        evidence, coef = self._measured(X, y, sample_weight)
        if self.alpha_ > 0:
            return self._certificates(evidence, coef)
        data = self._open_new_rows(X, y, sample_weight, with_target=True)
        level = np.array([float(self.intercept_)])
        found = gather_evidence(data, coef[:, None], level, fit_intercept=self.fit_intercept)
        return Certificates([orthogonality(found, coef[:, None], np.zeros(1), self.coef_.dtype)])

    def _unit(self, n_features: int) -> Profile:
        weights = self._weights(n_features)
        return elastic_net_profile(n_features, self._ratio(), weights, positive=self.positive)

    def _free(self, n_features: int) -> NDArray:
        unit = self._unit(n_features)
        return np.flatnonzero((unit.slope == 0) & (unit.curvature == 0))

    def _weights(self, n_features: int) -> NDArray | None:
        if self.feature_weights is None:
            return None
        weights = np.asarray(self.feature_weights, dtype=np.float64)
        if weights.size != n_features:
            raise self._refuse("feature_weights", f"an array of {n_features} numbers, one a feature")
        if self.positive and np.any(weights == 0):
            raise self._refuse("feature_weights", "above 0 with positive=True")
        return weights

    def _penalty(self, alpha: float, n_features: int) -> Any:
        weights = self._weights(n_features)
        if self.positive:
            return PositiveElasticNet(alpha, self._ratio(), weights)
        if self._ratio() == 1:
            return penalties.L1(alpha, weights)
        return penalties.ElasticNet(alpha, self._ratio(), weights)

    def _distance(self, coef: Array, corr: Array, alpha: float) -> Array:
        unit = self._unit(coef.size)
        excluded = np.isinf(unit.slope)
        slope = np.where(excluded, np.inf, np.where(excluded, 0.0, unit.slope) * alpha)
        bent = corr - alpha * unit.curvature * coef
        seen = np.where(coef == 0, np.maximum(bent, 0.0), bent) if self.positive else bent
        found: Array = l1_residual(coef, seen, slope)
        return np.where(excluded & (coef == 0), 0.0, found)

    def _degrees_of_freedom(self, table: FoldTable, coef: Array, alpha: float) -> float:
        """Trace of the smoother on the support; without a squared part, the size of the support."""
        bend = alpha * (1 - self._ratio()) * table.total_weight
        return trace_of_smoother(table, coef, bend, center=self.fit_intercept)
