"""Bad and hard input: trees and forests answer with the right numbers, or refuse in one sentence."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from assay.trees import (
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.trees.forest import bag

REGRESSORS = [
    DecisionTreeRegressor(),
    RandomForestRegressor(5, random_state=0),
    ExtraTreesRegressor(5, random_state=0),
]
CLASSIFIERS = [
    DecisionTreeClassifier(),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesClassifier(5, random_state=0),
]
numbers = pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
classes = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
both = pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=lambda model: type(model).__name__)


def nodes_of(model):
    return model.tree_ if hasattr(model, "tree_") else model.trees_.nodes


def sentence(call):
    """What a refused call says, in one line that ends."""
    with pytest.raises((ValueError, TypeError)) as refusal:
        call()
    text = str(refusal.value)
    assert "\n" not in text
    assert text.rstrip().endswith(".")
    return text


@pytest.fixture(scope="module")
def steps():
    """Two columns, a target that the first decides."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 2))
    return X, (X[:, 0] > 0.2).astype(float)


@both
def test_columns_that_are_missing_or_constant_are_never_cut(model, steps):
    X, y = steps
    table = np.column_stack([X, np.full(len(X), np.nan), np.full(len(X), 3.0)])
    fitted = model.fit(table, y)
    assert set(nodes_of(fitted).feature.tolist()) <= {-1, 0, 1}
    assert fitted.score(table, y) > 0.9
    assert fitted.certify(table, y).holds


@both
def test_values_that_are_missing_only_later_go_with_most_rows(model, steps):
    X, y = steps
    fitted = model.fit(X, y)
    nodes = nodes_of(fitted)
    inner = np.flatnonzero(nodes.feature >= 0)
    starts = np.zeros(1, dtype=int) if hasattr(fitted, "tree_") else fitted.trees_.starts[:-1]
    start = starts[np.searchsorted(starts, inner, side="right") - 1]
    left, right = (
        nodes.weighted_n_node_samples[start + children[inner]]
        for children in (nodes.children_left, nodes.children_right)
    )
    decided = left != right
    assert np.array_equal(nodes.missing_go_to_left[inner][decided], (left > right)[decided])
    assert np.isfinite(fitted.predict(np.full((3, 2), np.nan))).all()


@both
def test_unseen_levels_are_told_and_go_with_missing_ones(model):
    random = np.random.default_rng(0)
    colour = random.choice(["red", "green", "blue"], 90)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "x": random.normal(size=90)})
    fitted = model.fit(frame, (colour == "red").astype(float))
    with pytest.warns(UserWarning, match="'violet'"):
        said = fitted.predict(pd.DataFrame({"colour": ["violet"], "x": [0.0]}))
    assert said == fitted.predict(pd.DataFrame({"colour": [None], "x": [0.0]}))


@numbers
def test_a_constant_target_is_one_leaf(model, steps):
    X, _ = steps
    fitted = model.fit(X, np.full(len(X), 1.0 / 3.0))
    assert (nodes_of(fitted).feature == -1).all()
    assert set(fitted.predict(X)) == {1.0 / 3.0}
    assert fitted.certify(X, np.full(len(X), 1.0 / 3.0)).holds


@classes
def test_one_class_is_refused_and_a_class_of_one_row_is_not(model, steps):
    X, _ = steps
    assert "class" in sentence(lambda: model.fit(X, np.zeros(len(X))))
    alone = np.arange(len(X)) == 7
    fitted = model.fit(X, alone)
    assert fitted.classes_.tolist() == [False, True]
    assert fitted.certify(X, alone).holds
    assert fitted.predict_proba(X[7:8])[0, 1] > 0


@both
def test_rows_of_weight_zero_are_not_there(model, steps):
    X, y = steps
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    hidden = np.where(weight > 0, y, 1.0 - y)
    fitted = model.fit(X, hidden, weight).predict(X)
    assert np.array_equal(fitted, model.fit(X[weight > 0], y[weight > 0]).predict(X))
    assert "weight" in sentence(lambda: model.fit(X, y, np.zeros(len(X))))


