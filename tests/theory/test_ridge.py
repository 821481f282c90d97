"""Exact risks against simulation and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.linear import Ridge
from assay.theory import excess_risk, primal_dual_crossover, ridge_risk, squaring_experiment


@pytest.fixture
def design(rng):
    X = rng.standard_normal((30, 4)) * [3, 1, 0.5, 0.1]
    return X, np.array([1.0, -1.0, 2.0, 3.0])


@pytest.mark.spec("rudi/T1.3")
def test_risk_identity_on_a_fixed_design(design, rng):
    X, truth = design
    theta = truth + 0.3
    draws = X @ truth + 0.5 * rng.standard_normal((20_000, 30))
    losses = np.mean((draws - X @ theta) ** 2, axis=1) - np.mean((draws - X @ truth) ** 2, axis=1)
    error = losses.std() / np.sqrt(len(losses))
    assert abs(losses.mean() - excess_risk(X, theta, truth)) < 4 * error
    sigma = X.T @ X / 30
    assert excess_risk(X, theta, truth) == pytest.approx((theta - truth) @ sigma @ (theta - truth))


@pytest.mark.spec("rudi/T1.8")
def test_ridge_risk_is_the_average_over_many_samples(design, rng):
    X, truth = design
    strengths = np.array([0.01, 0.3, 3.0])
    exact = ridge_risk(X, truth, 0.7, strengths)
    targets = X @ truth + 0.7 * rng.standard_normal((4000, 30))
    for index, strength in enumerate(strengths):
        model = Ridge(penalty_strength=strength, fit_intercept=False).fit(X, targets.T)
        risks = np.mean(((model.coef_ - truth) @ X.T) ** 2, axis=1)
        error = risks.std() / np.sqrt(len(risks))
        assert abs(risks.mean() - exact.risk[index]) < 4 * error
    inverse = np.linalg.inv(X.T @ X + 30 * 0.3 * np.eye(4))
    mean = inverse @ X.T @ X @ truth
    assert exact.bias[1] == pytest.approx(excess_risk(X, mean, truth))


@pytest.mark.spec("rudi/T1.8")
def test_best_penalty_is_the_minimum_of_the_exact_curve(design):
    X, truth = design
    best = ridge_risk(X, truth, 0.7, [0.0]).best_penalty_strength
    around = ridge_risk(X, truth, 0.7, best * np.array([0.9, 1.0, 1.1]))
    assert around.risk[1] < min(around.risk[0], around.risk[2])
    grid = ridge_risk(X, truth, 0.7, np.geomspace(1e-6, 1e3, 2000))
    assert around.risk[1] <= grid.risk.min()
    assert np.all(np.diff(grid.bias) >= 0)
    assert np.all(np.diff(grid.variance) <= 0)


@pytest.mark.spec("rudi/T1.10")
def test_vanishing_penalty_costs_sigma_squared_d_over_n(design):
    X, truth = design
    risk = ridge_risk(X, truth, 0.7, [0.0, 1e-12]).risk
    assert_allclose(risk, 0.7**2 * 4 / 30, rtol=1e-6)
    collinear = np.column_stack([X, X[:, 0]])
    assert ridge_risk(collinear, [*truth, 0.0], 0.7, [0.0]).variance[0] == pytest.approx(0.7**2 * 4 / 30)


def test_no_signal_wants_an_infinite_penalty_and_no_noise_none(design):
    X, truth = design
    assert ridge_risk(X, 0 * truth, 1.0, [1.0]).best_penalty_strength == np.inf
    assert ridge_risk(X, truth, 0.0, [1.0]).best_penalty_strength == 0.0


@pytest.mark.spec("rudi/T1.2")
def test_normal_equations_lose_twice_the_digits_of_qr():
    found = squaring_experiment(np.geomspace(1e1, 1e7, 7))
    slope_squared = np.polyfit(np.log10(found.condition), np.log10(found.normal_equations), 1)[0]
    slope_qr = np.polyfit(np.log10(found.condition), np.log10(found.qr), 1)[0]
    assert 1.6 < slope_squared < 2.4
    assert 0.6 < slope_qr < 1.4


@pytest.mark.spec("peyre/T4")
def test_both_forms_of_ridge_give_one_vector_on_either_side_of_the_crossover():
    found = primal_dual_crossover([5, 50, 500], n_samples=50, repeats=1)
    assert found.largest_difference.max() < 1e-10
    assert np.all(found.primal > 0)
    assert np.all(found.dual > 0)
    with pytest.raises(ValueError, match="'alpha' parameter of primal_dual_crossover"):
        primal_dual_crossover([100], n_samples=50, alpha=1e-12)


def test_bad_arguments_are_refused(design):
    X, truth = design
    with pytest.raises(ValueError, match="'penalty_strengths' parameter of ridge_risk"):
        ridge_risk(X, truth, 1.0, [-1.0])
    with pytest.raises(ValueError, match="'noise_std' parameter of ridge_risk"):
        ridge_risk(X, truth, -1.0, [1.0])
