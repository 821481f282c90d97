"""Testers accept what is true and refute what is not, with a counterexample that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from assay.optimize import (
    Smooth,
    check_chord,
    check_cocoercivity,
    check_convexity,
    check_hessian,
    check_lipschitz_gradient,
    check_minimiser,
    check_monotone_gradient,
    check_projection,
    check_slopes,
    check_smoothness,
    check_strong_convexity,
    check_tangent,
    estimate_smoothness,
    estimate_strong_convexity,
    gap_bound,
    jensen_gap,
    least_squares_objective,
    logistic_objective,
    quadratic,
)
from assay.parameters import ParameterError
from assay.penalties import Ball, Box, L1Ball, Simplex

WAVE = Smooth(
    lambda x: float(np.sin(2 * x[0]) + 0.1 * x @ x),
    lambda x: np.array([2 * np.cos(2 * x[0]), 0.0]) + 0.2 * x,
    lambda x: np.diag([0.2 - 4 * np.sin(2 * x[0]), 0.2]),
    smoothness=4.2,
)


@pytest.fixture
def points(rng):
    return 2 * rng.standard_normal((25, 2))


def good(rng):
    X = rng.standard_normal((20, 2))
    y = X @ [1.0, 2.0] + rng.standard_normal(20)
    return (
        quadratic(np.diag([1.0, 3.0]), [1.0, 1.0]),
        least_squares_objective(X, y, 0.1),
        logistic_objective(X, y > 0, 0.2),
    )


@pytest.mark.spec("rudi/M2.12", "sangnier/T-1.4.5-a", "douc/T5.1")
def test_convex_objectives_pass_all_tests(rng, points):
    for f in good(rng):
        checks = check_convexity(f, points)
        assert len(checks) == 4
        assert all(check.holds and check.counterexample is None for check in checks)


@pytest.mark.spec("rudi/M2.12", "sangnier/T-1.4.5-a", "douc/T5.1")
def test_a_wave_is_refuted_by_pairs_that_refute_it(points):
    x, y = check_chord(WAVE, points).counterexample
    assert any(
        WAVE.value(a * x + (1 - a) * y) > a * WAVE.value(x) + (1 - a) * WAVE.value(y) + 1e-6
        for a in (0.25, 0.5, 0.75)
    )
    x, y = check_tangent(WAVE, points).counterexample
    assert WAVE.value(y) < WAVE.value(x) + WAVE.gradient(x) @ (y - x) - 1e-6
    x, y = check_monotone_gradient(WAVE, points).counterexample
    assert (WAVE.gradient(y) - WAVE.gradient(x)) @ (y - x) < -1e-6
    x, direction = check_hessian(WAVE, points).counterexample
    assert direction @ WAVE.hessian(x) @ direction < 0
    without = Smooth(WAVE.value, WAVE.gradient)
    assert len(check_convexity(without, points)) == 3


@pytest.mark.spec("rudi/M2.12")
def test_chords_are_those_of_the_epigraph(rng, points):
    for f, convex in ((good(rng)[2], True), (WAVE, False)):
        assert check_chord(f, points).holds == convex
        above = np.array([f.value(x) for x in points]) + 1e-9
        middle = (points[:, None] + points[None, :]) / 2
        inside = [
            f.value(middle[i, j]) <= (above[i] + above[j]) / 2
            for i in range(len(points))
            for j in range(len(points))
        ]
        assert all(inside) == convex


@pytest.mark.spec("douc/T5.1")
def test_slopes_on_the_line():
    grid = np.linspace(-2, 2, 15)
    assert check_slopes(np.exp, grid).holds
    assert check_slopes(abs, grid).holds  # no derivative needed
    wrong = check_slopes(np.tanh, grid)
    assert not wrong.holds
    x0, a, b = (point[0] for point in wrong.counterexample)
    assert a < b
    assert (np.tanh(b) - np.tanh(x0)) / (b - x0) < (np.tanh(a) - np.tanh(x0)) / (a - x0)
    line = Smooth(lambda x: float(np.tanh(x[0])), lambda x: 1 / np.cosh(x) ** 2)
    assert not check_tangent(line, grid[:, None]).holds
    assert not check_monotone_gradient(line, grid[:, None]).holds


@pytest.mark.spec("rudi/T3.4", "douc/T5.2", "douc/T5.3", "rudi/M3.10")
def test_smoothness_holds_with_its_constant_and_not_with_less(rng, points):
    for f in good(rng):
        for tight in (True, False):
            assert check_smoothness(f, points, tight=tight).holds
        assert check_lipschitz_gradient(f, points).holds
        assert check_cocoercivity(f, points).holds
        seen = estimate_smoothness(f, points)
        assert seen <= f.smoothness * (1 + 1e-9)
        assert (
            seen <= estimate_smoothness(f, points, cocoercive=True) * (1 + 1e-9) <= f.smoothness * (1 + 2e-9)
        )
        assert not check_lipschitz_gradient(f, points, 0.9 * seen).holds
        refuted = check_cocoercivity(f, points, 0.9 * seen)
        x, y = refuted.counterexample
        turn = f.gradient(y) - f.gradient(x)
        low = 0.9 * seen
        gap = f.value(y) - f.value(x) - f.gradient(x) @ (y - x) - turn @ turn / (2 * low)
        assert turn @ (y - x) < turn @ turn / low or gap < 0
    steep = check_smoothness(good(rng)[0], points, 1.0)
    x, y = steep.counterexample
    f = good(rng)[0]
    assert f.value(y) > f.value(x) + f.gradient(x) @ (y - x) + 0.5 * np.sum((y - x) ** 2)


@pytest.mark.spec("douc/T5.3")
def test_each_half_of_cocoercivity_is_looked_at():
    # Flat, then steep: the pair is co-coercive with L = 2, but the tangent at 0 is too close to f at 1.
    late = Smooth(lambda x: 5 * float(max(x[0] - 0.9, 0)) ** 2, lambda x: 10 * np.maximum(x - 0.9, 0))
    ends = np.array([[0.0], [1.0]])
    assert late.gradient(ends[1])[0] ** 2 / 2 <= late.gradient(ends[1])[0]
    assert not check_cocoercivity(late, ends, 2.0).holds
    f = quadratic(np.eye(1), np.zeros(1))
    assert check_cocoercivity(f, ends, 0.5).certificate.value == pytest.approx(1 / 0.5 - 1)


@pytest.mark.spec("rudi/M3.10")
def test_sampled_constants_reach_those_of_a_quadratic_along_its_axes():
    f = quadratic(np.diag([1.0, 3.0]), [1.0, 1.0])
    axes = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert estimate_smoothness(f, axes) == pytest.approx(3.0)
    assert estimate_smoothness(f, axes, cocoercive=True) == pytest.approx(3.0)
    assert estimate_strong_convexity(f, axes) == pytest.approx(1.0)


def test_a_wave_is_smooth_but_not_cocoercive(points):
    assert check_smoothness(WAVE, points).holds
    assert check_lipschitz_gradient(WAVE, points).holds
    assert not check_cocoercivity(WAVE, points).holds
    assert estimate_smoothness(WAVE, points, cocoercive=True) == np.inf
    assert estimate_strong_convexity(WAVE, points) < 0


@pytest.mark.spec("douc/T5.8", "rudi/M2.12")
def test_strong_convexity_holds_with_its_modulus_and_not_with_more(rng, points):
    for f in good(rng):
        assert check_strong_convexity(f, points).holds
        seen = estimate_strong_convexity(f, points)
        assert seen >= f.strong_convexity * (1 - 1e-9)
        wrong = check_strong_convexity(f, points, 1.5 * f.smoothness)
        x, y = wrong.counterexample
        assert f.value(y) < f.value(x) + f.gradient(x) @ (y - x) + 0.75 * f.smoothness * np.sum((y - x) ** 2)


AXES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


@pytest.mark.spec("rudi/T3.4", "douc/T5.2", "douc/T5.3", "rudi/M3.10")
def test_smoothness_is_refuted_just_below_its_constant():
    """Along the axes of a quadratic every inequality is an equality: L = 3 serves and 0.999 L does not."""
    f = quadratic(np.diag([1.0, 3.0]), [1.0, 1.0])
    for check in (check_smoothness, check_lipschitz_gradient, check_cocoercivity):
        assert check(f, AXES, 3.0).holds
        assert not check(f, AXES, 0.999 * 3.0).holds
    # Without the half, the constant L/2 is enough.
    assert check_smoothness(f, AXES, 1.5, tight=False).holds
    assert not check_smoothness(f, AXES, 0.999 * 1.5, tight=False).holds
    # Each half of co-coercivity alone: f(y) − f(x) − ⟨∇f(x), y − x⟩ = ‖Δ∇f‖²/(2L) here too.
    x, y = AXES[0], AXES[2]
    turn = f.gradient(y) - f.gradient(x)
    assert f.value(y) - f.value(x) - f.gradient(x) @ (y - x) == pytest.approx(turn @ turn / (2 * 3))
    assert turn @ (y - x) == pytest.approx(turn @ turn / 3)


@pytest.mark.spec("douc/T5.8", "rudi/M2.12")
def test_strong_convexity_is_refuted_just_above_its_modulus():
    f = quadratic(np.diag([2.0, 6.0]), [1.0, 1.0])
    assert check_strong_convexity(f, AXES, 2.0).holds
    assert not check_strong_convexity(f, AXES, 1.001 * 2.0).holds
    # The modulus is the largest μ for which f − (μ/2)‖x‖² is convex.
    for mu, convex in ((2.0, True), (1.001 * 2.0, False)):
        rest = quadratic(np.diag([2.0 - mu, 6.0 - mu]), [1.0, 1.0])
        assert check_chord(rest, AXES).holds == convex
        assert check_hessian(rest, AXES).holds == convex


@pytest.mark.spec("rudi/T2.4")
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10_000))
def test_jensen_gap_is_never_negative_for_convex_functions(n, seed):
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal(n), rng.dirichlet(np.ones(n))
    for f in (np.exp, np.square, np.abs):
        assert jensen_gap(f, x, w) >= -1e-12
    assert jensen_gap(np.square, x) == pytest.approx(np.var(x))  # Jensen's gap of the square is the variance
    assert jensen_gap(np.square, x, w) == pytest.approx(w @ (x - w @ x) ** 2)
    vectors = rng.standard_normal((n, 3))
    gap = jensen_gap(np.linalg.norm, vectors, w)
    assert gap >= -1e-12
    assert gap == pytest.approx(w @ np.linalg.norm(vectors, axis=1) - np.linalg.norm(w @ vectors))


@pytest.mark.spec("rudi/T2.4")
def test_jensen_gap_of_a_law_and_of_a_concave_function(rng):
    sample = rng.standard_normal(20_000)
    expected = np.exp(0.5) - 1  # E exp(Z) − exp(E Z)
    error = np.exp(sample).std() / np.sqrt(len(sample))
    assert abs(jensen_gap(np.exp, sample) - expected) < 5 * error
    assert jensen_gap(np.sqrt, [1.0, 4.0]) < 0


@pytest.mark.spec("sangnier/T-1.4.5-b", "rudi/T2.5")
def test_fermat_accepts_the_minimiser_and_refutes_others_by_a_lower_point(rng):
    for f in good(rng):
        found = optimize.minimize(f.value, np.zeros(2), jac=f.gradient, tol=1e-12)
        assert check_minimiser(f, found.x, 1e-5).holds
        away = found.x + [0.3, -0.2]
        check = check_minimiser(f, away)
        assert not check.holds
        assert f.value(check.counterexample[0]) < f.value(away)
        assert 0 < f.value(away) - found.fun <= gap_bound(f, away) * (1 + 1e-9)
    assert gap_bound(WAVE, [1.0, 1.0]) == np.inf


@pytest.mark.spec("rudi/T2.5")
def test_the_gradient_bounds_the_gap_and_the_bound_is_attained():
    f = quadratic(np.diag([2.0, 6.0]), [0.0, 0.0])
    weak, steep = np.array([3.0, 0.0]), np.array([0.0, 1.0])
    assert gap_bound(f, weak) == pytest.approx(f.value(weak))  # ‖g‖²/(2μ) = 36/4
    assert gap_bound(f, steep) == pytest.approx(36 / 4) == pytest.approx(3 * f.value(steep))
    # Fermat's rule is about ‖∇f‖ ≤ tol, and nothing looser.
    for size, holds in ((0.99, True), (1.01, False)):
        assert check_minimiser(f, [0.0, size * 1e-3 / 6], 1e-3).holds == holds
    # Strictly convex: one minimiser. Convex only: every point of a valley is one.
    valley = quadratic(np.diag([2.0, 0.0]), [0.0, 0.0])
    for height in (-5.0, 0.0, 7.0):
        assert check_minimiser(valley, [0.0, height]).holds
        assert check_minimiser(f, [0.0, height]).holds == (height == 0)


@pytest.mark.spec("douc/T5.6")
@pytest.mark.parametrize("dimension", [2, 4])
def test_projections_are_projections(rng, dimension):
    points = 3 * rng.standard_normal((20, dimension))
    raw = rng.standard_normal((40, dimension))
    sets = {
        "ball": (
            Ball(0.0, 1.5).project,
            1.5 * raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1),
        ),
        "box": (Box(-1.0, 0.5).project, rng.uniform(-1, 0.5, raw.shape)),
        "simplex": (Simplex().project, rng.dirichlet(np.ones(dimension), 40)),
        "l1": (L1Ball(1.0).project, raw / np.maximum(np.abs(raw).sum(axis=1, keepdims=True), 1)),
    }
    for name, (project, members) in sets.items():
        assert check_projection(project, points, members).holds, name
        image = np.array([project(x) for x in points])
        assert np.allclose([project(x) for x in image], image), name
        away = np.sum((points - image) ** 2, axis=1)[:, None]
        across = np.sum((members[None] - image[:, None]) ** 2, axis=2)
        direct = np.sum((members[None] - points[:, None]) ** 2, axis=2)
        assert np.all(away + across <= direct + 1e-9), name
    assert np.allclose(sets["simplex"][0](points[0]).sum(), 1)
    # Inside the set, and the identity on it, but not the nearest point: one factor for all entries of a box.
    shrink = check_projection(lambda x: x / max(1, np.max(np.maximum(x / 0.5, -x))), points, sets["box"][1])
    assert not shrink.holds
    outside, member = shrink.counterexample
    image = outside / np.max(np.maximum(outside / 0.5, -outside))
    assert (outside - image) @ (member - image) > 0
    wrong = check_projection(lambda x: np.clip(x, -1.5, 1.5) / 2, points, sets["ball"][1])
    assert not wrong.holds
    assert len(wrong.counterexample) == 2


F = quadratic(np.eye(2), np.zeros(2))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: check_tangent(F, [1.0, 2.0]), "points"),
        (lambda: check_chord(F, [[np.nan, 1.0]]), "points"),
        (lambda: check_smoothness(Smooth(F.value, F.gradient), np.eye(2)), "smoothness"),
        (lambda: check_strong_convexity(F, np.eye(2), -1.0), "alpha"),
        (lambda: check_hessian(Smooth(F.value, F.gradient), np.eye(2)), "objective"),
        (lambda: check_slopes(np.exp, [0.0, 1.0]), "grid"),
        (lambda: jensen_gap(np.exp, [0.0, 1.0], [0.7, 0.7]), "weights"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(make, name):
    with pytest.raises(
        ParameterError, match=rf"(?s)^The '{name}' parameter of \w+ must be .* Got .* instead\.$"
    ):
        make()
