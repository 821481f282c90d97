"""Initial centres: k-means++ (as published and greedy), farthest points, random rows.

A draw is one uniform number looked up in the cumulative weights of the rows, taken in an order that depends
on their content alone (that of a fixed projection). So the same seed gives the same centres whether a row
comes three times or has weight 3, and however the rows are ordered. When every distinct row is a
centre, the centres that remain are copies of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans.centers import table
from assay.cluster.kmeans.small_loops import approach, draw_seeds
from assay.distances import check_sums
from assay.loops import read_only
from assay.rows import Block, Matrix, MemoryRows, Rows

SAMPLE_ROWS = 2**18
BUCKET_ROWS = 1024
TRIAL_ROWS = 2**16
SMALL_ROWS = 2**13  # up to here one loop draws all seeds: a walk for each draw would cost more
PROJECTION_SEED = 5489


class Pool(NamedTuple):
    """Rows to draw from, their canonical order, and the position of each row's bucket in that order."""

    data: MemoryRows
    keys: NDArray
    order: NDArray
    bucket: NDArray


class Seeds(NamedTuple):
    """Squared distance of each row to its closest seed, and which that is."""

    closest: NDArray
    nearest: NDArray


def open_pool(data: Rows, random: np.random.Generator) -> Pool:
    """Bring the rows to draw from into memory: all of them, or 2¹⁸ drawn uniformly from a larger source."""
    if not isinstance(data, MemoryRows):
        n_samples = data.shape[0]
        indices = np.arange(n_samples)
        if n_samples > SAMPLE_ROWS:
            indices = np.sort(random.choice(n_samples, SAMPLE_ROWS, replace=False, shuffle=False))
        weight = weights_of(data)[indices] if data.has_weight else None
        data = MemoryRows(data.take(indices), None, weight)
        check_sums(data)
    keys = order_keys(data)
    return _ordered_pool(data, keys, np.argsort(keys))  # rows with one key are the same row


def part_of_pool(pool: Pool, inside: NDArray) -> Pool:
    """The pool of some of the rows, which a mask tells: their order is that among all."""
    X, weight = pool.data.X, pool.data.weight
    rows = X[np.flatnonzero(inside)] if pool.data.is_sparse else X.compress(inside, axis=0)
    part = MemoryRows(rows, None, None if weight is None else weight.compress(inside))
    number = np.cumsum(inside) - 1
    order = number.take(pool.order.compress(inside.take(pool.order)))
    return _ordered_pool(part, pool.keys.compress(inside), order)


def _ordered_pool(data: MemoryRows, keys: NDArray, order: NDArray) -> Pool:
    bucket = np.empty(len(order), dtype=np.int32)
    bucket[order] = np.arange(len(order)) // BUCKET_ROWS
    return Pool(data, keys, order, bucket)


def order_keys(data: Rows) -> NDArray:
    """Numbers that put rows in an order which depends on their content alone."""
    return np.asarray(data.map(_project, _direction(data.shape[1]).astype(data.dtype), dtype=np.float64))


@lru_cache(maxsize=16)
def _direction(n_features: int) -> NDArray:
    return np.random.default_rng(PROJECTION_SEED).standard_normal(n_features)


def plus_plus(pool: Pool, n_clusters: int, random: np.random.Generator) -> NDArray:
    """k-means++: the first row uniformly, then one draw for each centre with probability ∝ w · D(x)²."""
    return _drawn(pool, random.random(n_clusters)[:, np.newaxis])


def greedy_plus_plus(pool: Pool, n_clusters: int, random: np.random.Generator) -> NDArray:
    """Greedy k-means++: of 2 + ⌊ln K⌋ draws ∝ w · D(x)², the one that leaves the smallest Σ w · D(x)².

    The draws see all rows; candidates are compared on at most `TRIAL_ROWS` of them.
    """
    return _drawn(pool, random.random((n_clusters, 2 + int(np.log(n_clusters)))))


