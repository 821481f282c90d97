"""Lagrangians, duals, Slater's condition and the optimality conditions of convex programmes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize

from assay.optimize import (
    ConvexProgram,
    Smooth,
    dual_value,
    duality_counterexample,
    duality_gap,
    equality_quadratic,
    kkt_report,
    linear_program,
    program_certificates,
    slater_point,
    solve_dual,
    solve_program,
)
from assay.optimize.descent.newton import newton
from assay.optimize.programs import dual
from assay.parameters import ParameterError
from assay.penalties import Ball, Hyperplane, Quadratic, kkt_residuals


def projection_on_the_ball(x, radius):
    d = len(x)
    distance = Quadratic(2 * np.eye(d), -2 * np.asarray(x), float(np.dot(x, x)))
    return ConvexProgram(distance, [Quadratic(2 * np.eye(d), np.zeros(d), -(radius**2))], start=np.zeros(d))


def random_program(seed):
    rng = np.random.default_rng(seed)
    d, m, k = rng.integers(2, 6), rng.integers(0, 4), rng.integers(0, 2)
    factor = rng.standard_normal((d, d))
    inside = rng.standard_normal(d)
    inequalities = []
    for _ in range(m):
        a, room = rng.standard_normal(d), rng.uniform(0.1, 1)
        if rng.uniform() < 0.5:
            inequalities.append(Quadratic(None, a, -a @ inside - room))
        else:
            inequalities.append(Quadratic(np.eye(d), np.zeros(d), -inside @ inside / 2 - room))
    equalities = [Quadratic(None, a, -a @ inside) for a in rng.standard_normal((k, d))]
    objective = Quadratic(factor @ factor.T + 0.1 * np.eye(d), 3 * rng.standard_normal(d))
    problem = ConvexProgram(objective, inequalities, equalities, start=3 * rng.standard_normal(d))
    return problem, inside, rng


@pytest.mark.spec("sangnier/M-1.4.5-a", "rudi/M3.1")
def test_the_lagrangian_and_the_primal_function_are_their_formulas():
    problem, inside, rng = random_program(6)
    mu, nu = rng.uniform(0, 2, len(problem.inequalities)), rng.standard_normal(len(problem.equalities))
    x = rng.standard_normal(problem.n_variables)
    by_hand = problem.objective.value(x)
    by_hand += sum(w * g.value(x) for w, g in zip(mu, problem.inequalities, strict=True))
    by_hand += sum(w * h.value(x) for w, h in zip(nu, problem.equalities, strict=True))
    assert problem.lagrangian(x, mu, nu) == pytest.approx(by_hand)
    assert problem.primal_value(inside) == pytest.approx(problem.objective.value(inside))
    assert problem.primal_value(inside + 100) == np.inf


@pytest.mark.spec("sangnier/T-1.4.5-c")
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000))
def test_the_supremum_over_multipliers_is_the_objective_inside_and_infinite_outside(seed):
    problem, inside, rng = random_program(seed)
    m, k = len(problem.inequalities), len(problem.equalities)
    assert problem.supremum(inside, tolerance=1e-9).value == pytest.approx(problem.objective.value(inside))
    for _ in range(20):  # no multipliers do better at a feasible point
        mu, nu = rng.exponential(size=m), np.zeros(k)
        assert problem.lagrangian(inside, mu, nu) <= problem.objective.value(inside) + 1e-9
    outside = inside + 10 * rng.standard_normal(problem.n_variables)
    if problem.violation(outside) > 1e-6:
        found = problem.supremum(outside)
        assert found.value == np.inf
        values = [
            problem.lagrangian(outside, t * found.multipliers, t * found.equality_multipliers)
            for t in (1.0, 10.0, 1e6)
        ]
        assert np.all(np.diff(values) > 0)
        assert values[-1] == pytest.approx(problem.objective.value(outside) + 1e6 * found.slope)


@pytest.mark.spec("rudi/M3.1", "sangnier/M-1.4.5-a")
def test_equalities_are_pairs_of_inequalities():
    problem, inside, _ = random_program(6)
    assert len(problem.equalities) == 1
    split = problem.as_inequalities()
    assert len(split.inequalities) == len(problem.inequalities) + 2
    assert split.violation(inside) == pytest.approx(problem.violation(inside), abs=1e-12)
    assert split.violation(inside + 1) == pytest.approx(problem.violation(inside + 1))
    assert not slater_point(split).holds  # a pair h ≤ 0, −h ≤ 0 has no strict point


@pytest.mark.spec("sangnier/T-1.4.5-d", "rudi/T3.1", "rudi/M3.2", "rudi/M3.3")
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000))
def test_every_dual_value_is_below_every_feasible_objective(seed):
    problem, inside, rng = random_program(seed)
    mu, nu = rng.exponential(size=len(problem.inequalities)), rng.standard_normal(len(problem.equalities))
    found = dual_value(problem, mu, nu)
    assert found.lower_bound <= found.value <= problem.objective.value(inside) + 1e-9
    assert found.value - found.lower_bound < 1e-8
    oracle = optimize.minimize(problem.at_multipliers(mu, nu).value, np.zeros(problem.n_variables)).fun
    assert found.value == pytest.approx(oracle, abs=1e-6 * max(1, abs(oracle)))
    assert duality_gap(problem, inside, mu, nu) >= 0
    # The gap is the difference of the two values, and bounds what is left at the point.
    gap = duality_gap(problem, inside, mu, nu)
    assert gap == pytest.approx(problem.objective.value(inside) - oracle, abs=1e-6 * max(1, abs(oracle)))
    assert problem.objective.value(inside) - solve_program(problem).value <= gap + 1e-6 * max(1, gap)
    if problem.violation(inside + 100) > 0:
        assert duality_gap(problem, inside + 100, mu, nu) == np.inf


@pytest.mark.spec("rudi/M3.2")
@pytest.mark.parametrize("radius", [None, 0.01])
@pytest.mark.parametrize("seed", range(6))
def test_a_lagrangian_that_was_not_quite_minimised_still_gives_a_lower_bound(monkeypatch, seed, radius):
    """Newton's point moved by up to 0.01: L there is above the dual, and the slack takes it below."""
    problem, _, rng = random_program(seed)
    mu, nu = rng.exponential(size=len(problem.inequalities)), rng.standard_normal(len(problem.equalities))
    exact, step = dual_value(problem, mu, nu), rng.standard_normal(problem.n_variables)
    step *= 0.01 / np.linalg.norm(step)
    inner = problem.at_multipliers(mu, nu)

    def short(objective, start, **options):
        end = newton(objective, start, **options)
        size = float(np.linalg.norm(inner.gradient(end.point + step)))
        return end._replace(point=end.point + step, value=inner.value(end.point + step), gradient_norm=size)

    monkeypatch.setattr(dual, "newton", short)
    found = dual_value(problem, mu, nu, radius=radius)
    assert found.lower_bound <= exact.value < found.value
    slope = np.linalg.norm(inner.gradient(exact.minimiser + step))
    slacks = [slope**2 / (2 * inner.strong_convexity), np.inf if radius is None else radius * slope]
    assert found.value - found.lower_bound == pytest.approx(min(slacks), rel=1e-6)


