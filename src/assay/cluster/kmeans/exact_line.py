"""Clusters of least cost, exactly: numbers on a line by dynamic programming, few medoids by trying all."""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay import parameters
from assay.loops import compiled, inner
from assay.rows import check_weights


@inner
def interval_cost(values, masses, sums, squares, absolute, start, stop):  # type: ignore[no-untyped-def]
    """Cost of the numbers from `start` to `stop` about their mean, or median, from prefix sums."""
    mass, total = masses[stop] - masses[start], sums[stop] - sums[start]
    if not absolute:
        return max(squares[stop] - squares[start] - total * total / mass, 0.0)
    half = masses[start] + 0.5 * mass
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) // 2
        if masses[middle + 1] >= half:
            high = middle
        else:
            low = middle + 1
    left = values[low] * (masses[low] - masses[start]) - (sums[low] - sums[start])
    right = (sums[stop] - sums[low]) - values[low] * (masses[stop] - masses[low])
    return max(left + right, 0.0)


@compiled
def best_cuts(values, masses, sums, squares, absolute, cuts):  # type: ignore[no-untyped-def]
    """Set `cuts[k, stop]` to where the last of k + 1 intervals of the first `stop` numbers begins at best.

    For a fixed k the best cut does not decrease with `stop`: the middle one is found first and bounds those
    of both halves, which wait on a stack.
    """
    n_values = values.shape[0]
    before = np.full(n_values + 1, np.inf)
    best = np.full(n_values + 1, np.inf)
    before[0] = 0.0
    for stop in range(1, n_values + 1):
        before[stop] = interval_cost(values, masses, sums, squares, absolute, 0, stop)
    stack = np.empty((128, 4), np.int64)
    for k in range(1, cuts.shape[0]):
        best[:] = np.inf
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = k + 1, n_values, k, n_values - 1
        height = 1
        while height > 0:
            height -= 1
            first, last = stack[height, 0], stack[height, 1]
            lowest, highest = stack[height, 2], stack[height, 3]
            if first > last:
                continue
            stop = (first + last) // 2
            least, chosen = np.inf, lowest
            for start in range(lowest, min(highest, stop - 1) + 1):
                cost = before[start] + interval_cost(values, masses, sums, squares, absolute, start, stop)
                if cost < least:
                    least, chosen = cost, start
            best[stop], cuts[k, stop] = least, chosen
            stack[height, 0], stack[height, 1] = first, stop - 1
            stack[height, 2], stack[height, 3] = lowest, chosen
            stack[height + 1, 0], stack[height + 1, 1] = stop + 1, last
            stack[height + 1, 2], stack[height + 1, 3] = chosen, highest
            height += 2
        before[:] = best


MAX_CHOICES = 200_000


class LineClustering(NamedTuple):
    """Optimal clusters of numbers: labels by increasing centre, the centres, and the cost."""

    labels: NDArray
    centers: NDArray
    cost: float


class OptimalMedoids(NamedTuple):
    """Medoids of least cost, the place of the nearest one for every row, and the cost."""

    medoid_indices: NDArray
    labels: NDArray
    cost: float


def optimal_clustering_1d(
    x: ArrayLike, n_clusters: int, sample_weight: ArrayLike | None = None, *, criterion: str = "squared"
) -> LineClustering:
    """Clusters of numbers of least Σ_i w_i (x_i − c)² or Σ_i w_i |x_i − c|, over all partitions.

    Optimal clusters of numbers are intervals. The best last cut moves to the right as numbers are added, so
    that dynamic programming by halves takes O(n_clusters · n log n) steps (times another log n for
    "absolute"). Lloyd's iteration finds a local optimum only: its cost over this one is its true gap.

    Parameters
    ----------
    x : array of shape (n_samples,) or (n_samples, 1)
        The numbers.
    n_clusters : int
        At most so many clusters; fewer where there are fewer distinct numbers.
    sample_weight : array of shape (n_samples,), optional
        A weight of 2 means that the number counts twice.
    criterion : {"squared", "absolute"}, default="squared"
        k-means (centres are means) or k-medians (centres are the lower medians).

    Examples
    --------
    >>> from assay.cluster import optimal_clustering_1d
    >>> line = optimal_clustering_1d([1.0, 2.0, 3.0, 4.0, 100.0], 2, criterion="absolute")
    >>> line.labels, line.centers, line.cost
    (array([0, 0, 0, 0, 1], dtype=int32), array([  2., 100.]), 4.0)

    References
    ----------
    Sangnier §2.2.2, Remark 2.2.6. Grønlund, Larsen, Mathiasen & Nielsen (2017), exact k-means in 1D.
    """
    owner = "optimal_clustering_1d"
    values = np.asarray(x, dtype=np.float64)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(
            f"The 'x' parameter of {owner} must be a list of finite numbers, without NaN or infinity. Got an "
            f"array of shape {np.shape(x)} instead."
        )
    domains = {"n_clusters": parameters.integer(at_least=1)}
    domains["criterion"] = parameters.one_of("squared", "absolute")
    parameters.check(owner, {"n_clusters": n_clusters, "criterion": criterion}, domains)
    given = check_weights(sample_weight, len(values), np.float64)
    weight = np.ones(len(values)) if given is None else given
    present = weight > 0.0
    distinct, place = np.unique(values[present], return_inverse=True)
    masses = np.bincount(place, weight[present])
    starts = _cuts(distinct, masses, min(n_clusters, len(distinct)), criterion)
    intervals = zip(starts, [*starts[1:], len(distinct)], strict=True)
    centers = np.array([_center(distinct[a:b], masses[a:b], criterion) for a, b in intervals])
    # Numbers of weight 0 go to the interval whose first number they do not precede.
    labels = np.maximum(np.searchsorted(distinct[starts], values, side="right") - 1, 0)
    apart = np.abs(values - centers[labels])
    cost = float(weight @ (apart**2 if criterion == "squared" else apart))
    return LineClustering(labels.astype(np.int32), centers, cost)


