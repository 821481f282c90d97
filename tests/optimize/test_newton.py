"""Newton steps and the top of a spectrum, against SciPy and LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize

from assay.optimize import (
    Smooth,
    gradient_descent,
    logistic_objective,
    newton,
    power_iteration,
    quadratic,
    rayleigh_quotient,
)
from assay.parameters import ParameterError


@pytest.mark.spec("rudi/M2.4")
def test_one_step_solves_a_quadratic(rng):
    root = rng.standard_normal((5, 5))
    f = quadratic(root @ root.T + np.eye(5), rng.standard_normal(5))
    found = newton(f, 100 * rng.standard_normal(5), keep_points=True)
    assert found.n_iter == 1
    assert found.trace.step_sizes[0] == 1
    assert_allclose(found.point, f.minimiser, atol=1e-9)
    assert found.certificates.holds
    # The decrement is twice what the quadratic model, here exact, still promises.
    start = found.trace.points[0]
    g = f.gradient(start)
    assert f.value(start) - f.minimum == pytest.approx(g @ np.linalg.solve(f.hessian(start), g) / 2)


@pytest.mark.spec("rudi/M2.4")
def test_steps_and_decrements_are_those_of_the_formula(rng):
    X = rng.standard_normal((80, 4))
    f = logistic_objective(X, X[:, 0] + rng.standard_normal(80) > 0, 1e-3)
    found = newton(f, np.zeros(4), keep_points=True, max_iter=3, tol=1e-30)
    x = np.zeros(4)
    for point, size in zip(found.trace.points, [*found.trace.step_sizes, 0.0], strict=True):
        assert_allclose(point, x, atol=1e-10)
        x = x - size * np.linalg.solve(f.hessian(x), f.gradient(x))
    last = found.trace.points[-1]
    g = f.gradient(last)
    assert found.decrement == pytest.approx(g @ np.linalg.solve(f.hessian(last), g), rel=1e-6)
    assert found.decrement > 0


@pytest.mark.spec("rudi/M2.4")
def test_logistic_regression_is_solved_in_a_few_damped_steps(rng):
    X = 3 * rng.standard_normal((80, 4))
    f = logistic_objective(X, X[:, 0] + rng.standard_normal(80) > 0, 1e-3)
    found = newton(f, 10 * np.ones(4))
    oracle = optimize.minimize(f.value, np.zeros(4), jac=f.gradient, tol=1e-12)
    assert found.converged
    assert found.n_iter <= 15
    assert found.decrement / 2 <= 1e-12
    assert_allclose(found.point, oracle.x, atol=1e-4)
    assert f.value(found.point) <= oracle.fun + 1e-12
    assert np.all(np.diff(found.trace.values) <= 1e-15)
    assert found.n_iter < gradient_descent(f, 10 * np.ones(4), max_iter=500).n_iter


@pytest.mark.spec("rudi/M2.4")
def test_damping_saves_what_full_steps_lose():
    f = Smooth(
        lambda x: float(np.logaddexp(x[0], -x[0])),
        lambda x: np.tanh(x),
        lambda x: np.diag(1 / np.cosh(x) ** 2),
    )
    found = newton(f, [3.0])
    assert found.converged
    assert found.trace.step_sizes[0] < 1
    assert abs(found.point[0]) < 1e-5
    full = 3.0 - np.tanh(3.0) * np.cosh(3.0) ** 2
    assert abs(full) > 90  # the undamped step overshoots, the next would overflow


def test_a_stopped_newton_does_not_hold(rng):
    X = 3 * rng.standard_normal((80, 4))
    f = logistic_objective(X, X[:, 0] > 0, 1e-3)
    found = newton(f, np.zeros(4), max_iter=2)
    assert not found.converged
    assert not found.certificates.holds


def test_a_singular_hessian_is_shifted():
    f = quadratic(np.diag([1.0, 0.0]), [1.0, 0.0])
    found = newton(f, [5.0, 2.0])
    assert found.converged
    assert found.value == pytest.approx(-0.5)


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_power_iteration_finds_the_maximum_of_the_rayleigh_quotient(d, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    spectrum = np.concatenate([[2.0], rng.uniform(-4.0, 1.0, d - 1)])
    A = (basis * spectrum) @ basis.T
    A = (A + A.T) / 2
    found = power_iteration(A, random_state=seed, tol=1e-9, max_iter=5000)
    assert found.converged
    assert found.certificates.holds
    assert found.value == pytest.approx(2.0, abs=1e-6)  # and not the most negative one, larger in size
    assert abs(found.vector @ basis[:, 0]) == pytest.approx(1.0, abs=1e-6)
    assert np.trace(A) == pytest.approx(spectrum.sum())
    assert all(rayleigh_quotient(A, x) <= found.value + 1e-6 for x in rng.standard_normal((20, d)))


def test_the_residual_bounds_the_distance_to_an_eigenvalue_and_fails_when_stopped(rng):
    root = rng.standard_normal((8, 8))
    A = root @ root.T
    stopped = power_iteration(A, random_state=0, shift=0.0, tol=1e-12, max_iter=2)
    assert not stopped.converged
    assert not stopped.certificates.holds
    assert np.abs(np.linalg.eigvalsh(A) - stopped.value).min() <= stopped.residual
    assert power_iteration(np.zeros((2, 2)), [1.0, 0.0]).value == 0


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: newton(Smooth(lambda x: 0.0, lambda x: x), [0.0]), "objective"),
        (lambda: newton(quadratic([[1.0]], [0.0]), 1.0), "start"),
        (lambda: newton(quadratic([[1.0]], [0.0]), [1.0], tol=-1), "tol"),
        (lambda: power_iteration([[1.0, 2.0], [0.0, 1.0]]), "A"),
        (lambda: power_iteration(np.eye(2), [0.0, 0.0]), "start"),
        (lambda: power_iteration(np.eye(2), max_iter=0), "max_iter"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(make, name):
    with pytest.raises(
        ParameterError, match=rf"(?s)^The '{name}' parameter of \w+ must be .* Got .* instead\.$"
    ):
        make()
