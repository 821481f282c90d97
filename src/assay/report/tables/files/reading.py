"""Reading a table, whole or by blocks: text in any dialect, workbooks, Parquet, Arrow, embedded ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.files.arrow_files import arrow_blocks, read_arrow
from assay.report.tables.files.csv_files import UNNAMED, csv_blocks, read_csv
from assay.report.tables.files.interpreting import interpret
from assay.report.tables.files.json_lines import json_blocks, read_json
from assay.report.tables.files.options import Reading
from assay.report.tables.files.places import (
    PARQUET_ENDINGS,
    STANDARD_INPUT,
    located,
    not_there,
    require_one_kind,
)
from assay.report.tables.files.totals import without_totals
from assay.report.tables.files.workbooks import read_workbook
from assay.report.tables.schema import Column
from assay.report.wording import listed, short, suggestion

AS_IT_IS = Reading()
__all__ = ["PARQUET_ENDINGS", "STANDARD_INPUT", "RawTable", "read_table", "require_column", "table_blocks"]


@dataclass(frozen=True)
class RawTable:
    """A table as it was read.

    Attributes
    ----------
    name : str
        Name of the table, for titles.
    frame : DataFrame
        All columns.
    target : str or None
        The target that the table itself declares (embedded tables only).
    row_names : tuple of str or None
        Names of the rows.
    classes : tuple of str or None
        Names of the classes 0, 1, … of the declared target.
    description : str
        What the table is about.
    source : str
        Where it was read from.
    notes : tuple of str
        What was decided while reading.
    unread : tuple of str
        Columns that were left on the disk because nobody wants them.
    reading : Reading
        What the user said about how to read it.
    missing : mapping of str to tuple of str
        What was read as a missing value, by column.
    units : mapping of str to str
        The currency, per cent sign or unit of columns that have one.
    decimals : mapping of str to str
        The decimal mark of columns that have another than the file.
    """

    name: str
    frame: pd.DataFrame
    target: str | None = None
    row_names: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    description: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    reading: Reading = AS_IT_IS
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    decimals: Mapping[str, str] = field(default_factory=dict)


def read_table(
    source: str | Path, *, without: Sequence[str] = (), reading: Reading | None = None
) -> RawTable:
    """Read a CSV, JSON, Excel, Parquet or Arrow file, a folder of Parquet files, or an embedded table.

    Texts that are numbers to a person ($7,440, 60%, 1 234, (12)) become numbers, and it is noted.

    Parameters
    ----------
    source : path
        A file (text may be packed by gzip, bzip2, xz, zip or zstandard), a folder, "-" for standard input, or
        the name of an embedded table.
    without : sequence of str
        Columns that nobody wants: those of Parquet files are left on the disk.
    reading : Reading, optional
        What the user says about the file and the values of its columns.

    Examples
    --------
    >>> from assay.report import read_table
    >>> read_table("us_arrests").frame.shape
    (50, 4)
    """
    reading = reading or Reading()
    with located(source) as (place, name, kind):
        if kind is None:
            return _embedded(str(source), place)
        where = name if str(source) == STANDARD_INPUT else str(Path(source))
        decimal, notes = ".", tuple[str, ...]()
        row_names: tuple[str, ...] | None = None
        unread: tuple[str, ...] = ()
        if kind == "CSV":
            frame, decimal, notes = read_csv(place, name, reading, reading.categorical)
        elif kind == "JSON":
            frame = read_json(place, name)
        elif kind == "Excel":
            frame, notes = read_workbook(place, name, reading)
        else:
            if kind == "folder":
                require_one_kind(place)
            frame, row_names, unread = read_arrow(place, name, kind, without)
    if 0 in frame.shape:
        raise ReportError(f"{name} has no rows.")
    if frame.shape[1] > 1 and str(frame.columns[0]) == UNNAMED:  # as pandas and R write names of rows
        row_names = tuple(str(item) for item in frame.iloc[:, 0])
        frame = frame.iloc[:, 1:]
        notes = (*notes, "The first column has no name: it was taken for the names of the rows.")
    if frame.shape[0] == 1:
        raise ReportError(f"{name} has one row only; there is nothing to compare on.")
    reading.check(name, [*map(str, frame.columns), *unread])
    told: tuple[str, ...] = ()
    if kind in ("CSV", "Excel"):  # sheets as people write them
        frame, row_names, told = without_totals(frame, row_names, decimal)
    meant = interpret(frame, decimal, reading, typed=kind != "CSV")
    return RawTable(
        name,
        meant.frame,
        row_names=row_names,
        source=where,
        notes=(*notes, *reading.unused(kind), *told, *meant.notes),
        unread=unread,
        reading=reading,
        missing=meant.missing,
        units=meant.units,
        decimals=meant.decimals,
    )


def require_column(table: RawTable, name: str) -> None:
    """Refuse a name that is no column, with the nearest that is one, or those there are."""
    if name not in table.frame.columns:
        names = [str(column) for column in table.frame.columns]
        way = suggestion(name, names).lstrip() or f"Its columns are {listed(names)}."
        if len(names) == 1 and table.reading.separator is not None:
            line = f"its lines are one column, {short(names[0])!r}"
            way = f"{line}, where {table.reading.separator!r} separates: leave out --separator."
        raise ReportError(f"{table.name} has no column {name!r}; {way[0].lower()}{way[1:]}")


def _embedded(name: str, path: Path) -> RawTable:
    from assay import datasets

    if name not in datasets.available():
        raise not_there(name, path, sorted(datasets.available()))
    table = datasets.load(name)
    frame, about = table.frame.reset_index(drop=True), (table.description, table.source)
    classes = None if table.target_names is None else tuple(map(str, table.target_names))
    return RawTable(name, frame, table.target_name, table.row_names, classes, *about)


BLOCK_ROWS = 65_536
BLOCK_VALUES = 2**21
"""A block has at most so many rows, and so many values of all columns together (at least 256 rows)."""


def table_blocks(
    source: str | Path,
    columns: Sequence[Column],
    *,
    keep: Sequence[str] = (),
    n_features: int = 1,
    reading: Reading | None = None,
) -> Iterator[pd.DataFrame]:
    """Blocks of the columns that a model looks at, and of those to keep; no block is empty.

    The kind of a column is that of the fit, not what one block of it looks like: a block of a column of words
    that holds digits only is a block of words. Files are read from front to back; what comes from a pipe and
    cannot be read so is kept on the disk meanwhile.

    Examples
    --------
    >>> from assay.report import describe_columns, read_table
    >>> columns = describe_columns(read_table("us_arrests").frame)
    >>> [block.shape for block in table_blocks("us_arrests", columns)]
    [(50, 4)]
    """
    used = [column.name for column in columns if column.learnable]
    wanted = list(dict.fromkeys((*used, *keep)))
    words = [column.name for column in columns if column.learnable and column.kind != "numeric"]
    words += [name for name in keep if name not in used]
    n_rows = int(np.clip(BLOCK_VALUES // max(n_features, len(wanted), 1), 256, BLOCK_ROWS))
    begun = False
    with located(source) as (place, name, kind):
        if kind is None:
            blocks = iter([read_table(source).frame])
        elif kind == "CSV":
            blocks = csv_blocks(place, name, n_rows=n_rows, words=words, reading=reading, columns=columns)
        elif kind == "JSON":
            blocks = json_blocks(place, name, n_rows)
        elif kind == "Excel":
            blocks = iter([read_workbook(place, name, reading or Reading())[0]])
        else:
            if kind == "folder":
                require_one_kind(place)
            blocks = arrow_blocks(place, name, kind, wanted, n_rows)
        for block in blocks:
            if not begun:
                _require(block.columns, used, keep)
            if len(block):
                begun = True
                yield block[wanted]
        if not begun:
            raise ReportError(f"{name} has no rows.")


def _require(names: Any, used: Sequence[str], keep: Sequence[str]) -> None:
    missing = [name for name in used if name not in names]
    if missing:
        plural = "columns" if len(missing) > 1 else "column"
        near = suggestion(missing[0], map(str, names))
        raise ReportError(
            f"The table lacks the {plural} {listed(missing)} that the model was fitted on.{near}"
        )
    absent = [name for name in keep if name not in names]
    if absent:
        near = suggestion(absent[0], map(str, names))
        way = near.lstrip() or f"Its columns are {listed(names)}."
        raise ReportError(f"The table has no column {absent[0]!r} to keep; {way[0].lower()}{way[1:]}")