@pytest.mark.spec("rudi/M3.2", "sangnier/M-1.4.5-a")
def test_the_dual_function_is_concave_and_may_be_minus_infinity():
    problem = ConvexProgram(
        Quadratic(None, [1.0, 1.0]),
        [Quadratic(np.eye(2), [0.0, 0.0], -0.5), Quadratic(None, [-1.0, 0.0])],
        start=[0.0, 0.0],
    )
    assert dual_value(problem, [0.0, 0.0]).value == -np.inf
    points = [np.array([0.5, 0.2]), np.array([2.0, 1.0])]
    ends = [dual_value(problem, mu).value for mu in points]
    middle = dual_value(problem, (points[0] + points[1]) / 2).value
    assert middle >= np.mean(ends)
    # min x + y + μ(‖·‖² − 1)/2 − νx has the value −((1 − ν)² + 1)/(2μ) − μ/2.
    assert ends[1] == pytest.approx(-(0.0 + 1) / 4 - 1.0)


@pytest.mark.spec(
    "sangnier/T-1.4.5-e", "rudi/T3.2", "sangnier/T-1.4.5-f", "rudi/T3.3", "wei/T1.6", "rudi/M3.5"
)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_under_slater_the_gap_closes_and_the_four_residuals_vanish(seed):
    problem, inside, _ = random_program(seed)
    found = solve_program(problem)
    assert found.status == "optimal"
    assert found.certificates.holds
    assert -1e-9 * max(1, abs(found.value)) <= found.gap <= 1e-6 * max(1, abs(found.value))
    oracle = optimize.minimize(
        problem.objective.value,
        inside,
        jac=problem.objective.gradient,
        method="SLSQP",
        constraints=[
            *(
                {"type": "ineq", "fun": lambda x, g=g: -g.value(x), "jac": lambda x, g=g: -g.gradient(x)}
                for g in problem.inequalities
            ),
            *({"type": "eq", "fun": h.value, "jac": h.gradient} for h in problem.equalities),
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.value == pytest.approx(oracle.fun, abs=1e-6 * max(1, abs(oracle.fun)))


@pytest.mark.spec("sangnier/T-1.4.5-f", "rudi/T3.3", "wei/T1.6")
def test_each_damage_shows_in_its_own_residual():
    x = np.array([3.0, 4.0])
    problem = projection_on_the_ball(x, 1.0)
    point, mu = Ball().project(x), Ball().multiplier(x)
    assert problem.kkt_residuals(point, [mu]).largest < 1e-12
    assert program_certificates(problem, point, [mu]).holds
    # One more μ is one more ∇g = 2x, of length 2; g(1.1 x) = 0.21; μ g(x/2) = 4 · 3/4.
    assert mu == pytest.approx(4.0)
    assert problem.kkt_residuals(point, [mu + 1]).stationarity == pytest.approx(2.0)
    assert problem.kkt_residuals(1.1 * point, [mu]).primal == pytest.approx(0.21)
    assert problem.kkt_residuals(point, [-mu]).dual == mu
    assert problem.kkt_residuals(0.5 * point, [mu]).complementarity == pytest.approx(3.0)
    line = ConvexProgram(
        Quadratic(np.eye(2), [0.0, 0.0]), [], [Quadratic(None, [3.0, 4.0], -5.0)], start=[0.0, 0.0]
    )
    at = line.kkt_residuals(np.zeros(2), (), [2.0])  # h = −5 is as wrong as h = 5; ∇f + ν∇h = 2(3, 4)
    assert (at.primal, at.stationarity) == (5.0, pytest.approx(10.0))
    for damaged in ((1.1 * point, [mu]), (point, [mu + 1]), (point, [-mu]), (0.5 * point, [mu])):
        assert not program_certificates(problem, *damaged).holds
    report = kkt_report(problem, 0.5 * point, mu=[mu])
    # Slackness is that of the inequality's own multiplier: |μ g(x)|.
    assert report["complementarity"] == pytest.approx(mu * abs(0.25 - 1))
    assert list(report) == ["stationarity", "primal", "dual", "complementarity"]


@pytest.mark.spec("wei/T1.6")
def test_slackness_is_about_the_multiplier_of_the_inequality_not_of_the_equality():
    far = Quadratic(None, [1.0, 0.0], -5.0)  # x₁ ≤ 5, not tight
    problem = ConvexProgram(
        Quadratic(np.eye(2), [0.0, 0.0]), [far], [Quadratic(None, [1.0, 1.0], -2.0)], start=[0.0, 0.0]
    )
    found = solve_program(problem)
    assert found.status == "optimal"
    assert_allclose(found.point, [1.0, 1.0], atol=1e-6)
    assert abs(found.multipliers[0] * far.value(found.point)) < 1e-6
    assert found.equality_multipliers[0] * far.value(found.point) == pytest.approx(4.0, abs=1e-4)


@pytest.mark.spec("sangnier/X21-1.3", "rudi/M3.4")
@pytest.mark.parametrize("x", [[3.0, 4.0], [0.1, 0.2]])
def test_the_projection_on_a_ball_has_its_closed_form(x):
    problem = projection_on_the_ball(np.array(x), 2.0)
    slater = slater_point(problem)
    assert slater.holds
    assert slater.depth == pytest.approx(slater.point @ slater.point - 4.0)
    assert slater.depth < 0
    found = solve_program(problem)
    length = np.linalg.norm(x)
    assert_allclose(found.point, np.array(x) * min(1, 2 / length), atol=1e-5)
    assert found.multipliers[0] == pytest.approx(max(length / 2 - 1, 0), abs=1e-5)


@pytest.mark.spec("sangnier/E-1.9", "rudi/M3.5")
def test_the_distance_to_a_hyperplane_comes_out_of_the_linear_system_and_of_the_dual():
    w, b, x = np.array([1.0, -2.0, 2.0]), 3.0, np.array([2.0, 0.0, 1.0])
    half_distance = Quadratic(np.eye(3), -x, x @ x / 2)
    point, nu = equality_quadratic(half_distance, w, -b)
    plane = Hyperplane(w, -b)
    assert_allclose(point, x - (w @ x + b) / (w @ w) * w)
    assert_allclose(nu, [plane.multiplier(x)])
    problem = ConvexProgram(half_distance, [], [Quadratic(None, w, b)], start=np.zeros(3))
    assert problem.kkt_residuals(point, (), nu).largest < 1e-12
    ascent = solve_dual(problem)
    assert ascent.certificates.holds
    assert_allclose(ascent.equality_multipliers, nu, atol=1e-6)
    assert ascent.value == pytest.approx(plane.distance(x) ** 2 / 2)
    assert_allclose(ascent.minimiser, point, atol=1e-6)


@pytest.mark.spec("rudi/M3.2")
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 100))
def test_climbing_the_dual_reaches_the_value_of_the_primal(seed):
    problem, _, _ = random_program(seed)
    if not problem.inequalities:
        return
    climbed, solved = solve_dual(problem, tol=1e-6, max_iter=5000), solve_program(problem)
    assert np.all(np.diff(climbed.values) >= -1e-9)
    assert climbed.value == pytest.approx(solved.value, rel=1e-4, abs=1e-4)
    short = solve_dual(problem, tol=1e-9, max_iter=1)
    assert short.converged == short.certificates.holds


