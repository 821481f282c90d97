"""k-medoids: swaps, the alternation of the course, what they certify, and what they refuse."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import KMedian, KMedoids, optimal_medoids
from assay.cluster.medoids.certificates import best_change, cost_bound, dual_value
from assay.rows import threads

NO_WEIGHT = np.empty(0)


@pytest.fixture(scope="module")
def points():
    return make_blobs(300, 3, centers=6, cluster_std=2.0, random_state=4)[0]


def course_alternation(D, medoids, max_iter=100):
    """Assign, then take as medoid of each cluster the best of ALL rows, as the course writes it."""
    medoids, trace = np.array(medoids), []
    for _ in range(max_iter):
        labels = D[medoids].argmin(axis=0)
        trace.append(D[medoids].min(axis=0).sum())
        new = np.array(
            [
                np.argmin([D[labels == k, candidate].sum() for candidate in range(len(D))])
                for k in range(len(medoids))
            ]
        )
        if np.array_equal(new, medoids):
            break
        medoids = new
    return medoids, labels, trace


@pytest.mark.spec("sangnier/KM-M4", "sangnier/KM-T2")
def test_alternation_is_that_of_the_course(points):
    D = cdist(points, points, "sqeuclidean")
    start = [0, 1, 2, 6, 7, 8]
    medoids, labels, trace = course_alternation(D, start)
    model = KMedoids(6, metric="sqeuclidean", method="alternate", init=start).fit(points)
    assert_array_equal(model.medoid_indices_, medoids)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_trace_, trace)
    assert len(trace) > 2
    assert np.all(np.diff(model.inertia_trace_) <= 0)
    assert_array_equal(model.cluster_centers_, points[medoids])


@pytest.mark.spec("sangnier/KM-M4")
def test_the_best_medoid_of_a_cluster_may_lie_in_another():
    # Row 2 lies between rows 0 and 1 but nearer to row 3: it is the best medoid of the cluster {0, 1}.
    D = np.array(
        [
            [0.0, 4.0, 1.5, 5.0, 5.0],
            [4.0, 0.0, 1.5, 5.0, 5.0],
            [1.5, 1.5, 0.0, 1.0, 1.0],
            [5.0, 5.0, 1.0, 0.0, 0.1],
            [5.0, 5.0, 1.0, 0.1, 0.0],
        ]
    )
    model = KMedoids(2, metric="precomputed", method="alternate", init=[0, 3]).fit(D)
    assert_array_equal(model.medoid_indices_, [2, 3])
    assert_allclose(model.inertia_trace_, [5.1, 3.1])  # with members only, 5.1 would be the end


@pytest.mark.spec("sangnier/KM-M4", "sangnier/KM-M7")
@pytest.mark.parametrize("method", ["fasterpam", "pam"])
@pytest.mark.parametrize("seed", range(4))
def test_no_swap_lowers_the_cost_and_the_optimum_is_near(method, seed):
    X = np.random.default_rng(seed).normal(size=(14, 2))
    D = cdist(X, X)
    model = KMedoids(3, method=method, init="random", n_init=5, random_state=seed).fit(X)
    cost = D[model.medoid_indices_].min(axis=0).sum()
    assert_allclose(model.inertia_, cost)
    swapped = [
        D[[*(m for m in model.medoid_indices_ if m != out), into]].min(axis=0).sum()
        for out in model.medoid_indices_
        for into in range(len(X))
    ]
    assert cost <= min(swapped) + 1e-12
    best = optimal_medoids(D, 3)
    assert best.cost <= cost + 1e-12
    assert cost <= 1.1 * best.cost


@pytest.mark.parametrize("n_clusters", [2, 5, 12])
def test_cost_is_no_larger_than_that_of_the_rust_library(points, n_clusters):
    kmedoids = pytest.importorskip("kmedoids", reason="kmedoids is not installed")
    D = cdist(points, points)
    ours = KMedoids(n_clusters, metric="precomputed", init="random", n_init=4, random_state=0).fit(D)
    theirs = min(kmedoids.fasterpam(D, n_clusters, random_state=seed, n_cpu=1).loss for seed in range(4))
    assert ours.inertia_ <= theirs * 1.02
    start = np.arange(n_clusters)
    eager = KMedoids(n_clusters, metric="precomputed", init=start).fit(D)
    their = kmedoids.fasterpam(D, start.astype(np.uint64), n_cpu=1)
    assert_allclose(eager.inertia_, their.loss, rtol=0.02)


def test_precomputed_dissimilarities_give_the_same_medoids(points):
    D = cdist(points, points)
    direct, given = KMedoids(6).fit(points), KMedoids(6, metric="precomputed").fit(D)
    assert_array_equal(direct.medoid_indices_, given.medoid_indices_)
    assert_array_equal(direct.labels_, given.labels_)
    assert not hasattr(given, "cluster_centers_")
    new = points[:20] + 0.1
    assert_array_equal(direct.predict(new), given.predict(cdist(new, points)))
    assert given.certify(D).holds
    with pytest.raises(ValueError, match="medoid_indices_"):
        given.quantize(cdist(new, points))


@pytest.mark.spec("sangnier/KM-M5", "sangnier/KM-T2")
def test_k_median_of_the_course_is_k_medoids_with_the_distance_unsquared(points):
    D = cdist(points, points)
    start = [0, 1, 2, 3, 4, 5]
    medoids, labels, trace = course_alternation(D, start)
    model = KMedian(6, method="alternate", init=start).fit(points)
    assert_array_equal(model.medoid_indices_, medoids)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_trace_, trace)
    assert_allclose(model.inertia_, np.linalg.norm(points - model.quantize(points), axis=1).sum())
    squared = KMedoids(6, metric="sqeuclidean", method="alternate", init=start).fit(points)
    assert not np.array_equal(model.medoid_indices_, squared.medoid_indices_)


@pytest.mark.spec("sangnier/KM-M5")
def test_k_median_is_pulled_less_by_a_far_row_than_squared_distances():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [1000.0]])
    assert KMedian(1).fit(X).cluster_centers_[0, 0] in (2.0, 3.0)
    assert KMedoids(1, metric="sqeuclidean").fit(X).cluster_centers_[0, 0] == 4.0


def test_bound_is_below_the_optimum_and_is_the_linear_relaxation():
    X = np.random.default_rng(1).normal(size=(12, 2))
    D = cdist(X, X)
    n, k = len(X), 3
    best = optimal_medoids(D, k)
    bound = cost_bound(D, NO_WEIGHT, best.medoid_indices, n_steps=400, tol=0.0)
    assert bound.value <= best.cost + 1e-12
    assert_allclose(bound.value, dual_value(D, NO_WEIGHT, bound.multipliers, k))
    # min Σ d_ij x_ij  with  Σ_j x_ij = 1,  x_ij ≤ y_j,  Σ_j y_j = k.
    cost = np.concatenate([D.ravel(), np.zeros(n)])
    rows = np.zeros((n + 1, n * n + n))
    for i in range(n):
        rows[i, i * n : (i + 1) * n] = 1.0
    rows[n, n * n :] = 1.0
    below = np.hstack([np.eye(n * n), -np.tile(np.eye(n), (n, 1))])
    relaxed = linprog(cost, A_ub=below, b_ub=np.zeros(n * n), A_eq=rows, b_eq=[*np.ones(n), k]).fun
    assert bound.value <= relaxed + 1e-9
    assert bound.value >= 0.98 * relaxed


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_any_multipliers_give_a_lower_bound(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    D, weight = cdist(X, X), rng.integers(0, 3, 9).astype(float)
    weight[:k] = 1.0
    multipliers = rng.exponential(size=9) * weight
    best = optimal_medoids(D, k, sample_weight=weight).cost
    assert dual_value(D, weight, multipliers, k) <= best + 1e-12


def test_clear_clusters_are_proved_to_be_optimal():
    X = make_blobs(400, 2, centers=[[0, 0], [20, 0], [0, 20], [20, 20]], random_state=0)[0]
    model = KMedoids(4).fit(X)
    proof = model.certify(X)
    assert proof.holds
    assert proof.named("cost").bound >= (1.0 - 1e-5) * model.inertia_


def test_certificates_see_each_damage(points):
    model = KMedoids(6).fit(points)
    assert model.certify(points).holds
    model.labels_[0] = (model.labels_[0] + 1) % 6
    assert not model.certify(points).named("assignment excess").holds
    model = KMedoids(6).fit(points)
    model.medoid_indices_[0] = (model.medoid_indices_[0] + 1) % len(points)
    failed = {item.quantity for item in model.certify(points).failed}
    assert {"gain of the best swap", "gain of the best medoids", "error of the cost"} <= failed
    model = KMedoids(6).fit(points)
    model.cluster_centers_[0] += 1.0
    assert [item.quantity for item in model.certify(points).failed] == [
        "distance of the centres from their rows"
    ]
    model = KMedoids(6).fit(points)
    model.inertia_trace_ = model.inertia_trace_[::-1].copy()
    assert not model.certify(points).named("largest rise of the cost").holds


def test_the_alternation_need_not_be_swap_optimal(points):
    D = cdist(points, points)
    stuck = KMedoids(6, method="alternate", init=[0, 1, 2, 3, 4, 5]).fit(points)
    assert stuck.certify(points).holds  # it claims no more than best medoids of its clusters
    assert best_change(D, NO_WEIGHT, stuck.medoid_indices_) < 0
    assert KMedoids(6, init=[0, 1, 2, 3, 4, 5]).fit(points).inertia_ < stuck.inertia_


@pytest.mark.parametrize("init", ["build", "k-medoids++", "random"])
@pytest.mark.parametrize("method", ["fasterpam", "pam", "alternate"])
def test_weights_are_repetitions_and_zero_is_absence(points, init, method):
    weight = np.tile([0, 1, 2, 1, 3], 60)
    repeated = np.repeat(points, weight, axis=0)
    first = KMedoids(6, init=init, method=method, random_state=0).fit(points, sample_weight=weight)
    second = KMedoids(6, init=init, method=method, random_state=0).fit(repeated)
    assert_allclose(first.inertia_, second.inertia_, rtol=1e-2)
    assert weight[first.medoid_indices_].all()
    assert first.certify(points, sample_weight=weight).holds
    assert_allclose(first.inertia_, weight @ cdist(points, first.cluster_centers_).min(axis=1), rtol=1e-12)


def test_build_is_the_greedy_choice(points):
    D = cdist(points, points)
    chosen = [int(D.sum(axis=1).argmin())]
    for _ in range(5):
        left = [np.minimum(D[chosen].min(axis=0), D[j]).sum() for j in range(len(D))]
        chosen.append(int(np.argmin(left)))
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1"):
        model = KMedoids(6, method="pam", max_iter=1).fit(points)
    assert_allclose(model.inertia_trace_[0], D[chosen].min(axis=0).sum())
    assert 0.0 < model.optimality_ <= 1.0
    assert not model.converged_


def test_a_function_of_two_rows_is_a_metric(points):
    def chebyshev(x, z):
        return float(np.abs(x - z).max())

    named = KMedoids(4, metric="chebyshev").fit(points[:60])
    called = KMedoids(4, metric=chebyshev).fit(points[:60])
    assert_array_equal(named.medoid_indices_, called.medoid_indices_)
    assert_array_equal(named.predict(points[60:]), called.predict(points[60:]))


def test_result_does_not_depend_on_threads(points):
    X = np.random.default_rng(0).normal(size=(900, 4))
    fits = []
    for count in (1, 2, 3):
        with threads(count):
            fits.append(KMedoids(15, init="random", random_state=1).fit(X))
    for other in fits[1:]:
        assert_array_equal(fits[0].medoid_indices_, other.medoid_indices_)
        assert_array_equal(fits[0].inertia_trace_, other.inertia_trace_)


def test_one_cluster_is_the_best_row(points):
    D = cdist(points, points)
    model = KMedoids(1, init=[7]).fit(points)
    assert model.medoid_indices_[0] == D.sum(axis=1).argmin()
    assert model.certify(points).holds


def test_fewer_distinct_rows_than_clusters_are_said():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    for init in ("build", "k-medoids++", "random"):
        with pytest.warns(ConvergenceWarning, match="Only 3 of the 4 clusters"):
            model = KMedoids(4, init=init, random_state=0).fit(X)
        assert model.inertia_ == 0.0
        assert len(set(model.medoid_indices_)) == 4
    same = np.ones((5, 2))
    with pytest.warns(ConvergenceWarning, match="Only 1 of the 2"):
        assert KMedoids(2).fit(same).inertia_ == 0.0


def test_too_many_clusters_are_refused(points):
    with pytest.raises(ValueError, match=r"'n_clusters' parameter of KMedoids .* \(3\). Got 5"):
        KMedoids(5).fit(points[:3])
    with pytest.raises(ValueError, match="'n_clusters' parameter"):
        KMedoids(3).fit(points[:4], sample_weight=[1, 0, 0, 1])
    assert KMedoids(1).fit(points[:1]).inertia_ == 0.0


@pytest.mark.parametrize(
    ("D", "sentence"),
    [
        (np.array([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "[Nn]egative"),
        (np.ones((2, 3)), "square"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "NaN"),
        (np.array([[1.0, 0.2], [0.2, 1.0]]), "diagonal|similarit"),
    ],
)
def test_matrices_that_are_no_dissimilarities_are_refused(D, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        KMedoids(1, metric="precomputed").fit(D)
    assert "\n" not in str(refusal.value)


def test_functions_that_are_no_dissimilarities_are_refused(points):
    with pytest.raises(ValueError, match="at least 0"):
        KMedoids(2, metric=lambda x, z: float(x @ z)).fit(points[:20])


@pytest.mark.parametrize("init", [[0, 1], [0, 0, 1], [0, 1, 300], [-1, 1, 2], [0.5, 1, 2]])
def test_initial_medoids_that_are_none_are_refused(points, init):
    with pytest.raises(ValueError, match="'init' parameter of KMedoids must be an array of n_clusters=3"):
        KMedoids(3, init=init).fit(points)


def test_initial_medoids_of_weight_zero_are_refused(points):
    with pytest.raises(ValueError, match="rows of positive weight"):
        KMedoids(2, init=[0, 1]).fit(points, sample_weight=np.r_[0.0, np.ones(299)])


def test_other_bad_input_is_refused_in_a_sentence(points, tmp_path):
    with pytest.raises(ValueError, match="NaN"):
        KMedoids(2).fit(np.array([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(ValueError, match="0 sample"):
        KMedoids(2).fit(np.empty((0, 2)))
    with pytest.raises(ValueError, match="sample_weight"):
        KMedoids(2).fit(points, sample_weight=np.ones(5))
    with pytest.raises(ValueError, match="'metric' parameter"):
        KMedoids(2, metric="mahalanobis").fit(points)
    np.save(tmp_path / "rows.npy", points)
    with pytest.raises(ValueError, match=r"all pairs of rows .* KMeans"):
        KMedoids(2).fit(str(tmp_path / "rows.npy"))
    model = KMedoids(2).fit(points)
    with pytest.raises(ValueError, match=r"all pairs of rows .* certify on a sample"):
        model.certify(str(tmp_path / "rows.npy"))
    assert_array_equal(model.predict(str(tmp_path / "rows.npy")), model.labels_)
    with pytest.raises(ValueError, match="certify takes the rows of the fit"):
        model.certify(points[:10])


@pytest.mark.parametrize("scale", [1e8, 1e-8])
def test_scale_changes_nothing(points, scale):
    plain, scaled = KMedoids(6).fit(points), KMedoids(6).fit(points * scale)
    assert_array_equal(plain.medoid_indices_, scaled.medoid_indices_)
    assert scaled.certify(points * scale).holds


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from(["fasterpam", "pam"]))
def test_swap_descent_ends_where_every_swap_was_tried(seed, k, method):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(16, 2)).astype(float)  # many ties and duplicates
    D = cdist(X, X, "cityblock")
    start = rng.choice(16, k, replace=False)
    model = KMedoids(k, metric="precomputed", method=method, init=start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(D)
    assert model.converged_
    cost = D[model.medoid_indices_].min(axis=0).sum()
    others = [[*pair, into] for pair in combinations(model.medoid_indices_, k - 1) for into in range(16)]
    assert all(D[np.array(choice)].min(axis=0).sum() >= cost - 1e-9 for choice in others)
