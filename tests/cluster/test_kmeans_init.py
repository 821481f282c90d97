"""Initial centres of k-means."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from assay.cluster import KMeans
from assay.cluster.kmeans import seeding as _init
from assay.rows import rows
from assay.theory import optimal_partition, plus_plus_factor


def pool(X, weight=None):
    return _init.open_pool(rows(X, sample_weight=weight), np.random.default_rng(0))


@pytest.mark.spec("rudi/M7.3", "sangnier/KM-M3", "peyre/M4")
def test_plus_plus_draws_by_squared_distance():
    X = np.array([[0.0], [1.0], [3.0]])
    weight = np.array([2.0, 1.0, 1.0])
    rows_pool, n_draws = pool(X, weight), 4000
    pairs = np.zeros((3, 3))
    for seed in range(n_draws):
        first, second = _init.plus_plus(rows_pool, 2, np.random.default_rng(seed)).ravel()
        pairs[np.searchsorted(X[:, 0], first), np.searchsorted(X[:, 0], second)] += 1 / n_draws
    squares = weight * (X - X.T) ** 2
    expected = (weight / weight.sum())[:, np.newaxis] * squares / squares.sum(axis=1, keepdims=True)
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert np.all(np.abs(pairs - expected) <= 4 * error)


@pytest.mark.spec("rudi/M7.3", "sangnier/KM-M3")
def test_buckets_draw_like_one_cumulative_sum(monkeypatch, blobs, rng):
    monkeypatch.setattr(_init, "SMALL_ROWS", 0)
    weight = rng.uniform(size=len(blobs))
    whole = _init.plus_plus(pool(blobs, weight), 15, np.random.default_rng(4))
    monkeypatch.setattr(_init, "BUCKET_ROWS", 37)
    assert_array_equal(_init.plus_plus(pool(blobs, weight), 15, np.random.default_rng(4)), whole)


@pytest.mark.parametrize("kind", ["k-means++", "greedy-k-means++"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [True, False])
def test_one_loop_draws_what_walks_draw(monkeypatch, blobs, rng, kind, dtype, weighted):
    weight = rng.integers(0, 3, size=len(blobs)) if weighted else None
    rows_pool = pool(blobs.astype(dtype), weight)
    small = [_init.INITS[kind](rows_pool, 9, np.random.default_rng(seed)) for seed in range(5)]
    monkeypatch.setattr(_init, "SMALL_ROWS", 0)
    for seed, centers in enumerate(small):
        assert centers.dtype == dtype
        assert_array_equal(_init.INITS[kind](rows_pool, 9, np.random.default_rng(seed)), centers)


@pytest.mark.spec("rudi/T7.4", "peyre/T3")
def test_plus_plus_is_competitive_on_average(rng):
    X = np.concatenate([rng.normal(center, 0.1, size=15) for center in (0.0, 1.0, 5.0, 6.0)])[:, np.newaxis]
    best = optimal_partition(X, 4).inertia
    rows_pool, ratios = pool(X), []
    for seed in range(300):
        centers = _init.plus_plus(rows_pool, 4, np.random.default_rng(seed))
        ratios.append(((X - centers.T) ** 2).min(axis=1).sum() / best)
    assert 1 <= np.mean(ratios) + 4 * np.std(ratios) / np.sqrt(300) < plus_plus_factor(4)
    assert plus_plus_factor(4) == pytest.approx(8 * (np.log(4) + 2))
    # Where clusters are far apart, rows drawn alike miss one of them and break the bound many times over.
    far = np.concatenate([rng.normal(center, 0.1, size=15) for center in (0.0, 1e3, 2e3, 3e3)])[:, np.newaxis]
    best, rows_pool = optimal_partition(far, 4).inertia, pool(far)
    for draw, holds in ((_init.plus_plus, True), (_init.random_rows, False)):
        drawn = [draw(rows_pool, 4, np.random.default_rng(seed)) for seed in range(300)]
        ratio = np.mean([((far - centers.T) ** 2).min(axis=1).sum() for centers in drawn]) / best
        assert (ratio <= plus_plus_factor(4)) == holds
        assert holds or ratio > 1e3 * plus_plus_factor(4)


def test_greedy_draws_take_the_candidate_that_leaves_the_least(blobs):
    rows_pool, uniforms = pool(blobs), np.random.default_rng(7).random((6, 2 + int(np.log(6))))
    centers = _init.greedy_plus_plus(rows_pool, 6, np.random.default_rng(7))
    for j in range(1, 6):
        closest = ((blobs[:, np.newaxis] - centers[:j]) ** 2).sum(axis=2).min(axis=1)
        cumulative = np.cumsum(closest[rows_pool.order])
        drawn = rows_pool.order[np.searchsorted(cumulative, uniforms[j] * cumulative[-1], side="right")]
        left = [np.minimum(closest, ((blobs - blobs[i]) ** 2).sum(axis=1)).sum() for i in drawn]
        assert_array_equal(centers[j], blobs[drawn[np.argmin(left)]])


def test_greedy_draws_are_better_on_average_than_single_ones(blobs):
    def left(draw):
        values = []
        for seed in range(40):
            centers = draw(pool(blobs), 8, np.random.default_rng(seed))
            values.append(((blobs[:, np.newaxis] - centers) ** 2).sum(axis=2).min(axis=1).sum())
        return np.mean(values)

    assert left(_init.greedy_plus_plus) < left(_init.plus_plus)


def test_greedy_draws_may_be_compared_on_fewer_rows(monkeypatch, blobs, rng):
    monkeypatch.setattr(_init, "SMALL_ROWS", 0)
    weight = rng.uniform(size=len(blobs))
    monkeypatch.setattr(_init, "TRIAL_ROWS", 40)
    dense = _init.greedy_plus_plus(pool(blobs, weight), 8, np.random.default_rng(1))
    thin = _init.greedy_plus_plus(pool(sparse.csr_array(blobs), weight), 8, np.random.default_rng(1))
    assert_allclose(dense, thin)
    assert len(np.unique(dense, axis=0)) == 8


@pytest.mark.spec("peyre/M4")
def test_farthest_points_cover_the_rows(blobs):
    centers = _init.farthest(pool(blobs), 10, np.random.default_rng(0))
    for j in range(1, 10):
        closest = ((blobs[:, np.newaxis] - centers[:j]) ** 2).sum(axis=2).min(axis=1)
        assert_allclose(((centers[:j] - centers[j]) ** 2).sum(axis=1).min(), closest.max())


@pytest.mark.spec("sangnier/KM-M2", "rudi/M7.2")
def test_random_rows_are_distinct_rows():
    X = np.repeat([[0.0], [1.0], [2.0], [5.0]], [97, 1, 1, 1], axis=0)
    for seed in range(20):
        centers = _init.random_rows(pool(X), 4, np.random.default_rng(seed))
        assert_array_equal(np.sort(centers.ravel()), [0.0, 1.0, 2.0, 5.0])


@pytest.mark.parametrize("init", ["k-means++", "farthest", "random"])
def test_rows_of_weight_zero_are_never_centres(init, rng):
    X = rng.normal(size=(50, 2))
    weight = (np.arange(50) % 5 == 0).astype(float)
    for seed in range(10):
        centers = _init.INITS[init](pool(X, weight), 6, np.random.default_rng(seed))
        chosen = [int(np.flatnonzero((center == X).all(axis=1))[0]) for center in centers]
        assert len(set(chosen)) == 6
        assert np.all(weight[chosen] > 0)


def test_given_centres_and_callables(blobs):
    def first_rows(X, n_clusters, random_state):
        assert isinstance(random_state, np.random.RandomState)
        return X[:n_clusters]

    given = KMeans(5, init=blobs[:5].tolist()).fit(blobs)
    called = KMeans(5, init=first_rows, n_init=2, random_state=0).fit(blobs)
    assert_array_equal(given.cluster_centers_, called.cluster_centers_)
    assert len(called.restart_inertias_) == 2
    with pytest.warns(RuntimeWarning, match="one run from given centres: n_init=4"):
        assert len(KMeans(5, init=blobs[:5], n_init=4).fit(blobs).restart_inertias_) == 1


@pytest.mark.parametrize("init", ["k-means++", "farthest", "random"])
def test_same_seed_same_fit(blobs, init):
    a, b = (KMeans(6, init=init, n_init=2, random_state=11).fit(blobs) for _ in range(2))
    assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    assert_array_equal(a.restart_inertias_, b.restart_inertias_)
