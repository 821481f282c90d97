"""Batches of rows drawn uniformly, from memory, disk or a cluster alike.

A draw is one uniform number looked up in the cumulative weights of the rows, so that a row of weight 3 is
drawn as often as three rows. Up to 2¹⁸ rows are looked up in an order that depends on their content alone:
the same seed then draws the same rows however they are ordered, weighted or stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import _init
from assay.rows import Block, Matrix, MemoryRows, Rows

WINDOW_BYTES = 2**27
"""Rows outside memory are fetched at once if they fit in here (128 MiB), else for as many batches as do."""

WINDOW_BATCHES = 64


class Draws:
    """An endless source of rows drawn with replacement, with probability proportional to their weights."""

    def __init__(self, data: Rows, random: np.random.Generator) -> None:
        self._data, self._random = data, random
        self._order: NDArray | None = None
        self._cumulative: NDArray | None = None
        n_samples, row_bytes = data.shape[0], max(1, data.shape[1] * data.dtype.itemsize)
        self._window_rows = WINDOW_BYTES // row_bytes
        self._rows: Matrix | None = None
        if isinstance(data, MemoryRows):
            self._rows = data.X
        elif n_samples <= self._window_rows:
            self._rows = data.take(np.arange(n_samples))
        if n_samples <= _init.SAMPLE_ROWS:
            self._order = np.argsort(_init.order_keys(data), kind="stable")
        if data.has_weight:
            weight = np.asarray(data.map(_weights_of, dtype=np.float64))
            self._cumulative = np.cumsum(weight if self._order is None else weight[self._order])

    def batch(self, n_rows: int) -> Matrix:
        """So many rows, dense or CSR as the data are."""
        return next(self._windows(n_rows, 1))

    def batches(self, n_rows: int) -> Iterator[Matrix]:
        """Batches of so many rows, for ever."""
        outside = self._rows is None
        return self._windows(n_rows, max(1, self._window_rows // n_rows) if outside else WINDOW_BATCHES)

    def _windows(self, n_rows: int, n_batches: int) -> Iterator[Matrix]:
        """Batches that are drawn, and fetched from outside memory, `n_batches` at a time."""
        while True:
            indices = self._indices(self._random.random((n_batches, n_rows)))
            rows = self._rows
            if rows is None:
                fetched, places = np.unique(indices, return_inverse=True)
                rows, indices = self._data.take(fetched), places.reshape(indices.shape)
            for chosen in indices:
                yield rows[chosen]

    def _indices(self, uniforms: NDArray) -> NDArray:
        """The rows at which the cumulative weight passes these shares of its total."""
        if self._cumulative is None:
            places = (uniforms * self._data.shape[0]).astype(np.int64)
        else:
            total = self._cumulative[-1]
            places = np.searchsorted(self._cumulative, uniforms * total, side="right")
            # Rounding must not lead to a row without weight at the end.
            places = np.minimum(places, np.searchsorted(self._cumulative, total, side="left"))
        return places if self._order is None else self._order[places]


def _weights_of(block: Block) -> Any:
    return block.weight
