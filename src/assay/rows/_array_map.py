"""Arrays on disk: memory maps and `.npy` files."""

from __future__ import annotations

import mmap
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAGES_CAN_BE_RELEASED = hasattr(mmap, "MADV_DONTNEED")


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

    def _release_pages(self) -> None:
        """Give back the pages that were read, which otherwise count as memory of this process.

        They stay in the system's file cache. Private maps are left alone: theirs may hold unsaved values.
        """
        pages: Any = self._map.base
        if PAGES_CAN_BE_RELEASED and isinstance(pages, mmap.mmap) and self._map.mode != "c":
            pages.madvise(mmap.MADV_DONTNEED)


def open_npy(path: str) -> np.memmap:
    """Map a `.npy` file; one sentence says why it cannot be."""
    try:
        with open(path, "rb") as file:
            version = np.lib.format.read_magic(file)
            read_header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read_header(file)
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
