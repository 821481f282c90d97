"""All methods on all splits: what begins when, what is left out and why, what came of each method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.report.errors import ReportError
from assay.report.trials.encodings import Encodings, Stored
from assay.report.trials.parallel import Work, carry_out
from assay.report.trials.progress import Event, Progress
from assay.report.trials.trial import Answers, Final, Recipe, Score, Trial, answer, conclude, finish

FAILURES = (ValueError, ArithmeticError, np.linalg.LinAlgError)
"""What a fit may raise on a table that it cannot serve."""


class Step(NamedTuple):
    """One fit: a method on a split; the split past the last one is the whole table."""

    method: int
    split: int


@dataclass
class Standing:
    """What is known of a method so far."""

    answers: dict[int, Answers] = field(default_factory=dict)
    final: Final | None = None
    trial: Trial | None = None
    left_out: str = ""

    @property
    def n_done(self) -> int:
        """Fits that are finished."""
        return len(self.answers) + (self.final is not None)


@dataclass
class Trials:
    """Every method on every split.

    Parameters
    ----------
    encodings : Encodings
        The splits as numbers.
    recipes : sequence of Recipe
        The methods, in the order in which they begin.
    score : callable
        Of (truth, predictions); the greater the better.
    classes : array or None
        All classes, for a classification.
    seed : int
    folds : int
        Splits of the first repetition, which gives probabilities and intervals.
    out_of_time : callable
        Whether no further fit of a method shall begin.
    told : callable
        Told a method that is finished; gives the words for its event.
    progress : callable
    """

    encodings: Encodings
    recipes: Sequence[Recipe]
    score: Score
    classes: NDArray | None
    seed: int
    folds: int
    out_of_time: Callable[[], bool]
    told: Callable[[Trial], str]
    progress: Progress
    skipped: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.standings = [Standing() for _ in self.recipes]
        self.n_fits = len(self.encodings.parts) + 1

    def run(self, jobs: int) -> list[tuple[Recipe, Trial]]:
        """Fit and ask; gives the methods that were finished.

        An interruption ends the work, and what is finished is kept if there is more than the baseline.
        """
        for recipe in self.recipes:
            self.progress(Event(recipe.name, "waiting", 0, self.n_fits))
        prepare = self._prepare if jobs == 1 else self._prepare_for_another
        steps = carry_out(self._steps(), prepare, jobs=jobs)
        try:
            for step, future in steps:
                self._receive(step, future)
        except KeyboardInterrupt:
            steps.close()
            finished = [recipe for recipe, _ in self._finished() if recipe.entry is not None]
            if not finished:
                raise
            pairs = zip(self.recipes, self.standings, strict=True)
            left = [recipe.name for recipe, known in pairs if known.trial is None and not known.left_out]
            if left:
                self.skipped.append(f"Interrupted before the end: {', '.join(left)} left out.")
        return list(self._finished())

    def _steps(self) -> Iterator[Step]:
        for method in range(len(self.recipes)):
            for split in range(self.n_fits):
                yield Step(method, split)

    def _finished(self) -> Iterator[tuple[Recipe, Trial]]:
        for recipe, known in zip(self.recipes, self.standings, strict=True):
            if known.trial is not None:
                yield recipe, known.trial

    def _prepare(self, step: Step) -> Work | None:
        if not self._begins(step):
            return None
        encoded = self.encodings[step.split]
        return partial(self._question(step), encoded.train, encoded.target, encoded.test)

    def _prepare_for_another(self, step: Step) -> Work | None:
        if not self._begins(step):
            return None
        return partial(_from_files, self._question(step), self.encodings.stored(step.split))

    def _question(self, step: Step) -> Callable[..., Any]:
        recipe, first = self.recipes[step.method], step.split < self.folds
        if step.split == self.n_fits - 1:
            return partial(finish, recipe, seed=self.seed)
        return partial(answer, recipe, seed=self.seed, classes=self.classes, detailed=first)

    def _begins(self, step: Step) -> bool:
        recipe, known = self.recipes[step.method], self.standings[step.method]
        if known.left_out:
            return False
        if recipe.entry is not None and self.out_of_time():
            self.late.append(recipe.name)
            self._leave_out(step, "out of time")
            return False
        self.progress(Event(recipe.name, "running", known.n_done, self.n_fits))
        return True

    def _leave_out(self, step: Step, why: str) -> None:
        self.standings[step.method].left_out = why
        self.progress(Event(self.recipes[step.method].name, "left out", 0, self.n_fits, why))

    def _receive(self, step: Step, future: Future[Any]) -> None:
        recipe, known = self.recipes[step.method], self.standings[step.method]
        if known.left_out:
            return
        try:
            found = future.result()
        except BrokenExecutor:
            raise ReportError(
                "A process that fitted models was ended from outside, most likely for lack of memory: use "
                "--jobs 1."
            ) from None
        except FAILURES as error:
            why = str(error).rstrip(".")
            self.skipped.append(f"{recipe.name} was left out: its fit failed ({why}).")
            self._leave_out(step, "its fit failed")
            return
        if isinstance(found, Final):
            known.final = found
        else:
            known.answers[step.split] = found
        if known.final is None or known.n_done < self.n_fits:
            return
        known.trial = conclude(
            self.encodings.parts,
            [known.answers[split] for split in range(self.n_fits - 1)],
            known.final,
            self.encodings.encoder(self.n_fits - 1),
            y=self.encodings.target,
            score=self.score,
        )
        known.answers.clear()
        self.progress(Event(recipe.name, "done", self.n_fits, self.n_fits, self.told(known.trial)))


def _from_files(question: Callable[..., Any], stored: Stored) -> Any:
    return question(*stored.open())
