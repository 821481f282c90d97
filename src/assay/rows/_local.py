"""Walks computed in this process, on threads: one code for memory and for disk."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.rows._blocks import Block, Combine, Rows, Step, add
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
