"""Optimal clusterings, exactly: on a line, and of few rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from assay.cluster import KMeans, KMedoids, optimal_clustering_1d, optimal_medoids
from assay.theory import optimal_partition, tie_trap, unlucky_rows


def brute_force(x, k, weight, criterion):
    """Least cost over all ways to cut the sorted numbers."""
    order = np.argsort(x)
    x, weight = np.asarray(x)[order], np.asarray(weight)[order]
    best = np.inf
    for size in range(k):
        for cuts in combinations(range(1, len(x)), size):
            cost = 0.0
            for a, b in zip([0, *cuts], [*cuts, len(x)], strict=True):
                part, w = x[a:b], weight[a:b]
                if w.sum() == 0:
                    continue
                if criterion == "squared":
                    cost += w @ (part - np.average(part, weights=w)) ** 2
                else:
                    cost += min(w @ np.abs(part - c) for c in part)
            best = min(best, cost)
    return best


@pytest.mark.spec("sangnier/KM-M7")
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=8),
    st.integers(1, 4),
    st.sampled_from(["squared", "absolute"]),
    st.integers(0, 1000),
)
def test_no_partition_of_numbers_costs_less(numbers, k, criterion, seed):
    x = np.array(numbers, dtype=float)
    weight = np.random.default_rng(seed).integers(0, 3, len(x)).astype(float)
    weight[0] = 1.0
    found = optimal_clustering_1d(x, k, weight, criterion=criterion)
    assert_allclose(found.cost, brute_force(x, k, weight, criterion), atol=1e-9)
    apart = np.abs(x - found.centers[found.labels])
    assert_allclose(found.cost, weight @ (apart**2 if criterion == "squared" else apart), atol=1e-9)
    assert np.all(np.diff(found.centers) > 0)


@pytest.mark.spec("sangnier/KM-M7")
def test_the_line_agrees_with_every_partition_of_nine_numbers():
    x = np.random.default_rng(2).normal(size=(9, 1))
    for k in (2, 3):
        found = optimal_clustering_1d(x, k)
        # A second, constant feature makes the theory try every partition instead of intervals.
        every = optimal_partition(np.column_stack([x, np.zeros(9)]), k)
        assert_allclose(found.cost, every.inertia)


@pytest.mark.spec("sangnier/KM-M7")
def test_the_true_gap_of_lloyd_is_told():
    for trap in (tie_trap(), unlucky_rows(50.0)):
        k = len(trap.init)
        stuck = KMeans(k, init=trap.init, tol=0).fit(trap.X)
        best = optimal_clustering_1d(trap.X, k)
        assert_allclose(best.cost, trap.optimal_inertia)
        assert_allclose(stuck.inertia_ / best.cost, trap.stuck_inertia / trap.optimal_inertia)
        cured = KMeans(k, init=best.centers[:, np.newaxis], tol=0).fit(trap.X)
        assert_allclose(cured.inertia_, best.cost)


@pytest.mark.spec("sangnier/KM-M7")
def test_medoids_have_a_true_gap_too():
    x = np.random.default_rng(0).exponential(size=(40, 1))
    best = optimal_clustering_1d(x, 4, criterion="absolute")
    every = optimal_medoids(cdist(x, x), 4)
    assert_allclose(best.cost, every.cost)  # medians of numbers are numbers of the sample
    model = KMedoids(4).fit(x)
    assert model.inertia_ >= best.cost - 1e-12
    assert model.certify(x).named("cost").bound <= best.cost + 1e-9


def test_a_large_sample_takes_n_log_n():
    x = np.random.default_rng(1).normal(size=50_000)
    found = optimal_clustering_1d(x, 6)
    model = KMeans(6, init=found.centers[:, np.newaxis], tol=0).fit(x[:, np.newaxis])
    assert_allclose(model.inertia_, found.cost, rtol=1e-9)  # the optimum is a fixed point of Lloyd
    other = KMeans(6, random_state=0, n_init=3).fit(x[:, np.newaxis])
    assert found.cost <= other.inertia_ * (1 + 1e-9)


def test_numbers_far_from_zero_lose_nothing():
    x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.5])
    near, far = optimal_clustering_1d(x, 2), optimal_clustering_1d(x + 1e8, 2)
    assert_array_equal(near.labels, far.labels)
    assert_allclose(far.cost, near.cost, rtol=1e-6)


def test_more_clusters_than_distinct_numbers_cost_nothing():
    found = optimal_clustering_1d([3.0, 1.0, 3.0, 1.0], 5)
    assert found.cost == 0.0
    assert_array_equal(found.centers, [1.0, 3.0])
    assert_array_equal(found.labels, [1, 0, 1, 0])
    single = optimal_clustering_1d([7.0], 1, criterion="absolute")
    assert (single.cost, single.centers[0]) == (0.0, 7.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1.0, np.nan], 1), "NaN"),
        (([], 1), "'x' parameter"),
        ((np.ones((3, 2)), 1), "'x' parameter"),
        (([1.0], 0), "'n_clusters' parameter"),
        (([1.0, 2.0], 1, [1.0, -1.0]), "sample_weight"),
        (([1.0, 2.0], 1, [0.0, 0.0]), "zero"),
    ],
)
def test_bad_input_of_the_line_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        optimal_clustering_1d(*arguments)
    with pytest.raises(ValueError, match="'criterion' parameter"):
        optimal_clustering_1d([1.0, 2.0], 1, criterion="cubic")


def test_exhaustive_medoids_respect_weights_and_limits():
    X = np.random.default_rng(3).normal(size=(10, 2))
    D, weight = cdist(X, X), np.array([1, 0, 2, 1, 1, 0, 3, 1, 1, 1.0])
    found = optimal_medoids(D, 3, weight)
    assert weight[found.medoid_indices].all()
    repeated = np.repeat(np.arange(10), weight.astype(int))
    again = optimal_medoids(D[np.ix_(repeated, repeated)], 3)
    assert_allclose(found.cost, again.cost)
    with pytest.raises(ValueError, match="at most 200000"):
        optimal_medoids(np.zeros((200, 200)), 5)
    with pytest.raises(ValueError, match="'n_clusters' parameter"):
        optimal_medoids(D, 11)
    with pytest.raises(ValueError, match="square"):
        optimal_medoids(D[:, :3], 2)
