"""How the columns go together, and with the target: bars, sentences and a table of colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from assay.report.page.pieces import Cell, Heading, Row, notes, table
from assay.report.tables.association_measures import correlations
from assay.report.tables.associations import (
    MAX_COLUMNS,
    SAMPLE_ROWS,
    Association,
    Pair,
    as_numbers,
    repeats,
    sample,
    short,
    signed,
)
from assay.report.tables.data import Data
from assay.rows import alone

MAX_HEAT_COLUMNS = 20
MAX_BARS = 20
MAX_PAIRS = 5
MAX_WARNINGS = 5
LONGEST_NAME = 60
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
    rows = [_association_row(item) for item in associations[:MAX_BARS]]
    target = short(str(data.target))
    how = "One column at a time; 0 is none, 1 is all. What columns tell together is what the models measure."
    rest = [f"The {MAX_BARS} strongest of {len(associations)}."] if len(associations) > MAX_BARS else []
    text = table(f"Association of each column with {target}.", headings, rows, sortable=True)
    return (
        f"<h3>What each column tells about {escape(target)} by itself</h3>"
        f'<div class="ranked">{text}</div>{notes([how, *rest])}'
    )


def _association_row(item: Association) -> Row:
    size = abs(item.strength)
    sign = " down" if item.strength < 0 else ""
    bar = f'<span class="strength{sign}" aria-hidden="true"><i style="width:{100 * size:.3g}%"></i></span>'
    measure = item.measure.replace(" ", "\u00a0")
    return Row([named(item.name), measure, Cell(signed(item.strength), size), Cell(bar, size)])


def correlations_of_columns(data: Data, associations: Sequence[Association]) -> str:
    """The strongest correlations in words, warnings on columns that repeat each other, and all as a table."""
    names, matrix = _number_columns(data)
    if len(names) < 2:
        return ""
    strongest = repeats(names, matrix, TOLD_CORRELATION)
    doubled = repeats(names, matrix)
    told = [_in_words(pair) for pair in strongest[:MAX_PAIRS]]
    warned = [
        f"{short(pair.first)} and {short(pair.second)} nearly repeat each other (correlation "
        f"{signed(pair.correlation)}): one tells little that the other does not."
        for pair in doubled[:MAX_WARNINGS]
    ]
    if len(doubled) > MAX_WARNINGS:
        warned.append(f"So do {len(doubled) - MAX_WARNINGS} more pairs of columns.")
    strong = (
        f"<p>Strongest: {escape('; '.join(told))}.</p>"
        if told
        else "<p>No two columns go together closely.</p>"
    )
    shown = _heat_columns(associations, names, matrix)
    rest = [f"{len(shown)} of {len(names)} columns are shown."] if len(shown) < len(names) else []
    return (
        f"<h3>How the columns go together</h3>{strong}{warnings_in_html(warned)}"
        f"{_heat_map([names[place] for place in shown], matrix[np.ix_(shown, shown)])}{notes(rest)}"
    )


def _number_columns(data: Data) -> tuple[list[str], NDArray]:
    """The columns that are numbers, or have an order, and their correlations."""
    used = [column for column in data.columns if column.learnable and column.kind != "categorical"][
        :MAX_COLUMNS
    ]
    if len(used) < 2:
        return [], np.empty((0, 0))
    frame, _ = sample(data, SAMPLE_ROWS * 50 // max(len(used), 50))
    columns = [as_numbers(frame[column.name], column) for column in used]
    numbers = np.column_stack([column for column in columns if column is not None])
    return [column.name for column in used], alone(correlations, numbers)


def _heat_columns(associations: Sequence[Association], names: list[str], matrix: NDArray) -> list[int]:
    """Places of the columns to show: all, or those that matter most for the target or for the others."""
    if len(names) <= MAX_HEAT_COLUMNS:
        return list(range(len(names)))
    if not associations:
        weight = np.nansum(np.abs(matrix), axis=1)
    else:
        strength = {item.name: abs(item.strength) for item in associations}
        weight = np.array([strength[name] for name in names])
    return sorted(np.argsort(-weight, kind="stable")[:MAX_HEAT_COLUMNS].tolist())


def _heat_map(names: list[str], matrix: NDArray) -> str:
    """The correlations below the diagonal, each cell with its number; columns are named by their place."""
    head = "".join(
        f'<th scope="col"><abbr title="{escape(name)}">{place}</abbr></th>'
        for place, name in enumerate(names[:-1], start=1)
    )
    lines = []
    for row, name in enumerate(names):
        cells = "".join(_heat_cell(matrix[row, column]) for column in range(row))
        empty = "<td></td>" * (len(names) - 1 - row)
        lines.append(
            f'<tr><th scope="row"><span>{row + 1}</span> {escape(short(name, 28))}</th>{cells}{empty}</tr>'
        )
    return (
        '<div class="scroll" role="group" tabindex="0" aria-label="Correlations of the columns.">'
        '<table class="heat"><caption class="aloud">Correlations of the columns, named by their number.'
        f"</caption><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _heat_cell(value: float) -> str:
    if not np.isfinite(value):
        return "<td>—</td>"
    sign = "down" if value < 0 else "up"
    return f'<td class="{sign}" style="--r:{abs(value):.2f}">{signed(value)}</td>'


def _in_words(pair: Pair) -> str:
    first, second = short(pair.first), short(pair.second)
    if pair.correlation > 0:
        return f"{first} and {second} rise together ({signed(pair.correlation)})"
    return f"{first} falls as {second} rises ({signed(pair.correlation)})"


def named(name: str) -> str:
    """The name of a column as HTML; the whole of a long one shows when it is pointed at.

    Examples
    --------
    >>> named("a < b")
    'a &lt; b'
    >>> named("x" * 99).endswith("xxx…</span>")
    True
    """
    fitting = short(name, LONGEST_NAME)
    return escape(name) if fitting == name else f'<span title="{escape(name)}">{escape(fitting)}</span>'


def warnings_in_html(sentences: Iterable[str]) -> str:
    """Sentences that stand out, each a paragraph."""
    return "".join(f'<p class="warning">{escape(sentence)}</p>' for sentence in sentences)
