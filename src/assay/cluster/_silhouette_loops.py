"""The hot loops of silhouettes: squared distances of few features, and distances summed by cluster."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


@compiled
def fill_squares(rows, columns, tile):  # type: ignore[no-untyped-def]
    """Write ‖x_i − z_j‖² into the tile, by differences: nothing cancels.

    `columns` holds one feature a line, so that the inner loop is contiguous; four features are taken at a
    time, so that the tile is read and written a quarter as often.
    """
    n_features, n_columns = columns.shape
    for i in range(rows.shape[0]):
        for j in range(n_columns):
            tile[i, j] = 0.0
        for f in range(0, n_features - 3, 4):
            x_0, x_1, x_2, x_3 = rows[i, f], rows[i, f + 1], rows[i, f + 2], rows[i, f + 3]
            for j in range(n_columns):
                d_0 = columns[f, j] - x_0
                d_1 = columns[f + 1, j] - x_1
                d_2 = columns[f + 2, j] - x_2
                d_3 = columns[f + 3, j] - x_3
                tile[i, j] += (d_0 * d_0 + d_1 * d_1) + (d_2 * d_2 + d_3 * d_3)
        for f in range(n_features - n_features % 4, n_features):
            x_0 = rows[i, f]
            for j in range(n_columns):
                d_0 = columns[f, j] - x_0
                tile[i, j] += d_0 * d_0


@compiled
def add_by_cluster(tile, root, row_weight, weight, first, bounds, sums, column_sums):  # type: ignore[no-untyped-def]
    """Add the weighted entries of a tile (their square roots with `root`) to the sums of their clusters.

    Column j of the tile is row `first + j` of the table, which is sorted by cluster: cluster c owns the rows
    from `bounds[c]` to `bounds[c + 1]`. Where `column_sums` has room, the entries times `row_weight` are
    added up by columns too: the other half of a symmetric matrix.
    """
    last = first + tile.shape[1]
    begin = np.searchsorted(bounds, first, side="right") - 1
    both = column_sums.shape[0] > 0
    for i in range(tile.shape[0]):
        if root:
            for j in range(tile.shape[1]):
                tile[i, j] = np.sqrt(tile[i, j])
        if both:
            w = row_weight[i]
            for j in range(tile.shape[1]):
                column_sums[j] += w * tile[i, j]
        c = begin
        while c < sums.shape[1] and bounds[c] < last:
            low, high = max(bounds[c], first) - first, min(bounds[c + 1], last) - first
            total = 0.0
            for j in range(low, high):
                total += weight[first + j] * tile[i, j]
            sums[i, c] += total
            c += 1
