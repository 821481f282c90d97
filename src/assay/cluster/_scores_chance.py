"""What the scores of two partitions are worth when there is nothing to agree on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.cluster._scores_partitions import compare_partitions
from assay.randomness import RandomState, spawn

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
    given = {"n_samples": n_samples, "n_draws": n_draws}
    parameters.check("chance_scores", given, {"n_samples": at_least_one, "n_draws": at_least_one})
    counts = list(n_clusters)
    if not counts or not all(at_least_one.contains(k) for k in counts):
        raise parameters.refusal("chance_scores", "n_clusters", "a list of ints at least 1", n_clusters)
    means, errors = np.empty((len(counts), len(SCORES))), np.empty((len(counts), len(SCORES)))
    for place, (k, random) in enumerate(zip(counts, spawn(random_state, len(counts)), strict=True)):
        labels = random.integers(0, k, size=(n_draws, 2, n_samples))
        found = [compare_partitions(first, second) for first, second in labels]
        scores = np.array([[getattr(one, name) for name in SCORES] for one in found])
        means[place], errors[place] = scores.mean(axis=0), scores.std(axis=0) / np.sqrt(n_draws)
    scores_of = dict(zip(SCORES, means.T, strict=True))
    return ChanceScores(n_clusters=np.array(counts), standard_error=errors, **scores_of)
