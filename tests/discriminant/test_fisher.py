"""Fisher's discriminant: axes, rules, and the cut with fewest errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from sklearn.linear_model import LogisticRegression as TheirLogistic

from assay.datasets import GaussianClasses, iris
from assay.discriminant import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    LinearDiscriminantAnalysis,
    optimal_threshold,
)

R_NUMBERS = json.loads((Path(__file__).parents[1] / "reference/discriminant.json").read_text())
SHARED = np.array([[2.0, 0.6], [0.6, 0.5]])


@pytest.fixture
def two():
    law = GaussianClasses(
        [[0.0, 0.0], [1.5, -0.5]], [SHARED, np.diag([0.5, 2.0])], [0.3, 0.7], classes=[-1, 1]
    )
    return law.sample(300, random_state=4)


def moments(X, y):
    classes = np.unique(y)
    shares = np.array([(y == k).mean() for k in classes])
    means = np.array([X[y == k].mean(0) for k in classes])
    within = sum(share * np.cov(X[y == k].T, bias=True) for share, k in zip(shares, classes, strict=True))
    centred = means - shares @ means
    return shares, means, within, (shares[:, None] * centred).T @ centred


@pytest.mark.spec("sangnier/T-1.1.3-a", "sangnier/M-1.1.3-a")
def test_no_direction_beats_the_axis_and_its_quotient_is_the_closed_form(two):
    X, y = two
    shares, means, within, between = moments(X, y)
    model = FisherDiscriminant().fit(X, y)
    w = model.components_[0]
    step = means[1] - means[0]
    direction = np.linalg.solve(within, step)
    assert_allclose(w / np.linalg.norm(w), direction / np.linalg.norm(direction))  # and c > 0
    delta2 = step @ direction
    assert_allclose(model.eigenvalues_, [shares.prod() * delta2])
    projected = model.transform(X)[:, 0]
    assert_allclose(projected, X @ w)
    variance = [projected[y == k].var() for k in (-1, 1)]
    centers = np.array([projected[y == k].mean() for k in (-1, 1)])
    quotient = shares @ (centers - shares @ centers) ** 2 / (shares @ variance)
    assert_allclose(quotient, model.eigenvalues_[0])
    assert centers[1] > centers[0]
    random = np.random.default_rng(0).normal(size=(2, 5000))
    top, bottom = between @ random, within @ random
    quotients = np.sum(random * top, axis=0) / np.sum(random * bottom, axis=0)
    assert_allclose(model.rayleigh_quotient(random), quotients)
    assert quotients.max() <= model.eigenvalues_[0] * (1 + 1e-12)
    assert quotients.max() > 0.99 * model.eigenvalues_[0]  # the trial directions come close


@pytest.mark.spec("sangnier/T-1.1.3-b")
def test_the_direction_is_that_of_linear_discriminant_analysis(two):
    X, y = two
    w = FisherDiscriminant().fit(X, y).components_[0]
    v = LinearDiscriminantAnalysis(covariance="within").fit(X, y).coef_[0]
    assert_allclose(w @ v / np.linalg.norm(w) / np.linalg.norm(v), 1.0)


@pytest.mark.spec("sangnier/M-1.1.5-a", "sangnier/T-1.1.5-a")
def test_many_classes_solve_the_generalised_eigenproblem():
    X, y = iris(return_X_y=True)
    shares, _, within, between = moments(X, y)
    model = FisherDiscriminant().fit(X, y)
    values = eigh(between, within, eigvals_only=True)[::-1]
    assert_allclose(model.eigenvalues_, values[:2])
    assert_allclose(values[2:], 0.0, atol=1e-12)
    assert model.rank_ == np.linalg.matrix_rank(between) == 2
    P = model.components_
    assert_allclose(between @ P.T, within @ P.T * model.eigenvalues_, atol=1e-10)
    assert_allclose(P @ within @ P.T, np.eye(2), atol=1e-10)
    assert_allclose(model.explained_variance_ratio_, values[:2] / values[:2].sum())
    unit = FisherDiscriminant(scaling="l2").fit(X, y)
    assert_allclose(np.linalg.norm(unit.components_, axis=1), 1.0)
    for fitted in (model, unit):
        Z = X @ fitted.components_.T
        centers = np.array([Z[y == k].mean(0) for k in range(3)])
        nearest = np.linalg.norm(Z[:, None] - centers, axis=2).argmin(axis=1)
        assert np.array_equal(fitted.predict(X), nearest)
    assert shares.size == 3


@pytest.mark.spec("sangnier/M-1.1.5-a")
def test_axes_and_posteriors_are_those_of_fda_in_r():
    X, y = iris(return_X_y=True)
    rows, numbers = np.array(R_NUMBERS["rows"]) - 1, R_NUMBERS["fda"]
    fisher, linear = FisherDiscriminant().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(100 * np.cumsum(fisher.explained_variance_ratio_), numbers["explained"])
    # R gives λ/(1 + λ): the variance between the classes over that of all rows.
    assert_allclose(fisher.eigenvalues_ / (1 + fisher.eigenvalues_), numbers["correlations"])
    variates = np.array(numbers["variates"])
    for found in (fisher.transform(X) - fisher.transform(X).mean(axis=0), linear.transform(X)):
        signs = np.sign(found[rows[0]] * variates[0])
        assert_allclose(found[rows] * signs, variates, atol=1e-9)
    assert_allclose(linear.predict_proba(X[rows]), numbers["posterior"], atol=1e-9)


@pytest.mark.spec("sangnier/M-1.1.5-a")
def test_unit_length_axes_are_not_the_bayes_rule():
    law = GaussianClasses([[0.0, 0.0], [10.0, 2.0], [-10.0, 2.0]], np.diag([100.0, 1.0]))
    X, y = law.sample(3000, random_state=0)
    within = FisherDiscriminant().fit(X, y)
    linear = LinearDiscriminantAnalysis(priors="uniform").fit(X, y)
    assert np.array_equal(within.predict(X), linear.predict(X))
    printed = FisherDiscriminant(scaling="l2").fit(X, y)
    assert printed.score(X, y) < within.score(X, y) - 0.1


def errors_of_cut(scores, y, b):
    return np.mean(np.where(scores + b > 0, 1, -1) != y)


@pytest.mark.spec("sangnier/M-1.1.3-b")
def test_the_cut_is_the_best_of_all_and_the_intervals_are_all_that_are_as_good():
    random = np.random.default_rng(1)
    for _ in range(40):
        scores = random.integers(0, 8, 12).astype(float)
        y = random.choice([-1, 1], 12)
        if len(np.unique(y)) < 2:
            continue
        best = optimal_threshold(scores, y)
        grid = np.concatenate([[-20.0], np.linspace(-10, 3, 521), [20.0]])
        errors = np.array([errors_of_cut(scores, y, b) for b in grid])
        assert_allclose(best.error, errors.min())
        assert_allclose(errors_of_cut(scores, y, best.intercept), best.error)
        inside = np.zeros(len(grid), dtype=bool)
        for low, high in best.intervals:
            inside |= (grid > low) & (grid <= high)
        # half-open: at −score the row itself is given to the first class
        assert np.array_equal(inside, errors <= errors.min() + 1e-12)


@pytest.mark.spec("sangnier/M-1.1.3-b")
def test_the_n_printed_cuts_miss_the_rule_that_gives_all_rows_to_the_second_class():
    scores, y = np.array([0.0, 1.0, 2.0]), np.array([1, 1, -1])
    printed = min(errors_of_cut(scores, y, -score) for score in scores)
    best = optimal_threshold(scores, y)
    assert best.error == pytest.approx(1 / 3)
    assert printed > best.error
    assert best.intervals[-1, 1] == np.inf
    assert (scores + best.intercept > 0).all()


@pytest.mark.spec("sangnier/M-1.1.3-b")
def test_both_rules_of_the_course(two):
    X, y = two
    centre = FisherDiscriminant().fit(X, y)
    h = centre.transform(X)[:, 0]
    middle = 0.5 * (h[y == -1].mean() + h[y == 1].mean())
    assert np.array_equal(centre.predict(X), np.where(h > middle, 1, -1))
    cut = FisherDiscriminant(rule="optimal_threshold").fit(X, y)
    tried = np.concatenate([-h - 1e-9, -h + 1e-9])
    assert_allclose(cut.threshold_error_, min(errors_of_cut(h, y, b) for b in tried))
    assert_allclose(np.mean(cut.predict(X) != y), cut.threshold_error_)
    assert cut.threshold_error_ <= np.mean(centre.predict(X) != y)
    with pytest.raises(ValueError, match="rule"):
        FisherDiscriminant(rule="optimal_threshold").fit(*iris(return_X_y=True))


@pytest.mark.spec("sangnier/M-1.1.5-a")
def test_any_classifier_may_stand_on_the_projected_rows():
    X, y = iris(return_X_y=True)
    model = FisherDiscriminant(final_classifier=TheirLogistic()).fit(X, y)
    again = TheirLogistic().fit(model.transform(X), y)
    assert np.array_equal(model.predict(X), again.predict(model.transform(X)))
    assert_allclose(model.predict_proba(X), again.predict_proba(model.transform(X)))
    assert model.certify(X, y).holds
    assert not hasattr(FisherDiscriminant(), "predict_proba")


def test_weights_of_a_cut_count_rows():
    scores, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([-1, 1, -1, 1])
    weighted = optimal_threshold(scores, y, [1, 3, 1, 1])
    repeated = optimal_threshold(np.repeat(scores, [1, 3, 1, 1]), np.repeat(y, [1, 3, 1, 1]))
    assert_allclose(weighted.error, repeated.error)
    assert_allclose(weighted.intervals, repeated.intervals)


def test_where_every_cut_is_as_good_all_rows_go_to_the_first_class():
    for scores in ([2.0, 2.0], [1.0, 1.0, 4.0, 4.0]):
        best = optimal_threshold(scores, np.resize([-1, 1], len(scores)))
        assert best.error == 0.5
        assert np.array_equal(best.intervals, [[-np.inf, np.inf]])
        assert (np.array(scores) + best.intercept <= 0).all()
    best = optimal_threshold([0.0, 1.0], [1, -1])  # all rows to one class, or all to the other
    assert np.array_equal(best.intervals, [[-np.inf, -1], [0, np.inf]])
    assert (np.array([0.0, 1.0]) + best.intercept <= 0).all()


def test_the_second_class_of_a_cut_may_be_named_where_one_class_alone_has_rows():
    scores = np.array([0.0, 1.0, 3.0])
    for label in (0, 1):
        best = optimal_threshold(scores, np.full(3, label), second_class=1)
        assert best.error == 0
        assert np.all((scores + best.intercept > 0) == label)


@pytest.mark.parametrize("kind", [FisherDiscriminant, KernelFisherDiscriminant])
@pytest.mark.parametrize("rule", ["nearest_center", "optimal_threshold"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_class_that_alone_has_weight_is_said_everywhere_and_the_certificates_hold(two, kind, rule, dtype):
    X, y = two[0][:60].astype(dtype), two[1][:60]
    for label in (-1, 1):
        weight = (y == label).astype(float)
        model = kind(rule=rule).fit(X, y, sample_weight=weight)
        assert np.all(model.predict(5 * X) == label)
        assert model.certificates_.holds
        assert model.certify(X, y, weight).holds
        if rule == "optimal_threshold":
            model.intercept_ = (1.01 if dtype == np.float64 else 1.1) * model.intercept_
            assert not model.certify(X, y, weight).holds


def test_classes_of_one_mean_are_cut_where_the_larger_one_wins():
    X = np.tile([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], (3, 1))
    y = np.repeat(["a", "b"], [4, 8])
    model = FisherDiscriminant(rule="optimal_threshold").fit(X, y)
    assert np.all(model.predict(X) == "b")
    assert model.threshold_error_ == pytest.approx(1 / 3)
    assert model.certify(X, y).holds
    assert np.all(model.fit(X, np.repeat(["a", "b"], [8, 4])).predict(X) == "a")


def test_fewer_rows_than_columns_are_told_with_a_way_out():
    X, y = np.random.default_rng(0).normal(size=(8, 20)), np.arange(8) % 2
    for kind in (FisherDiscriminant, LinearDiscriminantAnalysis):
        proof = kind().fit(X, y).certificates_.named("difference of means left out, relative")
        assert not proof.holds
        assert "shrinkage='auto'" in proof.claim
    assert LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y).certificates_.holds
