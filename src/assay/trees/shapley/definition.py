"""Shapley values by their definition: all sets of the columns of a tree, for the few rows that a proof takes.

Nothing here is shared with the loops that explain: expectations of a whole tree given a set of columns, node
by node from the fitted arrays, and the sum over sets with factorials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.forest.trees import Trees
from assay.trees.shapley.splits import Fitted, SummedTrees


class OneTree(NamedTuple):
    """The arrays of one tree, its values of shape (n_nodes, n_values), and the output that they add to."""

    feature: NDArray
    threshold: NDArray
    left: NDArray
    right: NDArray
    missing_left: NDArray
    levels: NDArray
    bits: NDArray
    weight: NDArray
    value: NDArray
    output: int

    @property
    def columns(self) -> NDArray[np.int32]:
        """The different columns of its splits."""
        return np.unique(self.feature[self.feature >= 0])

    def child(self, node: int, row: NDArray) -> int:
        """The child that a row goes to."""
        value = row[self.feature[node]]
        if np.isnan(value):
            goes_left = bool(self.missing_left[node])
        elif self.levels[node] >= 0:
            word = int(self.bits[self.levels[node], int(value) >> 5])
            goes_left = bool((word >> (int(value) & 31)) & 1)
        else:
            goes_left = bool(value <= self.threshold[node])
        return int(self.left[node] if goes_left else self.right[node])


def each_tree(fitted: Fitted) -> Iterator[OneTree]:
    """The trees of a fitted model, one by one, divided by their number where they are averaged."""
    if isinstance(fitted, BoostedTrees):
        for place in range(fitted.n_trees):
            part = fitted.tree(place)
            split = (fitted.feature[part], fitted.threshold[part])
            sides = (fitted.children_left[part], fitted.children_right[part], fitted.missing_go_to_left[part])
            sets = (fitted.levels[part], fitted.bits, fitted.weight[part], fitted.value[part, np.newaxis])
            yield OneTree(*split, *sides, *sets, place % fitted.n_outputs)
        return
    trees: Any = fitted if isinstance(fitted, Trees) else [fitted]
    values: Any = [tree.value / len(trees) for tree in trees] if not isinstance(fitted, SummedTrees) else []
    outputs: Any = [0] * len(trees)
    if isinstance(fitted, SummedTrees):
        trees, outputs = fitted.trees, fitted.output
        values = np.split(fitted.value, fitted.trees.starts[1:-1])
    for tree, value, output in zip(trees, values, outputs, strict=True):
        sides = (tree.children_left, tree.children_right, tree.missing_go_to_left)
        sets = (tree.levels, tree.bits, tree.weighted_n_node_samples, value)
        yield OneTree(tree.feature, tree.threshold, *sides, *sets, int(output))


def set_values(tree: OneTree, row: NDArray, background: NDArray | None) -> NDArray[np.float64]:
    """What a tree says of a row when only a set of its columns is known: shape (2^n_columns, n_values).

    Set number s has the columns whose bit is set in s. Unknown columns follow the weight of the training
    rows, or take the values of the background rows in turn.
    """
    place = {int(column): bit for bit, column in enumerate(tree.columns)}
    sets = np.arange(2 ** len(place))
    total = np.zeros((len(sets), tree.value.shape[1]))
    others: list[Any] = [None] if background is None else list(background)
    for other in others:
        says: dict[int, NDArray] = {}
        for node in range(len(tree.feature) - 1, -1, -1):  # children come after their parents
            if tree.feature[node] < 0:
                says[node] = np.tile(tree.value[node], (len(sets), 1))
                continue
            left, right = int(tree.left[node]), int(tree.right[node])
            known = ((sets >> place[int(tree.feature[node])]) & 1 == 1)[:, np.newaxis]
            if other is None:
                shares = tree.weight[[left, right]] / tree.weight[node]
                unknown = shares[0] * says[left] + shares[1] * says[right]
            else:
                unknown = says[tree.child(node, other)]
            says[node] = np.where(known, says[tree.child(node, row)], unknown)
            del says[left], says[right]
        total += says[0]
    return total / len(others)


def shapley(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_S |S|! (k − |S| − 1)! / k! (v(S ∪ j) − v(S)) for each player j: shape (k, n_values)."""
    k = len(values).bit_length() - 1
    sets, sizes = _sets(k)
    share = np.array([math.factorial(s) * math.factorial(k - s - 1) / math.factorial(k) for s in range(k)])
    out = np.zeros((k, values.shape[1]))
    for j in range(k):
        without = sets[(sets >> j) & 1 == 0]
        out[j] = share[sizes[without]] @ (values[without | (1 << j)] - values[without])
    return out


def shapley_pairs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """½ Σ_S |S|! (k − |S| − 2)! / (k − 1)! (v(S ∪ ij) − v(S ∪ i) − v(S ∪ j) + v(S)): shape (k, k, n_values).

    On the diagonal what is left of the Shapley value of the player.
    """
    k = len(values).bit_length() - 1
    sets, sizes = _sets(k)
    share = np.array(
        [math.factorial(s) * math.factorial(k - s - 2) / math.factorial(k - 1) for s in range(k - 1)]
    )
    out = np.zeros((k, k, values.shape[1]))
    for i in range(k):
        for j in range(i):
            without = sets[((sets >> i) & 1 == 0) & ((sets >> j) & 1 == 0)]
            one, two = without | (1 << i), without | (1 << j)
            gain = values[one | two] - values[one] - values[two] + values[without]
            out[i, j] = out[j, i] = 0.5 * share[sizes[without]] @ gain
    single = shapley(values)
    for i in range(k):
        out[i, i] = single[i] - out[i].sum(axis=0)
    return out


def _sets(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of all sets of k players, and how many players each has."""
    sets = np.arange(2**k)
    return sets, sum(((sets >> j) & 1 for j in range(k)), start=np.zeros_like(sets))
