"""The bounds are the formulas of their theorems, and say what they assume."""

from __future__ import annotations

import numpy as np
import pytest

from assay.optimize import (
    accelerated_rate,
    averaged_stochastic_plan,
    averaged_stochastic_rate,
    convex_rate,
    inexact_rate,
    linear_rate,
    optimal_step_rate,
    projected_plan,
    projected_rate,
    smooth_rate,
    stochastic_plan,
    stochastic_rate,
    strongly_convex_rate,
)

L, MU, R2, N = 8.0, 0.5, 3.0, 10

BOUNDS = [
    pytest.param(linear_rate(0.1, L, MU, R2), 0.95**N * R2, marks=pytest.mark.spec("rudi/T3.6")),
    pytest.param(convex_rate(0.1, L, R2), R2 / (2 * 0.1 * N), marks=pytest.mark.spec("rudi/T3.11")),
    pytest.param(smooth_rate(L, R2), 2 * L * R2 / (N + 4), marks=pytest.mark.spec("douc/T5.5")),
    pytest.param(smooth_rate(L, R2, scalar=True), 2 * L * R2 / N, marks=pytest.mark.spec("douc/T5.5")),
    pytest.param(accelerated_rate(L, R2), 2 * L * R2 / (N + 1) ** 2),
    pytest.param(
        strongly_convex_rate(L, MU, R2), R2 * np.exp(-MU * N / L), marks=pytest.mark.spec("douc/T5.9")
    ),
    pytest.param(
        optimal_step_rate(L, MU, R2),
        L / 2 * np.exp(-4 * N / (L / MU + 1)) * R2,
        marks=pytest.mark.spec("douc/T5.10"),
    ),
    pytest.param(
        inexact_rate(1 / (2 * L), L, MU, 0.25, R2),
        (1 - 0.25 * MU / (2 * L)) ** N * R2,
        marks=pytest.mark.spec("sangnier/E-1.8"),
    ),
    pytest.param(
        projected_rate(0.1, 2.0, R2), 0.1 * 4 / 2 + R2 / (2 * 0.1 * N), marks=pytest.mark.spec("douc/T5.7")
    ),
    pytest.param(
        stochastic_rate(0.05, L, MU, R2, 2.0),
        (1 - MU * 0.05) ** N * R2 + 0.05 / MU * 2,
        marks=pytest.mark.spec("rudi/T3.9"),
    ),
    pytest.param(
        averaged_stochastic_rate(0.1, L, R2, 2.0),
        R2 / (2 * 0.1 * N) + 0.1 * 2,
        marks=pytest.mark.spec("douc/T5.11"),
    ),
]


@pytest.mark.parametrize(("bound", "expected"), BOUNDS)
def test_a_bound_is_its_formula(bound, expected):
    assert float(bound(N)) == pytest.approx(expected, rel=1e-12)
    assert bound(np.array([N, 2 * N])).shape == (2,)
    assert bound(2 * N) < bound(N)
    assert bound.claim.endswith(".")
    assert len(bound.assumptions) >= 3
    assert bound.source


@pytest.mark.parametrize(("bound", "expected"), BOUNDS)
def test_a_budget_is_enough_and_not_much_more(bound, expected):
    epsilon = 1.1 * float(bound(1000))
    n = bound.iterations(epsilon)
    assert bound(n) <= epsilon * (1 + 1e-9)
    # The exponential forms bound the geometric ones, and may ask for a few iterations more.
    assert n <= 1.2 * 1000
    assert bound(int(0.7 * n)) > epsilon


@pytest.mark.spec("douc/T5.7", "rudi/T3.9", "douc/T5.11")
def test_plans_reach_their_accuracy():
    plan = projected_plan(3.0, 2.0, 0.5)
    assert (plan.n_iter, plan.step) == (576, pytest.approx(2 * 3 / (2 * 24)))
    assert plan.bound == pytest.approx(float(projected_rate(plan.step, 2.0, 36.0)(plan.n_iter)))
    assert plan.bound <= 0.5
    near = projected_plan(3.0, 2.0, 0.5, start_within_radius=True)
    assert near.n_iter == 144
    assert near.bound == pytest.approx(float(projected_rate(near.step, 2.0, 9.0)(144)))
    plan = stochastic_plan(L, MU, R2, 2.0, 0.1)
    assert plan.step == pytest.approx(MU * 0.1 / (2 * 2.0))
    assert plan.bound == pytest.approx(float(stochastic_rate(plan.step, L, MU, R2, 2.0)(plan.n_iter)))
    assert 0.09 < plan.bound <= 0.1 * (1 + 1e-9)
    plan = averaged_stochastic_plan(L, R2, 2.0, 0.1)
    assert plan.n_iter == 1200  # 2σ²R²/ε²
    assert plan.bound == pytest.approx(np.sqrt(2 * 2.0 * R2 / plan.n_iter))
    assert plan.bound == pytest.approx(0.1)
    quiet = averaged_stochastic_plan(L, R2, 0.01, 1.0)  # little noise: the step, not the noise, decides
    assert quiet.n_iter == 9600  # L²R²/(2σ²)
    assert quiet.step == pytest.approx(1 / L)
