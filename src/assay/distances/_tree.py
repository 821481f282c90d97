"""A tree over points: flat arrays, built on threads, the same for any number of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances._tree_loops import (
    LEAF,
    SAMPLE,
    fill_balls,
    fill_leaves,
    fill_nodes,
    join_nodes,
    leaf_ranges,
    split,
    split_below,
)
from assay.rows import ordered_map

TOP_LEVELS = 4
"""Levels of nodes that are cut one by one; what is below each of the last is cut in one step."""

# Below this many points a thread pool costs more than it gives.
SMALL = 2**14


class Tree(NamedTuple):
    """Points in the order of a KD-tree, with a bounding box for each node.

    Attributes
    ----------
    leaves : array of shape (n_leaves, n_features, LEAF)
        The points of each leaf, feature by feature; infinity beyond the last point.
    order : array of shape (n_points,)
        Number of the point at each position; leaf l holds positions l · LEAF to (l + 1) · LEAF − 1.
    boxes : array of shape (2 n_leaves − 1, 2 or 3, n_features)
        Nodes in preorder (see `assay.distances._tree_loops`): lower and upper corner of a box or, in three
        rows, a ball (see `assay.distances._bound_loops`).
    lowest : array of shape (2 n_leaves − 1,)
        The lowest number of a point below each node: ties go to it.
    """

    leaves: NDArray
    order: NDArray
    boxes: NDArray
    lowest: NDArray

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.order.shape[0]


class Node(NamedTuple):
    """A node by its place in preorder and its leaves."""

    place: int
    first: int
    last: int


def build_tree(X: NDArray) -> Tree:
    """The tree of the rows of a table."""
    n_points, n_features = X.shape
    n_leaves = -(-n_points // LEAF)
    points = np.array(X, order="C")
    order = np.arange(n_points, dtype=np.int32 if n_points < 2**31 else np.int64)
    leaves = np.empty((n_leaves, n_features, LEAF), dtype=X.dtype)
    boxes = np.empty((2 * n_leaves - 1, 2, n_features), dtype=X.dtype)
    lowest = np.empty(2 * n_leaves - 1, dtype=order.dtype)

    def cut(node: Node) -> None:
        low, high = np.empty((2, n_features), dtype=X.dtype)
        split(points, order, node.first, node.last, low, high, np.empty(2 * SAMPLE, dtype=X.dtype))

    def finish(node: Node) -> None:
        split_below(points, order, node.first, node.last)
        fill_leaves(points, node.first, node.last, leaves)
        fill_nodes(points, order, node.place, node.first, node.last, boxes, lowest)

    level, inner = [Node(0, 0, n_leaves)], list[Node]()
    if n_points > SMALL:
        for _ in range(TOP_LEVELS):
            inner += level
            for _done in ordered_map(cut, level):
                pass
            level = [child for node in level for child in children(node)]
        for _done in ordered_map(finish, level):
            pass
    else:
        finish(level[0])
    for node in reversed(inner):
        left, right = children(node)
        join_nodes(node.place, left.place, right.place, boxes, lowest)
    return Tree(leaves, order, boxes, lowest)


def with_balls(tree: Tree, power: int) -> Tree:
    """The same tree with a ball around the mean of each node in place of its box."""
    points = tree.leaves.transpose(0, 2, 1).reshape(-1, tree.leaves.shape[1])[: tree.n_points]
    balls = np.zeros((len(tree.lowest), 3, points.shape[1]), dtype=points.dtype)
    firsts, lasts = leaf_ranges(0, len(tree.leaves))
    fill_balls(np.ascontiguousarray(points), firsts, lasts, power, balls)
    return tree._replace(boxes=balls)


def children(node: Node) -> tuple[Node, Node]:
    """Left and right child of a node with more than one leaf."""
    middle = (node.first + node.last) // 2
    left = Node(node.place + 1, node.first, middle)
    return left, Node(node.place + 2 * (middle - node.first), middle, node.last)
