"""One matrix, two triangles: the factor in one, the Gram matrix in the other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.kernel_machines.kernel_ridge.gram_system import GramSystem


def positive_definite(rng, size, dtype=np.float64):
    A = rng.standard_normal((size, 30))
    return (A @ A.T + np.diag(rng.uniform(1, 2, size))).astype(dtype)


@pytest.mark.parametrize("size", [1, 2, 40, 513])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factor_solve_and_product_share_the_memory_of_the_matrix(rng, size, dtype):
    K = positive_definite(rng, size, dtype)
    matrix = K.copy()
    system = GramSystem(matrix)
    assert system.factor(0.5) == 0
    tolerance = 1e-10 if dtype == np.float64 else 1e-2
    ridge = K + 0.5 * np.eye(size, dtype=dtype)
    assert_allclose(np.tril(matrix), np.linalg.cholesky(ridge), rtol=tolerance, atol=tolerance)
    assert np.array_equal(np.triu(matrix, 1), np.triu(K, 1))
    columns = rng.standard_normal((size, 2)).astype(dtype)
    assert_allclose(system.product(columns), K @ columns, rtol=tolerance, atol=10 * tolerance)
    assert_allclose(system.product(columns[:, :1]), K @ columns[:, :1], rtol=tolerance, atol=10 * tolerance)
    assert_allclose(system.solve(columns), np.linalg.solve(ridge, columns), rtol=tolerance, atol=tolerance)
    assert_allclose(system.restore(), K)


def test_a_second_factor_replaces_the_first(rng):
    K = positive_definite(rng, 30)
    system = GramSystem(K.copy())
    system.factor(1.0)
    system.factor(7.0)
    right = rng.standard_normal((30, 1))
    assert_allclose(system.solve(right), np.linalg.solve(K + 7 * np.eye(30), right))
    assert_allclose(system.inverse_diagonal(), np.diagonal(np.linalg.inv(K + 7 * np.eye(30))))


@pytest.mark.parametrize("size", [40, 700])
@pytest.mark.parametrize("place", [0.0, 0.1, 0.7, 0.999])
def test_the_first_minor_that_is_not_positive_is_named_with_a_direction(rng, size, place):
    K = positive_definite(rng, size)
    row = int(place * size)
    K[row, row] = -1.0
    system = GramSystem(K.copy())
    order = system.factor(0.0)
    assert order == row + 1
    direction, curvature = system.negative_direction(order)
    assert curvature < 0
    assert_allclose(np.linalg.norm(direction), 1.0)
    assert_allclose(direction @ K @ direction, curvature, rtol=1e-8)
