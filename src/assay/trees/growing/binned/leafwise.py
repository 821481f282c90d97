"""Best-first trees on histograms: the leaf that gains most is divided next, on all shards at once.

One division is three steps: choose the leaf (`choose`), divide its rows and sum up the smaller child on
every shard (`divide_on_shard`), subtract to get the other child and find the best split of both (`settle`).
The same steps run in one compiled call where one shard is enough, and on threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.rows import ordered_map
from assay.trees.growing.binned.histograms import Shard, divide_shard, fill_histogram, is_blind, measure_range
from assay.trees.growing.binned.searching import SPARE, Growth, Plan, make_growth, make_plan, search, split_of
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
    push,
)

N_NODES, N_OPEN, N_LEAVES, N_FREE = range(4)
"""Places of `Growth.counts`."""

ALONE = 2**17
"""Work of a division, in updates of sums, below which threads cost more than they save."""


@compiled
def begin(growth, plan, seed):  # type: ignore[no-untyped-def]
    """Begin a tree whose histogram of all rows is in the last place of the pool."""
    tree, counts = growth.tree, growth.counts
    n_slots = growth.pool.shape[0]
    for p in range(n_slots - 1):
        growth.free[p] = p
    root = np.int64(0)
    counts[N_NODES], counts[N_OPEN], counts[N_LEAVES], counts[N_FREE] = 1, 0, 1, n_slots - 1
    growth.paths[0] = mixed(np.uint64(seed))
    growth.slots[0] = n_slots - 1
    tree.whole[0, DEPTH], tree.whole[0, PARENT] = 0, -1
    tree.real[0, LOW], tree.real[0, HIGH], tree.real[0, CENTER] = -np.inf, np.inf, 0.0
    for k in range(3):
        growth.units[0, k] = plan.space.unit[k]
        total = np.int64(0)
        for b in range(plan.stride):
            total += growth.pool[n_slots - 1, b, k]
        growth.sums[0, k] = total
    open_leaf(root, growth, plan)


@compiled
def can_divide(node, growth, plan):  # type: ignore[no-untyped-def]
    """Whether depth and weight of a node allow it to be divided."""
    limits, weight = plan.limits, growth.sums[node, 0]
    return (
        growth.tree.whole[node, DEPTH] < limits.max_depth
        and weight >= limits.min_split
        and weight >= 2 * limits.min_leaf
    )


@compiled
def open_leaf(node, growth, plan):  # type: ignore[no-untyped-def]
    """Find the best split of a node that has its histogram; keep the node among the open ones, or end it."""
    tree, counts = growth.tree, growth.counts
    end_leaf(node, growth, plan)
    if can_divide(node, growth, plan):
        search(node, growth, plan)
    if tree.whole[node, COLUMN] == LEAF:
        release(node, growth)
        return
    push(growth.heap, counts[N_OPEN], node, tree)
    counts[N_OPEN] += 1
    if counts[N_FREE] < SPARE:
        release(node, growth)


@compiled
def end_leaf(node, growth, plan):  # type: ignore[no-untyped-def]
    """Write a node as a leaf."""
    tree = growth.tree
    tree.whole[node, COLUMN], tree.whole[node, PLACE_OF_BITS] = LEAF, -1
    tree.whole[node, LEFT] = tree.whole[node, RIGHT] = -1
    tree.real[node, GAIN] = 0.0
    for k in range(3):
        tree.sums[node, k] = growth.sums[node, k] * growth.units[node, k]
    tree.sums[node, 1] += tree.real[node, CENTER] * tree.sums[node, 2]


@compiled
def release(node, growth):  # type: ignore[no-untyped-def]
    """Give back the histogram of a node."""
    if growth.slots[node] >= 0:
        growth.free[growth.counts[N_FREE]] = growth.slots[node]
        growth.counts[N_FREE] += 1
        growth.slots[node] = -1


@compiled
def claim(node, growth):  # type: ignore[no-untyped-def]
    """Take an empty histogram for a node."""
    growth.counts[N_FREE] -= 1
    slot = growth.free[growth.counts[N_FREE]]
    growth.slots[node] = slot
    sums = growth.pool[slot]
    for b in range(sums.shape[0]):
        for k in range(3):
            sums[b, k] = 0


@compiled
def choose(growth, plan):  # type: ignore[no-untyped-def]
    """Take the leaf that gains most and begin its children, the last two nodes; −1 where none is left."""
    tree, counts, limits = growth.tree, growth.counts, plan.limits
    full = limits.max_leaves > 0 and counts[N_LEAVES] >= limits.max_leaves
    if counts[N_OPEN] == 0 or full or counts[N_NODES] + 2 > tree.whole.shape[0]:
        for p in range(counts[N_OPEN]):  # the open ones stay leaves
            node = growth.heap[p]
            end_leaf(node, growth, plan)
        return np.int64(-1)
    node = pop(growth.heap, counts[N_OPEN], tree)
    counts[N_OPEN] -= 1
    begin_children(node, growth, plan)
    return node


@compiled
def begin_children(node, growth, plan):  # type: ignore[no-untyped-def]
    """Begin the children of a node that has a split, as the last two nodes."""
    tree, counts = growth.tree, growth.counts
    first = counts[N_NODES]
    counts[N_NODES] += 2
    counts[N_LEAVES] += 1
    tree.whole[node, LEFT], tree.whole[node, RIGHT] = first, first + 1
    for side in range(2):
        child = first + side
        tree.whole[child, DEPTH] = tree.whole[node, DEPTH] + 1
        tree.whole[child, PARENT] = node
        tree.real[child, LOW], tree.real[child, HIGH] = tree.real[node, LOW], tree.real[node, HIGH]
        growth.paths[child] = mixed(growth.paths[node] + np.uint64(side + 1))
        tree.real[child, CENTER] = tree.real[node, CENTER]
        growth.slots[child] = -1
        for k in range(3):
            growth.units[child, k] = growth.units[node, k]
            left = growth.left[node, k]
            growth.sums[child, k] = growth.sums[node, k] - left if side else left
        end_leaf(child, growth, plan)
    bound_children(node, first, growth, plan)


@compiled
def bound_children(node, first, growth, plan):  # type: ignore[no-untyped-def]
    """Under a constraint, what one side may predict ends where the other's begins."""
    tree = growth.tree
    sign = np.int64(plan.columns.signs[tree.whole[node, COLUMN]])
    if sign == 0:
        return
    middle = 0.0
    for side in range(2):
        value = node_value(plan.form, tree.sums[first + side])
        middle += 0.5 * min(max(value, tree.real[node, LOW]), tree.real[node, HIGH])
    rising, falling = (first, first + 1) if sign > 0 else (first + 1, first)
    tree.real[rising, HIGH], tree.real[falling, LOW] = middle, middle


