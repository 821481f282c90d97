"""Classifiers of known laws: the Bayes rule, the posterior and the rows of the law."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import bernoulli, multinomial, norm, poisson

from assay.datasets import GaussianBernoulli, GaussianClasses
from assay.discriminant import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MixedDiscriminant,
    MultinomialNB,
    NaiveBayes,
    NearestCentroid,
)

PRIORS = np.array([0.2, 0.5, 0.3])
LABELS = ["a", "b", "c"]


def posterior(logs):
    shares = PRIORS * np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def check(oracle, X, logs):
    """Posteriors and labels are those of the densities, and drawn rows have the shares of the classes."""
    assert_allclose(oracle.predict_proba(X), posterior(logs), atol=1e-12)
    assert np.array_equal(oracle.predict(X), np.array(LABELS)[posterior(logs).argmax(axis=1)])
    assert oracle.certificates_.holds
    drawn = oracle.sample(6000, random_state=0)
    shares = [np.mean(drawn.y == label) for label in LABELS]
    assert_allclose(shares, PRIORS, atol=4 * 0.5 / np.sqrt(6000))
    return drawn


def test_gaussian_columns(rng):
    means, variances = rng.normal(size=(3, 2)), rng.uniform(0.5, 2.0, (3, 2))
    oracle = GaussianNB.from_parameters(means, variances, PRIORS, LABELS)
    X = rng.normal(size=(50, 2))
    logs = norm.logpdf(X[:, None], means, np.sqrt(variances)).sum(axis=2)
    drawn = check(oracle, X, logs)
    own = drawn.X[drawn.y == "b"]
    assert_allclose(own.mean(axis=0), means[1], atol=4 * np.sqrt(variances[1].max() / len(own)))
    # A fit to many of its rows comes back to it.
    fitted = GaussianNB().fit(*oracle.sample(20_000, random_state=1))
    assert_allclose(fitted.predict_proba(X), oracle.predict_proba(X), atol=0.05)


def test_zeros_and_ones(rng):
    chances = rng.uniform(0.1, 0.9, (3, 4))
    X = rng.integers(0, 2, (50, 4))
    oracle = BernoulliNB.from_parameters(chances, PRIORS, LABELS)
    drawn = check(oracle, X, bernoulli.logpmf(X[:, None], chances).sum(axis=2))
    own = drawn.X[drawn.y == "c"]
    assert_allclose(own.mean(axis=0), chances[2], atol=4 * 0.5 / np.sqrt(len(own)))


def test_words(rng):
    chances = rng.dirichlet(np.ones(4), 3)
    X = rng.integers(0, 6, (50, 4))
    logs = np.array([[multinomial.logpmf(row, row.sum(), p) for p in chances] for row in X])
    drawn = check(MultinomialNB.from_parameters(chances, PRIORS, LABELS, row_total=7.0), X, logs)
    own = drawn.X[drawn.y == "b"]
    assert_allclose(own.sum(axis=0) / own.sum(), chances[1], atol=4 * 0.5 / np.sqrt(own.sum()))
    assert abs(own.sum(axis=1).mean() - 7.0) < 4 * np.sqrt(7.0 / len(own))


def test_levels(rng):
    tables = [rng.dirichlet(np.ones(size), 3) for size in (3, 5)]
    X = np.column_stack([rng.integers(0, 3, 50), rng.integers(0, 5, 50)])
    logs = np.log([[tables[0][k, i] * tables[1][k, j] for k in range(3)] for i, j in X])
    drawn = check(CategoricalNB.from_parameters(tables, PRIORS, LABELS), X, logs)
    own = drawn.X[drawn.y == "b"]
    shares = np.bincount(own[:, 1].astype(int), minlength=5) / len(own)
    assert_allclose(shares, tables[1][1], atol=4 * 0.5 / np.sqrt(len(own)))


def test_columns_of_several_families(rng):
    rates, tables = rng.uniform(1, 5, (3, 1)), [rng.dirichlet(np.ones(4), 3)]
    laws = {
        "gaussian": {"columns": [1], "means": [[-1.0], [0.0], [1.0]], "variances": [[1.0], [2.0], [0.5]]},
        "poisson": {"columns": [0], "rates": rates},
        "categorical": {"columns": [2], "log_probabilities": np.log(tables)},
    }
    X = np.column_stack([rng.poisson(3, 50), rng.normal(size=50), rng.integers(0, 4, 50)])
    logs = poisson.logpmf(X[:, [0]], rates.T) + norm.logpdf(X[:, [1]], [-1, 0, 1], np.sqrt([1, 2, 0.5]))
    logs = logs + np.log(tables[0]).T[X[:, 2].astype(int)]
    oracle = NaiveBayes.from_parameters(laws, PRIORS, LABELS)
    assert oracle.families_ == ["poisson", "gaussian", "categorical"]
    check(oracle, X, logs)
    fitted = NaiveBayes(oracle.families_).fit(*oracle.sample(300, random_state=0))
    again = NaiveBayes.from_parameters(fitted.laws_, fitted.priors_, LABELS)
    assert_allclose(again.predict_proba(X), fitted.predict_proba(X))
    for bad in ({"fancy": {"columns": [0]}}, {"poisson": {"columns": [1], "rates": rates}}, {}):
        with pytest.raises(ValueError, match="'laws' parameter of NaiveBayes"):
            NaiveBayes.from_parameters(bad)


def test_centres_and_densities(rng):
    means = rng.normal(size=(3, 2))
    law = GaussianClasses(means, 0.49 * np.eye(2), PRIORS, LABELS)
    X = law.sample(200, random_state=0).X
    oracle = NearestCentroid.from_parameters(means, PRIORS, LABELS, scale=0.7)
    assert_allclose(oracle.predict_proba(X), law.posterior(X), atol=1e-12)
    assert np.array_equal(oracle.predict(X), law.bayes_rule(X))
    assert oracle.certificates_.holds
    linear = LinearDiscriminantAnalysis.from_parameters(means, 0.49 * np.eye(2), PRIORS, LABELS)
    assert_allclose(oracle.predict_joint_log_proba(X), linear.predict_joint_log_proba(X), atol=1e-9)

    class Known:
        n_features_in_ = 2

        def __init__(self, mean):
            self.mean = mean

        def score_samples(self, X):
            return norm.logpdf(X, self.mean, 0.7).sum(axis=1)

    known = GenerativeClassifier.from_parameters([Known(mean) for mean in means], PRIORS, LABELS)
    assert_allclose(known.predict_proba(X), law.posterior(X), atol=1e-12)
    with pytest.raises(ValueError, match="'densities' parameter of GenerativeClassifier"):
        GenerativeClassifier.from_parameters([3])


def test_gaussian_and_yes_no_columns_are_certified():
    law = GaussianBernoulli([[0.0], [1.0]], [[0.2, 0.5], [0.6, 0.4]])
    parts = law.gaussian.means, law.gaussian.covariances, law.probabilities, law.priors, law.classes
    oracle = MixedDiscriminant.from_parameters(*parts)
    assert oracle.certificates_.holds
    assert len(oracle.certificates_) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GaussianNB.from_parameters([[0.0], [1.0]], [[1.0], [0.0]]), "'variances' parameter"),
        (lambda: GaussianNB.from_parameters([[0.0], [1.0]], [[1.0]]), "'variances' parameter"),
        (lambda: BernoulliNB.from_parameters([[0.5], [1.5]]), "'probabilities' parameter of BernoulliNB"),
        (lambda: MultinomialNB.from_parameters([[0.5, 0.6], [0.5, 0.5]]), "sum 1 in each class"),
        (lambda: CategoricalNB.from_parameters([]), "'probabilities' parameter of CategoricalNB"),
        (lambda: NearestCentroid.from_parameters([[0.0], [1.0]], scale=0.0), "'scale' parameter"),
        (lambda: NearestCentroid.from_parameters([[0.0], [1.0]], [0.5, 0.6]), "'priors' parameter"),
        (lambda: GaussianNB.from_parameters([[0.0], [1.0]], [[1.0], [1.0]], classes=[1, 0]), "increasing"),
    ],
)
def test_parameters_that_are_no_law_are_refused(make, words):
    with pytest.raises(ValueError, match=words) as refusal:
        make()
    assert "\n" not in str(refusal.value)
