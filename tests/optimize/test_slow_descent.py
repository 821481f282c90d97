"""The rates of descent where they bite: the slowest direction, and functions that are merely convex."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from assay.optimize import (
    Smooth,
    convex_rate,
    gradient_descent,
    least_squares_objective,
    linear_rate,
    logistic_objective,
    quadratic,
    smooth_rate,
    strongly_convex_rate,
)
from assay.parameters import ParameterError


@pytest.mark.spec("douc/M5.4", "douc/T5.9", "rudi/T3.6")
def test_the_slowest_direction_contracts_by_exactly_the_factor_of_the_theorem():
    f = quadratic(np.diag([1.0, 9.0]), [0.0, 0.0])
    slow = gradient_descent(f, [1.0, 0.0], max_iter=30, tol=0, keep_points=True).trace
    assert_allclose(slow.points[1:, 0] / slow.points[:-1, 0], 1 - 1 / 9)
    # Squared, 1 − α/L is below the factor of the theorem, and the fitted rate is its square.
    assert slow.rate(0.0) == pytest.approx((1 - 1 / 9) ** 2)
    assert slow.rate(0.0) <= linear_rate(1 / 9, 9.0, 1.0, 1.0)(1) == pytest.approx(1 - 1 / 9)
    assert linear_rate(1 / 9, 9.0, 1.0, 1.0)(1) <= strongly_convex_rate(9.0, 1.0, 1.0)(1)
    # With 2/(α + L) both ends contract by (κ − 1)/(κ + 1).
    even = gradient_descent(f, [1.0, 1.0], step="2/(alpha+L)", max_iter=30, tol=0, keep_points=True).trace
    assert_allclose(np.abs(even.points[1:] / even.points[:-1]), 8 / 10)


def kinked(reach):
    """Half a square up to `reach`, a line beyond: L = 1, and no strong convexity."""
    return Smooth(
        lambda x: float(x[0] ** 2 / 2 if abs(x[0]) <= reach else reach * abs(x[0]) - reach**2 / 2),
        lambda x: np.clip(x, -reach, reach),
        smoothness=1.0,
        strong_convexity=0.0,
        minimum=0.0,
        minimiser=np.zeros(1),
    )


@pytest.mark.spec("rudi/T3.11", "douc/T5.5")
@pytest.mark.parametrize("n", [5, 40, 300])
def test_the_rate_without_strong_convexity_holds_where_descent_is_slowest(n):
    # On this function n steps from distance 1 leave 1/(4n + 2), half of what the theorem allows.
    f = kinked(1 / (2 * n + 1))
    trace = gradient_descent(f, [1.0], max_iter=n, tol=0, keep_points=True).trace
    assert trace.values[-1] == pytest.approx(1 / (4 * n + 2))
    bound = convex_rate(1.0, 1.0, 1.0)
    assert trace.against(bound, minimum=0.0).holds
    assert trace.against(smooth_rate(1.0, 1.0), minimum=0.0).holds
    assert not trace.against(lambda t: bound(np.maximum(t, 1)) / 2.3, minimum=0.0).holds
    # Nothing geometric is true here, and the theorems that say so refuse.
    assert trace.values[-1] > 0.9 * trace.values[0] / (2 * n + 1)
    with pytest.raises(ParameterError, match="strong_convexity"):
        linear_rate(1.0, 1.0, f.strong_convexity, 1.0)


@pytest.mark.spec("rudi/T3.11")
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_the_rate_without_strong_convexity_bounds_logistic_and_collinear_descents(rng, share):
    X = rng.standard_normal((60, 3))
    y = rng.uniform(size=60) < 1 / (1 + np.exp(-3 * X @ [1.0, -2.0, 0.5]))
    logistic = logistic_objective(X, y)  # no penalty
    best = optimize.minimize(logistic.value, np.zeros(3), jac=logistic.gradient, tol=1e-14)
    collinear = least_squares_objective(
        np.column_stack([X, X[:, 0] + 1e-3 * X[:, 1], X[:, 2]]), X @ [1, 2, 3.0]
    )
    for f, minimiser, minimum in (
        (logistic, best.x, best.fun),
        (collinear, collinear.minimiser, collinear.minimum),
    ):
        assert f.strong_convexity == 0
        start = np.ones(len(minimiser))
        gamma = share / f.smoothness
        trace = gradient_descent(f, start, step=gamma, max_iter=400, tol=0).trace
        bound = convex_rate(gamma, f.smoothness, float(np.sum((start - minimiser) ** 2)))
        assert trace.against(bound, minimum=minimum).holds
        idle = gradient_descent(f, start, step=1e-3 * gamma, max_iter=400, tol=0).trace
        assert not idle.against(bound, minimum=minimum).holds
    with pytest.raises(ParameterError, match="step"):
        convex_rate(1.01 / logistic.smoothness, logistic.smoothness, 1.0)
