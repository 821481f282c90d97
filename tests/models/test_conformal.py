"""Conformal intervals and sets hold as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.conformal import (
    class_scores,
    class_sets,
    conformal_quantile,
    conformal_width,
    cross_class_sets,
    cross_conformal_ends,
    cross_conformal_intervals,
    proven_coverage,
    split_conformal_intervals,
)

TWO_ERRORS = 2.0


def near(share: float, exact: float, runs: int) -> bool:
    """Whether a share of independent runs lies within two standard errors of a probability."""
    return abs(share - exact) <= TWO_ERRORS * np.sqrt(exact * (1 - exact) / runs)


@pytest.mark.parametrize(("n", "coverage"), [(19, 0.9), (40, 0.75), (7, 0.5)])
def test_the_quantile_is_the_order_statistic_of_the_definition(rng, n, coverage):
    scores = rng.normal(size=n)
    place = next(k for k in range(1, n + 1) if k / (n + 1) >= coverage - 1e-12)
    assert conformal_quantile(scores, coverage) == np.sort(scores)[place - 1]


def test_split_conformal_intervals_hold_a_new_row_exactly_as_often_as_the_theorem_says(rng):
    """⌈(n + 1) c⌉/(n + 1), for a wrong model and heavy tails too: here the model is the line 0."""
    n, coverage, runs = 24, 0.9, 4000
    y = rng.standard_cauchy(size=(runs, n + 1))
    ends = np.array([split_conformal_intervals([0.0], row[:n], coverage)[0] for row in y])
    held = np.mean((ends[:, 0] <= y[:, n]) & (y[:, n] <= ends[:, 1]))
    assert near(held, np.ceil(coverage * (n + 1)) / (n + 1), runs)


def test_too_few_rows_give_infinite_intervals():
    assert conformal_width([1.0, 2.0], 0.9) == np.inf
    assert split_conformal_intervals([5.0], [1.0, 2.0], 0.9).tolist() == [[-np.inf, np.inf]]
    ends = cross_conformal_intervals([[5.0, 5.0]], [1.0, 2.0], [0, 1], 0.9)
    assert ends.tolist() == [[-np.inf, np.inf]]


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 2.0])
def test_a_coverage_that_is_none_is_refused(coverage):
    with pytest.raises(ValueError, match="between 0 and 1"):
        conformal_quantile([1.0, 2.0], coverage)
    with pytest.raises(ValueError, match="between 0 and 1"):
        cross_conformal_intervals([[1.0]], [1.0], [0], coverage)


def test_a_score_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="must be numbers"):
        conformal_quantile([1.0, np.nan], 0.5)


def jackknife(x, y, new):
    """Leave-one-out means of y, their residuals, and what they say about a new row."""
    loo = (y.sum() - y) / (len(y) - 1)
    return np.tile(loo, (len(new), 1)), y - loo


def test_jackknife_plus_is_what_its_definition_says(rng):
    y, coverage = rng.normal(size=30), 0.8
    said, residuals = jackknife(None, y, [0])
    ((low, high),) = cross_conformal_intervals(said, residuals, np.arange(30), coverage)
    reach = np.abs(residuals)
    assert high == np.sort(said[0] + reach)[int(np.ceil(31 * coverage)) - 1]
    assert low == np.sort(said[0] - reach)[int(np.floor(31 * (1 - coverage))) - 1]


def test_cross_conformal_intervals_cover_new_rows(rng):
    """For the mean, which is stable, the coverage is that of a split up to the size of a fold."""
    n, folds, coverage, runs = 60, 6, 0.8, 3000
    held = 0
    fold = np.arange(n) % folds
    for _ in range(runs):
        y = rng.normal(size=n + 1)
        without = np.array([y[:n][fold != k].mean() for k in range(folds)])
        ((low, high),) = cross_conformal_intervals([without], y[:n] - without[fold], fold, coverage)
        held += low <= y[n] <= high
    exact = np.ceil((n + 1) * coverage) / (n + 1)
    # The models lack a sixth of the rows: their residuals are wider by (1 + 1/50)/(1 + 1/60) in variance.
    assert abs(held / runs - exact) <= TWO_ERRORS * np.sqrt(0.16 / runs) + 0.004


def test_class_sets_hold_the_true_class_as_often_as_they_say(rng):
    """With scores that have no ties, before the likeliest class is added to an empty set."""
    n, runs, coverage, n_classes = 49, 3000, 0.8, 4
    held = 0
    for _ in range(runs):
        probabilities = rng.dirichlet(np.ones(n_classes), size=n + 1)
        true = (rng.random(n + 1)[:, None] > np.cumsum(probabilities, axis=1)).sum(axis=1)
        scores = class_scores(probabilities, true)
        held += scores[n] <= conformal_quantile(scores[:n], coverage)
    assert near(held / runs, np.ceil(coverage * (n + 1)) / (n + 1), runs)


def test_a_class_set_is_never_empty_and_holds_what_is_likely_enough():
    members = class_sets([[0.5, 0.3, 0.2], [0.05, 0.9, 0.05]], 0.3)
    assert members.tolist() == [[True, False, False], [False, True, False]]
    assert class_sets([[0.5, 0.3, 0.2]], 0.7).tolist() == [[True, True, False]]
    assert class_sets([[0.5, 0.5]], np.inf).all()


@pytest.mark.parametrize("coverage", [0.3, 0.8, 0.9])
def test_intervals_by_folds_are_the_ranks_of_all_shifted_scores(rng, coverage):
    """By sorting all of them: scores with ties, folds of different size, weights as repetition."""
    folds = rng.integers(0, 4, 50)
    scores, times = rng.integers(-3, 6, 50).astype(float), rng.integers(0, 4, 50)
    low = rng.normal(size=(20, 4))
    high = low + rng.exponential(size=(20, 4))
    ours = cross_conformal_ends(low, high, scores, folds, coverage, times)
    every, of = np.repeat(scores, times), np.repeat(folds, times)
    n = len(every)
    for row, (below, above) in enumerate(ours):
        first = np.sort(low[row, of] - every)[int(np.floor((n + 1) * (1 - coverage) + 1e-9)) - 1]
        last = np.sort(high[row, of] + every)[int(np.ceil((n + 1) * coverage - 1e-9)) - 1]
        expected = (first, last) if first <= last else [(first + last) / 2] * 2
        np.testing.assert_allclose((below, above), expected, rtol=1e-14)


def test_class_sets_by_folds_hold_what_their_definition_says(rng):
    new, folds = rng.random((3, 15, 4)).round(1), rng.integers(0, 3, 41)
    scores, times = rng.random(41).round(1), rng.integers(0, 3, 41)
    for coverage in (0.4, 0.75, 0.9):
        ours = cross_class_sets(new, scores, folds, coverage, times)
        stranger = np.einsum("i,inc->nc", times, new[folds] > scores[:, None, None])
        np.testing.assert_array_equal(ours, stranger < coverage * (times.sum() + 1) - 1e-9)


def test_models_that_hang_on_every_row_still_hold_what_is_proven_and_less_than_stable_ones(rng):
    """The model says the target of the nearest row: it is as unstable as a model can be."""
    n, n_folds, coverage, runs = 40, 5, 0.7, 1500
    fold, held = np.arange(n) % n_folds, 0
    for _ in range(runs):
        x, y = rng.random(n + 1), rng.standard_cauchy(n + 1)
        gaps = np.abs(x[:, None] - x[None, :n])
        gaps[np.arange(n), np.arange(n)] = np.inf
        said = np.array([y[np.where(fold == k, np.inf, gaps).argmin(axis=1)] for k in range(n_folds)])
        residuals = y[:n] - said[fold, np.arange(n)]
        ((low, high),) = cross_conformal_intervals(said[:, n:].T, residuals, fold, coverage)
        held += low <= y[n] <= high
    least = proven_coverage(coverage, n, n_folds)
    assert least == pytest.approx(2 * coverage - 1 - (1 - n_folds / n) / (n_folds + 1))
    assert least <= held / runs <= 1
    assert proven_coverage(0.9, 100, 100) == pytest.approx(0.8)
    assert proven_coverage(0.9, 10_000, 2) == pytest.approx(0.8 - 1 / 5001)
