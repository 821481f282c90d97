"""Best-first trees on histograms: the leaf that gains most is divided next, on all shards at once.

One division is three steps: choose the leaf (`choose`), divide its rows and sum up the smaller child on
every shard (`divide_on_shard`), subtract to get the other child and find the best split of both (`search`).
One loop, `grow`, takes them all where one shard has all rows, and all but the second for shards on threads
or on a cluster: the search of splits, which takes longest to compile, is compiled once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assay.loops import lean, part
from assay.rows import ordered_map
from assay.trees.growing.binned.histograms import Shard, divide_on_shard, is_blind
from assay.trees.growing.binned.searching import (
    SPARE,
    Growth,
    Plan,
    make_growth,
    make_plan,
    search,
    sum_left,
    write_sides,
)
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

NONE, BEST, ALONE_ON_SHARD, ROOT = -1, -2, -3, -4
"""In place of a node: none; the best leaf; that, and so on until the tree is finished; a tree to begin."""


@lean
def grow(shard, growth, plan, last, small, following):  # type: ignore[no-untyped-def]
    """Settle one division and begin another; on a shard that has all rows divide them too, and go on.

    Parameters
    ----------
    shard : Shard
        Any where the rows are divided by others.
    last, small : int
        The node that was divided last and its child that was summed up, `NONE` where nothing is to be
        settled. After `ROOT` a tree begins: its histogram is in the last place of the pool, its seed in
        `growth.paths`.
    following : int
        The node to divide: a number, `BEST`, `ALONE_ON_SHARD` or `NONE`.

    Returns
    -------
    node : int
        The node that is to be divided as `growth.sides` says, `NONE` where there is none. On a shard alone, a
        node that was divided and has a child that needs finer units before the division is settled.
    small, other : int
        The children to be summed up, or `NONE`; the lighter one first.
    """
    # Arrays are handed on one by one: a tuple of all of them is copied whole, which takes long to compile.
    tree, sums, left, slots, pool, free, heap, paths, counts, units, sides = growth
    limits, n_codes = plan.limits, plan.n_codes
    while True:
        first, n_new = np.int64(0), np.int64(0)
        if last == ROOT:
            begin(tree, sums, slots, pool, free, paths, counts, units, plan.unit, plan.stride)
            n_new = np.int64(1)
        elif small >= 0:
            subtract(last, small, tree.whole, slots, pool)
            first, n_new = tree.whole[last, LEFT], np.int64(2)
        for child in range(first, first + n_new):
            end_leaf(child, tree, sums, units)
            if can_divide(child, tree.whole, sums, limits):
                search(child, pool[slots[child]], tree, sums, units, paths[child], plan)
            column = tree.whole[child, COLUMN]
            is_leaf = column == LEAF
            if not is_leaf:
                absent = np.int64(n_codes[column])
                write_sides(child, absent, tree, sides)
                sum_left(child, pool[slots[child]], column * plan.stride, absent, sides, left)
                push(heap, counts[N_OPEN], child, tree)
                counts[N_OPEN] += 1
            if is_leaf or counts[N_FREE] < SPARE:
                release(child, slots, free, counts)
        last = np.int64(following)
        if following < NONE:
            last = choose(tree, sums, heap, counts, units, limits)
        if last < 0:
            return np.int64(NONE), np.int64(NONE), np.int64(NONE)
        begin_children(last, tree, sums, left, slots, paths, counts, units)
        first, column = tree.whole[last, LEFT], tree.whole[last, COLUMN]
        bound_children(last, first, tree, np.int64(plan.columns.signs[column]), plan.form)
        small, other = summed_children(last, tree.whole, sums, slots, pool, free, counts, limits)
        write_sides(last, np.int64(n_codes[column]), tree, sides)
        if following != ALONE_ON_SHARD:
            return last, small, other
        own, more = pool[slots[max(small, 0)]], pool[slots[max(other, 0)]]
        divide_on_shard(shard, last, first, column, sides, plan.stride, small, own, other, more)
        if is_blind(first, shard.ranges, shard.narrow, shard.curved) or is_blind(
            first + 1, shard.ranges, shard.narrow, shard.curved
        ):
            return last, small, other


@part
def begin(tree, sums, slots, pool, free, paths, counts, units, unit, stride):  # type: ignore[no-untyped-def]
    """Begin a tree whose histogram of all rows is in the last place of the pool."""
    n_slots = pool.shape[0]
    for p in range(n_slots - 1):
        free[p] = p
    counts[N_NODES], counts[N_OPEN], counts[N_LEAVES], counts[N_FREE] = 1, 0, 1, n_slots - 1
    paths[0] = mixed(paths[0])
    slots[0] = n_slots - 1
    tree.whole[0, DEPTH], tree.whole[0, PARENT] = 0, -1
    tree.real[0, LOW], tree.real[0, HIGH], tree.real[0, CENTER] = -np.inf, np.inf, 0.0
    for k in range(3):
        units[0, k] = unit[k]
        total = np.int64(0)
        for b in range(stride):
            total += pool[n_slots - 1, b, k]
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
    sums = pool[slot]
    for b in range(sums.shape[0]):
        for k in range(3):
            sums[b, k] = 0


@part
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


@part
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


@part
def bound_children(node, first, tree, sign, form):  # type: ignore[no-untyped-def]
    """Under a constraint, what one side may predict ends where the other's begins."""
    if sign != 0:
        middle = 0.0
        for side in range(2):
            value = node_value(form, tree.sums[first + side])
            middle += 0.5 * min(max(value, tree.real[node, LOW]), tree.real[node, HIGH])
        rising, falling = (first, first + 1) if sign > 0 else (first + 1, first)
        tree.real[rising, HIGH], tree.real[falling, LOW] = middle, middle


