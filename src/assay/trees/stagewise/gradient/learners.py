"""The learners of gradient boosting: any regressor fitted anew each round, or trees on columns coded once."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from assay.losses import Loss
from assay.rows import ordered_map
from assay.trees.decision.pruning import pruned
from assay.trees.decision.regressor import DecisionTreeRegressor
from assay.trees.decision.solver import NUMBER_CRITERIA
from assay.trees.growing.bins import bin_columns, sampled_rows
from assay.trees.growing.build import column_rules, grow_tree, measured_impurity
from assay.trees.growing.columns import sort_columns
from assay.trees.growing.statistics import center_of, moment_rows
from assay.trees.growing.table import BinnedTable, SortedTable, sorted_table
from assay.trees.stagewise.additive import answers_of
from assay.trees.stagewise.engine import Array, Direction, State
from assay.trees.stagewise.oracles import fresh_copy
from assay.trees.stagewise.steps import constant_step
from assay.trees.tree import EVERY_VALUE, Tree

EXACT_ROWS = 20_000
"""Rows up to which the default trees may cut between any two values; beyond, between bins."""

ON_THREADS = 2**16
"""Values from which the trees of several classes are grown on several threads."""

LOW_PART = np.uint64(0xFFFFFFFF)


class Fitted(NamedTuple):
    """A learner, what it says about the rows of the fit, and their leaves where it is a tree."""

    member: Any
    values: Array
    leaves: NDArray[np.int32] | None = None


class Drawn(NamedTuple):
    """A copy of the learner with its seeds, and the rows that it is fitted to; None: all."""

    member: Any
    kept: NDArray[np.intp] | None


class RoundFitting:
    """Fits a fresh copy of a learner to the targets of a round, on a part of the rows where asked."""

    def __init__(self, learner: Any, X: Any, subsample: float, draws: np.random.Generator) -> None:
        self._learner, self._X, self._subsample, self._draws = learner, X, subsample, draws

    def draw(self) -> Drawn:
        """What is drawn for one learner."""
        member, n_rows = self._seeded(), self._X.shape[0]
        if self._subsample >= 1.0:
            return Drawn(member, None)
        count = max(1, int(self._subsample * n_rows))
        return Drawn(member, np.sort(self._draws.permutation(n_rows)[:count]))

    def _seeded(self) -> Any:
        """A copy of the learner with seeds of its own."""
        return fresh_copy(self._learner, self._draws)

    def __call__(self, targets: Array, weight: Array) -> list[Fitted]:
        """A learner for each column of the targets."""
        columns = targets.reshape(len(targets), -1).T
        return [self.fit(self.draw(), np.ascontiguousarray(column), weight) for column in columns]

    def fit(self, drawn: Drawn, target: Array, weight: Array) -> Fitted:
        """The learner."""
        member = self._member(drawn, target, weight)
        return Fitted(member, answers_of(member, self._X, signs=False))

    def _member(self, drawn: Drawn, target: Array, weight: Array) -> Any:
        member, X = drawn.member, self._X
        if drawn.kept is not None:
            X, target, weight = X[drawn.kept], target[drawn.kept], weight[drawn.kept]
        if is_classifier(member) and len(np.unique(target[weight > 0])) < 2:
            return Constant(float(target[weight > 0][0]))
        if has_fit_parameter(member, "sample_weight"):
            return member.fit(X, target, sample_weight=weight)
        if np.all(weight == weight[0]):
            return member.fit(X, target)
        if not np.all(weight == np.rint(weight)):
            kind = type(member).__name__
            raise ValueError(f"Weights must be whole numbers, as {kind} takes no 'sample_weight'.")
        places = np.repeat(np.arange(len(target)), weight.astype(np.int64))
        return member.fit(X[places], target[places])

    def signed(self, target: Array, weight: Array) -> Any:
        """The learner alone, for targets of −1 and 1."""
        return self._member(self.draw(), target, weight)


class TreeFitting(RoundFitting):
    """Grows regression trees on columns that are sorted, or binned, once for all rounds.

    The trees are those that `DecisionTreeRegressor.fit` would grow; on bins, among the cuts between them.
    """

    def __init__(
        self,
        learner: DecisionTreeRegressor,
        X: NDArray,
        weight: Array,
        subsample: float,
        draws: np.random.Generator,
        *,
        binned: bool,
    ) -> None:
        super().__init__(clone(learner), np.ascontiguousarray(X), subsample, draws)
        probe: Any = clone(learner)
        probe.n_features_in_, probe.levels_ = X.shape[1], {}
        probe._mark_categories()
        self._shared: dict[str, Any] = {
            "n_features_in_": X.shape[1],
            "levels_": {},
            "is_categorical_": probe.is_categorical_,
            "n_outputs_": 1,
        }
        self._codes: NDArray[np.uint8] | None = None
        if binned:
            chosen = sampled_rows(len(X))
            own = weight if chosen is None else weight[chosen]
            self._columns = bin_columns(self._X, own, probe.is_categorical_, rows=chosen)
            self._codes = self._columns.encode(self._X, by_column=True)
        else:
            self._pairs, self._columns = sort_columns(self._X, probe.is_categorical_)
        self._shared["columns_"] = self._columns.of_categories()
        self._levels = self._shared["columns_"].levels_as_codes(self._X)

    def __call__(self, targets: Array, weight: Array) -> list[Fitted]:
        """A tree for each column of the targets, grown at the same time; drawn one after the other."""
        columns = np.ascontiguousarray(targets.reshape(len(targets), -1).T)
        tasks = [(self.draw(), column) for column in columns]
        if len(tasks) == 1 or self._X.size < ON_THREADS:
            return [self.fit(*task, weight) for task in tasks]
        return list(ordered_map(lambda task: self.fit(*task, weight), tasks))

    def _seeded(self) -> Any:
        member = copy.copy(self._learner)  # nothing to clone in it, and a round is short
        vars(member).update(self._shared, random_state=int(self._draws.integers(2**31)))
        return member

    def fit(self, drawn: Drawn, target: Array, weight: Array) -> Fitted:
        """The tree."""
        member, kept = drawn
        own = slice(None) if kept is None else kept
        center = center_of(target[own], weight[own])
        growth = member._growth(NUMBER_CRITERIA[member.criterion], float(weight[own].sum()))
        rows, units = moment_rows(weight, target - center, weight, centered=True)
        rules = column_rules(self._columns, growth.signs, growth.groups)
        rest = (growth.form, growth.limits(units[0]), self._columns, rules)
        tree, leaves = grow_tree(self._table(kept, len(target)), rows, units, *rest)
        tree = replace(tree, threshold=np.minimum(tree.threshold, EVERY_VALUE))
        tree = tree.with_values(tree.value + center)
        tree = measured_impurity(tree, leaves[own], target[own], weight[own], growth.form)
        if member.ccp_alpha > 0:
            member.unpruned_tree_, tree = tree, pruned(tree, member.ccp_alpha)
            leaves = tree.apply(self._levels)
        elif kept is not None:
            inside, leaves = leaves, np.empty(len(target), dtype=np.int32)
            outside = np.setdiff1d(np.arange(len(target)), kept, assume_unique=True)
            leaves[kept], leaves[outside] = inside[kept], tree.apply(self._levels[outside])
        member.tree_ = tree
        return Fitted(member, tree.value[leaves, 0], leaves)

    def _table(self, kept: NDArray[np.intp] | None, n_rows: int) -> SortedTable | BinnedTable:
        if self._codes is not None:
            places = np.arange(n_rows) if kept is None else kept
            return BinnedTable(self._codes, places.astype(np.int32), self._columns.n_codes)
        pairs = self._pairs.copy()  # rearranged as the tree grows
        if kept is not None:
            there = np.zeros(n_rows, dtype=np.bool_)
            there[kept] = True
            pairs = np.array([column[there[(column & LOW_PART).astype(np.intp)]] for column in pairs])
        return sorted_table(pairs, self._columns.n_codes)


class Constant(BaseEstimator):
    """Says the same about every row."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def predict(self, X: Any) -> Array:
        """The value for each row."""
        return np.full(X.shape[0], self.value)


