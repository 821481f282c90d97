"""Whitening, nearest centroids, and Gaussian regression."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import sqrtm
from scipy.stats import norm
from sklearn.neighbors import NearestCentroid as TheirCentroid

from assay.datasets import GaussianClasses, LinearGaussian, iris
from assay.discriminant import (
    GaussianRegression,
    LinearDiscriminantAnalysis,
    NearestCentroid,
    QuadraticDiscriminantAnalysis,
    Whitener,
)
from assay.linear import LinearRegression

SHARED = np.array([[2.0, 0.6], [0.6, 0.5]])


@pytest.mark.spec("sangnier/M-1.1.2-g")
def test_whitening_is_the_inverse_root_of_the_covariance():
    X, y = iris(return_X_y=True)
    model = Whitener().fit(X)
    sigma = np.cov(X.T, bias=True)
    assert_allclose(model.whitening_, np.linalg.inv(sqrtm(sigma).real), atol=1e-8)
    Z = model.transform(X)
    assert_allclose(Z.mean(0), 0.0, atol=1e-12)
    assert_allclose(np.cov(Z.T, bias=True), np.eye(4), atol=1e-10)
    assert_allclose(model.inverse_transform(Z), X, atol=1e-10)
    principal = Whitener(method="principal").fit_transform(X)
    assert_allclose(np.cov(principal.T, bias=True), np.eye(4), atol=1e-10)
    given = Whitener(SHARED).fit(X[:, :2])
    assert_allclose(given.whitening_ @ given.whitening_, np.linalg.inv(SHARED))
    within = Whitener(scope="within").fit(X, y)
    assert_allclose(within.covariance_, LinearDiscriminantAnalysis().fit(X, y).covariance_)
    assert within.certify(X, y).holds
    with pytest.raises(ValueError, match="requires y"):
        Whitener(scope="within").fit(X)


@pytest.mark.spec("sangnier/M-1.1.2-g", "sangnier/T-1.1.2-b")
def test_the_nearest_mean_after_whitening_is_linear_discriminant_analysis():
    X, y = iris(return_X_y=True)
    Z = Whitener(scope="within").fit_transform(X, y)
    nearest = NearestCentroid().fit(Z, y).predict(Z)
    assert np.array_equal(nearest, LinearDiscriminantAnalysis(priors="uniform").fit(X, y).predict(X))


def test_duplicated_columns_are_whitened_on_their_span():
    X = np.random.default_rng(0).normal(size=(100, 2))
    table = np.column_stack([X, X[:, 0]])
    Z = Whitener().fit(table)
    assert Z.certify(table).holds
    assert_allclose(np.linalg.eigvalsh(np.cov(Z.transform(table).T, bias=True)), [0, 1, 1], atol=1e-8)


@pytest.mark.spec("sangnier/M-1.1.2-b")
def test_the_nearest_centre_is_the_bayes_rule_of_spheres_with_equal_priors():
    law = GaussianClasses([[0.0, 0.0], [1.0, 1.0], [-1.0, 2.0]])
    X, y = law.sample(300, random_state=0)
    model = NearestCentroid().fit(X, y)
    means = np.array([X[y == k].mean(0) for k in range(3)])
    assert_allclose(model.centroids_, means)
    distances = np.linalg.norm(X[:, None] - means, axis=2)
    assert np.array_equal(model.predict(X), distances.argmin(axis=1))
    spheres = QuadraticDiscriminantAnalysis.from_parameters(means, model.scale_[0] ** 2 * np.eye(2))
    assert_allclose(model.predict_proba(X), spheres.predict_proba(X), atol=1e-10)
    pooled = np.mean(np.sum((X - means[y]) ** 2, axis=1)) / 2
    assert_allclose(model.scale_**2, pooled)


@pytest.mark.parametrize(
    "options", [{}, {"metric": "manhattan"}, {"shrink_threshold": 0.5}, {"priors": "empirical"}], ids=str
)
def test_labels_and_centres_are_those_of_scikit_learn(options):
    law = GaussianClasses([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 2.0, 0.3]], priors=[0.2, 0.3, 0.5])
    X, y = law.sample(200, random_state=0)
    ours, theirs = NearestCentroid(**options).fit(X, y), TheirCentroid(**options).fit(X, y)
    assert_allclose(ours.centroids_, theirs.centroids_, atol=1e-12)
    assert_allclose(ours.within_class_std_dev_, theirs.within_class_std_dev_)
    assert_allclose(ours.deviations_, theirs.deviations_, atol=1e-10)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.certify(X, y).holds


@pytest.mark.spec("sangnier/M-1.1.2-f")
def test_gaussian_regression_is_the_closed_form_and_least_squares():
    law = LinearGaussian([1.0, -2.0, 0.5], intercept=3.0, noise_std=0.5)
    X, y = law.sample(400, random_state=0)
    model = GaussianRegression().fit(X, y)
    joint = np.cov(np.column_stack([X, y]).T, bias=True)
    w = np.linalg.solve(joint[:3, :3], joint[:3, 3])
    assert_allclose(model.coef_, w)
    assert_allclose(model.conditional_variance_, joint[3, 3] - joint[:3, 3] @ w)
    assert_allclose(model.predict(X), y.mean() + (X - X.mean(0)) @ w)
    line = LinearRegression().fit(X, y)
    assert_allclose(model.coef_, line.coef_)
    assert_allclose(model.intercept_, line.intercept_)
    assert_allclose(model.conditional_variance_, np.mean((y - line.predict(X)) ** 2))
    mean, deviation = model.conditional_law(X)
    wanted = np.column_stack(norm(mean, deviation).interval(0.8))
    assert_allclose(model.predict_interval(X, coverage=0.8), wanted)
    new, target = law.sample(20_000, random_state=1)
    low, high = model.predict_interval(new, coverage=0.9).T
    inside = np.mean((target >= low) & (target <= high))
    assert abs(inside - 0.9) < 4 * np.sqrt(0.09 / 20_000) + 0.02  # of a fit to 400 rows
    oracle = GaussianRegression.from_parameters([0.0, 1.0], [[2.0, 1.0], [1.0, 3.0]])
    assert_allclose(oracle.conditional_variance_, 3 - 1 / 2)
    assert_allclose(oracle.predict([[4.0]]), [3.0])


def test_gaussian_regression_sees_a_moved_coefficient():
    X, y = LinearGaussian([1.0, -2.0, 0.5]).sample(100, random_state=0)
    model = GaussianRegression().fit(X + 1e6, y)
    assert model.certify(X + 1e6, y).holds
    model.coef_ = model.coef_ * 1.01
    assert not model.certify(X + 1e6, y).holds
