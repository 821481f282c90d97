"""From which probability on the rarer of two classes is named, by the measure that decides the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assay.report.trials.explaining.explanation import Threshold
from assay.report.trials.scoring.metrics import BALANCED, Counts, Judged, Metric
from assay.report.trials.trial import Outputs

UNBALANCED = 0.3
"""A class with a smaller share of the rows is rare: naming the likelier class neglects it."""

N_THRESHOLDS = 200


def counts_along(rare: NDArray, shares: NDArray, thresholds: NDArray, costs: NDArray | None = None) -> Counts:
    """Rows, or their costs, that are named right and wrong at each threshold.

    Examples
    --------
    >>> rare, shares = np.array([True, False, False]), np.array([0.4, 0.3, 0.1])
    >>> counts_along(rare, shares, np.array([0.2, 0.35])).wrongly_named
    array([1., 0.])
    """
    weight = np.ones(len(rare)) if costs is None else costs
    order = np.argsort(shares, kind="stable")
    below = np.searchsorted(shares[order], thresholds, side="left")  # rows that are not named
    sums = [np.append(0.0, np.cumsum((weight * kind)[order])) for kind in (rare, ~rare)]
    missed, spared = (total[below] for total in sums)
    return Counts(sums[0][-1] - missed, missed, sums[1][-1] - spared, spared)


def best_threshold(
    rare: NDArray, shares: NDArray, metric: Metric = BALANCED, costs: NDArray | None = None
) -> float:
    """The threshold of the best measure; the middle of them where several are as good."""
    grid = thresholds_of(shares)
    values = scores_along(rare, shares, grid, metric, costs)
    best = np.flatnonzero(values >= values.max() - 1e-12)
    return float(grid[best[len(best) // 2]])


def scores_along(
    rare: NDArray, shares: NDArray, thresholds: NDArray, metric: Metric, costs: NDArray | None = None
) -> NDArray:
    """The measure at each threshold, turned so that the greater is the better."""
    assert metric.of_counts is not None
    return metric.sign * metric.of_counts(counts_along(rare, shares, thresholds, costs))


def thresholds_of(shares: NDArray) -> NDArray:
    """Thresholds between the probabilities that there are."""
    values = np.unique(np.quantile(shares, np.linspace(0, 1, N_THRESHOLDS + 1)))
    return values if values.size < 2 else (values[:-1] + values[1:]) / 2


def named_out_of_fold(
    rare: NDArray,
    shares: NDArray,
    folds: NDArray,
    metric: Metric = BALANCED,
    costs: NDArray | None = None,
    *,
    in_order: bool = False,
) -> NDArray[np.bool_]:
    """Which rows are named when each fold gets the threshold that the other folds ask for.

    Folds in the order of the time get that of the folds before them, and the first gets one half.
    """
    named = shares > 0.5
    for number in np.unique(folds):
        inside = folds == number
        others = folds < number if in_order else ~inside
        if others.any():
            known = None if costs is None else costs[others]
            named[inside] = shares[inside] >= best_threshold(rare[others], shares[others], metric, known)
    return named


def metric_of_thresholds(metric: Metric, *, asked: bool) -> Metric:
    """The measure that a threshold is chosen by: the user's, where it judges the classes that are named.

    Without a wish it is the balanced accuracy, for which both classes count the same, as it is where the
    measure judges probabilities, which no threshold changes.
    """
    return metric if asked and metric.of_counts is not None else BALANCED


def choose_threshold(
    y: NDArray,
    repeats: Sequence[Outputs],
    *,
    labels: NDArray,
    names: tuple[str, ...],
    metric: Metric = BALANCED,
    costs: NDArray | None = None,
    in_order: bool = False,
) -> Threshold | None:
    """The threshold for the rarer of two classes; None where neither is rare, or there are not two.

    What is told is the mean over the splits of all repetitions, as the scores are, and out of fold for the
    threshold too: each fold is named with the one that the other folds ask for.

    Parameters
    ----------
    y : array of shape (n_rows,)
    repeats : sequence of Outputs
        What was said of the rows, for each repetition, with probabilities.
    labels : array of shape (2,)
    names : tuple of str
    metric : Metric, default=BALANCED
    costs : array of shape (n_rows,), optional
        Of an error in each row, for a metric of costs.
    in_order : bool, default=False
        Whether later folds are later in time.
    """
    if labels.size != 2:
        return None
    counts = np.array([np.sum(y == label) for label in labels])
    place = int(np.argmin(counts))
    if counts.min() == 0 or counts[place] / counts.sum() >= UNBALANCED:
        return None
    rare, shares = y == labels[place], [_shares(said)[:, place] for said in repeats]
    pooled, all_rare = np.concatenate(shares), np.tile(rare, len(repeats))
    all_costs = None if costs is None else np.tile(costs, len(repeats))
    if np.unique(pooled).size < 2:
        return None
    named = [
        named_out_of_fold(rare, share, said.folds, metric, costs, in_order=in_order)
        for said, share in zip(repeats, shares, strict=True)
    ]
    measured = partial(_over_splits, metric, y, repeats, labels=labels, costs=costs)
    likelier = np.concatenate([said.predictions == labels[place] for said in repeats])
    then, grid = np.concatenate(named), thresholds_of(pooled)
    return Threshold(
        label=names[place],
        place=place,
        value=best_threshold(all_rare, pooled, metric, all_costs),
        before=measured(predictions=[said.predictions for said in repeats]),
        after=measured(predictions=[np.where(rows, labels[place], labels[1 - place]) for rows in named]),
        caught=(float(likelier[all_rare].mean()), float(then[all_rare].mean())),
        right=(_right(all_rare, likelier), _right(all_rare, then)),
        grid=grid,
        curve=metric.sign * scores_along(all_rare, pooled, grid, metric, all_costs),
        measure=metric.name,
        sign=metric.sign,
    )


def _over_splits(
    metric: Metric,
    y: NDArray,
    repeats: Sequence[Outputs],
    predictions: Sequence[NDArray],
    *,
    labels: NDArray,
    costs: NDArray | None,
) -> float:
    """The measure of what is named in each repetition: the mean over its splits, as the scores are."""
    numbers = []
    for said, told in zip(repeats, predictions, strict=True):
        for fold in np.unique(said.folds):
            rows = said.folds == fold
            known = None if costs is None else costs[rows]
            numbers.append(metric.measure(Judged(y[rows], told[rows], None, labels, known)))
    return float(np.mean(numbers))


def _shares(said: Outputs) -> NDArray:
    assert said.probabilities is not None
    return said.probabilities


def _right(rare: NDArray, named: NDArray) -> float:
    """Share of the rows named that are of the class; 0 where none is named."""
    return float(rare[named].mean()) if named.any() else 0.0
