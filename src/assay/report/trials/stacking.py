"""A stacked ensemble: the weighted mean of the other candidates, scored out of fold like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from assay.certificates import Certificates
from assay.models.stacking import convex_weights
from assay.registry import Entry
from assay.report.tables.encoding.code_encoder import BothEncoder, CodeEncoder, OnColumns
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.trials.candidate import Candidate, certificates_of
from assay.report.trials.scoring.resampling import FoldSplit
from assay.report.trials.trial import Answers, FittedMethod, Recipe
from assay.report.trials.tuning import Tuning
from assay.suitability import Suitability

LEAST_WEIGHT = 0.01
"""Members of a smaller weight are left out of the final model."""

NAME = "Ensemble"
SUMMARY = "Weighted mean of {members}: the weights of least squared error out of fold."


def draws_folds(model: Any) -> bool:
    """Whether the fit of a model, or of a member of it, draws folds of its own, which a `Tuning` tells."""
    if isinstance(model, WeightedEnsemble):
        return any(map(draws_folds, model.estimators))
    return has_fit_parameter(model.estimator if isinstance(model, OnColumns) else model, "tuning")


def _has_probabilities(ensemble: WeightedEnsemble) -> bool:
    return all(hasattr(model, "predict_proba") for model in ensemble.estimators)


class WeightedEnsemble(BaseEstimator):
    """The weighted mean of the predictions, or of the probabilities, of several models.

    Predicts Σ_m w_m f_m(x) for given weights w ≥ 0 of sum one; classes by the greatest mean probability.

    Parameters
    ----------
    estimators : list of estimator
        The members: all regressors, or all classifiers with probabilities.
    weights : sequence of float
        One weight per member.

    Attributes
    ----------
    estimators_ : list of estimator
        Fitted members.
    classes_ : array
        The classes, of classifiers.
    certificates_ : Certificates
        Those of all members.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import LinearRegression, Ridge
    >>> from assay.report import WeightedEnsemble
    >>> X, y = np.arange(6.0)[:, None], np.arange(6.0)
    >>> ensemble = WeightedEnsemble([LinearRegression(), Ridge(alpha=1e-9)], [0.25, 0.75]).fit(X, y)
    >>> ensemble.predict([[7.0]]).round(6)
    array([7.])
    """

    def __init__(self, estimators: Sequence[Any] = (), weights: Sequence[float] = ()) -> None:
        self.estimators = estimators
        self.weights = weights

    @classmethod
    def from_fitted(cls, estimators: Sequence[Any], weights: Sequence[float]) -> WeightedEnsemble:
        """An ensemble of models that are fitted already."""
        ensemble = cls([clone(model) for model in estimators], [float(weight) for weight in weights])
        return ensemble._take(list(estimators))

    def _take(self, fitted: list[Any]) -> WeightedEnsemble:
        self.estimators_ = fitted
        self.n_features_in_ = max(model.n_features_in_ for model in fitted)
        self.certificates_ = Certificates([item for model in fitted for item in certificates_of(model)])
        if is_classifier(fitted[0]):
            self.classes_ = fitted[0].classes_
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if len(self.estimators):
            inner = self.estimators[0].__sklearn_tags__()
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    def fit(self, X: Any, y: Any, *, tuning: Tuning | None = None) -> WeightedEnsemble:
        """Fit every member; the weights stay as they are given.

        Members on another scale of the target take their residuals from the folds that a `Tuning` of the
        rows asks for.
        """
        if len(self.estimators) != len(self.weights) or not len(self.weights):
            raise ValueError(
                "The 'weights' parameter of WeightedEnsemble must have one number per estimator. Got "
                f"{len(self.weights)} for {len(self.estimators)} instead."
            )
        told = {} if tuning is None else {"tuning": tuning}
        return self._take(
            [clone(model).fit(X, y, **told if draws_folds(model) else {}) for model in self.estimators]
        )

    def predict(self, X: Any) -> NDArray:
        """The weighted mean of the predictions, or the class of the greatest mean probability."""
        if hasattr(self, "classes_"):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        return np.asarray(self._mean("predict", X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray:
        """The weighted mean of the probabilities."""
        return np.asarray(self._mean("predict_proba", X))

    def _mean(self, method: str, X: Any) -> Any:
        pairs = zip(self.weights, self.estimators_, strict=True)
        return sum(weight * np.asarray(getattr(model, method)(X)) for weight, model in pairs)

    def certify(self, X: Any, y: Any) -> Certificates:
        """Certificates of all members, measured afresh."""
        return Certificates([item for model in self.estimators_ for item in model.certify(X, y)])


@dataclass(frozen=True)
class EnsembleRecipe(Recipe):
    """How the ensemble is fitted to numbers: its members, each by its own recipe, with the final weights."""

    members: tuple[Recipe, ...] = ()
    kept: Any = ()
    weights: Any = ()

    n_plain: int = 0  # features of members that take columns as they are, where members differ

    @property
    def heavy(self) -> list[Recipe]:
        """The members that have a weight."""
        return [self.members[place] for place in self.kept]

    @property
    def encoder(self) -> type[TableEncoder]:
        """That of the members; both ways at once where they differ."""
        kinds = {member.encoder for member in self.heavy}
        return kinds.pop() if len(kinds) == 1 else BothEncoder

    def fit(self, features: NDArray, target: NDArray, tuning: Tuning) -> FittedMethod:
        """Fit every member that has a weight."""
        fitted = []
        for member in self.heavy:
            first, end = self._columns(member)
            model = member.fit(features[:, first:end], target, tuning).model
            fitted.append(self.on_its_columns(member, model))
        return FittedMethod(WeightedEnsemble.from_fitted(fitted, self.weights), {}, None)

    def refit(self, model: Any, features: NDArray, target: NDArray, tuning: Tuning) -> Any:
        """An ensemble with the parameters of another, its residuals from folds that suit the rows."""
        return clone(model).fit(features, target, tuning=tuning)

    def on_its_columns(self, member: Recipe, model: Any) -> Any:
        """A fitted member, as one that is handed the features of all."""
        if self.encoder is not BothEncoder:
            return model
        return OnColumns.from_fitted(model, *self._columns(member))

    def _columns(self, member: Recipe) -> tuple[int, int | None]:
        if self.encoder is not BothEncoder:
            return 0, None
        return (0, self.n_plain) if member.encoder is CodeEncoder else (self.n_plain, None)


def ensemble_entry(candidates: Sequence[Candidate]) -> Entry:
    """What an ensemble says of itself: more to understand than any of its members."""
    complexity = 1 + max(candidate.complexity for candidate in candidates)
    suits = Suitability(complexity=complexity)
    return Entry(NAME, WeightedEnsemble, "", "ensembles", "", suits, SUMMARY, ())


def can_join(answers: Sequence[Answers], *, classes: NDArray | None) -> bool:
    """Whether a method has what an ensemble is made of, on every split."""
    if classes is not None:
        return all(said.probabilities is not None for said in answers)
    return all(np.isfinite(said.predictions).all() for said in answers)


def stacked_answers(
    members: Sequence[Sequence[Answers]],
    parts: Sequence[FoldSplit],
    y: NDArray,
    *,
    folds: int,
    classes: NDArray | None,
    in_order: bool = False,
) -> tuple[list[Answers], NDArray]:
    """What the ensemble says about the rows of every split, and the weights of its members.

    The weights with which a split is predicted come from the other splits of its repetition: no row helps to
    weigh its own prediction. Where the splits follow each other in time, they come from those before it, and
    the first has equal weights. The final weights come from all of them.

    Parameters
    ----------
    members : sequence of sequences of Answers
        For each member, its answers on every split.
    parts : sequence of FoldSplit
    y : array of shape (n_rows,)
    folds : int
        Splits of one repetition.
    classes : array or None
    in_order : bool, default=False
        Whether later splits are later in time.
    """
    said = [_outputs([member[split] for member in members], classes) for split in range(len(parts))]
    truth = [_truth(y[part.test], classes) for part in parts]
    answers = []
    for split in range(len(parts)):
        start = split - split % folds
        end = split if in_order else min(start + folds, len(parts))
        others = [other for other in range(start, end) if other != split]
        weights = np.full(len(members), 1 / len(members))
        if others:
            weights = convex_weights(
                np.concatenate([said[other] for other in others]),
                np.concatenate([truth[other] for other in others]),
            )
        mean = said[split] @ weights
        predictions = mean if classes is None else classes[mean.argmax(axis=1)]
        seconds = sum(member[split].seconds for member in members)
        answers.append(Answers(predictions, None if classes is None else mean, None, seconds, ()))
    return answers, convex_weights(np.concatenate(said), np.concatenate(truth))


def _outputs(answers: Sequence[Answers], classes: NDArray | None) -> NDArray:
    """Predictions, or probabilities, of all members; the last axis is the member."""
    tables = [said.predictions if classes is None else said.probabilities for said in answers]
    return np.stack([np.asarray(table, dtype=np.float64) for table in tables], axis=-1)


def _truth(y: NDArray, classes: NDArray | None) -> NDArray:
    return y.astype(np.float64) if classes is None else (y[:, None] == classes[None, :]).astype(np.float64)


def heavy_members(weights: NDArray) -> tuple[NDArray, NDArray]:
    """Places of the members that are kept, and their weights, of sum one."""
    kept = np.flatnonzero(weights >= LEAST_WEIGHT)
    return kept, weights[kept] / weights[kept].sum()
