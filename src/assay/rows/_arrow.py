"""Columnar tables: Parquet files, Arrow datasets, Arrow tables."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.rows._columns import feature_columns, not_numbers, require_distinct
from assay.rows._threads import n_threads

BUFFER_BYTES = 2**16
"""Read buffer of one column: a row group is decoded page by page and never held as a whole."""

TAKE_ROWS = 2**14
NULL_IN_X = "X contains NaN; drop or fill those rows first."


Batches = Iterator[tuple[int, pa.RecordBatch]]
"""Batches in order, each with the index of its first row."""


class ColumnTable(Protocol):
    """A table of named columns that is read batch by batch."""

    where: str
    schema: Any
    n_rows: int

    def batches(self, columns: list[str], batch_rows: int, wanted: NDArray | None = None) -> Batches:
        """Read these columns; with `wanted` (increasing) rows, what holds none of them may be skipped."""


class ParquetFiles:
    """Parquet files, one after the other, with the same columns."""

    def __init__(self, paths: Sequence[str], where: str, filesystem: Any = None) -> None:
        self.where, self._paths, self._filesystem = where, list(paths), filesystem
        self._group_rows: list[list[int]] = []
        for path in self._paths:
            with self._open(path) as file:
                schema = file.schema_arrow
                self._group_rows.append(_row_groups(file))
            if path == self._paths[0]:
                self.schema = schema
            else:
                _require_same_columns(self.schema, self._paths[0], schema, path)
        self.n_rows = sum(map(sum, self._group_rows))

    @contextmanager
    def _open(self, path: str) -> Iterator[pq.ParquetFile]:
        try:
            with pq.ParquetFile(
                path, pre_buffer=False, buffer_size=BUFFER_BYTES, filesystem=self._filesystem
            ) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(f"There is no file {path!r} any more.") from None
            raise ValueError(
                f"{path!r} is not a readable Parquet file: it is truncated, damaged or of another kind."
            ) from error

    def batches(self, columns: list[str], batch_rows: int, wanted: NDArray | None = None) -> Batches:
        """See `ColumnTable.batches`; row groups without a wanted row are skipped."""
        start = 0
        for path, sizes in zip(self._paths, self._group_rows, strict=True):
            starts = start + np.cumsum([0, *sizes])
            start = int(starts[-1])
            groups = list(range(len(sizes)))
            if wanted is not None:
                groups = np.flatnonzero(np.diff(np.searchsorted(wanted, starts))).tolist()
            if groups:
                with self._open(path) as file:
                    if _row_groups(file) != sizes:
                        raise _changed(repr(path), sum(sizes), file.metadata.num_rows)
                    for group in groups:
                        batches = file.iter_batches(
                            batch_rows, row_groups=[group], columns=columns, use_threads=n_threads() > 1
                        )
                        yield from _numbered(batches, int(starts[group]))


class ArrowDataset:
    """A dataset of any format, read by Arrow's scanner: at least one row group is held as a whole."""

    where = "the dataset"

    def __init__(self, dataset: pads.Dataset) -> None:
        self._dataset, self.schema = dataset, dataset.schema
        with self._reading():
            self.n_rows = dataset.count_rows()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise ValueError(f"{self.where} cannot be read: {reason}.") from error

    def batches(self, columns: list[str], batch_rows: int, wanted: NDArray | None = None) -> Batches:
        """See `ColumnTable.batches`."""
        options: dict[str, Any] = {}
        if isinstance(getattr(self._dataset, "format", None), pads.ParquetFileFormat):
            options["fragment_scan_options"] = pads.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=BUFFER_BYTES, pre_buffer=False
            )
        with self._reading():
            options |= {"batch_readahead": 2, "fragment_readahead": 1, "use_threads": n_threads() > 1}
            batches = self._dataset.to_batches(columns=columns, batch_size=batch_rows, **options)
            yield from _numbered(batches, 0)