def optimal_medoids(D: ArrayLike, n_clusters: int, sample_weight: ArrayLike | None = None) -> OptimalMedoids:
    """Medoids of least cost Σ_i w_i min_k d(x_i, x_{m_k}), by trying every choice of rows.

    For small samples: at most 200 000 choices. `KMedoids.certify` bounds the gap of larger ones.

    Parameters
    ----------
    D : array of shape (n_samples, n_samples)
        Dissimilarities.
    n_clusters : int
        Number of medoids.
    sample_weight : array of shape (n_samples,), optional
        Rows of weight 0 are absent.

    Examples
    --------
    >>> from assay.cluster import optimal_medoids
    >>> optimal_medoids([[0.0, 1.0, 9.0], [1.0, 0.0, 8.0], [9.0, 8.0, 0.0]], 2).cost
    1.0

    References
    ----------
    Sangnier §2.2.2, Remark 2.2.6.
    """
    matrix = np.asarray(D, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise ValueError(
            f"The 'D' parameter of optimal_medoids must be a square matrix of finite numbers. Got shape "
            f"{matrix.shape} instead."
        )
    given = check_weights(sample_weight, len(matrix), np.float64)
    weight = np.ones(len(matrix)) if given is None else given
    present = np.flatnonzero(weight > 0.0)
    if not parameters.integer(at_least=1).contains(n_clusters) or n_clusters > len(present):
        words = f"an int from 1 to the number of rows ({len(present)})"
        raise parameters.refusal("optimal_medoids", "n_clusters", words, n_clusters)
    if math.comb(len(present), n_clusters) > MAX_CHOICES:
        raise ValueError(
            f"optimal_medoids tries every choice of medoids: there must be at most {MAX_CHOICES}. Got "
            f"{math.comb(len(present), n_clusters)} for {len(present)} rows; KMedoids.certify bounds the gap."
        )
    best, chosen = math.inf, np.empty(0, dtype=np.int64)
    for places in combinations(range(len(present)), n_clusters):
        medoids = present[list(places)]
        cost = float(weight @ matrix[:, medoids].min(axis=1))
        if cost < best:
            best, chosen = cost, medoids
    return OptimalMedoids(chosen, matrix[:, chosen].argmin(axis=1).astype(np.int32), best)


def _cuts(values: NDArray, masses: NDArray, n_clusters: int, criterion: str) -> NDArray:
    """First place of every interval of the optimal partition of sorted, distinct numbers."""
    n_values = len(values)
    # Prefix sums about the middle of the numbers: far from 0 their differences would lose digits.
    centred = values - np.average(values, weights=masses)
    prefix = [np.append(0.0, np.cumsum(masses * centred**power)) for power in range(3)]
    cuts = np.zeros((n_clusters, n_values + 1), dtype=np.int64)
    best_cuts(centred, *prefix, criterion == "absolute", cuts)  # type: ignore[call-arg]
    starts, stop = [], n_values
    for k in range(n_clusters - 1, -1, -1):
        stop = int(cuts[k, stop])
        starts.append(stop)
    return np.array(starts[::-1])


def _center(values: NDArray, masses: NDArray, criterion: str) -> float:
    if criterion == "squared":
        return float(values[0] + np.average(values - values[0], weights=masses))
    cumulative = np.cumsum(masses)
    return float(values[np.searchsorted(cumulative, 0.5 * cumulative[-1], side="left")])
