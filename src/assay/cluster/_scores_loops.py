"""Loops over labelled rows: sums and squares by cluster, and distances to the own centre."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


@compiled
def add_rows(X, codes, weight, shifts, sums, squares, weights):  # type: ignore[no-untyped-def]
    """Add to each cluster its weight, its rows relative to the cluster's shift, and their squared norms.

    Codes below 0 are passed over; an empty `weight` means that every row counts once.
    """
    for i in range(X.shape[0]):
        c = np.int64(codes[i])
        if c < 0:
            continue
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        norm = 0.0
        for f in range(X.shape[1]):
            difference = np.float64(X[i, f]) - shifts[c, f]
            sums[c, f] += w * difference
            norm += difference * difference
        squares[c] += w * norm
        weights[c] += w


@compiled
def add_distances(X, codes, weight, centers, totals):  # type: ignore[no-untyped-def]
    """Add to each cluster the weighted distances of its rows to its centre."""
    for i in range(X.shape[0]):
        c = np.int64(codes[i])
        if c < 0:
            continue
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        norm = 0.0
        for f in range(X.shape[1]):
            difference = np.float64(X[i, f]) - centers[c, f]
            norm += difference * difference
        totals[c] += w * np.sqrt(norm)
