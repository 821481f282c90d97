"""Whether groups of rows say more than a column, or two of them, already did."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, homogeneity_score

from assay.report.tables.checks.associations import as_codes, as_numbers, short
from assay.report.tables.checks.deciding import share_in_ranges
from assay.report.tables.data import Data

SAME = 0.9
"""Groups whose adjusted Rand index with a column is greater repeat it."""

PURE = 0.99
IN_RANGE = 0.98
"""Groups that are ranges of a column but for a smaller share of the rows are said to be."""

MOST_LEVELS = 20
MOST_COLUMNS = 30


def repeated(data: Data, labels: NDArray) -> str:
    """The column of words, or the two together, that the groups merely repeat; empty where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m"] * 20, "x": np.arange(40.0) ** 2})
    >>> repeated(Data.from_frame(frame), np.arange(40) % 2)
    "'sex'"
    """
    kept = labels >= 0
    if len(np.unique(labels[kept])) < 2:
        return ""
    codes = dict(_codes_of_words(data))
    for name, own in codes.items():
        if adjusted_rand_score(own[kept], labels[kept]) >= SAME:
            return repr(short(name))
    for (first, one), (second, other) in combinations(codes.items(), 2):
        both = one * (other.max() + 1) + other
        if adjusted_rand_score(both[kept], labels[kept]) >= SAME:
            return f"the combinations of {short(first)!r} and {short(second)!r}"
    return ""


def told_by_columns(data: Data, labels: NDArray) -> tuple[str, ...]:
    """Sentences on columns that tell the group of a row, or that each group has one value of."""
    kept = labels >= 0
    if len(np.unique(labels[kept])) < 2:
        return ()
    whole = repeated(data, labels)
    if whole:
        return (f"The groups merely repeat {whole}: they say hardly more than that.",)
    pure = [
        repr(short(name))
        for name, own in _codes_of_words(data)
        if len(np.unique(own[kept])) > 1 and homogeneity_score(own[kept], labels[kept]) >= PURE
    ]
    if pure:
        return (f"Each group has one value only of {' and of '.join(pure)}.",)
    best, share = max(
        ((name, share_in_ranges(values, labels)) for name, values in _numbers(data)),
        key=lambda item: item[1],
        default=("", 0.0),
    )
    if share < IN_RANGE:
        return ()
    return (
        f"The groups are ranges of {short(best)!r}: that column alone tells the group of {share:.0%} of the "
        "rows.",
    )


def _codes_of_words(data: Data) -> Iterator[tuple[str, NDArray]]:
    """Codes of the columns of words with few levels; a missing value is a level."""
    kinds = ("categorical", "boolean", "ordinal")
    columns = [item for item in data.columns if item.learnable and item.kind in kinds]
    for column in columns[:MOST_COLUMNS]:
        if column.n_distinct <= MOST_LEVELS:
            codes = as_codes(data.X[column.name])
            yield column.name, np.where(codes < 0, codes.max() + 1, codes)


def _numbers(data: Data) -> Iterator[tuple[str, NDArray]]:
    columns = [item for item in data.columns if item.learnable and item.kind in ("numeric", "date")]
    for column in columns[:MOST_COLUMNS]:
        values = as_numbers(data.X[column.name], column)
        if values is not None:
            yield column.name, values
