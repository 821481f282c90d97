"""What likelihood models offer beside their fit: paths over penalties, the choice of one, and inference."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay.base import Watch
from assay.linear.likelihood.inference import LikelihoodInference, likelihood_inference
from assay.linear.predictor import LinearPredictor
from assay.models import convergence
from assay.models.inference import parameter_names
from assay.models.path import HasPenaltyPath, PenaltyPath, penalty_grid
from assay.models.selection import FoldTable, checked_alphas
from assay.solvers import RowRisk, SmoothFit, narrowed, row_duality_gap

Array = NDArray[np.float64]
LEAST_L1 = 1e-3
"""The share of an l1 norm that a squared norm is taken for, to begin its grid."""

FOLD_TOL = 1e-6
"""Tolerance of the fits of folds, which are compared by losses that differ by far more."""


@dataclass(frozen=True, eq=False)
class LikelihoodPath(PenaltyPath):
    """Penalised fits along a grid of strengths.

    Attributes
    ----------
    alphas : array of shape (n_strengths,)
        λ, on the scale of the mean, decreasing; also as `penalty_strengths`.
    coef : array of shape (n_strengths, n_scores, n_features)
    intercept : array of shape (n_strengths, n_scores)
    C : array of shape (n_strengths,)
        1/(λ n).
    risk : array of shape (n_strengths,)
        Mean loss, without the penalty.
    dual_gap : array of shape (n_strengths,)
        Duality gap relative to the risk without features; NaN where the loss has no dual.
    degrees_of_freedom : array of shape (n_strengths,)
        Non-zero coefficients with an l1 norm, tr H(H + λ)⁻¹ with a squared norm alone; with the intercepts.
    n_iter, converged : arrays of shape (n_strengths,)
    """

    C: Array
    risk: Array
    dual_gap: Array
    degrees_of_freedom: Array
    n_iter: NDArray
    converged: NDArray

    @property
    def penalty_strengths(self) -> Array:
        """λ, on the scale of the mean."""
        return np.asarray(self.alphas)

    def scores(self, X: Any) -> Array:
        """Scores of every model, shape (n_samples, n_strengths, n_scores)."""
        return self.predict(X)


class LikelihoodModel(HasPenaltyPath, LinearPredictor):
    """A model that maximises a likelihood, less a squared norm and an l1 norm where they are wanted."""

    _rules = ("min", "one_se", "aic", "bic")
    _known_noise = 1.0
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    total_weight_: float
    log_likelihood_: float | None
    null_log_likelihood_: float | None
    optimality_: float | None  # type: ignore[assignment]
    n_iter_: int
    converged_: bool
    solver_: str
    information_: NDArray | None
    center_: NDArray

    @property
    def _stop(self) -> dict[str, Any]:
        """Solver and stopping rule of a fit."""
        return {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter}

    @abstractmethod
    def _attributes(self, risk: RowRisk, point: Array) -> dict[str, Any]:
        """Coefficients and intercepts at a point of the objective."""

    def _report(self, watch: Watch, risk: RowRisk, point: Array) -> bool:
        """Tell the callbacks of a point; true where they ask to stop."""
        return watch.iteration(lambda: self._attributes(risk, point))

    def _warn_unless_converged(self, remedy: str) -> None:
        """One sentence of where and why the iterations ended, if not by `tol`."""
        if self.converged_:
            return
        where = f"stopped after {self.n_iter_} iterations of {self.solver_} before reaching tol"
        if self.n_iter_ >= self.max_iter:
            words = f"{where}, which is max_iter; its certificates say how far it is. Increase max_iter"
        else:
            words = (
                f"{where}: rounding hides any further progress, or a callback asked to stop; its "
                "certificates say how far it is. Divide the columns by their scale"
            )
        convergence.warn(f"{type(self).__name__} {words}{remedy}.")

    def _fold(self, evidence: bool) -> Self:
        """A model for a fold, a looser one where its fits need no evidence."""
        return self._with(tol=self.tol if evidence else max(self.tol, FOLD_TOL))

    @abstractmethod
    def _fold_path(self, table: FoldTable, strengths: Any, evidence: bool = True) -> LikelihoodPath:
        """A path on a table; without `evidence`, a looser one without gaps and degrees of freedom."""

    def _values(self, table: FoldTable, alphas: Any) -> NDArray:
        if alphas is None:
            return self._fold_path(table, None, evidence=False).penalty_strengths
        return super()._values(table, alphas)

    def _along(self, table: FoldTable, grid: Array, share: float) -> Callable[[Any], Array]:
        return self._fold_path(table, grid, evidence=False).scores

    def _errors_and_df(self, table: FoldTable, grid: Array) -> tuple[Array, Array]:
        path = self._fold_path(table, grid)
        return 2 * path.risk, path.degrees_of_freedom

    def inference(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        covariance: str = "classical",
        **known: Any,
    ) -> LikelihoodInference:
        """Standard errors, tests and intervals of the coefficients of an unpenalised fit.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit; needed by robust covariances only.
        covariance : {"classical", "HC0", "HC1"}, default="classical"
            "classical" is the inverse of the information, times φ where the dispersion is free; "HC0" the
            sandwich H⁻¹ (Σ s g gᵀ) H⁻¹ of the scores g of the rows, which holds for a wrong model too; "HC1"
            multiplies it by n/(n − p). A weight s counts s rows, as everywhere, and a share y of weight s
            counts s y rows of target 1 and s (1 − y) of target 0: grouped trials give what the trials give.
        known : array-like of shape (n_samples,), optional
            `offset`, and `exposure` of `GeneralizedLinear`, as in `fit`.

        Returns
        -------
        inference : LikelihoodInference

        Examples
        --------
        >>> from assay.datasets import breast_cancer
        >>> from assay.linear import LogisticRegression
        >>> X, y = breast_cancer(return_X_y=True)
        >>> model = LogisticRegression(C=float("inf")).fit(X[:, :2], y)
        >>> model.inference().zvalues.round(2)
        array([ 11.19, -10.42,  -5.89])
        """
        check_is_fitted(self)
        self._require_plain()
        risk = None if X is None else self._fitted_problem(X, y, sample_weight, **known)
        return likelihood_inference(self, risk, covariance)

    def _deviances(self) -> tuple[float, float]:
        """Deviance of the fit and of a constant, up to the same number."""
        assert self.log_likelihood_ is not None
        assert self.null_log_likelihood_ is not None
        return -2 * self.log_likelihood_, -2 * self.null_log_likelihood_

    @abstractmethod
    def _require_plain(self) -> None:
        """Refuse fits that have no standard errors."""

    @abstractmethod
    def _fitted_problem(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> RowRisk:
        """The problem of the fit on its rows, given again."""

    @abstractmethod
    def _fitted_scores(self) -> tuple[Array, Array]:
        """Free coefficients (d, k) and intercepts (k,) in float64."""

    def _point(self, risk: RowRisk) -> Array:
        """The fitted attributes as a point of the objective."""
        return risk.join_point(*self._fitted_scores())

    def _parameter_names(self) -> tuple[str, ...]:
        return parameter_names(self)


def strength_grid(
    risk: RowRisk,
    null: Array,
    strengths: Any,
    owner: str,
    l1_ratio: float = 0.0,
    *,
    n_strengths: int = 50,
    eps: float = 1e-3,
) -> tuple[Array, float]:
    """Given strengths, or a grid down from where the model `null` without features is best; and its risk.

    A squared norm alone never leaves it exactly: its grid begins as if it were a little l1, and is longer.
    """
    d = risk.data.shape[1]
    first = risk.with_alpha(np.zeros(d)).measure(null)
    if strengths is not None:
        return checked_alphas(strengths, owner), first.risk
    steepest = float(np.abs(first.gradient[:d]).max(initial=0.0)) / max(l1_ratio, LEAST_L1)
    depth = LEAST_L1 if l1_ratio < LEAST_L1 else 1.0
    return penalty_grid(steepest, n_strengths, eps, owner, name="n_strengths", depth=depth), first.risk


def likelihood_path(
    risk: RowRisk,
    grid: Array,
    solve: Callable[[RowRisk, Array, Array | None], SmoothFit],
    null_risk: float,
    *,
    l1_ratio: float = 0.0,
    evidence: bool = True,
) -> LikelihoodPath:
    """Fit at every strength of a grid, each from the solution of the one before.

    Without `evidence`, duality gaps and degrees of freedom are NaN: they cost as much as the fits of a fold.
    """
    d = risk.data.shape[1]
    if l1_ratio == 0.0:
        risk = risk.with_alpha(np.ones(d))
        narrowed(risk)  # finds the span of few rows, which all strengths share
    rows: list[tuple[Any, ...]] = []
    point: Array | None = None
    for strength in grid:
        here = risk.with_alpha(np.full(d, strength * (1 - l1_ratio)))
        l1 = np.full(d, strength * l1_ratio)
        fit = solve(here, l1, point)
        point, measured = fit.point, fit.measured
        gap = freedom = np.nan
        if evidence and here.loss.n_groups > 0:
            split = measured.split or here.measure(point, split=True).split
            gap = row_duality_gap(here, point, measured, split, l1=l1 if l1_ratio > 0 else None) / null_risk
        coef, intercept = here.split_point(point)
        if evidence:
            freedom = _degrees_of_freedom(here, point, coef, l1_ratio)
        rows.append((coef.T, intercept, measured.risk, gap, freedom, fit.n_iter, fit.converged))
    coef, intercept, *rest = (np.array(column) for column in zip(*rows, strict=True))
    return LikelihoodPath(grid, coef, intercept, 1 / (grid * risk.weight), *rest)


def _degrees_of_freedom(risk: RowRisk, point: Array, coef: Array, l1_ratio: float) -> float:
    if l1_ratio > 0:
        return float(np.count_nonzero(coef) + risk.fit_intercept * (coef.shape[1] - risk.loss.symmetric))
    if (narrow := narrowed(risk)) is not None:  # no freedom outside of the span of the rows
        risk, point = narrow.risk, narrow.narrow(point)
    hessian = risk.measure(point, hessian=True).hessian
    assert hessian is not None
    ridge = np.tile(risk.ridge[:, 0], risk.shape[1])
    kept = float(np.trace(np.linalg.solve(hessian, hessian - np.diag(ridge))))
    return kept - float(risk.loss.symmetric and risk.fit_intercept)
