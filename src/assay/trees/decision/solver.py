"""One exact tree: every distinct value is a place to cut, as sorting the columns gives them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trees.growing.build import column_rules, grow_tree, measured_impurity
from assay.trees.growing.columns import Columns, sort_columns
from assay.trees.growing.criteria import (
    Entropy,
    Gini,
    Misclassification,
    Newton,
    PoissonDeviance,
)
from assay.trees.growing.finding import BestCuts, RandomCuts
from assay.trees.growing.space import Limits
from assay.trees.growing.statistics import center_of, class_rows, moment_rows
from assay.trees.growing.table import sorted_table
from assay.trees.tree import EVERY_VALUE, Tree

CLASS_CRITERIA: dict[str, Any] = {
    "gini": Gini(),
    "entropy": Entropy(),
    "log_loss": Entropy(),
    "misclassification": Misclassification(),
}
NUMBER_CRITERIA: dict[str, Any] = {
    "squared_error": Newton(),
    "friedman_mse": Newton(),  # |L||R|/(|L|+|R|) (ȳ_L − ȳ_R)² is the decrease of the squared error
    "poisson": PoissonDeviance(),
}

DEEP = 2**31 - 1
"""A depth that no tree has."""

HEAVY = 2**61
"""Units of weight that no node has; twice as many are still a number."""


class Growth(NamedTuple):
    """What a tree is grown by: criterion, stopping rules and constraints of the columns.

    Weights here are those of the rows; `min_leaf` and `min_split` of 0 forbid nothing but empty sides.
    """

    form: Any
    max_depth: int | None
    min_split: float
    min_leaf: float
    min_gain: float
    max_leaves: int | None
    n_tried: int
    random_cuts: bool
    seed: int
    categorical: NDArray[np.bool_]
    signs: NDArray | None
    groups: NDArray | None

    @property
    def finder(self) -> Any:
        """How a column is cut."""
        return RandomCuts() if self.random_cuts else BestCuts()

    def limits(self, unit: float) -> Limits:
        """The stopping rules in units of the weights."""
        return Limits(
            DEEP if self.max_depth is None else min(self.max_depth, DEEP),
            min(int(np.ceil(self.min_split / unit)), HEAVY),
            min(max(int(np.ceil(self.min_leaf / unit)), 1), HEAVY),
            self.min_gain,
            0 if self.max_leaves is None else self.max_leaves,
            self.n_tried,
            self.seed,
        )


class GrownTree(NamedTuple):
    """A tree, the leaf of each row, and how columns of categories become codes."""

    tree: Tree
    leaves: NDArray[np.int32]
    columns: Columns


def grow_exact(X: NDArray, target: NDArray, weight: NDArray, n_classes: int, growth: Growth) -> GrownTree:
    """Grow a tree on rows of positive weight.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    target : array of shape (n_rows,)
        Places of the classes, or numbers.
    weight : float64 array of shape (n_rows,)
    n_classes : int
        0 for numbers.
    growth : Growth
    """
    pairs, columns = sort_columns(X, growth.categorical)
    rules = column_rules(columns, growth.signs, growth.groups)
    table = sorted_table(pairs, columns.n_codes)
    center = 0.0
    if n_classes:
        rows: Any
        rows, unit = class_rows(target, weight)
        units = np.full(n_classes + 1, unit)
    else:
        target = target.astype(np.float64)
        is_centered = not isinstance(growth.form, PoissonDeviance)
        center = center_of(target, weight) if is_centered else 0.0
        rows, units = moment_rows(weight, target - center, weight, centered=is_centered)
    limits = growth.limits(units[0])
    tree, leaves = grow_tree(table, rows, units, growth.form, growth.finder, limits, columns, rules)
    tree = replace(tree, threshold=np.minimum(tree.threshold, EVERY_VALUE))
    if not n_classes:
        if center != 0.0:
            tree = tree.with_values(tree.value + center)
        tree = measured_impurity(tree, leaves, target, weight, growth.form)
    return GrownTree(tree, leaves, columns.of_categories())
