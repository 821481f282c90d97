"""How columns go together: measures of association, and which columns tell too much about the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from assay.report.tables.checks.deciding import decides_beyond_chance, share_by_levels, share_in_ranges
from assay.report.tables.checks.doubles import as_codes
from assay.report.tables.checks.relations import standardised
from assay.report.tables.data import SAMPLE_ROWS, Data, Task, sampled
from assay.report.tables.encoding.cells import days_of, finite, level_places, words_in
from assay.report.tables.schema import Column, truth
from assay.report.wording import listed, short, signed
from assay.rows import alone

__all__ = [
    "MAX_COLUMNS",
    "REPEATED",
    "SAMPLE_ROWS",
    "Association",
    "Pair",
    "as_codes",
    "as_numbers",
    "correlation_ratio",
    "correlations",
    "cramers_v",
    "leaking",
    "of_leaks",
    "repeats",
    "sample",
    "short",
    "signed",
    "with_target",
]

BLOCK = 8192
FEWEST = 10
"""With fewer rows in common, columns are not compared: nearly everything goes together by chance."""


def correlations(table: NDArray) -> NDArray:
    """Correlation of each pair of columns over the rows where both are known; NaN for fewer than ten.

    Examples
    --------
    >>> x = np.arange(20.0)
    >>> correlations(np.column_stack([x, -3 * x, np.where(x < 5, np.nan, x**2)])).round(2)
    array([[ 1.  , -1.  ,  0.99],
           [-1.  ,  1.  , -0.99],
           [ 0.99, -0.99,  1.  ]])
    """
    centre, spread = _centre_and_spread(table)
    n_columns = table.shape[1]
    common, sums, squares, products = np.zeros((4, n_columns, n_columns))
    for start in range(0, len(table), BLOCK):  # blocks stay in the cache
        rows = table[start : start + BLOCK]
        known = ~np.isnan(rows)
        marks = known.astype(np.float64)
        with np.errstate(invalid="ignore"):
            values = np.where(known, (rows - centre) / spread, 0.0)
        common += marks.T @ marks
        sums += values.T @ marks  # of the first column, over the rows of both
        squares += (values**2).T @ marks
        products += values.T @ values
    with np.errstate(invalid="ignore", divide="ignore"):
        squares -= sums**2 / common
        products -= sums * sums.T / common
        scale = np.sqrt(np.maximum(squares, 0.0) * np.maximum(squares.T, 0.0))
        ratios = np.where(scale > 1e-9 * common, products / scale, np.nan)
    return np.where(common >= FEWEST, np.clip(ratios, -1.0, 1.0), np.nan)


def _centre_and_spread(table: NDArray) -> tuple[NDArray, NDArray]:
    """Mean and standard deviation of each column; an infinite one where it varies by rounding alone."""
    centre, spread = np.zeros(table.shape[1]), np.full(table.shape[1], np.inf)
    for place, column in enumerate(table.T):
        there = column[~np.isnan(column)]
        size = float(np.abs(there).max(initial=0.0))
        if size == 0.0:
            continue
        scaled = there / size  # no square overflows
        centre[place] = size * scaled.mean()
        deviation = float(scaled.std())
        spread[place] = size * deviation if deviation > 1e-12 else np.inf
    return centre, spread


def correlation_ratio(values: NDArray, groups: NDArray) -> float:
    """Share of the variance that groups explain, as the root of the adjusted R²; 0 by chance, 1 if all of it.

    Without the adjustment, groups of one row each would explain everything.

    Examples
    --------
    >>> round(correlation_ratio(np.repeat([1.0, 5.0], 10), np.repeat([0, 1], 10)), 6)
    1.0
    >>> correlation_ratio(np.arange(20.0), np.arange(20))
    0.0
    """
    known = ~np.isnan(values) & (groups >= 0)
    values, groups = values[known], np.unique(groups[known], return_inverse=True)[1]
    n_rows, n_groups = len(values), int(groups.max(initial=-1)) + 1
    if n_rows < FEWEST or n_groups < 2 or n_groups >= n_rows:
        return 0.0
    values = values / (np.abs(values).max() or 1.0)
    values = values - values.mean()
    total = float(values @ values)
    if total <= 1e-24 * n_rows:
        return 0.0
    sums, counts = np.bincount(groups, weights=values), np.bincount(groups)
    within = max(total - float((sums**2 / counts).sum()), 0.0)
    share = 1.0 - (within / (n_rows - n_groups)) / (total / (n_rows - 1))
    return float(np.sqrt(np.clip(share, 0.0, 1.0)))


def cramers_v(first: NDArray, second: NDArray) -> float:
    """Cramér's V of two columns of categories, without the bias of small tables (Bergsma 2013).

    Examples
    --------
    >>> codes = np.arange(60) % 3
    >>> round(cramers_v(codes, 2 - codes), 6), cramers_v(codes, np.arange(60) // 30)
    (1.0, 0.0)
    """
    known = (first >= 0) & (second >= 0)
    rows = np.unique(first[known], return_inverse=True)[1]
    columns = np.unique(second[known], return_inverse=True)[1]
    n_rows = len(rows)
    height, width = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    if n_rows < FEWEST or height < 2 or width < 2:
        return 0.0
    # Only cells with rows are counted: a level for every row would make a table of n² cells.
    cells, counts = np.unique(rows * width + columns, return_counts=True)
    margins = np.bincount(rows)[cells // width] * np.bincount(columns)[cells % width]
    square = float((counts**2 / margins).sum()) - 1.0
    excess = max(square - (height - 1) * (width - 1) / (n_rows - 1), 0.0)
    tall = height - (height - 1) ** 2 / (n_rows - 1)
    wide = width - (width - 1) ** 2 / (n_rows - 1)
    most = min(tall, wide) - 1.0
    return float(np.sqrt(np.clip(excess / most, 0.0, 1.0))) if most > 1e-9 else 0.0


def correlation(first: NDArray, second: NDArray) -> float:
    """The correlation of two columns where both are known, 0 where there is none."""
    known = ~np.isnan(first)
    if int(known.sum()) < FEWEST:
        return 0.0
    unit, _ = standardised(np.column_stack([first[known], second[known]]))
    return float(np.clip(unit[:, 0] @ unit[:, 1], -1.0, 1.0))


MAX_COLUMNS = 500
"""Pairs of columns are looked at among so many; all pairs of thousands would cost more than the fits."""

LEAK = 0.99
"""A column that is associated with the target more than this gives it away."""

MOST_LEAKS = 3
"""So many columns that give the target away have a sentence of their own."""

REPEATED = 0.95
"""Two columns with a greater correlation nearly repeat each other."""


class Pair(NamedTuple):
    """Two columns and their correlation."""

    first: str
    second: str
    correlation: float


class Association(NamedTuple):
    """How much a column tells about the target.

    `strength` is in [0, 1], or in [−1, 1] for a correlation; `measure` says what it is.
    """

    name: str
    strength: float
    measure: str


def sample(data: Data, limit: int = SAMPLE_ROWS) -> tuple[pd.DataFrame, NDArray | None]:
    """Columns and target of all rows, or of `limit` rows drawn at random, always the same ones."""
    n_rows = len(data.X)
    if n_rows <= limit:
        return data.X, data.y
    rows = sampled(n_rows, limit)
    return data.X.iloc[rows], None if data.y is None else data.y[rows]


def as_numbers(values: pd.Series[Any], column: Column) -> NDArray | None:
    """A column as floats, NaN where nothing is known; None for categories, which have no order."""
    if column.kind == "numeric":
        return finite(values)
    if column.kind == "boolean":
        return finite(truth(values))
    if column.kind == "date":
        return days_of(values)
    if column.kind == "ordinal":
        return level_places(words_in(values), column.levels)
    return None


def with_target(data: Data, task: Task) -> list[Association]:
    """How much each column tells about the target by itself, the strongest first.

    Correlation for numbers; correlation ratio between numbers and groups; Cramér's V between groups.
    """
    if data.y is None:
        return []
    frame, y = sample(data)
    assert y is not None
    classes = np.unique(y, return_inverse=True)[1] if task == "classification" else None
    used = [column for column in data.columns if column.learnable]
    # Products of one column at a time are too small to share between threads.
    associations = alone(lambda: [_associate(frame[column.name], column, y, classes) for column in used])
    # The same column in two units differs by rounding, which is not to decide the order.
    return sorted(associations, key=lambda item: -round(abs(item.strength), 12))


def repeats(names: list[str], matrix: NDArray, least: float = REPEATED) -> list[Pair]:
    """Pairs of columns with a correlation of at least `least` in size, the strongest first."""
    strength = np.abs(np.triu(np.nan_to_num(matrix), 1))
    first, second = np.nonzero(strength >= least)
    order = np.argsort(-strength[first, second], kind="stable")
    places = zip(first[order], second[order], strict=True)
    return [Pair(names[i], names[j], float(matrix[i, j])) for i, j in places]


def leaking(data: Data, task: Task, associations: Sequence[Association] | None = None) -> list[Association]:
    """The columns that nearly give the target away by themselves, with what tells so.

    Such a column is often a copy of the target, or only known after it. The order of the values counts too:
    the logarithm of a target gives it away as much as the target itself.
    """
    told: list[Association] = []
    if data.y is None:
        return told
    frame, y = sample(data)
    assert y is not None
    columns = {column.name: column for column in data.columns}
    for item in with_target(data, task) if associations is None else associations:
        values, column = frame[item.name], columns[item.name]
        if abs(item.strength) > LEAK and (task == "regression" or _decides(values, column, y)):
            told.append(item)
        elif task == "classification" and column.kind == "categorical" and _is_code(values, y, len(columns)):
            told.append(Association(item.name, 1.0, "share of rows decided"))
        elif task == "regression" and item.measure == "correlation" and abs(item.strength) > 0.3:
            numbers = as_numbers(values, column)
            assert numbers is not None
            known = ~np.isnan(numbers)
            strength = correlation(rankdata(numbers[known]), rankdata(y[known]))
            if abs(strength) > LEAK:
                told.append(Association(item.name, strength, "rank correlation"))
    return told


def of_leaks(data: Data, told: Sequence[Association]) -> tuple[str, ...]:
    """Sentences on what `leaking` found: one for each of the first few columns, and one for the rest.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(size=50)
    >>> frame = pd.DataFrame({"copy": np.exp(y), "other": y[::-1]})
    >>> data = Data.from_frame(frame, y, target="price")
    >>> of_leaks(data, leaking(data, "regression"))[0]
    "'copy' alone gives price away (rank correlation 1.00): unless it is known beforehand, --drop it."
    """
    target = short(str(data.target))
    sentences = [
        f"{short(name)!r} alone gives {target} away ({measure} {signed(strength)}): unless it is known "
        "beforehand, --drop it."
        for name, strength, measure in told[:MOST_LEAKS]
    ]
    rest = [short(item.name) for item in told[MOST_LEAKS:]]
    if rest:
        what = "column does" if len(rest) == 1 else "columns do"
        sentences.append(f"{len(rest)} more {what} so alone: {listed(rest, 6)}.")
    return tuple(sentences)


def _decides(values: pd.Series[Any], column: Column, y: NDArray) -> bool:
    """Whether a column decides the class: that the class decides the column makes them go together too."""
    classes = np.unique(y, return_inverse=True)[1]
    numbers = as_numbers(values, column)
    if numbers is not None and share_in_ranges(numbers, classes) > LEAK:
        return True
    return share_by_levels(as_codes(values), classes) > LEAK


def _is_code(values: pd.Series[Any], y: NDArray, n_columns: int) -> bool:
    """Whether the class can be read off words of so many levels that Cramér's V is far from 1."""
    codes = as_codes(values)
    known = codes >= 0
    return bool(known.sum() >= FEWEST) and decides_beyond_chance(codes[known], y[known], n_columns)


def _associate(values: pd.Series[Any], column: Column, y: NDArray, classes: NDArray | None) -> Association:
    numbers = as_numbers(values, column)
    if classes is None:
        if numbers is None:
            return Association(column.name, correlation_ratio(y, as_codes(values)), "correlation ratio")
        return Association(column.name, correlation(numbers, y), "correlation")
    if numbers is None:
        return Association(column.name, cramers_v(as_codes(values), classes), "Cramér's V")
    return Association(column.name, correlation_ratio(numbers, classes), "correlation ratio")
