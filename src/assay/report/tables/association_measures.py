"""Measures of association: correlation, correlation ratio, Cramér's V."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK = 8192
FEWEST = 10
"""With fewer rows in common, columns are not compared: nearly everything goes together by chance."""


def correlations(table: NDArray) -> NDArray:
    """Correlation of each pair of columns over the rows where both are known.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        NaN where a value is not known.

    Returns
    -------
    matrix : ndarray of shape (n_columns, n_columns)
        NaN where fewer than ten rows are known of both, or one of them does not vary there.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.report.tables.association_measures import correlations
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
    >>> import numpy as np
    >>> from assay.report.tables.association_measures import correlation_ratio
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
    >>> import numpy as np
    >>> from assay.report.tables.association_measures import cramers_v
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
    pair = [_unit(first[known]), _unit(second[known].astype(np.float64))]
    return float(np.clip(pair[0] @ pair[1], -1.0, 1.0))


def _unit(values: NDArray) -> NDArray:
    """Centred, of norm 1; zero where the values do not vary."""
    values = values / (np.abs(values).max() or 1.0)
    centred = values - values.mean()
    norm = float(np.sqrt(centred @ centred))
    return centred / norm if norm > 1e-12 * np.sqrt(len(values)) else np.zeros_like(centred)
