"""Numbers as some files write them: with grouped thousands, with a mark where one is missing."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

MISSING_MARKS = frozenset(
    {"?", "-", "--", "–", "—", ".", "..", "na", "n.a.", "n.a", "nil", "missing", "unknown", "not available"}
)
"""Words that stand for a missing number in a column of numbers."""

PLAIN = {
    ".": re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?|nan", re.IGNORECASE),
    ",": re.compile(r"[-+]?(\d+,?\d*|,\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?|nan", re.IGNORECASE),
}
GROUPED = {
    ".": re.compile(r"[-+]?\d{1,3}([,\u00a0\u202f '’])\d{3}(\1\d{3})*(\.\d+)?"),
    ",": re.compile(r"[-+]?\d{1,3}([.\u00a0\u202f '’])\d{3}(\1\d{3})*(,\d+)?"),
}
"""By the decimal mark: numbers, and numbers whose thousands are grouped."""

GLANCE = 50


class Numbers(NamedTuple):
    """Texts read as numbers, the marks that stood for missing ones, and whether thousands were grouped."""

    values: pd.Series[Any]
    marks: tuple[str, ...]
    grouped: bool


def numbers_from_texts(texts: pd.Series[Any], decimal: str = ".") -> Numbers | None:
    """Read a column of texts as numbers, or tell by None that it holds something else.

    Parameters
    ----------
    texts : Series of str
    decimal : {".", ","}

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report.tables.number_texts import numbers_from_texts
    >>> numbers_from_texts(pd.Series(["1,250", "?", "900"])).values.tolist()
    [1250.0, nan, 900.0]
    >>> numbers_from_texts(pd.Series(["1,250", "many"])) is None
    True
    """
    distinct = texts.dropna().unique()
    for some in (distinct[:GLANCE], distinct):
        found = {text: _number(str(text).strip(), decimal) for text in some}
        if any(value is None for value in found.values()):
            return None
    marks = [text for text in found if str(text).strip().lower() in MISSING_MARKS]
    if len(marks) == len(found):
        return None
    grouped = any(GROUPED[decimal].fullmatch(str(text).strip()) for text in found)
    values = texts.map(found).astype(np.float64)
    return Numbers(values, tuple(sorted(map(str, marks))), grouped)


def tidy_numbers(frame: pd.DataFrame, decimal: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A frame whose columns of texts that are numbers hold numbers, and what was decided."""
    notes = []
    for name in frame.columns:
        if not is_text(frame[name]):
            continue
        found = numbers_from_texts(frame[name], decimal)
        if found is None:
            continue
        frame = frame.assign(**{name: found.values}) if isinstance(name, str) else frame
        if found.grouped:
            notes.append(f"Column {name!r} groups thousands: its texts were read as numbers.")
        if found.marks:
            words = ", ".join(map(repr, found.marks))
            notes.append(f"Column {name!r} holds numbers and {words}, which was taken for a missing value.")
    return frame, tuple(notes)


def is_text(values: pd.Series[Any]) -> bool:
    """Whether a column holds texts, or things of several kinds."""
    return values.dtype == object or isinstance(values.dtype, pd.StringDtype)


def _number(text: str, decimal: str) -> float | None:
    """A number, NaN for a mark of a missing one, None for anything else."""
    if text.lower() in MISSING_MARKS or not text:
        return np.nan
    if PLAIN[decimal].fullmatch(text):
        return float(text.replace(",", ".") if decimal == "," else text)
    grouped = GROUPED[decimal].fullmatch(text)
    if grouped is None:
        return None
    plain = text.replace(grouped[1], "")
    return float(plain.replace(",", ".") if decimal == "," else plain)
