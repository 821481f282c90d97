"""Dates as people write them: 2024-02-06, 6.2.24, 2/6/2024 3:51 PM, 6 Feb 2024, 2024-02, 2024Q1, 20240206."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from assay.report.tables.texts import different

MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<seconds>\d{2}(?:[.,]\d+)?))?\s*(?:(?P<half>[ap])\.?m\.?)?"
)
ZONE = r"\s*(?:z|[a-z]{3,4}|(?:utc|gmt)?[-+]\d{2}:?\d{2})?"
REST = rf"(?:(?:\s*[t:,]\s*|\s+){CLOCK}{ZONE})?"
"""A time of day after a date; the zone is passed over: the hour is the one on the clock there."""

FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark){DAY}{REST}",
        rf"(?P<first>\d{{1,2}})(?P<mark>[-/.])(?P<second>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d{{2}}){REST}",
        rf"(?P<year>(?:19|20)\d{{2}})(?P<month>\d{{2}}){DAY}",
        rf"{WEEKDAY}{DAY}[-\s./]*{MONTH}[-\s.,/]*(?P<year>\d{{4}}|\d{{2}}){REST}",
        rf"{WEEKDAY}{MONTH}\s*{DAY},?\s+(?P<year>\d{{4}}){REST}",
        rf"{WEEKDAY}{MONTH}\s*{DAY},?\s+{CLOCK}{ZONE}\s+(?P<year>\d{{4}})",
        rf"(?P<year>\d{{4}})[-\s./]{MONTH}[-\s./]{DAY}{REST}",
        r"(?P<year>(?:19|20)\d{2})[-/](?P<month>\d{1,2})",
        r"(?P<month>\d{1,2})[-/](?P<year>(?:19|20)\d{2})",
        rf"{MONTH}[-\s,/]*(?P<year>\d{{4}})",
        r"(?P<year>\d{4})[-\s]?q(?P<quarter>[1-4])",
        r"q(?P<quarter>[1-4])[-\s/]?(?P<year>\d{4})",
    )
)
CENTURY = 69
"""A year of two digits from here on is of the last century, as in POSIX."""

LONGEST = 100
"""Characters of a date at most."""

GLANCE = 200
"""So many different texts tell whether a column may be dates at all."""

STRAYS = 0.05
"""A column is one of dates when at most this share of its cells is something else."""

SEASON = re.compile(r"(\d{4})[-/](\d{2})")


class DayOrder(NamedTuple):
    """Whether dates such as 03/04/2025 name the day first, and examples where they do not tell."""

    day_first: bool
    either: str = ""  # a date that may be read both ways, where none can be read one way only
    both: tuple[str, str] | None = None  # one that names the day first and one that names the month first


def dates(words: pd.Series[Any], *, day_first: bool = False) -> pd.Series[Any]:
    """Texts, or numbers such as 20240206, read as dates; NaT where they are none.

    With `day_first`, 03/04/2025 is in April; dates that can be read in one way only are read so.

    Examples
    --------
    >>> dates(pd.Series(["3.4.25", "6 Feb 2024 3:51 PM", "2024Q2", "soon"]), day_first=True).tolist()[:2]
    [Timestamp('2025-04-03 00:00:00'), Timestamp('2024-02-06 15:51:00')]
    """
    if pd.api.types.is_datetime64_any_dtype(words.dtype):
        times = words
    else:
        places, different = pd.factorize(as_texts(words))
        read = _read(pd.Series([*different, None], dtype=object), day_first)
        times = pd.Series(read.to_numpy()[places], index=words.index, name=words.name)
    return times.dt.tz_localize(None) if times.dt.tz is not None else times


def _read(texts: pd.Series[Any], day_first: bool) -> pd.Series[Any]:
    """The moments of texts: those of ISO 8601 all at once, any other by its form."""
    try:
        read = _to_moments(texts)
    except ValueError:  # of several zones
        read = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us]")
    left = read.isna() & texts.notna()
    if left.any():
        read[left] = _to_moments(pd.Series(_written(texts[left], day_first), read.index[left], dtype=object))
    return read


def _to_moments(texts: pd.Series[Any]) -> pd.Series[Any]:
    read = pd.to_datetime(texts, errors="coerce", format="ISO8601")
    return read.dt.tz_localize(None).dt.as_unit("us")


def as_texts(words: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers as texts of their digits, anything else without blanks at the ends."""
    if pd.api.types.is_numeric_dtype(words.dtype):
        whole = words.where(words.isna() | ((words % 1 == 0) & (words.abs() < 1e15)))
        words = whole.astype("Int64").astype(object)
    pairs = zip(words.tolist(), words.isna(), strict=True)
    texts = [None if missing else str(word).strip() for word, missing in pairs]
    return pd.Series(texts, index=words.index, name=words.name, dtype=object)


