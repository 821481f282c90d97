"""Scores of a partition against a truth: one contingency table and everything computed from it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import entropy
from sklearn import metrics
from sklearn.metrics.cluster import expected_mutual_information

from assay import parameters
from assay.cluster.scores.labels import align_labels, code_both
from assay.randomness import RandomState, spawn

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Pairs of rows, by whether they are together in the truth and in the partition.

    Attributes
    ----------
    together : int
        Together in both (true positives).
    joined : int
        Together in the partition only (false positives).
    parted : int
        Together in the truth only (false negatives).
    apart : int
        Apart in both (true negatives).
    """

    together: int
    joined: int
    parted: int
    apart: int

    @property
    def rand(self) -> float:
        """Share of the pairs that truth and partition agree on."""
        total = self.together + self.joined + self.parted + self.apart
        return (self.together + self.apart) / total if total else 1.0

    @property
    def jaccard(self) -> float:
        """Pairs together in both over pairs together in either."""
        some = self.together + self.joined + self.parted
        return self.together / some if some else 1.0


@dataclass(frozen=True, eq=False, repr=False)
class PartitionComparison:
    """A partition compared with a truth; see `compare_partitions`.

    Attributes
    ----------
    adjusted_rand, adjusted_mutual_information, normalized_mutual_information : float
        The latter two with the arithmetic mean of the entropies.
    adjusted_mutual_informations, normalized_mutual_informations : dict
        By mean of the entropies: "arithmetic", "geometric", "min", "max".
    homogeneity, completeness, v_measure : float
    fowlkes_mallows, rand, jaccard : float
        Of pairs of rows.
    matched_accuracy, purity : float
        Rows that agree when clusters are named after classes: one to one, and each after its most frequent.
    mutual_information, variation_of_information : float
        In nats.
    pairs : PairCounts
    contingency : array of int of shape (n_classes, n_clusters)
    classes, clusters : arrays
        The labels, sorted.
    n_samples, n_left_out : int
        Rows compared; rows of noise that were left out.
    beta : float
        Weight of completeness in `v_measure`.
    """

    adjusted_rand: float
    adjusted_mutual_information: float
    normalized_mutual_information: float
    homogeneity: float
    completeness: float
    v_measure: float
    fowlkes_mallows: float
    rand: float
    jaccard: float
    matched_accuracy: float
    purity: float
    mutual_information: float
    variation_of_information: float
    adjusted_mutual_informations: Mapping[str, float]
    normalized_mutual_informations: Mapping[str, float]
    pairs: PairCounts
    contingency: NDArray[np.int64]
    classes: NDArray
    clusters: NDArray
    n_samples: int
    n_left_out: int
    beta: float

    @property
    def scores(self) -> dict[str, float]:
        """The scores that are one number, by name."""
        names = (field.name for field in fields(self)[:13])
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> pandas.DataFrame:
        """The contingency table, one line per class, one column per cluster."""
        import pandas as pd

        return pd.DataFrame(self.contingency, index=self.classes, columns=self.clusters)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the classes inside each cluster; see `assay.display.plot_partition`."""
        return importlib.import_module("assay.display").plot_partition(self, ax=ax)

    def __repr__(self) -> str:
        left = f", {self.n_left_out} rows of noise left out" if self.n_left_out else ""
        head = (
            f"PartitionComparison({self.n_samples} rows, {len(self.classes)} classes, "
            f"{len(self.clusters)} clusters{left})"
        )
        lines = [f"  {name.replace('_', ' '):<30}{value:>8.4f}" for name, value in self.scores.items()]
        return "\n".join([head, *lines])


def compare_partitions(
    truth: Any, labels: Any, *, beta: float = 1.0, ignore_noise: bool = False
) -> PartitionComparison:
    """Compare a partition with a known one, whatever the names of their groups.

    Adjusted Rand and adjusted mutual information are 0 on average for labels drawn at random. The others are
    not: normalised mutual information and V grow with the number of clusters, Fowlkes–Mallows is about 1/k.

    Parameters
    ----------
    truth : array of shape (n_samples,)
        Classes.
    labels : array of shape (n_samples,)
        Clusters.
    beta : float, default=1.0
        Weight of completeness in the V-measure (1 + β) h c/(β h + c).
    ignore_noise : bool, default=False
        Whether to leave out the rows with label −1; else noise is a cluster like the others.

    Returns
    -------
    comparison : PartitionComparison

    Examples
    --------
    >>> from assay.cluster import compare_partitions
    >>> scores = compare_partitions([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 2])
    >>> round(scores.adjusted_rand, 4), scores.purity, round(scores.matched_accuracy, 4), scores.pairs.parted
    (0.7059, 1.0, 0.8333, 2)

    References
    ----------
    Sangnier §2.5; Peyré, clustering. Hubert & Arabie (1985), Vinh, Epps & Bailey (2010), Meilă (2007).
    """
    parameters.require("compare_partitions", parameters.real(at_least=0.0), beta=beta)
    parameters.require("compare_partitions", parameters.boolean, ignore_noise=ignore_noise)
    classes, class_codes, clusters, cluster_codes, n_left_out = _coded(truth, labels, ignore_noise)
    table = metrics.cluster.contingency_matrix(class_codes, cluster_codes, sparse=True)
    n_samples = len(class_codes)
    ordered = metrics.cluster.pair_confusion_matrix(class_codes, cluster_codes)
    (apart, joined), (parted, together) = (ordered // 2).tolist()
    pairs = PairCounts(together, joined, parted, apart)
    return PartitionComparison(
        **_information_scores(table, n_samples, beta),
        adjusted_rand=float(metrics.adjusted_rand_score(class_codes, cluster_codes)),
        fowlkes_mallows=float(metrics.fowlkes_mallows_score(class_codes, cluster_codes)),
        rand=pairs.rand,
        jaccard=pairs.jaccard,
        matched_accuracy=align_labels(classes[class_codes], clusters[cluster_codes]).accuracy,
        purity=float(table.max(axis=0).sum() / n_samples),
        pairs=pairs,
        contingency=table.toarray(),
        classes=classes,
        clusters=clusters,
        n_samples=n_samples,
        n_left_out=n_left_out,
        beta=float(beta),
    )


def _coded(truth: Any, labels: Any, ignore_noise: bool) -> tuple[NDArray, NDArray, NDArray, NDArray, int]:
    """Classes and clusters with the codes of the rows, and how many rows of noise were left out."""
    classes, class_codes, clusters, cluster_codes = code_both("compare_partitions", truth, labels)
    if not ignore_noise or clusters.dtype.kind not in "iuf" or not (clusters == -1).any():
        return classes, class_codes, clusters, cluster_codes, 0
    kept = clusters[cluster_codes] != -1
    if not kept.any():
        raise ValueError("The 'labels' of compare_partitions are all noise (−1): there is no cluster.")
    left_out = int(np.count_nonzero(~kept))
    return *_seen(classes, class_codes[kept]), *_seen(clusters, cluster_codes[kept]), left_out


def _information_scores(table: Any, n_samples: int, beta: float) -> dict[str, Any]:
    """The scores that compare entropies."""
    information = metrics.mutual_info_score(None, None, contingency=table)
    first, second = (float(entropy(np.asarray(table.sum(axis=axis)).ravel())) for axis in (1, 0))
    expected = expected_mutual_information(table, n_samples)
    # 0/0 in a score of two partitions: perfect if they are the same, nothing if one of them is trivial.
    same = float(table.nnz == table.shape[0] == table.shape[1])
    means = {"arithmetic": (first + second) / 2.0, "geometric": float(np.sqrt(first * second))}
    means |= {"min": min(first, second), "max": max(first, second)}
    normalized = {name: _ratio(information, mean, same) for name, mean in means.items()}
    adjusted = {name: _ratio(information - expected, mean - expected, same) for name, mean in means.items()}
    homogeneity = _ratio(information, first, 1.0)
    completeness = _ratio(information, second, 1.0)
    mixed = beta * homogeneity + completeness
    return {
        "adjusted_mutual_information": adjusted["arithmetic"],
        "normalized_mutual_information": normalized["arithmetic"],
        "homogeneity": homogeneity,
        "completeness": completeness,
        "v_measure": (1.0 + beta) * homogeneity * completeness / mixed if mixed > 0 else 0.0,
        "mutual_information": float(information),
        "variation_of_information": max(first + second - 2.0 * float(information), 0.0),
        "adjusted_mutual_informations": adjusted,
        "normalized_mutual_informations": normalized,
    }


def _seen(values: NDArray, codes: NDArray) -> tuple[NDArray, NDArray]:
    """The values that still occur, and the codes among them."""
    present, renumbered = np.unique(codes, return_inverse=True)
    return values[present], renumbered


def _ratio(part: float, whole: float, of_nothing: float) -> float:
    return min(float(part / whole), 1.0) if abs(whole) > 1e-14 else of_nothing


# What the scores of two partitions are worth when there is nothing to agree on.


Array = NDArray[np.float64]


class ChanceScores(NamedTuple):
    """Mean scores of independent uniform labels; see `chance_scores`.

    Attributes
    ----------
    n_clusters : array of int of shape (m,)
    adjusted_rand, adjusted_mutual_information, normalized_mutual_information, v_measure, fowlkes_mallows : \
