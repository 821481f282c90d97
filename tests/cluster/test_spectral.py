"""Spectral clustering: the algorithms of the course, their roundings, and what they show."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import eigh, orthogonal_procrustes
from scipy.spatial.distance import cdist
from sklearn.callback import FitCallback
from sklearn.cluster import SpectralClustering as TheirSpectralClustering
from sklearn.metrics import adjusted_rand_score as agreement

from assay.cluster import KMeans, SpectralClustering
from assay.cluster.spectral.embedding import coordinates
from assay.datasets import Blobs, Rings, TwoMoons
from assay.graphs import (
    eigengap,
    gaussian_graph,
    graph_distance,
    laplacian,
    nearest_neighbors_graph,
    norm_cut,
    partition_basis,
    ratio_cut,
    subspace_distance,
    sweep_cut,
)


@pytest.fixture(scope="module")
def blobs():
    centers = 3.0 * np.array([[0, 0], [1, 0], [0, 1.2]])
    return Blobs(centers=centers, cluster_std=0.7).sample(240, random_state=1)


@pytest.fixture(scope="module")
def moons():
    return TwoMoons(noise_std=0.07).sample(300, random_state=0)


def fitted(X, n_clusters=3, **options):
    return SpectralClustering(n_clusters, random_state=0, **options).fit(X)


def as_the_course_writes_it(W, k, kind):
    """Algorithms 11 to 13 with full matrices: the rows to cluster."""
    degree = W.sum(axis=1)
    if kind == "unnormalized":
        return np.linalg.eigh(laplacian(W))[1][:, :k]
    if kind == "random_walk":
        return eigh(laplacian(W), np.diag(degree))[1][:, :k]  # generalised: HᵀDH = I
    U = np.linalg.eigh(laplacian(W, "symmetric"))[1][:, :k]
    return U / np.linalg.norm(U, axis=1, keepdims=True)


@pytest.mark.spec("sangnier/SG-M11", "sangnier/SG-M12", "sangnier/SG-M13")
@pytest.mark.parametrize("kind", ["unnormalized", "random_walk", "symmetric"])
def test_rows_are_those_of_the_course_up_to_a_rotation(blobs, kind):
    model = fitted(blobs.X, affinity="rbf", gamma=2.0, laplacian=kind)
    W = np.exp(-2.0 * cdist(blobs.X, blobs.X, "sqeuclidean"))
    assert_allclose(model.affinity_matrix_, W, rtol=1e-9)
    expected = as_the_course_writes_it(W, 3, kind)
    rotation, _ = orthogonal_procrustes(model.embedding_, expected)
    assert_allclose(model.embedding_ @ rotation, expected, atol=1e-7 * np.abs(expected).max())
    # k-means on those rows, and of its restarts the one of least cut.
    criterion = ratio_cut if kind == "unnormalized" else norm_cut
    restarts = [KMeans(3, random_state=seed).fit(expected).labels_ for seed in range(10)]
    cuts = [criterion(W, labels).value for labels in restarts]
    assert criterion(W, model.labels_).value <= min(cuts) * (1 + 1e-9)
    assert max(agreement(model.labels_, labels) for labels in restarts) > 0.95
    assert_allclose(model.ratio_cut_, ratio_cut(W, model.labels_).value, rtol=1e-9)
    assert_allclose(model.norm_cut_, norm_cut(W, model.labels_).value, rtol=1e-9)
    assert_allclose(model.cut_, norm_cut(W, model.labels_).cuts.sum(), rtol=1e-9)
    assert criterion(W, model.labels_).value >= model.cut_bound_
    model.certify(blobs.X).require()


@pytest.mark.spec("sangnier/SG-M12")
def test_the_relaxed_solution_has_the_trace_of_the_eigenvalues(blobs):
    model = fitted(blobs.X, affinity="rbf", gamma=2.0)
    W, H = model.affinity_matrix_, model.embedding_
    degree = W.sum(axis=1)
    assert_allclose(H.T @ (degree[:, np.newaxis] * H), np.eye(3), atol=1e-10)
    assert_allclose(np.trace(H.T @ laplacian(W) @ H), model.eigenvalues_.sum(), atol=1e-10)


@pytest.mark.spec("sangnier/SG-M12", "sangnier/SG-F1")
def test_the_default_is_no_worse_than_scikit_learn_on_the_same_graph(blobs):
    W = nearest_neighbors_graph(blobs.X, 8)
    theirs = TheirSpectralClustering(3, affinity="precomputed", random_state=0).fit(W.toarray())
    ours = fitted(W, affinity="precomputed")
    assert ours.norm_cut_ <= norm_cut(W, theirs.labels_).value * (1 + 1e-9)
    assert agreement(ours.labels_, theirs.labels_) > 0.95


@pytest.mark.spec("sangnier/SG-M13")
def test_a_row_of_zeros_stays_one():
    rule = coordinates("symmetric", "kmeans", np.eye(3)[:, :2], np.ones(3))
    assert_allclose(rule.place(np.array([[0.0, 0.0], [3.0, 4.0]])), [[0.0, 0.0], [0.6, 0.8]])


@pytest.mark.spec("sangnier/SG-M14", "sangnier/X21-3A")
@pytest.mark.parametrize("kind", ["random_walk", "symmetric", "unnormalized"])
def test_two_way_cuts_take_the_sign_or_the_best_threshold(moons, kind):
    X = moons.X
    sign = fitted(X, 2, affinity="rbf", gamma=8.0, laplacian=kind, rounding="sign")
    W = sign.affinity_matrix_
    degree = W.sum(axis=1) if kind != "unnormalized" else np.ones(len(X))
    f = eigh(laplacian(W), np.diag(degree))[1][:, 1]
    scale = np.sqrt(degree.sum())
    assert_allclose(np.abs(sign.embedding_[:, 0]), np.abs(scale * f), atol=1e-6)
    assert agreement(sign.labels_, f > 0) == 1.0
    sweep = fitted(X, 2, affinity="rbf", gamma=8.0, laplacian=kind, rounding="sweep")
    best = sweep_cut(W, f, by_size=kind == "unnormalized")
    assert agreement(sweep.labels_, best.labels) == 1.0
    value = "ratio_cut_" if kind == "unnormalized" else "norm_cut_"
    assert sweep.eigenvalues_[1] <= getattr(sweep, value) <= getattr(sign, value)
    for model in (sign, sweep):
        model.certify(X).require()
        assert np.mean(model.predict(X) == model.labels_) > 0.97
    if kind != "unnormalized":
        assert sweep.certificates_.named("NormCut of the sweep").bound == pytest.approx(
            2 * np.sqrt(2 * sweep.eigenvalues_[1]), rel=1e-3
        )


@pytest.mark.spec("sangnier/SG-M15", "sangnier/X21-3B")
def test_weighted_kmeans_minimises_the_distance_to_the_relaxed_solution(blobs, rng):
    model = fitted(blobs.X, affinity="rbf", gamma=2.0, rounding="weighted_kmeans")
    W, U = model.affinity_matrix_, model.eigenvectors_
    degree = W.sum(axis=1)
    H = U / np.sqrt(degree)[:, np.newaxis]

    def three_forms(labels):
        basis = partition_basis(labels, degree)
        projectors = 0.5 * np.linalg.norm(U @ U.T - basis @ basis.T, "fro") ** 2
        inner, spread = 3.0, 0.0
        for j in range(3):
            member = labels == j
            root = np.sqrt(degree[member])
            inner -= root @ (U[member] @ U[member].T) @ root / degree[member].sum()
            center = degree[member] @ H[member] / degree[member].sum()
            spread += degree[member] @ ((H[member] - center) ** 2).sum(axis=1)
        return projectors, inner, spread

    for labels in (model.labels_, rng.integers(0, 3, size=len(H))):
        first, second, third = three_forms(labels)
        assert_allclose([second, third], first, atol=1e-10)
        assert_allclose(subspace_distance(U, partition_basis(labels, degree)), first, atol=1e-10)
    assert_allclose(model.subspace_distance_, three_forms(model.labels_)[0], atol=1e-10)
    # The trace of the rounding is that distance, and falls.
    assert_allclose(model.rounding_trace_[-1], model.subspace_distance_, atol=1e-8)
    assert np.all(np.diff(model.rounding_trace_) <= 1e-12)
    centers = np.array(
        [np.average(H[model.labels_ == j], axis=0, weights=degree[model.labels_ == j]) for j in range(3)]
    )
    assert_allclose(model.embedding_centers_, centers, atol=1e-5 * np.abs(centers).max())
    plain = fitted(blobs.X, affinity="rbf", gamma=2.0)
    assert model.subspace_distance_ <= plain.subspace_distance_ + 1e-12  # what it is for


@pytest.mark.spec("sangnier/X23-2", "sangnier/SG-T8")
def test_plain_kmeans_on_unnormalised_eigenvectors_minimises_their_distance_to_the_partition(blobs, rng):
    model = fitted(blobs.X, affinity="rbf", gamma=2.0, laplacian="unnormalized")
    U = model.eigenvectors_
    for labels in (model.labels_, rng.integers(0, 3, size=len(U))):
        J = np.eye(3)[labels]
        P = J @ np.linalg.inv(J.T @ J) @ J.T
        basis = partition_basis(labels)
        assert_allclose(P, basis @ basis.T, atol=1e-12)
        assert_allclose(P @ basis, basis, atol=1e-12)
        inertia = sum(((U[labels == j] - U[labels == j].mean(axis=0)) ** 2).sum() for j in range(3))
        assert_allclose(0.5 * np.linalg.norm(P - U @ U.T, "fro") ** 2, inertia, atol=1e-10)
        assert_allclose(np.sqrt(2 * (3 - np.trace(P @ U @ U.T))), np.linalg.norm(P - U @ U.T), atol=1e-7)
        rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        assert subspace_distance(basis @ rotation, basis) < 1e-20
    assert_allclose(model.subspace_distance_, model.rounding_trace_[-1], atol=1e-8)


@pytest.mark.spec("sangnier/SG-F1", "sangnier/SG-F2", "sangnier/SG-F3")
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
@pytest.mark.parametrize("law", [TwoMoons(noise_std=0.05), Rings(noise_std=0.06)], ids=["moons", "rings"])
def test_sets_that_are_not_convex_are_found_and_the_gap_says_two(law, affinity):
    X, y = law.sample(400, random_state=2)
    model = fitted(X, 2, affinity=affinity)
    assert agreement(y, model.labels_) == 1.0
    assert agreement(y, KMeans(2, n_init=10, random_state=0).fit(X).labels_) < 0.6
    assert eigengap(model.affinity_matrix_, k_max=6).n_clusters == 2


@pytest.mark.spec("sangnier/SG-F2", "sangnier/SG-F3")
def test_gaussian_blobs_have_a_gap_after_their_number(blobs):
    model = fitted(blobs.X, affinity="rbf", gamma=1.0)
    assert agreement(blobs.y, model.labels_) > 0.85
    assert eigengap(model.affinity_matrix_, k_max=6).n_clusters == 3


@pytest.mark.spec("sangnier/SG-F4")
def test_four_gaussians_on_a_line_have_four_eigenvectors_that_tell_them_apart():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 50)
    X = (2.0 * y + 0.25 * rng.normal(size=200))[:, np.newaxis]
    for affinity, options in (("nearest_neighbors", {}), ("rbf", {"gamma": 2.0})):
        for kind in ("random_walk", "unnormalized"):
            model = fitted(X, 4, affinity=affinity, laplacian=kind, **options)
            assert agreement(y, model.labels_) == 1.0
            assert eigengap(model.affinity_matrix_, laplacian=kind, k_max=8).n_clusters == 4
            # On each Gaussian the eigenvectors are nearly constant.
            spread = [model.embedding_[y == j].std(axis=0).max() for j in range(4)]
            assert max(spread) < 0.15 * np.abs(model.embedding_).max()


@pytest.mark.spec("sangnier/SG-T7")
def test_the_normalised_laplacian_is_stable_as_the_sample_grows_and_the_other_is_not():
    scores, smallest = {}, {}
    for n in (100, 200, 400):
        X, y = Blobs(centers=[[0.0, 0.0], [4.0, 0.0]], cluster_std=1.0).sample(n, random_state=5)
        W = gaussian_graph(X, 0.4, loops=False)
        for kind in ("random_walk", "unnormalized"):
            labels = fitted(W, 2, affinity="precomputed", laplacian=kind).labels_
            scores[kind, n], smallest[kind, n] = agreement(y, labels), np.bincount(labels).min()
    assert min(scores["random_walk", n] for n in (100, 200, 400)) > 0.8
    # RatioCut counts vertices: the second eigenvector of L hides in a row with few neighbours, cut off.
    assert smallest["unnormalized", 100] == smallest["unnormalized", 200] == 1
    assert max(scores["unnormalized", n] for n in (100, 200)) < 0.05


@pytest.mark.spec("sangnier/SG-T7")
def test_what_stays_within_is_reported(blobs):
    model = fitted(blobs.X)
    W = model.affinity_matrix_.toarray()
    expected = [W[np.ix_(model.labels_ == j, model.labels_ == j)].sum() for j in range(3)]
    assert_allclose(model.within_similarity_, expected)
    assert_allclose(
        model.norm_cut_, 3 - (model.within_similarity_ / norm_cut(W, model.labels_).volumes).sum()
    )


@pytest.mark.spec("sangnier/SG-P3")
def test_even_degrees_make_the_laplacians_equivalent():
    angle = 2 * np.pi * np.arange(60) / 60
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([ring, ring + [5.0, 0.0]])
    models = [fitted(X, 2, affinity="rbf", gamma=1.0, laplacian=kind) for kind in _KINDS]
    assert "nearly equivalent" in models[0].degree_report_.recommendation
    for other in models[1:]:
        assert agreement(models[0].labels_, other.labels_) == 1.0
        assert_allclose(models[0].norm_cut_, other.norm_cut_)
    uneven = fitted(np.vstack([0.1 * ring, 3.0 * ring]), 2, affinity="rbf", gamma=1.0)
    assert "random_walk" in uneven.degree_report_.recommendation


_KINDS = ("random_walk", "symmetric", "unnormalized")


@pytest.mark.spec("sangnier/SG-P5")
def test_any_dissimilarity_and_any_graph_may_be_given(moons):
    X = moons.X
    D = cdist(X, X, "cityblock")
    by_name = fitted(X, 2, metric="manhattan")
    by_matrix = fitted(D, 2, metric="precomputed")
    assert_array_equal(by_name.labels_, by_matrix.labels_)
    assert_array_equal(by_matrix.predict(D[:50]), by_name.predict(X[:50]))
    hops = graph_distance(nearest_neighbors_graph(X, 10))
    hops = np.where(np.isfinite(hops), hops, 2 * hops[np.isfinite(hops)].max())
    assert agreement(moons.y, fitted(hops, 2, metric="precomputed", affinity="rbf").labels_) > 0.95
    W = gaussian_graph(X, 0.2)
    for given in (W, sparse.csr_matrix(np.where(W > 0.01, W, 0.0))):
        model = fitted(given, 2, affinity="precomputed")
        assert model.__sklearn_tags__().input_tags.pairwise
        assert np.mean(model.predict(given) == model.labels_) > 0.98
        model.certify(given).require()
        assert model.plot(given).has_data()
    for affinity in ("epsilon", "rbf", "mutual_nearest_neighbors"):
        a = fitted(X, 2, metric="manhattan", affinity=affinity)
        b = fitted(D, 2, metric="precomputed", affinity=affinity)
        assert_array_equal(a.labels_, b.labels_)
        assert_array_equal(a.predict(X[:40] + 0.01), b.predict(cdist(X[:40] + 0.01, X, "cityblock")))


def test_new_rows_go_where_the_eigenvectors_take_them(moons):
    new = TwoMoons(noise_std=0.07).sample(200, random_state=9)
    for affinity in ("nearest_neighbors", "mutual_nearest_neighbors", "epsilon", "rbf"):
        for kind in _KINDS:
            model = fitted(moons.X, 2, affinity=affinity, laplacian=kind)
            if agreement(moons.y, model.labels_) < 0.9:
                continue  # this graph does not show the moons
            assert agreement(new.y, model.predict(new.X)) > 0.9
    # Far from everything, the nearest row decides.
    model = fitted(moons.X, 2, affinity="rbf", gamma=50.0)
    far = np.array([[1e4, 1e4], [-1e4, 0.0]])
    assert_array_equal(model.predict(far), model.labels_[cdist(far, moons.X).argmin(axis=1)])


def test_the_extension_is_exact_at_the_rows_of_a_full_graph(blobs):
    model = fitted(blobs.X, affinity="rbf", gamma=2.0)
    W, H = model.affinity_matrix_, model.embedding_
    extended = (W @ H) / W.sum(axis=1)[:, np.newaxis] / (1 - model.eigenvalues_)
    assert_allclose(extended, H, atol=1e-9)
    assert_array_equal(model.predict(blobs.X), model.labels_)


def test_a_similarity_function_is_the_graph_it_makes(blobs):
    X = blobs.X[:60]
    model = fitted(X, affinity=lambda x, z: float(np.exp(-((x - z) ** 2).sum())))
    same = fitted(X, affinity="rbf", gamma=1.0)
    assert_array_equal(model.labels_, same.labels_)
    assert_array_equal(model.predict(X[:10]), same.predict(X[:10]))
    model.certify(X).require()


def test_landmarks_stand_for_all_rows():
    X, y = TwoMoons(noise_std=0.05).sample(1500, random_state=4)
    model = fitted(X, 2, affinity="rbf", n_landmarks=300)
    assert model.landmarks_.size == 300
    assert model.embedding_.shape == (300, 2)
    assert agreement(y, model.labels_) > 0.97
    model.certify(X).require()
    other = np.setdiff1d(np.arange(1500), model.landmarks_)[0]
    model.labels_[other] = 1 - model.labels_[other]
    assert not model.certify(X).named("rows labelled otherwise").holds
    assert fitted(X[:200], 2, n_landmarks=500).landmarks_ is None


def test_clusters_are_numbered_by_appearance_and_fit_predict_returns_them(blobs):
    model = fitted(blobs.X)
    assert list(dict.fromkeys(model.labels_)) == [0, 1, 2]
    assert model.labels_.dtype == np.int32
    assert_array_equal(fitted(blobs.X).fit_predict(blobs.X), model.labels_)
    assert set(SpectralClustering(1).fit_predict(blobs.X)) == {0}


class StopAtOnce(FitCallback):
    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **options):
        pass

    def on_fit_task_end(self, estimator, context, **options):
        return context.task_name == "iteration"

    def teardown(self, estimator, context):
        pass


def test_a_callback_can_stop_the_iteration():
    X = np.random.default_rng(0).normal(size=(900, 5))  # no thin graph: one cycle is not enough
    model = SpectralClustering(4, random_state=0).set_callbacks(StopAtOnce())
    model.fit(X)
    assert model.n_iter_ == 1
    assert not model.converged_
    assert not model.certificates_.holds
