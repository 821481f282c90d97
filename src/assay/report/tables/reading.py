"""Reading a table, whole or by blocks: CSV in any dialect, Parquet, Arrow, standard input, embedded ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.byte_streams import BROKEN, PACKED_ENDINGS, on_disk, opened, reason_of
from assay.report.tables.csv_files import UNNAMED, check_names, csv_blocks, listed, read_csv
from assay.report.tables.schema import Column

PLAIN_ENDINGS = (".csv", ".tsv", ".txt")
CSV_ENDINGS = (*PLAIN_ENDINGS, *(plain + packed for plain in PLAIN_ENDINGS for packed in PACKED_ENDINGS))
PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (".feather", ".arrow", ".ipc")
STANDARD_INPUT = "-"


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


def read_table(source: str | Path, *, without: Sequence[str] = ()) -> RawTable:
    """Read a CSV, Parquet or Arrow file, a folder of Parquet files, standard input, or an embedded table.

    Parameters
    ----------
    source : path
        A file (CSV may be packed by gzip, bzip2, xz or zip), a folder, "-" for standard input, or the name of
        an embedded table.
    without : sequence of str
        Columns that nobody wants: those of Parquet files are left on the disk.

    Examples
    --------
    >>> from assay.report import read_table
    >>> read_table("us_arrests").frame.shape
    (50, 4)
    """
    with located(source) as (place, name, kind):
        if kind is None:
            return _embedded(str(source), place)
        if kind == "CSV":
            where = name if str(source) == STANDARD_INPUT else str(Path(source))
            frame, notes = read_csv(place, name)
            table = RawTable(name, frame, source=where, notes=notes)
            if frame.shape[1] > 1 and str(frame.columns[0]) == UNNAMED:  # as pandas and R write names of rows
                names = tuple(str(item) for item in frame.iloc[:, 0])
                note = "The first column has no name: it was taken for the names of the rows."
                table = replace(table, frame=frame.iloc[:, 1:], row_names=names, notes=(*notes, note))
        else:
            table = _read_arrow(place, name, kind, without)
    if 0 in table.frame.shape:
        raise ReportError(f"{table.name} has no rows.")
    if table.frame.shape[0] == 1:
        raise ReportError(f"{table.name} has one row only; there is nothing to compare on.")
    return table


@contextmanager
def located(source: str | Path) -> Iterator[tuple[Any, str, str | None]]:
    """Where the bytes of a table are, its name and its kind: lines of CSV, else a path or an open file."""
    with ExitStack() as stack:
        place: Any = Path(source)
        kind: str | None
        if str(source) == STANDARD_INPUT:
            name = "standard input"
            place = stack.enter_context(opened(sys.stdin.buffer, name))
            marks = {b"PAR1": "Parquet", b"ARROW1": "Arrow"}
            kind = next((kind for mark, kind in marks.items() if place.opening.startswith(mark)), "CSV")
            if kind != "CSV":  # to be read in any order, which a stream cannot
                place = stack.enter_context(on_disk(place))
        else:
            name, kind = place.name or place.resolve().name, kind_of(place)
            if kind == "CSV":
                place = stack.enter_context(opened(place, name))
        yield place, name, kind


def kind_of(path: Path) -> str | None:
    """Whether a path is "CSV", "Parquet", "Arrow" or a "folder" of Parquet; None where nothing is to read."""
    if path.is_dir():
        return "folder" if parquet_files(path) else None
    if not path.is_file():
        return None
    ending = path.name.lower()
    for kind, endings in (("Parquet", PARQUET_ENDINGS), ("Arrow", ARROW_ENDINGS), ("CSV", CSV_ENDINGS)):
        if ending.endswith(endings):
            return kind
    known = ", ".join((*PLAIN_ENDINGS, *PARQUET_ENDINGS, *ARROW_ENDINGS))
    raise ReportError(
        f"The ending of {path.name} does not tell what it is; it must be one of {known} "
        f"(text also packed: {', '.join(PACKED_ENDINGS)})."
    )


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files in a folder and the folders in it, by name."""
    paths = (path for ending in PARQUET_ENDINGS for path in folder.rglob(f"*{ending}"))
    # What begins with a dot or an underscore is a draft or a log, as Spark leaves them.
    return sorted(path for path in paths if path.is_file() and path.name[0] not in "._")


def require_column(table: RawTable, name: str) -> None:
    """Refuse a name that is no column, with the nearest that is one, or those there are."""
    if name not in table.frame.columns:
        near = get_close_matches(name, [str(column) for column in table.frame.columns], n=1)
        way = f"did you mean {near[0]!r}?" if near else f"its columns are {listed(table.frame.columns)}."
        raise ReportError(f"{table.name} has no column {name!r}; {way}")


def _embedded(name: str, path: Path) -> RawTable:
    from assay import datasets

    if name not in datasets.available():
        if path.is_dir():
            raise ReportError(
                f"{name} is a folder without Parquet files; give one CSV, Parquet or Arrow file."
            )
        known = ", ".join(sorted(datasets.available()))
        raise ReportError(f"There is no file {name}, and no embedded table of that name (there are {known}).")
    table = datasets.load(name)
    frame, about = table.frame.reset_index(drop=True), (table.description, table.source)
    classes = None if table.target_names is None else tuple(map(str, table.target_names))
    return RawTable(name, frame, table.target_name, table.row_names, classes, *about)


def arrow() -> Any:
    """The package pyarrow, or a sentence that tells how to get it."""
    try:
        import pyarrow as pa
        import pyarrow.dataset
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError as error:  # pragma: no cover
        raise ReportError(
            "Parquet and Arrow files need pyarrow: install it with pip install 'assay[cli]'."
        ) from error
    return pa


