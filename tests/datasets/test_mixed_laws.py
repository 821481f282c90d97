"""Laws with yes-no columns, with uniform columns, and with labels that flip."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import comb
from scipy.stats import bernoulli, multivariate_normal, norm

from assay.datasets import GaussianBernoulli, GaussianClasses, GaussianUniform, LabelNoise, Rings

UNEQUAL = GaussianBernoulli(
    [[0.0, 0.5], [1.0, -0.5]],
    [[0.2, 0.5, 0.8], [0.6, 0.4, 0.9]],
    [np.eye(2), [[2.0, 0.3], [0.3, 0.5]]],
    [0.35, 0.65],
)


def test_the_joint_law_is_the_product_of_its_factors(rng):
    U, V = rng.standard_normal((20, 2)), rng.integers(0, 2, (20, 3))
    expected = np.column_stack(
        [
            np.log(UNEQUAL.priors[k])
            + multivariate_normal(UNEQUAL.gaussian.means[k], UNEQUAL.gaussian.covariances[k]).logpdf(U)
            + bernoulli(UNEQUAL.probabilities[k]).logpmf(V).sum(axis=1)
            for k in range(2)
        ]
    )
    assert_allclose(UNEQUAL.log_joint(np.column_stack([U, V])), expected, atol=1e-12)
    assert np.all(np.isneginf(UNEQUAL.log_joint([[0.0, 0.0, 0.5, 0, 1]])))


@pytest.mark.spec("sangnier/X22-1")
def test_the_log_odds_are_the_quadratic_form_of_the_exam(rng):
    U, V = rng.standard_normal((50, 2)), rng.integers(0, 2, (50, 3))
    (minus, plus), (q, p) = UNEQUAL.gaussian.means, UNEQUAL.probabilities
    inverse = np.linalg.inv(UNEQUAL.gaussian.covariances)
    determinants = np.linalg.det(UNEQUAL.gaussian.covariances)
    quadratic = inverse[0] - inverse[1]
    alpha = inverse[1] @ plus - inverse[0] @ minus
    beta = np.log(p * (1 - q) / (q * (1 - p)))
    offset = np.log(0.65 / 0.35) + 0.5 * np.log(determinants[0] / determinants[1])
    offset += 0.5 * (minus @ inverse[0] @ minus - plus @ inverse[1] @ plus) + np.log((1 - p) / (1 - q)).sum()
    score = 0.5 * np.einsum("ij,jk,ik->i", U, quadratic, U) + U @ alpha + V @ beta + offset
    joint = UNEQUAL.log_joint(np.column_stack([U, V]))
    assert_allclose(joint[:, 1] - joint[:, 0], score, atol=1e-10)
    assert np.array_equal(UNEQUAL.bayes_rule(np.column_stack([U, V])), np.where(score > 0, 1, -1))


def exam_errors(delta, m, p, q):
    """The two errors as the exam writes them."""
    e = np.log(p * (1 - q) / (q * (1 - p)))
    c = delta / 2 + m / delta * np.log((1 - p) / (1 - q))
    k = np.arange(m + 1)
    missed = np.sum(comb(m, k) * p**k * (1 - p) ** (m - k) * norm.cdf(-c - k * e / delta))
    false = np.sum(comb(m, k) * q**k * (1 - q) ** (m - k) * norm.cdf(c - delta + k * e / delta))
    return missed, false


@pytest.mark.spec("sangnier/X22-1.4")
@pytest.mark.parametrize(
    ("delta", "m", "p", "q"), [(1.5, 3, 0.7, 0.3), (0.8, 6, 0.2, 0.55), (2.0, 1, 0.5, 0.1)]
)
def test_the_bayes_error_is_the_binomial_sum_of_the_exam(delta, m, p, q):
    law = GaussianBernoulli([[0.0, 0.0], [0.6 * delta, 0.8 * delta]], [[q] * m, [p] * m])
    risk = law.bayes_risk()
    assert risk.exact
    assert risk.value == pytest.approx(np.mean(exam_errors(delta, m, p, q)), abs=1e-13)
    # By Monte Carlo on drawn labels, class by class.
    X, y = law.sample(60_000, random_state=0)
    wrong = law.bayes_rule(X) != y
    for label, exact in zip((1, -1), exam_errors(delta, m, p, q), strict=True):
        rows = wrong[y == label]
        assert abs(rows.mean() - exact) < 4 * np.sqrt(exact * (1 - exact) / len(rows))


@pytest.mark.spec("sangnier/X22-1.4")
def test_columns_that_tell_nothing_leave_the_error_of_the_gaussian_part():
    law = GaussianBernoulli([[0.0], [1.7]], [[0.4] * 5, [0.4] * 5])
    assert law.bayes_risk().value == pytest.approx(norm.cdf(-1.7 / 2), abs=1e-14)
    # The score given the number of ones: mean δ²/2 plus what the ones add, variance δ².
    law = GaussianBernoulli([[0.0], [1.5]], [[0.3] * 3, [0.7] * 3])
    X, y = law.sample(40_000, random_state=1)
    joint = law.log_joint(X)
    score, ones = (joint[:, 1] - joint[:, 0])[y == 1], X[y == 1, 1:].sum(axis=1)
    e, c = np.log(0.7 * 0.7 / (0.3 * 0.3)), 1.5 / 2 + 3 / 1.5 * np.log(0.3 / 0.7)
    standard = (score - e * ones - 1.5 * c) / 1.5  # A ~ N(0, 1), independent of B
    assert abs(standard.mean()) < 4 / np.sqrt(len(standard))
    assert abs(standard.std() - 1) < 4 / np.sqrt(2 * len(standard))
    assert abs(np.corrcoef(standard, ones)[0, 1]) < 4 / np.sqrt(len(standard))


def test_the_closed_form_with_unlike_columns_is_the_sum_over_all_patterns():
    means = np.array([[0.0, 0.0], [0.9, 0.4]])
    covariance = np.array([[1.0, 0.4], [0.4, 2.0]])
    chances = np.array([[0.2, 0.5, 0.8, 0.2], [0.6, 0.4, 0.9, 0.6]])
    law = GaussianBernoulli(means, chances, covariance, [0.3, 0.7])
    step = means[1] - means[0]
    delta = np.sqrt(step @ np.linalg.solve(covariance, step))
    total = 0.0
    for pattern in itertools.product([0, 1], repeat=4):
        masses = np.prod(np.where(pattern, chances, 1 - chances), axis=1) * [0.3, 0.7]
        shift = np.log(masses[1] / masses[0])
        total += masses @ norm.cdf([-delta / 2 + shift / delta, -delta / 2 - shift / delta])
    assert law.bayes_risk().value == pytest.approx(total, abs=1e-13)
    equal_means = GaussianBernoulli(np.zeros((2, 1)), [[0.2, 0.5], [0.6, 0.4]])
    best = [np.prod(np.where(v, equal_means.probabilities, 1 - equal_means.probabilities), axis=1).min() / 2
            for v in itertools.product([0, 1], repeat=2)]  # fmt: skip
    assert equal_means.bayes_risk().value == pytest.approx(sum(best))


def test_unequal_covariances_have_no_closed_form():
    assert not UNEQUAL.bayes_risk(n_samples=200, random_state=0).exact
    assert GaussianBernoulli(np.zeros((3, 1)), np.full((3, 2), 0.5)).bayes_risk(n_samples=50).exact is False


@pytest.mark.spec("sangnier/X-Ex1.2.1")
def test_gaussian_times_uniform_has_affine_log_odds_off_any_gaussian():
    law = GaussianUniform([[0.0], [2.0]], n_uniform=2, priors=[0.3, 0.7])
    X, y = law.sample(20_000, random_state=0)
    assert X[:, 1:].min() >= 0
    assert X[:, 1:].max() <= 1
    assert abs(X[y == 1, 1].var() - 1 / 12) < 0.003
    joint = law.log_joint(X)
    assert_allclose(joint[:, 1] - joint[:, 0], 2 * X[:, 0] - 2 + np.log(7 / 3), atol=1e-10)
    plain = GaussianClasses([[0.0], [2.0]], priors=[0.3, 0.7])
    assert law.bayes_risk().value == plain.bayes_risk().value
    wrong = law.bayes_rule(X) != y
    assert abs(wrong.mean() - plain.bayes_risk().value) < 4 * wrong.std() / np.sqrt(len(y))
    assert np.all(np.isneginf(law.log_joint([[0.0, 0.5, 1.5]])))
    assert np.isfinite(law.posterior([[0.0, 0.5, 1.5]])).all()
    unequal = GaussianUniform([[0.0], [2.0]], covariances=[[[1.0]], [[4.0]]])
    assert unequal.bayes_risk().standard_error < 1e-6


@pytest.mark.parametrize("clean", [GaussianClasses([[-1.0, 0], [1.0, 0]]), Rings([1.0, 2.0, 3.0], 0.5)])
def test_flips_of_one_rate_keep_the_bayes_rule_and_raise_its_risk(clean):
    count, rate = len(clean.classes), 0.2
    noisy = LabelNoise(clean, rate)
    X, labels = noisy.sample(20_000, random_state=0)
    before = clean.sample(20_000, random_state=0)
    assert np.array_equal(X, before.X)
    flipped = labels != before.y
    assert abs(flipped.mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / 20_000)
    assert np.array_equal(noisy.bayes_rule(X), clean.bayes_rule(X))
    expected = rate + (1 - rate * count / (count - 1)) * clean.bayes_risk().value
    assert noisy.bayes_risk().value == pytest.approx(expected, abs=1e-6)
    wrong = noisy.bayes_rule(X) != labels
    assert abs(wrong.mean() - expected) < 4 * wrong.std() / np.sqrt(20_000)


def test_flips_by_a_matrix_mix_the_posterior_and_the_priors():
    clean = GaussianClasses([[0.0], [1.5], [4.0]], priors=[0.5, 0.3, 0.2], classes=["b", "a", "c"])
    flips = np.array([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])
    noisy = LabelNoise(clean, flips)
    assert_allclose(noisy.priors, clean.priors @ flips)
    X, labels = noisy.sample(50_000, random_state=0)
    assert_allclose(noisy.posterior(X), clean.posterior(X) @ flips)
    assert_allclose(np.exp(noisy.log_joint(X)), np.exp(clean.log_joint(X)) @ flips, rtol=1e-9)
    drawn = noisy._draw(np.full(20_000, 1), np.random.default_rng(1))
    rows = X[labels == "a"]
    error = np.hypot(rows.std() / np.sqrt(len(rows)), drawn.std() / np.sqrt(20_000))
    assert abs(rows.mean() - drawn.mean()) < 4 * error
    for k, label in enumerate(clean.classes):
        share = np.mean(labels == label)
        assert abs(share - noisy.priors[k]) < 4 * np.sqrt(share / 50_000)
    assert not noisy.bayes_risk().exact


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: GaussianBernoulli([[0.0]], [[0.5]]), "'means' parameter of GaussianBernoulli"),
        (lambda: GaussianBernoulli([[0.0], [1.0]], [[0.5], [1.0]]), "'probabilities' parameter"),
        (lambda: GaussianBernoulli([[0.0], [1.0]], [[0.5]]), "'probabilities' parameter"),
        (lambda: GaussianUniform(n_uniform=0), "'n_uniform' parameter of GaussianUniform"),
        (lambda: LabelNoise(3, 0.1), "'law' parameter of LabelNoise"),
        (lambda: LabelNoise(UNEQUAL, 0.5), "'flips' parameter of LabelNoise must be below 0.5"),
        (lambda: LabelNoise(UNEQUAL, [[0.5, 0.4], [0.0, 1.0]]), "'flips' parameter of LabelNoise"),
        (lambda: LabelNoise(UNEQUAL, [[1.0, 0.0], [1.0, 0.0]]), "every class keeps"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        make()
    assert "\n" not in str(refusal.value)
