"""Conformal prediction: intervals and class sets with a coverage that holds for any model.

Scores tell how strange a row is to a model that has not seen it (|residual|, 1 − probability of the true
class). If the score of a new row is exchangeable with n known ones, it is at most their ⌈(n + 1) c⌉-th least
with probability at least c, whatever the model and the law.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def conformal_rank(total: float, coverage: float) -> int:
    """⌈(n + 1) c⌉: which of n scores in order a new one is at most, with probability at least c.

    Beyond n where there are too few scores.

    Examples
    --------
    >>> conformal_rank(19, 0.9), conformal_rank(8, 0.9)
    (18, 9)
    """
    # (n + 1) c is a whole number for the usual c, but for its rounding.
    return max(1, int(np.ceil((total + 1) * coverage - 1e-9)))


def conformal_quantile(scores: ArrayLike, coverage: float, weight: ArrayLike | None = None) -> float:
    """The ⌈(n + 1) c⌉-th least of n scores: a new one is at most so large with probability at least c.

    Without ties the probability is ⌈(n + 1) c⌉ / (n + 1) exactly. Infinite where n is too small for c.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores of rows that the model has not seen.
    coverage : float
        Probability c between 0 and 1.
    weight : array of shape (n,), optional
        A score of weight k counts k times.

    Examples
    --------
    >>> conformal_quantile(range(1, 20), 0.9)
    18.0
    >>> conformal_quantile([1, 2, 3, 4], 0.9)
    inf
    """
    known = np.asarray(scores, dtype=np.float64)
    if not 0 < coverage < 1:
        raise ValueError(f"The 'coverage' must lie between 0 and 1. Got {coverage!r} instead.")
    if np.isnan(known).any():
        raise ValueError("The scores of a conformal quantile must be numbers. Got NaN instead.")
    total = known.size if weight is None else float(np.sum(weight))
    place = conformal_rank(total, coverage)
    if place > total:
        return float("inf")
    if weight is None:
        return float(np.partition(known, place - 1)[place - 1])
    order = np.argsort(known, kind="stable")
    upto = np.cumsum(np.asarray(weight, dtype=np.float64)[order])
    return float(known[order][np.searchsorted(upto, place - 1e-9 * total)])


def fewest_rows(coverage: float) -> int:
    """The least number of scores whose conformal quantile is finite: c / (1 − c), rounded up.

    Examples
    --------
    >>> fewest_rows(0.9), fewest_rows(0.99)
    (9, 99)
    """
    return int(np.ceil(coverage / (1 - coverage) - 1e-9))


def interval_scores(lower: ArrayLike, upper: ArrayLike, y: ArrayLike) -> Array:
    """How far a target is outside an interval, below 0 inside: max(lower − y, y − upper).

    With both ends at a prediction it is the |residual|; with two estimated quantiles, the score of
    conformalised quantile regression (Romano, Patterson and Candès 2019).

    Examples
    --------
    >>> interval_scores([0.0, 0.0], [1.0, 1.0], [0.25, 3.0]).tolist()
    [-0.25, 2.0]
    """
    target = np.asarray(y, dtype=np.float64)
    return np.maximum(np.asarray(lower) - target, target - np.asarray(upper))


def moved_intervals(lower: ArrayLike, upper: ArrayLike, quantile: float) -> Array:
    """Intervals with both ends moved outwards by the conformal quantile of `interval_scores`.

    Moved inwards past each other, the ends meet in the middle.

    Examples
    --------
    >>> moved_intervals([0.0], [1.0], 0.5).tolist(), moved_intervals([0.0], [1.0], -0.75).tolist()
    ([[-0.5, 1.5]], [[0.5, 0.5]])
    """
    low, high = np.asarray(lower, dtype=np.float64) - quantile, np.asarray(upper, dtype=np.float64) + quantile
    middle = 0.5 * (np.asarray(lower, dtype=np.float64) + np.asarray(upper, dtype=np.float64))
    crossed = low > high
    return np.column_stack([np.where(crossed, middle, low), np.where(crossed, middle, high)])


def conformal_width(residuals: ArrayLike, coverage: float) -> float:
    """Half-width of an interval around a prediction: the conformal quantile of the |residuals|.

    Examples
    --------
    >>> conformal_width([-3, 1, 2, -1, 0.5], 0.8)
    3.0
    """
    return conformal_quantile(np.abs(np.asarray(residuals, dtype=np.float64)), coverage)


def stretch_scores(predictions: ArrayLike, ends: ArrayLike, y: ArrayLike) -> Array:
    """How many times the way from a prediction to an end of its interval a target is away from it.

    At most 1 inside. Scaled by them, the intervals of a model keep their shapes and hold as often as asked,
    whatever the law (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman 2018, §5.2). A prediction outside of its
    interval counts as its nearer end.

    Examples
    --------
    >>> stretch_scores([0.0, 0.0], [[-1.0, 4.0], [-1.0, 4.0]], [2.0, -2.0]).tolist()
    [0.5, 2.0]
    """
    low, high = np.asarray(ends, dtype=np.float64).T
    centre = np.clip(np.asarray(predictions, dtype=np.float64), low, high)
    off = np.asarray(y, dtype=np.float64) - centre
    way = np.where(off > 0, high - centre, centre - low)
    far = np.where(off == 0, 0.0, np.inf)  # where there is no way to go
    return np.divide(np.abs(off), way, out=far, where=way > 0)


def stretched_intervals(predictions: ArrayLike, ends: ArrayLike, factor: ArrayLike) -> Array:
    """Intervals whose ends are so many times as far from their predictions.

    Examples
    --------
    >>> stretched_intervals([0.0], [[-1.0, 4.0]], 2.0).tolist()
    [[-2.0, 8.0]]
    """
    known, times = np.asarray(ends, dtype=np.float64), np.asarray(factor, dtype=np.float64)
    centre = np.clip(np.asarray(predictions, dtype=np.float64), known[:, 0], known[:, 1])[:, None]
    return centre + times[..., None] * (known - centre)


def split_conformal_intervals(predictions: ArrayLike, residuals: ArrayLike, coverage: float) -> Array:
    """Intervals prediction ± the conformal width of residuals on rows that the fit did not see.

    Parameters
    ----------
    predictions : array of shape (n_new,)
    residuals : array of shape (n,)
        Of a held-out part of the rows; of cross-validation, the coverage is that of models fitted on a little
        fewer rows.
    coverage : float

    Returns
    -------
    intervals : array of shape (n_new, 2)

    Examples
    --------
    >>> split_conformal_intervals([10.0], [-3, 1, 2, -1, 0.5], 0.8).tolist()
    [[7.0, 13.0]]
    """
    centre, half = np.asarray(predictions, dtype=np.float64), conformal_width(residuals, coverage)
    return np.column_stack([centre - half, centre + half])


def class_scores(probabilities: ArrayLike, places: ArrayLike) -> Array:
    """1 − the probability of the true class of each row.

    Parameters
    ----------
    probabilities : array of shape (n, n_classes)
        Of rows that the model has not seen.
    places : array of shape (n,)
        Place of the true class among the columns.

    Examples
    --------
    >>> class_scores([[0.75, 0.25], [0.5, 0.5]], [0, 1]).tolist()
    [0.25, 0.5]
    """
    table, true = np.asarray(probabilities, dtype=np.float64), np.asarray(places, dtype=np.intp)
    return 1.0 - table[np.arange(len(table)), true]


def class_sets(probabilities: ArrayLike, quantile: float) -> NDArray[np.bool_]:
    """Which classes each set holds: those of score at most the quantile, and always the likeliest.

    With the conformal quantile of `class_scores`, a set holds the true class of a new row with probability at
    least c. These are the smallest such sets on average where the probabilities are true (Sadinle, Lei and
    Wasserman 2019).

    Examples
    --------
    >>> class_sets([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]], 0.65).tolist()
    [[True, False, False], [True, True, False]]
    """
    table = np.asarray(probabilities, dtype=np.float64)
    members = 1.0 - table <= quantile
    members[np.arange(len(table)), table.argmax(axis=1)] = True
    return members
