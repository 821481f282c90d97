"""k-medians in the Euclidean norm: geometric medians, and the proof that they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import KGeometricMedian, KMedian


@pytest.fixture(scope="module")
def points():
    return make_blobs(400, 3, centers=4, cluster_std=2.0, random_state=6)[0]


def cost(X, center, weight=1.0):
    return float((weight * np.sqrt(((X - center) ** 2).sum(axis=1))).sum())


@pytest.mark.spec("sangnier/KM-M5", "sangnier/KM-T2")
def test_centres_are_the_minimisers_that_scipy_finds(points):
    model = KGeometricMedian(4, tol=1e-9, random_state=0).fit(points)
    for k, center in enumerate(model.cluster_centers_):
        members = points[model.labels_ == k]
        other = minimize(lambda c, X=members: cost(X, c), members.mean(axis=0), tol=1e-12)
        assert_allclose(center, other.x, atol=1e-4)
        assert cost(members, center) <= other.fun + 1e-9
    assert np.all(np.diff(model.inertia_trace_) <= 1e-9)
    assert_allclose(model.inertia_, np.linalg.norm(points - model.quantize(points), axis=1).sum())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 12), st.integers(1, 4))
def test_a_single_cluster_is_its_geometric_median(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    weight = rng.integers(1, 4, n).astype(float)
    model = KGeometricMedian(1, max_iter=3000, tol=1e-5, init=X.mean(axis=0)[np.newaxis])
    model.fit(X, sample_weight=weight)
    here = cost(X, model.cluster_centers_[0], weight)
    assert here <= min(cost(X, row, weight) for row in X) + 1e-9
    rival = minimize(lambda c: cost(X, c, weight), X.mean(axis=0), method="Nelder-Mead", tol=1e-10)
    assert here <= rival.fun * (1 + 1e-4) + 1e-9
    # The proof: no point is better than (1 − gap) times the cost.
    assert rival.fun >= here * (1.0 - model.dual_gap_) - 1e-9


def test_a_row_that_outweighs_the_others_is_the_median_and_is_reached_exactly():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    weight = np.array([4.0, 1.0, 1.0, 1.0])
    model = KGeometricMedian(1, init=[[1.0, 1.0]]).fit(X, sample_weight=weight)
    assert_array_equal(model.cluster_centers_, [[0.0, 0.0]])
    assert model.optimality_ == 0.0
    # The corner that sees the others at more than 120 degrees is Fermat's point of a triangle.
    triangle = np.array([[0.0, 0.0], [10.0, 1.0], [-10.0, 1.0]])
    assert_allclose(KGeometricMedian(1).fit(triangle).cluster_centers_, [[0.0, 0.0]], atol=1e-12)


def test_fermats_point_sees_the_corners_at_120_degrees():
    triangle = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0]])
    center = KGeometricMedian(1, tol=1e-12).fit(triangle).cluster_centers_[0]
    units = (triangle - center) / np.linalg.norm(triangle - center, axis=1, keepdims=True)
    assert_allclose(units @ units.T, np.full((3, 3), -0.5) + 1.5 * np.eye(3), atol=1e-9)


def test_a_start_at_a_row_is_left():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [0.1, 0.1]])
    model = KGeometricMedian(1, init=[[0.0, 0.0]]).fit(X)  # Weiszfeld alone would stay there for ever
    assert cost(X, model.cluster_centers_[0]) < cost(X, X[0])
    assert model.certificates_.holds


def test_free_centres_cost_no_more_than_rows(points):
    inside = KMedian(4).fit(points)
    free = KGeometricMedian(4, init=inside.cluster_centers_).fit(points)
    assert free.inertia_ < inside.inertia_


def test_weights_are_repetitions(points):
    weight = np.tile([1, 2, 0, 3], 100)
    first = KGeometricMedian(4, init=points[:4], tol=1e-9).fit(points, sample_weight=weight)
    second = KGeometricMedian(4, init=points[:4], tol=1e-9).fit(np.repeat(points, weight, axis=0))
    assert_allclose(first.cluster_centers_, second.cluster_centers_, atol=1e-6)
    assert_allclose(first.inertia_, second.inertia_, rtol=1e-9)


def test_certificates_see_a_centre_beside_the_median(points):
    model = KGeometricMedian(4, random_state=0).fit(points)
    model.cluster_centers_[2] += 0.05
    assert not model.certify(points).named("largest subgradient").holds
    assert not KGeometricMedian(4, random_state=0).fit(points).certify(points + 1.0).holds


def test_many_features_take_weiszfelds_step(rng):
    X = rng.normal(size=(300, 80))
    model = KGeometricMedian(2, random_state=0).fit(X)
    assert model.converged_
    assert model.certify(X).holds


def test_bad_input_is_refused_or_said(points):
    with pytest.raises(ValueError, match="'n_clusters' parameter of KGeometricMedian"):
        KGeometricMedian(4).fit(points[:2])
    with pytest.raises(ValueError, match="'tol' parameter"):
        KGeometricMedian(2, tol=-1.0).fit(points)
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1"):
        KGeometricMedian(4, max_iter=1, random_state=0).fit(points)
    with pytest.warns(ConvergenceWarning, match="Only 1 of the 2 clusters"):
        assert KGeometricMedian(2, random_state=0).fit(np.ones((6, 2))).inertia_ == 0.0
    assert KGeometricMedian(1).fit([[2.0, 3.0]]).inertia_ == 0.0


@pytest.mark.parametrize("scale", [1e8, 1e-8])
def test_scale_changes_nothing(points, scale):
    plain = KGeometricMedian(4, init=points[:4]).fit(points)
    scaled = KGeometricMedian(4, init=points[:4] * scale).fit(points * scale)
    assert_array_equal(plain.labels_, scaled.labels_)
    assert_allclose(scaled.inertia_, scale * plain.inertia_, rtol=1e-9)
    assert scaled.certify(points * scale).holds
