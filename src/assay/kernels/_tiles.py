"""Walks over the tiles of a kernel matrix: cache-sized, on threads, one triangle of a symmetric one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.rows import ordered_map

Fill: TypeAlias = Callable[[slice, slice, NDArray], None]
"""Writes k(x_i, z_j) for a slice of i and a slice of j into a tile."""

TILE_ROWS, TILE_COLUMNS = 256, 512
ABOVE_DIAGONAL = ~np.tri(TILE_ROWS, dtype=np.bool_)
# Below this many values a thread pool costs more than it gives.
SMALL = 2**17


def fill_gram(fill: Fill, out: NDArray) -> None:
    """Fill one triangle tile by tile and copy each tile to its mirror image."""

    def one(rows: slice) -> None:
        for columns in _slices(rows.start, TILE_COLUMNS):
            tile = out[rows, columns]
            fill(rows, columns, tile)
            out[columns, rows] = tile.T
        square = out[rows, rows]
        fill(rows, rows, square)
        _mirror(square)

    # The longest rows of tiles first, so that the threads finish together.
    _walk(one, list(_slices(out.shape[0], TILE_ROWS))[::-1], out.size)


def _mirror(square: NDArray) -> None:
    """Overwrite the strict upper triangle by the lower one."""
    size = square.shape[0]
    np.copyto(square, square.T.copy(), where=ABOVE_DIAGONAL[:size, :size])


def fill_cross(fill: Fill, out: NDArray) -> None:
    """Fill all tiles."""

    def one(rows: slice) -> None:
        for columns in _slices(out.shape[1], TILE_COLUMNS):
            fill(rows, columns, out[rows, columns])

    _walk(one, _slices(out.shape[0], TILE_ROWS), out.size)


def fill_product(fill: Fill, n_rows: int, coef: NDArray) -> NDArray:
    """The product of the matrix with coefficients; only one tile a thread is ever in memory."""
    n_columns = coef.shape[0]
    result = np.zeros((n_rows, *coef.shape[1:]), dtype=coef.dtype)

    def one(rows: slice) -> None:
        height = rows.stop - rows.start
        tile = np.empty((height, min(TILE_COLUMNS, n_columns)), dtype=coef.dtype)
        for columns in _slices(n_columns, TILE_COLUMNS):
            part = tile[:, : columns.stop - columns.start]
            fill(rows, columns, part)
            result[rows] += part @ coef[columns]

    _walk(one, _slices(n_rows, TILE_ROWS), n_rows * n_columns)
    return result


def mirror_upper(matrix: NDArray) -> None:
    """Overwrite the strict lower triangle by the upper one, blockwise."""
    for rows in _slices(matrix.shape[0], TILE_ROWS):
        matrix[rows, : rows.start] = matrix[: rows.start, rows].T
        square = matrix[rows, rows].T
        _mirror(square)


def asymmetry(matrix: NDArray) -> float:
    """The largest |m_ij − m_ji|, blockwise."""
    largest = 0.0
    for rows in _slices(matrix.shape[0], TILE_ROWS):
        for columns in _slices(rows.stop, TILE_COLUMNS):
            difference = matrix[rows, columns] - matrix[columns, rows].T
            largest = max(largest, float(np.abs(difference).max(initial=0.0)))
    return largest


def _walk(one: Callable[[slice], None], pieces: Any, size: int) -> None:
    if size <= SMALL:
        for piece in pieces:
            one(piece)
    else:
        for _ in ordered_map(one, pieces):
            pass


def _slices(length: int, step: int) -> Iterator[slice]:
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))
