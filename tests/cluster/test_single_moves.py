"""Moves of single rows after Lloyd's iteration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import KMeans
from assay.cluster.kmeans.centers import table
from assay.cluster.kmeans.single_moves import move_rows
from assay.rows import Block


def table_of(seed):
    random = np.random.default_rng(seed)
    n_rows, n_features, n_clusters = random.integers([20, 1, 2], [60, 5, 7])
    return random.normal(size=(n_rows, n_features)) * random.gamma(1.0, size=n_features), int(n_clusters)


def inertia_of(X, labels, weight, n_clusters):
    """By brute force: squares about the means of the clusters."""
    total = 0.0
    for k in range(n_clusters):
        inside, w = X[labels == k], weight[labels == k]
        if w.sum() > 0.0:
            total += float(w @ ((inside - w @ inside / w.sum()) ** 2).sum(axis=1))
    return total


def best_single_move(X, labels, n_clusters):
    """The least inertia of all partitions that differ in one row."""
    least, ones = np.inf, np.ones(len(X))
    for i in range(len(X)):
        for k in set(range(n_clusters)) - {labels[i]}:
            moved = labels.copy()
            moved[i] = k
            least = min(least, inertia_of(X, moved, ones, n_clusters))
    return least


@pytest.mark.parametrize("seed", range(6))
def test_no_move_of_a_single_row_lowers_the_inertia(seed):
    X, n_clusters = table_of(seed)
    model = KMeans(n_clusters, algorithm="hartigan-wong", init="random", n_init=1, random_state=seed).fit(X)
    assert_allclose(model.inertia_, inertia_of(X, model.labels_, np.ones(len(X)), n_clusters), rtol=1e-12)
    assert best_single_move(X, model.labels_, n_clusters) >= model.inertia_ * (1.0 - 1e-10)
    assert_array_equal(model.predict(X), model.labels_)
    assert model.converged_
    assert model.certificates_.holds
    assert model.certify(X).holds


def test_no_restart_is_worse_than_lloyds_and_some_are_better():
    better = 0
    for seed in range(20):
        X, n_clusters = table_of(seed)
        options = {"n_init": 10, "random_state": seed}
        lloyd = KMeans(n_clusters, **options).fit(X)
        model = KMeans(n_clusters, algorithm="hartigan-wong", **options).fit(X)
        assert np.all(model.restart_inertias_ <= lloyd.restart_inertias_ * (1.0 + 1e-9))
        better += np.count_nonzero(model.restart_inertias_ < lloyd.restart_inertias_ * (1.0 - 1e-6))
    assert better > 20


def test_what_is_optimal_for_single_moves_already_stays():
    X = np.concatenate([np.random.default_rng(0).normal(c, 0.1, (30, 2)) for c in (0.0, 5.0, 9.0)])
    lloyd = KMeans(3, random_state=0).fit(X)
    model = KMeans(3, algorithm="hartigan-wong", random_state=0).fit(X)
    assert_array_equal(model.labels_, lloyd.labels_)
    assert_allclose(model.cluster_centers_, lloyd.cluster_centers_, rtol=1e-13)
    assert_allclose(model.inertia_, lloyd.inertia_, rtol=1e-13)


def test_elkan_is_lloyd():
    X, n_clusters = table_of(3)
    elkan, lloyd = (KMeans(n_clusters, algorithm=name, random_state=0).fit(X) for name in ("elkan", "lloyd"))
    assert_array_equal(elkan.labels_, lloyd.labels_)
    assert "gain of the best single move" not in [item.quantity for item in elkan.certify(X)]


def test_a_fixed_point_of_lloyd_that_one_row_can_better_is_not_certified():
    X, start = np.array([[0.0], [1.0], [2.4], [6.0]]), np.array([[0.5], [4.2]])
    lloyd = KMeans(2, init=start, tol=0).fit(X)
    assert_array_equal(lloyd.labels_, [0, 0, 1, 1])
    assert lloyd.certify(X).holds
    model = KMeans(2, init=start, algorithm="hartigan-wong").fit(X)
    assert_array_equal(model.labels_, [0, 0, 0, 1])
    assert model.inertia_ < lloyd.inertia_
    assert model.certify(X).named("gain of the best single move").holds
    reached = ("inertia_", "inertia_trace_", "restart_inertias_", "cluster_weights_")
    for name in ("labels_", "cluster_centers_", *reached):
        setattr(model, name, getattr(lloyd, name))
    failed = model.certify(X).failed
    assert [item.quantity for item in failed] == ["gain of the best single move"]


def test_weights_are_repetitions():
    for seed in range(8):
        X, n_clusters = table_of(seed)
        times = np.random.default_rng(seed).integers(0, 4, size=len(X))
        times[:n_clusters] = 1
        options = {"algorithm": "hartigan-wong", "init": X[:n_clusters]}
        weighted = KMeans(n_clusters, **options).fit(X, sample_weight=times)
        repeated = KMeans(n_clusters, **options).fit(np.repeat(X, times, axis=0))
        assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-11)
        assert_array_equal(np.repeat(weighted.labels_, times), repeated.labels_)
        assert_array_equal(weighted.predict(X), weighted.labels_)
        assert weighted.certify(X, sample_weight=times).holds
        assert repeated.certify(np.repeat(X, times, axis=0)).holds


def test_the_order_of_the_rows_does_not_matter():
    X, n_clusters = table_of(1)
    turned = np.random.default_rng(0).permutation(len(X))
    options = {"algorithm": "hartigan-wong", "init": X[:n_clusters]}
    first, second = KMeans(n_clusters, **options).fit(X), KMeans(n_clusters, **options).fit(X[turned])
    assert_array_equal(first.labels_[turned], second.labels_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_and_dense_rows_make_the_same_moves(dtype):
    random = np.random.default_rng(5)
    X = (random.normal(size=(150, 6)) * (random.uniform(size=(150, 6)) < 0.5)).astype(dtype)
    options = {"algorithm": "hartigan-wong", "init": X[:5]}
    dense, csr = KMeans(5, **options).fit(X), KMeans(5, **options).fit(sparse.csr_array(X))
    assert_array_equal(dense.labels_, csr.labels_)
    assert_allclose(dense.cluster_centers_, csr.cluster_centers_, atol=1e-6 if dtype == np.float32 else 1e-12)
    assert dense.certify(X).holds
    assert csr.certify(sparse.csr_array(X)).holds


@pytest.mark.parametrize("algorithm", ["lloyd", "hartigan-wong"])
@pytest.mark.parametrize("offset", [1e4, 1e7])
def test_rows_far_from_zero_and_of_single_precision_are_certified(offset, algorithm):
    for seed in range(4):
        X, n_clusters = table_of(seed)
        for far in (X + offset, (X + offset / 1e4).astype(np.float32)):
            model = KMeans(n_clusters, algorithm=algorithm, random_state=0).fit(far)
            assert model.converged_
            assert model.certify(far).holds


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_means_follow_every_move(kind):
    random = np.random.default_rng(6)
    X = random.normal(size=(80, 3))
    weight = random.uniform(0.0, 3.0, size=80)
    labels = random.integers(0, 5, size=80).astype(np.int32)
    counts = np.bincount(labels, weight, minlength=5)
    means = np.array([np.average(X[labels == k], axis=0, weights=weight[labels == k]) for k in range(5)])
    state = labels, means, np.square(means).sum(axis=1), counts
    checked, changed = np.zeros(80, np.int64), np.ones(5, np.int64)
    rows = sparse.csr_array(X) if kind == "csr" else X
    inertia = inertia_of(X, labels, weight, 5)
    clock = move_rows(table(Block(rows, None, weight, 0)), np.arange(80), state, checked, changed, 1, False)
    assert clock > 1
    assert inertia_of(X, labels, weight, 5) < inertia
    assert_allclose(counts, np.bincount(labels, weight, minlength=5), rtol=1e-12)
    expected = [np.average(X[labels == k], axis=0, weights=weight[labels == k]) for k in range(5)]
    assert_allclose(means, expected, rtol=1e-10, atol=1e-12)
    assert_allclose(state[2], np.square(means).sum(axis=1), rtol=1e-12)


def test_history_trace_and_iterations():
    X, n_clusters = table_of(4)
    options = {"algorithm": "hartigan-wong", "init": "random", "n_init": 1, "random_state": 4}
    model = KMeans(n_clusters, history=True, **options).fit(X)
    assert len(model.history_.inertia) == 2 * len(model.history_.centers) - 1
    assert np.all(np.diff(model.inertia_trace_) <= 1e-12 * model.inertia_trace_[0])
    assert_array_equal(model.history_.labels[-1], model.labels_)
    assert_array_equal(KMeans(n_clusters, **options).fit(X).labels_, model.labels_)


def test_too_few_iterations_are_said_and_leave_rows_at_their_nearest_centres():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    with pytest.warns(ConvergenceWarning, match="single rows still move. Raise max_iter"):
        model = KMeans(8, algorithm="hartigan-wong", max_iter=3, random_state=0).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 3
    assert_array_equal(model.predict(X), model.labels_)
    assert model.certificates_.named("assignment excess").holds
    assert model.certificates_.named("largest rise of the inertia").holds


@pytest.mark.filterwarnings("ignore:Only 3 of the 5")
def test_copies_make_no_further_clusters():
    X = np.repeat([[0.1, 0.7], [1.3, 0.2], [2.9, 3.3]], 5, axis=0)
    for policy in ("reseed", "keep"):
        model = KMeans(5, algorithm="hartigan-wong", empty_clusters=policy, random_state=0).fit(X)
        assert np.count_nonzero(model.cluster_weights_) == 3
        assert model.certify(X).holds


def test_rows_outside_memory_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((9, 2)) + np.arange(9)[:, np.newaxis])
    with pytest.raises(
        ValueError, match="moves single rows, which must be in memory; take algorithm='lloyd'"
    ):
        KMeans(2, algorithm="hartigan-wong").fit(str(tmp_path / "rows.npy"))
