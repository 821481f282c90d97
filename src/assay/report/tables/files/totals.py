"""Rows that are no rows: totals, subtotals and averages of those above, and notes below a table."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.files.layout import filled
from assay.report.tables.files.values import is_text, numbers_from_texts

TOTAL = re.compile(
    r"(grand|over\s?all|sub)?[\s-]*(total|totals|sum|summe|gesamt|insgesamt|somme|ensemble|suma|totale|totaal)"
    r"(\s+(general|général|generale))?\s*:?",
    re.IGNORECASE,
)
OF_GROUP = re.compile(r"\S.*\s(sub-?)?totals?|(sub-?)?totals?\s.*\S", re.IGNORECASE)
"""The total of a group, such as "Lyon Total": spreadsheets write it below the rows of each."""

AVERAGE = re.compile(
    r"(average|avg\.?|mean|moyenne|mittelwert|durchschnitt|media|promedio|gemiddelde)\s*:?", re.IGNORECASE
)
NOTE = re.compile(
    r"[*†]|\W*(source|sources|notes?|quelle|fuente|fonte|remark|updated|https?)\b", re.IGNORECASE
)
WORDS_OF_NOTE = 6
LONGEST = 60
"""No row calls itself a total in a longer text."""

LAST = 5
"""Totals and notes are looked for in so many last rows."""


def without_totals(
    frame: pd.DataFrame, row_names: tuple[str, ...] | None, decimal: str = "."
) -> tuple[pd.DataFrame, tuple[str, ...] | None, tuple[str, ...]]:
    """A frame without rows that sum those above them, or notes below the table, and what was decided.

    A row is a total when a cell of it says so and a column of numbers proves it: that of all rows above, or
    of those since the total before.

    Examples
    --------
    >>> frame = pd.DataFrame({"town": ["Lyon", "Nice", "Brest", "Total"], "units": [3.0, 4.0, 5.0, 12.0]})
    >>> without_totals(frame, None)[2]
    ("The last row ('Total') is the sum of those above: left out.",)
    """
    notes, width = [], frame.shape[1]
    n_rows = len(frame)
    while width > 2 and n_rows > len(frame) - LAST and n_rows > 3:
        if not _is_note(frame.iloc[n_rows - 1].tolist()):
            break
        n_rows -= 1
    if n_rows < len(frame):
        count = len(frame) - n_rows
        notes.append(
            "The last row holds a note and no values: left out."
            if count == 1
            else f"The last {count} rows hold notes and no values: left out."
        )
    names = None if row_names is None else np.array(row_names[:n_rows], dtype=object)
    kept = np.ones(n_rows, dtype=bool)
    said = _without_sums(frame.iloc[:n_rows], names, decimal, kept)
    n_left = int((~kept).sum())
    if n_left == 1 and not kept[-1]:
        notes.append(f"The last row ({said[0]!r}) is {said[1]} of those above: left out.")
    elif n_left == 1:
        notes.append(f"A row ({said[0]!r}) is {said[1]} of those above: left out.")
    elif n_left:
        notes.append(f"{n_left} rows ({said[0]!r} and the like) sum up those above: left out.")
    if not notes:
        return frame, row_names, ()
    rows = np.flatnonzero(kept)
    left = frame.iloc[rows].reset_index(drop=True).infer_objects()
    return left, None if names is None else tuple(names[rows]), tuple(notes)


def _is_note(cells: list[Any]) -> bool:
    """Whether a row is empty, or holds one text that reads as a note does."""
    there = [cell for cell in cells if filled([cell])]
    if not there:
        return True
    text = there[0] if len(there) == 1 and isinstance(there[0], str) else ""
    return bool(text) and (NOTE.match(text.strip()) is not None or len(text.split()) >= WORDS_OF_NOTE)


def _without_sums(
    frame: pd.DataFrame, row_names: NDArray | None, decimal: str, kept: NDArray
) -> tuple[str, str]:
    """Strike rows from `kept` that say so and are sums or averages of those above; what the last one says."""
    said, found = _called(frame, row_names), ("", "")
    if not said or len(frame) < 4:
        return found
    columns = [numbers for name in frame.columns if (numbers := _numbers(frame[name], decimal)) is not None]
    begin = 0  # of the rows below the sum before
    for row, words in said.items():
        above = kept[:row].copy()
        group = above.copy()
        group[:begin] = False
        if AVERAGE.fullmatch(words):
            is_so = above.any() and _are_averages([(values[row], values[:row][above]) for values in columns])
        else:
            pairs = [(values[row], values[:row][part]) for values in columns for part in (above, group)]
            is_so = any(_is_sum(*pair) for pair in pairs)
            begin = row + 1 if is_so else begin
        if is_so:
            kept[row] = False
            found = words, "the average" if AVERAGE.fullmatch(words) else "the sum"
    return found


def _called(frame: pd.DataFrame, row_names: NDArray | None) -> dict[int, str]:
    """The rows that call themselves a total or an average, from above, with what they say."""
    said: dict[int, str] = {}
    cells = [frame[name] for name in frame.columns if is_text(frame[name])]
    for values in [*cells, *([] if row_names is None else [pd.Series(row_names, dtype=object)])]:
        texts = [text for text in pd.unique(values.dropna()) if isinstance(text, str)]
        sums = {text for text in texts if len(text) <= LONGEST and _says_sum(text.strip())}
        if sums:
            said |= {int(row): values.iloc[row].strip() for row in np.flatnonzero(values.isin(sums))}
    return dict(sorted(said.items()))


def _says_sum(text: str) -> bool:
    said = TOTAL.fullmatch(text) or AVERAGE.fullmatch(text) or ("otal" in text and OF_GROUP.fullmatch(text))
    return bool(said)


def _is_sum(value: float, above: NDArray) -> bool:
    total = float(np.nansum(above))
    return not np.isnan(value) and total != 0 and bool(abs(value - total) <= 1e-6 * abs(total))


def _are_averages(pairs: list[tuple[float, NDArray]]) -> bool:
    """Whether all numbers of a row are those above them on average, as far as they are written."""
    known = [(value, above) for value, above in pairs if not (np.isnan(value) or np.isnan(above).all())]
    digits = [len(repr(float(value)).partition(".")[2].rstrip("0")) for value, _ in known]
    return bool(known) and all(
        abs(value - np.nanmean(above)) <= 0.5 * 10.0**-n_digits + 1e-9 * abs(value)
        for (value, above), n_digits in zip(known, digits, strict=True)
    )


def _numbers(values: pd.Series[Any], decimal: str) -> Any:
    if is_text(values):
        read = numbers_from_texts(values, decimal)
        return None if read is None else read.values.to_numpy()
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return None
