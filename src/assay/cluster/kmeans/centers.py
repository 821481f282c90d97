"""Centres laid out for the loops, blocks handed to them, and clusters that lose their last row."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans import loops
from assay.cluster.kmeans import small_loops as center_loops
from assay.cluster.kmeans.loops import CenterLayout, NearestCenters, RowTable
from assay.loops import read_only
from assay.rows import Block, Rows, add

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

    @property
    def layout(self) -> CenterLayout:
        """The part that loops take."""
        rows = self.shift, self.centers, self.norms
        return *rows, self.negated, self.transposed, self.half, self.rounding

    def moved(self, given: NDArray) -> Centers:
        """Other centres, relative to the same shift."""
        return _laid_out(given, self.shift, self.rounding)

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
    # With u = 2⁻²⁴: rounding x and c to float32 costs 2u |x||c|, their product n_terms · u |x||c|, half
    # and the sum u (‖c‖²/2 + |x||c|); |x||c| ≤ (‖x‖² + ‖c‖²)/2. Twice that is room for all that is smaller.
    return _laid_out(given, shift, (n_terms + 8) * 2.0**-24)


def placed(data: Rows, given: NDArray) -> Centers:
    """Centres for these rows: about their mean, or about 0 for sparse rows."""
    shift = np.zeros(data.shape[1]) if data.is_sparse else given.mean(axis=0, dtype=np.float64)
    return place(given, shift, longest_row(data))


def _laid_out(given: NDArray, shift: NDArray, rounding: float) -> Centers:
    centers = np.ascontiguousarray(given, dtype=np.float64)
    n_clusters, n_features = centers.shape
    n_padded = -(-n_clusters // loops.LANES) * loops.LANES
    points, norms = np.empty(centers.shape), np.empty(n_clusters)
    negated = np.zeros((n_padded, n_features), dtype=np.float32)
    transposed = np.zeros((n_features, n_padded), dtype=np.float32)
    half = np.full(n_padded, np.inf, dtype=np.float32)
    center_loops.lay_out(centers, shift, rounding, points, norms, negated, transposed, half)
    return Centers(given, points, shift, centers, norms, negated, transposed, half, rounding)


def table(block: Block) -> RowTable:
    """A block as the loops take it: read-only, so that memory maps need no loop of their own."""
    X = block.X
    weight = read_only(no_values(X.dtype) if block.weight is None else block.weight)
    if isinstance(X, np.ndarray):
        return read_only(X), None, None, None, weight
    return None, read_only(X.data), read_only(X.indices), read_only(X.indptr), weight


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


def inspect(data: Rows, centers: Centers, labels: NDArray | None = None) -> Inspection:
    """Measure the partition `labels` (of the nearest centres when None) in one walk without any bound."""
    rowwise = () if labels is None else (labels,)
    return data.reduce(inspect_block, centers, combine=_join, rowwise=rowwise)


def inspect_block(
    block: Block, centers: Centers, labels: NDArray | None = None, distances: NDArray | None = None
) -> Inspection:
    """One block of `inspect`; fills labels of −1, and the squared distances to the own centre, if given."""
    n_rows, features, layout = block.X.shape[0], table(block), centers.layout
    sums, counts = np.zeros(centers.points.shape), np.zeros(len(centers.points))
    labels = np.full(n_rows, -1, dtype=np.int32) if labels is None else labels
    distances = np.empty(n_rows) if distances is None else distances
    result = find_nearest(features, layout, np.arange(n_rows))
    return Inspection(sums, counts, *loops.measure(features, layout, result, labels, distances, sums, counts))


def find_nearest(features: RowTable, layout: CenterLayout, visited: NDArray) -> NearestCenters:
    """Nearest centres of some rows of a block."""
    n_features, n_visited, n_padded = len(layout[0]), len(visited), len(layout[5])
    n_tile = max(8, min(loops.TILE_ROWS, loops.TILE_ITEMS // n_features, n_visited))
    nearest = np.empty(n_visited, dtype=np.int32)
    result = nearest, np.empty(n_visited), np.empty(n_visited), np.empty(n_visited)
    shapes = (1 if features[0] is None else n_tile, n_features), n_padded * n_tile, n_tile, n_tile
    tile = tuple([np.empty(shape, dtype=np.float32) for shape in shapes])
    loops.nearest_centers(features, layout, visited, result, tile)
    return result


def mean_variance(scatter: float, sums: NDArray, counts: NDArray) -> float:
    """Mean over the features of the variance, from Σ w ‖x‖² and the sums of the clusters."""
    weight = counts.sum()
    mean = sums.sum(axis=0) / weight
    return max(float(scatter / weight - mean @ mean), 0.0) / max(len(mean), 1)


def _join(left: Inspection, right: Inspection) -> Inspection:
    return add(left, right)._replace(excess=max(left.excess, right.excess))


def means_of(sums: NDArray, counts: NDArray, otherwise: NDArray) -> NDArray:
    """Means of the clusters; `otherwise` where there are no rows."""
    filled = (counts > 0.0)[:, np.newaxis]
    return np.divide(sums, counts[:, np.newaxis], out=otherwise.copy(), where=filled)


class Far(NamedTuple):
    """Rows far from their centres, the farthest first; `rows` are relative to the shift."""

    distances: NDArray
    indices: NDArray
    rows: NDArray
    labels: NDArray
    weights: NDArray


def update_means(
    data: Rows, centers: Centers, sums: NDArray, counts: NDArray, labels: NDArray | None, *, policy: str
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Means, sums and weights of the clusters; an empty one is reseeded, keeps its centre, or is an error.

    Reseeding makes the row that is farthest from its centre a cluster of its own, which lowers the inertia;
    such rows come last. Rows taken before (or copies of them), and rows that would leave another cluster
    empty, are passed over. `labels` are changed accordingly. Clusters that no distinct row is left for stay
    empty under any policy; with fewer distinct rows than clusters, "error" is "reseed".
    """
    relocated = np.empty(0, dtype=np.int64)
    if counts.min() > 0.0:
        return sums / counts[:, np.newaxis], sums, counts, relocated
    empty = np.flatnonzero(counts <= 0.0)
    if policy == "error" and count_distinct(data, len(counts)) == len(counts):
        raise ValueError(
            f"Cluster {empty[0]} of KMeans has lost its last row. Take fewer clusters, other initial "
            "centres, or empty_clusters='reseed'."
        )
    if policy != "keep":
        sums, counts = sums.copy(), counts.copy()
        relocated = _reseed(data, centers, sums, counts, empty, labels)
    return means_of(sums, counts, centers.points), sums, counts, relocated


