"""Values that may not mean what they say: codes for missing numbers, mistyped digits, columns said twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.checks.relations import linear_relations, numbers_of
from assay.report.tables.encoding.cells import days_of, finite
from assay.report.tables.schema import Column
from assay.report.wording import listed, number, quoted, quoted_na, short

SENTINELS = frozenset(
    float(sign * value)
    for sign in (-1, 1)
    for digits in range(2, 7)
    for value in (10**digits - 1, 10**digits - 2, 8 * (10**digits - 1) // 9)
    if value >= 88
) | {
    *(-1.0, -9.0, -32768.0, 32767.0, 65535.0, -(2.0**31), 2.0**31 - 1, 1e20, -1e20, 1e30, -1e30),
    *(sign * value for sign in (-1.0, 1.0) for value in (99.9, 999.9, 9999.9, 99.99, 999.99)),
}
"""Numbers that stand where there is none: ±99, ±999, ±888, ±998, ±999.9 and so on, −1, −9, the ends of whole
numbers in computers."""

SENTINEL_DAYS = frozenset(
    float((np.datetime64(day) - np.datetime64("1970-01-01")).astype(int))
    for day in (
        *("0001-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1970-01-01"),
        *("2099-12-31", "2100-01-01", "2199-12-31", "2999-12-31", "9999-01-01", "9999-12-31"),
    )
)
"""Days that programs write where there is none, counted from 1970."""

FAR = 3.0
"""A code for a missing number is so many ranges of the other values away from them; −1 is below zero."""

FEWEST = 20
TAIL = 10
UNLIKELY = 1e-3
"""Share of the columns without a slip that are said to have one, at most."""

MOST_TOLD = 5
"""Sentences of one kind, at most."""


class Oddity(NamedTuple):
    """A value of a column that stands apart, and the rows that hold it."""

    value: float
    n_rows: int
    least: float  # of the other values
    greatest: float
    also: tuple[float, ...] = ()  # other codes beside it, which are not among the other values either


def doubts(
    frame: pd.DataFrame, columns: Sequence[Column], y: NDArray | None = None, target: str | None = None
) -> tuple[str, ...]:
    """Sentences on values and columns that a person would look at twice, each with the option that acts.

    Examples
    --------
    >>> from assay.report import describe_columns
    >>> frame = pd.DataFrame({"degrees": [*np.sqrt(np.arange(40.0)), -999.0, -999.0]})
    >>> print(*doubts(frame, describe_columns(frame)))
    'degrees' is −999 in 2 rows and 0 to 6.245 in the others: if that means missing, use --na degrees=-999.
    """
    values = {} if y is None or y.dtype.kind != "f" or target is None else {target: y}
    values |= {
        column.name: finite(frame[column.name])
        for column in columns
        if column.learnable and column.kind == "numeric"
    }
    codes, slips = list[str](), list[str]()
    for name, numbers in values.items():
        code = sentinel(numbers)
        if code is not None:
            codes.append(_of_code(name, code))
            continue
        slip = mistyped(numbers)
        if slip is not None:
            slips.append(_of_slip(name, slip))
    for column in columns:
        if column.learnable and column.kind == "date":
            codes += _of_days(column, frame[column.name])
    return (*_cut(codes), *_cut(slips), *_of_sums(frame, columns))


def sentinel(values: NDArray, codes: frozenset[float] = SENTINELS) -> Oddity | None:
    """A number that stands for a missing one: it repeats, is one of the usual `codes`, and is far off.

    Examples
    --------
    >>> sentinel(np.array([*np.linspace(0.0, 40.0, 50), -999.0, -999.0])).value
    -999.0
    >>> sentinel(np.linspace(0.0, 2000.0, 2001)) is None
    True
    """
    known = values[~np.isnan(values)]
    if len(known) < FEWEST:
        return None
    different = np.unique(known)
    for outward in (different, different[::-1]):
        n_codes = next((place for place, value in enumerate(outward) if value not in codes), 0)
        if not n_codes:
            continue
        inner = outward[n_codes:]
        reach = FAR * max(float(np.ptp(inner)), 1e-12 * abs(float(outward[0])))
        far = [float(value) for value in outward[:n_codes] if abs(value - inner[0]) > reach]
        found = [value for value in far if value not in (-1.0, -9.0)]
        # −1 and −9 among numbers that are never negative, and not merely the next whole number below.
        below = outward[0] in (-1.0, -9.0) and inner.min() >= 0 and inner.max() >= 20
        if below and len(inner) >= FEWEST / 2:
            found = [float(outward[0])]
        others = known[~np.isin(known, found)]
        n_rows = len(known) - len(others)
        if n_rows > 1 and len(others) >= FEWEST / 2:
            return Oddity(found[0], n_rows, float(others.min()), float(others.max()), tuple(found[1:]))
    return None


def mistyped(values: NDArray) -> Oddity | None:
    """A value whose distance from the middle is out of all proportion to the next ones, as by a slip.

    In the tail of a law of powers the j-th gap between the logarithms of the greatest distances, times j, is
    exponential with one mean for all (Rényi), and in lighter tails the first is smaller still. The mean of
    k gaps below the first one (Hill) is exceeded r-fold by the first with probability (1 + r/k)⁻ᵏ.

    Examples
    --------
    >>> prices = np.random.default_rng(0).lognormal(5.0, 0.5, 200)
    >>> mistyped(prices) is None
    True
    >>> prices[7] *= 1000
    >>> bool(mistyped(prices).value == prices[7])
    True
    """
    known = values[~np.isnan(values)]
    if len(known) < 2 * FEWEST:
        return None
    # Rounded numbers tie: they are spread over the last digit, always alike.
    different = np.unique(known)
    step = float(np.diff(different).min()) if 1 < len(different) < len(known) else 0.0
    spread = step * (np.random.default_rng(0).permutation(len(known)) / len(known) - 0.5)
    middle = np.median(known)
    away = np.where(known == middle, 0.0, np.abs(known + spread - middle))
    order = np.argsort(-away, kind="stable")
    n_tail = min(max(TAIL, len(known) // 20), 200)
    tail = away[order[: n_tail + 2]]
    if not tail[-1] > 0 or len(np.unique(tail[1:])) < TAIL / 2:
        return None
    gaps = np.arange(1, len(tail)) * np.log(tail[:-1] / tail[1:])
    gap, usual, n_gaps = float(gaps[0]), float(gaps[1:].mean()), len(gaps) - 1
    unusual = n_gaps * (UNLIKELY ** (-1 / n_gaps) - 1)
    if gap <= max(unusual * usual, np.log(3.0)):
        return None
    value = float(known[order[0]])
    others = known[known != value]
    return Oddity(value, len(known) - len(others), float(others.min()), float(others.max()))


def _of_code(name: str, odd: Oddity) -> str:
    codes = (odd.value, *odd.also)
    said = " or ".join(map(number, codes))
    ways = " ".join(f"--na {quoted_na(name, _typed(code))}" for code in codes)
    return (
        f"{short(name)!r} is {said} in {odd.n_rows:,} rows and {number(odd.least)} to "
        f"{number(odd.greatest)} in the others: if that means missing, use {ways}."
    )


def _of_days(column: Column, values: pd.Series[Any]) -> list[str]:
    """A sentence on a day that stands for none in a column of dates."""
    days = days_of(values, day_first=column.day_first)
    odd = sentinel(np.floor(days), SENTINEL_DAYS)
    if odd is None:
        return []
    said, least, greatest = (
        str(np.datetime64(int(day), "D")) for day in (odd.value, odd.least, odd.greatest)
    )
    what = f"{short(column.name)!r} is {said} in {odd.n_rows:,} rows and {least} to {greatest} in the others"
    written = values[np.floor(days) == odd.value].astype(str).str.strip().unique()
    if column.day_first or len(written) > 1:
        return [f"{what}: if that means missing, leave these cells empty."]
    return [f"{what}: if that means missing, use --na {quoted_na(column.name, written[0])}."]


def _of_slip(name: str, odd: Oddity) -> str:
    return (
        f"{short(name)!r} is {number(odd.value)} in one row and {number(odd.least)} to "
        f"{number(odd.greatest)} in the others: a mistyped digit? Correct it, or use --na "
        f"{quoted_na(name, _typed(odd.value))}."
    )


def _typed(value: float) -> str:
    """A number as one types it."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _of_sums(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[str, ...]:
    """Columns that others give exactly."""
    names, table, _ = numbers_of(frame, columns)
    told = []
    for relation in linear_relations(names, table):
        name, others = short(relation.name), [short(other) for other, _ in relation.terms]
        what = f"{name!r} is linear in {listed(others, 4)}"
        if relation.formula:
            same = len(others) == 1 and not relation.shifted
            what = f"{name!r} {'equals' if same else 'is'} {relation.formula}"
        told.append(f"{what}: it adds nothing to them; --drop {quoted(relation.name)} leaves it out.")
    return _cut(told)


def _cut(sentences: list[str]) -> tuple[str, ...]:
    more = len(sentences) - MOST_TOLD
    rest = (f"{more} more columns are like that.",) if more > 0 else ()
    return (*sentences[:MOST_TOLD], *rest)
