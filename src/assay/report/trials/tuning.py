"""How the parameters of a method are chosen on the rows that it learns from: by which folds and measure."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from assay.models import Criterion
from assay.registry import Entry
from assay.report.trials.scoring.folds import forward_splits, group_splits
from assay.report.trials.scoring.metrics import Judged, Metric
from assay.report.trials.scoring.resampling import FoldSplit

TUNING_ROWS, TUNING_NUMBERS = 20_000, 2_000_000
"""Beyond so many training rows or numbers, parameters are chosen on one split in place of five folds."""

PAIRED_ROWS = 5_000
"""The same for methods that compare each row with all others, which pay for every row that is judged."""

CLASS_NUMBERS, CLASS_ROWS = 500, 300
"""The same where more than two classes have so many coefficients together, and so many rows: a Newton step
solves for all of them at once."""

TUNING_FOLDS = 5

HELD_OUT = 10
"""One row in so many says how many rounds of boosting there are."""

MIXED = "its parameters were chosen on shuffled rows: too few {what} to keep {them}"
"""What is said where folds inside the rows to learn from cannot follow the time or the groups."""


class ClassFolds(NamedTuple):
    """Folds in which a parameter is chosen: each leaves rows of every class to learn from.

    The rows of a class go to the folds in turn; the only row of a class is always learnt from.
    """

    seed: int
    n_used: int = TUNING_FOLDS  # folds that are predicted
    n_folds: int = TUNING_FOLDS

    def split(self, X: Any, y: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
        """Rows to learn from and rows to predict."""
        rng, fold, place = np.random.default_rng(self.seed), np.full(len(y), -1), 0
        for label in np.unique(y):
            rows = rng.permutation(np.flatnonzero(y == label))
            if len(rows) > 1:
                fold[rows] = (place + np.arange(len(rows))) % self.n_folds
                place += len(rows)
        for number in range(self.n_used):
            if (fold == number).any():
                yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


class GivenFolds(NamedTuple):
    """Folds that are known row by row, as a splitter."""

    parts: Sequence[FoldSplit]

    def split(self, X: Any, y: Any = None) -> Iterator[tuple[NDArray, NDArray]]:
        """Rows to learn from and rows to predict."""
        return iter([(part.train, part.test) for part in self.parts])

    def at(self, rows: NDArray) -> GivenFolds:
        """The folds of some of the rows, given in increasing order, which have places of their own."""
        some = [FoldSplit(*(_places(side, rows) for side in part)) for part in self.parts]
        return GivenFolds([part for part in some if len(part.train) and len(part.test)])


def _places(side: NDArray, rows: NDArray) -> NDArray:
    return np.flatnonzero(np.isin(rows, side))


@dataclass(frozen=True)
class Tuning:
    """How parameters are chosen on some rows: in the order of their times, by their groups, else shuffled.

    Attributes
    ----------
    seed : int
    times, groups : array of shape (n_rows,) or None
        Of the rows that are learnt from.
    labels : array or None
        All classes of the table, sorted, for a classification.
    metric : Metric or None
        What the user judges by, with the costs of these rows; None for the loss of each method.
    """

    seed: int = 0
    times: NDArray | None = None
    groups: NDArray | None = None
    labels: NDArray | None = None
    metric: Metric | None = None
    back: Callable[[NDArray], NDArray] | None = None  # from the scale of the fit to that of the table

    def on_scale(self, back: Callable[[NDArray], NDArray]) -> Tuning:
        """The same for a target on another scale, which the measure sees brought back."""
        return replace(self, back=back)

    def at(self, rows: NDArray) -> Tuning:
        """The same for some of the rows."""
        metric = self.metric
        if metric is not None and metric.costs is not None:
            metric = replace(metric, costs=metric.costs[rows])
        times = None if self.times is None else self.times[rows]
        return replace(
            self, times=times, groups=None if self.groups is None else self.groups[rows], metric=metric
        )

    @property
    def is_shuffled(self) -> bool:
        """Whether the rows neither follow each other nor belong together."""
        return self.times is None and self.groups is None

    def options(self, entry: Entry, select: Any, n_numbers: int, target: NDArray) -> dict[str, Any]:
        """What the `select` of a method is told."""
        options, accepted = dict(entry.suits.select), inspect.signature(select).parameters
        if "random_state" in accepted:
            options.setdefault("random_state", self.seed)
        if self.metric is not None:
            if "criterion" in accepted:
                options["criterion"] = self.criterion
            else:
                warnings.warn(
                    f"its parameters were chosen by its own loss, not by {self.metric.name}", stacklevel=2
                )
        if "cv" not in accepted:
            if not self.is_shuffled:
                warnings.warn(
                    "its parameters were chosen without regard to the time or the groups", stacklevel=2
                )
            return options
        of_pairs = entry.suits.max_pairs is not None and len(target) > PAIRED_ROWS
        large = len(target) > TUNING_ROWS or n_numbers > TUNING_NUMBERS or of_pairs
        large = large or self._has_many_classes(n_numbers, target)
        # Methods that know how to leave out one row at a time do without folds where nothing forbids it.
        by_itself = accepted["cv"].default is None and self.metric is None and not of_pairs
        if not self.is_shuffled and (parts := self.parts(target, large=large)):
            options["cv"] = GivenFolds(parts)
        elif entry.task == "classification":
            options["cv"] = ClassFolds(self.seed, n_used=1 if large else TUNING_FOLDS)
        elif large and not by_itself:
            options["cv"] = "split"
        elif isinstance(most := accepted["cv"].default, int) and most > TUNING_FOLDS:
            options["cv"] = TUNING_FOLDS
        return options

    def _has_many_classes(self, n_numbers: int, target: NDArray) -> bool:
        """Whether there are more than two classes, with very many coefficients in all."""
        n_classes, n_rows = 0 if self.labels is None else len(self.labels), len(target)
        return n_classes > 2 and n_rows >= CLASS_ROWS and n_classes * n_numbers > CLASS_NUMBERS * n_rows

    def parts(self, target: NDArray, *, large: bool = False, folds: int = TUNING_FOLDS) -> list[FoldSplit]:
        """Folds in the order of the time, or by groups; none where there are too few of either.

        Every fold has rows of all classes to learn from: those that have not are left out.
        """
        if self.times is not None:
            most = len(np.unique(self.times)) // 2 - 1
            parts = forward_splits(self.times, min(folds, most)) if most >= 1 else []
            parts = parts[::-1]  # the last has the most to learn from
        else:
            assert self.groups is not None
            n_groups = len(np.unique(self.groups))
            labels = None if self.labels is None else target
            parts = group_splits(self.groups, min(folds, n_groups), self.seed, labels) if n_groups > 1 else []
        if self.labels is not None:
            present = len(np.unique(target))
            parts = [part for part in parts if len(np.unique(target[part.train])) == present]
        if not parts:
            what = ("times", "their order") if self.times is not None else ("groups", "them together")
            warnings.warn(MIXED.format(what=what[0], them=what[1]), stacklevel=2)
        return parts[: 1 if large else None]

    def plain_folds(self, target: NDArray, folds: int) -> list[tuple[NDArray, NDArray]]:
        """Folds that hold every row once: by groups, else shuffled; of times, those that can be predicted."""
        if not self.is_shuffled and (parts := self.parts(target, folds=folds)):
            return [(part.train, part.test) for part in parts]
        shuffled = KFold(min(folds, len(target)), shuffle=True, random_state=0)
        return list(shuffled.split(np.empty((len(target), 1))))

    @property
    def criterion(self) -> Criterion | None:
        """The user's measure, turned so that the least is the best; None for the loss of each method."""
        metric, labels, back = self.metric, self.labels, self.back
        if metric is None:
            return None

        def loss(y: NDArray, predictions: NDArray, chances: NDArray | None, rows: NDArray) -> float:
            costs = None if metric.costs is None else metric.costs[rows]
            if back is not None:
                y, predictions = back(y), back(predictions)
            number = metric.measure(Judged(y, predictions, chances, labels, costs))
            return 1 - number if metric.greater_is_better else number

        return Criterion(f"1 − {metric.name}" if metric.greater_is_better else metric.name, loss)

    def held_out(self, target: NDArray) -> FoldSplit | None:
        """Rows to learn from and a tenth to judge by: the last ones, whole groups, or any.

        None where rows of a class would be lacking to learn from.
        """
        if not self.is_shuffled:
            n_stretches = HELD_OUT - (self.times is not None)  # the first is never predicted
            return next(iter(self.parts(target, large=True, folds=n_stretches)), None)
        order = np.random.default_rng(self.seed).permutation(len(target))
        cut = max(1, len(target) // HELD_OUT)
        part = FoldSplit(np.sort(order[cut:]), np.sort(order[:cut]))
        lacking = self.labels is not None and len(np.unique(target[part.train])) < len(np.unique(target))
        return None if lacking or not len(part.train) else part