def _drawn(pool: Pool, uniforms: NDArray) -> NDArray:
    """Seeds drawn ∝ w · D(x)²; of several draws for one seed the best."""
    if not pool.data.is_sparse and pool.data.shape[0] <= SMALL_ROWS:
        chosen = np.empty(len(uniforms), dtype=np.int64)
        weight = np.empty(0, dtype=pool.data.dtype) if pool.data.weight is None else pool.data.weight
        n_drawn = draw_seeds(read_only(pool.data.X), read_only(weight), pool.order, uniforms, chosen)
        chosen[n_drawn:] = chosen[0]
        return pool.data.X[chosen]
    shown, trial = _trial(pool)

    def draw(j: int, seeds: Seeds, masses: NDArray, centers: NDArray) -> NDArray | None:
        if not masses.sum() > 0.0:
            return None
        drawn = [_draw(pool, seeds.closest, masses, uniform) for uniform in uniforms[j]]
        candidates = np.array([_row(pool, index) for index in drawn])
        if len(candidates) == 1:
            return candidates[0]
        there = Seeds(seeds.closest[shown], seeds.nearest[shown])
        potentials = _potentials(trial, there, centers, candidates)
        # Candidates that differ by rounding only are equal, and the first is taken.
        return candidates[np.argmax(potentials <= potentials.min() * (1.0 + 1e-9))]

    return _one_by_one(pool, len(uniforms), uniforms[0, 0], draw)


def farthest(pool: Pool, n_clusters: int, random: np.random.Generator) -> NDArray:
    """Farthest point sampling: a random row, then always the row farthest from those chosen."""

    def draw(j: int, seeds: Seeds, masses: NDArray, centers: NDArray) -> NDArray | None:
        weight = pool.data.weight
        distances = seeds.closest if weight is None else np.where(weight > 0.0, seeds.closest, 0.0)
        ties = np.flatnonzero(distances == distances.max())
        return _row(pool, int(ties[np.argmin(pool.keys[ties])])) if distances.max() > 0.0 else None

    return _one_by_one(pool, n_clusters, random.random(), draw)


def _one_by_one(pool: Pool, n_clusters: int, uniform: float, draw: Callable[..., NDArray | None]) -> NDArray:
    """A first row, then what `draw` gives; where that is None, the others are copies of the first."""
    centers = np.empty((n_clusters, pool.data.shape[1]), dtype=pool.data.dtype)
    centers[:] = _row(pool, _draw(pool, np.ones(len(pool.keys)), None, uniform))
    seeds = _no_seeds(pool)
    for j in range(1, n_clusters):
        masses = _approach(pool, seeds, centers[:j])
        center = draw(j, seeds, masses, centers[:j])
        if center is None:
            break
        centers[j] = center
    return centers


def random_rows(pool: Pool, n_clusters: int, random: np.random.Generator) -> NDArray:
    """Distinct rows, each drawn with probability ∝ its weight among the rows not drawn yet."""
    weight = np.ones(len(pool.keys)) if pool.data.weight is None else pool.data.weight
    cumulative = np.cumsum(weight[pool.order], dtype=np.float64)
    drawn_rows: dict[bytes, NDArray] = {}
    for uniform in random.random(4 * n_clusters + 16):
        if len(drawn_rows) == n_clusters:
            break
        row = _row(pool, int(pool.order[positions(cumulative, uniform)])) + 0.0  # −0 is 0
        drawn_rows.setdefault(row.tobytes(), row)  # a row drawn before, or its copy, is drawn again
    if len(drawn_rows) < n_clusters:
        _complete(pool, drawn_rows, n_clusters, random)
    centers = list(drawn_rows.values())
    return np.array(centers + [centers[0]] * (n_clusters - len(centers)), dtype=pool.data.dtype)


def _complete(
    pool: Pool, drawn_rows: dict[bytes, NDArray], n_clusters: int, random: np.random.Generator
) -> None:
    """Draw the rest among the rows that differ from all those drawn_rows, as long as there are any."""
    seeds = _no_seeds(pool)
    for row in drawn_rows.values():
        _approach(pool, seeds, row[np.newaxis])
    while len(drawn_rows) < n_clusters:
        remaining = (seeds.closest > 0.0).astype(np.float64)
        masses = remaining if pool.data.weight is None else remaining * pool.data.weight
        if not masses.sum() > 0.0:
            return
        row = _row(pool, _draw(pool, remaining, None, random.random())) + 0.0
        if row.tobytes() in drawn_rows:  # distances that are no numbers: nothing more can be told apart
            return
        drawn_rows[row.tobytes()] = row
        _approach(pool, seeds, row[np.newaxis])


