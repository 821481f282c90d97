"""Random forests and extremely random trees: averages of trees, out of bag, the same whatever the order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.kernel_machines import SVR, KernelRidge
from assay.rows import threads
from assay.trees import (
    BaggingRegressor,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.trees.growing.bins import bin_columns

CLASSIFIERS = (RandomForestClassifier, ExtraTreesClassifier)
REGRESSORS = (RandomForestRegressor, ExtraTreesRegressor)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def forest(iris):
    return RandomForestClassifier(40, oob_score=True, random_state=0).fit(*iris)


@pytest.fixture(scope="module")
def numbers(diabetes):
    return RandomForestRegressor(40, max_features=3, oob_score=True, random_state=0).fit(*diabetes)


@pytest.mark.spec("sangnier/M-1.6.4-a", "wei/M8.4")
def test_a_forest_is_the_mean_of_trees_on_bags_that_try_few_columns(iris, diabetes, forest, numbers):
    X, y = iris
    assert_allclose(forest.predict_proba(X), np.mean([t.predict(X) for t in forest.trees_], axis=0))
    assert forest.max_features_ == 2
    assert np.array_equal(forest.predict(X), forest.classes_[forest.predict_proba(X).argmax(axis=1)])
    X, y = diabetes
    assert_allclose(numbers.predict(X), np.mean([t.predict(X)[:, 0] for t in numbers.trees_], axis=0))
    # Stopping rules hold in every tree, counted in weight.
    small = RandomForestRegressor(5, max_depth=3, min_samples_leaf=20, random_state=0).fit(X, y)
    for tree in small.trees_:
        assert tree.max_depth <= 3
        assert tree.weighted_n_node_samples.min() >= 20
        assert tree.weighted_n_node_samples[0] == len(X)
    leafy = RandomForestRegressor(3, max_leaf_nodes=7, random_state=0).fit(X, y)
    assert [tree.n_leaves for tree in leafy.trees_] == [7, 7, 7]


@pytest.mark.spec("sangnier/M-1.6.4-a", "wei/M8.4")
@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("tried", [1, 2, 5])
def test_each_node_looks_at_columns_drawn_with_equal_chances(kind, tried):
    """A column that tells everything is cut whenever it is looked at: in a share m/d of the roots."""
    X = np.random.default_rng(0).standard_normal((80, 5))
    X[:, 3] = np.where(X[:, 3] > 0, 3.0, -3.0)
    model = kind(400, max_features=tried, max_depth=1, random_state=0).fit(X, X[:, 3] > 0)
    roots = np.bincount([tree.feature[0] for tree in model.trees_], minlength=5) / 400
    share = tried / 5
    assert abs(roots[3] - share) <= 4 * np.sqrt(share * (1 - share) / 400)
    if tried == 1:
        assert np.all(np.abs(roots - 0.2) <= 4 * np.sqrt(0.2 * 0.8 / 400))


def test_each_tree_is_grown_on_about_63_per_cent_of_the_rows(diabetes, numbers):
    X, _ = diabetes
    shares = np.array([tree.n_node_samples[0] for tree in numbers.trees_]) / len(X)
    # A row is in a bag with probability 1 − (1 − 1/n)ⁿ; negatively correlated, so at most binomial spread.
    expected = 1 - (1 - 1 / len(X)) ** len(X)
    assert abs(shares.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / (len(X) * len(shares)))


def test_one_tree_of_all_rows_and_columns_is_the_single_tree(diabetes):
    X, y = diabetes
    X = np.round(X, 2)  # few values: each its own bin
    one = RandomForestRegressor(1, bootstrap=False, max_features=None, max_leaf_nodes=12, random_state=0)
    single = DecisionTreeRegressor(max_leaf_nodes=12).fit(X, y)
    assert_allclose(one.fit(X, y).predict(X), single.predict(X))


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_threads_and_the_order_of_rows_change_no_bit(kind, iris, diabetes):
    X, y = iris if kind in CLASSIFIERS else diabetes
    order = np.random.default_rng(0).permutation(len(X))
    with threads(1):
        one = kind(8, random_state=3).fit(X, y)
    with threads(3):
        three = kind(8, random_state=3).fit(X, y)
    shuffled = kind(8, random_state=3).fit(X[order], y[order])
    assert one.trees_ == three.trees_
    assert np.array_equal(one.trees_.nodes.threshold, shuffled.trees_.nodes.threshold, equal_nan=True)
    assert_allclose(one.predict(X[:20]) == shuffled.predict(X[:20]), 1)


def test_the_first_trees_of_a_larger_forest_are_those_of_a_smaller_one(iris):
    X, y = iris
    small = RandomForestClassifier(5, random_state=1, warm_start=True).fit(X, y)
    large = RandomForestClassifier(9, random_state=1).fit(X, y)
    assert all(a == b for a, b in zip(small.trees_, large.trees_[:5], strict=True))
    grown = small.set_params(n_estimators=9).fit(X, y)
    assert grown.trees_ == large.trees_
    with pytest.raises(ValueError, match="at least the 9 trees of the warm start"):
        small.set_params(n_estimators=2).fit(X, y)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_out_of_bag_votes_come_from_trees_that_have_not_seen_the_row(kind, iris, diabetes):
    X, y = iris if kind is RandomForestClassifier else diabetes
    model = kind(25, oob_score=True, random_state=0).fit(X, y)
    forest = model._opened_again(X, y, None)[1]
    bags = np.array([forest.bag.counts(int(seed)) for seed in model.seeds_])
    said = np.array([tree.predict(X) for tree in model.trees_])
    outside = (bags == 0)[:, :, np.newaxis]
    mean = (said * outside).sum(axis=0) / outside.sum(axis=0)
    if kind is RandomForestClassifier:
        assert_allclose(model.oob_decision_function_, mean)
        assert model.oob_score_ == pytest.approx(np.mean(mean.argmax(axis=1) == y))
        assert model.oob_errors_[-1] == pytest.approx(1 - model.oob_score_)
    else:
        assert_allclose(model.oob_prediction_, mean[:, 0])
        assert model.oob_score_ == pytest.approx(1 - np.mean((mean[:, 0] - y) ** 2) / y.var())
    # The error after each tree, recounted.
    for upto in (3, 12):
        there = outside[:upto].sum(axis=0)[:, 0] > 0
        part = (said[:upto] * outside[:upto]).sum(axis=0)[there] / outside[:upto].sum(axis=0)[there]
        wrong = (
            part.argmax(axis=1) != y[there]
            if kind is RandomForestClassifier
            else (part[:, 0] - y[there]) ** 2
        )
        assert model.oob_errors_[upto - 1] == pytest.approx(wrong.mean())


def test_trees_are_added_until_the_error_has_settled(iris):
    X, y = iris
    model = RandomForestClassifier(500, oob_tol=0.01, random_state=0).fit(X, y)
    assert 20 <= len(model.trees_) < 500
    assert np.ptp(model.oob_errors_[-20:]) <= 0.01
    earlier = [np.ptp(model.oob_errors_[k - 20 : k]) for k in range(20, len(model.trees_))]
    assert len(earlier) == 0 or min(earlier) > 0.01 or len(model.trees_) < 40
    with threads(1):
        again = RandomForestClassifier(500, oob_tol=0.01, random_state=0).fit(X, y)
    assert again.trees_ == model.trees_


def test_rows_in_every_bag_are_told_and_left_out(iris):
    X, y = iris
    with pytest.warns(UserWarning, match="in the bag of every tree"):
        model = RandomForestClassifier(2, oob_score=True, random_state=0).fit(X, y)
    assert np.isfinite(model.oob_decision_function_).all()
    assert model.certify(X, y).holds


def test_accuracy_is_that_of_scikit_learn(iris):
    X, y = iris
    ours = cross_val_score(RandomForestClassifier(50, random_state=0), X, y, cv=10)
    theirs = cross_val_score(TheirForest(50, random_state=0), X, y, cv=10)
    gap = ours - theirs
    assert gap.mean() > -2 * gap.std(ddof=1) / np.sqrt(len(gap)) - 0.01


def test_weights_of_classes_and_of_bags(iris):
    X, y = iris
    keep = np.flatnonzero((y != 2) | (np.arange(len(y)) % 10 == 0))  # a rare class
    X, y = X[keep], y[keep]
    plain = RandomForestClassifier(30, max_depth=2, random_state=0).fit(X, y)
    for name in ("balanced", "balanced_subsample"):
        even = RandomForestClassifier(30, max_depth=2, class_weight=name, random_state=0).fit(X, y)
        assert even.predict_proba(X)[y == 2, 2].mean() > plain.predict_proba(X)[y == 2, 2].mean()
        assert even.certify(X, y).holds
        roots = even.trees_.nodes.value[even.trees_.starts[:-1]]
        if name == "balanced_subsample":
            assert_allclose(roots, 1 / 3, rtol=2e-4)


def test_missing_values_and_categories_are_taken_as_they_are():
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    level = random.choice(list("abcdef"), 400)
    x = random.normal(size=400)
    y = np.isin(level, ["a", "d", "e"]) ^ (random.random(400) < 0.05)
    x[random.random(400) < 0.2] = np.nan
    frame = pd.DataFrame({"x": x, "level": pd.Categorical(level)})
    model = RandomForestClassifier(25, oob_score=True, random_state=0).fit(frame, y)
    assert model.is_categorical_.tolist() == [False, True]
    assert model.oob_score_ > 0.85
    assert model.certify(frame, y).holds


def test_predictions_stay_in_order_under_a_constraint(diabetes):
    X, y = diabetes
    model = RandomForestRegressor(10, monotonic_cst=[0] * 8 + [1, 0], random_state=0).fit(X, y)
    grid = np.repeat(X[:30], 9, axis=0)
    grid[:, 8] = np.tile(np.linspace(-0.12, 0.12, 9), 30)
    assert np.all(np.diff(model.predict(grid).reshape(30, 9), axis=1) >= -1e-9)


def test_pruning_makes_trees_smaller(diabetes):
    X, y = diabetes
    full = RandomForestRegressor(4, random_state=0).fit(X, y)
    cut = RandomForestRegressor(4, random_state=0, ccp_alpha=30.0).fit(X, y)
    assert sum(t.n_leaves for t in cut.trees_) < sum(t.n_leaves for t in full.trees_) / 2
    assert cut.certify(X, y).holds


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bootstrap": False, "oob_score": True}, "'oob_score' .* without bootstrap"),
        ({"bootstrap": False, "max_samples": 0.5}, "'max_samples' .* without bootstrap"),
        ({"max_samples": 10_000}, "at most the number of rows"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "more than two classes"),
        ({"n_jobs": 0}, "'n_jobs'"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, words, iris):
    with pytest.raises(ValueError, match=words) as refusal:
        RandomForestClassifier(**settings).fit(*iris)
    assert "\n" not in str(refusal.value)


def test_one_class_and_negative_counts_are_refused(iris):
    X, _ = iris
    with pytest.raises(ValueError, match="at least two classes"):
        RandomForestClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="at least 0"):
        RandomForestRegressor(2, criterion="poisson").fit(X, np.linspace(-1, 1, len(X)))


def test_hard_targets_and_columns_are_fitted(iris):
    X, y = iris
    table = np.column_stack([X, np.full(len(X), 7.0), np.full(len(X), np.nan)])
    model = RandomForestClassifier(5, random_state=0).fit(table, y)
    assert not np.isin(model.trees_.nodes.feature, [4, 5]).any()
    outlier = np.ones(len(X))
    outlier[:75], outlier[3] = 2.0, 1e12
    fitted = RandomForestRegressor(10, bootstrap=False, random_state=0).fit(X, outlier)
    others = np.arange(len(X)) != 3
    distinct = ~np.all(X[3] == X, axis=1) & others
    assert np.isfinite(fitted.predict(X)).all()
    assert_allclose(np.median(fitted.predict(X)[distinct & (outlier == 1.0)]), 1.0, atol=1e-6)
    constant = RandomForestRegressor(3, random_state=0).fit(X, np.full(len(X), 2.5))
    assert set(constant.predict(X)) == {2.5}


@pytest.mark.spec("sangnier/X-Fig1.14")
def test_ensembles_predict_diabetes_better_than_a_tree(diabetes):
    X, y = diabetes
    models = {
        "tree": DecisionTreeRegressor(),
        "bagging": BaggingRegressor(n_estimators=30, random_state=0),
        "forest": RandomForestRegressor(60, max_features=3, random_state=0),
        "extra": ExtraTreesRegressor(60, max_features=3, random_state=0),
        "boosting": HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=4),
        "kernel ridge": make_pipeline(
            StandardScaler(), KernelRidge(1.0, kernel="rbf", gamma=0.02, fit_intercept=True)
        ),
        "support vectors": make_pipeline(StandardScaler(), SVR(C=30.0, gamma=0.02, epsilon=10.0)),
    }
    scores = {name: cross_val_score(clone(model), X, y, cv=5) for name, model in models.items()}
    for name in [name for name in models if name != "tree"]:
        gap = scores[name] - scores["tree"]
        assert gap.mean() > 3 * gap.std(ddof=1) / np.sqrt(len(gap)), name


def test_damage_to_the_trees_is_seen(iris, forest, numbers, diabetes):
    from dataclasses import replace

    from assay.trees import Trees

    for model, (X, y) in ((forest, iris), (numbers, diabetes)):
        nodes, trees = model.trees_.nodes, model.trees_
        inner = ~nodes.is_leaf
        swapped = nodes.children_left.copy(), nodes.children_right.copy()
        swapped[0][0], swapped[1][0] = nodes.children_right[0], nodes.children_left[0]
        damages = {
            "threshold": {"threshold": np.where(np.arange(len(inner)) == 0, nodes.threshold * 1.3 + 0.01,
                                                nodes.threshold)},
            "value": {"value": nodes.value * np.where(np.arange(len(inner)) == 5, 1.01, 1.0)[:, None]},
            "children": {"children_left": swapped[0], "children_right": swapped[1]},
            "gain": {"gain": nodes.gain * 1.01},
            "weight": {"weighted_n_node_samples": nodes.weighted_n_node_samples * 1.01},
        }  # fmt: skip
        for name, change in damages.items():
            model.trees_ = Trees(trees.starts, trees.bit_starts, replace(nodes, **change))
            assert not model.certify(X, y).holds, name
        model.trees_ = trees
        assert model.certify(X, y).holds
        assert not model.certify(X, np.random.default_rng(0).permutation(y)).holds


def test_trees_that_are_copied_are_seen(iris):
    X, y = iris
    model = RandomForestClassifier(6, random_state=0).fit(X, y)
    from assay.trees import Trees

    model.trees_ = Trees.together([model.trees_[0]] * 6)
    assert not model.certify(X, y).holds  # the others have other bags
    model.seeds_ = np.repeat(model.seeds_[:1], 6)
    quantities = [certificate.quantity for certificate in model.certify(X, y).failed]
    assert quantities[0] == "seeds that occur twice"
    assert "fresh trees" in quantities[1]  # six copies are worth one


def test_breimans_bound_is_above_the_out_of_bag_error_and_vacuous_for_noise(iris):
    X, y = iris
    model = RandomForestClassifier(60, random_state=0).fit(X, y)
    bound = model.certify(X, y).named("out-of-bag error, Breiman's bound")
    assert bound.value <= bound.bound < 1
    assert bound.verdict == "bound"
    noise = np.random.default_rng(0).permutation(y)
    guess = RandomForestClassifier(60, random_state=0).fit(X, noise)
    bound = guess.certify(X, noise).named("out-of-bag error, Breiman's bound")
    assert bound.vacuous
    assert guess.certify(X, noise).holds


def test_single_trees_are_estimators(iris, forest):
    X, _ = iris
    single = forest.estimators_[3]
    assert_allclose(single.predict_proba(X), forest.trees_[3].predict(X))
    assert np.array_equal(forest.apply(X)[:, 3], single.apply(X))
    paths, starts = forest.decision_path(X[:5])
    assert paths.shape == (5, starts[-1])
    assert np.all(np.asarray(paths.sum(axis=1)) >= len(forest.trees_))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_column_without_any_value_changes_nothing(place):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    empty = np.insert(X, place, np.nan, axis=1)
    settings = {"n_estimators": 5, "random_state": 0, "max_features": None}
    model = RandomForestRegressor(**settings).fit(empty, y)
    assert model.feature_importances_[place] == 0
    assert model.certify(empty, y).holds
    assert model.score(empty, y) > 0.8


def test_bins_of_forests_are_not_wide_in_the_tails_and_a_far_value_takes_none_from_others():
    values = np.random.default_rng(0).standard_normal(20_000)
    X = np.column_stack([values, np.append(values[1:], 1e300), np.arange(20_000) % 200])
    none = np.zeros(3, dtype=bool)
    alike, spread = (bin_columns(X, None, none, spread=wide) for wide in (False, True))
    assert spread.n_codes.tolist() == [255, 255, 200]
    widths = [(c.high - c.low)[:255] for c in (alike, spread)]
    assert widths[1].max() < 0.5 * widths[0].max()  # the outermost
    counts = np.bincount(spread.encode(X, by_column=False)[:, 0], minlength=255)
    assert counts.max() < 4 * len(X) / 255  # and none holds many rows
    # Rounding to the middle of the bins is less far off.
    errors = []
    for c in (alike, spread):
        codes = c.encode(X, by_column=False)[:, 0]
        errors.append(np.mean((values - (0.5 * (c.low + c.high))[codes]) ** 2))
    assert errors[1] < 0.3 * errors[0]
    assert spread.low[509] == spread.high[509] == 1e300
    assert np.abs(spread.cuts[:253] - spread.cuts[255:508]).mean() < 0.05
