"""Loss, penalty and solver combine freely, and what cannot work is refused before any numerics."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from assay.losses import Huber, Logistic, Multinomial
from assay.optimize import check_lipschitz_gradient, check_strong_convexity, penalised_risk
from assay.parameters import ParameterError
from assay.penalties import L1, Ball, GroupL2, L1Ball


@pytest.fixture
def table(rng):
    X = rng.standard_normal((60, 4))
    return X, X @ [1.0, -1.0, 0.5, 0.0] + 0.2 * rng.standard_normal(60)


@pytest.fixture
def labelled(rng):
    X = rng.standard_normal((80, 3))
    return X, np.where(rng.uniform(size=80) < 1 / (1 + np.exp(-X @ [1.0, -2.0, 0.0] - 0.5)), 1.0, -1.0)


@pytest.mark.spec("douc/M5.0")
@pytest.mark.parametrize("solver", ["auto", "gradient_descent", "accelerated_gradient", "newton", "admm"])
def test_ridge_comes_out_of_every_solver(table, solver):
    X, y = table
    risk = penalised_risk("squared", X, y, "squared_norm", 0.3, fit_intercept=True)
    found = risk.minimise(solver)
    oracle = Ridge(alpha=60 * 0.3).fit(X, y)
    assert_allclose(found.point, [*oracle.coef_, oracle.intercept_], atol=1e-6)
    assert found.certificates.holds


@pytest.mark.spec("douc/M5.0")
@pytest.mark.parametrize("solver", ["auto", "proximal_gradient", "proximal_newton", "admm"])
def test_the_lasso_comes_out_of_every_proximal_solver(table, solver):
    X, y = table
    found = penalised_risk("squared", X, y, "l1", 0.1, fit_intercept=True).minimise(solver)
    oracle = Lasso(alpha=0.1, tol=1e-12, random_state=0).fit(X, y)
    point = found.other if solver == "admm" else found.point
    assert_allclose(point, [*oracle.coef_, oracle.intercept_], atol=1e-6)
    assert found.certificates.holds


@pytest.mark.spec("douc/M5.0")
def test_logistic_regression_is_one_of_them(labelled):
    X, y = labelled
    risk = penalised_risk(Logistic(), X, y, "squared_norm", 1 / 80, fit_intercept=True)
    oracle = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(risk.minimise().point, [*oracle.coef_[0], oracle.intercept_[0]], atol=1e-4)


@pytest.mark.spec("douc/M5.0")
def test_objective_gradient_and_constants_are_right(labelled, rng):
    X, y = labelled
    risk = penalised_risk("logistic", X, y, "squared_norm", 0.2)
    w = rng.standard_normal(3)
    by_hand = np.logaddexp(0, -y * (X @ w)).mean() + 0.1 * w @ w
    assert risk.value(w) == pytest.approx(by_hand)
    assert_allclose(risk.gradient(w), optimize.approx_fprime(w, risk.value, 1e-7), atol=1e-5)
    assert risk.smoothness == pytest.approx(np.linalg.eigvalsh(X.T @ X / 80)[-1] / 4 + 0.2)
    assert risk.strong_convexity == 0.2
    points = rng.standard_normal((15, 3))
    assert check_lipschitz_gradient(risk.smooth(), points, risk.smoothness).holds
    assert check_strong_convexity(risk.smooth(), points, risk.strong_convexity).holds
    squared = penalised_risk("squared", X, y)
    assert squared.strong_convexity == pytest.approx(np.linalg.eigvalsh(X.T @ X / 80)[0])


@pytest.mark.spec("douc/M5.0")
def test_a_feature_map_changes_the_features(table):
    X, y = table
    found = penalised_risk("squared", X, y, feature_map=lambda x: np.column_stack([x, x**2])).minimise()
    oracle = np.linalg.lstsq(np.column_stack([X, X**2]), y, rcond=None)[0]
    assert_allclose(found.point, oracle, atol=1e-8)


@pytest.mark.spec("douc/M5.0")
def test_sets_constrain_and_the_two_oracles_agree(labelled):
    X, y = labelled
    risk = penalised_risk("logistic", X, y, L1Ball(0.8))
    projected = risk.minimise("proximal_gradient")
    towards = risk.minimise("frank_wolfe", step="away", tol=1e-7, max_iter=20_000)
    assert towards.value == pytest.approx(risk.value(projected.point), abs=1e-6)
    assert risk.value([5.0, 0.0, 0.0]) == np.inf
    free = penalised_risk("logistic", X, y, Ball(radius=0.5), fit_intercept=True).minimise(
        "proximal_gradient"
    )
    assert free.certificates.holds
    assert np.linalg.norm(free.point[:-1]) <= 0.5 + 1e-9


@pytest.mark.spec("douc/M5.0")
def test_corners_are_served_by_subgradients(labelled):
    X, y = labelled
    risk = penalised_risk("hinge", X, y, "squared_norm", 0.1)
    found = risk.minimise(n_iter=4000)
    oracle = optimize.minimize(risk.value, np.zeros(3), method="Nelder-Mead", options={"maxiter": 4000})
    assert risk.value(found.point) <= oracle.fun + 5e-3


@pytest.mark.spec("douc/M5.0")
def test_weights_are_repetitions(table, rng):
    X, y = table
    weight = rng.integers(0, 3, 60)
    weighted = penalised_risk(Huber(1.0), X, y, "l1", 0.1, sample_weight=weight).minimise()
    repeated = penalised_risk(Huber(1.0), X.repeat(weight, axis=0), y.repeat(weight), "l1", 0.1).minimise()
    assert_allclose(weighted.point, repeated.point, atol=1e-7)


@pytest.mark.spec("douc/M5.0")
@pytest.mark.parametrize(
    ("loss", "penalty", "strength", "solver", "missing"),
    [
        ("hinge", "squared_norm", 0.1, "newton", "twice differentiable loss"),
        ("hinge", "squared_norm", 0.1, "gradient_descent", "differentiable loss"),
        ("hinge", "l1", 0.1, "proximal_gradient", "differentiable loss"),
        ("squared", "l1", 0.1, "newton", "differentiable penalty"),
        ("squared", None, None, "proximal_gradient", "proximal map of the penalty"),
        ("squared", "l1", 0.1, "frank_wolfe", "set with a linear oracle"),
        ("savage", "squared_norm", 0.1, "newton", "convexity"),
        ("squared_hinge", "squared_norm", 0.1, "newton", "twice differentiable loss"),
        ("squared", GroupL2(1.0, [[0, 1], [2]]), None, "subgradient", "known subgradient of the penalty"),
    ],
)
def test_a_combination_that_cannot_work_is_refused_in_one_sentence(
    labelled, loss, penalty, strength, solver, missing
):
    X, y = labelled
    risk = penalised_risk(loss, X, y, penalty, strength)
    with pytest.raises(ParameterError, match=f"needs no {missing}") as refused:
        risk.minimise(solver)
    assert str(refused.value).count("\n") == 0
    assert solver in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"X": [[np.nan]]}, "X"),
        ({"X": [1.0]}, "X"),
        ({"y": [1.0, 2.0]}, "y"),
        ({"y": ["a"]}, "y"),
        ({"penalty": "l7"}, "penalty"),
        ({"penalty": "l1"}, "strength"),
        ({"penalty": "l1", "strength": -1.0}, "strength"),
        ({"penalty": L1(1.0), "strength": 1.0}, "strength"),
        ({"sample_weight": [0.0]}, "sample_weight"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"loss": Multinomial()}, "loss"),
        ({"loss": "none such"}, "name"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter"):
        penalised_risk(**{"loss": "squared", "X": [[1.0]], "y": [1.0], **arguments})


def test_an_unknown_solver_is_refused_with_the_known_ones():
    with pytest.raises(ParameterError, match="'gradient_descent'"):
        penalised_risk("squared", [[1.0]], [1.0]).minimise("magic")
