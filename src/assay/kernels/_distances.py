"""Tiles of squared distances, the raw material of the kernels of ‖x − z‖."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.kernels._kernel_loops import squared_distances
from assay.kernels._products import Matrix, inner, is_sparse, squared_norms
from assay.kernels._tiles import Fill


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
        squared_distances(
            tile,
            row_norms[rows],
            column_norms[columns],
            left if dense else nothing,
            right if dense else nothing,
            cancellation,
        )

    return fill
