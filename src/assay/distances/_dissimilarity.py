"""The check of a given matrix of dissimilarities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels import asymmetry

SYMMETRIC_DIGITS = 0.5
"""Entries may differ from their mirror images by eps to this power, relative to the largest entry."""


def check_dissimilarity(D: Any, owner: str, *, metric_like: bool = True) -> NDArray:
    """A given matrix of dissimilarities: square, finite, not negative, symmetric, zero on the diagonal.

    float32 and float64 are kept, and a matrix that passes is returned as it is; where two mirror images
    differ by rounding, their mean is taken. Without `metric_like` symmetry and diagonal are not looked at.

    Examples
    --------
    >>> from assay.distances import check_dissimilarity
    >>> check_dissimilarity([[0, 2], [2, 0]], "KMedoids")
    array([[0., 2.],
           [2., 0.]])
    """
    D = np.asarray(D)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or D.shape[0] == 0:
        raise ValueError(f"{owner} with metric='precomputed' needs a square matrix. Got shape {D.shape}.")
    if D.dtype not in (np.float32, np.float64):
        D = D.astype(np.float64)
    least, greatest = float(D.min()), float(D.max())
    if not np.isfinite(least) or not np.isfinite(greatest):
        raise ValueError(f"{owner} with metric='precomputed' needs finite values. Got NaN or infinity.")
    if least < 0:
        raise ValueError(
            f"Negative values in data passed to {owner}: dissimilarities must be at least 0. Got {least:g}."
        )
    if not metric_like:
        return D
    tolerance = float(np.finfo(D.dtype).eps) ** SYMMETRIC_DIGITS * greatest
    if float(D.diagonal().max()) > tolerance:
        raise ValueError(
            f"{owner} with metric='precomputed' needs dissimilarities that are 0 on the diagonal. Got "
            f"{float(D.diagonal().max()):g}; similarities must be turned into dissimilarities first."
        )
    difference = asymmetry(D)
    if difference > tolerance:
        raise ValueError(
            f"{owner} with metric='precomputed' needs a symmetric matrix. Got entries that differ from their "
            f"mirror images by up to {difference:g}; take (D + D.T) / 2 if that is meant."
        )
    if difference > 0 or D.diagonal().any():
        D = (D + D.T) / 2
        np.fill_diagonal(D, 0.0)
    return D
