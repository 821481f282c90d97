"""The lasso."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from assay.linear.sparse.elastic_net import ElasticNet
from assay.parameters import Domain
from assay.suitability import Suitability


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
