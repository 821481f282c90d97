"""Pruning: the path against brute force, scikit-learn and R; selection; what certificates see."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import PredefinedSplit
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from assay.trees import DecisionTreeClassifier, DecisionTreeRegressor
from assay.trees.decision import selecting
from assay.trees.decision.pruning import chosen_penalty, node_costs, pruned, with_leaves
from assay.trees.decision.solver import grow_exact

REFERENCE = Path(__file__).parent.parent / "reference"


def all_prunings(tree):
    """Every subtree with the same root, as the set of its inner nodes."""

    def below(node):
        yield frozenset()
        if not tree.is_leaf[node]:
            for left, right in product(
                below(tree.children_left[node]), list(below(tree.children_right[node]))
            ):
                yield left | right | {node}

    return set(below(0))


@pytest.mark.spec("wei/M8.2")
def test_each_subtree_of_the_path_is_the_smallest_that_costs_least_of_all_prunings(patients):
    X, y = patients
    tree = DecisionTreeRegressor(max_leaf_nodes=9).fit(X, y).tree_
    costs, every = node_costs(tree), []
    for inner in all_prunings(tree):
        cut = np.array([node not in inner for node in range(tree.node_count)]) & ~tree.is_leaf
        small = with_leaves(tree, cut)
        every.append((node_costs(small)[small.is_leaf].sum(), small.n_leaves))
    every = np.array(every)
    assert len(every) > 20
    for alpha in [0.0, *np.geomspace(1e-3, 2.0, 25) * costs[0]]:
        best = pruned(tree, alpha)
        total = every[:, 0] + alpha * every[:, 1]
        reached = node_costs(best)[best.is_leaf].sum() + alpha * best.n_leaves
        assert reached == pytest.approx(total.min())
        assert best.n_leaves == every[total <= total.min() + 1e-9 * costs[0], 1].min()


@pytest.mark.spec("wei/M8.2")
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_the_path_is_nested_and_that_of_scikit_learn(flowers, patients, kind):
    is_class = kind is DecisionTreeClassifier
    X, y = flowers if is_class else patients
    model = kind(max_depth=5).fit(X, y)
    path = model.pruning_path()
    theirs = (TheirClassifier if is_class else TheirRegressor)(max_depth=5, random_state=0)
    theirs = theirs.cost_complexity_pruning_path(X, y)
    assert_allclose(path.ccp_alphas, theirs.ccp_alphas, rtol=1e-9, atol=1e-9)
    assert_allclose(path.impurities, theirs.impurities, rtol=1e-9, atol=1e-9)
    assert np.all(np.diff(path.n_leaves) < 0)
    again = kind(max_depth=5).cost_complexity_pruning_path(X, y)
    assert np.array_equal(again.ccp_alphas, path.ccp_alphas)
    before = set(map(tuple, model.decision_path(X).toarray().T))
    for alpha, size in zip(path.middles, path.n_leaves, strict=True):
        small = kind(max_depth=5, ccp_alpha=alpha).fit(X, y)
        assert small.get_n_leaves() == size
        cells = set(map(tuple, small.decision_path(X).toarray().T))
        assert cells <= before  # every node is one of the larger tree
        before = cells


def reference():
    return json.loads((REFERENCE / "trees.json").read_text(encoding="utf-8"))


def splits_of(tree, names):
    inner = ~tree.is_leaf
    dev = tree.weighted_n_node_samples * tree.impurity
    rows = zip(
        np.array(names)[tree.feature[inner]], tree.threshold[inner], tree.n_node_samples[inner], dev[inner],
        strict=True,
    )  # fmt: skip
    return sorted(rows, key=lambda row: (row[0], row[1], row[2]))


def their_splits(known):
    rows = zip(known["column"], known["threshold"], known["n"], known["dev"], strict=True)
    return sorted((row for row in rows if row[0] != "<leaf>"), key=lambda row: (row[0], row[1], row[2]))


def entropy_gain(model, X, y, split, threshold):
    """What a threshold gains in the node of a split of the model, from the rows that walk through it."""
    tree, (name, own, n_rows, _) = model.tree_, split
    place = list(X.columns).index(name)
    (node,) = np.flatnonzero(
        (tree.feature == place) & (tree.threshold == own) & (tree.n_node_samples == n_rows)
    )
    inside = model.decision_path(X).toarray()[:, node] > 0
    labels, left = y.to_numpy()[inside], X[name].to_numpy()[inside] <= threshold

    def cost(some):
        counts = np.unique(some, return_counts=True)[1]
        return -np.sum(counts * np.log(counts / len(some)))

    return cost(labels) - cost(labels[left]) - cost(labels[~left])


@pytest.mark.spec("wei/M8.1")
def test_splits_are_those_of_rpart():
    limits = {"min_samples_split": 20, "min_samples_leaf": 7}
    patients, classes = (pd.read_csv(REFERENCE / f"{name}.csv") for name in ("patients", "classes"))
    known = reference()
    tables = {
        "numbers": (DecisionTreeRegressor(**limits), patients),
        "gini": (DecisionTreeClassifier(**limits), classes),
        "entropy": (DecisionTreeClassifier(criterion="entropy", **limits), classes),
    }
    for name, (model, table) in tables.items():
        X = table.drop(columns="y")
        ours = splits_of(model.fit(X, table["y"]).tree_, X.columns)
        theirs = their_splits(known[name])
        assert [row[0] for row in ours] == [row[0] for row in theirs], name
        assert [row[2] for row in ours] == [row[2] for row in theirs], name
        others = [pair for pair in zip(ours, theirs, strict=True) if not np.isclose(pair[0][1], pair[1][1])]
        assert len(others) == (name == "entropy"), name
        for own, their in others:  # two thresholds of one column gain the same in this node
            gains = [entropy_gain(model, X, table["y"], own, row[1]) for row in (own, their)]
            assert gains[0] == pytest.approx(gains[1], rel=1e-12)
        if name == "numbers":
            assert_allclose([row[3] for row in ours], [row[3] for row in theirs])


def grown_as_rpart(*rows):
    """rpart sends a row that lies on a threshold right, we (and scikit-learn) left."""
    grown = grow_exact(*rows)
    below = np.nextafter(grown.tree.threshold, -np.inf)
    return grown._replace(tree=replace(grown.tree, threshold=below))


@pytest.mark.spec("wei/M8.2")
def test_the_table_of_penalties_and_its_cross_validation_are_those_of_rpart(monkeypatch):
    table = pd.read_csv(REFERENCE / "patients.csv")
    X, y, known = table.drop(columns="y"), table["y"], reference()
    model = DecisionTreeRegressor(min_samples_split=20, min_samples_leaf=7)
    path = model.fit(X, y).pruning_path()
    cp = np.array(known["numbers"]["cptable"])[:-1]  # the last line is the whole tree at cp = −1
    root = path.impurities[-1]
    assert_allclose(path.ccp_alphas[::-1][: len(cp)] / root, cp[:, 0], rtol=1e-7)
    assert np.array_equal(path.n_leaves[::-1][: len(cp)] - 1, cp[:, 1])
    assert_allclose(path.impurities[::-1][: len(cp)] / root, cp[:, 2], rtol=1e-9)
    folds = PredefinedSplit(np.arange(len(y)) % 10)
    crossed = np.array(known["crossed"]["cptable"])
    with monkeypatch.context() as changed:
        changed.setattr(selecting, "grow_exact", grown_as_rpart)
        selection = model.select(X, y, cv=folds)
    for ours, theirs in ((selection.curve, crossed[:, 3]), (selection.standard_error, crossed[:, 4])):
        assert_allclose(ours[: len(theirs)] / root, theirs, rtol=1e-12)
    # Of all held-out rows one lies on a threshold, and that on the way to leaves of the last three lines.
    selection = model.select(X, y, cv=folds)
    assert_allclose(selection.curve[:7] / root, crossed[:7, 3], rtol=1e-12)
    assert_allclose(selection.curve[: len(crossed)] / root, crossed[:, 3], rtol=4e-3)
    best = int(np.argmin(crossed[:, 3]))
    simplest = int(np.argmax(crossed[:, 3] <= crossed[best, 3] + crossed[best, 4]))
    assert selection.model.get_n_leaves() == crossed[simplest, 1] + 1
    least = model.select(X, y, cv=folds, rule="min")
    assert least.model.get_n_leaves() == crossed[best, 1] + 1


@pytest.mark.spec("wei/M8.2")
def test_the_smallest_tree_within_exactly_one_standard_error_of_the_least_loss_is_chosen():
    error = np.array([9.0, 0.5, 0.5, 0.5, 0.5])  # that of the least loss counts, not the candidate's
    losses = np.array([3.0, 2.51, 2.49, 2.0, 2.2])  # penalties decrease: the first is the smallest tree
    assert chosen_penalty(losses, error, "one_se") == 2
    assert chosen_penalty(losses, error, "min") == 3
    assert chosen_penalty(np.array([3.0, 2.5, 2.0]), np.full(3, 0.5), "one_se") == 1


def test_selection_prunes_noise_away():
    random = np.random.default_rng(0)
    X = random.uniform(size=(400, 5))
    y = ((X[:, 0] > 0.5) & (X[:, 1] > 0.3)) ^ (random.uniform(size=400) < 0.15)
    selection = DecisionTreeClassifier().select(X, y)
    assert selection.model.get_n_leaves() == 3
    assert selection.best == selection.values[selection.index]
    assert DecisionTreeClassifier().fit(X, y).get_n_leaves() > 50
    assert selection.model.certify(X, y).holds
    with pytest.raises(ValueError, match="'rule' parameter of select"):
        DecisionTreeClassifier().select(X, y, rule="best")


def damaged(model, **changes):
    broken = copy.deepcopy(model)
    broken.tree_ = replace(broken.tree_, **changes)
    return broken


def moved(values, place, share=0.01):
    new = values.copy()
    new[place] += share * (np.abs(new[place]) + 1e-3)
    return new


@pytest.fixture
def settings(patients, flowers, with_gaps):
    X, y = patients
    signs = [0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    gaps, other, weight = with_gaps
    return [
        (DecisionTreeRegressor(max_depth=4), (X, y)),
        (DecisionTreeRegressor(ccp_alpha=40.0), (X, y)),
        (DecisionTreeRegressor(monotonic_cst=signs, max_depth=4), (X, y)),
        (DecisionTreeRegressor(categorical_features=[1], max_depth=4), (gaps, other, weight)),
        (DecisionTreeClassifier(max_depth=3), flowers),
    ]


def test_certificates_see_damage_to_any_array_of_a_tree(settings):
    for model, data in settings:
        model.fit(*data)
        assert model.certify(*data).holds
        tree = model.tree_
        inner = np.flatnonzero(~tree.is_leaf)
        leaf = int(np.argmax(np.where(tree.is_leaf, tree.weighted_n_node_samples * tree.impurity, -1.0)))
        ordered = int(inner[(tree.levels[inner] < 0) & np.isfinite(tree.threshold[inner])][-1])
        for name, place in (
            ("threshold", ordered), ("value", leaf), ("value", 0), ("impurity", leaf),
            ("gain", int(inner[-1])), ("weighted_n_node_samples", leaf),
        ):  # fmt: skip
            broken = damaged(model, **{name: moved(getattr(tree, name), place)})
            assert not broken.certify(*data).holds, (model, name)
        swapped = damaged(model, children_left=tree.children_right, children_right=tree.children_left)
        assert not swapped.certify(*data).holds
        left = tree.children_left.copy()
        left[inner[-1]] = 0
        assert not damaged(model, children_left=left).certify(*data).holds
        sides = tree.missing_go_to_left.copy()
        sides[inner[0]] = ~sides[inner[0]]
        assert not damaged(model, missing_go_to_left=sides).certify(*data).holds
        if len(tree.bits):
            assert not damaged(model, bits=tree.bits ^ np.uint32(2)).certify(*data).holds


def test_certificates_see_a_wrong_column_a_wrong_cut_and_a_broken_constraint(patients):
    X, y = patients
    model = DecisionTreeRegressor(ccp_alpha=40.0).fit(X, y)
    wrong = copy.deepcopy(model)
    inner = np.flatnonzero(~model.unpruned_tree_.is_leaf)
    wrong.tree_ = with_leaves(
        model.unpruned_tree_, np.isin(np.arange(model.unpruned_tree_.node_count), inner[3:])
    )
    assert "relative excess over the optimum" in {item.quantity for item in wrong.certify(X, y).failed}
    second = DecisionTreeRegressor(max_depth=1, interaction_cst=[[0]]).fit(X[:, :2], y)
    second.interaction_cst = None  # the best split was among the columns all along
    failed = {item.quantity for item in second.certify(X[:, :2], y).failed}
    assert failed <= {"largest excess of a gain"}
    free = DecisionTreeRegressor(max_depth=4).fit(X, y)
    free.monotonic_cst = [0, 0, -1, 0, 0, 0, 0, 0, -1, 0]
    assert "largest step against a constraint" in {item.quantity for item in free.certify(X, y).failed}
    free.monotonic_cst, free.interaction_cst = None, "no_interactions"
    assert "paths that leave their group" in {item.quantity for item in free.certify(X, y).failed}
    free.interaction_cst = None
    assert not free.certify(X, np.roll(y, 1)).holds
