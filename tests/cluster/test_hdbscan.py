"""HDBSCAN: the definition of its tree and of its choice, scikit-learn's fit, predictions, certificates."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from assay.cluster import DBSCAN, HDBSCAN
from assay.cluster.density.hdbscan_tree import condense
from assay.rows import threads


def mixed(seed, n_rows=200):
    rng = np.random.default_rng(seed)
    blobs = make_blobs(n_rows - 30, 2, centers=4, cluster_std=[0.2, 0.5, 1.0, 0.1], random_state=seed)[0]
    return np.vstack([blobs, rng.uniform(-10, 10, size=(30, 2))])


def mutual_reachability(X, min_samples):
    D = cdist(X, X)
    core = np.sort(D, axis=1)[:, min_samples - 1]
    return np.maximum(D, np.maximum.outer(core, core)), core


def by_definition(mutual, min_cluster_size):
    """Clusters from the whole matrix: (rows, birth, λ at which each row leaves, children)."""

    def follow(rows, birth):
        current, leaves, first = rows, {}, rows
        while True:
            part = mutual[np.ix_(current, current)]
            longest = minimum_spanning_tree(part).data.max()
            component = connected_components(part < longest, directed=False)[1]
            pieces = [current[component == c] for c in range(component.max() + 1)]
            large = [piece for piece in pieces if len(piece) >= min_cluster_size]
            for row in current:
                leaves[int(row)] = 1.0 / longest
            if len(large) != 1:
                children = [follow(piece, 1.0 / longest) for piece in large]
                return first, birth, leaves, children
            current = large[0]

    return follow(np.arange(len(mutual)), 0.0)


def stability(cluster):
    _, birth, leaves, _ = cluster
    return sum(leaves.values()) - birth * len(leaves)


def best(cluster, *, root=False):
    """The most stable choice inside a cluster, and its value."""
    inside = [best(child) for child in cluster[3]]
    value = sum(item[0] for item in inside)
    if not root and value <= stability(cluster):
        return stability(cluster), [cluster]
    return value, [chosen for item in inside for chosen in item[1]]


def ends(cluster):
    return [cluster] if not cluster[3] else [leaf for child in cluster[3] for leaf in ends(child)]


def labels_of(chosen, n_rows):
    labels = np.full(n_rows, -1)
    for number, cluster in enumerate(sorted(chosen, key=lambda item: item[0].min())):
        labels[cluster[0]] = number
    return labels


@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize(("min_cluster_size", "min_samples"), [(5, None), (8, 3), (4, 1), (15, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_those_of_the_definition(seed, min_cluster_size, min_samples, method):
    X = mixed(seed, 130)
    mutual, core = mutual_reachability(X, min_samples or min_cluster_size)
    tree = by_definition(mutual, min_cluster_size)
    model = HDBSCAN(min_cluster_size, min_samples=min_samples, cluster_selection_method=method).fit(X)
    assert_allclose(model.core_distances_, core)
    value, chosen = best(tree, root=True)
    if method == "leaf":
        chosen = ends(tree)
    assert_array_equal(model.labels_, labels_of(chosen, len(X)))
    assert_allclose(np.sort(model.cluster_stability_), np.sort([stability(c) for c in chosen]))
    if method == "eom":
        assert_allclose(model.cluster_stability_.sum(), value)
    for cluster in chosen:
        rows = cluster[0]
        lasting = np.array([cluster[2][int(row)] for row in rows])
        assert_allclose(model.probabilities_[rows], lasting / lasting.max())
        assert_allclose(model.cluster_reach_[model.labels_[rows[0]]], 1.0 / cluster[1])
    model.certificates_.require()
    model.certify(X).require()


@pytest.mark.parametrize(
    "options", [{}, {"cluster_selection_method": "leaf"}, {"allow_single_cluster": True}]
)
@pytest.mark.parametrize("seed", range(6))
def test_without_ties_the_fit_is_that_of_scikit_learn(seed, options):
    X = mixed(seed)
    ours = HDBSCAN(min_samples=1, **options).fit(X)
    theirs = sklearn.cluster.HDBSCAN(min_samples=1, copy=True, **options).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert_array_equal(ours.labels_ < 0, theirs.labels_ < 0)
    assert_allclose(ours.probabilities_, theirs.probabilities_)


@pytest.mark.parametrize("seed", range(6))
def test_with_ties_the_fit_is_close_to_that_of_scikit_learn(seed):
    X = mixed(seed, 400)
    ours = HDBSCAN(10).fit(X)
    theirs = sklearn.cluster.HDBSCAN(10, copy=True).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.97


def test_the_order_of_the_rows_does_not_matter_even_with_ties():
    X = np.vstack([mixed(0), mixed(0)[:60]])  # sixty rows stand there twice
    order = np.random.default_rng(0).permutation(len(X))
    straight, shuffled = HDBSCAN(6).fit(X), HDBSCAN(6).fit(X[order])
    assert adjusted_rand_score(straight.labels_[order], shuffled.labels_) == 1.0
    assert_allclose(straight.probabilities_[order], shuffled.probabilities_)


def test_a_distance_merges_the_clusters_that_begin_below_it():
    hdbscan = pytest.importorskip("hdbscan")
    for seed in range(4):
        X = mixed(seed)
        for epsilon in (0.3, 0.6, 1.5):
            options = {"min_samples": 1, "cluster_selection_epsilon": epsilon, "min_cluster_size": 5}
            ours, theirs = HDBSCAN(**options).fit(X), hdbscan.HDBSCAN(**options).fit(X)
            assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
            assert (ours.cluster_reach_ >= epsilon).all() or ours.n_clusters_ <= 2
            assert ours.certify(X).holds


def test_clusters_of_every_density_are_found_where_one_eps_finds_them_not():
    rng = np.random.default_rng(1)
    parts = [(0.0, 0.05), (0.3, 0.05), (20.0, 3.0)]
    X = np.vstack([rng.normal(center, spread, size=(80, 2)) for center, spread in parts])
    model = HDBSCAN(15).fit(X)
    assert adjusted_rand_score(model.labels_, np.repeat([0, 1, 2], 80)) > 0.85
    assert model.n_clusters_ == 3
    for eps in np.geomspace(0.01, 10, 40):
        single = DBSCAN(eps, min_samples=15).fit(X)
        assert not (single.n_clusters_ == 3 and single.label_weights_[-1] < 48)


def test_metrics_and_dissimilarities_give_the_fit_of_their_distances():
    X = mixed(2)
    D = cdist(X, X)
    rows, given_matrix = HDBSCAN(8).fit(X), HDBSCAN(8, metric="precomputed").fit(D)
    assert_array_equal(given_matrix.labels_, rows.labels_)
    assert_allclose(given_matrix.probabilities_, rows.probabilities_)
    assert given_matrix.certify(D).holds
    blocks = HDBSCAN(8, metric="manhattan").fit(X)
    same = HDBSCAN(8, metric="precomputed").fit(cdist(X, X, "cityblock"))
    assert_array_equal(blocks.labels_, same.labels_)
    new = np.random.default_rng(0).uniform(-10, 10, size=(60, 2))
    assert_array_equal(given_matrix.predict(cdist(new, X)), rows.predict(new))


def test_a_new_row_joins_the_cluster_it_would_be_connected_to():
    X = make_blobs(300, 2, centers=[[0, 0], [10, 0]], random_state=0)[0]
    model = HDBSCAN(10).fit(X)
    assert model.n_clusters_ == 2
    centers = [X[model.labels_ == k].mean(axis=0) for k in range(2)]
    assert_array_equal(model.predict(centers), [0, 1])
    assert_array_equal(model.predict([[5.0, 40.0]]), [-1])
    new = np.random.default_rng(1).uniform(-4, 14, size=(300, 2))
    D = cdist(new, X)
    own = np.sort(D, axis=1)[:, 8]  # the ninth of the fit is the tenth with the row itself
    reach = np.maximum(D, model.core_distances_)
    nearest = reach.argmin(axis=1)
    height = np.maximum(reach.min(axis=1), own)
    inside = (model.labels_[nearest] >= 0) & (height <= model.cluster_reach_[model.labels_[nearest]])
    assert_array_equal(model.predict(new), np.where(inside, model.labels_[nearest], -1))
    assert np.mean(model.predict(X) == model.labels_) > 0.97


def test_rows_that_are_the_same_make_finite_trees_and_no_warnings():
    X = np.repeat(np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 7.0]]), 20, axis=0)
    model = HDBSCAN(5).fit(X)
    assert_array_equal(model.labels_, np.repeat([0, 1, 2], 20))
    assert_array_equal(model.probabilities_, np.ones(60))
    assert not np.isnan(model.condensed_tree_.stability).any()
    assert model.certify(X).holds
    everywhere = HDBSCAN(5).fit(np.ones((40, 2)))
    assert_array_equal(everywhere.labels_, np.full(40, -1))
    assert HDBSCAN(5, allow_single_cluster=True).fit(np.ones((40, 2))).n_clusters_ == 1


def test_threads_do_not_change_the_fit():
    X = mixed(3, 4000)
    with threads(1):
        one = HDBSCAN(10).fit(X)
    with threads(3):
        three = HDBSCAN(10).fit(X)
    assert_array_equal(one.labels_, three.labels_)
    assert_array_equal(one.spanning_tree_, three.spanning_tree_)


def test_a_chain_condenses_to_what_is_written_by_hand():
    # 0-1-2-3 at distance 1, 4-5-6-7 at distance 2, the halves 10 apart, and row 8 alone at 20.
    first = np.array([0, 1, 2, 4, 5, 6, 3, 7])
    second = np.array([1, 2, 3, 5, 6, 7, 4, 8])
    length = np.array([1.0, 1, 1, 2, 2, 2, 10, 20])
    tree = condense(first, second, length, 3)
    assert_array_equal(tree.parent, [-1, 0, 0])
    assert_array_equal(np.sort(tree.size), [4, 4, 9])
    assert_allclose(tree.birth, [0.0, 0.1, 0.1])
    assert tree.row_cluster[8] == 0
    assert_allclose(tree.row_density, [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.05])
    assert_allclose(np.sort(tree.stability[1:]), [4 * 0.4, 4 * 0.9])
    assert_allclose(tree.stability[0], 8 * 0.1 + 0.05)


@pytest.fixture
def fitted():
    X = mixed(1, 300)
    return HDBSCAN(8).fit(X), X


def failed(model, X):
    return {item.quantity for item in model.certify(X).failed}


def test_each_certificate_fails_on_its_own_damage(fitted):
    model, X = fitted
    assert failed(model, X) == set()
    keep = model.core_distances_[7]
    model.core_distances_[7] *= 1.01
    assert "discrepancy of core distances" in failed(model, X)
    model.core_distances_[7] = keep
    model.spanning_tree_[-1, 2] *= 1.5
    assert "length of the spanning tree" in failed(model, X)
    model.spanning_tree_[-1, 2] /= 1.5
    model.spanning_tree_[5, :2] = model.spanning_tree_[6, :2]
    assert "components of the spanning tree" in failed(model, X)


def test_damaged_clusters_are_seen(fitted):
    model, X = fitted
    noise, inside = np.flatnonzero(model.labels_ < 0)[0], np.flatnonzero(model.labels_ == 0)[0]
    model.labels_[noise] = 0
    assert "rows beyond their component" in failed(model, X)
    model.labels_[noise] = -1
    model.labels_[inside] = 1
    assert "rows beyond their component" in failed(model, X)
    model.labels_[inside] = 0
    model.probabilities_[inside] *= 0.5
    assert failed(model, X) == {"discrepancy of stabilities"}


def test_a_choice_that_is_not_the_best_is_seen(fitted):
    model, X = fitted
    leaf = HDBSCAN(8, cluster_selection_method="leaf").fit(X)
    assert not np.array_equal(leaf.selected_, model.selected_)
    leaf.cluster_selection_method = "eom"
    assert failed(leaf, X) == {"total stability"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_cluster_size": 1}, "at least 2"),
        ({"min_samples": 0}, "at least 1"),
        ({"min_samples": 31}, r"at most the number of rows \(30\)"),
        ({"cluster_selection_method": "best"}, "'eom', 'leaf'"),
        ({"cluster_selection_epsilon": -1.0}, "at least 0"),
        ({"allow_single_cluster": "yes"}, "True or False"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        HDBSCAN(**options).fit(np.random.default_rng(0).normal(size=(30, 2)))


def test_bad_rows_are_refused(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="1 sample"):
        HDBSCAN().fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="pairs"):
        HDBSCAN().fit("rows.npy")
    with pytest.raises(ValueError, match="square"):
        HDBSCAN(metric="precomputed").fit(X)
    with pytest.raises(ValueError, match="fitted on 300"):
        model.certify(X[:10])
    with pytest.raises(ValueError, match="infinity"):
        HDBSCAN().fit(np.full((9, 2), np.inf))


def test_coordinates_far_away_and_large_do_not_matter():
    X = make_moons(300, noise=0.05, random_state=0)[0]
    labels = HDBSCAN(10).fit(X).labels_
    assert_array_equal(HDBSCAN(10).fit(2.0**27 * X).labels_, labels)
    assert adjusted_rand_score(HDBSCAN(10).fit(X + 1e8).labels_, labels) > 0.95
