"""Columns of texts that are numbers to a person, a stray "Total" among them, and what is missing in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from assay.report.tables.dates import dates
from assay.report.tables.files.amounts import CLOCK, MONEY, PER_CENT, Amount, amount, same_unit
from assay.report.tables.texts import different

CODE = re.compile(r"(?=.*[^\W\d_])(?=.*\d)[\w./-]+")
"""Letters and digits together: where numbers stand beside such, they are codes too."""

GLANCE = 50
"""So many different texts tell whether a column may be numbers at all."""

STRAYS = 0.05
"""A column is one of numbers when at most this share of its cells is something else."""

FEWEST_NUMBERS = 10
"""As many different numbers, and cells, make a column one of numbers in spite of other cells."""


FEWEST_OF_UNIT = 3
"""A unit that is no money makes numbers of texts with as many different ones: 2WD and 4WD are words."""

OTHER_MARK = {".": ",", ",": "."}


class Numbers(NamedTuple):
    """A column of texts read as numbers, and what was decided on the way."""

    values: pd.Series[Any]
    marks: tuple[str, ...] = ()  # texts that stood for missing numbers
    grouped: bool = False
    bracketed: bool = False
    unit: str = ""
    strays: tuple[str, ...] = ()  # texts that are no numbers, the commonest first
    n_strays: int = 0
    decimal: str = "."


def numbers_from_texts(
    texts: pd.Series[Any],
    decimal: str = ".",
    *,
    strict: bool = False,
    forced: bool = False,
    unit: str | None = None,
) -> Numbers | None:
    """Read a column of texts as numbers, or tell by None that it holds something else.

    A few cells that are no numbers (a "Total" below many numbers) become missing values, told by `strays`;
    none with `strict`, however many with `forced`. Where the decimal mark does not suit, the other one is
    tried; the unit is the commonest one, or what is said.

    Examples
    --------
    >>> numbers_from_texts(pd.Series(["1,250", "?", "900"])).values.tolist()
    [1250.0, nan, 900.0]
    >>> numbers_from_texts(pd.Series(["1,250", "many"])) is None
    True
    >>> numbers_from_texts(pd.Series([*map(str, range(20)), "Total"])).strays
    ('Total',)
    >>> numbers_from_texts(pd.Series(["2,5 kg", "3,75 kg", "4 kg"])).values.tolist()
    [2.5, 3.75, 4.0]
    """
    read = partial(_numbers, texts, strict=strict, forced=forced, unit=unit)
    found = read(decimal)
    if found is not None and not found.strays:
        return found
    other = read(OTHER_MARK[decimal])
    if other is None or (found is not None and other.n_strays >= found.n_strays):
        return found
    return other


def any_number(texts: pd.Series[Any]) -> bool:
    """Whether one of the first different texts is a number, with either decimal mark.

    Examples
    --------
    >>> any_number(pd.Series(["Lyon", "Nice"])), any_number(pd.Series(["Lyon", "2,5 kg"]))
    (False, True)
    """
    try:
        some = different(texts)[:GLANCE]
    except TypeError:  # lists and other things that cannot be compared
        return False
    return any(amount(str(text).strip(), mark) is not None for text in some for mark in OTHER_MARK)


def _numbers(
    texts: pd.Series[Any], decimal: str, *, strict: bool, forced: bool, unit: str | None
) -> Numbers | None:
    """The column read with one decimal mark."""
    try:
        raw = different(texts)
    except TypeError:  # lists and other things that cannot be compared
        return None
    glance = [amount(str(text).strip(), decimal) for text in raw[:GLANCE]]
    if not forced and sum(item is None for item in glance) > (0 if strict else len(glance) / 2):
        return None
    words = {text: str(text).strip() for text in raw}
    amounts = {word: amount(word, decimal) for word in words.values()}
    counts = texts.dropna().map(words).value_counts()
    read = {str(text): amounts[str(text)] for text in counts.index}
    unit = _unit_of(read, counts, strict or forced) if unit is None else unit
    numbers = {text: item for text, item in read.items() if item is not None and _goes_with(item, unit)}
    strays = [text for text in read if text not in numbers]
    n_cells, n_strays = int(counts.sum()), int(sum(counts[text] for text in strays))
    known = [item for item in numbers.values() if not np.isnan(item.value)]
    if not known:
        return None
    if strays and not forced:
        codes = any(CODE.fullmatch(text) for text in strays)
        if strict or codes or not _are_few(n_strays, len(strays), n_cells, len(known)):
            return None
    values = texts.map({text: _value(numbers.get(str(text).strip())) for text in raw}).astype(np.float64)
    marks = [
        text for text, item in numbers.items() if np.isnan(item.value) and text and text.lower() != "nan"
    ]
    return Numbers(
        values,
        tuple(sorted(marks)),
        any(item.grouped for item in known),
        any(item.bracketed for item in known),
        unit,
        tuple(strays),
        n_strays,
        decimal,
    )


def _unit_of(read: Mapping[str, Amount | None], counts: pd.Series[Any], trusted: bool) -> str:
    """The commonest unit. What is no money is one of most cells, and of several different numbers."""
    cells, different = Counter[str](), Counter[str]()
    for text, item in read.items():
        if item is not None and not np.isnan(item.value):
            cells[item.unit] += int(counts[text])
            different[same_unit(item.unit)] += 1
    unit = max((sign for sign in cells if sign), key=lambda sign: cells[sign], default="")
    if trusted or unit in ("", PER_CENT, CLOCK) or MONEY.fullmatch(unit):
        return unit
    n_cells = sum(count for sign, count in cells.items() if same_unit(sign) == same_unit(unit))
    return unit if different[same_unit(unit)] >= FEWEST_OF_UNIT and 2 * n_cells > cells.total() else ""


def _value(item: Amount | None) -> float:
    return np.nan if item is None else item.value


def _goes_with(item: Amount, unit: str) -> bool:
    """Whether a number is of the unit of its column: 0.6 among per cents may be either, and is not."""
    if (
        np.isnan(item.value)
        or same_unit(item.unit) == same_unit(unit)
        or (item.value == 0.0 and not item.unit)
    ):
        return True
    return not item.unit and unit not in (PER_CENT, CLOCK)


def _are_few(n_strays: int, n_different: int, n_cells: int, n_numbers: int) -> bool:
    """Whether a column with so many cells that are no numbers is one of numbers all the same."""
    enough = n_numbers >= max(FEWEST_NUMBERS, 5 * n_different)
    return enough and n_strays <= max(1.0, STRAYS * n_cells)


def masked(values: pd.Series[Any], missing: Sequence[str]) -> pd.Series[Any]:
    """A column without the values that stand for a missing one.

    Examples
    --------
    >>> masked(pd.Series([1.0, -999.0]), ("-999",)).tolist()
    [1.0, nan]
    """
    if not missing:
        return values
    if pd.api.types.is_numeric_dtype(values.dtype):
        numbers = [item.value for mark in missing if (item := amount(mark)) is not None]
        wrong = values.isin([number for number in numbers if not np.isnan(number)])
    elif pd.api.types.is_datetime64_any_dtype(values.dtype):
        days = values.dt.tz_localize(None) if values.dt.tz is not None else values
        wrong = days.isin(dates(pd.Series(missing, dtype=object)).dropna())
    elif is_text(values) or isinstance(values.dtype, pd.CategoricalDtype):
        wrong = values.map(lambda value: str(value).strip() in missing, na_action="ignore").eq(True)
    else:
        return values
    return values.mask(wrong) if wrong.any() else values


SHORTEST_CODE = 3
"""Digits from which on a zero before them makes a code: 07 may be a month."""


def are_codes(texts: Iterable[str]) -> bool:
    """Whether texts are digits of one length of which some begin with a zero: numbers are not written so.

    Examples
    --------
    >>> are_codes(["01000", "75001"]), are_codes(["1000", "75001"]), are_codes(["01", "12"])
    (True, False, False)
    """
    length, zero = 0, False
    for text in map(str.strip, map(str, texts)):
        length = length or len(text)
        if text and not (len(text) == length >= SHORTEST_CODE and text.isascii() and text.isdecimal()):
            return False
        zero = zero or (text.startswith("0") and text.strip("0") != "")
    return zero


def is_text(values: pd.Series[Any]) -> bool:
    """Whether a column holds texts, or things of several kinds."""
    return values.dtype == object or isinstance(values.dtype, pd.StringDtype)
