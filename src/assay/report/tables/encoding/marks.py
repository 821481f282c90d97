"""How many levels of a category are told apart by marks of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.report.tables.schema import Column

MAX_LEVELS, FEWEST_LEVELS = 30, 3
"""Levels of a category with a mark of their own, at most and however many categories there are; rarer ones
share one."""

WORK_OF_MARKS = 2e11
"""Rows times the square of the number of marks, what second moments cost: beyond, fewer levels are marked."""


class Levels:
    """The levels of a category: those told apart, and rarer ones."""

    levels: tuple[str, ...]
    rare: tuple[str, ...]

    @property
    def known_levels(self) -> tuple[str, ...]:
        """Every level of the fit."""
        return self.levels + self.rare


NUMBERS_OF_DISTANCES = 2e7
"""Rows times marks, what distances between rows are made of: beyond, fewer levels are marked there."""


def n_marked_levels(n_rows: int, columns: Sequence[Column], *, distances: bool = False) -> int:
    """How many levels of each category have a mark of their own in a table of so many rows.

    The marks are for sums over rows, or for `distances` between them.

    Examples
    --------
    >>> words = Column("town", "categorical", 0, 40)
    >>> [n_marked_levels(2000, [words] * count) for count in (100, 500, 2000)]
    [30, 20, 5]
    >>> n_marked_levels(10_000, [words] * 1000), n_marked_levels(10_000, [words] * 1000, distances=True)
    (4, 3)
    """
    n_columns = sum(column.kind == "categorical" for column in columns)
    if not n_columns or not n_rows:
        return MAX_LEVELS
    most = np.sqrt(WORK_OF_MARKS / n_rows) / n_columns
    if distances:
        most = min(most, NUMBERS_OF_DISTANCES / n_rows / n_columns)
    return int(np.clip(most, FEWEST_LEVELS, MAX_LEVELS))
