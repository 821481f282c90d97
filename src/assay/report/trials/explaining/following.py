"""What follows the trials: variants of the best methods, an ensemble, what the recommended model learnt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.report.tables.data import rarer_class
from assay.report.tables.encoding.code_encoder import n_plain_features
from assay.report.trials.candidate import Candidate
from assay.report.trials.comparison import Comparison
from assay.report.trials.engine import Engine, attempted
from assay.report.trials.explaining.effects import CORRELATED_ROWS, MAX_COLUMNS, Split, effects_of, spread
from assay.report.trials.explaining.explanation import (
    Explanation,
    LearningCurve,
    Threshold,
    below_zero,
)
from assay.report.trials.explaining.importance import (
    Examination,
    Importances,
    answers_of,
    n_asked_of_the_chosen,
    screened,
    summarise,
)
from assay.report.trials.explaining.learning_curve import learning_curve
from assay.report.trials.explaining.thresholds import choose_threshold, metric_of_thresholds
from assay.report.trials.scoring.metrics import Judged
from assay.report.trials.stacking import (
    NAME,
    SUMMARY,
    EnsembleRecipe,
    WeightedEnsemble,
    can_join,
    ensemble_entry,
    heavy_members,
    stacked_answers,
)
from assay.report.trials.target_transform import is_variant, transformed_recipes
from assay.report.trials.trial import Encodings, FittedMethod, Recipe, noted
from assay.report.wording import joined

if TYPE_CHECKING:
    from assay.report.trials.supervised import ValidatedMethod, Validation

LARGE_TABLE, LARGE_NUMBERS = 20_000, 2_000_000
"""Beyond so many rows or numbers two splits explain a model, in place of all."""

MAX_CLASSES = 4
"""Classes whose probabilities are followed, the most frequent ones."""


def n_explaining(encodings: Encodings, n_numbers: int, folds: int) -> int:
    """Splits whose models explain a method, which learn from so many numbers each."""
    large = encodings.target.size > LARGE_TABLE or n_numbers > LARGE_NUMBERS
    return min(2, folds) if large else len(encodings.parts)


class OutOfTimeError(Exception):
    """A fit would begin after the budget."""


@dataclass
class Afterwards:
    """What is done once every method has been tried, on the same splits.

    Parameters
    ----------
    settings : Validation
    contenders : list of ValidatedMethod
        Those that were tried; variants are added.
    engine : Engine
    make : callable
        Gives the contender of a recipe.
    asked : sequence of str
        Names that the user gave; none for all.
    """

    settings: Validation
    contenders: list[ValidatedMethod]
    engine: Engine
    make: Callable[[Recipe], ValidatedMethod]
    asked: Sequence[str] = ()
    no_time_for: list[str] = field(default_factory=list)

    @staticmethod
    def without_made(names: Sequence[str]) -> list[str]:
        """Names of methods, without those of what is made of them: variants and the ensemble."""
        return [name for name in names if not (is_variant(name) or name.lower() == NAME.lower())]

    def variants(self, candidates: Sequence[Candidate], *, jobs: int) -> list[Candidate]:
        """The best methods on another scale of the target, where that helps."""
        named = [name for name in self.asked if is_variant(name)]
        if self.settings.labels is not None or self.engine.interrupted or (self.asked and not named):
            return []
        entries = [item.entry for item in self.contenders if item.entry is not None]
        y = self.settings.encodings.target
        recipes = transformed_recipes(candidates, entries, y, named)
        added = [self.make(recipe) for recipe in recipes]
        self.contenders += added
        try:
            return self.engine.run(added, jobs=jobs) if added else []
        except KeyboardInterrupt:  # the methods themselves are finished
            self.engine.interrupted = True
            return []

    def ensemble(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """The stacked ensemble of the candidates; None where fewer than two can join or have a weight."""
        if self.asked and NAME.lower() not in {name.lower() for name in self.asked}:
            return None
        labels, encodings = self.settings.labels, self.settings.encodings
        finished = {candidate.name: candidate for candidate in candidates if not candidate.is_baseline}
        members = [
            item
            for item in self.contenders
            if item.recipe.name in finished and can_join(item.answers, classes=labels)
        ]
        if len(members) < 2:
            return None
        said = [item.answers for item in members]
        options: dict[str, Any] = {"folds": self.settings.folds, "classes": labels}
        options["in_order"] = self.settings.tuning.times is not None
        with attempted(NAME):
            answers, weights = stacked_answers(said, encodings.parts, encodings.target, **options)
            kept, weights = heavy_members(weights)
            if len(kept) < 2:
                name = members[kept[0]].recipe.name
                self.engine.skipped.append(f"{NAME} was left out: all of its weight would be on {name}.")
                return None
            chosen = [finished[members[place].recipe.name] for place in kept]
            n_plain = n_plain_features(encodings.columns)
            recipes = tuple(item.recipe for item in members)
            recipe = EnsembleRecipe(ensemble_entry(candidates), None, recipes, kept, weights, n_plain)
            contender = self.make(recipe)
            contender.encodings[len(encodings.parts)]  # the whole table, which no fit has asked for yet
            pairs = zip(recipe.heavy, chosen, strict=True)
            fitted = [recipe.on_its_columns(member, item.model[-1]) for member, item in pairs]
            model = WeightedEnsemble.from_fitted(fitted, weights.tolist())
            self.contenders.append(contender)
            candidate = contender.conclude([*answers, FittedMethod(model, {}, None)])
            shares = {item.name: float(weight) for item, weight in zip(chosen, weights, strict=True)}
            shares = dict(sorted(shares.items(), key=lambda pair: -pair[1]))
            told = joined([f"{name} {weight:.0%}" for name, weight in shares.items()])
            return replace(candidate, weights=shares, summary=SUMMARY.format(members=told))
        return None

    def explain(self, comparison: Comparison) -> Comparison:
        """The comparison with what its recommended model has learnt, as far as there is time for it."""
        if self.engine.interrupted:
            return comparison
        chosen = comparison.recommended
        if chosen.is_baseline:
            return replace(comparison, explanation=self._of_the_best(comparison))
        contender = next(item for item in self.contenders if item.recipe.name == chosen.name)
        try:
            with noted():
                parts = self._parts(comparison, chosen, contender)
        except KeyboardInterrupt:
            self.engine.interrupted = True
            return comparison
        told: dict[str, Any] = {"importances": parts.importances or chosen.importances}
        told |= {"effects": parts.effects or chosen.effects}
        candidates = tuple(
            replace(item, **told) if item is chosen else item for item in comparison.candidates
        )
        skipped = comparison.skipped + self.engine.no_time_for(self.no_time_for)
        return replace(comparison, candidates=candidates, explanation=parts, skipped=skipped)

    @contextmanager
    def _within_budget(self, what: str) -> Iterator[None]:
        """What cannot be done is left out, and what there is no time for is noted."""
        try:
            with attempted(what[0].upper() + what[1:]):
                yield
        except OutOfTimeError:
            self.no_time_for.append(what)

    def _require_time(self) -> None:
        """No fit begins after the budget."""
        if not self.engine.has_time:
            raise OutOfTimeError

    def _of_the_best(self, comparison: Comparison) -> Explanation | None:
        """Where naming the commonest class is not beaten: what a threshold would make of probabilities."""
        best = next(
            (
                item
                for item in comparison.candidates
                if item.probabilities is not None and not item.is_baseline
            ),
            None,
        )
        threshold = None if best is None else self._threshold(comparison, best)
        if best is None or threshold is None or not threshold.helps:
            return None
        return Explanation(threshold=threshold._replace(method=best.name))

    def _parts(self, comparison: Comparison, chosen: Candidate, contender: ValidatedMethod) -> Explanation:
        data, y = comparison.data, self.settings.encodings.target
        importances, effects = chosen.importances, chosen.effects
        with self._within_budget("a closer look at the columns"):
            self._require_time()
            splits, whole = self._splits(chosen, contender), self._whole(chosen)
            importances = self._importances(splits, whole, chosen) or importances
            names = () if importances is None else importances.columns[:MAX_COLUMNS]
            options: dict[str, Any] = {"labels": self.settings.labels, "followed": self.settings.followed}
            effects = effects_of(splits, names, data.X, whole, share=self.settings.share, **options)
        learning = None
        with self._within_budget("the learning curve"):
            learning = self._learning(*self._strongest(comparison, chosen, contender))
            if learning is not None and chosen.weights is not None:
                learning = learning._replace(member=next(iter(chosen.weights)))
        cautions = tuple[str, ...]()
        if self.settings.labels is None:
            said = np.concatenate([repeat.predictions for repeat in chosen.repeats])
            cautions = tuple(below_zero(y, said, data.target))
        threshold = self._threshold(comparison, chosen)
        n_splits = self._n_splits(contender)
        told = n_splits if n_splits < len(self.settings.encodings.parts) else None
        return Explanation(importances, effects, learning, threshold, cautions, told)

    def _n_splits(self, contender: ValidatedMethod) -> int:
        """Splits that explain a model: all, those of one repetition for an ensemble, two of a large table.

        An ensemble is fitted anew on each of them, with all of its members.
        """
        settings = self.settings
        count = n_explaining(settings.encodings, contender.encodings[0].train.size, settings.folds)
        return min(count, settings.folds) if isinstance(contender.recipe, EnsembleRecipe) else count

    def _splits(self, chosen: Candidate, contender: ValidatedMethod) -> list[Split]:
        """The models of the splits, each with the rows that it has not seen.

        Where they were not kept, others are fitted with the parameters that were chosen on the whole table.
        """
        splits, encodings = [], contender.encodings
        for number in range(self._n_splits(contender)):
            encoded = encodings[number]
            model = self._kept(contender, number)
            if model is None:
                self._require_time()
                tuning = self.settings.tuning_of(number)
                model = contender.recipe.refit(chosen.model[-1], encoded.train, encoded.target, tuning)
            frame = encodings.frame.iloc[encodings.parts[number].test]
            splits.append(Split(model, encoded.encoder, frame, encoded.test))
        return splits

    def _kept(self, contender: ValidatedMethod, split: int) -> Any | None:
        """The model of a split, of an ensemble made of its members; None where it was not kept."""
        recipe = contender.recipe
        if not isinstance(recipe, EnsembleRecipe):
            return contender.answers[split].model
        tried = {item.recipe.name: item for item in self.contenders}
        models = [tried[member.name].answers[split].model for member in recipe.heavy]
        if any(model is None for model in models):
            return None
        pairs = zip(recipe.heavy, models, strict=True)
        fitted = [recipe.on_its_columns(member, model) for member, model in pairs]
        return WeightedEnsemble.from_fitted(fitted, recipe.weights)

    def _whole(self, chosen: Candidate) -> Split:
        frame = self.settings.encodings.frame
        encoder = chosen.model[0]
        some = frame.iloc[spread(len(frame), CORRELATED_ROWS)]
        return Split(chosen.model[-1], encoder, some, encoder.transform(some))

    def _importances(self, splits: Sequence[Split], whole: Split, chosen: Candidate) -> Importances | None:
        encodings, labels = self.settings.encodings, self.settings.labels
        kept = screened(whole.model, whole.encoder, whole.features, labels)
        n_asked = n_asked_of_the_chosen(whole.features.shape[1]) // len(splits)
        examined = []
        for number, split in enumerate(splits):
            truth = encodings.target[encodings.parts[number].test]
            every = split.encoder.groups()  # once: a wide table has very many
            groups = [every[place] for place in kept]
            ask = Examination(truth, groups, labels, self.settings.seed, n_asked)
            examined.append(ask(split.model, split.features))
        used = [column.name for column in encodings.columns if column.learnable]
        names = [used[place] for place in kept]
        certain = chosen.probabilities is None
        share = self.settings.share
        told = summarise(examined, names, y=encodings.target, labels=labels, certain=certain, share=share)
        screened_out = len(names) < len(used)
        return told._replace(n_columns=len(used)) if told is not None and screened_out else told

    def _strongest(
        self, comparison: Comparison, chosen: Candidate, contender: ValidatedMethod
    ) -> tuple[Candidate, ValidatedMethod]:
        """The model itself; of an ensemble, the member of the greatest weight.

        Every point of a learning curve is a fit with a choice of parameters, for an ensemble one per member.
        """
        if chosen.weights is None:
            return chosen, contender
        name = next(iter(chosen.weights))
        member = next(item for item in comparison.candidates if item.name == name)
        return member, next(item for item in self.contenders if item.recipe.name == name)

    def _learning(self, chosen: Candidate, contender: ValidatedMethod) -> LearningCurve | None:
        encodings, settings, rows = contender.encodings, self.settings, []
        metric, labels = settings.question.metric, settings.labels
        # Every point takes fits with a choice of parameters: one repetition is enough for a difference.
        for number in range(min(self._n_splits(contender), settings.folds)):
            encoded = encodings[number]
            rows.append((encoded.train, encoded.target, encoded.test))

        def judge(model: Any, number: int) -> float:
            features, shown = rows[number][-1], encodings.parts[number].test
            certain = labels is None or not hasattr(model, "predict_proba")
            chances = None if certain else answers_of(model, labels)(features)
            costs = None if metric.costs is None else metric.costs[shown]
            said = np.asarray(model.predict(features))
            return metric.score(Judged(encodings.target[shown], said, chances, labels, costs))

        def fit(number: int, some: NDArray) -> Any:
            self._require_time()
            features, target, _ = rows[number]
            return contender.recipe.fit(
                features[some], target[some], settings.tuning_of(number).at(some)
            ).model

        curve = learning_curve(
            fit,
            rows,
            chosen.scores[: len(rows)],
            judge=judge,
            score_name=settings.question.score_name,
            sign=metric.sign,
            seed=settings.seed,
            classes=settings.labels,
            share=settings.share,
            tunings=[settings.tuning_of(number) for number in range(len(rows))],
        )
        partly = len(rows) < len(encodings.parts)
        return curve._replace(n_splits=len(rows)) if partly and curve is not None else curve

    def _threshold(self, comparison: Comparison, chosen: Candidate) -> Threshold | None:
        settings, data = self.settings, comparison.data
        labels, tuning = settings.labels, settings.tuning
        if labels is None or chosen.probabilities is None:
            return None
        metric = metric_of_thresholds(settings.question.metric, asked=tuning.metric is not None)
        rows = chosen.repeats[0].rows  # folds in the order of the time leave the first ones unpredicted
        costs = metric.costs if rows is None or metric.costs is None else metric.costs[rows]
        names = data.classes or tuple(str(label) for label in labels)
        assert data.y is not None
        how: dict[str, Any] = {"metric": metric, "costs": costs, "in_order": tuning.times is not None}
        return choose_threshold(data.y, chosen.repeats, labels=labels, names=names, **how)


def followed_classes(classes: Sequence[str] | None, labels: NDArray, y: NDArray) -> Mapping[str, int]:
    """Classes whose probabilities are followed: the rarer of two, else the most frequent ones."""
    names = classes or tuple(str(label) for label in labels)
    if len(names) == 2:
        place = rarer_class(y, labels)
        return {names[place]: place}
    counts = np.array([np.sum(y == label) for label in labels])
    order = np.sort(np.argsort(-counts, kind="stable")[:MAX_CLASSES])
    return {names[place]: int(place) for place in order}
