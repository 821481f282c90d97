"""How much each column matters to a forest, with standard errors over its trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import rows
from assay.rows import MemoryRows
from assay.trees.decision.recounting import TreeRows
from assay.trees.forest.outside import row_losses
from assay.trees.forest.solver import Forest
from assay.trees.forest.trees import Trees
from assay.trees.importance import KINDS, Importance, summarised
from assay.trees.tree import Tree


def impurity_importance(trees: Trees, n_columns: int) -> NDArray[np.float64]:
    """Share of each column in what the splits of each tree gain."""
    return np.array([tree.importances(n_columns) for tree in trees])


def measured_importance(
    model: Any, data: MemoryRows, forest: Forest, kind: str, random: np.random.Generator
) -> NDArray[np.float64]:
    """Importance of each column in each tree on the rows outside its bag."""
    X = np.ascontiguousarray(data.X.toarray() if data.is_sparse else data.X)
    X = model.columns_.levels_as_codes(X)
    weight = forest.table.weight
    seeds = random.integers(2**62, size=len(model.trees_))

    def measure(place: int) -> NDArray[np.float64]:
        tree: Tree = model.trees_[place]
        outside = np.flatnonzero((forest.bag.counts(int(model.seeds_[place])) == 0) & (weight > 0))
        if len(outside) == 0:
            return np.zeros(X.shape[1])
        there = (X[outside], forest.table.target[outside], weight[outside])
        if kind == "unbiased":
            total = tree.weighted_n_node_samples[0]
            return decrease_of_rows(tree, *there, forest.n_classes) / total
        return permuted(tree, *there, forest, np.random.default_rng(seeds[place]))

    return np.array(list(rows.ordered_map(measure, range(len(model.trees_)))))


def decrease_of_rows(
    tree: Tree, X: NDArray, target: NDArray, weight: NDArray, n_classes: int
) -> NDArray[np.float64]:
    """What the splits of each column gain when other rows are put in the place of half of each square.

    A node of weight W, shares p and Gini cost W(1 − p·p) is counted as W(1 − p·q), q the shares of the other
    rows in it; means take the place of shares for numbers. On the rows that the tree was grown on that is
    what the splits gain. For a column that says nothing q is the same on both sides, and the mean is 0
    however many values the column has (Zhou & Hooker 2021). Splits with no other rows on one side are left
    out.
    """
    leaves = tree.apply(X)
    weights = tree.add_up(np.bincount(leaves, weight, minlength=tree.node_count).astype(np.float64))
    values = tree.value if n_classes else tree.value - tree.value[0]
    product = np.zeros(tree.node_count)
    terms = TreeRows(X, target, weight, n_classes).terms(0.0 if n_classes else tree.value[0])
    for k, part in enumerate(terms.T):
        sums = tree.add_up(np.bincount(leaves, part, minlength=tree.node_count).astype(np.float64))
        product += values[:, k] * np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)
    cost = -tree.weighted_n_node_samples * product
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero(~tree.is_leaf)
    inner = inner[(weights[left[inner]] > 0) & (weights[right[inner]] > 0)]
    gains = cost[inner] - cost[left[inner]] - cost[right[inner]]
    return np.bincount(tree.feature[inner], gains, minlength=X.shape[1]).astype(np.float64)


def permuted(
    tree: Tree,
    X: NDArray,
    target: NDArray,
    weight: NDArray,
    forest: Forest,
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Rise of the error of a tree on rows outside its bag when a column is shuffled among them."""
    out, share = np.zeros(X.shape[1]), weight / weight.sum()

    def error(table: NDArray) -> float:
        losses = row_losses(tree.value[tree.apply(table)], target, forest.n_classes, forest.ends)
        return float(np.dot(share, losses))

    base, shuffled = error(X), X.copy()
    for j in np.unique(tree.feature[tree.feature >= 0]):
        shuffled[:, j] = random.permutation(X[:, j])
        out[j] = error(shuffled) - base
        shuffled[:, j] = X[:, j]
    return out


__all__ = ["KINDS", "Importance", "impurity_importance", "measured_importance", "summarised"]
