"""The ridge oracle, its corrected bound, and the bound without a dimension."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from assay.linear import Ridge
from assay.optimize import least_squares_objective
from assay.theory import (
    bias_variance,
    crossover_samples,
    dimension_free_experiment,
    ridge_oracle,
    ridge_oracle_lambda,
    ridge_risk,
    simulated_bias_variance,
)


@pytest.fixture
def design(rng):
    X = rng.standard_normal((40, 5)) * [3, 1, 0.5, 0.1, 1]
    return X, np.array([1.0, -1.0, 2.0, 3.0, 0.0])


@pytest.mark.spec("rudi/T1.9")
def test_the_oracle_minimises_the_two_quarter_bounds(design):
    X, truth = design
    sigma, n, size = 0.7, 40, np.linalg.norm(truth)
    trace = np.trace(X.T @ X) / n
    found = optimize.minimize_scalar(
        lambda s: np.exp(s) * size**2 / 4 + sigma**2 * trace / (4 * n * np.exp(s)),
        bounds=(-15, 15),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert ridge_oracle_lambda(X, truth, sigma) == pytest.approx(np.exp(found.x), rel=1e-5)
    oracle = ridge_oracle(X, truth, sigma)
    assert oracle.bound == pytest.approx(found.fun)
    exact = ridge_risk(X, truth, sigma, [oracle.penalty_strength])
    assert oracle.risk == pytest.approx(exact.risk[0])
    assert exact.bias[0] <= oracle.penalty_strength * size**2 / 4
    assert exact.variance[0] <= sigma**2 * trace / (4 * n * oracle.penalty_strength)


@pytest.mark.spec("rudi/T1.9")
def test_the_corrected_bound_holds_over_wide_scales(rng):
    for _ in range(80):
        n, d = rng.integers(1, 30, 2)
        X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-2, 2, d)
        truth = rng.standard_normal(d) * 10 ** rng.uniform(-3, 3)
        found = ridge_oracle(X, truth, 10 ** rng.uniform(-2, 2))
        assert found.certificate.holds
        assert found.best_risk <= found.risk * (1 + 1e-9)


@pytest.mark.spec("rudi/T1.9")
def test_the_printed_bound_is_false_for_a_large_signal():
    sigma, n = 1.0, 10
    for size in (9.0, 100.0):  # d = 1, Σ = σ²/(θ²n): excess σ²/(2n), whatever θ
        found = ridge_oracle(np.full((n, 1), sigma / (size * np.sqrt(n))), [size], sigma)
        assert found.risk == pytest.approx(sigma**2 / (2 * n))
        assert found.risk == pytest.approx(found.bound)  # … and the corrected bound is attained
        assert found.printed_bound == pytest.approx(sigma**2 * np.sqrt(2 / size) / n)
        assert found.risk > found.printed_bound


@pytest.mark.spec("rudi/T1.9")
def test_the_exact_minimiser_is_no_worse_than_the_oracle(design):
    X, truth = design
    found = ridge_oracle(X, truth, 0.7)
    grid = ridge_risk(X, truth, 0.7, np.geomspace(1e-6, 1e4, 3000)).risk
    assert found.best_risk <= grid.min() * (1 + 1e-9) <= found.risk * (1 + 1e-9)
    assert found.best_penalty_strength != pytest.approx(found.penalty_strength, rel=0.01)


@pytest.mark.spec("rudi/X1.1")
def test_the_closed_form_is_where_the_gradient_vanishes(design, rng):
    X, truth = design
    y = X @ truth + rng.standard_normal(40)
    strength = 0.3
    closed = np.linalg.solve(X.T @ X + 40 * strength * np.eye(5), X.T @ y)

    def objective(theta):
        return np.mean((y - X @ theta) ** 2) + strength * theta @ theta

    fitted = Ridge(penalty_strength=strength, fit_intercept=False).fit(X, y)
    assert_allclose(fitted.coef_, closed, rtol=1e-10)
    slope = optimize.approx_fprime(fitted.coef_, objective, 1e-6)
    assert np.abs(slope).max() < 1e-4
    found = optimize.minimize(objective, np.zeros(5), tol=1e-12)
    assert_allclose(fitted.coef_, found.x, atol=1e-5)
    for direction in np.eye(5):  # strict convexity: every other point is worse
        assert objective(fitted.coef_ + 0.01 * direction) > objective(fitted.coef_)
    # The same objective as a member of the toolbox: value, gradient and minimiser.
    smooth = least_squares_objective(X, y, strength)
    assert smooth.value(fitted.coef_) == pytest.approx(objective(fitted.coef_))
    assert_allclose(smooth.gradient(fitted.coef_), 0, atol=1e-10)
    assert_allclose(smooth.minimiser, fitted.coef_, atol=1e-10)
    # Rank one less than the columns: the closed form is still the one minimiser.
    collinear = np.column_stack([X, X[:, 0]])
    penalised = Ridge(penalty_strength=strength, fit_intercept=False).fit(collinear, y)
    inverse = np.linalg.inv(collinear.T @ collinear + 40 * strength * np.eye(6))
    assert_allclose(penalised.coef_, inverse @ collinear.T @ y, atol=1e-10)


@pytest.mark.spec("rudi/X1.1")
def test_the_risk_of_ridge_is_that_of_its_matrix_and_of_simulation(design):
    X, truth = design
    n, sigma, strength = 40, 0.7, 0.2
    matrix = np.linalg.solve(X.T @ X + n * strength * np.eye(5), X.T)
    exact = bias_variance(matrix, X, truth, sigma)
    spectral = ridge_risk(X, truth, sigma, [strength])
    assert spectral.bias[0] == pytest.approx(exact.bias)
    assert spectral.variance[0] == pytest.approx(exact.variance)
    covariance = X.T @ X / n
    inverse = np.linalg.inv(covariance + strength * np.eye(5))
    assert exact.bias == pytest.approx(strength**2 * truth @ inverse @ covariance @ inverse @ truth)
    assert exact.variance == pytest.approx(
        sigma**2 / n * np.trace(covariance @ inverse @ covariance @ inverse)
    )
    drawn = simulated_bias_variance(matrix, X, truth, sigma, n_draws=4000, random_state=0)
    assert abs(drawn.risk - exact.risk) < 4 * drawn.standard_error
    # … and of the estimator: 4000 targets of the one design, fitted at once.
    targets = (X @ truth)[:, None] + sigma * np.random.default_rng(1).standard_normal((n, 4000))
    model = Ridge(penalty_strength=strength, fit_intercept=False).fit(X, targets)
    risks = np.mean(((model.coef_ - truth) @ X.T) ** 2, axis=1)
    assert abs(risks.mean() - spectral.risk[0]) < 4 * risks.std() / np.sqrt(4000)


@pytest.mark.spec("rudi/T1.11")
def test_ridge_stays_below_a_bound_without_dimension_and_least_squares_does_not():
    dimensions = [2, 10, 50, 200, 1000]
    found = dimension_free_experiment(
        dimensions, n_samples=60, radius=2.0, coef_norm=1.5, noise_std=0.5, random_state=0
    )
    assert found.bound == pytest.approx(2.0 * 0.5 * 1.5 / (2 * np.sqrt(60)))
    assert np.all(found.ridge <= found.bound)
    assert_allclose(found.least_squares, 0.25 * np.minimum(dimensions, 60) / 60)
    assert found.least_squares[-1] > 2 * found.bound
    # The drawn designs again: rows on the sphere, and the risk of the closed form at λ* on each.
    rng = np.random.default_rng(0)
    for d, risk in zip(dimensions, found.ridge, strict=True):
        X = rng.standard_normal((60, d))
        X *= 2.0 / np.linalg.norm(X, axis=1, keepdims=True)
        truth = rng.standard_normal(d)
        truth *= 1.5 / np.linalg.norm(truth)
        strength = 0.5 * 2.0 / (1.5 * np.sqrt(60))  # σ √tr Σ/(‖θ*‖ √n) with tr Σ = R²
        matrix = X.T @ np.linalg.inv(X @ X.T + 60 * strength * np.eye(60))
        bias = np.sum((X @ (matrix @ (X @ truth) - truth)) ** 2) / 60
        assert risk == pytest.approx(bias + 0.25 * np.sum((X @ matrix) ** 2) / 60)


@pytest.mark.spec("rudi/T1.11")
def test_the_trace_is_at_most_the_largest_squared_norm(rng):
    X = rng.standard_normal((50, 7))
    trace, radius = np.trace(X.T @ X / 50), np.linalg.norm(X, axis=1).max()
    assert trace == pytest.approx(np.mean(np.sum(X**2, axis=1)))
    assert trace <= radius**2
    truth = rng.standard_normal(7)
    found = ridge_oracle(X, truth, 0.8)
    assert found.risk <= found.bound <= radius * 0.8 * np.linalg.norm(truth) / (2 * np.sqrt(50))


@pytest.mark.spec("rudi/T1.11")
def test_least_squares_wins_from_the_crossover_on():
    setting = {"radius": 2.0, "coef_norm": 0.5, "noise_std": 0.3}
    n = crossover_samples(12, **setting)
    for rows, sign in ((n / 2, 1), (n, 0), (2 * n, -1)):
        gap = 0.3**2 * 12 / rows - 2.0 * 0.3 * 0.5 / (2 * np.sqrt(rows))
        assert np.sign(round(gap, 12)) == sign
    louder = crossover_samples(12, radius=2.0, coef_norm=0.5, noise_std=0.6)
    assert louder == pytest.approx(4 * n)  # σ² against σ


def test_degenerate_problems():
    assert ridge_oracle_lambda([[1.0]], [0.0], 1.0) == np.inf
    assert ridge_oracle_lambda([[1.0]], [0.0], 0.0) == 0.0
    silent = ridge_oracle([[1.0], [2.0]], [1.0], 0.0)
    assert silent.risk == silent.bound == 0
    assert silent.certificate.holds


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ridge_oracle_lambda([1.0], [1.0], 1.0), "X"),
        (lambda: ridge_oracle_lambda([[np.nan]], [1.0], 1.0), "X"),
        (lambda: ridge_oracle_lambda([[1.0]], [1.0, 2.0], 1.0), "true_coef"),
        (lambda: ridge_oracle([[1.0]], [0.0], 1.0), "true_coef"),
        (lambda: ridge_oracle([[1.0]], [1.0], -1.0), "noise_std"),
        (lambda: dimension_free_experiment([0]), "n_features"),
        (lambda: dimension_free_experiment([1.5]), "n_features"),
        (lambda: dimension_free_experiment([3], radius=0.0), "radius"),
        (lambda: crossover_samples(0, radius=1.0, coef_norm=1.0, noise_std=1.0), "n_features"),
    ],
)
def test_bad_arguments_are_refused(call, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
        call()
