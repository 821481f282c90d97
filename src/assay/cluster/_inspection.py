"""Measuring a partition in one walk that remembers nothing of the iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster import _kmeans_loops as loops
from assay.cluster._centers import Centers, table
from assay.rows import Block, Rows


class Inspection(NamedTuple):
    """What one walk measures of a partition; sums are relative to the shift of the centres."""

    sums: NDArray
    counts: NDArray
    inertia: float
    scatter: float
    excess: float


class Found(NamedTuple):
    """Nearest centres of rows, bounds on the distances to them and to all others, and ‖x − shift‖²."""

    nearest: NDArray
    uppers: NDArray
    lowers: NDArray
    row_norms: NDArray


def inspect(data: Rows, centers: Centers, labels: NDArray | None = None) -> Inspection:
    """Measure the partition `labels` (of the nearest centres when None) in one walk without any bound."""
    rowwise = () if labels is None else (labels,)
    return data.reduce(inspect_block, centers, combine=_join, rowwise=rowwise)


def inspect_block(
    block: Block, centers: Centers, labels: NDArray | None = None, distances: NDArray | None = None
) -> Inspection:
    """One block of `inspect`; fills labels of −1, and the squared distances to the own centre, if given."""
    n_rows = block.X.shape[0]
    features, weight = table(block)
    found = find_nearest(features, centers, np.arange(n_rows))
    sums, counts = np.zeros(centers.points.shape), np.zeros(len(centers.points))
    inertia, scatter, excess = loops.measure(
        *features,
        weight,
        centers.shift,
        centers.centers,
        centers.norms,
        found.nearest,
        found.row_norms,
        np.full(n_rows, -1, dtype=np.int32) if labels is None else labels,
        np.empty(n_rows) if distances is None else distances,
        sums,
        counts,
    )
    return Inspection(sums, counts, inertia, scatter, excess)


def find_nearest(features: tuple[Any, Any, Any, Any], centers: Centers, visited: NDArray) -> Found:
    """Nearest centres of some rows of a block."""
    n_features, n_visited = len(centers.shift), len(visited)
    n_tile = max(8, min(loops.TILE_ROWS, loops.TILE_ITEMS // n_features, n_visited))
    found = Found(
        np.empty(n_visited, dtype=np.int32), np.empty(n_visited), np.empty(n_visited), np.empty(n_visited)
    )
    loops.nearest_centers(
        *features,
        *centers[2:],
        visited,
        *found,
        np.empty((1 if features[0] is None else n_tile, n_features), dtype=np.float32),
        np.empty(len(centers.half) * n_tile, dtype=np.float32),
        np.empty(n_tile, dtype=np.float32),
        np.empty(n_tile, dtype=np.float32),
    )
    return found


def mean_variance(scatter: float, sums: NDArray, counts: NDArray) -> float:
    """Mean over the features of the variance, from Σ w ‖x‖² and the sums of the clusters."""
    weight = counts.sum()
    mean = sums.sum(axis=0) / weight
    return max(float(scatter / weight - mean @ mean), 0.0) / max(len(mean), 1)


def _join(left: Inspection, right: Inspection) -> Inspection:
    return Inspection(
        left.sums + right.sums,
        left.counts + right.counts,
        left.inertia + right.inertia,
        left.scatter + right.scatter,
        max(left.excess, right.excess),
    )
