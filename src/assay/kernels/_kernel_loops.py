"""The hot loops of kernel matrices: squared distances from inner products, and exponentials."""

from __future__ import annotations

from assay.loops import compiled, exp


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