@pytest.mark.spec("rudi/M3.4")
def test_slater_points_are_found_or_shown_not_to_exist():
    outside = ConvexProgram(
        Quadratic(np.eye(2), [0.0, 0.0]),
        [Quadratic(None, [-1.0, -1.0], 4.0), Quadratic(np.eye(2), [0.0, 0.0], -8.0)],
        [Quadratic(None, [1.0, -1.0])],
        start=[50.0, -30.0],
    )
    found = slater_point(outside)
    assert found.holds
    assert max(outside.constraint_values(found.point)[0]) < 0
    assert_allclose(outside.constraint_values(found.point)[1], 0, atol=1e-9)
    contradiction = ConvexProgram(
        Quadratic(np.eye(1), [0.0]),
        [Quadratic(None, [1.0], 1.0), Quadratic(None, [-1.0], 1.0)],
        start=[0.0],
    )
    none = slater_point(contradiction)
    assert not none.holds
    assert none.lower_bound == pytest.approx(1.0, abs=1e-6)
    assert none.certificates.holds
    assert solve_program(contradiction).status == "infeasible"
    equalities = ConvexProgram(
        Quadratic(np.eye(1), [0.0]),
        [],
        [Quadratic(None, [1.0], -1.0), Quadratic(None, [1.0], -2.0)],
        start=[0.0],
    )
    assert not slater_point(equalities).holds
    assert solve_program(equalities).status == "infeasible"


