"""Trying one estimator on a table: fitted on the training rows of each fold, scored on the others."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assay.report._encoder import TableEncoder
from assay.report._resampling import Split
from assay.report._roster import Entry
from assay.report._schema import Column

TUNING_ROWS = 20_000
"""Beyond so many training rows, parameters are chosen on one split in place of cross-validation."""


class Fit(NamedTuple):
    """A fitted pipeline and the parameters that were chosen for it."""

    model: Pipeline
    parameters: Mapping[str, float]


class Outputs(NamedTuple):
    """What models that have not seen a row say about it: a prediction, and probabilities where they have any.

    Rows that several repetitions predict keep the prediction of the first.
    """

    predictions: NDArray
    probabilities: NDArray | None


@dataclass(frozen=True)
class Trial:
    """What the cross-validation of one method found."""

    scores: NDArray
    outputs: Outputs
    fit_seconds: float
    final: Fit
    notes: tuple[str, ...] = field(default=())


Score = Callable[[NDArray, NDArray], float]
Make = Callable[[pd.DataFrame, NDArray, Sequence[Column], int], Fit]


def fit_entry(entry: Entry, frame: pd.DataFrame, y: NDArray, columns: Sequence[Column], seed: int) -> Fit:
    """Encode the columns, choose the main parameter and fit: all from these rows."""
    encoder = TableEncoder(columns).fit(frame)
    features = encoder.transform(frame)
    model = entry.make(seed)
    if entry.suits.select is not None:
        options = dict(entry.suits.select)
        accepted = inspect.signature(model.select).parameters
        if "random_state" in accepted:
            options.setdefault("random_state", seed)
        if "cv" in accepted and len(y) > TUNING_ROWS:
            options["cv"] = "split"
        model = model.select(features, y, **options).model
    else:
        model.fit(features, y)
    return Fit(Pipeline([("table", encoder), ("model", model)]), chosen_parameters(entry, model, seed))


def chosen_parameters(entry: Entry, model: Any, seed: int) -> dict[str, float]:
    """The numbers that were chosen: parameters that differ from those the estimator was made with."""
    made = entry.make(seed).get_params(deep=False)
    now = model.get_params(deep=False)
    return {
        name: float(value)
        for name, value in now.items()
        if isinstance(value, (int, float))
        and not isinstance(value, bool)
        and (made[name] is None or value != made[name])
    }


def run_trial(
    make: Make,
    frame: pd.DataFrame,
    y: NDArray,
    columns: Sequence[Column],
    parts: Sequence[Split],
    *,
    seed: int,
    score: Score,
    classes: NDArray | None,
    step: Callable[[int], None],
) -> Trial:
    """Fit and score on every split, then fit once more on all rows.

    Parameters
    ----------
    make : callable
        Fits a pipeline on given rows.
    frame, y, columns
        The table, its target and what its columns are.
    parts : sequence of Split
    seed : int
    score : callable
        Of (truth, predictions); the greater the better.
    classes : array or None
        The classes, for probabilities.
    step : callable
        Told the number of the split that begins.
    """
    predictions = np.empty_like(y)
    probabilities = None if classes is None else np.full((len(y), len(classes)), np.nan)
    unseen = np.ones(len(y), dtype=np.bool_)
    scores, seconds = np.empty(len(parts)), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, (train, test) in enumerate(parts):
            step(number)
            start = perf_counter()
            fitted = make(frame.iloc[train], y[train], columns, seed)
            seconds.append(perf_counter() - start)
            shown = frame.iloc[test]
            found = np.asarray(fitted.model.predict(shown))
            scores[number] = score(y[test], found)
            new = unseen[test]
            predictions[test[new]] = found[new]
            unseen[test] = False
            if probabilities is not None and classes is not None:
                if hasattr(fitted.model, "predict_proba"):
                    places = np.searchsorted(classes, fitted.model[-1].classes_)
                    table = np.zeros((len(test), len(classes)))
                    table[:, places] = fitted.model.predict_proba(shown)
                    probabilities[test[new]] = table[new]
                else:
                    probabilities = None
        step(len(parts))
        final = make(frame, y, columns, seed)
    notes = tuple(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
    return Trial(scores, Outputs(predictions, probabilities), float(np.median(seconds)), final, notes)
