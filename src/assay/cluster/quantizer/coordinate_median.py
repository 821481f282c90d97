"""k-medians in the l1 norm: every centre is the vector of the medians of its cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.cluster.quantizer.base import CENTER_DOMAINS, CenterModel, Step, dense64, metric_distances, one_hot
from assay.loops import compiled
from assay.parameters import Domain
from assay.rows import Block, Rows

# Exact weighted medians of the features of every cluster, by counting digits: sums over rows.


MAX_COUNTERS = 2**18
MAX_DIGIT_BITS = 11

Labels = Callable[[Block, NDArray], NDArray]


def select_medians(
    data: Rows, label: Labels, centers: NDArray, weights: NDArray, labels: NDArray | None
) -> NDArray:
    """The lower weighted median of each feature in each cluster, of shape (n_clusters, n_features).

    Numbers are read as integers of the same order. Each walk over the rows counts the values of the next few
    bits among the rows that agree with the median in all bits before. Where there are no `labels`, `label`
    finds the clusters of rows among `centers`. Medians of clusters of weight 0 mean nothing.
    """
    n_bits = 8 * data.dtype.itemsize
    # As many counters as rows are worth their memory, for each of the medians.
    affordable = min(MAX_COUNTERS / centers.size, float(data.shape[0]))
    digit_bits = int(np.clip(np.log2(affordable), 4, MAX_DIGIT_BITS))
    prefix = np.zeros(centers.shape, dtype=np.uint64)
    below, high = np.zeros(centers.shape), n_bits
    rowwise = () if labels is None else (labels,)
    while high > 0:
        low = max(high - digit_bits, 0)
        counts = data.reduce(_count_block, label, centers, (prefix, high, low), rowwise=rowwise)
        cumulative = below[:, :, np.newaxis] + np.cumsum(counts, axis=2)
        target = np.minimum(0.5 * weights[:, np.newaxis], cumulative[:, :, -1])
        digit = np.argmax(cumulative >= target[:, :, np.newaxis], axis=2)
        before = np.take_along_axis(cumulative, np.maximum(digit - 1, 0)[:, :, np.newaxis], axis=2)[:, :, 0]
        below = np.where(digit > 0, before, below)
        prefix = (prefix << np.uint64(high - low)) | digit.astype(np.uint64)
        high = low
    return _values(prefix, n_bits)


def _count_block(
    block: Block, label: Labels, centers: NDArray, digit: tuple[NDArray, int, int], *rowwise: NDArray
) -> NDArray:
    prefix, high, low = digit
    counts = np.zeros((*centers.shape, 2 ** (high - low)))
    own = rowwise[0] if rowwise else label(block, centers)
    bits = np.ascontiguousarray(block.X)
    bits = bits.view(np.uint64 if bits.dtype == np.float64 else np.uint32)
    count_digits(bits, own, block.weights, prefix, 8 * bits.itemsize, high, low, counts)
    return counts


def _values(keys: NDArray, n_bits: int) -> NDArray:
    """The numbers of keys."""
    kind, dtype = (np.uint64, np.float64) if n_bits == 64 else (np.uint32, np.float32)
    keys = keys.astype(kind)
    sign = kind(1) << kind(n_bits - 1)
    return np.where(keys & sign, keys & ~sign, ~keys).view(dtype).astype(np.float64)


@compiled
def sortable_key(bits, sign):  # type: ignore[no-untyped-def]
    """The unsigned integer, in the order of the numbers, of a number with these bits; −0 is 0."""
    key = np.uint64(bits)
    if key & sign:
        return sign if key == sign else (~key) & (sign | (sign - np.uint64(1)))
    return key | sign


@compiled
def count_digits(bits, labels, weight, prefix, n_bits, high, low, counts):  # type: ignore[no-untyped-def]
    """Add the weights of rows to counts[cluster, feature, digit], the digit being the bits from high to low.

    Only rows that agree with the prefix of their cluster and feature in the bits above `high` count.
    """
    mask, sign = np.uint64(counts.shape[2] - 1), np.uint64(1) << np.uint64(n_bits - 1)
    for i in range(bits.shape[0]):
        k = labels[i]
        for f in range(bits.shape[1]):
            key = sortable_key(bits[i, f], sign)
            if high == n_bits or (key >> np.uint64(high)) == prefix[k, f]:
                counts[k, f, np.int64((key >> np.uint64(low)) & mask)] += weight[i]


ROUNDING = 1e-12


Sides = tuple[float, NDArray, NDArray, NDArray]
"""Cost, weights of the clusters, and weights strictly below and above the centre in each coordinate."""


class KCoordinateMedian(CenterModel):
    """Partition of rows around the medians of their coordinates.

    Minimises over centres c_1, …, c_K

        J(c) = Σ_i w_i min_k ‖x_i − c_k‖₁,        w_i = 1 without `sample_weight`,

    by alternating the assignment of rows to the nearest centre and the medians, feature by feature, of every
    cluster (the lower one of two middle values). Medians are selected exactly by counting digits of the
    numbers, a few walks over the rows wherever they are. The result is a local optimum, the best of `n_init`.

    Assumes: columns on comparable scales, and coordinates that matter one by one, for the l1 distance depends
    on the axes; the number of clusters is given.

    Certificates: the cost never rises, is that of the centres, every row is at its nearest centre, and at
    most half of a cluster lies on either side of its centre in each coordinate.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Initial centres: drawn by greedy k-means++, distinct rows, or given.
    n_init : int, default=1
        Restarts, where `init` draws.
    max_iter : int, default=300
        Most iterations of a restart.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial centres come from.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres.
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row; lazy for Dask input.
    inertia_ : float
        J at the centres.
    converged_ : bool
        Whether the centres are the medians of their clusters; the iteration ends after finitely many steps.
    optimality_ : float
        Largest share of a cluster beyond one half that lies on one side of its centre: 0 for medians.
    n_iter_, restart_inertias_, inertia_trace_, cluster_weights_, certificates_, n_features_in_
        As in `KMeans`, with this cost in place of the inertia.
    feature_names_in_
        As in `KMeans`, with this cost in place of the inertia.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import KCoordinateMedian
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [50.0, 50.0], [51.0, 51.0], [90.0, 52.0]])
    >>> KCoordinateMedian(n_clusters=2, random_state=0).fit(X).quantize([[3.0, 3.0], [60.0, 40.0]])
    array([[ 1.,  1.],
           [51., 51.]])

    References
    ----------
    Sangnier §2.2.1 (centres for any dissimilarity). Bradley, Mangasarian & Street (1996), k-median.
    """

    _accepts_sparse = False
    _metric = "cityblock"

    _domains: ClassVar[Mapping[str, Domain]] = CENTER_DOMAINS

    def _step(self, data: Rows) -> Callable[[NDArray], Step]:
        labels = np.empty(data.shape[0], dtype=np.int32) if data.local else None
        rowwise = () if labels is None else (labels,)

        def step(centers: NDArray) -> Step:
            cost, *sides = data.reduce(_assign_block, centers, rowwise=rowwise)
            optimality, weights = _imbalance(*sides), sides[0]
            if optimality <= self.tol:
                return Step(cost, centers, centers, optimality)
            medians = select_medians(data, _block_labels, centers, weights, labels)
            filled = weights > 0.0
            return Step(cost, centers, np.where(filled[:, np.newaxis], medians, centers), optimality)

        return step

    def _stationarity(self, data: Rows, labels: NDArray | None) -> list[Certificate]:
        rowwise = () if labels is None else (labels,)
        _, *sides = data.reduce(_sides_block, self.cluster_centers_, rowwise=rowwise)
        return [
            at_most(
                "At most half of a cluster lies on either side of its centre, in each coordinate.",
                "share beyond one half",
                _imbalance(*sides),
                ROUNDING,
                source="Bradley, Mangasarian & Street (1996)",
            )
        ]


def _imbalance(weights: NDArray, below: NDArray, above: NDArray) -> float:
    """Largest share beyond one half on one side; 0 for clusters without rows."""
    share = np.maximum(below, above) / np.maximum(weights, np.finfo(np.float64).tiny)[:, np.newaxis] - 0.5
    return float(max(share.max(), 0.0))


def _block_labels(block: Block, centers: NDArray) -> NDArray:
    return metric_distances(block, centers, "cityblock").argmin(axis=1).astype(np.int32)


def _assign_block(block: Block, centers: NDArray, labels: NDArray | None = None) -> Sides:
    """Assign the rows, write the labels if there is room for them, and look at both sides of the centres."""
    own = _block_labels(block, centers)
    if labels is not None:
        labels[...] = own
    return _sides_block(block, centers, own)


def _sides_block(block: Block, centers: NDArray, labels: NDArray | None = None) -> Sides:
    own = _block_labels(block, centers) if labels is None else labels
    weight = block.weights
    apart = dense64(block.X) - centers[own]
    cost, weights = float(weight @ np.abs(apart).sum(axis=1)), np.bincount(own, weight, len(centers))
    below, above = (one_hot(own, weight, len(centers)) @ side for side in (apart < 0.0, apart > 0.0))
    return cost, weights, below, above
