"""k-means: the iteration, its start, its end, and what it exposes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sklearn.cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.callback import FitCallback, ProgressBar
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import KMeans
from assay.cluster.kmeans.solver import lloyd
from assay.rows import rows, threads
from assay.theory import optimal_partition, pairwise_criterion, stuck_rectangle, tie_trap, unlucky_rows


class Unwatched:
    def iteration(self, attributes):
        return False


@pytest.mark.spec("rudi/M7.1", "sangnier/KM-M2", "wei/M10.2", "peyre/M4")
@pytest.mark.parametrize("data", ["iris", "blobs", "noise"])
def test_iteration_is_that_of_lloyd(data, request, plain_lloyd):
    X = request.getfixturevalue(data)
    start = X[:12]
    centers, labels, trace = plain_lloyd(X, start)
    model = KMeans(12, init=start, tol=0, empty_clusters="keep").fit(X)
    assert_allclose(model.cluster_centers_, centers, atol=1e-10)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_trace_, trace, rtol=1e-10)
    assert model.converged_
    assert_allclose(model.inertia_, trace[-1])


@pytest.mark.spec("rudi/M7.1")
@pytest.mark.parametrize(("tol", "max_iter"), [(1e-4, 300), (0.0, 300), (1e-2, 300), (0.0, 1), (0.0, 7)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_same_start_same_fit_as_scikit_learn(blobs, tol, max_iter):
    start = blobs[:12]
    ours = KMeans(12, init=start, tol=tol, max_iter=max_iter).fit(blobs)
    theirs = sklearn.cluster.KMeans(
        12, init=start, n_init=1, tol=tol, max_iter=max_iter, algorithm="lloyd"
    ).fit(blobs)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-12)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-10)
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("seed", range(4))
def test_bounds_change_no_label(noise, seed):
    start = noise[np.random.default_rng(seed).choice(len(noise), 30, replace=False)]
    data = rows(noise)
    options = {"tol": 0.0, "max_iter": 40, "empty_clusters": "keep", "watch": Unwatched()}
    bounded = lloyd(data, start, **options, keep_steps=True)
    plain = lloyd(data, start, **options, bounded=False, keep_steps=True)
    assert bounded.n_iter == plain.n_iter
    assert_allclose(bounded.centers, plain.centers, atol=1e-12)
    assert_allclose(bounded.trace, plain.trace, rtol=1e-12)
    for centers, labels in bounded.steps:
        squares = ((noise[:, np.newaxis] - centers) ** 2).sum(axis=2)
        assert_array_equal(labels, squares.argmin(axis=1))


@pytest.mark.spec("rudi/M7.1")
def test_ties_go_to_the_lowest_index():
    X = np.array([[-1.0], [0.0], [1.0]])
    model = KMeans(2, init=[[-1.0], [1.0]], max_iter=1, tol=1.0).fit(X)
    model.cluster_centers_ = np.array([[-1.0], [1.0]])
    assert_array_equal(model.predict([[0.0], [-2.0], [2.0]]), [0, 0, 1])
    model.cluster_centers_ = np.array([[1.0], [1.0]])
    assert_array_equal(model.predict([[0.0], [3.0]]), [0, 0])


@pytest.mark.spec("rudi/M7.1")
def test_predict_transform_and_score(iris):
    model = KMeans(3, random_state=0).fit(iris)
    distances = model.transform(iris)
    assert_allclose(
        distances, np.sqrt(((iris[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)), atol=1e-12
    )
    assert_array_equal(model.predict(iris), distances.argmin(axis=1))
    assert_array_equal(model.predict(iris), model.labels_)
    assert_allclose(-model.score(iris), (distances.min(axis=1) ** 2).sum())
    weight = np.arange(len(iris))
    assert_allclose(-model.score(iris, sample_weight=weight), weight @ distances.min(axis=1) ** 2)
    assert_array_equal(KMeans(3, random_state=0).fit_predict(iris), model.labels_)
    assert list(model.get_feature_names_out()) == ["kmeans0", "kmeans1", "kmeans2"]


@pytest.mark.spec("rudi/M7.2")
def test_every_restart_is_told_by_the_inertia_it_ended_at():
    """Corners of a rectangle 4 × 2: two of the six pairs of starts part them the long way, for ever."""
    X = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]])
    model = KMeans(2, init="random", n_init=300, random_state=0).fit(X)
    inertias, counts = np.unique(model.restart_inertias_.round(9), return_counts=True)
    assert_array_equal(inertias, [4.0, 16.0])  # two halves of 2²/2, or two of 4²/2
    assert abs(counts[1] / 300 - 1 / 3) < 4 * np.sqrt(2 / 9 / 300)
    assert model.inertia_ == 4.0


@pytest.mark.spec("rudi/M7.2", "wei/M10.2")
def test_restarts_keep_the_lowest_inertia(blobs):
    model = KMeans(12, init="random", random_state=0).fit(blobs)
    assert len(model.restart_inertias_) == 10
    assert_allclose(model.inertia_, model.restart_inertias_.min(), rtol=1e-8)
    assert model.inertia_ in model.restart_inertias_
    assert np.ptp(model.restart_inertias_) > 0


@pytest.mark.spec("rudi/T7.3")
def test_inertia_decreases_with_the_number_of_clusters_to_zero():
    X = np.random.default_rng(0).normal(size=(9, 2))
    inertias = [KMeans(k, init="random", n_init=40, random_state=0).fit(X).inertia_ for k in range(1, 10)]
    assert np.all(np.diff(inertias) < 0)
    assert_allclose(inertias[-1], 0.0, atol=1e-20)
    assert_allclose(inertias[0], ((X - X.mean(axis=0)) ** 2).sum())


@pytest.mark.spec("rudi/T7.3")
def test_enough_restarts_find_the_optimum():
    X = np.random.default_rng(3).normal(size=(9, 2))
    model = KMeans(3, init="random", n_init=60, random_state=0).fit(X)
    assert_allclose(model.inertia_, optimal_partition(X, 3).inertia)


@pytest.mark.spec("sangnier/KM-T5", "rudi/T7.4")
@pytest.mark.parametrize(
    "trap", [stuck_rectangle(5.0), stuck_rectangle(50.0), tie_trap(), unlucky_rows(300.0)]
)
def test_lloyd_stays_in_a_trap(trap):
    model = KMeans(len(trap.init), init=trap.init, tol=0).fit(trap.X)
    assert model.converged_
    assert_allclose(model.inertia_, trap.stuck_inertia, rtol=1e-12)
    assert_allclose(optimal_partition(trap.X, len(trap.init)).inertia, trap.optimal_inertia, rtol=1e-12)


@pytest.mark.spec("sangnier/KM-T3", "wei/T10.1")
def test_anova_of_the_partition(blobs):
    model = KMeans(12, random_state=0).fit(blobs)
    table = model.anova_
    means = np.array([blobs[model.labels_ == k].mean(axis=0) for k in range(12)])
    assert_allclose(table.within, ((blobs - means[model.labels_]) ** 2).sum())
    assert_allclose(table.between, model.cluster_weights_ @ ((means - blobs.mean(axis=0)) ** 2).sum(axis=1))
    assert_allclose(table.total, ((blobs - blobs.mean(axis=0)) ** 2).sum())
    assert table.residual < 1e-13
    for part in ("within", "between"):  # the identity can fail
        moved = replace(table, **{part: 1.01 * getattr(table, part)})
        assert_allclose(moved.residual, 0.01 * getattr(table, part) / table.total, rtol=1e-9)
    assert_allclose(table.explained, 1 - table.within / table.total)


@pytest.mark.spec("douc/M8.8", "wei/T10.1")
def test_pairwise_form_is_twice_the_inertia(iris):
    model = KMeans(3, random_state=0, tol=0).fit(iris)
    assert_allclose(pairwise_criterion(iris, model.labels_), model.anova_.pairwise)
    assert_allclose(model.anova_.pairwise, 2 * model.inertia_)


@pytest.mark.spec("peyre/M4", "peyre/T2", "rudi/T7.1", "douc/T8.6")
def test_history_keeps_every_step(blobs):
    model = KMeans(12, init=blobs[:12], tol=0, history=True).fit(blobs)
    steps = model.history_
    assert steps.centers.shape == (model.n_iter_, 12, 5)
    assert steps.labels.shape == (model.n_iter_, len(blobs))
    assert len(steps.inertia) == 2 * model.n_iter_ - 1
    assert np.all(np.diff(steps.inertia) <= 1e-9)
    assert_array_equal(steps.centers[0], blobs[:12])
    assert_array_equal(steps.labels[-1], model.labels_)
    for t in range(model.n_iter_):
        inertia = ((blobs - steps.centers[t][steps.labels[t]]) ** 2).sum()
        assert_allclose(steps.inertia[2 * t], inertia)
        if t + 1 < model.n_iter_:
            moved = ((blobs - steps.centers[t + 1][steps.labels[t]]) ** 2).sum()
            assert_allclose(steps.inertia[2 * t + 1], moved)
            assert moved < inertia, "each half-step before the last lowers the energy"


@pytest.mark.spec("sangnier/KM-M6")
def test_weights_are_repetitions_of_rows(rng):
    X = rng.normal(size=(60, 3))
    weight = rng.integers(0, 4, size=60)
    order = rng.permutation(60)
    repeated = np.repeat(X, weight, axis=0)
    for init in ("k-means++", "farthest", "random"):
        weighted = KMeans(5, init=init, random_state=7).fit(X[order], sample_weight=weight[order])
        again = KMeans(5, init=init, random_state=7).fit(repeated)
        assert_allclose(weighted.cluster_centers_, again.cluster_centers_, atol=1e-12)
        assert_allclose(weighted.inertia_, again.inertia_)
        assert_allclose(weighted.cluster_weights_, again.cluster_weights_)
        assert_allclose(weighted.anova_.total, again.anova_.total)


@pytest.mark.spec("sangnier/KM-M6")
def test_weighted_iteration_is_that_of_lloyd(blobs, rng, plain_lloyd):
    weight = rng.exponential(size=len(blobs)) ** 3
    weight[::7] = 0.0
    centers, labels, trace = plain_lloyd(blobs, blobs[1:13], weight=weight)
    model = KMeans(12, init=blobs[1:13], tol=0).fit(blobs, sample_weight=weight)
    assert_allclose(model.cluster_centers_, centers, atol=1e-9)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_trace_, trace, rtol=1e-10)


@pytest.mark.spec("sangnier/KM-T4")
def test_the_mean_is_the_unique_best_centre(rng):
    X, weight = rng.normal(size=(30, 4)), rng.uniform(size=30)
    model = KMeans(1).fit(X, sample_weight=weight)
    assert_allclose(model.cluster_centers_[0], np.average(X, axis=0, weights=weight))
    for _ in range(20):
        other = model.cluster_centers_[0] + 0.1 * rng.normal(size=4)
        more = weight.sum() * ((other - model.cluster_centers_[0]) ** 2).sum()  # > 0: no other is as good
        assert_allclose(weight @ ((X - other) ** 2).sum(axis=1), model.inertia_ + more)


@pytest.mark.spec("sangnier/KM-M2", "wei/M10.2", "peyre/M4")
def test_an_empty_cluster_is_reseeded_kept_or_an_error():
    X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [30.0]])
    start = np.array([[1.0], [10.0], [1000.0]])
    reseeded = KMeans(3, init=start).fit(X)
    assert np.all(reseeded.cluster_weights_ > 0)
    assert_array_equal(np.sort(reseeded.cluster_centers_.ravel()), [1.0, 9.5, 30.0])
    assert reseeded.certificates_.holds
    kept = KMeans(3, init=start, empty_clusters="keep").fit(X)
    assert kept.cluster_centers_[2] == 1000.0
    assert kept.cluster_weights_[2] == 0.0
    assert kept.certificates_.holds
    with pytest.raises(ValueError, match="Cluster 2 of KMeans has lost its last row"):
        KMeans(3, init=start, empty_clusters="error").fit(X)


def test_many_empty_clusters_are_reseeded_at_once(blobs, rng):
    start = np.repeat(blobs[:1], 20, axis=0)
    weight = rng.uniform(0.5, 2.0, size=len(blobs))
    for model in (KMeans(20, init=start).fit(blobs), KMeans(20, init=start).fit(blobs, sample_weight=weight)):
        assert np.all(model.cluster_weights_ > 0)
        assert model.certificates_.holds


def test_float32_stays_float32_and_is_decided_in_float64(blobs):
    X = blobs.astype(np.float32)
    model = KMeans(12, init=X[:12], tol=0).fit(X)
    assert model.cluster_centers_.dtype == np.float32
    assert model.transform(X).dtype == np.float32
    squares = ((X.astype(float)[:, np.newaxis] - model.cluster_centers_.astype(float)) ** 2).sum(axis=2)
    assert_array_equal(model.labels_, squares.argmin(axis=1))
    assert_allclose(model.inertia_, squares.min(axis=1).sum(), rtol=1e-10)
    assert model.certificates_.holds


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_give_the_fit_of_dense_rows(dtype, rng):
    dense = rng.normal(size=(400, 30)).astype(dtype) * (rng.uniform(size=(400, 30)) < 0.2)
    for init in (dense[:6], "k-means++", "farthest", "random"):
        a = KMeans(6, init=init, random_state=1).fit(dense)
        b = KMeans(6, init=init, random_state=1).fit(sparse.csr_array(dense))
        assert_array_equal(a.labels_, b.labels_)
        assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-6)
        assert_allclose(a.inertia_, b.inertia_, rtol=1e-9)
        assert b.certificates_.holds
        assert b.certify(sparse.csr_matrix(dense)).holds
    assert_allclose(b.transform(sparse.csr_array(dense)), a.transform(dense), atol=1e-3)


def test_result_does_not_depend_on_the_number_of_threads():
    X = np.random.default_rng(5).normal(size=(9000, 60))  # several blocks
    fits = []
    for count in (1, 2, 3):
        with threads(count):
            fits.append(KMeans(9, random_state=0, tol=1e-2).fit(X))
    for other in fits[1:]:
        assert_array_equal(fits[0].cluster_centers_, other.cluster_centers_)
        assert_array_equal(fits[0].labels_, other.labels_)
        assert fits[0].inertia_ == other.inertia_


def test_order_of_the_rows_does_not_matter(blobs, rng):
    order = rng.permutation(len(blobs))
    for init in ("k-means++", "farthest", "random"):
        a = KMeans(12, init=init, random_state=3).fit(blobs)
        b = KMeans(12, init=init, random_state=3).fit(blobs[order])
        assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-9)
        assert_array_equal(a.labels_[order], b.labels_)


def test_stopped_early_it_says_so(blobs):
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=2"):
        model = KMeans(12, init=blobs[:12], max_iter=2).fit(blobs)
    assert not model.converged_
    assert model.n_iter_ == 2
    assert not model.certificates_.named("movement of the centres").holds


class StopAfter(FitCallback):
    """Ask to stop at a given iteration."""

    def __init__(self, n_iterations):
        self.n_iterations = n_iterations
        self.seen = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **options):
        pass

    def on_fit_task_end(self, estimator, context, **options):
        if context.task_name != "iteration":
            return False
        self.seen.append(context.task_id)
        return len(self.seen) >= self.n_iterations

    def teardown(self, estimator, context):
        pass


def test_a_callback_sees_iterations_and_can_stop_the_fit(blobs):
    callback = StopAfter(3)
    model = KMeans(12, init=blobs[:12], tol=0)
    model.set_callbacks(callback)
    model.fit(blobs)
    assert len(callback.seen) == 3
    assert model.n_iter_ == 3
    assert not model.converged_
    assert not model.certificates_.holds


def test_a_progress_bar_shows_the_restarts(blobs):
    model = KMeans(12, init="random", n_init=3, random_state=0)
    model.set_callbacks(ProgressBar())
    model.fit(blobs)
    assert model.converged_


@settings(max_examples=25, deadline=None)
@given(
    X=arrays(np.float64, st.tuples(st.integers(6, 40), st.integers(1, 4)), elements=st.integers(-6, 6)),
    n_clusters=st.integers(1, 5),
    seed=st.integers(0, 3),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_fit_on_a_grid_is_a_fixed_point(X, n_clusters, seed):
    model = KMeans(n_clusters, random_state=seed, tol=0).fit(X)
    model.certify(X).require()
    squares = ((X[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
    assert_allclose(squares.min(axis=1).sum(), model.inertia_, atol=1e-9)
    assert np.count_nonzero(model.cluster_weights_) == min(n_clusters, len(np.unique(X, axis=0)))
