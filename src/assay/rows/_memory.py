"""Rows in memory: NumPy arrays and CSR matrices, walked in cache-sized blocks on threads."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.rows._blocks import Block, Combine, Matrix, Step, block_rows
from assay.rows._local import LocalRows


class MemoryRows(LocalRows):
    """Validated arrays in memory. Blocks are views: nothing is copied.

    The features are read-only, as those of a memory map are: one compiled loop serves both.
    """

    def __init__(self, X: Matrix, y: NDArray | None = None, weight: NDArray | None = None) -> None:
        self.is_sparse = sparse.issparse(X)
        if not self.is_sparse and X.flags.writeable:
            X = X.view()
            X.flags.writeable = False
        self.X, self.y, self.weight = X, y, weight
        self.shape = X.shape
        self.dtype = X.dtype
        self.n_targets = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
        self.has_weight = weight is not None
        self._step = block_rows(X.shape[1], X.dtype.itemsize)

    def cut(self, n_rows: int) -> MemoryRows:
        """The same rows, walked in blocks of at most `n_rows` of them."""
        finer = MemoryRows(self.X, self.y, self.weight)
        finer._step = min(self._step, n_rows)
        return finer

    def _units(self) -> Generator[int, None, None]:
        yield from range(0, self.shape[0], self._step)

    def _blocks(self, unit: int) -> Iterator[Block]:
        yield self._block(unit, min(unit + self._step, self.shape[0]))

    def _block(self, start: int, stop: int) -> Block:
        return Block(
            _rows_of_csr(self.X, start, stop) if self.is_sparse else self.X[start:stop],
            None if self.y is None else self.y[start:stop],
            None if self.weight is None else self.weight[start:stop],
            start,
        )

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`; one block is a direct call."""
        if self.shape[0] <= self._step:
            return step(Block(self.X, self.y, self.weight, 0), *state, *rowwise)
        return super().reduce(step, *state, combine=combine, rowwise=rowwise)

    def head(self, n_rows: int, step: Step, *state: Any) -> Any:
        """See `Rows.head`."""
        return step(self._block(0, min(n_rows, self.shape[0])), *state)

    def take(self, indices: NDArray) -> NDArray:
        """See `Rows.take`."""
        taken = self.X[indices]
        return taken.toarray() if self.is_sparse else np.ascontiguousarray(taken)


def _rows_of_csr(X: Matrix, start: int, stop: int) -> Matrix:
    """A slice of rows that shares the values and column indices of `X`."""
    begin, end = X.indptr[start], X.indptr[stop]
    # Attributes, not the constructor: that one copies a slice shorter than half of its base.
    part = type(X)((stop - start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices = X.data[begin:end], X.indices[begin:end]
    part.indptr = X.indptr[start : stop + 1] - begin
    return part
