"""The page of the data: what the columns are, what is missing, how they go together, what was left out."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.page.correlations import (
    association_with_target,
    correlations_of_columns,
    named,
    warnings_in_html,
)
from assay.report.page.data_remarks import count_doubles, counted, double_remarks, share_of, target_remarks
from assay.report.page.distributions import Summary, summarise, summarise_levels, summarise_numbers
from assay.report.page.pieces import Cell, Heading, Row, notes, table
from assay.report.tables.associations import SAMPLE_ROWS, leaks, sample, with_target
from assay.report.tables.data import Data, Task
from assay.report.tables.schema import Column, left_out
from assay.report.trials.comparison import Comparison

__all__ = ["data_section", "leaks", "target_remarks"]

MAX_SUMMARY_COLUMNS = 60

HOW_FILLED = {
    "numeric": "numbers by the median, with a mark that they were missing",
    "boolean": "truth values by the commoner one, with a mark that they were missing",
    "categorical": "categories by a level of their own",
    "ordinal": "ordered categories by the middle level",
    "date": "dates by the middle date",
}


def data_section(comparison: Comparison) -> str:
    """The page of the data as HTML, a section with the id "data".

    Parameters
    ----------
    comparison : Comparison
        What `compare` found.

    Returns
    -------
    html : str
    """
    data, task = comparison.data, comparison.task
    frame, y = sample(data)
    associations = with_target(data, task)
    told = [data.description, f"Source: {data.source}" if data.source else ""]
    told += [note for note in data.notes if note not in left_out(data.columns)]
    words = "".join(f"<p>{escape(note)}</p>" for note in told if note)
    doubles = count_doubles(data)
    repeated = double_remarks(doubles, data, task)
    warned = (
        *leaks(data, task, associations),
        *target_remarks(data, task),
        *(repeated if doubles.matter else ()),
    )
    n_rows, n_columns = data.X.shape
    rows, columns = counted(n_rows), "column" if n_columns == 1 else "columns"
    return (
        f'<section id="data"><h2>The data</h2><p>{rows} rows, {n_columns} {columns} to learn from.</p>{words}'
        f"{warnings_in_html(warned)}<h3>Columns</h3>{_columns(data, frame, y)}{_missing(data, task)}"
        f"{notes(() if doubles.matter else repeated)}{_left_out(data)}"
        f"{association_with_target(data, associations)}"
        f"{correlations_of_columns(data, associations)}</section>"
    )


def _columns(data: Data, frame: pd.DataFrame, y: NDArray | None) -> str:
    rows = []
    if y is not None:
        name = f"{named(str(data.target))} (target)"
        kind = "numeric" if data.classes is None else "classes"
        cells = _cells(name, kind, 0, len(data.labels), len(data.X), _target_summary(data, y))
        rows.append(Row(cells, marked=True))
    used = [column for column in data.columns if column.learnable]
    rows += [_column_row(column, frame[column.name], len(data.X)) for column in used[:MAX_SUMMARY_COLUMNS]]
    headings = [
        Heading("Column"),
        Heading("Kind"),
        Heading("Missing", numeric=True, great_first=True),
        Heading("Distinct", numeric=True, great_first=True),
        Heading("Distribution"),
        Heading("Least … middle … greatest, or commonest"),
    ]
    more = []
    if len(used) > MAX_SUMMARY_COLUMNS:
        more.append(f"The first {MAX_SUMMARY_COLUMNS} of {len(used)} columns are shown.")
    if len(data.X) > SAMPLE_ROWS:
        more.append(
            f"Distributions and associations are those of {counted(SAMPLE_ROWS)} rows drawn at random."
        )
    return f'<div class="columns">{table("The columns.", headings, rows, sortable=True)}</div>{notes(more)}'


def _target_summary(data: Data, y: NDArray) -> Summary:
    if data.classes is None:
        return summarise_numbers(y.astype(np.float64))
    counts = np.bincount(np.searchsorted(data.labels, y), minlength=len(data.classes))
    order = np.argsort(-counts, kind="stable")
    return summarise_levels([data.classes[place] for place in order], counts[order])


def _column_row(column: Column, values: pd.Series[Any], n_rows: int) -> Row:
    summary = summarise(values, column)
    return Row(_cells(named(column.name), column.kind, column.n_missing, column.n_distinct, n_rows, summary))


def _cells(
    name: str, kind: str, n_missing: int, n_distinct: int, n_rows: int, summary: Summary
) -> list[str | Cell]:
    share = n_missing / n_rows
    missing = "—"
    if n_missing:
        bar = f'<span class="share" aria-hidden="true"><i style="width:{100 * share:.3g}%"></i></span>'
        missing = f"{counted(n_missing)} ({share_of(n_missing, n_rows)}){bar}"
    return [
        name,
        kind,
        Cell(missing, share),
        Cell(counted(n_distinct), n_distinct),
        summary.picture,
        summary.values,
    ]


def _missing(data: Data, task: Task) -> str:
    gaps = [column for column in data.columns if column.learnable and column.n_missing]
    if not gaps:
        return notes(["No value is missing in the columns that are learnt from."])
    kinds = [kind for kind in HOW_FILLED if any(column.kind == kind for column in gaps)]
    how = "; ".join(HOW_FILLED[kind] for kind in kinds)
    n_gaps = sum(column.n_missing for column in gaps)
    values = "value is" if n_gaps == 1 else "values are"
    where = (
        ""
        if task == "clustering"
        else " inside the cross-validation, from the training rows of each fold alone"
    )
    return notes(
        [
            f"{counted(n_gaps)} {values} missing, in {len(gaps)} of {data.X.shape[1]} columns.",
            f"What is missing is filled{where}: {how}.",
        ]
    )


def _left_out(data: Data) -> str:
    unused = [column for column in data.columns if not column.learnable]
    if not unused:
        return ""
    items = "".join(
        f"<li><b>{named(column.name)}</b> ({column.kind}): {escape(column.reason)}.</li>" for column in unused
    )
    return f"<h3>Columns that are left out</h3><ul>{items}</ul>"
