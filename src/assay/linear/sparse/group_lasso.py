"""The group lasso."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from assay import parameters, penalties
from assay.linear.least_squares.engine import Array
from assay.linear.sparse.base import FEATURE_WEIGHTS, SparseModel
from assay.parameters import Domain
from assay.penalties.groups import group_weights, partition
from assay.penalties.separable import l1_residual, soft_threshold
from assay.solvers.sparse.groups import GroupForm, group_form

GROUPS = Domain(
    "None, one label per feature or one list of indices per group",
    lambda value: value is None or (hasattr(value, "__len__") and not isinstance(value, str)),
)


class GroupLasso(SparseModel):
    """Least squares with a penalty that keeps or drops whole groups of features.

    Minimises over (w, b)

        (1/2n) Σ_i s_i (y_i − x_iᵀw − b)² + α (ρ ‖w‖₁ + (1 − ρ) Σ_g ω_g ‖w_g‖₂),        b not penalised,

    with n = Σ s and ρ = l1_ratio (0 is the group lasso, above 0 the sparse group lasso), by block coordinate
    descent on working sets of groups, with extrapolation and a duality gap as stopping rule.

    Assumes: a mean of y that is linear in columns of comparable scales, few groups of which matter; the
    groups are given.

    Certificates: duality gap, KKT residual; for a solution of zero, the critical strength.

    Parameters
    ----------
    alpha : float, default=1.0
        α, above 0, beside half the mean of squares as in scikit-learn's `Lasso`.
    groups : array of n_features labels or list of lists of indices, optional
        The partition of the features; None makes each feature a group.
    l1_ratio : float, default=0.0
        ρ between 0 and 1.
    group_weights : array of shape (n_groups,), optional
        ω, above 0, in the sorted order of the labels; inf excludes a group; √size by default.
    penalty_strength : float, optional
        λ = 2α, the penalty beside the mean of squares; takes the place of `alpha`.
    total_penalty_strength : float, optional
        2nα, the penalty beside the sum of squares; takes the place of `alpha`.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    tol : float, default=1e-6
        Duality gap at which to stop, relative to the objective of the model without features.
    max_iter : int, default=10000
        Most cycles of block coordinate descent.
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
    >>> import numpy as np
    >>> from assay.linear import GroupLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 6))
    >>> y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(80)
    >>> model = GroupLasso(alpha=0.1, groups=[0, 0, 1, 1, 2, 2]).fit(X, y)
    >>> (model.coef_ != 0).tolist()
    [True, True, False, False, False, False]
    >>> model.certificates_.holds
    True

    References
    ----------
    Rudi & Şimşekli §1.5.1; Yuan & Lin (2006); Simon, Friedman, Hastie & Tibshirani (2013).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **SparseModel._domains,
        "alpha": parameters.real(above=0, squared=True),
        "penalty_strength": parameters.nothing | parameters.real(above=0, squared=True),
        "total_penalty_strength": parameters.nothing | parameters.real(above=0, squared=True),
        "groups": GROUPS,
        "l1_ratio": parameters.real(at_least=0, at_most=1),
        "group_weights": FEATURE_WEIGHTS,
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        groups: Any = None,
        l1_ratio: float = 0.0,
        group_weights: Any = None,
        penalty_strength: float | None = None,
        total_penalty_strength: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        history: bool = False,
    ) -> None:
        self.alpha = alpha
        self.groups = groups
        self.l1_ratio = l1_ratio
        self.group_weights = group_weights
        self.penalty_strength = penalty_strength
        self.total_penalty_strength = total_penalty_strength
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def _penalty(self, alpha: float, n_features: int) -> Any:
        owner = type(self).__name__
        groups = partition(owner, np.arange(n_features) if self.groups is None else self.groups)
        weights = group_weights(owner, self.group_weights, groups)
        if groups.labels.size != n_features:
            raise self._refuse("groups", f"a partition of the {n_features} features")
        if np.any(weights == 0):
            raise self._refuse("group_weights", "above 0")
        if self.l1_ratio == 0:
            return penalties.GroupL2(alpha, groups.labels, weights)
        return penalties.SparseGroup(alpha, groups.labels, float(self.l1_ratio), weights)

    def _groups(self, n_features: int) -> GroupForm:
        return group_form(self._penalty(1.0, n_features))

    def _distance(self, coef: Array, corr: Array, alpha: float) -> Array:
        """Distance of each group's correlations, told to each of its features in proportion to the group."""
        form = self._groups(coef.size)
        groups, entry = form.groups, alpha * self.l1_ratio
        finite = np.where(np.isinf(form.weights), 0.0, form.weights)
        radius = alpha * (1 - self.l1_ratio) * finite
        norms = groups.norms(coef)
        scale = np.divide(radius, norms, out=np.zeros_like(norms), where=norms > 0)[groups.labels]
        active = groups.norms(l1_residual(coef, corr - scale * coef, entry))
        at_zero = np.maximum(groups.norms(soft_threshold(corr, entry)) - radius, 0.0)
        far = np.where(norms > 0, active, at_zero)
        far[np.isinf(form.weights) & (norms == 0)] = 0.0
        return (far / np.sqrt(groups.sizes))[groups.labels]

    def _largest_norm(self, problem: Any, n_features: int) -> float:
        """As for features, with the weight of the group over its size as slope."""
        form = self._groups(n_features)
        share = self.l1_ratio + (1 - self.l1_ratio) * form.weights / np.sqrt(form.groups.sizes)
        slope = share[form.groups.labels]
        kept = np.flatnonzero(np.isfinite(slope))
        return float(np.max(problem.norms(kept) / slope[kept], initial=0.0))
