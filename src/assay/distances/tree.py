"""A tree over points: flat arrays, built on threads, the same for any number of them."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inner
from assay.rows import ordered_map

TOP_LEVELS = 4
"""Levels of nodes that are cut one by one; what is below each of the last is cut in one step."""

# Below this many points a thread pool costs more than it gives.
SMALL = 2**14


class PointTree(NamedTuple):
    """Points in the order of a KD-tree, with a bounding box for each node.

    `leaves[l]` holds the points of a leaf feature by feature, infinity beyond the last point; `order` their
    numbers, leaf l from position l · LEAF on. `boxes` has, for nodes in preorder, the lower and upper corner
    of a box or, in three rows, a ball (see `assay.distances.loops`); `lowest` the lowest number below each
    node, which ties go to.
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


def build_tree(X: NDArray) -> PointTree:
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
            deque(ordered_map(cut, level), maxlen=0)
            level = [child for node in level for child in children(node)]
        deque(ordered_map(finish, level), maxlen=0)
    else:
        finish(level[0])
    for node in reversed(inner):
        left, right = children(node)
        join_nodes(node.place, left.place, right.place, boxes, lowest)
    return PointTree(leaves, order, boxes, lowest)


def with_balls(tree: PointTree, power: int) -> PointTree:
    """The same tree with a ball around the mean of each node in place of its box."""
    points = tree.leaves.transpose(0, 2, 1).reshape(-1, tree.leaves.shape[1])[: tree.n_points]
    balls = np.zeros((len(tree.lowest), 3, points.shape[1]), dtype=points.dtype)
    firsts, lasts = leaf_ranges(0, len(tree.leaves))
    fill_balls(np.ascontiguousarray(points), firsts, lasts, power, balls)
    return tree._replace(boxes=balls)


class WideTree(NamedTuple):
    """Nodes of a tree, level by level from the root to the leaves, four levels of it taken as one.

    The children of entry i are the entries from `starts[i]` to `starts[i + 1]`, at most a bunch; the entries
    beyond those of `starts` are the leaves. `corners[i]` holds the boxes or balls of these children side by
    side, shape (2 or 3, n_features, BUNCH), infinity beyond the last, where bounds mean nothing. `lowest`
    holds the lowest number below each entry.
    """

    corners: NDArray
    starts: NDArray
    lowest: NDArray


