"""The rows of a table a block at a time, so that the length of the table does not matter."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.byte_streams import BROKEN, opened, reason_of
from assay.report.tables.csv_files import csv_blocks, listed
from assay.report.tables.reading import (
    STANDARD_INPUT,
    arrow,
    called,
    kind_of,
    kind_of_bytes,
    not_whole,
    on_disk,
    parquet_files,
    read_table,
)
from assay.report.tables.schema import Column

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
    for block in _all_columns(source, wanted, words, min(n_rows, BLOCK_ROWS)):
        if not begun:
            _require(block.columns, used, keep)
        if len(block):
            begun = True
            yield block[wanted]
    if not begun:
        raise ReportError(f"{_name(source)} has no rows.")


def _all_columns(
    source: str | Path, wanted: Sequence[str], words: Sequence[str], n_rows: int
) -> Iterator[pd.DataFrame]:
    name = _name(source)
    if str(source) == STANDARD_INPUT:
        with opened(sys.stdin.buffer, name) as lines:
            told = kind_of_bytes(lines.opening)
            if told == "CSV":
                yield from csv_blocks(lines, name, n_rows=n_rows, words=words)
            else:
                with on_disk(lines) as file:
                    yield from _arrow_blocks(file, name, told, wanted, n_rows)
        return
    path = Path(source)
    kind = kind_of(path)
    if kind is None:
        yield read_table(source).frame
    elif kind == "CSV":
        with opened(path, name) as lines:
            yield from csv_blocks(lines, name, n_rows=n_rows, words=words)
    else:
        yield from _arrow_blocks(path, name, kind, wanted, n_rows)


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
    yield from data.to_batches(
        columns=[name for name in data.schema.names if name in wanted],
        batch_size=n_rows,
        batch_readahead=1,
        fragment_readahead=1,
    )


def _ipc_batches(pa: Any, place: Path | IO[bytes], wanted: Sequence[str], n_rows: int) -> Iterator[Any]:
    with contextlib.ExitStack() as stack:
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


def _name(source: str | Path) -> str:
    return "standard input" if str(source) == STANDARD_INPUT else called(Path(source))
