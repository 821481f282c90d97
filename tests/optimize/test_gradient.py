"""Descent methods reach known minima, keep the promises of their theorems, and fail when they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize

from assay.optimize import (
    Smooth,
    Trace,
    accelerated_gradient,
    accelerated_rate,
    check_chord,
    convex_rate,
    descent_lemma,
    distance_never_grows,
    gradient_descent,
    inexact_descent,
    inexact_rate,
    least_squares_objective,
    linear_rate,
    logistic_objective,
    optimal_step_rate,
    projected_gradient,
    projected_plan,
    projected_rate,
    quadratic,
    smooth_rate,
    strongly_convex_rate,
)
from assay.parameters import ParameterError
from assay.penalties import Ball


def random_quadratic(seed, d=4, kappa=20.0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    spectrum = np.geomspace(1.0, kappa, d)
    matrix = (basis * spectrum) @ basis.T
    return quadratic((matrix + matrix.T) / 2, rng.standard_normal(d)), 3 * rng.standard_normal(d)


def squared(point, other):
    return float(np.sum((point - other) ** 2))


@pytest.fixture
def logistic(rng):
    X = rng.standard_normal((60, 3))
    y = rng.uniform(size=60) < 1 / (1 + np.exp(-X @ [1.0, -2.0, 0.5]))
    return logistic_objective(X, y, 0.05)


@pytest.mark.spec("rudi/M3.8", "douc/M5.2", "douc/M5.4", "sangnier/M-1.3.3-a")
@pytest.mark.parametrize("step", ["1/L", "2/(alpha+L)", "exact", "backtracking", lambda t: 0.05])
def test_every_step_rule_reaches_the_minimum_of_a_quadratic(step):
    f, start = random_quadratic(0)
    found = gradient_descent(f, start, step=step, tol=1e-9, max_iter=2000)
    assert found.converged
    assert not found.diverged
    assert found.certificates.holds
    assert_allclose(found.point, f.minimiser, atol=1e-8)
    assert found.value == pytest.approx(f.minimum)
    assert len(found.trace.values) == found.n_iter + 1 == len(found.trace.step_sizes) + 1


@pytest.mark.parametrize(
    ("method", "step"),
    [
        (gradient_descent, "1/L"),
        (gradient_descent, "2/(alpha+L)"),
        (gradient_descent, "exact"),
        (gradient_descent, "backtracking"),
        (accelerated_gradient, "1/L"),
        (accelerated_gradient, "backtracking"),
    ],
)
def test_logistic_minimum_is_that_of_scipy(logistic, method, step):
    found = method(logistic, np.zeros(3), step=step, tol=1e-8, max_iter=3000)
    oracle = optimize.minimize(logistic.value, np.zeros(3), jac=logistic.gradient, tol=1e-12)
    assert found.converged
    assert_allclose(found.point, oracle.x, atol=1e-5)


@pytest.mark.spec("sangnier/M-1.3.3-a")
def test_exact_steps_are_orthogonal_and_at_least_as_good_as_any_other():
    f, start = random_quadratic(3)
    found = gradient_descent(f, start, step="exact", tol=1e-6, keep_points=True)
    gradients = np.array([f.gradient(x) for x in found.trace.points])
    cosines = np.sum(gradients[1:-1] * gradients[:-2], axis=1) / (
        found.trace.gradient_norms[1:-1] * found.trace.gradient_norms[:-2]
    )
    assert np.abs(cosines).max() < 1e-6
    first = gradients[0]
    best = found.trace.values[1]
    assert all(f.value(start - w * first) >= best - 1e-10 for w in np.linspace(0, 1, 50))


@pytest.mark.spec("rudi/M3.8", "douc/M5.2", "douc/M5.4")
@pytest.mark.parametrize("step", ["1/L", "2/(alpha+L)", "exact", lambda t: 0.1 / t])
def test_the_path_is_the_recursion_with_the_step_of_its_rule(step):
    f, x = random_quadratic(3)
    A = f.hessian(x)
    L, alpha = np.linalg.eigvalsh(A)[-1], np.linalg.eigvalsh(A)[0]
    trace = gradient_descent(f, x, step=step, tol=0, max_iter=12, keep_points=True).trace
    size = {
        "1/L": lambda t, g: 1 / L,
        "2/(alpha+L)": lambda t, g: 2 / (alpha + L),
        "exact": lambda t, g: g @ g / (g @ A @ g),  # the minimiser along the gradient of a quadratic
    }.get(step, lambda t, g: 0.1 / t)
    for t in range(1, 13):
        g = f.gradient(x)
        assert trace.step_sizes[t - 1] == pytest.approx(size(t, g), rel=1e-6)
        assert trace.gradient_norms[t - 1] == pytest.approx(np.linalg.norm(g), rel=1e-5)
        x = x - size(t, g) * g
        assert_allclose(trace.points[t], x, rtol=1e-5, atol=1e-6)


@pytest.mark.spec("douc/M5.1", "douc/T5.5")
def test_descent_on_the_line_keeps_its_bound():
    f = Smooth(
        lambda x: float(np.logaddexp(x[0], -x[0])),
        lambda x: np.tanh(x),
        smoothness=1.0,
        minimum=np.log(2),
        minimiser=np.zeros(1),
    )
    found = gradient_descent(f, [4.0], tol=1e-12, max_iter=200, keep_points=True)
    x = 4.0
    for n, point in enumerate(found.trace.points[:, 0]):
        assert point == pytest.approx(x, abs=1e-12)
        assert found.trace.values[n] == pytest.approx(np.log(2 * np.cosh(x)))
        x -= np.tanh(x) / 1.0  # f'(x)/L
    bound = smooth_rate(1.0, 16.0, scalar=True)
    assert bound.first == 1
    assert_allclose(bound(np.array([1, 2, 50])), [32.0, 16.0, 0.64])
    assert found.trace.against(bound, minimum=f.minimum).holds
    assert found.trace.against(smooth_rate(1.0, 16.0), minimum=f.minimum).holds
    slow = gradient_descent(f, [4.0], step=1e-3, max_iter=200)
    assert not slow.trace.against(bound, minimum=f.minimum).holds


@pytest.mark.spec("rudi/T3.5", "douc/T5.4")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(0.05, 1.95))
def test_descent_lemma_holds_along_every_trace(seed, share):
    f, start = random_quadratic(seed)
    trace = gradient_descent(f, start, step=share / f.smoothness, max_iter=50, keep_points=True).trace
    assert trace.against(descent_lemma(trace, f.smoothness)).holds
    assert trace.against(descent_lemma(trace, f.smoothness, tight=False)).holds
    assert trace.against(distance_never_grows(trace, f.minimiser), minimiser=f.minimiser).holds
    assert np.all(np.diff(trace.values) <= 1e-12)


@pytest.mark.spec("rudi/T3.5")
def test_descent_lemma_is_its_formula():
    trace = Trace(np.array([5.0, 3.0, 2.5]), np.array([2.0, 1.0, 0.5]), np.array([0.1, 0.2]))
    assert_allclose(descent_lemma(trace, 4.0)(np.array([1, 2])), [5 - 0.1 * 0.8 * 4, 3 - 0.2 * 0.6 * 1])
    loose = descent_lemma(trace, 4.0, tight=False)
    assert_allclose(loose(np.array([1, 2])), [5 - 0.1 * 0.6 * 4, 3 - 0.2 * 0.2 * 1])
    walked = trace._replace(points=np.array([[3.0, 4.0], [3.0, 0.0], [1.0, 0.0]]))
    assert_allclose(distance_never_grows(walked, np.zeros(2))(np.array([1, 2])), [25, 9])


@pytest.mark.spec("rudi/T3.5", "douc/T5.4")
def test_descent_lemma_is_refuted_by_an_underestimated_smoothness_and_by_a_damaged_trace():
    f, start = random_quadratic(1)
    trace = gradient_descent(f, start, step=1.9 / f.smoothness, max_iter=30, keep_points=True).trace
    assert not trace.against(descent_lemma(trace, f.smoothness / 3)).holds
    values = trace.values.copy()
    values[5] += 0.9 * (values[4] - values[5])
    damaged = trace._replace(values=values)
    assert not damaged.against(descent_lemma(damaged, f.smoothness)).holds
    points = trace.points.copy()
    points[7] += 3.0
    away = trace._replace(points=points)
    assert not away.against(distance_never_grows(away, f.minimiser), minimiser=f.minimiser).holds


@pytest.mark.spec("rudi/T3.6", "douc/T5.9", "rudi/T3.11", "douc/T5.5", "douc/T5.10")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([2.0, 20.0, 300.0]))
def test_rates_bound_the_traces_they_are_about(seed, kappa):
    f, start = random_quadratic(seed, kappa=kappa)
    L, alpha, R2 = f.smoothness, f.strong_convexity, squared(start, f.minimiser)
    known = {"minimum": f.minimum, "minimiser": f.minimiser}
    trace = gradient_descent(f, start, max_iter=150, tol=0, keep_points=True).trace
    for bound in (
        linear_rate(1 / L, L, alpha, R2),
        strongly_convex_rate(L, alpha, R2),
        convex_rate(1 / L, L, R2),
        smooth_rate(L, R2),
    ):
        for measure in ("excess", "ratio"):
            assert trace.against(bound, measure=measure, **known).holds, bound.claim
    best = gradient_descent(f, start, step="2/(alpha+L)", max_iter=150, tol=0).trace
    assert best.against(optimal_step_rate(L, alpha, R2), **known).holds
    half = gradient_descent(f, start, step=0.5 / L, max_iter=150, tol=0, keep_points=True).trace
    assert half.against(linear_rate(0.5 / L, L, alpha, R2), **known).holds
    fast = accelerated_gradient(f, start, max_iter=150, tol=0).trace
    assert fast.against(accelerated_rate(L, R2), **known).holds


@pytest.mark.spec("rudi/T3.6", "rudi/F3.3")
def test_a_step_above_two_over_L_diverges_and_its_certificates_say_so():
    f, start = random_quadratic(2)
    L, R2 = f.smoothness, squared(start, f.minimiser)
    found = gradient_descent(f, start, step=3 / L, max_iter=5000, keep_points=True)
    assert found.diverged
    assert not found.converged
    assert not found.certificates.named("largest rise").holds
    assert not found.certificates.named("gradient norm").holds
    assert found.n_iter < 100  # seen long before the numbers overflow
    known = {"minimum": f.minimum, "minimiser": f.minimiser}
    for bound in (
        linear_rate(1 / L, L, f.strong_convexity, R2),
        strongly_convex_rate(L, f.strong_convexity, R2),
        convex_rate(1 / L, L, R2),
        smooth_rate(L, R2),
        optimal_step_rate(L, f.strong_convexity, R2),
    ):
        assert not found.trace.against(bound, **known).holds, bound.claim
        assert found.trace.against(bound, measure="ratio", **known).value > 1
    slow = gradient_descent(f, start, step=0.01 / L, max_iter=100)
    assert not slow.converged
    assert not slow.diverged
    assert slow.certificates.named("largest rise").holds
    assert not slow.certificates.named("gradient norm").holds
    assert slow.value > gradient_descent(f, start, max_iter=100).value


@pytest.mark.spec("rudi/T3.7", "douc/T5.5", "douc/T5.10")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([1e-1, 1e-3]))
def test_planned_iterations_are_enough(seed, epsilon):
    f, start = random_quadratic(seed, kappa=5.0)
    L, alpha, R2 = f.smoothness, f.strong_convexity, squared(start, f.minimiser)
    for bound, step in (
        (linear_rate(1 / L, L, alpha, R2), "1/L"),
        (linear_rate(0.3 / L, L, alpha, R2), 0.3 / L),
        (strongly_convex_rate(L, alpha, R2), "1/L"),
        (optimal_step_rate(L, alpha, R2), "2/(alpha+L)"),
        (smooth_rate(L, R2), "1/L"),
        (convex_rate(1 / L, L, R2), "1/L"),
    ):
        n = bound.iterations(epsilon)
        assert bound(n) <= epsilon * (1 + 1e-9)
        found = gradient_descent(f, start, step=step, tol=0, max_iter=min(n, 400), keep_points=True)
        if n <= 400:
            reached = found.trace.measured(bound.quantity, minimum=f.minimum, minimiser=f.minimiser)[-1]
            assert reached <= epsilon


@pytest.mark.spec("rudi/T3.7")
def test_iteration_budget_is_the_formula():
    bound = linear_rate(0.1, 10.0, 0.5, 4.0)
    assert bound.iterations(1e-3) == int(np.ceil(np.log(4.0 / 1e-3) / (0.1 * 0.5)))
    assert bound.iterations(5.0) == 0
    assert smooth_rate(10.0, 4.0).iterations(0.5) == 2 * 10 * 4 / 0.5 - 4


def test_fitted_rate_is_that_of_the_slowest_direction():
    f = quadratic(np.diag([1.0, 10.0]), [0.0, 0.0])
    trace = gradient_descent(f, [1.0, 0.0], tol=0, max_iter=60).trace
    assert trace.rate(f.minimum) == pytest.approx(0.81)
    assert trace.rate(f.value(np.array([9.0, 9.0]))) == 0


@pytest.mark.spec("douc/T5.2")
def test_backtracking_estimates_the_smoothness_within_a_factor_two(logistic):
    f, start = random_quadratic(6)
    steps = gradient_descent(f, start, step="backtracking", tol=1e-4).trace.step_sizes
    assert np.all(1 / steps <= 2 * f.smoothness * (1 + 1e-9))
    assert np.all(1 / steps >= f.strong_convexity / 2)
    unknown = Smooth(logistic.value, logistic.gradient)  # no constant given: the search finds its own
    found = gradient_descent(unknown, np.zeros(3), step="backtracking", tol=1e-6)
    assert found.converged
    assert np.all(1 / found.trace.step_sizes <= 2 * logistic.smoothness * (1 + 1e-9))


@pytest.mark.spec("rudi/T2.5", "rudi/F2.8")
def test_every_start_finds_the_minimum_of_a_convex_function_and_not_of_another(logistic, rng):
    starts = 3 * rng.standard_normal((6, 3))
    ends = [gradient_descent(logistic, start, tol=1e-9, max_iter=3000) for start in starts]
    assert np.ptp([end.value for end in ends]) < 1e-12
    assert np.ptp([end.point for end in ends], axis=0).max() < 1e-6
    wave = Smooth(
        lambda x: float(np.sin(2 * x[0]) + 0.1 * x[0] ** 2),
        lambda x: 2 * np.cos(2 * x) + 0.2 * x,
        smoothness=4.2,
    )
    ends = [gradient_descent(wave, [start], tol=1e-9, max_iter=500) for start in np.linspace(-6, 6, 13)]
    assert all(end.converged for end in ends)  # to local minima, of several heights
    assert np.ptp([end.value for end in ends]) > 1
    # A grid knows them all: no start ends elsewhere, and the best of the starts finds the lowest.
    grid = np.linspace(-8, 8, 160_001)
    heights = np.sin(2 * grid) + 0.1 * grid**2
    inner = np.flatnonzero((heights[1:-1] < heights[:-2]) & (heights[1:-1] < heights[2:])) + 1
    reached = {int(np.argmin(np.abs(grid[inner] - end.point[0]))) for end in ends}
    assert_allclose([np.abs(grid[inner] - end.point[0]).min() for end in ends], 0, atol=2e-4)
    assert len(reached) >= 3
    best = min(ends, key=lambda end: end.value)
    assert best.value == pytest.approx(heights.min(), abs=1e-7)
    for end in ends:
        assert check_chord(wave, np.array([end.point, best.point])).holds == (
            abs(end.point[0] - best.point[0]) < 1e-6
        )


def test_acceleration_beats_plain_descent_and_restarts_are_linear():
    f, start = random_quadratic(5, d=20, kappa=1e3)
    gap = {}
    for name, found in (
        ("plain", gradient_descent(f, start, tol=0, max_iter=300)),
        ("fast", accelerated_gradient(f, start, tol=0, max_iter=300)),
        ("restarted", accelerated_gradient(f, start, restart=True, tol=0, max_iter=300)),
    ):
        gap[name] = found.value - f.minimum
    assert gap["restarted"] < 1e-2 * gap["fast"] < gap["plain"]
    assert accelerated_gradient(f, start, restart=True, tol=1e-9, max_iter=3000).converged


def linear(slope):
    slope = np.asarray(slope, dtype=float)
    return Smooth(lambda x: float(slope @ x), lambda x: slope, smoothness=1.0, strong_convexity=0.0)


@pytest.mark.spec("douc/M5.3", "douc/T5.7")
def test_projected_descent_keeps_its_bound_and_its_plan(rng):
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    f, r = least_squares_objective(X, y), 0.1
    start = np.array([r, 0.0, 0.0])
    G = f.smoothness * r + float(np.linalg.norm(f.gradient(np.zeros(3))))
    constraint = {"type": "ineq", "fun": lambda w: r**2 - w @ w}
    oracle = optimize.minimize(f.value, np.zeros(3), jac=f.gradient, constraints=[constraint], tol=1e-12)
    plan = projected_plan(r, G, 0.02)
    found = projected_gradient(
        f, Ball(0.0, r).project, start, step=plan.step, n_iter=plan.n_iter, keep_points=True
    )
    assert found.certificates.holds
    x = start
    for point in found.trace.points[:20]:
        assert_allclose(point, x, atol=1e-12)
        ahead = x - plan.step * f.gradient(x)
        x = ahead * min(1, r / np.linalg.norm(ahead))
    assert len(found.trace.points) == plan.n_iter
    assert plan.step == pytest.approx(2 * r / (G * np.sqrt(plan.n_iter)), rel=1e-12)
    assert plan.bound <= 0.02
    assert found.value - oracle.fun <= plan.bound
    assert_allclose(found.average, found.trace.points.mean(axis=0))
    assert np.all(np.linalg.norm(found.trace.points, axis=1) <= r + 1e-12)
    means = found.trace.averaged(f)
    bound = projected_rate(plan.step, G, squared(start, oracle.x))
    assert means.against(bound, minimum=oracle.fun).holds
    worse = means._replace(values=means.values + bound(plan.n_iter))
    assert not worse.against(bound, minimum=oracle.fun).holds
    last = projected_gradient(
        f, Ball(0.0, r).project, start, step=1 / f.smoothness, n_iter=500, average=False
    )
    assert_allclose(last.point, oracle.x, atol=1e-6)
    assert np.array_equal(last.point, last.last)


@pytest.mark.spec("douc/T5.7")
def test_the_constant_one_radius_needs_a_start_within_one_radius():
    f, n, project = linear([1.0, 0.0]), 100, Ball(0.0, 1.0).project
    near, wrong_side = [0.0, 0.0], [1.0, 0.0]
    plan = projected_plan(1.0, 1.0, 0.1, start_within_radius=True)
    assert plan.n_iter == n
    assert plan.step == pytest.approx(0.1)

    def gap(start, step, n_iter):
        return projected_gradient(f, project, start, step=step, n_iter=n_iter).value + 1

    assert gap(near, plan.step, n) <= plan.bound
    assert gap(wrong_side, plan.step, n) > 2 * plan.bound  # one radius is not enough from there
    assert gap(wrong_side, plan.step, n) <= 2.5 * plan.bound
    general = projected_plan(1.0, 1.0, 0.1)
    assert gap(wrong_side, general.step, general.n_iter) <= general.bound <= 0.1
    outside = projected_gradient(f, project, [30.0, 0.0], step=plan.step, n_iter=n)
    assert outside.value + 1 > projected_rate(plan.step, 1.0, 1.0)(n)
    assert not outside.certificates.holds


@pytest.mark.spec("sangnier/E-1.8")
@pytest.mark.parametrize("share", [0.5, 1.0])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000))
def test_inexact_directions_descend_at_their_rate(share, seed):
    f, start = random_quadratic(seed, d=6)
    quality = 1 / 6  # the largest of six squares is at least a sixth of their sum

    def largest_coordinate(gradient):
        return np.where(np.arange(6) == np.argmax(np.abs(gradient)), gradient, 0.0)

    step = share / f.smoothness
    found = inexact_descent(
        f, largest_coordinate, start, quality=quality, step=step, tol=0, max_iter=200, keep_points=True
    )
    bound = inexact_rate(step, f.smoothness, f.strong_convexity, quality, f.value(start) - f.minimum)
    assert found.certificates.named("smallest 1 − ‖∇f − P(∇f)‖²/‖∇f‖²").holds
    assert found.trace.against(bound, minimum=f.minimum).holds
    values, norms = found.trace.values, found.trace.gradient_norms
    moves = np.sum((np.diff(found.trace.points, axis=0) / step) ** 2, axis=1)
    promised = (
        values[:-1] - quality * step / 2 * norms[:-1] ** 2 - step / 2 * (1 - f.smoothness * step) * moves
    )
    assert np.all(values[1:] <= promised + 1e-12 * abs(values[0]))
    # L/2 ‖·‖² − f is convex
    assert check_chord(lambda x: f.smoothness / 2 * x @ x - f.value(x), found.trace.points[:6]).holds
    # Polyak–Łojasiewicz
    assert np.all(norms**2 >= 2 * f.strong_convexity * (values - f.minimum) - 1e-9)


@pytest.mark.spec("sangnier/E-1.8")
def test_a_direction_worse_than_promised_is_found_out():
    f, start = random_quadratic(4, d=3)

    def first_only(gradient):
        return gradient * [1.0, 0.0, 0.0]

    found = inexact_descent(f, first_only, start, quality=0.5, tol=1e-8, max_iter=300)
    assert not found.certificates.holds
    bound = inexact_rate(1 / f.smoothness, f.smoothness, f.strong_convexity, 0.5, f.value(start) - f.minimum)
    assert not found.trace.against(bound, minimum=f.minimum).holds


def test_a_search_that_finds_no_descent_stops():
    f = Smooth(lambda x: float(np.any(x != 1.0)), np.ones_like)  # a wrong gradient
    found = gradient_descent(f, [1.0, 1.0], step="backtracking", max_iter=50)
    assert found.n_iter == 1
    assert not found.converged


F, START = random_quadratic(0)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: gradient_descent(F, START, step="fast"), "step"),
        (lambda: gradient_descent(F, START, step=-1.0), "step"),
        (lambda: gradient_descent(Smooth(F.value, F.gradient), START), "step"),
        (
            lambda: gradient_descent(Smooth(F.value, F.gradient, smoothness=1.0), START, step="2/(alpha+L)"),
            "step",
        ),
        (lambda: gradient_descent(F, [np.nan]), "start"),
        (lambda: gradient_descent(F, START, tol=-1), "tol"),
        (lambda: gradient_descent(F, START, max_iter=0), "max_iter"),
        (lambda: projected_gradient(F, Ball(0.0, 1.0).project, START, step=0.1, n_iter=0), "n_iter"),
        (lambda: linear_rate(0.2, 10.0, 1.0, 1.0), "step"),
        (lambda: linear_rate(0.1, 10.0, 11.0, 1.0), "strong_convexity"),
        (lambda: smooth_rate(0.0, 1.0), "smoothness"),
        (lambda: smooth_rate(1.0, -1.0), "squared_distance"),
        (lambda: smooth_rate(1.0, 1.0).iterations(0.0), "epsilon"),
        (lambda: projected_rate(0.1, 1.0, 1.0).iterations(0.05), "epsilon"),
        (lambda: inexact_rate(0.1, 1.0, 0.5, 1.5, 1.0), "quality"),
        (lambda: inexact_descent(F, lambda g: g, START, quality=0.0), "quality"),
        (lambda: projected_plan(-1.0, 1.0, 0.1), "radius"),
        (lambda: descent_lemma(gradient_descent(F, START).trace, F.smoothness).iterations(0.1), "bound"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(make, name):
    with pytest.raises(
        ParameterError, match=rf"(?s)^The '{name}' parameter of \w+ must be .* Got .* instead\.$"
    ):
        make()
