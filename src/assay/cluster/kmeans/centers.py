"""Centres laid out for the loops, and blocks handed to them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans import loops
from assay.cluster.kmeans import small_loops as center_loops
from assay.rows import Block, Rows

FEW_CENTERS = 64
"""Up to here a loop over pairs of centres is faster than a product of matrices."""


class Centers(NamedTuple):
    """Centres, and their form in the loops.

    `given` are the centres in the dtype of the data, `points` are `given − shift` in float64; the other
    fields are described in `assay.cluster.kmeans.loops`.
    """

    given: NDArray
    points: NDArray
    shift: NDArray
    centers: NDArray
    norms: NDArray
    negated: NDArray
    transposed: NDArray
    half: NDArray
    rounding: float

    def gaps(self) -> NDArray:
        """At most the distance from each centre to the nearest other one; infinite for a single centre."""
        if len(self.points) <= FEW_CENTERS:
            gaps = np.empty(len(self.points))
            center_loops.nearest_gaps(self.points, gaps)
            return gaps * (1.0 - 1e-12)
        squares = self.norms[:, np.newaxis] + self.norms - 2.0 * (self.points @ self.points.T)
        np.fill_diagonal(squares, np.inf)
        error = 4.0 * (self.points.shape[1] + 4) * np.finfo(np.float64).eps * self.norms
        return np.sqrt(np.maximum(squares - error - error[:, np.newaxis], 0.0).min(axis=1)) * (1.0 - 1e-12)


def longest_row(data: Rows) -> int:
    """Number of terms in the product of a row and a centre."""
    return int(data.reduce(_longest_row, combine=max)) if data.is_sparse else data.shape[1]


def _longest_row(block: Block) -> int:
    return int(np.diff(block.X.indptr).max())


def place(given: NDArray, shift: NDArray, n_terms: int) -> Centers:
    """Lay out centres relative to a shift (float64), for products of `n_terms` terms."""
    centers = np.ascontiguousarray(given, dtype=np.float64)
    n_clusters, n_features = centers.shape
    n_padded = -(-n_clusters // loops.LANES) * loops.LANES
    # With u = 2⁻²⁴: rounding x and c to float32 costs 2u |x||c|, their product n_terms · u |x||c|, half
    # and the sum u (‖c‖²/2 + |x||c|); |x||c| ≤ (‖x‖² + ‖c‖²)/2. Twice that is room for all that is smaller.
    rounding = (n_terms + 8) * 2.0**-24
    points, norms = np.empty(centers.shape), np.empty(n_clusters)
    negated = np.zeros((n_padded, n_features), dtype=np.float32)
    transposed = np.zeros((n_features, n_padded), dtype=np.float32)
    half = np.full(n_padded, np.inf, dtype=np.float32)
    center_loops.lay_out(centers, shift, rounding, points, norms, negated, transposed, half)
    return Centers(given, points, shift, centers, norms, negated, transposed, half, rounding)


def table(block: Block) -> tuple[tuple[Any, Any, Any, Any], NDArray]:
    """Features of a block as the loops take them (dense, values, columns, starts), and its weights.

    Everything is handed over read-only, so that memory maps need no loop of their own.
    """
    X = block.X
    weight = read_only(no_values(X.dtype) if block.weight is None else block.weight)
    if isinstance(X, np.ndarray):
        return (read_only(np.ascontiguousarray(X)), None, None, None), weight
    return (None, read_only(X.data), read_only(X.indices), read_only(X.indptr)), weight


def read_only(values: NDArray) -> NDArray:
    """A view that cannot be written to."""
    view = values.view()
    view.flags.writeable = False
    return view


@lru_cache
def no_values(dtype: Any) -> NDArray:
    """An empty array, which stands for weights that are all 1."""
    return np.empty(0, dtype=dtype)


# Measuring a partition in one walk that remembers nothing of the iteration.


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