@both
@pytest.mark.parametrize("factor", [2.0**-400, 2.0**400])
def test_huge_and_tiny_weights_change_nothing(model, factor, steps):
    X, y = steps
    model = model.__class__(**{**model.get_params(), "max_depth": 3})
    if hasattr(model, "bootstrap"):
        model.set_params(bootstrap=False)
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    expected = nodes_of(model.fit(X, y, weight))
    scaled = nodes_of(model.fit(X, y, factor * weight))
    assert np.array_equal(expected.feature, scaled.feature)
    np.testing.assert_allclose(expected.value, scaled.value, rtol=1e-9)
    assert model.certify(X, y, factor * weight).holds


@both
def test_infinite_values_and_large_scales(model, steps):
    X, y = steps
    far = X * 1e8 + 1e10
    fitted = model.fit(far, y)
    assert fitted.score(far, y) > 0.9
    assert fitted.certify(far, y).holds
    spoilt = X.copy()
    spoilt[3, 1] = np.inf
    assert "infinity" in sentence(lambda: model.fit(spoilt, y)).lower()


@numbers
def test_one_target_of_a_million_millions_leaves_the_others_alone(model, steps):
    X, _ = steps
    X = np.sort(X, axis=0)  # the outlier at the end of both columns
    y = np.where(np.arange(len(X)) < 60, 1.0, 2.0)
    y[-1] = 1e12
    model = model.__class__(**{**model.get_params()})
    if hasattr(model, "bootstrap"):
        model.set_params(bootstrap=False)
    fitted = model.fit(X, y)
    np.testing.assert_allclose(fitted.predict(X)[:40], 1.0, rtol=1e-6)
    assert fitted.certify(X, y).holds


@both
def test_ties_everywhere_are_fitted_as_their_means(model):
    X = np.repeat([[0.0, 1.0], [1.0, 1.0]], 30, axis=0)
    y = np.tile([0.0, 1.0, 1.0], 20)
    model = model.__class__(**{**model.get_params()})
    if hasattr(model, "bootstrap"):
        model.set_params(bootstrap=False)
    fitted = model.fit(X, y)
    said = fitted.predict_proba(X)[:, 1] if hasattr(fitted, "predict_proba") else fitted.predict(X)
    np.testing.assert_allclose(said, 2.0 / 3.0, rtol=1e-12)
    assert fitted.certify(X, y).holds


@both
def test_more_levels_than_bins_share_the_last_code(model):
    codes = np.repeat(np.arange(300.0), 3)
    y = (codes % 2 == 0).astype(float)
    model = model.__class__(**{**model.get_params(), "categorical_features": [0]})
    fitted = model.fit(codes[:, np.newaxis], y)
    assert fitted.columns_.n_codes[0] == 254
    assert fitted.score(codes[:, np.newaxis], y) > 0.5
    assert fitted.certify(codes[:, np.newaxis], y).holds


@both
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"monotonic_cst": [1, 0, 0]}, "one for each of the 2 columns"),
        ({"monotonic_cst": [2, 0]}, "-1, 0 and 1"),
        ({"monotonic_cst": [1, 0], "categorical_features": [0]}, "no order"),
        ({"interaction_cst": [[0, 5]]}, "places or names"),
        ({"max_depth": 0}, "at least 1"),
    ],
)
def test_settings_that_cannot_be_met_are_one_sentence(model, settings, words, steps):
    X, y = steps
    model = model.__class__(**{**model.get_params(), **settings})
    assert words in sentence(lambda: model.fit(np.abs(X).round(), y))


@numbers
def test_negative_counts_are_refused_by_poisson(model, steps):
    X, y = steps
    model = model.__class__(**{**model.get_params(), "criterion": "poisson"})
    assert "at least 0" in sentence(lambda: model.fit(X, y - 1.0))


