"""Convex clustering: the minimiser, its proof, its clusters, its path."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from scipy.optimize import minimize
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from assay.cluster import ConvexClustering
from assay.cluster.convex import loops
from assay.cluster.convex.graph import complete_graph
from assay.cluster.convex.path import sorted_centroids, sorted_gap
from assay.cluster.convex.solver import FusionProblem, dual_centroids, duality_gap, fuse

ORDERS = {"l2": 2, "l1": 1, "linf": np.inf}


def objective(X, centroids, weights, penalty, norm, mass=None):
    """The criterion, written out."""
    mass = np.ones(len(X)) if mass is None else mass
    value = 0.5 * mass @ ((X - centroids) ** 2).sum(axis=1)
    for i in range(len(X)):
        for j in range(i):
            apart = np.linalg.norm(centroids[i] - centroids[j], ord=ORDERS[norm])
            value += penalty * mass[i] * mass[j] * weights[i, j] * apart
    return value


def dual_value(X, weights, penalty, norm):
    """The largest value of the dual, from a general solver."""
    if norm == "linf":  # in the plane ‖x‖_∞ = ‖Qx‖₁/√2, Q the rotation by an eighth of a turn
        turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
        return dual_value(X @ turn.T, weights, penalty / np.sqrt(2), "l1")
    first, second = np.triu_indices(len(X), 1)
    radii = penalty * weights[first, second]
    shape = (len(first), X.shape[1])

    def negative(flat):
        dual = flat.reshape(shape)
        forces = np.zeros_like(X)
        np.add.at(forces, first, dual)
        np.add.at(forces, second, -dual)
        gradient = (X - forces)[first] - (X - forces)[second]
        return 0.5 * (forces**2).sum() - (dual * (X[first] - X[second])).sum(), -gradient.ravel()

    if norm == "l1":
        return -minimize(
            negative,
            np.zeros(np.prod(shape)),
            jac=True,
            bounds=[(-radius, radius) for radius in np.repeat(radii, X.shape[1])],
            method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 50000, "ftol": 1e-15, "gtol": 1e-10},
        ).fun
    blocks = np.kron(np.eye(len(first)), np.ones(X.shape[1]))
    balls = {
        "type": "ineq",
        "fun": lambda flat: radii**2 - blocks @ flat**2,
        "jac": lambda flat: -2.0 * blocks * flat,
    }
    start = np.full(np.prod(shape), 1e-4)
    return -minimize(
        negative, start, jac=True, method="SLSQP", constraints=balls, options={"ftol": 1e-11}
    ).fun


@pytest.fixture
def small():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(7, 2)) + 3 * (np.arange(7) % 2)[:, np.newaxis]
    weights = np.triu(rng.uniform(0.2, 1.0, size=(7, 7)), 1)
    return X, weights + weights.T


@pytest.mark.spec("wei/M10.8")
@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
@pytest.mark.parametrize("penalty", [0.05, 0.3])
def test_the_minimum_is_that_of_a_general_solver(small, norm, penalty):
    X, weights = small
    model = ConvexClustering(penalty, norm=norm, weights=weights, tol=1e-9).fit(X)
    assert_allclose(model.objective_, objective(X, model.centroids_, weights, penalty, norm))
    assert_allclose(model.objective_, dual_value(X, weights, penalty, norm), rtol=1e-6)
    assert model.certify(X).require()


@pytest.mark.spec("wei/M10.8")
@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
@pytest.mark.parametrize("weights", ["gaussian_knn", "uniform"])
def test_no_penalty_leaves_rows_alone_and_a_large_one_fuses_all_at_the_mean(norm, weights):
    X = np.random.default_rng(0).normal(size=(25, 3)) + 50
    model = ConvexClustering(0.0, norm=norm, weights=weights, n_neighbors=4)
    alone = model.fit(X)
    assert_allclose(alone.centroids_, X, rtol=1e-15)
    assert_array_equal(np.sort(alone.labels_), np.arange(25))
    assert alone.certificates_.holds
    penalty = model.penalty_max(X)
    together = ConvexClustering(penalty, norm=norm, weights=weights, n_neighbors=4).fit(X)
    assert_array_equal(together.labels_, np.zeros(25))
    assert_allclose(together.centroids_, np.tile(X.mean(axis=0), (25, 1)), atol=1e-12)
    assert together.certificates_.holds


def gaussian_neighbours(X, k, gamma):
    """w_ij = exp(−γ‖x_i − x_j‖²) where one of the two is among the k nearest of the other."""
    squares = np.sum((X[:, None] - X[None, :]) ** 2, axis=2)
    ranks = np.argsort(np.argsort(squares, axis=1), axis=1)
    near = (ranks > 0) & (ranks <= k)
    near |= near.T
    rate = 1 / np.median(squares[np.triu(near)]) if gamma is None else gamma
    return np.where(near, np.exp(-rate * squares), 0.0)


@pytest.mark.spec("wei/M10.8")
@pytest.mark.parametrize("gamma", [None, 0.7])
def test_the_default_weights_are_gaussian_on_nearest_neighbours(gamma):
    X = np.random.default_rng(5).normal(size=(30, 2))
    weights = gaussian_neighbours(X, 5, gamma)
    model = ConvexClustering(0.3, n_neighbors=5, gamma=gamma, tol=1e-9).fit(X)
    given = ConvexClustering(0.3, weights=weights, tol=1e-9).fit(X)
    assert_allclose(model.objective_, objective(X, model.centroids_, weights, 0.3, "l2"), rtol=1e-9)
    assert_allclose(model.objective_, given.objective_, rtol=1e-6)
    assert_allclose(model.centroids_, given.centroids_, atol=1e-3)


@pytest.mark.spec("wei/M10.8")
def test_two_rows_meet_when_the_penalty_is_half_their_distance():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    for penalty in (0.5, 1.0, 2.4):
        model = ConvexClustering(penalty, weights="uniform", tol=1e-12).fit(X)
        assert_allclose(
            model.centroids_, [[0.6 * penalty, 0.8 * penalty], [3 - 0.6 * penalty, 4 - 0.8 * penalty]]
        )
        assert_array_equal(model.labels_, [0, 1])
    fused = ConvexClustering(2.6, weights="uniform").fit(X)
    assert_allclose(fused.centroids_, [[1.5, 2.0]] * 2)
    assert_array_equal(fused.labels_, [0, 0])


@pytest.mark.spec("wei/M10.8")
def test_with_the_first_norm_and_unit_weights_the_coordinates_separate():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3)).round(1)
    whole = ConvexClustering(0.02, norm="l1", weights="uniform").fit(X)
    for j in range(3):
        alone = ConvexClustering(0.02, norm="l1", weights="uniform").fit(X[:, [j]])
        assert_allclose(whole.centroids_[:, [j]], alone.centroids_, atol=1e-12)
    iterated = ConvexClustering(0.02, norm="l1", weights=np.ones((40, 40)), tol=1e-10).fit(X)
    assert_allclose(whole.centroids_, iterated.centroids_, atol=1e-4)
    assert_allclose(whole.objective_, iterated.objective_, rtol=1e-9)
    assert whole.dual_gap_ < 1e-12
    assert adjusted_rand_score(whole.labels_, iterated.labels_) == 1.0


@pytest.mark.spec("wei/M10.8")
def test_the_largest_penalty_of_the_closed_form_is_exact():
    X = np.random.default_rng(2).normal(size=(30, 2))
    model = ConvexClustering(norm="l1", weights="uniform")
    penalty = model.penalty_max(X)
    assert ConvexClustering(penalty * 1.0001, norm="l1", weights="uniform").fit(X).labels_.max() == 0
    assert ConvexClustering(penalty * 0.999, norm="l1", weights="uniform").fit(X).labels_.max() > 0


def test_the_gap_of_the_closed_form_is_that_of_all_pairs():
    rng = np.random.default_rng(3)
    rows, mass = rng.normal(size=(12, 2)), rng.integers(1, 4, size=12).astype(float)
    centroids = sorted_centroids(rows, mass, 0.03)
    graph = complete_graph(12)
    radii = 0.03 * mass[graph.edges[:, 0]] * mass[graph.edges[:, 1]]
    problem = FusionProblem(rows - mass @ rows / mass.sum(), mass, graph.edges, radii, "l1")
    best = fuse(problem, tol=1e-10, max_iter=50000)
    assert_allclose(sorted_gap(rows, mass, 0.03, centroids).primal, best.gap.primal, rtol=1e-8)
    assert sorted_gap(rows, mass, 0.03, centroids).gap < 1e-12
    worse = centroids + 0.05 * rng.normal(size=centroids.shape)
    measured = sorted_gap(rows, mass, 0.03, worse)
    assert measured.gap >= measured.primal - best.gap.primal > 0


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_the_gap_is_the_objective_minus_the_dual_value(small, norm):
    X, weights = small
    rng = np.random.default_rng(5)
    graph = complete_graph(7)
    radii = 0.2 * weights[graph.edges[:, 0], graph.edges[:, 1]]
    problem = FusionProblem(X, np.ones(7), graph.edges, radii, norm)
    dual = rng.normal(size=(len(radii), 2))
    loops.make_feasible(radii, dual, {"l2": 0, "l1": 1, "linf": 2}[norm])
    centroids = X + 0.3 * rng.normal(size=X.shape)
    forces = X - dual_centroids(problem, dual)
    below = (dual * (X[graph.edges[:, 0]] - X[graph.edges[:, 1]])).sum() - 0.5 * (forces**2).sum()
    measured = duality_gap(problem, centroids, dual)
    assert_allclose(measured.primal, objective(X, centroids, weights, 0.2, norm))
    assert_allclose(measured.gap, measured.primal - below)
    assert measured.gap > 0


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_projection_on_the_dual_ball_is_the_nearest_point(norm):
    rng = np.random.default_rng(6)
    code = {"l2": 0, "l1": 1, "linf": 2}[norm]
    order = {"l2": 2, "l1": np.inf, "linf": 1}[norm]
    for radius in (0.0, 0.3, 1.0, 50.0):
        point = 2 * rng.normal(size=5)
        nearest = point.copy()
        loops.project_on_ball(nearest, radius, code)
        assert np.linalg.norm(nearest, ord=order) <= radius * (1 + 1e-12)
        for _ in range(200):
            other = rng.normal(size=5)
            other *= radius * rng.uniform() / np.linalg.norm(other, ord=order)
            assert (point - nearest) @ (other - nearest) <= 1e-10  # obtuse angle: the projection


def test_loops_are_their_numpy_twins():
    rng = np.random.default_rng(7)
    X, edges = rng.normal(size=(6, 3)), complete_graph(6).edges
    dual, radii = rng.normal(size=(15, 3)), rng.uniform(size=15)
    forces = np.empty_like(X)
    loops.gather(edges, dual, forces)
    incidence = np.zeros((15, 6))
    incidence[np.arange(15), edges[:, 0]], incidence[np.arange(15), edges[:, 1]] = 1.0, -1.0
    assert_allclose(forces, incidence.T @ dual)
    differences = incidence @ X
    for code, order in enumerate([2, 1, np.inf]):
        sizes = radii * np.linalg.norm(differences, ord=order, axis=1)
        penalty, slack = loops.edge_terms(X, edges, radii, dual, code)
        assert_allclose(penalty, sizes.sum())
        assert_allclose(slack, np.maximum(sizes - (dual * differences).sum(axis=1), 0).sum())
        ahead, old = dual.copy(), dual.copy()
        steps = np.full(15, 0.1)
        problem = loops.FusionEdges(X, np.ones(6), edges, radii)
        loops.ascend(problem, steps, old, ahead, forces, 1.0, 1, code)
        moved = dual + 0.1 * (incidence @ (X - incidence.T @ dual))
        loops.make_feasible(radii, moved, code)
        assert_allclose(old, moved)


@pytest.mark.spec("wei/M10.8")
def test_blobs_and_moons_are_found_without_a_number_of_clusters():
    X, truth = make_blobs(200, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    model = ConvexClustering().fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    assert_allclose(
        model.cluster_centers_,
        [X[model.labels_ == k].mean(axis=0) for k in range(len(model.cluster_centers_))],
    )
    moons, truth = make_moons(200, noise=0.06, random_state=0)
    assert adjusted_rand_score(truth, ConvexClustering().fit(moons).labels_) > 0.95


@pytest.mark.spec("wei/M10.8")
def test_the_path_fuses_rows_into_a_tree():
    X, _ = make_blobs(40, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=0.5, random_state=1)
    path = ConvexClustering(n_neighbors=6).path(X)
    assert path.n_clusters[0] == 40
    assert path.n_clusters[-1] == 1
    assert_allclose(path.centroids[0], X, rtol=1e-12)
    assert_allclose(path.centroids[-1], np.tile(X.mean(axis=0), (40, 1)), atol=1e-10)
    assert (path.gaps <= 1e-6).all()
    tree = path.linkage()
    assert is_valid_linkage(tree)
    at = int(np.flatnonzero(path.n_clusters == 3)[0])
    assert adjusted_rand_score(fcluster(tree, path.penalties[at], "distance"), path.labels[at]) == 1.0
    single = ConvexClustering(float(path.penalties[at]), n_neighbors=6).fit(X)
    assert_allclose(single.centroids_, path.centroids[at], atol=1e-2)
    assert_array_equal(single.labels_, path.labels[at])


def test_a_path_that_stays_apart_has_no_tree():
    weights = np.zeros((4, 4))
    weights[0, 1] = weights[1, 0] = weights[2, 3] = weights[3, 2] = 1.0
    path = ConvexClustering(weights=weights).path(np.arange(4.0).reshape(-1, 1), [0.0, 10.0])
    assert path.n_clusters[-1] == 2
    with pytest.raises(ValueError, match="ends with 2 clusters"):
        path.linkage()


@pytest.mark.spec("wei/M10.8")
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("weights", ["gaussian_knn", "uniform"])
def test_weights_of_rows_are_repetitions(norm, weights):
    rng = np.random.default_rng(8)
    X, repeats = rng.normal(size=(20, 2)), rng.integers(0, 4, size=20)
    penalty = 0.01 if weights == "uniform" else 0.2
    model = ConvexClustering(penalty, norm=norm, weights=weights, n_neighbors=3, tol=1e-10)
    weighted = model.fit(X, sample_weight=repeats)
    centroids, value = weighted.centroids_, weighted.objective_
    assert weighted.certify(X, sample_weight=repeats).holds
    repeated = model.fit(np.repeat(X, repeats, axis=0))
    assert_allclose(repeated.centroids_, np.repeat(centroids, repeats, axis=0), atol=1e-6)
    assert_allclose(repeated.objective_, value)


def test_each_certificate_fails_when_its_claim_is_false():
    X, _ = make_blobs(60, centers=[[0, 0], [8, 0]], random_state=2)
    model = ConvexClustering().fit(X)
    good, labels = model.centroids_.copy(), model.labels_.copy()
    assert model.certify(X).holds
    model.centroids_ = good + 0.05 * (labels == 0)[:, np.newaxis]
    assert not model.certify(X).named("relative duality gap").holds
    assert not model.certify(X).named("shift of the mean").holds
    model.centroids_ = good + 1e-6 * np.arange(60)[:, np.newaxis]
    assert not model.certify(X).named("spread of centroids within clusters").holds
    model.centroids_, model.dual_ = good, 0.9 * model.dual_
    assert not model.certify(X).named("relative duality gap").holds
    assert not model.certify(X).named("share of joined clusters proven apart").holds


def test_a_solver_stopped_early_says_so_and_is_not_certified():
    X, _ = make_blobs(80, random_state=3)
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=20"):
        model = ConvexClustering(max_iter=20, tol=1e-10).fit(X)
    assert not model.converged_
    assert not model.certificates_.holds


def test_rows_far_from_the_origin_make_the_same_clusters():
    X, _ = make_blobs(60, centers=[[0, 0], [9, 0]], random_state=4)
    near, far = ConvexClustering().fit(X), ConvexClustering().fit(X + 1e8)
    assert_array_equal(near.labels_, far.labels_)
    assert_allclose(far.centroids_ - 1e8, near.centroids_, atol=1e-5)
    assert far.certificates_.holds


def test_duplicates_are_one_row_and_one_row_is_one_cluster():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 10, axis=0)
    model = ConvexClustering(0.0).fit(X)
    assert_array_equal(model.labels_, np.repeat([0, 1], 10))
    same = ConvexClustering().fit(np.full((9, 2), 3.0))
    assert_array_equal(same.labels_, np.zeros(9))
    assert same.certificates_.holds
    one = ConvexClustering().fit([[1.0, 2.0]])
    assert_array_equal(one.predict([[5.0, 5.0]]), [0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((3, 3)), "a square matrix with a row for each of the 4 rows"),
        (np.triu(np.ones((4, 4))), "symmetric"),
        (-np.ones((4, 4)), "at least 0"),
        ("nearest", "'gaussian_knn', 'uniform' or a symmetric matrix"),
        (np.full((4, 4), np.nan), "a symmetric matrix"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    with pytest.raises(ValueError, match=f"The 'weights' parameter of ConvexClustering must be .*{message}"):
        ConvexClustering(weights=weights).fit(np.arange(8.0).reshape(4, 2))


def test_given_weights_may_be_sparse():
    X, _ = make_blobs(30, random_state=5)
    dense = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    dense[dense < 0.01] = 0.0
    first = ConvexClustering(0.1, weights=dense).fit(X)
    second = ConvexClustering(0.1, weights=sparse.csr_array(dense)).fit(X)
    assert_array_equal(first.centroids_, second.centroids_)


def test_bad_requests_are_refused_in_one_sentence(monkeypatch):
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match=r"penalties.*finite numbers at least 0"):
        ConvexClustering().path(X, [-1.0])
    with pytest.raises(ValueError, match="certify takes the rows of the fit"):
        ConvexClustering().fit(X).certify(X[:3])
    with pytest.raises(ValueError, match="sample_weight"):
        ConvexClustering().fit(X, sample_weight=[1.0, 2.0])
    monkeypatch.setattr("assay.cluster.convex.estimator.MAX_DUAL_ENTRIES", 10)
    with pytest.raises(ValueError, match=r"pairs of 6 rows.*gaussian_knn"):
        ConvexClustering(weights="uniform").fit(X)