class ArrowTable:
    """A table in Arrow's memory: batches are views of it."""

    where = "the table"

    def __init__(self, table: pa.Table) -> None:
        self._table, self.schema, self.n_rows = table, table.schema, table.num_rows

    def batches(self, columns: list[str], batch_rows: int, wanted: NDArray | None = None) -> Batches:
        """See `ColumnTable.batches`."""
        yield from _numbered(self._table.select(columns).to_batches(max_chunksize=batch_rows), 0)


class TableSource:
    """Features, target and weights of a table, by column name."""

    def __init__(
        self,
        table: ColumnTable,
        target: str | Sequence[str] | None,
        weight: str | None,
        features: NDArray | None,
    ) -> None:
        names = table.schema.names
        require_distinct(names, table.where)
        self._table, self._weight = table, weight
        self._if_null: str | None = NULL_IN_X
        self._target = [target] if isinstance(target, str) else list(target or ())
        self._vector_target = isinstance(target, str)
        self._features = feature_columns(names, self._target, weight, features, table.where)
        if not self._features:
            raise ValueError(f"{table.where} has no column left for the features.")
        if table.n_rows == 0:
            raise ValueError(f"{table.where} has no rows.")
        self._columns = list(dict.fromkeys([*self._features, *self._target, *([weight] if weight else [])]))
        for name in self._columns:
            _require_numbers(name, table.schema.field(name).type, table.where)
        single = all(table.schema.field(name).type == pa.float32() for name in self._features)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.shape = (table.n_rows, len(self._features))
        self.feature_names: NDArray | None = np.array(self._features, dtype=object)
        self.n_targets, self.has_weight = len(self._target), weight is not None

    def units(self, n_rows: int) -> Generator[list[pa.RecordBatch], None, None]:
        """See `Source.units`: batches of any length, cut and gathered into units."""
        unit: list[pa.RecordBatch] = []
        filled = total = 0
        for _, batch in self._table.batches(self._columns, n_rows):
            total += batch.num_rows
            rest = batch
            while filled + rest.num_rows >= n_rows:
                missing = n_rows - filled
                ready, unit, filled = [*unit, rest.slice(0, missing)], [], 0
                rest = rest.slice(missing)
                yield ready
                del ready
            if rest.num_rows:
                unit.append(rest)
                filled += rest.num_rows
        if total != self.shape[0]:
            raise _changed(self._table.where, self.shape[0], total)
        if unit:
            yield unit

    def arrays(
        self, unit: list[pa.RecordBatch], n_rows: int
    ) -> Iterator[tuple[NDArray, NDArray | None, NDArray | None]]:
        """See `Source.arrays`."""
        features = _numbers(unit, self._features, self._if_null)
        target = _numbers(unit, self._target, "y contains NaN; drop or fill those rows first.")
        weight = _numbers(
            unit,
            [self._weight] if self._weight else [],
            "sample_weight holds NaN or infinity: drop those rows or give them a finite weight.",
        )
        total = sum(batch.num_rows for batch in unit)
        for start in range(0, total, n_rows):
            stop = min(start + n_rows, total)
            y = self._fill(target, start, stop) if self._target else None
            yield (
                self._fill(features, start, stop),
                y[:, 0] if y is not None and self._vector_target else y,
                self._fill(weight, start, stop)[:, 0] if self._weight else None,
            )

    def _fill(self, pieces: list[list[NDArray]], start: int, stop: int) -> NDArray:
        """Rows `start` to `stop` of a unit. The block stays in cache while its columns are written."""
        result = np.empty((stop - start, len(pieces[0])), dtype=self.dtype)
        begin = 0
        for columns in pieces:
            end = begin + len(columns[0])
            low, high = max(start, begin), min(stop, end)
            if low < high:
                rows = result[low - start : high - start]
                for index, column in enumerate(columns):
                    rows[:, index] = column[low - begin : high - begin]
            begin = end
        return result

    def allow_missing(self) -> None:
        """See `Source.allow_missing`."""
        self._if_null = None

    def release(self) -> None:
        """See `Source.release`; Arrow keeps for later what it no longer uses."""
        pa.default_memory_pool().release_unused()

    def take(self, indices: NDArray) -> NDArray:
        """See `Source.take`."""
        result = np.empty((len(indices), self.shape[1]), dtype=self.dtype)
        for start, batch in self._table.batches(self._features, TAKE_ROWS, indices):
            first, last = np.searchsorted(indices, [start, start + batch.num_rows])
            if first < last:
                unit = [batch.take(pa.array(indices[first:last] - start))]
                result[first:last] = self._fill(
                    _numbers(unit, self._features, self._if_null), 0, last - first
                )
            if last == len(indices):
                break
        return result


