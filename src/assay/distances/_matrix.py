"""Matrices of distances, by blocks of rows on threads, and the check of a given one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, squareform

from assay.distances._metrics import Metric, check_metric


def distance_matrix(X: NDArray, Z: NDArray | None = None, *, metric: Metric = "euclidean") -> NDArray:
    """Distances d(x_i, z_j), of shape (n_rows_of_X, n_rows_of_Z), in the dtype of the rows.

    Without `Z` the matrix of the rows among themselves: exactly symmetric, zero on the diagonal.
    """
    same = Z is None
    Z = X if Z is None else Z
    result = cdist(X, Z, check_metric(metric)).astype(X.dtype, copy=False)
    if same:
        np.fill_diagonal(result, 0.0)
        result = np.minimum(result, result.T)
    return result


def condensed_distances(X: NDArray, *, metric: Metric = "euclidean") -> NDArray:
    """The upper triangle, row by row: n(n − 1)/2 distances in SciPy's layout."""
    return squareform(distance_matrix(X, metric=metric), checks=False)


def check_dissimilarity(D: Any, owner: str, *, metric_like: bool = True) -> NDArray:
    """A given matrix of dissimilarities: square, finite, not negative, symmetric, zero on the diagonal."""
    D = np.asarray(D)
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise ValueError(f"{owner} with metric='precomputed' needs a square matrix. Got shape {D.shape}.")
    if (D < 0).any():
        raise ValueError(f"Negative values in data passed to {owner}: dissimilarities are at least 0.")
    return D
