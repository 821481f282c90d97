"""Quantization: the k-means criterion in expectation, its exact optimum, and traps of Lloyd's iteration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.parameters import integer, require
from assay.randomness import RandomState, generator

MAX_ROWS_OF_BRUTE_FORCE = 12


class ExpectedCriterion(NamedTuple):
    """Expectation of the pairwise criterion of a partition, in both its forms, and corrected.

    `pairwise` and `centroid` are two writings of the same number; `noise` is the part that comes from the
    variances alone and `corrected` = expectation − `noise` the part that comes from the means.
    """

    pairwise: float
    centroid: float
    noise: float
    corrected: float


class OptimalPartition(NamedTuple):
    """A partition of least inertia."""

    labels: NDArray
    inertia: float


class PlusPlusRatio(NamedTuple):
    """Simulated ratio of the inertia of k-means++ seeds to the optimum, and the bound on its mean."""

    ratios: NDArray
    mean: float
    standard_error: float
    bound: float


class LloydTrap(NamedTuple):
    """Rows and initial centres from which Lloyd's iteration stops far from the optimum."""

    X: NDArray
    init: NDArray
    stuck_inertia: float
    optimal_inertia: float


def pairwise_criterion(X: ArrayLike, labels: ArrayLike) -> float:
    """Σ_k |C_k|⁻¹ Σ_{a,b ∈ C_k} ‖X_a − X_b‖², summed over pairs as it is written; equals 2 · inertia.

    Examples
    --------
    >>> from assay.theory import pairwise_criterion
    >>> pairwise_criterion([[0.0], [2.0], [5.0]], [0, 0, 1])
    4.0
    """
    rows, labels = _matrix(X), np.asarray(labels)
    total = 0.0
    for label in np.unique(labels):
        members = rows[labels == label]
        total += float(((members[:, np.newaxis] - members) ** 2).sum()) / len(members)
    return total


def expected_criterion(partition: ArrayLike, means: ArrayLike, variances: ArrayLike) -> ExpectedCriterion:
    """Expectation of the pairwise criterion for independent X_a = μ_a + ε_a with v_a = tr cov ε_a:

        E crit(C) = Σ_k |C_k|⁻¹ Σ_{a≠b ∈ C_k} (‖μ_a − μ_b‖² + v_a + v_b)
                  = 2 Σ_k Σ_{a ∈ C_k} ‖μ_a − μ̄_k‖² + 2 Σ_k (1 − 1/|C_k|) Σ_{a ∈ C_k} v_a.

    The second term does not see the means: where the v_a differ, minimising the criterion is drawn to
    splitting the noisy groups, since a cluster of one row pays nothing for its noise.

    Parameters
    ----------
    partition : array of shape (n,)
        Label of each variable.
    means : array of shape (n, d)
        The μ_a.
    variances : array of shape (n,)
        The v_a.

    Examples
    --------
    >>> from assay.theory import expected_criterion
    >>> expected_criterion([0, 0, 1], [[0.0], [2.0], [5.0]], [1.0, 1.0, 9.0])
    ExpectedCriterion(pairwise=6.0, centroid=6.0, noise=2.0, corrected=4.0)

    References
    ----------
    Douc & Le Corff §8.7.
    """  # noqa: D400
    labels, points, spread = np.asarray(partition), _matrix(means), np.asarray(variances, dtype=float)
    pairwise = centroid = noise = 0.0
    for label in np.unique(labels):
        mu, v = points[labels == label], spread[labels == label]
        size = len(mu)
        pairs = ((mu[:, np.newaxis] - mu) ** 2).sum(axis=2) + v[:, np.newaxis] + v
        pairwise += float(pairs.sum() - np.trace(pairs)) / size
        own_noise = 2.0 * (1.0 - 1.0 / size) * float(v.sum())
        centroid += 2.0 * float(((mu - mu.mean(axis=0)) ** 2).sum()) + own_noise
        noise += own_noise
    return ExpectedCriterion(pairwise, centroid, noise, centroid - noise)


