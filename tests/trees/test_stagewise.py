"""AdaBoost and its variants: every round against its theorem, brute force and other libraries."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.ensemble import AdaBoostClassifier as TheirAdaBoost
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assay.losses import Exponential
from assay.trees import AdaBoostClassifier, DecisionStump
from assay.trees import DecisionTreeClassifier as OurTree
from assay.trees.stagewise import stumps
from assay.trees.stagewise.engine import State, boost
from assay.trees.stagewise.oracles import ExhaustiveOracle
from assay.trees.stagewise.steps import newton_step


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.3, random_state=1)


@pytest.fixture(scope="module")
def fitted(moons):
    return AdaBoostClassifier(n_estimators=40).fit(*moons)


def signs(model, X):
    return np.array([2.0 * learner.predict(X) - 1 for learner in model.estimators_])


def all_stumps(X):
    """Every ±1 answer of a stump on the rows, constants included; with each g also −g."""
    answers = [np.ones(len(X))]
    for column in X.T:
        values = np.unique(column)
        answers += [np.where(column <= cut, 1.0, -1.0) for cut in (values[1:] + values[:-1]) / 2]
    half = np.unique(np.array(answers), axis=0)
    return np.concatenate([half, -half])


@pytest.mark.spec("sangnier/M-1.3.1-b", "sangnier/M-1.3.1-c", "wei/M8.6")
def test_a_fit_is_algorithm_two(moons, fitted):
    """A dozen lines of Algorithm 2 with an exhaustive search for the stump."""
    X, y = moons
    label, stumps = 2.0 * y - 1, all_stumps(X)
    share = np.full(len(X), 1 / len(X))
    history = fitted.history_
    for t, said in enumerate(signs(fitted, X)):
        errors = (stumps != label) @ share
        error = share[said != label].sum()
        assert_allclose(error, errors.min(), atol=1e-12)
        assert_allclose(history.error[t], error, rtol=1e-9)
        step = np.log((1 - error) / error) / 2
        assert_allclose(history.step[t], step, rtol=1e-8)
        normaliser = share @ np.exp(-step * label * said)
        assert_allclose(normaliser, 2 * np.sqrt(error * (1 - error)), rtol=1e-12)
        assert_allclose(history.normaliser[t], normaliser, rtol=1e-8)
        share = share * np.exp(-step * label * said) / normaliser
    assert_allclose(fitted.row_weights(X, y), share, rtol=1e-6)
    assert_allclose(fitted.estimator_weights_, 2 * history.step)
    assert_array_equal(fitted.predict(X), (fitted.estimator_weights_ @ signs(fitted, X) > 0).astype(int))


@pytest.mark.spec("sangnier/M-1.3.1-a", "sangnier/T-1.3.1-a", "wei/T8.3", "wei/M8.7")
def test_adaboost_is_forward_stagewise_and_the_joint_minimum_over_step_and_learner(moons):
    """Algorithm 1: the best step of every stump is searched, without any weighted error."""
    X, y = moons
    X, y = X[:40], y[:40]
    label, stumps = 2.0 * y - 1, all_stumps(X)
    model = AdaBoostClassifier(n_estimators=8).fit(X, y)
    oracle = ExhaustiveOracle(stumps, newton_step, positive=True)
    trace = boost(Exponential(), oracle, newton_step, 1.0, 8, y=label, weight=np.ones(40))
    assert_allclose([item.step for item in trace.rounds], model.history_.step, rtol=1e-8)
    assert_allclose(trace.scores, model.decision_function(X), rtol=1e-7)
    risks = np.exp([item.log_risk for item in trace.rounds])
    assert np.all(np.diff(risks) <= 0)
    assert_allclose(risks, model.history_.product, rtol=1e-8)


@pytest.mark.spec("sangnier/T-1.3.1-b", "sangnier/E-1.7", "sangnier/T-1.3.3-a", "sangnier/M-1.3.3-c")
def test_weights_are_the_slope_of_the_risk_and_a_used_learner_is_worth_nothing(moons, fitted):
    X, y = moons
    label, score = 2.0 * y - 1, np.zeros(len(X))
    history = fitted.history_
    for t, said in enumerate(signs(fitted, X)):
        before = State(Exponential(), label, np.ones(len(X)), score)
        slope = -label * np.exp(-label * score) / len(X)  # ∇F
        risk = np.mean(np.exp(-label * score))
        # Error under D_t from the inner product of the gradient and the direction −g_t.
        assert_allclose(history.error[t], (risk - slope @ -said) / (2 * risk), rtol=1e-9)
        assert_allclose(before.shares(), np.abs(slope) / np.abs(slope).sum())
        score = score + history.step[t] * said
        share = np.exp(-label * score) / (len(X) * np.prod(history.normaliser[: t + 1]))
        assert_allclose(share.sum(), 1.0, rtol=1e-8)
        assert_allclose(share[said != label].sum(), 0.5, rtol=1e-8)


@pytest.mark.spec("sangnier/T-1.3.1-c")
def test_the_chain_of_bounds_holds_in_every_round_and_tells_when_no_mistake_is_left(moons):
    X, y = moons
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=30, random_state=0).fit(X, y)
    history = model.history_
    errors = [np.mean(predicted != y) for predicted in model.staged_predict(X)]
    assert_allclose(history.training_error, errors, atol=1e-12)
    chain = [history.training_error, history.product, history.squared_edges, history.smallest_edge]
    for small, large in pairwise(chain):
        assert np.all(small <= large + 1e-12)
    needed = history.rounds_to_zero_error(len(X))
    assert needed == np.floor(np.log(len(X)) / (2 * (0.5 - history.error.max()) ** 2)) + 1
    assert np.argmax(history.training_error == 0) < needed


@pytest.mark.spec("sangnier/T-1.3.1-e", "sangnier/E-1.6")
@pytest.mark.parametrize("theta", [0.02, 0.1, 0.3])
def test_the_share_of_small_margins_is_below_its_two_bounds(moons, fitted, theta):
    X, y = moons
    bounds = fitted.margin_history(X, y, theta)
    for t in (1, 5, 40):
        assert_allclose(bounds.share[t - 1], np.mean(fitted.margins(X, y, t) < theta))
    errors = fitted.history_.error
    rounds = np.arange(1, 41)
    sharp = 2.0**rounds * np.cumprod(np.sqrt(errors ** (1 - theta) * (1 - errors) ** (1 + theta)))
    assert_allclose(bounds.product, sharp, rtol=1e-7)
    assert np.all(bounds.share <= bounds.product + 1e-12)
    assert np.all(bounds.product <= bounds.lemma * (1 + 1e-9))
    edge = 0.5 - np.maximum.accumulate(errors)
    usual = edge >= theta / 2
    printed = ((1 - 4 * edge**2) * ((1 + 2 * edge) / (1 - 2 * edge)) ** theta) ** (rounds / 2)
    assert_allclose(bounds.lemma[usual], printed[usual])
    assert np.all(bounds.lemma[~usual] >= 1.0)


@pytest.mark.spec("sangnier/E-1.6")
def test_the_printed_function_of_the_exercise_is_not_the_one_that_bounds_the_margins():
    """x^(1−θ)(1−x)^(1+θ) rises up to (1−θ)/2 and bounds the product; with 1 + x nothing would be bounded."""
    theta, x = 0.2, np.linspace(1e-4, 0.5, 5001)
    built = x ** (1 - theta) * (1 - x) ** (1 + theta)
    peak = x[built.argmax()]
    assert abs(peak - (1 - theta) / 2) < 1e-4
    assert np.all(np.diff(built[x <= peak]) > 0)
    assert np.all(np.diff(built[x >= peak]) < 0)
    error = 0.3
    four = 4 * error ** (1 - theta) * (1 - error) ** (1 + theta)
    gamma = 0.5 - error
    assert_allclose(four, (1 - 2 * gamma) ** (1 - theta) * (1 + 2 * gamma) ** (1 + theta))
    assert four < 1 < 4 * error ** (1 - theta) * (1 + error) ** (1 + theta)  # the printed base exceeds 1


@pytest.mark.spec("wei/T8.2")
def test_probabilities_are_those_whose_exponential_risk_the_scores_minimise(moons, fitted):
    X, _ = moons
    score = fitted.decision_function(X)
    assert_allclose(fitted.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * score)), rtol=1e-10)
    # One stump on one column: f is then ½ the log-odds of the rows on each side.
    x, y = np.repeat([[0.0], [1.0]], 50, axis=0), np.repeat([0, 1, 0, 1], [40, 10, 15, 35])
    one = AdaBoostClassifier(n_estimators=400, learning_rate=0.5).fit(x, y)
    assert_allclose(one.predict_proba([[0.0], [1.0]])[:, 1], [0.2, 0.7], atol=1e-3)


@pytest.mark.spec("sangnier/M-1.3.2-a")
def test_learned_features_and_corrective_weights(moons, fitted):
    X, y = moons
    features = fitted.transform(X)
    assert set(np.unique(features)) == {-1.0, 1.0}
    assert_allclose(features @ fitted.history_.step, fitted.decision_function(X), atol=1e-10)
    # Every step is a coordinate minimum: no other w_t of the last round lowers the risk.
    label, steps = 2.0 * y - 1, fitted.history_.step
    for change in (-1e-3, 1e-3):
        moved = steps.copy()
        moved[-1] += change
        risk = np.mean(np.exp(-label * (features @ moved)))
        assert risk > np.mean(np.exp(-label * (features @ steps)))
    better = fitted.refit_weights(X, y, penalty_strength=1e-4)
    assert 0.0 <= better.dual_gap < 1e-9  # not clipped: a dual value above the objective would show
    assert better.risk < better.stagewise_risk
    from scipy.optimize import minimize

    def objective(w):
        return np.mean(np.exp(-label * (features @ w))) + 0.5e-4 * w @ w

    slow = minimize(objective, steps, method="BFGS").fun
    assert better.objective <= slow
    assert_allclose(better.objective, slow, rtol=1e-3)


@pytest.mark.spec("sangnier/M-1.3.2-b")
def test_the_logistic_loss_descends_along_its_own_weights(moons):
    X, y = moons
    label = 2.0 * y - 1
    model = AdaBoostClassifier(n_estimators=25, loss="logistic").fit(X, y)
    score, stumps = np.zeros(len(X)), all_stumps(X)
    for t, said in enumerate(signs(model, X)):
        share = 1 / (1 + np.exp(label * score))
        share /= share.sum()
        assert_allclose(share[said != label].sum(), ((stumps != label) @ share).min(), atol=1e-10)
        step = model.history_.step[t]
        slope = np.sum(label * said / (1 + np.exp(label * (score + step * said))))
        assert abs(slope) < 1e-8  # an exact line search
        score += step * said
    assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-score)), rtol=1e-9)


def codes(places, n_classes):
    return np.where(places[:, None] == np.arange(n_classes), 1.0, -1.0 / (n_classes - 1))


@pytest.mark.spec("sangnier/M-1.3.2-c", "sangnier/T-1.3.2-a")
def test_samme_is_the_coded_exponential_loss(flowers):
    X, y = flowers
    X = X[:, :2]
    model = AdaBoostClassifier(DecisionStump(), n_estimators=15).fit(X, y)
    label, total, votes = codes(y, 3), np.zeros((150, 3)), np.zeros((150, 3))
    share = np.full(150, 1 / 150)
    for t, learner in enumerate(model.estimators_):
        said = learner.predict(X)
        error, step = share[said != y].sum(), model.history_.step[t]
        assert_allclose(model.history_.error[t], error, rtol=1e-8)
        assert_allclose(step, 4 / 3 * (np.log((1 - error) / error) + np.log(2)), rtol=1e-8)
        # Exact line search: the derivative of the risk along the learner is 0.
        total += step * codes(said, 3)
        inner = np.sum(label * codes(said, 3), axis=1)
        assert abs(np.sum(np.exp(-np.sum(label * total, axis=1) / 3) * inner)) < 1e-8
        share = np.exp(-np.sum(label * total, axis=1) / 3)
        share /= share.sum()
        assert_allclose(share[said != y].sum(), 2 / 3, rtol=1e-8)
        votes[np.arange(150), said] += model.estimator_weights_[t]
    assert_allclose(model.decision_function(X), total, atol=1e-9)
    assert_array_equal(total.argmax(axis=1), votes.argmax(axis=1))
    assert_array_equal(model.predict(X), votes.argmax(axis=1))
    chances = np.exp(total / 2)
    assert_allclose(model.predict_proba(X), chances / chances.sum(axis=1, keepdims=True), rtol=1e-8)


@pytest.mark.spec("sangnier/M-1.3.2-d")
def test_samme_r_adds_centred_logarithms_of_probabilities(flowers):
    X, y = flowers
    X = X[:, :2]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = AdaBoostClassifier(tree, n_estimators=6, algorithm="samme_r", random_state=0).fit(X, y)
    share, total = np.full(150, 1 / 150), np.zeros((150, 3))
    label = codes(y, 3)
    for learner in model.estimators_:
        again = DecisionTreeClassifier(max_depth=2, random_state=learner.random_state)
        p = again.fit(X, y, sample_weight=share).predict_proba(X)
        assert_allclose(p, learner.predict_proba(X), atol=1e-7)
        logs = np.log(np.maximum(p, np.finfo(float).eps))
        total += 2 * (logs - logs.mean(axis=1, keepdims=True))
        share *= np.exp(-2 / 3 * np.sum(label * logs, axis=1))
        share /= share.sum()
    assert_allclose(model.decision_function(X), total, rtol=1e-6, atol=1e-6)


@pytest.mark.spec("sangnier/M-1.3.2-e", "sangnier/P-1.3.2")
def test_the_naive_rule_is_poor_with_many_classes_and_samme_is_not():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:600]
    X, y = X[order], y[order]
    with pytest.warns(ConvergenceWarning, match="better than chance"):
        naive = AdaBoostClassifier(n_estimators=30, algorithm="naive").fit(X[:400], y[:400])
    assert naive.stop_reason_ == "chance"
    assert naive.score(X[400:], y[400:]) < 0.2
    samme = AdaBoostClassifier(n_estimators=100).fit(X[:400], y[:400])
    real = AdaBoostClassifier(n_estimators=30, algorithm="samme_r").fit(X[:400], y[:400])
    assert samme.score(X[400:], y[400:]) > 0.5
    assert real.score(X[400:], y[400:]) > 0.4
    assert isinstance(AdaBoostClassifier().fit(X, y > 4).estimators_[0], DecisionStump)


@pytest.mark.spec("sangnier/X-Fig1.9")
def test_errors_of_the_learners_tend_to_chance(moons):
    X, y = moons
    errors = AdaBoostClassifier(n_estimators=200).fit(X, y).history_.error
    assert errors[0] < 0.25
    assert errors[:20].mean() < errors[20:100].mean() < errors[100:].mean() < 0.5
    assert errors[100:].mean() > 0.4


@pytest.mark.spec("sangnier/X-1.3.2-noise")
def test_flipped_labels_take_the_weight_and_are_found_among_the_heaviest_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 4))
    clean = (X[:, 0] + X[:, 1] > 0).astype(int)
    accuracy, concentration = [], []
    for rate in (0.0, 0.1, 0.3):
        flipped = random.random(400) < rate
        y = np.where(flipped, 1 - clean, clean)
        model = AdaBoostClassifier(n_estimators=60).fit(X, y)
        fresh = np.random.default_rng(1).normal(size=(2000, 4))
        accuracy.append(model.score(fresh, (fresh[:, 0] + fresh[:, 1] > 0).astype(int)))
        concentration.append(model.row_weights(X, y)[flipped].sum())
        if rate == 0.1:
            assert flipped[model.heaviest_rows(X, y, 15)].mean() > 0.8
            share = np.sort(model.row_weights(X, y))[::-1][:40].sum()
            assert_allclose(model.weight_concentration_, share, rtol=1e-9)
    assert accuracy[0] > accuracy[1] > accuracy[2]
    assert concentration[0] == 0.0  # none was flipped
    assert concentration[1] > 3 * 0.1
    assert concentration[2] > 1.3 * 0.3


@pytest.mark.spec("sangnier/P-1.3.1")
def test_rounds_trade_bias_for_complexity(moons):
    X, y = moons
    fresh, labels = make_moons(1500, noise=0.3, random_state=7)
    model = AdaBoostClassifier(n_estimators=400).fit(X, y)
    training = list(model.staged_score(X, y))
    held_out = list(model.staged_score(fresh, labels))
    assert training[0] < 0.9 < training[-1] == 1.0
    best = int(np.argmax(held_out))
    assert 3 < best < 399  # neither the simplest vote nor the richest one
    assert held_out[best] > max(held_out[0], held_out[-1])
    assert training[-1] - held_out[-1] > training[best] - held_out[best]


def test_rounds_on_a_given_classifier_are_those_of_scikit_learn(flowers):
    X, y = flowers
    for rows in (slice(None), slice(50, None)):
        tree = DecisionTreeClassifier(max_depth=1, random_state=0)
        ours = AdaBoostClassifier(tree, n_estimators=10).fit(X[rows], y[rows])
        theirs = TheirAdaBoost(tree, n_estimators=10, random_state=0).fit(X[rows], y[rows])
        assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-7)
        assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-7)
        assert_array_equal(ours.predict(X), theirs.predict(X))


def test_stumps_of_the_gini_index_are_trees_of_one_split(flowers):
    X, y = flowers
    ours = AdaBoostClassifier(OurTree(max_depth=1), n_estimators=8).fit(X, y)
    trees = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, random_state=0), n_estimators=8).fit(X, y)
    assert_allclose(ours.estimator_errors_, trees.estimator_errors_, rtol=1e-9)
    assert type(ours.estimators_[0]) is OurTree
    assert ours.estimators_[0].certify(X, y, np.full(150, 1 / 150)).holds
    assert ours.certify(X, y).holds
    by_default = AdaBoostClassifier(n_estimators=8).fit(X, y)
    assert type(by_default.estimators_[0]) is DecisionStump
    assert by_default.history_.product[-1] < ours.history_.product[-1]
    assert any("best of its class" in item.claim for item in by_default.certify(X, y))


def test_a_stored_stump_proves_itself_under_the_weights_of_its_round(moons, fitted):
    X, y = moons
    assert fitted.estimators_[0].certify(X, y, np.full(len(X), 1 / len(X))).holds
    later = AdaBoostClassifier(n_estimators=5).fit(X, y)
    shares = AdaBoostClassifier(n_estimators=4).fit(X, y).row_weights(X, y)
    assert later.estimators_[4].certify(X, y, shares).holds


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_stump_of_a_round_is_that_of_an_exhaustive_search(missing, n_classes):
    random = np.random.default_rng(5)
    for _ in range(20):
        X = random.integers(0, 6, (30, 3)).astype(float)
        if missing:
            X[random.random(X.shape) < 0.2] = np.nan
        y = random.integers(0, n_classes, 30)
        weight = random.integers(0, 4, 30).astype(float)
        if len(np.unique(y[weight > 0])) < 2:
            continue
        try:
            model = AdaBoostClassifier(DecisionStump(), n_estimators=1).fit(X, y, weight)
        except ConvergenceWarning:  # nothing better than chance there
            continue
        best = np.bincount(y, weight).max()
        for column in X.T:
            known = np.isfinite(column)
            for cut in np.unique(column[known]):
                for left in (known & (column <= cut), ~known | (column <= cut)):
                    right = [np.bincount(y[side], weight[side], n_classes).max() for side in (left, ~left)]
                    best = max(best, sum(right))
        assert_allclose(model.estimator_errors_[0], 1 - best / weight.sum(), atol=1e-12)


@pytest.mark.spec("sangnier/T-1.3.1-d", "sangnier/T-1.3.1-f")
def test_the_risk_is_certified_at_margins_fixed_beforehand(moons, fitted):
    X, y = moons
    first, second = fitted.risk_certificate(X, y, 0.3)
    rest = 4 / 0.3 * np.sqrt(2 * np.log(2 * 2 * 121) / 120) + np.sqrt(np.log(20) / 240)
    assert_allclose(first.bound, np.mean(fitted.margins(X, y) < 0.3) + rest)
    assert_allclose(second.bound, fitted.margin_history(X, y, 0.3).lemma[-1] + rest)
    assert first.verdict == second.verdict == "vacuous"
    # The best of a grid costs confidence, that of a grid of one nothing.
    grid = [0.1, 0.3, 0.8]
    best = fitted.risk_certificate(X, y, grid)[0]
    alone = [fitted.risk_certificate(X, y, theta, delta=0.05 / 3)[0].bound for theta in grid]
    assert_allclose(best.bound, min(alone))
    for tuned in ("best", None, np.argmin):
        with pytest.raises(ValueError, match="fixed before the data were seen"):
            fitted.risk_certificate(X, y, tuned)
    with pytest.raises(ValueError, match="between 0 and 1"):
        fitted.risk_certificate(X, y, [0.2, 1.2])
    tree = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="'complexity'"):
        tree.risk_certificate(X, y)
    assert tree.risk_certificate(X, y, 0.5, complexity=0.001)[0].verdict == "bound"
    assert sum("With probability 0.95" in item.claim for item in fitted.certify(X, y)) == 2
    shrunk = AdaBoostClassifier(n_estimators=3, learning_rate=0.5).fit(X, y)
    assert len(shrunk.risk_certificate(X, y)) == 1  # no lemma without exact steps


# Certificates fail when what they speak of is damaged.


@pytest.fixture
def damaged(fitted):
    return copy.deepcopy(fitted)


def failed(model, X, y):
    return {item.quantity for item in model.certify(X, y).failed}


def test_a_changed_vote_or_a_swapped_label_is_seen(moons, damaged):
    X, y = moons
    assert damaged.certify(X, y).holds
    swapped = y.copy()
    swapped[3] = 1 - swapped[3]
    assert "relative deviation of the logarithm" in failed(damaged, X, swapped)
    tree = damaged.estimators_[7].tree_
    damaged.estimators_[7].tree_ = tree.with_values(tree.value[[0, 2, 1]])
    assert "relative deviation of the logarithm" in failed(damaged, X, y)


def test_an_edited_error_or_weight_is_seen(moons, damaged):
    X, y = moons
    error = damaged.history_.error.copy()
    error[4] += 1e-4
    damaged.history_ = replace(damaged.history_, error=error)
    assert any("history error" in quantity for quantity in failed(damaged, X, y))


def test_a_moved_threshold_is_seen(moons, damaged):
    X, y = moons
    tree = damaged.estimators_[2].tree_
    threshold = tree.threshold.copy()
    threshold[0] += 0.15
    damaged.estimators_[2].tree_ = replace(tree, threshold=threshold)
    assert "largest excess of its error over that of the best" in failed(damaged, X, y)


def test_a_rescaled_vote_is_seen(moons, damaged):
    X, y = moons
    damaged.estimator_weights_ = 0.5 * damaged.estimator_weights_
    assert "largest deviation from (C − 1)/C" in failed(damaged, X, y)
    assert "relative deviation of the logarithm" in failed(damaged, X, y)


# Bad input.


def test_a_learner_without_a_mistake_is_kept_alone_and_told():
    X = np.arange(10.0)[:, None]
    y = (X[:, 0] > 4).astype(int)
    model = AdaBoostClassifier().fit(X, y)
    assert (model.stop_reason_, len(model.estimators_)) == ("perfect", 1)
    assert_allclose(model.predict_proba(X).max(axis=1), 1 - 1 / 12)  # one mistake among 12 rows
    assert model.certify(X, y).holds
    three = AdaBoostClassifier(DecisionTreeClassifier()).fit(X, np.arange(10) % 3)
    assert three.stop_reason_ == "perfect"
    assert np.isfinite(three.decision_function(X)).all()


class Contrary(DecisionTreeClassifier):
    """Says the opposite of what it has learned."""

    def predict(self, X):
        return 1 - super().predict(X)


@pytest.mark.parametrize("kind", ["worse than chance", "constant", "opposite twins"])
def test_learners_no_better_than_chance_stop_the_rounds_with_a_word(kind, moons):
    X, y = moons
    estimator = None
    if kind == "worse than chance":
        estimator = Contrary(max_depth=1)
    elif kind == "constant":
        X = np.zeros((len(X), 2))
    else:
        X, y = np.vstack([X, X]), np.append(y, 1 - y)
    with pytest.warns(ConvergenceWarning, match="better than chance"):
        model = AdaBoostClassifier(estimator).fit(X, y)
    assert model.stop_reason_ == "chance"
    assert_allclose(model.predict_proba(X), 0.5)
    assert model.certify(X, y).holds


def test_a_learner_that_takes_no_weights_is_refused_in_one_sentence(moons):
    with pytest.raises(ValueError, match=r"'estimator' parameter .* takes 'sample_weight'"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(*moons)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_estimators": 0}, "'n_estimators' parameter .* at least 1"),
        ({"learning_rate": 0.0}, "'learning_rate' parameter .* above 0"),
        ({"learning_rate": 1.5}, "'learning_rate' parameter .* at most 1"),
    ],
)
def test_no_rounds_and_wrong_shrinkage_are_refused(options, sentence, moons):
    with pytest.raises(ValueError, match=sentence):
        AdaBoostClassifier(**options).fit(*moons)


def test_one_class_is_refused_and_more_classes_than_two_where_they_do_not_suit(moons, flowers):
    X, _ = moons
    with pytest.raises(ValueError, match="at least two classes"):
        AdaBoostClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"'algorithm' parameter .* more than two classes"):
        AdaBoostClassifier(algorithm="discrete").fit(*flowers)
    with pytest.raises(ValueError, match=r"'loss' parameter .* more than two classes"):
        AdaBoostClassifier(loss="logistic").fit(*flowers)


def test_as_many_classes_as_rows_and_all_weight_on_one_row_are_taken():
    random = np.random.default_rng(0)
    X = random.normal(size=(6, 2))
    each = AdaBoostClassifier(n_estimators=5).fit(X, np.arange(6))
    assert each.predict_proba(X).shape == (6, 6)
    weight = np.array([1e12, 1, 1, 1, 1, 1])
    heavy = AdaBoostClassifier(n_estimators=5).fit(X, [0, 1, 0, 1, 1, 0], sample_weight=weight)
    assert heavy.certify(X, [0, 1, 0, 1, 1, 0], weight).holds
    assert heavy.predict(X[:1]) == [0]


def test_scores_of_any_size_stay_numbers():
    state = State(Exponential(), np.ones(3), np.ones(3), np.array([-1e5, 1e5, -1e5]))
    assert_allclose(state.shares(), [0.5, 0.0, 0.5])
    assert_allclose(state.log_risk(), 1e5 + np.log(2 / 3))
    assert state.risk() == np.inf


def test_many_rounds_stay_numbers():
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    model = AdaBoostClassifier(n_estimators=1500).fit(x, y)
    assert np.isfinite(model.decision_function(x)).all()
    assert not np.isnan(model.predict_proba(x)).any()
    assert model.certificates_.holds
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 5))
    labels = (rows[:, 0] > 0).astype(int)
    labels[:3] = 1 - labels[:3]
    learner = LogisticRegression(C=100.0)
    long = AdaBoostClassifier(learner, n_estimators=200, learning_rate=0.5).fit(rows, labels)
    assert np.isfinite(long.decision_function(rows)).all()


@pytest.mark.parametrize("at_once", [1, 130, 2**15])
def test_columns_searched_together_or_one_by_one_give_the_same_votes(rng, monkeypatch, at_once):
    X = rng.normal(size=(60, 7)).round(1)
    y = np.digitize(X.sum(axis=1), [-1.0, 1.0])
    whole = AdaBoostClassifier(n_estimators=8).fit(X, y)
    monkeypatch.setattr(stumps, "ON_THREADS", 1)
    monkeypatch.setattr(stumps, "AT_ONCE", at_once)
    parts = AdaBoostClassifier(n_estimators=8).fit(X, y)
    assert_array_equal(parts.decision_function(X), whole.decision_function(X))
