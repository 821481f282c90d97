"""Divisive clustering: the splits of DIANA, and the tree they make."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from assay.cluster import DivisiveClustering
from assay.cluster.hierarchy import divisive as loops
from assay.datasets import us_arrests


def splits_by_definition(D, n_clusters):
    """DIANA as it is written: split the widest cluster, all averages afresh."""
    clusters = [list(range(len(D)))]
    while len(clusters) < n_clusters:
        widest = max(clusters, key=lambda c: D[np.ix_(c, c)].max())
        stay, left = list(widest), []
        averages = [D[i, stay].sum() / (len(stay) - 1) for i in stay]
        left.append(stay.pop(int(np.argmax(averages))))
        while len(stay) > 1:
            gains = [D[i, stay].sum() / (len(stay) - 1) - D[i, left].mean() for i in stay]
            if max(gains) <= 0:
                break
            left.append(stay.pop(int(np.argmax(gains))))
        clusters.remove(widest)
        clusters += [stay, left]
    labels = np.empty(len(D), dtype=int)
    for k, cluster in enumerate(clusters):
        labels[cluster] = k
    return labels


@pytest.mark.spec("wei/M10.7")
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_each_step_splits_the_widest_cluster_as_diana_does(metric, rng):
    X = rng.normal(size=(40, 3))
    D = squareform(pdist(X, metric))
    model = DivisiveClustering(metric=metric).fit(X)
    for n_clusters in (1, 2, 3, 5, 10, 25, 40):
        labels = model.cut(n_clusters)
        assert adjusted_rand_score(labels, splits_by_definition(D, n_clusters)) == 1.0
    given = DivisiveClustering(metric="precomputed").fit(D)
    assert_array_equal(given.children_, model.children_)


@pytest.mark.spec("wei/M10.7")
def test_heights_are_diameters_and_never_fall(iris):
    model = DivisiveClustering(3).fit(iris)
    assert np.all(np.diff(model.distances_) >= 0)
    spans = model.tree_.spans
    for join in (10, 100, 140, 148):
        members = iris[spans.members(150 + join)]
        assert_allclose(model.distances_[join], pdist(members).max())
    assert hierarchy.is_valid_linkage(model.linkage_matrix_)
    labels = list(model.partitions())
    assert [len(np.unique(level)) for level in labels] == list(range(150, 0, -1))


@pytest.mark.spec("wei/M10.7")
def test_the_divisive_coefficient_is_that_of_its_definition():
    X = us_arrests().X
    model = DivisiveClustering(2).fit(X)
    parents = model.tree_.parents[:50]
    expected = np.mean(1 - model.distances_[parents - 50] / model.distances_[-1])
    assert_allclose(model.divisive_coefficient_, expected)
    assert 0.9 < model.divisive_coefficient_ < 1.0
    assert DivisiveClustering(1).fit(np.ones((4, 2))).divisive_coefficient_ == 0.0


def test_clusters_are_split_down_to_a_diameter(iris):
    model = DivisiveClustering(None, distance_threshold=3.0).fit(iris)
    diameters = [pdist(iris[model.labels_ == k]).max() for k in range(model.n_clusters_)]
    assert max(diameters) <= 3.0
    assert model.distances_[150 - model.n_clusters_] > 3.0
    assert model.certify(iris).named("number of clusters").holds
    for rules in ({"n_clusters": None}, {"n_clusters": 2, "distance_threshold": 1.0}):
        with pytest.raises(ValueError, match="Exactly one of 'n_clusters' and 'distance_threshold'"):
            DivisiveClustering(**rules).fit(iris)


def test_clear_clusters_are_found(rng):
    centers = 10 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    truth = np.repeat(np.arange(4), 50)
    X = centers[truth] + 0.5 * rng.normal(size=(200, 2))
    model = DivisiveClustering(4).fit(X)
    assert adjusted_rand_score(model.labels_, truth) == 1.0
    assert_array_equal(model.predict(centers[truth[::50]]), model.labels_[::50])


def test_equal_rows_stay_together_until_nothing_else_is_left():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    model = DivisiveClustering(3).fit(X)
    assert_array_equal(np.unique(model.labels_, return_counts=True)[1], [4, 4, 4])
    assert_array_equal(model.distances_[:9], np.zeros(9))
    assert_array_equal(model.distances_[-2:], [1.0, 5.0])


def test_loops_against_their_twins(rng):
    D = squareform(pdist(rng.normal(size=(25, 2))))
    members = rng.permutation(25)[:12]
    high, first, second = loops.diameter(D, members)
    block = D[np.ix_(members, members)]
    assert high == block.max() == D[first, second]
    sums, new_sums, moved = np.zeros(25), np.zeros(25), np.zeros(25, dtype=bool)
    sums[members] = block.sum(axis=1)
    n_moved = loops.splinter(D, members, sums, new_sums, moved, 0.0)
    left, stay = members[moved[:12]], members[~moved[:12]]
    assert n_moved == left.size
    assert_allclose(sums[members], D[np.ix_(members, stay)].sum(axis=1), atol=1e-12)
    assert_allclose(new_sums[members], D[np.ix_(members, left)].sum(axis=1), atol=1e-12)
    assert loops.part(members, moved, np.empty(25, dtype=np.int64)) == stay.size
    assert_array_equal(members, np.concatenate([stay, left]))
