"""Gower's distances as sums of absolute differences, with columns that count alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.encoding.cells import level_places, words_in
from assay.report.tables.encoding.marks import MAX_LEVELS, Levels
from assay.report.tables.schema import Column, truth
from assay.report.tables.texts import frequencies

NOMINAL = ("categorical", "boolean")
"""Kinds of columns whose values are the same or not, and nothing between."""

WORDS_COUNT = 0.5
"""What two rows differ in a column of words on average, where they differ by 1 in one of numbers."""


@dataclass(frozen=True)
class ShareCode(Levels):
    """A category: one mark for each level of the fit; a missing one has the shares of the levels as marks.

    Levels beyond the thirty most frequent (fewer in a table of very many categories) share a mark, which
    unseen ones have too, if there is one.
    """

    levels: tuple[str, ...]
    rare: tuple[str, ...]
    shares: tuple[float, ...]

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> ShareCode:
        """Learn the levels, the most frequent first, and their shares."""
        counts = frequencies(_words(values, column))
        levels, rare = tuple(counts)[:MAX_LEVELS], tuple(counts)[MAX_LEVELS:]
        frequent = [counts[level] for level in levels]
        shares = [*frequent, sum(counts[level] for level in rare)] if rare else frequent
        return ShareCode(levels, rare, tuple(share / sum(shares) for share in shares))

    def limited(self, most: int) -> ShareCode:
        """The same with marks for fewer levels."""
        if len(self.levels) <= most:
            return self
        shares = (*self.shares[:most], sum(self.shares[most:]))
        return ShareCode(self.levels[:most], self.levels[most:] + self.rare, shares)

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        return [f"{column.name} = {level}" for level in (*self.levels, *(["other"] if self.rare else []))]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The features, one column each."""
        places = level_places(_words(values, column), self.levels, others=bool(self.rare))
        known = np.flatnonzero(~np.isnan(places))
        marks = np.tile(np.array(self.shares, dtype=np.float64), (len(values), 1))
        marks[known] = 0.0
        marks[known, places[known].astype(np.intp)] = 1.0
        return marks

    @property
    def height(self) -> float:
        """How much a mark counts: two levels are apart by twice as much."""
        unlike = 1.0 - float(np.sum(np.square(self.shares)))  # of two rows, by chance
        return WORDS_COUNT / max(unlike, 0.5) / 2


def _words(values: pd.Series[Any], column: Column) -> list[str | None]:
    """Levels as words; truth values however they are written."""
    if column.kind != "boolean":
        return words_in(values)
    return [{1.0: "true", 0.0: "false"}.get(number) for number in truth(values)]


def gower_scales(features: NDArray, columns: Sequence[Column], codes: Sequence[Any]) -> NDArray:
    """What each feature is divided by, so that every column counts as it should in a sum of differences."""
    scales, start = np.ones(features.shape[1]), 0
    for column, code in zip(columns, codes, strict=True):
        width = len(code.names(column))
        part = slice(start, start + width)
        if isinstance(code, ShareCode):
            scales[part] = 1.0 / code.height
        else:  # a date has several features, which count as one column together
            means = np.array([mean_difference(feature) for feature in features[:, part].T])
            scales[part] = np.where(means > 0, width * means, 1.0)
        start += width
    return scales


def mean_difference(values: NDArray) -> float:
    """Gini's mean difference: the mean of |x − x′| over pairs of rows.

    Examples
    --------
    >>> mean_difference(np.array([0.0, 1.0, 3.0]))
    2.0
    """
    n_rows = len(values)
    if n_rows < 2:
        return 0.0
    size = float(np.abs(values).max()) or 1.0
    ordered = np.sort(values / size)
    weights = 2.0 * np.arange(1, n_rows + 1) - n_rows - 1
    return size * float(2.0 * (weights @ ordered) / (n_rows * (n_rows - 1)))
