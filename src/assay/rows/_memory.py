"""Rows in memory, and what all walks in this process share: units, blocks, threads."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.rows._blocks import Block, Combine, Matrix, Rows, Step, add, block_rows
from assay.rows._threads import ordered_map


class LocalRows(Rows):
    """Rows handed out in units, each of which becomes one or more blocks on a thread of the pool.

    A unit is what it costs to fetch at once (a few megabytes of a file), a block what fits in the cache. Both
    are functions of the table alone and partial results are combined one after the other in the order of the
    blocks, so a result depends neither on the number of threads nor on where the table lives.
    """

    @abstractmethod
    def _units(self) -> Generator[Any, None, None]:
        """Give the units in order; runs on the thread that called the walk."""

    @abstractmethod
    def _blocks(self, unit: Any) -> Iterator[Block]:
        """Give the blocks of a unit in order; runs on a thread of the pool."""

    def _window(self) -> int | None:
        """How many units may be out at a time; see `ordered_map`."""
        return None

    def _finished(self) -> None:
        """Called when a walk has seen every row."""

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`."""

        def of_unit(unit: Any) -> list[Any]:
            return [step(block, *state, *_slices(rowwise, block)) for block in self._blocks(unit)]

        with (
            closing(self._units()) as units,
            closing(ordered_map(of_unit, units, window=self._window())) as parts,
        ):
            total = functools.reduce(combine or add, itertools.chain.from_iterable(parts))
        self._finished()
        return total

    def map(self, step: Step, *state: Any, dtype: Any, width: int | None = None) -> NDArray:
        """See `Rows.map`."""
        n_samples = self.shape[0]
        result = np.empty(n_samples if width is None else (n_samples, width), dtype=dtype)
        self.reduce(_write, step, state, combine=_nothing, rowwise=(result,))
        return result


def _slices(rowwise: Sequence[NDArray], block: Block) -> list[NDArray]:
    stop = block.start + block.X.shape[0]
    return [values[block.start : stop] for values in rowwise]


def _write(block: Block, step: Step, state: tuple[Any, ...], result: NDArray) -> None:
    result[...] = step(block, *state)


def _nothing(left: None, right: None) -> None:
    return None


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
