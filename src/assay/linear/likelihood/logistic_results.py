"""What a logistic regression offers beside its fit: paths, the choice of a penalty, and inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay.linear.classifier import LinearClassifier
from assay.linear.likelihood.inference import (
    LikelihoodFacts,
    LikelihoodInference,
    likelihood_inference,
    parameter_names,
)
from assay.linear.likelihood.logistic_fit import (
    SMALLEST_GAP,
    by_coordinates,
    dense,
    fit_logistic,
    loss_of_classes,
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
from assay.solvers import RowRisk, SmoothFit


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

        def solve(risk: RowRisk, l1: NDArray, start: NDArray | None) -> SmoothFit:
            rule: dict[str, Any] = {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter}
            return fit_logistic(risk, l1=l1, null=null, start=start, **rule).fit

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
        path = by_coordinates(risk, data, grid, self.l1_ratio, tol=gap, max_iter=self.max_iter)
        coef = dense(path.coef)
        freedom = np.count_nonzero(coef, axis=1) + float(self.fit_intercept)
        return LikelihoodPath(
            grid,
            coef[:, None, :],
            np.asarray(path.intercept)[:, None],
            1 / (grid * risk.weight),
            path.loss,
            path.relative_gap,
            freedom,
            path.n_iter,
            path.converged,
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
        >>> Z = (X - X.mean(0)) / X.std(0)
        >>> choice = LogisticRegression().select(Z, y, rule="one_se", random_state=0)
        >>> choice.model.certificates_.holds
        True
        """
        X, y, sample_weight = split_columns(X, y, sample_weight)
        probe = type(self)(**self.get_params())
        codes, weights = probe._code(np.asarray(y), None)

        def refit(strength: float) -> Any:
            model = type(self)(**self.get_params()).set_params(penalty_strength=strength)
            return model.fit(X, y, sample_weight)

        fits = probe._fold_path(len(weights))
        return select_parameter(
            self,
            X,
            codes,
            likelihood_family(fits, probe._path_losses(), refit, "penalty_strength"),
            rule=rule,
            values=penalty_strengths,
            cv=cv,
            sample_weight=sample_weight,
            random_state=random_state,
        )

    def _fold_path(self, n_classes: int) -> Callable[..., LikelihoodPath]:
        """Paths of models like this one on tables of coded classes; looser without evidence."""

        def path(table: FoldTable, strengths: Any, evidence: bool = True) -> LikelihoodPath:
            present = np.bincount(table.y.astype(np.intp), table.weight, minlength=n_classes)
            if not present.all():
                raise ValueError("A fold has no row of some class; use fewer folds or a stratified splitter.")
            fold = type(self)(**self.get_params())
            fold.classes_ = self.classes_
            if not evidence:
                fold.tol = max(fold.tol, FOLD_TOL)
            rows = MemoryRows(table.X, table.y, table.weight)
            return fold._path(rows, present.astype(np.float64), strengths, 50, 1e-3, evidence=evidence)

        return path

    def _path_losses(self) -> Callable[[NDArray, NDArray], NDArray]:
        loss = loss_of_classes(len(self.classes_), self._reference())

        def losses(y: NDArray, scores: NDArray) -> NDArray:
            """Log-loss of each row under each model of a path."""
            n, n_models, k = scores.shape
            flat = scores[:, :, 0].ravel() if k == 1 else scores.reshape(-1, k)
            return loss.value(np.repeat(y, n_models), flat).reshape(n, n_models)

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
        facts = LikelihoodFacts(
            *self._fitted_scores(),
            self.information_,
            self._parameter_names(),
            self.fit_intercept,
            self.total_weight_,
            self.log_likelihood_,
            self.null_log_likelihood_,
        )
        return likelihood_inference(type(self).__name__, facts, risk, covariance)

    def _fitted_scores(self) -> tuple[NDArray, NDArray, NDArray]:
        """Coefficients (d, k) and intercepts (k,) without those of the reference, and the centre."""
        coef, intercept = self.coef_.T.astype(np.float64), self.intercept_.astype(np.float64)
        reference = self._reference()
        if reference is not None:
            coef, intercept = np.delete(coef, reference, axis=1), np.delete(intercept, reference)
        return coef, intercept, self.center_

    def _parameter_names(self) -> tuple[str, ...]:
        each = parameter_names(self)
        reference = self._reference()
        if reference is None:
            return each
        others = np.delete(self.classes_, reference).tolist()
        return tuple(f"{label}: {name}" for label in others for name in each)
