"""Exact risk of kernel ridge regression against independent routes."""

from __future__ import annotations

import numpy as np
import pytest

from assay.kernel_machines import KernelRidge
from assay.kernels import Gaussian
from assay.theory import kernel_ridge_risk, linear_smoother_risk

ALPHAS = np.logspace(-3, 2, 11)


@pytest.fixture
def problem(rng):
    X = np.sort(rng.uniform(0, 6, 40))[:, None]
    return X, Gaussian(1.0).gram(X), np.sin(X[:, 0]), 0.4


@pytest.mark.spec("douc/T8.11")
def test_the_spectral_risk_is_the_risk_of_the_smoother_matrix(problem):
    _, K, f, sigma = problem
    curve = kernel_ridge_risk(K, f_star=f, noise_std=sigma, alphas=ALPHAS)
    for index, alpha in enumerate(ALPHAS):
        S = K @ np.linalg.inv(K + alpha * np.eye(40))
        oracle = linear_smoother_risk(S, f, sigma)
        assert np.isclose(curve.squared_bias[index], oracle.squared_bias, rtol=1e-6)
        assert np.isclose(curve.variance[index], oracle.variance)
        assert np.isclose(curve.risk[index], oracle.risk)
        assert np.isclose(curve.effective_df[index], oracle.effective_df)
        assert np.allclose(curve.pointwise_variance(alpha), oracle.pointwise_variance)


@pytest.mark.spec("douc/T8.11")
def test_the_bias_in_terms_of_beta_star(problem, rng):
    _, K, _, sigma = problem
    beta = rng.standard_normal(40)
    curve = kernel_ridge_risk(K, beta_star=beta, noise_std=sigma, alphas=ALPHAS)
    values, vectors = np.linalg.eigh(K)
    for index, alpha in enumerate(ALPHAS):
        formula = np.sum((alpha * values / (values + alpha) * (vectors.T @ beta)) ** 2) / 40
        assert np.isclose(curve.squared_bias[index], formula)
    assert np.allclose(curve.risk, kernel_ridge_risk(K, f_star=K @ beta, noise_std=sigma, alphas=ALPHAS).risk)


@pytest.mark.spec("douc/T8.11")
def test_simulated_fits_have_the_exact_risk_and_pointwise_variance(problem, rng):
    X, K, f, sigma = problem
    n_draws, alpha = 4000, 0.5
    Y = f[:, None] + sigma * rng.standard_normal((40, n_draws))
    model = KernelRidge(alpha, kernel=Gaussian(1.0)).fit(X, Y)
    errors = np.mean((model.fitted_values_ - f[:, None]) ** 2, axis=0)
    curve = kernel_ridge_risk(K, f_star=f, noise_std=sigma, alphas=[alpha])
    assert abs(errors.mean() - curve.risk[0]) <= 4 * errors.std() / np.sqrt(n_draws)
    simulated = model.fitted_values_.var(axis=1)
    exact = curve.pointwise_variance(alpha)
    # The standard error of a Gaussian variance is √(2/n) of it; 5 of them for 40 rows at once.
    assert np.all(np.abs(simulated / exact - 1) <= 5 * np.sqrt(2 / n_draws))


@pytest.mark.spec("douc/T8.11")
def test_mallows_cp_is_unbiased_for_the_risk_plus_noise(problem, rng):
    _, K, f, sigma = problem
    curve = kernel_ridge_risk(K, f_star=f, noise_std=sigma, alphas=ALPHAS)
    draws = np.array([curve.mallows_cp(f + sigma * rng.standard_normal(40)) for _ in range(2000)])
    standard_error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - curve.risk - sigma**2) <= 4 * standard_error)


@pytest.mark.spec("douc/T8.11")
def test_the_oracle_is_the_smallest_risk_and_the_curves_are_monotone(problem):
    _, K, f, sigma = problem
    curve = kernel_ridge_risk(K, f_star=f, noise_std=sigma, alphas=ALPHAS)
    fine = kernel_ridge_risk(K, f_star=f, noise_std=sigma, alphas=np.logspace(-3, 2, 2001))
    assert curve.oracle_risk <= fine.risk.min() * (1 + 1e-6)
    assert abs(np.log(curve.oracle_alpha / fine.oracle_alpha)) < 0.01
    assert np.all(np.diff(curve.squared_bias) >= 0)
    assert np.all(np.diff(curve.variance) <= 0)
    assert np.all(np.diff(curve.effective_df) <= 0)
    single = kernel_ridge_risk(K, f_star=f, noise_std=sigma, alphas=[1.0])
    assert (single.oracle_alpha, single.oracle_risk) == (1.0, single.risk[0])


def test_bad_arguments_are_refused(problem):
    _, K, f, sigma = problem
    with pytest.raises(ValueError, match="exactly one"):
        kernel_ridge_risk(K, noise_std=sigma, alphas=ALPHAS)
    with pytest.raises(ValueError, match="exactly one"):
        kernel_ridge_risk(K, f_star=f, beta_star=f, noise_std=sigma, alphas=ALPHAS)
    with pytest.raises(ValueError, match="above 0"):
        kernel_ridge_risk(K, f_star=f, noise_std=sigma, alphas=[0.0, 1.0])
    with pytest.raises(ValueError, match="must have shape"):
        linear_smoother_risk(np.eye(3), f, sigma)
