"""Newton's method in the Hilbert space of a kernel, against SciPy on the coefficients and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from assay.kernels import Gaussian, Polynomial
from assay.losses import (
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Savage,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from assay.parameters import ParameterError
from assay.solvers.rkhs.constraint import (
    radius_of_strength,
    strength_of_budget,
    strength_of_radius,
    why_unsolvable,
)
from assay.solvers.rkhs.curved import GramOperator, LandmarkFactor
from assay.solvers.rkhs.newton import solve_newton
from assay.solvers.rkhs.problem import Function, RKHSProblem, measure, sides_of
from assay.solvers.rkhs.softmax import SoftmaxProblem, measure_softmax, solve_softmax
from endless import Quartic

KERNEL = Gaussian(gamma=0.5)
STOP = {"tol": 1e-11, "max_iter": 100}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    target = np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=50)
    return X, target, np.where(target > 0, 1.0, -1.0), rng.uniform(0.5, 2.0, 50)


def primal(loss, y, cost, gram, intercept):
    """The objective in (u, b), written out, and its gradient; u = Rᵀα for R Rᵀ = K descends quickly."""
    root = np.linalg.cholesky(gram + 1e-13 * np.eye(len(gram)))

    def value(z):
        u, b = z[:-1], z[-1] if intercept else 0.0
        scores = root @ u + b
        slope = cost * loss.gradient(y, scores)
        gradient = np.append(u + root.T @ slope, slope.sum() if intercept else 0.0)
        return 0.5 * u @ u + cost @ loss.value(y, scores), gradient

    return value


CASES = [Logistic(), SquaredHinge(), Exponential(), Huber(0.4), SquaredEpsilonInsensitive(0.3), Poisson()]


@pytest.mark.spec("rudi/M4.2", "sangnier/T-1.4.3-a")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", CASES, ids=lambda loss: type(loss).__name__)
def test_newton_reaches_what_scipy_reaches_on_the_coefficients(rows, loss, intercept):
    X, target, labels, weight = rows
    y = np.round(np.exp(target)) if isinstance(loss, Poisson) else labels
    y = target if isinstance(loss, (Huber, SquaredEpsilonInsensitive)) else y
    problem = RKHSProblem(loss, y, 2.0 * weight, intercept)
    solution = solve_newton(problem, KERNEL, X, **STOP)
    gap = measure(problem, solution.coef, solution.intercept, solution.products)
    assert solution.converged
    assert 0 <= gap.relative <= 1e-11
    gram = KERNEL.gram(X)
    peer = minimize(
        primal(loss, y, problem.cost, gram, intercept),
        np.zeros(51),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-9},
    )
    assert gap.primal == pytest.approx(peer.fun, rel=1e-7)
    assert gap.primal <= peer.fun * (1 + 1e-10)
    np.testing.assert_allclose(
        solution.products[:, 0] - solution.products[:, 1], gram @ solution.coef, atol=1e-10
    )
    assert np.all(np.diff(solution.trace) >= -1e-6 * abs(gap.primal)) or solution.n_iter <= 3


def test_the_squared_loss_is_kernel_ridge_in_one_step(rows):
    X, target, _, weight = rows
    gram = KERNEL.gram(X)
    solution = solve_newton(RKHSProblem(Squared(), target, 3.0 * weight, False), KERNEL, X, **STOP)
    np.testing.assert_allclose(
        solution.coef, np.linalg.solve(gram + np.diag(1 / (3.0 * weight)), target), atol=1e-9
    )


@pytest.mark.spec("sangnier/X23-4")
def test_squared_hinge_is_the_coordinate_descent_of_its_dual(rows):
    X, _, y, _ = rows
    strength = 0.7  # (λ/2)‖h‖² + ½ Σ ξ²: the cost of max(0, 1 − yf)² is 1/(2λ)
    gram = KERNEL.gram(X)
    Q = y[:, None] * y * gram
    P = Q + strength * np.eye(50)
    alpha, gaps, duals = np.zeros(50), [], []
    for _ in range(400):
        for i in range(50):
            alpha[i] = max(0.0, (strength - P[i] @ alpha + P[i, i] * alpha[i]) / P[i, i])
        slack = np.maximum(1 - Q @ alpha / strength, 0.0)
        gaps.append(alpha @ Q @ alpha / strength + 0.5 * alpha @ alpha + 0.5 * slack @ slack - alpha.sum())
        duals.append(alpha.sum() - alpha @ P @ alpha / (2 * strength))
    assert gaps[-1] < 1e-10 < gaps[0]
    assert np.all(np.diff(duals) > -1e-12)
    problem = RKHSProblem(SquaredHinge(), y, np.full(50, 0.5 / strength), False)
    solution = solve_newton(problem, KERNEL, X, **STOP)
    np.testing.assert_allclose(y * solution.coef * strength, alpha, atol=1e-6)
    margins = y * (gram @ solution.coef)
    np.testing.assert_allclose(strength * y * solution.coef, np.maximum(1 - margins, 0.0), atol=1e-6)
    assert np.all(solution.coef[margins > 1 + 1e-6] == 0)


@pytest.mark.spec("sangnier/X22-2")
def test_squared_epsilon_insensitive_is_its_quadratic_programme(rows):
    X, y, _, _ = rows
    strength, epsilon = 0.5, 0.2
    gram = KERNEL.gram(X)
    Q, P = np.eye(50) + gram / strength, np.eye(50) - gram / strength

    def dual(z):
        a, b = z[:50], z[50:]
        value = 0.5 * a @ Q @ a + 0.5 * b @ Q @ b + a @ P @ b + a @ (epsilon - y) + b @ (epsilon + y)
        return value, np.append(Q @ a + P @ b + epsilon - y, Q @ b + P @ a + epsilon + y)

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-16, "gtol": 1e-10}
    peer = minimize(
        dual, np.zeros(100), jac=True, bounds=[(0, None)] * 100, method="L-BFGS-B", options=options
    )
    upper, lower = peer.x[:50], peer.x[50:]
    assert np.all(upper * lower < 1e-8)
    # Theirs is ½(|u| − ε)₊² with (λ/2)‖h‖²: the cost of the square without the half is 1/(2λ).
    loss = SquaredEpsilonInsensitive(epsilon)
    solution = solve_newton(RKHSProblem(loss, y, np.full(50, 0.5 / strength), False), KERNEL, X, **STOP)
    np.testing.assert_allclose(solution.coef, (upper - lower) / strength, atol=2e-5)
    # Its maximum is the value of our dual, whose conjugates are of the square without the half.
    cost = np.full(50, 0.5 / strength)
    gap = measure(RKHSProblem(loss, y, cost, False), *solution[:2], solution.products)
    assert gap.dual == pytest.approx(-peer.fun / strength, rel=1e-6)
    assert gap.relative < 1e-8
    conjugates = cost @ loss.conjugate(y, -solution.coef / cost)
    assert -0.5 * solution.coef @ gram @ solution.coef - conjugates == pytest.approx(gap.dual, rel=1e-8)
    residual = np.abs(y - gram @ solution.coef)
    np.testing.assert_array_equal(solution.coef != 0, residual > epsilon)
    np.testing.assert_allclose(np.maximum(residual - epsilon, 0), upper + lower, atol=2e-5)
    ridge = solve_newton(
        RKHSProblem(SquaredEpsilonInsensitive(0.0), y, np.full(50, 0.5 / strength), False), KERNEL, X, **STOP
    )
    np.testing.assert_allclose(ridge.coef, np.linalg.solve(gram + strength * np.eye(50), y), atol=1e-8)


def test_products_made_tile_by_tile_give_the_same_solution(rows):
    X, _, y, weight = rows
    problem = RKHSProblem(Logistic(), y, weight, True)
    kept = solve_newton(problem, KERNEL, X, **STOP)
    tiled = solve_newton(problem, KERNEL, X, memory=0.0, **STOP)
    np.testing.assert_allclose(tiled.coef, kept.coef, atol=1e-6)
    operator = GramOperator(KERNEL, X, memory=0.0)
    exact = np.eye(50) + np.sqrt(weight)[:, None] * KERNEL.gram(X) * np.sqrt(weight)
    values = np.arange(50.0)[:, None]
    np.testing.assert_allclose(exact @ LandmarkFactor(operator, weight).solve(values), values, atol=1e-6)


def test_a_start_saves_steps_and_corners_are_refused(rows):
    X, _, y, weight = rows
    problem = RKHSProblem(Logistic(), y, 10 * weight, True)
    cold = solve_newton(problem, KERNEL, X, **STOP)
    assert solve_newton(problem, KERNEL, X, start=cold, **STOP).n_iter == 0
    with pytest.raises(ParameterError, match="without corners"):
        solve_newton(problem._replace(loss=Hinge()), KERNEL, X, **STOP)
    with pytest.raises(ParameterError, match="with a dual problem"):
        solve_newton(problem._replace(loss=Savage()), KERNEL, X, **STOP)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("cost", [1.0, 3e3])
def test_softmax_gap_closes_and_two_classes_are_the_logistic_loss(rows, intercept, cost):
    X, target, _, weight = rows
    three = np.digitize(target, [-0.4, 0.5])
    problem = SoftmaxProblem(three, cost * weight, 3, intercept)
    solution = solve_softmax(problem, KERNEL, X, **STOP)
    assert solution.converged
    assert measure_softmax(problem, *solution[:3]).relative <= 1e-11
    np.testing.assert_allclose(solution.coef.sum(axis=1), 0, atol=1e-9 * cost)
    two = (target > 0).astype(np.intp)
    # With h₀ = −h₁ the penalty is ‖f₁ − f₀‖²/4: the cost of the logistic loss is twice as large.
    pair = solve_softmax(SoftmaxProblem(two, weight, 2, intercept), KERNEL, X, **STOP)
    one = solve_newton(RKHSProblem(Logistic(), 2.0 * two - 1, 2 * weight, intercept), KERNEL, X, **STOP)
    scores = pair.product @ [-1.0, 1.0] + np.diff(pair.intercept)
    np.testing.assert_allclose(scores, KERNEL.gram(X) @ one.coef + one.intercept, atol=1e-5)


# The ball, the budget and the penalty.


@pytest.mark.spec("sangnier/T-1.4.7-a")
def test_radius_budget_and_penalty_are_one_path(rows):
    X, target, _, weight = rows
    gram = KERNEL.gram(X)

    def solve(cost, start):
        problem = RKHSProblem(Huber(0.4), target, cost * weight, False)
        found = solve_newton(problem, KERNEL, X, gram=gram, start=start, tol=1e-14, max_iter=100)
        values = gram @ found.coef
        return float(np.sqrt(found.coef @ values)), float(weight @ Huber(0.4).value(target, values)), found

    norms, losses, _ = zip(*(solve(cost, None) for cost in (0.1, 1.0, 10.0)), strict=True)
    assert np.all(np.diff(norms) > 0)
    assert np.all(np.diff(losses) < 0)
    radius = radius_of_strength(solve, 2.0)
    point = strength_of_radius(solve, radius)
    assert point.active
    assert point.cost == pytest.approx(2.0, rel=1e-4)
    assert point.norm == pytest.approx(radius, rel=1e-8)
    budget = strength_of_budget(solve, point.loss)
    assert budget.cost == pytest.approx(2.0, rel=1e-4)
    zero = strength_of_budget(solve, 1e9)
    assert not zero.active
    assert zero.norm < 1e-3


def test_a_ball_larger_than_every_solution_is_not_active():
    def solve(cost, start):
        h = 2 * cost / (1 + cost)
        return h, 0.5 * (h - 2) ** 2 + 1.0, h

    assert not strength_of_radius(solve, 5.0).active
    with pytest.raises(ValueError, match="it is 1 at the least"):
        strength_of_budget(solve, 0.5)


@pytest.mark.spec("sangnier/T-1.4.3-b")
def test_problems_without_solution_are_named():
    one, diagonal = np.ones(1), np.array([2.0])
    escaping = why_unsolvable(Exponential(), one, one, diagonal, fit_intercept=True)
    assert escaping.kind == "not attained"
    assert "infinity" in escaping.sentence
    # ‖h‖² + e^{−(h + b)} along b → ∞: the infimum is 0, which no b reaches.
    values = np.exp(-np.array([1.0, 10.0, 100.0]))
    assert np.all(np.diff(values) < 0)
    assert values[-1] < 1e-40
    assert why_unsolvable(Exponential(), one, one, diagonal, fit_intercept=False) is None
    falling = why_unsolvable(Quartic(), one, one, diagonal, fit_intercept=False)
    assert falling.kind == "unbounded"
    # h = t k(x, ·): ‖h‖² = t² k(x, x), and h(x)⁴ is t⁴ k(x, x)⁴ (the fourth power of k is missing in print).
    t, k = 100.0, 2.0
    along = 0.5 * t**2 * k - (t * k) ** 4
    assert f"{along:.3g}" in falling.sentence
    assert why_unsolvable(Savage(), one, one, diagonal, fit_intercept=False) is None


@pytest.mark.spec("rudi/T4.1", "peyre/T8")
def test_a_finite_feature_map_and_the_coefficients_give_one_function(rows):
    X, _, y, weight = rows
    root = np.sqrt(2.0)
    phi = np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, root * X[:, 0] * X[:, 1], root * X, np.ones(50)])
    kernel = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    np.testing.assert_allclose(kernel.gram(X), phi @ phi.T, atol=1e-10)
    problem = RKHSProblem(Logistic(), y, weight, False)
    dual = solve_newton(problem, kernel, X, **STOP)

    def risk(w, features):
        margins = features @ w
        slope = weight * Logistic().gradient(y, margins)
        return 0.5 * w @ w + weight @ Logistic().value(y, margins), w + features.T @ slope

    options = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000}
    peer = minimize(risk, np.zeros(6), args=(phi,), jac=True, method="L-BFGS-B", options=options)
    gap = measure(problem, dual.coef, dual.intercept, dual.products)
    assert gap.primal == pytest.approx(peer.fun, rel=1e-9)
    np.testing.assert_allclose(phi.T @ dual.coef, peer.x, atol=1e-5)
    # Three rows span three directions of six: the minimiser has no other part, also for a loss that is not
    # convex.
    few = phi[:3]
    for loss in (Logistic(), Savage()):

        def small(w, loss=loss):
            margins = few @ w
            return 0.1 * w @ w + loss.value(y[:3], margins).sum(), 0.2 * w + few.T @ loss.gradient(
                y[:3], margins
            )

        w = minimize(small, np.full(6, 0.3), jac=True, method="BFGS", options={"gtol": 1e-9}).x
        inside = few.T @ np.linalg.lstsq(few.T, w, rcond=None)[0]
        assert np.linalg.norm(w - inside) < 1e-6 * max(np.linalg.norm(w), 1.0)
        assert (
            small(w)[0]
            <= small(w + 0.1 * (np.eye(6)[0] - few.T @ np.linalg.lstsq(few.T, np.eye(6)[0], rcond=None)[0]))[
                0
            ]
        )


def test_the_gap_is_the_objective_of_a_function_less_the_dual_value_of_a_point(rows):
    X, y, *_ = rows
    rng, n = np.random.default_rng(3), len(y)
    gram, cost = KERNEL.gram(X), rng.uniform(0.5, 2, size=n)
    problem = RKHSProblem(Squared(), y, cost, True)
    nu, alpha, b = rng.normal(size=n), rng.normal(size=n), 0.3
    up, down = sides_of(nu).T
    light = min(up.sum(), down.sum())
    point = up * light / up.sum() - down * light / down.sum()
    dual = -0.5 * point @ gram @ point - cost @ Squared().conjugate(y, -point / cost)
    for coef, function in ((nu, None), (alpha, Function(alpha, gram @ alpha, alpha @ gram @ alpha))):
        primal = 0.5 * coef @ gram @ coef + cost @ Squared().value(y, gram @ coef + b)
        gap = measure(problem, nu, b, gram @ sides_of(nu), function)
        assert gap.primal == pytest.approx(primal, rel=1e-12)
        assert gap.gap == pytest.approx(primal - dual, rel=1e-12)
        assert gap.dual == pytest.approx(dual, rel=1e-10)
