"""Rows brought into memory, for methods that keep a number per row or visit rows in an order of their own.

Compiled loops take rows in memory as `DenseRows` or `SparseRows` and read one by `row_product` and `add_row`:
a loop is compiled once for each of the two, with the right way to read a row copied into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import choices, read_only
from assay.rows import Block, Matrix, MemoryRows, Rows, alone, block_rows

Result = TypeVar("Result")

LARGEST_BYTES = 2**31
"""Largest table (2 GiB) that is brought into memory from elsewhere."""

PILOT_SHARE = 16
"""A pilot has this many rows per column, or one row of so many."""


class DenseRows(NamedTuple):
    """Dense rows in C order, for compiled loops."""

    table: NDArray


class SparseRows(NamedTuple):
    """The parts of a CSR matrix, for compiled loops."""

    values: NDArray
    columns: NDArray
    starts: NDArray


def loop_rows(X: Matrix) -> DenseRows | SparseRows:
    """Rows as compiled loops take them."""
    if isinstance(X, np.ndarray):
        return DenseRows(read_only(X))
    return SparseRows(X.data, X.indices, X.indptr)


def row_product(rows: Any, i: int, coef: NDArray) -> float:
    """x_i · coef of one row; for compiled loops only."""
    raise NotImplementedError("row_product is called inside compiled loops.")


def add_row(rows: Any, i: int, factor: float, total: NDArray) -> None:
    """Add factor · x_i to `total`; for compiled loops only."""
    raise NotImplementedError("add_row is called inside compiled loops.")


_INSIDE = choices()


@overload(row_product, jit_options=_INSIDE)
def _row_product(rows, i, coef):  # type: ignore[no-untyped-def]
    def dense(rows, i, coef):  # type: ignore[no-untyped-def]
        total = 0.0
        for j in range(rows.table.shape[1]):
            total += np.float64(rows.table[i, j]) * coef[j]
        return total

    def sparse(rows, i, coef):  # type: ignore[no-untyped-def]
        total = 0.0
        for position in range(rows.starts[i], rows.starts[i + 1]):
            total += np.float64(rows.values[position]) * coef[rows.columns[position]]
        return total

    return dense if rows.instance_class is DenseRows else sparse


@overload(add_row, jit_options=_INSIDE)
def _add_row(rows, i, factor, total):  # type: ignore[no-untyped-def]
    def dense(rows, i, factor, total):  # type: ignore[no-untyped-def]
        for j in range(rows.table.shape[1]):
            total[j] += factor * np.float64(rows.table[i, j])

    def sparse(rows, i, factor, total):  # type: ignore[no-untyped-def]
        for position in range(rows.starts[i], rows.starts[i + 1]):
            total[rows.columns[position]] += factor * np.float64(rows.values[position])

    return dense if rows.instance_class is DenseRows else sparse


def in_memory(data: Rows, owner: str, way_out: str) -> MemoryRows:
    """The same rows in memory, themselves if they are there; too large a table is refused with a way out."""
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
    return np.column_stack([block.y, block.weights]).astype(np.float64)


def below(above: NDArray, under: NDArray) -> NDArray:
    """Blocks one below the other."""
    return np.vstack([above, under])
