"""The texts of a column: those that are there, the different ones, and how often each occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pandas as pd


def different(values: pd.Series[Any]) -> list[Any]:
    """The different values that are there, in the order in which they come; they must be hashable.

    Examples
    --------
    >>> different(pd.Series(["b", None, "a", "b"]))
    ['b', 'a']
    """
    found = values.unique()
    return [value for value, missing in zip(found.tolist(), pd.isna(found), strict=True) if not missing]


def texts_of(values: pd.Series[Any]) -> list[str]:
    """The values that are there as texts without blanks at the ends; an empty text is none."""
    pairs = zip(values.tolist(), values.isna(), strict=True)
    return [text for value, missing in pairs if not missing and (text := str(value).strip())]


def frequencies(words: Iterable[str | None]) -> dict[str, int]:
    """How often each text occurs, the most frequent first, equally frequent ones by the alphabet."""
    counts = Counter(word for word in words if word is not None)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
