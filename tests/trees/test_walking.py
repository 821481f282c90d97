"""Rows on their way down trees: the fast way, the general way and the definition give the same leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.trees import DecisionTreeRegressor, RandomForestRegressor
from assay.trees.walking import make_walk


def leaf_by_definition(tree, row):
    node = 0
    while tree.feature[node] >= 0:
        value = row[tree.feature[node]]
        left = tree.missing_go_to_left[node] if np.isnan(value) else value <= tree.threshold[node]
        node = tree.children_left[node] if left else tree.children_right[node]
    return node


@pytest.fixture(scope="module")
def grown(patients):
    X, y = patients
    forest = RandomForestRegressor(5, max_features=3, random_state=0).fit(X, y)
    return forest, DecisionTreeRegressor().fit(X, y)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [1, 7, 8, 131])
def test_every_row_ends_in_the_leaf_that_the_definition_gives(grown, patients, share, dtype, n_rows):
    forest, single = grown
    random = np.random.default_rng(n_rows)
    X = patients[0][random.integers(0, 442, n_rows)].astype(dtype)
    X[random.random(X.shape) < share] = np.nan
    for trees in (forest.trees_, [single.tree_]):
        expected = np.array([[leaf_by_definition(tree, row) for tree in trees] for row in X])
        whole = trees if trees is forest.trees_ else single.tree_
        fast, general = whole.walk(10**9), whole.walk(0)
        assert len(fast.steps) > 0 == len(general.steps)
        assert np.array_equal(fast.leaves(X), expected)
        assert np.array_equal(general.leaves(X), expected)
        means = np.mean([tree.value[expected[:, place]] for place, tree in enumerate(trees)], axis=0)
        assert_allclose(fast.mean(X), means)
        assert np.array_equal(fast.mean(X), general.mean(X))


def test_nodes_that_are_no_tree_take_no_short_way(grown):
    _, single = grown
    tree = single.tree_
    twice = tree.children_left.copy()
    first, second = np.flatnonzero(~tree.is_leaf)[:2]
    twice[second] = twice[first]  # a child of two nodes
    broken = replace(tree, children_left=twice)
    assert len(make_walk(broken, np.array([0, tree.node_count]), np.zeros(2, dtype=int), 10**6).steps) == 0


def test_more_rows_than_are_walked_at_once(grown, patients):
    forest, _ = grown
    X = np.tile(patients[0], (11, 1))
    assert_allclose(forest.predict(X), np.tile(forest.predict(patients[0]), 11))
