"""What a saved model says about rows: predictions, intervals, sets of classes, probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from assay.models.conformal import class_sets, stretched_intervals
from assay.report.errors import ReportError, words_of
from assay.report.trials.scoring.guarantees import joined_classes, quantile_for
from assay.report.trials.scoring.resampling import COVERAGE

FROM_RESIDUALS = (
    "{name} has no prediction intervals of its own: these come from the residuals of the folds and are all "
    "of one width."
)
OWN_FAIL = (
    "{name} cannot tell its own prediction intervals ({reason}): these come from the residuals of the folds "
    "and are all of one width."
)
CLASS_SETS = "The sets in 'classes' hold the true class of {coverage:.1%} of new rows like those of the fit."


@dataclass(frozen=True)
class Answerer:
    """Answers about rows with a saved model and what was kept beside it.

    Attributes
    ----------
    model : Pipeline
    interval : float or None
        Coverage that the model's own intervals are asked for, where there are any.
    stretch : float
        How many times as far from the prediction their ends are put.
    half_width : float or None
        Of intervals from the residuals of the folds.
    quantile : float or None
        Score up to which classes join a set.
    shares : array or None
        Probabilities by the class that is named, for a classifier without any.
    threshold : tuple of (int, float) or None
        Place of a class, and the probability from which on it is named.
    notes : tuple of str
    """

    model: Pipeline
    interval: float | None = None
    stretch: float = 1.0
    half_width: float | None = None
    quantile: float | None = None
    shares: NDArray | None = None
    threshold: tuple[int, float] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def for_model(
        cls,
        model: Pipeline,
        about: Mapping[str, Any],
        *,
        interval: float | None = None,
        threshold: float | str | None = None,
    ) -> Answerer:
        """Decide where intervals, sets and the threshold come from; a sentence where there are none."""
        cut = None if threshold is None else _threshold(model, about, threshold)
        if interval is None:
            return cls(model, threshold=cut)
        if not 0 < interval < 1:
            raise ReportError(f"The interval must be a coverage between 0 and 1. Got {interval:g} instead.")
        if is_classifier(model[-1]):
            quantile, shares = _class_quantile(model, interval, about)
            notes = (CLASS_SETS.format(coverage=interval),)
            return cls(model, quantile=quantile, shares=shares, threshold=cut, notes=notes)
        reason = own_intervals_fail(model, interval)
        if reason == "":
            # Stretched they hold what is asked for whatever the law; the rows may be too few to tell how far.
            factor = quantile_for(about.get("stretch_quantiles") or {}, interval)
            return cls(model, interval) if factor is None else cls(model, COVERAGE, factor)
        half_width = _half_width(model, interval, about, reason or "")
        words = FROM_RESIDUALS if reason is None else OWN_FAIL
        note = words.format(name=type(model[-1]).__name__, reason=reason)
        return cls(model, half_width=half_width, notes=(note,))

    @property
    def columns(self) -> list[str]:
        """Names of what is written."""
        last = self.model[-1]
        labels = last.classes_ if hasattr(last, "predict_proba") else ()
        ends = ["lower", "upper"] if self.interval is not None or self.half_width is not None else []
        sets = ["classes"] if self.quantile is not None else []
        return ["prediction", *ends, *sets, *(f"probability of {label}" for label in labels)]

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Answers about rows, one column each."""
        answers, last = predictions(self.model, frame, self.interval), self.model[-1]
        probabilities = answers.filter(regex="^probability of ").to_numpy()
        if self.interval is not None:
            ends = answers[["lower", "upper"]].to_numpy()
            answers[["lower", "upper"]] = stretched_intervals(answers["prediction"], ends, self.stretch)
        if self.half_width is not None:
            answers.insert(1, "lower", answers["prediction"] - self.half_width)
            answers.insert(2, "upper", answers["prediction"] + self.half_width)
        if self.quantile is not None:
            shares = probabilities
            if self.shares is not None:
                shares = self.shares[np.searchsorted(last.classes_, answers["prediction"])]
            members = class_sets(shares, self.quantile)
            answers.insert(1, "classes", joined_classes(members, last.classes_))
        if self.threshold is not None:
            place, value = self.threshold
            named = np.where(probabilities[:, place] >= value, place, 1 - place)
            answers["prediction"] = last.classes_[named]
        return answers


