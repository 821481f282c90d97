"""A column that decides the class of every row, or two between them of which neither does alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.report.tables.checks.associations import as_codes, as_numbers, sample
from assay.report.tables.checks.deciding import CHANCE, chance_of_purity, decides_beyond_chance, is_pure
from assay.report.tables.data import Data
from assay.report.wording import shown

FEWEST = 50
MOST_ROWS = 20_000
MAX_COLUMNS, MAX_LEVELS, MAX_CLASSES = 40, 20, 5
MAX_ALONE = 1000
"""Columns, at most, that are looked at one by one."""

FIRST_ROWS = 500
"""Rows on which most pairs fail already."""

NEAR, BESIDE = 0.15, 10
"""At a true threshold so many rows lie on either side, within this share of the interquartile range: classes
that are merely far apart leave the middle empty."""

SHARE_BESIDE, FEWEST_BESIDE = 0.03, 5
"""At a threshold of a column alone so many lie on either side within twice that distance: classes that only
chance parts are thin there, and there are fewer columns than pairs of them."""

COMBINED: dict[str, Callable[[NDArray, NDArray], NDArray]] = {
    "+": np.add,
    "−": np.subtract,
    "×": np.multiply,
    "/": np.divide,
}


class DecidingPair(NamedTuple):
    """Two columns that decide the class of every row.

    Attributes
    ----------
    names : tuple of str
    sign : str
        "+", "−", "×" or "/" where ranges of that combination decide; empty where pairs of levels do.
    cuts : tuple of float
        Between which values the ranges lie.
    """

    names: tuple[str, str]
    sign: str = ""
    cuts: tuple[float, ...] = ()

    @property
    def formula(self) -> str:
        """The combination as one writes it, with its threshold where there is one."""
        return f"{self.names[0]} {self.sign} {self.names[1]}"

    def told(self, target: str) -> str:
        """What the two columns do, in words.

        Examples
        --------
        >>> DecidingPair(("spent", "limit"), "−", (0.5,)).told("late")
        'whether spent − limit is above 0.5 decides late in every row'
        """
        if not self.sign:
            return f"{self.names[0]!r} and {self.names[1]!r} decide {target} between them in every row"
        if len(self.cuts) == 1:
            return f"whether {self.formula} is above {shown(self.cuts[0])} decides {target} in every row"
        return f"the range of {self.formula} decides {target} in every row"


class DecidingColumn(NamedTuple):
    """A column of numbers whose ranges are the classes.

    Attributes
    ----------
    name : str
    cuts : tuple of float
        Between which values the ranges lie.
    """

    name: str
    cuts: tuple[float, ...]

    def told(self, target: str) -> str:
        """What the column does, in words."""
        if len(self.cuts) == 1:
            return f"whether {self.name} is above {shown(self.cuts[0])} decides {target} in every row"
        return f"the range of {self.name} decides {target} in every row"


def deciding_column(data: Data) -> DecidingColumn | None:
    """The first column of numbers that the classes were cut from, as a low weight is from the weight.

    Classes that are merely far apart leave the middle empty; where a cut makes them, rows are close to both
    of its sides.

    Examples
    --------
    >>> weight = np.random.default_rng(0).normal(3000, 500, 400).round()
    >>> import pandas as pd
    >>> data = Data.from_frame(pd.DataFrame({"weight": weight}), np.where(weight < 2500, "low", "usual"))
    >>> deciding_column(data).told("size")
    'whether weight is above 2,506 decides size in every row'
    """
    frame, y = sample(data, MOST_ROWS)
    if y is None or len(y) < FEWEST:
        return None
    classes = np.unique(y, return_inverse=True)[1]
    if classes.max() >= MAX_CLASSES:
        return None
    for column in [item for item in data.columns if item.learnable and item.kind == "numeric"][:MAX_ALONE]:
        values = as_numbers(frame[column.name], column)
        known = np.zeros(len(y), dtype=bool) if values is None else np.isfinite(values)
        if values is None or known.sum() < FEWEST or len(np.unique(classes[known])) <= classes.max():
            continue
        beside = max(FEWEST_BESIDE, SHARE_BESIDE * int(known.sum()))
        cuts = _cuts(values[known], classes[known])
        if cuts and all(_is_true(values[known], *cut, NEAR, beside) for cut in cuts):
            return DecidingColumn(column.name, tuple((low + high) / 2 for low, high in cuts))
    return None


def deciding_gap(data: Data) -> str | None:
    """The first column that is missing in just the rows of some classes, as a cause of death for the living.

    Examples
    --------
    >>> import pandas as pd
    >>> died = np.arange(90) % 3 == 0
    >>> frame = pd.DataFrame({"boat": np.where(died, np.nan, np.arange(90.0))})
    >>> deciding_gap(Data.from_frame(frame, np.where(died, "no", "yes")))
    'boat'
    """
    frame, y = sample(data, MOST_ROWS)
    if y is None or len(y) < FEWEST:
        return None
    columns = [column for column in data.columns if column.learnable and column.n_missing]
    for column in columns:
        gaps = as_codes(frame[column.name]) < 0
        if decides_beyond_chance(gaps, y, len(columns)):
            return column.name
    return None


def deciding_pair(data: Data) -> DecidingPair | None:
    """The first two columns that decide the class of every row; None where no two do.

    Seen are pairs of columns with at most twenty levels whose cross table has one class per cell, and two
    columns of numbers whose sum, difference, product or quotient parts the classes with rows close to both
    sides of the threshold. Rules of three columns, or with other multiples than one, are not seen.

    Examples
    --------
    >>> spent, limit = np.random.default_rng(0).normal(size=(2, 400))
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"spent": spent, "limit": limit})
    >>> deciding_pair(Data.from_frame(frame, np.where(spent > limit, "late", "paid"))).formula
    'spent − limit'
    """
    frame, y = sample(data, MOST_ROWS)
    if y is None or len(y) < FEWEST:
        return None
    classes = np.unique(y, return_inverse=True)[1]
    columns = [column for column in data.columns if column.learnable and column.name in frame][:MAX_COLUMNS]
    levels, numbers = {}, {}
    for column in columns:
        codes = as_codes(frame[column.name])
        if 2 <= len(np.unique(codes)) <= MAX_LEVELS:
            levels[column.name] = codes - codes.min()  # what is missing is a level
        values = as_numbers(frame[column.name], column) if column.kind == "numeric" else None
        if values is not None and np.isfinite(values).all():
            numbers[column.name] = values
    return next(_by_levels(levels, classes), None) or next(_by_ranges(numbers, classes), None)


def _by_levels(levels: dict[str, NDArray], classes: NDArray) -> Iterator[DecidingPair]:
    """Pairs of columns of few levels whose cells have one class each."""
    n_pairs = max(1, len(levels) * (len(levels) - 1) // 2)
    for one, other in combinations(levels, 2):
        first, second = levels[one], levels[other]
        width = int(second.max()) + 1
        if not is_pure(first[:FIRST_ROWS] * width + second[:FIRST_ROWS], classes[:FIRST_ROWS]):
            continue
        cells = first * width + second
        if not is_pure(cells, classes) or is_pure(first, classes) or is_pure(second, classes):
            continue
        # Whichever column is known already, the other must tell what chance would not.
        chance = max(chance_of_purity(known, cells, classes) for known in (first, second))
        if chance + np.log(n_pairs) < np.log(CHANCE):
            yield DecidingPair((one, other))


def _by_ranges(numbers: dict[str, NDArray], classes: NDArray) -> Iterator[DecidingPair]:
    """Pairs of columns of numbers a combination of which has a range for each class."""
    if len(numbers) < 2 or classes.max() >= MAX_CLASSES:
        return
    alone = [_cuts(values, classes) is not None for values in numbers.values()]
    free = [name for name, decides in zip(numbers, alone, strict=True) if not decides]
    few = slice(FIRST_ROWS)
    for one, other in combinations(free, 2):
        for sign, combine in COMBINED.items():
            first, second = numbers[one], numbers[other]
            if sign in "×/" and min(first.min(), second.min()) <= 0:
                continue
            if _cuts(combine(first[few], second[few]), classes[few]) is None:
                continue
            values = combine(first, second)
            cuts = _cuts(values, classes)
            if cuts is not None and all(_is_true(values, low, high) for low, high in cuts):
                yield DecidingPair((one, other), sign, tuple((low + high) / 2 for low, high in cuts))


def _cuts(values: NDArray, classes: NDArray) -> list[tuple[float, float]] | None:
    """Where the range of one class ends and that of the next begins; None where ranges overlap."""
    ends = [(values[classes == k].min(), values[classes == k].max()) for k in np.unique(classes)]
    ends.sort()
    cuts = [(float(low[1]), float(high[0])) for low, high in pairwise(ends)]
    return cuts if all(low < high for low, high in cuts) else None


def _is_true(
    values: NDArray, low: float, high: float, near: float = NEAR / 2, beside: float = BESIDE
) -> bool:
    """Whether rows lie close to both sides of a threshold, as they do where it makes the classes."""
    reach = near * float(np.subtract(*np.quantile(values, [0.75, 0.25])))
    middle = (low + high) / 2
    below = (values <= low) & (values >= min(middle - reach, low))
    above = (values >= high) & (values <= max(middle + reach, high))
    return bool(min(below.sum(), above.sum()) >= beside)
