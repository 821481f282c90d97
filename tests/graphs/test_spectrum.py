"""Minor eigenpairs, and the bounds they put under every partition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh, subspace_angles

from assay.datasets import Blobs, TwoMoons
from assay.graphs import (
    Scaled,
    eigengap,
    epsilon_graph,
    gaussian_graph,
    laplacian,
    minor_eigenpairs,
    n_components_from_spectrum,
    nearest_neighbors_graph,
    norm_cut,
    ratio_cut,
    smallest_on_complement,
    subspace_distance,
    trace_optimum,
)
from assay.graphs.lanczos import lanczos
from assay.graphs.spectrum import is_thin


def graph(n, seed, density=0.5):
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < density)
    return np.triu(W) + np.triu(W, 1).T + 0.1 * np.eye(n)


def partitions(n, k):
    """Every partition of n vertices into k clusters that are not empty."""
    for labels in itertools.product(range(k), repeat=n - 1):
        full = np.array([0, *labels])
        if len(set(full)) == k:
            yield full


@pytest.mark.spec("sangnier/SG-T3")
@pytest.mark.parametrize("which", ["min", "max"])
def test_no_orthonormal_matrix_beats_the_eigenvectors(which, rng):
    C = rng.normal(size=(9, 9))
    C = C + C.T
    values = np.linalg.eigvalsh(C)
    best = trace_optimum(C, 4, which)
    assert_allclose(best.value, values[:4].sum() if which == "min" else values[-4:].sum())
    assert_allclose(best.U.T @ best.U, np.eye(4), atol=1e-12)
    assert_allclose(np.trace(best.U.T @ C @ best.U), best.value)
    sign = 1.0 if which == "min" else -1.0
    for _ in range(200):
        U, _ = np.linalg.qr(rng.normal(size=(9, 4)))
        assert sign * np.trace(U.T @ C @ U) >= sign * best.value - 1e-10


@pytest.mark.spec("sangnier/SG-T4")
@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 2), (2, 3), (3, 3), (4, 4)])
def test_sums_of_eigenvalues_are_below_the_best_of_all_partitions(seed, k):
    W = graph(7, seed)
    for criterion, kind in ((ratio_cut, "unnormalized"), (norm_cut, "symmetric")):
        bound = minor_eigenpairs(W, k, laplacian=kind).values.sum()
        optimum = min(criterion(W, labels).value for labels in partitions(7, k))
        assert 0.0 < bound <= optimum + 1e-12
        assert bound > 0.2 * optimum  # a bound that says something
        # It is the sum of the k least eigenvalues, and not of fewer.
        assert_allclose(bound, np.linalg.eigvalsh(laplacian(W, kind))[:k].sum(), atol=1e-12)


@pytest.mark.spec("sangnier/SG-P4", "sangnier/SG-T5")
@pytest.mark.parametrize("kind", ["symmetric", "unnormalized"])
@pytest.mark.parametrize(
    ("form", "method"), [("sparse", "lanczos"), ("full", "lanczos"), ("sparse", "inverse")]
)
def test_the_iteration_finds_what_the_decomposition_finds(kind, form, method):
    X = TwoMoons(noise_std=0.1).sample(500, random_state=1).X
    W = nearest_neighbors_graph(X, 12) if form == "sparse" else gaussian_graph(X, 0.3)
    found = minor_eigenpairs(W, 6, laplacian=kind, tol=1e-10, method=method)
    assert found.method == method
    assert found.converged
    M = laplacian(W, kind)
    values, vectors = np.linalg.eigh(M.toarray() if sparse.issparse(M) else M)
    scale = Scaled(W, kind).scale
    assert_allclose(found.values, values[:6], atol=1e-10 * scale)
    assert subspace_angles(found.vectors, vectors[:, :6]).max() < 1e-5
    assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-12)
    assert found.residuals.max() <= 1e-10 * scale
    assert values[6] - 1e-10 <= found.next_value <= 1.1 * values[6]


@pytest.mark.parametrize("method", ["lanczos", "inverse"])
def test_multiple_eigenvalues_are_found_as_often_as_they_are_there(method):
    grid = np.stack(np.meshgrid(np.arange(22.0), np.arange(22.0)), axis=-1).reshape(-1, 2)
    W = epsilon_graph(grid, 1.0)  # a square: its eigenvalues come in pairs
    expected = np.linalg.eigvalsh(laplacian(W, "symmetric").toarray())[:6]
    assert expected[2] - expected[1] < 1e-10
    for seed in range(3):
        found = minor_eigenpairs(W, 6, method=method, random_state=seed)
        assert_allclose(found.values, expected, atol=1e-9)


def test_many_components_are_packed_evenly():
    W = sparse.block_diag([np.ones((m, m)) for m in (30, 20, 20, 10)], format="csr")
    found = minor_eigenpairs(W, 2)
    assert found.n_components == 4
    assert found.method == "components"
    assert_allclose(found.values, 0.0)
    volumes = np.ravel(W.sum(axis=1)) @ (found.vectors != 0)
    assert_allclose(volumes, [900.0, 900.0])  # 30² and 20² + 20² + 10²
    assert_allclose(found.vectors.T @ found.vectors, np.eye(2), atol=1e-14)


@pytest.mark.spec("sangnier/SG-T6")
def test_components_then_the_rest_of_the_spectrum():
    W = np.kron(np.eye(3), graph(150, 1, density=0.3))
    values = np.linalg.eigvalsh(laplacian(W, "symmetric"))
    for given in (W, sparse.csr_array(W)):
        found = minor_eigenpairs(given, 7)
        assert_allclose(found.values, values[:7], atol=1e-8)
        assert n_components_from_spectrum(found.values) == found.n_components == 3
        assert np.all(found.values[:3] == 0.0)


@pytest.mark.spec("sangnier/SG-M16")
@pytest.mark.parametrize("kind", ["random_walk", "unnormalized"])
def test_the_eigengap_counts_the_clusters(kind):
    centers = 5.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0]])
    X = Blobs(centers=centers, cluster_std=0.6).sample(400, random_state=0).X
    W = gaussian_graph(X, 1.0)
    found = eigengap(W, laplacian=kind, k_max=9)
    assert found.n_clusters == 5
    L, D = laplacian(W), np.diag(W.sum(axis=1))
    assert_allclose(
        found.values, eigh(L, D if kind == "random_walk" else None, eigvals_only=True)[:10], atol=1e-6
    )
    assert_allclose(found.gaps, np.diff(found.values))
    assert eigengap(nearest_neighbors_graph(X[:80], 10), k_max=6).n_clusters <= 6
    moons = TwoMoons(noise_std=0.06).sample(300, random_state=0).X
    assert eigengap(nearest_neighbors_graph(moons, 10)).n_clusters == 2


@pytest.mark.spec("sangnier/SG-T8", "sangnier/X23-2")
def test_the_subspace_distance_is_half_the_squared_distance_of_projectors(rng):
    for columns in (3, 5):
        U, _ = np.linalg.qr(rng.normal(size=(10, 3)))
        V, _ = np.linalg.qr(rng.normal(size=(10, columns)))
        expected = 0.5 * np.linalg.norm(U @ U.T - V @ V.T, "fro") ** 2
        assert_allclose(subspace_distance(U, V), expected)
        assert_allclose(subspace_distance(V, U), expected)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    assert subspace_distance(U, U @ rotation) < 1e-25  # the span, not the basis
    V, _ = np.linalg.qr(rng.normal(size=(10, 3)))
    assert_allclose(subspace_distance(U, V), 3 - np.trace(U @ U.T @ V @ V.T))
    assert_allclose(np.sqrt(2 * subspace_distance(U, V)), np.linalg.norm(U @ U.T - V @ V.T))


@pytest.mark.parametrize("failure", [0.0, 1e-6])
def test_the_complement_has_no_eigenvalue_below_its_bound(failure, monkeypatch):
    if failure:
        monkeypatch.setattr("assay.graphs.relaxation.FULL", 100)
    X = np.random.default_rng(0).normal(size=(400, 3))
    W = nearest_neighbors_graph(X, 10)
    matrix = Scaled(W, "symmetric")
    values, vectors = np.linalg.eigh(matrix.toarray())
    least = smallest_on_complement(matrix, vectors[:, :4])
    assert values[4] - 0.02 <= least.value <= values[4]
    assert least.failure == failure
    passed_over = smallest_on_complement(matrix, vectors[:, [0, 1, 3]])  # the third was missed
    assert passed_over.value <= values[2]


def test_lanczos_goes_on_when_the_space_is_invariant():
    values = np.repeat([3.0, 2.0, 1.0], 20)
    found = lanczos(
        lambda block: values[:, np.newaxis] * block,
        np.ones((1, 60)),
        2,
        stop=lambda values, residuals: False,
        locked=np.empty((0, 60)),
        n_basis=12,
        max_cycles=2,
    )
    assert_allclose(found.ritz_values[0], 3.0, atol=1e-10)
    assert_allclose(found.vectors @ found.vectors.T, np.eye(2), atol=1e-10)


def test_a_stopped_iteration_says_so():
    X = TwoMoons(noise_std=0.1).sample(900, random_state=1).X
    W = nearest_neighbors_graph(X, 12)
    cut_short = minor_eigenpairs(W, 5, max_iter=1, tol=1e-12)
    assert not cut_short.converged
    assert cut_short.residuals.max() > 1e-12
    for kind in ("unnormalized", "symmetric"):
        stopped = minor_eigenpairs(100.0 * W, 5, laplacian=kind, max_iter=1, tol=1e-12)
        missed = laplacian(100.0 * W, kind) @ stopped.vectors - stopped.vectors * stopped.values
        assert_allclose(stopped.residuals, np.linalg.norm(missed, axis=0), rtol=1e-6, atol=1e-11)
    assert not minor_eigenpairs(W, 5, tol=1e-12, watch=lambda: True).converged


def test_bad_parameters_are_refused():
    for call, name in (
        (lambda: minor_eigenpairs(np.ones((3, 3)), 4), "n_pairs"),
        (lambda: minor_eigenpairs(np.ones((3, 3)), 1, laplacian="cubic"), "laplacian"),
        (lambda: eigengap(np.ones((3, 3)), k_max=3), "k_max"),
        (lambda: trace_optimum(np.eye(3), 4), "n_columns"),
        (lambda: trace_optimum(np.eye(3), 1, "mean"), "which"),
    ):
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            call()
    with pytest.raises(ValueError, match="symmetric"):
        trace_optimum([[0.0, 1.0], [0.0, 0.0]], 1)


def test_graphs_of_the_plane_are_thin_and_others_are_not():
    rng = np.random.default_rng(3)
    plane, space = rng.normal(size=(1500, 2)), rng.normal(size=(1500, 6))
    assert is_thin(nearest_neighbors_graph(plane, 8))
    assert not is_thin(nearest_neighbors_graph(space, 8))
    assert not is_thin(gaussian_graph(plane[:50], 1.0))
    assert minor_eigenpairs(nearest_neighbors_graph(plane, 8), 4).method == "inverse"
    assert minor_eigenpairs(nearest_neighbors_graph(space, 8), 4).method == "lanczos"
