"""Tiles of matrices between rows: inner products, squared distances, walks on threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.loops import compiled, exp
from assay.rows import ordered_map

Fill: TypeAlias = Callable[[slice, slice, NDArray], None]
"""Writes k(x_i, z_j) for a slice of i and a slice of j into a tile."""

TILE_ROWS, TILE_COLUMNS = 256, 512
ABOVE_DIAGONAL = ~np.tri(TILE_ROWS, dtype=np.bool_)
COLUMN_ROWS = 2**14
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


def fill_wide(fill: Fill, out: NDArray) -> None:
    """Fill all tiles of a matrix of few rows and many columns, columns shared between threads."""

    def one(columns: slice) -> None:
        for rows in _slices(out.shape[0], TILE_ROWS):
            fill(rows, columns, out[rows, columns])

    _walk(one, _slices(out.shape[1], TILE_COLUMNS), out.size)


def fill_column(fill: Fill, j: int, out: NDArray) -> None:
    """Fill the one column j of the matrix."""

    def one(rows: slice) -> None:
        fill(rows, slice(j, j + 1), out[rows])

    _walk(one, _slices(out.shape[0], COLUMN_ROWS), out.size)


def fill_product(fill: Fill, n_rows: int, coef: NDArray) -> NDArray:
    """The product of the matrix with coefficients; only one tile per thread is ever in memory."""
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


Matrix: TypeAlias = Any
"""A two-dimensional float array or a CSR matrix."""


def is_sparse(X: Matrix) -> bool:
    """Whether a table is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(X))


def as_matrix(X: Any) -> Matrix:
    """A table of floats; float32 and float64 are kept, CSR stays CSR, everything else becomes float64."""
    if is_sparse(X):
        matrix = X.tocsr()
    else:
        matrix = np.asarray(X)
        if matrix.ndim != 2:
            asked = "A kernel compares the rows of a two-dimensional table."
            raise ValueError(f"{asked} Got {matrix.ndim} dimension(s).")
    return matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)


def inner(X: Matrix, Z: Matrix, out: NDArray) -> None:
    """Write X Zᵀ into `out`."""
    if not is_sparse(X) and not is_sparse(Z):
        np.matmul(X, Z.T, out=out)
        return
    product = X @ Z.T
    out[...] = product.toarray() if is_sparse(product) else product


def squared_norms(X: Matrix) -> NDArray:
    """‖x_i‖² of every row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
    return np.einsum("ij,ij->i", X, X)


@compiled
def squared_distances(tile, row_norms, column_norms, rows, columns, cancellation):  # type: ignore[no-untyped-def]
    """Turn a tile of inner products into ‖x‖² + ‖z‖² − 2⟨x, z⟩, in place.

    Where the difference is below `cancellation` times the norms, too few digits are left: those distances are
    summed afresh from the rows themselves (when they have columns: a CSR table hands in none).
    """
    n_features = rows.shape[1]
    for i in range(tile.shape[0]):
        norm = row_norms[i]
        n_doubtful = 0
        for j in range(tile.shape[1]):
            total = norm + column_norms[j]
            value = total - 2.0 * tile[i, j]
            n_doubtful += value < cancellation * total
            tile[i, j] = max(value, 0.0)
        if n_doubtful == 0 or n_features == 0:
            continue
        for j in range(tile.shape[1]):
            if tile[i, j] < cancellation * (norm + column_norms[j]):
                value = 0.0
                for feature in range(n_features):
                    difference = rows[i, feature] - columns[j, feature]
                    value += difference * difference
                tile[i, j] = value


@compiled
def scaled_exponential(tile, scale):  # type: ignore[no-untyped-def]
    """Replace every value v of a tile by exp(scale · v)."""
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] = exp(scale * tile[i, j])


class Scratch(threading.local):
    """Room for a few tiles beside the one that is filled, one of each for every thread that fills."""

    def __init__(self) -> None:
        self._buffers: dict[int, NDArray] = {}

    def tile(self, like: NDArray, which: int = 0) -> NDArray:
        """An array of the shape and dtype of a tile, with any content; the same memory at each call."""
        kept = self._buffers.get(which)
        if kept is None or kept.size < like.size or kept.dtype != like.dtype:
            kept = self._buffers[which] = np.empty(like.size, dtype=like.dtype)
        return kept[: like.size].reshape(like.shape)


def distance_tiles(X: Matrix, Z: Matrix) -> Fill:
    """The function that fills a tile with ‖x_i − z_j‖².

    Dense tables are moved to the mean of `Z` first: distances do not change, and the cancellation in
    ‖x‖² + ‖z‖² − 2⟨x, z⟩ is the smallest there.
    """
    same = X is Z
    dense = not is_sparse(X) and not is_sparse(Z)
    if dense:
        centre = Z.mean(axis=0)
        X = np.subtract(X, centre, order="C")
        Z = X if same else np.subtract(Z, centre, order="C")
    row_norms = squared_norms(X)
    column_norms = row_norms if same else squared_norms(Z)
    cancellation = float(np.finfo(X.dtype).eps) ** 0.25
    nothing = np.empty((0, 0), dtype=X.dtype)

    def fill(rows: slice, columns: slice, tile: NDArray) -> None:
        left, right = X[rows], Z[columns]
        inner(left, right, tile)
        x, z = (left, right) if dense else (nothing, nothing)
        squared_distances(tile, row_norms[rows], column_norms[columns], x, z, cancellation)

    return fill
