"""AdaBoost with stumps on codes: a round is one histogram of weights, wherever the rows are.

The table is coded once, a byte per value. The scores of a row, and with them its weight D_t, stay with the
row: on a thread of this process, or on the worker that holds its partition. What travels are whole numbers,
so that memory, files and a cluster give the same rounds bit for bit.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, exp
from assay.losses import Exponential
from assay.rows import ordered_map
from assay.trees.boosting.distributed.steps import Step
from assay.trees.boosting.parts import Part
from assay.trees.growing.bins import SAMPLE_ROWS
from assay.trees.growing.columns import Columns
from assay.trees.stagewise.engine import Array, Direction, LineSearch, Round, State, Trace
from assay.trees.stagewise.oracles import Votes
from assay.trees.stagewise.stumps import TOTAL_BITS, UNIT_BITS, Stump
from assay.trees.tree import EVERY_VALUE, LEAF, NO_THRESHOLD

EXACT_ROWS = SAMPLE_ROWS
"""Rows up to which stumps may cut between any two values; beyond, between bins."""

CODES = 256
NO_WEIGHT = np.empty(0)
NO_STATE = State(Exponential(), NO_WEIGHT, NO_WEIGHT, NO_WEIGHT)


class Scale(NamedTuple):
    """How weights become whole numbers.

    Attributes
    ----------
    bits : int
        A weight of 1 is 2^bits units.
    heaviest : float
        Weight of the heaviest row, which counts as 1; 0 where weights are whole and count as they are.
    total : float
        Weight of all rows in these terms.
    """

    bits: int
    heaviest: float
    total: float

    @staticmethod
    def of(weight: NDArray[np.float64] | None, n_rows: int) -> Scale:
        """The scale that sums of all rows fit."""
        total = float(n_rows) if weight is None else float(weight.sum())
        whole = weight is None or (bool(np.all(weight == np.rint(weight))) and total < 2.0**30)
        heaviest = 0.0
        if not whole:
            assert weight is not None
            heaviest, total = float(weight.max()), total / float(weight.max())
        bits = min(UNIT_BITS, TOTAL_BITS - int(np.ceil(np.log2(max(n_rows if heaviest else total, 2.0)))))
        return Scale(bits, heaviest, total)


class Weighed(NamedTuple):
    """Units of every code and class, shape (n_columns, 256, n_classes), and of the squares of the shares."""

    histogram: NDArray[np.int64]
    squares: int

    def __add__(self, other: Any) -> Weighed:
        return Weighed(self.histogram + other.histogram, self.squares + other.squares)


class Moved(NamedTuple):
    """What a stump did: largest −margin then, units that it and that the vote get wrong, rows on its left."""

    lightest: float
    wrong: int
    mistakes: int
    n_left: int

    def __add__(self, other: Any) -> Moved:
        largest = max(self.lightest, other.lightest)
        return Moved(largest, *(a + b for a, b in zip(self[1:], other[1:], strict=True)))


class Weigh(NamedTuple):
    """Add up the units of D_t, e^{−margin − shift} of each row, over the codes of every column."""

    shift: float
    scale: Scale
    n_classes: int
    divisor: float

    def take(self, part: Part, number: int) -> Weighed:
        """See `Step.take`."""
        d = part.codes.shape[1]
        histogram = np.zeros((d, CODES, self.n_classes), dtype=np.int64)
        weight = NO_WEIGHT if part.weight is None else part.weight
        how = (self.shift, self.divisor, self.scale.heaviest, 2.0**self.scale.bits)
        return Weighed(
            histogram, int(weigh_codes(part.codes, part.target, weight, part.scores, how, histogram))
        )

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; nothing changes."""
        return done


