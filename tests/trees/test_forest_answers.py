"""What forests say beside predictions: importance of columns, quantiles, intervals, pictures, variance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor as TheirForest

from assay.theory import ensemble_variance_decomposition
from assay.trees import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.trees.forest.importance import decrease_of_rows


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def kept(diabetes):
    X, y = diabetes
    return RandomForestRegressor(60, max_features=4, keep_rows=True, random_state=0).fit(X[:300], y[:300])


@pytest.mark.spec("wei/M8.5")
def test_importance_is_the_mean_decrease_of_impurity_over_the_trees(diabetes, kept):
    result = kept.importance()
    expected = []
    for tree in kept.trees_:  # impurity of the node less that of its sides, from the nodes alone
        cost = tree.weighted_n_node_samples * tree.impurity
        inner = ~tree.is_leaf
        gain = cost[inner] - cost[tree.children_left[inner]] - cost[tree.children_right[inner]]
        total = np.bincount(tree.feature[inner], gain, minlength=10)
        expected.append(total / total.sum())
    assert_allclose(result.importances, np.mean(expected, axis=0), rtol=1e-6)
    assert_allclose(result.standard_errors, np.std(expected, axis=0, ddof=1) / np.sqrt(60), rtol=1e-6)
    assert_allclose(kept.feature_importances_, result.importances)
    assert kept.feature_importances_.sum() == pytest.approx(1.0)
    assert set(np.argsort(result.importances)[-2:]) == {2, 8}  # body mass index and s5


def test_on_the_rows_of_its_bag_the_unbiased_decrease_is_what_the_splits_gain(diabetes):
    X, y = diabetes
    labels = (y > np.median(y)).astype(int)
    for kind, target, n_classes in ((RandomForestRegressor, y, 0), (RandomForestClassifier, labels, 2)):
        model = kind(3, max_depth=6, random_state=0).fit(X, target)
        forest = model._opened_again(X, target, None)[1]
        for tree, seed in zip(model.trees_, model.seeds_, strict=True):
            weight = forest.weights(int(seed))[1]
            gains = np.bincount(tree.feature[~tree.is_leaf], tree.gain[~tree.is_leaf], minlength=10)
            assert_allclose(decrease_of_rows(tree, X, target, weight, n_classes), gains, rtol=1e-6)


def test_impurity_favours_columns_of_many_values_and_the_others_do_not():
    measured = {"impurity": [], "unbiased": [], "permutation": []}
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = np.column_stack([random.integers(0, 2, 120), random.normal(size=120), random.integers(0, 2, 120)])
        y = np.where(random.random(120) < 0.25, 1 - X[:, 0], X[:, 0]).astype(int)
        model = RandomForestClassifier(12, max_features=1, random_state=seed).fit(X, y)
        for kind, values in measured.items():
            values.append(model.importance(kind, X, y, random_state=seed).importances)
    # Noise of many values gets most of the impurity; over tables the others give noise 0 on average.
    assert np.mean(measured["impurity"], axis=0)[1] > 0.5
    for kind in ("unbiased", "permutation"):
        values = np.array(measured[kind])
        errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        assert np.all(np.abs(values.mean(axis=0)[1:]) < 3.5 * errors[1:]), kind
        assert values.mean(axis=0)[0] > 5 * errors[0], kind
    result = model.importance("unbiased", X, y)
    assert result.conf_int().shape == (3, 2)
    assert "x0" in str(result)


def test_kinds_that_need_rows_outside_the_bags_say_so(diabetes):
    X, y = diabetes
    model = RandomForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="needs X and y"):
        model.importance("unbiased")
    with pytest.raises(ValueError, match="'kind' parameter of importance"):
        model.importance("gini")
    whole = RandomForestRegressor(2, bootstrap=False, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="bootstrap=True"):
        whole.importance("permutation", X, y)
    with pytest.raises(ValueError, match="keep_rows=True"):
        model.predict_quantile(X)
    with pytest.raises(ValueError, match="'coverage' parameter"):
        RandomForestRegressor(2, keep_rows=True, random_state=0).fit(X, y).predict_interval(X, coverage=1.5)


def test_quantiles_are_those_of_rows_that_share_leaves(diabetes, kept):
    X, y = diabetes
    new = X[300:310]
    levels = np.array([0.1, 0.5, 0.9])
    weights = np.zeros((len(new), 300))
    for tree, bag in zip(kept.trees_, kept.kept_.weights, strict=True):
        shared = (tree.apply(new)[:, np.newaxis] == tree.apply(X[:300])) * bag
        weights += shared / shared.sum(axis=1, keepdims=True)
    order = np.argsort(y[:300], kind="stable")
    upto = np.cumsum(weights[:, order], axis=1) / len(kept.trees_)
    expected = [[y[:300][order][np.argmax(row >= level - 1e-9)] for level in levels] for row in upto]
    assert_allclose(kept.predict_quantile(new, levels), expected)
    assert_allclose(kept.predict_quantile(new), np.array(expected)[:, 1])
    # The mean of the same weights is the forest's prediction.
    assert_allclose(weights @ y[:300] / len(kept.trees_), kept.predict(new))


def test_intervals_are_the_jackknife_plus_after_the_bootstrap(diabetes, kept):
    X, y = diabetes
    new = X[300:306]
    outside = kept.kept_.weights == 0
    on_rows = np.array([tree.predict(X[:300])[:, 0] for tree in kept.trees_])
    said = np.array([tree.predict(new)[:, 0] for tree in kept.trees_])
    lower, upper = [], []
    for i in range(300):
        without = outside[:, i]
        residual = abs(y[i] - on_rows[without, i].mean())
        lower.append(said[without].mean(axis=0) - residual)
        upper.append(said[without].mean(axis=0) + residual)
    rank = int(np.ceil(0.9 * 301))
    expected = np.column_stack(
        [-np.sort(-np.array(lower), axis=0)[rank - 1], np.sort(upper, axis=0)[rank - 1]]
    )
    assert_allclose(kept.predict_interval(new, coverage=0.9), expected)


def test_intervals_cover():
    random = np.random.default_rng(1)
    X = random.uniform(-2, 2, (900, 2))
    y = np.sin(2 * X[:, 0]) + 0.4 * random.normal(size=900)
    model = RandomForestRegressor(40, keep_rows=True, random_state=0).fit(X[:400], y[:400])
    ends = model.predict_interval(X[400:], coverage=0.9)
    covered = np.mean((ends[:, 0] <= y[400:]) & (y[400:] <= ends[:, 1]))
    spread = np.sqrt(0.9 * 0.1 * (1 / 500 + 1 / 400))
    assert abs(covered - 0.9) < 4 * spread
    few = RandomForestRegressor(40, keep_rows=True, random_state=0).fit(X[:6], y[:6])
    assert np.isinf(few.predict_interval(X[:2], coverage=0.95)).all()


def test_kept_rows_that_are_damaged_are_seen(diabetes, kept):
    from dataclasses import replace

    X, y = diabetes
    good = kept.kept_
    assert kept.certify(X[:300], y[:300]).holds
    for name in ("leaves", "weights", "target", "weight"):
        value = getattr(good, name)
        moved = value.copy()
        moved.flat[7] += 1
        kept.kept_ = replace(good, **{name: moved})
        assert not kept.certify(X[:300], y[:300]).holds, name
    kept.kept_ = good


@pytest.mark.spec("wei/T8.1")
def test_the_variance_of_a_mean_of_trees_is_the_formula_and_fewer_columns_lower_the_correlation():
    def draw(random):
        X = random.normal(size=(80, 4))
        return X, X[:, 0] + 0.5 * X[:, 1] ** 2 + random.normal(size=80)

    at = np.random.default_rng(5).normal(size=(40, 4))
    result = ensemble_variance_decomposition(
        draw, 10, at=at, max_features=[1, 4], n_repeats=80, random_state=0
    )
    # Points share training sets, so the spread over points misses their common part: twice the relative
    # error √(2/39) of a variance from 40 sets is added.
    room = 3 * result.standard_error + 2 * np.sqrt(2 / 39) * result.predicted / np.sqrt(10)
    assert np.all(np.abs(result.observed - result.predicted) < room)
    assert result.correlation[0] < result.correlation[1]  # that of a forest below that of bagging
    assert_allclose(result.limit, result.correlation * result.variance)
    formula = result.limit + (1 - result.correlation) * result.variance / 10
    assert_allclose(result.predicted, formula)
    assert np.all(result.observed < result.variance)


@pytest.mark.spec("sangnier/X-Fig1.13")
def test_the_picture_of_single_trees_shows_them_and_their_mean():
    from assay.display import SingleMembersDisplay

    random = np.random.default_rng(0)
    x = np.sort(random.uniform(0, 6, 80)).reshape(-1, 1)
    y = np.sin(x[:, 0]) + 0.3 * random.normal(size=80)
    for model in (
        BaggingRegressor(n_estimators=20, random_state=0),
        RandomForestRegressor(20, random_state=0),
    ):
        shown = SingleMembersDisplay.from_estimator(model.fit(x, y), x, y)
        assert shown.singles.shape == (12, 500)
        assert_allclose(shown.mean, model.predict(shown.grid.reshape(-1, 1)))
        # The mean is smoother than any single tree, and nearer to the truth.
        truth = np.sin(shown.grid)
        assert np.mean((shown.mean - truth) ** 2) < np.min(np.mean((shown.singles - truth) ** 2, axis=1))
        lines = shown.ax_.get_lines()
        assert len(lines) == 13
    with pytest.raises(ValueError, match="needs one feature"):
        SingleMembersDisplay.from_estimator(model.fit(np.hstack([x, x]), y), np.hstack([x, x]))


def test_pictures_of_importance_and_out_of_bag_error(diabetes):
    from assay.display import ImportanceDisplay, OutOfBagDisplay

    X, y = diabetes
    model = RandomForestRegressor(40, max_features=3, oob_score=True, random_state=0).fit(X, y)
    shown = ImportanceDisplay.from_estimator(model, X, y, measure="unbiased")
    assert shown.noise is not None
    assert shown.noise < shown.importances[:2].min() / 5
    assert np.all(np.diff(shown.importances) <= 0)
    assert ImportanceDisplay.from_estimator(model).noise is None
    assert_allclose(OutOfBagDisplay.from_estimator(model).errors, model.oob_errors_)
    with pytest.raises(ValueError, match="oob_score=True"):
        OutOfBagDisplay.from_estimator(RandomForestRegressor(2, random_state=0).fit(X, y))


def test_the_place_of_a_column_does_not_decide_between_equal_cuts():
    """Two equal columns share the splits of a forest that tries both in every node."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(80)
    y = x + rng.standard_normal(80)
    model = RandomForestRegressor(20, random_state=0).fit(np.column_stack([x, x]), y)
    columns = np.concatenate([tree.feature[tree.feature >= 0] for tree in model.trees_])
    assert abs(columns.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(columns))


