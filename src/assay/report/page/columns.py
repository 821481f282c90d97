"""Columns as HTML: a small picture of each, the values that say most, and how they go together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.display.plane import shortened
from assay.numbers import are_years
from assay.report.page.pieces import BETWEEN_WORDS, Cell, Heading, Row, breakable, notes, scrolling, table
from assay.report.tables.checks.associations import (
    MAX_COLUMNS,
    SAMPLE_ROWS,
    Association,
    as_numbers,
    correlations,
    repeats,
    sample,
    short,
    signed,
)
from assay.report.tables.data import Data
from assay.report.tables.encoding.cells import days_of, finite, read_words
from assay.report.tables.schema import Column
from assay.report.wording import shown
from assay.rows import alone

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
    >>> from assay.report import describe_columns
    >>> frame = pd.DataFrame({"size": ["small", "large", "small"]})
    >>> summarise(frame["size"], describe_columns(frame)[0]).values
    'small (2), large (1)'
    """
    if column.kind == "numeric":
        return summarise_numbers(finite(values))
    if column.kind == "date":
        # Days since 1970 as dates, by the calendar that the table's dates follow.
        first = np.datetime64("1970-01-01")
        return summarise_numbers(days_of(values), lambda day: str(first + int(np.floor(day))))
    counts = read_words(values).value_counts()
    ordered = column.kind == "ordinal"
    if ordered:
        counts = counts.reindex([level for level in column.levels if level in counts.index])
    return summarise_levels([str(level) for level in counts.index], counts.to_numpy(), ordered=ordered)


