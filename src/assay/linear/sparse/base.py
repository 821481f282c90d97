"""What linear models with a sparse penalty share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay import parameters
from assay.certificates import Certificates
from assay.linear.least_squares.engine import Array
from assay.linear.predictor import RowRegressor, in_precision, warn_unfinished
from assay.linear.sparse.certificates import (
    SparseEvidence,
    critical_certificate,
    gap_certificate,
    kkt_certificate,
    measured_pair,
    relative_gap,
    rounding_of,
    sparse_evidence,
    stored_certificate,
)
from assay.models.path import HasPenaltyPath, PenaltyPath, penalty_grid
from assay.models.selection import FoldTable, checked_alphas
from assay.parameters import Domain
from assay.penalties.coordinates import coordinate_form
from assay.rows import MemoryRows, Rows
from assay.solvers import SparseProblem, SparseSolutions, moments

LARGEST_GRAM = 8192
"""Columns of a table outside memory beyond which it is refused."""

LARGE_SIDE = 500
"""Rows and columns from which on the rich half of a grid is only tried where the loss still falls."""

SCALED_ROUNDS = 50
"""Most rounds towards the noise of the scaled lasso."""

FEATURE_WEIGHTS = Domain(
    "None or an array of non-negative numbers, one per feature (inf excludes it)",
    lambda value: value is None or _is_weights(value),
)


def _is_weights(value: Any) -> bool:
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return False
    try:
        weights = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return False
    return weights.ndim == 1 and bool(np.all(weights >= 0))


@dataclass(frozen=True, eq=False)
class SparsePath(PenaltyPath):
    """Solutions along a grid of penalties.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties in scikit-learn's parametrisation, decreasing.
    coef : array or CSR array of shape (n_alphas, n_features)
        CSR where an array would be large.
    intercept : array of shape (n_alphas,)
    dual_gap : array of shape (n_alphas,)
        Relative duality gap (distance to stationarity where the penalty is not convex).
    training_error : array of shape (n_alphas,)
        Mean squared residual.
    n_iter, converged : arrays of shape (n_alphas,)
    """

    dual_gap: Array
    training_error: Array
    n_iter: NDArray
    converged: NDArray

    @property
    def penalty_strengths(self) -> Array:
        """The penalties on the scale of the mean of squares, 2α."""
        return 2 * np.asarray(self.alphas)


class SparseModel(HasPenaltyPath, RowRegressor):
    """A prediction x ↦ w·x + b whose penalty sets coefficients to zero.

    A subclass gives its penalty (`_penalty`) and the distance of correlations to its subdifferential
    (`_distance`).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "alpha": parameters.real(at_least=0, squared=True),
        "penalty_strength": parameters.nothing | parameters.real(at_least=0, squared=True),
        "total_penalty_strength": parameters.nothing | parameters.real(at_least=0, squared=True),
        "fit_intercept": parameters.boolean,
        "tol": parameters.real(above=0),
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
    }
    _rules = ("min", "one_se", "oracle", "aic", "bic")
    _theory = ("noise_std",)
    alpha: float
    penalty_strength: float | None
    total_penalty_strength: float | None
    fit_intercept: bool
    tol: float
    max_iter: int
    history: bool

    def _free(self, n_features: int) -> NDArray:
        """Features without a penalty."""
        return np.empty(0, dtype=np.intp)

    @abstractmethod
    def _penalty(self, alpha: float, n_features: int) -> Any:
        """The penalty at a strength, an object of `assay.penalties`."""

    @abstractmethod
    def _distance(self, coef: Array, corr: Array, alpha: float) -> Array:
        """Distance of each correlation to the subdifferential."""

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a CSR array of one row."""
        return sparse.csr_array(self.coef_[None])

    def _alpha(self, total_weight: float) -> float:
        """The penalty in scikit-learn's parametrisation, whichever was given."""
        if self.penalty_strength is not None:
            return float(self.penalty_strength) / 2
        if self.total_penalty_strength is not None:
            return float(self.total_penalty_strength) / (2 * total_weight)
        return float(self.alpha)

    def _open_training(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        return self._open_vector(X, y, sample_weight)

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        weight = data.total_weight
        alpha = self._alpha(weight)
        problem = self._problem(data)
        solutions = self._run(X, y, problem, alpha, history=self.history)
        self._store(solutions, alpha, weight, data.dtype)
        if self._free(data.shape[1]).size:
            evidence, _ = self._measured(data)
        else:
            evidence = self._evidence_of(problem, solutions, weight, alpha)
        self.certificates_ = self._certificates(evidence, np.asarray(self.coef_, dtype=np.float64))
        self.dual_gap_ = self.certificates_[0].value
        self.optimality_ = self.certificates_[1].value

    def _certify_rows(self, data: Rows) -> Certificates:
        evidence, coef = self._measured(data)
        certificates = self._certificates(evidence, coef)
        room = rounding_of(evidence, self.alpha_, self.coef_.dtype)
        gap = {"dual_gap_": measured_pair(self.dual_gap_, certificates[0].value, evidence, room)}
        return Certificates([*certificates, stored_certificate(self, data.total_weight, gap)])

    def _problem(self, data: Rows, *, penalty: Any = None, n_strengths: int = 1) -> SparseProblem:
        """The problem on a table, with the strength of the penalty left open."""
        unit = self._penalty(1.0, data.shape[1]) if penalty is None else penalty
        if isinstance(data, MemoryRows):
            options: dict[str, Any] = {"center": self.fit_intercept, "n_strengths": n_strengths}
            return SparseProblem(data.X, data.y, data.weight, unit, **options)
        if data.shape[1] > LARGEST_GRAM:
            raise ValueError(
                f"A table of {data.shape[1]} columns outside memory is too wide for {type(self).__name__}, "
                f"which needs the products of all pairs of its columns (at most {LARGEST_GRAM}); read it "
                "into memory as a sparse matrix or select columns first."
            )
        return SparseProblem(moments(data, center=self.fit_intercept), None, None, unit)

    def _run(
        self, X: Any, y: Any, problem: SparseProblem, alpha: float, *, history: bool, start: Any = None
    ) -> SparseSolutions:
        """Solve one strength, callbacks looking on."""
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)

        def report(coef: Array, intercept: float) -> bool:
            return watch.iteration(lambda: {"coef_": coef, "intercept_": intercept})

        with watch.run("coordinate descent"):
            rule: Any = {"tol": self.tol, "max_iter": self.max_iter, "history": history, "watch": report}
            solutions = problem.solve(np.array([alpha]), start=start, **rule)
        watch.finish()
        return solutions

    def _store(self, solutions: SparseSolutions, alpha: float, weight: float, dtype: np.dtype) -> None:
        """Turn a solution into attributes, in the precision of the table."""
        level = solutions.intercept[-1] if self.fit_intercept else 0.0
        self.coef_, intercept = in_precision(self, dtype, last_coef(solutions), level)
        self.intercept_ = intercept[()]
        self.n_iter_, self.converged_ = int(solutions.n_iter[-1]), bool(solutions.converged[-1])
        self.alpha_, self.penalty_strength_ = alpha, 2 * alpha
        self.total_penalty_strength_, self.total_weight_ = 2 * weight * alpha, weight
        if self.history:
            self.history_ = solutions.history
        if not self.converged_:
            warn_unfinished(self, "cycles")

    def _evidence_of(
        self, problem: SparseProblem, solutions: SparseSolutions, weight: float, alpha: float
    ) -> SparseEvidence:
        """Evidence from the last look of the solver at all columns."""
        coef, corr = last_coef(solutions), solutions.correlation
        far = np.flatnonzero(self._distance(coef, corr, alpha))
        norms = np.zeros(coef.size)
        norms[far] = problem.norms(far)
        square, target = 2 * float(solutions.loss[-1]), problem.target_square
        support = np.flatnonzero(coef)
        size = float(problem.norms(support) @ np.abs(coef[support]) + np.sqrt(target))
        return SparseEvidence(weight, corr, 0.0, square, square, target, norms, problem.linear, size)

    def _certificates(self, evidence: SparseEvidence, coef: Array) -> Certificates:
        """Gap, KKT residual and, for a solution of zero, the critical strength."""
        dtype, penalty = self.coef_.dtype, self._penalty(self.alpha_, coef.size)
        certificates = [
            gap_certificate(evidence, relative_gap(evidence, coef, penalty), self.alpha_, self.tol, dtype),
            kkt_certificate(evidence, self._distance(coef, evidence.corr, self.alpha_), self.tol, dtype),
        ]
        if not coef.any():
            critical = float(penalty.critical_strength(evidence.corr))
            certificates.append(critical_certificate(critical, self.alpha_))
        return Certificates(certificates)

    def _measured(self, data: Rows) -> tuple[SparseEvidence, Array]:
        """Evidence of the fitted attributes on given rows, by one walk, and the coefficients."""
        coef = np.asarray(self.coef_, dtype=np.float64)
        free = self._free(coef.size) if self.alpha_ > 0 else np.empty(0, dtype=np.intp)
        evidence = sparse_evidence(data, coef, float(self.intercept_), center=self.fit_intercept, free=free)
        return evidence, coef

    def _path(
        self, X: Any, y: Any, alphas: Any, sample_weight: Any, *, n_alphas: int = 100, eps: float = 1e-2
    ) -> SparsePath:
        owner = f"{type(self).__name__}.path"
        data = self._open_training(X, y, sample_weight)
        problem = self._problem(data, n_strengths=n_alphas if alphas is None else np.size(alphas))
        if alphas is None:
            grid = penalty_grid(problem.critical_strength(), n_alphas, eps, owner)
        else:
            grid = checked_alphas(alphas, owner)
        solved = problem.solve(grid, tol=self.tol, max_iter=self.max_iter)
        coef = solved.coef.astype(data.dtype, copy=False)
        level = solved.intercept if self.fit_intercept else np.zeros(grid.size)
        ends = solved.relative_gap, 2 * solved.loss, solved.n_iter, solved.converged
        return SparsePath(grid, coef, level, *ends)

    def _table_problem(self, table: FoldTable) -> SparseProblem:
        return self._problem(MemoryRows(table.X, table.y.reshape(-1), table.weight))

    def _n_first(self, table: FoldTable, grid: NDArray, alphas: Any) -> int:
        """Half of the own grid for a large table: models of nearly as many columns as rows cost most."""
        return grid.size // 2 if alphas is None and min(table.X.shape) >= LARGE_SIDE else grid.size

    def _values(self, table: FoldTable, alphas: Any) -> NDArray:
        if alphas is not None:
            return super()._values(table, alphas)
        critical, reach = self._table_problem(table).critical_strength(), 1e-3
        share = 1.0 - getattr(self, "l1_ratio", 1.0)
        if share > 0:
            # A squared norm shrinks nothing once it is small beside the spread of the columns, whose unit is
            # not that of the target; with more columns than rows it is what makes the fit unique.
            reach, (n_rows, n_columns) = 1e-4, table.X.shape
            if n_rows > n_columns and 0 < critical < np.inf:
                reach = max(min(reach, 1e-3 * mean_spread(table.X) / (share * critical)), 1e-9)
        return penalty_grid(critical, 100, reach, f"{type(self).__name__}.select")

    def _errors_and_df(self, table: FoldTable, grid: Array) -> tuple[Array, Array]:
        path = self.path(table.X, table.y, grid, table.weight)
        coef = path.coef if isinstance(path.coef, np.ndarray) else path.coef.toarray()
        freedom = [self._degrees_of_freedom(table, row, alpha) for row, alpha in zip(coef, grid, strict=True)]
        return path.training_error, np.array(freedom) + self.fit_intercept

    def _oracle(self, table: FoldTable, best: float, noise_std: float | None = None) -> float:
        """σ √(2 log d / n) times the largest root mean square of a column over the slope of its penalty.

        With Gaussian noise of deviation σ the correlations of the columns with the noise stay below it with
        probability tending to one, so that noise alone lets no feature in. Where σ is not given it is the
        fixed point σ² = ‖y − Xw(α)‖²/n of the scaled lasso.
        """
        n, d = table.total_weight, table.X.shape[1]
        problem = self._table_problem(table)
        scale = self._largest_norm(problem, d) * np.sqrt(2 * np.log(max(d, 2)) / n)
        if not 0 < scale < np.inf:
            owner = f"{type(self).__name__}.select"
            raise parameters.refusal(owner, "rule", "another one without an l1 penalty", "oracle")
        if noise_std is not None:
            return noise_std * scale
        noise, coef = float(np.sqrt(problem.target_square)), None
        for _ in range(SCALED_ROUNDS):
            solved = problem.solve(
                np.array([noise * scale]), tol=self.tol, max_iter=self.max_iter, start=coef
            )
            before, noise = noise, float(np.sqrt(2 * solved.loss[-1]))
            coef = solved.coef[-1] if isinstance(solved.coef, np.ndarray) else None
            if noise == 0 or abs(noise - before) <= 1e-6 * before:
                break
        return max(noise, np.finfo(np.float64).eps) * scale

    def _degrees_of_freedom(self, table: FoldTable, coef: Array, alpha: float) -> float:
        """Number of non-zero coefficients: an unbiased estimate for the lasso."""
        return float(np.count_nonzero(coef))

    def _largest_norm(self, problem: Any, n_features: int) -> float:
        """Largest root mean square of a penalised column, over the slope of its penalty at strength 1."""
        slope = coordinate_form(self._penalty(1.0, n_features), n_features).slope
        penalised = np.flatnonzero((slope > 0) & np.isfinite(slope))
        return float(np.max(problem.norms(penalised) / slope[penalised], initial=0.0))


def last_coef(solutions: SparseSolutions) -> Array:
    """Coefficients at the last strength, as an array."""
    coef = solutions.coef
    return np.asarray(coef[-1] if isinstance(coef, np.ndarray) else coef[[-1]].toarray()[0])


def mean_spread(X: Any) -> float:
    """Variance of the columns, on average."""
    if not hasattr(X, "tocsr"):
        return float(np.var(X, axis=0, dtype=np.float64).mean())
    return float((X.multiply(X).mean(axis=0) - np.square(X.mean(axis=0))).mean())
