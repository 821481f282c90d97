"""Compiled loops over tiles of distances between a block of queries and a slice of the rows.

Tiles hold powers (Σ (x − z)² for `power` 2, Σ |x − z| for 1, max |x − z| for 0), summed over the features in
one order as in `assay.distances._bound_loops`. In high dimension they come from inner products instead, as
lower bounds ‖x‖² + ‖z‖² − 2⟨x, z⟩ − ρ (‖x‖² + ‖z‖²) that allow for rounding; a pair that they do not decide
is summed afresh. `rounding` is ρ, and 0 says that the tile is exact.
"""

from __future__ import annotations

import numpy as np

from assay.distances._nearest_loops import insert
from assay.loops import _exact, compiled


@compiled
def fill_tile(queries, columns, first, power, tile):  # type: ignore[no-untyped-def]
    """Powers between queries (one a row) and the rows from `first` on, whose features are rows of `columns`.

    Sums are kept in contiguous room and features are taken as slices: other forms do not vectorise.
    """
    width = tile.shape[1]
    room = np.empty(width, tile.dtype)
    for i in range(tile.shape[0]):
        for j in range(width):
            room[j] = 0.0
        for f in range(columns.shape[0]):
            value, others = queries[i, f], columns[f][first : first + width]
            if power == 2:
                for j in range(width):
                    difference = others[j] - value
                    room[j] += difference * difference
            elif power == 1:
                for j in range(width):
                    room[j] += abs(others[j] - value)
            else:
                for j in range(width):
                    difference = abs(others[j] - value)
                    room[j] = difference if difference > room[j] else room[j]
        powers = tile[i]
        for j in range(width):
            powers[j] = room[j]


@compiled
def lower_tile(tile, query_norms, row_norms, rounding):  # type: ignore[no-untyped-def]
    """Turn inner products into lower bounds on squared distances."""
    for i in range(tile.shape[0]):
        norm = query_norms[i]
        for j in range(tile.shape[1]):
            total = norm + row_norms[j]
            tile[i, j] = total - rounding * total - (tile[i, j] + tile[i, j])


@_exact
def squared_distance(X, i, Z, j):  # type: ignore[no-untyped-def]
    """Σ (x_i − z_j)² in the order of the features, so that every method gives the same bits."""
    distance = X[i, 0] - X[i, 0]
    for f in range(X.shape[1]):
        difference = Z[j, f] - X[i, f]
        distance += difference * difference
    return distance


@compiled
def absorb_tile(tile, rounding, queries, X, first, own, best, numbers):  # type: ignore[no-untyped-def]
    """Bring the best of each query up to date with the rows `first`, first + 1, … of a tile.

    `own` is the number of the first query among the rows, or less than −n_queries when they are not rows.
    """
    n_neighbors = best.shape[1]
    for i in range(tile.shape[0]):
        worst, n_near = best[i, n_neighbors - 1], 0
        for j in range(tile.shape[1]):
            n_near += tile[i, j] <= worst
        if n_near == 0:
            continue
        for j in range(tile.shape[1]):
            if tile[i, j] <= best[i, n_neighbors - 1] and first + j != own + i:
                distance = tile[i, j]
                if rounding > 0.0:
                    distance = squared_distance(queries, i, X, first + j)
                # Rows come by increasing number: one that ties with the worst stays out.
                if distance < best[i, n_neighbors - 1]:
                    insert(distance, first + j, best[i], numbers[i])


@compiled
def count_tile(tile, rounding, query_norms, row_norms, queries, X, first, weights, limit, counts):  # type: ignore[no-untyped-def]
    """Add the number, or the weight, of the rows of a tile within the limit."""
    for i in range(tile.shape[0]):
        total = 0.0
        for j in range(tile.shape[1]):
            near = tile[i, j] <= limit
            if near and rounding > 0.0 and tile[i, j] + doubt(rounding, query_norms[i], row_norms[j]) > limit:
                near = squared_distance(queries, i, X, first + j) <= limit
            if near:
                total += weights[first + j] if weights.shape[0] > 0 else 1.0
        counts[i] += total


@compiled
def list_tile(tile, rounding, query_norms, row_norms, queries, X, first, limit):  # type: ignore[no-untyped-def]
    """Query, row and power of the pairs of a tile within the limit."""
    n_pairs = 0
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            n_pairs += tile[i, j] <= limit
    owners, numbers = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int64)
    powers = np.empty(n_pairs, tile.dtype)
    n_pairs = 0
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            if tile[i, j] <= limit:
                power = tile[i, j]
                if rounding > 0.0:
                    power = squared_distance(queries, i, X, first + j)
                if power <= limit:
                    owners[n_pairs], numbers[n_pairs], powers[n_pairs] = i, first + j, power
                    n_pairs += 1
    return owners[:n_pairs], numbers[:n_pairs], powers[:n_pairs]


@compiled
def doubt(rounding, query_norm, row_norm):  # type: ignore[no-untyped-def]
    """How far above its lower bound a squared distance may be."""
    return 2.0 * rounding * (query_norm + row_norm)


@compiled
def copy_upper(tile, first_row, first_column, n_rows, condensed):  # type: ignore[no-untyped-def]
    """Copy what a tile holds of the strict upper triangle to its place in the condensed form."""
    for i in range(tile.shape[0]):
        row = first_row + i
        # Entry (row, column) stands at offset + column.
        offset = row * n_rows - row * (row + 1) // 2 - row - 1
        for j in range(max(0, row + 1 - first_column), tile.shape[1]):
            condensed[offset + first_column + j] = tile[i, j]