def corrected_criterion(X: ArrayLike, labels: ArrayLike, variances: ArrayLike) -> float:
    """The pairwise criterion without its noise: crit(C) − 2 Σ_k (1 − 1/|C_k|) Σ_{a ∈ C_k} v_a.

    Its expectation is 2 Σ_k Σ_a ‖μ_a − μ̄_k‖²: unequal variances no longer draw it towards a partition.

    Examples
    --------
    >>> from assay.theory import corrected_criterion
    >>> corrected_criterion([[0.0], [2.0], [5.0]], [0, 0, 1], [1.0, 1.0, 9.0])
    2.0
    """
    zeros = np.zeros_like(_matrix(X))
    return pairwise_criterion(X, labels) - expected_criterion(labels, zeros, variances).noise


def optimal_partition(X: ArrayLike, n_clusters: int) -> OptimalPartition:
    """A partition into at most `n_clusters` clusters of least inertia, exactly.

    One feature: dynamic programming over the sorted values, in O(n_clusters · n²). More features: every
    partition is tried, which is feasible for a dozen rows.

    Examples
    --------
    >>> from assay.theory import optimal_partition
    >>> optimal_partition([[1.0], [2.0], [3.0], [4.0]], 2)
    OptimalPartition(labels=array([0, 0, 1, 1]), inertia=1.0)
    """
    rows = _matrix(X)
    require("optimal_partition", integer(at_least=1), n_clusters=n_clusters)
    if rows.shape[1] == 1:
        return _optimal_intervals(rows[:, 0], n_clusters)
    if len(rows) > MAX_ROWS_OF_BRUTE_FORCE:
        most = f"X must have at most {MAX_ROWS_OF_BRUTE_FORCE} rows, or one feature"
        raise ValueError(f"optimal_partition tries every partition: {most}. Got {len(rows)} rows instead.")
    every = (labels.copy() for labels in _partitions(len(rows), n_clusters))
    best = min(every, key=partial(_inertia, rows))
    return OptimalPartition(best, _inertia(rows, best))


def plus_plus_factor(n_clusters: int) -> float:
    """8 (ln K + 2): the mean inertia of k-means++ seeds is at most this times the optimum.

    Examples
    --------
    >>> from assay.theory import plus_plus_factor
    >>> round(plus_plus_factor(4), 2)
    27.09

    References
    ----------
    Arthur & Vassilvitskii (2007), Theorem 3.1; Rudi & Şimşekli §7.1.3.
    """
    return 8.0 * (math.log(n_clusters) + 2.0)


def plus_plus_ratio(
    X: ArrayLike,
    n_clusters: int,
    optimal_inertia: float,
    *,
    n_draws: int = 200,
    random_state: RandomState = None,
) -> PlusPlusRatio:
    """Draw k-means++ seeds again and again; compare their inertia with the optimum.

    Examples
    --------
    >>> from assay.theory import optimal_partition, plus_plus_ratio
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> draws = plus_plus_ratio(X, 2, optimal_partition(X, 2).inertia, random_state=0)
    >>> draws.mean < draws.bound
    True
    """
    rows, random = _matrix(X), generator(random_state)
    ratios = np.empty(n_draws)
    for draw in range(n_draws):
        closest = ((rows - rows[random.integers(len(rows))]) ** 2).sum(axis=1)
        for _ in range(1, n_clusters):
            if closest.sum() == 0.0:
                break
            seed = rows[random.choice(len(rows), p=closest / closest.sum())]
            closest = np.minimum(closest, ((rows - seed) ** 2).sum(axis=1))
        ratios[draw] = closest.sum() / optimal_inertia
    error = float(ratios.std(ddof=1)) / math.sqrt(n_draws)
    return PlusPlusRatio(ratios, float(ratios.mean()), error, plus_plus_factor(n_clusters))


