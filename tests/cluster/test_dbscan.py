"""DBSCAN: the definition, scikit-learn's labels, weights, metrics, predictions."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from assay.cluster import DBSCAN, AgglomerativeClustering
from assay.cluster.density import dbscan_solver as _dbscan_solver
from assay.cluster.density.dbscan_solver import dbscan_by_cells, dbscan_by_lists, neighbors_by_distances
from assay.rows import threads


def by_definition(distances, eps, min_samples, weight=None):
    """Labels, core rows and ambiguous borders as the course defines them, from the matrix of distances."""
    weight = np.ones(len(distances)) if weight is None else np.asarray(weight, dtype=float)
    near = distances <= eps
    core = (near @ weight >= min_samples) & (weight > 0)
    component = connected_components(near & core & core[:, np.newaxis], directed=False)[1]
    labels = np.full(len(distances), -1)
    seen: dict[int, int] = {}
    for i in np.flatnonzero(core):
        labels[i] = seen.setdefault(int(component[i]), len(seen))
    reached = [np.unique(labels[near[i] & core]) for i in range(len(distances))]
    ambiguous = [i for i in np.flatnonzero(~core) if reached[i].size > 1]
    for i in np.flatnonzero(~core):
        labels[i] = reached[i].min(initial=len(seen)) if reached[i].size else -1
    return labels, np.flatnonzero(core), ambiguous


def tables():
    rng = np.random.default_rng(5)
    return {
        "moons": (make_moons(400, noise=0.07, random_state=0)[0], 0.15),
        "blobs in 1 dimension": (make_blobs(300, 1, centers=5, random_state=1)[0], 0.2),
        "blobs in 3 dimensions": (make_blobs(600, 3, centers=6, cluster_std=0.8, random_state=2)[0], 0.6),
        "blobs in 8 dimensions": (make_blobs(500, 8, centers=4, random_state=3)[0], 2.2),
        "blobs in 30 dimensions": (make_blobs(300, 30, centers=4, random_state=3)[0], 6.4),
        "noise": (rng.uniform(size=(500, 2)), 0.04),
        "lattice": (np.array([[i, j] for i in range(18) for j in range(18)], dtype=float), 1.0),
        "same rows": (rng.integers(0, 5, size=(600, 2)).astype(float), 1.0),
        "far away": (make_blobs(300, 2, centers=3, random_state=4)[0] + 1e8, 0.5),
        "large": (1e8 * make_blobs(300, 2, centers=3, random_state=4)[0], 5e7),
    }


@pytest.mark.spec("sangnier/DB-M1")
@pytest.mark.parametrize("min_samples", [1, 2, 5, 12])
@pytest.mark.parametrize("name", tables())
def test_labels_are_those_of_scikit_learn(name, min_samples):
    X, eps = tables()[name]
    ours = DBSCAN(eps, min_samples=min_samples).fit(X)
    theirs = sklearn.cluster.DBSCAN(eps=eps, min_samples=min_samples).fit(X)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
    assert_array_equal(ours.components_, X[theirs.core_sample_indices_])
    assert ours.certificates_.holds
    assert ours.certify(X).holds


@pytest.mark.spec("sangnier/DB-M1")
@settings(max_examples=60, deadline=None)
@given(
    X=arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 3)), elements=st.integers(0, 6)),
    eps=st.sampled_from([0.5, 1.0, 1.5, 2.0]),
    min_samples=st.integers(1, 6),
    data=st.data(),
)
def test_the_fit_is_the_definition(X, eps, min_samples, data):
    weight = data.draw(arrays(np.float64, len(X), elements=st.integers(0, 3)))
    weight[0] = 1.0
    model = DBSCAN(eps, min_samples=min_samples).fit(X, sample_weight=weight)
    labels, core, ambiguous = by_definition(cdist(X, X), eps, min_samples, weight)
    assert_array_equal(model.core_sample_indices_, core)
    assert_array_equal(model.labels_, labels)
    assert_array_equal(model.ambiguous_borders_, ambiguous)
    model.certify(X, sample_weight=weight).require()


@pytest.mark.spec("sangnier/DB-M1")
def test_core_border_noise_and_borders_between_two_clusters():
    X = np.array([[0.0], [1.0], [2.0], [3.4], [4.8], [5.8], [6.8], [30.0]])
    model = DBSCAN(1.45, min_samples=3).fit(X)
    assert_array_equal(model.point_types_, [1, 2, 2, 2, 2, 2, 1, 0])
    assert model.n_clusters_ == 1
    # With the middle row no longer core, it is within reach of both halves.
    model = DBSCAN(1.45, min_samples=4).fit(np.vstack([X, [[1.5], [5.3]]]))
    assert model.n_clusters_ == 2
    assert_array_equal(model.ambiguous_borders_, [3])
    assert model.labels_[3] == 0
    assert_array_equal(model.label_weights_, [5, 4, 1])
    assert model.label_weights_[-1] == np.count_nonzero(model.labels_ == -1)


@pytest.mark.spec("sangnier/DB-M1")
def test_the_printed_thresholds_disagree_and_its_loop_does_not_end():
    """Algorithm 14 begins a cluster at more than m neighbours but grows it at m or more, and picks rows from
    T without taking them out: E6."""
    X = np.array([[0.0], [0.1], [0.2], [9.0]])
    near = [set(np.flatnonzero(row <= 0.5)) for row in cdist(X, X)]
    m, T, picks = 3, [3, 0, 1, 2], []
    for _ in range(50):
        first = T[0]
        picks.append(first)
        if len(near[first]) > m:
            T = [row for row in T if row not in near[first]]
    assert set(picks) == {3}  # the outlier is picked for ever
    assert not any(len(near[row]) > m for row in range(4))  # and no row of the group could begin a cluster
    assert_array_equal(DBSCAN(0.5, min_samples=m).fit(X).labels_, [0, 0, 0, -1])


@pytest.mark.spec("sangnier/DB-T1")
@pytest.mark.parametrize("seed", range(5))
def test_with_two_samples_it_is_single_linkage_cut_at_eps(seed):
    X = np.random.default_rng(seed).normal(size=(120, 2))
    eps = 0.3
    cut = fcluster(linkage(X, "single"), eps, criterion="distance")
    alone = np.bincount(cut)[cut] == 1
    labels = DBSCAN(eps, min_samples=2).fit(X).labels_
    assert_array_equal(labels == -1, alone)
    assert adjusted_rand_score(labels[~alone], cut[~alone]) == 1.0
    ours = AgglomerativeClustering(None, linkage="single", distance_threshold=eps).fit(X).labels_
    assert adjusted_rand_score(ours, np.where(labels < 0, labels.max() + 1 + np.arange(120), labels)) == 1.0


@pytest.mark.spec("sangnier/DB-T1")
def test_with_one_sample_every_row_is_core():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = DBSCAN(0.2, min_samples=1).fit(X)
    assert_array_equal(model.core_sample_indices_, np.arange(60))
    assert adjusted_rand_score(model.labels_, fcluster(linkage(X, "single"), 0.2, "distance")) == 1.0


@pytest.mark.spec("sangnier/DB-T2")
@pytest.mark.parametrize("seed", range(5))
def test_order_matters_for_ambiguous_borders_only(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(300, 2))
    order = rng.permutation(300)
    straight, shuffled = (DBSCAN(0.055, min_samples=5).fit(table) for table in (X, X[order]))
    assert_array_equal(straight.point_types_[order], shuffled.point_types_)
    assert_array_equal(np.sort(order[shuffled.ambiguous_borders_]), straight.ambiguous_borders_)
    kept = np.setdiff1d(np.arange(300), shuffled.ambiguous_borders_)
    assert adjusted_rand_score(straight.labels_[order][kept], shuffled.labels_[kept]) == 1.0
    assert straight.ambiguous_borders_.size > 0


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine", "sqeuclidean", "l2"])
def test_other_metrics_are_the_definition(metric):
    X = make_blobs(250, 3, centers=5, random_state=6)[0]
    names = {"manhattan": "cityblock", "l2": "euclidean"}
    D = cdist(X, X, names.get(metric, metric))
    eps = float(np.quantile(D, 0.04))
    model = DBSCAN(eps, min_samples=4, metric=metric).fit(X)
    labels, core, _ = by_definition(D, eps, 4)
    assert_array_equal(model.labels_, labels)
    assert_array_equal(model.core_sample_indices_, core)
    assert model.certify(X).holds


def test_dissimilarities_and_functions_give_the_fit_of_the_rows():
    X = make_moons(150, noise=0.05, random_state=1)[0]
    D = cdist(X, X)
    rows = DBSCAN(0.2).fit(X)
    given_matrix = DBSCAN(0.2, metric="precomputed").fit(D)
    function = DBSCAN(0.2, metric=lambda x, z: float(np.sqrt(((x - z) ** 2).sum()))).fit(X)
    for other in (given_matrix, function):
        assert_array_equal(other.labels_, rows.labels_)
        assert_array_equal(other.core_sample_indices_, rows.core_sample_indices_)
    new = make_moons(40, noise=0.2, random_state=2)[0]
    assert_array_equal(given_matrix.predict(cdist(new, X)), rows.predict(new))
    assert_array_equal(function.predict(new), rows.predict(new))
    assert given_matrix.certify(D).holds


def test_a_new_row_joins_the_nearest_core_row_within_eps():
    X = make_moons(300, noise=0.06, random_state=1)[0]
    model = DBSCAN(0.15).fit(X)
    new = np.random.default_rng(0).uniform(-2, 3, size=(500, 2))
    to_core = cdist(new, model.components_)
    nearest = model.labels_[model.core_sample_indices_][to_core.argmin(axis=1)]
    assert_array_equal(model.predict(new), np.where(to_core.min(axis=1) <= 0.15, nearest, -1))
    core = model.core_sample_indices_
    assert_array_equal(model.predict(X[core]), model.labels_[core])
    assert_array_equal(model.predict(X) >= 0, model.labels_ >= 0)


def test_a_row_of_enough_weight_is_core_by_itself():
    X = np.array([[0.0], [10.0], [20.0]])
    model = DBSCAN(1.0, min_samples=3).fit(X, sample_weight=[3, 2, 0])
    assert_array_equal(model.labels_, [0, -1, -1])
    assert_array_equal(model.label_weights_, [3, 2])


@pytest.mark.parametrize("eps", [0.25, "auto"])
def test_weights_are_repetitions(eps):
    rng = np.random.default_rng(8)
    X = make_moons(160, noise=0.05, random_state=3)[0]
    weight = rng.integers(0, 4, size=160)
    keep = np.repeat(np.arange(160), weight)
    weighted = DBSCAN(eps, min_samples=6).fit(X, sample_weight=weight)
    repeated = DBSCAN(eps, min_samples=6).fit(X[keep])
    assert weighted.eps_ == pytest.approx(repeated.eps_, rel=1e-12)
    assert_array_equal(np.unique(weighted.components_, axis=0), np.unique(repeated.components_, axis=0))
    assert adjusted_rand_score(weighted.labels_[keep], repeated.labels_) == 1.0
    assert_array_equal(np.sort(weighted.label_weights_), np.sort(repeated.label_weights_))


@pytest.mark.shuffles_globally
@pytest.mark.parametrize("options", [{"eps": "auto"}, {"min_samples": "auto"}], ids=str)
def test_suggested_parameters_pass_the_checks_of_scikit_learn(options):
    # The check of weights shuffles the rows and compares the numbers of the clusters, which go by the rows as
    # in scikit-learn; test_weights_are_repetitions compares the clusters.
    numbering = {"check_sample_weight_equivalence_on_dense_data": "clusters are numbered by their rows"}
    check_estimator(DBSCAN(**options), expected_failed_checks=numbering, on_skip=None)


def test_a_row_of_weight_zero_holds_nothing_together():
    X = np.array([[0.0], [0.5], [1.0], [1.9], [2.8], [3.3], [3.8]])
    assert DBSCAN(1.0, min_samples=2).fit(X).n_clusters_ == 1
    model = DBSCAN(1.0, min_samples=2).fit(X, sample_weight=[1, 1, 1, 0, 1, 1, 1])
    assert model.n_clusters_ == 2
    assert_array_equal(model.ambiguous_borders_, [3])


@pytest.mark.parametrize("n_features", [1, 2, 3, 7])
def test_many_tasks_on_many_threads_give_the_fit_of_one(n_features, monkeypatch):
    X = make_blobs(1500, n_features, centers=12, cluster_std=0.7, random_state=0)[0]
    limit = {1: 0.01, 2: 0.25, 3: 0.84, 7: 1.66}[n_features] ** 2
    one = dbscan_by_cells(X, limit, 6.0, None)
    monkeypatch.setattr(_dbscan_solver, "TASK_ROWS", 60)
    with threads(3):
        many = dbscan_by_cells(X, limit, 6.0, None)
    lists = dbscan_by_lists(
        1500, neighbors_by_distances(lambda rows: cdist(X[rows], X), 1500, limit**0.5), 6, None
    )
    assert one.n_clusters > 1
    for other in (many, lists):
        assert_array_equal(one.labels, other.labels)
        assert_array_equal(one.core, other.core)
        assert_array_equal(one.ambiguous, other.ambiguous)


def test_a_crowd_wider_than_a_task_is_one_cluster(monkeypatch):
    monkeypatch.setattr(_dbscan_solver, "TASK_ROWS", 100)
    X = np.random.default_rng(0).uniform(size=(3000, 2))
    for limit in (0.01, 0.25, 9.0):
        with threads(3):
            found = dbscan_by_cells(X, limit, 5.0, None)
        assert found.n_clusters == 1
        assert found.core.all()
    assert dbscan_by_cells(np.ones((3000, 2)), 1.0, 5.0, None).n_clusters == 1


def test_a_large_table_is_that_of_scikit_learn():
    X = make_blobs(40_000, 3, centers=40, cluster_std=0.5, random_state=0)[0]
    ours = DBSCAN(0.2, min_samples=10).fit(X)
    theirs = sklearn.cluster.DBSCAN(eps=0.2, min_samples=10).fit(X)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
    assert ours.certificates_.holds


def test_float32_rows_give_the_exact_fit_of_their_values():
    X = make_moons(300, noise=0.06, random_state=1)[0].astype(np.float32)
    model = DBSCAN(0.15).fit(X)
    assert model.components_.dtype == np.float32
    assert_array_equal(model.labels_, DBSCAN(0.15).fit(X.astype(np.float64)).labels_)
