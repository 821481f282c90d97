"""Choice of eps and min_samples, and the steps of DBSCAN one row at a time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_moons
from sklearn.neighbors import NearestNeighbors

from assay.cluster import DBSCAN, dbscan_steps, k_distance_curve, suggest_eps, suggest_min_samples


@pytest.fixture
def blobs_and_noise():
    blobs = make_blobs(300, 2, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=0.5, random_state=0)[0]
    return np.vstack([blobs, np.random.default_rng(0).uniform(-12, 20, size=(20, 2))])


@pytest.mark.spec("sangnier/DB-M2")
@pytest.mark.parametrize("min_samples", [2, 4, 9])
def test_the_curve_is_the_sorted_distance_to_the_farthest_of_the_nearest(blobs_and_noise, min_samples):
    found = NearestNeighbors(n_neighbors=min_samples - 1).fit(blobs_and_noise).kneighbors()[0]
    curve = k_distance_curve(blobs_and_noise, min_samples)
    assert_allclose(curve, np.sort(found.max(axis=1)), rtol=1e-12)
    D = cdist(blobs_and_noise, blobs_and_noise)
    assert_allclose(k_distance_curve(D, min_samples, metric="precomputed"), curve, rtol=1e-12)


@pytest.mark.spec("sangnier/DB-M2")
def test_the_curve_counts_the_core_rows_of_every_eps(blobs_and_noise):
    curve = k_distance_curve(blobs_and_noise, 5)
    for eps in (0.1, 0.3, 1.0, 4.0):
        model = DBSCAN(eps, min_samples=5).fit(blobs_and_noise)
        assert model.core_sample_indices_.size == np.count_nonzero(curve <= eps)


@pytest.mark.spec("sangnier/DB-M2")
def test_the_elbow_is_farthest_below_the_chord(blobs_and_noise):
    curve = k_distance_curve(blobs_and_noise, 4)
    ends = np.array([[0.0, curve[0]], [len(curve) - 1.0, curve[-1]]])
    direction = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    points = np.column_stack([np.arange(len(curve)), curve]) - ends[0]
    below = direction[1] * points[:, 0] - direction[0] * points[:, 1]
    assert suggest_eps(blobs_and_noise, 4) == curve[below.argmax()]
    for seed in range(4):  # curves that bend slowly, where another chord has another elbow
        X = np.random.default_rng(seed).standard_t(3, size=(200, 2))
        curve = k_distance_curve(X, 4)
        unit = (curve - curve[0]) / (curve[-1] - curve[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert suggest_eps(X, 4) == curve[np.argmax(np.linspace(0, 1, 200) - unit)]
    assert suggest_eps(blobs_and_noise) == suggest_eps(blobs_and_noise, 4)


@pytest.mark.spec("sangnier/DB-M2", "sangnier/DB-P1")
def test_the_suggestions_find_the_blobs(blobs_and_noise):
    assert [suggest_min_samples(d) for d in (1, 2, 10)] == [2, 4, 20]
    model = DBSCAN("auto", min_samples="auto").fit(blobs_and_noise)
    assert model.min_samples_ == 4
    assert model.eps_ == suggest_eps(blobs_and_noise, 4)
    sizes = np.sort(model.label_weights_[:-1])[::-1]
    assert np.all(sizes[:3] > 90)
    assert model.certificates_.holds


@pytest.mark.spec("sangnier/DB-P1")
def test_shapes_that_are_not_convex_are_found_and_a_bridge_of_noise_does_not_join_them():
    X, y = make_moons(400, noise=0.04, random_state=0)
    assert_array_equal(DBSCAN(0.18).fit(X).labels_ == DBSCAN(0.18).fit(X).labels_[0], y == y[0])
    groups = np.vstack([np.random.default_rng(1).normal(c, 0.1, size=(50, 2)) for c in (0.0, 3.0)])
    bridge = np.column_stack([np.linspace(0.3, 2.7, 9)] * 2)
    table = np.vstack([groups, bridge])
    assert DBSCAN(0.45, min_samples=2).fit(table).n_clusters_ == 1  # single linkage chains through it
    assert DBSCAN(0.45, min_samples=6).fit(table).n_clusters_ == 2


@pytest.mark.spec("sangnier/DB-P1")
@pytest.mark.parametrize("shares", [(200, 200), (300, 100), (100, 300)])
def test_clusters_of_very_different_densities_are_told(shares):
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(0, 0.01, size=(shares[0], 2)), rng.normal(20, 2.0, size=(shares[1], 2))])
    with pytest.warns(UserWarning, match="One eps may not serve clusters of such different densities"):
        suggest_eps(X, 4)
    with pytest.warns(UserWarning, match="HDBSCAN"):
        DBSCAN("auto", min_samples=4).fit(X)


@pytest.mark.spec("sangnier/DB-P1")
def test_a_curve_without_an_elbow_is_told():
    X = np.arange(60.0)[:, np.newaxis] ** 2  # the nearest rows are 1, 1, 3, 5, 7, … apart
    with pytest.warns(UserWarning, match="no clear elbow"):
        suggest_eps(X, 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_clusters_of_one_density_are_told_nothing(n_features, seed):
    X = make_blobs(300, n_features, centers=3, random_state=seed)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        suggest_eps(X)
        suggest_eps(np.random.default_rng(seed).uniform(size=(300, n_features)))


def test_weights_stand_on_the_curve_as_often():
    X = np.random.default_rng(4).normal(size=(80, 2))
    weight = np.random.default_rng(5).integers(0, 4, size=80)
    repeated = np.repeat(X, weight, axis=0)
    assert suggest_eps(X, 5, sample_weight=weight) == pytest.approx(suggest_eps(repeated, 5), rel=1e-12)
    assert_allclose(
        np.unique(k_distance_curve(X, 5, sample_weight=weight)), np.unique(k_distance_curve(repeated, 5))
    )


def test_bad_choices_are_refused():
    X = np.random.default_rng(0).normal(size=(10, 2))
    for bad in (1, 11, 2.5, "many"):
        with pytest.raises(ValueError, match=r"'min_samples' parameter of k_distance_curve.*\(10\)"):
            k_distance_curve(X, bad)
    with pytest.raises(ValueError, match="NaN"):
        suggest_eps(np.full((5, 2), np.nan), 2)
    with pytest.raises(ValueError, match="All k-distances are 0"):
        suggest_eps(np.ones((9, 2)), 3)
    with pytest.raises(ValueError, match="precomputed"):
        suggest_eps(cdist(X, X), metric="precomputed")
    with pytest.raises(ValueError, match="n_features"):
        suggest_min_samples(0)
    assert suggest_eps([[0.0], [0.0], [0.0], [0.0], [5.0]], 2) == 5.0  # 0 is no radius


@pytest.mark.spec("sangnier/DB-M3")
@pytest.mark.parametrize("eps", [0.04, 0.055, 0.08])
@pytest.mark.parametrize("min_samples", [1, 4, 7])
def test_the_steps_end_in_the_labels_of_the_fit(eps, min_samples):
    X = np.random.default_rng(7).uniform(size=(250, 2))
    steps = list(dbscan_steps(X, eps, min_samples))
    assert_array_equal(steps[-1].labels, DBSCAN(eps, min_samples=min_samples).fit(X).labels_)


@pytest.mark.spec("sangnier/DB-M3")
def test_each_step_shows_a_row_its_neighbours_and_what_becomes_of_it():
    X = make_moons(60, noise=0.1, random_state=0)[0]
    model = DBSCAN(0.3, min_samples=5).fit(X)
    D = cdist(X, X)
    types = {"seed": 2, "core": 2, "border": 1, "noise": None}
    seeds = 0
    for step in dbscan_steps(X, 0.3, 5):
        assert_array_equal(step.neighbors, np.flatnonzero(D[step.row] <= 0.3))
        assert step.label == step.labels[step.row]
        if step.kind == "noise":
            assert model.point_types_[step.row] < 2
        else:
            assert model.point_types_[step.row] == types[step.kind]
        if step.kind in ("seed", "core"):
            assert (step.labels[step.neighbors] >= 0).all()
        seeds += step.kind == "seed"
    assert seeds == model.n_clusters_
    assert {step.row for step in dbscan_steps(X, 0.3, 5)} == set(range(60))
    same = list(dbscan_steps(D, 0.3, 5, metric="precomputed"))
    assert_array_equal(same[-1].labels, model.labels_)


def test_steps_refuse_bad_parameters_before_the_first():
    with pytest.raises(ValueError, match="'eps' parameter of dbscan_steps"):
        dbscan_steps(np.eye(3), 0.0)
    with pytest.raises(ValueError, match="'min_samples' parameter of dbscan_steps"):
        dbscan_steps(np.eye(3), 1.0, 0)
