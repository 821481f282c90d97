"""Gradient boosting with any learner: Algorithm 3 by hand, closed forms, rates, other libraries."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.ensemble import GradientBoostingClassifier as TheirClassifier
from sklearn.ensemble import GradientBoostingRegressor as TheirRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from assay.losses import Absolute, Exponential, Logistic, Poisson, Squared
from assay.trees import (
    AdaBoostClassifier,
    DecisionStump,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StagewiseAdditive,
)
from assay.trees.stagewise.engine import Direction, State
from assay.trees.stagewise.steps import bounded_step, falling_step, median_step, newton_step, squared_step


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.3, random_state=1)


def risk(loss, y, f):
    return float(np.mean(loss.value(y, f)))


def best_step(loss, y, f, g):
    return minimize_scalar(lambda w: risk(loss, y, f + w * g), bracket=(0.0, 1.0), tol=1e-12).x


@pytest.mark.spec("sangnier/M-1.3.3-b")
@pytest.mark.parametrize(
    ("loss", "name"),
    [(Squared(), "squared_error"), (Absolute(), "absolute_error")],
    ids=["squared", "absolute"],
)
def test_algorithm_three_by_hand_on_numbers(patients, loss, name):
    X, y = patients
    X, y = X[:80], y[:80]
    model = GradientBoostingRegressor(
        loss=name, n_estimators=6, learning_rate=0.5, line_search="global", max_depth=2
    ).fit(X, y)
    f = np.full(80, y.mean() if name == "squared_error" else np.median(y))
    assert_allclose(model.init_score_, f[0])
    for t in range(6):
        r = -loss.gradient(y, f)
        assert_allclose(r, y - f if name == "squared_error" else np.sign(y - f))
        g = DecisionTreeRegressor(max_depth=2).fit(X, r).predict(X)
        assert_allclose(g, model.estimators_[t, 0].predict(X), atol=1e-9)
        step = best_step(loss, y, f, g)
        taken = model.steps_[t] / 0.5
        assert risk(loss, y, f + taken * g) <= risk(loss, y, f + step * g) + 1e-9
        assert_allclose(model.history_.edge[t], 1 - np.sum((r - g) ** 2) / np.sum(r**2), atol=1e-9)
        f = f + model.steps_[t] * g
        assert_allclose(model.history_.risk[t + 1], risk(loss, y, f))
    assert_allclose(model.predict(X), f)


@pytest.mark.spec("sangnier/M-1.3.3-b")
@pytest.mark.parametrize("name", ["exponential", "log_loss"])
def test_algorithm_three_by_hand_on_classes(moons, name):
    X, y = moons
    label = 2.0 * y - 1
    loss = Exponential() if name == "exponential" else Logistic()
    model = GradientBoostingClassifier(
        loss=name, n_estimators=5, learning_rate=0.3, line_search="global", max_depth=2
    ).fit(X[:100], y[:100])
    X, y, label = X[:100], y[:100], label[:100]
    odds = np.log(y.sum() / (100 - y.sum()))
    f = np.full(100, odds / 2 if name == "exponential" else odds)
    assert_allclose(model.init_score_, f[0], atol=1e-12)
    for t in range(5):
        r = -loss.gradient(label, f)
        g = DecisionTreeRegressor(max_depth=2).fit(X, r).predict(X)
        assert_allclose(model.steps_[t], 0.3 * best_step(loss, label, f, g), rtol=1e-5)
        f = f + model.steps_[t] * g
    assert_allclose(model.decision_function(X), f, rtol=1e-6)
    sharp = 2 if name == "exponential" else 1
    assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-sharp * f)), rtol=1e-6)


def test_line_searches_find_the_minimum_of_random_problems():
    random = np.random.default_rng(0)
    for _ in range(30):
        y, f, g = random.normal(size=(3, 25))
        weight = random.integers(1, 4, 25).astype(float)
        for loss, search in ((Squared(), squared_step), (Absolute(), median_step)):
            state = State(loss, y, weight, f)

            def along(w, loss=loss, y=y, f=f, g=g, weight=weight):
                return float(np.sum(weight * loss.value(y, f + w * g)))

            step = search(state, Direction(None, g))
            assert all(along(step) <= along(step + change) + 1e-12 for change in (-0.1, -1e-4, 1e-4, 0.1))
        label = np.sign(y)
        for loss in (Exponential(), Logistic()):
            state = State(loss, label, weight, f)
            step = newton_step(state, Direction(None, g))
            slope = np.sum(weight * loss.gradient(label, f + step * g) * g)
            assert abs(slope) < 1e-9 * np.sum(weight * np.abs(g))
    endless = Direction(None, np.ones(3))
    assert newton_step(State(Logistic(), np.ones(3), np.ones(3), np.zeros(3)), endless) == np.inf
    assert np.isfinite(bounded_step(State(Logistic(), np.ones(3), np.ones(3), np.zeros(3)), endless))


@pytest.mark.spec("sangnier/X-Ex1.3.1")
def test_squares_fit_residuals_with_steps_of_one(patients):
    X, y = patients
    model = GradientBoostingRegressor(n_estimators=5, learning_rate=1.0, line_search="global").fit(X, y)
    assert_allclose(model.steps_, 1.0, rtol=1e-9)
    residual = y - y.mean()
    for member in model.estimators_[:, 0]:
        assert_allclose(
            DecisionTreeRegressor(max_depth=3).fit(X, residual).predict(X), member.predict(X), atol=1e-8
        )
        residual = residual - member.predict(X)


@pytest.mark.spec("sangnier/T-1.3.3-b")
def test_the_squared_risk_is_the_product_of_the_edges_and_other_losses_have_no_rate(patients, moons):
    X, y = patients
    model = GradientBoostingRegressor(n_estimators=8, learning_rate=1.0, max_depth=2).fit(X, y)
    f, edges = np.full(len(y), y.mean()), []
    for member in model.estimators_[:, 0]:
        g = member.predict(X)
        edges.append(1 - np.sum((y - f - g) ** 2) / np.sum((y - f) ** 2))
        f = f + g
    assert_allclose(model.history_.edge, edges, rtol=1e-7)
    assert_allclose(model.rate_bound()[-1], np.mean((y - f) ** 2) / 2, rtol=1e-8)
    assert_allclose(
        model.rate_bound()[0] * np.cumprod(1 - np.array(edges)), model.rate_bound()[1:], rtol=1e-7
    )
    # Theorem 18 at the least edge, whose printed 2I is twice the smoothness L: μ = L = 1 for each row here.
    squared, rounds = Squared(), np.arange(9)
    rate = min(edges) * squared.strong_convexity / (2 * squared.smoothness)
    assert_allclose(rate, min(edges) / 2)
    assert np.all(model.history_.risk <= (1 - rate) ** rounds * model.history_.risk[0] * (1 + 1e-12))
    for loss in ("log_loss", "exponential"):
        classifier = GradientBoostingClassifier(loss=loss, n_estimators=2).fit(*moons)
        with pytest.raises(ValueError, match="strongly convex and smooth"):
            classifier.rate_bound()


def test_a_skipped_round_is_seen(patients):
    X, y = patients
    model = GradientBoostingRegressor(n_estimators=6, learning_rate=1.0).fit(X, y)
    assert model.certify(X, y).holds
    damaged = copy.deepcopy(model)
    damaged.estimators_ = np.delete(damaged.estimators_, 2, axis=0)
    damaged.steps_ = np.delete(damaged.steps_, 2)
    quantities = {item.quantity for item in damaged.certify(X, y).failed}
    assert "relative deviation from the product" in quantities
    assert "relative deviation of the risk" in quantities


@pytest.mark.spec("sangnier/M-1.3.3-c")
def test_the_correlated_direction_of_the_exponential_loss_is_adaboost(moons):
    X, y = moons
    boosted = GradientBoostingClassifier(
        loss="exponential", direction="correlation", init="zero", learning_rate=1.0, n_estimators=15
    ).fit(X, y)
    adaboost = AdaBoostClassifier(DecisionStump(), n_estimators=15).fit(X, y)
    assert_allclose(boosted.steps_, adaboost.history_.step, rtol=1e-9)
    assert_allclose(boosted.decision_function(X), adaboost.decision_function(X), rtol=1e-8)
    assert boosted.certify(X, y).holds


@pytest.mark.spec("sangnier/M-1.3.3-b")
@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), Ridge(1.0), KernelRidge(kernel="rbf"), DecisionTreeRegressor(max_depth=1)],
)
def test_any_regressor_is_a_learner(patients, estimator):
    X, y = patients
    X, y = X[:100], y[:100]
    model = GradientBoostingRegressor(estimator=estimator, n_estimators=15, learning_rate=0.5).fit(X, y)
    assert model.certify(X, y).holds
    assert model.history_.risk[-1] < model.history_.risk[0]
    if isinstance(estimator, LinearRegression):  # halves what is left each time: ends at least squares
        exact = LinearRegression().fit(X, y).predict(X)
        assert_allclose(model.predict(X), exact, atol=0.51**15 * np.abs(y).max())


def test_leaves_with_steps_of_their_own_are_those_of_scikit_learn(patients):
    X, y = patients
    options = {"n_estimators": 10, "learning_rate": 0.2, "max_depth": 2}
    ours = GradientBoostingRegressor(**options).fit(X, y)
    theirs = TheirRegressor(**options, random_state=0).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    for loss in ("log_loss", "exponential"):
        vote = GradientBoostingClassifier(loss=loss, **options).fit(X, y > 150)
        other = TheirClassifier(loss=loss, **options, random_state=0).fit(X, y > 150)
        assert_allclose(vote.decision_function(X), other.decision_function(X), rtol=1e-6)


def test_any_convex_loss_is_taken_and_others_are_refused(patients):
    X, y = patients
    counts = np.round(y / 50)
    model = GradientBoostingRegressor(loss=Poisson(), n_estimators=10).fit(X, counts)
    assert model.certify(X, counts).holds
    assert np.all(np.diff(model.history_.risk) < 0)
    with pytest.raises(ValueError, match="'loss' parameter"):
        GradientBoostingRegressor(loss="nice").fit(X, y)
    from assay.losses import Savage

    with pytest.raises(ValueError, match="convex"):
        GradientBoostingClassifier(loss=Savage()).fit(X, y > 150)


@pytest.mark.spec("sangnier/P-1.3.3", "sangnier/X-1.3.3")
def test_shrinkage_and_rounds_regularise_together(patients):
    X, y = patients
    train, test = slice(0, 300), slice(300, None)
    model = GradientBoostingRegressor(n_estimators=60, max_depth=2)
    path = model.path(X[train], y[train], (0.05, 0.3, 1.0))
    risks = path.risks(X[test], y[test])
    training = path.risks(X[train], y[train])
    assert risks.shape == (3, 60)
    assert np.all(np.diff(training, axis=1) <= 1e-9)
    best = risks.argmin(axis=1)
    assert best[0] > best[1] >= best[2]  # small steps need many rounds
    assert risks[2, -1] > 1.2 * risks[2].min()  # large ones overfit
    assert risks[0].min() < risks[2].min()
    # Not the best sum of its learners: weights fitted together do better on the training rows.
    features = np.column_stack([member.predict(X[train]) for member in path.models[1].estimators_[:10, 0]])
    together = LinearRegression().fit(features, y[train])
    assert np.mean((together.predict(features) - y[train]) ** 2) / 2 < training[1, 9] * (1 - 1e-6)


def test_rounds_are_chosen_by_folds_or_a_split(patients):
    X, y = patients
    model = GradientBoostingRegressor(n_estimators=40, learning_rate=0.3, max_depth=2)
    chosen = model.select(X, y, cv=3)
    assert 1 <= chosen.best < 40
    assert len(chosen.model.steps_) == chosen.best
    assert chosen.best == 1 + int(np.argmin(chosen.curve))
    assert model.select(X, y, cv="split", rule="one_se").best <= 40
    X, y = make_moons(150, noise=0.3, random_state=0)
    vote = AdaBoostClassifier(n_estimators=30).select(X, y, cv=3)
    assert vote.model.n_estimators == vote.best


def test_a_fall_of_the_held_out_risk_counts_from_tol_on(patients):
    """Nothing but the first round falls by more than a million: four more rounds without progress end it."""
    X, y = patients
    options = {"n_estimators": 40, "n_iter_no_change": 4, "random_state": 0}
    assert len(GradientBoostingRegressor(tol=1e6, **options).fit(X, y).steps_) == 5
    strict, loose = (GradientBoostingRegressor(tol=tol, **options).fit(X, y) for tol in (20.0, 0.0))
    assert 5 < len(strict.steps_) < len(loose.steps_)


def test_rows_held_out_stop_the_rounds(patients):
    X, y = patients
    model = GradientBoostingRegressor(n_estimators=100, n_iter_no_change=3, random_state=0, learning_rate=0.5)
    model.fit(X, y)
    assert model.n_estimators_ < 60
    assert model.certify(X, y).holds


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_estimators": 0}, "'n_estimators' parameter .* at least 1"),
        ({"learning_rate": 1.2}, "'learning_rate' parameter .* at most 1"),
        ({"estimator": Ridge(), "line_search": "leaf"}, "'line_search' parameter .* no regression trees"),
        ({"n_iter_no_change": 1, "validation_fraction": 0.9}, "'validation_fraction' parameter"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(patients, options, sentence):
    X, y = patients
    rows = slice(0, 9) if "validation_fraction" in options else slice(None)
    with pytest.raises(ValueError, match=sentence):
        GradientBoostingRegressor(**options).fit(X[rows], y[rows])


def test_learners_without_weights_take_whole_ones(patients):
    X, y = patients
    learner = GradientBoostingRegressor(estimator=KNeighborsRegressor(20), n_estimators=3)
    weight = np.tile([1.0, 2.0], 221)
    assert np.isfinite(learner.fit(X, y, weight).predict(X)).all()
    with pytest.raises(ValueError, match="whole numbers"):
        learner.fit(X, y, weight / 3)


# More than two classes.


def test_leaves_of_three_classes_are_those_of_scikit_learn(flowers):
    X, y = flowers
    y = np.array(["a", "b", "c"])[y]
    options = {"n_estimators": 8, "learning_rate": 0.3, "max_depth": 2, "min_samples_leaf": 5}
    ours = GradientBoostingClassifier(**options).fit(X, y)
    theirs = TheirClassifier(**options, random_state=0).fit(X, y)
    shares = ours.predict_proba(X)
    assert_allclose(shares, theirs.predict_proba(X), atol=1e-7)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert list(ours.predict(X)) == list(ours.classes_[shares.argmax(axis=1)])
    assert ours.estimators_.shape == theirs.estimators_.shape == (8, 3)
    assert_allclose(list(ours.staged_predict_proba(X))[-1], shares)
    assert ours.certify(X, y).holds
    leaf = copy.deepcopy(ours)
    leaf.estimators_[3, 1].tree_.value[-1] *= 1.01
    assert not leaf.certify(X, y).holds


@pytest.mark.spec("sangnier/M-1.3.3-b")
def test_algorithm_three_by_hand_on_three_classes(flowers):
    """One step for the learners of all classes together."""
    X, y = flowers
    model = GradientBoostingClassifier(n_estimators=4, learning_rate=0.5, line_search="global", max_depth=1)
    model.fit(X, y)
    f, one_hot = np.tile(np.log(np.bincount(y) / 150), (150, 1)), np.eye(3)[y]

    def mean_loss(scores):
        return np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(150), y])

    for t in range(4):
        p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
        g = np.column_stack(
            [DecisionTreeRegressor(max_depth=1).fit(X, r).predict(X) for r in (one_hot - p).T]
        )
        step = minimize_scalar(lambda w, f=f, g=g: mean_loss(f + w * g), bracket=(0.0, 1.0), tol=1e-12).x
        assert_allclose(model.steps_[t], 0.5 * step, rtol=1e-5)
        edge = 1 - np.sum((one_hot - p - g) ** 2) / np.sum((one_hot - p) ** 2)
        assert_allclose(model.history_.edge[t], edge, rtol=1e-6)
        f = f + model.steps_[t] * g
        assert_allclose(model.history_.risk[t + 1], mean_loss(f))
    assert_allclose(model.decision_function(X), f, rtol=1e-6)
    assert model.certify(X, y).holds
    chosen = GradientBoostingClassifier(n_estimators=5, max_depth=1).select(X, y, cv=2)
    assert 1 <= chosen.best <= 5


def test_what_does_not_suit_three_classes_is_refused_in_one_sentence(flowers):
    for options in ({"loss": "exponential"}, {"direction": "correlation"}):
        with pytest.raises(ValueError, match="for more than two classes"):
            GradientBoostingClassifier(**options).fit(*flowers)


def test_more_classes_than_rows_that_weigh_and_one_row_alone_are_taken():
    X = np.random.default_rng(0).normal(size=(8, 2))
    few, alone = np.repeat([1.0, 0.0], [3, 5]), np.repeat([1.0, 0.0], [1, 7])
    for kind in (GradientBoostingClassifier, AdaBoostClassifier):
        for weight in (few, alone):
            for y in (np.arange(8) % 6, np.arange(8) % 2):
                model = kind(n_estimators=4).fit(X, y, weight)
                assert model.predict(X[:1]) == [0]
                assert np.isfinite(model.predict_proba(X)).all()
                assert model.certify(X, y, weight).holds


# Where the rounds begin, and going on with them.


def test_columns_sorted_once_give_the_trees_of_a_fit_each_round(patients):
    X, y = patients
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    for options in ({}, {"max_features": 3, "random_state": 5}, {"ccp_alpha": 1.0}, {"max_leaf_nodes": 5}):
        learner = DecisionTreeRegressor(max_depth=4, **options)
        model = GradientBoostingRegressor(
            estimator=learner, n_estimators=3, learning_rate=1.0, line_search="global", random_state=0
        ).fit(X, y)
        scores = [np.full(len(y), model.init_score_), *model.staged_predict(X)]
        for member, before in zip(model.estimators_[:, 0], scores, strict=False):
            assert clone(member).fit(X, y - before).tree_ == member.tree_


def test_many_rows_are_cut_between_bins_at_the_same_risk(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * random.normal(size=3000)
    train, new = slice(0, 2000), slice(2000, None)
    exact = GradientBoostingRegressor(n_estimators=20).fit(X[train], y[train])
    monkeypatch.setattr("assay.trees.stagewise.gradient.base.EXACT_ROWS", 1000)
    binned = GradientBoostingRegressor(n_estimators=20).fit(X[train], y[train])
    assert not np.array_equal(exact.predict(X), binned.predict(X))
    risks = [np.mean((y[new] - model.predict(X[new])) ** 2) / 2 for model in (exact, binned)]
    assert abs(risks[0] - risks[1]) < 0.02 * risks[0]
    assert binned.certify(X[train], y[train]).holds
    given = GradientBoostingRegressor(n_estimators=20, estimator=DecisionTreeRegressor(max_depth=3))
    assert_array_equal(given.fit(X[train], y[train]).predict(X), exact.predict(X))


@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_a_warm_start_is_the_fit_of_all_rounds_at_once(patients, flowers, subsample):
    options = {"max_depth": 2, "subsample": subsample, "random_state": 3}
    for kind, (X, y) in ((GradientBoostingRegressor, patients), (GradientBoostingClassifier, flowers)):
        whole = kind(n_estimators=7, **options).fit(X, y)
        warm = kind(n_estimators=3, warm_start=True, **options).fit(X, y)
        warm.set_params(n_estimators=7).fit(X, y)
        assert_array_equal(warm.predict(X), whole.predict(X))
        assert warm.history_ == whole.history_
        assert warm.certify(X, y).holds
        with pytest.raises(ValueError, match="at least the 7 rounds of the warm start"):
            warm.set_params(n_estimators=4).fit(X, y)
        with pytest.raises(ValueError, match="goes on with the rows of the last fit"):
            warm.set_params(n_estimators=9).fit(X[::2], y[::2])


def test_rounds_begin_at_zero_or_at_an_estimator(patients, flowers):
    X, y = patients
    line = LinearRegression().fit(X, y)
    model = GradientBoostingRegressor(n_estimators=3, init=LinearRegression(), max_depth=2).fit(X, y)
    theirs = TheirRegressor(n_estimators=3, init=LinearRegression(), max_depth=2, random_state=0).fit(X, y)
    assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-5)  # theirs rounds the rows to float32
    assert_allclose(model.history_.risk[0], np.mean((y - line.predict(X)) ** 2) / 2)
    assert model.certify(X, y).holds
    moved = copy.deepcopy(model)
    moved.init_.coef_ *= 1.01
    assert not moved.certify(X, y).holds
    for table, labels in ((flowers[0][:, :2], flowers[1]), (X, y > 150)):
        options = {"n_estimators": 3, "init": GaussianNB(), "max_depth": 2}
        ours = GradientBoostingClassifier(**options).fit(table, labels)
        peer = TheirClassifier(**options, random_state=0).fit(table, labels)
        assert_allclose(ours.predict_proba(table), peer.predict_proba(table), atol=1e-5)
        assert ours.certify(table, labels).holds
    with pytest.raises(ValueError, match=r"'init' parameter .* an estimator with 'predict_proba'"):
        GradientBoostingClassifier(init=LinearRegression()).fit(*flowers)
    with pytest.raises(ValueError, match=r"'init' parameter .* takes 'sample_weight'"):
        GradientBoostingRegressor(init=KNeighborsRegressor()).fit(X, y, np.arange(1.0, 443.0))


@pytest.mark.spec("wei/M8.7")
@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
def test_forward_stagewise_takes_the_best_term_of_all_for_any_loss(patients, loss):
    from assay.losses import loss as loss_of

    X, y = patients
    X, y, measure = X[:60], y[:60] / 100, loss_of(loss)
    model = StagewiseAdditive(loss=loss, n_estimators=4).fit(X, y)
    f = np.full(60, measure.constant_minimiser(y))
    for t in range(4):
        lowest = [
            minimize_scalar(lambda b, j=j, f=f: risk(measure, y, f + b * X[:, j]), bracket=(-10.0, 10.0)).fun
            for j in range(10)
        ]
        f = f + model.steps_[t] * X[:, model.columns_[t]]
        assert risk(measure, y, f) <= min(lowest) + 1e-9
    assert_allclose(model.predict(X), f)
    assert model.certify(X, y).holds
    moved = copy.deepcopy(model)
    moved.columns_[1] = (moved.columns_[1] + 1) % 10
    assert not moved.certify(X, y).holds


@pytest.mark.spec("wei/T8.3")
def test_forward_stagewise_of_the_exponential_loss_on_stumps_is_adaboost(moons):
    X, y = moons
    X, y = X[:50], y[:50]
    sums = StagewiseAdditive(
        loss="exponential", base="stumps", n_thresholds=100, n_estimators=6, fit_intercept=False
    ).fit(X, 2.0 * y - 1)
    vote = AdaBoostClassifier(n_estimators=6).fit(X, y)
    assert_allclose(np.abs(sums.steps_), vote.history_.step, rtol=1e-7)
    assert_allclose(sums.predict(X), vote.decision_function(X), rtol=1e-6)
    assert_allclose(sums.thresholds_, [learner.threshold_ for learner in vote.estimators_])


def test_a_step_that_would_raise_the_risk_is_halved_until_it_does_not():
    """From f = 0 to y = 1 along g: the risk ½(1 − w g)² is at most ½ for w g ≤ 2."""
    state = State(Squared(), np.ones(3), np.ones(3), np.zeros(3))
    for size, step in ((1.0, 1.0), (2.0, 1.0), (2.1, 0.5), (7.0, 0.25), (-1.0, 0.0)):
        found = falling_step(state, Direction(None, np.full(3, size)))
        assert found == pytest.approx(step, abs=1e-15)
