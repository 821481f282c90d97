"""What a forest proves of its splits and of its average, and what each proof sees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import is_classifier

from assay.trees import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.trees.forest.outside import Outside
from assay.trees.forest.proofs.averages import averaging
from assay.trees.forest.proofs.certificates import margins
from assay.trees.forest.trees import Trees

NUMBERS = [
    RandomForestRegressor(8, random_state=0, max_features=3),
    RandomForestRegressor(8, random_state=0, max_depth=4, min_samples_leaf=7, max_features=0.5),
    RandomForestRegressor(8, random_state=0, criterion="poisson"),
    RandomForestRegressor(8, random_state=0, monotonic_cst=[0] * 9 + [1], min_impurity_decrease=5.0),
    RandomForestRegressor(8, random_state=0, interaction_cst="pairwise", max_leaf_nodes=9),
    ExtraTreesRegressor(8, random_state=0, max_features=4),
]
CLASSES = [
    RandomForestClassifier(8, random_state=0, criterion="entropy"),
    RandomForestClassifier(8, random_state=0, ccp_alpha=0.01),
    ExtraTreesClassifier(8, random_state=0, bootstrap=True),
]


def proof(certificates, words):
    (one,) = [each for each in certificates if words in each.claim]
    return one


@pytest.mark.parametrize("model", NUMBERS + CLASSES, ids=lambda model: repr(model)[:60])
def test_no_split_that_was_tried_is_better_with_gaps_levels_and_weights(model, with_gaps):
    X, y, weight = with_gaps
    y = np.digitize(y, [80, 140, 200]) if is_classifier(model) else y
    model.set_params(categorical_features=[1])
    certificates = model.fit(X, y, weight).certify(X, y, weight)
    assert certificates.holds
    assert proof(certificates, "a node tried").value < 1e-9


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_a_split_that_was_not_the_best_of_those_tried_is_seen(kind, patients):
    X, y = patients
    model = kind(3, random_state=0, max_features=2).fit(X, y)
    more = model.set_params(max_features=4).certify(X, y)
    assert not proof(more, "a node tried").holds
    assert proof(more, "weight of the rows").holds
    fewer = model.set_params(max_features=2, max_depth=20).certify(X, y)
    assert proof(fewer, "a node tried").holds
    # A tree that was stopped early has leaves that could have been divided.
    stopped = kind(3, random_state=0, max_depth=2).fit(X, y).set_params(max_depth=None)
    assert not proof(stopped.certify(X, y), "no leaf has one left").holds


def test_a_threshold_that_is_moved_is_seen_by_the_gains(patients):
    X, y = patients
    model = RandomForestRegressor(3, random_state=0, max_features=2).fit(X, y)
    nodes = model.trees_.nodes
    column = int(nodes.feature[0])
    threshold = nodes.threshold.copy()
    threshold[0] = np.quantile(X[:, column], 0.9)
    model.trees_ = Trees(model.trees_.starts, model.trees_.bit_starts, replace(nodes, threshold=threshold))
    assert not proof(model.certify(X, y), "a node tried").holds


def test_the_mean_of_trees_varies_as_that_of_independent_ones(patients):
    X, y = patients
    model = RandomForestRegressor(25, random_state=0, max_features=3, max_depth=6).fit(X, y)
    _, forest = model._opened_again(X, y, None)
    said = np.array([tree.predict(X)[:, 0] for tree in model.trees_])
    result = averaging(said.mean(axis=0)[:, np.newaxis], len(said), model.seeds_, forest)
    # Of the trees of the forest itself: σ² over rows and trees, and (1 − ρ)σ² of a tree at a row.
    total, inside = said.var(), said.var(axis=0, ddof=1).mean()
    assert result.variance == pytest.approx(total, rel=0.05)
    assert 1 - result.correlation == pytest.approx(inside / total, rel=0.1)
    assert result.expected == pytest.approx(inside * (1 / 25 + 1 / 16), rel=0.1)
    assert abs(result.observed / result.expected - 1) < 5 * result.spread < 2


@pytest.mark.parametrize("n_distinct", [1, 3])
def test_copies_of_a_tree_are_worth_one(n_distinct, patients):
    X, y = patients
    model = RandomForestRegressor(30, random_state=0, max_depth=6).fit(X, y)
    assert proof(model.certify(X, y), "varies").holds
    model.trees_ = Trees.together([model.trees_[place % n_distinct] for place in range(30)])
    assert not proof(model.certify(X, y), "varies").holds


def test_trees_without_any_chance_in_them_vary_by_nothing(flowers):
    X, y = flowers
    for dtype in (np.float64, np.float32):
        model = RandomForestClassifier(4, bootstrap=False, max_features=None, random_state=0)
        certificate = proof(model.fit(X.astype(dtype), y).certify(X.astype(dtype), y), "varies")
        assert certificate.holds
        assert certificate.value <= 1e-12


@pytest.mark.parametrize("seed", [24, 40])
def test_trees_of_a_rare_kind_are_no_copies(seed):
    """The root is cut in one of two groups of columns: all sixteen fresh trees may begin with the same."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 4)).round(1)
    y = np.digitize(X[:, 0] + 0.5 * random.normal(size=200), [-0.5, 0.5])
    model = ExtraTreesClassifier(10, random_state=seed, interaction_cst=[[0, 1], [2, 3]]).fit(X, y)
    assert proof(model.certify(X, y), "varies").holds


def test_strength_correlation_and_breimans_bound_by_hand():
    """Margins 1, ½ and 0 of two classes: s = ½, var = 1/6; a tree is right with chance ¾, var = ¾."""
    outside = Outside(np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]), np.full(3, 4), np.empty(0))
    result = margins(outside, np.array([0, 1, 0]), np.ones(3))
    assert result.strength == pytest.approx(1 / 2)
    assert result.correlation == pytest.approx((1 / 6) / (3 / 4))
    assert result.bound == pytest.approx((2 / 9) * (3 / 4) / (1 / 4))


def test_the_unbiased_importance_is_the_gain_per_row():
    """One column says everything: half of all pairs differ, and no leaf has a pair that does."""
    X = np.random.default_rng(0).normal(size=(400, 1))
    y = (X[:, 0] > 0).astype(int)
    model = RandomForestClassifier(40, random_state=0).fit(X, y)
    assert model.importance("unbiased", X, y).importances[0] == pytest.approx(0.5, abs=0.02)
    assert RandomForestRegressor(8, random_state=0).fit(X, y).importance("unbiased", X, y).importances[
        0
    ] == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_gains_telescope_beside_an_outlier(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(300, 4))
    y = 2 * X[:, 0] + X[:, 1] ** 2
    y[7] = 1e12
    model = RandomForestRegressor(8, random_state=seed).fit(X, y)
    assert model.certificates_.holds
    assert model.certify(X, y).holds
