"""Verdicts of the calculus agree with testers of convexity, and "unknown" is said where no rule applies."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from assay.optimize import (
    absolute_power,
    check_chord,
    check_smoothness,
    check_strong_convexity,
    check_tangent,
    composition,
    exponential,
    largest_entry,
    linear_form,
    log_sum_exp,
    logistic_atom,
    negative_log,
    negative_power,
    norm_atom,
    partial_infimum,
    pointwise_maximum,
    quadratic_form,
    square,
)
from assay.parameters import ParameterError

PSD = np.array([[2.0, 0.5], [0.5, 1.0]])
ATOMS = {
    "x": (linear_form([2.0]), "affine"),
    "x²": (square(), "convex"),
    "exp": (exponential(), "convex"),
    "−log": (negative_log(), "convex"),
    "logistic": (logistic_atom(), "convex"),
    "|x|": (absolute_power(1.0), "convex"),
    "|x|^1.5": (absolute_power(1.5), "convex"),
    "|x|^3": (absolute_power(3.0), "convex"),
    "−√x": (negative_power(0.5), "convex"),
    "−x^0": (negative_power(0.0), "convex"),
    "a'x": (linear_form([1.0, -2.0], 3.0), "affine"),
    "x'Qx": (quadratic_form(PSD), "convex"),
    "l1": (norm_atom(3, 1), "convex"),
    "l2": (norm_atom(3), "convex"),
    "l3": (norm_atom(3, 3.0), "convex"),
    "l∞": (norm_atom(3, np.inf), "convex"),
    "max": (largest_entry(3), "convex"),
    "logsumexp": (log_sum_exp(3), "convex"),
}
VALUES = {
    "x": lambda x: 2 * x[0],
    "x²": lambda x: x[0] ** 2,
    "exp": lambda x: np.exp(x[0]),
    "−log": lambda x: -np.log(x[0]),
    "logistic": lambda x: np.log(1 + np.exp(-x[0])),
    "|x|": lambda x: abs(x[0]),
    "|x|^1.5": lambda x: abs(x[0]) ** 1.5,
    "|x|^3": lambda x: abs(x[0]) ** 3,
    "−√x": lambda x: -np.sqrt(x[0]),
    "−x^0": lambda x: -1.0,
    "a'x": lambda x: x[0] - 2 * x[1] + 3,
    "x'Qx": lambda x: x @ PSD @ x,
    "l1": lambda x: np.abs(x).sum(),
    "l2": lambda x: np.sqrt(x @ x),
    "l3": lambda x: np.sum(np.abs(x) ** 3) ** (1 / 3),
    "l∞": lambda x: np.abs(x).max(),
    "max": max,
    "logsumexp": lambda x: np.log(np.exp(x).sum()),
}
# L and μ, where there are any.
CONSTANTS = {
    "x": (0.0, 0.0),
    "a'x": (0.0, 0.0),
    "x²": (2.0, 2.0),
    "logistic": (0.25, 0.0),
    "x'Qx": (2 * np.linalg.eigvalsh(PSD)[1], 2 * np.linalg.eigvalsh(PSD)[0]),
    "logsumexp": (0.5, 0.0),
}
POSITIVE = ("−log", "−√x", "−x^0")


def probes(name, dimension, rng):
    points = 2 * rng.standard_normal((25, dimension))
    return np.abs(points) + 0.05 if name in POSITIVE else points


@pytest.mark.spec("rudi/M2.11")
@pytest.mark.parametrize("name", ATOMS)
def test_every_atom_is_what_it_says(name, rng):
    atom, curvature = ATOMS[name]
    points = probes(name, atom.dimension, rng)
    assert atom.curvature == curvature
    assert check_chord(atom.value, points).holds
    assert check_tangent(atom.smooth(), points).holds  # subgradients support the function from below
    if curvature == "affine":
        assert check_chord((-atom).value, points).holds
    else:
        assert not check_chord((-atom).value, points).holds or name == "−x^0"
    if atom.smoothness is not None:
        assert check_smoothness(atom.smooth(), points).holds
    if atom.strong_convexity:
        assert check_strong_convexity(atom.smooth(), points).holds
    for x in points[:5]:
        numeric = optimize.approx_fprime(x, atom.value, 1e-7)
        assert_allclose(atom.subgradient(x), numeric, atol=1e-4)


@pytest.mark.spec("rudi/M2.11")
@pytest.mark.parametrize("name", ATOMS)
def test_every_atom_has_the_values_and_the_constants_of_its_formula(name, rng):
    atom, _ = ATOMS[name]
    for x in probes(name, atom.dimension, rng):
        assert atom.value(x) == pytest.approx(VALUES[name](x))
    if name in CONSTANTS:
        assert (atom.smoothness, atom.strong_convexity) == pytest.approx(CONSTANTS[name])
    else:
        assert atom.smoothness is None
        assert not atom.strong_convexity


@pytest.mark.spec("rudi/M2.11")
@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("x²", [[0.0], [1.0]]),
        ("logistic", [[-0.01], [0.01]]),
        ("x'Qx", [*np.linalg.eigh(PSD)[1].T, [0.0, 0.0]]),
        ("logsumexp", [[0.01, -0.01, -40.0], [-0.01, 0.01, -40.0]]),
    ],
)
def test_no_smaller_constant_would_do(name, near):
    f = ATOMS[name][0].smooth()
    assert check_smoothness(f, near).holds
    assert not check_smoothness(f, near, 0.999 * f.smoothness).holds
    if f.strong_convexity:
        assert not check_strong_convexity(f, near, 1.001 * f.strong_convexity).holds


@pytest.mark.spec("rudi/M2.11")
def test_outside_their_domain_atoms_are_infinite():
    assert negative_log().value(-1.0) == np.inf
    assert negative_power(0.5).value(0.0) == np.inf
    assert (-negative_log()).value(-1.0) == -np.inf


@pytest.mark.spec("rudi/M2.11")
def test_sums_multiples_and_arguments_carry_curvature_and_constants(rng):
    A = rng.standard_normal((3, 2))
    f = log_sum_exp(3).affine_argument(A, [1.0, 0.0, -1.0]) + 0.5 * quadratic_form(PSD) + 3.0
    points = rng.standard_normal((25, 2))
    assert f.curvature == "convex"
    assert f.smoothness == pytest.approx(0.5 * np.linalg.norm(A, 2) ** 2 + np.linalg.eigvalsh(PSD)[-1])
    assert f.strong_convexity == pytest.approx(np.linalg.eigvalsh(PSD)[0])
    assert check_smoothness(f.smooth(), points).holds
    assert check_strong_convexity(f.smooth(), points).holds
    assert (-f).curvature == "concave"
    assert (-f + linear_form([1.0, 1.0])).curvature == "concave"
    assert (f - quadratic_form(np.eye(2))).curvature == "unknown"
    assert (0.0 * f).curvature == "affine"
    assert (1.0 - f).curvature == "concave"
    assert composition(exponential() + 1.0, square()).curvature == "convex"
    assert quadratic_form([[1.0, 0.0], [0.0, -1.0]]).curvature == "unknown"
    assert quadratic_form([[-1.0, 0.0], [0.0, -1.0]]).curvature == "concave"


@pytest.mark.spec("rudi/M2.11")
def test_a_supremum_of_convex_functions_is_convex_and_of_others_is_not_said(rng):
    hinge = pointwise_maximum(linear_form([0.0]), linear_form([-1.0], 1.0))
    assert hinge.curvature == "convex"
    assert_allclose([hinge.value(u) for u in (-1.0, 0.5, 3.0)], [2.0, 0.5, 0.0])
    assert check_tangent(hinge.smooth(), rng.standard_normal((20, 1))).holds
    both = pointwise_maximum(square(), 3 * square() - 1.0)
    assert both.strong_convexity == 2.0
    assert check_strong_convexity(both.smooth(), rng.standard_normal((20, 1))).holds
    assert pointwise_maximum(square(), -square()).curvature == "unknown"


@pytest.mark.spec("rudi/M2.11")
@pytest.mark.parametrize(
    ("outer", "inner", "verdict"),
    [
        (exponential(), square(), "convex"),
        (exponential(), -square(), "unknown"),
        (negative_log(), -1 * negative_power(0.5), "convex"),
        (negative_log(), square(), "unknown"),
        (square(), linear_form([2.0], 1.0), "convex"),
        (square(), square() - 1.0, "unknown"),
        (-negative_log(), -1 * negative_power(0.5), "concave"),
        (linear_form([2.0]), square(), "convex"),
        (linear_form([-2.0]), square(), "concave"),
        (logistic_atom(), -square(), "convex"),
        (logistic_atom().affine_argument([[-1.0]]), square(), "convex"),
    ],
)
def test_compositions_follow_the_rule_of_trends(outer, inner, verdict, rng):
    f = composition(outer, inner)
    assert f.curvature == verdict
    points = np.abs(rng.standard_normal((20, 1))) + 0.1
    if verdict != "unknown":
        sign = 1 if verdict == "convex" else -1
        assert check_chord((sign * f).value, points).holds
    x = points[0]
    assert_allclose(f.subgradient(x), optimize.approx_fprime(x, f.value, 1e-7), rtol=1e-4, atol=1e-5)


@pytest.mark.spec("rudi/M2.11")
def test_an_unknown_verdict_can_hide_a_function_that_is_not_convex(rng):
    f = composition(square(), square() - 1.0)  # (x² − 1)², a double well
    assert f.curvature == "unknown"
    assert not check_chord(f.value, np.array([[-1.0], [1.0]])).holds


@pytest.mark.spec("rudi/M2.11")
def test_a_partial_infimum_of_a_jointly_convex_function_is_convex(rng):
    joint = quadratic_form([[2.0, 1.0], [1.0, 1.0]])
    f = partial_infimum(joint, 1)
    for x in (-2.0, 0.3, 1.0):
        assert f.value(x) == pytest.approx(x**2, abs=1e-8)  # the Schur complement 2 − 1²/1
        assert_allclose(f.subgradient(x), [2 * x], atol=1e-6)
    assert f.curvature == "convex"
    assert check_chord(f.value, rng.standard_normal((10, 1))).holds
    assert check_strong_convexity(f.smooth(), rng.standard_normal((10, 1))).holds
    assert partial_infimum(quadratic_form([[-1.0, 0.0], [0.0, 1.0]]), 1).curvature == "unknown"


@pytest.mark.spec("rudi/M2.11")
def test_the_largest_entry_of_convex_functions_is_a_composition():
    f = composition(largest_entry(2), [square(), linear_form([1.0], 2.0)])
    assert f.curvature == "convex"
    assert f.value(1.0) == 3.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: absolute_power(0.5),
        lambda: negative_power(1.5),
        lambda: norm_atom(2, 0.5),
        lambda: norm_atom(0),
        lambda: quadratic_form([[1.0, 2.0]]),
        lambda: linear_form([np.nan]),
        lambda: square() + norm_atom(2),
        lambda: square() * "two",
        lambda: square() + np.inf,
        lambda: square().value([1.0, 2.0]),
        lambda: square().affine_argument([[1.0], [2.0]]),
        lambda: pointwise_maximum(),
        lambda: pointwise_maximum(square(), norm_atom(2)),
        lambda: composition(square(), [square(), square()]),
        lambda: partial_infimum(square(), 1),
    ],
)
def test_bad_expressions_are_refused(call):
    with pytest.raises(ParameterError, match="must be"):
        call()
