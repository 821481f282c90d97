"""What linear models with a sparse penalty share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay import parameters
from assay.certificates import Certificates
from assay.linear.least_squares.engine import Array
from assay.linear.predictor import RowRegressor
from assay.linear.sparse.certificates import (
    SparseEvidence,
    critical_certificate,
    gap_certificate,
    kkt_certificate,
    relative_gap,
    sparse_evidence,
)
from assay.linear.sparse.path import SparsePath, sparse_candidates, sparse_model_path
from assay.models import convergence
from assay.models.selection import FoldTable, Selection, select_parameter
from assay.parameters import Domain
from assay.penalties.coordinates import coordinate_form
from assay.rows import MemoryRows, Rows
from assay.solvers import SparseProblem, SparseSolutions, moments

LARGEST_GRAM = 8192
"""Columns of a table outside memory beyond which it is refused."""

FEATURE_WEIGHTS = Domain(
    "None or an array of non-negative numbers, one per feature (inf excludes it)",
    lambda value: value is None or _is_weights(value),
)


def _is_weights(value: Any) -> bool:
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return False
    try:
        weights = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return weights.ndim == 1 and bool(np.all(weights >= 0))


class SparseModel(RowRegressor):
    """A prediction x ↦ w·x + b whose penalty sets coefficients to zero.

    A subclass gives its penalty (`_penalty`) and the distance of correlations to its subdifferential
    (`_distance`).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "alpha": parameters.real(at_least=0),
        "penalty_strength": parameters.nothing | parameters.real(at_least=0),
        "total_penalty_strength": parameters.nothing | parameters.real(at_least=0),
        "fit_intercept": parameters.boolean,
        "tol": parameters.real(above=0),
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
    }
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
        solutions = self._run(X, y, problem, alpha)
        self._store(solutions, alpha, weight, data.dtype)
        if self._free(data.shape[1]).size:
            evidence, _ = self._measured(data)
        else:
            evidence = self._evidence_of(problem, solutions, weight, alpha)
        self.certificates_ = self._certificates(evidence, np.asarray(self.coef_, dtype=np.float64))
        self.dual_gap_ = self.certificates_[0].value
        self.optimality_ = self.certificates_[1].value

    def _certify_rows(self, data: Rows) -> Certificates:
        return self._certificates(*self._measured(data))

    def _problem(self, data: Rows, *, penalty: Any = None, n_strengths: int = 1) -> SparseProblem:
        """The problem on a table, with the strength of the penalty left open."""
        unit = self._penalty(1.0, data.shape[1]) if penalty is None else penalty
        if isinstance(data, MemoryRows):
            options: dict[str, Any] = {"center": self.fit_intercept, "n_strengths": n_strengths}
            return SparseProblem(data.X, data.y, data.weight, unit, **options)
        return SparseProblem(self._external_moments(data), None, None, unit)

    def _external_moments(self, data: Rows) -> Any:
        d = data.shape[1]
        if d > LARGEST_GRAM:
            raise ValueError(
                f"A table of {d} columns outside memory is too wide for {type(self).__name__}, which needs "
                f"the products of all pairs of its columns (at most {LARGEST_GRAM}); read it into memory as "
                "a sparse matrix or select columns first."
            )
        return moments(data, center=self.fit_intercept)

    def _run(
        self, X: Any, y: Any, problem: SparseProblem, alpha: float, start: Any = None
    ) -> SparseSolutions:
        """Solve one strength, callbacks looking on."""
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)

        def report(coef: Array, intercept: float) -> bool:
            return watch.iteration(lambda: {"coef_": coef, "intercept_": intercept})

        with watch.run("coordinate descent"):
            solutions = problem.solve(
                np.array([alpha]),
                tol=self.tol,
                max_iter=self.max_iter,
                start=start,
                history=self._keeps_trace(),
                watch=report,
            )
        watch.finish()
        return solutions

    def _keeps_trace(self) -> bool:
        return self.history

    def _store(self, solutions: SparseSolutions, alpha: float, weight: float, dtype: np.dtype) -> None:
        """Turn a solution into attributes, in the precision of the table."""
        self.coef_ = last_coef(solutions).astype(dtype)
        self.intercept_ = dtype.type(solutions.intercept[-1] if self.fit_intercept else 0)
        self.n_iter_ = int(solutions.n_iter[-1])
        self.converged_ = bool(solutions.converged[-1])
        self.alpha_ = alpha
        self.penalty_strength_ = 2 * alpha
        self.total_penalty_strength_ = 2 * weight * alpha
        self.total_weight_ = weight
        if self.history:
            self.history_ = solutions.history
        if not self.converged_:
            convergence.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} cycles before reaching tol; its "
                "certificates say how far it is. Increase max_iter."
            )

    def _evidence_of(
        self, problem: SparseProblem, solutions: SparseSolutions, weight: float, alpha: float
    ) -> SparseEvidence:
        """Evidence from the last look of the solver at all columns."""
        coef, corr = last_coef(solutions), solutions.correlation
        far = np.flatnonzero(self._distance(coef, corr, alpha))
        norms = np.zeros(coef.size)
        norms[far] = problem.norms(far)
        square = 2 * float(solutions.loss[-1])
        return SparseEvidence(weight, corr, 0.0, square, square, problem.target_square, norms, problem.linear)

    def _certificates(self, evidence: SparseEvidence, coef: Array) -> Certificates:
        """Gap, KKT residual and, for a solution of zero, the critical strength."""
        dtype, penalty = self.coef_.dtype, self._penalty(self.alpha_, coef.size)
        certificates = [
            gap_certificate(relative_gap(evidence, coef, penalty), self.tol, dtype),
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

    def path(
        self,
        X: Any,
        y: Any = None,
        alphas: Any = None,
        *,
        n_alphas: int = 100,
        eps: float = 1e-2,
        sample_weight: Any = None,
    ) -> SparsePath:
        """Solutions along a grid of penalties, each proved by its duality gap.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`; needs no earlier fit.
        alphas : array-like of positive numbers, optional
            Penalties in the parametrisation of `alpha`; by default a geometric grid of `n_alphas` from the
            smallest penalty that gives zero down to `eps` times that.
        n_alphas, eps
            Size and depth of the default grid.

        Returns
        -------
        path : SparsePath
        """
        probe = type(self)(**self.get_params())
        data = probe._open_vector(X, y, sample_weight)
        return sparse_model_path(probe, data, alphas, n_alphas, eps)

    def select(
        self,
        X: Any,
        y: Any = None,
        *,
        rule: str = "min",
        alphas: Any = None,
        cv: Any = 5,
        sample_weight: Any = None,
        random_state: Any = None,
        noise_std: float | None = None,
    ) -> Selection:
        """Choose the penalty by validation, by an information criterion or by theory, and refit.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`, in memory; needs no earlier fit.
        rule : {"min", "one_se", "oracle", "aic", "bic"}, default="min"
            Least validation loss; the strongest penalty within one paired standard error of it; the universal
            penalty σ √(2 log d / n) · max_j ‖x_j‖/√n (the curve is shown beside it); n log(RSS/n) + c·df with
            c = 2 or log n.
        alphas : array-like of positive numbers, optional
            The grid; that of `path` by default.
        cv : int, "split" or splitter, default=5
            Number of folds, one split that holds out a quarter, or a scikit-learn splitter.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Shuffles the rows before they are cut into folds; None cuts them in their order.
        noise_std : float, optional
            σ, where it is known; otherwise estimated (oracle) or profiled out (aic, bic).

        Returns
        -------
        selection : Selection
        """

        def refit(alpha: float) -> Any:
            return self._at(alpha).fit(X, y, sample_weight=sample_weight)

        return select_parameter(
            self,
            X,
            y,
            sparse_candidates(type(self)(**self.get_params()), refit, noise_std),
            rule=rule,
            values=alphas,
            cv=cv,
            sample_weight=sample_weight,
            random_state=random_state,
        )

    def _at(self, alpha: float) -> Any:
        """The same model at another penalty, not fitted."""
        other = {"alpha": alpha, "penalty_strength": None, "total_penalty_strength": None}
        return type(self)(**{**self.get_params(), **other})

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
