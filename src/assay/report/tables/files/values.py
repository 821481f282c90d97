"""Texts that are numbers to a person: `$7,440`, `60%`, `1 234`, `(12)`, a stray "Total" among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.files.options import Reading
from assay.report.wording import listed, quoted, quoted_na

MISSING_MARKS = frozenset(
    {"?", "-", "--", "–", "—", ".", "..", "na", "n/a", "n.a.", "n.a", "nil", "none", "null", "nan"}
    | {"missing", "unknown", "not available", "<na>", "#n/a"}
)
"""Words that stand for a missing number in a column of numbers."""

CURRENCIES = (
    r"[A-Z]{0,3}\$|[€£¥₹₽₩₺₪₫₴₦฿¢]|zł|kr\.?|"
    r"(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|BRL|ZAR)"
)
DIGITS = {
    ".": r"(?:\d{1,3}(?:(?P<mark>[,\u00a0\u202f '’])\d{3})(?:(?P=mark)\d{3})*(?:\.\d+)?"
    r"|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)",
    ",": r"(?:\d{1,3}(?:(?P<mark>[.\u00a0\u202f '’])\d{3})(?:(?P=mark)\d{3})*(?:,\d+)?"
    r"|(?:\d+,?\d*|,\d+)(?:[eE][-+]?\d+)?)",
}
"""By the decimal mark: the digits of a number, whose thousands may be grouped."""

WRITTEN = {
    decimal: re.compile(
        rf"(?P<open>\()?\s*(?P<sign>[-+−])?\s*(?P<before>{CURRENCIES})?\s*(?P<inner>[-+−])?\s*"
        rf"(?P<digits>{digits})\s*(?P<after>{CURRENCIES}|%)?\s*(?P<close>\))?"
    )
    for decimal, digits in DIGITS.items()
}
SPECIAL = re.compile(r"[-+]?inf(inity)?|nan", re.IGNORECASE)

CODE = re.compile(r"(?=.*[^\W\d_])(?=.*\d)[\w./-]+")
"""Letters and digits together: where numbers stand beside such, they are codes too."""

GLANCE = 50
"""So many different texts tell whether a column may be numbers at all."""

STRAYS = 0.05
"""A column is one of numbers when at most this share of its cells is something else."""

FEWEST_NUMBERS = 10
"""As many different numbers, and cells, make a column one of numbers in spite of other cells."""

PER_CENT = "%"


class Amount(NamedTuple):
    """A text read as a number: its value, its currency or per cent sign, and how it was written."""

    value: float
    unit: str = ""
    grouped: bool = False
    bracketed: bool = False


class Numbers(NamedTuple):
    """A column of texts read as numbers, and what was decided on the way."""

    values: pd.Series[Any]
    marks: tuple[str, ...] = ()  # texts that stood for missing numbers
    grouped: bool = False
    bracketed: bool = False
    unit: str = ""
    strays: tuple[str, ...] = ()  # texts that are no numbers, the commonest first
    n_strays: int = 0


def amount(text: str, decimal: str = ".") -> Amount | None:
    """A number as people write it, NaN for a mark of a missing one, None for anything else.

    Examples
    --------
    >>> [amount(text).value for text in ("$7,440", "60%", "1 234.5", "(12)", "-€3", "?")]
    [7440.0, 60.0, 1234.5, -12.0, -3.0, nan]
    >>> amount("many") is None
    True
    """
    if not text or text.lower() in MISSING_MARKS:
        return Amount(np.nan)
    match = WRITTEN[decimal].fullmatch(text)
    if match is None:
        return Amount(float(text)) if SPECIAL.fullmatch(text) else None
    bracketed, twice = bool(match["open"]), bool(match["sign"]) and bool(match["inner"])
    if bracketed != bool(match["close"]) or twice or (match["before"] and match["after"]):
        return None
    digits = match["digits"]
    if match["mark"]:
        digits = digits.replace(match["mark"], "")
    value = float(digits.replace(",", ".") if decimal == "," else digits)
    signs = (match["sign"] or "") + (match["inner"] or "")
    if bracketed and signs:
        return None
    unit = match["before"] or match["after"] or ""
    negative = bracketed or signs in ("-", "−")
    return Amount(-value if negative else value, unit, bool(match["mark"]), bracketed)


def numbers_from_texts(
    texts: pd.Series[Any], decimal: str = ".", *, strict: bool = False, forced: bool = False
) -> Numbers | None:
    """Read a column of texts as numbers, or tell by None that it holds something else.

    A few cells that are no numbers (a "Total" below many numbers) become missing values, told by `strays`;
    none with `strict`, however many with `forced`.

    Examples
    --------
    >>> numbers_from_texts(pd.Series(["1,250", "?", "900"])).values.tolist()
    [1250.0, nan, 900.0]
    >>> numbers_from_texts(pd.Series(["1,250", "many"])) is None
    True
    >>> numbers_from_texts(pd.Series([*map(str, range(20)), "Total"])).strays
    ('Total',)
    """
    try:
        raw = texts.dropna().unique()
    except TypeError:  # lists and other things that cannot be compared
        return None
    glance = [amount(str(text).strip(), decimal) for text in raw[:GLANCE]]
    if not forced and sum(item is None for item in glance) > (0 if strict else len(glance) / 2):
        return None
    counts = texts.dropna().map({text: str(text).strip() for text in raw}).value_counts()
    distinct = [str(text) for text in counts.index]
    read = {text: amount(text, decimal) for text in distinct}
    units = Counter[str]()
    for text, item in read.items():
        if item is not None and not np.isnan(item.value):
            units[item.unit] += int(counts[text])
    unit = max((sign for sign in units if sign), key=lambda sign: units[sign], default="")
    for text, item in read.items():
        if item is not None and not _goes_with(item, unit):
            read[text] = None
    strays = [text for text, item in read.items() if item is None]
    n_cells, n_strays = int(counts.sum()), int(sum(counts[text] for text in strays))
    numbers = {text: item for text, item in read.items() if item is not None}
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
    )


def _value(item: Amount | None) -> float:
    return np.nan if item is None else item.value


def _goes_with(item: Amount, unit: str) -> bool:
    """Whether a number is of the unit of its column: 0.6 among per cents may be either, and is not."""
    if np.isnan(item.value) or item.unit == unit or item.value == 0.0:
        return True
    return not item.unit and unit != PER_CENT


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


def of_codes(name: str, values: pd.Series[Any]) -> str:
    """The sentence on a column of codes."""
    first = next(text for text in values.dropna() if str(text).strip().startswith("0"))
    way = f"--numeric {quoted(name)} takes them for numbers"
    return f"Column {name!r} holds digits that begin with zeros, such as {first}: taken for codes; {way}."


def is_text(values: pd.Series[Any]) -> bool:
    """Whether a column holds texts, or things of several kinds."""
    return values.dtype == object or isinstance(values.dtype, pd.StringDtype)


class Interpreted(NamedTuple):
    """A frame whose values are what they mean, what was decided, and by column what was read as missing."""

    frame: pd.DataFrame
    notes: tuple[str, ...]
    missing: dict[str, tuple[str, ...]]
    units: dict[str, str]


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
    missing, units = dict[str, tuple[str, ...]](), dict[str, str]()
    for name in names:
        asked, before = reading.missing_in(name, names), frame[name]
        values = masked(before, asked)
        missing |= {name: asked} if asked else {}
        n_masked += int(values.isna().sum() - before.isna().sum()) if asked else 0
        if name in reading.categorical:
            changed[name] = values if is_text(values) else _as_words(values)
            continue
        if (
            not typed
            and name not in reading.numeric
            and is_text(values)
            and are_codes(values.dropna().unique())
        ):
            notes.append(of_codes(name, values))
        elif is_text(values):
            numbers = numbers_from_texts(values, decimal, forced=name in reading.numeric)
            if numbers is not None and (name in reading.numeric or not typed or _is_written(numbers, values)):
                values = numbers.values
                notes += told(name, numbers)
                missing |= {name: (*asked, *numbers.strays)} if numbers.strays else {}
                units |= {name: numbers.unit} if numbers.unit else {}
            else:
                values, said = _without_none(values, name)
                notes += said
        if name in reading.numeric and not pd.api.types.is_numeric_dtype(values.dtype):
            first = next(iter(values.dropna()), "nothing")
            raise ReportError(
                f"Column {name!r} holds no numbers but {str(first)!r}; leave out --numeric {name}."
            )
        if values is not before:
            changed[name] = values
    if reading.na:
        cells = "1 cell was" if n_masked == 1 else f"{n_masked:,} cells were"
        notes.append(f"{cells} taken for missing by request ({', '.join(reading.na)}).")
    frame = frame.assign(**changed) if changed else frame
    return Interpreted(frame, tuple(notes), missing, units)


def _is_written(numbers: Numbers, values: pd.Series[Any]) -> bool:
    """Whether texts are amounts as people write them, or stand beside numbers; digits alone may be a code."""
    if numbers.unit or numbers.grouped or numbers.bracketed:
        return True
    return any(isinstance(value, (int, float)) for value in values.dropna().iloc[:1000])


def told(name: str, numbers: Numbers) -> list[str]:
    """Sentences on how the texts of a column were read as numbers."""
    notes, amounts = [], "amounts of money"
    if numbers.unit == PER_CENT:
        notes.append(f"Column {name!r} is in per cent: 60% is read as 60.")
    elif numbers.unit:
        notes.append(f"Column {name!r} holds {amounts} ({numbers.unit}): they were read as numbers.")
    if numbers.grouped:
        notes.append(f"Column {name!r} groups thousands: its texts were read as numbers.")
    if numbers.bracketed:
        notes.append(f"Column {name!r} has numbers in brackets: they were read as negative.")
    if numbers.marks:
        words = ", ".join(map(repr, numbers.marks))
        notes.append(f"Column {name!r} holds numbers and {words}, which was taken for a missing value.")
    if numbers.strays:
        cells = "1 cell" if numbers.n_strays == 1 else f"{numbers.n_strays:,} cells"
        notes.append(
            f"Column {name!r} holds numbers but for {cells} ({listed(numbers.strays, 3)}), taken for "
            f"missing; --categorical {quoted(name)} takes all of them for words."
        )
    return notes


TRUTH_WORDS = {"true", "false", "yes", "no", "t", "f"}


def _without_none(values: pd.Series[Any], name: str) -> tuple[pd.Series[Any], list[str]]:
    """A column of words in which "None" is a level, and said; beside truth values it is a missing one."""
    none = values.map(lambda value: str(value).strip() == "None", na_action="ignore").eq(True)
    if not none.any():
        return values, []
    others = {str(value).strip().lower() for value in values[~none].dropna().unique()}
    if not others or others <= TRUTH_WORDS:
        return values.mask(none), []
    rows = "1 row" if none.sum() == 1 else f"{int(none.sum()):,} rows"
    return values, [
        f"'None' is a level of {name!r} ({rows}); --na {quoted_na(name, 'None')} takes it for missing."
    ]


def _as_words(values: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers and the like as words: 3, not 3.0."""

    def word(value: Any) -> str:
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if whole else str(value)

    return values.astype(object).where(values.notna(), None).map(word, na_action="ignore").astype(object)