arrays of shape (m,)
        Means over the draws.
    standard_error : array of shape (m, 5)
        Of those means, in that order.
    """

    n_clusters: NDArray[np.int64]
    adjusted_rand: Array
    adjusted_mutual_information: Array
    normalized_mutual_information: Array
    v_measure: Array
    fowlkes_mallows: Array
    standard_error: Array


SCORES = ChanceScores._fields[1:6]


def chance_scores(
    n_samples: int, n_clusters: list[int], *, n_draws: int = 100, random_state: RandomState = None
) -> ChanceScores:
    """Scores of two independent labelings of the same rows, uniform over k labels, by simulation.

    Adjusted Rand and adjusted mutual information are 0 on average. Normalised mutual information and V grow
    with k; Fowlkes–Mallows is about 1/k, not 0.

    Parameters
    ----------
    n_samples : int
        Rows that are labelled.
    n_clusters : list of int
        Numbers of labels k.
    n_draws : int, default=100
        Pairs of labelings for each k.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None

    Examples
    --------
    >>> from assay.cluster import chance_scores
    >>> chance_scores(500, [2, 5], n_draws=20, random_state=0).fowlkes_mallows.round(2)
    array([0.5, 0.2])

    References
    ----------
    Sangnier §2.5.
    """
    at_least_one = parameters.integer(at_least=1)
    parameters.require("chance_scores", at_least_one, n_samples=n_samples, n_draws=n_draws)
    counts = list(n_clusters)
    if not counts or not all(at_least_one.contains(k) for k in counts):
        raise parameters.refusal("chance_scores", "n_clusters", "a list of ints at least 1", n_clusters)
    means, errors = np.empty((len(counts), len(SCORES))), np.empty((len(counts), len(SCORES)))
    for place, (k, random) in enumerate(zip(counts, spawn(random_state, len(counts)), strict=True)):
        labels = random.integers(0, k, size=(n_draws, 2, n_samples))
        pairs = [compare_partitions(first, second) for first, second in labels]
        scores = np.array([[getattr(one, name) for name in SCORES] for one in pairs])
        means[place], errors[place] = scores.mean(axis=0), scores.std(axis=0) / np.sqrt(n_draws)
    scores_of = dict(zip(SCORES, means.T, strict=True))
    return ChanceScores(n_clusters=np.array(counts), standard_error=errors, **scores_of)
