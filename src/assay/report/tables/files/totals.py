"""Rows that are no rows: a total below a table, and notes below that."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from assay.report.tables.files.layout import filled
from assay.report.tables.files.values import is_text, numbers_from_texts

TOTAL = re.compile(
    r"(grand|over\s?all|sub)?[\s-]*(total|totals|sum|summe|gesamt|insgesamt|somme|ensemble|suma|totale|totaal)"
    r"(\s+(general|général|generale))?\s*:?",
    re.IGNORECASE,
)
NOTE = re.compile(
    r"[*†]|\W*(source|sources|notes?|quelle|fuente|fonte|remark|updated|https?)\b", re.IGNORECASE
)
WORDS_OF_NOTE = 6
LAST = 5
"""Totals and notes are looked for in so many last rows."""


def without_totals(
    frame: pd.DataFrame, row_names: tuple[str, ...] | None, decimal: str = "."
) -> tuple[pd.DataFrame, tuple[str, ...] | None, tuple[str, ...]]:
    """A frame without a last row that sums those above it, or notes below the table, and what was decided.

    A row is a total when a cell of it says so and a column of numbers proves it.

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
    said = _total(frame.iloc[:n_rows], None if row_names is None else row_names[n_rows - 1], decimal)
    if said:
        n_rows -= 1
        notes.append(f"The last row ({said!r}) is the sum of those above: left out.")
    if n_rows == len(frame):
        return frame, row_names, ()
    names = None if row_names is None else row_names[:n_rows]
    return frame.iloc[:n_rows].infer_objects(), names, tuple(notes)


def _is_note(cells: list[Any]) -> bool:
    """Whether a row is empty, or holds one text that reads as a note does."""
    there = [cell for cell in cells if filled([cell])]
    if not there:
        return True
    text = there[0] if len(there) == 1 and isinstance(there[0], str) else ""
    return bool(text) and (NOTE.match(text.strip()) is not None or len(text.split()) >= WORDS_OF_NOTE)


def _total(frame: pd.DataFrame, row_name: str | None, decimal: str) -> str:
    """What the last row calls itself, if it is the sum of the rows above; empty if not."""
    last = [row_name, *frame.iloc[-1].tolist()]
    said = [str(cell).strip() for cell in last if isinstance(cell, str) and TOTAL.fullmatch(cell.strip())]
    if not said or len(frame) < 4:
        return ""
    for name in frame.columns:
        numbers = _numbers(frame[name], decimal)
        if numbers is None or np.isnan(numbers[-1]):
            continue
        total = float(np.nansum(numbers[:-1]))
        if total != 0 and abs(numbers[-1] - total) <= 1e-6 * abs(total):
            return said[0]
    return ""


def _numbers(values: pd.Series[Any], decimal: str) -> Any:
    if is_text(values):
        read = numbers_from_texts(values, decimal)
        return None if read is None else read.values.to_numpy()
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return None
