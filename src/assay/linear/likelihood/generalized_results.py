"""What a generalised linear model offers beside its fit: paths, selection, inference, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.families import FAMILIES
from assay.linear.likelihood.generalized_fit import first_point, fit_generalized, over_targets, target_summary
from assay.linear.likelihood.inference import LikelihoodInference, likelihood_inference
from assay.linear.likelihood.path import (
    FOLD_TOL,
    LikelihoodPath,
    likelihood_family,
    likelihood_path,
)
from assay.linear.predictor import LinearPredictor, affine
from assay.models.inference import check_level
from assay.models.selection import FoldTable, Selection, select_parameter
from assay.rows import Block, MemoryRows, Rows
from assay.solvers import Measured, RowRisk, shifted_columns

# Intervals of a linear score from the information of a fit.


Array = NDArray[np.float64]


def score_root(information: Array, scale: float) -> Array:
    """R with R Rᵀ = scale · information⁻¹: ‖aᵀR‖ is the standard error of the score of a row a."""
    size = np.sqrt(np.maximum(np.diagonal(information), np.finfo(float).tiny))
    factor = linalg.cholesky(information / size[:, None] / size, lower=True)
    inverse = linalg.solve_triangular(factor, np.eye(len(size)), lower=True)
    return (inverse / size).T * np.sqrt(scale)


def interval_rows(
    block: Block, coef: NDArray, intercept: NDArray, center: Array, root: Array, fit_intercept: bool
) -> Array:
    """Score ± the norm of aᵀR for the rows of one block."""
    score = affine(block, coef, intercept).astype(np.float64)
    half = np.linalg.norm(shifted_columns(block, center, fit_intercept) @ root, axis=1)
    return np.column_stack([score - half, score + half])


KINDS = ("prediction", "mean")


class GeneralizedResults(LinearPredictor):
    """Methods of `GeneralizedLinear` that need its parameters, its problem, or its fitted attributes."""

    _open_target: Any
    _law: Any
    _owner: Any
    _problem: Any
    _fitted_problem: Any
    family: str
    alpha: Any
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    total_weight_: float
    dispersion_: float
    log_likelihood_: float
    null_log_likelihood_: float
    information_: NDArray | None
    center_: NDArray
    rank_: int

    def path(
        self,
        X: Any,
        y: Any = None,
        alphas: Any = None,
        sample_weight: Any = None,
        *,
        n_strengths: int = 50,
        eps: float = 1e-3,
    ) -> LikelihoodPath:
        """Fits along a grid of squared-norm penalties, each started at the one before.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`; needs no earlier fit.
        alphas : array-like of positive numbers, optional
            Penalties on the scale of the mean; a geometric grid by default.
        n_strengths, eps
            Size of the default grid, and its smallest penalty over the largest (times 1/1000).
        """
        probe = type(self)(**self.get_params())
        data, _ = probe._open_target(X, y, sample_weight, None, None, fitted=False)
        return probe._path(data, alphas, n_strengths, eps)

    def _path(
        self, data: Rows, alphas: Any, n_strengths: int, eps: float, *, evidence: bool = True
    ) -> LikelihoodPath:
        law = self._law()
        weight, total = over_targets(data, target_summary, law.family, self._owner())
        self.total_weight_ = float(weight)
        risk = self._problem(data, law, False)
        mean = float(total / weight)

        def solve(risk: RowRisk, l1: NDArray, start: NDArray | None) -> tuple[NDArray, Measured, int, bool]:
            fit = fit_generalized(
                risk, law, mean, start=start, solver=self.solver, tol=self.tol, max_iter=self.max_iter
            )
            return fit.point, fit.found, fit.n_iter, fit.converged

        return likelihood_path(
            risk,
            first_point(risk, law, mean),
            solve,
            alphas,
            l1_ratio=0.0,
            n_strengths=n_strengths,
            eps=eps,
            owner="GeneralizedLinear.path",
            evidence=evidence,
        )

    def select(
        self,
        X: Any,
        y: Any,
        *,
        rule: str = "min",
        alphas: Any = None,
        cv: Any = 5,
        sample_weight: Any = None,
        random_state: Any = None,
    ) -> Selection:
        """Choose the penalty by cross-validated deviance or by an information criterion, and refit.

        Parameters
        ----------
        X, y, sample_weight
            Rows in memory.
        rule : {"min", "one_se", "aic", "bic"}, default="min"
            The criteria are for families whose dispersion is known: −2 log-likelihood + c·df.
        alphas : array-like of positive numbers, optional
            The grid of `path` by default.
        cv : int, "split" or splitter, default=5
            Folds; drawn at random with a `random_state`, else in the order of the rows.
        random_state : None, int, Generator, SeedSequence or RandomState

        Returns
        -------
        selection : Selection
        """
        owner = "GeneralizedLinear.select"
        self._check_parameters()
        law = self._law()
        if rule in ("aic", "bic") and law.family.dispersed:
            raise parameters.refusal(
                owner, "rule", f"'min' or 'one_se' for family={self.family!r}, whose dispersion is free", rule
            )

        def path(table: FoldTable, strengths: Any, evidence: bool = True) -> LikelihoodPath:
            fold = type(self)(**self.get_params())
            if not evidence:
                fold.tol = max(fold.tol, FOLD_TOL)
            rows = MemoryRows(table.X, table.y, table.weight)
            return fold._path(rows, strengths, 50, 1e-3, evidence=evidence)

        def losses(target: NDArray, scores: NDArray) -> NDArray:
            score = scores[:, :, 0]
            return law.score_terms(np.broadcast_to(target[:, None], score.shape), score)[0]

        def refit(alpha: float) -> Any:
            return type(self)(**self.get_params()).set_params(alpha=alpha).fit(X, y, sample_weight)

        return select_parameter(
            self,
            X,
            y,
            likelihood_family(path, losses, refit, "alpha"),
            rule=rule,
            values=alphas,
            cv=cv,
            sample_weight=sample_weight,
            random_state=random_state,
        )

    def inference(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        covariance: str = "classical",
    ) -> LikelihoodInference:
        """Standard errors, tests and intervals of the coefficients of an unpenalised fit.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure
            The data of the fit; needed by robust covariances only.
        covariance : {"classical", "HC0", "HC1"}, default="classical"
            "classical" is φ times the inverse information; "HC0" the sandwich of the scores of the rows,
            which holds for a wrong variance too; "HC1" multiplies it by n/(n − p).

        Returns
        -------
        inference : LikelihoodInference
        """
        check_is_fitted(self)
        self._require_plain()
        risk = None if X is None else self._fitted_problem(X, y, sample_weight, offset, exposure)
        return likelihood_inference(
            "GeneralizedLinear",
            (self.coef_.astype(np.float64)[:, None], np.array([float(self.intercept_)]), self.center_),
            self.information_,
            risk,
            names=self._parameter_names(),
            fit_intercept=self.fit_intercept,
            weight=self.total_weight_,
            dispersion=self.dispersion_,
            estimated_dispersion=FAMILIES[self.family].dispersed,
            log_likelihood=self.log_likelihood_,
            null_log_likelihood=self.null_log_likelihood_,
            covariance=covariance,
        )

    def _require_plain(self) -> None:
        if np.any(np.asarray(self.alpha) > 0):
            raise ValueError("Standard errors are of an unpenalised fit; fit with alpha=0 first.")
        if self.information_ is None:
            raise ValueError("The solver of this fit formed no Hessian; fit with solver='newton'.")

    def _parameter_names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        features = [f"x{j}" for j in range(self.n_features_in_)] if names is None else map(str, names)
        return (*(("intercept",) if self.fit_intercept else ()), *features)

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, kind: str = "prediction", offset: Any = None
    ) -> NDArray:
        """Interval of the target, or of its mean, at each row.

        The interval of the mean is g⁻¹ of the score ± z standard errors. That of a new target holds between
        the quantiles of the law at the two ends of the first, at half the error each (Bonferroni): it covers
        at least as often as asked, in the limit of many rows.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        coverage : float, default=0.9
            Probability, for each row by itself.
        kind : {"prediction", "mean"}, default="prediction"
        offset : array-like of shape (n_samples,), optional

        Returns
        -------
        interval : array of shape (n_samples, 2)
        """
        check_is_fitted(self)
        owner = "GeneralizedLinear.predict_interval"
        check_level(owner, "coverage", coverage)
        if kind not in KINDS:
            raise parameters.refusal(owner, "kind", parameters.one_of(*KINDS).words, kind)
        self._require_plain()
        assert self.information_ is not None
        law, error = self._law(), 1 - coverage
        if kind == "prediction":
            if law.family.law(np.ones(1), 1.0) is None:
                raise ValueError(
                    f"The family {self.family!r} has no quantiles in closed form; use kind='mean'."
                )
            error = error / 2
        tail = 1 - error / 2
        free = self.total_weight_ - self.rank_
        z = special.stdtrit(free, tail) if law.family.dispersed else special.ndtri(tail)
        root = score_root(self.information_, self.dispersion_ / self.total_weight_)
        data = self._open_new_rows(X)
        ends = data.map(
            interval_rows,
            self.coef_,
            self.intercept_,
            self.center_,
            root * z,
            self.fit_intercept,
            dtype=np.float64,
            width=2,
        )
        if offset is not None:
            ends = ends + np.asarray(offset, dtype=np.float64)[:, None]
        means = np.sort(law.mean(np.asarray(ends)), axis=1)
        if kind == "mean":
            return means
        low = law.family.law(means[:, 0], self.dispersion_).ppf(error / 2)
        high = law.family.law(means[:, 1], self.dispersion_).ppf(1 - error / 2)
        return np.column_stack([low, high])