INITS: dict[str, Callable[[Pool, int, np.random.Generator], NDArray]] = {
    "greedy-k-means++": greedy_plus_plus,
    "k-means++": plus_plus,
    "farthest": farthest,
    "random": random_rows,
}


def _no_seeds(pool: Pool) -> Seeds:
    n_samples = len(pool.keys)
    return Seeds(np.full(n_samples, np.inf), np.zeros(n_samples, dtype=np.int32))


def _approach(pool: Pool, seeds: Seeds, centers: NDArray) -> NDArray:
    """Account for the last of the centres; return the mass w · D² of every bucket."""
    new = len(centers) - 1
    gaps = _quarter_gaps(centers, centers[new:])
    gaps[0, new] = -1.0
    n_buckets = int(pool.bucket[pool.order[-1]]) + 1
    state = centers[new:].astype(np.float64), new, gaps, n_buckets
    return pool.data.reduce(_approach_block, *state, rowwise=(pool.bucket, *seeds))


def _potentials(data: MemoryRows, seeds: Seeds, centers: NDArray, candidates: NDArray) -> NDArray:
    """Σ w · D² that each candidate would leave."""
    gaps = _quarter_gaps(centers, candidates)
    state = candidates.astype(np.float64), -1, gaps, len(candidates)
    return data.reduce(_approach_block, *state, rowwise=(seeds.nearest, *seeds))


def _quarter_gaps(centers: NDArray, candidates: NDArray) -> NDArray:
    """A quarter of the squared distances from candidates to centres, rounded down."""
    points, trials = centers.astype(np.float64), candidates.astype(np.float64)
    return 0.25 * (1.0 - 1e-9) * ((trials[:, np.newaxis] - points) ** 2).sum(axis=2)


def _approach_block(
    block: Block, candidates: NDArray, new: int, quarter_gaps: NDArray, n_masses: int, *rowwise: NDArray
) -> NDArray:
    masses, norms = np.zeros(n_masses), np.einsum("cd,cd->c", candidates, candidates)
    bucket, closest, nearest = rowwise
    approach(table(block), candidates, norms, new, quarter_gaps, bucket, closest, nearest, masses)
    return masses


def _trial(pool: Pool) -> tuple[Any, MemoryRows]:
    """Rows to compare candidates on: all, or some spread over the order of the pool; their indices first."""
    n_samples = len(pool.order)
    if n_samples <= TRIAL_ROWS:
        return slice(None), pool.data
    positions = np.linspace(0, n_samples - 1, TRIAL_ROWS).astype(np.int64)
    shown = np.sort(pool.order[positions])
    weight = None if pool.data.weight is None else pool.data.weight[shown]
    return shown, MemoryRows(pool.data.X[shown], None, weight)


def _draw(pool: Pool, mass: NDArray, bucket_masses: NDArray | None, uniform: float) -> int:
    """The row at which the cumulative weight × mass passes a uniform share of its total."""
    begin, end = 0, len(pool.order)
    if bucket_masses is not None and len(bucket_masses) > 1:
        cumulative = np.cumsum(bucket_masses)
        which = int(positions(cumulative, uniform))
        before = cumulative[which - 1] if which else 0.0
        uniform = (uniform * cumulative[-1] - before) / bucket_masses[which]
        begin, end = which * BUCKET_ROWS, min((which + 1) * BUCKET_ROWS, end)
    members = pool.order[begin:end]
    masses = mass[members]
    if pool.data.weight is not None:
        masses = masses * pool.data.weight[members]
    return int(members[positions(np.cumsum(masses), uniform)])


def positions(cumulative: NDArray, uniforms: Any) -> Any:
    """First positions whose cumulative masses exceed these shares of the total; never one without mass."""
    places = np.searchsorted(cumulative, uniforms * cumulative[-1], side="right")
    return np.minimum(places, np.searchsorted(cumulative, cumulative[-1], side="left"))


def weights_of(data: Rows) -> NDArray:
    """The weights of all rows, in the dtype of the rows."""
    return np.asarray(data.map(_weights_of, dtype=data.dtype))


def _row(pool: Pool, index: int) -> NDArray:
    return pool.data.take(np.array([index]))[0]


def _project(block: Block, direction: NDArray) -> NDArray:
    return block.X @ direction


def _weights_of(block: Block) -> Matrix:
    return block.weight
