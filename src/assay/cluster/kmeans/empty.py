"""What becomes of a cluster that loses its last row, and how many clusters the rows can fill."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans.centers import Centers, inspect_block
from assay.rows import Block, Rows


class Far(NamedTuple):
    """Rows far from their centres, the farthest first; `rows` are relative to the shift."""

    distances: NDArray
    indices: NDArray
    rows: NDArray
    labels: NDArray
    weights: NDArray


class Update(NamedTuple):
    """Means of the clusters after the empty ones were seen to, with the sums and weights behind them."""

    means: NDArray
    sums: NDArray
    counts: NDArray
    relocated: NDArray
    """Indices of rows made a cluster of their own."""


def update_means(
    data: Rows,
    centers: Centers,
    sums: NDArray,
    counts: NDArray,
    labels: NDArray | None,
    *,
    policy: str,
) -> Update:
    """Means of the clusters; an empty one is reseeded, keeps its centre, or is an error.

    Reseeding makes the row that is farthest from its centre a cluster of its own, which lowers the inertia.
    Rows taken before (or copies of them), and rows that would leave another cluster empty, are passed over.
    `labels` are changed accordingly. Clusters that no distinct row is left for stay empty under any policy;
    with fewer distinct rows than clusters, "error" is "reseed".

    Raises
    ------
    ValueError
        If the policy is "error" and a cluster that could have rows has none.
    """
    relocated = np.empty(0, dtype=np.int64)
    if counts.min() > 0.0:
        return Update(sums / counts[:, np.newaxis], sums, counts, relocated)
    empty = np.flatnonzero(counts <= 0.0)
    if policy == "error" and count_distinct(data, len(counts)) == len(counts):
        raise ValueError(
            f"Cluster {empty[0]} of KMeans has lost its last row. Take fewer clusters, other initial "
            "centres, or empty_clusters='reseed'."
        )
    if policy != "keep":
        sums, counts = sums.copy(), counts.copy()
        relocated = _reseed(data, centers, sums, counts, empty, labels)
    filled = counts > 0.0
    means = centers.points.copy()
    np.divide(sums, counts[:, np.newaxis], out=means, where=filled[:, np.newaxis])
    return Update(means, sums, counts, relocated)


def _reseed(
    data: Rows, centers: Centers, sums: NDArray, counts: NDArray, empty: NDArray, labels: NDArray | None
) -> NDArray:
    """Give each empty cluster a far row, in place; return the indices of those rows."""
    n_wanted = 4 * len(empty) + 4
    far: Far = data.reduce(
        _far_block, centers, n_wanted, combine=_farther, rowwise=() if labels is None else (labels,)
    )
    waiting, taken = list(empty), []
    seen: set[bytes] = set()
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
    n_rows = block.X.shape[0]
    own = np.full(n_rows, -1, dtype=np.int32) if labels is None else labels
    distances = np.empty(n_rows)
    inspect_block(block, centers, own, distances)
    weight = block.weights
    distances[weight == 0.0] = 0.0
    order = np.argsort(-distances, kind="stable")[:n_wanted]
    taken = block.X[order]
    dense = taken if isinstance(taken, np.ndarray) else taken.toarray()
    rows = dense.astype(np.float64) - centers.shift
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
    found: NDArray | None = None
    for start in range(0, block.X.shape[0], chunk):
        rows = block.X[start : start + chunk]
        rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        if block.weight is not None:
            rows = rows[block.weight[start : start + chunk] > 0.0]
        found = np.unique(rows if found is None else np.concatenate([found, rows]), axis=0)[:limit]
        if len(found) == limit:
            break
    assert found is not None
    return found, limit


def _merge_distinct(left: tuple[NDArray, int], right: tuple[NDArray, int]) -> tuple[NDArray, int]:
    limit = left[1]
    if len(left[0]) == limit:
        return left
    return np.unique(np.concatenate([left[0], right[0]]), axis=0)[:limit], limit
