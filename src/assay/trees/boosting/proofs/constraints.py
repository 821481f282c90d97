"""What boosted trees were not allowed to do, and have not done anywhere: constraints, columns not drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.trees.boosting.ensemble import LEAF, BoostedTrees
from assay.trees.boosting.proofs.replay import drawn_columns
from assay.trees.constraints import groups_of, signs_of

WEI = "Wei §8.4; Friedman (2001)"


def constraint_claims(model: Any) -> list[Certificate]:
    """Constraints hold everywhere, by the order of the leaves and the columns of the paths."""
    claims: list[Certificate] = []
    trees: BoostedTrees = model.trees_
    signs, groups = signs_of(model, model.is_categorical_), groups_of(model)
    if signs is not None:
        claims.append(
            at_most(
                "Along each constrained column the prediction is monotone everywhere.",
                "largest step of a tree against its constraint",
                monotone_violation(trees, signs),
                0.0,
                WEI,
            )
        )
    if groups is not None:
        claims.append(
            at_most(
                "The columns of every path are in one group.",
                "paths that leave all groups",
                paths_outside(trees, groups),
                0,
                WEI,
            )
        )
    if model._sampling.columns < 1.0:
        claims.append(
            at_most(
                "Every tree is divided by none but the columns drawn for it.",
                "splits in other columns",
                splits_outside(model),
                0,
                WEI,
            )
        )
    return claims


def monotone_violation(trees: BoostedTrees, signs: NDArray) -> float:
    """Largest amount by which a leaf beyond a constrained split is on the wrong side of one before it.

    Leaves below both sides of a split in one column are compared where their boxes overlap in the others,
    which is more than what is asked where none of the later splits is on that column.
    """
    worst = 0.0
    for place in range(trees.n_trees):
        nodes = trees.tree(place)
        feature, value = trees.feature[nodes], trees.value[nodes]
        left, right = trees.children_left[nodes], trees.children_right[nodes]
        low, high = value.copy(), value.copy()
        for node in range(len(feature) - 1, -1, -1):  # children come after their parents
            if feature[node] == LEAF:
                continue
            a, b = left[node], right[node]
            low[node], high[node] = min(low[a], low[b]), max(high[a], high[b])
            sign = signs[feature[node]]
            if sign > 0:
                worst = max(worst, high[a] - low[b])
            elif sign < 0:
                worst = max(worst, high[b] - low[a])
    return float(worst)


def paths_outside(trees: BoostedTrees, groups: NDArray[np.bool_]) -> int:
    """Leaves whose path has columns of no common group."""
    outside = 0
    for place in range(trees.n_trees):
        nodes = trees.tree(place)
        feature, left, right = trees.feature[nodes], trees.children_left[nodes], trees.children_right[nodes]
        fits = np.ones((len(feature), len(groups)), dtype=bool)
        for node in range(len(feature)):
            if feature[node] == LEAF:
                outside += not fits[node].any()
                continue
            for child in (left[node], right[node]):
                fits[child] = fits[node] & groups[:, feature[node]]
    return outside


def splits_outside(model: Any) -> int:
    """Splits in columns that were not drawn for their tree."""
    trees: BoostedTrees = model.trees_
    used = (trees.feature[trees.tree(place)] for place in range(trees.n_trees))
    return sum(
        int(np.count_nonzero(~drawn_columns(model, place)[feature[feature != LEAF]]))
        for place, feature in enumerate(used)
    )
