"""Whether labels look noisy: rows whose class contradicts a model where it is surest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LEVEL = 0.05
"""Chance of either of two errors: that few rows contradict, or that they thin out as a model gets surer."""

LEAST = 0.02
"""Share of the surest rows that must contradict a model for labels to look noisy."""

GROWTH = 2.0
"""Of classes that overlap, so many times as many rows contradict in the next quarter, at least."""


def contradicting_rows(y: NDArray, shares: NDArray, labels: NDArray) -> NDArray[np.intp]:
    """Places of the surest half of the rows whose class is not the likeliest; empty where labels look clean.

    Where classes overlap, errors vanish as a model gets surer. Wrong labels are everywhere: among the quarter
    of the rows that it is surest of there are nearly as many as among the next quarter. Labels look noisy
    where clearly more than 2% of the surest quarter contradict, where clearly fewer than twice as many of
    the next quarter do, and where both together are less than half of what naming the commonest class would
    be wrong in: a model that is never sure says nothing about labels.

    Parameters
    ----------
    y : array of shape (n_rows,)
    shares : array of shape (n_rows, n_classes)
        Probabilities out of fold.
    labels : array of shape (n_classes,)
        The classes, sorted.

    Examples
    --------
    >>> y = np.tile([0, 1], 500)
    >>> sure = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    >>> contradicting_rows(y, sure, np.array([0, 1])).size
    0
    >>> flipped = np.where(np.arange(1000) % 10 == 0, 1 - y, y)
    >>> contradicting_rows(flipped, sure, np.array([0, 1])).size
    50
    """
    wrong = labels[shares.argmax(axis=1)] != y
    order = np.argsort(-shares.max(axis=1), kind="stable")
    quarter = len(y) // 4
    first, second = (int(wrong[order[start : start + quarter]].sum()) for start in (0, quarter))
    if not first:
        return np.empty(0, dtype=np.intp)
    surely = stats.beta.ppf(LEVEL, first, quarter - first + 1)  # Clopper and Pearson's lower end
    thins = stats.binom.cdf(second, first + second, GROWTH / (1 + GROWTH))
    common = 1 - np.unique(y, return_counts=True)[1].max() / len(y)
    if surely <= LEAST or thins >= LEVEL or first + second >= common * quarter:
        return np.empty(0, dtype=np.intp)
    surest = order[: 2 * quarter]
    return np.sort(surest[wrong[surest]])
