"""The section on the data: its columns, what is missing, what was left out, what a reader must know first."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import skew

from assay.report.page.columns import (
    HOW_ASSOCIATED,
    Summary,
    association_with_target,
    correlations_of_columns,
    named,
    strength_cell,
    summarise,
    summarise_levels,
    summarise_numbers,
    warnings_in_html,
)
from assay.report.page.pieces import Cell, Heading, Row, notes, table
from assay.report.tables.checks.associations import (
    SAMPLE_ROWS,
    Association,
    of_leaks,
    sample,
)
from assay.report.tables.checks.doubles import mixed, row_keys
from assay.report.tables.data import Data, Task
from assay.report.tables.schema import left_out
from assay.report.trials.comparison import Comparison
from assay.report.wording import short, signed

SKEWED = 1.0
"""A target of greater skewness, in size, is said to have a long tail."""

UNBALANCED = 3.0
"""Classes are told to be unbalanced when the commonest has so many times the rows of the rarest."""

FEWEST_FOR_SKEWNESS = 20
MANY_DOUBLES = 0.01
"""From this share of the rows on, doubles are warned about."""


class Doubles(NamedTuple):
    """Of the rows looked at, how many repeat an earlier one, and how many differ in the target alone."""

    n_rows: int
    n_repeating: int
    n_contradicting: int

    @property
    def matter(self) -> bool:
        """Whether they are more than a curiosity."""
        return max(self.n_repeating, self.n_contradicting) >= MANY_DOUBLES * self.n_rows


def target_remarks(data: Data, task: Task) -> tuple[str, ...]:
    """What must be known of the target: classes of unequal size, numbers with a long tail.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": np.arange(20.0) ** 2})
    >>> data = Data.from_frame(frame, np.repeat(["no", "yes"], [18, 2]), target="churn")
    >>> target_remarks(data, "classification")[0]
    "The classes are of unequal size: 90% of the rows are 'no', 10% are 'yes'."
    """
    if data.y is None:
        return ()
    if task == "classification":
        counts = np.unique(data.y, return_counts=True)[1]
        if counts.max() < UNBALANCED * counts.min() or data.classes is None:
            return ()
        common, rare = int(np.argmax(counts)), int(np.argmin(counts))
        first, last = (share_of(int(counts[place]), len(data.y)) for place in (common, rare))
        names = [short(data.classes[place]) for place in (common, rare)]
        sizes = f"{first} of the rows are {names[0]!r}, {last} are {names[1]!r}"
        return (f"The classes are of unequal size: {sizes}.",)
    size = float(np.abs(data.y).max()) or 1.0
    lopsided = float(skew(data.y / size)) if len(data.y) >= FEWEST_FOR_SKEWNESS else 0.0
    if not abs(lopsided) > SKEWED:
        return ()
    side, few = ("right", "large") if lopsided > 0 else ("left", "small")
    advice = "; its logarithm may be easier to predict" if lopsided > 0 and data.y.min() > 0 else ""
    return (
        f"{short(str(data.target))} has a long tail to the {side} (skewness {signed(lopsided)}): a few {few} "
        f"values weigh most in the squared error{advice}.",
    )


def count_doubles(data: Data) -> Doubles:
    """Compare all rows, or those of a sample: whole rows, and the columns learnt from with the target."""
    frame, y = sample(data)
    key = row_keys(frame)
    n_distinct = len(np.unique(key))
    whole = key if y is None else mixed(key, np.unique(y, return_inverse=True)[1])
    n_whole = n_distinct if n_distinct == len(frame) else len(np.unique(whole))
    # Rows that differ in a column that is left out, such as one that names them, do not repeat each other.
    repeating = len(frame) - n_whole if data.n_repeating is None else data.n_repeating
    return Doubles(len(frame), repeating, n_whole - n_distinct)


def double_remarks(doubles: Doubles, data: Data, task: Task) -> tuple[str, ...]:
    """Sentences on rows that are there twice, and on those that contradict each other.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [1.0, 2.0, 2.0, 3.0], "y": [0.5, 0.5, 0.5, 0.1]})
    >>> data = Data.from_frame(frame)
    >>> double_remarks(count_doubles(data), data, "clustering")
    ('1 row repeats an earlier one in every column.',)
    """
    among = "" if doubles.n_rows == len(data.X) else f" of {doubles.n_rows:,} drawn at random"
    told = []
    if doubles.n_repeating:
        subject = "row repeats an earlier one" if doubles.n_repeating == 1 else "rows repeat earlier ones"
        ending = "." if data.y is None else ": a fold may predict a row from its double."
        told.append(f"{doubles.n_repeating:,} {subject}{among} in every column{ending}")
    if task == "classification" and doubles.n_contradicting:
        subject = f"row{among} has" if doubles.n_contradicting == 1 else f"rows{among} have"
        told.append(
            f"{doubles.n_contradicting:,} {subject} the values of a row of another class: no method "
            "can name them all right."
        )
    return tuple(told)


def share_of(part: int, whole: int) -> str:
    """A share in per cent, to the digits that matter.

    Examples
    --------
    >>> share_of(1, 3), share_of(1, 200), share_of(5, 100)
    ('33%', '0.5%', '5%')
    """
    share = 100 * part / whole
    return f"{share:.0f}%" if share >= 10 or share == round(share) else f"{share:.2g}%"


MAX_SUMMARY_COLUMNS = 60

HOW_FILLED = {
    "numeric": "numbers by the median, with a mark that they were missing",
    "boolean": "truth values by the commoner one, with a mark that they were missing",
    "categorical": "categories by a level of their own",
    "ordinal": "ordered categories by the middle level",
    "date": "dates by the middle date",
}


def data_section(comparison: Comparison) -> str:
    """The page of the data as HTML, a section with the id "data"."""
    data, task = comparison.data, comparison.task
    frame, y = sample(data)
    associations = comparison.associations
    known = {*left_out(data.columns)}  # which have a list of their own
    told = [data.description, f"Source: {data.source}" if data.source else ""]
    told += [note for note in data.notes if note not in known]
    words = "".join(f"<p>{escape(note)}</p>" for note in told if note)
    doubles = count_doubles(data)
    repeated = double_remarks(doubles, data, task)
    warned = (
        *of_leaks(data, comparison.leaking),
        *target_remarks(data, task),
        *(repeated if doubles.matter else ()),
    )
    unused = "".join(
        f"<li><b>{named(column.name)}</b> ({column.kind}): {escape(column.reason)}.</li>"
        for column in data.columns
        if not column.learnable
    )
    unused = f"<h3>Columns that are left out</h3><ul>{unused}</ul>" if unused else ""
    n_rows, n_columns = data.X.shape
    rows, columns = f"{n_rows:,}", f"{n_columns:,} column{'s' * (n_columns != 1)}"
    return (
        f'<section id="data"><h2>The data</h2><p>{rows} rows, {columns} to learn from.</p>{words}'
        f"{warnings_in_html(warned)}<h3>Columns</h3>{_columns(data, frame, y, associations)}"
        f"{_missing(data, task)}{notes(() if doubles.matter else repeated)}{unused}"
        f"{'' if _is_short(data) else association_with_target(data, associations)}"
        f"{correlations_of_columns(data, associations)}</section>"
    )


def _is_short(data: Data) -> bool:
    """Whether every column has a line of its own, and with it what it tells about the target."""
    return sum(column.learnable for column in data.columns) <= MAX_SUMMARY_COLUMNS


def _columns(data: Data, frame: pd.DataFrame, y: NDArray | None, associations: Sequence[Association]) -> str:
    rows: list[Row] = []
    strength = {item.name: item for item in associations} if _is_short(data) else {}
    if y is not None:
        name = f"{named(str(data.target))} (target)"
        kind = "numeric" if data.classes is None else "classes"
        if data.classes is None:
            summary = summarise_numbers(y.astype(np.float64))
        else:
            counts = np.bincount(np.searchsorted(data.labels, y), minlength=len(data.classes))
            order = np.argsort(-counts, kind="stable")
            summary = summarise_levels([data.classes[place] for place in order], counts[order])
        alone: list[str | Cell] = [Cell("", 2.0)] if strength else []
        rows.append(
            Row([*_cells(name, kind, 0, len(data.labels), len(data.X), summary), *alone], marked=True)
        )
    used = [column for column in data.columns if column.learnable]
    for column in used[:MAX_SUMMARY_COLUMNS]:
        summary, missing = summarise(frame[column.name], column), column.n_missing
        cells = _cells(named(column.name), column.kind, missing, column.n_distinct, len(data.X), summary)
        if strength:
            cells.append(strength_cell(strength[column.name]) if column.name in strength else "—")
        rows.append(Row(cells))
    values = "Least … middle … greatest, or commonest"
    names = ("Column", "Kind", "Missing", "Distinct", "Distribution", values)
    numbers = ("Missing", "Distinct")
    headings = [Heading(name, numeric=name in numbers, great_first=name in numbers) for name in names]
    if strength:
        target = short(str(data.target), 24)
        headings.append(Heading(f"Tells of {target} by itself", great_first=True))
    first = f"The first {MAX_SUMMARY_COLUMNS} of {len(used):,} columns are shown."
    drawn = f"Distributions and associations are those of {SAMPLE_ROWS:,} rows drawn at random."
    cut = {
        first: len(used) > MAX_SUMMARY_COLUMNS,
        drawn: len(data.X) > SAMPLE_ROWS,
        HOW_ASSOCIATED: bool(strength),
    }
    more = notes(words for words, needed in cut.items() if needed)
    return f'<div class="columns">{table("The columns.", headings, rows, sortable=True)}</div>{more}'


def _cells(
    name: str, kind: str, n_missing: int, n_distinct: int, n_rows: int, summary: Summary
) -> list[str | Cell]:
    share, missing = n_missing / n_rows, "—"
    if n_missing:
        bar = f'<span class="share" aria-hidden="true"><i style="width:{100 * share:.3g}%"></i></span>'
        missing = f"{n_missing:,} ({share_of(n_missing, n_rows)}){bar}"
    return [name, kind, Cell(missing, share), Cell(f"{n_distinct:,}", n_distinct), *summary]


def _missing(data: Data, task: Task) -> str:
    gaps = [column for column in data.columns if column.learnable and column.n_missing]
    if not gaps:
        return notes(["No value is missing in the columns that are learnt from."])
    how = "; ".join(words for kind, words in HOW_FILLED.items() if any(item.kind == kind for item in gaps))
    n_gaps = sum(column.n_missing for column in gaps)
    values = "value is" if n_gaps == 1 else "values are"
    where = " inside the cross-validation, from the training rows of each fold alone"
    first = f"{n_gaps:,} {values} missing, in {len(gaps)} of {data.X.shape[1]} columns."
    return notes([first, f"What is missing is filled{where if task != 'clustering' else ''}: {how}."])
