"""Spherical k-means: directions, rows of zeros, and a bound on the sum of cosines."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from assay.cluster import SphericalKMeans
from assay.cluster.quantizer.spherical import unit_rows


@pytest.fixture(scope="module")
def bundle():
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 4, 400)
    axes = np.linalg.qr(rng.normal(size=(6, 6)))[0][:4]
    directions = axes[truth] + 0.15 * rng.normal(size=(400, 6))
    return directions * rng.exponential(size=(400, 1)) * 10, truth


def plain(X, centers):
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    trace = []
    for _ in range(200):
        cosines = units @ centers.T
        labels = cosines.argmax(axis=1)
        trace.append((1 - cosines.max(axis=1)).sum())
        sums = np.array([units[labels == k].sum(axis=0) for k in range(len(centers))])
        new = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        if np.abs(new - centers).max() < 1e-15:
            break
        centers = new
    return centers, labels, np.array(trace)


@pytest.mark.spec("sangnier/KM-M1", "sangnier/KM-T2")
def test_iteration_is_mean_directions_and_largest_cosines(bundle):
    X, _ = bundle
    start = unit_rows(X[[0, 1, 2, 5]])[0]
    centers, labels, trace = plain(X, start)
    model = SphericalKMeans(4, init=start, tol=0.0).fit(X)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    assert_allclose(model.inertia_trace_, trace[: len(model.inertia_trace_)], rtol=1e-10)
    assert np.all(np.diff(model.inertia_trace_) <= 1e-12)
    assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0)


def test_lengths_do_not_matter(bundle):
    X, truth = bundle
    model = SphericalKMeans(4, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    other = SphericalKMeans(4, random_state=0).fit(X * np.linspace(1e-3, 1e3, 400)[:, np.newaxis])
    assert_array_equal(model.labels_, other.labels_)


def test_the_sum_of_cosines_stays_below_its_bound(bundle):
    X, _ = bundle
    proof = SphericalKMeans(4, random_state=0).fit(X).certify(X)
    bound = proof.named("sum of cosines")
    assert proof.holds
    assert not bound.vacuous
    units = unit_rows(X)[0]
    for seed in range(20):  # any partition, however good, stays below
        labels = np.random.default_rng(seed).integers(0, 4, len(X))
        cosines = sum(np.linalg.norm(units[labels == k].sum(axis=0)) for k in range(4))
        assert cosines <= bound.bound
    # Rows along 4 orthogonal axes reach it.
    axes = np.repeat(np.eye(5)[:4], 10, axis=0)
    tight = SphericalKMeans(4, random_state=0).fit(axes).certify(axes).named("sum of cosines")
    assert_allclose(tight.value, tight.bound)


def test_sparse_rows_give_the_clusters_of_dense_ones(bundle):
    X, _ = bundle
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    X = X[X.any(axis=1)]
    dense, thin = (SphericalKMeans(4, random_state=0).fit(kind) for kind in (X, sparse.csr_array(X)))
    assert_array_equal(dense.labels_, thin.labels_)
    assert_allclose(dense.cluster_centers_, thin.cluster_centers_, atol=1e-12)
    assert thin.certify(sparse.csr_array(X)).holds


def test_rows_of_zeros_belong_to_no_cluster(bundle, caplog):
    X, _ = bundle
    with caplog.at_level(logging.WARNING, "assay"):
        model = SphericalKMeans(4, init=X[:4]).fit(np.vstack([X, np.zeros((3, 6))]))
    assert "3 rows of SphericalKMeans are zero" in caplog.text
    assert model.n_zero_rows_ == 3
    assert_array_equal(model.labels_[-3:], -1)
    without = SphericalKMeans(4, init=X[:4]).fit(X)
    assert without.n_zero_rows_ == 0
    assert_allclose(model.cluster_centers_, without.cluster_centers_)
    assert_allclose(model.inertia_, without.inertia_)
    assert_array_equal(model.predict(np.zeros((1, 6))), [-1])
    assert model.certify(np.vstack([X, np.zeros((3, 6))])).holds


def test_bad_input_is_refused_or_said(bundle):
    X, _ = bundle
    with pytest.raises(ValueError, match="rows that are not zero"):
        SphericalKMeans(1).fit(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="'init' parameter of SphericalKMeans must be directions"):
        SphericalKMeans(2, init=np.zeros((2, 6))).fit(X)
    with pytest.raises(ValueError, match="'n_clusters' parameter of SphericalKMeans must be at most"):
        SphericalKMeans(5).fit(X[:3])
    with pytest.raises(ValueError, match="NaN"):
        SphericalKMeans(2).fit([[np.nan, 1.0], [1.0, 2.0], [0.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match="Only 1 of the 2 clusters"):
        SphericalKMeans(2, random_state=0).fit(np.outer([1.0, 2.0, 5.0], [1.0, 1.0]))


def test_huge_and_tiny_rows_have_a_direction():
    X = np.array([[1e200, 0.0], [2e-200, 1e-220], [0.0, 3e180], [0.0, 1e-190]])
    model = SphericalKMeans(2, random_state=0).fit(X)
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_rows_of_the_smallest_numbers_have_a_direction(init, kind):
    steps = np.random.default_rng(0).integers(-900, 900, size=(60, 4)).astype(float)
    tiny = kind(steps * 5e-324)  # the inverse of a length is no number
    plain, model = (SphericalKMeans(3, init=init, random_state=0).fit(X) for X in (kind(steps), tiny))
    assert_array_equal(model.labels_, plain.labels_)
    assert_allclose(model.cluster_centers_, plain.cluster_centers_, rtol=1e-12)
    assert model.certify(tiny).holds


def test_certificates_see_a_centre_beside_the_mean_direction(bundle):
    X, _ = bundle
    model = SphericalKMeans(4, random_state=0).fit(X)
    model.cluster_centers_[0] = unit_rows((model.cluster_centers_[0] + 0.05)[np.newaxis])[0][0]
    assert not model.certify(X).named("gain of the next centres").holds
    model.cluster_centers_ *= 2.0
    assert not model.certify(X).named("largest error of a length").holds
