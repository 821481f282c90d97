"""The infimum of a convex function is attained, approached at infinity, or −∞, and the status says which."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from assay.optimize import Smooth, infimum_status, logistic_infimum, logistic_objective, quadratic
from assay.parameters import ParameterError


def on_the_line(value, slope, curvature=None):
    return Smooth(
        lambda x: float(value(x[0])),
        lambda x: np.array([slope(x[0])]),
        None if curvature is None else lambda x: np.array([[curvature(x[0])]]),
        smoothness=1.0 if curvature is None else None,
    )


CASES = {
    "exp": (on_the_line(lambda x: np.exp(-x), lambda x: -np.exp(-x), lambda x: np.exp(-x)), 0.0),
    "inverse": (
        on_the_line(lambda x: 1 / x if x > 0 else np.inf, lambda x: -1 / x**2, lambda x: 2 / x**3),
        0.0,
    ),
    "hyperbola": (on_the_line(lambda x: np.hypot(1, x) - x, lambda x: x / np.hypot(1, x) - 1), 0.0),
    "line": (on_the_line(lambda x: -2 * x, lambda x: -2.0), -np.inf),
    "logarithm": (
        on_the_line(lambda x: -np.log(x) if x > 0 else np.inf, lambda x: -1 / x, lambda x: 1 / x**2),
        -np.inf,
    ),
    "softplus": (
        on_the_line(lambda x: np.logaddexp(x, -x), np.tanh, lambda x: 1 / np.cosh(x) ** 2),
        np.log(2),
    ),
}
STATUS = {
    "exp": "finite, not attained",
    "inverse": "finite, not attained",
    "hyperbola": "finite, not attained",
    "line": "minus infinity",
    "logarithm": "minus infinity",
    "softplus": "attained",
}


@pytest.mark.spec("rudi/T2.6")
@pytest.mark.parametrize("name", CASES)
def test_the_three_cases_are_told_apart_on_the_line(name):
    f, value = CASES[name]
    found = infimum_status(f, [1.0])
    assert found.status == STATUS[name]
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.certificates.holds
    assert (found.point is None) == (found.status != "attained")
    assert (found.direction is None) == (found.status == "attained")


@pytest.mark.spec("rudi/T2.6")
def test_the_certificate_is_measured_where_the_choice_did_not_look():
    """A slope of −1e-23 is lost beside e^{−x} for forty doublings, and felt in the twenty beyond."""
    tilted = on_the_line(
        lambda x: np.exp(-x) - 1e-23 * x, lambda x: -np.exp(-x) - 1e-23, lambda x: np.exp(-x) + 1e-300
    )
    found = infimum_status(tilted, [1.0])
    assert found.status == "finite, not attained"
    assert not found.certificates.holds


@pytest.mark.spec("rudi/T2.6")
def test_quadratics_are_attained_exactly_when_the_slope_is_in_the_range():
    assert infimum_status(quadratic([[2.0, 0.0], [0.0, 8.0]], [2.0, 8.0]), [5.0, 5.0]).value == pytest.approx(
        -5
    )
    assert infimum_status(quadratic([[2.0, 0.0], [0.0, 0.0]], [2.0, 0.0]), [5.0, 5.0]).status == "attained"
    assert (
        infimum_status(quadratic([[2.0, 0.0], [0.0, 0.0]], [2.0, 1.0]), [5.0, 5.0]).status == "minus infinity"
    )
    far = infimum_status(quadratic([[1.0]], [1e4]), [0.0])
    assert (far.status, far.value) == ("attained", pytest.approx(-5e7))


@pytest.mark.spec("rudi/T2.6", "sangnier/T-1.2.2-b")
def test_the_logistic_risk_of_separable_labels_has_an_infimum_of_zero_that_is_not_attained(rng):
    X = rng.standard_normal((30, 2))
    y = X @ [1.0, 2.0] > 0.1
    found = logistic_infimum(X, y)
    assert (found.status, found.value) == ("finite, not attained", 0.0)
    assert found.certificates.holds
    risk = logistic_objective(np.column_stack([X, np.ones(30)]), y)
    along = [risk.value(t * found.direction) for t in (1.0, 1e3, 1e6, 1e9)]
    assert np.all(np.diff(along) <= 0)
    assert along[-1] < 1e-9


@pytest.mark.spec("rudi/T2.6", "sangnier/T-1.2.2-b")
def test_overlapping_labels_attain_their_infimum(rng):
    X = rng.standard_normal((80, 2))
    y = rng.uniform(size=80) < 0.5
    weight = rng.integers(0, 3, 80)
    found = logistic_infimum(X, y, sample_weight=weight)
    repeated = logistic_objective(np.column_stack([X, np.ones(80)]).repeat(weight, axis=0), y.repeat(weight))
    oracle = optimize.minimize(repeated.value, np.zeros(3), jac=repeated.gradient, tol=1e-12)
    assert found.status == "attained"
    assert found.value == pytest.approx(oracle.fun)
    assert_allclose(found.point, oracle.x, atol=1e-5)


@pytest.mark.spec("rudi/T2.6")
def test_quasi_separable_labels_approach_the_risk_of_the_rows_on_the_plane():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.5], [1.0, 3.0], [1.0, -2.0]])
    y = np.array([0, 0, 1, 1, 1])
    found = logistic_infimum(X, y)
    assert found.status == "finite, not attained"
    risk = logistic_objective(np.column_stack([X, np.ones(5)]), y)
    oracle = optimize.minimize(risk.value, np.zeros(3), jac=risk.gradient, tol=1e-14).fun
    assert found.value == pytest.approx(oracle, abs=1e-4)
    assert found.value > 0.3


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: infimum_status(quadratic([[1.0]], [0.0]), [np.nan]), "start"),
        (lambda: infimum_status(quadratic([[1.0]], [0.0]), [0.0], tol=0.0), "tol"),
        (lambda: infimum_status(quadratic([[1.0]], [0.0]), [0.0], max_iter=0), "max_iter"),
        (lambda: logistic_infimum([[1.0], [2.0]], [0, 0]), "y"),
        (lambda: logistic_infimum([[1.0], [np.nan]], [0, 1]), "X"),
        (lambda: logistic_infimum([[1.0], [2.0], [3.0]], [0, 1, 2]), "y"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter"):
        call()