@pytest.mark.spec("rudi/T3.2")
def test_without_slater_a_gap_may_stay_open():
    problem = duality_counterexample()
    assert problem.primal_value([0.0, 1.0]) == 1.0
    for mu in (0.0, 1.0, 1e6):
        far = [20.0, max(1.0, mu * 1e12)]  # the infimum is approached, never below zero
        assert 0 < problem.lagrangian(far, [mu]) < 1e-7
        assert dual_value(problem, [mu]).value == 0.0
        assert duality_gap(problem, [0.0, 1.0], [mu]) == 1.0
    assert not slater_point(problem).holds
    assert solve_program(problem).status == "not strictly feasible"


@pytest.mark.spec("rudi/T3.3")
def test_linear_programmes_satisfy_the_same_conditions():
    c, A, b = np.array([1.0, 2.0, 0.5]), np.array([[1.0, 1.0, 1.0]]), np.array([1.0])
    found = linear_program(c, A, b)
    positive = [Quadratic(None, -row) for row in np.eye(3)]
    problem = ConvexProgram(Quadratic(None, c), positive, [Quadratic(None, A[0], -1.0)], start=np.ones(3) / 3)
    slack = c - A.T @ found.multipliers
    assert problem.kkt_residuals(found.point, slack, -found.multipliers).largest < 1e-9
    solved = solve_program(problem)
    assert solved.value == pytest.approx(found.value, abs=1e-6)


