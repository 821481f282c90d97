"""Fuzzy c-means: memberships, centres, the objective, and the limit of k-means."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import FuzzyCMeans, KMeans
from assay.cluster.quantizer.fuzzy import memberships


@pytest.fixture(scope="module")
def points():
    return make_blobs(300, 3, centers=4, cluster_std=2.0, random_state=3)[0]


def objective(X, centers, m):
    """J with the best memberships, in closed form: Σ_i (Σ_k d_ik^(−1/(m−1)))^(−(m−1))."""
    squares = ((X[:, np.newaxis] - centers) ** 2).sum(axis=2)
    return float(((squares ** (-1 / (m - 1))).sum(axis=1) ** (1 - m)).sum())


@pytest.mark.spec("sangnier/KM-T2")
@pytest.mark.parametrize("m", [1.3, 2.0, 3.5])
def test_iteration_is_the_published_one_and_never_rises(points, m):
    centers = points[:4].copy()
    trace = []
    for _ in range(60):
        squares = ((points[:, np.newaxis] - centers) ** 2).sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = 1 / ((squares[:, :, np.newaxis] / squares[:, np.newaxis]) ** (1 / (m - 1))).sum(axis=2)
        u = np.where(np.isnan(u), 1.0, u)
        u[squares == 0.0] = 1.0
        u[(squares == 0.0).any(axis=1)] = (squares == 0.0)[(squares == 0.0).any(axis=1)]
        trace.append((u**m * squares).sum())
        centers = (u**m).T @ points / (u**m).sum(axis=0)[:, np.newaxis]
    model = FuzzyCMeans(4, fuzzifier=m, init=points[:4], tol=1e-10).fit(points)
    n = min(len(trace), len(model.inertia_trace_))
    assert_allclose(model.inertia_trace_[:n], trace[:n], rtol=1e-9)
    assert np.all(np.diff(model.inertia_trace_) <= 1e-9)
    assert_allclose(model.objective_, objective(points, model.cluster_centers_, m), rtol=1e-12)


def test_centres_are_a_stationary_point_of_the_objective(points):
    model = FuzzyCMeans(3, tol=1e-14, max_iter=2000, random_state=0).fit(points)
    better = minimize(
        lambda c: objective(points, c.reshape(3, 3), 2.0), model.cluster_centers_.ravel(), method="BFGS"
    )
    assert model.objective_ <= better.fun * (1 + 1e-9)


def test_memberships_are_degrees(points):
    model = FuzzyCMeans(4, random_state=0).fit(points)
    degrees = model.memberships(points)
    assert degrees.shape == (300, 4)
    assert_allclose(degrees.sum(axis=1), 1.0)
    assert degrees.min() >= 0.0
    assert_array_equal(degrees.argmax(axis=1), model.labels_)
    assert_array_equal(model.predict(points), model.labels_)
    # The best memberships for these centres: any others cost more.
    squares = ((points[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
    rng = np.random.default_rng(0)
    for _ in range(10):
        other = 0.9 * degrees + 0.1 * rng.dirichlet(np.ones(4), 300)
        assert (other**2 * squares).sum() > (degrees**2 * squares).sum()


def test_a_row_at_a_centre_belongs_to_it_alone():
    squares = np.array([[0.0, 1.0, 4.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    assert_allclose(memberships(squares, 2.0), [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])


def test_as_the_fuzzifier_falls_to_one_it_is_k_means():
    X = load_iris().data
    start = X[[0, 60, 120]]
    hard = KMeans(3, init=start, tol=0).fit(X)
    soft = FuzzyCMeans(3, fuzzifier=1.02, init=start, tol=1e-14, max_iter=2000).fit(X)
    assert_allclose(soft.cluster_centers_, hard.cluster_centers_, atol=0.05)
    assert_allclose(soft.objective_, hard.inertia_, rtol=1e-2)
    vague = FuzzyCMeans(3, fuzzifier=50.0, init=start + 0.3).fit(X).memberships(X)
    assert_allclose(vague, 1 / 3, atol=0.1)


def test_weights_are_repetitions(points):
    weight = np.tile([1, 2, 0], 100)
    first = FuzzyCMeans(4, init=points[:4], tol=1e-12, max_iter=1000).fit(points, sample_weight=weight)
    second = FuzzyCMeans(4, init=points[:4], tol=1e-12, max_iter=1000)
    second.fit(np.repeat(points, weight, axis=0))
    assert_allclose(first.objective_, second.objective_, rtol=1e-10)
    assert_allclose(first.cluster_centers_, second.cluster_centers_, atol=1e-6)


def test_certificates_see_damage(points):
    model = FuzzyCMeans(4, random_state=0).fit(points)
    assert model.certify(points).holds
    model.cluster_centers_[0] += 0.5
    failed = {item.quantity for item in model.certify(points).failed}
    assert {"gain of the next centres", "error of the objective"} <= failed


def test_bad_input_is_refused_or_said(points):
    for fuzzifier in (1.0, 0.5, np.nan, "two"):
        with pytest.raises(ValueError, match=r"'fuzzifier' parameter of FuzzyCMeans must be .* above 1"):
            FuzzyCMeans(2, fuzzifier=fuzzifier).fit(points)
    with pytest.raises(ValueError, match="'n_clusters' parameter"):
        FuzzyCMeans(5).fit(points[:3])
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=2"):
        FuzzyCMeans(4, max_iter=2, random_state=0).fit(points)
    with pytest.warns(ConvergenceWarning, match="Only 1 of the 2"):
        model = FuzzyCMeans(2, random_state=0).fit(np.ones((5, 2)))
    assert model.objective_ == 0.0
    assert_allclose(model.memberships(np.ones((1, 2))), [[0.5, 0.5]])


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_an_offset_moves_the_centres_with_the_rows(points, offset):
    here = FuzzyCMeans(4, init=points[:4]).fit(points)
    there = FuzzyCMeans(4, init=points[:4] + offset).fit(points + offset)
    assert_array_equal(here.labels_, there.labels_)
    assert_allclose(there.cluster_centers_ - offset, here.cluster_centers_, atol=1e-4)
    assert there.certify(points + offset).holds
