"""Compiled loops over the centres of k-means: a small fit spends its time here, not on its rows."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


@compiled
def lay_out(centers, shift, rounding, points, norms, negated, transposed, half):  # type: ignore[no-untyped-def]
    """Fill the forms of the centres that `assay.cluster._kmeans_loops` takes; padding is left alone."""
    for j in range(centers.shape[0]):
        norm = 0.0
        for f in range(centers.shape[1]):
            value = centers[j, f] - shift[f]
            points[j, f] = value
            negated[j, f] = -value
            transposed[f, j] = -value
            norm += value * value
        norms[j] = norm
        half[j] = (0.5 - rounding) * norm


@compiled
def nearest_gaps(points, gaps):  # type: ignore[no-untyped-def]
    """Distance from each centre to the nearest other one; infinite for a single centre."""
    gaps[:] = np.inf
    for j in range(points.shape[0]):
        for other in range(j):
            square = 0.0
            for f in range(points.shape[1]):
                square += (points[j, f] - points[other, f]) ** 2
            gaps[j] = min(gaps[j], square)
            gaps[other] = min(gaps[other], square)
    for j in range(points.shape[0]):
        gaps[j] = np.sqrt(gaps[j])


@compiled
def widen(before, after, reach, thresholds, decay):  # type: ignore[no-untyped-def]
    """Add to `decay` how far any other centre has moved at most, to `thresholds` the own way as well."""
    n_clusters = before.shape[0]
    drift = np.empty(n_clusters)
    largest, second, which = 0.0, 0.0, 0
    for j in range(n_clusters):
        square = 0.0
        for f in range(before.shape[1]):
            square += (after[j, f] - before[j, f]) ** 2
        drift[j] = np.sqrt(square) * reach
        if drift[j] > largest:
            largest, second, which = drift[j], largest, j
        elif drift[j] > second:
            second = drift[j]
    for j in range(n_clusters):
        others = second if j == which else largest
        decay[j] += others
        thresholds[j] += others + drift[j]
