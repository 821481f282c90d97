"""Rules that read a number of clusters off a curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from assay.cluster import find_elbow, penalty_path
from assay.cluster.selection.rules import extreme, first_gap, first_small_decrease
from assay.cluster.selection.tables import (
    ClusterStability,
    GapStatistic,
    bootstrap,
    cluster_jaccard,
    half,
    principal_box,
    uniform_box,
)

IDEAL = [100.0, 62.0, 30.0, 8.0, 7.0, 6.2, 5.5, 5.0]


@pytest.mark.spec("sangnier/EV-M2", "sangnier/EV-F1")
def test_the_elbow_is_the_point_farthest_from_the_chord():
    values = np.arange(1, 9)
    found = find_elbow(values, IDEAL)
    first, last = np.array([1.0, 100.0]), np.array([8.0, 5.0])
    along = (last - first) / [7.0, 95.0]  # both axes scaled
    apart = (np.column_stack([values, IDEAL]) - first) / [7.0, 95.0]
    distance = np.abs(along[0] * apart[:, 1] - along[1] * apart[:, 0]) / np.hypot(*along)
    assert found.value == values[np.argmax(distance)] == 4
    assert_allclose(found.below_chord / np.sqrt(2), distance, atol=1e-12)
    assert not found.ambiguous


@pytest.mark.spec("sangnier/EV-M2")
def test_second_differences_are_those_of_the_scaled_curve():
    found = find_elbow(np.arange(1, 9), IDEAL)
    scaled = np.array(IDEAL) / 95.0
    assert_allclose(found.second_difference[1:-1] / 7, np.diff(scaled, 2), atol=1e-12)
    assert found.bend == 2 + np.argmax(np.diff(IDEAL, 2)) == 4


@pytest.mark.spec("sangnier/EV-M2")
@pytest.mark.parametrize(
    "curve",
    [
        [10.0, 9.0, 8.0, 7.0, 6.0, 5.0],  # a straight line
        [1 / k for k in range(1, 11)],  # no cluster at all: the inertia of uniform rows in the plane
        [100.0, 50.0, 30.0, 20.0, 15.0, 12.0],  # every gain half of the one before
    ],
)
def test_a_curve_without_two_regimes_is_ambiguous(curve):
    found = find_elbow(np.arange(1, len(curve) + 1), curve)
    assert found.ambiguous
    assert found.reason


@pytest.mark.spec("sangnier/EV-M2")
@pytest.mark.parametrize(("ratio", "ambiguous"), [(3.9, True), (4.1, False)])
def test_an_elbow_is_clear_where_the_curve_falls_four_times_as_fast_before_it(ratio, ambiguous):
    falls = np.array([ratio, ratio, ratio, 1.0, 1.0, 1.0])
    found = find_elbow(np.arange(1, 8), 100.0 - np.concatenate([[0.0], np.cumsum(falls)]))
    assert (found.value, found.ambiguous) == (4, ambiguous)


@pytest.mark.spec("sangnier/EV-M2")
@pytest.mark.parametrize(("first", "ambiguous"), [(13.2, True), (12.8, False)])
def test_an_elbow_is_not_clear_where_the_curve_bends_more_than_twice_as_much_elsewhere(first, ambiguous):
    # It falls by `first`, then by 5 and 5, then by 1 each time: bends of first − 5 and of 4.
    falls = np.array([first, 5.0, 5.0, 1.0, 1.0, 1.0, 1.0])
    found = find_elbow(np.arange(1, 9), 100.0 - np.concatenate([[0.0], np.cumsum(falls)]))
    assert (found.value, found.bend, found.ambiguous) == (4, 2, ambiguous)


def test_scaling_either_axis_does_not_move_the_elbow():
    found = find_elbow(np.arange(1, 9), IDEAL)
    scaled = find_elbow(10 * np.arange(1, 9) + 3, 1e6 * np.array(IDEAL) + 5)
    assert (scaled.place, scaled.ambiguous) == (found.place, found.ambiguous)


@pytest.mark.parametrize(
    ("values", "curve", "message"),
    [
        ([1, 2], [2.0, 1.0], "at least three increasing"),
        ([1, 3, 2], [3.0, 2.0, 1.0], "at least three increasing"),
        ([1, 2, 3], [3.0, 2.0], "3 finite numbers"),
        ([1, 2, 3], [3.0, np.nan, 1.0], "3 finite numbers"),
        ([1, 2, 3], [1.0, 1.0, 1.0], "falls"),
    ],
)
def test_a_curve_that_has_no_elbow_is_refused(values, curve, message):
    with pytest.raises(ValueError, match=message):
        find_elbow(values, curve)


@pytest.mark.spec("wei/M10.3")
def test_the_first_small_decrease():
    within = np.array([100.0, 40.0, 10.0, 9.0, 8.5, 8.2])
    decrease = np.append(within[:-1] - within[1:], np.nan)
    found = first_small_decrease([1, 2, 3, 4, 5, 6], decrease, 5.0)
    assert (found.place, found.ambiguous) == (2, False)
    again = decrease.copy()
    again[4] = 7.0
    assert first_small_decrease([1, 2, 3, 4, 5, 6], again, 5.0)[:2] == (2, True)
    assert first_small_decrease([1, 2, 3, 4, 5, 6], decrease, 0.1)[:2] == (5, True)


@pytest.mark.spec("wei/M10.4")
def test_gap_is_the_smallest_value_that_the_next_does_not_exceed_by_its_error():
    error = np.array([0.1, 0.1, 0.1, 0.1])
    assert first_gap([1, 2, 3, 4], np.array([0.1, 0.5, 1.0, 0.9]), error)[:2] == (2, False)
    assert first_gap([1, 2, 3, 4], np.array([1.0, 0.5, 0.6, 0.7]), error)[:2] == (0, False)
    # Within s' of the next is enough; a larger gap farther on leaves a doubt.
    assert first_gap([1, 2, 3, 4], np.array([0.5, 0.59, 1.0, 2.0]), error)[:2] == (0, True)
    # Only s' of the next value counts.
    assert first_gap([1, 2], np.array([0.5, 0.59]), np.array([1.0, 0.01]))[:2] == (1, True)


@pytest.mark.spec("wei/M10.4")
def test_gap_and_its_error_are_their_formulas():
    rng = np.random.default_rng(0)
    within, references = rng.random(5), rng.random((7, 5))
    found = GapStatistic(np.log(within), np.log(references))
    logs = np.log(references)
    assert_allclose(found.gap, logs.mean(axis=0) - np.log(within))
    deviation = np.sqrt(((logs - logs.mean(axis=0)) ** 2).sum(axis=0) / 7)
    assert_allclose(found.standard_error, deviation * np.sqrt(1 + 1 / 7))


@pytest.mark.spec("wei/M10.4")
def test_reference_laws_are_uniform_in_their_boxes():
    rng = np.random.default_rng(0)
    turn = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    X = rng.uniform(size=(4000, 2)) * [10.0, 1.0] @ turn + [5.0, -3.0]
    box, principal = uniform_box(X)(rng), principal_box(X)(rng)
    assert (box >= X.min(axis=0)).all()
    assert (box <= X.max(axis=0)).all()
    assert_allclose(box.mean(axis=0), (X.min(axis=0) + X.max(axis=0)) / 2, atol=0.2)
    assert_allclose(box.std(axis=0), np.ptp(X, axis=0) / np.sqrt(12), rtol=0.05)
    # The box along the axes of a thin, tilted cloud is as thin; that of the ranges is not.
    assert_allclose(np.cov(principal.T), np.cov(X.T), atol=0.3)
    back = (principal - [5.0, -3.0]) @ turn.T
    assert np.ptp(back[:, 1]) < 1.2
    assert np.ptp(((box - [5.0, -3.0]) @ turn.T)[:, 1]) > 5


@pytest.mark.spec("rudi/M7.4")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=9), st.floats(0.0, 60.0))
def test_every_penalty_chooses_the_minimiser(curve, penalty):
    values = np.arange(2, 2 + len(curve))
    path = penalty_path(values, curve)
    total = np.array(curve) + penalty * values
    chosen = path.at(penalty)
    assert total[values == chosen][0] <= total.min() + 1e-9
    assert (np.diff(path.breakpoints) < 0).all()
    assert (path.breakpoints > 0).all()


@pytest.mark.spec("rudi/M7.4")
def test_the_choice_changes_at_the_breakpoints_and_nowhere_else():
    curve = np.array([100.0, 70.0, 20.0, 15.0, 14.0, 9.0])
    path = penalty_path(np.arange(1, 7), curve)
    assert_array_equal(path.values, [1, 3, 4, 6])  # 2 and 5 lie above the hull
    assert_allclose(path.breakpoints, [40.0, 5.0, 3.0])
    grid = np.linspace(0.01, 60.0, 4001)
    by_force = 1 + np.argmin(curve + grid[:, np.newaxis] * np.arange(1, 7), axis=1)
    assert_array_equal([path.at(penalty) for penalty in grid], by_force)
    changes = grid[1:][np.diff(by_force) != 0]
    assert_allclose(changes[::-1], path.breakpoints, atol=0.02)
    assert_array_equal(path.upper, [np.inf, *path.breakpoints])
    assert_array_equal(path.lower, [*path.breakpoints, 0.0])
    assert path.most_persistent == 3
    assert path.at(40.0) == 1, "ties go to fewer clusters"


def test_penalties_and_curves_are_checked():
    path = penalty_path([1, 2], [2.0, 1.0])
    with pytest.raises(ValueError, match=r"'penalty' parameter of PenaltyHull\.at"):
        path.at(-1.0)
    with pytest.raises(ValueError, match="increasing"):
        penalty_path([2, 1], [2.0, 1.0])
    with pytest.raises(ValueError, match="finite"):
        penalty_path([1, 2], [2.0, np.inf])
    assert penalty_path([3], [5.0]).most_persistent == 3


def test_extremes_are_in_doubt_when_another_is_near():
    curve = np.array([np.nan, 0.5, 0.9, 0.2])
    assert extreme([1, 2, 3, 4], curve, None, largest=True)[:2] == (2, False)
    assert extreme([1, 2, 3, 4], curve, None, largest=False)[:2] == (3, False)
    near = np.array([0.1, 0.88, 0.9, 0.2])
    assert extreme([1, 2, 3, 4], near, None, largest=True)[:2] == (2, True)
    assert extreme([1, 2, 3, 4], near, np.full(4, 0.01), largest=True)[:2] == (2, True)
    assert extreme([1, 2, 3, 4], curve, np.full(4, 0.01), largest=True)[:2] == (2, False)
    assert extreme([1, 2, 3, 4], curve, np.full(4, 0.5), largest=True)[:2] == (2, True)
    assert extreme([1, 2], np.array([100.0, 104.0]), None, largest=False, room=10.0)[:2] == (0, True)
    assert extreme([1, 2, 3], np.array([1.0, 0.5, 1.0]), None, largest=True, last=True)[:2] == (2, True)
    assert extreme([1, 2, 3], np.array([1.0, np.inf, 2.0]), None, largest=True)[:2] == (1, False)


def test_resamples_are_rows():
    rng = np.random.default_rng(0)
    places = half(101, rng)
    assert len(places) == len(set(places)) == 50
    drawn = bootstrap(101, rng)
    assert len(drawn) == 101
    assert 40 < len(set(drawn)) < 90


def test_jaccard_of_clusters_is_written_out():
    truth, labels = np.array([0, 0, 0, 1, 1, -1]), np.array([5, 5, 6, 6, 6, 6])
    assert_allclose(cluster_jaccard(truth, labels), (2 / 3 + 2 / 4) / 2)
    assert cluster_jaccard(truth, np.full(6, -1)) == 0.0


def test_the_error_of_a_stability_is_that_of_a_mean():
    agreement = np.array([[1.0, 0.5, 0.75], [1.0, 1.0, 1.0]])
    found = ClusterStability(agreement)
    assert_allclose(found.mean, [0.75, 1.0])
    assert_allclose(found.standard_error, agreement.std(axis=1, ddof=1) / np.sqrt(3))
    assert np.isnan(ClusterStability(agreement[:, :1]).standard_error).all()