def open_arrow(
    X: Any, target: str | Sequence[str] | None, weight: str | None, features: NDArray | None
) -> TableSource:
    """Open Parquet files, a dataset, a table or a record batch."""
    table: ColumnTable
    if isinstance(X, ParquetFiles):
        table = X
    elif isinstance(X, pads.Dataset):
        table = _plain_parquet(X) or ArrowDataset(X)
    elif isinstance(X, pa.Table):
        table = ArrowTable(X)
    elif isinstance(X, pa.RecordBatch):
        table = ArrowTable(pa.Table.from_batches([X]))
    elif isinstance(X, (pa.RecordBatchReader, pads.Scanner)):
        raise ValueError(
            f"X must be a source that can be walked more than once. Got a {type(X).__name__} instead; give "
            "the dataset or the file it reads."
        )
    else:
        raise ValueError(f"X must be an Arrow table or dataset. Got a {type(X).__name__} instead.")
    return TableSource(table, target, weight, features)


def _plain_parquet(dataset: pads.Dataset) -> ParquetFiles | None:
    """The files of a dataset that is nothing but Parquet files: no filter, no column made from the path.

    Read file by file, their row groups need not be held as a whole.
    """
    if not isinstance(getattr(dataset, "format", None), pads.ParquetFileFormat):
        return None
    try:
        files = ParquetFiles(dataset.files, "the dataset", dataset.filesystem)
    except ValueError:
        return None
    same_columns = files.schema.names == dataset.schema.names and files.schema.types == dataset.schema.types
    return files if same_columns and files.n_rows == dataset.count_rows() else None


def _row_groups(file: pq.ParquetFile) -> list[int]:
    return [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]


def _changed(where: str, before: int, now: int) -> ValueError:
    return ValueError(f"{where} had {before} rows when it was opened and has {now} now; open it again.")


def _numbered(batches: Iterable[pa.RecordBatch], start: int) -> Batches:
    for batch in batches:
        yield start, batch
        start += batch.num_rows


def _numbers(unit: list[pa.RecordBatch], names: list[str], if_null: str | None) -> list[list[NDArray]]:
    """The columns of each batch as arrays of numbers, without a copy where there need be none.

    Nulls are refused with a sentence, or without one become NaN.
    """
    return [[_column_numbers(batch.column(name), if_null) for name in names] for batch in unit]


def _column_numbers(column: pa.Array, if_null: str | None) -> NDArray:
    if column.null_count and if_null is not None:
        raise ValueError(if_null)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if column.null_count and not pa.types.is_floating(column.type):
        column = column.cast(pa.uint8() if pa.types.is_boolean(column.type) else pa.float64())
    return column.to_numpy(zero_copy_only=False)


def _require_numbers(name: str, kind: pa.DataType, where: str) -> None:
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = ("is_integer", "is_floating", "is_boolean", "is_decimal", "is_null")
    if not any(getattr(pa.types, test)(values) for test in known):
        raise not_numbers(name, where, kind)


def _require_same_columns(first: pa.Schema, first_path: str, other: pa.Schema, path: str) -> None:
    """Raise one sentence if two files differ in a column or its type; the order may differ."""
    kinds, others = (dict(zip(schema.names, schema.types, strict=True)) for schema in (first, other))
    for name in [*kinds, *others]:
        if kinds.get(name) != others.get(name):
            left, right = (str(side[name]) if name in side else "absent" for side in (kinds, others))
            raise ValueError(
                f"The files of a table must have the same columns, but {name!r} is {left} in {first_path!r} "
                f"and {right} in {path!r}."
            )
