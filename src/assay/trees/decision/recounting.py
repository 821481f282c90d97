"""The numbers of the nodes of a tree, counted again from the rows that walk through them, in floats."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trees.decision.search import medians_of_nodes, one_hot
from assay.trees.decision.solver import Growth
from assay.trees.growing.criteria import AbsoluteError, impurity, is_of_counts
from assay.trees.tree import Tree

Array = NDArray[np.float64]


class TreeRows(NamedTuple):
    """Rows of positive weight: columns of categories as codes, target, weights, number of classes."""

    X: NDArray
    target: NDArray
    weight: Array
    n_classes: int

    @property
    def center(self) -> Any:
        """The mean target (of each output); 0 for classes."""
        return 0.0 if self.n_classes else np.average(self.target, axis=0, weights=self.weight)

    def terms(self, center: Any) -> Array:
        """What the values of leaves are means of, times the weights: marks of the classes, or targets."""
        if self.n_classes:
            return self.weight[:, np.newaxis] * one_hot(self.target, self.n_classes)
        return self.weight[:, np.newaxis] * (self.target.reshape(len(self.target), -1) - center)


class Recomputed(NamedTuple):
    """Numbers of the nodes, from the rows that walk through them."""

    weight: Array
    counts: NDArray
    mean: Array  # the columns of the values, constraints left aside
    value: Array
    impurity: Array
    gain: Array
    low: Array
    high: Array


def at_nodes(tree: Tree, leaves: NDArray, amounts: NDArray) -> Array:
    """Sums of amounts per row over the rows of each node."""
    return tree.add_up(np.bincount(leaves, amounts, minlength=tree.node_count).astype(float))


def recompute(tree: Tree, leaves: NDArray, data: TreeRows, growth: Growth) -> Recomputed:
    """Numbers of the nodes as sums of floats over their rows."""
    form, weight = growth.form, at_nodes(tree, leaves, data.weight)
    safe = np.where(weight > 0, weight, 1.0)
    counts = np.rint(at_nodes(tree, leaves, np.ones(len(leaves)))).astype(np.int64)
    if data.n_classes:
        sums = np.column_stack([at_nodes(tree, leaves, column) for column in data.terms(0.0).T])
        mean, spread = sums / safe[:, np.newaxis], impurity(form, np.column_stack([weight, sums]))
    elif isinstance(form, AbsoluteError):
        medians, costs = medians_of_nodes(tree, leaves, data.target, data.weight)
        mean, spread = medians[:, np.newaxis], costs / safe
    else:
        is_poisson = is_of_counts(form)
        outputs = data.target.reshape(len(leaves), -1).T
        each = [mean_and_spread(tree, leaves, column, data.weight, is_poisson) for column in outputs]
        mean = np.column_stack([one for one, _ in each])
        spread = np.mean([one for _, one in each], axis=0)
    inner = np.flatnonzero(~tree.is_leaf)
    costs, gain = weight * spread, np.zeros(tree.node_count)
    gain[inner] = costs[inner] - costs[tree.children_left[inner]] - costs[tree.children_right[inner]]
    low, high = bounds(tree, mean[:, -1], growth.signs)
    value = mean
    if growth.signs is not None:
        last = np.clip(mean[:, -1], low, high)
        value = np.column_stack([1.0 - last, last]) if data.n_classes else last[:, np.newaxis]
    return Recomputed(weight, counts, mean, value, spread, gain, low, high)


def mean_and_spread(
    tree: Tree, leaves: NDArray, target: NDArray, weight: Array, is_poisson: bool
) -> tuple[Array, Array]:
    """Mean of each node, and variance or half the mean Poisson deviance, as sums of floats."""
    center = 0.0 if is_poisson else float(np.average(target, weights=weight))
    total = at_nodes(tree, leaves, weight)
    safe = np.where(total > 0, total, 1.0)
    sums = at_nodes(tree, leaves, weight * (target - center))
    mean = sums / safe + center
    rest = at_nodes(tree, leaves, weight * (target * _log(target) if is_poisson else (target - center) ** 2))
    part = sums * _log(mean) if is_poisson else sums**2 / safe
    return mean, np.maximum(rest - part, 0.0) / safe


def _log(values: NDArray) -> Array:
    return np.log(np.where(values > 0, values, 1.0))


def bounds(tree: Tree, mean: Array, signs: NDArray | None) -> tuple[Array, Array]:
    """What constraints further up leave to the prediction of each node."""
    low, high = np.full(tree.node_count, -np.inf), np.full(tree.node_count, np.inf)
    if signs is None:
        return low, high
    for node in np.flatnonzero(~tree.is_leaf):
        left, right = tree.children_left[node], tree.children_right[node]
        for child in (left, right):
            low[child], high[child] = low[node], high[node]
        sign = signs[tree.feature[node]]
        if sign != 0:
            middle = np.clip(mean[[left, right]], low[node], high[node]).mean()
            rising, falling = (left, right) if sign > 0 else (right, left)
            high[rising], low[falling] = middle, middle
    return low, high
