"""Rows brought into memory, for methods that keep a number a row or visit rows in an order of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Matrix, MemoryRows, Rows, alone, block_rows

Result = TypeVar("Result")

LARGEST_BYTES = 2**31
"""Largest table (2 GiB) that is brought into memory from elsewhere."""

PILOT_SHARE = 16
"""A pilot has this many rows a column, or one row of so many."""


def in_memory(data: Rows, owner: str, way_out: str) -> MemoryRows:
    """The same rows in memory; a table that is there already is returned as it is.

    Raises
    ------
    ValueError
        If the table lies elsewhere and is too large; the sentence names the way out.
    """
    if isinstance(data, MemoryRows):
        return data
    n, d = data.shape
    if n * d * data.dtype.itemsize > LARGEST_BYTES:
        raise ValueError(
            f"{owner} needs its rows in memory, and a table of {n} rows and {d} columns is too large to be "
            f"brought there from elsewhere; {way_out}."
        )
    y, weight = targets_and_weights(data)
    return MemoryRows(data.take(np.arange(n)), y, weight)


def steadily(data: Rows, function: Callable[[], Result]) -> Result:
    """Call a function that walks the rows; a table of one block on one BLAS thread, as larger ones do."""
    n, d = data.shape
    return alone(function) if n <= block_rows(d, data.dtype.itemsize) else function()


def pilot(data: Rows, n_columns: int) -> MemoryRows | None:
    """The first rows of a long table, enough for a good start of a fit of that many columns; else None."""
    n_rows = max(PILOT_SHARE * n_columns, data.shape[0] // PILOT_SHARE)
    if n_rows * PILOT_SHARE // 2 > data.shape[0]:
        return None
    X, y, weight = data.head(n_rows, copied)
    return MemoryRows(X, y, weight)


def copied(block: Block) -> tuple[Matrix, NDArray | None, NDArray | None]:
    """Features, target and weights of one block, to keep."""
    weight = None if block.weight is None or not block.weight.any() else block.weight.copy()
    return block.X.copy(), None if block.y is None else block.y.copy(), weight


def targets_and_weights(data: Rows) -> tuple[NDArray, NDArray | None]:
    """Target and weights of all rows, by one walk."""
    columns = data.reduce(beside_weight, combine=below)
    y = columns[:, 0].astype(data.dtype) if data.n_targets <= 1 else columns[:, :-1].astype(data.dtype)
    return y, columns[:, -1].astype(data.dtype) if data.has_weight else None


def beside_weight(block: Block) -> NDArray:
    """[y, s] of one block."""
    assert block.y is not None
    weight = np.ones(block.X.shape[0]) if block.weight is None else block.weight
    return np.column_stack([block.y, weight]).astype(np.float64)


def below(above: NDArray, under: NDArray) -> NDArray:
    """Blocks one below the other."""
    return np.vstack([above, under])
