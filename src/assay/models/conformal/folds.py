"""Conformal prediction by folds: every row calibrates the models that have not seen it, and none is lost.

With μ₋ₖ the model fitted without fold k and k(i) the fold of row i, the score of row i is how strange it is
to μ₋ₖ₍ᵢ₎. A target is held for a new x where it is stranger than row i to the model without row i, for fewer
than (n + 1) c of the rows. For exchangeable rows the true one is held with probability at least
`proven_coverage`, whatever the model and the law, and with about c for models that change little with the
fold (Vovk 2015; Barber, Candès, Ramdas and Tibshirani 2021).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.loops import compiled, inner
from assay.models.conformal.splits import conformal_rank

Array = NDArray[np.float64]


def proven_coverage(coverage: float, n_rows: float, n_folds: int) -> float:
    """What intervals and class sets by folds hold at least: 2c − 1, less a little for few large folds.

    That is min(2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)) ≤ √(2/n) for K folds of n/K rows (Barber et al.,
    theorem 4), and 0 with one row per fold, the jackknife+.

    Examples
    --------
    >>> round(proven_coverage(0.9, 1000, 5), 4), proven_coverage(0.9, 50, 50)
    (0.792, 0.8)
    """
    lost = min(2 * (1 - 1 / n_folds) / (n_rows / n_folds + 1), (1 - n_folds / n_rows) / (n_folds + 1))
    return 2 * coverage - 1 - max(lost, 0.0)


def cross_conformal_intervals(
    predictions: ArrayLike, residuals: ArrayLike, folds: ArrayLike, coverage: float
) -> Array:
    """Intervals of CV+ around predictions; with one row per fold, of the jackknife+.

    The ends are the ⌊(n + 1)(1 − c)⌋-th least of μ₋ₖ₍ᵢ₎(x) − |rᵢ| and the ⌈(n + 1) c⌉-th least of
    μ₋ₖ₍ᵢ₎(x) + |rᵢ|.

    Parameters
    ----------
    predictions : array of shape (n_new, n_folds)
        Of new rows, by the models that lack each fold; out-of-bag means of a forest may stand for them with
        one fold per row.
    residuals : array of shape (n,)
        Of each known row under the model that lacks its fold.
    folds : array of shape (n,)
        Number of the fold of each known row.
    coverage : float

    Returns
    -------
    intervals : array of shape (n_new, 2)

    Examples
    --------
    >>> cross_conformal_intervals([[10.0, 11.0]], [1.0, -1.0, 2.0, 2.0], [0, 0, 1, 1], 0.6).tolist()
    [[9.0, 13.0]]
    """
    scores = np.abs(np.asarray(residuals, dtype=np.float64))
    return cross_conformal_ends(predictions, predictions, scores, folds, coverage)


def cross_conformal_ends(
    lower: ArrayLike,
    upper: ArrayLike,
    scores: ArrayLike,
    folds: ArrayLike,
    coverage: float,
    weight: ArrayLike | None = None,
) -> Array:
    """Intervals of CV+ around the ends that the models of the folds give; see `interval_scores`.

    Where the ends cross, both are their middle. Infinite where there are too few rows for the coverage.

    Parameters
    ----------
    lower, upper : arrays of shape (n_new, n_folds)
        Ends for the new rows by the models that lack each fold: two quantiles, or twice the prediction.
    scores : array of shape (n,)
        How far the target of each known row is outside the ends by the model that lacks its fold.
    folds : array of shape (n,)
    coverage : float
    weight : array of shape (n,), optional
        A row of weight k counts k times.

    Returns
    -------
    intervals : array of shape (n_new, 2)
    """
    if not 0 < coverage < 1:
        raise ValueError(f"The 'coverage' must lie between 0 and 1. Got {coverage!r} instead.")
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    known = _by_fold(scores, folds, weight, low.shape[1])
    total = float(known[1].sum())
    out = np.tile([-np.inf, np.inf], (len(low), 1))
    place = conformal_rank(total, coverage)
    if place > total * (1 + 1e-12):
        return out
    values, each, starts = known
    upto = np.concatenate([np.cumsum(each[a:b]) for a, b in pairwise(starts)])
    needed = place - 1e-9 * total
    # The place from above of the lower end is the place from below of the upper one.
    shifted_quantiles(np.negative(low), values, upto, starts, needed, out[:, 0])
    np.negative(out[:, 0], out=out[:, 0])
    shifted_quantiles(np.ascontiguousarray(high), values, upto, starts, needed, out[:, 1])
    crossed = out[:, 0] > out[:, 1]
    out[crossed] = out[crossed].mean(axis=1, keepdims=True)
    return out


def cross_class_sets(
    new_scores: ArrayLike,
    scores: ArrayLike,
    folds: ArrayLike,
    coverage: float,
    weight: ArrayLike | None = None,
) -> NDArray[np.bool_]:
    """Classes of each set: those stranger than known rows to the model without them for few rows.

    Few are fewer than (n + 1) c, each row compared by the model that lacks its fold.

    Parameters
    ----------
    new_scores : array of shape (n_folds, n_new, n_classes)
        How strange each class would be to the models that lack each fold: 1 − its probability.
    scores : array of shape (n,)
        The same of the true class of each known row, by the model that lacks its fold.
    folds : array of shape (n,)
    coverage : float
    weight : array of shape (n,), optional

    Returns
    -------
    members : bool array of shape (n_new, n_classes)

    Examples
    --------
    >>> new = [[[0.1, 0.9]], [[0.2, 0.8]]]
    >>> cross_class_sets(new, [0.1, 0.3, 0.2, 0.4], [0, 0, 1, 1], 0.5).tolist()
    [[True, False]]
    """
    strange = np.asarray(new_scores, dtype=np.float64)
    values, each, starts = _by_fold(scores, folds, weight, len(strange))
    less = np.zeros(strange.shape[1:])
    for fold, (begin, end) in enumerate(pairwise(starts)):
        upto = np.concatenate([[0.0], np.cumsum(each[begin:end])])
        less += upto[np.searchsorted(values[begin:end], strange[fold], side="left")]
    total = float(each.sum())
    return less < conformal_rank(total, coverage) - 1e-9 * total


def _by_fold(
    scores: ArrayLike, folds: ArrayLike, weight: ArrayLike | None, n_folds: int
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Scores in order within each fold, one fold after the other, their weights, and where folds begin."""
    known, fold = np.asarray(scores, dtype=np.float64), np.asarray(folds, dtype=np.int64)
    if np.isnan(known).any():
        raise ValueError("The scores of a conformal quantile must be numbers. Got NaN instead.")
    order = np.lexsort((known, fold))
    each = np.ones(known.size) if weight is None else np.asarray(weight, dtype=np.float64)
    starts = np.searchsorted(fold[order], np.arange(n_folds + 1))
    return known[order], each[order], starts.astype(np.int64)


