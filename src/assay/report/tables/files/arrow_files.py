"""Parquet and Arrow files, and folders of Parquet files: read whole, or a block of rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.files.byte_streams import BROKEN, reason_of
from assay.report.tables.files.csv_files import check_names
from assay.report.tables.files.places import not_whole, parquet_files
from assay.report.wording import listed


class ArrowTable(NamedTuple):
    """A frame, the names of its rows, and the columns that were left on the disk."""

    frame: pd.DataFrame
    row_names: tuple[str, ...] | None
    unread: tuple[str, ...]


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


def read_arrow(place: Path | IO[bytes], name: str, kind: str, without: Sequence[str] = ()) -> ArrowTable:
    """The whole table, but for columns that nobody wants."""
    pa = arrow()
    try:
        if kind == "folder":
            assert isinstance(place, Path)
            _require_one_schema(pa, place, name)
            folder = pa.dataset.dataset(parquet_files(place), partitioning="hive")
            names = folder.schema.names
            table = folder.to_table(columns=_wanted(names, without))
        elif kind == "Parquet":
            names = pa.parquet.read_schema(place).names
            check_names(names, name)
            table = _read_parquet(pa, place, _wanted(names, without) or names)
        else:
            table = pa.feather.read_table(place)
            names = table.column_names
    except PermissionError as error:
        raise ReportError(f"{name} cannot be read: {reason_of(error)}.") from error
    except (pa.ArrowException, OSError) as error:
        raise not_whole(name, kind) from error
    check_names(table.column_names, name)
    frame = _plain(pa, table.to_pandas(), table.schema)
    were_read = set(table.column_names)
    unread = tuple(column for column in names if column not in were_read)
    row_names = None if isinstance(frame.index, pd.RangeIndex) else tuple(map(str, frame.index))
    frame = frame if row_names is None else frame.reset_index(drop=True)
    return ArrowTable(frame, row_names, unread)


def _plain(pa: Any, frame: pd.DataFrame, schema: Any) -> pd.DataFrame:
    """A frame with names of text, exact decimals (the money of databases) as floats, durations as seconds."""
    frame.columns = frame.columns.map(str)
    for field in schema:
        if field.name not in frame.columns:  # it names the rows
            continue
        if pa.types.is_decimal(field.type):
            frame[field.name] = frame[field.name].astype("float64")
        elif pa.types.is_duration(field.type):
            frame[field.name] = frame[field.name].dt.total_seconds()
    return frame


COLUMNS_AT_ONCE = 2000
"""Columns of a Parquet file that are read together: what pyarrow holds besides grows with their square."""


def _read_parquet(pa: Any, place: Path | IO[bytes], names: Sequence[str]) -> Any:
    """These columns of a whole file."""
    with pa.parquet.ParquetFile(place) as file:
        starts = range(0, max(len(names), 1), COLUMNS_AT_ONCE)
        parts = [file.read(columns=list(names[start : start + COLUMNS_AT_ONCE])) for start in starts]
        metadata = file.schema_arrow.metadata
    fields = [field for part in parts for field in part.schema]
    columns = [column for part in parts for column in part.columns]
    return pa.table(columns, schema=pa.schema(fields, metadata=metadata))


def _require_one_schema(pa: Any, folder: Path, name: str) -> None:
    """Refuse Parquet files with different columns: of those that some lack, others would be half empty."""
    first, *others = parquet_files(folder)
    names = pa.parquet.read_schema(first).names
    for path in others:
        unlike = set(names) ^ set(pa.parquet.read_schema(path).names)
        if unlike:
            raise ReportError(
                f"The Parquet files of {name} are not one table: {path.name} and {first.name} differ in the "
                f"columns {listed(sorted(map(str, unlike)), 3)}; give one of them."
            )


def _wanted(names: Sequence[str], without: Sequence[str]) -> list[str] | None:
    """The columns to read; None for all, also where none would be left: that is for others to say."""
    unwanted = set(without)
    kept = [name for name in names if name not in unwanted]
    return kept if 0 < len(kept) < len(names) else None


def arrow_blocks(
    place: Path | IO[bytes], name: str, kind: str, wanted: Collection[str], n_rows: int
) -> Iterator[pd.DataFrame]:
    """The table in blocks of rows, its wanted columns alone."""
    pa, wanted = arrow(), frozenset(wanted)
    batches: Any = {"Parquet": _parquet_batches, "Arrow": _ipc_batches, "folder": _folder_batches}[kind]
    try:
        for batch in batches(pa, place, wanted, n_rows):
            for start in range(0, max(batch.num_rows, 1), n_rows):
                yield _plain(pa, batch.slice(start, n_rows).to_pandas(ignore_metadata=True), batch.schema)
    except PermissionError as error:
        raise ReportError(f"{name} cannot be read: {reason_of(error)}.") from error
    except (pa.ArrowException, *BROKEN) as error:
        raise not_whole(name, kind) from error


WIDEST_BLOCK = 10_000
"""A Parquet file of more columns is read whole, some columns at a time: it has few rows."""


def _parquet_batches(pa: Any, place: Path | IO[bytes], wanted: Collection[str], n_rows: int) -> Iterator[Any]:
    # Read through a small buffer: else pyarrow holds the columns of a whole row group.
    with pa.parquet.ParquetFile(place, pre_buffer=False, buffer_size=2**20) as file:
        columns = [name for name in file.schema_arrow.names if name in wanted]
        yield pa.RecordBatch.from_pylist([], schema=file.schema_arrow)
        if len(columns) <= WIDEST_BLOCK:
            yield from file.iter_batches(n_rows, columns=columns)
            return
    yield from _read_parquet(pa, place, columns).to_batches(n_rows)


def _folder_batches(pa: Any, place: Path, wanted: Collection[str], n_rows: int) -> Iterator[Any]:
    data = pa.dataset.dataset(parquet_files(place), partitioning="hive")
    yield pa.RecordBatch.from_pylist([], schema=data.schema)
    columns = [name for name in data.schema.names if name in wanted]
    yield from data.to_batches(columns=columns, batch_size=n_rows, batch_readahead=1, fragment_readahead=1)


def _ipc_batches(pa: Any, place: Path | IO[bytes], wanted: Collection[str], n_rows: int) -> Iterator[Any]:
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
