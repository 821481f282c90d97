"""What a comparison found: candidates, scores, certificates and the sentences that sum them up."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from assay.report.tables.checks.associations import Association, leaking, with_target
from assay.report.tables.checks.leakage import alarms
from assay.report.tables.data import Data, Task
from assay.report.trials.candidate import Candidate
from assay.report.trials.cautions import (
    FEW_ROWS,
    is_rounding,
    of_classes,
    of_costs,
    of_intervals,
    of_labels,
    too_good,
)
from assay.report.trials.explaining.explanation import Explanation
from assay.report.trials.scoring.metrics import OF_PROBABILITIES
from assay.report.trials.scoring.resampling import Difference, compare_scores
from assay.report.trials.scoring.verdict import LEVEL, Verdict, decide
from assay.report.wording import (
    ERRORS,
    NOTHING,
    decimals_of,
    joined,
    plus_minus,
    shown,
    shown_measure,
)

EXPLODED = 100
"""An error of more than so many times that of the baseline is shown as more than that."""

CEILINGS = {"R²": 0.0}
"""What no constant answer scores more than: the mean of a fold itself has an R² of 0."""

TIE = 1e-12
"""A difference of mean scores below it is one of rounding."""


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
    metric : str or None
        The measure that the user asked for, as it was named.
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
    metric: str | None = None

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
        return decide(scores, complexity, proven, floor, self.test_share, CEILINGS.get(self.score_name))

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

    @property
    def baseline_answer(self) -> tuple[str, str]:
        """What the baseline is always doing, as far as the score sees it, and what it always does."""
        if self.task == "regression":
            return "answering the mean", "answers the mean"
        if self.score_name in OF_PROBABILITIES:
            return "giving the shares of the classes", "gives the shares of the classes"
        return "naming the commonest class", "names the commonest class"

    def shown_score(self, candidate: Candidate) -> str:
        """The score of a candidate: to the same decimals for all of them, so that their order is seen."""
        errors = [item.standard_error for item in self.candidates if not item.is_baseline]
        return candidate.score_to(
            max((decimals_of(error) for error in errors if np.isfinite(error)), default=2)
        )

    def shown_measure(self, candidate: Candidate, name: str) -> str:
        """A measure of a candidate; of one that explodes, that it does: its digits would say no more."""
        value, floor = candidate.measures[name], self.baseline.measures.get(name) if self.baseline else None
        limit = float(f"{EXPLODED * (floor or np.inf):.2g}")
        if name in ERRORS and value > limit:
            return f"over {shown(limit, 2)}"
        return shown_measure(name, value)

    def against_best(self, candidate: Candidate) -> Difference:
        """What a candidate loses against the best one, split by split or row by row."""
        return compare_scores(self.best.scores, candidate.scores, self.test_share)

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        chosen, target = self.recommended, self.data.target
        score = f"{self.score_name} {self.shown_score(chosen)}"
        if not any(self.verdict.beating):
            common = "its mean" if self.task == "regression" else f"always {self.baseline_answer[0]}"
            none = f"No model predicts {target} clearly better than {common}"
            return none if chosen.is_baseline else f"{none}: {chosen.name} has {score}"
        if self.alarms:
            return f"{chosen.name} has {score}, but the table may give {target} away"
        if chosen.is_ensemble:
            return f"{chosen.name} predicts {target} best: {score}"
        gains = self._gains_of_others
        if not gains or any(gain.mean > 0 and gain.p_value < LEVEL for gain in gains):
            return f"{chosen.name} predicts {target}: {score}"  # nothing to compare with, or a better one
        if self.verdict.is_best and not any(gain.mean > TIE for gain in gains):
            return f"{chosen.name} predicts {target} best: {score}"
        return f"{chosen.name} predicts {target} as well as any: {score}"

    @property
    def _gains_of_others(self) -> list[Difference]:
        """What every other candidate, the ensemble too, gains on the recommended one."""
        chosen = self.recommended
        others = [item for item in self.candidates if item is not chosen and not item.is_baseline]
        return [compare_scores(item.scores, chosen.scores, self.test_share) for item in others]

    @cached_property
    def associations(self) -> tuple[Association, ...]:
        """How much each column tells about the target by itself, the strongest first."""
        return tuple(with_target(self.data, self.task))

    @cached_property
    def leaking(self) -> tuple[Association, ...]:
        """The columns that nearly give the target away by themselves."""
        return tuple(leaking(self.data, self.task, self.associations))

    @cached_property
    def alarms(self) -> tuple[str, ...]:
        """What may make every score too good to be true; to be read before the headline."""
        return (*alarms(self.data, self.task, self.leaking), *too_good(self))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one must know beside the headline."""
        learnt = () if self.explanation is None else self.explanation.sentences
        return (*self._error_remarks(), *self._noise_remarks(), *self._cautions, *learnt)

    @cached_property
    def _cautions(self) -> tuple[str, ...]:
        """Sentences on how far the recommended model can be trusted."""
        own = of_intervals(self) if self.task == "regression" else chain(of_classes(self), of_labels(self))
        n_rows = len(self.data.X)
        few = [f"With {n_rows} rows, another sample could well rank the methods otherwise."]
        return (*own, *of_costs(self.metric, self.data), *(few if n_rows < FEW_ROWS else ()))

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
            off = f"{shown(chosen.measures['RMSE'], 3)} (root mean square)"
            off = "no more than rounding" if is_rounding(chosen.measures["RMSE"], self.data) else off
            first = f"On rows it has not seen, its predictions are off by {off}."
        else:
            wrong = 1 - (chosen.score if self.score_name == "accuracy" else chosen.measures["accuracy"])
            first = f"On rows it has not seen, it names the wrong class in {wrong:.1%} of cases."
        sizes = [plus_minus(gain.mean, gain.standard_error) for gain in self._gains]
        luck = "" if any(self.verdict.beating) else f", which may be luck among {len(self._models)} methods"
        luck = luck if len(self._models) > 1 else ""
        falls = self.recommended.sign < 0
        gains = [f"lowers the {self.score_name} by {size}" for size in sizes] if falls else []
        gains = gains or [f"gains {size} in {self.score_name}" for size in sizes]
        if any(map(_is_nothing, self._gains)):
            gains, luck = [f"gains nothing in {self.score_name}"], ""
        if any(self.verdict.beating) and any(gain.p_value >= LEVEL for gain in self._gains):
            return first, self._exploding_baseline()
        return (first, *(f"Against always {self.baseline_answer[0]} it {gain}{luck}." for gain in gains))

    def _exploding_baseline(self) -> str:
        """What is said of a baseline so erratic that a model is better only for being above any constant."""
        assert self.baseline is not None
        score = f"{self.score_name} {self.shown_score(self.baseline)}"
        return f"Always {self.baseline_answer[0]} has {score}; no constant answer ever has more than 0."

    @property
    def _better(self) -> str:
        """What a better score is: more, or less of an error."""
        return "more" if self.best.sign > 0 else "less"

    def _noise_remarks(self) -> tuple[str, ...]:
        chosen, remarks = self.recommended, []
        if chosen.is_baseline:
            return (
                f"By {self.score_name}, every model is worse than the baseline, {self.best.name} least so "
                f"({self.score_name} {self.shown_score(self.best)}).",
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
            if candidate not in (chosen, self.best) and candidate in self._as_good:
                others[candidate.name] = self.against_best(candidate)
        if others:
            verb, noun = ("are", "differences") if len(others) > 1 else ("is", "difference")
            sizes = joined([plus_minus(loss.mean, loss.standard_error) for loss in others.values()])
            sizes = "below 0.001" if all(map(_is_nothing, others.values())) else sizes
            remarks.append(
                f"{joined(list(others))} {verb} as good within the noise of the folds ({noun} to the best "
                f"{sizes})."
            )
        return tuple(remarks)

    @property
    def _as_good(self) -> list[Candidate]:
        """The models among which the rule chooses the simplest one."""
        return [item for item, near in zip(self._models, self.verdict.as_good, strict=True) if near]

    def _why_not_the_best(self) -> str:
        chosen, best = self.recommended, self.best
        loss = self.against_best(chosen)
        size = "less than 0.001" if _is_nothing(loss) else plus_minus(loss.mean, loss.standard_error)
        more = f"{best.name} scores {'the same' if is_tie(loss) else f'{size} {self._better}'}"
        index = self._models.index(best)
        if any(self.verdict.beating) and not self.verdict.beating[index]:
            return f"{more}, but is not recommended: it does not clearly beat the baseline."
        if not best.certificates.holds:
            return f"{more}, but is not recommended: a certificate of its fit does not hold."
        close = "" if is_tie(loss) else ", which is within the noise of the folds"
        if any(item.complexity < chosen.complexity for item in self._as_good):
            return (
                f"{more}{close}; {chosen.name} is the simplest model that close which no simpler one beats."
            )
        return f"{more}{close}; {chosen.name} is the simplest model that close."


def is_tie(loss: Difference) -> bool:
    """Whether two methods have the same mean score, but for rounding."""
    return abs(loss.mean) < TIE


def _is_nothing(loss: Difference) -> bool:
    """Whether a loss and its error are zero to the three decimals that are shown."""
    return abs(loss.mean) < NOTHING and loss.standard_error < NOTHING


LEAST_GAIN = 0.01
"""Share of what the best method gains on the baseline that an ensemble must add: sure is not yet much."""


def clear_ensemble(comparison: Comparison) -> Candidate | None:
    """The ensemble, where it is better than the best single candidate by a clear difference that matters."""
    surer, floor = surer_ensemble(comparison), comparison.baseline
    known = 0.0 if floor is None else abs(float(np.mean(comparison.best.scores - floor.scores)))
    return None if surer is None or surer[1].mean <= LEAST_GAIN * known else surer[0]


def surer_ensemble(comparison: Comparison) -> tuple[Candidate, Difference] | None:
    """The ensemble and what it gains, where it is better than the best single candidate however little."""
    if not any(comparison.verdict.beating):
        return None
    for candidate in comparison.candidates:
        if candidate.is_ensemble and candidate.certificates.holds:
            gain = compare_scores(candidate.scores, comparison.best.scores, comparison.test_share)
            if gain.mean > 0 and gain.p_value < LEVEL:
                return candidate, gain
    return None
