from dataclasses import replace

import numpy as np
import pytest

from assay.datasets import LinearGaussian, SparseLinear

COVARIANCE = [[1.0, 0.6], [0.6, 2.0]]


@pytest.fixture
def fixed_design():
    design = np.random.default_rng(0).normal([1.0, 0.0, -1.0], size=(30, 3))
    return LinearGaussian([1.0, -2.0, 0.5], noise_std=0.7, design=design)


@pytest.mark.spec("rudi/T1.3")
def test_fixed_design_excess_risk_is_the_squared_distance_in_the_second_moment(fixed_design):
    difference = np.array([0.3, -0.2, 0.4])
    theta = fixed_design.coef + difference
    second_moment = fixed_design.design.T @ fixed_design.design / 30
    np.testing.assert_allclose(fixed_design.second_moment, second_moment)
    assert fixed_design.excess_risk(theta) == pytest.approx(
        difference @ second_moment @ difference, rel=1e-12
    )
    assert fixed_design.excess_risk(fixed_design.coef) == 0.0


@pytest.mark.spec("rudi/T1.3")
def test_fixed_design_risk_identity_agrees_with_drawn_targets(fixed_design):
    theta = fixed_design.coef + np.array([0.3, -0.2, 0.4])
    rng = np.random.default_rng(1)
    risks, best = [], []
    for _ in range(4000):
        X, y = fixed_design.sample(random_state=rng)
        risks.append(np.mean((y - X @ theta) ** 2))
        best.append(np.mean((y - X @ fixed_design.coef) ** 2))
    excess = np.subtract(risks, best)
    assert abs(excess.mean() - fixed_design.excess_risk(theta)) < 4 * excess.std() / np.sqrt(excess.size)
    assert abs(np.mean(risks) - fixed_design.risk_of_coef(theta)) < 4 * np.std(risks) / np.sqrt(len(risks))


@pytest.mark.spec("rudi/T1.3")
def test_random_design_excess_risk_uses_the_population_second_moment():
    law = LinearGaussian([1.0, -2.0], noise_std=0.5, mean=[1.0, -1.0], covariance=COVARIANCE)
    difference = np.array([0.5, 0.25])
    second_moment = np.array(COVARIANCE) + np.outer([1.0, -1.0], [1.0, -1.0])
    np.testing.assert_allclose(law.second_moment, second_moment)
    assert law.excess_risk(law.coef + difference) == pytest.approx(difference @ second_moment @ difference)


def test_the_closed_form_agrees_with_squared_errors_on_drawn_rows(regression_law):
    coef, intercept = regression_law.coef + 0.3, 0.2
    rng = np.random.default_rng(2)
    samples = [regression_law.sample(40, rng) for _ in range(1000)]
    errors = np.array([np.mean((y - X @ coef - intercept) ** 2) for X, y in samples])
    exact = regression_law.risk_of_coef(coef, intercept)
    assert abs(errors.mean() - exact) < 4 * errors.std() / np.sqrt(errors.size)


def test_the_risk_of_any_predictor_agrees_with_the_closed_form_on_linear_ones(regression_law):
    coef, intercept = regression_law.coef + 0.3, 0.2
    estimate = regression_law.risk(lambda X: X @ coef + intercept, n_samples=20_000, random_state=0)
    exact = regression_law.risk_of_coef(coef, intercept)
    assert abs(estimate.value - exact) <= 4 * estimate.standard_error + 1e-12
    assert estimate.exact == (estimate.standard_error == 0.0)


def test_no_predictor_has_a_risk_below_that_of_the_regression_function(regression_law):
    bayes_risk = regression_law.bayes_risk()
    assert bayes_risk == (regression_law.noise_variance, 0.0, True)
    truth = regression_law.risk(regression_law.regression_function, 1000, 0)
    assert truth.value == pytest.approx(bayes_risk.value, rel=1e-12)
    assert regression_law.risk(lambda X: np.tanh(X[:, 0]), 1000, 0).value > bayes_risk.value


def test_a_fitted_model_is_a_predictor(fixed_design):
    class Zero:
        def predict(self, X):
            return np.zeros(len(X))

    assert fixed_design.risk(Zero()).value == pytest.approx(fixed_design.risk_of_coef(np.zeros(3)))


def test_a_fixed_design_gives_its_own_rows(fixed_design):
    np.testing.assert_array_equal(fixed_design.sample(random_state=0).X, fixed_design.design)
    with pytest.raises(ValueError, match="'n_samples' parameter of LinearGaussian must be the 30 rows"):
        fixed_design.sample(20)


def test_a_random_design_has_the_stated_moments():
    law = LinearGaussian([0.0, 0.0], mean=[1.0, -1.0], covariance=COVARIANCE)
    X = law.sample(40_000, random_state=3).X
    variances = np.diag(COVARIANCE)
    assert np.all(np.abs(X.mean(axis=0) - law.mean) < 4 * np.sqrt(variances / len(X)))
    error = np.sqrt((np.outer(variances, variances) + np.square(COVARIANCE)) / len(X))
    assert np.all(np.abs(np.cov(X.T) - COVARIANCE) < 4 * error)


def test_a_degenerate_covariance_gives_rows_on_its_range():
    X = LinearGaussian([1.0, 1.0], covariance=[[1.0, 1.0], [1.0, 1.0]]).sample(50, 0).X
    np.testing.assert_allclose(X[:, 0], X[:, 1], atol=1e-7)


def test_no_noise_means_that_the_target_is_the_regression_function():
    law = LinearGaussian([1.0, 2.0], intercept=3.0, noise_std=0.0)
    X, y = law.sample(10, random_state=0)
    np.testing.assert_array_equal(y, X @ law.coef + 3.0)


@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.9])
def test_sparse_design_is_toeplitz_and_noise_follows_from_the_ratio(rho):
    law = SparseLinear(8, 3, rho=rho, signal_to_noise=2.5, random_state=1)
    toeplitz = rho ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    np.testing.assert_allclose(law.covariance, toeplitz)
    signal = law.coef @ toeplitz @ law.coef
    assert law.signal_variance == pytest.approx(signal)
    assert law.noise_variance == pytest.approx(signal / 2.5)
    X = law.sample(40_000, random_state=2).X
    assert np.all(np.abs(np.cov(X.T) - toeplitz) < 5 * np.sqrt((1 + toeplitz**2) / len(X)))


def test_sparse_coefficients_are_non_zero_on_the_support_only():
    law = SparseLinear(50, 7, random_state=0)
    assert law.support.size == law.n_nonzero == 7
    assert set(np.abs(law.coef[law.support])) == {1.0}
    assert np.count_nonzero(law.coef) == 7
    np.testing.assert_array_equal(SparseLinear(50, 7, random_state=0).coef, law.coef)
    given = SparseLinear(coef=[0.0, 2.0, 0.0, -1.0])
    assert given.support.tolist() == [1, 3]


def test_a_law_can_be_replaced_with_one_parameter_changed(fixed_design):
    assert replace(fixed_design, noise_std=2.0).noise_variance == 4.0
    sparse = SparseLinear(10, 2, random_state=0)
    np.testing.assert_array_equal(replace(sparse, rho=0.5).coef, sparse.coef)
