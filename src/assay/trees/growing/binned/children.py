"""Nodes of a growing best-first tree: their beginning and end, their children, their histograms in a pool."""

from __future__ import annotations

import numpy as np

from assay.loops import lean, lean_inner, part
from assay.trees.growing.binned.team import NONE, clear, subtract_bins
from assay.trees.growing.cuts import node_value
from assay.trees.growing.nodes import (
    CENTER,
    COLUMN,
    DEPTH,
    GAIN,
    HIGH,
    LEAF,
    LEFT,
    LOW,
    PARENT,
    PLACE_OF_BITS,
    RIGHT,
    mixed,
    pop,
)

N_NODES, N_OPEN, N_LEAVES, N_FREE = range(4)
"""Places of `Growth.counts`."""


@lean_inner
def begin(tree, slots, free, paths, counts, units, unit):  # type: ignore[no-untyped-def]
    """Begin a tree; the histogram of its root has the last place of the pool."""
    n_slots = free.shape[0]
    for p in range(n_slots - 1):
        free[p] = p
    counts[N_NODES], counts[N_OPEN], counts[N_LEAVES], counts[N_FREE] = 1, 0, 1, n_slots - 1
    paths[0] = mixed(paths[0])
    slots[0] = n_slots - 1
    tree.whole[0, DEPTH], tree.whole[0, PARENT] = 0, -1
    tree.real[0, LOW], tree.real[0, HIGH], tree.real[0, CENTER] = -np.inf, np.inf, 0.0
    for k in range(3):
        units[0, k] = unit[k]


@part
def sum_root(histogram, stride, sums):  # type: ignore[no-untyped-def]
    """Sums of the root: those of any column."""
    for k in range(3):
        total = np.int64(0)
        for b in range(stride):
            total += histogram[b, k]
        sums[0, k] = total


@part
def can_divide(node, whole, sums, limits):  # type: ignore[no-untyped-def]
    """Whether depth and weight of a node allow it to be divided."""
    weight = sums[node, 0]
    return (
        whole[node, DEPTH] < limits.max_depth and weight >= limits.min_split and weight >= 2 * limits.min_leaf
    )


@lean
def end_leaf(node, tree, sums, units):  # type: ignore[no-untyped-def]
    """Write a node as a leaf."""
    tree.whole[node, COLUMN], tree.whole[node, PLACE_OF_BITS] = LEAF, -1
    tree.whole[node, LEFT] = tree.whole[node, RIGHT] = -1
    tree.real[node, GAIN] = 0.0
    for k in range(3):
        tree.sums[node, k] = sums[node, k] * units[node, k]
    tree.sums[node, 1] += tree.real[node, CENTER] * tree.sums[node, 2]


@part
def release(node, slots, free, counts):  # type: ignore[no-untyped-def]
    """Give back the histogram of a node."""
    if slots[node] >= 0:
        free[counts[N_FREE]] = slots[node]
        counts[N_FREE] += 1
        slots[node] = -1


@part
def claim(node, slots, pool, free, counts):  # type: ignore[no-untyped-def]
    """Take an empty histogram for a node."""
    counts[N_FREE] -= 1
    slot = free[counts[N_FREE]]
    slots[node] = slot
    clear(pool[slot])


@lean_inner
def choose(tree, sums, heap, counts, units, limits):  # type: ignore[no-untyped-def]
    """Take the leaf that gains most; `NONE` where none is left, and the open ones stay leaves."""
    full = limits.max_leaves > 0 and counts[N_LEAVES] >= limits.max_leaves
    if counts[N_OPEN] == 0 or full or counts[N_NODES] + 2 > tree.whole.shape[0]:
        for p in range(counts[N_OPEN]):
            end_leaf(heap[p], tree, sums, units)
        return np.int64(NONE)
    node = pop(heap, counts[N_OPEN], tree)
    counts[N_OPEN] -= 1
    return node


@lean_inner
def begin_children(node, tree, sums, left, slots, paths, counts, units):  # type: ignore[no-untyped-def]
    """Begin the children of a node that has a split, as the last two nodes."""
    first = counts[N_NODES]
    counts[N_NODES] += 2
    counts[N_LEAVES] += 1
    tree.whole[node, LEFT], tree.whole[node, RIGHT] = first, first + 1
    for side in range(2):
        child = first + side
        tree.whole[child, DEPTH] = tree.whole[node, DEPTH] + 1
        tree.whole[child, PARENT] = node
        tree.real[child, LOW], tree.real[child, HIGH] = tree.real[node, LOW], tree.real[node, HIGH]
        tree.real[child, CENTER] = tree.real[node, CENTER]
        paths[child] = mixed(paths[node] + np.uint64(side + 1))
        slots[child] = -1
        for k in range(3):
            units[child, k] = units[node, k]
            sums[child, k] = sums[node, k] - left[node, k] if side else left[node, k]
        end_leaf(child, tree, sums, units)


@lean_inner
def bound_children(node, first, tree, sign, form):  # type: ignore[no-untyped-def]
    """Under a constraint, what one side may predict ends where the other's begins."""
    if sign != 0:
        middle = 0.0
        for side in range(2):
            value = node_value(form, tree.sums[first + side])
            middle += 0.5 * min(max(value, tree.real[node, LOW]), tree.real[node, HIGH])
        rising, falling = (first, first + 1) if sign > 0 else (first + 1, first)
        tree.real[rising, HIGH], tree.real[falling, LOW] = middle, middle


@lean_inner
def summed_children(node, whole, sums, slots, pool, free, counts, limits, few):  # type: ignore[no-untyped-def]
    """Take histograms for the children of a node that must be summed up from rows.

    Gives the child of less weight and the other one, `NONE` for those that need not be: the other one follows
    by subtraction where the node still has its histogram, and none is needed where nothing is divided
    further. And whether rows are subtracted one by one: where the first one has fewer than `few`, which is
    then given a histogram only if it may be divided.
    """
    first, small, other, one_by_one = whole[node, LEFT], np.int64(NONE), np.int64(NONE), False
    ends = limits.max_leaves > 0 and counts[N_LEAVES] >= limits.max_leaves
    if ends or not (can_divide(first, whole, sums, limits) or can_divide(first + 1, whole, sums, limits)):
        release(node, slots, free, counts)
    else:
        small = first if sums[first, 0] <= sums[first + 1, 0] else first + 1
        one_by_one = slots[node] >= 0 and sums[small, 0] < few
        if not one_by_one or can_divide(small, whole, sums, limits):
            claim(small, slots, pool, free, counts)
        if slots[node] < 0:
            other = 2 * first + 1 - small
            claim(other, slots, pool, free, counts)
    return small, other, one_by_one


@lean
def subtract(node, small, whole, slots, pool):  # type: ignore[no-untyped-def]
    """Turn the histogram of a node, where it still has one, into that of its heavier child."""
    if small < 0 or slots[node] < 0:
        return
    subtract_bins(pool[slots[small]], 0, pool.shape[1], pool[slots[node]])
    hand_on(node, small, whole, slots)


@part
def hand_on(node, small, whole, slots):  # type: ignore[no-untyped-def]
    """Give the histogram of a node, where it still has one, to its heavier child."""
    if small >= 0 and slots[node] >= 0:
        slots[2 * whole[node, LEFT] + 1 - small], slots[node] = slots[node], -1
