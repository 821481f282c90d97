"""The logistic energy: convex, smooth, strictly so for independent columns; what descent promises for it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from scipy.special import expit

from assay.linear import GeneralizedLinear, LogisticRegression
from assay.optimize import (
    check_hessian,
    check_strong_convexity,
    convex_rate,
    gap_bound,
    gradient_descent,
    logistic_objective,
)
from assay.parameters import ParameterError

INF = float("inf")


@pytest.fixture
def table(rng):
    X = rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5]
    y = np.where(rng.uniform(size=60) < expit(X @ [1.0, -0.5, 1.0]), 1, -1)
    return X, y


def energy(X, y, penalty=0.0):
    return lambda w: np.mean(np.log1p(np.exp(-y * (X @ w)))) + penalty * w @ w


def hessian(X, w):
    p = expit(X @ w)
    return (X * (p * (1 - p))[:, None]).T @ X / len(X)


@pytest.mark.spec("peyre/T6")
def test_the_energy_is_convex_and_its_curvature_is_at_most_L_which_it_reaches_at_zero(table, rng):
    X, y = table
    objective = logistic_objective(X, y)
    L = np.linalg.norm(X, 2) ** 2 / (4 * len(X))
    assert objective.smoothness == pytest.approx(L, rel=1e-12)
    for w in rng.normal(size=(20, 3)) * 2:
        assert objective.value(w) == pytest.approx(energy(X, y)(w), rel=1e-12)
        assert_allclose(objective.gradient(w), optimize.approx_fprime(w, energy(X, y), 1e-7), atol=1e-6)
        curvature = objective.hessian(w)
        assert_allclose(curvature, hessian(X, w), rtol=1e-10)
        assert np.linalg.eigvalsh(curvature)[0] >= -1e-12
        assert np.linalg.eigvalsh(curvature)[-1] < L
    assert np.linalg.eigvalsh(objective.hessian(np.zeros(3)))[-1] == pytest.approx(L, rel=1e-12)
    assert check_hessian(objective, rng.normal(size=(5, 3))).holds


@pytest.mark.spec("peyre/T6")
def test_the_minimiser_is_unique_exactly_when_the_columns_are_independent(table, rng):
    X, y = table
    twin = np.column_stack([X, X[:, 0] + X[:, 1]])
    null = np.array([1.0, 1.0, 0.0, -1.0])  # Z null = 0
    for Z, injective in ((X, True), (twin, False)):
        objective = logistic_objective(Z, y)
        starts = 2 * rng.normal(size=(4, Z.shape[1]))
        ends = [gradient_descent(objective, start, tol=1e-10, max_iter=20_000) for start in starts]
        points = np.array([end.point for end in ends])
        assert np.ptp([end.value for end in ends]) < 1e-14
        assert np.ptp(points @ Z.T, axis=0).max() < 1e-6, "the scores are the same in any case"
        assert (np.ptp(points, axis=0).max() < 1e-6) == injective
        lowest = np.linalg.eigvalsh(objective.hessian(points[0]))[0]
        assert (lowest > 1e-3) == injective
    # The minimisers of the second differ along the null space only, where the energy is constant.
    apart = points[1:] - points[0]
    assert_allclose(apart, np.outer(apart @ null / (null @ null), null), atol=1e-6)
    assert objective.value(points[0] + 7 * null) == pytest.approx(objective.value(points[0]), rel=1e-12)


@pytest.mark.spec("peyre/T6")
def test_the_rank_is_reported_and_dependent_columns_have_no_standard_errors(table):
    X, y = table
    twin = np.column_stack([X, X[:, 0] + X[:, 1]])
    ranks = [GeneralizedLinear("binomial").fit(Z, y > 0).rank_ for Z in (X[:, :2], X, twin)]
    assert ranks == [3, 4, 4]  # with the intercept; `twin` has five parameters
    one, other = (LogisticRegression(C=INF).fit(Z, y) for Z in (X, twin))
    assert one.inference().params.shape == (4,)
    with pytest.raises(ValueError, match="linearly independent"):
        other.inference()
    assert_allclose(one.decision_function(X), other.decision_function(twin), atol=1e-7)


@pytest.mark.spec("peyre/T6")
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_descent_keeps_its_certificate_and_the_constant_cannot_be_halved(share):
    # Seen from far away the energy of one column is a straight slope: there the bound is reached to a half.
    X, y = np.ones((200, 1)), np.append(-1.0, np.ones(199))
    objective, start = logistic_objective(X, y), np.array([-400.0])
    best = np.log(199.0)  # odds of 199 to 1
    minimum = energy(X, y)(np.array([best]))
    step, R2 = share / objective.smoothness, (best + 400.0) ** 2
    bound = convex_rate(step, objective.smoothness, R2)
    n = np.arange(1, 301)
    assert_allclose(bound(n), R2 / (2 * step * n), rtol=1e-12)
    trace = gradient_descent(objective, start, step=step, tol=0, max_iter=300).trace
    assert trace.against(bound, minimum=minimum).holds
    ratio = (trace.values[1:] - minimum) / bound(n)
    assert 0.45 < ratio.max() <= 0.5 + 1e-9
    with pytest.raises(ParameterError, match="'step'"):
        convex_rate(1.01 / objective.smoothness, objective.smoothness, R2)
    # A start that is farther away than told, or a step that is longer than told, is found out.
    assert not trace.against(convex_rate(step, objective.smoothness, R2 / 2.3), minimum=minimum).holds


@pytest.mark.spec("peyre/T6")
def test_a_gradient_bounds_the_gap_where_the_energy_is_strongly_convex(table, rng):
    X, y = table
    alpha = 0.3
    objective = logistic_objective(X, y, alpha)
    assert objective.strong_convexity == pytest.approx(2 * alpha)
    best = optimize.minimize(energy(X, y, alpha), np.zeros(3), method="BFGS", options={"gtol": 1e-10})
    ratios = []
    for w in np.vstack([rng.normal(size=(20, 3)), best.x + 1e-3 * rng.normal(size=(20, 3))]):
        slope = optimize.approx_fprime(w, energy(X, y, alpha), 1e-8)
        assert gap_bound(objective, w) == pytest.approx(slope @ slope / (4 * alpha), rel=1e-3)
        ratios.append((objective.value(w) - best.fun) / gap_bound(objective, w))
    assert 0.7 < max(ratios) <= 1.0, "the bound holds, and nearly with equality"
    assert gap_bound(logistic_objective(X, y), np.zeros(3)) == INF
    points = rng.normal(size=(6, 3))
    assert check_strong_convexity(objective, points, 2 * alpha).holds
    assert not check_strong_convexity(objective, 50 * points, 2.2 * alpha).holds


@pytest.mark.spec("peyre/M11")
def test_descent_is_the_iteration_of_the_course_with_both_of_its_paths(table):
    X, y = table
    objective = logistic_objective(X, y)
    L = np.linalg.norm(X, 2) ** 2 / (4 * len(X))
    for step, used in (("1/L", 1 / L), (0.7 / L, 0.7 / L)):
        found = gradient_descent(objective, np.zeros(3), step=step, tol=0, max_iter=25, keep_points=True)
        w, points, energies, slopes = np.zeros(3), [], [], []
        for _ in range(26):
            gradient = -X.T @ (y * expit(-y * (X @ w))) / len(y)
            points.append(w)
            energies.append(energy(X, y)(w))
            slopes.append(np.linalg.norm(gradient))
            w = w - used * gradient
        assert_allclose(found.trace.points, points, atol=1e-12)
        assert_allclose(found.trace.values, energies, rtol=1e-12)
        assert_allclose(found.trace.gradient_norms, slopes, rtol=1e-9)
        assert_allclose(found.trace.step_sizes, used)
    # Backtracking needs no L, and stops by the norm of the gradient.
    searched = gradient_descent(objective, np.zeros(3), step="backtracking", tol=1e-8, max_iter=5000)
    assert searched.converged
    assert searched.trace.gradient_norms[-1] <= 1e-8 * max(1.0, searched.trace.gradient_norms[0])
    model = LogisticRegression(C=INF, fit_intercept=False, solver="gradient_descent", history=True).fit(X, y)
    assert model.history_[0] == pytest.approx(np.log(2)), "the start is w = 0"
    assert_allclose(model.coef_[0], searched.point, atol=1e-6)
    assert_allclose(model.predict_proba(X)[:, 1], expit(X @ model.coef_[0]))


@pytest.mark.spec("peyre/M12")
def test_the_intercept_is_the_coefficient_of_an_appended_constant(table):
    X, y = table
    X = X + [3.0, 0.0, 0.0]
    model = LogisticRegression(C=INF).fit(X, y)
    appended = LogisticRegression(C=INF, fit_intercept=False).fit(np.column_stack([X, np.ones(60)]), y)
    assert_allclose(np.append(model.coef_[0], model.intercept_), appended.coef_[0], atol=1e-7)
    without = LogisticRegression(C=INF, fit_intercept=False).fit(X, y)
    assert without.intercept_ == 0
    assert without.log_likelihood_ < model.log_likelihood_ - 1, "it matters in low dimension"