@compiled
def summed_children(node, growth, plan):  # type: ignore[no-untyped-def]
    """Take histograms for the children of a node that must be summed up from rows.

    Gives the child of less weight and the other one, −1 for those that need not be: the other one follows by
    subtraction where the node still has its histogram, and none is needed where nothing is divided further.
    """
    tree, counts = growth.tree, growth.counts
    first = tree.whole[node, LEFT]
    full = plan.limits.max_leaves > 0 and counts[N_LEAVES] >= plan.limits.max_leaves
    if full or not (can_divide(first, growth, plan) or can_divide(first + 1, growth, plan)):
        release(node, growth)
        return np.int64(-1), np.int64(-1)
    small = first if growth.sums[first, 0] <= growth.sums[first + 1, 0] else first + 1
    claim(small, growth)
    if growth.slots[node] >= 0:
        return small, np.int64(-1)
    other = 2 * first + 1 - small
    claim(other, growth)
    return small, other


@compiled
def settle(node, small, growth, plan):  # type: ignore[no-untyped-def]
    """Find the splits of both children once the smaller one is summed up."""
    if small < 0:
        return
    first = growth.tree.whole[node, LEFT]
    subtract(node, small, growth)
    open_leaf(first, growth, plan)
    open_leaf(first + 1, growth, plan)


@compiled
def subtract(node, small, growth):  # type: ignore[no-untyped-def]
    """Turn the histogram of a node, where it still has one, into that of its heavier child."""
    if small < 0 or growth.slots[node] < 0:
        return
    other = 2 * growth.tree.whole[node, LEFT] + 1 - small
    rest, part = growth.pool[growth.slots[node]], growth.pool[growth.slots[small]]
    for b in range(rest.shape[0]):
        for k in range(3):
            rest[b, k] -= part[b, k]
    growth.slots[other] = growth.slots[node]
    growth.slots[node] = -1


@compiled
def divide_on_shard(shard, node, first, split, absent, stride, small, sums, other, more):  # type: ignore[no-untyped-def]
    """Divide the rows of a node; add those of the children to be summed up (−1: none) to histograms."""
    divide_shard(shard, node, first, split, absent)
    measure_range(shard, first)
    measure_range(shard, first + 1)
    if small >= 0:
        fill_histogram(shard, shard.bounds[small, 0], shard.bounds[small, 1], stride, sums)
    if other >= 0:
        fill_histogram(shard, shard.bounds[other, 0], shard.bounds[other, 1], stride, more)


