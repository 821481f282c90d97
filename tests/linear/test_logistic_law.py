"""Maximum likelihood of the logistic model: rule, information, limit law, intervals and ellipsoids."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special, stats

from assay.linear import LogisticRegression

INF = float("inf")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(250, 3))
    return X, np.where(rng.random(250) < special.expit(X @ [1.0, -2.0, 0.5]), 1, -1)


@pytest.mark.spec("douc/M3.5", "douc/M8.6")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_fit_its_rule_and_its_information_are_those_of_the_course(table, fit_intercept):
    X, y = table
    model = LogisticRegression(C=INF, fit_intercept=fit_intercept).fit(X, y)
    Z = np.column_stack([np.ones(250), X]) if fit_intercept else X

    def log_likelihood(beta):
        return np.sum((1 + y) / 2 * (Z @ beta) - np.log1p(np.exp(Z @ beta)))

    best = optimize.minimize(lambda beta: -log_likelihood(beta), np.zeros(Z.shape[1]), tol=1e-12)
    beta = np.append(model.intercept_, model.coef_[0]) if fit_intercept else model.coef_[0]
    assert_allclose(beta, best.x, atol=1e-5)
    assert model.log_likelihood_ == pytest.approx(log_likelihood(beta), rel=1e-12)
    assert_allclose(model.decision_function(X), Z @ beta, atol=1e-12)  # the log-odds
    assert np.array_equal(model.predict(X), np.where(Z @ beta > 0, 1, -1))
    p = model.predict_proba(X)[:, 1]
    assert_allclose(np.log(p / (1 - p)), Z @ beta, atol=1e-9)
    assert_allclose(Z.T @ (p - (y > 0)), 0, atol=1e-6)  # the score
    information = (Z * (p * (1 - p))[:, None]).T @ Z
    found = model.inference()
    assert_allclose(np.linalg.inv(found.covariance), information, rtol=1e-6)
    assert_allclose(found.bse, np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-7)
    half = stats.norm.ppf(0.975) * found.bse
    assert_allclose(found.conf_int(0.95), np.column_stack([beta - half, beta + half]), rtol=1e-7)


@pytest.mark.spec("douc/M8.7")
def test_the_ellipsoid_ends_at_the_chi_square_quantile(table):
    X, y = table
    model = LogisticRegression(C=INF, fit_intercept=False).fit(X, y)
    region = model.inference().confidence_region(level=0.95)
    p = model.predict_proba(X)[:, 1]
    information = (X * (p * (1 - p))[:, None]).T @ X
    for direction in np.random.default_rng(0).standard_normal((20, 3)):
        reach = np.sqrt(stats.chi2(3).ppf(0.95) / (direction @ information @ direction))
        assert region.contains(model.coef_[0] + 0.9999 * reach * direction)
        assert not region.contains(model.coef_[0] + 1.0001 * reach * direction)


@pytest.mark.spec("douc/M8.7")
def test_estimates_scores_and_distances_have_their_limit_laws():
    truth, n, repeats = np.array([0.3, -0.8]), 500, 150
    rng = np.random.default_rng(11)
    ratios, distances, scores = [], [], []
    for _ in range(repeats):
        X = rng.uniform(-1, 1, size=(n, 2))
        mean = special.expit(X @ truth)
        y = rng.random(n) < mean
        found = LogisticRegression(C=INF, fit_intercept=False).fit(X, y).inference()
        error = found.params - truth
        ratios.append(error / found.bse)
        distances.append(error @ np.linalg.solve(found.covariance, error))
        at_truth = (X * (mean * (1 - mean))[:, None]).T @ X
        slope = X.T @ (y - mean)
        scores.append(np.linalg.solve(np.linalg.cholesky(at_truth), slope))
        # The first step of Taylor: the error is the inverse information times the score, to second order.
        assert np.linalg.norm(error - np.linalg.solve(at_truth, slope)) < 12 * error @ error + 0.02
    for column in (*np.transpose(ratios), *np.transpose(scores)):
        assert stats.kstest(column, stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest(distances, stats.chi2(2).cdf).pvalue > 1e-3
