"""Ways to read a tree: its leaves as boxes and as rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.trees.growing.columns import Columns
from assay.trees.tree import EVERY_VALUE, Tree


@dataclass(frozen=True, eq=False)
class Box:
    """A leaf as a region of the space: lower < x ≤ upper in every column.

    Attributes
    ----------
    leaf : int
        The node of the tree.
    lower, upper : arrays of shape (n_columns,)
        Ends of the intervals, −∞ and ∞ where there is none.
    missing : bool array of shape (n_columns,)
        Whether a missing value of the column may end here.
    codes : dict
        For columns of categories that a split above has divided: the codes that end here, as a bool array.
    value : array
        Shares of the classes, or the mean.
    weight, impurity : float
        Of the training rows.
    """

    leaf: int
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    missing: NDArray[np.bool_]
    codes: dict[int, NDArray[np.bool_]]
    value: NDArray[np.float64]
    weight: float
    impurity: float

    def contains(self, X: NDArray) -> NDArray[np.bool_]:
        """Which rows lie in the box; categories as codes, NaN where missing."""
        X = np.asarray(X, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            inside = (self.lower < X) & (self.upper >= X)
        for j, codes in self.codes.items():
            known = ~np.isnan(X[:, j])
            inside[known, j] = codes[X[known, j].astype(np.int64)]
        return np.all(np.where(np.isnan(X), self.missing, inside), axis=1)


def boxes_of(tree: Tree, n_columns: int, n_codes: NDArray) -> list[Box]:
    """The leaves as boxes, from left to right."""
    whole: Any = (
        np.full(n_columns, -np.inf),
        np.full(n_columns, np.inf),
        np.ones(n_columns, dtype=np.bool_),
        {},
    )
    regions: dict[int, Any] = {0: whole}
    boxes = []
    for node in range(tree.node_count):
        lower, upper, missing, codes = regions.pop(node)
        if tree.is_leaf[node]:
            weight, impurity = float(tree.weighted_n_node_samples[node]), float(tree.impurity[node])
            boxes.append(Box(node, lower, upper, missing, codes, tree.value[node], weight, impurity))
            continue
        j, threshold = int(tree.feature[node]), tree.threshold[node]
        threshold = np.inf if threshold >= EVERY_VALUE else threshold
        for child, is_left in ((tree.children_left[node], True), (tree.children_right[node], False)):
            low, high, absent, sets = lower.copy(), upper.copy(), missing.copy(), dict(codes)
            absent[j] &= tree.missing_go_to_left[node] == is_left
            if tree.levels[node] >= 0:
                goes_left = tree.left_codes(node, int(n_codes[j]))
                earlier = sets.get(j, np.ones(len(goes_left), dtype=np.bool_))
                sets[j] = earlier & (goes_left == is_left)
            elif is_left:
                high[j] = min(high[j], threshold)
            else:
                low[j] = max(low[j], threshold)
            regions[int(child)] = (low, high, absent, sets)
    return boxes


def conditions(box: Box, names: list[str], columns: Columns, levels: dict[int, list[Any]]) -> list[str]:
    """The sides of a box that bound it, as conditions."""
    words = []
    for j, name in enumerate(names):
        low, high = box.lower[j], box.upper[j]
        if j in box.codes:
            inside = [str(level) for level in levels_of(columns, levels, j, box.codes[j])]
            words.append(f"{name} in {{{', '.join(inside)}}}" if inside else f"{name} is missing")
            continue
        if np.isneginf(low) and np.isposinf(high):
            continue
        if np.isneginf(low):
            text = f"{name} ≤ {high:.4g}"
        elif np.isposinf(high):
            text = f"{name} > {low:.4g}" if not np.isposinf(low) else f"{name} is missing"
        else:
            text = f"{low:.4g} < {name} ≤ {high:.4g}"
        words.append(text)
    return words


def levels_of(columns: Columns, names: dict[int, list[Any]], j: int, codes: NDArray[np.bool_]) -> list[Any]:
    """The levels of a column of categories that have some codes, by name where they have names."""
    part = slice(columns.offsets[j], columns.offsets[j + 1])
    values, shared = columns.low[part], columns.shared[part]
    chosen = values[codes[shared]]
    known = names.get(j)
    return [known[int(value)] for value in chosen] if known else [f"{value:g}" for value in chosen]
