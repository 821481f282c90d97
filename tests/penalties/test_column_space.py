"""Projection onto the span of the columns of a matrix."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.penalties import ColumnSpace


@pytest.mark.spec("wei/M1.9")
def test_projection_is_the_hat_matrix_of_the_normal_equations(rng):
    X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
    space = ColumnSpace(X)
    hat = X @ np.linalg.inv(X.T @ X) @ X.T
    assert space.rank == 3
    assert_allclose(space.project(y), hat @ y, atol=1e-12)
    assert_allclose(space.hat_matrix(), hat, atol=1e-12)
    assert_allclose(space.leverage(), np.diag(hat), atol=1e-12)
    assert np.sum(space.leverage()) == pytest.approx(3)
    assert_allclose(X.T @ (y - space.project(y)), 0, atol=1e-12)
    assert_allclose(space.project(np.column_stack([y, 2 * y]))[:, 1], 2 * hat @ y, atol=1e-12)


@pytest.mark.spec("wei/M1.9")
def test_without_the_last_transpose_the_formula_is_not_a_projection(rng):
    """X(XᵀX)⁻¹y has no meaning unless n = d, and is no projection even then."""
    X, y = rng.standard_normal((3, 3)), rng.standard_normal(3)
    misprint = X @ np.linalg.inv(X.T @ X)
    assert not np.allclose(misprint @ misprint @ y, misprint @ y)
    assert_allclose(ColumnSpace(X).project(y), y, atol=1e-10)


@pytest.mark.spec("wei/M1.9")
def test_dependent_columns_span_the_same_space(rng):
    X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
    repeated = ColumnSpace(np.column_stack([X, X @ rng.standard_normal((3, 4))]))
    assert repeated.rank == 3
    assert_allclose(repeated.project(y), ColumnSpace(X).project(y), atol=1e-10)
    found = np.linalg.lstsq(repeated.matrix, y)[0]
    assert_allclose(repeated.project(y), repeated.matrix @ found, atol=1e-10)
    assert repeated.contains(X @ np.ones(3))
    assert not repeated.contains(y)


def test_zero_and_wide_matrices(rng):
    y = rng.standard_normal(3)
    assert ColumnSpace(np.zeros((3, 2))).rank == 0
    assert_allclose(ColumnSpace(np.zeros((3, 2))).project(y), 0)
    assert ColumnSpace(rng.standard_normal((3, 9))).rank == 3
    assert_allclose(ColumnSpace(rng.standard_normal((3, 9))).leverage(), 1)
