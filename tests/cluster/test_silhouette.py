"""Silhouettes: against their definition, by every way distances are made, and on bad input."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples, silhouette_score

from assay.cluster import KMeans, Silhouette, calinski_harabasz, compare_partitions, silhouette
from assay.cluster.scores import silhouette as module
from assay.cluster.scores.silhouette import add_by_cluster, fill_squares
from assay.datasets import Rings
from assay.rows import threads


def by_definition(distances, labels):
    """a_i, b_i and s_i written out."""
    values = np.zeros(len(labels))
    for i, own in enumerate(labels):
        mates = (labels == own) & (np.arange(len(labels)) != i)
        if not mates.any():
            continue
        a = distances[i, mates].mean()
        b = min(distances[i, labels == other].mean() for other in set(labels) - {own})
        values[i] = (b - a) / max(a, b)
    return values


@pytest.fixture(scope="module", params=[2, 6, 20])
def table(request):
    X, labels = make_blobs(400, request.param, centers=6, cluster_std=4.0, random_state=request.param)
    return X, labels


@pytest.mark.spec("sangnier/EV-M3")
def test_values_are_the_definition(table):
    X, labels = table
    found = silhouette(X, labels)
    expected = by_definition(cdist(X, X), labels)
    assert_allclose(found.values, expected, atol=1e-12)
    assert_allclose(found.mean, expected.mean(), atol=1e-12)
    assert_allclose(found.cluster_means, [expected[labels == k].mean() for k in range(6)], atol=1e-12)
    assert_array_equal(found.cluster_weights, np.bincount(labels))
    assert found.n_misplaced == (expected < 0).sum()
    means = np.array([cdist(X, X[labels == k]).mean(axis=1) for k in range(6)]).T
    means[np.arange(400), labels] = np.inf
    assert_array_equal(found.neighbors, means.argmin(axis=1))


def test_values_are_those_of_scikit_learn(table):
    X, labels = table
    assert_allclose(silhouette(X, labels).values, silhouette_samples(X, labels), atol=1e-12)
    assert silhouette(X, labels).mean == pytest.approx(silhouette_score(X, labels), abs=1e-12)


def test_many_clusters_walk_every_pair_twice_and_give_the_same(table):
    X, _ = table
    labels = np.random.default_rng(0).integers(0, 3 * module.FEW_CLUSTERS, size=len(X))
    assert_allclose(silhouette(X, labels).values, silhouette_samples(X, labels), atol=1e-12)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine", "sqeuclidean", "l2"])
def test_any_metric(table, metric):
    X, labels = table
    assert_allclose(
        silhouette(X, labels, metric=metric).values,
        silhouette_samples(X, labels, metric="euclidean" if metric == "l2" else metric),
        atol=1e-12,
    )


def test_precomputed_and_callable_distances(table):
    X, labels = table
    expected = silhouette(X[:90], labels[:90]).values
    given = silhouette(cdist(X[:90], X[:90]), labels[:90], metric="precomputed").values
    assert_allclose(given, expected, atol=1e-12)
    called = silhouette(X[:90], labels[:90], metric=lambda x, z: float(np.sqrt(((x - z) ** 2).sum())))
    assert_allclose(called.values, expected, atol=1e-12)


def test_sparse_rows_are_the_same_rows(table):
    X, labels = table
    X = np.where(np.abs(X) > 3, X, 0.0)
    assert_allclose(silhouette(sparse.csr_matrix(X), labels).values, silhouette(X, labels).values, atol=1e-9)


def test_weights_are_repetitions(table):
    X, labels = table
    weight = np.random.default_rng(1).integers(0, 4, size=len(X))
    found = silhouette(X, labels, sample_weight=weight)
    repeated = silhouette(np.repeat(X, weight, axis=0), np.repeat(labels, weight))
    assert_allclose(np.repeat(found.values, weight), repeated.values, atol=1e-12)
    assert_allclose(found.mean, repeated.mean)
    assert_allclose(found.cluster_means, repeated.cluster_means)
    assert np.isnan(found.values[weight == 0]).all()
    assert found.n_left_out == (weight == 0).sum()


@pytest.mark.spec("sangnier/EV-M3")
def test_a_row_alone_in_its_cluster_has_value_zero(table):
    X, labels = table
    alone = labels.copy()
    alone[0] = 99
    found = silhouette(X, alone)
    assert found.values[0] == 0.0
    assert_allclose(found.values, silhouette_samples(X, alone), atol=1e-12)
    assert silhouette(X[:5], range(5)).mean == 0.0


@pytest.mark.spec("sangnier/EV-P1")
def test_noise_is_left_out_as_if_it_were_not_there(table):
    X, labels = table
    noisy = np.where(np.arange(len(X)) % 5 == 0, -1, labels)
    found = silhouette(X, noisy)
    kept = noisy != -1
    assert_allclose(found.values[kept], silhouette(X[kept], labels[kept]).values, atol=1e-12)
    assert np.isnan(found.values[~kept]).all()
    assert found.n_left_out == (~kept).sum()
    assert "rows left out" in repr(found)


@pytest.mark.spec("sangnier/EV-P1")
def test_silhouette_and_calinski_prefer_convex_clusters_to_the_true_rings():
    X, classes = Rings(radii=(1.0, 4.0), noise_std=0.15).sample(400, random_state=0)
    rings = (classes > 0).astype(int)  # a label of −1 would be noise
    halves = KMeans(2, n_init=5, random_state=0).fit(X).labels_
    assert compare_partitions(rings, rings).adjusted_rand == 1.0
    assert compare_partitions(rings, halves).adjusted_rand < 0.1
    assert silhouette(X, halves).mean > silhouette(X, rings).mean + 0.1
    assert calinski_harabasz(X, halves) > 10 * calinski_harabasz(X, rings)


@pytest.mark.spec("sangnier/EV-M3")
def test_a_wrong_number_of_clusters_shows_narrow_silhouettes():
    X, _ = make_blobs(400, 2, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], cluster_std=0.9, random_state=0)
    four = silhouette(X, KMeans(4, n_init=5, random_state=0).fit(X).labels_)
    six = silhouette(X, KMeans(6, n_init=5, random_state=0).fit(X).labels_)
    assert four.below_average.size == 0
    for seed in range(5):
        labels = KMeans(6, init="random", n_init=1, random_state=seed).fit(X).labels_
        values = by_definition(cdist(X, X), labels)
        low = [k for k in range(6) if values[labels == k].max() < values.mean()]
        assert_array_equal(silhouette(X, labels).below_average, low)
    assert np.ptp(four.cluster_means) < 0.05
    assert np.ptp(six.cluster_means) > 0.25
    assert four.mean > six.mean


def test_values_do_not_depend_on_threads_nor_order(table):
    X, labels = table
    with threads(1):
        one = silhouette(X, labels)
    with threads(3):
        three = silhouette(X, labels)
    assert_array_equal(one.values, three.values)
    order = np.random.default_rng(0).permutation(len(X))
    assert_allclose(silhouette(X[order], labels[order]).values, one.values[order], atol=1e-12)


@pytest.mark.parametrize("n_features", [3, 20])
def test_far_from_the_origin_no_digit_is_lost(n_features):
    X, labels = make_blobs(300, n_features, centers=3, cluster_std=3.0, random_state=0)
    X = np.round(X * 2**10) / 2**10  # exact after the shift
    assert_allclose(silhouette(X + 1e8, labels).values, silhouette(X, labels).values, atol=1e-7)


@pytest.mark.parametrize("n_features", [3, 20])
def test_clusters_much_farther_apart_than_wide(n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, n_features)) + 1e7 * np.repeat(np.arange(3), 40)[:, np.newaxis]
    labels = np.repeat(np.arange(3), 40)
    distances = np.sqrt(((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    assert_allclose(silhouette(X, labels).values, by_definition(distances, labels), rtol=1e-13)


def test_float32_rows_are_near_those_of_float64(table):
    X, labels = table
    found = silhouette(X.astype(np.float32), labels)
    assert_allclose(found.values, silhouette(X, labels).values, atol=2e-5)


def test_duplicated_rows_and_constant_columns():
    X = np.repeat([[0.0, 1.0], [5.0, 1.0]], 10, axis=0)
    labels = np.repeat([0, 1], 10)
    assert_array_equal(silhouette(X, labels).values, 1.0)
    everything = silhouette(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    assert_array_equal(everything.values, 0.0)


def test_labels_of_any_kind():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    words = silhouette(X, ["b", "b", "a", "a"])
    assert list(words.clusters) == ["a", "b"]
    assert_array_equal(words.labels, [1, 1, 0, 0])
    assert_allclose(silhouette(X, [7, 7, 1000, 1000]).values, words.values)
    frame = words.to_frame()
    assert list(frame["cluster"]) == ["a", "b"]
    assert_allclose(frame["mean"], words.cluster_means)
    assert isinstance(words, Silhouette)


@pytest.mark.parametrize(
    ("X", "labels", "message"),
    [
        (np.eye(4), [0, 0, 0, 0], r"at least 2 clusters\. Got 1 cluster instead"),
        (np.eye(4), [-1] * 4, r"at least 2 clusters\. Got 0 clusters and 4 rows of noise"),
        (np.eye(4), [0, 1, 1], "X has 4 rows but labels has 3"),
        (np.eye(4), [[0, 1, 1, 0]], "one-dimensional array of labels"),
        (np.eye(4), [0.0, 1.0, np.nan, 1.0], "NaN"),
        (np.eye(4), [0, 1, None, 1], "missing"),
        (np.array([[np.nan], [1.0]]), [0, 1], "NaN"),
        (np.array([[np.inf], [1.0]]), [0, 1], "infinity"),
        (np.empty((0, 2)), [], "0 sample"),
        ("rows.npy", [0, 1], "all pairs"),
    ],
)
def test_bad_input_gets_a_sentence(X, labels, message):
    with pytest.raises(ValueError, match=message):
        silhouette(X, labels)


def test_bad_metrics_and_matrices_get_a_sentence():
    with pytest.raises(ValueError, match="'metric' parameter of silhouette"):
        silhouette(np.eye(3), [0, 1, 1], metric="unheard")
    with pytest.raises(ValueError, match="square"):
        silhouette(np.ones((3, 2)), [0, 1, 1], metric="precomputed")
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        silhouette(-np.ones((3, 3)), [0, 1, 1], metric="precomputed")
    with pytest.raises(ValueError, match="symmetric"):
        silhouette(np.triu(np.ones((3, 3)), 1), [0, 1, 1], metric="precomputed")
    with pytest.raises(ValueError, match="sample_weight"):
        silhouette(np.eye(3), [0, 1, 1], sample_weight=[1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="1 cluster"):
        silhouette(np.eye(3), [0, 1, 1], sample_weight=[0.0, 1.0, 1.0])


def test_loops_are_their_numpy_twins():
    rng = np.random.default_rng(0)
    for n_features in (1, 3, 4, 6, 9):
        X, Z = rng.normal(size=(5, n_features)), rng.normal(size=(11, n_features))
        tile = np.empty((5, 11))
        fill_squares(X, np.ascontiguousarray(Z.T), tile)
        assert_allclose(tile, cdist(X, Z, "sqeuclidean"))
    weight, row_weight = rng.random(20), rng.random(5)
    bounds, codes = np.array([0, 2, 9, 20]), np.repeat([0, 1, 2], [2, 7, 11])
    squares = rng.random((5, 12))
    sums, columns = np.zeros((5, 3)), np.zeros(12)
    add_by_cluster(squares.copy(), True, row_weight, weight, 5, bounds, sums, columns)
    roots = np.sqrt(squares)
    expected = np.array([(roots * weight[5:17] * (codes[5:17] == c)).sum(axis=1) for c in range(3)]).T
    assert_allclose(sums, expected)
    assert_allclose(columns, row_weight @ roots)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("filled", [1.0, 0.3])
def test_sparse_rows_far_from_zero_keep_their_digits(metric, filled):
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, size=150)
    X = random.normal(size=(150, 6)) + labels[:, np.newaxis]
    X[:, 2:] *= random.uniform(size=(150, 4)) < filled
    exact = silhouette(X, labels, metric=metric)
    far = X + 1e5 * (np.arange(6) < (6 if filled == 1.0 else 2))
    near = silhouette(sparse.csr_array(far), labels, metric=metric)
    assert_allclose(near.values, exact.values, atol=1e-9)
    assert_allclose(near.values, silhouette(far, labels, metric=metric).values, atol=1e-9)