def test_a_value_in_the_middle_of_a_gap_goes_left_as_in_scikit_learn():
    # Where z is 0, x is 1 or 3; rows of z = 1 have a 2 as well, which gives it a bin of its own.
    x, z = np.array([1.0, 3.0, 1.0, 2.0, 3.0]).repeat(20), np.array([0, 0, 1, 1, 1]).repeat(20)
    X, y = np.column_stack([z, x]), np.where(z == 1, 50.0, x)
    ours = RandomForestRegressor(10, random_state=0).fit(X, y)
    theirs = TheirForest(10, random_state=0).fit(X, y)
    assert ours.predict([[0.0, 2.0]]) == theirs.predict([[0.0, 2.0]]) == 1.0


def test_random_cuts_are_anywhere_in_the_gap_that_they_fall_in():
    """Between two groups the mean of many trees rises in a line, and rows of the fit keep their side."""
    x = np.concatenate([np.zeros(30), np.full(30, 100.0), np.arange(101.0)])
    others = np.arange(161) >= 60  # apart from the two groups, they only make bins in between
    y = np.where(others, 50.0, x > 50)
    X = np.column_stack([x, others])
    model = ExtraTreesRegressor(400, random_state=0).fit(X, y)
    assert np.array_equal(model.predict(X), y)
    asked = np.arange(5.0, 100.0, 10.0)
    error = np.sqrt(asked / 100 * (1 - asked / 100) / 400)
    said = model.predict(np.column_stack([asked, np.zeros(10)]))
    assert np.all(np.abs(said - asked / 100) < 4 * error + 0.01)
    X = np.round(np.random.default_rng(0).standard_normal((300, 3)), 1)
    labels = np.unique(X, axis=0, return_inverse=True)[1].ravel().astype(float)
    assert ExtraTreesRegressor(20, random_state=0).fit(X, labels).predict(X) == pytest.approx(labels)


