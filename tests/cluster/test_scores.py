"""Scores of a partition alone: inertias, Calinski–Harabasz, Davies–Bouldin."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import metrics
from sklearn.datasets import make_blobs

from assay.cluster import KMeans, between_inertia, calinski_harabasz, davies_bouldin, within_inertia
from assay.rows import threads

SCORES = [within_inertia, between_inertia, calinski_harabasz, davies_bouldin]


@pytest.fixture(scope="module")
def table():
    return make_blobs(3000, 6, centers=7, cluster_std=3.0, random_state=3)


def written_out(X, labels):
    """Within and between inertia, cluster by cluster."""
    centers = {k: X[labels == k].mean(axis=0) for k in set(labels)}
    within = sum(((X[labels == k] - m) ** 2).sum() for k, m in centers.items())
    between = sum((labels == k).sum() * ((m - X.mean(axis=0)) ** 2).sum() for k, m in centers.items())
    return within, between


@pytest.mark.spec("sangnier/EV-M4")
def test_calinski_harabasz_is_its_formula(table):
    X, labels = table
    n, k = len(X), 7
    within, between = written_out(X, labels)
    b, w = between / n, within / n
    assert_allclose(calinski_harabasz(X, labels), (n - k) / (k - 1) * b / w, rtol=1e-12)
    assert_allclose(calinski_harabasz(X, labels), metrics.calinski_harabasz_score(X, labels), rtol=1e-12)


@pytest.mark.spec("sangnier/EV-T2")
def test_within_and_between_add_up_and_both_scores_read_their_share(table):
    X, labels = table
    total = ((X - X.mean(axis=0)) ** 2).sum()
    within, between = within_inertia(X, labels), between_inertia(X, labels)
    assert_allclose([within, between], written_out(X, labels), rtol=1e-12)
    assert_allclose(within + between, total, rtol=1e-12)
    share = between / total
    n, k = len(X), 7
    assert_allclose(within, (1 - share) * total, rtol=1e-12)
    assert_allclose(calinski_harabasz(X, labels), (n - k) / (k - 1) * share / (1 - share), rtol=1e-10)


def test_davies_bouldin_is_that_of_scikit_learn(table):
    X, labels = table
    assert_allclose(davies_bouldin(X, labels), metrics.davies_bouldin_score(X, labels), rtol=1e-12)


def test_within_inertia_is_that_of_k_means(table):
    X, _ = table
    model = KMeans(5, random_state=0, tol=0).fit(X)
    assert_allclose(within_inertia(X, model.labels_), model.inertia_, rtol=1e-10)


@pytest.mark.parametrize("score", SCORES)
def test_weights_are_repetitions(table, score):
    X, labels = table
    weight = np.random.default_rng(0).integers(0, 3, size=len(X))
    weight[labels == 2] = 0
    assert_allclose(
        score(X, labels, sample_weight=weight),
        score(np.repeat(X, weight, axis=0), np.repeat(labels, weight)),
        rtol=1e-10,
    )


@pytest.mark.parametrize("score", SCORES)
def test_rows_on_disk_on_a_cluster_and_in_csr_give_the_same(table, score, tmp_path):
    X, labels = table
    expected = score(X, labels)
    np.save(tmp_path / "rows.npy", X)
    assert_allclose(score(tmp_path / "rows.npy", labels), expected, rtol=1e-12)
    assert_allclose(score(da.from_array(X, chunks=(700, 6)), labels), expected, rtol=1e-12)
    lazy = da.from_array(labels, chunks=700)
    assert_allclose(score(da.from_array(X, chunks=(700, 6)), lazy), expected, rtol=1e-12)
    assert_allclose(score(sparse.csr_matrix(X), labels), expected, rtol=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_noise_is_left_out(table, score):
    X, labels = table
    noisy = np.where(np.arange(len(X)) % 4 == 0, -1, labels)
    kept = noisy != -1
    assert_allclose(score(X, noisy), score(X[kept], labels[kept]), rtol=1e-10)


@pytest.mark.parametrize("score", SCORES)
def test_threads_change_nothing(score):
    X = np.random.default_rng(0).normal(size=(150_000, 3))
    labels = np.arange(150_000) % 4
    with threads(1):
        one = score(X, labels)
    with threads(3):
        assert score(X, labels) == one


@pytest.mark.parametrize("score", SCORES)
def test_far_from_the_origin_no_digit_is_lost(table, score):
    X, labels = table
    X = np.round(X * 2**10) / 2**10
    assert_allclose(score(X + 1e8, labels), score(X, labels), rtol=1e-7)


def test_clusters_much_farther_apart_than_wide_keep_their_inertia():
    rng = np.random.default_rng(0)
    near = rng.normal(size=(90, 4))
    labels = np.repeat(np.arange(3), 30)
    far = near + 1e6 * labels[:, np.newaxis]
    assert_allclose(within_inertia(far, labels), written_out(near, labels)[0], rtol=1e-8)


def test_labels_of_any_kind(table):
    X, labels = table
    names = np.array(["north", "south", "east", "west", "up", "down", "here"])[labels]
    assert_allclose(calinski_harabasz(X, names), calinski_harabasz(X, labels))
    assert_allclose(calinski_harabasz(X, labels * 10**6), calinski_harabasz(X, labels))
    assert_allclose(calinski_harabasz(X.tolist(), labels.tolist()), calinski_harabasz(X, labels))


def test_degenerate_partitions_have_their_limits():
    X = np.array([[0.0], [0.0], [5.0], [5.0]])
    labels = [0, 0, 1, 1]
    assert within_inertia(X, labels) == 0.0
    assert calinski_harabasz(X, labels) == np.inf
    assert davies_bouldin(X, labels) == 0.0
    assert davies_bouldin([[-1.0], [1.0], [-2.0], [2.0]], labels) == np.inf
    assert within_inertia([[3.0, 4.0]], [0]) == 0.0


@pytest.mark.parametrize("score", [calinski_harabasz, davies_bouldin])
def test_one_cluster_is_refused(score):
    with pytest.raises(ValueError, match=r"at least 2 clusters\. Got 1 cluster"):
        score(np.eye(4), [0, 0, 0, 0])
    with pytest.raises(ValueError, match=r"at least 2 clusters with rows of weight above 0\. Got 1"):
        score(np.eye(4), [0, 0, 1, 1], sample_weight=[1.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize("score", SCORES)
def test_bad_input_gets_a_sentence(score):
    X = np.eye(4)
    with pytest.raises(ValueError, match="4 rows but labels has 3"):
        score(X, [0, 1, 1])
    with pytest.raises(ValueError, match="4 rows of noise"):
        score(X, [-1, -1, -1, -1])
    with pytest.raises(ValueError, match="NaN"):
        score([[np.nan], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="one-dimensional array of labels"):
        score(X, np.zeros((4, 1)))
    with pytest.raises(ValueError, match="sample_weight"):
        score(X, [0, 0, 1, 1], sample_weight=[1.0, 2.0])


def test_calinski_harabasz_refuses_what_it_cannot_compare():
    with pytest.raises(ValueError, match=r"fewer clusters than rows \(4\)"):
        calinski_harabasz(np.eye(4), [0, 1, 2, 3])
    with pytest.raises(ValueError, match="all equal"):
        calinski_harabasz(np.ones((4, 2)), [0, 0, 1, 1])
