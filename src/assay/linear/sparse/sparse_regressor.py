"""Sparse regression with penalties that stop growing: MCP and SCAD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters, penalties
from assay.certificates import Certificates, at_least, at_most
from assay.linear.least_squares.engine import Array
from assay.linear.sparse.base import SparseModel, last_coef
from assay.linear.sparse.certificates import (
    FLOAT32,
    SparseEvidence,
    critical_certificate,
    measured_pair,
    stored_certificate,
)
from assay.models.selection import FoldTable
from assay.parameters import Domain
from assay.penalties.separable import l1_residual
from assay.rows import Block, Rows
from assay.solvers import SparseProblem, SparseSolutions
from assay.suitability import Suitability

PENALTIES: dict[str, tuple[Any, float, float]] = {
    "mcp": (penalties.MCP, 3.0, 1.0),
    "scad": (penalties.SCAD, 3.7, 2.0),
}
"""Penalty, its γ by default, and what γ must exceed."""

LARGEST_SUPPORT = 500
"""Support beyond which convexity around the solution is not examined."""

MOST_COLUMNS, STRENGTHS_AT_ONCE = 1000, 5
"""Columns in the lasso beyond which the own grid of a choice ends, as few should matter: cycles over more are
long and many where the law is not sparse; and strengths of the lasso between two looks at their number."""

SOURCE = "Zhang (2010); Fan & Li (2001); Breheny & Huang (2011)"


ROUGH = 1e-3
"""Gap of the lasso that only counts its columns."""

STATIONARY = "Each correlation with the residual is a slope of the penalty at its coefficient."
DESCENT = "The objective never rose from one cycle to the next."
BETTER = "The solution is at least as good as the lasso solution it began from."
CONVEX = "On its support the problem is strictly convex here: a strict local minimum."


class SparseRegressor(SparseModel):
    """Least squares with a concave penalty, which selects features without shrinking the large coefficients.

    Minimises (locally) over (w, b)

        (1/2n) Σ_i s_i (y_i − x_iᵀw − b)² + Σ_j ρ(|w_j|; α, γ),        b not penalised,

    with n = Σ s and ρ the minimax concave penalty or SCAD; give it columns of variance near 1, for γ is on
    that scale. Coordinate descent on working sets from the lasso
    solution at the same α; each coordinate is set to its global minimiser, so the objective never rises.
    The own grid of `select` ends where the lasso has more than 1,000 columns.

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
        "alpha": parameters.real(above=0, squared=True),
        "penalty_strength": parameters.nothing | parameters.real(above=0, squared=True),
        "total_penalty_strength": parameters.nothing | parameters.real(above=0, squared=True),
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

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        """Descend from the lasso solution at the same penalty."""
        weight = data.total_weight
        alpha = self._alpha(weight)
        penalty = self._penalty(alpha, data.shape[1])
        lasso, first = self._lasso(data, alpha)
        start = last_coef(first)
        problem = lasso.reshaped(self._penalty(1.0, start.size))
        solutions = self._run(X, y, problem, alpha, history=True, start=start)
        self._store(solutions, alpha, weight, data.dtype)
        self.gamma_ = penalty.gamma
        self.start_objective_ = float(first.loss[-1] + penalty.value(start))
        rise = np.diff(np.concatenate([[self.start_objective_], solutions.history]))
        self.largest_rise_ = max(float(rise.max(initial=0.0)), 0.0) / max(problem.target_square / 2, 1e-300)
        evidence = self._evidence_of(problem, solutions, weight, alpha)
        coef = np.asarray(self.coef_, dtype=np.float64)
        self.objective_ = self._objective(evidence, coef)
        self.locally_convex_ = self._smallest_curvature(data) > 0
        self.certificates_ = self._all_certificates(evidence, coef, data)
        self.optimality_ = self.certificates_[0].value

    def _values(self, table: FoldTable, alphas: Any) -> NDArray:
        """The own grid of a large table ends where the lasso at the same strength has very many columns."""
        grid = super()._values(table, alphas)
        if alphas is not None or min(table.X.shape) <= MOST_COLUMNS:
            return grid
        problem = self._table_problem(table).reshaped(penalties.L1(1.0))
        start: Array | None = None
        for first in range(0, grid.size, STRENGTHS_AT_ONCE):
            piece = grid[first : first + STRENGTHS_AT_ONCE]
            start = last_coef(problem.solve(piece, tol=ROUGH, max_iter=self.max_iter, start=start))
            if np.count_nonzero(start) > MOST_COLUMNS:
                return grid[: first + piece.size]
        return grid

    def _lasso(self, data: Rows, alpha: float) -> tuple[SparseProblem, SparseSolutions]:
        """The lasso at the same penalty, where the descent starts."""
        problem = self._problem(data, penalty=penalties.L1(1.0))
        return problem, problem.solve(np.array([alpha]), tol=self.tol, max_iter=self.max_iter)

    def _certify_rows(self, data: Rows) -> Certificates:
        evidence, coef = self._measured(data)
        penalty = self._penalty(self.alpha_, coef.size)
        _, first = self._lasso(data, self.alpha_)
        start = float(first.loss[-1] + penalty.value(last_coef(first)))
        null = evidence.target_square or 1.0
        objectives = (self.objective_, self._objective(evidence, coef)), (self.start_objective_, start)
        room = evidence.lost(self.coef_.dtype) * evidence.size / null
        measured = (measured_pair(old / null, new / null, evidence, room) for old, new in objectives)
        pairs = {"gamma_": (self.gamma_, penalty.gamma)}
        pairs |= dict(zip(("objective_", "start_objective_"), measured, strict=True))
        stored = stored_certificate(self, data.total_weight, pairs)
        return Certificates([*self._all_certificates(evidence, coef, data), stored])

    def _penalty(self, alpha: float, n_features: int) -> Any:
        kind, default, least = PENALTIES[self.penalty]
        gamma = default if self.gamma is None else float(self.gamma)
        if gamma <= least:
            raise self._refuse("gamma", f"above {least:g} with penalty={self.penalty!r}")
        return kind(alpha, gamma)

    def _distance(self, coef: Array, corr: Array, alpha: float) -> Array:
        slope = self._penalty(alpha, coef.size)._slope(np.abs(coef))
        return np.asarray(l1_residual(coef, corr, slope))

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
        size, alpha, penalty = np.abs(coef[support]), self.alpha_, self._penalty(self.alpha_, coef.size)
        bends = (size <= penalty.gamma * alpha) & ((self.penalty == "mcp") | (size >= alpha))
        bend = np.where(bends, penalty.weak_convexity, 0.0)
        return float(np.linalg.eigvalsh(second - np.diag(bend))[0])

    def _all_certificates(self, evidence: SparseEvidence, coef: Array, data: Rows) -> Certificates:
        """Stationarity, descent, and convexity around the solution where the fit has shown it."""
        single = self.coef_.dtype == FLOAT32
        scale = float(np.max(np.abs(evidence.linear), initial=0.0))
        far = float(np.max(self._distance(coef, evidence.corr, self.alpha_), initial=0.0))
        far = max(far, abs(evidence.residual_mean) * float(evidence.norms.max(initial=0.0)))
        null = evidence.target_square / 2
        share, bound = far / scale if scale > 0 else 0.0, max(1.01 * self.tol, 1e-4 if single else 1e-9)
        lost = evidence.lost(self.coef_.dtype) * float(evidence.norms.max(initial=0.0))
        bound += lost / scale if scale > 0 else 0.0
        loss, rounding = self._objective(evidence, coef), (1e-5 if single else 1e-10) * null
        certificates = [
            at_most(STATIONARY, "distance to stationarity", share, bound, SOURCE),
            at_most(DESCENT, "largest rise", self.largest_rise_, 1e-12, SOURCE),
            at_most(BETTER, "objective", loss, self.start_objective_, SOURCE, tolerance=rounding),
        ]
        if self.locally_convex_ and coef.any():
            smallest = self._smallest_curvature(data)
            certificates.append(at_least(CONVEX, "smallest curvature", smallest, 0.0, SOURCE))
        if not coef.any():
            critical = float(np.max(np.abs(evidence.corr), initial=0.0))
            certificates.append(critical_certificate(critical, self.alpha_))
        return Certificates(certificates)


def support_gram(block: Block, support: Any) -> Array:
    """Weighted Gram matrix of a few columns and a column of ones, for one block."""
    columns = block.X[:, support]
    columns = columns.toarray() if block.is_sparse else columns
    table = np.column_stack([columns, np.ones(columns.shape[0])]).astype(np.float64)
    weight = block.weights
    return table.T @ (weight[:, None] * table)
