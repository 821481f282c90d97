"""Targets of several columns: the trees of scikit-learn, what is predicted, and what proves it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_regressor
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from assay.trees import (
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.trees.forest.trees import Trees


@pytest.fixture(scope="module")
def table():
    """Rows with numbers of three outputs on scales far apart, labels of two, and weights."""
    random = np.random.default_rng(0)
    X = random.standard_normal((300, 4)).astype(np.float32).astype(float)
    noise = random.standard_normal((300, 3))
    numbers = np.abs(np.column_stack([X[:, 0] + X[:, 1] ** 2, X[:, 2], 50 * X[:, 3]]) + noise)
    labels = np.column_stack([X[:, 0] + noise[:, 0] > 0, np.digitize(X[:, 2] + noise[:, 1], [-1, 1])])
    return X, numbers, labels.astype(int), random.integers(1, 4, 300).astype(float)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_a_tree_of_several_numbers_is_that_of_scikit_learn(table, criterion):
    X, numbers, _, w = table
    options = {"criterion": criterion, "min_weight_fraction_leaf": 0.05}
    ours = DecisionTreeRegressor(**options).fit(X, numbers, w)
    theirs = TheirRegressor(**options, random_state=0).fit(X, numbers, w)
    assert np.array_equal(ours.tree_.children_left, theirs.tree_.children_left)
    assert_allclose(ours.tree_.threshold, theirs.tree_.threshold, rtol=1e-6)
    assert_allclose(ours.tree_.value, theirs.tree_.value[:, :, 0], rtol=1e-8)
    assert_allclose(ours.tree_.impurity, theirs.tree_.impurity, rtol=1e-8)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    assert ours.n_outputs_ == 3
    assert ours.certify(X, numbers, w).holds


@pytest.mark.parametrize(
    ("criterion", "class_weight"),
    [
        ("gini", "balanced"),
        ("entropy", "balanced"),
        ("gini", [{0: 2.0, 1: 1.0}, {0: 1.0, 1: 3.0, 2: 1.0}]),
    ],
)
def test_a_tree_of_several_classes_is_that_of_scikit_learn(table, criterion, class_weight):
    X, _, labels, _ = table
    # Theirs counts rows in a leaf, ours weight, which the factors of the classes change.
    limit = {"min_samples_leaf": 15} if class_weight is None else {"max_depth": 3}
    options = {"criterion": criterion, "class_weight": class_weight, **limit}
    ours = DecisionTreeClassifier(**options).fit(X, labels)
    theirs = TheirClassifier(**options, random_state=0).fit(X, labels)
    assert np.array_equal(ours.tree_.children_left, theirs.tree_.children_left)
    assert_allclose(ours.tree_.threshold, theirs.tree_.threshold, rtol=1e-6)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    for one, other in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)
    assert ours.n_classes_ == [2, 3]
    assert ours.certify(X, labels).holds


def test_forests_of_several_numbers_average_their_trees_and_prove_them(table):
    X, numbers, _, _ = table
    model = RandomForestRegressor(30, max_depth=5, max_features=2, oob_score=True, random_state=0)
    model.fit(X, numbers)
    said = model.predict(X)
    assert said.shape == numbers.shape
    assert_allclose(said, np.mean([tree.predict(X) for tree in model.trees_], axis=0))
    assert model.oob_prediction_.shape == numbers.shape
    assert model.certify(X, numbers).holds
    single = model.estimators_[0]
    assert_allclose(single.predict(X), model.trees_[0].predict(X))
    moved = model.trees_.nodes.value.copy()
    moved[-1, 2] *= 1.01
    nodes = replace(model.trees_.nodes, value=moved)
    model.trees_ = Trees(model.trees_.starts, model.trees_.bit_starts, nodes)
    assert not model.certify(X, numbers).holds


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_subsample"])
def test_forests_of_several_classes_vote_in_each_output(class_weight, table):
    X, _, labels, w = table
    names = np.array(["no", "yes", "perhaps"])[labels]
    kind = ExtraTreesClassifier if class_weight == "balanced" else RandomForestClassifier
    model = kind(6, class_weight=class_weight, min_samples_leaf=5, random_state=0).fit(X, names, w)
    chances = model.predict_proba(X)
    assert [part.shape for part in chances] == [(300, 2), (300, 3)]
    assert_allclose([part.sum(axis=1) for part in chances], 1.0)
    said = np.column_stack(
        [own[part.argmax(axis=1)] for own, part in zip(model.classes_, chances, strict=True)]
    )
    assert np.array_equal(model.predict(X), said)
    assert np.mean(said == names) > 0.75
    assert [part.shape for part in model.predict_log_proba(X)] == [(300, 2), (300, 3)]
    assert model.certify(X, names, w).holds


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(min_samples_leaf=9),
        DecisionTreeClassifier(max_depth=4),
        RandomForestRegressor(3, random_state=0),
        RandomForestClassifier(3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_levels_gaps_and_names_of_columns_work_with_several_outputs(model, table):
    X, numbers, labels, _ = table
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["e"] = pd.Categorical(np.array(list("uvwxyz"))[np.arange(300) % 6])
    frame.loc[::7, "b"] = np.nan
    frame["first"], frame["second"] = numbers[:, 0] + 3 * (np.arange(300) % 6 == 2), numbers[:, 1]
    targets = ["first", "second"]
    columns = frame[list("abcde")]
    if is_regressor(model):
        assert model.fit(frame, targets).certify(frame, targets).holds
        assert model.predict(columns).shape == (300, 2)
    else:
        assert model.fit(columns, labels).certify(columns, labels).holds


def test_damage_to_one_output_is_seen(table):
    X, numbers, labels, _ = table
    for model, y in (
        (DecisionTreeRegressor(max_depth=3), numbers),
        (DecisionTreeClassifier(max_depth=3), labels),
    ):
        model.fit(X, y)
        whole = model.tree_
        for name, where in (("value", (-1, -1)), ("threshold", 0)):
            moved = getattr(whole, name).copy()
            moved[where] = moved[where] * 1.01 + 1e-3
            model.tree_ = replace(whole, **{name: moved})
            assert not model.certify(X, y).holds


def test_an_output_of_one_class_or_number_changes_no_split(table):
    X, numbers, labels, _ = table
    constant = np.column_stack([labels[:, 0], np.zeros(300)])
    one = DecisionTreeClassifier(max_depth=3).fit(X, labels[:, 0])
    both = DecisionTreeClassifier(max_depth=3).fit(X, constant)
    assert np.array_equal(one.tree_.threshold, both.tree_.threshold)
    assert np.array_equal(both.predict(X), np.column_stack([one.predict(X), np.zeros(300)]))
    alone = DecisionTreeRegressor(max_depth=3).fit(X, numbers[:, 0])
    again = DecisionTreeRegressor(max_depth=3).fit(X, np.column_stack([numbers[:, 0], np.full(300, 7.0)]))
    assert np.array_equal(alone.tree_.threshold, again.tree_.threshold)
    assert again.certify(X, np.column_stack([numbers[:, 0], np.full(300, 7.0)])).holds


def test_what_is_of_one_output_is_refused_in_a_sentence(table):
    X, numbers, labels, _ = table
    tree = DecisionTreeClassifier(max_depth=2).fit(X, labels)
    with pytest.raises(ValueError, match="predict_random is of one output"):
        tree.predict_random(X)
    with pytest.raises(ValueError, match="select is of one output"):
        DecisionTreeRegressor().select(X, numbers)
    with pytest.raises(ValueError, match="'absolute_error' with several outputs"):
        DecisionTreeRegressor(criterion="absolute_error").fit(X, numbers)
    with pytest.raises(ValueError, match="None with several outputs"):
        RandomForestRegressor(2, monotonic_cst=[1, 0, 0, 0]).fit(X, numbers)
    with pytest.raises(ValueError, match="'oob_score'"):
        RandomForestClassifier(2, oob_score=True).fit(X, labels)
    with pytest.raises(ValueError, match="'keep_rows'"):
        RandomForestRegressor(2, keep_rows=True).fit(X, numbers)
    with pytest.raises(ValueError, match="a list of 2, one per output"):
        DecisionTreeClassifier(class_weight={0: 2.0}).fit(X, labels)
    with pytest.raises(ValueError, match="3 columns"):
        DecisionTreeRegressor(max_depth=1).fit(X, numbers).certify(X, numbers[:, :2])
    with pytest.raises(ValueError, match=r"1d|one-dimensional"):
        DecisionStump().fit(X, labels)
