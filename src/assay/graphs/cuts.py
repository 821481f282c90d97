"""What a partition of a graph cuts: Cut, RatioCut, NormCut, and what stays within."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.graphs import measures as loops
from assay.graphs.laplacians import Weights, as_weights, degrees, edges, is_sparse


class Cut(NamedTuple):
    """Value of a criterion on a partition, and what it is made of, cluster by cluster.

    Attributes
    ----------
    value : float
        The criterion, the sum of `terms`.
    terms : array of shape (n_clusters,)
        cut_j for Cut, cut_j/#I_j for RatioCut, cut_j/vol(I_j) for NormCut.
    cuts : array of shape (n_clusters,)
        cut_j = Σ_{i ∈ I_j, ℓ ∉ I_j} W_iℓ.
    within : array of shape (n_clusters,)
        Similarity within, Σ_{i, ℓ ∈ I_j} W_iℓ = vol(I_j) − cut_j.
    volumes, sizes : arrays of shape (n_clusters,)
        vol(I_j) and #I_j.
    """

    value: float
    terms: NDArray
    cuts: NDArray
    within: NDArray
    volumes: NDArray
    sizes: NDArray


def graph_cut(W: Any, labels: Any) -> Cut:
    """Σ_j cut_j: the weight between clusters, each undirected edge counted from both sides.

    Examples
    --------
    >>> from assay.graphs import graph_cut
    >>> graph_cut([[0, 3, 0], [3, 0, 1], [0, 1, 0]], [0, 0, 1]).value
    2.0
    """
    parts = measure_partition(as_weights(W, "graph_cut"), labels)
    return parts._replace(value=float(parts.cuts.sum()), terms=parts.cuts)


def ratio_cut(W: Any, labels: Any) -> Cut:
    """RatioCut, Σ_j cut_j/#I_j: clusters of even size are favoured.

    Examples
    --------
    >>> from assay.graphs import ratio_cut
    >>> ratio_cut([[0, 3, 0], [3, 0, 1], [0, 1, 0]], [0, 0, 1]).value
    1.5

    References
    ----------
    Sangnier §2.2.5.
    """
    return _normalised(measure_partition(as_weights(W, "ratio_cut"), labels), by_size=True)


def norm_cut(W: Any, labels: Any) -> Cut:
    """NormCut, Σ_j cut_j/vol(I_j): also maximises the share of the weight that stays within clusters.

    A cluster of volume 0 (vertices without any edge) cuts nothing: its term is 0.

    Examples
    --------
    >>> from assay.graphs import norm_cut
    >>> norm_cut([[0, 3, 0], [3, 0, 1], [0, 1, 0]], [0, 0, 1]).terms.round(3)
    array([0.143, 1.   ])

    References
    ----------
    Sangnier §2.2.5.
    """
    return _normalised(measure_partition(as_weights(W, "norm_cut"), labels), by_size=False)


def both_cuts(W: Weights, labels: NDArray) -> tuple[Cut, Cut]:
    """RatioCut and NormCut of validated weights, from one pass over the edges."""
    parts = measure_partition(W, labels)
    return _normalised(parts, by_size=True), _normalised(parts, by_size=False)


def measure_partition(W: Weights, labels: Any) -> Cut:
    """Cut, within-similarity, volume and size of each cluster of a partition (criterion left at the cut).

    Sums of non-negative terms: nothing cancels, and a partition into components has cut 0 exactly.
    """
    _, labels = np.unique(np.asarray(labels), return_inverse=True)
    if labels.shape != (W.shape[0],):
        raise ValueError(
            f"A graph of {W.shape[0]} vertices needs as many labels. Got shape {labels.shape} instead."
        )
    n_clusters = int(labels.max()) + 1
    between: NDArray = np.zeros((n_clusters, n_clusters))
    if is_sparse(W):
        row, column, value = edges(W)
        pair = labels[row] * n_clusters + labels[column]
        between = np.bincount(pair, weights=value, minlength=n_clusters**2).reshape(between.shape)
    else:
        member = np.zeros((W.shape[0], n_clusters))
        member[np.arange(W.shape[0]), labels] = 1.0
        between = member.T @ (W @ member)
    within = between.diagonal().copy()
    np.fill_diagonal(between, 0.0)
    cuts = between.sum(axis=1)
    sizes = np.bincount(labels, minlength=n_clusters)
    return Cut(float(cuts.sum()), cuts, cuts, within, within + cuts, sizes)


def _normalised(parts: Cut, *, by_size: bool) -> Cut:
    weight = parts.sizes.astype(np.float64) if by_size else parts.volumes
    terms = np.divide(parts.cuts, weight, out=np.zeros_like(parts.cuts), where=weight > 0.0)
    return parts._replace(value=float(terms.sum()), terms=terms)


def partition_basis(labels: Any, weight: NDArray | None = None) -> NDArray:
    """Columns √w_i 1{i ∈ I_j}/√w(I_j): orthonormal, and the indicator matrix of RatioCut for w = 1.

    With the degrees for weights these are D^{1/2} times the indicator matrix of NormCut.

    Examples
    --------
    >>> from assay.graphs import partition_basis
    >>> partition_basis([0, 0, 1]).round(3)
    array([[0.707, 0.   ],
           [0.707, 0.   ],
           [0.   , 1.   ]])
    """
    _, labels = np.unique(np.asarray(labels), return_inverse=True)
    weight = np.ones(labels.size) if weight is None else weight
    total = np.bincount(labels, weights=weight)
    basis = np.zeros((labels.size, total.size))
    basis[np.arange(labels.size), labels] = np.sqrt(weight / total[labels])
    return basis


class Sweep(NamedTuple):
    """Best threshold on a score of the vertices: labels 1{score > threshold}, and the criterion there."""

    threshold: float
    labels: NDArray
    value: float
    values: NDArray
    """The criterion at every admissible threshold, by increasing score."""


def sweep_cut(W: Weights, score: NDArray, *, by_size: bool = False) -> Sweep:
    """The two-way NormCut (or RatioCut, `by_size`) of least value among the level sets of a score.

    Equal scores stay together; all thresholds are tried in one pass over the edges.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import sweep_cut
    >>> W = np.array([[0.0, 5.0, 0.0, 0.0], [5.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 5.0], [0.0, 0.0, 5.0, 0.0]])
    >>> sweep_cut(W, np.array([0.0, 1.0, 2.0, 3.0])).labels
    array([0, 0, 1, 1], dtype=int32)
    """
    levels, rank = np.unique(score, return_inverse=True)
    if levels.size < 2:
        return Sweep(float(levels[0]), np.zeros(score.size, dtype=np.int32), np.inf, np.array([np.inf]))
    row, column, value = edges(W)
    below, above = rank[row], rank[column]
    crossing = below < above
    # An edge between levels a < b is cut by the thresholds a, …, b − 1.
    steps = np.bincount(below[crossing], weights=value[crossing], minlength=levels.size)
    steps -= np.bincount(above[crossing], weights=value[crossing], minlength=levels.size)
    cuts = np.maximum(np.cumsum(steps)[:-1], 0.0)
    weight = np.ones(score.size) if by_size else degrees(W)
    low = np.cumsum(np.bincount(rank, weights=weight))[:-1]
    high = weight.sum() - low
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where((low > 0.0) & (high > 0.0), cuts / low + cuts / high, np.inf)
    best = int(np.argmin(values))
    labels = (rank > best).astype(np.int32)
    threshold = 0.5 * float(levels[best] + levels[best + 1])
    return Sweep(threshold, labels, float(values[best]), values)


class MinimumCut(NamedTuple):
    """The least cut of a graph in two parts: its weight, each edge counted once, and the two sides."""

    value: float
    labels: NDArray


def minimum_cut(W: Any) -> MinimumCut:
    """The global minimum cut in two parts, by Stoer and Wagner's algorithm in O(n³).

    Nothing in it asks for even parts: it often separates a single vertex, which is why RatioCut and NormCut
    divide by size and volume.

    Examples
    --------
    >>> from assay.graphs import minimum_cut
    >>> minimum_cut([[0, 3, 1], [3, 0, 1], [1, 1, 0]])
    MinimumCut(value=2.0, labels=array([0, 0, 1], dtype=int32))

    References
    ----------
    Sangnier §2.2.5; Stoer & Wagner (1997).
    """
    W = as_weights(W, "minimum_cut")
    weights = W.toarray() if is_sparse(W) else W.copy()
    n = len(weights)
    if n < 2:
        raise ValueError(f"A cut needs at least two vertices. The graph has {n}.")
    np.fill_diagonal(weights, 0.0)
    merged, best = np.empty((n - 1, 2), dtype=np.int64), np.zeros(1, dtype=np.int64)
    value = loops.minimum_cut_phases(weights, merged, best)
    groups = [{vertex} for vertex in range(n)]
    for before, last in merged[: best[0]]:
        groups[before] |= groups[last]
    labels = np.zeros(n, dtype=np.int32)
    labels[list(groups[merged[best[0], 1]])] = 1
    return MinimumCut(float(value), labels if labels[0] == 0 else 1 - labels)
