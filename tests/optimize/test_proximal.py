"""Proximal, splitting and conditional-gradient methods reach known minima and keep their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from sklearn.linear_model import Lasso

from assay.optimize import (
    Smooth,
    accelerated_rate,
    admm,
    admm_certificates,
    convex_rate,
    frank_wolfe,
    frank_wolfe_certificates,
    frank_wolfe_rate,
    least_squares_objective,
    logistic_objective,
    proximal_gradient,
    proximal_newton,
    quadratic,
)
from assay.parameters import ParameterError
from assay.penalties import L1, Ball, Box, ConvexHull, GroupL2, L1Ball, Simplex, SquaredNorm


@pytest.fixture
def regression(rng):
    X = rng.standard_normal((80, 10))
    y = X[:, :3] @ [2.0, -1.0, 0.5] + 0.3 * rng.standard_normal(80)
    return X, y


def lasso(X, y, alpha):
    return (
        Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000, random_state=0).fit(X, y).coef_
    )


@pytest.mark.parametrize(
    "options",
    [
        {"accelerated": False},
        {},
        {"monotone": True},
        {"restart": True},
        {"step": "backtracking"},
        {"step": "backtracking", "accelerated": False},
        {"step": 0.02, "accelerated": False},
    ],
)
def test_every_variant_finds_the_lasso(regression, options):
    X, y = regression
    f = least_squares_objective(X, y)
    found = proximal_gradient(f, L1(0.4), np.zeros(10), tol=1e-9, max_iter=20_000, **options)
    assert found.converged
    assert found.certificates.holds
    assert_allclose(found.point, lasso(X, y, 0.2), atol=1e-7)
    assert found.gap_bound < 1e-15
    assert len(found.trace.values) == found.n_iter + 1


def test_traces_stay_below_the_bounds_of_their_theorems(regression):
    X, y = regression
    f = least_squares_objective(X, y)
    best = proximal_newton(f, L1(0.4), np.zeros(10), tol=1e-11).point
    start = np.full(10, 3.0)
    squared = float(np.sum((start - best) ** 2))
    minimum = f.value(best) + float(L1(0.4).value(best))
    plain = proximal_gradient(f, L1(0.4), start, accelerated=False, tol=1e-10)
    fast = proximal_gradient(f, L1(0.4), start, tol=1e-10)
    slow_rate = convex_rate(1 / f.smoothness, f.smoothness, squared)
    fast_rate = accelerated_rate(f.smoothness, squared)
    assert plain.trace.against(slow_rate, minimum=minimum).holds
    assert fast.trace.against(fast_rate, minimum=minimum).holds
    timid = proximal_gradient(f, L1(0.4), start, accelerated=False, step=1e-3 / f.smoothness, max_iter=300)
    assert not timid.trace.against(slow_rate, minimum=minimum).holds


def test_monotone_momentum_never_rises_and_restart_is_faster(regression):
    X, y = regression
    f = least_squares_objective(X * np.geomspace(1, 8, 10), y)
    found = proximal_gradient(f, L1(0.1), np.ones(10), monotone=True, tol=1e-6, max_iter=3000)
    assert np.diff(found.trace.values).max() <= 1e-12
    restarted = proximal_gradient(f, L1(0.1), np.ones(10), restart=True, tol=1e-6, max_iter=5000)
    plain = proximal_gradient(f, L1(0.1), np.ones(10), accelerated=False, tol=1e-6, max_iter=5000)
    assert restarted.n_iter < plain.n_iter


def test_proximal_newton_takes_few_steps(rng):
    X = rng.standard_normal((100, 6)) * np.geomspace(1, 20, 6)
    y = rng.uniform(size=100) < 1 / (1 + np.exp(-X[:, 0]))
    f = logistic_objective(X, y)
    second = proximal_newton(f, L1(0.02), np.zeros(6), tol=1e-9)
    first = proximal_gradient(f, L1(0.02), np.zeros(6), tol=1e-9, max_iter=50_000, restart=True)
    assert second.converged
    assert second.certificates.holds
    assert second.n_iter <= 12 < first.n_iter
    assert_allclose(second.point, first.point, atol=1e-6)


@pytest.mark.parametrize("domain", [Ball(radius=0.5), Box(0.0, 0.4), Simplex(), L1Ball(0.7)])
def test_a_set_is_a_penalty_too(regression, domain):
    X, y = regression
    f = least_squares_objective(X, y)
    found = proximal_gradient(f, domain, np.zeros(10), tol=1e-9, max_iter=5000)
    assert found.certificates.holds
    assert domain.contains(found.point)
    towards = frank_wolfe(f, domain, np.ones(10), step="away", tol=1e-4, max_iter=20_000)
    assert towards.value - 1e-4 <= found.value <= towards.value + 1e-9


def test_the_certificate_of_a_stopped_run_fails(regression):
    X, y = regression
    f = least_squares_objective(X, y)
    for method in (proximal_gradient, proximal_newton):
        stopped = method(f, L1(0.4), np.ones(10), tol=1e-12, max_iter=1)
        assert not stopped.converged
        assert not stopped.certificates.holds


@pytest.mark.parametrize("options", [{}, {"relaxation": 1.7}, {"penalty": 20.0, "adaptive": True}])
def test_alternating_directions_find_the_lasso(regression, options):
    X, y = regression
    f = least_squares_objective(X, y)
    found = admm(f, L1(0.4), np.zeros(10), tol=1e-9, **options)
    assert found.converged
    assert found.certificates.holds
    assert_allclose(found.other, lasso(X, y, 0.2), atol=1e-6)
    assert_allclose(f.gradient(found.point) + found.multipliers, 0, atol=1e-6)
    assert found.primal_residuals[-1] < 1e-6 * found.primal_residuals.max()


def test_alternating_directions_solve_general_constraints(rng):
    target, D = rng.standard_normal(12).cumsum(), np.diff(np.eye(12), axis=0)
    found = admm(
        quadratic(np.eye(12), target), L1(0.8), np.zeros(11), constraint=(D, -np.eye(11), None), tol=1e-9
    )
    assert found.certificates.holds

    # The dual of total-variation denoising is a box: min ½‖Dᵀu − y‖² over |u| ≤ 0.8.
    dual = optimize.lsq_linear(D.T, target, bounds=(-0.8, 0.8), tol=1e-14)
    assert_allclose(found.point, target - D.T @ dual.x, atol=1e-5)
    assert_allclose(D @ found.point, found.other, atol=1e-6)


def test_alternating_directions_take_callables_and_sets():
    found = admm(
        lambda v, rho: (rho * v + np.array([3.0, -1.0])) / (1 + rho), Box(0.0, 2.0), np.zeros(2), tol=1e-10
    )
    assert_allclose(found.other, [2.0, 0.0], atol=1e-8)
    assert found.certificates.holds


def test_alternating_directions_stopped_or_damaged_are_not_certified(regression):
    X, y = regression
    f, g, eye = least_squares_objective(X, y), L1(0.4), np.eye(10)
    stopped = admm(f, g, np.ones(10), max_iter=2)
    assert not stopped.converged
    assert not stopped.certificates.holds
    found = admm(f, g, np.ones(10))
    parts = (found.point, found.other, found.multipliers)
    assert admm_certificates(f, g, *parts, eye, -eye, np.zeros(10), 1e-8).holds
    for k in range(3):
        damaged = [part + 0.01 * (i == k) for i, part in enumerate(parts)]
        assert not admm_certificates(f, g, *damaged, eye, -eye, np.zeros(10), 1e-8).holds


@pytest.mark.parametrize("step", ["2/(t+2)", "exact", "away"])
def test_conditional_gradients_stay_below_their_bound_and_their_gap_is_honest(step, rng):
    corners = rng.standard_normal((8, 3))
    domain = ConvexHull(corners)
    f = quadratic(np.diag([1.0, 4.0, 9.0]), rng.standard_normal(3))
    found = frank_wolfe(f, domain, np.ones(3), step=step, tol=1e-5, max_iter=3000)
    minimum = proximal_gradient(f, domain, np.zeros(3), tol=1e-11).value
    diameter = max(np.linalg.norm(a - b) for a in corners for b in corners)
    assert found.trace.against(frank_wolfe_rate(f.smoothness, diameter), minimum=minimum).holds
    assert np.all(found.gaps >= found.trace.values - minimum - 1e-9)
    assert_allclose(found.weights @ found.atoms, found.point)
    assert found.certificates.holds == found.converged


def test_away_steps_converge_linearly_where_plain_ones_zigzag():
    triangle = ConvexHull([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    f = quadratic(np.eye(2), [0.1, -0.0])
    away = frank_wolfe(f, triangle, [0.3, -1.0], step="away", tol=1e-10, max_iter=500)
    plain = frank_wolfe(f, triangle, [0.3, -1.0], step="exact", tol=1e-10, max_iter=500)
    assert away.converged
    assert away.n_iter < 100
    assert not plain.converged
    assert_allclose(away.point, [0.1, 0.0], atol=1e-5)


def test_a_point_off_the_set_or_off_the_minimum_is_not_certified():
    f = quadratic(np.eye(2), [2.0, 0.0])
    assert frank_wolfe_certificates(f, Simplex(), [1.0, 0.0], 1e-8).holds
    assert not frank_wolfe_certificates(f, Simplex(), [0.9, 0.1], 1e-8).holds
    assert not frank_wolfe_certificates(f, Simplex(), [2.0, 0.0], 1e-8).holds


def test_group_penalties_and_ridge_are_served(regression):
    X, y = regression
    f = least_squares_objective(X, y)
    groups = GroupL2(0.5, [[0, 1], [2, 3, 4], [5, 6, 7, 8, 9]])
    by_steps = proximal_gradient(f, groups, np.zeros(10), tol=1e-9, max_iter=5000)
    by_turns = admm(f, groups, np.zeros(10), tol=1e-10)
    assert_allclose(by_steps.point, by_turns.other, atol=1e-6)
    ridge = proximal_gradient(f, SquaredNorm(2.0), np.zeros(10), tol=1e-10)
    assert_allclose(ridge.point, np.linalg.solve(X.T @ X / 80 + np.eye(10), X.T @ y / 80), atol=1e-8)


F = quadratic(np.eye(2), [1.0, 0.0])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: proximal_gradient(F, 3, [0.0, 0.0]), "penalty"),
        (lambda: proximal_gradient(F, L1(1.0), [np.nan, 0.0]), "start"),
        (lambda: proximal_gradient(F, L1(1.0), []), "start"),
        (lambda: proximal_gradient(F, L1(1.0), [0.0, 0.0], step="big"), "step"),
        (lambda: proximal_gradient(F, L1(1.0), [0.0, 0.0], tol=-1), "tol"),
        (lambda: proximal_gradient(F, L1(1.0), [0.0, 0.0], max_iter=0), "max_iter"),
        (lambda: proximal_gradient(F, L1(1.0), [0.0, 0.0], restart=1), "restart"),
        (lambda: proximal_gradient(Smooth(F.value, F.gradient), L1(1.0), [0.0, 0.0]), "step"),
        (lambda: proximal_newton(Smooth(F.value, F.gradient), L1(1.0), [0.0, 0.0]), "objective"),
        (lambda: admm(F, 3, [0.0, 0.0]), "second"),
        (lambda: admm(F, L1(1.0), [0.0, 0.0], constraint=(np.eye(3), None, None)), "B"),
        (lambda: admm(L1(1.0), F, [0.0, 0.0], constraint=([[1.0, 2.0], [0.0, 1.0]], None, None)), "first"),
        (lambda: admm(F, L1(1.0), [0.0, 0.0], relaxation=2.0), "relaxation"),
        (lambda: admm(F, L1(1.0), [0.0, 0.0], penalty=0.0), "penalty"),
        (lambda: admm(F, L1(1.0), [0.0, 0.0], constraint=(None, None, [1.0])), "c"),
        (lambda: admm(Smooth(F.value, F.gradient), L1(1.0), [0.0, 0.0]), "first"),
        (lambda: frank_wolfe(F, L1(1.0), [0.0, 0.0]), "domain"),
        (lambda: frank_wolfe(F, Simplex(), [0.0, 0.0], step="long"), "step"),
        (lambda: frank_wolfe(F, Simplex(), [np.inf, 0.0]), "start"),
        (lambda: frank_wolfe_rate(-1.0, 2.0), "smoothness"),
    ],
)
def test_bad_calls_are_refused_by_name(call, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter"):
        call()
