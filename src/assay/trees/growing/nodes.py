"""A growing tree: nodes with the split that each would make, and the order in which they are divided."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inner

LEAF = -1
WORDS = 8
"""Words of 32 bits in the set of levels that a categorical split sends left."""

START, END, DEPTH, PARENT, LEFT, RIGHT, COLUMN, CUT, NEXT, PLACE_OF_BITS = range(10)
"""Columns of `GrowingTree.whole`."""

GAIN, LOW, HIGH, CENTER, UNIT = range(5)
"""Columns of `GrowingTree.real`; centre and unit of each further output follow."""


class GrowingTree(NamedTuple):
    """Nodes of a tree under construction, one row each.

    Attributes
    ----------
    whole : int64 array of shape (capacity, 10)
        First and last place of its rows, depth, parent, children, and the best split: column (`LEAF` if there
        is none), the last code on the left, the first code of the node on the right, and for a category the
        place of its bits.
    real : float64 array of shape (capacity, 3 + 2 · n_outputs)
        What the split gains, the bounds of the prediction, the centre and the unit of each statistic.
    missing_left : bool array of shape (capacity,)
    sums : float64 array of shape (capacity, n_sums)
    bits : uint32 array of shape (capacity, 8)
        Of categorical splits: the levels that go left. Without rows where no column is a category.
    """

    whole: NDArray[np.int64]
    real: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    sums: NDArray[np.float64]
    bits: NDArray[np.uint32]


def empty_tree(capacity: int, n_sums: int, *, categories: bool, n_outputs: int = 1) -> GrowingTree:
    """Room for so many nodes."""
    return GrowingTree(
        np.empty((capacity, 10), dtype=np.int64),
        np.empty((capacity, 3 + 2 * n_outputs)),
        np.empty(capacity, dtype=np.bool_),
        np.empty((capacity, n_sums)),
        np.zeros((capacity if categories else 0, WORDS), dtype=np.uint32),
    )


@inner
def keep_split(node, column, cut, after, missing_left, gain, tree):  # type: ignore[no-untyped-def]
    """Write a split into the tree."""
    tree.whole[node, COLUMN] = column
    tree.whole[node, CUT], tree.whole[node, NEXT] = cut, after
    tree.missing_left[node] = missing_left
    tree.real[node, GAIN] = gain


@inner
def push(heap, size, node, tree):  # type: ignore[no-untyped-def]
    """Add a node to a heap by gain; among equal gains the older node comes first."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if not comes_first(node, heap[above], tree):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = node


@inner
def pop(heap, size, tree):  # type: ignore[no-untyped-def]
    """Take the node of largest gain from a heap of `size` nodes."""
    first, last = heap[0], heap[size - 1]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size - 1:
            break
        if below + 1 < size - 1 and comes_first(heap[below + 1], heap[below], tree):
            below += 1
        if not comes_first(heap[below], last, tree):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = last
    return first


@inner
def comes_first(one, other, tree):  # type: ignore[no-untyped-def]
    """Whether one node is divided before another."""
    gain, rival = tree.real[one, GAIN], tree.real[other, GAIN]
    return gain > rival or (gain == rival and one < other)


@compiled
def mixed(state):  # type: ignore[no-untyped-def]
    """The next of a sequence of well-mixed numbers of 64 bits (splitmix64)."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def uniform(state):  # type: ignore[no-untyped-def]
    """A number in [0, 1) from a mixed state."""
    return np.float64(state >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def preorder(tree, n_nodes, order, place):  # type: ignore[no-untyped-def]
    """Number the nodes as a reader goes through them: node, left part, right part."""
    stack = np.empty(n_nodes + 1, dtype=np.int64)
    stack[0] = 0
    size, count = 1, 0
    while size > 0:
        size -= 1
        node = stack[size]
        order[count] = node
        place[node] = count
        count += 1
        if tree.whole[node, COLUMN] != LEAF:
            stack[size] = tree.whole[node, RIGHT]
            stack[size + 1] = tree.whole[node, LEFT]
            size += 2
