"""From eigenvectors to coordinates, from coordinates to clusters, and from new rows to both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans.centers import count_distinct
from assay.cluster.kmeans.estimator import KMeans, assign_until_settled
from assay.cluster.kmeans.seeding import greedy_plus_plus, open_pool
from assay.cluster.spectral.affinity import Reach
from assay.graphs import both_cuts, sweep_cut
from assay.models.clusterer import numbered_by_appearance
from assay.randomness import spawn_each
from assay.rows import Block, MemoryRows, ordered_map

TWO_WAY = ("sign", "sweep")
MAX_ITER = 1000
KMEANS_TOL = 1e-6
SMALL_WORK = 2**16  # values times clusters up to which restarts are not worth the threads
LEAST_FACTOR = 0.01  # 1 − λ of the extension: beyond, a coordinate is noise


class Coordinates(NamedTuple):
    """How eigenvectors become coordinates: the Laplacian, row scaling, and the mixture for two-way cuts.

    - "random_walk": h_i = u_i/√d_i;  "unnormalized": u_i;  "symmetric": u_i/‖u_i‖;
    - two-way: the one combination of h orthogonal to the constant, scaled to fᵀDf = tr D (fᵀf = n for L).
    """

    laplacian: str
    two_way: bool
    mixture: NDArray

    def place(self, h: NDArray) -> NDArray:
        """Coordinates of rows with eigenvectors over the roots of the weights, u_i/√w_i."""
        if self.two_way:
            return h @ self.mixture
        if self.laplacian != "symmetric":
            return h
        norms = np.linalg.norm(h, axis=1, keepdims=True)
        return np.divide(h, norms, out=np.zeros_like(h), where=norms > 0.0)


def coordinates(laplacian: str, rounding: str, vectors: NDArray, weight: NDArray) -> Coordinates:
    """The rule for these eigenvectors; `weight` holds degrees, or ones for L."""
    two_way = rounding in TWO_WAY
    mixture = np.eye(vectors.shape[1])
    if two_way:
        first, second = vectors.T @ np.sqrt(weight)
        direction = np.array([-second, first]) / np.hypot(first, second)
        mixture = (np.sqrt(weight.sum()) * direction)[:, np.newaxis]
    return Coordinates(laplacian, two_way, mixture)


class Rounded(NamedTuple):
    """A partition of embedded rows: each goes to its nearest centre.

    `trace` has the criterion after every half-step; empty for two-way cuts.
    """

    labels: NDArray
    centers: NDArray
    trace: NDArray
    converged: bool


def round_rows(
    embedding: NDArray, n_clusters: int, rounding: str, W: Any, weight: NDArray, *, n_init: int, random: Any
) -> Rounded:
    """Turn coordinates into clusters, numbered by first appearance; the least cut of several restarts."""
    by_size = bool((weight == 1.0).all())
    if rounding in TWO_WAY:
        score = embedding[:, 0]
        threshold = 0.0 if rounding == "sign" else sweep_cut(W, score, by_size=by_size).threshold
        centers = np.array([[threshold - 1.0], [threshold + 1.0]])
        labels = (score > threshold).astype(np.int32)
        centers, labels = (centers[::-1], 1 - labels) if labels[0] else (centers, labels)
        return Rounded(labels, centers, np.empty(0), True)
    n_distinct = count_distinct(MemoryRows(embedding), n_clusters)
    sample_weight = weight if rounding == "weighted_kmeans" else None
    data = MemoryRows(embedding, None, sample_weight)
    start = _best_start(data, n_distinct, W, by_size, n_init, random)
    best = KMeans(n_distinct, init=start, max_iter=MAX_ITER, tol=KMEANS_TOL)
    best.fit(embedding, sample_weight=sample_weight)
    labels = numbered_by_appearance(best.labels_)
    centers = np.empty_like(best.cluster_centers_)
    centers[labels] = best.cluster_centers_[best.labels_]
    return Rounded(labels, centers, best.inertia_trace_, best.converged_)


def _best_start(
    data: MemoryRows, n_clusters: int, W: Any, by_size: bool, n_init: int, random: Any
) -> NDArray:
    """The initial centres from which Lloyd's iteration reaches the least cut."""
    pool = open_pool(data, random)

    def restart(own: np.random.Generator) -> tuple[NDArray, float]:
        start = greedy_plus_plus(pool, n_clusters, own)
        labels = assign_until_settled(data, start, tol=KMEANS_TOL, max_iter=MAX_ITER)
        ratio, norm = both_cuts(W, labels)
        return start, ratio.value if by_size else norm.value

    best, least = None, np.inf
    restarts = spawn_each(random, n_init)
    small = data.X.size * n_clusters <= SMALL_WORK
    for start, value in map(restart, restarts) if small else ordered_map(restart, restarts):
        # Restarts that reach the same partition differ by rounding: the first of them is kept.
        if best is None or value < (1.0 - 1e-9) * least:
            best, least = start, value
    assert best is not None
    return best


class Extension(NamedTuple):
    """What a new row needs to find its cluster."""

    reach: Reach
    rule: Coordinates
    scaled: NDArray
    """u_i/√w_i, one row for each row of the fit."""
    values: NDArray
    centers: NDArray


def extend_block(block: Block, extension: Extension) -> NDArray:
    """Labels of new rows."""
    parts = [_labels(weights, extension) for weights in extension.reach.chunks(block.X)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


def _labels(weights: Any, extension: Extension) -> NDArray:
    """Nyström: the eigenvector equation at the new row gives its coordinates, which have a nearest centre.

    L_w h = λh reads h(x) = Σ_i s(x, x_i) h_i/((1 − λ) d(x)), and Lu = λu reads u(x) = Σ_i s(x, x_i) u_i/(d(x)
    − λ).
    """
    degree = np.asarray(weights.sum(axis=1), dtype=np.float64).reshape(-1, 1)
    reached = degree[:, 0] > 0.0
    sums = np.asarray(weights @ extension.scaled, dtype=np.float64)
    if extension.rule.laplacian == "unnormalized":
        factor = np.maximum(degree - extension.values, LEAST_FACTOR * degree)
    else:
        factor = np.maximum(1.0 - extension.values, LEAST_FACTOR) * degree
    h = np.divide(sums, factor, out=np.zeros_like(sums), where=reached[:, np.newaxis])
    labels = squared_distances(extension.rule.place(h), extension.centers).argmin(axis=1)
    return np.where(reached, labels, -1).astype(np.int32)


def squared_distances(points: NDArray, centers: NDArray) -> NDArray:
    """‖p_i − c_j‖² by differences, which do not cancel."""
    return np.column_stack([np.square(points - center).sum(axis=1) for center in centers])
