"""Lines of JSON, one object per row, or one list of objects."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.files.byte_streams import BROKEN, LineReader, reason_of


def read_json(lines: LineReader, name: str) -> pd.DataFrame:
    """The whole table: a column for each key, in the order in which they come."""
    return _frame(list(records(lines, name)))


def json_blocks(lines: LineReader, name: str, n_rows: int) -> Iterator[pd.DataFrame]:
    """The table in blocks of rows; a key that a block lacks is a column without values."""
    rows = records(lines, name)
    known: dict[str, None] = {}
    while block := list(islice(rows, n_rows)):
        frame = _frame(block)
        known |= dict.fromkeys(frame.columns)
        yield frame.reindex(columns=list(known))


def records(lines: LineReader, name: str) -> Iterator[dict[str, Any]]:
    """The objects of a file, with keys of objects inside them joined by dots."""
    text = io.TextIOWrapper(io.BufferedReader(lines), encoding="utf-8-sig")
    opening = lines.opening.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not opening:
        raise ReportError(f"{name} is empty.")
    try:
        if opening.startswith(b"["):
            items = _loaded(text.read(), name, "")
            for item in items:
                yield _flat(_object(item, name, ""))
            return
        for number, line in enumerate(text, start=1):
            if line.strip():
                where = f"Line {number} of "
                yield _flat(_object(_loaded(line, name, where), name, where))
    except UnicodeDecodeError as error:
        raise ReportError(f"{name} is not UTF-8 text; save it as UTF-8.") from error
    except BROKEN as error:
        raise ReportError(f"{name} cannot be read: {reason_of(error)}.") from error


def _loaded(text: str, name: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = getattr(error, "msg", "too many brackets").lower()
        place = f" in column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ReportError(f"{where}{name} is not JSON: {reason}{place}.") from error


def _object(item: Any, name: str, where: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise ReportError(
            f'{where}{name} holds {json.dumps(item)[:40]} where an object such as {{"age": 30}} is expected.'
        )
    return item


def _flat(item: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Keys of objects inside an object joined by dots; lists as text."""
    flat: dict[str, Any] = {}
    for key, value in item.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[before + key] = json.dumps(value) if isinstance(value, list) else value
    return flat


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame.from_records(rows) if rows else pd.DataFrame()
