"""Matrices of distances between rows, by tiles on threads."""

from __future__ import annotations

from collections import deque
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.distances.brute import DIRECT_FEATURES, copy_upper, fill_tile
from assay.distances.functions import check_distance
from assay.distances.metrics import SCALES, Metric, Scale, check_metric, check_table
from assay.kernels.tiles import Fill, distance_tiles, fill_cross, fill_gram
from assay.rows import ordered_map

TILE_ROWS, TILE_COLUMNS = 128, 512
# Below this many rows a thread pool costs more than it gives.
SMALL = 512


def distance_matrix(X: NDArray, Z: NDArray | None = None, *, metric: Metric = "euclidean") -> NDArray:
    """Distances d(x_i, z_j), of shape (n_rows_of_X, n_rows_of_Z), in the dtype of the rows.

    Without `Z` the matrix of the rows among themselves: exactly symmetric, zero on the diagonal. Distances
    are sums over the differences of the rows, at any offset; Euclidean ones of many features come from
    inner products, and from the differences where those leave too few digits.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.distances import distance_matrix
    >>> distance_matrix(np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[0., 5.],
           [5., 0.]])
    """
    X, metric = check_table(X), check_metric(metric)
    if Z is not None:
        Z = _table_like(Z, X)
    if not isinstance(metric, str):
        return _function_matrix(X, Z, metric)
    out = np.empty((len(X), len(X if Z is None else Z)), dtype=X.dtype)
    fill = _tiles(X, Z, SCALES[metric])
    if Z is None:
        fill_gram(fill, out)
    else:
        fill_cross(fill, out)
    return out


def condensed_distances(X: NDArray, *, metric: Metric = "euclidean") -> NDArray:
    """The upper triangle, row by row: n(n − 1)/2 distances in SciPy's layout, and no more memory.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.distances import condensed_distances
    >>> condensed_distances(np.array([[0.0], [1.0], [3.0]]))
    array([1., 3., 2.])
    """
    X, metric = check_table(X), check_metric(metric)
    n_rows = len(X)
    out = np.empty(n_rows * (n_rows - 1) // 2, dtype=X.dtype)
    if not isinstance(metric, str):
        for place, (x, z) in enumerate(combinations(X, 2)):
            out[place] = check_distance(metric(x, z))
        return out
    fill = _tiles(X, None, SCALES[metric])

    def step(start: int) -> None:
        rows = slice(start, min(start + TILE_ROWS, n_rows))
        room = np.empty((rows.stop - start, TILE_COLUMNS), dtype=X.dtype)
        for first in range(start, n_rows, TILE_COLUMNS):
            columns = slice(first, min(first + TILE_COLUMNS, n_rows))
            tile = room[:, : columns.stop - first]
            fill(rows, columns, tile)
            copy_upper(tile, start, first, n_rows, out)

    starts = range(0, n_rows, TILE_ROWS)
    deque(map(step, starts) if n_rows <= SMALL else ordered_map(step, starts), maxlen=0)
    return out


def _tiles(X: NDArray, Z: NDArray | None, scale: Scale) -> Fill:
    """The function that fills a tile with distances."""
    rows = scale.prepare(X)
    others = rows if Z is None else scale.prepare(Z)
    by_products = scale.power == 2 and X.shape[1] > DIRECT_FEATURES
    squared = distance_tiles(rows, others) if by_products else None
    transposed = others.T if by_products else np.ascontiguousarray(others.T)

    def fill(block: slice, columns: slice, tile: NDArray) -> None:
        if squared is not None:
            squared(block, columns, tile)
        else:
            fill_tile(rows[block], transposed, columns.start, scale.power, tile)
        scale.distances(tile)

    return fill


def _function_matrix(X: NDArray, Z: NDArray | None, function: Metric) -> NDArray:
    """Distances of a function of two rows; without `Z` it is called once per pair."""
    assert not isinstance(function, str)
    if Z is not None:
        return np.array([[check_distance(function(x, z)) for z in Z] for x in X], dtype=X.dtype)
    out = np.zeros((len(X), len(X)), dtype=X.dtype)
    for i, j in combinations(range(len(X)), 2):
        out[i, j] = out[j, i] = check_distance(function(X[i], X[j]))
    return out


def _table_like(Z: NDArray, X: NDArray) -> NDArray:
    Z = check_table(Z, "Z")
    if Z.shape[1] != X.shape[1]:
        raise ValueError(f"Z has {Z.shape[1]} columns but X has {X.shape[1]}; they must be as many.")
    return Z.astype(X.dtype, copy=False)
