"""The k-means criterion: exact optimum, expectation, and the mean quality of k-means++."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from assay.cluster import KMeans
from assay.theory import (
    corrected_criterion,
    expected_criterion,
    optimal_partition,
    pairwise_criterion,
    plus_plus_factor,
    plus_plus_ratio,
    stuck_rectangle,
    tie_trap,
    unlucky_rows,
)


def inertia(X, labels):
    return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))


@pytest.mark.spec("douc/M8.8", "wei/T10.1")
def test_pairwise_form_is_twice_the_centroid_form(rng):
    X, labels = rng.normal(size=(30, 3)), rng.integers(0, 4, size=30)
    assert_allclose(pairwise_criterion(X, labels), 2 * inertia(X, labels))
    by_hand = sum(
        np.sum((X[a] - X[b]) ** 2) / np.sum(labels == labels[a])
        for a in range(30)
        for b in range(30)
        if labels[a] == labels[b]
    )
    assert_allclose(pairwise_criterion(X, labels), by_hand)


@pytest.mark.spec("douc/T8.6")
def test_shift_identity_behind_monotonicity(rng):
    """What the step of the centres gains is Σ |C_k| ‖X̄_k − z_k‖², no more and no less."""
    X = rng.normal(size=(200, 3))
    steps = KMeans(7, init=X[:7], tol=0, history=True).fit(X).history_
    assert len(steps.labels) > 4
    for t, (centers, labels) in enumerate(zip(steps.centers[:-1], steps.labels[:-1], strict=True)):
        gain = sum(
            np.sum(labels == k) * np.sum((X[labels == k].mean(axis=0) - centers[k]) ** 2) for k in range(7)
        )
        before, after = steps.inertia[2 * t : 2 * t + 2]
        assert_allclose(before - after, gain, rtol=1e-8, atol=1e-9)
        assert_allclose(after, inertia(X, labels))
        assert_allclose(2 * after, pairwise_criterion(X, labels))


@pytest.mark.spec("douc/T8.7")
def test_expected_criterion_is_the_mean_over_draws(rng):
    labels = np.array([0, 0, 0, 1, 1, 2])
    means, variances = rng.normal(size=(6, 2)), np.array([1.0, 2.0, 0.5, 4.0, 1.0, 3.0])
    expected = expected_criterion(labels, means, variances)
    assert_allclose(expected.pairwise, expected.centroid)
    noise = rng.normal(size=(2500, 6, 2)) * np.sqrt(variances / 2)[:, np.newaxis]
    draws = np.array([pairwise_criterion(means + draw, labels) for draw in noise])
    assert abs(draws.mean() - expected.pairwise) < 4 * draws.std() / np.sqrt(2500)
    corrected = np.array([corrected_criterion(means + draw, labels, variances) for draw in noise])
    assert abs(corrected.mean() - expected.corrected) < 4 * corrected.std() / np.sqrt(2500)


@pytest.mark.spec("douc/T8.7")
def test_equal_means_inside_groups_leave_only_noise():
    labels, variances = np.array([0, 0, 1, 1, 1]), np.arange(1.0, 6.0)
    means = np.array([[0.0], [0.0], [7.0], [7.0], [7.0]])
    expected = expected_criterion(labels, means, variances)
    assert_allclose(expected.pairwise, 2 * (1 / 2 * 3.0 + 2 / 3 * 12.0))
    assert_allclose(expected.corrected, 0.0, atol=1e-12)


@pytest.mark.spec("douc/T8.7")
def test_unequal_variances_favour_splitting_the_noisy_group():
    # Three groups of two; with two clusters the truth merges the quiet groups, which lie a little apart.
    means = np.array([[0.0], [0.0], [1.0], [1.0], [9.0], [9.0]])
    variances = np.array([0.01, 0.01, 0.01, 0.01, 60.0, 60.0])
    true, split = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 2])
    assert (
        expected_criterion(split, means, variances).pairwise
        < expected_criterion(true, means, variances).pairwise
    )
    assert (
        expected_criterion(split, means, variances).corrected
        > expected_criterion(true, means, variances).corrected
    )


@pytest.mark.spec("rudi/T7.3")
def test_the_optimum_by_dynamic_programming_is_that_of_brute_force(rng):
    for _ in range(3):
        values = rng.normal(size=(7, 1))
        for n_clusters in (1, 2, 3, 7):
            line = optimal_partition(values, n_clusters)
            plane = optimal_partition(np.column_stack([values, np.zeros(7)]), n_clusters)
            assert_allclose(line.inertia, plane.inertia, atol=1e-12)
            assert_allclose(inertia(values, line.labels), line.inertia, atol=1e-12)
            # The clusters of numbers are intervals, counted from 0 in increasing order.
            in_order = line.labels[np.argsort(values[:, 0])]
            assert np.array_equal(np.unique(line.labels), np.arange(n_clusters))
            assert np.all(np.diff(in_order) >= 0)


def test_the_optimum_refuses_what_it_cannot_try(rng):
    with pytest.raises(ValueError, match="at most 12 rows"):
        optimal_partition(rng.normal(size=(13, 2)), 2)
    with pytest.raises(ValueError, match="an int at least 1"):
        optimal_partition(rng.normal(size=(3, 2)), 0)
    with pytest.raises(ValueError, match="two-dimensional"):
        optimal_partition([1.0, 2.0], 2)


@pytest.mark.spec("rudi/T7.4", "peyre/T3")
def test_plus_plus_seeds_are_competitive_in_the_mean(rng):
    X = np.concatenate([rng.normal(center, 0.1, size=15) for center in (0.0, 1.0, 5.0, 6.0)])[:, np.newaxis]
    found = plus_plus_ratio(X, 4, optimal_partition(X, 4).inertia, n_draws=400, random_state=0)
    assert np.all(found.ratios >= 1.0)
    assert found.mean + 4 * found.standard_error < found.bound
    assert_allclose(found.bound, 8 * (np.log(4) + 2))
    assert_allclose([plus_plus_factor(k) for k in (1, 4, 50)], 8 * (np.log([1, 4, 50]) + 2))
    assert_allclose(found.mean, found.ratios.mean())
    assert_allclose(found.standard_error, found.ratios.std(ddof=1) / np.sqrt(400), rtol=0.01)


@pytest.mark.spec("rudi/T7.4", "sangnier/KM-T5")
def test_plus_plus_avoids_what_random_rows_fall_into():
    trap = unlucky_rows(1e4)
    found = plus_plus_ratio(trap.X, 3, trap.optimal_inertia, n_draws=300, random_state=1)
    assert np.quantile(found.ratios, 0.9) < 3
    assert trap.stuck_inertia / trap.optimal_inertia > 1e7
    # Random rows do fall into it, and how bad they are has no bound: it grows with the square of the scale.
    for scale in (30.0, 300.0):
        trap = unlucky_rows(scale)
        ends = [
            KMeans(3, init="random", n_init=1, random_state=seed).fit(trap.X).inertia_ for seed in range(30)
        ]
        caught = np.isclose(ends, trap.stuck_inertia)
        assert 3 <= caught.sum() < 30
        assert max(ends) / trap.optimal_inertia > 0.1 * scale**2


@pytest.mark.spec("sangnier/KM-T5")
@pytest.mark.parametrize("trap", [stuck_rectangle(4.0), tie_trap(), unlucky_rows(20.0)])
def test_traps_state_their_optimum(trap):
    assert_allclose(optimal_partition(trap.X, len(trap.init)).inertia, trap.optimal_inertia)
    assert trap.stuck_inertia > trap.optimal_inertia


@pytest.mark.spec("sangnier/KM-T5")
def test_the_traps_are_those_of_the_remark():
    for t in (4.0, 50.0):  # the ratio t² has no bound
        trap = stuck_rectangle(t)
        assert_array_equal(trap.X[np.lexsort(trap.X.T[::-1])], [[0, 0], [0, 1], [t, 0], [t, 1]])
        assert_array_equal(trap.init, [[t / 2, 0], [t / 2, 1]])
        assert (trap.stuck_inertia, trap.optimal_inertia) == (t**2, 1.0)
    trap = tie_trap()
    assert_array_equal(np.sort(trap.X.ravel()), [1, 2, 3, 4])
    assert_array_equal(trap.init.ravel(), [2, 4])
    assert (trap.stuck_inertia, trap.optimal_inertia) == (2.0, 1.0)
