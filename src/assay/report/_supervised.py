"""Comparing methods that predict: the same folds for all, and a baseline that each must beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic, perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    r2_score,
    roc_auc_score,
)
from sklearn.pipeline import Pipeline

from assay.report._comparison import Candidate, Comparison, certificates_of, plus_minus, ranked
from assay.report._data import Data, Task
from assay.report._encoder import TableEncoder
from assay.report._errors import ReportError
from assay.report._progress import Event, Progress
from assay.report._resampling import corrected_error, default_repeats, splits
from assay.report._roster import Entry, roster
from assay.report._schema import Column
from assay.report._trial import Fit, Make, Outputs, Trial, fit_entry, run_trial


class OutOfTimeError(Exception):
    """The time that the user gave is spent."""


@dataclass(frozen=True)
class Question:
    """How the answers to a task are scored.

    Attributes
    ----------
    score_name : str
    score : callable
        Of (truth, predictions).
    measures : callable
        Further measures of (truth, outputs, labels), by name.
    baseline : estimator
        What any model must beat.
    baseline_summary : str
    """

    score_name: str
    score: Callable[[NDArray, NDArray], float]
    measures: Callable[[NDArray, Outputs, NDArray | None], dict[str, float]]
    baseline: Any
    baseline_summary: str


def regression_measures(y: NDArray, outputs: Outputs, labels: NDArray | None) -> dict[str, float]:
    """Root mean square and mean absolute error."""
    residuals = y - outputs.predictions
    return {"RMSE": float(np.sqrt(np.mean(residuals**2))), "MAE": float(np.mean(np.abs(residuals)))}


def classification_measures(y: NDArray, outputs: Outputs, labels: NDArray | None) -> dict[str, float]:
    """Balanced accuracy and, where there are probabilities, area under the ROC curve and log-loss."""
    assert labels is not None
    found = {"balanced accuracy": float(balanced_accuracy_score(y, outputs.predictions))}
    probabilities = outputs.probabilities
    if probabilities is not None:
        shown = probabilities[:, 1] if len(labels) == 2 else probabilities
        found["ROC AUC"] = float(roc_auc_score(y, shown, multi_class="ovr", labels=labels))
        found["log-loss"] = float(log_loss(y, probabilities, labels=labels))
    return found


QUESTIONS: dict[str, Question] = {
    "regression": Question(
        "R²",
        r2_score,
        regression_measures,
        DummyRegressor(),
        "Always answers the mean of the target; what any model must beat.",
    ),
    "classification": Question(
        "accuracy",
        accuracy_score,
        classification_measures,
        DummyClassifier(),
        "Always names the commonest class; what any model must beat.",
    ),
}


def compare_predictions(
    data: Data,
    task: Task,
    *,
    folds: int,
    repeats: int | None,
    seed: int,
    methods: Sequence[str] = (),
    exclude: Sequence[str] = (),
    budget: float | None = None,
    progress: Progress,
) -> Comparison:
    """Cross-validate the candidates on the same folds, then fit each on the whole table."""
    start, y, question = perf_counter(), data.y, QUESTIONS[task]
    assert y is not None
    labels = data.labels if task == "classification" else None
    folds = _check_folds(data, y, labels, folds)
    repeats = default_repeats(y.size) if repeats is None else repeats
    parts = splits(y.size, folds=folds, repeats=repeats, seed=seed, classes=None if labels is None else y)
    n_features = len(TableEncoder(data.columns).fit(data.X.iloc[:1000]).feature_names_out_)
    chosen, skipped = roster(task, y.size, n_features, methods=methods, exclude=exclude)
    makes: list[tuple[Entry | None, Make]] = [(None, partial(fit_baseline, question.baseline))]
    makes += [(entry, partial(fit_entry, entry)) for entry in chosen]
    deadline = None if budget is None else monotonic() + budget
    total = len(parts) + 1
    candidates: list[Candidate] = []
    for entry, _ in makes:
        progress(Event("Baseline" if entry is None else entry.name, "waiting", 0, total))
    for number, (entry, make) in enumerate(makes):
        name = "Baseline" if entry is None else entry.name

        def step(fit: int, name: str = name, entry: Entry | None = entry) -> None:
            if entry is not None and deadline is not None and monotonic() > deadline:
                raise OutOfTimeError
            progress(Event(name, "running", fit, total))

        try:
            trial = run_trial(
                make,
                data.X,
                y,
                data.columns,
                parts,
                seed=seed,
                score=question.score,
                classes=labels,
                step=step,
            )
        except OutOfTimeError:
            skipped.append(f"{name} was left out: the {budget:g} s of --budget were spent.")
            progress(Event(name, "left out", 0, total, "out of time"))
        except KeyboardInterrupt:
            if all(candidate.is_baseline for candidate in candidates):
                raise
            left = [item.name for item, _ in makes[number:] if item is not None]
            skipped.append(f"Interrupted before the end: {', '.join(left)} left out.")
            break
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            skipped.append(f"{name} was left out: its fit failed ({str(error).rstrip('.')}).")
            progress(Event(name, "left out", 0, total, "its fit failed"))
        else:
            candidates.append(found := _candidate(entry, question, trial, y, labels, 1 / folds))
            score = plus_minus(found.score, found.standard_error)
            progress(Event(name, "done", total, total, f"{question.score_name} {score}"))
    return Comparison(
        task=task,
        data=data,
        score_name=question.score_name,
        candidates=ranked(candidates, skipped),
        folds=folds,
        repeats=repeats,
        seed=seed,
        skipped=tuple(skipped),
        seconds=perf_counter() - start,
    )


def fit_baseline(baseline: Any, frame: pd.DataFrame, y: NDArray, columns: Sequence[Column], seed: int) -> Fit:
    """The mean or the commonest class of these rows."""
    encoder = TableEncoder(columns).fit(frame)
    model = type(baseline)().fit(encoder.transform(frame), y)
    return Fit(Pipeline([("table", encoder), ("model", model)]), {})


def _candidate(
    entry: Entry | None,
    question: Question,
    trial: Trial,
    y: NDArray,
    labels: NDArray | None,
    test_share: float,
) -> Candidate:
    return Candidate(
        name="Baseline" if entry is None else entry.name,
        summary=question.baseline_summary if entry is None else entry.summary,
        score=float(trial.scores.mean()),
        standard_error=corrected_error(trial.scores, test_share),
        scores=trial.scores,
        measures=question.measures(y, trial.outputs, labels),
        fit_seconds=trial.fit_seconds,
        parameters=trial.final.parameters,
        model=trial.final.model,
        certificates=certificates_of(trial.final.model),
        predictions=trial.outputs.predictions,
        probabilities=trial.outputs.probabilities,
        family="" if entry is None else entry.family,
        complexity=0 if entry is None else entry.suits.complexity,
        notes=trial.notes,
    )


def _check_folds(data: Data, y: NDArray, labels: NDArray | None, folds: int) -> int:
    """The number of folds that the rows, or the rarest class, allow."""
    if folds < 2:
        raise ReportError(f"The number of folds must be at least 2. Got {folds} instead.")
    if y.size < 2 * folds:
        way = f"use --folds {y.size // 2}" if y.size >= 4 else "more rows are needed"
        raise ReportError(
            f"{folds} folds need at least {2 * folds} rows, two a fold; {data.name} has {y.size}: {way}."
        )
    if np.unique(y).size == 1:
        raise ReportError(f"The target {data.target!r} is {y[0]} in every row; there is nothing to predict.")
    if labels is not None:
        rarest = int(np.unique(y, return_counts=True)[1].min())
        return min(folds, rarest)
    return folds