@both
def test_a_leaf_minimum_above_the_rows_is_the_root_alone(model, steps):
    X, y = steps
    model = model.__class__(**{**model.get_params(), "min_samples_leaf": 1000})
    fitted = model.fit(X, y)
    assert (nodes_of(fitted).feature == -1).all()
    assert fitted.certify(X, y).holds


@pytest.mark.parametrize(("worth", "asked"), [(0.1, 2), (1 / 3, 10), (1.0, 0.07)])
@both
def test_a_leaf_minimum_is_met_by_as_many_rows_as_weigh_it(model, worth, asked, steps):
    """Of rows of weight 0.1 twenty weigh 2, and 7 % of 100 rows are 7, whatever floats say."""
    X, y = steps[0][:100], steps[1][:100] + steps[0][:100, 1].round(1).clip(0, 0.3)
    y = y if "Regressor" in type(model).__name__ else (10 * y).astype(int)
    rows = round(asked * 100 if asked < 1 else asked / worth)
    alike = {"bootstrap": False} if hasattr(model, "bootstrap") else {}
    plain = clone(model).set_params(min_samples_leaf=rows, **alike)
    weighted = clone(model).set_params(min_samples_leaf=asked, **alike)
    weight = np.full(len(y), worth)
    plain.fit(X, y)
    weighted.fit(X, y, weight)
    assert np.array_equal(nodes_of(plain).feature, nodes_of(weighted).feature)
    assert weighted.certify(X, y, weight).holds


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_rows_never_out_of_bag_are_told_and_have_no_part_in_the_score(kind, steps):
    X, y = steps
    model = kind(2, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="bag of every tree"):
        model.fit(X, y)
    _, forest = model._opened_again(X, y, None)
    outside = np.array([forest.weights(int(seed))[0] == 0 for seed in model.seeds_])
    never = ~outside.any(axis=0)
    assert 0 < never.sum() < len(X)
    assert not model.oob_prediction_[never].any()
    said, true = model.oob_prediction_[~never], y[~never]
    expected = 1 - ((true - said) ** 2).sum() / ((true - true.mean()) ** 2).sum()
    assert model.oob_score_ == pytest.approx(expected, rel=1e-12)
    assert model.certify(X, y).holds


@pytest.mark.parametrize(
    "model",
    [*REGRESSORS, BaggingRegressor(n_estimators=3), HistGradientBoostingRegressor(max_iter=3)],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("size", [1e155, 1e300, 1e308, 1e-320])
def test_targets_whose_squares_are_no_numbers_are_refused(model, size, steps):
    X, y = steps
    assert "scale it first" in sentence(lambda: model.fit(X, size * y))


def test_seeds_are_drawn_as_they_are_needed(monkeypatch):
    expected = np.random.default_rng(3).integers(2**62, size=10).tolist()
    monkeypatch.setattr(bag, "SEEDS", 4)
    assert list(bag.seeds_of(3, 10)) == expected
    assert list(bag.seeds_of(3, 10, 5)) == expected[5:]
    assert list(itertools.islice(bag.seeds_of(3, 2**63 - 1), 10)) == expected


@pytest.mark.parametrize("said", [None, "high", np.nan, [1.0]], ids=str)
def test_a_score_that_is_no_number_is_refused(said, steps):
    X, y = steps
    for kind in (RandomForestRegressor, RandomForestClassifier):
        model = kind(9, oob_score=lambda true, predicted: said, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert "'oob_score'" in sentence(lambda model=model: model.fit(X, y))


def test_pairs_of_too_many_columns_are_refused_and_those_of_many_are_quick(steps):
    wide = np.random.default_rng(0).normal(size=(12, 1500))
    model = DecisionTreeRegressor(interaction_cst="pairwise")
    assert "'interaction_cst'" in sentence(lambda: model.fit(wide, wide[:, 0]))
    fitted = model.fit(wide[:, :60], wide[:, 0])
    assert fitted.certify(wide[:, :60], wide[:, 0]).holds
