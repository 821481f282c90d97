"""Gaussian classes in theory: Bayes errors, efficiency of logistic regression, likelihoods, simulators."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import ks_2samp, multivariate_normal

from assay.datasets import GaussianClasses, GaussianUniform, two_gaussians_law
from assay.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from assay.linear import LogisticRegression
from assay.theory import (
    efron_efficiency,
    excess_error_curve,
    largest_gaussian_likelihood,
    lda_bayes_error,
    likelihood_report,
    linear_rule_error,
    mahalanobis,
    mixture_then_label,
)

SHARED = np.array([[2.0, 0.6], [0.6, 0.5]])


@pytest.mark.spec("douc/M8.5")
@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.3, 0.7]])
def test_the_bayes_error_is_that_of_the_rule_on_draws(priors):
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], SHARED, priors)
    delta = mahalanobis(*law.means, SHARED)
    step = law.means[1] - law.means[0]
    assert_allclose(delta**2, step @ np.linalg.inv(SHARED) @ step)
    errors = lda_bayes_error(delta, priors)
    ratio = np.log(priors[0] / priors[1])
    assert_allclose(errors.false_positive, ndtr(-delta / 2 - ratio / delta))
    assert_allclose(errors.false_negative, ndtr(-delta / 2 + ratio / delta))
    X, y = law.sample(200_000, random_state=0)
    said = (step @ np.linalg.solve(SHARED, (X - law.means.mean(0)).T) > ratio).astype(int)
    truth = (y > 0).astype(int)
    for label, wanted in ((0, errors.false_positive), (1, errors.false_negative)):
        own = said[truth == label] != label
        assert abs(own.mean() - wanted) < 4 * np.sqrt(wanted / len(own))
    assert abs(np.mean(said != truth) - errors.error) < 4 * np.sqrt(errors.error / len(X))
    if priors[0] == 0.5:
        assert_allclose(errors.error, ndtr(-delta / 2))
    # g = π₀g₀ + π₁g₁ and η = π₁g₁/g
    joint = np.exp(law.log_joint(X[:100]))
    oracle = LinearDiscriminantAnalysis.from_parameters(law.means, SHARED, priors)
    assert_allclose(oracle.predict_proba(X[:100])[:, 1], joint[:, 1] / joint.sum(axis=1))


@pytest.mark.spec("sangnier/X-1.2.3-a")
def test_the_loss_of_thirty_per_cent_is_at_one_separation_and_not_the_worst():
    assert_allclose([efron_efficiency(d) for d in (0, 2, 3, 4)], [1.0, 0.899, 0.641, 0.343], atol=6e-4)
    place = brentq(lambda delta: efron_efficiency(delta) - 0.7, 1, 4)
    assert 2.7 < place < 2.9
    assert efron_efficiency(6.0) < 0.05
    skew = [efron_efficiency(2.5, [share, 1 - share]) for share in (0.5, 0.2)]
    z = np.random.default_rng(0).normal(size=400_000)
    for share, value in zip((0.5, 0.2), skew, strict=True):
        terms = 1 / ((1 - share) * np.exp(1.25 * z) + share * np.exp(-1.25 * z))
        factor = (1 + share * (1 - share) * 6.25) * np.exp(-6.25 / 8)
        assert abs(factor * terms.mean() - value) < 4 * factor * terms.std() / np.sqrt(len(z))


@pytest.mark.spec("sangnier/X-1.2.3-a", "wei/T7.3")
def test_logistic_regression_needs_more_rows_than_linear_discriminant_analysis():
    law = two_gaussians_law(4, 3.0)
    curve = excess_error_curve(law, [200, 400], n_repeats=40, random_state=0)
    errors = curve.standard_errors / curve.excess
    ratio, spread = curve.ratios[1], np.hypot(errors[0], errors[1])
    assert np.all(ratio < 1)
    assert np.all(np.abs(ratio - efron_efficiency(3.0)) < 0.12 + 3 * ratio * spread)


@pytest.mark.slow
@pytest.mark.spec("sangnier/X-1.2.3-a")
@pytest.mark.parametrize("delta", [2.0, 3.0])
def test_the_ratio_of_excess_errors_is_efrons(delta):
    curve = excess_error_curve(two_gaussians_law(8, delta), [2000], n_repeats=600, random_state=0)
    ratio = curve.ratios[1, 0]
    spread = ratio * np.hypot(*(curve.standard_errors[:, 0] / curve.excess[:, 0]))
    assert abs(ratio - efron_efficiency(delta)) < 0.03 + 4 * spread


@pytest.mark.spec("douc/T3.3")
def test_the_excess_error_of_both_models_vanishes_as_rows_come_in():
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], SHARED, [0.3, 0.7])
    curve = excess_error_curve(law, [50, 200, 800, 3200], n_repeats=25, random_state=1)
    assert np.all(curve.excess >= 0)  # no rule beats the Bayes rule
    assert np.all(np.diff(curve.excess, axis=1) < 0)
    slope = np.polyfit(np.log(curve.sizes), np.log(curve.excess.T), 1)[0]
    assert_allclose(slope, -1.0, atol=0.35)


def test_the_error_of_a_linear_rule_is_that_of_draws():
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], [SHARED, np.eye(2)], [0.3, 0.7])
    X, y = law.sample(200_000, random_state=0)
    wanted = linear_rule_error([1.0, -2.0], -0.4, law)
    assert abs(np.mean((X @ [1.0, -2.0] - 0.4 > 0) != (y > 0)) - wanted) < 4 * 0.5 / np.sqrt(len(X))


@pytest.mark.spec("sangnier/T-1.2.1-d")
def test_two_simulators_have_one_joint_law():
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], SHARED, [0.3, 0.7], classes=[-1, 1])
    first, second = law.sample(20_000, random_state=0), mixture_then_label(law, 20_000, random_state=1)
    for label in (-1, 1):
        shares = [np.mean(sample.y == label) for sample in (first, second)]
        assert abs(shares[0] - shares[1]) < 4 * np.sqrt(2 * 0.25 / 20_000)
        for way in ([1.0, 0.0], [0.0, 1.0], [1.0, 2.0]):
            one, other = (sample.X[sample.y == label] @ way for sample in (first, second))
            assert ks_2samp(one, other).pvalue > 1e-3
    # and the labels given the rows are Rademacher of the logistic of an affine score
    oracle = LinearDiscriminantAnalysis.from_parameters(law.means, SHARED, law.priors, law.classes)
    chance = 1 / (1 + np.exp(-(second.X @ oracle.coef_[0] + oracle.intercept_[0])))
    for low in np.arange(0, 1, 0.2):
        inside = (chance > low) & (chance <= low + 0.2)
        gap = np.mean(second.y[inside] == 1) - chance[inside].mean()
        assert abs(gap) < 4 * 0.5 / np.sqrt(inside.sum())


@pytest.mark.spec("sangnier/T-1.2.2-a")
def test_likelihoods_split_and_each_model_wins_its_own():
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], [SHARED, np.eye(2)], [0.3, 0.7])
    X, y = law.sample(300, random_state=0)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    logistic = LogisticRegression(C=float("inf")).fit(X, y)
    report = likelihood_report(lda, logistic, X, y)
    assert report.certificates.holds
    own, other = report.generative, report.conditional
    assert_allclose(own.full, own.conditional + own.marginal)
    margins = np.where(y > 0, 1, -1) * (X @ lda.coef_[0] + lda.intercept_[0])
    assert_allclose(own.conditional, -np.sum(np.log1p(np.exp(-margins))))  # −n R_n(w, b)
    assert_allclose(other.conditional, logistic.log_likelihood_)
    assert other.conditional > own.conditional
    shrunk = likelihood_report(lda, LogisticRegression(C=1e-4).fit(X, y), X, y)
    assert not shrunk.certificates.holds
    assert "conditional" in str(report)


@pytest.mark.spec("sangnier/T-1.2.2-a")
@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_no_gaussian_classes_are_likelier_and_swapped_fits_are_seen(kind):
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], [SHARED, np.eye(2)], [0.3, 0.7])
    (X, y), (other_X, other_y) = law.sample(150, random_state=0), law.sample(150, random_state=1)
    shared = kind is LinearDiscriminantAnalysis
    most = largest_gaussian_likelihood(X, y, shared_covariance=shared)
    codes, random = (y > 0).astype(int), np.random.default_rng(0)
    sizes = np.bincount(codes)
    covariances = np.array([np.cov(X[codes == k].T, bias=True) for k in (0, 1)])
    if shared:
        covariances = np.broadcast_to(sizes @ covariances.reshape(2, 4) / len(y), (2, 4)).reshape(2, 2, 2)
    means = np.array([X[codes == k].mean(axis=0) for k in (0, 1)])

    def likelihood(priors, means, covariances):
        logs = [multivariate_normal(means[k], covariances[k]).logpdf(X) + np.log(priors[k]) for k in (0, 1)]
        return np.where(codes == 1, logs[1], logs[0]).sum()

    assert_allclose(most, likelihood(sizes / len(y), means, covariances))
    for _ in range(20):
        share = sizes[0] / len(y) + 0.02 * random.normal()
        wider = covariances * np.exp(0.1 * random.normal())
        assert likelihood([share, 1 - share], means + 0.02 * random.normal(size=(2, 2)), wider) < most
    generative, conditional = kind().fit(X, y), LogisticRegression(C=float("inf")).fit(X, y)
    report = likelihood_report(generative, conditional, X, y)
    assert [proof.quantity for proof in report.certificates][-1] == "full log-likelihood"
    assert report.certificates[-1].holds
    assert_allclose(report.generative.full, most)
    strangers = kind().fit(other_X, other_y), LogisticRegression(C=float("inf")).fit(other_X, other_y)
    swapped = likelihood_report(*strangers, X, y)
    assert not swapped.certificates[-1].holds  # the generative model of other rows
    if shared:
        swapped = likelihood_report(generative, strangers[1], X, y)
        assert not swapped.certificates[0].holds  # the conditional model of other rows
        assert (
            not likelihood_report(kind(covariance="unbiased").fit(X, y), conditional, X, y)
            .certificates[-1]
            .holds
        )
    assert largest_gaussian_likelihood(np.column_stack([X, X[:, 0]]), y) == np.inf


@pytest.mark.spec("sangnier/X-Ex1.2.1")
def test_a_logit_may_be_affine_though_the_classes_are_not_gaussian():
    """x₁ ~ N(μ_Y, 1) beside x₂ ~ U[0, 1]: the logit is affine in x₁ and does not contain x₂."""
    law = GaussianUniform([[0.0], [2.0]])
    X, y = law.sample(40_000, random_state=0)
    joint = law.log_joint(X)
    assert_allclose(joint[:, 1] - joint[:, 0], 2.0 * X[:, 0] - 2.0, atol=1e-9)
    truth = 2.0 * X[:, 0] - 2.0
    lda = LinearDiscriminantAnalysis().fit(X, y)
    logistic = LogisticRegression(C=float("inf")).fit(X, y)
    errors = logistic.inference().bse
    for model in (lda, logistic):
        assert_allclose(model.coef_[0], [2.0, 0.0], atol=4 * errors.max())
        assert np.mean((model.decision_function(X) > 0) != (truth > 0)) < 0.02
    quantity = "largest gap of shares within normal quantiles, over its limit"
    assert not lda.certify(X, y).named(quantity).holds  # it says that the classes are not Gaussian
