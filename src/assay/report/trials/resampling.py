"""Which rows are learnt from and which are predicted, and what differences of scores mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

SMALL_TABLE = 2000
"""Rows up to which the cross-validation is repeated: there its scores are noisy and fits are cheap."""

REPEATS_OF_SMALL = 3


class FoldSplit(NamedTuple):
    """Rows to learn from and rows to predict."""

    train: NDArray
    test: NDArray


class Difference(NamedTuple):
    """A mean difference of scores, its standard error, and the probability of one as large by chance."""

    mean: float
    standard_error: float
    p_value: float


def splits(
    n_rows: int, *, folds: int, repeats: int, seed: int, classes: NDArray | None = None
) -> list[FoldSplit]:
    """Folds of a repeated cross-validation; with classes, each fold has its share of every class."""
    if classes is None:
        parts = RepeatedKFold(n_splits=folds, n_repeats=repeats, random_state=seed).split(np.empty(n_rows))
    else:
        stratified = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        parts = stratified.split(np.empty(n_rows), classes)
    return [FoldSplit(train, test) for train, test in parts]


def default_repeats(n_rows: int) -> int:
    """Repetitions that suit a table of that size."""
    return REPEATS_OF_SMALL if n_rows <= SMALL_TABLE else 1


def corrected_error(scores: NDArray, test_share: float) -> float:
    """Standard error of the mean of resampled scores: √((1/J + n_test/n_train) s²) of Nadeau and Bengio.

    Training sets overlap, so that the scores of the folds depend on each other; the second term is what the
    plain error of a mean leaves out.
    """
    if scores.size < 2:
        return float("nan")
    variance = float(scores.var(ddof=1))
    return float(np.sqrt((1 / scores.size + test_share / (1 - test_share)) * variance))


def compare_scores(one: NDArray, other: NDArray, test_share: float) -> Difference:
    """Paired comparison of two methods on the same folds: the corrected resampled t test.

    Parameters
    ----------
    one, other : arrays of shape (n_splits,)
        Scores, split by split.
    test_share : float
        Share of the rows that a split predicts.
    """
    difference = np.asarray(one) - np.asarray(other)
    mean, error = float(difference.mean()), corrected_error(difference, test_share)
    if not error > 0:
        return Difference(mean, error, 1.0 if mean == 0 else 0.0)
    return Difference(mean, error, float(2 * stats.t.sf(abs(mean) / error, difference.size - 1)))


def simplest_within_noise(scores: Sequence[NDArray], complexity: Sequence[int], test_share: float) -> int:
    """The one-standard-error rule: the simplest method that loses to the best within the error.

    Among methods of one complexity, the one of greatest mean score.
    """
    means = [float(np.mean(item)) for item in scores]
    best = int(np.argmax(means))
    near = [
        index
        for index, item in enumerate(scores)
        if index == best or _within(compare_scores(scores[best], item, test_share))
    ]
    return min(near, key=lambda index: (complexity[index], -means[index]))


def _within(difference: Difference) -> bool:
    return bool(difference.mean <= difference.standard_error)
