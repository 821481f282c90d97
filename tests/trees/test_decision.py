"""Single trees: splits against brute force and scikit-learn, constraints, categories, missing values."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from assay.trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from assay.trees.growing.whole import grow

IMPURITIES = {
    "gini": lambda p: 1 - np.sum(p**2),
    "entropy": lambda p: -np.sum(p[p > 0] * np.log(p[p > 0])),
    "misclassification": lambda p: 1 - p.max(),
}


def cost_of(y, w, criterion):
    """Weight times impurity, from the definition."""
    if len(y) == 0 or w.sum() == 0:
        return 0.0
    if criterion in IMPURITIES:
        p = np.bincount(y, w) / w.sum()
        return w.sum() * IMPURITIES[criterion](p)
    mean = np.average(y, weights=w)
    if criterion == "poisson":
        return np.inf if mean <= 0 else -w @ (y * np.log(mean))
    return w @ (y - mean) ** 2


def best_first_split(X, y, w, criterion):
    """The largest gain over all columns and all midpoints of values."""
    whole, best = cost_of(y, w, criterion), (-np.inf, -1, np.nan)
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for threshold in (values[1:] + values[:-1]) / 2:
            left = X[:, j] <= threshold
            gain = whole - cost_of(y[left], w[left], criterion) - cost_of(y[~left], w[~left], criterion)
            if gain > best[0] + 1e-9:
                best = (gain, j, threshold)
    return best


@pytest.mark.spec("wei/M8.1", "sangnier/M-1.6.2-a")
@pytest.mark.parametrize("criterion", IMPURITIES)
def test_the_first_split_of_classes_is_the_best_of_all(flowers, criterion):
    X, y = flowers
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    tree = DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(X, y, w).tree_
    gain, column, threshold = best_first_split(X, y, w, criterion)
    assert tree.gain[0] == pytest.approx(gain, rel=1e-6)
    assert (tree.feature[0], tree.threshold[0]) == (column, pytest.approx(threshold))


@pytest.mark.spec("sangnier/M-1.6.2-a")
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_the_first_split_of_numbers_is_the_best_of_all(patients, criterion):
    X, y = patients
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    tree = DecisionTreeRegressor(criterion=criterion, max_depth=1).fit(X, y, w).tree_
    gain, column, threshold = best_first_split(X, y, w, criterion)
    assert tree.gain[0] == pytest.approx(gain, rel=1e-6)
    assert (tree.feature[0], tree.threshold[0]) == (column, pytest.approx(threshold))


@pytest.mark.spec("sangnier/T-1.6.2-a")
def test_friedmans_gain_is_the_decrease_of_the_squared_error_and_gives_the_same_tree(patients):
    X, y = patients
    for j in (0, 2, 8):
        for threshold in np.quantile(X[:, j], [0.2, 0.5, 0.8]):
            left = X[:, j] <= threshold
            n, m = left.sum(), (~left).sum()
            friedman = n * m / (n + m) * (y[left].mean() - y[~left].mean()) ** 2
            decrease = cost_of(y, np.ones(len(y)), "") - sum(
                cost_of(y[side], np.ones(side.sum()), "") for side in (left, ~left)
            )
            assert friedman == pytest.approx(decrease)
    ours = DecisionTreeRegressor(criterion="friedman_mse", max_depth=4).fit(X, y).tree_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = TheirRegressor(criterion="friedman_mse", max_depth=3, random_state=0).fit(X, y)
    assert ours == DecisionTreeRegressor(max_depth=4).fit(X, y).tree_
    small = DecisionTreeRegressor(criterion="friedman_mse", max_depth=3).fit(X, y)
    assert_allclose(small.predict(X), theirs.predict(X))


@pytest.mark.parametrize("limits", [{}, {"max_depth": 4}, {"min_samples_leaf": 7}, {"min_samples_split": 30}])
def test_trees_are_those_of_scikit_learn(flowers, patients, limits):
    X, y = patients
    ours, theirs = (
        DecisionTreeRegressor(**limits).fit(X, y),
        TheirRegressor(random_state=0, **limits).fit(X, y),
    )
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    if limits:  # full trees meet ties between columns, which may be broken in either way
        assert_allclose(ours.predict(X), theirs.predict(X))
        assert_allclose(np.sort(ours.tree_.impurity), np.sort(theirs.tree_.impurity), atol=1e-6)
    X, y = flowers
    ours = DecisionTreeClassifier(**limits).fit(X, y)
    theirs = TheirClassifier(random_state=0, **limits).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.score(X, y) == theirs.score(X, y)


@pytest.mark.parametrize("n_leaves", [2, 5, 9])
def test_best_first_growth_takes_the_largest_gain_first(patients, n_leaves):
    X, y = patients
    ours = DecisionTreeRegressor(max_leaf_nodes=n_leaves).fit(X, y)
    theirs = TheirRegressor(max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X))


def test_an_exclusive_or_is_learnt_though_its_first_split_gains_nothing():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=float)
    y = np.array([0, 1, 1, 0] * 3)
    for kind in (DecisionTreeClassifier, DecisionTreeRegressor):
        model = kind().fit(X, y)
        assert model.score(X, y) == 1
        assert model.tree_.gain[0] == 0
        assert model.certify(X, y).holds


def test_whole_targets_are_predicted_exactly(patients):
    X, y = patients
    assert np.array_equal(DecisionTreeRegressor().fit(X, y).predict(X), y)


def test_one_target_of_a_million_millions_does_not_blind_the_rest(patients):
    X, y = patients
    y = y.copy()
    y[0] = 1e12
    model = DecisionTreeRegressor().fit(X, y)
    assert np.array_equal(model.predict(X), y)
    assert model.certify(X, y).holds


def test_whole_weights_give_the_tree_of_repeated_rows_to_the_last_bit(with_gaps):
    X, y, weight = with_gaps
    keep = np.repeat(np.arange(len(y)), weight.astype(int))
    y = y + 0.1 * np.sin(np.arange(len(y)))
    for model in (DecisionTreeRegressor(), DecisionTreeRegressor(min_samples_leaf=9, max_leaf_nodes=20)):
        first = model.fit(X, y, weight).tree_
        second = model.fit(X[keep], y[keep]).tree_
        for name in ("feature", "threshold", "value", "gain", "weighted_n_node_samples", "children_left"):
            assert np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True), name


def test_the_order_of_the_rows_changes_no_bit(with_gaps):
    X, y, weight = with_gaps
    order = np.random.default_rng(1).permutation(len(y))
    for model in (DecisionTreeRegressor(), DecisionTreeRegressor(max_features=3, random_state=0)):
        first = model.fit(X, y, weight).tree_
        second = model.fit(X[order], y[order], weight[order]).tree_
        assert np.array_equal(first.value, second.value)
        assert np.array_equal(first.threshold, second.threshold, equal_nan=True)


def test_rows_without_a_value_go_where_they_cost_less(patients):
    X, y = patients
    X = X[:, [2]].copy()
    high = y > np.quantile(y, 0.7)
    X[high] = np.nan
    model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    assert model.tree_.threshold[0] == np.finfo(float).max
    assert model.rules()[1].startswith("x0 is missing")
    assert model.predict([[np.nan]]) == pytest.approx(y[high].mean())
    X[high, 0] = X[~high].max() + 1 + np.arange(high.sum())
    seen = DecisionTreeRegressor(max_depth=1).fit(X, y)
    assert seen.predict([[np.nan]]) == pytest.approx(
        y[~high].mean()
    )  # missing after the fit: the heavier side


def test_levels_are_divided_in_the_best_way_of_all():
    random = np.random.default_rng(0)
    for n_classes in (0, 2, 3):
        codes = random.integers(0, 6, 300)
        target = random.permutation(6)[codes] % 3
        y = (
            target + random.normal(size=300)
            if not n_classes
            else (target + random.integers(0, 2, 300)) % n_classes
        )
        kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
        model = kind(categorical_features=[0], max_depth=1).fit(codes[:, np.newaxis].astype(float), y)
        criterion, ones = "gini" if n_classes else "squared_error", np.ones(300)
        best = max(
            cost_of(y, ones, criterion)
            - cost_of(y[side], ones[side], criterion)
            - cost_of(y[~side], ones[~side], criterion)
            for bits in range(1, 32)
            for side in [np.isin(codes, np.flatnonzero([bits >> k & 1 for k in range(6)]))]
        )
        assert model.tree_.gain[0] == pytest.approx(best, rel=1e-6)
        assert model.certify(codes[:, np.newaxis].astype(float), y).holds


def test_categories_of_frames_are_levels_and_unseen_ones_are_told():
    pl = pytest.importorskip("polars")
    random = np.random.default_rng(0)
    colour, x = random.choice(["red", "green", "blue", "grey"], 200), random.normal(size=200)
    y = 2.0 * np.isin(colour, ["red", "grey"]) + x
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "x": x})
    model = DecisionTreeRegressor(max_leaf_nodes=4).fit(frame, y)
    assert model.is_categorical_.tolist() == [True, False]
    assert model.rules()[0].startswith("colour in {")
    assert model.certify(frame, y).holds
    named = DecisionTreeRegressor(max_leaf_nodes=4, categorical_features=["colour"])
    text = frame.assign(colour=frame["colour"].astype(object))
    polar = pl.DataFrame({"colour": colour, "x": x}).with_columns(pl.col("colour").cast(pl.Categorical))
    assert np.array_equal(named.fit(text, y).predict(text), model.predict(frame))
    assert np.array_equal(
        DecisionTreeRegressor(max_leaf_nodes=4).fit(polar, y).predict(polar), model.predict(frame)
    )
    new = pd.DataFrame({"colour": ["red", "violet"], "x": [0.0, 0.0]})
    with pytest.warns(UserWarning, match="'violet'"):
        said = model.predict(new)
    gone = pd.DataFrame({"colour": [None], "x": [0.0]})
    assert said[1] == model.predict(gone)[0]


def test_more_levels_than_a_byte_counts_share_a_code():
    codes = np.arange(900) % 300
    y = (codes % 2).astype(float)
    model = DecisionTreeRegressor(categorical_features=[0], max_depth=1).fit(codes[:, np.newaxis] * 1.0, y)
    assert model.columns_.n_codes[0] == 254
    assert model.score(codes[:, np.newaxis] * 1.0, y) > 0.6
    assert model.certify(codes[:, np.newaxis] * 1.0, y).holds


@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_column_is_so_everywhere(patients, sign):
    X, y = patients
    signs = [0, 0, sign, 0, 0, 0, 0, 0, sign, 0]
    grid = np.linspace(-0.1, 0.2, 40)
    for model, target in ((DecisionTreeRegressor(), y), (DecisionTreeClassifier(), (y > 140).astype(int))):
        model.set_params(monotonic_cst=signs).fit(X, target)
        say = (
            (lambda rows, m=model: m.predict_proba(rows)[:, 1])
            if hasattr(model, "classes_")
            else model.predict
        )
        for row in X[::40]:
            for j in (2, 8):
                rows = np.tile(row, (40, 1))
                rows[:, j] = grid
                assert np.all(sign * np.diff(say(rows)) >= 0)
        assert model.certify(X, target).holds


def test_columns_of_different_groups_never_meet(patients):
    X, y = patients
    groups = [[0, 2, 3], [8, 9]]
    model = DecisionTreeRegressor(interaction_cst=groups, max_depth=5).fit(X, y)
    sets = [{0, 2, 3}, {8, 9}, {1, 4, 5, 6, 7}]
    for leaf in np.flatnonzero(model.tree_.is_leaf):
        used = set(model.tree_.feature[model.tree_.paths[leaf][:-1]].tolist())
        assert any(used <= group for group in sets)
    assert len(set(model.tree_.feature.tolist())) > 2


@pytest.mark.spec("sangnier/T-1.6.2-b")
def test_a_label_drawn_from_the_leaf_errs_as_often_as_its_gini_index(patients):
    X, y = patients
    y = (y > 140).astype(int)
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    leaves, n_draws = model.apply(X), 400
    wrong = np.mean([model.predict_random(X, random_state=seed) != y for seed in range(n_draws)], axis=0)
    for leaf in np.unique(leaves):
        p = model.tree_.value[leaf, 1]
        gini = 2 * p * (1 - p)
        rows = np.sum(leaves == leaf)
        assert model.tree_.impurity[leaf] == pytest.approx(gini)
        assert abs(wrong[leaves == leaf].mean() - gini) < 4 * np.sqrt(gini / (rows * n_draws)) + 1e-12


@pytest.mark.spec("wei/M8.1")
def test_probabilities_and_log_odds_are_sums_over_the_cells(flowers):
    X, y = flowers
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    boxes = model.boxes()
    inside = np.array([box.contains(X) for box in boxes])
    assert np.all(inside.sum(axis=0) == 1)
    shares = np.array([np.bincount(y[cell], minlength=3) / cell.sum() for cell in inside])
    assert_allclose(np.array([box.value for box in boxes]), shares)
    assert_allclose(model.predict_proba(X), inside.T @ shares)
    assert_allclose([box.weight for box in boxes], inside.sum(axis=1))
    two = DecisionTreeClassifier(max_depth=1).fit(X, y == 1)
    p = two.predict_proba(X)[:, 1]
    with np.errstate(divide="ignore"):
        assert_allclose(two.log_odds(X), np.log(p) - np.log(1 - p))


def test_levels_become_their_codes_and_what_is_no_level_is_missing(rng):
    """Levels 0, 1, 2, … (of the first column), others, and so many that some share a code."""
    many = rng.permutation(600)[:500].astype(float)
    X = np.column_stack([np.arange(500) % 7, rng.choice([2.0, 5.5, -1.0], 500), many, rng.normal(size=500)])
    columns = DecisionTreeRegressor(categorical_features=[0, 1, 2]).fit(X, X.sum(axis=1)).columns_
    asked = np.concatenate([X, [[-1.0, 0.0, 0.5, 1.0], [7.0, np.nan, -3.0, 2.0], [2.5, 5.5, 601.0, np.nan]]])
    codes = columns.levels_as_codes(asked)
    for j in range(3):
        part = slice(columns.offsets[j], columns.offsets[j + 1])
        code = dict(zip(columns.low[part], columns.shared[part], strict=True))
        assert_array_equal(codes[:, j], [code.get(value, np.nan) for value in asked[:, j]])
    assert_array_equal(codes[:, 3], asked[:, 3])
    assert np.isnan(codes[500:, 0]).all()
    assert columns.shared[columns.offsets[2] : columns.offsets[3]].max() < 499


def test_boxes_hold_their_rows_with_gaps_and_levels(with_gaps):
    X, y, weight = with_gaps
    model = DecisionTreeRegressor(categorical_features=[1], max_leaf_nodes=15).fit(X, y, weight)
    leaves = model.apply(X)
    codes = model.columns_.levels_as_codes(X)
    for box in model.boxes():
        assert np.array_equal(box.contains(codes), leaves == box.leaf)
    assert len(model.rules()) == 15
    path = model.decision_path(X)
    assert np.array_equal(path[np.arange(len(X)), leaves].A1 if hasattr(path, "A1") else
                          np.asarray(path[np.arange(len(X)), leaves]).ravel(), np.ones(len(X)))  # fmt: skip
    assert np.array_equal(np.asarray(path.sum(axis=1)).ravel(), model.tree_.depths[leaves] + 1)


def stump_errors(X, y, w):
    """Weighted error of every stump ±sign(x_j − s)."""
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for s in np.concatenate([[-np.inf], (values[1:] + values[:-1]) / 2]):
            above = X[:, j] > s
            yield w[above != y].sum() / w.sum()
            yield w[above == y].sum() / w.sum()


def test_the_stump_is_the_best_of_all_stumps_of_either_polarity():
    random = np.random.default_rng(0)
    for _ in range(20):
        X, y = random.integers(0, 5, (30, 3)).astype(float), random.integers(0, 2, 30)
        w = random.dirichlet(np.ones(30))
        stump = DecisionStump().fit(X, y, w)
        assert stump.error_ == pytest.approx(min(stump_errors(X, y.astype(bool), w)), abs=1e-7)
        assert stump.error_ == pytest.approx(w[stump.predict(X) != y].sum(), abs=1e-7)
        assert stump.certify(X, y, w).holds
        if stump.polarity_:
            sign = np.where(X[:, stump.feature_] > stump.threshold_, 1, -1) * stump.polarity_
            assert np.array_equal(stump.decision_function(X), sign)


def test_weights_that_sum_to_one_still_split(flowers):
    X, y = flowers
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=20, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"monotonic_cst": [1, 0]}, "one for each of the 4 columns"),
        ({"monotonic_cst": [1, 0, 0, 0], "categorical_features": [0]}, "columns of categories"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "more than two classes"),
        ({"interaction_cst": [[0, 9]]}, "places or names of columns"),
        ({"categorical_features": [7]}, "places of columns below 4"),
        ({"categorical_features": ["colour"]}, "has no 'colour'"),
        ({"max_depth": 0}, "an int at least 1"),
    ],
)
def test_bad_settings_are_one_sentence(flowers, parameters, words):
    with pytest.raises(ValueError, match=words):
        DecisionTreeClassifier(**parameters).fit(*flowers)


def test_bad_targets_are_one_sentence(patients):
    X, y = patients
    with pytest.raises(ValueError, match="at least 0"):
        DecisionTreeRegressor(criterion="poisson").fit(X, -y)
    with pytest.raises(ValueError, match="scale it first"):
        DecisionTreeRegressor().fit(X, y * 1e200)
    with pytest.raises(ValueError, match="two classes"):
        DecisionTreeClassifier().fit(X, np.zeros(len(X)))


def test_hard_tables_have_trees():
    X = np.array([[np.nan, 1.0, 5.0]] * 6)
    for y in (np.arange(6.0), np.ones(6)):
        model = DecisionTreeRegressor().fit(X, y)
        assert model.get_n_leaves() == 1
        assert model.predict(X[:1])[0] == y.mean()
        assert model.certify(X, y).holds
    model = DecisionTreeClassifier(min_samples_leaf=50).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert model.get_n_leaves() == 1


@pytest.mark.parametrize(
    ("kind", "criteria"),
    [(DecisionTreeClassifier, ["entropy", "misclassification"]), (DecisionTreeRegressor, ["poisson"])],
)
def test_criteria_drawn_cuts_and_levels_are_values_for_which_nothing_is_compiled(flowers, kind, criteria):
    X, y = flowers[0].round(), flowers[1]
    kind(max_depth=2).fit(X, y)
    compiled = len(grow.signatures)
    for criterion in criteria:
        kind(max_depth=2, criterion=criterion).fit(X, y)
        kind(max_depth=2, criterion=criterion, splitter="random", random_state=0).fit(X, y)
    kind(max_leaf_nodes=4, max_features=2, categorical_features=[0], random_state=0).fit(X, y)
    assert len(grow.signatures) == compiled


def test_columns_of_no_group_form_one():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = 0.1 * X[:, 0] + 2 * X[:, 1] + X[:, 2]
    tree = DecisionTreeRegressor(interaction_cst=[[0]]).fit(X, y).tree_
    seen = {frozenset(tree.feature[path[:-1]]) for path in tree.paths}
    assert frozenset({1, 2}) in seen
    assert not any(len(columns) > 1 for columns in seen if 0 in columns)


def test_all_groupings_of_eight_levels_are_tried_with_six_classes():
    for seed in range(12):
        random = np.random.default_rng(seed)
        levels = random.integers(0, 8, 200)
        y = random.integers(0, 6, 200)  # of noise the best grouping is seldom in the order of any class
        counts = np.array([np.bincount(y[levels == level], minlength=6) for level in range(8)])

        def cost(group, counts=counts):
            inside = counts[list(group)].sum(axis=0)
            return inside.sum() - inside @ inside / max(inside.sum(), 1)

        halves = [set(half) for size in range(1, 8) for half in combinations(range(8), size)]
        best = min(cost(half) + cost(set(range(8)) - half) for half in halves)
        model = DecisionTreeClassifier(max_depth=1, categorical_features=[0])
        tree = model.fit(levels[:, np.newaxis].astype(float), y).tree_
        costs = tree.weighted_n_node_samples * tree.impurity
        assert costs[tree.is_leaf].sum() == pytest.approx(best, rel=1e-9)
