"""Reduced-rank regression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement
from assay.linear.least_squares.certificates import FLOAT32, beside, target_scale
from assay.linear.least_squares.engine import (
    Array,
    CentredTriangle,
    FitEvidence,
    centred_triangle,
    evidence_of_triangle,
)
from assay.linear.least_squares.multivariate import covariance_root, residual_products
from assay.linear.low_rank.certificates import (
    SOURCE,
    convex_certificates,
    level_certificate,
    rank_certificates,
)
from assay.linear.low_rank.solver import (
    LowRank,
    LowRankProblem,
    RankPath,
    by_proximal_gradient,
    by_rank,
    by_splitting,
    critical_alpha,
    rank_path,
)
from assay.linear.predictor import RowRegressor, warn_unfinished
from assay.models.path import HasPenaltyPath
from assay.models.selection import FoldTable
from assay.parameters import Domain
from assay.rows import Rows, alone
from assay.solvers import decomposed
from assay.solvers.rounding import ROUNDINGS

METHODS = ("rank", "nuclear", "row_sparse")
ZERO = 1e-12
"""Share of the largest singular value below which another is rounding."""

SMALL = 2**20
"""Entries of X below which one thread is enough."""

WEIGHTINGS = ("identity", "residual", "canonical")


class ReducedRankRegression(MultiOutputMixin, HasPenaltyPath, RowRegressor):
    """Linear regression of several responses with a matrix of coefficients of low rank.

    Minimises over B of shape (n_features, n_targets), the intercept b free,

        ½ Σ_i s_i ‖Γ^½ (y_i − Bᵀx_i − b)‖²   subject to rank B ≤ k        (method="rank"),
                                             + α ‖B‖_*                    (method="nuclear"),
                                             + α ‖B‖_* + β Σ_j ‖B_j‖      (method="row_sparse").

    The first is not convex and solved exactly, B = B̂ Γ^½ V_k V_kᵀ Γ^−½ with V_k the first right singular
    vectors of X B̂ Γ^½; the second by accelerated proximal gradient, the third by alternating directions,
    all from one QR walk over the rows.

    Assumes: means that are linear in the columns, through few combinations of them (a matrix of low rank).

    Certificates: excess over the least value that any matrix of that rank reaches (Eckart and Young), or
    the relative duality gap and, for the nuclear norm, the spectral norm of the gradient.

    Parameters
    ----------
    rank : int, default=1
        k, for method="rank".
    method : {"rank", "nuclear", "row_sparse"}, default="rank"
    alpha : float, default=1.0
        α, above 0, on the scale of half the sum of squares. From σ₁(XᵀYΓ) on (`critical_alpha_`) B vanishes.
    row_alpha : float, default=1.0
        β, for method="row_sparse".
    axis : {"predictors", "responses"}, default="predictors"
        Whether whole predictors or whole responses are left out by the row penalty.
    weighting : {"identity", "residual", "canonical"}, default="identity"
        Γ: the identity, the inverse covariance of the least-squares residuals, or the inverse covariance of
        the responses, which also stands in for the second where the residuals leave no covariance. With
        method="rank" the last two give one B, from canonical correlations.
    fit_intercept : bool, default=True
    tol : float, default=1e-8
        Duality gap, relative to the objective at zero, at which the convex methods stop.
    max_iter : int, default=10000
    history : bool, default=False
        Whether the duality gaps that were computed on the way are kept in `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_targets, n_features) or (n_features,)
        Bᵀ.
    intercept_ : float or array of shape (n_targets,)
    rank_ : int
        Rank of B.
    left_factor_, right_factor_ : arrays of shape (n_features, rank_), (n_targets, rank_)
        B = left right ᵀ, with orthonormal right columns.
    singular_values_ : array
        Of X B̂ Γ^½ for method="rank" (B̂ least squares, all of them), else of B.
    critical_alpha_ : float
        σ₁(XᵀYΓ).
    selected_ : array of int
        Predictors, or responses for axis="responses", whose coefficients are not all zero.
    weighting_ : str
        The weighting that was used.
    weighting_matrix_ : array of shape (n_targets, n_targets)
        Γ.
    row_dual_ : array of shape (n_features, n_targets)
        Part of the dual point that the row penalty carries; zero for the other methods.
    dual_gap_ : float
        Relative duality gap; for method="rank" the relative excess over the least value.
    certificates_ : Certificates
    n_iter_, converged_, optimality_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import ReducedRankRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5))
    >>> Y = np.outer(X @ [1.0, -1.0, 0.0, 2.0, 0.0], [1.0, 2.0, 3.0]) + rng.standard_normal((100, 3))
    >>> model = ReducedRankRegression(rank=1).fit(X, Y)
    >>> model.rank_, model.certificates_.holds
    (1, True)
    >>> ReducedRankRegression(method="nuclear", alpha=60.0).fit(X, Y).rank_
    1

    References
    ----------
    Wei §1.4.3.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "rank": parameters.integer(at_least=1),
        "method": parameters.one_of(*METHODS),
        "alpha": parameters.real(above=0),
        "row_alpha": parameters.real(at_least=0),
        "axis": parameters.one_of("predictors", "responses"),
        "weighting": parameters.one_of(*WEIGHTINGS),
        "fit_intercept": parameters.boolean,
        "tol": parameters.real(above=0),
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
    }

    def __init__(
        self,
        rank: int = 1,
        *,
        method: str = "rank",
        alpha: float = 1.0,
        row_alpha: float = 1.0,
        axis: str = "predictors",
        weighting: str = "identity",
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 10_000,
        history: bool = False,
    ) -> None:
        self.rank = rank
        self.method = method
        self.alpha = alpha
        self.row_alpha = row_alpha
        self.axis = axis
        self.weighting = weighting
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        d, t = data.shape[1], data.n_targets
        if self.method == "rank" and self.rank > min(d, t):
            raise self._refuse("rank", f"at most {min(d, t)} for {d} predictors and {t} responses")
        known = centred_triangle(data, fit_intercept=self.fit_intercept)
        problem = self._problem(known)
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)
        with watch.run(self.method):
            solution, least = self._solve(problem, lambda coef: watch.iteration(lambda: {"coef_": coef.T}))
        watch.finish()
        self._store(solution, known, data)
        self.weighting_matrix_ = problem.root @ problem.root
        self.critical_alpha_ = critical_alpha(problem)
        coef, intercept = self._columns()
        residual, level = known.y - known.x @ coef, known.intercept(coef) - intercept
        self.certificates_ = self._certificates(
            problem, residual.T @ residual, known.weight * level, known, least
        )
        self.dual_gap_ = self.certificates_[0].value
        self.optimality_ = self.dual_gap_
        if not self.converged_:
            warn_unfinished(self, "iterations", f"it has a relative duality gap of {solution.gap:.2g}")

    def _weighting_root(self, known: CentredTriangle) -> Array:
        """Γ^½; sets `weighting_`."""
        self.weighting_ = self.weighting
        root: Array | None = np.eye(known.y.shape[1])
        total = np.sum(known.y**2, axis=0)
        if self.weighting_ == "residual":
            noise = known.y - decomposed(known.x)[0].project(known.y)
            root = covariance_root(noise.T @ noise / known.weight, -0.5, total / known.weight)
            self.weighting_ = "residual" if root is not None else "canonical"
        if self.weighting_ == "canonical":
            root = covariance_root(known.y.T @ known.y / known.weight, -0.5, total / known.weight)
        if root is None:
            raise self._refuse(
                "weighting",
                f"'identity' for this table: with n_samples={known.weight:g} the covariance of its "
                "responses is singular",
            )
        return root

    def _problem(self, known: CentredTriangle) -> LowRankProblem:
        """The problem on the triangle of the table."""
        root = self._weighting_root(known)
        penalised = self.method != "rank"
        return LowRankProblem(
            known.x,
            known.y,
            root,
            float(self.alpha) if penalised else 0.0,
            float(self.row_alpha) if self.method == "row_sparse" else 0.0,
            self.axis == "responses",
        )

    def _solve(self, problem: LowRankProblem, report: Any) -> tuple[LowRank, Array | None]:
        """The solution and, for a hard rank, the least values that any matrix of each rank reaches."""
        if self.method == "rank":
            solution = by_rank(problem, self.rank)
            self.singular_values_ = solution.singular_values
            return LowRank(solution.coef, np.zeros_like(solution.coef), 0.0, 1, True, []), solution.least
        solver = by_proximal_gradient if self.method == "nuclear" else by_splitting
        solve = partial(solver, problem, tol=self.tol, max_iter=self.max_iter, report=report)
        # Many products of small matrices: threads of the linear algebra would only wait for each other.
        return (alone(solve) if problem.X.size < SMALL else solve()), None

    def _store(self, solution: LowRank, known: CentredTriangle, data: Rows) -> None:
        self._set_coefficients(solution.coef, known.intercept(solution.coef), data)
        left, values, right = np.linalg.svd(solution.coef, full_matrices=False)
        rank = int(np.count_nonzero(values > ZERO * values[0]))
        rank = min(rank, self.rank) if self.method == "rank" else rank
        self.rank_ = rank
        self.left_factor_, self.right_factor_ = left[:, :rank] * values[:rank], right[:rank].T
        if self.method != "rank":
            self.singular_values_ = values
        alive = solution.coef.T if self.axis == "responses" else solution.coef
        self.selected_ = np.flatnonzero(np.any(alive != 0, axis=1))
        self.row_dual_ = solution.row_dual
        self.n_iter_, self.converged_ = max(solution.n_iter, 1), solution.converged
        if self.history:
            self.history_ = np.array(solution.trace)

    def _certificates(
        self,
        problem: LowRankProblem,
        products: Array,
        sums: Array,
        known: CentredTriangle,
        least: Array | None = None,
    ) -> Certificates:
        """Certificates of the coefficients, from Σ s r rᵀ and Σ s r of their residuals."""
        coef, intercept = self._columns()
        single = bool(self.coef_.dtype == FLOAT32)
        measured = float(np.sum(products * (problem.root @ problem.root)))
        evidence = evidence_of_triangle(known, coef, intercept)
        if self.method == "rank":
            least = by_rank(problem, self.rank).least if least is None else least
            lost = self._lost(evidence) * float(np.linalg.norm(problem.root, 2))
            certificates = rank_certificates(problem, coef, self.rank, measured, least, lost, single=single)
        else:
            certificates = convex_certificates(
                problem, coef, self.row_dual_, measured, self.tol, single=single
            )
        if self.fit_intercept:
            scale = target_scale(evidence, self.coef_.dtype)
            certificates.append(level_certificate(sums, known.weight, scale, single=single))
        return Certificates(certificates)

    def _lost(self, evidence: FitEvidence) -> float:
        """The length of the residuals that is rounding of coefficients in the precision of the table."""
        return ROUNDINGS * float(np.finfo(self.coef_.dtype).eps) * float(np.linalg.norm(evidence.size))

    def _certify_rows(self, data: Rows) -> Certificates:
        known = centred_triangle(data, fit_intercept=self.fit_intercept)
        products, sums = data.reduce(residual_products, *self._columns())
        problem = self._problem(known)
        certificates = self._certificates(problem, products, sums, known)
        evidence, gap = evidence_of_triangle(known, *self._columns()), certificates[0].value
        # A gap is a difference of squared residuals, and certain up to their rounding.
        lost = self._lost(evidence) / max(float(np.linalg.norm(problem.Y)), np.finfo(float).tiny)
        return Certificates([*certificates, self._stored_certificate(problem, gap, lost)])

    def _stored_certificate(self, problem: LowRankProblem, gap: float, lost: float) -> Certificate:
        """Factors, singular values, selection, weighting and gap against the coefficients and the rows."""
        coef, _ = self._columns()
        rtol = 1e-3 if self.coef_.dtype == FLOAT32 else 1e-5
        left, right = self.left_factor_, self.right_factor_
        if self.method == "rank":
            values = by_rank(problem, self.rank).singular_values
        else:
            values = np.asarray(np.linalg.svd(coef, compute_uv=False), dtype=np.float64)
        alive = coef.T if self.axis == "responses" else coef
        pairs = {
            "left_factor_ right_factor_ᵀ": (left @ right.T, coef),
            "right_factor_": (right.T @ right, np.eye(self.rank_)),
            "singular_values_": (self.singular_values_, values),
            "selected_": (self.selected_, np.flatnonzero(np.any(alive != 0, axis=1))),
            "weighting_matrix_": (self.weighting_matrix_, problem.root @ problem.root),
            "critical_alpha_": (self.critical_alpha_, critical_alpha(problem)),
            "dual_gap_": beside(self.dual_gap_, gap, gap + lost / rtol),
        }
        if self.method != "row_sparse":
            pairs["row_dual_"] = self.row_dual_, np.zeros_like(coef)
        claim = "What the fit stored of the coefficients and the rows is what they give again."
        return agreement(claim, pairs, SOURCE, rtol=rtol)

    @property
    def _penalty_name(self) -> str:  # type: ignore[override]
        """What is chosen: the rank, or the penalty of the convex methods."""
        return "rank" if self.method == "rank" else "alpha"

    def _path(self, X: Any, y: Any, alphas: Any, sample_weight: Any) -> RankPath:
        data = self._open_training(X, y, sample_weight)
        known = centred_triangle(data, fit_intercept=self.fit_intercept)
        return rank_path(self._problem(known), known, self.method, alphas, self.tol, self.max_iter)

    def _values(self, table: FoldTable, alphas: Any) -> NDArray:
        if self.method == "rank":
            return np.arange(1, min(table.X.shape[1], table.y[0].size) + 1)
        if alphas is None:
            return self.path(table.X, table.y, None, table.weight).alphas
        return super()._values(table, alphas)
