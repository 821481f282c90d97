"""Trees of the absolute error: splits about medians against scikit-learn and brute force, their proofs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from assay.trees import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from assay.trees.forest.trees import Trees


def median_cost(y, w):
    """Σ w |y − m|, the least over all m, from the definition."""
    return min((w @ np.abs(y - m) for m in y), default=0.0)


def weights_of(kind, n):
    random = np.random.default_rng(3)
    return {
        "none": np.ones(n),
        "whole": random.integers(1, 5, n).astype(float),
        "real": random.uniform(0.2, 3.0, n),
        "skewed": np.exp(3.0 * random.standard_normal(n)),
    }[kind]


def gain_at(tree, node):
    cost = tree.weighted_n_node_samples * tree.impurity
    return cost[node] - cost[tree.children_left[node]] - cost[tree.children_right[node]]


def same_up_to_ties(ours, theirs):
    """Compare trees from the root down to splits that differ, which must gain the same; how many."""
    pairs, compared = [(0, 0)], 0
    while pairs:
        one, other = pairs.pop()
        compared += 1
        assert ours.weighted_n_node_samples[one] == pytest.approx(theirs.weighted_n_node_samples[other])
        assert_allclose(ours.value[one, 0], theirs.value[other, 0, 0], rtol=1e-12)
        assert ours.impurity[one] == pytest.approx(theirs.impurity[other], rel=1e-9)
        assert (ours.feature[one] < 0) == (theirs.feature[other] < 0)
        if ours.feature[one] < 0:
            continue
        assert gain_at(ours, one) == pytest.approx(gain_at(theirs, other), rel=1e-6)
        threshold = theirs.threshold[other]
        if ours.feature[one] == theirs.feature[other] and abs(ours.threshold[one] - threshold) < 1e-6:
            pairs += [
                (ours.children_left[one], theirs.children_left[other]),
                (ours.children_right[one], theirs.children_right[other]),
            ]
    return compared


@pytest.mark.parametrize("kind", ["none", "whole", "real", "skewed"])
def test_the_tree_of_medians_is_that_of_scikit_learn_up_to_ties(patients, kind):
    X, y = patients
    X = X.astype(np.float32).astype(float)  # theirs compares in single precision
    w = weights_of(kind, len(y))
    options = {"criterion": "absolute_error", "min_weight_fraction_leaf": 0.04}
    ours = DecisionTreeRegressor(**options).fit(X, y, w)
    theirs = TheirRegressor(**options, random_state=0).fit(X, y, w).tree_
    assert same_up_to_ties(ours.tree_, theirs) >= 15
    assert ours.certify(X, y, w).holds


def test_every_split_is_the_best_of_all_by_brute_force():
    random = np.random.default_rng(1)
    X = random.integers(0, 6, (40, 3)).astype(float)  # ties everywhere
    X[::6, 1] = np.nan
    y, w = random.integers(0, 9, 40).astype(float), random.integers(1, 4, 40).astype(float)
    tree = DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, y, w).tree_
    best = -np.inf
    for j in range(3):
        for threshold in np.unique(X[:, j][~np.isnan(X[:, j])]):
            for side in (True, False):
                left = np.where(np.isnan(X[:, j]), side, X[:, j] <= threshold)
                if 0 < left.sum() < 40:
                    apart = median_cost(y[left], w[left]) + median_cost(y[~left], w[~left])
                    best = max(best, median_cost(y, w) - apart)
    assert tree.gain[0] == pytest.approx(best, rel=1e-12)
    assert_allclose(tree.value[0, 0], np.median(np.repeat(y, w.astype(int))))


def test_weight_k_is_k_rows_and_the_order_of_rows_is_forgotten(patients):
    X, y = patients
    w = np.random.default_rng(2).integers(0, 4, len(y))
    tree = DecisionTreeRegressor(criterion="absolute_error", min_samples_leaf=5)
    one = tree.fit(X, y, w).tree_
    repeated = np.repeat(np.arange(len(y)), w)
    shuffled = np.random.default_rng(4).permutation(repeated)
    for rows in (repeated, shuffled):
        other = tree.fit(X[rows], y[rows]).tree_
        assert np.array_equal(one.threshold, other.threshold)
        assert np.array_equal(one.value, other.value)
        assert np.array_equal(one.gain, other.gain)


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_forests_of_medians_prove_their_splits_with_gaps_levels_and_weights(kind, with_gaps):
    X, y, w = with_gaps
    model = kind(
        4, criterion="absolute_error", max_features=4, min_samples_leaf=3, categorical_features=[1],
        random_state=0,
    )  # fmt: skip
    certificates = model.fit(X, y, w).certify(X, y, w)
    assert certificates.holds
    single = DecisionTreeRegressor(
        criterion="absolute_error", min_samples_leaf=5, categorical_features=[1]
    ).fit(X, y, w)
    assert single.certify(X, y, w).holds


def test_one_huge_target_does_not_blind_the_splits(patients):
    X, y = patients
    y = y.copy()
    y[0] = 1e12
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=4, min_samples_leaf=2).fit(X, y)
    assert model.certify(X, y).holds
    rest = np.arange(1, len(y))
    said = model.predict(X[rest])
    assert np.abs(said - y[rest]).mean() < 0.9 * np.abs(y[rest] - np.median(y[rest])).mean()


def test_damaged_medians_are_seen(patients):
    X, y = patients
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=3).fit(X, y)
    whole = model.tree_
    value = whole.value.copy()
    value[-1] *= 1.01
    model.tree_ = replace(whole, value=value)
    assert not model.certify(X, y).holds
    threshold = whole.threshold.copy()
    threshold[0] = np.quantile(X[:, whole.feature[0]], 0.2)
    model.tree_ = replace(whole, threshold=threshold)
    assert not model.certify(X, y).holds
    forest = RandomForestRegressor(3, criterion="absolute_error", max_depth=3, random_state=0).fit(X, y)
    trees = forest.trees_
    value = trees.nodes.value.copy()
    value[-1] *= 1.01
    forest.trees_ = Trees(trees.starts, trees.bit_starts, replace(trees.nodes, value=value))
    assert not forest.certify(X, y).holds


def test_constraints_are_refused_with_medians(patients):
    X, y = patients
    with pytest.raises(ValueError, match="None with the criterion 'absolute_error'"):
        DecisionTreeRegressor(criterion="absolute_error", monotonic_cst=[1] * 10).fit(X, y)
