"""Tiles of matrices between rows: inner products, squared distances, walks on threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.loops import compiled, exp_alike
from assay.loops import inner as inner_loop
from assay.rows import ordered_map

Fill: TypeAlias = Callable[[slice, slice, NDArray], None]
"""Writes k(x_i, z_j) for a slice of i and a slice of j into a tile."""

TILE_ROWS, TILE_COLUMNS = 256, 512
ABOVE_DIAGONAL = ~np.tri(TILE_ROWS, dtype=np.bool_)
COLUMN_ROWS = 2**14
# Below this many values a thread pool costs more than it gives.
SMALL = 2**17


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


_tiles = Scratch()


def filled(fill: Fill, rows: slice, columns: slice, out: NDArray) -> NDArray:
    """Fill a part of a matrix, and give what was filled.

    A tile is filled where its rows are neighbours in memory, which vector code and caches need, then copied.
    """
    if out.flags.c_contiguous:
        fill(rows, columns, out)
        return out
    tile = _tiles.tile(out)
    fill(rows, columns, tile)
    out[...] = tile
    return tile


def fill_gram(fill: Fill, out: NDArray) -> None:
    """Fill one triangle tile by tile and copy each tile to its mirror image."""

    def one(rows: slice) -> None:
        for columns in _slices(rows.start, TILE_COLUMNS):
            out[columns, rows] = filled(fill, rows, columns, out[rows, columns]).T
        square = out[rows, rows]
        filled(fill, rows, rows, square)
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
            filled(fill, rows, columns, out[rows, columns])

    _walk(one, _slices(out.shape[0], TILE_ROWS), out.size)


def fill_rows(fill: Fill, out: NDArray, places: NDArray[np.intp]) -> None:
    """Fill some rows of a matrix of many columns, the first at the first place and so on.

    Columns are shared between threads.
    """
    tile = np.empty((TILE_ROWS, TILE_COLUMNS), dtype=out.dtype)

    def one(columns: slice) -> None:
        for rows in _slices(len(places), TILE_ROWS):
            part = _tiles.tile(tile[: rows.stop - rows.start, : columns.stop - columns.start])
            fill(rows, columns, part)
            out[places[rows], columns] = part

    _walk(one, _slices(out.shape[1], TILE_COLUMNS), len(places) * out.shape[1])


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


@inner_loop
def row_of_distances(line, norm, norms, row, columns, cancellation):  # type: ignore[no-untyped-def]
    """Turn inner products of a row into ‖x‖² + ‖z‖² − 2⟨x, z⟩, in place.

    Where the difference is below `cancellation` times the norms, too few digits are left: those distances are
    summed afresh from the rows themselves (when they have columns: a CSR table hands in none).
    """
    n_doubtful, zero = 0, cancellation - cancellation  # in the precision of the tile
    for j in range(line.shape[0]):
        total = norm + norms[j]
        value = total - (line[j] + line[j])
        n_doubtful += value < cancellation * total
        line[j] = max(value, zero)
    if n_doubtful == 0 or row.shape[0] == 0:
        return
    for j in range(line.shape[0]):
        if line[j] < cancellation * (norm + norms[j]):
            value = zero
            for feature in range(row.shape[0]):
                difference = row[feature] - columns[j, feature]
                value += difference * difference
            line[j] = value


@compiled
def squared_distances(tile, row_norms, column_norms, rows, columns, cancellation):  # type: ignore[no-untyped-def]
    """Turn a tile of inner products into squared distances, in place."""
    for i in range(tile.shape[0]):
        row = rows[i] if rows.shape[1] > 0 else row_norms[:0]
        row_of_distances(tile[i], row_norms[i], column_norms, row, columns, cancellation)


@compiled
def exponential_of_distances(  # type: ignore[no-untyped-def]
    tile, row_norms, column_norms, rows, columns, cancellation, scale, rooted
):
    """Turn a tile of inner products into exp(scale · d²), or of d where `rooted`, a row at a time."""
    for i in range(tile.shape[0]):
        line = tile[i]
        row = rows[i] if rows.shape[1] > 0 else row_norms[:0]
        row_of_distances(line, row_norms[i], column_norms, row, columns, cancellation)
        if rooted:
            for j in range(line.shape[0]):
                line[j] = np.sqrt(line[j])
        for j in range(line.shape[0]):
            line[j] = exp_alike(scale * line[j])


@compiled
def scaled_exponential(tile, scale):  # type: ignore[no-untyped-def]
    """Replace every value v of a tile by exp(scale · v), with a scale of its precision."""
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] = exp_alike(scale * tile[i, j])


def distance_tiles(X: Matrix, Z: Matrix) -> Fill:
    """The function that fills a tile with ‖x_i − z_j‖²."""
    opened = opened_distances(X, Z)

    def fill(rows: slice, columns: slice, tile: NDArray) -> None:
        squared_distances(tile, *opened(rows, columns, tile))

    return fill


def squared_distances_of(X: Matrix) -> NDArray:
    """‖x_i − x_j‖² of all pairs of rows."""
    result = np.empty((X.shape[0], X.shape[0]), dtype=X.dtype)
    fill_gram(distance_tiles(X, X), result)
    return result


def exponential_tiles(X: Matrix, Z: Matrix, scale: float, *, rooted: bool) -> Fill:
    """The function that fills a tile with exp(scale · ‖x_i − z_j‖²), or of the distance where `rooted`."""
    X, Z, unit = in_range(X, Z, scale)
    scale, dtype = scale * unit if rooted else scale * unit * unit, X.dtype
    opened = opened_distances(X, Z)
    # Never infinite: the exponential of 0 times the scale is 1.
    factor = dtype.type(max(scale, -0.5 * float(np.finfo(dtype).max)))

    def fill(rows: slice, columns: slice, tile: NDArray) -> None:
        given = (*opened(rows, columns, tile), factor, rooted)
        exponential_of_distances(tile, *given)

    return fill


def in_range(X: Matrix, Z: Matrix, scale: float) -> tuple[Matrix, Matrix, float]:
    """Two tables divided by a power of two, and that: where squares or a scale leave the range of floats.

    The tables themselves, and 1, for all others.
    """
    unit = _unit_of(X, Z, scale)
    if unit == 1.0:
        return X, Z, unit
    same, factor = X is Z, X.dtype.type(1.0 / unit)
    X = X * factor
    return X, X if same else Z * factor, unit


def _unit_of(X: Matrix, Z: Matrix, scale: float) -> float:
    limits = np.finfo(X.dtype)
    squares = 4.0 * X.shape[1] * float(limits.tiny), float(limits.max) / (64.0 * max(X.shape[1], 1))
    largest = max(_largest_entry(X), 0.0 if X is Z else _largest_entry(Z))
    if largest == 0.0 or (
        squares[0] < largest * largest < squares[1] and limits.tiny < abs(scale) < 0.5 * limits.max
    ):
        return 1.0
    # Neither the unit nor one over it may leave the range.
    furthest = int(limits.maxexp) - 8
    return 2.0 ** min(max(math.floor(math.log2(largest)), -furthest), furthest)


def _largest_entry(X: Matrix) -> float:
    entries = X.data if is_sparse(X) else X
    return max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))


def opened_distances(X: Matrix, Z: Matrix) -> Callable[[slice, slice, NDArray], tuple[Any, ...]]:
    """A function that writes inner products into a tile, and gives what turns them into distances.

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
    cancellation = np.finfo(X.dtype).eps ** X.dtype.type(0.25)
    nothing = np.empty((0, 0), dtype=X.dtype)

    def products(rows: slice, columns: slice, tile: NDArray) -> tuple[Any, ...]:
        left, right = X[rows], Z[columns]
        inner(left, right, tile)
        x, z = (left, right) if dense else (nothing, nothing)
        return row_norms[rows], column_norms[columns], x, z, cancellation

    return products
