"""Rows on disk: blocks are read ahead by one thread while earlier ones are computed on the others.

Memory bound: with t threads, at most t + 4 units of `UNIT_BYTES` are alive (two being read or waiting, one
changing hands, t + 1 given to the pool), and one block per thread.
"""

from __future__ import annotations

import glob
import mmap
import os
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.rows._blocks import Block, Step, block_rows
from assay.rows._columns import (
    all_weights_zero,
    check_finite,
    check_target,
    check_values,
    check_weights,
    is_name,
    refuse_names,
)
from assay.rows._memory import LocalRows
from assay.rows._threads import n_threads, read_ahead

UNIT_BYTES = 2**24
"""What is read at once (16 MiB): large enough for the disk, small enough to hold several."""

MIN_BLOCK_ROWS = 64
PARQUET_SUFFIXES = (".parquet", ".pq")

Arrays = tuple[NDArray, NDArray | None, NDArray | None]


class Source(Protocol):
    """A table outside memory that is read in units of consecutive rows."""

    shape: tuple[int, int]
    dtype: np.dtype
    feature_names: NDArray | None
    n_targets: int
    has_weight: bool

    def units(self, n_rows: int) -> Generator[Any, None, None]:
        """The units in order, `n_rows` each but the last; runs on the reader thread."""

    def arrays(self, unit: Any, n_rows: int) -> Iterator[Arrays]:
        """Features, target and weights of a unit, cut every `n_rows` rows; runs on a thread of the pool."""

    def take(self, indices: NDArray) -> NDArray:
        """The features of these rows."""

    def allow_missing(self) -> None:
        """Give NaN for what the table has no value for."""

    def release(self) -> None:
        """Give back what memory was taken to read; called after every walk."""