def stuck_rectangle(width: float = 10.0) -> LloydTrap:
    """Four corners of a rectangle of height 1, split across: a fixed point `width`² times too high.

    Examples
    --------
    >>> from assay.theory import stuck_rectangle
    >>> stuck_rectangle(3.0)[2:]
    (9.0, 1.0)
    """
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [width, 0.0], [width, 1.0]])
    init = np.array([[width / 2, 0.0], [width / 2, 1.0]])
    return LloydTrap(corners, init, float(width) ** 2, min(1.0, float(width) ** 2))


def tie_trap() -> LloydTrap:
    """The rows 1, 2, 3, 4 from the centres 2 and 4: the tie of row 3 goes to the lower index and stays there.

    Examples
    --------
    >>> from assay.theory import tie_trap
    >>> tie_trap()[2:]
    (2.0, 1.0)
    """
    return LloydTrap(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([[2.0], [4.0]]), 2.0, 1.0)


def unlucky_rows(separation: float = 100.0) -> LloydTrap:
    """Three pairs of rows and three rows as centres, two of them from one pair.

    Random rows are such centres, or their mirror image, with probability 1/5; yet the inertia that Lloyd's
    iteration stops at grows with the square of the `separation` of the pairs while the optimum stays 3/2: a
    random initialisation can be arbitrarily bad.

    Examples
    --------
    >>> from assay.theory import unlucky_rows
    >>> unlucky_rows(10.0)[2:]
    (101.0, 1.5)
    """
    rows = np.array([0.0, 1.0, separation, separation + 1.0, 2 * separation, 2 * separation + 1.0])
    return LloydTrap(rows[:, np.newaxis], rows[:3, np.newaxis].copy(), float(separation) ** 2 + 1.0, 1.5)


def _matrix(X: ArrayLike) -> NDArray:
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2:
        asked = "X must be two-dimensional, rows × features."
        raise ValueError(f"{asked} It has {rows.ndim} dimensions instead.")
    return rows


def _inertia(rows: NDArray, labels: NDArray) -> float:
    parts = (rows[labels == label] for label in np.unique(labels))
    return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in parts)


def _partitions(n_rows: int, n_clusters: int) -> Iterator[NDArray]:
    """Every partition once: each label is at most one more than the largest before it."""
    labels = np.zeros(n_rows, dtype=int)

    def extend(position: int, n_used: int) -> Iterator[NDArray]:
        if position == n_rows:
            yield labels
            return
        for label in range(min(n_used + 1, n_clusters)):
            labels[position] = label
            yield from extend(position + 1, max(n_used, label + 1))

    yield from extend(0, 0)


def _optimal_intervals(values: NDArray, n_clusters: int) -> OptimalPartition:
    """Optimal clusters of numbers are intervals: the best last cut of every prefix, one cluster at a time."""
    order = np.argsort(values, kind="stable")
    ordered = values[order] - values.mean()
    n_rows, n_clusters = len(values), min(n_clusters, len(values))
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (ordered, ordered**2))
    best = np.full((n_clusters + 1, n_rows + 1), np.inf)
    cut = np.zeros((n_clusters + 1, n_rows + 1), dtype=int)
    best[:, 0] = 0.0
    for k in range(1, n_clusters + 1):
        for stop in range(1, n_rows + 1):
            starts = np.arange(stop)
            span = sums[stop] - sums[:stop]
            cost = np.maximum(squares[stop] - squares[:stop] - span**2 / (stop - starts), 0.0)
            candidates = best[k - 1, :stop] + cost
            cut[k, stop] = int(candidates.argmin())
            best[k, stop] = candidates[cut[k, stop]]
    labels, stop = np.empty(n_rows, dtype=int), n_rows
    for k in range(n_clusters, 0, -1):
        start = cut[k, stop]
        labels[order[start:stop]] = k - 1
        stop = start
    return OptimalPartition(labels, _inertia(values[:, np.newaxis], labels))
