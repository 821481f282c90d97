"""All trees of a model in one form, each node before its left part and that before its right part.

An *edge* leads from a node to a child. Of a row and a set S of columns, an edge lets through the row itself
where its column is in S, and else the share of the training weight that went that way. Along a path the
edges of one column act as one: the row passes all of them or is out, and the shares are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.forest.trees import Trees
from assay.trees.tree import Tree


class Splits(NamedTuple):
    """Nodes of all trees in the order in which they are walked.

    Attributes
    ----------
    starts : int64 array of shape (n_trees + 1,)
    output : int64 array of shape (n_trees,)
        The first output that the values of a tree add to.
    n_unique : int64 array of shape (n_trees,)
        Most different columns on a path.
    depth : int32 array of shape (n_nodes,)
    feature, threshold, missing_left, levels, bits
        The split of each node, −1 as feature in leaves; see `Tree`.
    edge : int32 array of shape (n_nodes,)
        Column of the edge into the node, −1 at roots.
    is_left : bool array of shape (n_nodes,)
    before : int32 array of shape (n_nodes,)
        Depth of the node that the last edge of the same column on the path leads to, 0 where there is none.
    share : float64 array of shape (n_nodes,)
        Product of the shares of weight over the edges of this column on the path.
    reach : float64 array of shape (n_nodes,)
        Product of the shares over all edges of the path.
    value : float64 array of shape (n_nodes, n_values)
    """

    starts: NDArray[np.int64]
    output: NDArray[np.int64]
    n_unique: NDArray[np.int64]
    depth: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    levels: NDArray[np.int32]
    bits: NDArray[np.uint32]
    edge: NDArray[np.int32]
    is_left: NDArray[np.bool_]
    before: NDArray[np.int32]
    share: NDArray[np.float64]
    reach: NDArray[np.float64]
    value: NDArray[np.float64]


class SummedTrees(NamedTuple):
    """Trees whose values, other than their own, add up to scores.

    Attributes
    ----------
    trees : Trees
    value : float64 array of shape (n_nodes, n_values)
        What every node adds.
    output : int64 array of shape (n_trees,)
        The first output that the values of a tree add to.
    start : float64 array of shape (n_outputs,)
    score : callable
        From rows to their scores, of shape (n_rows, n_outputs), as the model computes them.
    """

    trees: Trees
    value: NDArray[np.float64]
    output: NDArray[np.int64]
    start: NDArray[np.float64]
    score: Callable[[NDArray], NDArray]


Fitted = Tree | Trees | BoostedTrees | SummedTrees


class Told(NamedTuple):
    """The trees of a model and the constants that their sum starts from."""

    splits: Splits
    start: NDArray[np.float64]

    @property
    def n_outputs(self) -> int:
        """Scores per row."""
        return len(self.start)

    @property
    def expected(self) -> NDArray[np.float64]:
        """The score without any column: leaves by the share of the weight that reaches them."""
        splits, total = self.splits, self.start.copy()
        owner = np.repeat(np.arange(len(splits.output)), np.diff(splits.starts))
        leaves = splits.feature < 0
        for k in range(splits.value.shape[1]):
            parts = np.where(leaves, splits.value[:, k] * splits.reach, 0.0)
            total += np.bincount(splits.output[owner] + k, parts, minlength=self.n_outputs)
        return total


def one_of(splits: Splits, place: int) -> Splits:
    """One tree of several."""
    nodes = slice(int(splits.starts[place]), int(splits.starts[place + 1]))
    names = [name for name in Splits._fields if name not in ("starts", "output", "n_unique", "bits")]
    parts: Any = {name: getattr(splits, name)[nodes] for name in names}
    single = slice(place, place + 1)
    starts = np.array([0, nodes.stop - nodes.start])
    return splits._replace(
        starts=starts, output=splits.output[single], n_unique=splits.n_unique[single], **parts
    )


def splits_of(fitted: Fitted) -> Told:
    """The trees of a fitted model, with the factor of an average in their values."""
    if isinstance(fitted, BoostedTrees):
        outputs = np.arange(fitted.n_trees) % fitted.n_outputs
        value, levels = fitted.value[:, np.newaxis], fitted.levels
        arrays = (fitted, fitted.weight, levels, value, fitted.starts, outputs)
        return Told(_ordered(*arrays), fitted.baseline.astype(np.float64))
    trees: Trees
    if isinstance(fitted, SummedTrees):
        trees, value, outputs, start = fitted[:4]
    else:
        trees = fitted if isinstance(fitted, Trees) else Trees.together([fitted])
        value, outputs = trees.nodes.value / len(trees), np.zeros(len(trees), dtype=np.int64)
        start = np.zeros(value.shape[1])
    nodes, owner = trees.nodes, trees.tree_of_node
    levels = np.where(nodes.levels >= 0, nodes.levels + trees.bit_starts[owner], -1).astype(np.int32)
    return Told(_ordered(nodes, nodes.weighted_n_node_samples, levels, value, trees.starts, outputs), start)


def _ordered(
    nodes: Any, weight: NDArray, levels: NDArray, value: NDArray, starts: NDArray, outputs: NDArray
) -> Splits:
    n_nodes = len(nodes.feature)
    order = np.empty(n_nodes, dtype=np.int64)
    share, reach = np.ones(n_nodes), np.ones(n_nodes)
    depth, edge, before = (np.zeros(n_nodes, dtype=np.int32) for _ in range(3))
    is_left = np.zeros(n_nodes, dtype=np.bool_)
    n_unique = np.zeros(len(starts) - 1, dtype=np.int64)
    children = (nodes.children_left, nodes.children_right)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    edges = (depth, edge, is_left, before, share, reach)
    order_nodes(starts, nodes.feature, *children, weight, order, edges, n_unique)
    return Splits(
        starts,
        outputs,
        n_unique,
        depth,
        nodes.feature[order],
        nodes.threshold[order],
        nodes.missing_go_to_left[order],
        levels[order],
        nodes.bits,
        edge,
        is_left,
        before,
        share,
        reach,
        np.ascontiguousarray(value[order], dtype=np.float64),
    )


@compiled
def order_nodes(starts, feature, left, right, weight, order, edges, n_unique):  # type: ignore[no-untyped-def]
    """Walk every tree, node before left part before right part, and describe the edge into each node."""
    depth, edge, is_left, before, share, reach = edges
    longest = 1
    for t in range(starts.shape[0] - 1):
        longest = max(longest, starts[t + 1] - starts[t])
    stack, parent = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    path, unique = np.empty(longest + 1, dtype=np.int64), np.zeros(longest + 1, dtype=np.int64)
    place = np.int64(0)
    for t in range(starts.shape[0] - 1):
        base, size = starts[t], 1
        stack[0], parent[0] = base, -1
        while size > 0:
            size -= 1
            node, above = stack[size], parent[size]
            order[place] = node
            level = np.int64(0)
            edge[place], before[place], share[place] = -1, 0, 1.0
            if above >= 0:
                level = np.int64(depth[above]) + 1
                origin = order[above]
                j = feature[origin]
                edge[place], is_left[place] = j, base + left[origin] == node
                ratio = weight[node] / weight[origin] if weight[origin] > 0.0 else 0.0
                b = level - 1
                while b > 0 and edge[path[b]] != j:
                    b -= 1
                before[place] = b
                share[place] = ratio * share[path[b]] if b > 0 else ratio
                reach[place] = ratio * reach[above]
                unique[level] = unique[level - 1] + np.int64(b == 0)
                n_unique[t] = max(n_unique[t], unique[level])
            depth[place] = level
            path[level] = place
            if feature[node] >= 0:
                stack[size], parent[size] = base + right[node], place
                stack[size + 1], parent[size + 1] = base + left[node], place
                size += 2
            place += 1