class Add(NamedTuple):
    """Add the votes of a stump to the scores."""

    stump: Stump
    absent: int
    step: float
    other: float

    def take(self, part: Part, number: int) -> NDArray[np.bool_]:
        """See `Step.take`; gives which rows go left."""
        goes_left = np.empty(len(part.codes), dtype=np.bool_)
        add_stump(part.codes, self.stump, self.absent, self.step, self.other, part.scores, goes_left)
        return goes_left

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`."""
        return [*done, self]


class Move(NamedTuple):
    """The same, and what it did."""

    add: Add
    scale: Scale
    divisor: float

    def take(self, part: Part, number: int) -> Moved:
        """See `Step.take`."""
        goes_left, stump = self.add.take(part, number), self.add.stump
        labels = part.target.astype(np.int64)
        said = np.where(goes_left, stump.left, stump.right)
        margins = part.scores[labels, np.arange(len(labels))] / self.divisor
        mistaken = part.scores.argmax(axis=0) != labels
        units = weight_units(part.weight, len(labels), self.scale)
        sums = (int(units[said != labels].sum()), int(units[mistaken].sum()), int(goes_left.sum()))
        return Moved(float((-margins).max(initial=-np.inf)), *sums)

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`."""
        return [*done, self.add]


class Margins(NamedTuple):
    """Margins of all rows, in a list with the number of the partition."""

    divisor: float

    def take(self, part: Part, number: int) -> list[tuple[int, Array]]:
        """See `Step.take`."""
        labels = part.target.astype(np.int64)
        return [(number, part.scores[labels, np.arange(len(labels))] / self.divisor)]

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; nothing changes."""
        return done


def weight_units(weight: NDArray | None, n_rows: int, scale: Scale) -> NDArray[np.int64]:
    """Weights of rows as whole numbers."""
    if weight is None:
        return np.ones(n_rows, dtype=np.int64)
    if scale.heaviest == 0.0:
        return weight.astype(np.int64)
    return np.rint(weight / scale.heaviest * 2.0**scale.bits).astype(np.int64)


@compiled
def weigh_codes(codes, target, weight, scores, how, histogram):  # type: ignore[no-untyped-def]
    """Add the units of each row to the codes of its columns; gives the units of the squares of the shares."""
    shift, divisor, heaviest, unit = how
    n, d = codes.shape
    squares = np.int64(0)
    for i in range(n):
        label = np.int64(target[i])
        share = min(exp(-scores[label, i] / divisor - shift), 1.0)
        times, factor = np.int64(1), 1.0
        if weight.shape[0] > 0:
            if heaviest > 0.0:
                factor = weight[i] / heaviest
            else:
                times = np.int64(weight[i])
        units = np.int64(np.rint(share * factor * unit)) * times
        squares += np.int64(np.rint(share * share * factor * unit)) * times
        for j in range(d):
            histogram[j, np.int64(codes[i, j]), label] += units
    return squares


@compiled
def add_stump(codes, stump, absent, step, other, scores, goes_left):  # type: ignore[no-untyped-def]
    """Add the code of the class that a stump says about each row, times the step."""
    for i in range(codes.shape[0]):
        is_left = True
        if stump.feature >= 0:
            code = np.int64(codes[i, stump.feature])
            is_left = stump.missing_left if code == absent else code <= stump.cut
        goes_left[i] = is_left
        said = stump.left if is_left else stump.right
        for k in range(scores.shape[0]):
            scores[k, i] += step if k == said else step * other


class Cut(NamedTuple):
    """The best stump of a histogram, and the units of the classes on its two sides."""

    stump: Stump
    sides: NDArray[np.int64]

    @property
    def wrong(self) -> int:
        """Units that the stump gets wrong."""
        return int(self.sides.sum() - self.sides.max(axis=1).sum())


def best_cut(histogram: NDArray[np.int64], columns: Columns, *, gini: bool) -> Cut:
    """The cut with the most units right (or the least impurity); the first of equally good ones."""
    totals = histogram[0].sum(axis=0)
    nobody = np.zeros_like(totals)
    best = Cut(Stump(LEAF, -1, NO_THRESHOLD, False, *[int(totals.argmax())] * 2), np.array([totals, nobody]))
    most = _goodness(best.sides[:, np.newaxis], gini=gini)[0]
    for j, table in enumerate(histogram):
        absent = int(columns.n_codes[j])
        sums, missing = table[:absent].cumsum(axis=0), table[absent]
        some = bool(missing.any())
        last = absent - (0 if some else 1)  # with missing values, also those with a value from those without
        for way in range(2 if some else 1):
            left = sums[: last if way == 0 else absent - 1] + way * missing
            if not len(left):
                continue
            right = _goodness(np.array([left, totals - left]), gini=gini)
            cut = int(right.argmax())
            if right[cut] > most:
                most = right[cut]
                sides = np.array([left[cut], totals - left[cut]])
                best = Cut(_stump(j, cut, columns, sides, missing_left=bool(way), some=some), sides)
    return best


def _goodness(sides: NDArray[np.int64], *, gini: bool) -> NDArray:
    """Units right of divisions, shape (2, n_cuts, n_classes), or 1 less their impurity times their weight."""
    if not gini:
        return np.asarray(sides.max(axis=2).sum(axis=0))
    weight = sides.sum(axis=2).astype(np.float64)
    squares = (sides.astype(np.float64) ** 2).sum(axis=2)
    return np.asarray(np.divide(squares, weight, out=np.zeros_like(weight), where=weight > 0).sum(axis=0))


