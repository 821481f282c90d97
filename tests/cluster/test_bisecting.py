"""k-means by bisection: splits, tree, nested partitions, proofs, rows outside memory, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from assay.cluster import AgglomerativeClustering, BisectingKMeans, KMeans, SplitTree
from assay.cluster.kmeans.bisecting import solver as _bisecting_splits
from assay.cluster.kmeans.bisecting.tree import descend, leaf_rows, route, router, survey_rows
from assay.cluster.kmeans.centers import inspect, place, table
from assay.datasets import Blobs
from assay.rows import Block, rows
from assay.theory import optimal_partition


@pytest.fixture(scope="module")
def groups():
    return Blobs(6, 3, random_state=4).sample(900, random_state=4).X


def plain_descent(tree: SplitTree, X):
    labels = np.empty(len(X), dtype=int)
    for i, row in enumerate(X):
        node = 0
        while tree.children[node, 0] >= 0:
            a, b = tree.children[node]
            node = b if ((row - tree.centers[b]) ** 2).sum() < ((row - tree.centers[a]) ** 2).sum() else a
        labels[i] = tree.labels[node]
    return labels


@pytest.mark.spec("sangnier/KM-P2")
def test_partitions_are_nested_and_those_of_kmeans_are_not():
    X = np.array([[0.0], [1.1], [2.0], [3.1]])
    # The best partition into 3 keeps the two middle rows together, which the best into 2 parts.
    best = {k: optimal_partition(X, k) for k in (2, 3)}
    for k in (2, 3):
        found = KMeans(k, init="random", n_init=20, random_state=0).fit(X)
        assert_allclose(found.inertia_, best[k].inertia)
        assert (found.labels_[1] == found.labels_[2]) == (k == 3)
    # Ward has the same criterion, and its partitions are nested: it cannot have both of the best.
    ward = AgglomerativeClustering(2, linkage="ward").fit(X)
    assert len({*zip(ward.cut(2).tolist(), ward.cut(3).tolist(), strict=True)}) == 3
    excess = [ward.inertia_curve_[k - 1] - best[k].inertia for k in (2, 3)]
    assert excess[0] > 0.1
    assert_allclose(excess[1], 0.0, atol=1e-12)
    model = BisectingKMeans(4, random_state=0).fit(X)
    for k in range(2, 5):
        finer, coarser = model.labels_at(k), model.labels_at(k - 1)
        assert len(np.unique(finer)) == k
        for cluster in range(k):
            assert len(np.unique(coarser[finer == cluster])) == 1


@pytest.mark.spec("sangnier/KM-P2")
@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
def test_every_partition_of_the_tree_is_nested_in_the_one_before(groups, strategy):
    model = BisectingKMeans(9, bisecting_strategy=strategy, random_state=1).fit(groups)
    assert_array_equal(model.labels_at(9), model.labels_)
    assert_array_equal(model.labels_at(1), np.zeros(len(groups)))
    for k in range(2, 10):
        finer, coarser = model.labels_at(k), model.labels_at(k - 1)
        split = [c for c in range(k - 1) if len(np.unique(finer[coarser == c])) == 2]
        assert len(split) == 1
        if strategy == "largest_cluster":
            assert (coarser == split[0]).sum() == np.bincount(coarser).max()
        inertia = sum(((groups[finer == c] - groups[finer == c].mean(axis=0)) ** 2).sum() for c in range(k))
        assert_allclose(model.inertia_path_[k - 1], inertia, rtol=1e-3)  # centres are means up to tol
    assert np.all(np.diff(model.inertia_path_) < 0)


def test_each_split_is_a_fixed_point_of_two_means(groups):
    model = BisectingKMeans(6, tol=0.0, random_state=0).fit(groups)
    tree = model.tree_
    below = tree.paths()
    for node in tree.split_nodes:
        inside = groups[np.isin(model.labels_, np.flatnonzero(below[node]))]
        first, second = tree.children[node]
        again = KMeans(2, init=tree.centers[[first, second]], tol=0).fit(inside)
        assert_allclose(again.cluster_centers_, tree.centers[[first, second]], atol=1e-9)
        assert_allclose(again.inertia_, tree.inertias[first] + tree.inertias[second])
    assert_allclose(tree.weights[0], len(groups))
    assert_allclose(tree.inertias[0], ((groups - groups.mean(axis=0)) ** 2).sum())


def test_rows_go_down_the_tree(groups, rng):
    model = BisectingKMeans(6, random_state=0).fit(groups)
    new = rng.uniform(-10, 10, size=(300, 3))
    assert_array_equal(model.predict(new), plain_descent(model.tree_, new))
    assert_array_equal(model.predict(groups), model.labels_)
    assert_array_equal(model.quantize(groups), model.cluster_centers_[model.labels_])
    squares = ((groups - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert_allclose([model.inertia_, -model.score(groups)], squares)


def test_loops_are_those_of_numpy(rng):
    dense = rng.normal(size=(200, 4)) * (rng.uniform(size=(200, 4)) < 0.6)
    tree = BisectingKMeans(5, random_state=0).fit(dense).tree_
    way = router(tree.children, tree.centers, tree.labels)
    centers = tree.centers[tree.leaves]
    for X in (dense, sparse.csr_array(dense), dense.astype(np.float32)):
        features = table(Block(X, None, None, 0))
        labels = np.empty(200, dtype=np.int32)
        descend(features, way, labels)
        assert_array_equal(labels, plain_descent(tree, dense))
        sums, counts, inertias = leaves = np.zeros((5, 4)), np.zeros(5), np.zeros(5)
        scatter = survey_rows(features, np.zeros(4), centers, (centers**2).sum(axis=1), labels, leaves)
        assert_allclose(scatter, (dense**2).sum(), rtol=1e-6)
        assert_array_equal(counts, np.bincount(labels, minlength=5))
        squares = ((dense - centers[labels]) ** 2).sum(axis=1)
        assert_allclose(inertias, np.bincount(labels, squares, minlength=5), rtol=1e-5)
        assert_allclose(sums, [dense[labels == k].sum(axis=0) for k in range(5)], atol=1e-4)


def test_no_worse_than_scikit_learn(groups):
    ours = BisectingKMeans(6, n_init=5, random_state=0).fit(groups)
    with threadpool_limits(1):
        theirs = sklearn.cluster.BisectingKMeans(6, n_init=5, random_state=0).fit(groups)
    assert ours.inertia_ <= 1.001 * theirs.inertia_
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.95


def test_damage_is_found_out(groups):
    def fit():
        return BisectingKMeans(6, random_state=0).fit(groups)

    fit().certify(groups).require()
    model = fit()
    model.labels_[4] = (model.labels_[4] + 1) % 6
    assert "rows off their path" in {item.quantity for item in model.certify(groups).failed}
    model = fit()
    model.inertia_path_[2] *= 1 - 1e-6
    failed = [item.quantity for item in model.certify(groups).failed]
    assert failed == ["largest rise or misstatement of the inertia"]
    model = fit()
    model.inertia_ *= 1 - 1e-6
    assert [item.quantity for item in model.certify(groups).failed] == ["Huygens residual"]
    model = fit()
    model.cluster_centers_ = model.cluster_centers_ + 0.05
    assert "movement of the centres" in {item.quantity for item in model.certify(groups).failed}


def test_a_split_stopped_early_says_so(groups):
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1 iterations of a split"):
        model = BisectingKMeans(6, max_iter=1, init="random", random_state=3).fit(groups)
    assert not model.converged_
    assert [item.quantity for item in model.certificates_.failed] == ["movement of the centres"]


def test_weights_are_repetitions(groups, rng):
    weight = rng.integers(0, 3, size=len(groups))
    a = BisectingKMeans(6, random_state=2).fit(groups, sample_weight=weight)
    b = BisectingKMeans(6, random_state=2).fit(np.repeat(groups, weight, axis=0))
    assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-9)
    assert_allclose(a.inertia_path_, b.inertia_path_)


@pytest.mark.parametrize("leaf_bytes", [2**27, 8000, 0])
def test_parquet_npy_and_dask_give_the_tree_of_memory(groups, tmp_path, monkeypatch, leaf_bytes, rng):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(_bisecting_splits, "LEAF_BYTES", leaf_bytes)
    weight = rng.integers(0, 3, size=len(groups)).astype(float)
    memory = BisectingKMeans(5, random_state=0).fit(groups, sample_weight=weight)
    np.save(tmp_path / "rows.npy", groups)
    columns = {f"x{j}": groups[:, j] for j in range(3)}
    pq.write_table(pa.table({**columns, "w": weight}), tmp_path / "rows.parquet")
    lazy = da.from_array(groups, chunks=(250, 3)), da.from_array(weight, chunks=250)
    for X, w in ((str(tmp_path / "rows.npy"), weight), (str(tmp_path / "rows.parquet"), "w"), lazy):
        other = BisectingKMeans(5, random_state=0).fit(X, sample_weight=w)
        assert_allclose(other.cluster_centers_, memory.cluster_centers_, atol=1e-8)
        assert_array_equal(np.asarray(other.labels_), memory.labels_)
        assert_array_equal(np.asarray(other.labels_at(3)), memory.labels_at(3))
        assert other.certificates_.holds


def test_a_leaf_among_all_rows_is_that_leaf_alone(groups):
    tree = BisectingKMeans(3, random_state=0).fit(groups).tree_
    way = router(tree.children, tree.centers, tree.labels)
    data = rows(groups)
    leaf = leaf_rows(data, way, 1)
    inside = data.map(route, way, dtype=np.int32) == 1
    assert_array_equal(leaf.map(_weight, dtype=float), inside)
    assert leaf.head(10, _weight).sum() == inside[:10].sum()
    assert_array_equal(leaf.take(np.array([3, 5])), groups[[3, 5]])
    centers = place(groups[:2].copy(), groups.mean(axis=0), 3)
    a, b = inspect(leaf, centers), inspect(rows(groups[inside]), centers)
    assert_allclose(a.inertia, b.inertia)
    assert_allclose(a.sums, b.sums, atol=1e-9)


def _weight(block):
    return block.weight


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_rows_give_the_tree_of_dense_rows(rng):
    dense = rng.normal(size=(300, 12)) * (rng.uniform(size=(300, 12)) < 0.3)
    a = BisectingKMeans(4, random_state=1).fit(dense)
    b = BisectingKMeans(4, random_state=1).fit(sparse.csr_array(dense))
    assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-8)
    assert b.certificates_.holds


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], 20, axis=0)
    with pytest.warns(ConvergenceWarning, match="Only 3 of the 5 clusters of BisectingKMeans have rows"):
        model = BisectingKMeans(5, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (3, 2)
    assert_allclose(model.inertia_, 0.0, atol=1e-12)
    with pytest.warns(ConvergenceWarning, match="Only 1 of the 2"):
        assert BisectingKMeans(2).fit(np.ones((6, 2))).tree_.n_leaves == 1
    assert BisectingKMeans(1).fit(X).certify(X).holds


def test_coordinates_of_1e8_and_float32():
    X = Blobs(centers=[[0.0, 0.0], [60.0, 0.0], [0.0, 90.0]]).sample(400, random_state=1).X
    for table_ in (X + 1e8, X.astype(np.float32), (X * 1e8).astype(np.float32)):
        model = BisectingKMeans(3, random_state=0).fit(table_)
        assert model.cluster_centers_.dtype == table_.dtype
        assert model.certify(table_).holds


def test_refusals_are_one_sentence(groups):
    model = BisectingKMeans(3, random_state=0).fit(groups)
    with pytest.raises(ValueError, match=r"from 1 to the number of leaves \(3\). Got 4 instead"):
        model.labels_at(4)
    with pytest.raises(ValueError, match=r"at most the number of distinct rows \(2\)"):
        BisectingKMeans(3).fit(groups[:2])
    with pytest.raises(ValueError, match="certify takes the rows of the fit"):
        model.certify(groups[:7])
