"""Comparing methods that predict: the same folds for all, and a baseline that each must beat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from assay.models.calibration import calibration_error
from assay.models.conformal import class_scores
from assay.registry import Entry
from assay.report.errors import ReportError
from assay.report.tables.data import Data
from assay.report.tables.encoding.code_encoder import n_plain_features, places_of_categories
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.trials.candidate import Candidate, certificates_of, ranked
from assay.report.trials.comparison import Comparison
from assay.report.trials.engine import Contender, Engine, Progress, Work
from assay.report.trials.explaining.effects import summarise_effects
from assay.report.trials.explaining.following import Afterwards, followed_classes, n_explaining
from assay.report.trials.explaining.importance import Examination, summarise
from assay.report.trials.roster import roster
from assay.report.trials.scoring.folds import folds_of, judged_rows, predicted_share, repeats_of
from assay.report.trials.scoring.guarantees import hand_scores
from assay.report.trials.scoring.metrics import KNOWN, SHOWN, Judged, Metric, metric_of
from assay.report.trials.scoring.resampling import (
    OWN,
    FoldSplit,
    corrected_error,
    default_repeats,
    measure_intervals,
)
from assay.report.trials.trial import (
    Answers,
    Encodings,
    Recipe,
    StoredSplit,
    answer,
    finish,
    gather,
    without_repeats,
)
from assay.report.trials.tuning import Tuning
from assay.rows import n_threads

PARALLEL_NUMBERS = 2_000_000
"""Numbers in an encoded table from which on further processes pay for their start."""

KEPT_ROWS = 12_000
"""Rows learnt from on all splits together up to which every model is kept, to explain the recommended one:
those of two forests then take some 150 megabytes."""


LEAST_ROWS = 5
"""Rows of a fold of numbers; of fewer rows there are fewer folds."""


@dataclass(frozen=True)
class Question:
    """How the answers to a task are scored, and what any model must beat."""

    metric: Metric
    baseline: type
    baseline_summary: str

    @property
    def score_name(self) -> str:
        """What the scores measure."""
        return self.metric.name


BASELINES: dict[str, tuple[type, str]] = {
    "regression": (DummyRegressor, "Always answers the mean of the target; what any model must beat."),
    "classification": (
        DummyClassifier,
        "Always names the commonest class, with the shares of all; what any model must beat.",
    ),
}


def measures_of(splits: Sequence[Judged], metric: Metric) -> dict[str, float]:
    """The measures beside the score: each is the mean over the splits, as the score is."""
    task = "regression" if splits[0].labels is None else "classification"
    wanted = [
        item for item in SHOWN[task] if not item.of_probabilities or splits[0].probabilities is not None
    ]
    if metric != KNOWN[task][0]:
        wanted.insert(0, KNOWN[task][0])
    # A split may lack a class, and then tells nothing of how the others stand to it.
    numbers = {item.name: [item.measure(rows) for rows in splits] for item in wanted}
    return {name: float(np.nanmean(values)) for name, values in numbers.items() if not np.isnan(values).all()}


def compare_predictions(
    data: Data,
    *,
    folds: int,
    repeats: int | None,
    seed: int,
    methods: Sequence[str] = (),
    exclude: Sequence[str] = (),
    budget: float | None = None,
    jobs: int | None = None,
    metric: str | None = None,
    progress: Progress,
) -> Comparison:
    """Cross-validate the candidates on the same folds, then fit each on the whole table."""
    start, task, y = perf_counter(), data.task, data.y
    question = Question(metric_of(metric, task, data), *BASELINES[task])
    assert y is not None
    labels = data.labels if task == "classification" else None
    folds = _check_folds(data, y, labels, folds)
    repeats = repeats_of(data, repeats, default_repeats(*data.X.shape))
    parts = folds_of(data, folds=folds, repeats=repeats, seed=seed, classes=None if labels is None else y)
    # The first rows tell the number of features well enough to know which methods are quick on them.
    n_features = len(TableEncoder(data.columns).fit(data.X.iloc[:1000]).feature_names_out_)
    target = y if labels is None else None
    plain = Afterwards.without_made(methods)
    sizes: dict[str, Any] = {"n_plain": n_plain_features(data.columns)}
    sizes["n_classes"] = 2 if labels is None else labels.size
    wanted: dict[str, Any] = {"methods": plain, "exclude": exclude, "metric": question.metric}
    chosen, skipped = roster(task, y.size, n_features, target=target, **wanted, **sizes)
    if budget is not None:  # what is simple is quick: a short time then holds as many methods as it can
        chosen.sort(key=lambda entry: entry.suits.complexity)
    jobs = _check_jobs(jobs, y.size * n_features)
    engine, share = Engine(progress, budget), predicted_share(data, parts, folds)
    with Encodings(data.X, y, data.columns, parts) as encodings:
        asked = None if metric is None else question.metric
        tuning = Tuning(seed, data.times, data.groups, labels, asked)
        settings = Validation(question, encodings, labels, folds, tuning, jobs > 1, share, data.classes)
        recipes = [Recipe(None, question.baseline), *(Recipe(with_categories(item, data)) for item in chosen)]
        make = partial(ValidatedMethod, settings=settings)
        contenders = [make(recipe) for recipe in recipes]
        candidates = engine.run(contenders, jobs=jobs)
        afterwards = Afterwards(settings, contenders, engine, make, asked=methods)
        candidates += afterwards.variants(candidates, jobs=jobs)
        ordered, name = ranked(candidates, [*skipped, *engine.skipped]), question.score_name
        ensemble = afterwards.ensemble(ordered)  # the last line, whatever its score
        ordered += () if ensemble is None else (ensemble,)
        said, judged = (*skipped, *engine.skipped), judged_rows(parts, y.size)
        shown = data if judged is None else data.at(judged)
        comparison = Comparison(task, shown, name, ordered, folds, seed, repeats, skipped=said, share=share)
        comparison = afterwards.explain(comparison)
    return replace(comparison, seconds=perf_counter() - start, metric=metric)


@dataclass(frozen=True)
class Validation:
    """How every method is cross-validated."""

    question: Question
    encodings: Encodings
    labels: NDArray | None  # all classes, for a classification
    folds: int  # splits of a repetition
    tuning: Tuning  # how parameters are chosen, told of all rows
    in_files: bool  # whether fits read their rows from files, as those in other processes do
    share: float  # of the rows of a split that it predicts
    classes: tuple[str, ...] | None = None  # names of the labels

    @property
    def repeats(self) -> int:
        """How often the folds are drawn."""
        return len(self.encodings.parts) // self.folds

    @property
    def keeps_models(self) -> bool:
        """Whether the models of the splits are kept until one of them is explained."""
        return sum(len(part.train) for part in self.encodings.parts) <= KEPT_ROWS

    @property
    def followed(self) -> Mapping[str, int] | None:
        """Classes whose probabilities the effects are, with their places among the labels."""
        if self.labels is None:
            return None
        return followed_classes(self.classes, self.labels, self.encodings.target)

    def examination(self, split: int, encoder: TableEncoder) -> Examination:
        """Asks a model what each column is worth on the rows that a split predicts."""
        groups = encoder.groups()
        truth = self.encodings.target[self.encodings.parts[split].test]
        return Examination(truth, groups, self.labels, self.seed, repeats=self.repeats)

    @property
    def seed(self) -> int:
        """Seed of whatever is drawn."""
        return self.tuning.seed

    def tuning_of(self, split: int) -> Tuning:
        """How parameters are chosen on the rows that a split learns from; on all rows past the last split."""
        parts = self.encodings.parts
        return self.tuning if split == len(parts) else self.tuning.at(parts[split].train)


class ValidatedMethod(Contender):
    """A method that predicts, in a comparison: a fit for each split, and one on the whole table."""

    def __init__(self, recipe: Recipe, settings: Validation) -> None:
        self.recipe, self.settings, self.entry = recipe, settings, recipe.entry
        self.encodings = settings.encodings.of(recipe.encoder)
        self.n_fits = len(settings.encodings.parts) + 1
        self.score_name = settings.question.score_name
        self.baseline_summary = settings.question.baseline_summary

    def work(self, fit: int, results: Sequence[Any]) -> Work:
        """Fit on the training rows of a split and ask about the others; at last, fit on all rows."""
        settings = self.settings
        ask: Callable[..., Any]
        tuning = settings.tuning_of(fit)
        if fit == self.n_fits - 1:
            ask = partial(finish, self.recipe, tuning=tuning)
        else:
            ask = partial(answer, self.recipe, tuning=tuning, classes=settings.labels)
        examined = fit < self.n_fits - 1 and self.entry is not None
        if settings.in_files:
            stored = self.encodings.stored(fit)
            if examined:
                ask = partial(ask, **self._asked(fit, self.encodings.encoder(fit)))
            return partial(_from_files, ask, stored)
        encoded = self.encodings[fit]
        ask = partial(ask, **self._asked(fit, encoded.encoder)) if examined else ask
        return partial(ask, encoded.train, encoded.target, encoded.test)

    def _asked(self, split: int, encoder: TableEncoder) -> dict[str, Any]:
        """What a model is asked beside its answers: what each column is worth, how it moves them, itself."""
        trace = self.encodings.tracing(split, self.settings.labels, self.settings.repeats)
        settings = self.settings
        n_numbers = len(settings.encodings.parts[split].train) * len(encoder.feature_names_out_)
        # The models of a wide table may each be as large as it: those that explain nothing are let go.
        keep = settings.keeps_models and split < n_explaining(settings.encodings, n_numbers, settings.folds)
        return {"examine": settings.examination(split, encoder), "trace": trace, "keep": keep}

    def conclude(self, results: Sequence[Any]) -> Candidate:
        """The line of the leaderboard: a score for each split, an answer for every row, the final model."""
        *answers, final = results
        self.answers = tuple(answers)  # which an ensemble is made of
        labels, encodings = self.settings.labels, self.encodings
        parts, y = encodings.parts, encodings.target
        metric, repeats = self.settings.question.metric, gather(parts, answers, y, self.settings.folds)
        outputs = repeats[0]
        splits = [self._judged(part, said) for part, said in zip(parts, answers, strict=True)]
        scores = np.array([metric.score(rows) for rows in splits])
        if np.isnan(scores).any():
            raise ValueError(f"{metric.name} cannot be measured where a fold lacks a class")
        measures, intervals = measures_of(splits, metric), None
        seen = y if outputs.rows is None else y[outputs.rows]
        if labels is None:
            told = [(said.predictions, said.folds, said.bounds) for said in repeats]
            intervals = measure_intervals(seen, told, in_order=self.settings.tuning.times is not None)
            if intervals is not None and hand_scores(
                final.model, [np.abs(seen - said.predictions) for said in repeats]
            ):
                intervals = intervals._replace(source=OWN)
            if intervals is not None:
                measures |= {"coverage": intervals.held, "interval width": intervals.width}
        elif outputs.probabilities is not None:
            measures["calibration error"] = self._calibration(answers)
            true = np.searchsorted(labels, seen)
            shares = [said.probabilities for said in repeats if said.probabilities is not None]
            hand_scores(final.model, [class_scores(share, true) for share in shares])
        model = Pipeline([("table", encodings.encoder(self.n_fits - 1)), ("model", final.model)])
        notes = [note for said in answers for note in said.notes] + [*final.notes]
        importances = summarise(
            [said.examined for said in answers],
            [column.name for column in encodings.columns if column.learnable],
            y=y,
            labels=labels,
            certain=outputs.probabilities is None,
            share=self.settings.share,
        )
        effects = summarise_effects(
            encodings.traced,
            [said.traced for said in answers],
            [] if importances is None else importances.columns,
            share=self.settings.share,
            followed=self.settings.followed,
        )
        return Candidate(
            **self.headings,
            score=float(scores.mean()),
            standard_error=corrected_error(scores, self.settings.share),
            scores=scores,
            measures=measures,
            fit_seconds=float(np.median([said.seconds for said in answers])),
            parameters=final.parameters,
            model=model,
            certificates=certificates_of(model),
            predictions=outputs.predictions,
            probabilities=outputs.probabilities,
            repeats=tuple(repeats),
            notes=without_repeats(notes),
            intervals=intervals,
            selection=final.selection,
            sign=metric.sign,
            importances=importances,
            effects=effects,
        )

    def _judged(self, part: FoldSplit, said: Answers) -> Judged:
        """What is said of the rows of a split, beside the truth."""
        costs, y = self.settings.question.metric.costs, self.settings.encodings.target
        costs = None if costs is None else costs[part.test]
        return Judged(y[part.test], said.predictions, said.probabilities, self.settings.labels, costs)

    def _calibration(self, answers: Sequence[Answers]) -> float:
        """Calibration error, which needs many rows: over those of each repetition, then their mean."""
        parts, y, labels = self.settings.encodings.parts, self.settings.encodings.target, self.settings.labels
        assert labels is not None
        errors = []
        for start in range(0, len(parts), self.settings.folds):
            one = slice(start, start + self.settings.folds)
            rows = np.concatenate([part.test for part in parts[one]])
            chances = np.concatenate([said.probabilities for said in answers[one]])
            errors.append(calibration_error(y[rows], chances, labels))
        return float(np.mean(errors))


def with_categories(entry: Entry, data: Data) -> Entry:
    """An entry that takes columns as they are, told which of them are categories."""
    if entry.suits.encoding != "codes":
        return entry
    settings = {**entry.suits.settings, "categorical_features": places_of_categories(data.columns)}
    return replace(entry, suits=replace(entry.suits, settings=settings))


def _from_files(ask: Callable[..., Any], stored: StoredSplit) -> Any:
    return ask(*stored.open())


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
    if y.size < 4:
        raise ReportError(
            f"2 folds need at least 4 rows, two per fold; {data.name} has {y.size}: more rows are needed."
        )
    if np.unique(y).size == 1:
        raise ReportError(f"The target {data.target!r} is {y[0]} in every row; there is nothing to predict.")
    if labels is None:  # in fewer rows the spread of the target is chance, and R² with it
        return min(folds, max(2, y.size // LEAST_ROWS))
    return min(folds, int(np.unique(y, return_counts=True)[1].min()))
