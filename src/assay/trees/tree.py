"""A fitted tree: flat arrays, one row per node, as scikit-learn's users know them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.trees.walking import Walk, make_walk

LEAF = -1

EVERY_VALUE = float(np.finfo(np.float64).max)
"""A threshold that divides rows with a value from those without."""

NO_THRESHOLD = -2.0
"""What stands for the threshold of a node that has none, as in scikit-learn."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A fitted tree; nodes are numbered in the order node, left part, right part.

    Attributes
    ----------
    children_left, children_right : int32 arrays of shape (node_count,)
        −1 in leaves.
    feature : int32 array of shape (node_count,)
        The column of the split, −1 in leaves.
    threshold : float64 array of shape (node_count,)
        Values up to it go left; −2 in leaves and in splits of categories.
    missing_go_to_left : bool array of shape (node_count,)
        Where rows without a value go.
    levels : int32 array of shape (node_count,)
        The row of `bits` of a split of categories, else −1.
    bits : uint32 array of shape (n_category_splits, 8)
        Codes of the levels that go left, as a set of bits.
    value : float64 array of shape (node_count, n_outputs)
        Shares of the classes, or the number predicted.
    impurity : float64 array of shape (node_count,)
    gain : float64 array of shape (node_count,)
        How much the split lowers weight × impurity; 0 in leaves.
    weighted_n_node_samples : float64 array of shape (node_count,)
        Weight of the training rows.
    n_node_samples : int64 array of shape (node_count,)
        Number of training rows.
    cut : int64 array of shape (node_count,)
        The split in codes: the last code on the left.
    """

    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.bool_]
    levels: NDArray[np.int32]
    bits: NDArray[np.uint32]
    value: NDArray[np.float64]
    impurity: NDArray[np.float64]
    gain: NDArray[np.float64]
    weighted_n_node_samples: NDArray[np.float64]
    n_node_samples: NDArray[np.int64]
    cut: NDArray[np.int64]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name), equal_nan=True)
            for field in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return self.feature == LEAF

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    @property
    def parents(self) -> NDArray[np.int64]:
        """The parent of each node, −1 for the root."""
        parents = np.full(self.node_count, -1, dtype=np.int64)
        inner = np.flatnonzero(~self.is_leaf)
        parents[self.children_left[inner]] = inner
        parents[self.children_right[inner]] = inner
        return parents

    @property
    def depths(self) -> NDArray[np.int64]:
        """Depth of each node, 0 for the root."""
        depths = np.zeros(self.node_count, dtype=np.int64)
        for node in np.flatnonzero(~self.is_leaf):  # parents come before their children
            depths[self.children_left[node]] = depths[self.children_right[node]] = depths[node] + 1
        return depths

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depths.max())

    @property
    def paths(self) -> list[NDArray[np.int64]]:
        """The nodes from the root to each node."""
        paths: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)] * self.node_count
        for node in np.flatnonzero(~self.is_leaf):  # parents come before their children
            for child in (self.children_left[node], self.children_right[node]):
                paths[child] = np.append(paths[node], child)
        return paths

    def left_codes(self, node: int, n_codes: int) -> NDArray[np.bool_]:
        """Which codes a split of categories sends left."""
        words = self.bits[self.levels[node]]
        codes = np.arange(n_codes)
        return (words[codes >> 5] >> (codes & 31).astype(np.uint32)) & np.uint32(1) == 1

    def add_up(self, at_leaves: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over the leaves below each node of numbers given at the leaves."""
        sums = np.where(self.is_leaf, at_leaves, 0.0)
        sum_up(self.children_left, self.children_right, sums)
        return sums

    def importances(self, n_columns: int) -> NDArray[np.float64]:
        """Share of each column in what the splits gain; zeros where nothing was gained."""
        inner = ~self.is_leaf
        gains = np.bincount(self.feature[inner], np.maximum(self.gain[inner], 0.0), minlength=n_columns)
        total = gains.sum()
        return gains / total if total > 0 else np.zeros(n_columns)

    def apply(self, X: NDArray) -> NDArray[np.int32]:
        """The leaf of each row of an array of values (codes in columns of categories, NaN where missing)."""
        return self.walk(len(X)).leaves(X)[:, 0]

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """The value of the leaf of each row."""
        return self.value[self.apply(X)]

    def walk(self, n_rows: int) -> Walk:
        """The nodes as so many rows meet them."""
        ends = np.array([0, self.node_count]), np.array([0, len(self.bits)])
        return make_walk(self, *ends, n_rows)

    def _splits(self) -> tuple[Any, ...]:
        children = (self.children_left, self.children_right)
        return (self.feature, self.threshold, *children, self.missing_go_to_left, self.levels, self.bits)

    def with_values(self, value: NDArray) -> Tree:
        """The same splits with other values."""
        return replace(self, value=value)


@compiled
def sum_up(left, right, sums):  # type: ignore[no-untyped-def]
    """Add the numbers of the children to their parents, from the bottom up."""
    for node in range(left.shape[0] - 1, -1, -1):  # children come after their parents
        if left[node] >= 0:
            sums[node] += sums[left[node]] + sums[right[node]]
