"""What is known of the columns as one text: a file with objects for each is slow to write and to read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any


def packed(items: Sequence[Any]) -> str:
    """Texts, numbers and dataclasses of these, as one text.

    Examples
    --------
    >>> from assay.report.tables import NumericCode
    >>> unpacked(packed([NumericCode(2.5, marked=True), "town"]))
    [NumericCode(fill=2.5, marked=True), 'town']
    """
    return json.dumps(list(items), default=_plain, separators=(",", ":"))


def unpacked(text: str) -> list[Any]:
    """What `packed` was given; nothing is built but the dataclasses of columns."""
    made: list[Any] = json.loads(text, object_hook=_made)
    return made


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {"kind": type(value).__name__, "facts": [getattr(value, item.name) for item in fields(value)]}
    return value.item()  # a number of NumPy


def _made(node: dict[str, Any]) -> Any:
    from assay.report import tables

    name = node["kind"]
    kind = getattr(tables, name) if name in tables.__all__ else None
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise ValueError(f"A model file says {name!r} of a column, which is not known.")
    return kind(*(tuple(fact) if isinstance(fact, list) else fact for fact in node["facts"]))