def _reseed(
    data: Rows, centers: Centers, sums: NDArray, counts: NDArray, empty: NDArray, labels: NDArray | None
) -> NDArray:
    """Give each empty cluster a far row, in place; return the indices of those rows."""
    n_wanted, rowwise = 4 * len(empty) + 4, () if labels is None else (labels,)
    far: Far = data.reduce(_far_block, centers, n_wanted, combine=_farther, rowwise=rowwise)
    waiting, taken, seen = list(empty), [], set[bytes]()
    for distance, index, row, old, weight in zip(*far, strict=True):
        if not waiting:
            break
        content = (row + 0.0).tobytes()
        rounding = (16.0 * np.finfo(centers.given.dtype).eps) ** 2
        at_its_centre = distance <= rounding * (row @ row + centers.shift @ centers.shift)
        if at_its_centre or content in seen or counts[old] <= weight * (1.0 + 1e-9):
            continue
        new = waiting.pop(0)
        seen.add(content)
        taken.append(index)
        sums[old] -= weight * row
        counts[old] -= weight
        sums[new], counts[new] = weight * row, weight
        if labels is not None:
            labels[index] = new
    return np.array(taken, dtype=np.int64)


def _far_block(block: Block, centers: Centers, n_wanted: int, labels: NDArray | None = None) -> Far:
    own = np.full(block.X.shape[0], -1, dtype=np.int32) if labels is None else labels
    distances = np.empty(len(own))
    inspect_block(block, centers, own, distances)
    weight = block.weights
    distances[weight == 0.0] = 0.0
    order = np.argsort(-distances, kind="stable")[:n_wanted]
    rows = block._replace(X=block.X[order]).dense.astype(np.float64) - centers.shift
    return Far(distances[order], order + block.start, rows, own[order], weight[order])


def _farther(left: Far, right: Far) -> Far:
    n_wanted = max(len(left.distances), len(right.distances))
    order = np.argsort(-np.concatenate([left.distances, right.distances]), kind="stable")[:n_wanted]
    return Far(*(np.concatenate(pair)[order] for pair in zip(left, right, strict=True)))


def count_distinct(data: Rows, limit: int) -> int:
    """Number of distinct rows of positive weight, counted up to a limit."""
    return len(data.reduce(_distinct_block, limit, combine=_merge_distinct)[0])


def _distinct_block(block: Block, limit: int) -> tuple[NDArray, int]:
    chunk = max(4 * limit, 64)
    distinct: NDArray | None = None
    for start in range(0, block.X.shape[0], chunk):
        rows = block._replace(X=block.X[start : start + chunk]).dense
        if block.weight is not None:
            rows = rows[block.weight[start : start + chunk] > 0.0]
        distinct = np.unique(rows if distinct is None else np.concatenate([distinct, rows]), axis=0)[:limit]
        if len(distinct) == limit:
            break
    assert distinct is not None
    return distinct, limit


def _merge_distinct(left: tuple[NDArray, int], right: tuple[NDArray, int]) -> tuple[NDArray, int]:
    limit = left[1]
    if len(left[0]) == limit:
        return left
    return np.unique(np.concatenate([left[0], right[0]]), axis=0)[:limit], limit
