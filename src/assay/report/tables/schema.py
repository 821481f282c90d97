"""What the columns of a table are: numbers, truth values, categories, dates, or nothing to learn from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from assay.report.tables.dates import day_order, not_dates
from assay.report.tables.texts import frequencies, texts_of

Kind = Literal[
    "numeric", "boolean", "categorical", "ordinal", "date", "identifier", "text", "constant", "empty"
]

TRUTHS = {"true": True, "false": False, "yes": True, "no": False, "t": True, "f": False}
SCALES = (
    ("very low", "low", "medium", "high", "very high"),
    ("small", "medium", "large"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
)
"""Words with a known order; a column whose values all stand in one of these lists is ordinal."""

NUMBERS_ROWS = "it numbers the rows"
"""Why a column of numbers is not learnt from, though it may be a measure in equal steps."""

IDENTIFIER_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|rownames?)$", re.IGNORECASE)
NAMED_SHARE = 0.9  # more different values than this share of the rows name the rows, some of them repeated
WORDS_OF_TEXT = 6.0  # mean number of words from which a column is prose
FEW_ROWS = 20
LONGEST_VALUE = 24


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : str
        "numeric", "boolean", "categorical", "ordinal", "date" are learnt from; "identifier" (it names the
        rows), "text" (prose), "constant" and "empty" are not.
    n_missing : int
        Rows without a value.
    n_distinct : int
        Different values.
    levels : tuple of str
        The values of categories, in their order where they have one, else the most frequent first.
    reason : str
        Why the column is left out; empty when it is not.
    day_first : bool
        Whether dates such as 03/04/2025 name the day before the month.
    missing : tuple of str
        Values that stand for a missing one in this column.
    unit : str
        The currency, per cent sign or unit that its texts had.
    decimal : str
        The decimal mark of its texts, where it is not that of the file.
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    levels: tuple[str, ...] = ()
    reason: str = ""
    day_first: bool = False
    missing: tuple[str, ...] = ()
    unit: str = ""
    decimal: str = ""

    @property
    def learnable(self) -> bool:
        """Whether a model may look at it."""
        return not self.reason


def describe_columns(
    frame: pd.DataFrame, *, categorical: Sequence[str] = (), numeric: Sequence[str] = ()
) -> tuple[Column, ...]:
    """Tell the kind of every column from its values, and its name where that decides.

    Parameters
    ----------
    frame : DataFrame
    categorical, numeric : sequence of str
        Columns that are categories, and numbers, whatever they look like.

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> frame = pd.DataFrame({"size": ["small", "large", "small"], "age": [3.0, None, 5.0], "n": [1, 1, 1]})
    >>> [(column.name, column.kind, column.n_missing) for column in describe_columns(frame)]
    [('size', 'ordinal', 0), ('age', 'numeric', 1), ('n', 'constant', 0)]
    """
    wishes: dict[str, Kind] = {
        **dict.fromkeys(categorical, "categorical"),
        **dict.fromkeys(numeric, "numeric"),
    }
    return tuple(describe_column(frame[name], wishes.get(str(name))) for name in frame.columns)


def describe_column(values: pd.Series[Any], wish: Kind | None = None) -> Column:
    """Tell the kind of one column, which is the one wished for where its values allow it."""
    name, kind = str(values.name), values.dtype
    ordered = isinstance(kind, pd.CategoricalDtype) and kind.ordered
    typed = pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind)
    present = without_missing(values) if ordered or typed else pd.Series(texts_of(values), dtype=object)
    n_distinct = int(present.nunique())
    told = partial(Column, name, n_missing=len(values) - len(present), n_distinct=n_distinct)
    if n_distinct == 0:
        return told("empty", reason="it has no value")
    if n_distinct == 1:
        only = str(present.iloc[0])
        only = only if len(only) <= LONGEST_VALUE else only[: LONGEST_VALUE - 1] + "…"
        return told("constant", reason=f"every value is {only!r}")
    if wish == "categorical":
        return told("categorical", levels=tuple(frequencies(texts_of(present))))
    if isinstance(kind, pd.CategoricalDtype) and kind.ordered:
        used = set(present)
        return told("ordinal", levels=tuple(str(level) for level in kind.categories if level in used))
    if pd.api.types.is_datetime64_any_dtype(kind):
        return told("date")
    if not typed:
        return _describe_texts(name, present, told)
    if wish == "numeric":
        return told("numeric")
    if pd.api.types.is_bool_dtype(kind):
        return told("boolean")
    if _numbers_rows(present, name, n_distinct):
        return told("identifier", reason=NUMBERS_ROWS)
    return told("numeric")


def without_missing(values: pd.Series[Any]) -> pd.Series[Any]:
    """The values that are there: no NaN, no infinity, no empty text."""
    present = values.dropna()
    if pd.api.types.is_float_dtype(present.dtype):
        return present[np.isfinite(present.to_numpy(dtype=np.float64))]
    if present.dtype == object or isinstance(present.dtype, pd.StringDtype):
        return present[present.astype(str).str.strip() != ""]
    return present


def truth(words: pd.Series[Any]) -> pd.Series[Any]:
    """1.0 for true and yes, 0.0 for false and no, NaN for the rest."""
    if pd.api.types.is_bool_dtype(words.dtype) or pd.api.types.is_numeric_dtype(words.dtype):
        return words.astype("float64")
    lowered = words.astype(str).str.strip().str.lower()
    return lowered.map({**{word: float(value) for word, value in TRUTHS.items()}, "1": 1.0, "0": 0.0})


def _describe_texts(name: str, texts: pd.Series[Any], told: Callable[..., Column]) -> Column:
    """A column of texts, each without blanks at the ends."""
    counts = Counter(texts)
    n_rows, n_distinct, lowered = len(texts), len(counts), {text.lower() for text in counts}
    if lowered <= TRUTHS.keys():
        return told("boolean")
    for scale in SCALES:
        if len(lowered) > 1 and lowered <= set(scale):
            order = {word: place for place, word in enumerate(scale)}
            return told("ordinal", levels=tuple(sorted(counts, key=lambda word: (order[word.lower()], word))))
    if not_dates(texts) is not None:
        return told("date", day_first=day_order(texts).day_first)
    names_rows = n_distinct > NAMED_SHARE * n_rows and (n_rows >= FEW_ROWS or IDENTIFIER_NAME.search(name))
    n_words = sum((text.count(" ") + 1) * count for text, count in counts.items())
    if n_words >= WORDS_OF_TEXT * n_rows and (names_rows or n_distinct > n_rows / 2):
        return told("text", reason="it holds prose")
    if names_rows:
        return told("identifier", reason="it names the rows: nearly every value differs")
    return told("categorical", levels=tuple(frequencies(texts)))


def _numbers_rows(values: pd.Series[Any], name: str, n_distinct: int) -> bool:
    """Whether whole numbers follow each other from 0 or 1, or hardly repeat and are called an identifier."""
    if len(values) < 3 or n_distinct <= NAMED_SHARE * len(values):
        return False
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.array_equal(numbers, np.round(numbers)):
        return False
    consecutive = bool(np.all(np.diff(numbers) == 1.0)) and numbers[0] in (0.0, 1.0)
    return consecutive or IDENTIFIER_NAME.search(name) is not None


def left_out(columns: Sequence[Column]) -> tuple[str, ...]:
    """A sentence for each column that is not learnt from."""
    return tuple(
        f"Column {column.name!r} is left out: {column.reason}." for column in columns if not column.learnable
    )
