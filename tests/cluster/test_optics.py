"""OPTICS: order, reachabilities and clusters against scikit-learn and DBSCAN; certificates that fail."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from assay.cluster import DBSCAN, OPTICS
from assay.cluster.density.optics_solver import grow


def mixed(seed, n_rows=240):
    rng = np.random.default_rng(seed)
    blobs = make_blobs(n_rows - 40, 2, centers=4, cluster_std=[0.2, 0.5, 1.0, 0.1], random_state=seed)[0]
    return np.vstack([blobs, rng.uniform(-10, 10, size=(40, 2))])


@pytest.mark.filterwarnings("ignore:.*All reachability values are inf.*:UserWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"min_samples": 5},
        {"min_samples": 5, "max_eps": 2.0},
        {"min_samples": 10, "xi": 0.1},
        {"min_samples": 4, "xi": 0.03, "min_cluster_size": 12},
        {"min_samples": 0.05, "min_cluster_size": 0.1},
        {"min_samples": 5, "cluster_method": "dbscan", "eps": 0.8},
        {"min_samples": 5, "metric": "manhattan"},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_order_reachability_and_clusters_are_those_of_scikit_learn(seed, options):
    X = mixed(seed)
    ours, theirs = OPTICS(**options).fit(X), sklearn.cluster.OPTICS(**options).fit(X)
    assert_array_equal(ours.ordering_, theirs.ordering_)
    assert_allclose(ours.reachability_, theirs.reachability_)
    assert_allclose(ours.core_distances_, theirs.core_distances_)
    assert_array_equal(ours.predecessor_, theirs.predecessor_)
    assert_array_equal(ours.labels_, theirs.labels_)
    ours.certificates_.require()
    ours.certify(X).require()


@pytest.mark.parametrize("eps", [0.3, 0.6, 1.2])
def test_a_cut_is_dbscan_at_its_height_but_for_borders(eps):
    X = mixed(1)
    cut = OPTICS(min_samples=6, cluster_method="dbscan", eps=eps).fit(X)
    core = DBSCAN(eps, min_samples=6).fit(X)
    assert_array_equal(cut.core_distances_ <= eps, core.point_types_ == 2)
    inside = core.core_sample_indices_
    assert adjusted_rand_score(cut.labels_[inside], core.labels_[inside]) == 1.0
    assert (core.labels_[cut.labels_ >= 0] >= 0).all()
    assert cut.n_clusters_ == core.n_clusters_


def test_the_plot_is_the_definition():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = OPTICS(min_samples=4, max_eps=1.2).fit(X)
    D = cdist(X, X)
    core = np.sort(D, axis=1)[:, 3]
    core[core > 1.2] = np.inf
    assert_allclose(model.core_distances_, core)
    taken: list[int] = []
    for row in model.ordering_:
        waiting = np.setdiff1d(np.arange(60), taken)
        offers = np.where(
            D[np.ix_(waiting, taken)] <= 1.2, np.maximum(D[np.ix_(waiting, taken)], core[taken]), np.inf
        )
        reach = offers.min(axis=1, initial=np.inf)
        assert row == waiting[reach.argmin()]  # the least, and the lowest of several
        assert_allclose(model.reachability_[row], reach.min())
        taken.append(int(row))


@pytest.mark.parametrize("max_eps", [np.inf, 0.8])
def test_the_compiled_walk_is_that_over_rows_of_a_matrix(max_eps):
    X = mixed(4, 150)
    D = cdist(X, X)
    core = np.sort(D, axis=1)[:, 4]
    core[core > max_eps] = np.inf
    rows = grow(X, core, metric="euclidean", max_eps=max_eps)
    matrix = grow(D, core, metric="precomputed", max_eps=max_eps)
    assert_array_equal(rows.ordering, matrix.ordering)
    assert_allclose(rows.reachability, matrix.reachability)
    assert_array_equal(rows.predecessor, matrix.predecessor)


def test_dissimilarities_give_the_fit_of_the_rows():
    X = mixed(2)
    D = cdist(X, X)
    rows, given_matrix = OPTICS().fit(X), OPTICS(metric="precomputed").fit(D)
    assert_array_equal(rows.labels_, given_matrix.labels_)
    assert given_matrix.certify(D).holds
    new = np.random.default_rng(0).uniform(-10, 10, size=(60, 2))
    assert_array_equal(given_matrix.predict(cdist(new, X)), rows.predict(new))


def test_a_new_row_joins_the_cluster_that_reaches_it():
    X = mixed(0)
    model = OPTICS(min_samples=5).fit(X)
    new = np.random.default_rng(1).uniform(-10, 10, size=(400, 2))
    reach = np.maximum(cdist(new, X), model.core_distances_)
    labels = model.labels_[reach.argmin(axis=1)]
    inside = (labels >= 0) & (reach.min(axis=1) <= model.cluster_reach_[labels])
    assert_array_equal(model.predict(new), np.where(inside, labels, -1))
    for cluster in range(model.n_clusters_):
        along = model.reachability_[model.ordering_][1:]
        both = (model.labels_[model.ordering_][1:] == cluster) & (
            model.labels_[model.ordering_][:-1] == cluster
        )
        assert model.cluster_reach_[cluster] == along[both].max()


def test_without_eps_the_cut_is_at_the_elbow():
    X = make_blobs(300, 2, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=0.5, random_state=0)[0]
    model = OPTICS(cluster_method="dbscan").fit(X)
    assert model.n_clusters_ >= 3
    assert 0 < model.eps_ < 3
    assert OPTICS(cluster_method="dbscan", max_eps=1.5).fit(X).eps_ == 1.5


def failed(model, X):
    return {item.quantity for item in model.certify(X).failed}


def test_each_certificate_fails_on_its_own_damage():
    X = mixed(3)
    model = OPTICS().fit(X)
    assert failed(model, X) == set()
    row = model.ordering_[30]
    model.reachability_[row] *= 1.001
    assert failed(model, X) == {"discrepancy of reachabilities"}
    model.reachability_[row] /= 1.001
    model.core_distances_[row] *= 0.9
    assert "discrepancy of core distances" in failed(model, X)
    model.core_distances_[row] /= 0.9
    model.ordering_[[30, 90]] = model.ordering_[[90, 30]]
    assert "rows out of order" in failed(model, X)
    model.ordering_[[30, 90]] = model.ordering_[[90, 30]]
    model.labels_[model.labels_ == 0] = np.where(np.arange((model.labels_ == 0).sum()) % 2, -1, 0)
    assert failed(model, X) == {"broken clusters"}


def test_rows_that_are_the_same_and_large_coordinates_are_fits():
    X = np.repeat(np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 7.0]]), 10, axis=0)
    model = OPTICS(min_samples=3).fit(X)
    assert not np.isnan(model.reachability_).any()
    assert model.certify(X).holds
    assert OPTICS(cluster_method="dbscan").fit(np.ones((20, 2))).n_clusters_ == 1
    scaled, plain = OPTICS().fit(2.0**27 * mixed(0)), OPTICS().fit(mixed(0))
    assert_array_equal(scaled.labels_, plain.labels_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_samples": 1}, "at least 2|at most 1"),
        ({"min_samples": 31}, r"from 2 to the number of rows \(30\)"),
        ({"max_eps": 0.0}, "above 0"),
        ({"max_eps": np.nan}, "finite"),
        ({"xi": 1.0}, "below 1"),
        ({"cluster_method": "valley"}, "'xi', 'dbscan'"),
        ({"eps": 3.0, "max_eps": 2.0}, "at most max_eps"),
        ({"min_cluster_size": -3}, "'min_cluster_size' parameter of OPTICS"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        OPTICS(**options).fit(np.random.default_rng(0).normal(size=(30, 2)))


def test_bad_rows_are_refused():
    X = mixed(0)
    with pytest.raises(ValueError, match="1 sample"):
        OPTICS().fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="pairs"):
        OPTICS().fit("rows.npy")
    with pytest.raises(ValueError, match="square"):
        OPTICS(metric="precomputed").fit(X)
    with pytest.raises(ValueError, match="fitted on 240"):
        OPTICS().fit(X).certify(X[:10])
    with pytest.raises(ValueError, match="NaN"):
        OPTICS().fit(np.full((9, 2), np.nan))