@compiled
def advance(node, small, growth, plan):  # type: ignore[no-untyped-def]
    """Settle the division of a node (−1: none yet) and choose the next one.

    Gives the node (−1: the tree is finished), its split, and the children to be summed up, smaller one first.
    """
    if node >= 0:
        settle(node, small, growth, plan)
    node = choose(growth, plan)
    small, other = np.int64(-1), np.int64(-1)
    if node >= 0:
        small, other = summed_children(node, growth, plan)
    return node, split_of(max(node, np.int64(0)), growth, plan), small, other


@compiled
def grow_alone(shard, growth, plan, node, small):  # type: ignore[no-untyped-def]
    """Divide leaf after leaf on one shard, in one call, from a division (−1: none yet) on.

    Gives the last division: a node and its smaller child. The node is −1 where the tree is finished; else a
    child needs finer units before the division is settled.
    """
    while True:
        node, split, small, other = advance(node, small, growth, plan)
        if node < 0:
            return node, small
        sums, more = growth.pool[growth.slots[max(small, 0)]], growth.pool[growth.slots[max(other, 0)]]
        first, absent = growth.tree.whole[node, LEFT], np.int64(plan.n_codes[split.column])
        divide_on_shard(shard, node, first, split, absent, plan.stride, small, sums, other, more)
        if is_blind(shard, first) or is_blind(shard, first + 1):
            return node, small


def grow_on_shards(
    shards: Sequence[Shard],
    growth: Growth,
    plan: Plan,
    seed: int,
    refine: Callable[[int], None] = lambda node: None,
) -> int:
    """Grow a tree on several shards, each on a thread; gives the number of nodes.

    The first shard adds to the histograms of the pool, the others to their own, which are then added.
    `refine` counts a node in finer units, its sums and, where it has one, its histogram included.
    """
    begin(growth, plan, seed)
    node = small = -1
    own = np.zeros((len(shards) - 1, 2, *growth.pool.shape[1:]), dtype=np.int64)
    while True:
        if len(shards) == 1:
            node, small = grow_alone(shards[0], growth, plan, node, small)
        else:
            node, small = _divide_next(shards, growth, plan, own, (node, small))
        if node < 0:
            return int(growth.counts[N_NODES])
        first = int(growth.tree.whole[node, LEFT])
        blind = [child for child in (first, first + 1) if blind_on_all(shards, child)]
        if blind:
            subtract(node, small, growth)  # both children have their histograms before one is counted anew
            for child in blind:
                refine(child)
                end_leaf(child, growth, plan)


def blind_on_all(shards: Sequence[Shard], node: int) -> bool:
    """Whether the units of a node are too coarse, from the ranges of all shards together."""
    ranges = np.array([shard.ranges[node] for shard in shards])
    width = int(ranges[:, 1].max()) - int(ranges[:, 0].min())
    return width < shards[0].narrow or int(ranges[:, 2].max()) < shards[0].curved


def _divide_next(
    shards: Sequence[Shard], growth: Growth, plan: Plan, own: NDArray, last: tuple[int, int]
) -> tuple[int, int]:
    """Settle the last division and make the next one on all shards; see `grow_alone`."""
    node, split, small, other = advance(*last, growth, plan)
    if node < 0:
        return node, small
    divide = partial(_divide, shards, growth, plan, own, (node, split, small, other))
    work = growth.sums[node, 0] + len(plan.n_codes) * growth.sums[max(small, 0), 0]
    places = range(len(shards))
    if work < ALONE:
        for place in places:
            _divide(shards, growth, plan, own[:0], (node, split, small, other), place)
        return node, small
    deque(ordered_map(divide, places), maxlen=0)
    for sums, more in own:
        if small >= 0:
            growth.pool[growth.slots[small]] += sums
        if other >= 0:
            growth.pool[growth.slots[other]] += more
    return node, small


def _divide(
    shards: Sequence[Shard], growth: Growth, plan: Plan, own: NDArray, division: tuple[Any, ...], place: int
) -> None:
    """One division on one shard; the first adds to the pool, the others to their own histograms if any."""
    node, split, small, other = division
    if place == 0 or len(own) == 0:
        sums, more = (growth.pool[growth.slots[max(child, 0)]] for child in (small, other))
    else:
        sums, more = own[place - 1]
        sums[:] = 0
        more[: len(more) if other >= 0 else 0] = 0
    first, absent = int(growth.tree.whole[node, LEFT]), int(plan.n_codes[split.column])
    divide_on_shard(shards[place], node, first, split, absent, plan.stride, small, sums, other, more)


__all__ = ["Growth", "Plan", "grow_on_shards", "make_growth", "make_plan"]
