"""Trying one method: fitted on the training rows of each split, asked about the others."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.linear import Selection
from assay.registry import Entry
from assay.report.trials.coverage import COVERAGE
from assay.report.trials.resampling import FoldSplit

TUNING_ROWS = 20_000
"""Beyond so many training rows, parameters are chosen on one split in place of cross-validation."""


@dataclass(frozen=True)
class Recipe:
    """How a method is fitted to numbers.

    Attributes
    ----------
    entry : Entry or None
        The estimator; None for the baseline.
    baseline : type or None
        What any model must beat.
    """

    entry: Entry | None
    baseline: type | None = None

    @property
    def name(self) -> str:
        """Name of the method."""
        return "Baseline" if self.entry is None else self.entry.name

    def fit(self, features: NDArray, target: NDArray, seed: int) -> FittedMethod:
        """Choose the main parameter and fit."""
        if self.entry is None:
            assert self.baseline is not None
            return FittedMethod(self.baseline().fit(features, target), {}, None)
        return fit_entry(self.entry, features, target, seed)


class FittedMethod(NamedTuple):
    """A fitted model, the parameters chosen for it, the curve they were chosen on, and the warnings."""

    model: Any
    parameters: Mapping[str, float]
    selection: Selection | None
    notes: tuple[str, ...] = ()


def fit_entry(entry: Entry, features: NDArray, target: NDArray, seed: int) -> FittedMethod:
    """Choose the main parameter of an estimator and fit it: all from these rows."""
    model = entry.make(seed)
    if entry.suits.select is None:
        model.fit(features, target)
        return FittedMethod(model, chosen_parameters(entry, model, seed), None)
    options = dict(entry.suits.select)
    accepted = inspect.signature(model.select).parameters
    if "random_state" in accepted:
        options.setdefault("random_state", seed)
    if "cv" in accepted and len(target) > TUNING_ROWS:
        options["cv"] = "split"
    chosen = model.select(features, target, **options)
    curve = replace(chosen, model=None) if isinstance(chosen, Selection) else None
    return FittedMethod(chosen.model, chosen_parameters(entry, chosen.model, seed), curve)


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


class Answers(NamedTuple):
    """What a model says about rows it has not seen.

    Attributes
    ----------
    predictions : array of shape (n_rows,)
    probabilities : array of shape (n_rows, n_classes) or None
        Where the model has any and they were asked for.
    bounds : array of shape (n_rows, 2) or None
        Its own interval for each row, likewise.
    seconds : float
        Time of the fit.
    notes : tuple of str
        Warnings of the fit.
    """

    predictions: NDArray
    probabilities: NDArray | None
    bounds: NDArray | None
    seconds: float
    notes: tuple[str, ...]


def answer(
    recipe: Recipe,
    train: NDArray,
    target: NDArray,
    test: NDArray,
    *,
    seed: int,
    classes: NDArray | None,
    detailed: bool,
) -> Answers:
    """Fit on the training rows and ask about the others.

    Parameters
    ----------
    recipe : Recipe
    train, target : arrays
        Features and target to learn from.
    test : array
        Features of the rows to predict.
    seed : int
    classes : array or None
        All classes, for a classification.
    detailed : bool
        Whether probabilities and intervals are asked for too.
    """
    with noted() as notes:
        start = perf_counter()
        model = recipe.fit(train, target, seed).model
        seconds = perf_counter() - start
        predictions = np.asarray(model.predict(test))
        probabilities = bounds = None
        if detailed and classes is not None and hasattr(model, "predict_proba"):
            probabilities = np.zeros((len(test), len(classes)))
            probabilities[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(test)
        if detailed and classes is None:
            bounds = own_interval(model, test)
    return Answers(predictions, probabilities, bounds, seconds, tuple(notes))


def own_interval(model: Any, rows: NDArray) -> NDArray | None:
    """The interval that a model gives for each row; None where it has none."""
    if not hasattr(model, "predict_interval"):
        return None
    try:
        bounds = np.asarray(model.predict_interval(rows, coverage=COVERAGE), dtype=np.float64)
    except ValueError:  # penalised, or with no row to spare: the model says that it has none
        return None
    return bounds if np.isfinite(bounds).all() else None


def finish(recipe: Recipe, train: NDArray, target: NDArray, test: NDArray, *, seed: int) -> FittedMethod:
    """Fit on the whole table, where there is no row left to predict."""
    with noted() as notes:
        fitted = recipe.fit(train, target, seed)
    return fitted._replace(notes=tuple(notes))


@contextmanager
def noted() -> Iterator[list[str]]:
    """Gather warnings, each once, in place of showing them."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes.extend(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))


class Outputs(NamedTuple):
    """What models that have not seen a row say about it, for every row of the table.

    Rows that several repetitions predict keep the answers of the first.
    """

    predictions: NDArray
    probabilities: NDArray | None
    bounds: NDArray | None
    folds: NDArray


def gather(parts: Sequence[FoldSplit], answers: Sequence[Answers], y: NDArray) -> Outputs:
    """Put the answers of the splits together: one for every row, in the order of the rows."""
    predictions, folds = np.empty_like(y), np.full(len(y), -1)
    for number, (part, said) in enumerate(zip(parts, answers, strict=True)):
        new = folds[part.test] < 0
        predictions[part.test[new]] = said.predictions[new]
        folds[part.test[new]] = number
    # The splits of the first repetition hold every row once; those after them have no new row.
    first = slice(int(folds.max()) + 1)
    probabilities = _table([said.probabilities for said in answers[first]], parts[first], len(y))
    bounds = _table([said.bounds for said in answers[first]], parts[first], len(y))
    return Outputs(predictions, probabilities, bounds, folds)


def _table(answers: Sequence[NDArray | None], parts: Sequence[FoldSplit], n_rows: int) -> NDArray | None:
    """Answers of the splits of one repetition in the order of the rows; None if a model had none."""
    table: NDArray | None = None
    for part, rows in zip(parts, answers, strict=True):
        if rows is None:
            return None
        if table is None:
            table = np.empty((n_rows, rows.shape[1]))
        table[part.test] = rows
    return table
