"""Quadratic discriminant analysis against closed forms, scikit-learn, R and brute force."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as TheirQuadratic

from assay.datasets import GaussianClasses, iris
from assay.discriminant import (
    LinearDiscriminantAnalysis,
    MixedDiscriminant,
    QuadraticDiscriminantAnalysis,
)

R_NUMBERS = json.loads(
    (Path(__file__).parents[1] / "reference" / "discriminant.json").read_text(encoding="utf-8")
)
NARROW, WIDE = np.array([[1.0, 0.3], [0.3, 0.5]]), np.array([[3.0, -1.0], [-1.0, 2.0]])


@pytest.fixture
def flowers():
    return iris(return_X_y=True)


@pytest.fixture
def two():
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], [NARROW, WIDE], [0.4, 0.6], classes=[-1, 1])
    return law.sample(300, random_state=4)


@pytest.mark.spec("sangnier/M-1.1.2-a", "wei/M7.3", "douc/M3.4")
def test_scores_are_the_formula_of_the_course(two):
    X, y = two
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    scores = []
    for label in (-1, 1):
        own = X[y == label]
        mean, sigma = own.mean(0), np.cov(own.T, bias=True)
        steps = X - mean
        squares = np.einsum("ij,jk,ik->i", steps, np.linalg.inv(sigma), steps)
        scores.append(-0.5 * np.log(np.linalg.det(sigma)) - 0.5 * squares + np.log(len(own) / len(X)))
    scores = np.array(scores).T
    assert np.array_equal(model.predict(X), np.where(scores[:, 1] > scores[:, 0], 1, -1))
    assert_allclose(model.decision_function(X), scores[:, 1] - scores[:, 0])
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), shares)
    assert_allclose(model.predict_joint_log_proba(X), scores - np.log(2 * np.pi))


@pytest.mark.spec("sangnier/M-1.1.2-e", "sangnier/E-1.4")
def test_the_quadric_is_the_printed_q_w_b_and_equals_the_argmin_on_every_point(two):
    X, y = two
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    low, high = (np.linalg.inv(matrix) for matrix in model.covariance_)
    means, shape = model.means_, model.quadric()
    assert_allclose(shape.matrix, low - high)
    assert_allclose(shape.normal, high @ means[1] - low @ means[0])
    dets = [np.linalg.det(matrix) for matrix in model.covariance_]
    offset = 0.5 * (means[0] @ low @ means[0] - means[1] @ high @ means[1])
    offset += -0.5 * np.log(dets[1] / dets[0]) + np.log(model.priors_[1] / model.priors_[0])
    assert_allclose(shape.offset, offset)
    grid = np.random.default_rng(0).uniform(-8, 8, (3000, 2))
    assert np.array_equal(np.where(shape.value(grid) > 0, 1, -1), model.predict(grid))
    assert_allclose(shape.value(grid), model.decision_function(grid))


@pytest.mark.spec("sangnier/E-1.4")
def test_equal_covariances_give_linear_discriminant_analysis(two):
    X, y = two
    quadratic = QuadraticDiscriminantAnalysis(towards_linear=1.0).fit(X, y)
    linear = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(quadratic.decision_function(X), linear.decision_function(X), atol=1e-9)
    assert quadratic.quadric().kind == "line"
    half = QuadraticDiscriminantAnalysis(towards_linear=0.5).fit(X, y)
    own = QuadraticDiscriminantAnalysis().fit(X, y)
    assert_allclose(half.covariance_, 0.5 * own.covariance_ + 0.5 * linear.covariance_)


@pytest.mark.spec("douc/M3.4", "sangnier/M-1.1.2-e")
@pytest.mark.parametrize(
    ("covariances", "step", "kind"),
    [
        ([np.eye(2), 4 * np.eye(2)], [1.0, 0.0], "ellipse"),
        ([np.diag([1.0, 4.0]), np.diag([4.0, 1.0])], [1.0, 0.3], "hyperbola"),
        ([np.diag([1.0, 4.0]), np.diag([4.0, 1.0])], [0.0, 0.0], "crossing lines"),
        ([np.diag([1.0, 1.0]), np.diag([4.0, 1.0])], [0.0, 1.0], "parabola"),
        ([np.diag([1.0, 1.0]), np.diag([4.0, 1.0])], [1.0, 0.0], "parallel lines"),
        ([np.eye(2), np.eye(2)], [1.0, 0.0], "line"),
    ],
)
def test_the_type_of_the_frontier_in_the_plane(covariances, step, kind):
    oracle = QuadraticDiscriminantAnalysis.from_parameters([[0.0, 0.0], step], covariances)
    assert oracle.quadric().kind == kind
    units = np.diag([1e4, 1e-3])
    moved = [units @ matrix @ units for matrix in covariances]
    other = QuadraticDiscriminantAnalysis.from_parameters([[0.0, 0.0], units @ step], moved)
    assert other.quadric().kind == kind  # whatever the units


def test_more_types_of_frontiers():
    nowhere = QuadraticDiscriminantAnalysis.from_parameters(
        np.zeros((2, 2)), [np.eye(2), 1.5 * np.eye(2)], [0.999, 0.001]
    )
    far = nowhere.quadric()
    assert far.kind == "ellipse"
    assert far.signature == (2, 0, 0)
    never = QuadraticDiscriminantAnalysis.from_parameters(
        np.zeros((2, 2)), [np.eye(2), 1.5 * np.eye(2)], [0.1, 0.9]
    )
    assert never.quadric().kind == "empty"
    assert (never.predict(np.random.default_rng(0).normal(size=(500, 2))) == 1).all()
    solid = QuadraticDiscriminantAnalysis.from_parameters(
        [[0, 0, 0], [1, 0, 0]], [np.eye(3), np.diag([2.0, 3.0, 0.5])]
    )
    assert solid.quadric().kind == "hyperboloid"
    assert solid.quadric().signature == (2, 1, 0)


@pytest.mark.spec("douc/M3.4")
def test_the_log_determinant_belongs_to_the_rule(two):
    X, y = two
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    steps = X[:, None] - model.means_
    squares = np.einsum("ikj,kjl,ikl->ik", steps, np.linalg.inv(model.covariance_), steps)
    logs = np.linalg.slogdet(model.covariance_)[1]
    with_it = 0.5 * (squares[:, 0] - squares[:, 1]) - 0.5 * (logs[1] - logs[0])
    level = np.log(model.priors_[0] / model.priors_[1])
    assert np.array_equal(model.predict(X), np.where(with_it > level, 1, -1))
    without = np.where(0.5 * (squares[:, 0] - squares[:, 1]) > level, 1, -1)
    assert np.mean(without != y) > np.mean(model.predict(X) != y)


OPTIONS = [
    {},
    {"priors": [0.2, 0.3, 0.5]},
    {"reg_param": 0.2},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": 0.3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_probabilities_are_those_of_scikit_learn(flowers, options):
    X, y = flowers
    ours, theirs = QuadraticDiscriminantAnalysis(**options).fit(X, y), TheirQuadratic(**options).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    for k in range(3):
        assert_allclose(ours.scalings_[k], theirs.scalings_[k])
        assert ours.rotations_[k].shape == theirs.rotations_[k].shape


def test_numbers_are_those_of_r(flowers):
    X, y = flowers
    rows = np.array(R_NUMBERS["rows"]) - 1
    model = QuadraticDiscriminantAnalysis(covariance="unbiased").fit(X, y)
    assert_allclose(model.predict_proba(X[rows]), R_NUMBERS["qda"]["posterior"], atol=1e-9)
    assert_allclose(model.log_determinants_, R_NUMBERS["qda"]["log_determinants"])


@pytest.mark.spec("douc/M3.6", "sangnier/M-1.1.2-a")
def test_the_oracle_is_the_bayes_rule_and_the_simulator_draws_from_its_law():
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], [NARROW, WIDE], [0.4, 0.6])
    oracle = QuadraticDiscriminantAnalysis.from_parameters(law.means, law.covariances, law.priors)
    X = law.sample(500, random_state=0).X
    assert np.array_equal(oracle.predict(X), (law.bayes_rule(X) > 0).astype(int))
    drawn = oracle.sample(40_000, random_state=3)
    for k, sigma in enumerate((NARROW, WIDE)):
        own = drawn.X[drawn.y == k]
        assert_allclose(own.mean(0), law.means[k], atol=4 * np.sqrt(sigma.max() / len(own)))
        assert_allclose(np.cov(own.T), sigma, atol=0.12)
        logs = oracle.predict_joint_log_proba(own[:50])[:, k] - np.log(law.priors[k])
        assert_allclose(logs, multivariate_normal(law.means[k], sigma).logpdf(own[:50]))


def test_a_singular_class_is_refused_by_name():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.array(["a"] * 37 + ["few"] * 3)
    words = r"class 'few' is singular \(3 rows, 3 columns\).*shrinkage"
    with pytest.raises(ValueError, match=words) as refusal:
        QuadraticDiscriminantAnalysis().fit(X, y)
    assert "\n" not in str(refusal.value)
    assert QuadraticDiscriminantAnalysis(shrinkage="auto").fit(X, y).certificates_.holds


def test_a_certificate_sees_an_edited_covariance(two):
    X, y = two
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert model.certify(X, y).holds
    model.covariance_[1, 0, 0] *= 1.01
    assert not model.certify(X, y).holds
    quantity = "largest difference, relative"
    damaged = QuadraticDiscriminantAnalysis().fit(X, y)
    assert damaged.certify(X, y).named(quantity).holds
    # Densities that are no longer those of (Q, w, b): the mean of each class is read by both.
    honest = damaged._quadric_about
    damaged._quadric_about = lambda *places: honest(*places)._replace(offset=honest(*places).offset + 0.01)
    assert not damaged.certify(X, y).named(quantity).holds


@pytest.mark.parametrize(("n_rows", "words"), [(1, "1 row, 2 columns"), (2, "2 rows, 2 columns")])
def test_a_class_of_one_row_or_two_is_refused_with_a_way_out_that_works(n_rows, words):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.repeat([0, 7], [30 - n_rows, n_rows])
    for options in ({}, {"shrinkage": "auto"}):
        with pytest.raises(
            ValueError, match=rf"class 7 is singular \({words}\).*shrink it by towards_linear"
        ):
            QuadraticDiscriminantAnalysis(**options).fit(X, y)
        assert QuadraticDiscriminantAnalysis(towards_linear=0.1, **options).fit(X, y).certify(X, y).holds
        assert QuadraticDiscriminantAnalysis(reg_param=0.1, **options).fit(X, y).certify(X, y).holds


def test_a_column_that_is_constant_in_each_class_and_tells_them_apart_is_told(two):
    X, y = two
    quantity = "difference of means left out, relative"
    told = QuadraticDiscriminantAnalysis().fit(np.column_stack([X, y]), y).certificates_.named(quantity)
    assert not told.holds
    assert "shrinkage='auto'" in told.claim
    plain = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    assert QuadraticDiscriminantAnalysis().fit(plain, y).certify(plain, y).holds


@pytest.mark.spec("wei/T7.3")
def test_the_test_of_equal_covariances_tells_linear_from_quadratic(two):
    X, y = two
    assert QuadraticDiscriminantAnalysis().fit(X, y).equal_covariances(X, y).pvalue < 1e-6
    same = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], NARROW).sample(300, random_state=1)
    assert QuadraticDiscriminantAnalysis().fit(*same).equal_covariances(*same).pvalue > 0.01


@pytest.mark.parametrize("kind", [QuadraticDiscriminantAnalysis, MixedDiscriminant])
def test_columns_of_very_different_units_raise_no_alarm(kind):
    law = GaussianClasses([[0.0, 0.0, 0.0], [1.5, -0.5, 0.3]], np.diag([2.0, 0.5, 1.0]), [0.3, 0.7])
    for seed in range(4):
        X, y = law.sample(200, random_state=seed)
        far = X * [1e-5, 1.0, 1e5] + 1e3
        assert kind().fit(far, y).certificates_.holds
        assert kind().fit(far, y).certify(far, y).holds


def test_a_row_too_far_for_single_precision_tells_nothing_of_its_class():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)).astype(np.float32), rng.integers(0, 2, 60)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    far = np.array([[3e38, 3e38, 3e38], [0.1, 0.2, 0.3]], dtype=np.float32)
    scores = model.decision_function(far)
    assert_allclose(scores[0], np.log(model.priors_[1] / model.priors_[0]), rtol=1e-6)
    assert_allclose(scores[1], model.decision_function(far[1:])[0])


@pytest.mark.parametrize("rule", ["auto", "oas"])
def test_a_column_that_a_class_does_not_vary_in_is_shrunk_as_a_constant_whatever_its_level(rng, rule):
    """Rounding leaves a tiny variance of 0.1 or 1/3, at times a negative one: it is no unit to measure in."""
    X, y = rng.normal(size=(90, 4)), np.repeat([0, 1, 2], 30)
    probabilities = []
    for level in (0.0, 0.1, 1 / 3, -1e3 / 7):
        moved = X.copy()
        moved[:, 2] += level
        moved[y == 1, 2] = level
        model = QuadraticDiscriminantAnalysis(shrinkage=rule, towards_linear=0.05).fit(moved, y)
        probabilities.append(model.predict_proba(moved))
    for found in probabilities[1:]:
        np.testing.assert_allclose(found, probabilities[0], atol=1e-6)
