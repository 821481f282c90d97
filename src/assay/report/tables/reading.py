"""Reading a table: CSV in any common dialect, Parquet, Arrow, standard input, or an embedded one by name."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from assay.report.errors import ReportError
from assay.report.tables.byte_streams import OPENING_BYTES, PACKED_ENDINGS, opened, reason_of
from assay.report.tables.csv_files import UNNAMED, check_names, listed, read_csv

if TYPE_CHECKING:
    import pandas as pd

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
    if str(source) == STANDARD_INPUT:
        return _checked(_from_standard_input())
    path = Path(source)
    kind = kind_of(path)
    if kind is None:
        return _embedded(str(source), path)
    if kind == "CSV":
        with opened(path, path.name) as lines:
            frame, notes = read_csv(lines, path.name)
        return _checked(_with_row_names(path.name, str(path), frame, notes))
    return _checked(_read_arrow(path, called(path), kind, without))


def called(path: Path) -> str:
    """The name of a file or folder; "." has that of the folder it is."""
    return path.name or path.resolve().name


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
    return RawTable(
        name=name,
        frame=table.frame.reset_index(drop=True),
        target=table.target_name,
        row_names=table.row_names,
        classes=None if table.target_names is None else tuple(map(str, table.target_names)),
        description=table.description,
        source=table.source,
    )


def _from_standard_input() -> RawTable:
    name, stream = "standard input", sys.stdin.buffer
    with opened(stream, name) as lines:
        kind = kind_of_bytes(lines.opening)
        if kind != "CSV":
            with on_disk(lines) as file:
                return _read_arrow(file, name, kind)
        frame, notes = read_csv(lines, name)
        return _with_row_names(name, name, frame, notes)


def kind_of_bytes(opening: bytes) -> str:
    """The format that the first bytes of a table tell."""
    if opening.startswith(b"PAR1"):
        return "Parquet"
    return "Arrow" if opening.startswith(b"ARROW1") else "CSV"


def on_disk(stream: io.RawIOBase) -> IO[bytes]:
    """A copy of a stream that can be read in any order; it is gone when it is closed."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115  (the caller closes it)
    while piece := stream.read(OPENING_BYTES):
        copy.write(piece)
    copy.seek(0)
    return copy


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
    if type(frame.index).__name__ == "RangeIndex":
        return RawTable(name=name, frame=frame, source=source, unread=unread)
    row_names = tuple(str(item) for item in frame.index)
    frame = frame.reset_index(drop=True)
    return RawTable(name=name, frame=frame, row_names=row_names, source=source, unread=unread)


def _wanted(names: Sequence[str], without: Sequence[str]) -> list[str] | None:
    """The columns to read; None for all, also where none would be left: that is for others to say."""
    kept = [name for name in names if name not in without]
    return kept if 0 < len(kept) < len(names) else None


def _with_row_names(name: str, source: str, frame: pd.DataFrame, notes: tuple[str, ...]) -> RawTable:
    """Take a first column without a name, as pandas and R write it, for the names of the rows."""
    if frame.shape[1] > 1 and str(frame.columns[0]) == UNNAMED:
        names = tuple(str(item) for item in frame.iloc[:, 0])
        note = "The first column has no name: it was taken for the names of the rows."
        return RawTable(name, frame.iloc[:, 1:], row_names=names, source=source, notes=(*notes, note))
    return RawTable(name, frame, source=source, notes=notes)


def _checked(table: RawTable) -> RawTable:
    if table.frame.shape[0] == 0 or table.frame.shape[1] == 0:
        raise ReportError(f"{table.name} has no rows.")
    if table.frame.shape[0] == 1:
        raise ReportError(f"{table.name} has one row only; there is nothing to compare on.")
    return table