def grows_here(learner: Any) -> bool:
    """Whether a learner is a regression tree that `TreeFitting` grows."""
    return type(learner) is DecisionTreeRegressor and learner.criterion != "poisson"


def together(fitted: list[Fitted]) -> Direction:
    """The learners of a round as one direction: a number per row, or one per class."""
    values = fitted[0].values if len(fitted) == 1 else np.column_stack([one.values for one in fitted])
    return Direction([one.member for one in fitted], values)


def with_leaf_steps(state: State, fitted: list[Fitted], loss: Loss) -> list[Fitted]:
    """The trees with the best constant of each leaf in place of its values; Newton's of several classes."""
    return [
        _with_values(
            one, _leaf_values(state, one, loss) if len(fitted) == 1 else _class_values(state, one, k)
        )
        for k, one in enumerate(fitted)
    ]


def _with_values(one: Fitted, value: Array) -> Fitted:
    assert one.leaves is not None
    tree: Tree = one.member.tree_
    one.member.tree_ = tree.with_values(value[:, np.newaxis])
    return one._replace(values=value[one.leaves])


def _leaf_values(state: State, one: Fitted, loss: Loss) -> Array:
    assert one.leaves is not None
    value = np.zeros(one.member.tree_.node_count)
    scores, weight = state.along()
    narrow = one.leaves.astype(np.uint16) if len(value) < 2**16 else one.leaves  # sorted by counting
    order = np.argsort(narrow, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(one.leaves[order])) + 1):
        value[one.leaves[part[0]]] = constant_step(loss, state.y[part], weight[part], scores[part])
    return value


def _class_values(state: State, one: Fitted, k: int) -> Array:
    """(K − 1)/K Σ r / Σ p(1 − p) over the rows of each leaf (Friedman 2001, §4.6)."""
    assert one.leaves is not None
    n_nodes, slope = one.member.tree_.node_count, state.residuals[:, k]
    chance = (state.y == k) - slope
    up = np.bincount(one.leaves, state.weight * slope, minlength=n_nodes)
    down = np.bincount(one.leaves, state.weight * chance * (1 - chance), minlength=n_nodes)
    n_classes = state.residuals.shape[1]
    least = 1e-150
    return np.divide((n_classes - 1) / n_classes * up, down, out=np.zeros(n_nodes), where=down > least)
