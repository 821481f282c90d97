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
from samples import prepared, suited

CLASSIFIERS = [kind for kind in estimator_classes() if is_classifier(kind())]
CLASSIFIERS_WITH_OPTIONS = [model for kind in CLASSIFIERS for model in (kind(), *variants(kind))]
each_classifier = pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)

CHANCE = {"RandomClassifier"}
"""Methods whose answers do not depend on the row: there is no boundary, and nothing is tied."""

NEAREST_CENTER = {
    "FisherDiscriminant",
    "KernelFisherDiscriminant",
    "KernelNearestCentroid",
    "NearestCentroid",
}
"""Methods whose rule is the nearest centre, whatever the shares of the classes."""


SUMS_OF_KERNELS = {"KernelLogisticRegression"}
"""Methods whose scores are sums over all rows, which rounds differently in each class."""

NO_OVERLAP = {"HardMarginSVC", "NuSVC"}
"""Methods that refuse rows which are alike and of several classes."""

OF_SHARES = {"NuSVC"}
"""Methods that are told a share which every class must be able to give: one without weight gives none."""

OF_COVARIANCES = {"FisherDiscriminant", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"}
"""Methods that divide by a covariance within the classes, and refuse rows that have none."""

LAST_OF_TIES = {("ties", "last"), ("ties", "positive")}
"""Options that say another rule for ties on purpose: the last class."""

each_classifier_of_any_shares = pytest.mark.parametrize(
    "kind", [kind for kind in CLASSIFIERS if kind.__name__ not in OF_SHARES], ids=lambda kind: kind.__name__
)


def options_of(model):
    """The constructor's arguments, by name, with text for what they are."""
    return {(name, str(value)) for name, value in model.get_params(deep=False).items()}


def equal_shares(model):
    """Whether a rule takes the classes as equally frequent, whatever the rows say."""
    return type(model).__name__ in NEAREST_CENTER or ("priors", "uniform") in options_of(model)


def adapted(model, **values):
    """A copy with a fixed seed, and those of some values that it has parameters for."""
    model = prepared(model)
    return model.set_params(**{name: values[name] for name in values.keys() & model.get_params().keys()})


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


@pytest.mark.parametrize("kind", [kind for kind in CLASSIFIERS if kind.__name__ in OF_SHARES])
def test_a_share_that_a_class_without_weight_cannot_give_is_refused(kind, rare):
    X, y = rare
    with pytest.raises(
        ValueError, match="at most twice the share of the smaller of any two classes, which is 0"
    ):
        kind().fit(X, y, sample_weight=(y == "common").astype(float))


@each_classifier_of_any_shares
def test_an_ensemble_draws_no_row_of_a_rare_class(kind, rare):
    X, y = rare
    if kind.__name__ in NEAREST_CENTER:  # they do not see that a class is rare: its centre must be far
        X = X + 2 * (y == "rare")[:, None]
    X = suited(kind(), X)
    # At most three different rows have no density in three columns by themselves: the others lend theirs.
    # Levels that a bag does not draw are levels all the same.
    each = adapted(kind(), towards_linear=0.5, min_categories=6)
    for seed in range(5):  # of which three draw none for some member
        model = BaggingClassifier(each, n_estimators=10, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert all(np.array_equal(each.classes_, [0, 1]) for each in model.estimators_)
        assert kind.__name__ in CHANCE or np.mean(model.predict(X) == "common") > 0.8


@each_classifier_of_any_shares
@pytest.mark.parametrize("label", ["common", "rare"])
def test_where_one_class_alone_weighs_every_such_row_is_said_to_be_of_it(kind, label, rare):
    X, y = suited(kind(), rare[0]), rare[1]
    weight = (y == label).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # No more neighbours than there are rows of the rare class.
        model = adapted(kind(), n_neighbors=3).fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == ["common", "rare"]
    assert np.all(model.predict(X[weight > 0]) == label)


@each_classifier_of_any_shares
def test_a_class_of_weight_zero_is_never_said_and_leaves_the_others_their_boundary(kind, three):
    if not get_tags(kind()).classifier_tags.multi_class:
        pytest.skip("a method of two classes")
    X, y = three
    # Counts of words tell by their shares, which a shift of all columns alike leaves as they are.
    shift = np.array([2, -2, -2]) if kind.__name__ == "MultinomialNB" else 2
    # A plane separates what is left, for those who need one.
    X = suited(kind(), X + shift * (y[:, None] == 1))
    weight = (y != 2).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Marks are cut where the classes are apart, and balls are smaller than their distance.
        balls = {"radius": 0.3} if "Neighbors" in kind.__name__ else {}
        model = adapted(kind(), binarize=1.0, **balls).fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == [0, 1, 2]
    if hasattr(model, "coef_"):
        assert model.coef_.shape == (3, 3)
    assert kind.__name__ in CHANCE or np.mean(model.predict(X[weight > 0]) == y[weight > 0]) > 0.9
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


@pytest.mark.parametrize("seed", range(12))
def test_what_rounding_leaves_of_an_absent_class_raises_no_alarm(seed):
    """Its slopes add up to zero but for rounding, whose sign no proof may depend on."""
    y = np.arange(90) % 3
    X, weight = np.random.default_rng(seed).normal(size=(90, 3)), np.where(y == 2, 0.0, 1.0 + (y == 1))
    assert LogisticRegression().fit(X, y, sample_weight=weight).certificates_.holds


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
    "FisherDiscriminant": {"optimal_threshold"},
    "GradientBoostingClassifier": {"exponential", "correlation"},
    "HistGradientBoostingClassifier": {"exponential"},
    "KernelLogisticRegression": {"l1"},
}
"""Options that are for two classes only."""


def needs_spread(model):
    """Whether a method is for rows that vary within their class."""
    return type(model).__name__ in OF_COVARIANCES or (
        type(model).__name__ == "KernelFisherDiscriminant" and ("kernel", "linear") in options_of(model)
    )


def without_intercept(model):
    model = prepared(model)
    return model.set_params(fit_intercept=False) if "fit_intercept" in model.get_params() else model


@pytest.mark.parametrize("model", TIED, ids=repr)
@pytest.mark.parametrize("k", [2, 3])
def test_a_tie_goes_to_the_first_class(model, k):
    """Classes in equal numbers on rows that tell them apart by nothing: every score is exactly the same."""
    X, y = np.zeros((24, 2)), np.repeat(["a", "b", "c"][:k], 24 // k)
    if needs_spread(model):
        X = np.tile([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], (6, 1))  # the same in each class
    model = without_intercept(model)
    if type(model).__name__ in SUMS_OF_KERNELS:
        model.set_params(kernel="linear")  # 0 between these rows: sums of other kernels are not the same
    if "n_neighbors" in model.get_params():
        model.set_params(n_neighbors=24)  # the nearest few of rows that are all alike are those of one class
    if model.get_params().get("bootstrap"):
        pytest.skip("bags are drawn at random and hold the classes in unequal numbers")
    if type(model).__name__ in CHANCE:
        pytest.skip("an answer by chance is no tie")
    if type(model).__name__ in NO_OVERLAP:
        pytest.skip("rows that are alike and of several classes are refused")
    of_two = not get_tags(model).classifier_tags.multi_class
    options = set(map(str, model.get_params().values()))
    if k > 2 and (of_two or options & OF_TWO_CLASSES.get(type(model).__name__, set())):
        pytest.skip("a method or a loss of two classes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert np.all(model.predict(X) == ("abc"[k - 1] if options_of(model) & LAST_OF_TIES else "a"))
    if hasattr(model, "predict_proba"):
        assert_allclose(model.predict_proba(X), 1 / k)
    if not hasattr(model, "coef_") or ("rule", "optimal_threshold") in options_of(model):
        return  # a best cut is beyond all scores, not at a tie
    if isinstance(getattr(type(model), "coef_", None), property):
        return  # coefficients that are read off others, and scores that are numbers of votes
    scores = model.decision_function(X)
    if k > 2 and type(model).__name__ == "LinearDiscriminantAnalysis":
        scores = scores - np.log(model.priors_)  # where log-posteriors begin
    assert np.all(scores == 0)
    moved = X[:1] + 1
    model.coef_ = np.zeros_like(model.coef_)
    model.coef_[-1] = 1e-9  # the least that is above a tie decides
    assert model.predict(moved) == "abc"[k - 1]


@pytest.mark.parametrize("model", [each for each in CLASSIFIERS_WITH_OPTIONS if needs_spread(each)], ids=repr)
def test_rows_that_are_all_alike_are_refused_where_a_spread_is_divided_by(model):
    X, y = np.zeros((24, 2)), np.repeat(["a", "b"], 12)
    with pytest.raises(ValueError, match=r"needs a column that varies|The kernel is zero"):
        prepared(model).fit(X, y)


@pytest.mark.parametrize("model", CLASSIFIERS_WITH_OPTIONS, ids=repr)
def test_the_errors_that_a_classifier_reports_are_those_of_its_predictions_even_at_ties(model):
    """Half of the rows have a score of exactly 0, more of them of the first class."""
    random = np.random.default_rng(4)
    X = np.vstack([np.zeros((40, 2)), random.normal(size=(40, 2))])
    # Where shares do not count, the first class is to be the nearer one.
    middle = 0.7 if equal_shares(model) else 0.0
    y = np.where(np.arange(80) < 40, np.arange(80) % 4 == 0, X[:, 0] + random.normal(size=80) > middle)
    if type(model).__name__ in NO_OVERLAP:
        pytest.skip("rows that are alike and of several classes are refused")
    X = suited(model, X)
    model = without_intercept(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    factors = getattr(model, "class_weight_", np.ones(2))
    error = np.average(model.predict(X) != y, weights=factors[y.astype(int)])
    if type(model).__name__ not in CHANCE:
        assert np.all(model.predict(suited(model, np.zeros((1, 2)))) == False)  # noqa: E712
    seen = [item for item in model.certify(X, y) if item.quantity == "training error"]
    for item in seen:
        assert item.value == pytest.approx(error)
    assert seen or not hasattr(model, "training_error_")
    for name in ("training_error_", "threshold_error_"):
        if hasattr(model, name):
            assert getattr(model, name) == pytest.approx(error)


@pytest.mark.parametrize("options", [{}, {"reference_class": "a"}], ids=repr)
def test_the_training_error_of_several_classes_that_tie_is_that_of_the_first(options):
    X, y = np.zeros((30, 2)), np.repeat(["a", "b", "c"], [6, 12, 12])
    model = LogisticRegression(fit_intercept=False, **options).fit(X, y)
    assert model.training_error_ == pytest.approx(0.8)
    assert model.score(X, y) == pytest.approx(0.2)
