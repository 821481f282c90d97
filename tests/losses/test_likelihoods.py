"""Likelihood losses against SciPy's laws, statsmodels' fits and scikit-learn's deviances."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy import optimize, stats
from sklearn import metrics

from assay.losses import CumulativeResponse, Gamma, NegativeBinomial, Poisson, Tweedie
from losses.catalogue import COUNTS, POSITIVE

LAWS = {
    "logistic": stats.logistic(),
    "normal": stats.norm(),
    "cauchy": stats.cauchy(),
    "gumbel_l": stats.gumbel_l(),
    "gumbel_r": stats.gumbel_r(),
}


@pytest.mark.spec("sangnier/M-1.2.1-e")
@pytest.mark.parametrize("name", LAWS)
def test_named_responses_are_those_of_scipy(name, rng):
    loss, custom = CumulativeResponse(name), CumulativeResponse(LAWS[name])
    y, f = rng.choice([-1.0, 1.0], 200), rng.normal(scale=1.5, size=200)
    success = (y + 1) / 2
    expected = -stats.bernoulli.logpmf(success, LAWS[name].cdf(f))
    assert_allclose(loss.value(y, f), expected, rtol=1e-8, atol=1e-10)
    for method in ("value", "gradient", "curvature"):
        assert_allclose(getattr(loss, method)(y, f), getattr(custom, method)(y, f), rtol=1e-5, atol=1e-8)
    p = np.linspace(0.01, 0.99, 9)
    assert_allclose(loss.minimiser(p), LAWS[name].ppf(p), atol=1e-12)
    assert_allclose(loss.probability(loss.minimiser(p)), p)
    assert loss.convex == custom.convex


LINKS = {
    "logistic": sm.families.links.Logit(),
    "normal": sm.families.links.Probit(),
    "cauchy": sm.families.links.Cauchy(),
    "gumbel_l": sm.families.links.CLogLog(),
    "gumbel_r": sm.families.links.LogLog(),
}


@pytest.mark.spec("sangnier/M-1.2.1-e")
@pytest.mark.parametrize("name", LINKS)
def test_minimising_the_loss_fits_the_binary_model_of_that_link(name, rng):
    X = np.column_stack([np.ones(300), rng.standard_normal((300, 2))])
    loss = CumulativeResponse(name)
    y = loss.sample(X @ [0.2, 1.0, -0.6], random_state=3)
    found = optimize.minimize(
        lambda w: loss.value(y, X @ w).sum(), np.zeros(3), jac=lambda w: X.T @ loss.gradient(y, X @ w)
    )
    theirs = sm.GLM((y + 1) / 2, X, family=sm.families.Binomial(link=LINKS[name])).fit(tol=1e-12)
    assert_allclose(found.x, theirs.params, atol=1e-4)
    assert found.fun == pytest.approx(-theirs.llf, rel=1e-9)


@pytest.mark.spec("sangnier/M-1.2.1-d")
@pytest.mark.parametrize("name", LAWS)
def test_labels_are_signs_of_a_latent_variable_with_noise_of_the_law(name):
    f, n = np.array([-1.0, 0.0, 0.7]), 40_000
    loss = CumulativeResponse(name)
    y = loss.sample(np.broadcast_to(f, (n, 3)), random_state=0)
    p = LAWS[name].cdf(f)
    assert set(np.unique(y)) == {-1, 1}
    assert np.all(np.abs((y == 1).mean(axis=0) - p) <= 4 * np.sqrt(p * (1 - p) / n))
    assert np.array_equal(y, loss.sample(np.broadcast_to(f, (n, 3)), random_state=0))


@pytest.mark.spec("sangnier/M-1.2.1-d")
def test_the_logistic_law_of_location_and_scale(rng):
    location, scale = 0.4, 1.7
    x = rng.normal(scale=3.0, size=50)
    law = stats.logistic(loc=location, scale=scale)
    loss = CumulativeResponse(law)
    tail = np.exp(-(x - location) / scale)
    assert_allclose(loss.probability(x), 1 / (1 + tail))
    density = loss.gradient(-1, x) * (1 - loss.probability(x))
    assert_allclose(density, tail / (scale * (1 + tail) ** 2))
    n = 40_000
    y = loss.sample(np.full(n, 1.0), random_state=1)
    p = 1 / (1 + np.exp(-(1 - location) / scale))
    assert abs((y == 1).mean() - p) <= 4 * np.sqrt(p * (1 - p) / n)


def test_counts_and_positives_are_negative_log_likelihoods(rng):
    f = rng.normal(size=60)
    y = rng.poisson(3.0, 60).astype(float)
    assert_allclose(Poisson().negative_log_likelihood(y, f), -stats.poisson.logpmf(y, np.exp(f)))
    for dispersion in (1e-6, 0.3, 4.0):
        size = 1 / dispersion
        law = stats.nbinom(size, size / (size + np.exp(f)))
        loss = NegativeBinomial(dispersion)
        assert_allclose(loss.negative_log_likelihood(y, f), -law.logpmf(y), rtol=1e-6)
        assert_allclose(loss.variance(loss.mean(f)), law.var(), rtol=1e-6)
    y = rng.gamma(2.0, size=60)
    for dispersion in (0.4, 1.0, 3.0):
        law = stats.gamma(1 / dispersion, scale=dispersion * np.exp(f))
        assert_allclose(Gamma().negative_log_likelihood(y, f, dispersion), -law.logpdf(y))
        assert_allclose(dispersion * Gamma().variance(Gamma().mean(f)), law.var())


@pytest.mark.parametrize("power", [-0.5, 0, 1, 1.3, 1.7, 2, 2.5, 3])
def test_deviances_are_those_of_the_power_family(power, rng):
    f = rng.normal(size=40)
    y = rng.gamma(2.0, size=40)
    if 1 <= power < 2:
        y[:5] = 0
    deviance = Tweedie(power).deviance(y, f)
    assert deviance.mean() == pytest.approx(metrics.mean_tweedie_deviance(y, np.exp(f), power=power))
    assert_allclose(Tweedie(power).deviance(y + 1, np.log(y + 1)), 0, atol=1e-10)
    assert_allclose(Tweedie(power).variance(np.exp(f)), np.exp(power * f))
    assert np.all(deviance >= 0)


def test_negative_binomial_deviance_is_that_of_statsmodels(rng):
    y, f = rng.poisson(3.0, 40).astype(float), rng.normal(size=40)
    family = sm.families.NegativeBinomial(alpha=0.4)
    assert NegativeBinomial(0.4).deviance(y, f).sum() == pytest.approx(family.deviance(y, np.exp(f)))


@pytest.mark.parametrize("loss", COUNTS + POSITIVE, ids=repr)
def test_the_score_has_mean_zero_at_the_true_mean(loss):
    """The derivative is (μ − y)/V(μ) · μ: linear in y, zero when y is its mean."""
    f = np.linspace(-2, 2, 9)
    mean = loss.mean(f)
    assert_allclose(loss.gradient(mean, f), 0, atol=1e-12)
    assert_allclose(loss.gradient(mean + 1, f), -mean / loss.variance(mean))