class StreamRows(LocalRows):
    """A `Source`, with target and weights of its own or from memory. Values are checked at the first walk."""

    def __init__(self, source: Source, target: NDArray | None = None, weight: NDArray | None = None) -> None:
        self._source, self._target, self._weight = source, target, weight
        self.shape, self.dtype, self.feature_names = source.shape, source.dtype, source.feature_names
        self.n_targets = source.n_targets
        if target is not None:
            self.n_targets = 1 if target.ndim == 1 else target.shape[1]
        self.has_weight = source.has_weight or weight is not None
        row_bytes = max(1, source.shape[1] * source.dtype.itemsize)
        # The blocks of a table in memory, so that its results come again, unless the table is very wide.
        self._step = min(
            block_rows(source.shape[1], source.dtype.itemsize), max(MIN_BLOCK_ROWS, UNIT_BYTES // row_bytes)
        )
        self._unit_rows = self._step * max(1, UNIT_BYTES // (self._step * row_bytes))
        self._checked = self._trusted = self._missing = self._infinite = False
        self._some_weight = threading.Event()

    def _units(self) -> Generator[tuple[int, Any], None, None]:
        with closing(read_ahead(self._source.units(self._unit_rows))) as units:
            for index, unit in enumerate(units):
                yield index * self._unit_rows, unit
                del unit

    def _blocks(self, unit: tuple[int, Any]) -> Iterator[Block]:
        start, data = unit
        return self._cut(start, data, self._step)

    def _cut(self, start: int, data: Any, step: int) -> Iterator[Block]:
        for X, y, weight in self._source.arrays(data, step):
            stop = start + X.shape[0]
            if self._target is not None:
                y = self._target[start:stop]
            if self._weight is not None:
                weight = self._weight[start:stop]
            if not self._checked:
                check_values(X, y, weight, start, missing=self._missing, infinite=self._infinite)
                if weight is not None and weight.any():
                    self._some_weight.set()
            yield Block(X, y, weight, start)
            start = stop

    def trust_values(self) -> None:
        """See `Rows.trust_values`."""
        self._checked, self._trusted = not self.has_weight, True

    def allow_missing(self, *, infinite: bool = False) -> None:
        """See `Rows.allow_missing`."""
        self._missing, self._infinite = True, infinite
        self._source.allow_missing()

    def _window(self) -> int:
        return n_threads()

    def _finished(self) -> None:
        if self.has_weight and not self._some_weight.is_set():
            raise all_weights_zero()
        self._checked = True
        self._source.release()

    def head(self, n_rows: int, step: Step, *state: Any) -> Any:
        """See `Rows.head`; no more is read than these rows."""
        n_rows = min(n_rows, self.shape[0])
        with closing(self._source.units(n_rows)) as units:
            (block,) = self._cut(0, next(units), n_rows)
        return step(block, *state)

    def take(self, indices: NDArray) -> NDArray:
        """See `Rows.take`."""
        taken = self._source.take(np.asarray(indices, dtype=np.intp))
        if not self._trusted and not self._infinite:
            check_finite(taken, "X", missing=self._missing)
        return taken


def open_stream(X: Any, y: Any, sample_weight: Any, *, features: NDArray | None = None) -> StreamRows:
    """Open rows that live on disk or in Arrow memory; see `assay.rows.rows`."""
    if isinstance(X, (str, os.PathLike)):
        X = _at(os.path.expanduser(os.fspath(X)))
    if isinstance(X, np.memmap):
        refuse_names("an array on disk", y=y, sample_weight=sample_weight)
        return _join(ArrayMap(X), y, sample_weight)
    target = y if is_name(y) else None
    weight = sample_weight if isinstance(sample_weight, str) else None
    source = _arrow().open_arrow(X, target, weight, features)
    return _join(source, y if target is None else None, sample_weight if weight is None else None)


def _join(source: Source, y: Any, sample_weight: Any) -> StreamRows:
    n_samples = source.shape[0]
    return StreamRows(
        source,
        check_target(y, n_samples, source.dtype),
        check_weights(sample_weight, n_samples, source.dtype),
    )


def _at(path: str) -> Any:
    """The memory map of a `.npy` file, or the Parquet files of a path or pattern."""
    if os.path.isdir(path):
        there = [file for file in Path(path).iterdir() if file.suffix in PARQUET_SUFFIXES and file.is_file()]
        files = sorted(str(file) for file in there if file.name[0] not in "._")
        if not files:
            raise ValueError(
                f"The folder {path!r} holds no Parquet file (*.parquet); for files in folders below it give "
                f"the pattern {os.path.join(path, '**', '*.parquet')!r}."
            )
        return _arrow().ParquetFiles(files, f"the folder {path!r}")
    if os.path.isfile(path):
        kind = _kind(path)
        if kind == "npy":
            return open_npy(path)
        if kind == "parquet":
            return _arrow().ParquetFiles([path], repr(path))
        raise ValueError(
            f"{path!r} is neither a .npy nor a Parquet file; read it with pandas or polars, or "
            "convert it to Parquet."
        )
    if glob.has_magic(path):
        files = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
        if not files:
            raise FileNotFoundError(f"No file matches the pattern {path!r}.")
        strangers = [file for file in files if _kind(file) != "parquet"]
        if strangers:
            raise ValueError(
                f"The pattern {path!r} matches {strangers[0]!r}, which is not a Parquet file; a pattern must "
                "match Parquet files only."
            )
        return _arrow().ParquetFiles(files, f"the pattern {path!r}")
    raise FileNotFoundError(f"There is no file or folder {path!r}.")


def _kind(path: str) -> str:
    """What a file is, by its name or else by its first bytes."""
    suffix = Path(path).suffix
    with open(path, "rb") as file:
        magic = file.read(6)
    if suffix == ".npy" or magic == b"\x93NUMPY":
        return "npy"
    return "parquet" if suffix in PARQUET_SUFFIXES or magic[:4] == b"PAR1" else "unknown"


def _arrow() -> Any:
    try:
        from assay.rows import _arrow
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "pyarrow":
            raise
        raise ModuleNotFoundError(
            "Reading Parquet files needs pyarrow: pip install 'assay[frames]'.", name="pyarrow"
        ) from None
    return _arrow


class ArrayMap:
    """A two-dimensional memory map of numbers, copied a unit at a time."""

    feature_names: NDArray | None = None
    n_targets = 0
    has_weight = False

    def __init__(self, X: np.memmap) -> None:
        check_array_on_disk(X.shape, X.dtype, "X")
        self._map = X
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def units(self, n_rows: int) -> Generator[NDArray, None, None]:
        """See `Source.units`."""
        for start in range(0, self.shape[0], n_rows):
            yield np.array(self._map[start : start + n_rows], order="C", subok=False)
            self._release_pages()

    def arrays(self, unit: NDArray, n_rows: int) -> Iterator[tuple[NDArray, None, None]]:
        """See `Source.arrays`."""
        for start in range(0, unit.shape[0], n_rows):
            yield unit[start : start + n_rows].astype(self.dtype, copy=False), None, None

    def take(self, indices: NDArray) -> NDArray:
        """See `Source.take`; only the pages of these rows are read."""
        taken = np.asarray(self._map[indices]).astype(self.dtype, order="C", copy=False)
        self._release_pages()
        return taken

    def allow_missing(self) -> None:
        """See `Source.allow_missing`; arrays hold NaN as it is."""

    def release(self) -> None:
        """See `Source.release`; pages are given back as they are read."""

    def _release_pages(self) -> None:
        """Give back the pages that were read, which otherwise count as memory of this process.

        They stay in the system's file cache. Private maps are left alone: theirs may hold unsaved values.
        """
        pages: Any = self._map.base
        can_release = hasattr(mmap, "MADV_DONTNEED") and isinstance(pages, mmap.mmap)
        if can_release and self._map.mode != "c":
            pages.madvise(mmap.MADV_DONTNEED)


def open_npy(path: str) -> np.memmap:
    """Map a `.npy` file; one sentence says why it cannot be."""
    try:
        with open(path, "rb") as file:
            first = np.lib.format.read_magic(file) == (1, 0)
            npy = np.lib.format
            shape, _, dtype = (npy.read_array_header_1_0 if first else npy.read_array_header_2_0)(file)
            begin = file.tell()
            present = file.seek(0, 2) - begin
    except (ValueError, EOFError):
        raise ValueError(f"{path!r} is not a readable .npy file: it is damaged or of another kind.") from None
    check_array_on_disk(shape, dtype, repr(path))
    if present < dtype.itemsize * shape[0] * shape[1]:
        raise ValueError(f"{path!r} is truncated: its header tells of more rows than it holds.")
    return np.lib.format.open_memmap(path, mode="r")


def check_array_on_disk(shape: tuple[int, ...], dtype: np.dtype, what: str) -> None:
    """Raise one sentence unless an array is a table of numbers with rows and columns."""
    if dtype.kind not in "biuf":
        raise ValueError(f"{what} must hold real numbers. It holds the dtype {dtype} instead.")
    if len(shape) != 2:
        raise ValueError(f"{what} must be two-dimensional, rows × features. It has shape {shape} instead.")
    if 0 in shape:
        raise ValueError(f"{what} must have at least one row and one column. It has shape {shape} instead.")
