"""The three Laplacians: definitions, quadratic forms, null spaces, and the misprints of the course."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import eigh

from assay.graphs import Scaled, laplacian


def graph(n=14, seed=0, loops=True):
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.5)
    W = np.triu(W, 0 if loops else 1)
    return W + np.triu(W, 1).T


def two_components():
    W = np.zeros((9, 9))
    W[:4, :4], W[4:, 4:] = graph(4, 1) + 0.2, graph(5, 2) + 0.2
    return W


@pytest.mark.spec("sangnier/SG-M10")
@pytest.mark.parametrize("kind", ["unnormalized", "symmetric", "random_walk"])
def test_laplacians_are_their_definitions(kind):
    W = graph()
    D = np.diag(W.sum(axis=1))
    root = np.diag(W.sum(axis=1) ** -0.5)
    expected = {
        "unnormalized": D - W,
        "symmetric": np.eye(14) - root @ W @ root,
        "random_walk": np.eye(14) - np.linalg.inv(D) @ W,
    }[kind]
    assert_allclose(laplacian(W, kind), expected, atol=1e-14)
    assert_allclose(laplacian(sparse.csr_array(W), kind).toarray(), expected, atol=1e-14)


@pytest.mark.spec("sangnier/SG-M10", "sangnier/SG-M7")
def test_loops_change_the_degrees_and_not_the_unnormalised_laplacian():
    W = graph(loops=False)
    looped = W + np.eye(14)
    assert_allclose(laplacian(W), laplacian(looped), atol=1e-14)
    assert np.abs(laplacian(W, "symmetric") - laplacian(looped, "symmetric")).max() > 0.01


@pytest.mark.spec("sangnier/SG-T5")
def test_quadratic_forms_are_sums_of_squared_differences(rng):
    W = graph()
    degree = W.sum(axis=1)
    for _ in range(5):
        u = rng.normal(size=14)
        differences = 0.5 * (W * np.subtract.outer(u, u) ** 2).sum()
        assert_allclose(u @ laplacian(W) @ u, differences)
        v = u / np.sqrt(degree)
        assert_allclose(u @ laplacian(W, "symmetric") @ u, 0.5 * (W * np.subtract.outer(v, v) ** 2).sum())


@pytest.mark.spec("sangnier/SG-T5", "sangnier/X21-3.0")
def test_eigenpairs_of_the_normalised_laplacians_correspond():
    W = graph()
    degree = W.sum(axis=1)
    values, vectors = np.linalg.eigh(laplacian(W, "symmetric"))
    for value, u in zip(values, vectors.T, strict=True):
        h = u / np.sqrt(degree)
        assert_allclose(laplacian(W, "random_walk") @ h, value * h, atol=1e-12)
        assert_allclose(laplacian(W) @ h, value * degree * h, atol=1e-12)
    assert_allclose(values, eigh(laplacian(W), np.diag(degree), eigvals_only=True), atol=1e-12)
    ones = np.ones(14)
    for null, kind in ((ones, "unnormalized"), (ones, "random_walk"), (np.sqrt(degree), "symmetric")):
        assert_allclose(laplacian(W, kind) @ null, 0.0, atol=1e-12)


@pytest.mark.spec("sangnier/X21-3.0")
def test_a_positive_similarity_of_equal_rows_makes_every_degree_positive():
    W = np.zeros((3, 3))
    W[0, 1] = W[1, 0] = 1.0
    with pytest.raises(ValueError, match="vertex 2 has degree 0"):
        laplacian(W, "random_walk")
    assert_allclose(laplacian(W + np.eye(3), "random_walk")[2], 0.0)
    assert_array_equal(laplacian(W)[2], 0.0)  # the unnormalised one needs none


@pytest.mark.spec("sangnier/SG-T5")
def test_the_random_walk_laplacian_is_not_symmetric_nor_is_its_symmetric_part_definite():
    W = np.array([[0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    L_w = laplacian(W, "random_walk")
    assert np.abs(L_w - L_w.T).max() > 0.5
    assert np.linalg.eigvalsh(0.5 * (L_w + L_w.T)).min() < -0.1
    # What is true: L and L_s are symmetric and positive semi-definite, and L_w has the eigenvalues of L_s.
    for kind in ("unnormalized", "symmetric"):
        M = laplacian(W, kind)
        assert_array_equal(M, M.T)
        assert np.linalg.eigvalsh(M).min() > -1e-14
    assert_allclose(
        np.sort(np.linalg.eigvals(L_w).real), np.linalg.eigvalsh(laplacian(W, "symmetric")), atol=1e-7
    )


@pytest.mark.spec("sangnier/SG-T6")
def test_the_null_space_of_the_symmetric_laplacian_is_spanned_by_roots_of_degrees():
    W = two_components()
    degree = W.sum(axis=1)
    for part in (np.arange(9) < 4, np.arange(9) >= 4):
        indicator = part.astype(float)
        assert_allclose(laplacian(W) @ indicator, 0.0, atol=1e-12)
        assert_allclose(laplacian(W, "random_walk") @ indicator, 0.0, atol=1e-12)
        assert_allclose(laplacian(W, "symmetric") @ (np.sqrt(degree) * indicator), 0.0, atol=1e-12)
        printed = laplacian(W, "symmetric") @ (
            indicator / np.sqrt(degree)
        )  # D^{−1/2} 1, as the course has it
        assert np.abs(printed).max() > 0.01


@pytest.mark.parametrize("kind", ["unnormalized", "symmetric"])
def test_the_scaled_form_is_the_laplacian_over_its_scale(kind, rng):
    W = graph()
    for given in (W, sparse.csr_array(W)):
        matrix = Scaled(given, kind)
        expected = laplacian(W, kind)
        vectors = rng.normal(size=(14, 3))
        assert_allclose(matrix.scale * matrix.apply(vectors), expected @ vectors, atol=1e-12)
        assert_allclose(matrix.scale * matrix.apply(vectors[:, 0]), expected @ vectors[:, 0], atol=1e-12)
        assert_allclose(matrix.scale * matrix.toarray(), expected, atol=1e-12)
        assert np.linalg.eigvalsh(matrix.toarray()).max() <= 2.0 + 1e-12


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="The 'kind' parameter of laplacian must be one of"):
        laplacian(np.ones((2, 2)), "signless")
