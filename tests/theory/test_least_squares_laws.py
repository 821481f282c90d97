"""Exact moments and risks of linear estimators, against simulation and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.linear import LinearRegression, Ridge
from assay.theory import (
    bias_variance,
    coverage,
    excess_risk,
    gauss_markov,
    least_squares_moments,
    least_squares_rate,
    least_squares_risk,
    ridge_error,
    ridge_moments,
    ridge_risk,
    simulated_bias_variance,
)

SIGMA = 0.7


@pytest.fixture
def design(rng):
    X = rng.standard_normal((25, 4)) * [3, 1, 0.5, 0.2]
    return X, np.array([1.0, -1.0, 2.0, 3.0])


def least_squares(X):
    return lambda Y: LinearRegression(fit_intercept=False).fit(X, Y).coef_.T


def ridge(X, alpha):
    return lambda Y: Ridge(alpha, fit_intercept=False).fit(X, Y).coef_.T


def early_stopped(X, n_steps=7):
    """A few gradient steps from zero: linear in the targets too."""
    step = 1 / np.linalg.eigvalsh(X.T @ X)[-1]

    def descend(Y):
        theta = np.zeros((X.shape[1], Y.shape[1]))
        for _ in range(n_steps):
            theta = theta - step * X.T @ (X @ theta - Y)
        return theta

    return descend


@pytest.mark.spec("rudi/T1.4")
@pytest.mark.parametrize("make", [least_squares, lambda X: ridge(X, 2.0), early_stopped])
def test_bias_and_variance_of_any_linear_estimator(design, make):
    X, truth = design
    exact = bias_variance(make(X), X, truth, SIGMA)
    drawn = simulated_bias_variance(make(X), X, truth, SIGMA, n_draws=1500, random_state=4)
    assert abs(drawn.risk - exact.risk) < 4 * drawn.standard_error
    assert excess_risk(X, exact.mean, truth) == pytest.approx(exact.bias)
    # The split is Pythagoras: for the draws themselves it is an identity.
    rng = np.random.default_rng(4)
    coefs = make(X)((X @ truth)[:, None] + SIGMA * rng.standard_normal((25, 1500)))
    risks = [excess_risk(X, coef, truth) for coef in coefs.T]
    assert drawn.bias + drawn.variance == pytest.approx(np.mean(risks))


@pytest.mark.spec("rudi/T1.4")
def test_the_split_of_least_squares_and_of_ridge_is_the_closed_form(design):
    X, truth = design
    plain = bias_variance(least_squares(X), X, truth, SIGMA)
    assert plain.bias == pytest.approx(0, abs=1e-12)
    assert plain.variance == pytest.approx(SIGMA**2 * 4 / 25)
    curve = ridge_risk(X, truth, SIGMA, [2.0 / 25])
    penalised = bias_variance(ridge(X, 2.0), X, truth, SIGMA)
    assert penalised.bias == pytest.approx(curve.bias[0])
    assert penalised.variance == pytest.approx(curve.variance[0])
    matrix = np.linalg.solve(X.T @ X + 2 * np.eye(4), X.T)
    assert bias_variance(matrix, X, truth, SIGMA).risk == pytest.approx(penalised.risk)


@pytest.mark.spec("rudi/T1.5")
def test_the_risk_of_the_truth_is_the_noise_variance(design, rng):
    X, truth = design
    losses = np.mean((SIGMA * rng.standard_normal((20_000, 25))) ** 2, axis=1)  # new targets minus Xθ*
    error = losses.std() / np.sqrt(len(losses))
    optimal = least_squares_risk(25, 4, SIGMA).optimal
    assert abs(losses.mean() - optimal) < 4 * error
    # Any other coefficients do worse, by their excess risk.
    assert excess_risk(X, truth, truth) == 0
    targets = X @ truth + SIGMA * rng.standard_normal((20_000, 25))
    moved = np.mean((targets - X @ (truth + 0.1)) ** 2, axis=1)
    expected = optimal + excess_risk(X, truth + 0.1, truth)
    assert abs(moved.mean() - expected) < 4 * moved.std() / np.sqrt(len(moved))


@pytest.mark.spec("rudi/T1.6", "douc/T6.3")
def test_moments_of_least_squares_need_no_gaussian_noise(design, rng):
    X, truth = design
    exact = least_squares_moments(X, truth, SIGMA)
    assert_allclose(exact.mean, truth)
    assert_allclose(exact.covariance, SIGMA**2 / 25 * np.linalg.inv(X.T @ X / 25))
    noise = SIGMA * np.where(rng.random((25, 2000)) < 0.5, -1.0, 1.0)
    errors = least_squares(X)((X @ truth)[:, None] + noise) - truth[:, None]
    assert np.all(np.abs(errors.mean(axis=1)) < 4 * np.sqrt(np.diagonal(exact.covariance) / 2000))
    products = errors[:, None] * errors[None]
    assert np.all(np.abs(products.mean(axis=2) - exact.covariance) < 4 * products.std(axis=2) / np.sqrt(2000))


@pytest.mark.spec("rudi/T1.7")
def test_excess_risk_is_sigma_squared_d_over_n(design, rng):
    X, truth = design
    exact = least_squares_risk(25, 4, SIGMA).excess
    assert bias_variance(np.linalg.pinv(X), X, truth, SIGMA).risk == pytest.approx(exact)
    found = least_squares_rate([20, 40, 80, 160, 320], 4, SIGMA, n_draws=1500, random_state=2)
    assert np.all(np.abs(found.simulated - found.exact) < 4 * found.standard_error)
    relative = np.max(found.standard_error / found.simulated)
    assert abs(found.slope + 1) < 4 * relative / np.log(16)
    # The plug-in estimate of a fit is right on average.
    Y = (X @ truth)[:, None] + SIGMA * rng.standard_normal((25, 1500))
    plug_in = LinearRegression(fit_intercept=False).fit(X, Y).inference().excess_risk
    assert abs(plug_in.mean() - exact) < 4 * plug_in.std() / np.sqrt(1500)


@pytest.mark.spec("rudi/T1.7b")
def test_gauss_markov(design, rng):
    X, _ = design
    hat = X @ np.linalg.pinv(X)
    for _ in range(20):
        D = rng.standard_normal((4, 25)) @ (np.eye(25) - hat)
        found = gauss_markov(np.linalg.pinv(X) + D, X, SIGMA)
        assert_allclose(found.difference, SIGMA**2 * D @ D.T, atol=1e-10)
        assert found.smallest_eigenvalue > 0
    half = gauss_markov(np.hstack([np.linalg.pinv(X[:12]), np.zeros((4, 13))]), X)  # half of the rows
    assert half.smallest_eigenvalue > -1e-12
    same = gauss_markov(least_squares(X), X)
    assert np.abs(same.difference).max() < 1e-10
    # Ridge has a smaller covariance than least squares; it is refused because it is biased.
    with pytest.raises(ValueError, match="must be unbiased, AX = I"):
        gauss_markov(ridge(X, 1.0), X)


@pytest.mark.spec("rudi/T1.7c")
def test_bias_of_the_maximum_likelihood_variance(design, rng):
    X, truth = design
    exact = least_squares_risk(25, 4, SIGMA)
    assert exact.training == pytest.approx(SIGMA**2 * (25 - 4) / 25)
    Y = (X @ truth)[:, None] + SIGMA * rng.standard_normal((25, 1500))
    model = LinearRegression(fit_intercept=False).fit(X, Y)
    error = model.empirical_risk_.std() / np.sqrt(1500)
    assert abs(model.empirical_risk_.mean() - exact.training) < 4 * error
    assert abs(model.empirical_risk_.mean() - SIGMA**2) > 10 * error
    assert exact.variance_bias == pytest.approx(exact.training - SIGMA**2)
    unbiased = model.noise_variance_
    assert abs(unbiased.mean() - SIGMA**2) < 4 * unbiased.std() / np.sqrt(1500)


@pytest.mark.spec("douc/T6.7")
def test_bias_and_covariance_of_ridge(design, rng):
    X, truth = design
    gram, alpha = X.T @ X, 3.0
    exact = ridge_moments(X, truth, SIGMA, alpha)
    inverse = np.linalg.inv(gram + alpha * np.eye(4))
    assert_allclose(exact.mean - truth, -alpha * inverse @ truth)
    assert_allclose(exact.covariance, SIGMA**2 * inverse @ inverse @ gram, atol=1e-14)
    coefs = ridge(X, alpha)((X @ truth)[:, None] + SIGMA * rng.standard_normal((25, 1500)))
    errors = coefs - exact.mean[:, None]
    assert np.all(np.abs(errors.mean(axis=1)) < 4 * np.sqrt(np.diagonal(exact.covariance) / 1500))
    products = errors[:, None] * errors[None]
    assert np.all(np.abs(products.mean(axis=2) - exact.covariance) < 4 * products.std(axis=2) / np.sqrt(1500))
    none = ridge_moments(X, truth, SIGMA, 0.0)
    assert_allclose(none.covariance, least_squares_moments(X, truth, SIGMA).covariance)


@pytest.mark.spec("douc/T6.8")
def test_mean_squared_error_of_ridge(design, rng):
    X, truth = design
    alphas = np.array([0.0, 0.5, 4.0])
    exact = ridge_error(X, truth, SIGMA, alphas)
    for k, alpha in enumerate(alphas):
        moments = ridge_moments(X, truth, SIGMA, alpha)
        assert exact.bias[k] == pytest.approx(np.sum((moments.mean - truth) ** 2))
        assert exact.variance[k] == pytest.approx(np.trace(moments.covariance))
        coefs = ridge(X, alpha)((X @ truth)[:, None] + SIGMA * rng.standard_normal((25, 1000)))
        errors = np.sum((coefs - truth[:, None]) ** 2, axis=0)
        assert abs(errors.mean() - exact.mean_squared_error[k]) < 4 * errors.std() / np.sqrt(1000)
    fine = ridge_error(X, truth, SIGMA, np.geomspace(1e-6, 1e4, 3000))
    assert np.all(np.diff(fine.bias) > 0)
    assert np.all(np.diff(fine.variance) < 0)
    best = ridge_error(X, truth, SIGMA, [exact.best_alpha]).mean_squared_error[0]
    assert best <= fine.mean_squared_error.min()
    assert best < exact.mean_squared_error[0]  # some shrinkage always helps
    # With the signal equal in all directions the best penalty is σ²/θ², whatever the spectrum.
    even = ridge_error(np.diag([1.0, 2.0, 5.0]), [0.5, 0.5, 0.5], 2.0, [1.0])
    assert even.best_alpha == pytest.approx(16)
    assert ridge_error(X, 0 * truth, SIGMA, [1.0]).best_alpha == np.inf
    assert ridge_error(X, truth, 0.0, [1.0]).best_alpha == 0
    collinear = np.column_stack([X, X[:, 0]])
    assert np.isfinite(ridge_error(collinear, np.ones(5), SIGMA, [0.1]).mean_squared_error).all()


def test_plug_in_version_of_the_ridge_curve(design, rng):
    X, truth = design
    model = LinearRegression(fit_intercept=False).fit(X, X @ truth + SIGMA * rng.standard_normal(25))
    plug_in = ridge_error(X, model.coef_, np.sqrt(model.noise_variance_), np.geomspace(1e-3, 1e3, 50))
    assert 0 < plug_in.best_alpha < np.inf


def test_coverage_counts_and_agrees():
    found = coverage(np.arange(1000) < 930)
    assert (found.estimate, found.n_draws) == (0.93, 1000)
    assert found.standard_error == pytest.approx(np.sqrt(0.93 * 0.07 / 1000))
    assert found.agrees(0.95)
    assert not found.agrees(0.97)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda X, t: bias_variance(np.eye(3), X, t, 1.0), r"shape \(4, 25\).*Got shape \(3, 3\)"),
        (lambda X, t: bias_variance(lambda Y: (X.T @ Y) ** 2, X, t, 1.0), "linear in the targets"),
        (lambda X, t: bias_variance(X.T, X, t[:2], 1.0), "'true_coef' parameter of bias_variance"),
        (lambda X, t: bias_variance(X.T, X[0], t, 1.0), "'X' parameter of bias_variance"),
        (lambda X, t: bias_variance(X.T, X, t, -1.0), "'noise_std' parameter of bias_variance"),
        (lambda X, t: least_squares_moments(X[:3], t, 1.0), "linearly independent columns"),
        (lambda X, t: least_squares_risk(3, 4, 1.0), "'n_features' parameter of least_squares_risk"),
        (lambda X, t: ridge_moments(X, t, 1.0, -1.0), "'alpha' parameter of ridge_moments"),
        (lambda X, t: ridge_error(X, t, 1.0, [-1.0]), "'alphas' parameter of ridge_error"),
        (lambda X, t: ridge_error(X[:3], t, 1.0, [0.0]), "linearly independent columns for alpha = 0"),
        (lambda X, t: coverage([0.5]), "one True or False per draw"),
    ],
)
def test_bad_arguments_are_refused(design, ask, sentence):
    with pytest.raises(ValueError, match=sentence):
        ask(*design)