@inner
def count_up_to(limit, shifts, values, upto, starts):  # type: ignore[no-untyped-def]
    """Weight of the values that, moved by the shift of their fold, are at most a limit."""
    total = 0.0
    for k in range(shifts.shape[0]):
        low, high = starts[k], starts[k + 1]
        while low < high:
            middle = (low + high) // 2
            if values[middle] + shifts[k] <= limit:
                low = middle + 1
            else:
                high = middle
        if low > starts[k]:
            total += upto[low - 1]
    return total


@compiled
def shifted_quantiles(shifts, values, upto, starts, needed, out):  # type: ignore[no-untyped-def]
    """For each row of shifts, the least shifted value that values of weight `needed` do not exceed.

    Values are sorted within their fold, so that the one asked for is found by halving in each fold: the first
    value of a fold whose weight up to it suffices; the least of these is the answer.
    """
    for i in range(shifts.shape[0]):
        best = np.inf
        for k in range(shifts.shape[1]):
            low, high = starts[k], starts[k + 1]
            while low < high:
                middle = (low + high) // 2
                limit = values[middle] + shifts[i, k]
                if limit >= best or count_up_to(limit, shifts[i], values, upto, starts) >= needed:
                    high = middle
                else:
                    low = middle + 1
            if low < starts[k + 1] and values[low] + shifts[i, k] < best:
                best = values[low] + shifts[i, k]
        out[i] = best
