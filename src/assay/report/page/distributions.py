"""The distribution of a column: a small picture with its text alternative, and the values that say most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.encoder import days_of, finite, read_words
from assay.report.tables.schema import Column
from assay.report.trials.wording import shown

MOST_BINS, FEWEST_BINS = 24, 8
MOST_BARS = 12
MOST_NAMED = 4
TAIL = 0.005
"""Share of the rows on either side that the outer bars may gather, so that one far value hides nothing."""

LOPSIDED = 0.05
"""Positive numbers whose middle is below this share of the greatest are shown on a logarithmic scale."""


class Summary(NamedTuple):
    """A picture of the values and the few that say most, both HTML."""

    picture: str
    values: str


def summarise(values: pd.Series[Any], column: Column) -> Summary:
    """The distribution of a column that is learnt from.

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> from assay.report.page.distributions import summarise
    >>> frame = pd.DataFrame({"size": ["small", "large", "small"]})
    >>> summarise(frame["size"], describe_columns(frame)[0]).values
    'small (2), large (1)'
    """
    if column.kind == "numeric":
        return summarise_numbers(finite(values))
    if column.kind == "date":
        return summarise_numbers(days_of(values), _iso_date)
    counts = read_words(values).value_counts()
    if column.kind == "ordinal":
        counts = counts.reindex([level for level in column.levels if level in counts.index])
        return summarise_levels([str(level) for level in counts.index], counts.to_numpy(), ordered=True)
    return summarise_levels([str(level) for level in counts.index], counts.to_numpy())


def summarise_numbers(values: NDArray, write: Callable[[float], str] = shown) -> Summary:
    """A histogram; the least, the middle and the greatest value.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.report.page.distributions import summarise_numbers
    >>> summarise_numbers(np.array([1.0, 2.0, np.nan, 9.0])).values
    '1 … 2 … 9'
    """
    there = values[~np.isnan(values)]
    if not there.size:
        return Summary("", "none known")
    least, middle, most = (float(value) for value in np.percentile(there, [0, 50, 100]))
    told = escape(f"{write(least)} … {write(middle)} … {write(most)}")
    if least > 0 and middle < LOPSIDED * most:
        # Half of the rows would share the first bar: they are told apart on a scale of powers of ten.
        picture = _histogram(np.log10(there), lambda power: write(10.0**power), " on a logarithmic scale")
        return Summary(f'{picture}<small class="scale">log scale</small>', told)
    return Summary(_histogram(there, write, ""), told)


def summarise_levels(names: Sequence[str], counts: NDArray, *, ordered: bool = False) -> Summary:
    """A bar for each level, in the order given; the commonest by name.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.report.page.distributions import summarise_levels
    >>> summarise_levels(["a", "b", "c", "d", "e"], np.array([9, 5, 4, 2, 1])).values
    'a (9), b (5), c (4), d (2) and 1 more'
    """
    if not len(names):
        return Summary("", "none known")
    told = [
        f"{_short(name)} ({count:,})".replace(",", " ") for name, count in zip(names, counts, strict=True)
    ]
    named = len(told) if ordered and len(told) <= MOST_BARS else MOST_NAMED
    more = f" and {len(told) - named} more" if len(told) > named else ""
    words = "Rows of each level: " + ", ".join(told[:MOST_BARS]) + ("…" if len(told) > MOST_BARS else "")
    return Summary(_bars(counts[:MOST_BARS], words, gap=0.8), escape(", ".join(told[:named]) + more))


def histogram(values: NDArray) -> tuple[NDArray, tuple[float, float], bool]:
    """Counts in bins of equal width, the range they span, and whether the outer bins hold values beyond it.

    The range is that of the values, or, where it is more than four times as wide, that of the inner 99 %.
    There are two times the cube root of the rows, between 8 and 24: more would show noise. It copes with
    every finite number: bins are found after dividing by the greatest size.
    """
    n_bins = int(np.clip(round(2 * len(values) ** (1 / 3)), FEWEST_BINS, MOST_BINS))
    size = float(np.abs(values).max()) or 1.0
    scaled = values / size
    low, high = float(scaled.min()), float(scaled.max())
    inner_low, inner_high = np.quantile(scaled, [TAIL, 1 - TAIL])
    folded = 0.0 < 4.0 * (inner_high - inner_low) < high - low
    if folded:
        low, high = float(inner_low), float(inner_high)
    width = high - low
    place = np.floor((scaled - low) / width * n_bins) if width > 0 else np.zeros(len(values))
    counts = np.bincount(np.clip(place, 0, n_bins - 1).astype(np.intp), minlength=n_bins)
    return counts, (low * size, high * size), bool(folded)


def _histogram(values: NDArray, write: Callable[[float], str], scale: str) -> str:
    counts, (start, end), folded = histogram(values)
    highest = int(np.argmax(counts))
    left, right = (start + (end - start) * place / len(counts) for place in (highest, highest + 1))
    words = (
        f"Histogram{scale} from {write(start)} to {write(end)}, highest between {write(left)} and "
        f"{write(right)}" + ("; values beyond are in the outer bars" if folded else "")
    )
    return _bars(counts, words, gap=0.0)


def _bars(counts: NDArray, words: str, *, gap: float) -> str:
    step, height = 96.0 / max(len(counts), 6 if gap else 1), 22.0
    tall = height * counts / counts.max()
    # A bar with a row in it is seen, however many rows the highest has.
    tall = np.where(counts > 0, np.maximum(tall, 0.8), 0.0)
    width = step - gap - 0.4
    shapes = "".join(
        f'<rect x="{step * index:.4g}" y="{height - size:.4g}" width="{width:.4g}" height="{size:.3g}"/>'
        for index, size in enumerate(tall)
        if size > 0
    )
    return f'<svg class="spark" viewBox="0 0 96 22" role="img" aria-label="{escape(words)}">{shapes}</svg>'


def _iso_date(day: float) -> str:
    """A number of days since 1970 as a date, by the calendar that the table's dates follow."""
    return str((pd.Timestamp(0) + pd.Timedelta(days=int(np.floor(day)))).date())


def _short(name: str, limit: int = 32) -> str:
    name = " ".join(name.split())
    return name if len(name) <= limit else name[: limit - 1] + "…"