def test_so_many_rows_kept_are_rows_of_the_fit_and_their_intervals_cover():
    random = np.random.default_rng(7)
    X = random.normal(size=(1200, 3))
    y = X[:, 0] + random.normal(size=1200)
    some = RandomForestRegressor(30, keep_rows=90, random_state=0).fit(X[:400], y[:400])
    every = RandomForestRegressor(30, keep_rows=True, random_state=0).fit(X[:400], y[:400])
    kept = np.linspace(0, 399, 90).astype(int)
    np.testing.assert_array_equal(some.kept_.target, y[kept])
    np.testing.assert_array_equal(some.kept_.leaves, every.kept_.leaves[:, kept])
    np.testing.assert_array_equal(some.kept_.weights, every.kept_.weights[:, kept])
    low, high = some.predict_interval(X[400:], coverage=0.9).T
    held = np.mean((low <= y[400:]) & (y[400:] <= high))
    assert abs(held - 0.9) <= 3 * np.sqrt(0.09 * (1 / 90 + 1 / 800))
    assert some.certify(X[:400], y[:400]).holds
    whole = RandomForestRegressor(3, keep_rows=10_000, random_state=0).fit(X[:50], y[:50])
    assert len(whole.kept_.target) == 50
    some.kept_.weights[0, 0] += 1
    assert not some.certify(X[:400], y[:400]).holds


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 300])
def test_rows_sent_down_together_reach_the_leaves_that_single_trees_send_them_to(n_rows, with_gaps):
    X, y, _ = with_gaps
    for settings in ({}, {"max_leaf_nodes": 4}, {"min_samples_leaf": len(X)}):
        model = RandomForestRegressor(7, random_state=0, **settings).fit(X, y)
        some = X[:n_rows]
        leaves = np.column_stack([tree.apply(some) for tree in model.trees_])
        assert np.array_equal(model.apply(some), leaves)
        values = [tree.value[leaves[:, place], 0] for place, tree in enumerate(model.trees_)]
        np.testing.assert_allclose(model.predict(some), np.mean(values, axis=0), rtol=1e-14)
