"""The rule of linear classifiers, and their error against the loss that they minimise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import BSpline
from sklearn import linear_model
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from assay.kernels import Gaussian
from assay.linear import (
    FunctionMap,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    PolynomialMap,
    SGDClassifier,
    SplineMap,
)

LANDMARKS = np.array([[0.0, 0.0], [0.7, 0.7], [-0.7, 0.7], [0.7, -0.7], [-0.7, -0.7]])

SURROGATES = {
    "logistic": (LogisticRegression(), lambda u: np.log2(1 + np.exp(-u))),
    "hinge": (LinearSVC(loss="hinge"), lambda u: np.maximum(0, 1 - u)),
    "squared hinge": (LinearSVC(), lambda u: np.maximum(0, 1 - u) ** 2),
    "sgd logistic": (SGDClassifier(random_state=0), lambda u: np.log2(1 + np.exp(-u))),
    "sgd hinge": (SGDClassifier(loss="hinge", random_state=0), lambda u: np.maximum(0, 1 - u)),
}


def splines_of_scipy(X):
    """Cubic splines on five knots with repeated ends, the last of each column left to the intercept."""
    blocks = []
    for x in X.T:
        ends = [x.min()] * 3, [x.max()] * 3
        knots = np.concatenate([ends[0], np.linspace(x.min(), x.max(), 5), ends[1]])
        blocks.append(BSpline.design_matrix(x, knots, 3).toarray()[:, :-1])
    return np.hstack(blocks)


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 3))
    return X, np.where(X @ [1.0, -0.5, 0.2] + rng.standard_normal(300) > 0, "yes", "no")


@pytest.mark.spec("rudi/M2.1")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model", [LogisticRegression(), LinearSVC(), SGDClassifier(random_state=0), Perceptron()], ids=repr
)
def test_every_linear_classifier_decides_by_the_sign_of_a_linear_score(two, model):
    X, y = two
    # The class 1 of the course is the one that a tie goes to: the first, here "1 yes".
    model.set_params(fit_intercept=False).fit(X, np.where(y == "yes", "1 yes", "2 no"))
    scores = -model.decision_function(X)
    assert_allclose(scores, X @ -model.coef_[0], atol=1e-12)
    assert np.array_equal(model.predict(X), np.where(scores >= 0, "1 yes", "2 no"))
    assert model.predict(np.zeros((1, 3)))[0] == model.classes_[0] == "1 yes"
    across = np.array([[model.coef_[0, 1], -model.coef_[0, 0], 0.0]])  # on the hyperplane, up to rounding
    assert abs(model.decision_function(across)[0]) < 1e-12


@pytest.mark.spec("rudi/T2.7")
@pytest.mark.parametrize("name", SURROGATES)
def test_every_classifier_reports_its_error_below_its_surrogate_risk(two, name):
    X, y = two
    model, loss = SURROGATES[name]
    model.fit(X, y)
    margins = np.where(y == "yes", 1, -1) * model.decision_function(X)
    for certificates in (model.certificates_, model.certify(X, y)):
        found = certificates.named("training error")
        assert found.value == pytest.approx(np.mean(model.predict(X) != y))
        assert found.bound == pytest.approx(np.mean(loss(margins)), rel=1e-6)
        assert 0 < found.value <= found.bound
        assert found.holds


@pytest.mark.spec("rudi/M2.7")
@pytest.mark.parametrize(
    ("feature_map", "features"),
    [
        (PolynomialMap(2), lambda X: PolynomialFeatures(2, include_bias=False).fit_transform(X)),
        (SplineMap(5), splines_of_scipy),
        (
            FunctionMap([lambda X: Gaussian(2.0).cross(X, LANDMARKS)]),
            lambda X: np.exp(-2.0 * np.sum((X[:, None] - LANDMARKS) ** 2, axis=2)),
        ),
    ],
    ids=["polynomial", "spline", "kernel"],
)
def test_nonlinear_logistic_regression_is_the_linear_one_on_the_features(feature_map, features, rng):
    X = rng.uniform(-1, 1, (300, 2))
    y = np.sum(X**2, axis=1) + 0.2 * rng.standard_normal(300) < 0.6
    model = make_pipeline(feature_map, LogisticRegression(C=5.0)).fit(X, y)
    theirs = linear_model.LogisticRegression(C=5.0, tol=1e-10, max_iter=5000).fit(features(X), y)
    assert_allclose(model.predict_proba(X), theirs.predict_proba(features(X)), atol=1e-5)
    assert model.score(X, y) > 0.85
