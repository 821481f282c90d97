"""One exact tree: every distinct value is a place to cut, as sorting the columns gives them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trees.growing.build import column_rules, count_rows, grow_tree
from assay.trees.growing.columns import Columns, sort_columns
from assay.trees.growing.criteria import ENTROPY, GINI, MISTAKES, AbsoluteError, ClassCost, NumberCost
from assay.trees.growing.space import Limits
from assay.trees.growing.table import sorted_table
from assay.trees.tree import EVERY_VALUE, Tree

CLASS_CRITERIA: dict[str, Any] = {
    "gini": ClassCost(GINI),
    "entropy": ClassCost(ENTROPY),
    "log_loss": ClassCost(ENTROPY),
    "misclassification": ClassCost(MISTAKES),
}
NUMBER_CRITERIA: dict[str, Any] = {
    "squared_error": NumberCost(),
    "friedman_mse": NumberCost(),  # |L||R|/(|L|+|R|) (ȳ_L − ȳ_R)² is the decrease of the squared error
    "absolute_error": AbsoluteError(),
    "poisson": NumberCost(is_poisson=True),
}

DEEP = 2**31 - 1
"""A depth that no tree has."""

HEAVY = 2**61
"""Units of weight that no node has; twice as many are still a number."""


ROUNDING = 1e-8
"""Share of its weight that a row loses where weights are counted in units of 2⁻³⁰ of the largest."""


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

    def limits(self, unit: float) -> Limits:
        """The stopping rules in units of the weights."""
        return Limits(
            DEEP if self.max_depth is None else min(self.max_depth, DEEP),
            min(units_of(self.min_split, unit), HEAVY),
            min(max(units_of(self.min_leaf, unit), 1), HEAVY),
            self.min_gain,
            0 if self.max_leaves is None else self.max_leaves,
            self.n_tried,
            self.seed,
            self.random_cuts,
        )


def units_of(weight: float, unit: float) -> int:
    """Units of weight that a node has at least.

    Ten rows of weight 0.1 may weigh a little less than 1 in units, and 0.07 of 300 rows is a little more than
    21 in floats: what lacks no more than that is enough.
    """
    return int(np.ceil(weight * (1.0 - ROUNDING) / unit))


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
    target : array of shape (n_rows,), or (n_rows, n_outputs) where `growth.form` is of several
        Places of the classes (those of all outputs one after the other), or numbers.
    weight : float64 array of shape (n_rows,)
    n_classes : int
        Of all outputs; 0 for numbers.
    growth : Growth
    """
    pairs, columns = sort_columns(X, growth.categorical)
    rules = column_rules(columns, growth.signs, growth.groups)
    table = sorted_table(pairs, columns.n_codes)
    target = target if n_classes else target.astype(np.float64)
    counted = count_rows(growth.form, target, weight, n_classes, table.rows, weight)
    limits = growth.limits(counted.units[0])
    how = (growth.form, limits, columns, rules)
    tree, leaves = grow_tree(table, counted.rows, counted.units, *how)
    tree = replace(tree, threshold=np.minimum(tree.threshold, EVERY_VALUE))
    tree = counted.finish(tree, leaves, target, weight, growth.form)
    return GrownTree(tree, leaves, columns.of_categories())
