"""What a logistic regression offers beside its fit: paths, the choice of a penalty, and inference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.utils.validation import check_is_fitted

from assay.linear.classifier import LinearClassifier
from assay.linear.likelihood.inference import LikelihoodInference, likelihood_inference
from assay.linear.likelihood.logistic_fit import (
    SMALLEST_GAP,
    by_coordinates,
    dense,
    fit_logistic,
    null_scores,
)
from assay.linear.likelihood.path import (
    FOLD_TOL,
    LikelihoodPath,
    likelihood_family,
    likelihood_path,
    strength_grid,
)
from assay.models.selection import FoldTable, Selection, select_parameter
from assay.rows import MemoryRows, Rows, split_columns
from assay.solvers import Measured, RowRisk


class LogisticResults(LinearClassifier):
    """Methods of `LogisticRegression` that need its parameters, its problem, or its fitted attributes."""

    _risk: Any
    _problem: Any
    _reference: Any
    l1_ratio: float
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    class_weight_: NDArray
    penalty_strength_: float
    total_weight_: float
    log_likelihood_: float
    null_log_likelihood_: float
    information_: NDArray | None
    center_: NDArray

    def path(
        self,
        X: Any,
        y: Any = None,
        penalty_strengths: Any = None,
        sample_weight: Any = None,
        *,
        n_strengths: int = 50,
        eps: float = 1e-3,
    ) -> LikelihoodPath:
        """Fits along a grid of penalties, each started at the one before; needs no earlier fit.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`.
        penalty_strengths : array-like of positive numbers, optional
            λ; by default a geometric grid down from the strength beyond which all coefficients are zero.
        n_strengths : int, default=50
            Size of the default grid.
        eps : float, default=1e-3
            Its smallest strength over the largest.

        Examples
        --------
        >>> from assay.datasets import breast_cancer
        >>> from assay.linear import LogisticRegression
        >>> X, y = breast_cancer(return_X_y=True)
        >>> path = LogisticRegression(l1_ratio=1.0).path((X - X.mean(0)) / X.std(0), y, n_strengths=5)
        >>> path.n_nonzero
        array([ 0,  4,  9, 17, 22])
        """
        probe = type(self)(**self.get_params())
        data, weights = probe._open_classes(X, y, sample_weight)
        return probe._path(data, weights, penalty_strengths, n_strengths, eps)

    def _path(
        self,
        data: Rows,
        weights: NDArray,
        strengths: Any,
        n_strengths: int,
        eps: float,
        *,
        evidence: bool = True,
    ) -> LikelihoodPath:
        risk = self._risk(data, weights, has_offset=False)
        null = null_scores(self.class_weight_ * weights, risk)
        if self.l1_ratio > 0 and len(weights) == 2 and isinstance(data, MemoryRows):
            return self._coordinate_path(risk, data, null, strengths, n_strengths, eps)

        def solve(risk: RowRisk, l1: NDArray, start: NDArray | None) -> tuple[NDArray, Measured, int, bool]:
            fit = fit_logistic(
                risk,
                l1=l1,
                null=null,
                start=start,
                solver=self.solver,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            return fit.point, fit.found, fit.n_iter, fit.converged

        return likelihood_path(
            risk,
            null,
            solve,
            strengths,
            l1_ratio=self.l1_ratio,
            n_strengths=n_strengths,
            eps=eps,
            owner="LogisticRegression.path",
            evidence=evidence,
        )

    def _coordinate_path(
        self, risk: RowRisk, data: MemoryRows, null: NDArray, strengths: Any, n_strengths: int, eps: float
    ) -> LikelihoodPath:
        d = data.shape[1]
        grid = strength_grid(
            risk.with_alpha(np.zeros(d)).measure(null),
            strengths,
            d,
            l1_ratio=self.l1_ratio,
            n_strengths=n_strengths,
            eps=eps,
            owner="LogisticRegression.path",
        )
        gap = max(self.tol**2 / 2, SMALLEST_GAP)
        found = by_coordinates(risk, data, grid, self.l1_ratio, tol=gap, max_iter=self.max_iter)
        coef = dense(found.coef)
        freedom = np.count_nonzero(coef, axis=1) + float(self.fit_intercept)
        return LikelihoodPath(
            grid,
            coef[:, None, :],
            np.asarray(found.intercept)[:, None],
            1 / (grid * risk.weight),
            found.loss,
            found.relative_gap,
            freedom,
            found.n_iter,
            found.converged,
        )

    def select(
        self,
        X: Any,
        y: Any,
        *,
        rule: str = "min",
        penalty_strengths: Any = None,
        cv: Any = 5,
        sample_weight: Any = None,
        random_state: Any = None,
    ) -> Selection:
        """Choose the penalty by cross-validated log-loss or by an information criterion, and refit.

        Parameters
        ----------
        X, y, sample_weight
            Rows in memory.
        rule : {"min", "one_se", "aic", "bic"}, default="min"
            "one_se": the strongest penalty within one standard error of the best.
        penalty_strengths : array-like of positive numbers, optional
            λ; the grid of `path` by default.
        cv : int, "split" or splitter, default=5
            Folds; they are drawn at random with a `random_state`, else in the order of the rows.
        random_state : None, int, Generator, SeedSequence or RandomState

        Returns
        -------
        selection : Selection
            `selection.alpha` is the chosen λ, `selection.model` the model refitted at it.

        Examples
        --------
        >>> from assay.datasets import breast_cancer
        >>> from assay.linear import LogisticRegression
        >>> X, y = breast_cancer(return_X_y=True)
        >>> found = LogisticRegression().select((X - X.mean(0)) / X.std(0), y, rule="one_se", random_state=0)
        >>> found.model.certificates_.holds
        True
        """
        X, y, sample_weight = split_columns(X, y, sample_weight)
        probe = type(self)(**self.get_params())
        codes, weights = probe._code(np.asarray(y), None)

        def path(table: FoldTable, strengths: Any, evidence: bool = True) -> LikelihoodPath:
            target = table.y.astype(np.intp)
            present = np.bincount(target, table.weight, minlength=len(weights)).astype(np.float64)
            if not present.all():
                raise ValueError("A fold has no row of some class; use fewer folds or a stratified splitter.")
            fold = type(probe)(**probe.get_params())
            fold.classes_ = probe.classes_
            if not evidence:
                fold.tol = max(fold.tol, FOLD_TOL)
            rows = MemoryRows(table.X, table.y, table.weight)
            return fold._path(rows, present, strengths, 50, 1e-3, evidence=evidence)

        def refit(strength: float) -> Any:
            model = type(self)(**self.get_params()).set_params(penalty_strength=strength)
            return model.fit(X, y, sample_weight)

        return select_parameter(
            self,
            X,
            codes,
            likelihood_family(path, self._path_losses(probe), refit, "penalty_strength"),
            rule=rule,
            values=penalty_strengths,
            cv=cv,
            sample_weight=sample_weight,
            random_state=random_state,
        )

    def _path_losses(self, probe: Any) -> Any:
        reference = probe._reference()

        def losses(y: NDArray, scores: NDArray) -> NDArray:
            """Log-loss of each row under each model of a path."""
            if scores.shape[2] == 1:
                return np.logaddexp(0.0, scores[:, :, 0]) - y[:, None] * scores[:, :, 0]
            if reference is not None:
                scores = np.insert(scores, reference, 0.0, axis=2)
            own = np.take_along_axis(scores, y.astype(np.intp)[:, None, None], axis=2)[:, :, 0]
            return np.asarray(special.logsumexp(scores, axis=2) - own)

        return losses

    def inference(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        covariance: str = "classical",
        offset: Any = None,
    ) -> LikelihoodInference:
        """Standard errors, tests and intervals of the coefficients of an unpenalised fit.

        Parameters
        ----------
        X, y, sample_weight, offset
            The data of the fit; needed by robust covariances only.
        covariance : {"classical", "HC0", "HC1"}, default="classical"
            "classical" is the inverse of the information; "HC0" the sandwich H⁻¹ (Σ s² g gᵀ) H⁻¹ of the
            scores g of the rows, which holds for a wrong model too; "HC1" multiplies it by n/(n − p).

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
        if self.penalty_strength_ > 0:
            raise ValueError("Standard errors are of an unpenalised fit; fit with C=float('inf') first.")
        if len(self.classes_) > 2 and self._reference() is None:
            raise ValueError(
                "Softmax scores are known up to a common shift only; fit with reference_class to have errors."
            )
        data = None if X is None else self._open_new_classes(X, y, sample_weight, offset=offset)
        risk = None if data is None else self._problem(data, offset is not None)
        return likelihood_inference(
            type(self).__name__,
            self._fitted_scores(),
            self.information_,
            risk,
            names=self._parameter_names(),
            fit_intercept=self.fit_intercept,
            weight=self.total_weight_,
            dispersion=1.0,
            estimated_dispersion=False,
            log_likelihood=self.log_likelihood_,
            null_log_likelihood=self.null_log_likelihood_,
            covariance=covariance,
        )

    def _fitted_scores(self) -> tuple[NDArray, NDArray, NDArray]:
        """Coefficients (d, k) and intercepts (k,) without those of the reference, and the centre."""
        coef, intercept = self.coef_.T.astype(np.float64), self.intercept_.astype(np.float64)
        reference = self._reference()
        if reference is not None:
            coef, intercept = np.delete(coef, reference, axis=1), np.delete(intercept, reference)
        return coef, intercept, self.center_

    def _parameter_names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        features = [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(n) for n in names]
        each = (["intercept"] if self.fit_intercept else []) + features
        reference = self._reference()
        if reference is None:
            return tuple(each)
        others = np.delete(self.classes_, reference).tolist()
        return tuple(f"{label}: {name}" for label in others for name in each)
