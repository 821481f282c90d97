"""Objectives: derivatives against finite differences, constants against the spectrum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize

from assay.optimize import kernel_ridge_objective, least_squares_objective, logistic_objective, quadratic
from assay.parameters import ParameterError


@pytest.fixture
def table(rng):
    X = rng.standard_normal((30, 4))
    return X, X @ np.arange(1.0, 5.0) + rng.standard_normal(30)


def objectives(X, y):
    labels = np.where(y > np.median(y), "yes", "no")
    K = np.exp(-((X[:, None, 0] - X[None, :, 0]) ** 2))
    return [
        quadratic(X.T @ X, X.T @ y, 3.0),
        least_squares_objective(X, y, 0.3),
        least_squares_objective(X, y, 0.3, mean=False),
        logistic_objective(X, labels, 0.1),
        logistic_objective(X, labels, 0.1, mean=False),
        kernel_ridge_objective(K, y, 0.5),
    ]


@pytest.mark.parametrize("which", range(6))
def test_gradient_and_hessian_are_those_of_finite_differences(table, rng, which):
    f = objectives(*table)[which]
    x = 0.3 * rng.standard_normal(30 if which == 5 else 4)
    assert_allclose(f.gradient(x), optimize.approx_fprime(x, f.value, 1e-7), rtol=1e-4, atol=1e-3)
    slope = np.array([(f.gradient(x + h) - f.gradient(x - h)) / 2e-6 for h in 1e-6 * np.eye(len(x))])
    assert_allclose(f.hessian(x), slope, rtol=1e-5, atol=1e-4)


@pytest.mark.spec("douc/M5.10", "rudi/M3.10")
def test_constants_are_the_ends_of_the_spectrum(table):
    X, y = table
    eigenvalues = np.linalg.eigvalsh(X.T @ X)
    total = least_squares_objective(X, y, 0.3, mean=False)
    assert total.smoothness == pytest.approx(2 * (eigenvalues[-1] + 0.3))
    assert total.strong_convexity == pytest.approx(2 * (eigenvalues[0] + 0.3))
    assert total.condition_number == pytest.approx(total.smoothness / total.strong_convexity)
    mean = least_squares_objective(X, y, 0.3)
    assert mean.smoothness == pytest.approx(2 * (eigenvalues[-1] / 30 + 0.3))
    logistic = logistic_objective(X, y > 0, mean=False)
    assert logistic.smoothness == pytest.approx(eigenvalues[-1] / 4)
    assert logistic.strong_convexity == 0
    assert logistic.condition_number == np.inf
    penalised = logistic_objective(X, y > 0, 0.3)
    assert penalised.smoothness == pytest.approx(eigenvalues[-1] / 30 / 4 + 2 * 0.3)
    assert penalised.strong_convexity == pytest.approx(2 * 0.3)
    assert mean.strong_convexity == pytest.approx(2 * (eigenvalues[0] / 30 + 0.3))
    # The constant is reached at zero, where the curvature of the loss is largest.
    assert np.linalg.eigvalsh(logistic.hessian(np.zeros(4)))[-1] == pytest.approx(logistic.smoothness)
    K = np.exp(-((X[:, None, 0] - X[None, :, 0]) ** 2))
    top = np.linalg.eigvalsh(K)[-1]
    assert kernel_ridge_objective(K, y, 0.5).smoothness == pytest.approx(2 * top * (top + 0.5))
    low = np.linalg.eigvalsh(K + np.eye(30))[0]
    firm = kernel_ridge_objective(K + np.eye(30), y, 0.5)
    assert firm.strong_convexity == pytest.approx(2 * low * (low + 0.5))
    a = np.linspace(-1, 1, 30)
    by_hand = np.sum((y - (K + np.eye(30)) @ a) ** 2) + 0.5 * a @ (K + np.eye(30)) @ a
    assert firm.value(a) == pytest.approx(by_hand)


def test_known_minima_are_those_of_scipy(table):
    X, y = table
    for f in (quadratic(X.T @ X, X.T @ y, 3.0), least_squares_objective(X, y, 0.3)):
        found = optimize.minimize(f.value, np.zeros(4), jac=f.gradient, tol=1e-12)
        assert_allclose(f.minimiser, found.x, atol=1e-6)
        assert f.minimum == pytest.approx(found.fun)


def test_a_quadratic_knows_when_it_has_no_minimum():
    assert quadratic(np.diag([1.0, -1.0]), [0.0, 0.0]).strong_convexity is None
    unbounded = quadratic(np.diag([1.0, 0.0]), [1.0, 1.0])
    assert unbounded.strong_convexity == 0
    assert unbounded.minimum is None
    flat = quadratic(np.diag([1.0, 0.0]), [1.0, 0.0])
    assert_allclose(flat.minimiser, [1.0, 0.0], atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10_000))
def test_the_minimum_of_a_quadratic_is_below_every_value(d, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d))
    f = quadratic(root @ root.T + 0.1 * np.eye(d), rng.standard_normal(d), rng.standard_normal())
    assert all(f.value(x) >= f.minimum - 1e-9 for x in rng.standard_normal((20, d)))
    assert np.linalg.norm(f.gradient(f.minimiser)) < 1e-8


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: quadratic([[1.0, 2.0], [0.0, 1.0]], [1.0, 1.0]), "A"),
        (lambda: quadratic(np.eye(2), np.ones(3)), "A"),
        (lambda: quadratic(np.empty((0, 0)), []), "A"),
        (lambda: least_squares_objective(np.eye(2), [1.0, 2.0], -1.0), "alpha"),
        (lambda: least_squares_objective([1.0, 2.0], [1.0, 2.0]), "X"),
        (lambda: least_squares_objective([[1.0], [np.nan]], [1.0, 2.0]), "X"),
        (lambda: least_squares_objective(np.eye(2), [1.0, 2.0, 3.0]), "y"),
        (lambda: least_squares_objective(np.eye(2), [1.0, np.inf]), "y"),
        (lambda: least_squares_objective(np.eye(2), ["a", "b"]), "y"),
        (lambda: logistic_objective(np.eye(3), [0, 1, 2]), "y"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(make, name):
    with pytest.raises(
        ParameterError, match=rf"(?s)^The '{name}' parameter of \w+ must be .* Got .* instead\.$"
    ):
        make()
