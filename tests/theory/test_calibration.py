"""Surrogate losses: population minimisers, Bayes consistency, the majorant inequality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize, special

from assay.linear import LinearSVC
from assay.losses import (
    Exponential,
    Hinge,
    Logistic,
    Probit,
    Savage,
    Squared,
    SquaredHinge,
    ZeroOne,
)
from assay.optimize import Smooth, gradient_descent
from assay.parameters import ParameterError
from assay.theory import (
    check_classification_loss,
    conditional_risk,
    minimise_conditional_risk,
    population_minimisers,
    surrogate_bound,
)

ETA = np.array([0.02, 0.1, 0.3, 0.45, 0.55, 0.7, 0.9, 0.98])
SURROGATES = [Exponential(), Logistic(), Logistic(base=2), Hinge(), SquaredHinge(), Savage(), Probit()]


@pytest.mark.spec("sangnier/E-1.5")
def test_the_table_of_the_three_losses():
    table = population_minimisers(eta=ETA)
    odds = np.log(ETA / (1 - ETA))
    assert_allclose(table.minimisers, [odds / 2, odds, np.sign(2 * ETA - 1)])
    entropy = (special.entr(ETA) + special.entr(1 - ETA)) / np.log(2)
    risks = [2 * np.sqrt(ETA * (1 - ETA)), entropy, 2 * np.minimum(ETA, 1 - ETA)]
    assert_allclose(table.minimal_risks, risks)
    assert np.all(table.bayes_consistent)
    assert np.all(table.minimal_risks >= table.bayes_risk)


@pytest.mark.spec("sangnier/E-1.5", "sangnier/X23-3")
@pytest.mark.parametrize("loss", SURROGATES, ids=repr)
def test_numerical_minimisers_are_the_closed_forms(loss):
    found = minimise_conditional_risk(loss, ETA)
    assert_allclose(found.minimisers, loss.minimiser(ETA), atol=1e-4)
    assert_allclose(found.minimal_risks, loss.minimal_risk(ETA), rtol=1e-9)
    assert_allclose(conditional_risk(loss, ETA, loss.minimiser(ETA)), loss.minimal_risk(ETA))


@pytest.mark.spec("sangnier/T-1.2.1-b")
@pytest.mark.parametrize("loss", SURROGATES, ids=repr)
def test_the_conditions_of_the_proposition_and_the_sign_of_the_minimiser(loss):
    check = check_classification_loss(loss)
    assert check.bayes_consistent
    assert np.array_equal(np.sign(check.minimisers), np.sign(2 * check.eta - 1))
    assert check.non_negative
    assert check.non_increasing
    assert check.convex == loss.convex
    assert check.differentiable == (not isinstance(loss, Hinge))
    strict = isinstance(loss, (Exponential, Logistic, Probit))
    assert check.strictly_convex == strict
    assert check.meets_the_proposition == strict
    assert check.meets_the_slope_condition == loss.convex
    assert check.majorises_zero_one == loss.majorises_zero_one


@pytest.mark.spec("sangnier/T-1.2.1-b")
def test_the_minimiser_of_the_risk_is_a_bayes_classifier_of_a_law():
    """On a law with four points, the table of u* has the smallest risk of all tables and the Bayes error."""
    mass, eta = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.1, 0.45, 0.6, 0.95])
    loss = Logistic()

    def risk(f):
        return float(mass @ conditional_risk(loss, eta, f))

    found = optimize.minimize(risk, np.zeros(4), tol=1e-10)
    assert_allclose(found.x, loss.minimiser(eta), atol=1e-3)
    error = mass @ conditional_risk(ZeroOne(), eta, found.x)
    assert error == pytest.approx(mass @ np.minimum(eta, 1 - eta))


@pytest.mark.spec("sangnier/X23-3", "sangnier/T-1.2.1-b")
def test_the_check_can_fail():
    perceptron = check_classification_loss(lambda u: np.maximum(-u, 0))  # kink at 0: u* = 0 is a minimiser
    assert perceptron.convex
    assert not perceptron.meets_the_slope_condition
    assert not perceptron.bayes_consistent
    backwards = check_classification_loss(np.exp)
    assert backwards.strictly_convex
    assert not backwards.non_increasing
    assert not backwards.meets_the_slope_condition
    assert not backwards.bayes_consistent
    assert not backwards.meets_the_proposition
    below = check_classification_loss(lambda u: np.exp(-u) - 1)
    assert not below.non_negative
    assert below.strictly_convex
    assert not below.meets_the_proposition
    flat = check_classification_loss(np.square)  # φ'(0) = 0: every prediction is best at 0
    assert flat.strictly_convex
    assert abs(flat.slope_after) < 1e-3
    assert not flat.meets_the_slope_condition
    assert not flat.meets_the_proposition
    bent = check_classification_loss(lambda u: np.exp(-u) + np.maximum(1 - u, 0))  # a kink at 1
    assert bent.strictly_convex
    assert bent.non_increasing
    assert not bent.differentiable
    assert not bent.meets_the_proposition
    assert bent.bayes_consistent
    # A kink away from 0 and off the grid is found, and does no harm.
    late = check_classification_loss(lambda u: np.maximum(0, 1 / np.e - u))
    assert not late.differentiable
    assert late.meets_the_slope_condition
    assert late.bayes_consistent
    skewed = check_classification_loss(
        lambda u: np.where(u < 0, -3 * u, -u) + 4
    )  # kink at 0, falls all along
    assert not skewed.differentiable


@pytest.mark.spec("sangnier/X23-3")
def test_calibration_by_the_slope_and_coercive_conditional_risks():
    for loss in SURROGATES:
        check = check_classification_loss(loss)
        assert check.slope_after < 0
        if loss.convex:
            far = conditional_risk(loss, ETA[:, None], np.array([-25.0, 25.0]))
            near = conditional_risk(loss, ETA[:, None], np.array([-12.0, 12.0]))
            assert np.all(far > near)
            # The argmin of φ itself, where it is reached, is in the positive margins.
            assert loss.margin_value(np.array(1e-3)) < loss.margin_value(np.array(0.0))
    savage = check_classification_loss(Savage())
    assert savage.bayes_consistent
    assert not savage.convex


@pytest.mark.spec("sangnier/X23-3")
def test_the_squared_hinge_linear_classifier_has_the_gradient_of_the_formula(rng):
    X, strength = rng.standard_normal((80, 3)), 0.05
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.3 + 0.5 * rng.standard_normal(80) > 0, 1.0, -1.0)
    loss = SquaredHinge()

    def objective(parameters):
        w, b = parameters[:-1], parameters[-1]
        return strength / 2 * w @ w + loss.value(y, X @ w + b).mean()

    def gradient(parameters):
        w, b = parameters[:-1], parameters[-1]
        slope = loss.gradient(y, X @ w + b) / len(y)
        return np.append(strength * w + X.T @ slope, slope.sum())

    start = rng.standard_normal(4)
    left = np.maximum(1 - y * (X @ start[:3] + start[3]), 0)
    formula = np.append(strength * start[:3] - 2 * X.T @ (y * left) / 80, -2 * np.sum(y * left) / 80)
    assert_allclose(gradient(start), formula)
    assert_allclose(optimize.approx_fprime(start, objective), formula, atol=1e-5)

    smoothness = strength + loss.smoothness * np.linalg.norm(np.column_stack([X, np.ones(80)]), 2) ** 2 / 80
    point, values = start, [objective(start)]
    for _ in range(1500):
        point = point - gradient(point) / smoothness
        values.append(objective(point))
    assert np.all(np.diff(values) <= 1e-12)
    assert np.linalg.norm(gradient(point)) < 1e-6
    best = optimize.minimize(objective, start, jac=gradient, tol=1e-10)
    assert values[-1] == pytest.approx(best.fun, abs=1e-9)
    assert surrogate_bound(loss, y, X @ point[:3] + point[3]).holds
    # λ/2 ‖w‖² + mean is λ times ½‖w‖² + C Σ with C = 1/(λn), b free: the machine, and our own descent.
    machine = LinearSVC(1 / (strength * 80), loss="squared_hinge").fit(X, y)
    assert_allclose([*machine.coef_[0], *machine.intercept_], best.x, atol=1e-6)
    descent = gradient_descent(Smooth(objective, gradient, smoothness=smoothness), start, tol=1e-9)
    assert_allclose(descent.point, best.x, atol=1e-5)


@pytest.mark.spec("sangnier/T-1.2.1-c", "rudi/T2.7")
@pytest.mark.parametrize("loss", SURROGATES, ids=repr)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_the_error_rate_is_at_most_the_scaled_surrogate_risk(loss, data):
    n = data.draw(st.integers(1, 12))
    f = data.draw(st.lists(st.floats(-30, 30), min_size=n, max_size=n))
    y = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    weight = data.draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n))
    bound = surrogate_bound(loss, y, f, sample_weight=weight)
    assert bound.holds
    assert bound.certificate.holds
    share, margin = np.array(weight) / np.sum(weight), np.array(y) * np.array(f)
    assert bound.zero_one_risk == pytest.approx(share[margin <= 0].sum(), abs=1e-12)
    at_zero = {"Logistic": np.log(2 if loss == Logistic() else np.e), "Savage": 0.25, "Probit": np.log(2)}
    risk = float(share @ loss.margin_value(margin)) / at_zero.get(type(loss).__name__, 1.0)
    assert bound.bound == pytest.approx(risk, rel=1e-9)
    assert (bound.certificate.value, bound.certificate.bound) == (bound.zero_one_risk, bound.bound)
    # Rows at margin 0 are errors, and there the two sides are equal.
    tie = surrogate_bound(loss, [1, -1], [0.0, 0.0])
    assert tie.zero_one_risk == pytest.approx(tie.bound) == pytest.approx(1.0)
    if loss.majorises_zero_one:
        assert surrogate_bound(loss, y, f, sample_weight=weight, scale=1.0).holds


@pytest.mark.spec("sangnier/T-1.2.1-c", "rudi/T2.7")
def test_the_error_of_a_law_is_at_most_its_surrogate_risk(rng):
    mass, eta = rng.dirichlet(np.ones(20)), rng.uniform(0, 1, 20)
    for loss in (Exponential(), Logistic(base=2), Hinge(), SquaredHinge()):
        f = rng.normal(scale=2.0, size=20)
        assert mass @ conditional_risk(ZeroOne(), eta, f) <= mass @ conditional_risk(loss, eta, f)


@pytest.mark.spec("sangnier/T-1.2.1-c")
def test_the_natural_logistic_loss_is_not_a_majorant():
    """It is below 1 for −log(e − 1) = −0.541 < u ≤ 0; over log 2, or in base 2, the inequality holds."""
    border = -np.log(np.e - 1)
    assert border == pytest.approx(-0.541, abs=5e-4)
    u = np.linspace(-3, 3, 6001)
    fails = Logistic().margin_value(u) < ZeroOne().margin_value(u)
    assert_allclose([u[fails].min(), u[fails].max()], [border, 0], atol=2e-3)
    y, f = np.array([1, 1, -1]), np.array([-0.3, 0.0, 0.4])
    false = surrogate_bound(Logistic(), y, f, scale=1.0)
    assert not false.holds
    assert not false.certificate.holds
    right, in_base_2 = surrogate_bound(Logistic(), y, f), surrogate_bound(Logistic(base=2), y, f)
    assert right.holds
    assert right.scale == pytest.approx(np.log(2))
    assert right.bound == pytest.approx(in_base_2.bound)
    assert right.certificate.vacuous


def test_bad_arguments_are_refused():
    with pytest.raises(ParameterError, match="'loss' parameter of surrogate_bound must be a MarginLoss"):
        surrogate_bound(Squared(), [1], [1.0])
    with pytest.raises(ParameterError, match="'y' parameter of surrogate_bound must be made of -1 and"):
        surrogate_bound(Hinge(), [0, 1], [1.0, 1.0])
    with pytest.raises(ParameterError, match="'scale' parameter"):
        surrogate_bound(Hinge(), [1], [1.0], scale=0.0)
    with pytest.raises(ParameterError, match="'eta' parameter of population_minimisers"):
        population_minimisers(eta=[1.2])
    with pytest.raises(ParameterError, match="'losses' parameter of population_minimisers"):
        population_minimisers([Squared()])
    with pytest.raises(ParameterError, match="other than 1/2"):
        check_classification_loss(Hinge(), eta=[0.5])
    with pytest.raises(ParameterError, match="a MarginLoss or a function of the margin"):
        conditional_risk("hinge", 0.5, 1.0)
