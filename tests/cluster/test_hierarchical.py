"""Agglomerative clustering: the tree of every linkage, its cuts, and what the theory says of them."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.metrics import adjusted_rand_score

from assay.cluster import AgglomerativeClustering, KMeans, ward_distance
from assay.graphs import boruvka, kruskal, prim, reverse_delete, spanning_tree_clusters
from assay.rows import threads
from dendrograms import read_dendrogram

LINKAGES = ("ward", "single", "complete", "average", "weighted", "centroid", "median")
MONOTONE = ("ward", "single", "complete", "average", "weighted")
PAIRWISE = ("single", "complete", "average", "weighted")
each_linkage = pytest.mark.parametrize("linkage", LINKAGES)


def inertia(X, labels):
    return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))


def by_definition(X, linkage):
    """Agglomeration as it is written: at every step the linkage of all pairs from its definition."""
    D = cdist(X, X)
    clusters = [(i, [i]) for i in range(len(X))]
    joins = []
    while len(clusters) > 1:
        costs = {}
        for p in range(len(clusters)):
            for q in range(p):
                A, B = clusters[p][1], clusters[q][1]
                block = D[np.ix_(A, B)]
                costs[q, p] = {
                    "single": block.min(),
                    "complete": block.max(),
                    "average": block.mean(),
                    "centroid": np.linalg.norm(X[A].mean(axis=0) - X[B].mean(axis=0)),
                    "ward": np.sqrt(2 * (inertia(X[A + B], np.zeros(len(A + B))) - _inertias(X, A, B))),
                }[linkage]
        q, p = min(costs, key=costs.get)
        joins.append((*sorted((clusters[q][0], clusters[p][0])), costs[q, p]))
        merged = (len(X) + len(joins) - 1, clusters[q][1] + clusters[p][1])
        clusters = [c for k, c in enumerate(clusters) if k not in (p, q)] + [merged]
    return np.array(joins)


def _inertias(X, A, B):
    return inertia(X[A], np.zeros(len(A))) + inertia(X[B], np.zeros(len(B)))


@pytest.mark.spec("sangnier/HC-M1", "wei/M10.6")
@pytest.mark.parametrize("linkage", ["single", "complete", "average", "centroid", "ward"])
def test_each_step_joins_the_two_closest_clusters(linkage, rng):
    X = rng.normal(size=(18, 3))
    joins = by_definition(X, linkage)
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    assert_array_equal(model.children_, joins[:, :2])
    assert_allclose(model.distances_, joins[:, 2], rtol=1e-9)


@each_linkage
@pytest.mark.spec("sangnier/HC-M1", "wei/M10.6")
@pytest.mark.parametrize("data", ["iris", "noise"])
def test_the_tree_is_that_of_scipy(linkage, data, request):
    X = request.getfixturevalue(data)[:900]
    X = X + 1e-7 * np.random.default_rng(0).normal(size=X.shape)  # iris has ties
    Z = hierarchy.linkage(X, linkage)
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    assert_allclose(model.distances_, Z[:, 2], rtol=1e-9)
    assert_array_equal(model.children_, np.sort(Z[:, :2], axis=1))
    assert_array_equal(model.linkage_matrix_[:, 3], Z[:, 3])
    assert hierarchy.is_valid_linkage(model.linkage_matrix_)
    assert_array_equal(model.leaf_order_, hierarchy.leaves_list(model.linkage_matrix_))


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single"])
def test_the_cut_is_that_of_scikit_learn(linkage, blobs):
    X = blobs[:600]
    ours = AgglomerativeClustering(7, linkage=linkage).fit(X)
    theirs = sklearn.cluster.AgglomerativeClustering(7, linkage=linkage, compute_distances=True).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert_allclose(ours.distances_, theirs.distances_)
    assert ours.n_leaves_ == theirs.n_leaves_
    assert ours.n_clusters_ == 7


def test_the_tree_is_that_of_fastcluster(noise):
    fastcluster = pytest.importorskip("fastcluster")
    X = noise[:700]
    for linkage in LINKAGES:
        Z = fastcluster.linkage(X, linkage)
        model = AgglomerativeClustering(linkage=linkage).fit(X)
        assert_allclose(model.distances_, Z[:, 2], rtol=1e-9)
        assert_array_equal(model.children_, np.sort(Z[:, :2], axis=1))


@pytest.mark.spec("sangnier/HC-M1")
@pytest.mark.parametrize("linkage", PAIRWISE)
@pytest.mark.parametrize(
    "metric", ["euclidean", "manhattan", "cosine", "chebyshev", "precomputed", "function"]
)
def test_any_dissimilarity_can_be_used(linkage, metric, rng):
    X = rng.normal(size=(60, 4))
    name = {"manhattan": "cityblock", "precomputed": "cityblock", "function": "cityblock"}.get(metric, metric)
    Z = hierarchy.linkage(pdist(X, name), linkage)
    if metric == "precomputed":
        model = AgglomerativeClustering(3, linkage=linkage, metric="precomputed").fit(
            squareform(pdist(X, name))
        )
    elif metric == "function":
        model = AgglomerativeClustering(3, linkage=linkage, metric=lambda x, z: np.abs(x - z).sum()).fit(X)
    else:
        model = AgglomerativeClustering(3, linkage=linkage, metric=metric).fit(X)
    assert_allclose(model.distances_, Z[:, 2], rtol=1e-9)
    assert model.certificates_.holds


@pytest.mark.spec("sangnier/HC-M2")
@pytest.mark.parametrize("linkage", MONOTONE)
def test_the_rules_of_stopping_agree(linkage, iris):
    by_number = AgglomerativeClustering(4, linkage=linkage).fit(iris)
    last_made, next_join = by_number.distances_[-4:-2]
    between = 0.5 * (last_made + next_join)
    by_height = AgglomerativeClustering(None, linkage=linkage, distance_threshold=between).fit(iris)
    assert by_height.n_clusters_ == 4
    assert_array_equal(by_height.labels_, by_number.labels_)
    assert by_height.distance_threshold_ == between
    assert by_height.certificates_.named("number of clusters").holds
    if linkage != "ward":
        share = between / pdist(iris).max()
        scaled = AgglomerativeClustering(None, linkage=linkage, scaled_threshold=share).fit(iris)
        assert_allclose(scaled.distance_threshold_, between)
        assert_array_equal(scaled.labels_, by_number.labels_)


@pytest.mark.spec("sangnier/HC-M2")
def test_joins_at_the_threshold_are_made_and_joins_above_are_not():
    X = np.array([[0.0], [1.0], [3.0]])
    for threshold, n_clusters in ((0.0, 3), (0.999, 3), (1.0, 2), (1.999, 2), (2.0, 1)):
        model = AgglomerativeClustering(None, linkage="single", distance_threshold=threshold).fit(X)
        assert model.n_clusters_ == n_clusters
    whole = AgglomerativeClustering(None, linkage="complete", scaled_threshold=1.0)
    assert whole.fit(X).n_clusters_ == 1
    assert whole.fit(X.astype(np.float32)).n_clusters_ == 1


@pytest.mark.spec("sangnier/HC-M2")
def test_exactly_one_rule_of_stopping_is_set(iris):
    for rules in (
        {"n_clusters": None},
        {"n_clusters": 2, "distance_threshold": 1.0},
        {"n_clusters": None, "distance_threshold": 1.0, "scaled_threshold": 0.5},
    ):
        with pytest.raises(ValueError, match="Exactly one of 'n_clusters', 'distance_threshold' and"):
            AgglomerativeClustering(**rules).fit(iris)
    with pytest.raises(ValueError, match=r"'scaled_threshold' parameter .* must be None with linkage='ward'"):
        AgglomerativeClustering(None, scaled_threshold=0.5).fit(iris)


@each_linkage
@pytest.mark.spec("sangnier/HC-M3", "wei/M10.6")
def test_a_cut_by_number_or_height_is_that_of_scipy(linkage, rng):
    X = rng.normal(size=(80, 2))
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    Z = model.linkage_matrix_
    for n_clusters in (1, 2, 5, 79, 80):
        labels = model.cut(n_clusters)
        assert len(np.unique(labels)) == n_clusters
        assert_array_equal(np.bincount(labels), np.sort(np.bincount(labels))[::-1])
        if linkage in MONOTONE:
            reference = hierarchy.cut_tree(Z, n_clusters)[:, 0]
            assert adjusted_rand_score(labels, reference) == 1.0
    if linkage in MONOTONE:
        for height in np.quantile(Z[:, 2], [0.1, 0.5, 0.97]):
            reference = hierarchy.fcluster(Z, height, "distance")
            assert adjusted_rand_score(model.cut(height=height), reference) == 1.0


@each_linkage
@pytest.mark.spec("sangnier/HC-T4", "sangnier/HC-M1")
def test_partitions_are_nested_from_single_rows_to_one_cluster(linkage, iris):
    model = AgglomerativeClustering(3, linkage=linkage).fit(iris)
    finer = None
    for level, labels in enumerate(model.partitions()):
        assert len(np.unique(labels)) == len(iris) - level
        if finer is not None:
            # Each finer cluster lies in one coarser cluster.
            pairs = {*zip(finer.tolist(), labels.tolist(), strict=True)}
            assert len(pairs) == len(iris) - level + 1
        finer = labels
    assert_array_equal(model.cut(3), model.labels_)


@pytest.mark.spec("sangnier/HC-T4")
def test_heights_never_fall_but_for_centroid_and_median_inversions(rng):
    for linkage in MONOTONE:
        heights = AgglomerativeClustering(linkage=linkage).fit(rng.normal(size=(200, 3))).distances_
        assert np.all(np.diff(heights) >= 0)
    # Two corners of a nearly equilateral triangle join; their midpoint is nearer to the third.
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    for linkage in ("centroid", "median"):
        model = AgglomerativeClustering(linkage=linkage).fit(triangle)
        assert_allclose(model.distances_, [1.0, 0.9])
        assert model.certificates_.holds


@pytest.mark.spec("sangnier/HC-T4", "douc/M8.9")
def test_the_ward_height_of_scipy_is_the_root_of_twice_the_increase_of_inertia(iris):
    model = AgglomerativeClustering(3).fit(iris)
    Z = hierarchy.linkage(iris, "ward")
    assert_allclose(model.distances_, Z[:, 2])
    assert_allclose(model.join_costs_, Z[:, 2] ** 2 / 2)
    spans = model.tree_.spans
    for join in (0, 70, 120, 147, 148):
        A, B = (iris[spans.members(node)] for node in model.children_[join])
        assert_allclose(model.join_costs_[join], ward_distance(A, B), rtol=1e-9, atol=1e-12)


@pytest.mark.spec("douc/M8.9", "sangnier/HC-M1")
def test_ward_distance_is_the_increase_of_the_within_sum_of_squares(rng):
    A, B = rng.normal(size=(7, 3)), rng.normal(size=(4, 3)) + 1.0
    both = np.vstack([A, B])
    one = inertia(both, np.zeros(11))
    assert_allclose(ward_distance(A, B), one - inertia(A, np.zeros(7)) - inertia(B, np.zeros(4)))
    assert_allclose(ward_distance(A, B), 7 * 4 / 11 * ((A.mean(axis=0) - B.mean(axis=0)) ** 2).sum())
    weights = rng.integers(1, 4, size=7)
    assert_allclose(ward_distance(A, B, weight_a=weights), ward_distance(np.repeat(A, weights, axis=0), B))
    assert_allclose(ward_distance(A + 1e8, B + 1e8), ward_distance(A, B), rtol=1e-6)


@pytest.mark.spec("sangnier/HC-T3")
def test_ward_costs_add_up_to_the_inertia_of_every_partition(iris):
    model = AgglomerativeClustering(3).fit(iris)
    curve = model.inertia_curve_
    assert curve[-1] == 0.0
    for n_clusters in (1, 2, 3, 10, 75, 149):
        assert_allclose(curve[n_clusters - 1], inertia(iris, model.cut(n_clusters)), rtol=1e-9)
    assert_allclose(model.join_costs_.sum(), ((iris - iris.mean(axis=0)) ** 2).sum())


@pytest.mark.spec("sangnier/HC-T3")
def test_the_printed_distortion_counts_one_cluster_twice(iris):
    # The course sums I(C_1) + I(C_1) + … + I(C_m): only with each cluster once do the costs telescope.
    model = AgglomerativeClustering(4).fit(iris)
    parts = [inertia(iris[model.labels_ == k], np.zeros(np.sum(model.labels_ == k))) for k in range(4)]
    made = model.join_costs_[: len(iris) - 4].sum()
    assert_allclose(sum(parts), made)
    assert abs(parts[0] + sum(parts) - made) > 0.1 * made


@pytest.mark.spec("sangnier/HC-T3")
@pytest.mark.parametrize("n_clusters", [2, 3, 5, 8])
def test_k_means_from_ward_centres_is_never_worse(n_clusters, blobs, iris):
    for X in (iris, blobs[:500]):
        ward = AgglomerativeClustering(n_clusters).fit(X)
        started = KMeans(n_clusters, init=ward.cluster_centers_, tol=0).fit(X)
        assert started.inertia_ <= ward.inertia_curve_[n_clusters - 1] * (1 + 1e-12)
        restarted = KMeans(n_clusters, n_init=10, random_state=0).fit(X)
        best = min(started.inertia_, restarted.inertia_)
        # Close to the best that k-means finds, and not below it.
        assert best * (1 - 1e-9) <= ward.inertia_curve_[n_clusters - 1] <= 1.35 * best


@pytest.mark.spec("sangnier/HC-T1", "sangnier/HC-M5", "sangnier/HC-M4")
def test_single_linkage_is_kruskal_is_the_cut_of_any_minimum_spanning_tree(rng):
    X = rng.normal(size=(70, 2))
    D = squareform(pdist(X))
    model = AgglomerativeClustering(linkage="single").fit(X)
    accepted = kruskal(D)
    assert_allclose(model.distances_, accepted.weight, rtol=1e-12)
    for algorithm in (prim, boruvka, reverse_delete):
        assert_allclose(algorithm(D).total_weight, model.distances_.sum())
    # Each join joins the two clusters that hold the ends of the edge that Kruskal accepts.
    spans = model.tree_.spans
    for join, (first, second) in enumerate(accepted.edges):
        left, right = (spans.members(node) for node in model.children_[join])
        assert (first in left and second in right) or (first in right and second in left)
    for n_clusters in (2, 6, 30):
        assert adjusted_rand_score(model.cut(n_clusters), spanning_tree_clusters(accepted, n_clusters)) == 1.0


def rectangles(rng):
    """Two uniform rectangles."""
    left = rng.uniform([0, 0], [1, 2], size=(100, 2))
    right = rng.uniform([2, 0], [3, 2], size=(100, 2))
    return np.vstack([left, right]), np.repeat([0, 1], 100)


def drawn_as_found(model, X):
    """The whole dendrogram tells the tree of SciPy, and shows the clusters of the model below its line."""
    drawn = read_dendrogram(model.plot(kind="dendrogram", max_leaves=len(X)))
    order = model.leaf_order_
    expected = squareform(hierarchy.cophenet(hierarchy.linkage(X, model.linkage)))
    assert_allclose(drawn.cophenetic, expected[np.ix_(order, order)], rtol=1e-7, atol=1e-12)
    assert adjusted_rand_score(drawn.groups(), model.labels_[order]) == 1.0
    return drawn


@each_linkage
@pytest.mark.spec("sangnier/HC-F1")
def test_every_linkage_parts_two_rectangles_far_enough_apart(linkage, rng):
    X, truth = rectangles(rng)
    X[truth == 1, 0] += 2.0
    model = AgglomerativeClustering(2, linkage=linkage).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    # The two rectangles stand side by side, each in a colour of its own.
    assert np.count_nonzero(np.diff(truth[model.leaf_order_])) == 1
    if linkage in MONOTONE:  # where joins may lie below earlier ones, brackets cross
        drawn = drawn_as_found(model, X)
        assert len(set(zip(drawn.colors, truth[model.leaf_order_], strict=True))) == 2


@pytest.mark.spec("sangnier/HC-F2")
def test_in_one_rectangle_single_linkage_chains_and_the_others_cut_it_into_parts_of_a_size(rng):
    X = rng.uniform([0, 0], [3, 2], size=(300, 2))
    for linkage in ("single", "complete", "average", "ward"):
        model = AgglomerativeClustering(3, linkage=linkage).fit(X)
        drawn = drawn_as_found(model, X)
        sizes = np.unique(drawn.groups(), return_counts=True)[1]
        assert_array_equal(np.sort(sizes)[::-1], np.bincount(model.labels_))
        heights = np.unique(drawn.cophenetic)[1:]
        # No structure: no join is twice as high as the one before, which would tell a number of clusters.
        assert np.max(heights[-5:] / heights[-6:-1]) < 2.0
        if linkage == "single":
            # Rows join the one chain one by one or in small groups: each of the last joins has a small side.
            assert sizes.max() >= 290
            assert heights[-1] < 3 * np.median(heights)
        else:
            assert sizes.min() >= 25
            assert heights[-1] > 10 * np.median(heights)


@each_linkage
@pytest.mark.spec("sangnier/HC-F3")
def test_every_linkage_finds_gaussian_clusters_and_the_dendrogram_shows_how_many(linkage, rng):
    centers = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    truth = np.repeat(np.arange(4), 60)
    X = centers[truth] + rng.normal(size=(240, 2)) * 0.7
    model = AgglomerativeClustering(4, linkage=linkage).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert model.distances_[-3] > 2.0 * model.distances_[-4]
    if linkage in MONOTONE:
        drawn = drawn_as_found(model, X)
        assert model.distances_[-4] < drawn.cut < model.distances_[-3]
        assert len(set(zip(drawn.colors, truth[model.leaf_order_], strict=True))) == 4


@pytest.mark.spec("sangnier/HC-P1")
def test_a_thin_line_of_points_chains_two_clusters_under_single_linkage_only(rng):
    ends = np.array([[-6.0, 0.0], [6.0, 0.0]])
    truth = np.repeat([0, 1], 80)
    X = ends[truth] + rng.normal(size=(160, 2)) * 0.8
    line = np.column_stack([np.linspace(-5, 5, 40), np.zeros(40)])
    both = np.vstack([X, line])
    chained = AgglomerativeClustering(2, linkage="single").fit(both)
    assert np.bincount(chained.labels_)[0] >= 195
    for linkage in ("ward", "average"):
        model = AgglomerativeClustering(2, linkage=linkage).fit(both)
        assert adjusted_rand_score(truth, model.labels_[:160]) > 0.95
    assert adjusted_rand_score(truth, AgglomerativeClustering(2, linkage="single").fit(X).labels_) == 1.0


@each_linkage
@pytest.mark.spec("wei/M10.6")
def test_cophenetic_distances_and_their_correlation_are_those_of_scipy(linkage, iris):
    model = AgglomerativeClustering(linkage=linkage).fit(iris)
    correlation, distances = hierarchy.cophenet(model.linkage_matrix_, pdist(iris))
    assert_allclose(model.tree_.cophenetic_distances(), distances)
    assert_allclose(model.cophenetic_correlation(iris), correlation)


@each_linkage
def test_weights_are_repetitions_of_rows(linkage, rng):
    X = rng.normal(size=(60, 3))
    weight = rng.integers(0, 4, size=60)
    weighted = AgglomerativeClustering(4, linkage=linkage).fit(X, sample_weight=weight)
    repeated = AgglomerativeClustering(4, linkage=linkage).fit(np.repeat(X, weight, axis=0))
    kept = np.flatnonzero(weight)
    assert_array_equal(weighted.leaf_rows_, kept)
    assert_allclose(weighted.distances_, repeated.distances_[-(len(kept) - 1) :], rtol=1e-9)
    assert_array_equal(np.repeat(weighted.labels_, weight), repeated.labels_)
    assert_array_equal(weighted.labels_[weight == 0], weighted.predict(X[weight == 0]))
    assert weighted.certify(X, sample_weight=weight).holds
    assert_allclose(
        weighted.cophenetic_correlation(X, sample_weight=weight),
        repeated.cophenetic_correlation(np.repeat(X, weight, axis=0)),
    )


def test_fractional_weights_of_ward_keep_the_inertia(rng):
    X, weight = rng.normal(size=(50, 2)), rng.exponential(size=50)
    model = AgglomerativeClustering(3).fit(X, sample_weight=weight)
    mean = np.average(X, axis=0, weights=weight)
    assert_allclose(model.inertia_curve_[0], weight @ ((X - mean) ** 2).sum(axis=1))


@pytest.mark.parametrize("linkage", PAIRWISE)
def test_predict_gives_the_cluster_of_the_nearest_leaf(linkage, iris, rng):
    model = AgglomerativeClustering(3, linkage=linkage).fit(iris)
    new = iris[:40] + 0.3 * rng.normal(size=(40, 4))
    nearest = cdist(new, iris).argmin(axis=1)
    assert_array_equal(model.predict(new), model.labels_[nearest])
    assert_array_equal(model.predict(iris), model.labels_)
    given = AgglomerativeClustering(3, linkage=linkage, metric="precomputed").fit(cdist(iris, iris))
    assert_array_equal(given.predict(cdist(new, iris)), model.labels_[nearest])


@pytest.mark.parametrize("linkage", ["ward", "centroid", "median"])
def test_predict_gives_the_cluster_of_the_nearest_centre(linkage, iris, rng):
    model = AgglomerativeClustering(3, linkage=linkage).fit(iris)
    means = np.array([iris[model.labels_ == k].mean(axis=0) for k in range(3)])
    assert_allclose(model.cluster_centers_, means)
    new = iris[:40] + 0.3 * rng.normal(size=(40, 4))
    assert_array_equal(model.predict(new), cdist(new, means).argmin(axis=1))


@each_linkage
def test_float32_rows_give_the_tree_of_float64(linkage, blobs):
    X = blobs[:300].astype(np.float32)
    single = AgglomerativeClustering(5, linkage=linkage).fit(X)
    double = AgglomerativeClustering(5, linkage=linkage).fit(X.astype(np.float64))
    assert single.distances_.dtype == np.float32
    assert_array_equal(single.labels_, double.labels_)
    assert_allclose(single.distances_, double.distances_, rtol=1e-6)
    assert single.certify(X).holds


@each_linkage
def test_the_tree_does_not_depend_on_the_number_of_threads(linkage):
    X = np.random.default_rng(5).normal(size=(2600, 3))  # several blocks and rounds
    trees = []
    for count in (1, 3):
        with threads(count):
            trees.append(AgglomerativeClustering(5, linkage=linkage).fit(X))
    assert_array_equal(trees[0].children_, trees[1].children_)
    assert_array_equal(trees[0].distances_, trees[1].distances_)


@each_linkage
def test_the_order_of_the_rows_does_not_matter(linkage, blobs, rng):
    X = blobs[:200]
    order = rng.permutation(len(X))
    a = AgglomerativeClustering(6, linkage=linkage).fit(X)
    b = AgglomerativeClustering(6, linkage=linkage).fit(X[order])
    assert_allclose(a.distances_, b.distances_, rtol=1e-9)
    assert adjusted_rand_score(a.labels_[order], b.labels_) == 1.0


def test_only_ward_has_costs_and_inertias(iris):
    model = AgglomerativeClustering(linkage="average").fit(iris)
    for name in ("join_costs_", "inertia_curve_"):
        with pytest.raises(AttributeError, match="linkage='ward'"):
            getattr(model, name)
