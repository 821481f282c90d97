"""Rows in memory: NumPy arrays and CSR matrices, walked in cache-sized blocks on threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.rows._blocks import Block, Combine, Matrix, Rows, Step, add, block_rows
from assay.rows._threads import ordered_map


class MemoryRows(Rows):
    """Validated arrays in memory. Blocks are views: nothing is copied."""

    def __init__(self, X: Matrix, y: NDArray | None = None, weight: NDArray | None = None) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.shape = X.shape
        self.dtype = X.dtype
        self.is_sparse = sparse.issparse(X)
        self.n_targets = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
        self.has_weight = weight is not None
        self._step = block_rows(X.shape[1], X.dtype.itemsize)

    def _block(self, start: int) -> Block:
        stop = min(start + self._step, self.shape[0])
        return Block(
            _rows_of_csr(self.X, start, stop) if self.is_sparse else self.X[start:stop],
            None if self.y is None else self.y[start:stop],
            None if self.weight is None else self.weight[start:stop],
            start,
        )

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`."""
        n_samples = self.shape[0]
        if n_samples <= self._step:
            return step(Block(self.X, self.y, self.weight, 0), *state, *rowwise)

        def one(start: int) -> Any:
            stop = start + self._step
            return step(self._block(start), *state, *(values[start:stop] for values in rowwise))

        combine = combine or add
        total: Any = None
        for index, part in enumerate(ordered_map(one, range(0, n_samples, self._step))):
            total = part if index == 0 else combine(total, part)
        return total

    def map(self, step: Step, *state: Any, dtype: Any, width: int | None = None) -> NDArray:
        """See `Rows.map`."""
        n_samples = self.shape[0]
        result = np.empty(n_samples if width is None else (n_samples, width), dtype=dtype)
        self.reduce(_write, step, state, combine=_nothing, rowwise=(result,))
        return result

    def take(self, indices: NDArray) -> NDArray:
        """See `Rows.take`."""
        taken = self.X[indices]
        return taken.toarray() if self.is_sparse else np.ascontiguousarray(taken)


def _write(block: Block, step: Step, state: tuple[Any, ...], result: NDArray) -> None:
    result[...] = step(block, *state)


def _nothing(left: None, right: None) -> None:
    return None


def _rows_of_csr(X: Matrix, start: int, stop: int) -> Matrix:
    """A slice of rows that shares the memory of `X`."""
    begin, end = X.indptr[start], X.indptr[stop]
    return type(X)(
        (X.data[begin:end], X.indices[begin:end], X.indptr[start : stop + 1] - begin),
        shape=(stop - start, X.shape[1]),
        copy=False,
    )
