"""Which rows are learnt from and predicted, what differences of scores mean, whether intervals hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from assay.display.classes.curves import calibration_curve
from assay.models.conformal import conformal_width

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
    y: NDArray, predictions: NDArray, folds: NDArray, bounds: NDArray | None
) -> Intervals | None:
    """Measure the intervals of a method out of fold; without its own, those that its residuals ask for.

    None where the other folds are too few rows for any finite width.
    """
    source = RESIDUALS if bounds is None else OWN
    if bounds is None:
        bounds = residual_bounds(y, predictions, folds)
    if not np.isfinite(bounds).all():
        return None
    held = (bounds[:, 0] <= y) & (y <= bounds[:, 1])
    return Intervals(COVERAGE, float(held.mean()), float(np.mean(bounds[:, 1] - bounds[:, 0])), source)


def residual_bounds(
    y: NDArray, predictions: NDArray, folds: NDArray, coverage: float = COVERAGE
) -> NDArray[np.float64]:
    """Interval of each row: its prediction ± the half-width that the rows of the other folds ask for."""
    residuals = np.abs(y - predictions)
    half = np.empty(len(y))
    for fold in np.unique(folds):
        inside = folds == fold
        half[inside] = conformal_width(residuals[~inside], coverage)
    return np.column_stack([predictions - half, predictions + half])


def brier_score(y: NDArray, probabilities: NDArray, labels: NDArray) -> float:
    """Mean over rows of Σ_k (p_k − 1{y = k})²: 0 for certainty that is right, 2 for certainty that is wrong.

    Examples
    --------
    >>> brier_score(np.array(["a", "b"]), np.array([[1.0, 0.0], [0.5, 0.5]]), np.array(["a", "b"]))
    0.25
    """
    truth = np.asarray(y)[:, None] == labels[None, :]
    return float(np.mean(np.sum((probabilities - truth) ** 2, axis=1)))


def calibration_error(y: NDArray, probabilities: NDArray, labels: NDArray) -> float:
    """Mean gap between the confidence in the class that is named and how often it is right.

    Rows are put into ten groups of equally many by their confidence; each group weighs as many rows as it
    has. Groups this size are off by chance alone, so that the gap of a perfect model is small but not zero.

    Examples
    --------
    >>> y = np.repeat(["a", "b"], [80, 20])
    >>> calibration_error(y, np.tile([0.9, 0.1], (100, 1)), np.array(["a", "b"])).__round__(3)
    0.1
    """
    named = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(named)), named]
    mean, share, size = calibration_curve(labels[named] == y, confidence)
    return float(size @ np.abs(mean - share) / size.sum())