def test_residuals_are_those_of_the_quadratic_checker():
    problem, _, rng = random_program(9)
    x = rng.standard_normal(problem.n_variables)
    d = problem.n_variables
    objective = Quadratic(np.eye(d), np.ones(d))
    constraint = Quadratic(None, np.ones(d), -1.0)
    ours = ConvexProgram(objective, [constraint], [constraint], start=x).kkt_residuals(x, [0.3], [-2.0])
    theirs = kkt_residuals(
        objective,
        x,
        inequalities=[constraint],
        multipliers=[0.3],
        equalities=[constraint],
        equality_multipliers=[-2.0],
    )
    assert_allclose(ours, theirs)


def test_an_objective_that_falls_for_ever_is_unbounded():
    problem = ConvexProgram(Quadratic(None, [1.0]), [Quadratic(None, [1.0])], start=[0.0])
    found = solve_program(problem)
    assert found.status == "unbounded"
    assert problem.violation(found.point) == 0


def test_constraints_that_are_not_quadratic_are_solved():
    def value(x):
        return float(np.exp(x[0]) + np.exp(x[1]) - 4)

    bowl = Smooth(value, lambda x: np.exp(x), lambda x: np.diag(np.exp(x)))
    problem = ConvexProgram(Quadratic(None, [-1.0, -1.0]), [bowl], start=[0.0, 0.0])
    found = solve_program(problem)
    assert found.status == "optimal"
    assert_allclose(found.point, np.log(2), atol=1e-6)
    assert_allclose(found.multipliers, 0.5, atol=1e-6)


def test_one_stopped_early_says_so():
    found = solve_program(random_program(5)[0], max_iter=1)
    assert found.status != "optimal"
    assert not found.certificates.holds


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda f: ConvexProgram(f), "start"),
        (lambda f: ConvexProgram(f, start=[np.nan, 0.0]), "start"),
        (lambda f: ConvexProgram(3, start=[0.0, 0.0]), "objective"),
        (lambda f: ConvexProgram(f, start=[0.0]), "objective"),
        (lambda f: ConvexProgram(f, f, start=[0.0, 0.0]), "inequalities"),
        (lambda f: ConvexProgram(f, start=[0.0, 0.0], convex="yes"), "convex"),
        (lambda f: ConvexProgram(f, start=[0.0, 0.0], dual=3), "dual"),
        (lambda f: ConvexProgram(f, [f], start=[0.0, 0.0]).lagrangian([0.0, 0.0]), "multipliers"),
        (lambda f: ConvexProgram(f, [f], start=[0.0, 0.0]).lagrangian([0.0, 0.0], [-1.0]), "multipliers"),
        (lambda f: ConvexProgram(f, start=[0.0, 0.0]).lagrangian([0.0]), "x"),
        (lambda f: slater_point(ConvexProgram(f, (), [f], start=[0.0, 0.0])), "equalities"),
        (lambda f: solve_program(ConvexProgram(f, start=[0.0, 0.0], convex=False)), "program"),
        (lambda f: solve_program(ConvexProgram(f, start=[0.0, 0.0]), tol=0.0), "tol"),
        (lambda f: dual_value(ConvexProgram(f, start=[0.0, 0.0]), radius=-1.0), "radius"),
    ],
)
def test_bad_programmes_are_refused_by_name(call, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter"):
        call(Quadratic(np.eye(2), [1.0, 0.0]))
