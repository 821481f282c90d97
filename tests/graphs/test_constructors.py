"""Graphs of rows: each constructor is its definition, on any distance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from assay.graphs import (
    as_weights,
    connected_components,
    epsilon_graph,
    gaussian_graph,
    is_connected,
    nearest_neighbors_graph,
    similarity_graph,
    suggest_epsilon,
    suggest_knn,
    suggest_sigma,
)

METRICS = {
    "euclidean": lambda x, z: np.sqrt(((x - z) ** 2).sum()),
    "manhattan": lambda x, z: np.abs(x - z).sum(),
    "chebyshev": lambda x, z: np.abs(x - z).max(),
}


@pytest.fixture
def X():
    return np.random.default_rng(3).normal(size=(60, 3))


def every_way(X, metric):
    """The same distance by name, as a function and as a matrix."""
    D = np.array([[METRICS[metric](x, z) for z in X] for x in X])
    return D, [(X, metric), (X, METRICS[metric]), (D, "precomputed")]


def neighbors(D, k):
    """Whether ℓ is one of the k nearest other rows of i."""
    away = D + np.where(np.eye(len(D), dtype=bool), np.inf, 0.0)
    return away <= np.sort(away, axis=1)[:, [k - 1]]


@pytest.mark.spec("sangnier/SG-M4", "sangnier/SG-P5")
@pytest.mark.parametrize("metric", METRICS)
def test_the_epsilon_graph_joins_rows_within_epsilon(X, metric):
    D, ways = every_way(X, metric)
    for data, way in ways:
        W = epsilon_graph(data, 1.3, metric=way)
        assert sparse.issparse(W)
        assert_array_equal(W.toarray(), D <= 1.3)
        assert_array_equal(epsilon_graph(data, 1.3, metric=way, loops=False).diagonal(), 0.0)


@pytest.mark.spec("sangnier/SG-M5", "sangnier/SG-M6", "sangnier/SG-P5")
@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_are_joined_by_either_or_by_both(X, metric):
    D, ways = every_way(X, metric)
    near = neighbors(D, 5)
    assert_array_equal(near.sum(axis=1), 5)  # five other rows, the row itself not counted
    for data, way in ways:
        either = nearest_neighbors_graph(data, 5, metric=way, loops=False)
        both = nearest_neighbors_graph(data, 5, mutual=True, metric=way, loops=False)
        assert_array_equal(either.toarray(), near | near.T)
        assert_array_equal(both.toarray(), near & near.T)
        assert_array_equal(nearest_neighbors_graph(data, 5, metric=way).diagonal(), 1.0)


@pytest.mark.spec("sangnier/SG-M7", "sangnier/SG-P5")
@pytest.mark.parametrize("metric", METRICS)
def test_the_gaussian_graph_joins_all_rows_or_those_above_a_threshold(X, metric):
    D, ways = every_way(X, metric)
    expected = np.exp(-(D**2) / (2 * 0.8**2))
    for data, way in ways:
        before = data.copy()
        assert_allclose(gaussian_graph(data, 0.8, metric=way), expected, rtol=1e-12)
        thin = gaussian_graph(data, 0.8, threshold=0.3, metric=way)
        assert sparse.issparse(thin)
        assert_allclose(thin.toarray(), np.where(expected > 0.3, expected, 0.0), rtol=1e-12)
        assert_array_equal(data, before)
    assert_array_equal(gaussian_graph(X, 0.8, loops=False).diagonal(), 0.0)


@pytest.mark.spec("sangnier/SG-M7")
def test_neighbours_may_carry_gaussian_weights(X):
    D = cdist(X, X)
    near = neighbors(D, 5)
    W = nearest_neighbors_graph(X, 5, weight="gaussian", sigma=0.8)
    assert_allclose(
        W.toarray(), np.where(near | near.T, np.exp(-(D**2) / (2 * 0.8**2)), np.eye(60)), rtol=1e-10
    )
    automatic = nearest_neighbors_graph(X, 5, weight="gaussian")
    sigma = np.sort(D, axis=1)[:, 4].mean()  # ln 60 is 4.1
    assert_allclose(automatic.max(axis=0).toarray().ravel(), 1.0)
    i, j = 0, int(np.argsort(D[0])[1])
    assert_allclose(automatic[i, j], np.exp(-(D[i, j] ** 2) / (2 * sigma**2)))


@pytest.mark.spec("sangnier/SG-M7")
def test_any_similarity_is_taken_and_one_that_is_none_is_refused(X):
    W = similarity_graph(X, lambda x, z: 1 / (1 + np.abs(x - z).sum()))
    assert_allclose(W, 1 / (1 + cdist(X, X, "cityblock")))
    assert np.count_nonzero(similarity_graph(X, lambda x, z: 1.0, threshold=1.0)) == 0
    with pytest.raises(ValueError, match="symmetric"):
        similarity_graph(X, lambda x, z: np.exp(x[0] - z[0]))
    with pytest.raises(ValueError, match="at least 0"):
        similarity_graph(X, lambda x, z: float(x @ z))
    with pytest.raises(ValueError, match="positive at equal rows"):
        similarity_graph(X, lambda x, z: float(np.abs(x - z).sum()))


@pytest.mark.spec("sangnier/SG-M17")
def test_suggested_epsilon_is_the_least_that_connects(X):
    for data, metric in every_way(X, "manhattan")[1]:
        eps = suggest_epsilon(data, metric=metric)
        assert is_connected(epsilon_graph(data, eps * (1 + 1e-12), metric=metric))
        assert not is_connected(epsilon_graph(data, eps * (1 - 1e-9), metric=metric))
    eps = suggest_epsilon(X)
    assert is_connected(epsilon_graph(X, eps * (1 + 1e-12)))
    assert not is_connected(epsilon_graph(X, eps * (1 - 1e-9)))
    with_outlier = np.vstack([X, [[50.0, 0.0, 0.0]]])
    assert suggest_epsilon(with_outlier) > 20 * eps  # one outlier spoils it


@pytest.mark.spec("sangnier/SG-M17")
def test_suggested_neighbours_start_at_the_logarithm_and_grow_until_connected(rng):
    X = rng.normal(size=(300, 2))
    assert suggest_knn(X) == 6  # ⌈ln 300⌉, connected at once
    assert suggest_knn(X, mutual=True) >= 12
    # On a ring two neighbours are enough: the numbers that the search starts from are seen.
    angle = 2 * np.pi * np.arange(300) / 300
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    assert (suggest_knn(ring), suggest_knn(ring, mutual=True)) == (6, 12)
    apart = np.vstack([X[:40], X[:40] + 100.0])
    assert suggest_knn(apart, n_components=2) == 5
    k = suggest_knn(apart)
    assert k == 55  # 5, 8, 13, 21, 34, 55 by a factor of 1.6: the first from which both halves are linked
    assert is_connected(nearest_neighbors_graph(apart, k))
    assert (
        connected_components(nearest_neighbors_graph(apart, 39))[0] == 2
    )  # it takes a neighbour from outside


@pytest.mark.spec("sangnier/SG-M17")
def test_suggested_sigma_is_the_mean_distance_to_the_neighbour_of_rank_log_n(X):
    D = cdist(X, X)
    assert_allclose(suggest_sigma(X), np.sort(D, axis=1)[:, 4].mean())
    assert_allclose(suggest_sigma(D, metric="precomputed"), suggest_sigma(X))
    assert suggest_sigma(np.ones((5, 2))) == 1.0  # nothing to measure


@pytest.mark.spec("sangnier/SG-P1")
def test_neighbours_bridge_scales_that_no_epsilon_fits(rng):
    tight, loose = 0.05 * rng.normal(size=(100, 2)), [4.0, 0.0] + rng.normal(size=(100, 2))
    X = np.vstack([tight, loose])
    side = np.arange(200) >= 100

    def links(W):
        W = W.toarray()
        return W[np.ix_(side, side)].sum(axis=1).min(), W[np.ix_(~side, side)].sum()

    # Two tight clusters close to one another and a loose one far away: the components of the neighbours are
    # the clusters, those of no ε are. What leaves the loose one whole joins the two tight ones.
    scales = np.vstack([tight[:60], [0.6, 0.0] + tight[60:], [30.0, 0.0] + 2 * loose[:60]])
    truth = np.repeat([0, 1, 2], [60, 40, 60])
    count, components = connected_components(nearest_neighbors_graph(scales, 8))
    assert count == 3
    assert_array_equal(components, truth)
    lengths = np.unique(cdist(scales, scales))
    for eps in np.geomspace(lengths[1], lengths[-1], 60):
        components = connected_components(epsilon_graph(scales, eps))[1]
        assert len({*zip(components.tolist(), truth.tolist(), strict=True)}) > 3 or components.max() < 2
    small = epsilon_graph(X, 0.15)
    assert connected_components(small)[0] > 50
    assert connected_components(nearest_neighbors_graph(X, 12))[0] <= 2
    bridge = np.vstack([tight, [1.0, 0.0] + 0.8 * rng.normal(size=(100, 2))])
    assert links(nearest_neighbors_graph(bridge, 12))[1] > 10  # dense and sparse regions are linked
    assert (
        links(nearest_neighbors_graph(bridge, 12, mutual=True))[1]
        < 0.25 * links(nearest_neighbors_graph(bridge, 12))[1]
    )


@pytest.mark.spec("sangnier/SG-M3")
@pytest.mark.parametrize(
    ("W", "words"),
    [
        (np.ones((2, 3)), "square"),
        ([[0.0, 1.0], [2.0, 0.0]], "symmetric"),
        ([[0.0, -1.0], [-1.0, 0.0]], "at least 0"),
        ([[0.0, np.nan], [np.nan, 0.0]], "NaN"),
        (np.empty((0, 0)), "square"),
    ],
)
def test_what_is_no_graph_is_refused_in_one_sentence(W, words):
    for given in (W, sparse.csr_matrix(np.atleast_2d(W))):
        with pytest.raises(ValueError, match=words) as refusal:
            as_weights(given)
        assert "\n" not in str(refusal.value)


def test_bad_parameters_of_constructors_are_refused(X):
    for call, name in (
        (lambda: epsilon_graph(X, 0.0), "eps"),
        (lambda: epsilon_graph(X, np.inf), "eps"),
        (lambda: nearest_neighbors_graph(X, 60), "n_neighbors"),
        (lambda: nearest_neighbors_graph(X, 0), "n_neighbors"),
        (lambda: nearest_neighbors_graph(X, 3, weight="cubic"), "weight"),
        (lambda: gaussian_graph(X, 0.0), "sigma"),
        (lambda: gaussian_graph(X, 1.0, threshold=1.0), "threshold"),
    ):
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            call()
