"""Classes as in scikit-learn: one whose rows weigh nothing is one, and a tie goes to the first."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model, svm
from sklearn.base import is_classifier
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from assay.linear import LinearSVC, LogisticRegression, Perceptron
from estimators import estimator_classes, variants
from samples import prepared

CLASSIFIERS = [kind for kind in estimator_classes() if is_classifier(kind())]
CLASSIFIERS_WITH_OPTIONS = [model for kind in CLASSIFIERS for model in (kind(), *variants(kind))]
each_classifier = pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)


@pytest.fixture
def rare():
    """57 rows of one class and 3 of another."""
    random = np.random.default_rng(0)
    y = np.repeat(["common", "rare"], [57, 3])
    return random.normal(size=(60, 3)) + (y == "rare")[:, None], y


@pytest.fixture
def three():
    random = np.random.default_rng(1)
    y = np.arange(90) % 3
    return random.normal(size=(90, 3)) + 0.5 * np.eye(3)[y], y


@each_classifier
def test_an_ensemble_draws_no_row_of_a_rare_class(kind, rare):
    X, y = rare
    for seed in range(5):  # of which three draw none for some member
        model = BaggingClassifier(prepared(kind()), n_estimators=10, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert all(np.array_equal(each.classes_, [0, 1]) for each in model.estimators_)
        assert np.mean(model.predict(X) == "common") > 0.8


@each_classifier
@pytest.mark.parametrize("label", ["common", "rare"])
def test_where_one_class_alone_weighs_every_such_row_is_said_to_be_of_it(kind, label, rare):
    X, y = rare
    weight = (y == label).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = prepared(kind()).fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == ["common", "rare"]
    assert np.all(model.predict(X[weight > 0]) == label)


@each_classifier
def test_a_class_of_weight_zero_is_never_said_and_leaves_the_others_their_boundary(kind, three):
    if not get_tags(kind()).classifier_tags.multi_class:
        pytest.skip("a method of two classes")
    X, y = three
    X = X + 2 * (y[:, None] == 1)  # a plane separates what is left, for those who need one
    weight = (y != 2).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = prepared(kind()).fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == [0, 1, 2]
    if hasattr(model, "coef_"):
        assert model.coef_.shape == (3, 3)
    assert np.mean(model.predict(X[weight > 0]) == y[weight > 0]) > 0.9
    assert np.isin(model.predict(X[weight > 0]), [0, 1]).all()


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_logistic_coefficients_are_those_of_scikit_learn(three, class_weight):
    X, y = three
    weight = np.where(y == 2, 0.0, 1.0 + (y == 1))
    ours = LogisticRegression(class_weight=class_weight).fit(X, y, sample_weight=weight)
    theirs = linear_model.LogisticRegression(tol=1e-8, max_iter=1000)
    factors = ours.class_weight_[y]
    theirs.fit(X, y, sample_weight=weight * factors)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert ours.certificates_.holds
    assert ours.certify(X, y, weight).holds


def test_the_other_classes_of_an_unpenalised_fit_are_those_of_a_fit_without_the_class(three):
    X, y = three
    weight, left = (y != 2).astype(float), y != 2
    whole = LogisticRegression(C=np.inf).fit(X, y, sample_weight=weight)
    part = LogisticRegression(C=np.inf).fit(X[left], y[left])
    assert_allclose(whole.coef_[1] - whole.coef_[0], part.coef_[0], rtol=1e-5)
    assert whole.predict_proba(X)[:, 2].max() < 1e-9


def test_the_scores_of_machines_are_those_of_a_fit_without_the_rows(three):
    X, y = three
    weight, left = (y != 2).astype(float), y != 2
    whole = LinearSVC().fit(X, y, sample_weight=weight)
    part = LinearSVC().fit(X[left], y[left])
    assert_allclose(whole.coef_[1], part.coef_[0], rtol=1e-6)
    assert_allclose(whole.coef_[2], 0, atol=1e-6)
    assert_allclose(whole.intercept_[2], -1, rtol=1e-6)


@each_classifier
def test_one_label_alone_is_refused(kind, rare):
    X, _ = rare
    with pytest.raises(ValueError, match="needs rows of at least two classes"):
        kind().fit(X, np.zeros(len(X)))


def test_labels_of_two_kinds_are_refused(rare):
    X, _ = rare
    with pytest.raises(ValueError, match=r"y must hold labels of one kind: all text or all numbers\.$"):
        Perceptron().fit(X, np.array(["yes", 1] * 30, dtype=object))


TIED = [
    *CLASSIFIERS_WITH_OPTIONS,
    linear_model.LogisticRegression(),
    svm.LinearSVC(),
    linear_model.SGDClassifier(loss="log_loss"),
]


OF_TWO_CLASSES = {
    "AdaBoostClassifier": {"logistic", "discrete"},
    "GradientBoostingClassifier": {"exponential", "correlation"},
    "HistGradientBoostingClassifier": {"exponential"},
}
"""Options that are for two classes only."""


def without_intercept(model):
    model = prepared(model)
    return model.set_params(fit_intercept=False) if "fit_intercept" in model.get_params() else model


@pytest.mark.parametrize("model", TIED, ids=repr)
@pytest.mark.parametrize("k", [2, 3])
def test_a_tie_goes_to_the_first_class(model, k):
    """Classes in equal numbers on rows that tell them apart by nothing: every score is exactly the same."""
    X, y = np.zeros((24, 2)), np.repeat(["a", "b", "c"][:k], 24 // k)
    model = without_intercept(model)
    if model.get_params().get("bootstrap"):
        pytest.skip("bags are drawn at random and hold the classes in unequal numbers")
    of_two = not get_tags(model).classifier_tags.multi_class
    options = set(map(str, model.get_params().values()))
    if k > 2 and (of_two or options & OF_TWO_CLASSES.get(type(model).__name__, set())):
        pytest.skip("a method or a loss of two classes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert np.all(model.predict(X) == "a")
    if hasattr(model, "predict_proba"):
        assert_allclose(model.predict_proba(X), 1 / k)
    if not hasattr(model, "coef_"):
        return
    assert np.all(model.decision_function(X) == 0)
    moved = X[:1] + 1
    model.coef_ = np.zeros_like(model.coef_)
    model.coef_[-1] = 1e-9  # the least that is above a tie decides
    assert model.predict(moved) == "abc"[k - 1]


@pytest.mark.parametrize("model", CLASSIFIERS_WITH_OPTIONS, ids=repr)
def test_the_errors_that_a_classifier_reports_are_those_of_its_predictions_even_at_ties(model):
    """Half of the rows have a score of exactly 0, more of them of the first class."""
    random = np.random.default_rng(4)
    X = np.vstack([np.zeros((40, 2)), random.normal(size=(40, 2))])
    y = np.where(np.arange(80) < 40, np.arange(80) % 4 == 0, X[:, 0] + random.normal(size=80) > 0)
    model = without_intercept(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    factors = getattr(model, "class_weight_", np.ones(2))
    error = np.average(model.predict(X) != y, weights=factors[y.astype(int)])
    assert np.all(model.predict(np.zeros((1, 2))) == False)  # noqa: E712
    seen = [item for item in model.certify(X, y) if item.quantity == "training error"]
    for item in seen:
        assert item.value == pytest.approx(error)
    assert seen or not hasattr(model, "training_error_")
    if hasattr(model, "training_error_"):
        assert model.training_error_ == pytest.approx(error)


@pytest.mark.parametrize("options", [{}, {"reference_class": "a"}], ids=repr)
def test_the_training_error_of_several_classes_that_tie_is_that_of_the_first(options):
    X, y = np.zeros((30, 2)), np.repeat(["a", "b", "c"], [6, 12, 12])
    model = LogisticRegression(fit_intercept=False, **options).fit(X, y)
    assert model.training_error_ == pytest.approx(0.8)
    assert model.score(X, y) == pytest.approx(0.2)
