"""The texts of a table as a person means them: numbers, dates, what stands for nothing; and what is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.dates import as_texts, dates, not_dates
from assay.report.tables.files.amounts import CLOCK, MISSING_MARKS, MONEY, PER_CENT
from assay.report.tables.files.options import Reading
from assay.report.tables.files.values import (
    CODE,
    FEWEST_NUMBERS,
    Numbers,
    any_number,
    are_codes,
    is_text,
    masked,
    numbers_from_texts,
)
from assay.report.tables.texts import different
from assay.report.wording import listed, quoted, quoted_na

DAYS, FEWEST_DAYS = (19_000_101, 21_001_231), 3
"""Between these, whole numbers may be days of the calendar; so many different ones, all of them days, are."""

ZERO_DAY = "0000-00-00"
"""The day that databases write where there is none."""


def of_codes(name: str, values: pd.Series[Any]) -> str:
    """The sentence on a column of codes."""
    first = next(text for text in values.dropna() if str(text).strip().startswith("0"))
    way = f"--numeric {quoted(name)} takes them for numbers"
    return f"Column {name!r} holds digits that begin with zeros, such as {first}: taken for codes; {way}."


class Meaning(NamedTuple):
    """A column whose values are what they mean, and what was decided on the way."""

    values: pd.Series[Any]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # texts that stood for a missing value
    unit: str = ""
    decimal: str = ""  # the mark of its decimals, where it is not that of the file


class Interpreted(NamedTuple):
    """A frame whose values are what they mean, what was decided, and by column what was read as missing."""

    frame: pd.DataFrame
    notes: tuple[str, ...]
    missing: dict[str, tuple[str, ...]]
    units: dict[str, str]
    decimals: dict[str, str]


def interpret(
    frame: pd.DataFrame, decimal: str = ".", reading: Reading | None = None, *, typed: bool = False
) -> Interpreted:
    """Read the texts of a frame that are numbers, and what stands for nothing, as a person means them.

    In a `typed` source (Parquet, say), texts of mere digits are texts on purpose.
    """
    reading = reading or Reading()
    names = [str(name) for name in frame.columns]
    changed: dict[str, Any] = {}
    notes, n_masked = list[str](), 0
    missing, units, decimals = dict[str, tuple[str, ...]](), dict[str, str](), dict[str, str]()
    for name in names:
        asked, before = reading.missing_in(name, names), frame[name]
        values = masked(before, asked)
        n_masked += int(values.isna().sum() - before.isna().sum()) if asked else 0
        if name in reading.categorical:
            meant = Meaning(values if is_text(values) else _as_words(values))
        else:
            meant = _meaning(name, values, decimal, typed=typed, numeric=name in reading.numeric)
        notes += meant.notes
        missing |= {name: (*asked, *meant.missing)} if asked or meant.missing else {}
        units |= {name: meant.unit} if meant.unit else {}
        decimals |= {name: meant.decimal} if meant.decimal else {}
        if meant.values is not before:
            changed[name] = meant.values
    if reading.na:
        cells = "1 cell was" if n_masked == 1 else f"{n_masked:,} cells were"
        notes.append(f"{cells} taken for missing by request ({', '.join(reading.na)}).")
    frame = frame.assign(**changed) if changed else frame
    return Interpreted(frame, tuple(notes), missing, units, decimals)


def _meaning(name: str, values: pd.Series[Any], decimal: str, *, typed: bool, numeric: bool) -> Meaning:
    """One column as a person means it; `numeric` where the user says that it holds numbers."""
    if not is_text(values):
        if pd.api.types.is_numeric_dtype(values.dtype):
            return Meaning(values) if numeric else _of_days(name, values)
        if numeric:
            raise _no_numbers(name, values)
        return Meaning(values)
    if not (typed or numeric) and are_codes(different(values)):
        return Meaning(values, (of_codes(name, values),))
    numbers = numbers_from_texts(values, decimal, forced=numeric)
    if numbers is not None and (numeric or not typed or _is_written(numbers, values)):
        other = "" if numbers.decimal == decimal else numbers.decimal
        meant = Meaning(
            numbers.values, tuple(told(name, numbers, other)), numbers.strays, numbers.unit, other
        )
        return meant if numeric else _of_days(name, values, meant)
    if numeric:
        raise _no_numbers(name, values)
    return _of_dates(name, values) or _of_words(name, values, decimal)


def _no_numbers(name: str, values: pd.Series[Any]) -> ReportError:
    first = next(iter(values.dropna()), "nothing")
    return ReportError(f"Column {name!r} holds no numbers but {str(first)!r}; leave out --numeric {name}.")


def _of_days(name: str, values: pd.Series[Any], meant: Meaning | None = None) -> Meaning:
    """Whole numbers such as 20240206 as dates, where all of them are days of the calendar."""
    meant = meant or Meaning(values)
    numbers = meant.values
    known = numbers[numbers.notna()]
    if (
        pd.api.types.is_bool_dtype(known.dtype)
        or not known.between(*DAYS).all()
        or known.nunique() < FEWEST_DAYS
    ):
        return meant
    if (known % 1 != 0).any() or dates(known).isna().any():
        return meant
    way = f"--numeric {quoted(name)} takes them for numbers"
    told = f"Column {name!r} holds dates such as {int(known.iloc[0])}; {way}."
    return Meaning(as_texts(numbers), (told,), meant.missing)


def _of_dates(name: str, values: pd.Series[Any]) -> Meaning | None:
    """A column of dates without what is none; None for a column of something else."""
    odd = not_dates(values, (*MISSING_MARKS, ZERO_DAY))
    if odd is None:
        return None
    marks = [text for text in odd if text == ZERO_DAY or text.lower() in MISSING_MARKS]
    strays = [text for text in odd if text not in marks]
    notes = []
    if marks:
        notes.append(_of_marks(name, "dates", marks))
    if strays:
        n_strays = int(values.astype(str).str.strip().isin(strays).sum())
        notes.append(_of_strays(name, "dates", strays, n_strays))
    return Meaning(masked(values, odd), tuple(notes), odd)


def _of_words(name: str, values: pd.Series[Any], decimal: str) -> Meaning:
    """A column of words; it is told where most of them are numbers to a person."""
    kept, missing, notes = _without_marks(values, name)
    if not any_number(values):  # most columns of words: to read all of one takes as long as all the rest
        return Meaning(kept, tuple(notes), missing)
    numbers = numbers_from_texts(values, decimal, forced=True)
    n_cells = int(values.notna().sum())
    if (
        numbers is not None
        and 2 * numbers.n_strays < n_cells
        and numbers.values.nunique() >= FEWEST_NUMBERS
        and not any(CODE.fullmatch(text) for text in numbers.strays)
    ):
        cells = "1 other cell" if numbers.n_strays == 1 else f"{numbers.n_strays:,} other cells"
        notes.append(
            f"Column {name!r} holds numbers and {cells} ({listed(numbers.strays, 3)}): taken for words; "
            f"--numeric {quoted(name)} takes these cells for missing."
        )
    return Meaning(kept, tuple(notes), missing)


def _is_written(numbers: Numbers, values: pd.Series[Any]) -> bool:
    """Whether texts are amounts as people write them, or stand beside numbers; digits alone may be a code."""
    if numbers.unit or numbers.grouped or numbers.bracketed:
        return True
    return any(isinstance(value, (int, float)) for value in values.dropna().iloc[:1000])


def told(name: str, numbers: Numbers, decimal: str = "") -> list[str]:
    """Sentences on how the texts of a column were read as numbers, with a decimal mark of their own."""
    notes, unit = [], numbers.unit
    if unit == PER_CENT:
        notes.append(f"Column {name!r} is in per cent: 60% is read as 60.")
    elif unit == CLOCK:
        notes.append(f"Column {name!r} holds times such as 12:30: they were read as hours.")
    elif MONEY.fullmatch(unit):
        notes.append(f"Column {name!r} holds amounts of money ({unit}): they were read as numbers.")
    elif unit:
        way = f"--categorical {quoted(name)} takes them for words"
        notes.append(f"Column {name!r} is in {unit}: 12 {unit} is read as 12; {way}.")
    if decimal:
        mark = "comma" if decimal == "," else "point"
        notes.append(f"Column {name!r} writes decimals with a {mark}: they were read so.")
    if numbers.grouped:
        notes.append(f"Column {name!r} groups thousands: its texts were read as numbers.")
    if numbers.bracketed:
        notes.append(f"Column {name!r} has numbers in brackets: they were read as negative.")
    if numbers.marks:
        notes.append(_of_marks(name, "numbers", numbers.marks))
    if numbers.strays:
        notes.append(_of_strays(name, "numbers", numbers.strays, numbers.n_strays))
    return notes


def _of_marks(name: str, what: str, marks: Sequence[str]) -> str:
    words = ", ".join(map(repr, marks))
    return f"Column {name!r} holds {what} and {words}, which was taken for a missing value."


def _of_strays(name: str, what: str, strays: Sequence[str], n_strays: int) -> str:
    cells = "1 cell" if n_strays == 1 else f"{n_strays:,} cells"
    return (
        f"Column {name!r} holds {what} but for {cells} ({listed(strays, 3)}), taken for missing; "
        f"--categorical {quoted(name)} takes all of them for words."
    )


TRUTH_WORDS = {"true", "false", "yes", "no", "t", "f"}


def _without_marks(values: pd.Series[Any], name: str) -> tuple[pd.Series[Any], tuple[str, ...], list[str]]:
    """Words whose None, ? or the like is a level, and said; beside truth values they are missing ones."""
    texts = dict.fromkeys(str(value).strip() for value in different(values))
    marks = [text for text in texts if text and text.lower() in MISSING_MARKS]
    if not marks:
        return values, (), []
    words = values.map(lambda value: str(value).strip(), na_action="ignore")
    others = {text.lower() for text in texts} - {mark.lower() for mark in marks}
    if not others or others <= TRUTH_WORDS:
        return values.mask(words.isin(marks)), tuple(marks), []
    notes = []
    for mark in marks:
        count = int((words == mark).sum())
        rows = "1 row" if count == 1 else f"{count:,} rows"
        way = f"--na {quoted_na(name, mark)} takes it for missing"
        notes.append(f"{mark!r} is a level of {name!r} ({rows}); {way}.")
    return values, (), notes


def _as_words(values: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers and the like as words: 3, not 3.0."""

    def word(value: Any) -> str:
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if whole else str(value)

    return values.astype(object).where(values.notna(), None).map(word, na_action="ignore").astype(object)
