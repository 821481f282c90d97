"""Fits of more columns than rows: the span of the rows is the whole problem."""

from __future__ import annotations

import numpy as np
import pytest

from assay.linear import GeneralizedLinear, LogisticRegression
from assay.losses import CrossEntropy
from assay.rows import MemoryRows
from assay.solvers import RowRisk, narrowed

N, D = 40, 260


@pytest.fixture
def table(rng):
    X = rng.normal(size=(N, D)) + 3.0
    X[:, 7] = X[:, 3]  # a column twice, and a row twice: the span is smaller than the number of rows
    X[11] = X[12]
    return X, np.arange(N) % 3


def risk_of(X, y, strength=0.1, weight=None):
    data = MemoryRows(X, (y > 0).astype(float), weight)
    return RowRisk(data, CrossEntropy(shares=False), np.full(X.shape[1], strength), fit_intercept=True)


def test_the_narrow_risk_has_the_values_and_gradients_of_the_whole(table, rng):
    X, y = table
    whole = risk_of(X, y, weight=rng.uniform(0.5, 2, N))
    narrow = narrowed(whole)
    assert narrow is not None
    assert narrow.basis.shape[1] < N < D
    np.testing.assert_allclose(narrow.basis.T @ narrow.basis, np.eye(narrow.basis.shape[1]), atol=1e-12)
    point = rng.normal(size=(narrow.basis.shape[1] + 1, 1))
    one, other = narrow.risk.measure(point), whole.measure(narrow.widen(point))
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(narrow.widen(one.gradient), other.gradient, atol=1e-12)
    np.testing.assert_allclose(narrow.narrow(narrow.widen(point)), point, atol=1e-12)


def test_only_the_same_problem_is_narrowed(table):
    X, y = table
    assert narrowed(risk_of(X, y, strength=0.0)) is None
    assert narrowed(risk_of(X[:, :30], y)) is None
    uneven = risk_of(X, y).with_alpha(np.linspace(0.1, 0.2, D))
    assert narrowed(uneven) is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_wide_fit_is_that_of_newton_steps_on_all_columns(table, n_classes):
    X, y = table
    y = np.minimum(y, n_classes - 1)
    one = LogisticRegression(penalty_strength=0.05).fit(X, y)
    other = LogisticRegression(penalty_strength=0.05, solver="newton").fit(X, y)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=1e-5)
    assert one.certificates_.holds
    assert one.certify(X, y).holds
    assert one.dual_gap_ < 1e-6


def test_a_path_over_wide_rows_is_that_of_its_fits(table):
    X, y = table
    grid = np.array([1.0, 0.1, 0.01])
    path = LogisticRegression().path(X, y, penalty_strengths=grid)
    for strength, coef in zip(grid, path.coef, strict=True):
        fit = LogisticRegression(penalty_strength=strength).fit(X, y)
        np.testing.assert_allclose(coef, fit.coef_, atol=1e-5)
    # tr H (H + λ)⁻¹ of the whole Hessian, by hand.
    risk = risk_of(X, y, 0.1)
    two = LogisticRegression().path(X, y > 0, penalty_strengths=[0.1])
    point = risk.join_point(two.coef[0].T, two.intercept[0])
    hessian = risk.measure(point, hessian=True).hessian
    bare = hessian - np.diag(np.append(np.full(D, 0.1), 0.0))
    assert two.degrees_of_freedom[0] == pytest.approx(np.trace(np.linalg.solve(hessian, bare)), rel=1e-6)


def test_counts_of_wide_rows_are_fitted_in_their_span(table, rng):
    X, _ = table
    y = rng.poisson(3.0, N)
    one = GeneralizedLinear(family="poisson", alpha=0.3).fit(X, y)
    other = GeneralizedLinear(family="poisson", alpha=0.3, solver="newton").fit(X, y)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    assert one.certify(X, y).holds
