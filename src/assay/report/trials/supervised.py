"""Comparing methods that predict: the same folds for all, and a baseline that each must beat."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, perf_counter

import numpy as np
from numpy.typing import NDArray

from assay.report.errors import ReportError
from assay.report.tables.data import Data, Task
from assay.report.tables.encoder import TableEncoder
from assay.report.trials.comparison import Candidate, Comparison, certificates_of, plus_minus, ranked
from assay.report.trials.encodings import Encodings
from assay.report.trials.engine import Trials
from assay.report.trials.progress import Progress
from assay.report.trials.questions import QUESTIONS, Question, classification_measures, regression_measures
from assay.report.trials.resampling import corrected_error, default_repeats, splits
from assay.report.trials.roster import roster
from assay.report.trials.trial import Recipe, Trial
from assay.rows import n_threads

PARALLEL_NUMBERS = 2_000_000
"""Numbers in an encoded table from which on further processes pay for their start."""


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
    jobs: int | None = None,
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
    target = y if labels is None else None
    chosen, skipped = roster(task, y.size, n_features, target=target, methods=methods, exclude=exclude)
    jobs = _check_jobs(jobs, y.size * n_features)
    deadline = None if budget is None else monotonic() + budget
    test_share = 1 / folds

    def told(trial: Trial) -> str:
        error = corrected_error(trial.scores, test_share)
        return f"{question.score_name} {plus_minus(float(trial.scores.mean()), error)}"

    with Encodings(data.X, y, data.columns, parts) as encodings:
        trials = Trials(
            encodings,
            [Recipe(None, question.baseline), *map(Recipe, chosen)],
            question.score,
            labels,
            seed,
            folds,
            out_of_time=lambda: deadline is not None and monotonic() > deadline,
            told=told,
            progress=progress,
        )
        found = trials.run(jobs)
    skipped += [f"{name} was left out: the {budget:g} s of --budget were spent." for name in trials.late]
    skipped += trials.skipped
    candidates = [_candidate(recipe, question, trial, y, labels, test_share) for recipe, trial in found]
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


def _candidate(
    recipe: Recipe,
    question: Question,
    trial: Trial,
    y: NDArray,
    labels: NDArray | None,
    test_share: float,
) -> Candidate:
    entry, outputs, intervals = recipe.entry, trial.outputs, None
    if labels is None:
        measures, intervals = regression_measures(y, outputs)
    else:
        measures = classification_measures(y, outputs, labels)
    return Candidate(
        name=recipe.name,
        summary=question.baseline_summary if entry is None else entry.summary,
        score=float(trial.scores.mean()),
        standard_error=corrected_error(trial.scores, test_share),
        scores=trial.scores,
        measures=measures,
        fit_seconds=trial.fit_seconds,
        parameters=trial.final.parameters,
        model=trial.model,
        certificates=certificates_of(trial.model),
        predictions=outputs.predictions,
        probabilities=outputs.probabilities,
        family="" if entry is None else entry.family,
        complexity=0 if entry is None else entry.suits.complexity,
        notes=trial.notes,
        intervals=intervals,
        selection=trial.final.selection,
    )


def _check_jobs(jobs: int | None, n_numbers: int) -> int:
    """The number of fits at the same time."""
    if jobs is None:
        return n_threads() if n_numbers >= PARALLEL_NUMBERS else 1
    if jobs < 1:
        raise ReportError(f"The number of jobs must be at least 1. Got {jobs} instead.")
    return jobs


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
