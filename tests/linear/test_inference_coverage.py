"""The laws of inference hold: many samples from a known truth, all fitted at once as targets of one table."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from assay.linear import LinearRegression
from assay.theory import coverage

N, N_DRAWS, SIGMA = 12, 1500, 0.7
TRUTH = np.array([2.0, 1.0, 0.0, -1.0])


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(31)
    X = rng.standard_normal((N, 3)) * [1, 3, 0.2] + [0, 5, 0]
    Y = (TRUTH[0] + X @ TRUTH[1:])[:, None] + SIGMA * rng.standard_normal((N, N_DRAWS))
    model = LinearRegression().fit(X, Y)
    return X, model, model.inference()


@pytest.mark.spec("douc/T6.3", "rudi/T1.6")
def test_coefficients_are_unbiased_with_the_covariance_of_the_theorem(draws):
    X, _, found = draws
    table = np.column_stack([np.ones(N), X])
    exact = SIGMA**2 * np.linalg.inv(table.T @ table)
    errors = found.params - TRUTH[:, None]
    assert np.all(np.abs(errors.mean(axis=1)) < 4 * np.sqrt(np.diagonal(exact) / N_DRAWS))
    products = errors[:, None] * errors[None]
    spread = products.std(axis=2) / np.sqrt(N_DRAWS)
    assert np.all(np.abs(products.mean(axis=2) - exact) < 4 * spread)
    assert_allclose(found.normalized_cov_params * SIGMA**2, exact, rtol=1e-9)


@pytest.mark.spec("douc/T6.4")
def test_noise_variance_has_the_chi_square_law_and_is_independent_of_the_coefficients(draws):
    _, _, found = draws
    scaled = found.df_resid * found.noise_variance / SIGMA**2
    assert stats.kstest(scaled, stats.chi2(N - 4).cdf).pvalue > 1e-3
    for j in range(4):
        z = (found.params[j] - TRUTH[j]) / (SIGMA * np.sqrt(found.normalized_cov_params[j, j]))
        assert stats.kstest(z, stats.norm.cdf).pvalue > 1e-3
        assert abs(np.corrcoef(np.abs(z), scaled)[0, 1]) < 4 / np.sqrt(N_DRAWS)
    low, high = found.noise_variance_interval(0.9)
    assert coverage((low <= SIGMA**2) & (high >= SIGMA**2)).agrees(0.9)


@pytest.mark.spec("douc/T6.5", "douc/M6.3", "rudi/M1.11")
def test_student_intervals_and_tests_have_their_level(draws):
    _, _, found = draws
    ratio = (found.params - TRUTH[:, None]) / found.bse
    interval = found.conf_int(0.95)
    for j in range(4):
        assert stats.kstest(ratio[j], stats.t(N - 4).cdf).pvalue > 1e-3
        assert coverage((interval[j, 0] <= TRUTH[j]) & (TRUTH[j] <= interval[j, 1])).agrees(0.95)
    # β₂ is 0: its p-values are uniform, and the test rejects exactly where |T| is past the quantile.
    assert stats.kstest(found.pvalues[2], "uniform").pvalue > 1e-3
    rejected = found.pvalues[2] < 0.05
    assert np.array_equal(rejected, np.abs(found.tvalues[2]) > stats.t(N - 4).ppf(0.975))
    # With so few rows Gaussian quantiles would not do.
    gaussian = np.abs(ratio[1]) <= stats.norm.ppf(0.975)
    assert not coverage(gaussian).agrees(0.95)


@pytest.mark.spec("douc/T6.6", "douc/M6.4")
def test_fishers_region_has_its_level(draws):
    _, _, found = draws
    L = np.array([[0, 1.0, -1.0, 0], [1.0, 0, 0, 2.0]])
    at_truth = found.wald_test(L, L @ TRUTH)
    assert stats.kstest(at_truth.fvalue, stats.f(2, N - 4).cdf).pvalue > 1e-3
    assert coverage(at_truth.pvalue > 0.05).agrees(0.95)
    inside = [found.target(k).confidence_region(L, 0.95).contains(L @ TRUTH) for k in range(200)]
    assert np.array_equal(inside, at_truth.pvalue[:200] >= 0.05)


@pytest.mark.spec("douc/M8.12")
def test_intervals_of_predictions_have_their_coverage(draws):
    _, model, _ = draws
    rng = np.random.default_rng(5)
    x = np.array([[1.0, -2.0, 0.3]])
    mean = TRUTH[0] + x[0] @ TRUTH[1:]
    targets = mean + SIGMA * rng.standard_normal(N_DRAWS)
    low, high = model.predict_interval(x, 0.9)[0]
    assert coverage((low <= targets) & (targets <= high)).agrees(0.9)
    low, high = model.predict_interval(x, 0.9, kind="mean")[0]
    assert coverage((low <= mean) & (mean <= high)).agrees(0.9)
    low, high = model.predict_interval(x, 0.9, kind="mean", noise_std=SIGMA)[0]
    assert coverage((low <= mean) & (mean <= high)).agrees(0.9)


def test_robust_intervals_hold_where_classical_ones_fail():
    rng = np.random.default_rng(8)
    X = rng.exponential(size=(400, 1))
    Y = 2 * X + X**2 * rng.standard_normal((400, 1000))  # the noise grows with x
    model = LinearRegression().fit(X, Y)
    classical = model.inference().conf_int()[1]
    robust = model.inference(X, Y, covariance="HC3").conf_int()[1]
    assert coverage((classical[0] <= 2) & (classical[1] >= 2)).estimate < 0.8
    assert coverage((robust[0] <= 2) & (robust[1] >= 2)).estimate > 0.9
