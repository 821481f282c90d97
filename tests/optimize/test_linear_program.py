"""Linear programmes are solved with their duals, and every answer carries a proof that can fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize

from assay.optimize import linear_minimum, linear_program
from assay.parameters import ParameterError


def bounded_program(seed, m=3, n=7):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    b = A @ rng.uniform(0, 2, n)
    c = A.T @ rng.standard_normal(m) + rng.uniform(0, 1, n)
    return c, A, b


@pytest.mark.spec("rudi/M3.6")
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_primal_and_dual_have_one_value_and_complementary_slackness(seed):
    c, A, b = bounded_program(seed)
    found = linear_program(c, A, b)
    assert found.status == "optimal"
    assert found.certificates.holds
    assert found.value == pytest.approx(found.dual_value, abs=1e-8)
    slack = c - A.T @ found.multipliers
    assert slack.min() > -1e-8
    assert_allclose(found.point * slack, 0, atol=1e-8)
    dual = optimize.linprog(-b, A_ub=A.T, b_ub=c, bounds=(None, None))
    assert -dual.fun == pytest.approx(found.value, abs=1e-7)


@pytest.mark.spec("rudi/M3.6")
def test_value_is_the_best_of_all_vertices():
    c, A, b = bounded_program(4)
    best = np.inf
    for i in range(7):
        for j in range(i):
            for k in range(j):
                basis = [i, j, k]
                x = np.linalg.solve(A[:, basis], b)
                if x.min() >= -1e-12:
                    best = min(best, c[basis] @ x)
    assert linear_program(c, A, b).value == pytest.approx(best)


@pytest.mark.spec("rudi/M3.6", "rudi/M3.2")
def test_an_empty_feasible_set_is_proved_by_a_ray_of_farkas():
    A, b = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    found = linear_program([1.0, 1.0], A, b)
    assert found.status == "infeasible"
    assert found.value == np.inf
    assert np.all(A.T @ found.ray <= 1e-9)
    assert b @ found.ray > 0.1
    assert found.certificates.holds


@pytest.mark.spec("rudi/M3.6", "rudi/M3.2")
def test_a_cost_without_minimum_is_proved_by_a_direction():
    A, c = np.array([[1.0, -1.0]]), np.array([-1.0, 0.0])
    found = linear_program(c, A, [1.0])
    assert found.status == "unbounded"
    assert found.value == -np.inf
    assert_allclose(A @ found.ray, 0, atol=1e-9)
    assert c @ found.ray < -0.1
    assert_allclose(A @ found.point, [1.0])
    assert found.certificates.holds


def test_a_programme_infeasible_on_both_sides_is_called_infeasible():
    found = linear_program([-1.0, 0.0], [[0.0, 1.0]], [-1.0])
    assert found.status == "infeasible"
    assert found.certificates.holds


@pytest.mark.parametrize("field", ["point", "multipliers"])
def test_a_damaged_optimum_does_not_pass(field):
    c, A, b = bounded_program(1)
    found = linear_program(c, A, b)
    damaged = found._replace(**{field: getattr(found, field) + 0.01})
    assert not damaged.certify(c, A, b).holds
    assert found.certify(c, A, b).holds


def test_a_damaged_ray_does_not_pass():
    A, b = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    found = linear_program([1.0, 1.0], A, b)
    assert not found._replace(ray=-found.ray).certify([1.0, 1.0], A, b).holds
    falling = linear_program([-1.0, 0.0], [[1.0, -1.0]], [1.0])
    assert not falling._replace(ray=np.array([1.0, 0.0])).certify([-1.0, 0.0], [[1.0, -1.0]], [1.0]).holds


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scales_do_not_matter(scale):
    c, A, b = bounded_program(2)
    plain, scaled = linear_program(c, A, b), linear_program(c, scale * A, scale**2 * b)
    assert scaled.certificates.holds
    assert_allclose(scaled.point, scale * plain.point, atol=1e-6 * scale)
    assert scaled.value == pytest.approx(scale * plain.value)


@pytest.mark.spec("rudi/M3.7")
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_a_linear_minimum_over_points_is_that_over_their_hull(seed):
    rng = np.random.default_rng(seed)
    points, a = rng.standard_normal((8, 3)), rng.standard_normal(3)
    found = linear_minimum(points, a)
    hull = linear_program(points @ a, np.ones((1, 8)), [1.0])
    assert found.value == pytest.approx(hull.value)
    assert_allclose(points[found.row], found.point)
    assert found.certificates.holds
    mixtures = rng.dirichlet(np.ones(8), size=50) @ points
    assert (mixtures @ a).min() >= found.value - 1e-12


@pytest.mark.parametrize(
    ("c", "A", "b", "name"),
    [
        ([np.nan], [[1.0]], [1.0], "c"),
        ([], [[1.0]], [1.0], "c"),
        ("cost", [[1.0]], [1.0], "c"),
        ([1.0], [[1.0, 2.0]], [1.0], "A"),
        ([1.0], [[np.inf]], [1.0], "A"),
        ([1.0], [[1.0]], [1.0, 2.0], "b"),
        ([1.0], [[1.0]], None, "b"),
    ],
)
def test_bad_programmes_are_refused_by_name(c, A, b, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of linear_program"):
        linear_program(c, A, b)