def _written(texts: Iterable[Any], day_first: bool) -> list[str | None]:
    """Dates as ISO 8601 writes them, None for what is no date."""
    written, forms = list[str | None](), list(FORMS)
    for text in texts:
        # The form of the text before is tried first: a column mostly has one.
        tried = forms if len(text) <= LONGEST else ()
        found = next(((form, match) for form in tried if (match := form.fullmatch(text))), None)
        if found is None:
            written.append(None)
            continue
        if found[0] is not forms[0]:
            forms.remove(found[0])
            forms.insert(0, found[0])
        written.append(_iso(found[1].groupdict(), day_first))
    return written


def _iso(parts: dict[str, str | None], day_first: bool) -> str:
    """The parts of a date put together; what is no day of the calendar nobody will read."""
    year = int(parts["year"] or 0)
    if len(parts["year"] or "") == 2:
        year += 1900 if year >= CENTURY else 2000
    month, day = int(parts.get("month") or 1), int(parts.get("day") or 1)
    if (name := parts.get("name")) is not None:
        month = MONTHS.index(name[:3].lower()) + 1
    if (quarter := parts.get("quarter")) is not None:
        month = 3 * int(quarter) - 2
    if parts.get("first") is not None:
        first, second = int(parts["first"] or 0), int(parts["second"] or 0)
        turned = first > 12 if max(first, second) > 12 else day_first
        day, month = (first, second) if turned else (second, first)
    date = f"{year:04d}-{month:02d}-{day:02d}"
    if parts.get("hour") is None:
        return date
    hour, half = int(parts["hour"] or 0), parts["half"]
    if half is not None:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return f"{date}T{hour:02d}:{parts['minute']}:{(parts['seconds'] or '00').replace(',', '.')}"


def not_dates(words: pd.Series[Any], marks: Iterable[str] = ()) -> tuple[str, ...] | None:
    """What is no date in a column of dates, the `marks` of missing ones among it; None for other columns.

    Examples
    --------
    >>> not_dates(pd.Series(["1.2.2024", "15.2.2024", "-"] * 9), {"-"}), not_dates(pd.Series(["1.2", "x"]))
    (('-',), None)
    """
    try:
        texts = list(dict.fromkeys(text for value in different(words) if (text := str(value).strip())))
    except TypeError:  # lists and other things that cannot be compared
        return None
    known = set(marks)
    dated = [text for text in texts if text.lower() not in known]
    if not dated or 2 * sum(text is not None for text in _written(dated[:GLANCE], False)) < len(
        dated[:GLANCE]
    ):
        return None
    cells, is_date = as_texts(words).dropna(), dates(pd.Series(dated, dtype=object)).notna()
    strays = [text for text, there in zip(dated, is_date, strict=True) if not there]
    n_strays, n_marks = int(cells.isin(strays).sum()), int(cells.isin({*texts} - {*dated}).sum())
    if len(strays) == len(dated) or n_strays > STRAYS * (len(cells) - n_marks) or _are_seasons(dated):
        return None
    return (*(text for text in texts if text.lower() in known), *strays)


def _are_seasons(texts: Iterable[str]) -> bool:
    """Whether all are a year and the next: 2009-10 is a school year, not a month."""
    parts = [SEASON.fullmatch(text) for text in texts]
    return all(part is not None and (int(part[1]) + 1) % 100 == int(part[2]) for part in parts)


def day_order(words: pd.Series[Any]) -> DayOrder:
    """Whether the day comes before the month, from the dates that make sense in one way only.

    Where none tells, points are written where the day comes first, and so is the first of each month.

    Examples
    --------
    >>> day_order(pd.Series(["03/04/2025", "13/04/2025"])).day_first
    True
    >>> day_order(pd.Series(["03/04/2025", "05/04/2025"]))
    DayOrder(day_first=False, either='03/04/2025', both=None)
    """
    if pd.api.types.is_datetime64_any_dtype(words.dtype):
        return DayOrder(False)
    form = FORMS[1]
    parts = [match for text in pd.unique(as_texts(words).dropna()) if (match := form.fullmatch(text))]
    if not parts:
        return DayOrder(False)
    first = np.array([int(match["first"]) for match in parts])
    second = np.array([int(match["second"]) for match in parts])
    if ((first > 12) & (second <= 12)).any() and (second > 12).any():
        by_day, by_month = (parts[int(np.argmax(place > 12))][0] for place in (first, second))
        return DayOrder(False, both=(by_day, by_month))
    if (second > 12).any():
        return DayOrder(False)
    is_first_of_month = bool((first == 1).all()) and len(np.unique(second)) > 2
    if (first > 12).any() or parts[0]["mark"] == "." or is_first_of_month:
        return DayOrder(True)
    unequal = np.flatnonzero(first != second)
    return DayOrder(False, either=parts[unequal[0]][0] if unequal.size else "")
