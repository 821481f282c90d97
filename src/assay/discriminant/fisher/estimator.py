"""Fisher's discriminant: axes of largest Rayleigh quotient, and a rule on the projected rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.discriminant.fisher.steps import (
    class_block,
    code_block,
    final_block,
    projection_block,
    regression_back,
    score_block,
    weight_block,
    wrong_block,
)
from assay.discriminant.gaussian.axes import Axes, discriminant_axes, rayleigh_quotients
from assay.discriminant.gaussian.covariance import Factored, factored
from assay.discriminant.gaussian.moments import ClassMoments, class_moments
from assay.discriminant.generative import in_precision
from assay.discriminant.linear.certificates import eigen_certificates, left_out, rounding
from assay.discriminant.linear.solver import NEVER
from assay.models.capabilities import LinearMap, ThereAndBack
from assay.models.classes import Classifier
from assay.models.thresholds import OptimalThreshold, optimal_threshold
from assay.parameters import Domain
from assay.rows import Rows

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.1.3, §1.1.5"
INSTEAD = "LinearDiscriminantAnalysis(shrinkage='auto')"
CUT = ("threshold_", "threshold_error_", "threshold_intervals_")


class FisherSolution(NamedTuple):
    """Axes and the affine scores of the nearest projected centre."""

    moments: ClassMoments
    factor: Factored
    axes: Axes
    components: Array
    coef: Array
    intercept: Array


def _own_scores(model: FisherDiscriminant) -> bool:
    if model.final_classifier is None:
        return True
    return hasattr(getattr(model, "final_classifier_", model.final_classifier), "decision_function")


def _has_probabilities(model: FisherDiscriminant) -> bool:
    final = getattr(model, "final_classifier_", model.final_classifier)
    return final is not None and hasattr(final, "predict_proba")


class FisherDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearMap, Classifier):
    """Directions along which the classes are farthest apart beside their spread, and a rule on them.

    Maximises over directions w the Rayleigh quotient

        r(w) = V(E[wᵀX | Y]) / E[V(wᵀX | Y)] = wᵀMw / wᵀΣw,

    M = Σ_k π_k (μ_k − μ)(μ_k − μ)ᵀ and Σ = Σ_k π_k Σ_k, whose maximisers are the leading eigenvectors of
    Mw = λΣw, at most K − 1. Rows are then given to the nearest projected centre, by the cut of the projection
    with fewest errors (two classes), or by any classifier on the projected rows.

    Assumes: finite second moments, nothing else. Where the classes are Gaussian of one covariance, nearest
    centre with scaling="within" is the Bayes rule for equal priors; with scaling="l2", as printed in the
    course, it is not.

    Certificates: generalised eigenvalue residual, at most K − 1 axes, no random direction with a larger
    quotient; `certify` adds that the moments are those of the rows, and that no other cut makes fewer errors.

    Parameters
    ----------
    scaling : {"within", "l2"}, default="within"
        Length of the axes: wᵀΣw = 1 or ‖w‖ = 1.
    rule : {"nearest_center", "optimal_threshold"}, default="nearest_center"
        How projected rows are given to classes; the cut is for two classes.
    final_classifier : classifier, optional
        Takes the place of `rule`: is fitted to the projected rows.
    n_components : int, optional
        Axes kept; min(n_classes − 1, n_features) by default.
    tol : float, default=1e-4
        Standard deviation, of columns of unit variance within the classes, at or below which a direction is
        left out.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    priors_ : array of shape (n_classes,)
        Shares of the classes among the rows.
    means_ : array of shape (n_classes, n_features)
    covariance_ : array of shape (n_features, n_features)
        Σ, divisor n.
    eigenvalues_ : array of shape (n_axes,)
        Rayleigh quotients of the axes, decreasing.
    explained_variance_ratio_ : array of shape (n_axes,)
        Their shares.
    rank_ : int
        Rank of M.
    components_ : array of shape (n_components, n_features)
        The axes as rows; the last class lies above the first.
    coef_, intercept_ : arrays
        Affine scores of the rule; without `final_classifier`.
    threshold_, threshold_error_ : float
        With rule="optimal_threshold": the cut b of ⟨w, x⟩ + b > 0, and its share of errors.
    threshold_intervals_ : array of shape (n_intervals, 2)
        All cuts that are as good.
    final_classifier_ : classifier
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import FisherDiscriminant
    >>> X, y = iris(return_X_y=True)
    >>> model = FisherDiscriminant().fit(X, y)
    >>> model.certificates_.holds, model.transform(X).shape, round(model.score(X, y), 2)
    (True, (150, 2), 0.98)

    References
    ----------
    Sangnier §1.1.3, §1.1.5.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "scaling": parameters.one_of("within", "l2"),
        "rule": parameters.one_of("nearest_center", "optimal_threshold"),
        "final_classifier": parameters.nothing
        | Domain("a classifier", lambda value: hasattr(value, "fit") and hasattr(value, "predict")),
        "n_components": parameters.nothing | parameters.integer(at_least=1),
        "tol": parameters.real(at_least=0, at_most=1),
    }
    _checks_finite = True

    def __init__(
        self,
        *,
        scaling: str = "within",
        rule: str = "nearest_center",
        final_classifier: Any = None,
        n_components: int | None = None,
        tol: float = 1e-4,
    ) -> None:
        self.scaling = scaling
        self.rule = rule
        self.final_classifier = final_classifier
        self.n_components = n_components
        self.tol = tol

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
            Labels of any kind in memory, numbers elsewhere.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data, weights = self._open_classes(X, y, sample_weight)
        solution = self._solve(class_moments(data, len(weights), apart=False))
        self._store(solution, data)
        self.certificates_ = Certificates(self._proofs(solution, data.dtype))
        return self

    def _solve(self, moments: ClassMoments) -> FisherSolution:
        shares = moments.weight / moments.total_weight
        most = min(len(shares) - 1, moments.means.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise self._refuse("n_components", f"at most min(n_classes − 1, n_features), here {most}")
        if self.rule == "optimal_threshold" and len(shares) > 2:
            raise self._refuse("rule", f"'nearest_center' with more than two classes, here {len(shares)}")
        factor = factored(moments.within / moments.total_weight, self.tol)
        if factor.rank == 0:
            raise ValueError(
                "FisherDiscriminant needs a column that varies within some class; every column of X is "
                "constant within each class."
            )
        axes = discriminant_axes(moments.means, shares, factor, self.tol)
        directions = axes.directions[:, : self.n_components]
        if self.scaling == "l2":
            directions = directions / np.linalg.norm(directions, axis=0)
        # Nearest centre: ‖Px − Pμ_k‖² less ‖Px‖² is affine in x.
        centers = (moments.means - moments.mean) @ directions
        coef = centers @ directions.T
        intercept = -0.5 * np.einsum("ij,ij->i", centers, centers) - coef @ moments.mean
        if not moments.weight.all():  # a class that never occurs is never the nearest
            intercept[moments.weight == 0] = NEVER
        if len(shares) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return FisherSolution(moments, factor, axes, directions.T, coef, intercept)

    def _store(self, solution: FisherSolution, data: Rows) -> None:
        moments, values = solution.moments, solution.axes.eigenvalues
        self.priors_ = moments.weight / moments.total_weight
        self.means_, self.covariance_ = moments.means, solution.factor.covariance
        kept = solution.components.shape[0]
        self.rank_ = int(np.count_nonzero(values))
        self.eigenvalues_ = values[:kept]
        self.explained_variance_ratio_ = values[:kept] / (values.sum() or 1.0)
        (self.components_,) = in_precision(self, data.dtype, solution.components)
        for name in (*CUT, "coef_", "intercept_", "final_classifier_"):
            self.__dict__.pop(name, None)
        if self.final_classifier is not None:
            self._fit_final(data)
            return
        coef, intercept = solution.coef, solution.intercept
        if self.rule == "optimal_threshold":
            best = self._best_cut(data)
            self.threshold_, self.threshold_error_, self.threshold_intervals_ = best
            coef, intercept = self._cut_axis, np.array([best.intercept])
        self.coef_, self.intercept_ = in_precision(self, data.dtype, coef, intercept)

    @property
    def _cut_axis(self) -> NDArray:
        """The axis that is cut, as a row; zeros where the classes have one mean: no cut parts them."""
        axes = self.components_
        return axes if len(axes) else np.zeros((1, axes.shape[1]), dtype=axes.dtype)

    def _best_cut(self, data: Rows) -> OptimalThreshold:
        """The best cut of the (stored) projection."""
        scores, codes, weight = self._projected(data)
        values = scores[:, 0] if scores.shape[1] else np.zeros(len(codes))
        return optimal_threshold(values, codes, weight, second_class=1)

    def _projected(self, data: Rows) -> tuple[NDArray, NDArray, Array]:
        """Projected rows, places of their classes and weights, in memory."""
        kept = self.components_.shape[0]
        rows = data.map(projection_block, self.components_.T, dtype=data.dtype, width=kept)
        codes = data.map(code_block, dtype=np.intp)
        weight = data.map(weight_block, dtype=np.float64)
        return np.asarray(rows), np.asarray(codes), np.asarray(weight)

    def _fit_final(self, data: Rows) -> None:
        rows, codes, weight = self._projected(data)
        self.final_classifier_ = clone(self.final_classifier)
        options = {"sample_weight": weight} if data.has_weight else {}
        self.final_classifier_.fit(rows, self.classes_[codes], **options)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def transform(self, X: Any) -> Any:
        """Px: the projections ⟨w_j, x⟩ of each row."""
        data = self._open_new_rows(X)
        width = self.components_.shape[0]
        return data.map(projection_block, self.components_.T, dtype=data.dtype, width=width)

    def _there_and_back(self) -> ThereAndBack:
        """The projection, and the regression of the rows on it: no affine way back loses less."""
        return regression_back(self.components_, self.priors_, self.means_, self.covariance_)

    @available_if(_own_scores)
    def decision_function(self, X: Any) -> Any:
        """Scores of the rule: of the second of two classes, else one per class (those of the last step)."""
        data = self._open_new_rows(X)
        if self.final_classifier is not None:
            width = None if len(self.classes_) == 2 else len(self.classes_)
            state = self.components_.T, self.final_classifier_, "decision_function"
            return data.map(final_block, *state, dtype=data.dtype, width=width)
        width = None if len(self.classes_) == 2 else len(self.classes_)
        return data.map(score_block, self.coef_, self.intercept_, dtype=data.dtype, width=width)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes by the last step."""
        data = self._open_new_rows(X)
        state = self.components_.T, self.final_classifier_, "predict_proba"
        return data.map(final_block, *state, dtype=data.dtype, width=len(self.classes_))

    def predict(self, X: Any) -> Any:
        """Class of each row by the rule."""
        data = self._open_new_rows(X)
        if self.final_classifier is not None:
            state = self.components_.T, self.final_classifier_, "predict"
            return data.map(final_block, *state, dtype=self.classes_.dtype)
        return data.map(class_block, self.coef_, self.intercept_, self.classes_, dtype=self.classes_.dtype)

    def rayleigh_quotient(self, directions: Any) -> Array:
        """r(w) under the fitted moments, of directions given as columns."""
        check_is_fitted(self)
        columns = np.asarray(directions, dtype=np.float64).reshape(self.n_features_in_, -1)
        return rayleigh_quotients(columns, self.means_, self.priors_, self.covariance_)

    def _proofs(self, solution: FisherSolution, dtype: np.dtype) -> list[Certificate]:
        """Certificates of the fitted axes, against moments of the rows."""
        factor, means = solution.factor, solution.moments.means
        shares = solution.moments.weight / solution.moments.total_weight
        directions = np.asarray(self.components_, dtype=np.float64).T
        tolerance = 10 * rounding(dtype)
        within = np.einsum("ij,ij->j", directions, factor.covariance @ directions)
        lengths = np.linalg.norm(directions, axis=0) if self.scaling == "l2" else np.sqrt(within)
        unit = directions / np.where(within > 0, np.sqrt(within), 1.0)
        quotients = rayleigh_quotients(directions, means, shares, factor.covariance)
        pairs = {
            "eigenvalues_": (self.eigenvalues_, quotients),
            "explained_variance_ratio_": (
                self.explained_variance_ratio_,
                quotients / (solution.axes.eigenvalues.sum() or 1.0),
            ),
        }
        claim = "Every axis has the length that was asked for."
        return [
            *eigen_certificates(unit, means, shares, factor, len(means), dtype),
            *left_out(means, shares, factor.whitening, factor.unwhitening, INSTEAD),
            at_most(claim, "error of a length", np.abs(lengths - 1).max(initial=0.0), tolerance, SOURCE),
            agreement("The eigenvalues are the Rayleigh quotients.", pairs, SOURCE, rtol=tolerance),
            self._same_moments(solution),
            *self._same_rule(solution, dtype),
        ]

    def _same_moments(self, solution: FisherSolution) -> Certificate:
        scale = np.sqrt(np.diagonal(solution.factor.covariance))
        size = np.abs(solution.moments.means).max(axis=0, initial=0.0)
        scale = np.where(scale > 0, scale, np.where(size > 0, size, 1.0))
        level = np.maximum(1.0, np.abs(solution.moments.means / scale).max())
        moments = solution.moments
        matrix = 1 + (self.covariance_ - solution.factor.covariance) / scale / scale[:, None]
        means = 1 + (self.means_ - moments.means) / scale / level
        pairs = {
            "priors_": (self.priors_, moments.weight / moments.total_weight),
            "means_": (means, np.ones_like(means)),
            "covariance_": (matrix, np.ones_like(matrix)),
        }
        return agreement("Shares, means and covariance are those of the rows.", pairs, SOURCE)

    def _same_rule(self, solution: FisherSolution, dtype: np.dtype) -> list[Certificate]:
        """Affine scores against nearest projected centres, or against the cut."""
        if self.final_classifier is not None:
            return []
        if self.rule == "optimal_threshold":
            given = np.array([self.threshold_])
            pairs = {"coef_": (self.coef_, self._cut_axis), "intercept_": (self.intercept_, given)}
            claim = "The scores are those of the axis and its best cut."
            return [agreement(claim, pairs, SOURCE, rtol=10 * rounding(dtype))]
        moments = solution.moments
        directions = np.asarray(self.components_, dtype=np.float64).T
        centers = (moments.means - moments.mean) @ directions
        # The coefficients lie in the span of the axes, and score every projected centre as distances do.
        coef = np.asarray(self.coef_, dtype=np.float64)
        level = np.asarray(self.intercept_, dtype=np.float64) + coef @ moments.mean
        wanted, heights = centers @ directions.T, -0.5 * np.einsum("ij,ij->i", centers, centers)
        if len(centers) == 2:
            wanted, heights = wanted[1:] - wanted[:1], heights[1:] - heights[:1]
        scale = np.sqrt(np.diagonal(solution.factor.covariance))
        size = max(
            1.0, float(np.abs(wanted * scale).max(initial=0.0)), float(np.abs(heights).max(initial=0.0))
        )
        summands = 1 + (np.abs(coef) @ np.abs(moments.mean)) / size
        off = np.abs(level - heights) / size / summands
        used = np.abs(np.asarray(self.intercept_)) < 1e29
        worst = max(np.abs((coef - wanted) * scale).max(initial=0.0) / size, off[used].max(initial=0.0))
        claim = "The scores are those of the nearest projected centre."
        return [at_most(claim, "largest error of a score", worst, 10 * rounding(dtype), SOURCE)]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_classes(X, y, sample_weight)
        solution = self._solve(class_moments(data, len(self.classes_), apart=False))
        found = self._proofs(solution, data.dtype)
        if self.final_classifier is None and self.rule == "optimal_threshold":
            found.append(self._no_better_cut(data))
        return Certificates(found)

    def _no_better_cut(self, data: Rows) -> Certificate:
        """Errors of the fitted rule less those of the best of all n + 1 cuts, on the rows themselves."""
        best = self._best_cut(data)
        wrong, total = data.reduce(wrong_block, self.coef_, self.intercept_)
        claim = "No cut of the projection makes fewer errors, and the stored best ones are those of the rows."
        gap = abs(wrong / total - best.error) + abs(best.error - self.threshold_error_)
        same = agreement(claim, {"threshold_intervals_": (self.threshold_intervals_, best.intervals)})
        gap = gap if same.value <= 1e-6 else np.inf
        return at_most(claim, "errors above the least", gap, 1e-9, SOURCE)
