"""Names and numbers as they stand in sentences, and the names that are nearest to a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def short(name: str, limit: int = 40) -> str:
    """A name that fits in a sentence."""
    name = " ".join(name.split())
    return name if len(name) <= limit else name[: limit - 1] + "…"


def signed(value: float) -> str:
    """A correlation to two decimals, with a minus sign as one prints it."""
    return f"{value:z.2f}".replace("-", "−")


def number(value: float) -> str:
    """A number as one writes it: all digits of a whole one, six of another.

    Examples
    --------
    >>> number(-999.0), number(32500000.0), number(0.1234567)
    ('−999', '32,500,000', '0.123457')
    """
    whole = float(value).is_integer() and abs(value) < 1e15
    text = (f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.0f}") if whole else f"{value:.6g}"
    return text.replace("-", "−")


def listed(names: Any, limit: int = 12) -> str:
    """Names in quotes, the first dozen of them."""
    names = [repr(str(name)) for name in names]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def quoted(name: str) -> str:
    """A name as one types it after an option.

    Examples
    --------
    >>> quoted("price"), quoted("unit price")
    ('price', "'unit price'")
    """
    return name if re.fullmatch(r"[\w.-]+", name) else f"'{name}'"


def quoted_na(name: str, value: str) -> str:
    """What one types after --na for a value of a column.

    Examples
    --------
    >>> quoted_na("age", "999")
    'age=999'
    """
    whole = f"{name}={value}"
    return whole if quoted(name) == name and quoted(value) == value else f"'{whole}'"


def nearest(wrong: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The known names that are nearest to a wrong one, however they are written; those it is a part of too.

    Examples
    --------
    >>> nearest("Pirce", ["price", "size"]), nearest("price", ["Unit_price"])
    (['price'], ['Unit_price'])
    >>> nearest("colour", ["size", "weight"])
    []
    """
    plain = {_plain(name): name for name in reversed(list(known))}
    asked = _plain(wrong)
    keys = get_close_matches(asked, plain, n=n)
    keys += [key for key in plain if len(asked) > 2 and asked in key and key not in keys]
    return [plain[key] for key in keys[:n]]


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """A question with the nearest names, or nothing: " Did you mean 'price'?"."""
    near = nearest(wrong, known)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _plain(name: str) -> str:
    """A name without what people write in different ways: case, blanks, hyphens, underscores."""
    return re.sub(r"[\W_]+", "", name).lower() or name.lower()
