"""Methods tried on the logarithm, or on a power, of a skewed target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if

from assay.models.target_transform import helpful_scale, learn_scale, smeared
from assay.registry import Entry
from assay.report.trials.candidate import Candidate
from assay.report.trials.trial import FittedMethod, Recipe
from assay.report.trials.tuning import Tuning

HOW_MANY = 2
"""Methods that are tried on the other scale: those with the best scores, of different families."""

NOT_READ = 5
"""Complexity from which on a model is asked and not read: another scale then adds nothing to understand."""

FOLDS = 5
MAX_RESIDUALS, ENOUGH_RESIDUALS = 100, 150
"""Residuals that are kept, as quantiles, and those from which on no further fold is fitted for them."""

WORDS = {"log": "log target", "yeo-johnson": "Yeo–Johnson target"}
SUMMARIES = {
    "log": "On the logarithm of the target; predictions are brought back as means (smearing).",
    "yeo-johnson": "On a Yeo–Johnson power of the target; predictions are brought back as means (smearing).",
}


def _has_intervals(model: SmearedTarget) -> bool:
    return hasattr(getattr(model, "regressor_", model.regressor), "predict_interval")


class SmearedTarget(RegressorMixin, BaseEstimator):
    """A regression on another scale of the target, brought back without bias.

    Fits g(y), g a logarithm or a Yeo–Johnson power, and predicts the mean of g⁻¹(prediction + residual) over
    residuals of rows that cross-fitted models had not seen.

    Parameters
    ----------
    regressor : estimator
    scale : {"log", "yeo-johnson"}, default="log"

    Attributes
    ----------
    regressor_ : estimator
        Fitted on the scale.
    scale_ : TargetScale
    residuals_ : array of at most 100
        Quantiles of the residuals out of fold, on the scale.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import LinearRegression
    >>> from assay.report import SmearedTarget
    >>> x = np.linspace(0, 3, 50)[:, None]
    >>> model = SmearedTarget(LinearRegression(), "log").fit(x, np.exp(2 * x[:, 0]))
    >>> model.predict([[1.0]]).round(6) == np.exp(2.0).round(6)
    array([ True])
    """

    def __init__(self, regressor: Any = None, scale: str = "log") -> None:
        self.regressor = regressor
        self.scale = scale

    def fit(self, X: Any, y: Any, *, tuning: Tuning | None = None) -> SmearedTarget:
        """Learn the scale, fit on it, and keep the residuals of cross-fitted models.

        Their folds are those that a `Tuning` of the rows asks for; shuffled ones by default.
        """
        self.scale_ = learn_scale(y, self.scale)
        fitted = clone(self.regressor).fit(X, self.scale_.forward(y))
        return self._around(fitted, X, y, tuning or Tuning())

    def _around(self, fitted: Any, X: Any, y: Any, tuning: Tuning) -> SmearedTarget:
        features, values = np.asarray(X), self.scale_.forward(y)
        self.regressor_, self.n_features_in_ = fitted, features.shape[1]
        missed: list[NDArray] = []
        for train, test in tuning.plain_folds(values, FOLDS):
            if sum(map(len, missed)) >= ENOUGH_RESIDUALS:
                break
            model = clone(self.regressor).fit(features[train], values[train])
            missed.append(values[test] - model.predict(features[test]))
        residuals = np.concatenate(missed)
        if len(residuals) > MAX_RESIDUALS:
            residuals = np.quantile(residuals, (np.arange(MAX_RESIDUALS) + 0.5) / MAX_RESIDUALS)
        self.residuals_ = np.sort(residuals)
        return self

    def predict(self, X: Any) -> NDArray:
        """Mean target of each row."""
        return smeared(self.scale_, self.regressor_.predict(X), self.residuals_)

    def certify(self, X: Any, y: Any) -> Any:
        """Certificates of the regression on the scale, measured afresh."""
        return self.regressor_.certify(X, self.scale_.forward(y))

    @available_if(_has_intervals)
    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray:
        """The intervals of the regressor, brought back: their coverage stays, as no end is held back."""
        ends = self.regressor_.predict_interval(X, coverage=coverage)
        return self.scale_.back(ends, bounded=False)


@dataclass(frozen=True)
class TransformedRecipe(Recipe):
    """How a method is fitted to numbers and a target on another scale."""

    scale: str = "log"

    def fit(self, features: NDArray, target: NDArray, tuning: Tuning) -> FittedMethod:
        """Choose the main parameter on the scale, and fit."""
        scale = learn_scale(target, self.scale)
        inner = super().fit(features, scale.forward(target), tuning.on_scale(scale.back))
        model = SmearedTarget(clone(inner.model), self.scale)
        model.scale_ = scale
        return inner._replace(model=model._around(inner.model, features, target, tuning))

    def refit(self, model: Any, features: NDArray, target: NDArray, tuning: Tuning) -> Any:
        """A model with the parameters of another, its residuals from folds that suit the rows."""
        return clone(model).fit(features, target, tuning=tuning)


def transformed_recipes(
    candidates: Sequence[Candidate], entries: Sequence[Entry], y: NDArray, names: Sequence[str] = ()
) -> list[TransformedRecipe]:
    """The best methods of different families on a scale on which the target is less skewed.

    None where there is no such scale. Methods of one family, two forests say, gain or lose alike on it.

    Parameters
    ----------
    candidates : sequence of Candidate
    entries : sequence of Entry
        The methods behind them.
    y : array
    names : sequence of str
        The variants to try, by name, in place of the best.
    """
    scale = helpful_scale(y)
    if scale is None:
        return []
    # A method for counts or for numbers above zero has its own scale.
    known = {entry.name: entry for entry in entries if entry.suits.target is None}
    ordered = sorted(candidates, key=lambda candidate: -candidate.score)
    leading: dict[str, str] = {}
    for name in (candidate.name for candidate in ordered if candidate.name in known):
        leading.setdefault(known[name].room, name)
    best = [*leading.values()][:HOW_MANY]
    chosen = [name for name in known if variant(name, scale) in names] if names else best
    return [TransformedRecipe(_renamed(known[name], scale), scale=scale) for name in chosen]


def variant(name: str, scale: str) -> str:
    """How a method on another scale is called.

    Examples
    --------
    >>> variant("Ridge", "log")
    'Ridge (log target)'
    """
    return f"{name} ({WORDS[scale]})"


def is_variant(name: str) -> bool:
    """Whether a name is that of a method on another scale."""
    return name.endswith(tuple(f"({words})" for words in WORDS.values()))


def _renamed(entry: Entry, scale: str) -> Entry:
    complexity = entry.suits.complexity
    suits = replace(entry.suits, complexity=complexity + (complexity < NOT_READ))
    summary = f"{entry.summary.rstrip('.')}. {SUMMARIES[scale]}"
    return replace(entry, name=variant(entry.name, scale), suits=suits, summary=summary)
