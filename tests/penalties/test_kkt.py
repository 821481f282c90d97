"""Projections read as solutions of quadratic problems, with their multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from assay.penalties import Ball, Hyperplane, Quadratic, kkt_residuals


@pytest.mark.spec("sangnier/X21-1.3")
@pytest.mark.parametrize("length", [0.5, 1.5, 4.0])
def test_ball_projection_by_its_multiplier(length, rng):
    """min ‖y − x‖² subject to ‖y‖² ≤ r²; y = 0 is Slater's point."""
    radius, d = 1.5, 5
    x = rng.standard_normal(d)
    x *= length / np.linalg.norm(x)
    ball = Ball(radius=radius)
    y, mu = ball.project(x), ball.multiplier(x)
    objective = Quadratic(2 * np.eye(d), -2 * x, x @ x)
    constraint = Quadratic(2 * np.eye(d), np.zeros(d), -(radius**2))
    assert objective.is_convex()
    assert constraint.is_convex()
    assert constraint.value(np.zeros(d)) < 0
    assert kkt_residuals(objective, y, inequalities=[constraint], multipliers=[mu]).largest < 1e-12
    if length > radius:
        assert_allclose(y, radius * x / length)
        assert mu == pytest.approx(length / radius - 1)
    else:
        assert_allclose(y, x)
        assert mu == pytest.approx(0, abs=1e-12)  # the scaled x may be on either side of the sphere
    # The dual function is −μ r² + μ/(1 + μ) ‖x‖²: its maximum is the squared distance.
    dual = optimize.minimize_scalar(
        lambda m: m * radius**2 - m / (1 + m) * length**2, bounds=(0, 10), options={"xatol": 1e-10}
    )
    assert -dual.fun == pytest.approx(ball.distance(x) ** 2, abs=1e-6)


@pytest.mark.spec("sangnier/X21-1.3")
def test_each_residual_tells_its_own_damage():
    x, d = np.array([3.0, 4.0]), 2
    objective = Quadratic(2 * np.eye(d), -2 * x, x @ x)
    disk = Quadratic(2 * np.eye(d), np.zeros(d), -1.0)

    def residuals(y, mu):
        return kkt_residuals(objective, y, inequalities=[disk], multipliers=[mu])

    y = x / 5
    assert residuals(y, 4.0).largest < 1e-12
    assert residuals(y, 3.0).stationarity > 1
    assert residuals(1.1 * y, 4.0).primal == pytest.approx(0.21)
    assert residuals(y, -1.0).dual == 1
    assert residuals(0.5 * y, 4.0).complementarity == pytest.approx(3.0)
    assert residuals(x, 0.0).stationarity == 0


@pytest.mark.spec("sangnier/E-1.9")
def test_distance_to_a_hyperplane_by_duality(rng):
    """min ½‖y − x‖² subject to wᵀy + b = 0; dual ν (wᵀx + b) − ν² ‖w‖²/2."""
    d = 4
    for _ in range(5):
        w, x = rng.standard_normal((2, d))
        b = rng.standard_normal()
        plane = Hyperplane(w, -b)
        y, nu = plane.project(x), plane.multiplier(x)
        assert_allclose(y, x - (w @ x + b) * w / (w @ w))
        assert plane.distance(x) == pytest.approx(abs(w @ x + b) / np.linalg.norm(w))
        objective, constraint = Quadratic(np.eye(d), -x, x @ x / 2), Quadratic(None, w, b)
        found = kkt_residuals(objective, y, equalities=[constraint], equality_multipliers=[nu])
        assert found.largest < 1e-12

        def dual(v, w=w, x=x, b=b):
            return v * (w @ x + b) - v**2 * (w @ w) / 2

        assert dual(nu) == pytest.approx(objective.value(y), abs=1e-12)
        assert optimize.minimize_scalar(lambda v: -dual(v)).x == pytest.approx(nu, abs=1e-6)
        assert all(dual(v) <= objective.value(y) + 1e-12 for v in 3 * rng.standard_normal(20))
        assert (
            kkt_residuals(objective, y, equalities=[constraint], equality_multipliers=[nu + 1]).largest > 0.1
        )


def test_convexity_of_a_quadratic_is_told():
    assert Quadratic(None, [1.0]).is_convex()
    assert not Quadratic(np.diag([1.0, -1.0]), [0.0, 0.0]).is_convex()
