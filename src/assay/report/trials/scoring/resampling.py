"""Which rows are learnt from and predicted, what differences of scores mean, whether intervals hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from assay.models.conformal import conformal_quantile, stretch_scores, stretched_intervals

SMALL_TABLE, SMALL_NUMBERS = 1000, 1_000_000
"""Rows and numbers up to which the cross-validation is repeated: scores are noisy and fits are cheap."""

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
    kind = RepeatedKFold if classes is None else RepeatedStratifiedKFold
    repeated = kind(n_splits=folds, n_repeats=repeats, random_state=seed)
    return [FoldSplit(train, test) for train, test in repeated.split(np.empty(n_rows), classes)]


def default_repeats(n_rows: int, n_columns: int = 1) -> int:
    """Repetitions that suit a table of that size."""
    small = n_rows <= SMALL_TABLE and n_rows * n_columns <= SMALL_NUMBERS
    return REPEATS_OF_SMALL if small else 1


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
    """Paired comparison of two methods on the same folds: the corrected resampled t test."""
    difference = np.asarray(one) - np.asarray(other)
    mean, error = float(difference.mean()), corrected_error(difference, test_share)
    if not error > 0:
        return Difference(mean, error, 1.0 if mean == 0 else 0.0)
    return Difference(mean, error, float(2 * stats.t.sf(abs(mean) / error, difference.size - 1)))


COVERAGE = 0.9
"""The share of new rows that an interval is meant to hold."""

OWN, RESIDUALS = "its own", "from the residuals of the folds"
"""Where intervals come from."""


class Intervals(NamedTuple):
    """How the prediction intervals of a method fared on rows it had not seen."""

    coverage: float  # the share of rows that they were to hold
    held: float  # the share that they held
    width: float  # their mean
    source: str  # OWN, or RESIDUALS for a method that has none of its own


def measure_intervals(
    y: NDArray, repeats: Sequence[tuple[NDArray, NDArray, NDArray | None]], *, in_order: bool = False
) -> Intervals | None:
    """Measure the intervals of a method out of fold; without its own, those that its residuals ask for.

    Its own are stretched as the rows of the other folds ask, as those of the saved model are. Each repetition
    gives the predictions, the fold and the bounds of every row; the shares and the widths are means over all
    of them. None where the other folds are too few rows for any finite width.
    """
    source = RESIDUALS if any(bounds is None for _, _, bounds in repeats) else OWN
    held, widths = [], []
    for predictions, folds, bounds in repeats:
        if source == RESIDUALS or bounds is None:
            bounds = residual_bounds(y, predictions, folds, in_order=in_order)
        else:
            bounds = stretched_bounds(y, predictions, folds, bounds, in_order=in_order)
        known = ~np.isnan(bounds).any(axis=1)  # the first of folds in order has none before it
        if not known.any() or not np.isfinite(bounds[known]).all():
            return None
        low, high = bounds[known].T
        held.append(float(((low <= y[known]) & (y[known] <= high)).mean()))
        widths.append(float(np.mean(high - low)))
    return Intervals(COVERAGE, float(np.mean(held)), float(np.mean(widths)), source)


def residual_bounds(
    y: NDArray,
    predictions: NDArray,
    folds: NDArray,
    coverage: float = COVERAGE,
    *,
    in_order: bool = False,
) -> NDArray[np.float64]:
    """Interval of each row: its prediction ± the half-width that the rows of the other folds ask for.

    Of folds in the order of the time, those before it ask; the first has NaN.
    """
    half = _asked_by_others(np.abs(y - predictions), folds, coverage, in_order=in_order)
    return np.column_stack([predictions - half, predictions + half])


def stretched_bounds(
    y: NDArray, predictions: NDArray, folds: NDArray, bounds: NDArray, *, in_order: bool = False
) -> NDArray[np.float64]:
    """A method's own interval of each row, stretched as the rows of the other folds ask; see above.

    Where these are too few for the coverage it stays as it is.
    """
    factor = _asked_by_others(stretch_scores(predictions, bounds, y), folds, COVERAGE, in_order=in_order)
    return stretched_intervals(predictions, bounds, np.where(np.isinf(factor), 1.0, factor))


def _asked_by_others(
    scores: NDArray, folds: NDArray, coverage: float, *, in_order: bool
) -> NDArray[np.float64]:
    """For each row, the conformal quantile of the scores of the other folds, or of those before its own."""
    asked = np.full(len(scores), np.nan)
    for fold in np.unique(folds):
        inside = folds == fold
        others = folds < fold if in_order else ~inside
        if others.any():
            asked[inside] = conformal_quantile(scores[others], coverage)
    return asked


def for_all_classes(probabilities: NDArray, classes: NDArray, labels: NDArray) -> NDArray[np.float64]:
    """Probabilities of the classes that a model has seen as those of all classes, 0 for the others.

    Examples
    --------
    >>> for_all_classes(np.array([[0.25, 0.75]]), np.array(["a", "c"]), np.array(["a", "b", "c"]))
    array([[0.25, 0.  , 0.75]])
    """
    table = np.zeros((len(probabilities), len(labels)))
    table[:, np.searchsorted(labels, classes)] = probabilities
    return table


def brier_score(y: NDArray, probabilities: NDArray, labels: NDArray) -> float:
    """Mean over rows of Σ_k (p_k − 1{y = k})²: 0 for certainty that is right, 2 for certainty that is wrong.

    Examples
    --------
    >>> brier_score(np.array(["a", "b"]), np.array([[1.0, 0.0], [0.5, 0.5]]), np.array(["a", "b"]))
    0.25
    """
    return float(np.mean(brier_error(np.searchsorted(labels, y), probabilities)))


def brier_error(places: NDArray, probabilities: NDArray) -> NDArray[np.float64]:
    """Σ_k (p_k − 1{y = k})² of each row, the true class given by its place among the labels."""
    true = np.zeros_like(probabilities, dtype=np.float64)
    true[np.arange(len(true)), places] = 1.0
    return np.square(probabilities - true).sum(axis=1)
