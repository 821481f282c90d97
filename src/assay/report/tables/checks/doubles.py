"""Rows that are there twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.encoding.cells import read_words


def as_codes(values: pd.Series[Any]) -> NDArray:
    """The number of its level for each row, −1 where there is none."""
    kind = values.dtype
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind):
        return pd.factorize(values)[0]
    try:
        codes, levels = pd.factorize(values)
    except TypeError:  # lists and other things that cannot be compared
        codes, levels = pd.factorize(values.astype(str))
    # Blanks at the ends do not make another level; only the different values are looked at.
    same = pd.factorize(read_words(pd.Series(np.asarray(levels, dtype=object), dtype=object)))[0]
    return np.append(same, -1)[codes]


def row_keys(frame: pd.DataFrame) -> NDArray:
    """A number for each row, the same where all columns are the same: a hash of 64 bits."""
    key = np.zeros(len(frame), dtype=np.uint64)
    for place, name in enumerate(frame.columns):
        key = mixed(key, as_codes(frame[name]))
        # Rows that differ already will not become equal: it is looked at after 1, 2, 4, 8, … columns.
        if place & (place + 1) == 0 and len(np.unique(key)) == len(frame):
            break
    return key


def mixed(key: NDArray, codes: NDArray) -> NDArray:
    """The keys of rows made different where the codes are."""
    key = (key ^ (codes + 2).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


def n_repeating(frame: pd.DataFrame) -> int:
    """How many rows repeat an earlier one in every column.

    Examples
    --------
    >>> n_repeating(pd.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "x"]}))
    1
    """
    return len(frame) - len(np.unique(row_keys(frame)))
