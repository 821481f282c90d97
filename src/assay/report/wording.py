"""Names, numbers and lists as they stand in sentences, and the names that are nearest to a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from assay.numbers import shown as shown


def short(name: str, limit: int = 40) -> str:
    """A name that fits in a sentence."""
    name = " ".join(name.split())
    return name if len(name) <= limit else name[: limit - 1] + "…"


def signed(value: float) -> str:
    """A correlation to two decimals, with a minus sign as one prints it."""
    return f"{value:z.2f}".replace("-", "−")


def number(value: float) -> str:
    """A number as one writes it: all digits of a whole one, six of another; a year has no separator.

    Examples
    --------
    >>> number(-999.0), number(2024), number(19160.0), number(0.1234567)
    ('−999', '2024', '19,160', '0.123457')
    """
    whole = float(value).is_integer() and abs(value) < 1e15
    text = (f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.0f}") if whole else f"{value:.6g}"
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
    plain: dict[str, str] = {}
    for name in known:
        plain.setdefault(plainly(name), name)
    asked = plainly(wrong)
    keys = get_close_matches(asked, plain, n=n)
    keys += [key for key in plain if len(asked) > 2 and asked in key and key not in keys]
    return [plain[key] for key in keys[:n]]


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """A question with the nearest names, or nothing: " Did you mean 'price'?"."""
    near = nearest(wrong, known)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def plainly(name: str) -> str:
    """A name without what people write in different ways: case, blanks, hyphens, underscores."""
    return re.sub(r"[\W_]+", "", name).lower() or name.lower()


SHARES = {"explained", "noise", "coverage"}
"""Measures that are shown as per cent."""

ERRORS = {"RMSE", "MAE"}
"""Measures in the unit of the target: four digits, also where the last is a zero."""

OF_ORDER_ONE = {"balanced accuracy", "ROC AUC", "log-loss", "Brier score", "calibration error", "stability"}
"""Measures that lie near 0 and 1 whatever the table: three decimals tell all."""


def decimals_of(error: float) -> int:
    """Decimals that a standard error justifies: two or three."""
    return int(np.clip(np.ceil(-np.log10(error)), 2, 3)) if error > 0 else 2


def plus_minus(value: float, error: float, decimals: int | None = None) -> str:
    """A value and its standard error, to the decimals that the error justifies: "0.48 ± 0.02".

    Examples
    --------
    >>> plus_minus(0.48311, 0.0213)
    '0.48 ± 0.02'
    >>> plus_minus(0.48311, 0.00213)
    '0.483 ± 0.002'
    >>> plus_minus(0.48311, 0.0213, 3)
    '0.483 ± 0.021'
    """
    if not (np.isfinite(value) and np.isfinite(error)):
        return f"{value:.2f}"
    decimals = decimals_of(error) if decimals is None else decimals
    if abs(value) >= 1000:
        return f"{shown(value, 3)} ± {shown(error, 2)}"
    return f"{value:z.{decimals}f} ± {error:.{decimals}f}".replace("-", "−")


FLOOR = -1000.0
BELOW = f"below {shown(FLOOR)}"
"""A score that is so low says no more by its digits."""


def shown_score(value: float, error: float, *, is_error: bool = False, decimals: int | None = None) -> str:
    """A score and its standard error; of a model that explodes, that it does.

    Examples
    --------
    >>> shown_score(0.48311, 0.0213), shown_score(-3.7e6, 2e6), shown_score(1130.4, 61.0, is_error=True)
    ('0.48 ± 0.02', 'below −1,000', '1,130 ± 61')
    """
    return plus_minus(value, error, decimals) if is_error or value >= FLOOR else BELOW


NOTHING = 0.0005
"""A difference below it is zero to the three decimals that are shown, and has no sign."""


def shown_difference(value: float) -> str:
    """A difference with its sign.

    Examples
    --------
    >>> shown_difference(-0.0123), shown_difference(1130.4), shown_difference(-0.0001)
    ('−0.012', '+1,130', '0.000')
    """
    if abs(value) < NOTHING:
        return "0.000"
    if abs(value) < 100:
        return f"{value:+z.3f}".replace("-", "−")
    return f"{'+' if value > 0 else '−'}{shown(abs(value), 3)}"


def shown_measure(name: str, value: float) -> str:
    """A measure as one writes it.

    Examples
    --------
    >>> shown_measure("explained", 0.47521), shown_measure("stability", 1.0), shown_measure("RMSE", 54.5012)
    ('47.5%', '1.000', '54.50')
    """
    if name in SHARES:
        return f"{value:.1%}"
    if name in OF_ORDER_ONE:
        return f"{value:.3f}"
    return f"{value:#.4g}" if name in ERRORS and 0.001 <= value < 1000 else shown(value)


def told_together(sentences: Iterable[str]) -> list[str]:
    """Sentences on what was left out, one for all that have the same reason.

    Examples
    --------
    >>> told_together(["A was left out: no time.", "B was left out: it failed.", "C was left out: no time."])
    ['A and C were left out: no time.', 'B was left out: it failed.']
    """
    named: dict[str, list[str]] = {}
    for sentence in sentences:
        name, mark, reason = sentence.partition(" was left out: ")
        named.setdefault(mark + reason if mark else sentence, []).append(name)
    told = []
    for reason, names in named.items():
        several = reason.replace(" was left", " were left", 1).replace(": its fit ", ": their fits ", 1)
        told.append(
            joined(names) + (reason if len(names) == 1 else several) if names[0] != reason else reason
        )
    return told


def capital(words: str) -> str:
    """Words as they begin a sentence or head a column."""
    return words[:1].upper() + words[1:]


def joined(words: list[str]) -> str:
    """Words as one lists them: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
