"""The cells of a column as floats, as words or as days, whatever they were read as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.errors import ReportError
from assay.report.tables.dates import dates
from assay.report.tables.files.amounts import amount
from assay.report.tables.files.values import masked, numbers_from_texts
from assay.report.tables.schema import Column, truth

SECONDS_OF_DAY = 86400.0


def cells(X: pd.DataFrame, column: Column) -> pd.Series[Any]:
    """The values of a column, without those that stand for a missing one."""
    return masked(X[column.name], column.missing)


def read_numbers(values: pd.Series[Any], column: Column) -> NDArray:
    """A column as floats, NaN where a value is missing or infinite; a sentence where it is no number."""
    if pd.api.types.is_numeric_dtype(values.dtype):
        return finite(values)
    if column.kind == "boolean":
        numbers = truth(values)
        wrong = numbers.isna() & values.notna()
    else:
        # As the fit read them: $7,440, 60%, (12).
        read = numbers_from_texts(values, column.decimal or ".", forced=True, unit=column.unit or None)
        numbers = pd.Series(np.nan, index=values.index) if read is None else read.values
        words = read_words(values)
        strays = (
            [word for word in words.dropna().unique() if not _is_mark(word)] if read is None else read.strays
        )
        wrong = words.isin(list(strays))
    if wrong.any():
        example = values[wrong].iloc[0]
        kind = "truth values" if column.kind == "boolean" else "numbers"
        raise ReportError(f"Column {column.name!r} must hold {kind}. Got {str(example)!r} instead.")
    return finite(numbers)


def _is_mark(word: str) -> bool:
    """Whether a text stands for a missing number."""
    read = amount(word)
    return read is not None and bool(np.isnan(read.value))


def finite(values: pd.Series[Any]) -> NDArray:
    """Numbers as floats, NaN where they are missing or infinite."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def read_words(values: pd.Series[Any]) -> pd.Series[Any]:
    """A column as texts without blanks at the ends, missing where there is nothing."""
    return pd.Series(words_in(values), index=values.index, name=values.name, dtype=object)


def words_in(values: pd.Series[Any]) -> list[str | None]:
    """The cells of a column as texts without blanks at the ends, None where there is nothing."""
    # Each different text is read once; values of several types may be equal and read differently (1, True).
    if pd.api.types.infer_dtype(values, skipna=True) == "string":
        given = values.tolist()
        read = {value: None if pd.isna(value) else _word(value) for value in set(given)}
        return [read[value] for value in given]
    return [_word(value) for value in values.astype(object).where(values.notna(), None)]


def level_places(words: Sequence[str | None], levels: Sequence[str], *, others: bool = False) -> NDArray:
    """The place of each word among the levels, NaN where it is missing.

    A word that is none of them is at the place after the last with `others`, else NaN too.

    Examples
    --------
    >>> level_places(["low", None, "high", "odd"], ["low", "high"], others=True)
    array([ 0., nan,  1.,  2.])
    """
    place: dict[str | None, float] = {level: float(number) for number, level in enumerate(levels)}
    place[None], other = np.nan, float(len(levels)) if others else np.nan
    return np.array([place.get(word, other) for word in words], dtype=np.float64)


def _word(value: Any) -> str | None:
    if isinstance(value, float) and value.is_integer():  # whole numbers beside a gap: 3, not 3.0
        return str(int(value))
    return None if value is None else (str(value).strip() or None)


def days_of(values: pd.Series[Any], *, day_first: bool = False) -> NDArray:
    """Days since 1970, NaN where there is no date."""
    moments = dates(values, day_first=day_first).dt.as_unit("us")  # nanoseconds end in 2262
    microseconds = moments.to_numpy().astype(np.int64).astype(np.float64)
    return np.where(moments.isna(), np.nan, microseconds / (1e6 * SECONDS_OF_DAY))


NUMBERS = ("integer", "floating", "mixed-integer", "mixed-integer-float", "decimal")
"""Kinds of values that tell no day by themselves, unless they are written as 20240206 is."""


def read_days(values: pd.Series[Any], column: Column) -> NDArray:
    """A column of dates as days since 1970; a sentence where it holds numbers, or values and no date."""
    kind = pd.api.types.infer_dtype(values, skipna=True)
    truths = kind == "boolean"
    days = np.full(len(values), np.nan) if truths else days_of(values, day_first=column.day_first)
    strays = [word for word in words_in(values[np.isnan(days)]) if word is not None]
    if strays and (truths or kind in NUMBERS or np.isnan(days).all()):
        raise ReportError(f"Column {column.name!r} must hold dates. Got {strays[0]!r} instead.")
    return days