def wide_tree(tree: PointTree) -> WideTree:
    """The nodes of a tree that a search looks at."""
    n_leaves, n_levels = len(tree.leaves), 0
    while -(-n_leaves // 2**n_levels) > BUNCH:
        n_levels += 1
    # Down to this level each node has two children: sizes of nodes on a level differ by one leaf at most.
    nodes, starts, entry = list[NDArray](), list[NDArray](), 1
    level: NDArray
    level, firsts, lasts = np.zeros((3, 1), dtype=np.intp)
    lasts = lasts + n_leaves
    for depth in range(n_levels + 1):
        if depth == 0 or (n_levels - depth) % WIDE_LEVELS == 0:
            to_next = (n_levels - depth - 1) % WIDE_LEVELS + 1
            nodes.append(level)
            starts.append(entry + (firsts if depth == n_levels else np.arange(len(level)) * 2**to_next))
            entry += n_leaves if depth == n_levels else len(level) * 2**to_next
        middles = (firsts + lasts) // 2
        level = np.column_stack([level + 1, level + 2 * (middles - firsts)]).ravel()
        firsts, lasts = np.column_stack([firsts, middles]).ravel(), np.column_stack([middles, lasts]).ravel()
    firsts, lasts = leaf_ranges(0, n_leaves)
    chosen = np.concatenate([*nodes, np.flatnonzero(lasts - firsts == 1)])
    first_child = np.concatenate([*starts, [entry]])
    bunches = first_child[:-1, np.newaxis] + np.arange(BUNCH)
    boxes = tree.boxes[chosen[np.minimum(bunches, entry - 1)]]
    boxes[bunches >= first_child[1:, np.newaxis]] = np.inf
    corners = np.ascontiguousarray(np.moveaxis(boxes, 1, -1))
    return WideTree(corners, first_child, tree.lowest[chosen])


def children(node: Node) -> tuple[Node, Node]:
    """Left and right child of a node with more than one leaf."""
    middle = (node.first + node.last) // 2
    left = Node(node.place + 1, node.first, middle)
    return left, Node(node.place + 2 * (middle - node.first), middle, node.last)


LEAF = 32
"""Points per leaf."""

SAMPLE = 64
"""Points looked at to choose a side or a pivot."""

WIDE_LEVELS = 4
"""Levels of nodes that a search takes as one."""

BUNCH = 2**WIDE_LEVELS
"""Nodes whose bounds are computed at once."""

DEPTH = 64
"""Room on a stack of nodes: a tree of 2^63 leaves would need it all."""


@inner
def widest_side(points, start, stop, feature_low, feature_high):  # type: ignore[no-untyped-def]
    """The feature of the largest spread among points of an even sample."""
    step = max(1, (stop - start) // (4 * SAMPLE))
    for f in range(points.shape[1]):
        feature_low[f] = points[start, f]
        feature_high[f] = points[start, f]
    for i in range(start, stop, step):
        for f in range(points.shape[1]):
            feature_low[f] = min(feature_low[f], points[i, f])
            feature_high[f] = max(feature_high[f], points[i, f])
    widest = 0
    for f in range(1, points.shape[1]):
        if feature_high[f] - feature_low[f] > feature_high[widest] - feature_low[widest]:
            widest = f
    return widest


@inner
def swap_points(points, order, i, j):  # type: ignore[no-untyped-def]
    """Exchange two points and their numbers."""
    for f in range(points.shape[1]):
        value = points[i, f]
        points[i, f] = points[j, f]
        points[j, f] = value
    number = order[i]
    order[i] = order[j]
    order[j] = number


@compiled
def partition(points, order, start, middle, stop, feature, sample):  # type: ignore[no-untyped-def]
    """Rearrange so that the points before `middle` are at most those from it on, in one feature.

    Hoare's selection. The pivot is the order statistic of a sample that stands where the middle stands in
    the range, so that one pass over the points is nearly enough.
    """
    while stop - start > 1:
        step = max(1, (stop - start) // SAMPLE)
        n_sample = 0
        for i in range(start, stop, step):
            if n_sample == sample.shape[0]:
                break
            value = points[i, feature]
            place = n_sample
            while place > 0 and sample[place - 1] > value:
                sample[place] = sample[place - 1]
                place -= 1
            sample[place] = value
            n_sample += 1
        pivot = sample[min(n_sample - 1, (middle - start) * n_sample // (stop - start))]
        i, j = start, stop - 1
        while i <= j:
            while points[i, feature] < pivot:
                i += 1
            while pivot < points[j, feature]:
                j -= 1
            if i <= j:
                swap_points(points, order, i, j)
                i += 1
                j -= 1
        if middle <= j:
            stop = j + 1
        elif middle >= i:
            start = i
        else:
            return


@compiled
def split(points, order, first, last, feature_low, feature_high, sample):  # type: ignore[no-untyped-def]
    """Cut the points of a node at its widest side; returns the leaf where its right child begins."""
    middle = (first + last) // 2
    stop = min(last * LEAF, points.shape[0])
    feature = widest_side(points, first * LEAF, stop, feature_low, feature_high)
    partition(points, order, first * LEAF, middle * LEAF, stop, feature, sample)
    return middle


@compiled
def split_below(points, order, first, last):  # type: ignore[no-untyped-def]
    """Cut the points of a node down to its leaves; within a leaf, points stand by their numbers."""
    n_features, dtype = points.shape[1], points.dtype
    low, high = np.empty(n_features, dtype), np.empty(n_features, dtype)
    sample = np.empty(2 * SAMPLE, points.dtype)
    firsts, lasts = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    firsts[0], lasts[0], n_open = first, last, 1
    while n_open > 0:
        n_open -= 1
        first, last = firsts[n_open], lasts[n_open]
        if last - first > 1:
            middle = split(points, order, first, last, low, high, sample)
            firsts[n_open], lasts[n_open] = middle, last
            firsts[n_open + 1], lasts[n_open + 1] = first, middle
            n_open += 2
        else:
            for i in range(first * LEAF + 1, min(last * LEAF, points.shape[0])):
                j = i
                while j > first * LEAF and order[j - 1] > order[j]:
                    swap_points(points, order, j - 1, j)
                    j -= 1


@compiled
def fill_leaves(points, first, last, leaves):  # type: ignore[no-untyped-def]
    """Copy the points of leaves feature by feature; places beyond the last point hold infinity."""
    for leaf in range(first, last):
        n_points = min(LEAF, points.shape[0] - leaf * LEAF)
        for f in range(points.shape[1]):
            for p in range(LEAF):
                leaves[leaf, f, p] = points[leaf * LEAF + p, f] if p < n_points else np.inf


@compiled
def leaf_ranges(first, last):  # type: ignore[no-untyped-def]
    """First and last leaf of a node and of all below it, in preorder."""
    n_nodes = 2 * (last - first) - 1
    firsts, lasts = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    firsts[0], lasts[0] = first, last
    for i in range(n_nodes):
        first, last = firsts[i], lasts[i]
        if last - first > 1:
            middle = (first + last) // 2
            right = i + 2 * (middle - first)
            firsts[i + 1], lasts[i + 1] = first, middle
            firsts[right], lasts[right] = middle, last
    return firsts, lasts


@compiled
def fill_nodes(points, order, node, first, last, boxes, lowest):  # type: ignore[no-untyped-def]
    """Bounding boxes (lower corner, upper corner) and lowest numbers of a node and all below it.

    Preorder backwards meets children before their parents.
    """
    firsts, lasts = leaf_ranges(first, last)
    for i in range(firsts.shape[0] - 1, -1, -1):
        first, last = firsts[i], lasts[i]
        if last - first > 1:
            join_nodes(node + i, node + i + 1, node + i + 2 * ((first + last) // 2 - first), boxes, lowest)
            continue
        start, stop = first * LEAF, min(last * LEAF, points.shape[0])
        lowest[node + i] = order[start]
        for f in range(points.shape[1]):
            low, high = points[start, f], points[start, f]
            for p in range(start + 1, stop):
                low, high = min(low, points[p, f]), max(high, points[p, f])
            boxes[node + i, 0, f], boxes[node + i, 1, f] = low, high


@compiled
def join_nodes(node, left, right, boxes, lowest):  # type: ignore[no-untyped-def]
    """Box and lowest number of a node from those of its children."""
    lowest[node] = min(lowest[left], lowest[right])
    for f in range(boxes.shape[2]):
        boxes[node, 0, f] = min(boxes[left, 0, f], boxes[right, 0, f])
        boxes[node, 1, f] = max(boxes[left, 1, f], boxes[right, 1, f])


@compiled
def fill_balls(points, firsts, lasts, power, balls):  # type: ignore[no-untyped-def]
    """The mean of the points of each node, twice, and the largest distance of one of them to it."""
    center = np.empty(points.shape[1])
    for node in range(firsts.shape[0]):
        start, stop = firsts[node] * LEAF, min(lasts[node] * LEAF, points.shape[0])
        center[:] = 0.0
        for i in range(start, stop):
            for f in range(points.shape[1]):
                center[f] += points[i, f]
        for f in range(points.shape[1]):
            balls[node, 0, f] = center[f] / (stop - start)
            balls[node, 1, f] = balls[node, 0, f]
        radius = 0.0
        for i in range(start, stop):
            distance = 0.0
            for f in range(points.shape[1]):
                side = abs(np.float64(points[i, f]) - np.float64(balls[node, 0, f]))
                if power == 2:
                    distance += side * side
                elif power == 1:
                    distance += side
                else:
                    distance = max(distance, side)
            radius = max(radius, distance)
        balls[node, 2, 0] = np.sqrt(radius) if power == 2 else radius