@part
def summed_children(node, whole, sums, slots, pool, free, counts, limits):  # type: ignore[no-untyped-def]
    """Take histograms for the children of a node that must be summed up from rows.

    Gives the child of less weight and the other one, `NONE` for those that need not be: the other one follows
    by subtraction where the node still has its histogram, and none is needed where nothing is divided
    further.
    """
    first, small, other = whole[node, LEFT], np.int64(NONE), np.int64(NONE)
    ends = limits.max_leaves > 0 and counts[N_LEAVES] >= limits.max_leaves
    if ends or not (can_divide(first, whole, sums, limits) or can_divide(first + 1, whole, sums, limits)):
        release(node, slots, free, counts)
    else:
        small = first if sums[first, 0] <= sums[first + 1, 0] else first + 1
        claim(small, slots, pool, free, counts)
        if slots[node] < 0:
            other = 2 * first + 1 - small
            claim(other, slots, pool, free, counts)
    return small, other


@lean
def subtract(node, small, whole, slots, pool):  # type: ignore[no-untyped-def]
    """Turn the histogram of a node, where it still has one, into that of its heavier child."""
    if small < 0 or slots[node] < 0:
        return
    other = 2 * whole[node, LEFT] + 1 - small
    rest, gone = pool[slots[node]], pool[slots[small]]
    for b in range(rest.shape[0]):
        for k in range(3):
            rest[b, k] -= gone[b, k]
    slots[other], slots[node] = slots[node], -1


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
    growth.paths[0] = seed
    node, small = ROOT, NONE
    own = np.zeros((len(shards) - 1, 2, *growth.pool.shape[1:]), dtype=np.int64)
    following = ALONE_ON_SHARD if len(shards) == 1 else BEST
    while True:
        node, small, other = grow(shards[0], growth, plan, node, small, following)
        if node < 0:
            return int(growth.counts[N_NODES])
        if len(shards) > 1:
            _divide_on_all(shards, growth, plan, own, (node, small, other))
        first = int(growth.tree.whole[node, LEFT])
        blind = [child for child in (first, first + 1) if blind_on_all(shards, child)]
        if blind:
            # Both children have their histograms before one is counted anew.
            subtract(node, small, growth.tree.whole, growth.slots, growth.pool)
            for child in blind:
                refine(child)
                end_leaf(child, growth.tree, growth.sums, growth.units)


def blind_on_all(shards: Sequence[Shard], node: int) -> bool:
    """Whether the units of a node are too coarse, from the ranges of all shards together."""
    ranges = np.array([shard.ranges[node] for shard in shards])
    width = int(ranges[:, 1].max()) - int(ranges[:, 0].min())
    return width < shards[0].narrow or int(ranges[:, 2].max()) < shards[0].curved


def _divide_on_all(
    shards: Sequence[Shard], growth: Growth, plan: Plan, own: NDArray, division: tuple[int, int, int]
) -> None:
    """Make a division on all shards: a node, its children to be summed up."""
    node, small, other = division
    work = growth.sums[node, 0] + len(plan.n_codes) * growth.sums[max(small, 0), 0]
    places = range(len(shards))
    if work < ALONE:
        for place in places:
            _divide(shards, growth, plan, own[:0], division, place)
        return
    deque(ordered_map(partial(_divide, shards, growth, plan, own, division), places), maxlen=0)
    for sums, more in own:
        if small >= 0:
            growth.pool[growth.slots[small]] += sums
        if other >= 0:
            growth.pool[growth.slots[other]] += more


def _divide(
    shards: Sequence[Shard],
    growth: Growth,
    plan: Plan,
    own: NDArray,
    division: tuple[int, int, int],
    place: int,
) -> None:
    """One division on one shard; the first adds to the pool, the others to their own histograms if any."""
    node, small, other = division
    if place == 0 or len(own) == 0:
        sums, more = (growth.pool[growth.slots[max(child, 0)]] for child in (small, other))
    else:
        sums, more = own[place - 1]
        sums[:] = 0
        more[: len(more) if other >= 0 else 0] = 0
    first, column = int(growth.tree.whole[node, LEFT]), int(growth.tree.whole[node, COLUMN])
    divide_on_shard(shards[place], node, first, column, growth.sides, plan.stride, small, sums, other, more)


__all__ = ["Growth", "Plan", "grow_on_shards", "make_growth", "make_plan"]
