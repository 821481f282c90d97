"""Clusters of other tables: rows without any structure (the gap statistic), parts of the rows (stability)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from assay.rows import ordered_map

Array = NDArray[np.float64]
Law = Callable[[np.random.Generator], NDArray]


class GapStatistic(NamedTuple):
    """Gap statistic of several numbers of clusters.

    Attributes
    ----------
    log_within : array of shape (n_values,)
        log W_K of the rows.
    reference_log_within : array of shape (n_references, n_values)
        log W_K of each reference table.
    """

    log_within: Array
    reference_log_within: Array

    @property
    def expected(self) -> Array:
        """Mean of log W_K over the references."""
        return self.reference_log_within.mean(axis=0)

    @property
    def gap(self) -> Array:
        """Gap(K) = mean_b log W_K^b − log W_K."""
        with np.errstate(invalid="ignore"):
            return self.expected - self.log_within

    @property
    def standard_error(self) -> Array:
        """s'_K = s_K √(1 + 1/B), with s_K the standard deviation over the references (divisor B)."""
        with np.errstate(invalid="ignore"):
            return self.reference_log_within.std(axis=0) * np.sqrt(1.0 + 1.0 / len(self.reference_log_within))


def uniform_box(X: NDArray) -> Law:
    """Rows drawn uniformly from the ranges of the features."""
    low, high = X.min(axis=0), X.max(axis=0)

    def draw(random: np.random.Generator) -> NDArray:
        return (low + (high - low) * random.random(X.shape)).astype(X.dtype)

    return draw


def principal_box(X: NDArray) -> Law:
    """Rows drawn uniformly from a box along the principal axes of the rows."""
    mean = X.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(X - mean, full_matrices=False)
    turned = (X - mean) @ axes.T
    low, high = turned.min(axis=0), turned.max(axis=0)

    def draw(random: np.random.Generator) -> NDArray:
        drawn = low + (high - low) * random.random(turned.shape)
        return (mean + drawn @ axes).astype(X.dtype)

    return draw


REFERENCES: Mapping[str, Callable[[NDArray], Law]] = {"box": uniform_box, "principal": principal_box}


def gap_statistic(
    within: Array, law: Law, within_of: Callable[[NDArray, int], Array], randoms: list[np.random.Generator]
) -> GapStatistic:
    """Compare inertias with those of reference tables, one table a generator, on threads.

    `within_of(rows, seed)` clusters a table with every number of clusters and gives the inertias.
    """

    def of_reference(random: np.random.Generator) -> Array:
        return within_of(law(random), int(random.integers(2**31 - 1)))

    with np.errstate(divide="ignore"):
        references = np.log(np.array(list(ordered_map(of_reference, randoms))))
        return GapStatistic(np.log(within), references)


class ClusterStability(NamedTuple):
    """Agreement of clusterings of resampled rows with that of all rows.

    Attributes
    ----------
    agreement : array of shape (n_values, n_resamples)
        1 where the same clusters are found again; NaN for a single cluster, which always is.
    """

    agreement: Array

    @property
    def mean(self) -> Array:
        """Mean over the resamples."""
        return self.agreement.mean(axis=1)

    @property
    def standard_error(self) -> Array:
        """Standard error of that mean."""
        n_values, n_resamples = self.agreement.shape
        spread = self.agreement.std(axis=1, ddof=1) if n_resamples > 1 else np.full(n_values, np.nan)
        return spread / np.sqrt(n_resamples)


def half(n_rows: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Half of the rows, each at most once."""
    return np.sort(random.choice(n_rows, max(2, n_rows // 2), replace=False))


def bootstrap(n_rows: int, random: np.random.Generator) -> NDArray[np.int64]:
    """As many rows as there are, drawn with replacement."""
    return np.sort(random.integers(0, n_rows, size=n_rows))


def cluster_jaccard(truth: NDArray, labels: NDArray) -> float:
    """Mean over the clusters of the truth of their largest Jaccard similarity with one of the labels."""
    _, first = np.unique(truth, return_inverse=True)
    clusters, second = np.unique(labels, return_inverse=True)
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first.reshape(-1), second.reshape(-1)), 1.0)
    union = table.sum(axis=1, keepdims=True) + table.sum(axis=0) - table
    kept = np.unique(truth) != -1
    similarity = (table / union)[:, clusters != -1]
    return float(similarity[kept].max(axis=1, initial=0.0).mean()) if kept.any() else 0.0


RESAMPLES: Mapping[str, Callable[[int, np.random.Generator], NDArray[np.int64]]] = {
    "half": half,
    "bootstrap": bootstrap,
}
AGREEMENTS: Mapping[str, Callable[[NDArray, NDArray], float]] = {
    "adjusted_rand": adjusted_rand_score,
    "jaccard": cluster_jaccard,
}


def stability(
    labels: list[NDArray],
    cluster: Callable[[NDArray, int], list[NDArray]],
    *,
    resample: str,
    agreement: str,
    randoms: list[np.random.Generator],
) -> ClusterStability:
    """Compare labels of all rows with those of resampled rows, one resample a generator, on threads.

    `cluster(places, seed)` gives the labels of these rows clustered alone, one array for each value. A row
    drawn twice is compared once.
    """
    draw, agree = RESAMPLES[resample], AGREEMENTS[agreement]

    def of_resample(random: np.random.Generator) -> list[float]:
        places = draw(len(labels[0]), random)
        distinct, first = np.unique(places, return_index=True)
        again = cluster(places, int(random.integers(2**31 - 1)))
        return [
            float(agree(whole[distinct], part[first])) if len(np.unique(whole[whole != -1])) > 1 else np.nan
            for whole, part in zip(labels, again, strict=True)
        ]

    return ClusterStability(np.array(list(ordered_map(of_resample, randoms))).T)
