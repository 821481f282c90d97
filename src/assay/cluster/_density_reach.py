"""New rows of a density clustering: the row of the fit that reaches them most closely, and its cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances import Metric, distance_matrix
from assay.rows import Block

BLOCK_PAIRS = 2**22


class Fitted(NamedTuple):
    """What predictions need of a fit.

    Attributes
    ----------
    rows : array of shape (n_samples, n_features) or None
        The rows of the fit; None when new rows come as dissimilarities to them.
    core_distances : array of shape (n_samples,)
    labels : array of int32 of shape (n_samples,)
    cluster_reach : array of shape (n_clusters,)
        The reachability up to which each cluster takes rows.
    n_core : int
        With n_core > 0 the new row's own core distance, that to its n_core-th nearest row, is a lower bound.
    """

    rows: NDArray | None
    core_distances: NDArray
    labels: NDArray
    cluster_reach: NDArray
    metric: Metric
    n_core: int = 0


def labels_by_reach(block: Block, fitted: Fitted) -> NDArray:
    """Label of the row p with the least max(c_p, d(p, x)), if its cluster takes rows at that distance."""
    X = np.asarray(block.X)
    result = np.full(len(X), -1, dtype=np.int32)
    if not fitted.cluster_reach.size:
        return result
    step = max(1, BLOCK_PAIRS // fitted.labels.size)
    for start in range(0, len(X), step):
        part = X[start : start + step]
        distances = _distances(part, fitted)
        reach = np.maximum(distances, fitted.core_distances)
        nearest = reach.argmin(axis=1)
        height = reach[np.arange(len(part)), nearest]
        if fitted.n_core > 0:
            own = np.partition(distances, fitted.n_core - 1, axis=1)[:, fitted.n_core - 1]
            height = np.maximum(height, own)
        labels = fitted.labels[nearest]
        # Rounding must not part a row from the cluster whose reach it made.
        taken = (labels >= 0) & (height <= fitted.cluster_reach[np.maximum(labels, 0)] * (1.0 + 1e-12))
        result[start : start + step] = np.where(taken, labels, -1)
    return result


def _distances(part: NDArray, fitted: Fitted) -> NDArray:
    exact = part.astype(np.float64, copy=False)
    if fitted.rows is None:
        return exact
    return distance_matrix(exact, fitted.rows.astype(np.float64, copy=False), metric=fitted.metric)