def summarise_numbers(values: NDArray, write: Callable[[float], str] = shown) -> Summary:
    """A histogram; the least, the middle and the greatest value.

    Examples
    --------
    >>> summarise_numbers(np.array([1.0, 2.0, np.nan, 9.0])).values
    '1 … 2 … 9'
    """
    there = values[~np.isnan(values)]
    if not there.size:
        return Summary("", "none known")
    least, middle, most = np.percentile(there, [0, 50, 100]).tolist()
    if write is shown and are_years(there):
        write = "{:.0f}".format
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
    >>> summarise_levels(["a", "b", "c", "d", "e"], np.array([9, 5, 4, 2, 1])).values
    'a (9), b (5), c (4), d (2) and 1 more'
    """
    if not len(names):
        return Summary("", "none known")
    told = [f"{short(name, 28)} ({count:,})" for name, count in zip(names, counts, strict=True)]
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
    width = step - gap - 0.4
    # A bar with a row in it is seen, however many rows the highest has.
    tall = np.maximum(height * counts / counts.max(), 0.8)
    shapes = "".join(
        f'<rect x="{step * index:.4g}" y="{height - size:.4g}" width="{width:.4g}" height="{size:.3g}"/>'
        for index, size in enumerate(tall)
        if counts[index] > 0
    )
    return f'<svg class="spark" viewBox="0 0 96 22" role="img" aria-label="{escape(words)}">{shapes}</svg>'


MAX_HEAT_COLUMNS = 20
MAX_BARS = 20
MAX_PAIRS = 5
MAX_WARNINGS = 5
LONGEST_NAME, LONGEST_WORD, SHORT_NAME = 40, 26, 22
LONGEST_HEAD = 18
TOLD_CORRELATION = 0.3
"""Weaker correlations are not put into words."""


def association_with_target(data: Data, associations: Sequence[Association]) -> str:
    """What `with_target` found: how much each column tells about the target by itself, as bars."""
    if not associations:
        return ""
    headings = [
        Heading("Column"),
        Heading("Measure"),
        Heading("Strength", numeric=True, great_first=True),
        Heading("From 0 to 1", great_first=True),
    ]
    rows = [
        Row(
            [
                named(item.name),
                item.measure,
                Cell(signed(item.strength), abs(item.strength)),
                strength_cell(item),
            ]
        )
        for item in associations[:MAX_BARS]
    ]
    target = short(str(data.target))
    n_all = f"{len(associations):,}"
    rest = [f"The {MAX_BARS} strongest of {n_all}."] if len(associations) > MAX_BARS else []
    text = table(f"Association of each column with {target}.", headings, rows, sortable=True)
    return (
        f"<h3>What each column tells about {escape(target)} by itself</h3>"
        f"{text}{notes([HOW_ASSOCIATED, *rest])}"
    )


HOW_ASSOCIATED = (
    "What a column tells of the target by itself: correlation for two numbers, else the correlation ratio or "
    "Cramér's V; 0 is none, 1 is all. What columns tell together is what the models measure."
)


def strength_cell(item: Association) -> Cell:
    """How much a column tells about the target: a bar and the number, sorted by size."""
    size, sign = abs(item.strength), " down" if item.strength < 0 else ""
    bar = f'<span class="strength{sign}" aria-hidden="true"><i style="width:{100 * size:.3g}%"></i></span>'
    return Cell(
        f'<span class="told" title="{escape(item.measure)}">{bar}{signed(item.strength)}</span>', size
    )


def correlations_of_columns(data: Data, associations: Sequence[Association]) -> str:
    """The correlations of columns of numbers, or with an order: the strongest in words, all as a table.

    Columns that repeat each other are warned about.
    """
    every = [item for item in data.columns if item.learnable and item.kind != "categorical"]
    used = every[:MAX_COLUMNS]
    if len(used) < 2:
        return ""
    frame, _ = sample(data, SAMPLE_ROWS * 50 // max(len(used), 50))
    columns = [as_numbers(frame[column.name], column) for column in used]
    numbers = np.column_stack([column for column in columns if column is not None])
    names, matrix = [column.name for column in used], alone(correlations, numbers)
    doubled = repeats(names, matrix)
    strongest = [pair for pair in repeats(names, matrix, TOLD_CORRELATION) if pair not in doubled]
    told = []
    for pair in strongest[:MAX_PAIRS]:
        first, second = short(pair.first), short(pair.second)
        rise = f"{first} and {second} rise together"
        words = rise if pair.correlation > 0 else f"{first} falls as {second} rises"
        told.append(f"{words} ({signed(pair.correlation)})")
    pairs = [f"{short(pair.first)} and {short(pair.second)}" for pair in doubled[:MAX_WARNINGS]]
    sizes = [signed(pair.correlation) for pair in doubled[:MAX_WARNINGS]]
    rest = f", and so do {len(doubled) - MAX_WARNINGS} more pairs" if len(doubled) > MAX_WARNINGS else ""
    repeated = (
        f"{'; '.join(pairs)} nearly repeat each other (correlation {', '.join(sizes)}){rest}: one of a pair "
        "tells little that the other does not."
    )
    warned = warnings_in_html([repeated] if doubled else [])
    strong = "" if doubled else "No two columns go together closely."
    if told:  # those that repeat each other are warned of
        strong = f"{'Then come' if doubled else 'Strongest'}: {escape('; '.join(told))}."
    if len(used) < len(every):
        strong = f"Of the first {len(used)} of {len(every):,} columns. {strong}"
    strong = f"<p>{strong}</p>" if strong else ""
    # All columns are shown, or those that matter most for the target or for the others.
    strength = {item.name: abs(item.strength) for item in associations}
    weight = np.array([strength[name] for name in names]) if strength else np.nansum(np.abs(matrix), axis=1)
    shown = sorted(np.argsort(-weight, kind="stable")[:MAX_HEAT_COLUMNS].tolist())
    cut = [f"{len(shown)} of {len(names):,} columns are shown."] if len(shown) < len(names) else []
    return (
        f"<h3>How the columns go together</h3>{warned}{strong}"
        f"{_heat_map([names[place] for place in shown], matrix[np.ix_(shown, shown)])}{notes(cut)}"
    )


def _heat_map(names: list[str], matrix: NDArray) -> str:
    """The correlations below the diagonal, each cell with its number, all cells of one size."""
    head = "".join(
        f'<th scope="col"><span title="{escape(name)}">{escape(shortened(name, LONGEST_HEAD))}</span></th>'
        for name in names[:-1]
    )
    lines = []
    for row, name in enumerate(names[1:], start=1):
        cells = "".join(
            f'<td class="{"down" if value < 0 else "up"}" style="--r:{abs(value):.2f}">{signed(value)}</td>'
            if np.isfinite(value)
            else "<td>—</td>"
            for value in matrix[row, :row]
        ) + "<td></td>" * (len(names) - 1 - row)
        words = escape(shortened(name, 28))
        lines.append(f'<tr><th scope="row" title="{escape(name)}">{words}</th>{cells}</tr>')
    return scrolling(
        "Correlations of the columns.",
        '<table class="heat"><caption class="aloud">Correlations of the columns.'
        f"</caption><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>",
    )


def named(name: str) -> str:
    """The name of a column as HTML; the whole of a long one shows when it is pointed at.

    Examples
    --------
    >>> named("a < b")
    '<span class="figure">a &lt; b</span>'
    >>> "…" in named("much " * 20)
    True
    """
    longest = max(map(len, re.split(r"\s", BETWEEN_WORDS.sub(" ", name))), default=0)
    fitting = shortened(name, LONGEST_NAME if longest < LONGEST_WORD else LONGEST_WORD)
    text = breakable(fitting)
    if len(fitting) <= SHORT_NAME:  # has room in one line
        return f'<span class="figure">{escape(fitting)}</span>'
    return text if fitting == name else f'<span title="{escape(name)}">{text}</span>'


def warnings_in_html(sentences: Iterable[str]) -> str:
    """Sentences that stand out, each a paragraph."""
    return "".join(f'<p class="warning">{escape(sentence)}</p>' for sentence in sentences)
