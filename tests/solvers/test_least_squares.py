"""The pieces of the linear engine, each against a plain computation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from assay.rows import rows
from assay.solvers import (
    by_cholesky,
    by_conjugate_gradient,
    by_dual,
    by_gradient_descent,
    by_triangle,
    minimum_norm,
    moments,
    triangle,
)


@pytest.fixture
def table(rng):
    """Rows that span several blocks, with weights and two targets."""
    X = rng.standard_normal((9000, 40)) + 1e3 * np.arange(40)
    y = X[:, :2] + rng.standard_normal((9000, 2))
    return X, y, rng.uniform(0.5, 2, size=9000)


@pytest.mark.parametrize("center", [True, False])
def test_moments_are_the_weighted_sums(table, center):
    X, y, s = table
    found = moments(rows(X, y, s), center=center)
    mean_x = np.average(X, axis=0, weights=s) if center else np.zeros(40)
    mean_y = np.average(y, axis=0, weights=s) if center else np.zeros(2)
    assert found.weight == pytest.approx(s.sum())
    assert_allclose(found.mean_x, mean_x, rtol=1e-12)
    assert_allclose(found.mean_y, mean_y, rtol=1e-12)
    assert_allclose(found.xx, (X - mean_x).T @ ((X - mean_x) * s[:, None]), rtol=1e-9, atol=1e-7)
    assert_allclose(found.xy, (X - mean_x).T @ ((y - mean_y) * s[:, None]), rtol=1e-9, atol=1e-7)
    assert_allclose(found.yy, np.sum((y - mean_y) ** 2 * s[:, None], axis=0))
    assert not found.constant.any()


def test_moments_of_sparse_rows_are_those_of_dense_rows(rng):
    X = sparse.random(5000, 12, density=0.2, random_state=np.random.RandomState(1), format="csr")
    y, s = rng.standard_normal(5000), rng.uniform(size=5000)
    dense, thin = moments(rows(X.toarray(), y, s), center=True), moments(rows(X, y, s), center=True)
    for ours, theirs in zip(dense, thin, strict=True):
        assert_allclose(ours, theirs, atol=1e-10)


def test_constant_columns_are_recognised_at_any_size(rng):
    X = np.column_stack(
        [rng.standard_normal(500), np.full(500, 1e8 / 3), np.full(500, 1e-8 / 3), np.zeros(500)]
    )
    found = moments(rows(X, X[:, 0]), center=True)
    assert list(found.constant) == [False, True, True, True]
    assert_allclose(found.xx[1:], 0)


def test_triangle_squares_to_the_scatter(table):
    X, y, s = table
    mean = np.average(np.column_stack([X, y]), axis=0, weights=s)
    found = triangle(rows(X, y, s), mean)
    assert found.shape == (42, 42)
    assert_allclose(np.tril(found, -1), 0)
    centred = np.column_stack([X, y]) - mean
    assert_allclose(found.T @ found, centred.T @ (centred * s[:, None]), rtol=1e-8, atol=1e-6)


def test_all_routes_lead_to_the_same_coefficients(rng):
    X, y = rng.standard_normal((300, 6)), rng.standard_normal((300, 2))
    alpha = np.array([0.5, 20.0])
    expected = np.column_stack(
        [np.linalg.solve(X.T @ X + a * np.eye(6), X.T @ y[:, t]) for t, a in enumerate(alpha)]
    )
    data = rows(X, y)
    stats = moments(data, center=False)
    options = {"tol": 1e-13, "max_iter": 5000, "report": lambda coef, intercept: False}
    found = {
        "cholesky": by_cholesky(stats, alpha),
        "triangle": by_triangle(triangle(data, np.zeros(8)), 6, alpha),
        "dual": by_dual(X, y, alpha),
        "descent": by_gradient_descent(stats, alpha, **options)[0],
        "conjugate": by_conjugate_gradient(data, alpha, center=False, **options)[0],
    }
    for name, solution in found.items():
        assert_allclose(solution.coef, expected, atol=1e-9, err_msg=name)
        assert solution.converged


def test_cholesky_declines_what_squaring_would_spoil(rng):
    X = rng.standard_normal((50, 3))
    X = np.column_stack([X, X[:, 0] + 1e-7 * X[:, 1]])
    stats = moments(rows(X, X[:, 0]), center=False)
    assert by_cholesky(stats, np.zeros(1)) is None
    assert by_cholesky(stats, np.ones(1)) is not None


def test_conjugate_gradients_end_after_as_many_steps_as_there_are_distinct_eigenvalues(rng):
    q, _ = np.linalg.qr(rng.standard_normal((40, 6)))
    X = q * np.array([1, 1, 1, 2, 2, 3.0])
    options = {"tol": 1e-10, "max_iter": 100, "report": lambda coef, intercept: False}
    solution, _, _ = by_conjugate_gradient(rows(X, q.sum(axis=1)), np.zeros(1), center=False, **options)
    assert solution.n_iter == 3


def test_gradient_descent_decreases_and_can_be_stopped(rng):
    X, y = rng.standard_normal((100, 4)), rng.standard_normal(100)
    stats = moments(rows(X, y), center=True)
    seen = []
    options = {"tol": 1e-14, "max_iter": 1000}
    solution, trace = by_gradient_descent(
        stats, np.zeros(1), report=lambda coef, intercept: seen.append(coef) or len(seen) == 5, **options
    )
    assert solution.n_iter == 5
    assert not solution.converged
    assert np.all(np.diff(trace) < 0)


@pytest.mark.parametrize("shape", [(8, 3), (3, 8), (5, 5)])
def test_minimum_norm_is_the_pseudo_inverse(rng, shape):
    table, target = rng.standard_normal(shape), rng.standard_normal((shape[0], 2))
    table[:, -1] = table[:, 0]
    found = minimum_norm(table, target)
    assert_allclose(found.coef, np.linalg.pinv(table) @ target, atol=1e-9)
    assert found.rank == min(shape[0], shape[1] - 1)
    assert_allclose(found.row_space.T @ found.row_space, np.eye(found.rank), atol=1e-12)
    assert_allclose(table @ found.row_space @ found.row_space.T, table, atol=1e-10)


def test_nothing_to_learn_from_zeros():
    found = minimum_norm(np.zeros((4, 2)), np.ones((4, 1)))
    assert found.rank == 0
    assert_allclose(found.coef, 0)
