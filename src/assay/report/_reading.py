"""Reading a table: CSV in any common dialect, Parquet, Arrow, standard input, or an embedded one by name."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.report._errors import ReportError

try:
    import pandas as pd
except ImportError as error:  # pragma: no cover
    raise ImportError("Reports need pandas: install it with pip install 'assay[cli]'.") from error

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (".feather", ".arrow", ".ipc")
SEPARATORS = (",", ";", "\t", "|")
STANDARD_INPUT = "-"
UNNAMED = "Unnamed: 0"
"""What pandas calls a first column that has no name."""

OPENING_BYTES = 2**20
"""A table has at least one end of line in so many bytes."""

NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
DECIMAL_COMMA = re.compile(r"^\s*[-+]?\d+,\d+\s*$")


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
    """

    name: str
    frame: pd.DataFrame
    target: str | None = None
    row_names: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    description: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()


class Dialect(NamedTuple):
    """How a CSV file is written."""

    encoding: str
    separator: str
    decimal: str
    header: bool
    notes: tuple[str, ...]


def read_table(source: str | Path) -> RawTable:
    """Read a CSV, Parquet or Arrow file, standard input ("-"), or an embedded table by its name.

    Examples
    --------
    >>> from assay.report import read_table
    >>> read_table("us_arrests").frame.shape
    (50, 4)
    """
    if str(source) == STANDARD_INPUT:
        return _checked(_from_bytes(sys.stdin.buffer.read()))
    path = Path(source)
    if not path.is_file():
        return _embedded(str(source), path)
    ending = path.name.lower()
    if ending.endswith(PARQUET_ENDINGS):
        return _checked(_read_arrow(path, path.name, "Parquet"))
    if ending.endswith(ARROW_ENDINGS):
        return _checked(_read_arrow(path, path.name, "Arrow"))
    if ending.endswith(CSV_ENDINGS):
        return _checked(_read_csv(path, path.name))
    known = ", ".join((*CSV_ENDINGS, *PARQUET_ENDINGS, *ARROW_ENDINGS))
    raise ReportError(f"The ending of {path.name} does not tell what it is; it must be one of {known}.")


def require_column(table: RawTable, name: str) -> None:
    """Refuse a name that is no column, listing those there are."""
    if name not in table.frame.columns:
        raise ReportError(
            f"{table.name} has no column {name!r}; its columns are {listed(table.frame.columns)}."
        )


def listed(names: Any, limit: int = 12) -> str:
    """Names in quotes, the first dozen of them."""
    names = [repr(str(name)) for name in names]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _embedded(name: str, path: Path) -> RawTable:
    from assay import datasets

    if name not in datasets.available():
        if path.is_dir():
            raise ReportError(f"{name} is a folder; give one CSV, Parquet or Arrow file.")
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


def _from_bytes(content: bytes) -> RawTable:
    name = "standard input"
    if content[:4] == b"PAR1":
        return _read_arrow(io.BytesIO(content), name, "Parquet")
    if content[:6] == b"ARROW1":
        return _read_arrow(io.BytesIO(content), name, "Arrow")
    return _read_csv(io.BytesIO(content), name)


def _read_csv(place: Path | io.BytesIO, name: str) -> RawTable:
    try:
        head = sniffed_opening(place)
        dialect = sniff(head, name)
        text = head.decode(dialect.encoding, errors="ignore")
        lines = csv.reader(io.StringIO(text), delimiter=dialect.separator)
        names, first = next(lines), next(lines, [])
        if dialect.header:
            _check_names(names, name)
        frame = pd.read_csv(
            place,
            sep=dialect.separator,
            decimal=dialect.decimal,
            encoding=dialect.encoding,
            header=0 if dialect.header else None,
            low_memory=False,
            skipinitialspace=True,
        )
    except UnicodeDecodeError as error:
        raise ReportError(
            f"{name} is not UTF-8 text (byte {error.object[error.start]:#04x} at position {error.start}); "
            "save it as UTF-8."
        ) from error
    except (pd.errors.ParserError, csv.Error) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip().rstrip(".")
        raise ReportError(f"{name} cannot be read as CSV: {reason}.") from error
    except (OSError, EOFError) as error:
        raise ReportError(f"{name} cannot be read: {_reason(error)}.") from error
    if not dialect.header:
        frame.columns = pd.Index([f"column {number}" for number in range(1, frame.shape[1] + 1)])
    elif len(first) > len(names):  # pandas takes the fields before those the header names for the index
        frame = _with_unnamed_first(frame, name)
    return _with_row_names(name, str(place) if isinstance(place, Path) else name, frame, dialect.notes)


