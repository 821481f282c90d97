"""From which probability on the rarer of two classes is named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.report.trials.explaining.explanation import Threshold

UNBALANCED = 0.3
"""A class with a smaller share of the rows is rare: naming the likelier class neglects it."""

N_THRESHOLDS = 200


def balanced_accuracies(rare: NDArray, shares: NDArray, thresholds: NDArray) -> NDArray:
    """Mean of the shares of both classes that are named right, for each threshold.

    Examples
    --------
    >>> balanced_accuracies(np.array([True, False, False]), np.array([0.4, 0.3, 0.1]), np.array([0.2, 0.35]))
    array([0.75, 1.  ])
    """
    inside, outside = np.sort(shares[rare]), np.sort(shares[~rare])
    caught = 1 - np.searchsorted(inside, thresholds, side="left") / max(1, inside.size)
    spared = np.searchsorted(outside, thresholds, side="left") / max(1, outside.size)
    return (caught + spared) / 2


def best_threshold(rare: NDArray, shares: NDArray) -> float:
    """The threshold of greatest balanced accuracy; the middle of them where several are as good."""
    grid = thresholds_of(shares)
    values = balanced_accuracies(rare, shares, grid)
    best = np.flatnonzero(values >= values.max() - 1e-12)
    return float(grid[best[len(best) // 2]])


def thresholds_of(shares: NDArray) -> NDArray:
    """Thresholds between the probabilities that there are."""
    values = np.unique(np.quantile(shares, np.linspace(0, 1, N_THRESHOLDS + 1)))
    return values if values.size < 2 else (values[:-1] + values[1:]) / 2


def named_out_of_fold(rare: NDArray, shares: NDArray, folds: NDArray) -> NDArray[np.bool_]:
    """Which rows are named when each fold gets the threshold that the other folds ask for."""
    named = np.empty(rare.size, dtype=bool)
    for number in np.unique(folds):
        inside = folds == number
        named[inside] = shares[inside] >= best_threshold(rare[~inside], shares[~inside])
    return named


def choose_threshold(
    y: NDArray, probabilities: NDArray, folds: NDArray, *, labels: NDArray, names: tuple[str, ...]
) -> Threshold | None:
    """The threshold for the rarer of two classes; None where neither is rare, or there are not two.

    The balanced accuracy that is told is out of fold for the threshold too: each fold is named with the one
    that the other folds ask for.

    Parameters
    ----------
    y : array of shape (n_rows,)
    probabilities : array of shape (n_rows, 2)
        Out of fold.
    folds : array of shape (n_rows,)
        Fold of each row; −1 for rows that none predicts.
    labels : array of shape (2,)
    names : tuple of str
    """
    if labels.size != 2:
        return None
    known = folds >= 0
    counts = np.array([np.sum(y[known] == label) for label in labels])
    place = int(np.argmin(counts))
    if counts.min() == 0 or counts[place] / counts.sum() >= UNBALANCED:
        return None
    rare, shares, fold = y[known] == labels[place], probabilities[known, place], folds[known]
    if np.unique(shares).size < 2:
        return None
    named = named_out_of_fold(rare, shares, fold)
    before = shares > 0.5
    grid = thresholds_of(shares)
    return Threshold(
        label=names[place],
        place=place,
        value=best_threshold(rare, shares),
        before=_balanced(rare, before),
        after=_balanced(rare, named),
        caught=(float(before[rare].mean()), float(named[rare].mean())),
        right=(_right(rare, before), _right(rare, named)),
        grid=grid,
        curve=balanced_accuracies(rare, shares, grid),
    )


def _balanced(rare: NDArray, named: NDArray) -> float:
    return float((named[rare].mean() + (~named[~rare]).mean()) / 2)


def _right(rare: NDArray, named: NDArray) -> float:
    """Share of the rows named that are of the class; 0 where none is named."""
    return float(rare[named].mean()) if named.any() else 0.0
