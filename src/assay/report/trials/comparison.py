"""What a comparison found: candidates, scores, certificates and the sentences that sum them up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assay.certificates import Certificates
from assay.models import Selection
from assay.report.errors import ReportError
from assay.report.tables.associations import short
from assay.report.tables.data import Data, Task
from assay.report.tables.leakage import alarms
from assay.report.trials.explanation import Explanation
from assay.report.trials.importance import Importances
from assay.report.trials.resampling import OWN, Difference, Intervals, compare_scores
from assay.report.trials.verdict import LEVEL, Verdict, decide
from assay.report.trials.wording import joined, plus_minus, shown, shown_measure, shown_score

FEW_ROWS = 100
"""Below so many rows the ranking is said to be uncertain."""

FLATTERING = 0.8
"""A class with a greater share of the rows makes any accuracy look good."""


@dataclass(frozen=True)
class Candidate:
    """One line of the leaderboard, with the model behind it.

    Attributes
    ----------
    name : str
        Name of the method.
    summary : str
        What it does, in a sentence.
    score, standard_error : float
        Mean score and its standard error, corrected for the overlap of the training rows; the greater the
        score the better.
    scores : ndarray
        Scores behind the mean: one per split for a prediction, one per sampled row for a clustering.
    measures : mapping of str to float
        Further measures, by name.
    fit_seconds : float
        Median time of one fit, choice of the parameters included; the columns are encoded once for all.
    parameters : mapping of str to float
        The parameters chosen on the whole table.
    model : estimator
        Fitted on the whole table.
    certificates : Certificates
        Those of the fitted model.
    predictions : ndarray
        Out-of-fold predictions, or the labels of a clustering.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Out-of-fold probabilities, where the model has them.
    family : str
        The family of methods it belongs to.
    complexity : int
        How much there is to understand; 0 for a baseline.
    notes : tuple of str
        Warnings of the fits.
    sign : int
        1, or −1 where the measure of the comparison is an error: `score` is then minus the error.
    intervals : Intervals or None
        How the prediction intervals of a regression fared on rows they had not seen.
    selection : Selection or None
        The curve on which the parameter of the model was chosen.
    importances : Importances or None
        What shuffling each column costs, out of fold.
    weights : mapping of str to float or None
        Weight of each member, for an ensemble.
    """

    name: str
    summary: str
    score: float
    standard_error: float
    scores: NDArray
    measures: Mapping[str, float]
    fit_seconds: float
    parameters: Mapping[str, float]
    model: Any
    certificates: Certificates
    predictions: NDArray
    probabilities: NDArray | None = None
    family: str = ""
    complexity: int = 1
    notes: tuple[str, ...] = ()
    intervals: Intervals | None = None
    selection: Selection | None = None
    sign: int = 1
    importances: Importances | None = None
    weights: Mapping[str, float] | None = None

    @property
    def shown_score(self) -> str:
        """The measure of the comparison and its standard error as one writes them: errors are positive."""
        return shown_score(self.sign * self.score, self.standard_error, is_error=self.sign < 0)

    @property
    def is_baseline(self) -> bool:
        """Whether it is only there to be beaten."""
        return self.complexity == 0

    @property
    def is_ensemble(self) -> bool:
        """Whether it is the weighted mean of other candidates."""
        return self.weights is not None

    @property
    def verdict(self) -> str:
        """The certificates that could have failed, in a few words: "4/4 hold", "4/4 hold, 1 vacuous"."""
        counted = self.certificates.decisive
        if not counted:
            return "none"
        holding = sum(item.holds for item in counted)
        vacuous = sum(item.verdict == "vacuous" for item in counted)
        return f"{holding}/{len(counted)} hold" + (f", {vacuous} vacuous" if vacuous else "")


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    task : {"regression", "classification", "clustering"}
        The question.
    data : Data
        The table it was asked on.
    score_name : str
        What `Candidate.score` measures.
    candidates : tuple of Candidate
        Best first.
    folds, repeats : int or None
        Folds of the cross-validation, and how often it was repeated.
    seed : int
        Seed of the folds, of samples and of restarts.
    skipped : tuple of str
        Sentences on candidates that were left out.
    seconds : float
        Time of the whole comparison.
    share : float or None
        Share of the rows of a split that it predicts, where it is not one part of so many folds.
    explanation : Explanation or None
        What the recommended model has learnt: effects of the columns, learning curve, threshold.
    """

    task: Task
    data: Data
    score_name: str
    candidates: tuple[Candidate, ...]
    folds: int | None
    seed: int
    repeats: int | None = None
    skipped: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    share: float | None = None
    explanation: Explanation | None = None

    @property
    def best(self) -> Candidate:
        """The candidate of the greatest score that is not a baseline."""
        return next(candidate for candidate in self.candidates if not candidate.is_baseline)

    @property
    def baseline(self) -> Candidate | None:
        """What any model must beat, where there is such a candidate."""
        return next((candidate for candidate in self.candidates if candidate.is_baseline), None)

    @cached_property
    def recommended(self) -> Candidate:
        """The simplest candidate that is as good as the best; see `verdict.decide`.

        The baseline where every model is worse.
        """
        if (ensemble := clear_ensemble(self)) is not None:
            return ensemble
        index = self.verdict.recommended
        if index is not None:
            return self._models[index]
        return self.baseline or self.best

    @cached_property
    def verdict(self) -> Verdict:
        """What the scores of the models say."""
        models, baseline = self._models, self.baseline
        scores, complexity, proven = zip(
            *((item.scores, item.complexity, item.certificates.holds) for item in models), strict=True
        )
        # One group is nothing that clusterings must beat: silhouettes say by themselves how clear groups are.
        floor = None if baseline is None or self.task == "clustering" else baseline.scores
        return decide(scores, complexity, proven, floor, self.test_share)

    @cached_property
    def _models(self) -> list[Candidate]:
        return [
            candidate for candidate in self.candidates if not (candidate.is_baseline or candidate.is_ensemble)
        ]

    @property
    def test_share(self) -> float:
        """Share of the rows that a split predicts."""
        if self.share is not None:
            return self.share
        return 1 / self.folds if self.folds else 0.0

    def against_best(self, candidate: Candidate) -> Difference:
        """What a candidate loses against the best one, split by split or row by row."""
        return compare_scores(self.best.scores, candidate.scores, self.test_share)

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        chosen, target = self.recommended, self.data.target
        score = f"{self.score_name} {chosen.shown_score}"
        if not any(self.verdict.beating):
            common = "its mean" if self.task == "regression" else "always naming the commonest class"
            none = f"No model predicts {target} clearly better than {common}"
            return none if chosen.is_baseline else f"{none}: {chosen.name} has {score}"
        if self.alarms:
            return f"{chosen.name} has {score}, but the table may give {target} away"
        if chosen.is_ensemble or self.verdict.is_best:
            return f"{chosen.name} predicts {target} best: {score}"
        if chosen is self.best or self.against_best(chosen).p_value >= LEVEL:
            return f"{chosen.name} predicts {target} as well as any: {score}"
        return f"{chosen.name} predicts {target}: {score}"

    @cached_property
    def alarms(self) -> tuple[str, ...]:
        """What may make every score too good to be true; to be read before the headline."""
        return (*alarms(self.data, self.task), *too_good(self))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one must know beside the headline."""
        learnt = () if self.explanation is None else self.explanation.sentences
        return (*self._error_remarks(), *self._noise_remarks(), *self._cautions, *learnt)

    @cached_property
    def _cautions(self) -> tuple[str, ...]:
        """Sentences on how far the recommended model can be trusted."""
        own = of_intervals(self) if self.task == "regression" else of_classes(self)
        n_rows = len(self.data.X)
        few = [f"With {n_rows} rows, another sample could well rank the methods otherwise."]
        return (*own, *(few if n_rows < FEW_ROWS else ()))

    @property
    def _gains(self) -> list[Difference]:
        """What the recommended model gains on the baseline, if it is not the baseline itself."""
        baseline = self.baseline
        if baseline is None or self.recommended is baseline:
            return []
        return [compare_scores(self.recommended.scores, baseline.scores, self.test_share)]

    def _error_remarks(self) -> tuple[str, ...]:
        chosen = self.recommended
        if self.task == "regression":
            error = shown(chosen.measures["RMSE"], 3)
            first = f"On rows it has not seen, its predictions are off by {error} (root mean square)."
            common = "always answering the mean"
        else:
            wrong = 1 - (chosen.score if self.score_name == "accuracy" else chosen.measures["accuracy"])
            first = f"On rows it has not seen, it names the wrong class in {wrong:.1%} of cases."
            common = "always naming the commonest class"
        sizes = [plus_minus(gain.mean, gain.standard_error) for gain in self._gains]
        return (first, *(f"Against {common} it gains {size} in {self.score_name}." for size in sizes))

    @property
    def _better(self) -> str:
        """What a better score is: more, or less of an error."""
        return "more" if self.best.sign > 0 else "less"

    def _noise_remarks(self) -> tuple[str, ...]:
        chosen, remarks = self.recommended, []
        if chosen.is_baseline:
            return (
                f"Every model is worse than the baseline, {self.best.name} least so "
                f"({self.score_name} {self.best.shown_score}).",
            )
        if chosen.is_ensemble:
            gain = compare_scores(chosen.scores, self.best.scores, self.test_share)
            size = plus_minus(gain.mean, gain.standard_error)
            remarks.append(f"{self.best.name} is the best single model; {chosen.name} gains {size} on it.")
        elif chosen is not self.best:
            remarks.append(self._why_not_the_best())
        if not chosen.certificates.holds:
            remarks.append(
                f"A certificate of {chosen.name} does not hold; no model whose certificates hold is as good."
            )
        others = {}
        for candidate in self._models:
            loss = self.against_best(candidate)
            if candidate not in (chosen, self.best) and loss.mean <= self._forgiven(loss):
                others[candidate.name] = plus_minus(loss.mean, loss.standard_error)
        if others:
            verb, noun = ("are", "differences") if len(others) > 1 else ("is", "difference")
            remarks.append(
                f"{joined(list(others))} {verb} as good within the noise of the folds ({noun} to the best "
                f"{joined(list(others.values()))})."
            )
        return tuple(remarks)

    def _forgiven(self, loss: Difference) -> float:
        """The loss against the best that is called noise: of the difference, and of the best itself."""
        return min(loss.standard_error, self.best.standard_error)

    def _why_not_the_best(self) -> str:
        chosen, best = self.recommended, self.best
        loss = self.against_best(chosen)
        more = f"{best.name} scores {plus_minus(loss.mean, loss.standard_error)} {self._better}"
        index = self._models.index(best)
        if any(self.verdict.beating) and not self.verdict.beating[index]:
            return f"{more}, but is not recommended: it does not clearly beat the baseline."
        if not best.certificates.holds:
            return f"{more}, but is not recommended: a certificate of its fit does not hold."
        return (
            f"{more}, which is within the noise of the folds; {chosen.name} is the simplest model that close."
        )


def clear_ensemble(comparison: Comparison) -> Candidate | None:
    """The ensemble, where it is better than the best single candidate by a clear difference."""
    if not any(comparison.verdict.beating):
        return None
    for candidate in comparison.candidates:
        if candidate.is_ensemble and candidate.certificates.holds:
            gain = compare_scores(candidate.scores, comparison.best.scores, comparison.test_share)
            if gain.mean > 0 and gain.p_value < LEVEL:
                return candidate
    return None


def final_step(model: Any) -> Any:
    """The estimator inside pipelines and target transformers."""
    if isinstance(model, Pipeline):
        return final_step(model[-1])
    if hasattr(model, "regressor_"):
        return final_step(model.regressor_)
    return model


def certificates_of(model: Any) -> Certificates:
    """The certificates that a model, or the one inside it, carries; empty when there are none."""
    return getattr(final_step(model), "certificates_", Certificates())


def ranked(candidates: list[Candidate], skipped: list[str]) -> tuple[Candidate, ...]:
    """The candidates, best first; refuses when none but baselines is there."""
    if all(candidate.is_baseline for candidate in candidates):
        raise ReportError(f"No model could be fitted: {' '.join(skipped)}")
    return tuple(sorted(candidates, key=lambda candidate: -candidate.score))


TOO_GOOD = {"R²": 0.999, "accuracy": 0.9995}
"""Scores above these are told to be rare."""


def too_good(comparison: Comparison) -> Iterator[str]:
    """A word on a score that leaves nothing to err about, which real tables hardly give."""
    limit, score = TOO_GOOD.get(comparison.score_name), comparison.recommended.score
    if limit is not None and score > limit and len(comparison.data.X) >= FEW_ROWS:
        yield (
            f"So good a score ({comparison.score_name} {score:.3f}) is rare outside of exercises: make sure "
            f"that no column is only known after {short(str(comparison.data.target))}."
        )


def of_intervals(comparison: Comparison) -> Iterator[str]:
    """How often the prediction intervals held rows that no fit had seen."""
    intervals = comparison.recommended.intervals
    if intervals is None:
        return
    meant = f"{intervals.coverage:.0%}".replace("%", " %")
    held = f"held {100 * intervals.held:.1f} % of unseen rows"
    noise = 2 * np.sqrt(intervals.coverage * (1 - intervals.coverage) / len(comparison.data.X))
    if abs(intervals.held - intervals.coverage) > noise:
        fewer = intervals.held < intervals.coverage
        held += ", fewer than they promise" if fewer else ", more than they need to"
    width = f"{shown(intervals.width, 3)} wide on average"
    if intervals.source == OWN:
        yield f"Its {meant} intervals {held}; they are {width}."
    else:
        yield f"It has no intervals of its own: those of {meant} {intervals.source} are {width} and {held}."


def of_classes(comparison: Comparison) -> Iterator[str]:
    """How true the probabilities are, and whether one class makes the accuracy look good."""
    chosen, data = comparison.recommended, comparison.data
    error = chosen.measures.get("calibration error")
    if error is None:
        yield f"{chosen.name} names classes without a probability."
    else:
        shares = [item.measures.get("log-loss") for item in comparison.candidates if item.is_baseline]
        loss = ""
        if shares and shares[0] is not None:
            own = chosen.measures["log-loss"]
            said = [shown_measure("log-loss", value) for value in (own, shares[0])]
            loss = f"; their log-loss is {said[0]}, {said[1]} for the shares of the classes"
        yield (
            f"Its probabilities miss how often it is right by {100 * error:.1f} percentage points on "
            f"average, out of fold{loss}."
        )
    assert data.y is not None
    labels, counts = np.unique(data.y, return_counts=True)
    share = counts.max() / counts.sum()
    if share > FLATTERING:
        balanced = chosen.measures["balanced accuracy"]
        commonest = short((data.classes or labels)[counts.argmax()])
        yield (
            f"{100 * share:.0f} % of the rows are {commonest!r}, which flatters the accuracy: averaged over "
            f"the classes, it is right in {100 * balanced:.0f} % of cases."
        )
