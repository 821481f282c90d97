"""Rows on their way down trees: many at once, so that each waits for memory while the others do.

The nodes are brought into an order where the two children of a node are neighbours: a step needs column,
threshold and left child alone, 16 bytes, and no branch to foresee. Eight rows take their steps in turn. A row
that meets a missing value, and trees that divide categories, take the general way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inlined, inner, read_only

if TYPE_CHECKING:
    from assay.trees.tree import Tree

STEP = np.dtype([("threshold", np.float64), ("feature", np.int32), ("left", np.int32)])

ROWS = 2048
"""Rows that are sent down one tree after the other together: their values stay near meanwhile."""

FEW = 4
"""Nodes per row and tree above which bringing them into order would take longer than walking without."""


class Walk(NamedTuple):
    """The nodes of one or many trees as rows meet them.

    Attributes
    ----------
    starts, bit_starts : int64 arrays of shape (n_trees + 1,)
        The first node, and the first row of `bits`, of each tree.
    splits : tuple of arrays
        Columns, thresholds, children, sides of missing values and levels of `Tree`, for the general way.
    value : float64 array of shape (n_nodes, n_outputs)
    steps : array of shape (n_nodes,)
        See above; a leaf is its own left child, and all goes left there. Empty where the general way is the
        only one; the values are in the order of the steps.
    missing_left : bool array of shape (n_nodes,)
        For each step, where a missing value goes.
    nodes : int32 array of shape (n_nodes,)
        The node of each step, counted from the start of its tree.
    """

    starts: NDArray[np.int64]
    bit_starts: NDArray[np.int64]
    splits: Any
    value: NDArray[np.float64]
    steps: NDArray
    missing_left: NDArray[np.bool_]
    nodes: NDArray[np.int32]

    def leaves(self, X: NDArray) -> NDArray[np.int32]:
        """The leaf of each row in each tree, counted from the start of the tree: shape (n_rows, n_trees)."""
        out = np.empty((len(X), len(self.starts) - 1), dtype=np.int32)
        write_leaves(self, read_only(X), out)
        return out

    def mean(self, X: NDArray) -> NDArray[np.float64]:
        """Mean over the trees of the values of the leaves of each row: shape (n_rows, n_outputs)."""
        out = np.zeros((len(X), self.value.shape[1]))
        add_values(self, read_only(X), out)
        return out


def make_walk(nodes: Tree, starts: NDArray, bit_starts: NDArray, n_rows: int) -> Walk:
    """Make trees ready for so many rows."""
    n_trees, n_nodes = len(starts) - 1, nodes.node_count
    none = (np.empty(0, dtype=STEP), np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.int32))
    walk = Walk(starts, bit_starts, nodes._splits(), nodes.value, *none)
    inner = np.flatnonzero(~nodes.is_leaf)
    is_large = n_rows * n_trees * FEW >= n_nodes
    if not is_large or len(nodes.bits) or 2 * len(inner) + n_trees != n_nodes:
        return walk
    tree = np.repeat(np.arange(n_trees), np.diff(starts))
    # Before the children of the inner node of rank g, in tree t, come t + 1 roots and 2 g children.
    left = 2 * np.arange(len(inner)) + tree[inner] + 1
    place = np.full(n_nodes, -1)
    place[starts[:-1]] = starts[:-1]
    place[nodes.children_left[inner] + starts[tree[inner]]] = left
    place[nodes.children_right[inner] + starts[tree[inner]]] = left + 1
    if place.min() < 0:  # no tree
        return walk
    steps = np.empty(n_nodes, dtype=STEP)
    steps["threshold"], steps["feature"], steps["left"] = np.inf, 0, np.arange(n_nodes)
    at = place[inner]
    steps["threshold"][at], steps["feature"][at] = nodes.threshold[inner], nodes.feature[inner]
    steps["left"][at] = left
    order = np.empty(n_nodes, dtype=np.int64)
    order[place] = np.arange(n_nodes)
    return walk._replace(
        value=nodes.value[order],
        steps=steps,
        missing_left=nodes.missing_go_to_left[order],
        nodes=(order - starts[tree]).astype(np.int32),
    )


@inner
def leaf_of(walk, tree, X, i):  # type: ignore[no-untyped-def]
    """The leaf of one row in one tree, the general way, as a node of all."""
    feature, threshold, left, right, missing_left, levels, bits = walk.splits
    start = walk.starts[tree]
    node = start
    while feature[node] >= 0:
        value = X[i, feature[node]]
        if levels[node] >= 0:
            code = np.int64(value) if value >= 0.0 and value < 256.0 else -1  # NaN is neither
            if code < 0:
                goes_left = missing_left[node]
            else:
                word = bits[walk.bit_starts[tree] + levels[node], code >> 5]
                goes_left = (word >> np.uint32(code & 31)) & np.uint32(1) == np.uint32(1)
        elif value != value:
            goes_left = missing_left[node]
        else:
            goes_left = value <= threshold[node]
        node = start + (left[node] if goes_left else right[node])
    return node


@inlined
def next_step(steps, place, X, i):  # type: ignore[no-untyped-def]
    """The next step of a row, and whether the value that it met is missing."""
    here = np.uint64(place)
    value = X[i, np.uint64(steps[here].feature)]
    return np.int64(steps[here].left) + (not (value <= steps[here].threshold)), value != value


@inner
def last_step(walk, root, X, i):  # type: ignore[no-untyped-def]
    """The leaf of one row that may have missing values, as a step."""
    steps, place = walk.steps, root
    while steps[place].left != place:
        value = X[i, steps[place].feature]
        goes_left = walk.missing_left[place] if value != value else value <= steps[place].threshold
        place = np.int64(steps[place].left) + (not goes_left)
    return place


@inner
def send_down(walk, tree, X, begin, end, at):  # type: ignore[no-untyped-def]
    """Write the leaves of rows `begin` to `end` in one tree into `at`: as steps, where there are some."""
    steps, root, i = walk.steps, walk.starts[tree], begin
    if steps.shape[0] == 0:
        for i in range(begin, end):
            at[i - begin] = leaf_of(walk, tree, X, i)
        return
    while i + 8 <= end:
        a = b = c = d = e = f = g = h = root
        missing = False
        while True:
            a1, is_a = next_step(steps, a, X, i)
            b1, is_b = next_step(steps, b, X, i + 1)
            c1, is_c = next_step(steps, c, X, i + 2)
            d1, is_d = next_step(steps, d, X, i + 3)
            e1, is_e = next_step(steps, e, X, i + 4)
            f1, is_f = next_step(steps, f, X, i + 5)
            g1, is_g = next_step(steps, g, X, i + 6)
            h1, is_h = next_step(steps, h, X, i + 7)
            missing |= is_a | is_b | is_c | is_d | is_e | is_f | is_g | is_h
            moved = (a1 ^ a) | (b1 ^ b) | (c1 ^ c) | (d1 ^ d) | (e1 ^ e) | (f1 ^ f) | (g1 ^ g) | (h1 ^ h)
            if moved == 0 or missing:
                break
            a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
        p = i - begin
        at[p], at[p + 1], at[p + 2], at[p + 3] = a, b, c, d
        at[p + 4], at[p + 5], at[p + 6], at[p + 7] = e, f, g, h
        if missing:
            for r in range(p, p + 8):
                at[r] = last_step(walk, at[r], X, begin + r)
        i += 8
    while i < end:
        at[i - begin] = last_step(walk, root, X, i)
        i += 1


@compiled
def write_leaves(walk, X, out):  # type: ignore[no-untyped-def]
    """Leaf of each row in each tree, counted from the start of the tree."""
    at, has_steps = np.empty(ROWS, dtype=np.int64), walk.steps.shape[0] > 0
    for begin in range(0, X.shape[0], ROWS):
        end = min(begin + ROWS, X.shape[0])
        for tree in range(walk.starts.shape[0] - 1):
            send_down(walk, tree, X, begin, end, at)
            for i in range(begin, end):
                place = at[i - begin]
                out[i, tree] = walk.nodes[place] if has_steps else place - walk.starts[tree]


@compiled
def add_values(walk, X, out):  # type: ignore[no-untyped-def]
    """Mean over the trees of the values of the leaves; added up in the order of the trees."""
    at, n_trees = np.empty(ROWS, dtype=np.int64), walk.starts.shape[0] - 1
    for begin in range(0, X.shape[0], ROWS):
        end = min(begin + ROWS, X.shape[0])
        for tree in range(n_trees):
            send_down(walk, tree, X, begin, end, at)
            for i in range(begin, end):
                for k in range(walk.value.shape[1]):
                    out[i, k] += walk.value[at[i - begin], k]
        for i in range(begin, end):
            for k in range(walk.value.shape[1]):
                out[i, k] /= n_trees
