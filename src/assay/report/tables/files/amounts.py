"""One text as the number it is to a person: `$7,440`, `60 %`, `1 234`, `(12)`, `12 kg`, `€1.2M`, `12:30`."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

MISSING_MARKS = frozenset(
    {"?", "-", "--", "–", "—", ".", "..", "na", "n/a", "n.a.", "n.a", "nil", "none", "null", "nan"}
    | {"missing", "unknown", "not available", "<na>", "#n/a"}
    | {"#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"}
)
"""Words that stand for a missing number in a column of numbers; the last ones are those of spreadsheets."""

PER_CENT, CLOCK = "%", ":"
"""Units of numbers beside which one without any may mean something else."""

CURRENCIES = (
    r"[A-Z]{0,3}\$|[\u20a0-\u20c0£¥¢฿৳﷼]|zł|kr\.?|Rs\.?|Rp\.?|Fr\.|Kč|S/|"
    r"(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|RUB|UAH|TRY|ILS|AED|SAR"
    r"|BRL|MXN|ARS|CLP|COP|PEN|ZAR|EGP|NGN|KES|SGD|HKD|TWD|KRW|THB|IDR|MYR|PHP|VND|PKR)"
)
MONEY = re.compile(CURRENCIES)
MARKS = r"\u00a0\u2007\u2009\u202f '’"
"""What parts thousands besides a comma or a point."""

DIGITS = {
    ".": rf"(?:\d{{1,3}}(?:(?P<mark>[,{MARKS}])\d{{3}})(?:(?P=mark)\d{{3}})*(?:\.\d+)?"
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?"  # lakhs: 1,23,456
    r"|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)",
    ",": rf"(?:\d{{1,3}}(?:(?P<mark>[.{MARKS}])\d{{3}})(?:(?P=mark)\d{{3}})*(?:,\d+)?"
    r"|(?:\d+,?\d*|,\d+)(?:[eE][-+]?\d+)?)",
}
"""By the decimal mark: the digits of a number, whose thousands may be grouped."""

UNIT = r"(?![eE][-+]?\d)(?:[^\W\d_]|[°‰″′µ])(?:[^\W\d_]|[°‰″′µ²³/·^.])*(?: (?:[^\W\d_]|[²³])+)?"
NO_UNIT = re.compile(r"[ap]\.?m\.?|st|nd|rd|th", re.IGNORECASE)
"""What follows a number and is none: before and after noon, places in an order."""

SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9}
"""Letters after an amount of money that multiply it."""

WRITTEN = {
    decimal: re.compile(
        rf"(?P<open>\()?\s*+(?P<sign>[-+−–])?\s*+(?P<before>{CURRENCIES}|%)?\s*+(?P<inner>[-+−–])?\s*+"
        rf"(?P<digits>{digits})\s*+(?P<scale>(?:[kKmMbB]|bn|mn|[mM]io)\b\.?\s*+)?"
        rf"(?P<after>{CURRENCIES}|%|{UNIT})?\s*+(?P<close>\))?"
    )
    for decimal, digits in DIGITS.items()
}
LONGEST = 100
"""Characters of a number at most: to look for one in a text of thousands of blanks would take hours."""

SPECIAL = re.compile(r"[-+]?inf(inity)?|nan", re.IGNORECASE)
TIME = re.compile(
    r"(?P<hours>\d{1,3}):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d(?:\.\d+)?))?\s*(?:(?P<half>[ap])\.?m\.?)?",
    re.IGNORECASE,
)
BRACKET_AFTER_SIGN = re.compile(rf"({CURRENCIES})\s*\(\s*([^()]*)\)")
NOTHING_OF_MONEY = re.compile(rf"({CURRENCIES})\s*[-–—]+")
"""A sum of zero, as spreadsheets write it where accounts are kept."""


class Amount(NamedTuple):
    """A text read as a number: its value, its currency, per cent sign or unit, and how it was written."""

    value: float
    unit: str = ""
    grouped: bool = False
    bracketed: bool = False


def amount(text: str, decimal: str = ".") -> Amount | None:
    """A number as people write it, NaN for a mark of a missing one, None for anything else.

    Examples
    --------
    >>> [amount(text).value for text in ("$7,440", "60%", "1 234.5", "(12)", "-€3", "$1.2M", "12:30", "?")]
    [7440.0, 60.0, 1234.5, -12.0, -3.0, 1200000.0, 12.5, nan]
    >>> amount("12 kg"), amount("many") is None
    (Amount(value=12.0, unit='kg', grouped=False, bracketed=False), True)
    """
    if not text or text.lower() in MISSING_MARKS or not text.strip("#"):
        return Amount(np.nan)
    if len(text) > LONGEST:
        return None
    text = _as_usual(text)
    match = WRITTEN[decimal].fullmatch(text)
    if match is None:
        return _otherwise(text)
    bracketed, twice = bool(match["open"]), bool(match["sign"]) and bool(match["inner"])
    if bracketed != bool(match["close"]) or twice or (match["before"] and match["after"]):
        return None
    digits, unit = match["digits"], match["before"] or match["after"] or ""
    scale = (match["scale"] or "").strip(" .")
    if scale and not MONEY.fullmatch(unit):  # 5 m are metres
        if unit:
            return None
        unit, scale = scale, ""
    if unit and not _may_be_unit(unit, digits):
        return None
    value = float(_plain(digits, decimal, match["mark"])) * SCALES.get(scale.lower(), 1.0)
    signs = (match["sign"] or "") + (match["inner"] or "")
    if bracketed and signs:
        return None
    negative = bracketed or signs in ("-", "−", "–")
    grouped = bool(match["mark"]) or (decimal == "." and "," in digits)
    return Amount(-value if negative else value, unit, grouped, bracketed)


def _as_usual(text: str) -> str:
    """A text with the sign in front: `$ (12)`, `12-` and the price `12.-` are written otherwise."""
    if (match := BRACKET_AFTER_SIGN.fullmatch(text)) is not None:
        return f"({match[1]}{match[2]})"
    if text[0].isdecimal() or MONEY.match(text):
        price = re.sub(r"(?<=\d)[.,][-–—]+$", "", text)
        if price == text and text.endswith("-") and text[-2:-1].isdecimal():
            return "-" + text[:-1]
        return price
    return text


def _otherwise(text: str) -> Amount | None:
    """What is a number, though not written with digits alone."""
    if (match := TIME.fullmatch(text)) is not None:
        hours = float(match["hours"])
        if match["half"] is not None:
            hours = hours % 12 + (12 if match["half"].lower() == "p" else 0)
        return Amount(hours + float(match["minutes"]) / 60 + float(match["seconds"] or 0) / 3600, CLOCK)
    if (match := NOTHING_OF_MONEY.fullmatch(text)) is not None:
        return Amount(0.0, match[1])
    return Amount(float(text)) if SPECIAL.fullmatch(text) else None


def _may_be_unit(unit: str, digits: str) -> bool:
    """Whether what stands beside digits makes no code of them: 007A is one, and so is the 4th."""
    known = unit == PER_CENT or MONEY.fullmatch(unit) is not None
    return known or not (NO_UNIT.fullmatch(unit) or (digits[0] == "0" and digits[1:2].isdecimal()))


def _plain(digits: str, decimal: str, mark: str | None) -> str:
    if mark:
        digits = digits.replace(mark, "")
    return digits.replace(",", "." if decimal == "," else "")


def same_unit(unit: str) -> str:
    """A unit without what people write in different ways: case, and the s of several.

    Examples
    --------
    >>> same_unit("Years") == same_unit("year"), same_unit("ms") == same_unit("m")
    (True, False)
    """
    if len(unit) < 3 or MONEY.fullmatch(unit):
        return unit
    return unit.casefold().removesuffix("s")
