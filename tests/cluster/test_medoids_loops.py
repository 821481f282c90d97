"""The loops of k-medoids against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from assay.cluster.medoids import loops
from assay.cluster.medoids.solver import cluster_costs, nearness

MEDOIDS = np.array([3, 40, 17, 99])


@pytest.fixture(params=["float64", "float32"])
def distances(request):
    X = np.random.default_rng(5).normal(size=(120, 3))
    return cdist(X, X).astype(request.param)


@pytest.fixture(params=[False, True])
def weight(request):
    return np.tile([1.0, 2.0, 0.0, 0.5], 30) if request.param else np.empty(0)


def weights(weight):
    return np.ones(120) if weight.size == 0 else weight


def cost(D, medoids, weight):
    return weights(weight) @ D[medoids].min(axis=0).astype(float)


def test_nearest_and_next_medoid(distances):
    found = nearness(distances, MEDOIDS)
    ranks = np.argsort(distances[MEDOIDS], axis=0, kind="stable")
    assert_array_equal(found.nearest, ranks[0])
    assert_array_equal(found.runner_up, ranks[1])
    assert_array_equal(found.second, distances[MEDOIDS[ranks[1]], np.arange(120)])


def test_changes_are_the_differences_of_costs(distances, weight):
    state = nearness(distances, MEDOIDS)
    losses, changes = np.empty(4), np.empty(4)
    loops.removal_losses(weight, state, losses)
    for place in range(4):
        without = np.delete(MEDOIDS, place)
        assert_allclose(losses[place], cost(distances, without, weight) - cost(distances, MEDOIDS, weight))
    listed = np.empty(120, dtype=np.int32)
    for candidate in range(0, 120, 7):
        loops.swap_change(distances[candidate], weight, state, losses, listed, changes)
        for place in range(4):
            swapped = MEDOIDS.copy()
            swapped[place] = candidate
            expected = cost(distances, swapped, weight) - cost(distances, MEDOIDS, weight)
            assert_allclose(changes[place], expected, atol=1e-9)


def test_best_swap_is_the_best_of_all(distances, weight):
    state = nearness(distances, MEDOIDS)
    losses = np.empty(4)
    loops.removal_losses(weight, state, losses)
    arguments = (distances, weight, state, losses, MEDOIDS, (0, 120))
    candidate, place, change, n_seen = loops.best_swap(*arguments, 0.0, False)
    table = np.full((120, 4), np.inf)
    for j in np.flatnonzero(weights(weight)):
        for p in range(4):
            table[j, p] = cost(distances, np.where(np.arange(4) == p, j, MEDOIDS), weight)
    assert_allclose(cost(distances, MEDOIDS, weight) + change, table.min())
    assert_allclose(table[candidate, place], table.min())
    assert n_seen == 120
    first, _, change, n_seen = loops.best_swap(*arguments, 0.0, True)
    assert n_seen == first + 1
    assert change < 0.0


def test_a_swap_updates_like_a_fresh_measurement(distances):
    rng = np.random.default_rng(0)
    medoids = MEDOIDS.copy()
    state = nearness(distances, medoids)
    for _ in range(30):
        place, candidate = int(rng.integers(4)), int(rng.integers(120))
        if candidate in medoids:
            continue
        medoids[place] = candidate
        loops.apply_swap(distances, medoids, place, *state)
        fresh = nearness(distances, medoids)
        assert_array_equal(state.first, fresh.first)
        assert_array_equal(state.second, fresh.second)
        assert_array_equal(state.nearest, fresh.nearest)
        assert_array_equal(state.runner_up, fresh.runner_up)


def test_sums_over_the_matrix(distances, weight):
    w = weights(weight)
    result = np.empty(120)
    loops.costs(distances, weight, 0, 120, result)
    assert_allclose(result[w > 0], (distances.astype(float) @ w)[w > 0])
    assert np.all(np.isinf(result[w == 0]))
    first = distances[3].copy()
    loops.gains(distances, weight, first, 0, 120, result)
    expected = np.maximum(first.astype(float) - distances, 0.0) @ w
    assert_allclose(result[w > 0], expected[w > 0], atol=1e-9)
    assert np.all(result[w == 0] == -1.0)
    multipliers = np.linspace(0.0, 2.0, 120)
    loops.reduced_costs(distances, weight, multipliers, 0, 120, result)
    expected = np.minimum(w * distances.astype(float) - multipliers, 0.0).sum(axis=1)
    assert_allclose(result[w > 0], expected[w > 0])
    labels = (np.arange(120) % 3).astype(np.int32)
    sums = cluster_costs(distances, weight, labels, 3)
    for k in range(3):
        expected = w[labels == k] @ distances[labels == k].astype(float)
        assert_allclose(sums[k, w > 0], expected[w > 0])


def test_the_lazy_gain_is_the_largest(distances, weight):
    first = distances[3].copy()
    bounds, true = np.full(120, np.inf), np.empty(120)
    fresh = np.zeros(120, dtype=bool)
    for _ in range(3):
        loops.gains(distances, weight, first, 0, 120, true)
        found = loops.lazy_gain(distances, weight, first, bounds, fresh)
        assert_allclose(true[found], true.max())
        first = np.minimum(first, distances[found])
        bounds[found] = -np.inf