def not_whole(name: str, kind: str) -> ReportError:
    """The error for a file that is not what its ending says."""
    if kind == "folder":
        return ReportError(f"The Parquet files of {name} cannot be read together (cut short, or unlike).")
    article = "an" if kind == "Arrow" else "a whole"
    return ReportError(f"{name} is not {article} {kind} file (cut short, or another format).")


def _read_arrow(place: Path | IO[bytes], name: str, kind: str, without: Sequence[str] = ()) -> RawTable:
    pa = arrow()
    try:
        if kind == "folder":
            assert isinstance(place, Path)
            folder = pa.dataset.dataset(parquet_files(place), partitioning="hive")
            names = folder.schema.names
            table = folder.to_table(columns=_wanted(names, without))
        elif kind == "Parquet":
            names = pa.parquet.read_schema(place).names
            check_names(names, name)
            table = pa.parquet.read_table(place, columns=_wanted(names, without))
        else:
            table = pa.feather.read_table(place)
            names = table.column_names
    except PermissionError as error:
        raise ReportError(f"{name} cannot be read: {reason_of(error)}.") from error
    except (pa.ArrowException, OSError) as error:
        raise not_whole(name, kind) from error
    check_names(table.column_names, name)
    frame = table.to_pandas()
    frame.columns = frame.columns.map(str)
    source = str(place) if isinstance(place, Path) else name
    unread = tuple(column for column in names if column not in table.column_names)
    row_names = None if isinstance(frame.index, pd.RangeIndex) else tuple(map(str, frame.index))
    frame = frame if row_names is None else frame.reset_index(drop=True)
    return RawTable(name, frame, row_names=row_names, source=source, unread=unread)


def _wanted(names: Sequence[str], without: Sequence[str]) -> list[str] | None:
    """The columns to read; None for all, also where none would be left: that is for others to say."""
    kept = [name for name in names if name not in without]
    return kept if 0 < len(kept) < len(names) else None


BLOCK_ROWS = 65_536
BLOCK_VALUES = 2**21
"""A block has at most so many rows, and so many values of all columns together (at least 256 rows)."""


def table_blocks(
    source: str | Path, columns: Sequence[Column], *, keep: Sequence[str] = (), n_features: int = 1
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
            blocks = csv_blocks(place, name, n_rows=n_rows, words=words)
        else:
            blocks = _arrow_blocks(place, name, kind, wanted, n_rows)
        for block in blocks:
            if not begun:
                _require(block.columns, used, keep)
            if len(block):
                begun = True
                yield block[wanted]
        if not begun:
            raise ReportError(f"{name} has no rows.")


def _arrow_blocks(
    place: Path | IO[bytes], name: str, kind: str, wanted: Sequence[str], n_rows: int
) -> Iterator[pd.DataFrame]:
    pa = arrow()
    batches: Any = {"Parquet": _parquet_batches, "Arrow": _ipc_batches, "folder": _folder_batches}[kind]
    try:
        for batch in batches(pa, place, wanted, n_rows):
            for start in range(0, max(batch.num_rows, 1), n_rows):
                frame = batch.slice(start, n_rows).to_pandas(ignore_metadata=True)
                frame.columns = frame.columns.map(str)
                yield frame
    except PermissionError as error:
        raise ReportError(f"{name} cannot be read: {reason_of(error)}.") from error
    except (pa.ArrowException, *BROKEN) as error:
        raise not_whole(name, kind) from error


def _parquet_batches(pa: Any, place: Path | IO[bytes], wanted: Sequence[str], n_rows: int) -> Iterator[Any]:
    # Read through a small buffer: else pyarrow holds the columns of a whole row group.
    with pa.parquet.ParquetFile(place, pre_buffer=False, buffer_size=2**20) as file:
        names = file.schema_arrow.names
        yield pa.RecordBatch.from_pylist([], schema=file.schema_arrow)
        yield from file.iter_batches(n_rows, columns=[name for name in names if name in wanted])


def _folder_batches(pa: Any, place: Path, wanted: Sequence[str], n_rows: int) -> Iterator[Any]:
    data = pa.dataset.dataset(parquet_files(place), partitioning="hive")
    yield pa.RecordBatch.from_pylist([], schema=data.schema)
    columns = [name for name in data.schema.names if name in wanted]
    yield from data.to_batches(columns=columns, batch_size=n_rows, batch_readahead=1, fragment_readahead=1)


def _ipc_batches(pa: Any, place: Path | IO[bytes], wanted: Sequence[str], n_rows: int) -> Iterator[Any]:
    with ExitStack() as stack:
        file = stack.enter_context(pa.OSFile(str(place))) if isinstance(place, Path) else place
        with pa.ipc.open_file(file) as whole:
            schema = whole.schema
        yield pa.RecordBatch.from_pylist([], schema=schema)
        fields = [index for index, name in enumerate(schema.names) if name in wanted]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with pa.ipc.open_file(file, options=options) as reader:
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


def _require(names: Any, used: Sequence[str], keep: Sequence[str]) -> None:
    missing = [name for name in used if name not in names]
    if missing:
        plural = "columns" if len(missing) > 1 else "column"
        raise ReportError(f"The table lacks the {plural} {listed(missing)} that the model was fitted on.")
    absent = [name for name in keep if name not in names]
    if absent:
        raise ReportError(f"The table has no column {absent[0]!r} to keep; its columns are {listed(names)}.")