def predictions(model: Pipeline, frame: pd.DataFrame, interval: float | None = None) -> pd.DataFrame:
    """Prediction of each row, with its interval if asked, or the probabilities of the classes."""
    features = model[:-1].transform(frame)
    last = model[-1]
    columns = {"prediction": np.asarray(_asked(last, last.predict, features))}
    if interval is not None:
        try:
            ends = np.asarray(last.predict_interval(features, coverage=interval))
        except ValueError as error:  # columns that repeat each other leave no standard errors
            raise ReportError(f"There are no prediction intervals: {error}") from error
        columns["lower"], columns["upper"] = ends[:, 0], ends[:, 1]
    if hasattr(last, "predict_proba"):
        probabilities = _asked(last, last.predict_proba, features)
        for place, label in enumerate(last.classes_):
            columns[f"probability of {label}"] = probabilities[:, place]
    return pd.DataFrame(columns)


def _asked(last: Any, method: Callable[[NDArray], Any], features: NDArray) -> Any:
    """What a model says about rows; a sentence where its rule holds for those of the fit alone."""
    try:
        return method(features)
    except ValueError as error:
        raise ReportError(f"{type(last).__name__} cannot predict these rows: {words_of(error)}.") from error


def own_intervals_fail(model: Pipeline, interval: float) -> str | None:
    """Why a model cannot tell its own intervals; empty where it can, None where it has none."""
    if not hasattr(model[-1], "predict_interval"):
        return None
    row = np.zeros((1, len(model[0].feature_names_out_)))
    try:
        ends = np.asarray(model[-1].predict_interval(row, coverage=interval))
    except ValueError as error:  # penalised, columns that repeat each other, no row to spare
        return words_of(error)
    return "" if np.isfinite(ends).all() else "they are infinite"


def _half_width(model: Pipeline, interval: float, about: Mapping[str, Any], reason: str) -> float:
    """Half the width of intervals from the residuals of the folds."""
    quantiles = about.get("residual_quantiles")
    if not quantiles:
        if reason:
            raise ReportError(f"There are no prediction intervals: {reason}.")
        raise ReportError(f"{type(model[-1]).__name__} has no prediction intervals; leave out --interval.")
    return _kept(quantiles, interval, "intervals")


def _kept(quantiles: Mapping[str, float], interval: float, what: str) -> float:
    quantile = quantile_for(quantiles, interval)
    if quantile is None:
        most = max(map(float, quantiles))
        raise ReportError(
            f"The table of the fit has too few rows for {what} of {interval:g}; ask for {most:g} or less."
        )
    return quantile


def _class_quantile(
    model: Pipeline, interval: float, about: Mapping[str, Any]
) -> tuple[float, NDArray | None]:
    """The score up to which classes join a set, and what stands for probabilities where there are none."""
    quantiles, shares = about.get("class_quantiles"), about.get("class_shares")
    if not quantiles or (shares is None and not hasattr(model[-1], "predict_proba")):
        raise ReportError(
            f"Nothing was kept beside this {type(model[-1]).__name__} to make class sets of; leave out "
            "--interval, or fit it again with assay compare or assay fit."
        )
    return _kept(quantiles, interval, "class sets"), None if shares is None else np.array(shares)


def _threshold(model: Pipeline, about: Mapping[str, Any], asked: float | str) -> tuple[int, float]:
    """Place of the class that is named from a probability on, and the probability."""
    last, kept = model[-1], about.get("threshold")
    classes = [str(label) for label in getattr(last, "classes_", ())]
    if len(classes) != 2 or not hasattr(last, "predict_proba"):
        raise ReportError("A threshold is for two classes with probabilities; leave out --threshold.")
    place = classes.index(kept["class"]) if kept and kept.get("class") in classes else 1
    if asked == "chosen":
        if not kept:
            raise ReportError(
                "No threshold was chosen for this model, as neither class is rare; give a probability."
            )
        return place, float(kept["probability"])
    try:
        value = float(asked)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise ReportError(f"The threshold must be 'chosen' or a probability. Got {asked!r} instead.")
    return place, value