def _stump(
    j: int, cut: int, columns: Columns, sides: NDArray[np.int64], *, missing_left: bool, some: bool
) -> Stump:
    absent = int(columns.n_codes[j])
    threshold = EVERY_VALUE
    if cut + 1 < absent:
        threshold = float(columns.thresholds(np.array([j]), np.array([cut]), np.array([cut + 1]))[0])
    if not some:  # none is missing: later ones go to the heavier side
        missing_left = bool(sides[0].sum() >= sides[1].sum())
    left, right = (int(side.argmax()) for side in sides)
    return Stump(j, cut, threshold, missing_left, left, right)


class CodedRounds(NamedTuple):
    """Result of `boost_coded`.

    Attributes
    ----------
    trace : Trace
        As that of `boost`; the learner of a round is a pair of a `Cut` and the numbers of rows on its sides.
    training_error : list of float
    first : tuple
        The learner of the first round, also where it is no better than chance, and its error.
    """

    trace: Trace
    training_error: list[float]
    first: tuple[Any, float]


def boost_coded(
    table: Any,
    columns: Columns,
    votes: Votes,
    search: LineSearch,
    shrinkage: float,
    n_rounds: int,
    *,
    weight: NDArray[np.float64] | None,
    n_classes: int,
    gini: bool,
) -> CodedRounds:
    """AdaBoost with stumps on a coded table whose scores are those of the classes; see `boost`."""
    n_rows, other = table.n_rows, votes.wrong / votes.right
    scale, divisor = Scale.of(weight, n_rows), 1.0 / votes.right
    shift, errors = 0.0, []
    rounds: list[Round] = []
    stop = "rounds"
    start: tuple[Any, float] = (None, np.nan)
    total = scale.total * 2.0**scale.bits
    for number in range(n_rounds + 1):
        weighed: Weighed = ask(table, Weigh(shift, scale, n_classes, divisor))
        log_risk = float(np.log(int(weighed.histogram[0].sum()) / total)) + shift
        if number:
            rounds[-1] = rounds[-1]._replace(log_risk=log_risk, risk=float(np.exp(min(log_risk, 709.0))))
        if number == n_rounds:
            break
        cut = best_cut(weighed.histogram, columns, gini=gini)
        units = int(cut.sides.sum())
        error = cut.wrong / units
        step = search(
            State(Exponential(), NO_WEIGHT, NO_WEIGHT, NO_WEIGHT), Direction(None, NO_WEIGHT, error)
        )
        if step == 0.0 and number:
            stop = "chance"
            break
        taken = 0.0 if np.isinf(step) else shrinkage * step
        absent = int(columns.n_codes[max(cut.stump.feature, 0)])
        moved: Moved = ask(table, Move(Add(cut.stump, absent, taken, other), scale, divisor))
        learner = (cut, np.array([moved.n_left, n_rows - moved.n_left]))
        start = start if number else (learner, error)
        if step == 0.0:
            stop = "chance"
            break
        if np.isinf(step):
            stop, rounds = "perfect", [Round(learner, step, 0.0, 1.0, -np.inf, 0.0)]
            break
        shift = moved.lightest
        unit = 1.0 if scale.heaviest == 0.0 else 2.0**scale.bits
        wrong = moved.wrong / unit
        size = (scale.total - wrong) * votes.right**2 + wrong * votes.wrong**2
        both = (units - cut.wrong) * votes.right + cut.wrong * votes.wrong
        agreement = min(both * both / (weighed.squares * 2.0**scale.bits * size), 1.0)
        rounds.append(Round(learner, taken, error, agreement, np.nan, np.nan))
        errors.append(moved.mistakes / unit / scale.total)
    given = ask(table, Margins(divisor))
    margins = np.concatenate([one for _, one in sorted(given, key=lambda numbered: numbered[0])])
    return CodedRounds(Trace(rounds, margins, 0.0, 1.0, stop), errors, start)


def ask(table: Any, step: Any) -> Any:
    """What all rows of a table give for a step, here or on a cluster."""
    if hasattr(table, "ask"):
        return table.ask(step)
    parts = enumerate(table.parts)
    return functools.reduce(operator.add, ordered_map(lambda part: step.take(part[1], part[0]), parts))
