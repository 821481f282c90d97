"""The elastic net and the lasso."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters, penalties
from assay.certificates import Certificates
from assay.linear.least_squares.certificates import orthogonality
from assay.linear.least_squares.engine import Array, fit_linear, gather_evidence
from assay.linear.predictor import in_precision
from assay.linear.sparse.base import FEATURE_WEIGHTS, SparseModel
from assay.linear.sparse.certificates import stored_certificate
from assay.models.selection import FoldTable
from assay.parameters import Domain
from assay.penalties.coordinates import PositiveElasticNet, elastic_net_form
from assay.penalties.separable import l1_residual
from assay.rows import Rows
from assay.suitability import Suitability


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

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        if self._alpha(data.total_weight) == 0:
            self._fit_unpenalised(X, y, data)
        else:
            super()._fit_rows(X, y, data)

    def _fit_unpenalised(self, X: Any, y: Any, data: Rows) -> None:
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
        level = fit.intercept[0] if self.fit_intercept else 0.0
        self.coef_, intercept = in_precision(self, dtype, fit.coef[:, 0], level)
        self.intercept_ = intercept[()]
        self.alpha_ = self.penalty_strength_ = self.total_penalty_strength_ = 0.0
        self.total_weight_, self.n_iter_, self.converged_ = weight, max(fit.solution.n_iter, 1), True
        self.dual_gap_ = 0.0
        if self.history:
            self.history_ = fit.evidence.residual_ss / (2 * weight)
        self.certificates_ = Certificates([orthogonality(fit.evidence, fit.coef, np.zeros(1), dtype)])
        self.optimality_ = self.certificates_[0].value

    def _certify_rows(self, data: Rows) -> Certificates:
        if self.alpha_ > 0:
            return super()._certify_rows(data)
        coef, level = np.asarray(self.coef_, dtype=np.float64)[:, None], np.array([float(self.intercept_)])
        evidence = gather_evidence(data, coef, level, fit_intercept=self.fit_intercept)
        return Certificates(
            [
                orthogonality(evidence, coef, np.zeros(1), self.coef_.dtype),
                stored_certificate(self, data.total_weight, {}),
            ]
        )

    def _free(self, n_features: int) -> NDArray:
        weights = self._weights(n_features)
        return super()._free(n_features) if weights is None else np.flatnonzero(weights == 0)

    def _weights(self, n_features: int) -> NDArray | None:
        if self.feature_weights is None:
            return None
        weights = np.asarray(self.feature_weights, dtype=np.float64)
        if weights.size != n_features:
            raise self._refuse("feature_weights", f"an array of {n_features} numbers, one per feature")
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
        form = elastic_net_form(coef.size, alpha, self._ratio(), self._weights(coef.size))
        bent = corr - form.curvature * coef
        seen = np.where(coef == 0, np.maximum(bent, 0.0), bent) if self.positive else bent
        distance = l1_residual(coef, seen, form.slope)
        return np.where(np.isinf(form.slope) & (coef == 0), 0.0, distance)

    def _degrees_of_freedom(self, table: FoldTable, coef: Array, alpha: float) -> float:
        """Trace of X_A (X_AᵀX_A + bend I)⁻¹ X_Aᵀ on the support A, weighted and centred."""
        support, bend = np.flatnonzero(coef), alpha * (1 - self._ratio()) * table.total_weight
        if not support.size or bend == 0:
            return float(support.size)
        columns = table.X[:, support]
        columns = np.asarray(columns.toarray() if hasattr(columns, "toarray") else columns, dtype=np.float64)
        weight = np.ones(len(columns)) if table.weight is None else table.weight.astype(np.float64)
        if self.fit_intercept:
            columns = columns - weight @ columns / weight.sum()
        values = np.linalg.svd(np.sqrt(weight)[:, None] * columns, compute_uv=False) ** 2
        return float(np.sum(values / (values + bend)))


class Lasso(ElasticNet):
    """Least squares with an l1 penalty, which selects features.

    Minimises over (w, b)

        (1/2n) Σ_i s_i (y_i − x_iᵀw − b)² + α Σ_j ω_j |w_j|,        b not penalised,

    with n = Σ s, by coordinate descent on working sets of columns (on XᵀX when there are many more rows than
    columns), with extrapolation, gap-safe screening and a duality gap as stopping rule.

    Assumes: a mean of y that is linear in columns of comparable scales, few of which matter. That the
    selected ones are the true ones needs columns that are not too correlated.

    Certificates: duality gap, KKT residual; for a solution of zero, the critical strength; with α = 0, the
    normal-equation residual of least squares.

    The courses write (1/n)‖y − Xw‖² + λ‖w‖₁ (`penalty_strength`, λ = 2α) and ‖y − Xw‖² + λ‖w‖₁
    (`total_penalty_strength`, λ = 2nα): give either; after the fit all three are shown.

    Parameters
    ----------
    alpha : float, default=1.0
        α, scikit-learn's parametrisation; 0 is least squares.
    penalty_strength : float, optional
        λ = 2α, the penalty beside the mean of squares; takes the place of `alpha`.
    total_penalty_strength : float, optional
        λ = 2nα, the penalty beside the sum of squares; takes the place of `alpha`.
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
    >>> from assay.linear import Lasso
    >>> law = SparseLinear(200, 4, random_state=0)
    >>> X, y = law.sample(100, random_state=1)
    >>> model = Lasso(alpha=0.3).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> set(law.support) <= set(model.coef_.nonzero()[0])
    True
    >>> model.path(X, y, n_alphas=3, eps=0.1).n_nonzero
    array([ 0,  6, 37])

    References
    ----------
    Rudi & Şimşekli §1.5.1; Douc & Le Corff §6.3.2; Massias, Gramfort & Salmon (2018).
    """

    _suits: ClassVar[Suitability | None] = Suitability(complexity=2, select={})
    _domains: ClassVar[Mapping[str, Domain]] = {
        name: domain for name, domain in ElasticNet._domains.items() if name != "l1_ratio"
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
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
        self.penalty_strength = penalty_strength
        self.total_penalty_strength = total_penalty_strength
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.feature_weights = feature_weights
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def _ratio(self) -> float:
        return 1.0
