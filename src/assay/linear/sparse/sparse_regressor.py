"""Sparse regression with penalties that stop growing: MCP and SCAD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import with_callbacks

from assay import parameters, penalties
from assay.certificates import Certificates, at_least, at_most
from assay.linear.least_squares.engine import Array
from assay.linear.sparse.base import SparseModel
from assay.linear.sparse.certificates import FLOAT32, SparseEvidence, critical_certificate
from assay.parameters import Domain
from assay.penalties.separable import l1_residual
from assay.rows import Block, Rows
from assay.solvers import elastic_net_profile
from assay.solvers.sparse.loops import CLIPPED, MINIMAX_CONCAVE
from assay.solvers.sparse.subproblem import Profile
from assay.suitability import Suitability

KINDS = {"mcp": MINIMAX_CONCAVE, "scad": CLIPPED}
DEFAULT_GAMMA = {"mcp": 3.0, "scad": 3.7}
SMALLEST_GAMMA = {"mcp": 1.0, "scad": 2.0}
LARGEST_SUPPORT = 500
"""Support beyond which convexity around the solution is not examined."""

SOURCE = "Zhang (2010); Fan & Li (2001); Breheny & Huang (2011)"


class SparseRegressor(SparseModel):
    """Least squares with a concave penalty, which selects features without shrinking the large coefficients.

    Minimises (locally) over (w, b)

        (1/2n) Σ_i s_i (y_i − x_iᵀw − b)² + Σ_j ρ(|w_j|; α, γ),        b not penalised,

    with n = Σ s and ρ the minimax concave penalty or SCAD; give it columns of variance near 1, for γ is on
    that scale. Coordinate descent on working sets from the lasso
    solution at the same α; each coordinate is set to its global minimiser, so the objective never rises.

    Assumes: a mean of y that is linear in columns of variance near 1, few of which matter.

    Certificates: stationarity, an objective that never rose and ends below that of the lasso; where it can be
    shown, that the problem is strictly convex around the solution on its support; for a solution of zero, the
    critical strength. The problem is not convex: there is no duality gap and no claim of a global minimum.

    Parameters
    ----------
    alpha : float, default=1.0
        α, above 0: slope of the penalty at zero, beside half the mean of squares.
    penalty : {"mcp", "scad"}, default="mcp"
        ρ.
    gamma : float, optional
        γ: the penalty is flat from γα on; above 1 for MCP (3 by default), above 2 for SCAD (3.7).
    penalty_strength : float, optional
        λ = 2α, the slope beside the mean of squares; takes the place of `alpha`.
    total_penalty_strength : float, optional
        2nα, the slope beside the sum of squares; takes the place of `alpha`.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    tol : float, default=1e-6
        Largest distance of a correlation to the subdifferential at which to stop, relative to the largest
        correlation with the target.
    max_iter : int, default=10000
        Most cycles of coordinate descent.
    history : bool, default=False
        Whether the objective after every cycle is kept in `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    alpha_, penalty_strength_, total_penalty_strength_ : float
        The slope in the three parametrisations.
    gamma_ : float
    objective_, start_objective_ : float
        The objective at the solution, and at the lasso solution where the descent began.
    largest_rise_ : float
        Largest rise of the objective from one cycle to the next, relative; rounding or 0.
    locally_convex_ : bool
        Whether the problem was shown to be strictly convex on the support around the solution.
    n_iter_, converged_, optimality_
        Cycles, whether they ended by `tol`, and the relative distance to stationarity.
    history_ : array
        Objective after each cycle, with `history=True`.
    total_weight_ : float
        n, the number of rows counted with their weights.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import SparseLinear
    >>> from assay.linear import Lasso, SparseRegressor
    >>> law = SparseLinear(100, 3, signal_to_noise=10, random_state=0)
    >>> X, y = law.sample(200, random_state=1)
    >>> model = SparseRegressor(alpha=0.3).fit(X, y)
    >>> (model.coef_.nonzero()[0] == law.support).tolist()
    [True, True, True]
    >>> shrunk, kept = (abs(fit.coef_).sum() for fit in (Lasso(0.3).fit(X, y), model))
    >>> bool(shrunk < 2.4 < 2.8 < kept), model.certificates_.holds
    (True, True)

    References
    ----------
    Rudi & Şimşekli §1.5.1; Zhang (2010); Fan & Li (2001); Breheny & Huang (2011).
    """

    _suits: ClassVar[Suitability | None] = Suitability(complexity=3, select={})
    _domains: ClassVar[Mapping[str, Domain]] = {
        **SparseModel._domains,
        "alpha": parameters.real(above=0),
        "penalty_strength": parameters.nothing | parameters.real(above=0),
        "total_penalty_strength": parameters.nothing | parameters.real(above=0),
        "penalty": parameters.one_of("mcp", "scad"),
        "gamma": parameters.nothing | parameters.real(above=1),
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        penalty: str = "mcp",
        gamma: float | None = None,
        penalty_strength: float | None = None,
        total_penalty_strength: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        history: bool = False,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.gamma = gamma
        self.penalty_strength = penalty_strength
        self.total_penalty_strength = total_penalty_strength
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SparseRegressor:
        """Fit to rows in memory, or to many more rows than columns on disk or on a cluster.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,), or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row stands there twice.
        """
        data = self._open_vector(X, y, sample_weight)
        d, weight = data.shape[1], data.total_weight
        unit = self._unit(d)
        alpha = self._alpha(weight)
        lasso = self._problem(data, elastic_net_profile(d, 1.0))
        first = lasso.solve(np.array([alpha]), tol=self.tol, max_iter=self.max_iter)
        start = first.coef[-1] if isinstance(first.coef, np.ndarray) else first.coef[[-1]].toarray()[0]
        problem = lasso.reshaped(unit)
        found = self._run(X, y, problem, alpha, start)
        self._store(found, alpha, weight, data.dtype)
        self.gamma_ = unit.gamma
        self.start_objective_ = float(first.loss[-1] + self._penalty(alpha, d).value(start))
        rise = np.diff(np.concatenate([[self.start_objective_], found.history]))
        self.largest_rise_ = max(float(rise.max(initial=0.0)), 0.0) / max(problem.target_square / 2, 1e-300)
        evidence = self._evidence_of(problem, found, weight, alpha)
        coef = np.asarray(self.coef_, dtype=np.float64)
        self.objective_ = self._objective(evidence, coef)
        self.locally_convex_ = self._smallest_curvature(data) > 0
        self.certificates_ = self._all_certificates(evidence, coef, data)
        self.optimality_ = self.certificates_[0].value
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates on the rows themselves.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        evidence, coef = self._measured(X, y, sample_weight)
        data = self._open_new_rows(X, y, sample_weight, with_target=True)
        return self._all_certificates(evidence, coef, data)

    def _keeps_trace(self) -> bool:
        return True

    def _unit(self, n_features: int) -> Profile:
        gamma = DEFAULT_GAMMA[self.penalty] if self.gamma is None else float(self.gamma)
        if gamma <= SMALLEST_GAMMA[self.penalty]:
            least = SMALLEST_GAMMA[self.penalty]
            raise self._refuse("gamma", f"above {least:g} with penalty={self.penalty!r}")
        return Profile(np.ones(n_features), np.zeros(n_features), False, KINDS[self.penalty], gamma)

    def _penalty(self, alpha: float, n_features: int) -> Any:
        kind = penalties.MCP if self.penalty == "mcp" else penalties.SCAD
        return kind(alpha, self._unit(n_features).gamma)

    def _slope(self, coef: Array, alpha: float) -> Array:
        """ρ'(|w_j|)."""
        gamma, size = self._unit(coef.size).gamma, np.abs(coef)
        if self.penalty == "mcp":
            return np.maximum(alpha - size / gamma, 0.0)
        return np.minimum(np.maximum(gamma * alpha - size, 0.0) / (gamma - 1), alpha)

    def _distance(self, coef: Array, corr: Array, alpha: float) -> Array:
        found: Array = l1_residual(coef, corr, self._slope(coef, alpha))
        return found

    def _objective(self, evidence: SparseEvidence, coef: Array) -> float:
        loss = (evidence.residual_square + evidence.residual_mean**2) / 2
        return float(loss + self._penalty(self.alpha_, coef.size).value(coef))

    def _smallest_curvature(self, data: Rows) -> float:
        """Smallest eigenvalue, on the support, of the second moments less the concavity of the penalty."""
        coef = np.asarray(self.coef_, dtype=np.float64)
        support = np.flatnonzero(coef)
        if support.size > LARGEST_SUPPORT:
            return -np.inf
        if not support.size:
            return np.inf
        gram = data.reduce(support_gram, support)
        weight, sums, squares = gram[-1, -1], gram[-1, :-1], gram[:-1, :-1]
        second = squares / weight
        if self.fit_intercept:
            second = second - np.outer(sums, sums) / weight**2
        size, alpha, gamma = np.abs(coef[support]), self.alpha_, self._unit(coef.size).gamma
        if self.penalty == "mcp":
            bend = np.where(size <= gamma * alpha, 1 / gamma, 0.0)
        else:
            bend = np.where((size >= alpha) & (size <= gamma * alpha), 1 / (gamma - 1), 0.0)
        return float(np.linalg.eigvalsh(second - np.diag(bend))[0])

    def _all_certificates(self, evidence: SparseEvidence, coef: Array, data: Rows) -> Certificates:
        """Stationarity, descent, and convexity around the solution where the fit has shown it."""
        single = self.coef_.dtype == FLOAT32
        scale = float(np.max(np.abs(evidence.linear), initial=0.0))
        far = float(np.max(self._distance(coef, evidence.corr, self.alpha_), initial=0.0))
        far = max(far, abs(evidence.residual_mean) * np.sqrt(scale))
        null = evidence.target_square / 2
        found = [
            at_most(
                "Each correlation with the residual is a slope of the penalty at its coefficient.",
                "distance to stationarity",
                far / scale if scale > 0 else 0.0,
                max(1.01 * self.tol, 1e-4 if single else 1e-9),
                source=SOURCE,
            ),
            at_most(
                "The objective never rose from one cycle to the next.",
                "largest rise",
                self.largest_rise_,
                1e-12,
                source=SOURCE,
            ),
            at_most(
                "The solution is at least as good as the lasso solution it began from.",
                "objective",
                self._objective(evidence, coef),
                self.start_objective_,
                source=SOURCE,
                tolerance=(1e-5 if single else 1e-10) * null,
            ),
        ]
        if self.locally_convex_ and coef.any():
            found.append(
                at_least(
                    "On its support the problem is strictly convex here: a strict local minimum.",
                    "smallest curvature",
                    self._smallest_curvature(data),
                    0.0,
                    source=SOURCE,
                )
            )
        if not coef.any():
            found.append(critical_certificate(float(np.max(np.abs(evidence.corr), initial=0.0)), self.alpha_))
        return Certificates(found)


def support_gram(block: Block, support: Any) -> Array:
    """Weighted Gram matrix of a few columns and a column of ones, for one block."""
    columns = block.X[:, support]
    columns = columns.toarray() if block.is_sparse else columns
    table = np.column_stack([columns, np.ones(columns.shape[0])]).astype(np.float64)
    weight = block.weights
    return table.T @ (weight[:, None] * table)
