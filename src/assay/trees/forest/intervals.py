"""Quantiles and prediction intervals of forests, from the rows that share leaves with a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.models.conformal import conformal_rank
from assay.trees.forest.solver import Forest
from assay.trees.forest.trees import leaves_of_codes
from assay.trees.tree import Tree

AT_ONCE = 2**24
"""Pairs of a new row and a row of the fit that are looked at at a time."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Which rows of the fit are in which leaf.

    Attributes
    ----------
    leaves : int32 array of shape (n_trees, n_rows)
    weights : float32 array of shape (n_trees, n_rows)
        Weight of each row in each tree, 0 outside its bag.
    target, weight : float64 arrays of shape (n_rows,)
    """

    leaves: NDArray[np.int32]
    weights: NDArray[np.float32]
    target: NDArray[np.float64]
    weight: NDArray[np.float64]

    def quantiles(self, leaves: NDArray[np.int32], levels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles of the targets that share leaves with new rows, each tree of the same weight.

        Parameters
        ----------
        leaves : int32 array of shape (n_new, n_trees)
        levels : array of shape (n_levels,)
        """
        order = np.argsort(self.target, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        by_leaf = np.argsort(self.leaves, axis=1, kind="stable").astype(np.int32)
        n_leaves = int(self.leaves.max(initial=0)) + 2
        starts = np.zeros((len(self.leaves), n_leaves), dtype=np.int64)
        for tree, members in enumerate(self.leaves):
            np.cumsum(np.bincount(members, minlength=n_leaves - 1), out=starts[tree, 1:])
        out = np.empty((len(leaves), len(levels)))
        leaf_quantiles(leaves, starts, by_leaf, self.weights, places, self.target[order], levels, out)
        return out

    def held_out(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """For each tree and row 1 / (trees that have not seen it) or 0; the rows that have such trees."""
        outside = self.weights == 0
        counts = outside.sum(axis=0)
        return outside / np.maximum(counts, 1), (counts > 0) & (self.weight > 0)

    def intervals(
        self, said: NDArray[np.float64], on_rows: NDArray[np.float64], coverage: float
    ) -> NDArray[np.float64]:
        """Jackknife+ after bootstrap (Kim, Xu & Barber 2020): ends of an interval for each new row.

        Parameters
        ----------
        said : array of shape (n_new, n_trees)
            What each tree predicts for the new rows.
        on_rows : array of shape (n_trees, n_rows)
            What each tree predicts for the rows of the fit.
        coverage : float
        """
        shares, there = self.held_out()
        shares, weight = shares[:, there], self.weight[there]
        residuals = np.abs(self.target[there] - np.sum(shares * on_rows[:, there], axis=0))
        total = float(weight.sum())
        out = np.empty((len(said), 2))
        step = max(AT_ONCE // max(len(residuals), 1), 1)
        for first in range(0, len(said), step):
            without = said[first : first + step] @ shares  # row by row of the fit: the trees without it
            part = out[first : first + step]
            part[:, 0] = -upper_quantile(residuals - without, weight, total, coverage)
            part[:, 1] = upper_quantile(without + residuals, weight, total, coverage)
        return out


def upper_quantile(values: NDArray, weight: NDArray, total: float, coverage: float) -> NDArray[np.float64]:
    """The ⌈(n + 1)·coverage⌉-th smallest of each row, infinite where there are too few."""
    order = np.argsort(values, axis=1)
    upto = np.cumsum(weight[order], axis=1)
    needed = conformal_rank(total, coverage) - 1e-9 * total
    place = np.sum(upto < needed, axis=1)
    sorted_values = np.take_along_axis(values, order, axis=1)
    inside = np.minimum(place, values.shape[1] - 1)
    chosen = sorted_values[np.arange(len(values)), inside]
    return np.where(place < values.shape[1], chosen, np.inf)


def keep_rows(forest: Forest, trees: Any, seeds: NDArray[np.int64], how: Any = True) -> KeptRows:
    """The leaves of rows of the fit, and their weights in each tree: all, or so many at equal distances."""
    table = forest.table
    n_rows = len(table.target)
    most = n_rows if isinstance(how, (bool, np.bool_)) else min(int(how), n_rows)
    kept = np.unique(np.linspace(0, n_rows - 1, most).astype(np.int64))
    leaves = np.empty((len(trees), len(kept)), dtype=np.int32)
    weights = np.empty(leaves.shape, dtype=np.float32)
    tree: Tree
    for place, tree in enumerate(trees):
        leaves_of_codes(tree._splits(), tree.cut, table.codes, table.columns.n_codes, kept, leaves[place])
        weights[place] = forest.weights(int(seeds[place]))[1][kept]
    return KeptRows(leaves, weights, table.target[kept].astype(np.float64), table.weight[kept])


@compiled
def leaf_quantiles(leaves, starts, by_leaf, weights, places, values, levels, out):  # type: ignore[no-untyped-def]
    """Weighted quantiles of the rows that share leaves with new ones; `values` are sorted."""
    n_trees, n_rows = weights.shape
    shares = np.zeros(n_rows)
    for i in range(leaves.shape[0]):
        low, high = n_rows, -1
        for tree in range(n_trees):
            leaf = leaves[i, tree]
            begin, end = starts[tree, leaf], starts[tree, leaf + 1]
            total = 0.0
            for p in range(begin, end):
                total += weights[tree, by_leaf[tree, p]]
            if total <= 0.0:
                continue
            for p in range(begin, end):
                row = by_leaf[tree, p]
                if weights[tree, row] > 0.0:
                    shares[places[row]] += weights[tree, row] / total
                    low, high = min(low, places[row]), max(high, places[row])
        whole = 0.0
        for p in range(low, high + 1):
            whole += shares[p]
        for q in range(levels.shape[0]):
            upto, p = 0.0, low
            target = levels[q] * whole * (1.0 - 1e-12)
            while p < high:
                upto += shares[p]
                if upto >= target and upto > 0.0:
                    break
                p += 1
            out[i, q] = values[p]
        for p in range(low, high + 1):
            shares[p] = 0.0
