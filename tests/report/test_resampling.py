"""Folds, and the corrected comparison of scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.report.trials.scoring.resampling import compare_scores, corrected_error, residual_bounds, splits


def test_every_row_is_predicted_once_a_repetition_and_never_learnt_from_there():
    found = splits(53, folds=5, repeats=3, seed=0)
    assert len(found) == 15
    for part in found:
        assert not set(part.train) & set(part.test)
        assert len(part.train) + len(part.test) == 53
    for repetition in range(3):
        tested = np.concatenate([part.test for part in found[5 * repetition : 5 * repetition + 5]])
        assert sorted(tested) == list(range(53))
    assert not np.array_equal(found[0].test, found[5].test)


def test_classes_have_their_share_in_every_fold():
    classes = np.repeat([0, 1], [90, 10])
    for part in splits(100, folds=5, repeats=1, seed=1, classes=classes):
        assert classes[part.test].sum() == 2


def test_the_corrected_error_is_that_of_nadeau_and_bengio():
    scores = np.array([0.5, 0.7, 0.6, 0.8])
    plain = scores.std(ddof=1) / 2
    assert corrected_error(scores, 1e-12) == pytest.approx(plain)
    expected = np.sqrt((1 / 4 + 0.25) * scores.var(ddof=1))
    assert corrected_error(scores, 0.2) == pytest.approx(expected)
    assert np.isnan(corrected_error(scores[:1], 0.2))


def test_the_corrected_test_keeps_its_level_where_the_plain_one_does_not():
    """Two useless rules on pure noise: the plain paired test finds a difference far too often."""
    rng = np.random.default_rng(0)
    n, rejected = 60, np.zeros(2)
    runs = 300
    for run in range(runs):
        y = rng.normal(size=n)
        first, second = rng.normal(size=(2, n))
        scores = []
        for train, test in splits(n, folds=5, repeats=3, seed=run):
            pair = []
            for x in (first, second):
                slope = x[train] @ y[train] / (x[train] @ x[train])
                pair.append(-np.mean((y[test] - slope * x[test]) ** 2))
            scores.append(pair)
        one, other = np.array(scores).T
        rejected += [
            stats.ttest_rel(one, other).pvalue < 0.05,
            compare_scores(one, other, 0.2).p_value < 0.05,
        ]
    plain, corrected = rejected / runs
    room = 3 * np.sqrt(0.05 * 0.95 / runs)
    assert corrected <= 0.05 + room < plain


def test_equal_scores_are_no_difference_and_constant_ones_are_certain():
    same = np.array([0.5, 0.6, 0.7])
    assert compare_scores(same, same, 0.2).p_value == 1.0
    assert compare_scores(same + 0.1, same, 0.2).p_value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("in_order", [False, True])
def test_half_widths_come_from_the_rows_of_other_folds_and_in_time_from_those_before(rng, in_order):
    y, folds = rng.normal(size=60), np.repeat([0, 1, 2], 20)
    predictions = y + np.repeat([1.0, 2.0, 3.0], 20) * np.where(rng.random(60) < 0.5, -1.0, 1.0)
    halves = np.diff(residual_bounds(y, predictions, folds, in_order=in_order), axis=1)[:, 0] / 2
    expected = [np.nan, 1.0, 2.0] if in_order else [3.0, 3.0, 2.0]
    np.testing.assert_allclose(halves, np.repeat(expected, 20))
