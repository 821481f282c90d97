"""Lines of JSON, one object per row, or one list of objects."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.files.byte_streams import BROKEN, OPENING_BYTES, LineReader, reason_of


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
        if _is_one_object(lines.opening):
            for item in _rows_of(_object(_loaded(text.read(), name, ""), name, "")):
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


def _is_one_object(opening: bytes) -> bool:
    """Whether the file is one object: over many lines, or the only line there is."""
    first, *others = [line for line in opening.splitlines() if line.strip(b" \t\xef\xbb\xbf")]
    return first.rstrip().endswith((b"{", b"[", b",")) if others else len(opening) < OPENING_BYTES


def _rows_of(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of one object: the one list of objects in it, its values if they are columns, else itself."""
    values = list(whole.values())
    tables = [value for value in values if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(tables) == 1:
        return tables[0]
    columns = [
        value if isinstance(value, list) else list(value.values()) for value in values if _is_column(value)
    ]
    if columns and len(columns) == len(values) and {len(column) for column in columns} == {len(columns[0])}:
        rows = [dict(zip(whole, row, strict=True)) for row in zip(*columns, strict=True)]
        return rows if len(rows) > 1 else [whole]
    return [whole]


def _is_column(value: Any) -> bool:
    """Whether a value is a list of cells, or the object of cells that pandas writes."""
    cells = value if isinstance(value, list) else value.values() if isinstance(value, dict) else [[]]
    return not any(isinstance(cell, (list, dict)) for cell in cells)


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
