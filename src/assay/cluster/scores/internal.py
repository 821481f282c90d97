"""Scores of a partition without a truth: inertias, Calinski and Harabasz, Davies and Bouldin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from assay.cluster.scores.labels import code_labels, require_clusters
from assay.loops import compiled
from assay.rows import Block, Rows, is_external, rows


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


DENSE_ROWS = 256  # rows of a CSR block that are written out at a time


class Dispersion(NamedTuple):
    """Weights, means and inner inertias of the clusters of a partition, from one walk."""

    weights: NDArray
    centers: NDArray
    inertias: NDArray

    @property
    def n_clusters(self) -> int:
        """Clusters of some weight."""
        return int(np.count_nonzero(self.weights))

    @property
    def within(self) -> float:
        """Σ_k Σ_{i ∈ C_k} w_i ‖x_i − m_k‖²."""
        return float(self.inertias.sum())

    @property
    def between(self) -> float:
        """Σ_k n_k ‖m_k − x̄‖² about the mean x̄ of the rows in clusters."""
        apart = self.centers - self.centers[0]  # about a row near by, for the digits
        mean = self.weights @ apart / self.weights.sum()
        return float(self.weights @ ((apart - mean) ** 2).sum(axis=1))


def within_inertia(X: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """Inertia within the clusters of a partition, Σ_k Σ_{i ∈ C_k} w_i ‖x_i − m_k‖².

    One walk over rows in memory, on disk or on a cluster. Noise (label −1) is left out.

    Parameters
    ----------
    X : array, CSR matrix, frame, path, memory map, Arrow dataset or table, Dask array or dataframe
        The rows.
    labels : array of shape (n_samples,)
        Cluster of each row; −1 is noise.
    sample_weight : array of shape (n_samples,) or column name, optional
        A weight of 2 means that the row counts twice, 0 that it is absent.

    Examples
    --------
    >>> from assay.cluster import between_inertia, within_inertia
    >>> X, labels = [[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1]
    >>> within_inertia(X, labels), between_inertia(X, labels)
    (4.0, 100.0)

    References
    ----------
    Sangnier §2.5.1; Wei §10.
    """
    return measure_partition("within_inertia", X, labels, sample_weight)[0].within


def between_inertia(X: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """Inertia between the clusters of a partition, Σ_k n_k ‖m_k − x̄‖².

    With `within_inertia` it adds up to the total inertia of the rows in clusters (Huygens). Parameters are
    those of `within_inertia`.
    """
    return measure_partition("between_inertia", X, labels, sample_weight)[0].between


def calinski_harabasz(X: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """Index of Calinski and Harabasz: (n − k)/(k − 1) · between/within; large is good.

    One walk over rows in memory, on disk or on a cluster. Noise (label −1) is left out. The index favours
    convex clusters: it does not judge between k-means and a density method. It is infinite where every row
    is the mean of its cluster.

    Parameters
    ----------
    X, labels, sample_weight
        As in `within_inertia`; between 2 and n − 1 clusters.

    Examples
    --------
    >>> from assay.cluster import calinski_harabasz
    >>> calinski_harabasz([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    50.0

    References
    ----------
    Sangnier §2.5.3. Calinski & Harabasz (1974).
    """
    partition, _ = measure_partition("calinski_harabasz", X, labels, sample_weight, at_least=2)
    return calinski_harabasz_of(partition)


def calinski_harabasz_of(partition: Dispersion) -> float:
    """The index from what one walk has measured."""
    n, k = float(partition.weights.sum()), partition.n_clusters
    if n <= k:
        words = f"must name fewer clusters than rows ({n:g}). Got {k} clusters instead."
        raise ValueError(f"The 'labels' of calinski_harabasz {words}")
    within, between = partition.within, partition.between
    if within == 0.0 and between == 0.0:
        raise ValueError(
            "calinski_harabasz compares spreads, but the rows of X are all equal: it needs some."
        )
    return (n - k) / (k - 1) * between / within if within > 0.0 else np.inf


def davies_bouldin(X: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """Index of Davies and Bouldin: mean over clusters of max_{l ≠ k} (S_k + S_l)/‖m_k − m_l‖; small is good.

    S_k is the mean distance of the rows of cluster k to their mean m_k. Two walks over rows in memory, on
    disk or on a cluster. Noise (label −1) is left out. Clusters that share their mean make it infinite.

    Parameters
    ----------
    X, labels, sample_weight
        As in `within_inertia`; at least 2 clusters.

    Examples
    --------
    >>> from assay.cluster import davies_bouldin
    >>> davies_bouldin([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    0.2

    References
    ----------
    Davies & Bouldin (1979).
    """
    return davies_bouldin_of(*measure_partition("davies_bouldin", X, labels, sample_weight, at_least=2))


def davies_bouldin_of(partition: Dispersion, data: Rows) -> float:
    """The index by a second walk, about the means of the first."""
    present = partition.weights > 0
    spread = data.reduce(_block_distances, partition.centers)[present] / partition.weights[present]
    apart = cdist(partition.centers[present], partition.centers[present])
    both = spread[:, np.newaxis] + spread
    ratio = np.full_like(both, np.inf)
    np.divide(both, apart, out=ratio, where=apart > 0)
    ratio[both == 0] = 0.0
    np.fill_diagonal(ratio, -np.inf)
    return float(ratio.max(axis=1).mean())


def measure_partition(
    owner: str, X: Any, labels: Any, sample_weight: Any = None, *, at_least: int = 1
) -> tuple[Dispersion, Rows]:
    """Walk the rows of a partition once; the rows come back with the codes of their clusters as target."""
    n_rows = None if is_external(X) else X.shape[0] if hasattr(X, "shape") else len(X)
    coded = code_labels(owner, labels, n_rows)
    require_clusters(owner, coded, at_least)
    data = rows(X, coded.codes, sample_weight)
    # A row of the cluster itself as its origin: little cancels however far apart the clusters are.
    places = np.zeros(len(coded.clusters) + 1, dtype=np.int64)  # the last entry is that of noise
    places[coded.codes[::-1]] = np.arange(len(coded.codes))[::-1]
    places = places[:-1]
    shifts = np.zeros((len(places), data.shape[1]))
    if not data.is_sparse:
        order = np.argsort(places)
        shifts[order] = data.take(places[order])
    sums, squares, weights = data.reduce(_block_sums, shifts)
    n_present = np.count_nonzero(weights)
    if n_present < at_least:
        raise ValueError(
            f"The 'labels' of {owner} must name at least {at_least} clusters with rows of weight above 0. "
            f"Got {n_present} instead."
        )
    moved = sums / np.where(weights > 0, weights, 1.0)[:, np.newaxis]
    inertias = np.maximum(squares - weights * (moved**2).sum(axis=1), 0.0)
    return Dispersion(weights, moved + shifts, inertias), data


def _block_sums(block: Block, shifts: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    sums, squares, weights = np.zeros(shifts.shape), np.zeros(len(shifts)), np.zeros(len(shifts))
    for X, codes, weight in _pieces(block):
        add_rows(X, codes, weight, shifts, sums, squares, weights)
    return sums, squares, weights


def _block_distances(block: Block, centers: NDArray) -> NDArray:
    totals = np.zeros(len(centers))
    for X, codes, weight in _pieces(block):
        add_distances(X, codes, weight, centers, totals)
    return totals


def _pieces(block: Block) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """Dense rows, their clusters and weights; a CSR block is written out a few rows at a time."""
    assert block.y is not None
    weight = np.empty(0, dtype=block.X.dtype) if block.weight is None else block.weight
    if not block.is_sparse:
        yield block.X, block.y, weight
        return
    for first in range(0, block.X.shape[0], DENSE_ROWS):
        part = slice(first, first + DENSE_ROWS)
        yield block.X[part].toarray(), block.y[part], weight[part]
