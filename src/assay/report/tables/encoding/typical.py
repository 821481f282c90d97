"""A typical value of each column, as a form takes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd

from assay.report.tables.encoding.encoder import CODES, LevelCode, OrderCode
from assay.report.tables.schema import Column


def typical(values: pd.Series[Any], column: Column) -> str:
    """The middle of numbers and dates, the commonest of words; empty where there is no value.

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> frame = pd.DataFrame({"age": [20.0, None, 40.0, 50.0], "town": ["Lyon", "Nice", "Lyon", "Lyon"]})
    >>> [typical(frame[column.name], column) for column in describe_columns(frame)]
    ['40', 'Lyon']
    """
    if not values.notna().any():
        return ""
    code = CODES[column.kind].learn(values, column)
    if isinstance(code, LevelCode):
        return str(code.levels[0]) if code.levels else ""
    middle = float(getattr(code, "fill", 0.0))
    if isinstance(code, OrderCode):
        return str(code.levels[round(middle)])
    if column.kind == "boolean":
        return "yes" if middle >= 0.5 else "no"
    if column.kind == "date":
        return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=middle):%Y-%m-%d}"
    return f"{middle:.6g}"
