"""Fitted models satisfy the optimality conditions of their programmes, with their multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.linear import LinearSVC, LogisticRegression, Ridge
from assay.optimize import ConvexProgram, logistic_objective, program_certificates, solve_program
from assay.penalties import Quadratic, kkt_residuals


@pytest.mark.spec("rudi/T3.3")
@pytest.mark.parametrize("strength", [0.01, 0.2])
def test_a_support_vector_machine_satisfies_the_conditions_with_its_dual_coefficients(rng, strength):
    """min λ‖w‖² + mean ξ subject to ξ ≥ 0 and t(Xw + b) ≥ 1 − ξ."""
    X = rng.standard_normal((30, 2))
    t = np.where(X[:, 0] + 0.7 * rng.standard_normal(30) > 0, 1.0, -1.0)
    model = LinearSVC(loss="hinge", penalty_strength=strength, tol=1e-12).fit(X, t)
    signed = np.column_stack([X, np.ones(30)]) * t[:, None]
    program = Quadratic(
        np.diag(np.append(np.full(2, 2 * strength), np.zeros(31))),
        np.append(np.zeros(3), np.full(30, 1 / 30)),
    )
    rows = np.eye(30)
    margins = [Quadratic(None, np.append(-signed[i], -rows[i]), 1.0) for i in range(30)]
    positive = [Quadratic(None, np.append(np.zeros(3), -rows[i])) for i in range(30)]
    w = np.append(model.coef_[0], model.intercept_)
    point = np.append(w, np.maximum(0, 1 - signed @ w))
    mu = 2 * strength * t * model.dual_coef_[0]
    multipliers = np.append(mu, 1 / 30 - mu)
    found = kkt_residuals(program, point, inequalities=[*margins, *positive], multipliers=multipliers)
    assert found.largest < 1e-6
    assert 0 < np.sum(mu > 1e-8) < 30  # some rows hold the hyperplane, some do not
    moved = point.copy()
    moved[0] += 0.05
    assert (
        kkt_residuals(program, moved, inequalities=[*margins, *positive], multipliers=multipliers).largest
        > 1e-3
    )


@pytest.mark.spec("rudi/T3.3")
def test_ridge_is_least_squares_on_a_ball_with_its_penalty_as_multiplier(rng):
    X = rng.standard_normal((40, 4))
    y = X @ [2.0, -1.0, 0.5, 0.0] + rng.standard_normal(40)
    model = Ridge(penalty_strength=0.3, fit_intercept=False).fit(X, y)
    radius = float(np.linalg.norm(model.coef_))
    loss = Quadratic(2 * X.T @ X / 40, -2 * X.T @ y / 40, float(y @ y) / 40)
    ball = Quadratic(2 * np.eye(4), np.zeros(4), -(radius**2))
    problem = ConvexProgram(loss, [ball], start=np.zeros(4))
    assert problem.kkt_residuals(model.coef_, [0.3]).largest < 1e-10
    assert program_certificates(problem, model.coef_, [0.3]).holds
    solved = solve_program(problem)
    assert_allclose(solved.point, model.coef_, atol=1e-6)
    assert solved.multipliers[0] == pytest.approx(0.3, abs=1e-5)
    assert not program_certificates(problem, model.coef_, [0.15]).holds


@pytest.mark.spec("rudi/M2.5")
def test_the_penalised_logistic_risk_is_strongly_convex_with_twice_its_penalty(rng):
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + rng.logistic(size=60) > 0
    for strength in (0.02, 0.3):
        f = logistic_objective(X, y, strength)  # mean loss + λ‖w‖², without a half
        w = rng.standard_normal(3)
        margins = np.where(y, 1, -1) * (X @ w)
        assert f.value(w) == pytest.approx(np.mean(np.log1p(np.exp(-margins))) + strength * w @ w)
        best = LogisticRegression(penalty_strength=2 * strength, fit_intercept=False, tol=1e-12).fit(X, y)
        assert_allclose(f.gradient(best.coef_[0]), 0, atol=1e-7)
        assert f.strong_convexity == pytest.approx(2 * strength)
        for move in rng.standard_normal((10, 3)):
            rise = f.value(best.coef_[0] + move) - f.value(best.coef_[0])
            assert rise >= strength * move @ move - 1e-9
        # Far out the loss is flat along a direction that keeps every margin large: no larger modulus serves.
        far = 1e3 * best.coef_[0]
        curvature = np.linalg.eigvalsh(f.hessian(far))
        assert 2 * strength <= curvature[0] * (1 + 1e-12)
        assert curvature[0] < 2 * strength + 0.02
