"""Several responses: joint likelihood, tests of groups of predictors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats
from statsmodels.multivariate.multivariate_ols import _MultivariateOLS

from assay.linear import LinearRegression, MultivariateRegression


@pytest.fixture
def table(rng):
    X = rng.standard_normal((60, 4)) + [0, 2, 0, 0]
    B = np.array([[1.0, 0.0, 2.0], [-1.0, 1.0, 0.0], [0.1, 0.0, 0.1], [0.0, 0.05, 0.0]])
    noise = rng.standard_normal((60, 3)) @ np.array([[1.0, 0.7, 0.0], [0.0, 0.5, 0.3], [0.0, 0.0, 1.0]])
    return X, X @ B + noise + [1.0, 2.0, 3.0]


@pytest.mark.spec("wei/M1.17")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_estimates_are_those_of_maximum_likelihood(table, fit_intercept):
    X, Y = table
    model = MultivariateRegression(fit_intercept=fit_intercept).fit(X, Y)
    Z = np.column_stack([np.ones(60), X]) if fit_intercept else X
    B = np.linalg.solve(Z.T @ Z, Z.T @ Y)  # p × q, the orientation in which the formula is right
    residual = Y - Z @ B
    assert_allclose(model.coef_, B[int(fit_intercept) :].T, atol=1e-10)
    assert_allclose(model.noise_covariance_, residual.T @ residual / 60, atol=1e-10)
    assert_allclose(model.unbiased_noise_covariance_, residual.T @ residual / (60 - Z.shape[1]), atol=1e-10)
    joint = stats.multivariate_normal(cov=model.noise_covariance_).logpdf(residual).sum()
    assert model.joint_log_likelihood_ == pytest.approx(joint)


@pytest.mark.spec("wei/M1.17")
def test_no_other_parameters_are_likelier(table):
    X, Y = table
    model = MultivariateRegression().fit(X, Y)

    def negative(point):
        B, b = point[:12].reshape(4, 3), point[12:15]
        root = np.zeros((3, 3))
        root[np.tril_indices(3)] = point[15:]
        law = stats.multivariate_normal(cov=root @ root.T, allow_singular=True)
        return -law.logpdf(Y - X @ B - b).sum()

    root = np.linalg.cholesky(model.noise_covariance_)[np.tril_indices(3)]
    start = np.concatenate([model.coef_.T.ravel(), model.intercept_, root])
    assert -negative(start) == pytest.approx(model.joint_log_likelihood_)
    slope = optimize.approx_fprime(start, negative, 1e-6)
    assert np.abs(slope).max() < 1e-2
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert negative(start + 0.05 * rng.standard_normal(start.size)) > negative(start)


@pytest.mark.spec("wei/M1.17")
@pytest.mark.parametrize("group", [["x0"], ["x2", "x3"], ["x1", "x2", "x3"], ["x0", "x1", "x2", "x3"]])
def test_the_tests_of_a_group_are_statsmodels(table, group):
    X, Y = table
    model = MultivariateRegression().fit(X, Y)
    found = model.multivariate_test(group)
    L = np.eye(5)[[1 + int(name[1]) for name in group]]
    theirs = _MultivariateOLS(Y, np.column_stack([np.ones(60), X])).fit().mv_test([("group", L, None)])
    frame = theirs.results["group"]["stat"]
    assert_allclose(
        [found.wilks, found.pillai, found.hotelling_lawley, found.roy], frame["Value"].astype(float)
    )
    wilks = frame.loc["Wilks' lambda"]
    assert found.fvalue == pytest.approx(float(wilks["F Value"]))
    assert (found.df_num, found.df_denom) == pytest.approx((float(wilks["Num DF"]), float(wilks["Den DF"])))
    assert found.pvalue == pytest.approx(float(wilks["Pr > F"]), rel=1e-6, abs=1e-12)


def test_the_likelihood_ratio_is_that_of_two_fits(table):
    X, Y = table
    full, small = MultivariateRegression().fit(X, Y), MultivariateRegression().fit(X[:, :2], Y)
    found = full.multivariate_test(["x2", "x3"])
    ratio = 2 * (full.joint_log_likelihood_ - small.joint_log_likelihood_)
    assert found.likelihood_ratio == pytest.approx(ratio)


def test_p_values_are_uniform_under_the_hypothesis(rng):
    X = rng.standard_normal((40, 3))
    root = np.array([[1.0, 0.8], [0.0, 0.6]])
    pvalues = [
        MultivariateRegression()
        .fit(X, X[:, :1] + rng.standard_normal((40, 2)) @ root)
        .multivariate_test(["x1", "x2"])
        .pvalue
        for _ in range(300)
    ]
    assert stats.kstest(pvalues, "uniform").pvalue > 0.01


def test_one_response_is_fishers_test(table):
    X, Y = table
    model = MultivariateRegression().fit(X, Y[:, 0])
    found = model.multivariate_test(["x1", "x3"])
    plain = LinearRegression().fit(X, Y[:, 0]).inference().wald_test(["x1", "x3"])
    assert found.fvalue == pytest.approx(plain.fvalue)
    assert found.pvalue == pytest.approx(plain.pvalue)
    assert model.joint_log_likelihood_ == pytest.approx(model.log_likelihood_)


def test_inference_of_each_response_is_its_own(table):
    X, Y = table
    both = MultivariateRegression().fit(X, Y).inference()
    for k in range(3):
        assert_allclose(both.target(k).bse, LinearRegression().fit(X, Y[:, k]).inference().bse)


def test_weights_are_repetitions_in_the_covariance(table, rng):
    X, Y = table
    weight = rng.integers(0, 3, 60)
    weighted = MultivariateRegression().fit(X, Y, sample_weight=weight)
    repeated = MultivariateRegression().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    assert_allclose(weighted.noise_covariance_, repeated.noise_covariance_, atol=1e-10)
    assert weighted.joint_log_likelihood_ == pytest.approx(repeated.joint_log_likelihood_)
    assert weighted.certify(X, Y, sample_weight=weight).holds


def test_a_damaged_covariance_is_found(table):
    X, Y = table
    model = MultivariateRegression().fit(X, Y)
    model.noise_covariance_ = model.noise_covariance_ + 0.1 * np.eye(3)[::-1]
    assert not model.certify(X, Y).named("relative difference of the noise covariance").holds


def test_dependent_responses_have_infinite_likelihood_and_no_test(table):
    X, Y = table
    model = MultivariateRegression().fit(X, np.column_stack([Y, Y[:, 0] + Y[:, 1]]))
    assert model.joint_log_likelihood_ == np.inf
    with pytest.raises(ValueError, match="noise covariance that is not singular"):
        model.multivariate_test(["x0"])
    with pytest.raises(ValueError, match="'L' parameter"):
        model.multivariate_test(["nothing"])


def test_few_rows_leave_no_unbiased_covariance(table):
    X, Y = table
    model = MultivariateRegression().fit(X[:4], Y[:4])
    assert model.unbiased_noise_covariance_ is None
    assert model.joint_log_likelihood_ == np.inf