def sniff(head: bytes, name: str) -> Dialect:
    r"""Tell encoding, separator, decimal mark and header from the opening of a file.

    Examples
    --------
    >>> from assay.report._reading import sniff
    >>> sniff("prix;âge\n1,5;30\n".encode("cp1252"), "t.csv")[:4]
    ('cp1252', ';', ',', True)
    """
    if not head.strip():
        raise ReportError(f"{name} is empty.")
    notes: list[str] = []
    encoding = _encoding(head, name, notes)
    text = head.decode(encoding, errors="ignore")
    if not text.strip():
        raise ReportError(f"{name} is empty.")
    if len(head) >= OPENING_BYTES and "\n" not in text and "\r" not in text:
        raise ReportError(f"{name} has no end of line in its first {OPENING_BYTES} bytes; it is no table.")
    lines = [line for line in text.splitlines() if line.strip()]
    whole = lines[:-1] if len(head) >= OPENING_BYTES and len(lines) > 1 else lines
    separator = max(SEPARATORS, key=lambda mark: whole[0].count(mark))
    fields = list(csv.reader(whole[:200], delimiter=separator))
    cells = [cell for line in fields[1:] for cell in line]
    commas = separator != "," and any(DECIMAL_COMMA.match(cell) for cell in cells)
    header = not _are_all_numbers(fields[0])
    if not header:
        notes.append("The first line holds numbers, not names: the columns were numbered.")
    if separator not in (",", "\t"):
        notes.append(f"Columns are separated by {separator!r}.")
    if commas:
        notes.append("Decimal commas were read as decimal points.")
    return Dialect(encoding, separator, "," if commas else ".", header, tuple(notes))


def _encoding(head: bytes, name: str, notes: list[str]) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in head:
        raise ReportError(f"{name} is not text: it holds zero bytes; export it as CSV or Parquet.")
    cut = head if len(head) < OPENING_BYTES else head[: head.rfind(b"\n") + 1] or head
    try:
        cut.decode("utf-8-sig")
    except UnicodeDecodeError:
        controls = sum(byte < 32 and byte not in (9, 10, 12, 13) for byte in head)
        if controls > len(head) / 100:
            raise ReportError(f"{name} is not text; export it as CSV or Parquet.") from None
        notes.append("The text is not UTF-8; it was read as Windows-1252 (Western European).")
        return "cp1252"
    return "utf-8-sig"


def _are_all_numbers(fields: Sequence[str]) -> bool:
    return bool(fields) and all(NUMBER.fullmatch(field.strip()) for field in fields)


def sniffed_opening(place: Path | io.BytesIO) -> bytes:
    """The first bytes of a file, unpacked."""
    if isinstance(place, io.BytesIO):
        return place.getvalue()[:OPENING_BYTES]
    opener: Any = gzip.open if place.suffix == ".gz" else open
    with opener(place, "rb") as file:
        return bytes(file.read(OPENING_BYTES))


def _read_arrow(place: Path | io.BytesIO, name: str, kind: str) -> RawTable:
    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet as pq
    except ImportError as error:  # pragma: no cover
        raise ReportError(f"{kind} files need pyarrow: install it with pip install 'assay[cli]'.") from error
    try:
        if kind == "Parquet":
            _check_names(pq.read_schema(place).names, name)
        table = pq.read_table(place) if kind == "Parquet" else pyarrow.feather.read_table(place)
    except PermissionError as error:
        raise ReportError(f"{name} cannot be read: {_reason(error)}.") from error
    except (pa.ArrowException, OSError) as error:
        article = "an" if kind == "Arrow" else "a whole"
        raise ReportError(f"{name} is not {article} {kind} file (cut short, or another format).") from error
    _check_names(table.column_names, name)
    frame = table.to_pandas()
    frame.columns = frame.columns.map(str)
    source = str(place) if isinstance(place, Path) else name
    if isinstance(frame.index, pd.RangeIndex):
        return RawTable(name=name, frame=frame, source=source)
    names = tuple(str(item) for item in frame.index)
    return RawTable(name=name, frame=frame.reset_index(drop=True), row_names=names, source=source)


def _with_unnamed_first(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Make a column of the one field that the header does not name, as R's write.table leaves it."""
    if frame.index.nlevels > 1:
        raise ReportError(f"The rows of {name} have more fields than its header has names.")
    frame.insert(0, UNNAMED, frame.index)
    return frame.reset_index(drop=True)


def _with_row_names(name: str, source: str, frame: pd.DataFrame, notes: tuple[str, ...]) -> RawTable:
    """Take a first column without a name, as pandas and R write it, for the names of the rows."""
    if frame.shape[1] > 1 and str(frame.columns[0]) == UNNAMED:
        names = tuple(str(item) for item in frame.iloc[:, 0])
        note = "The first column has no name: it was taken for the names of the rows."
        return RawTable(name, frame.iloc[:, 1:], row_names=names, source=source, notes=(*notes, note))
    return RawTable(name, frame, source=source, notes=notes)


def _check_names(names: Sequence[Any], where: str) -> None:
    twice = [str(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ReportError(f"{where} has more than one column named {listed(twice)}; give each its own name.")


def _checked(table: RawTable) -> RawTable:
    if table.frame.shape[0] == 0 or table.frame.shape[1] == 0:
        raise ReportError(f"{table.name} has no rows.")
    if table.frame.shape[0] == 1:
        raise ReportError(f"{table.name} has one row only; there is nothing to compare on.")
    return table


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).rstrip(".").lower()
