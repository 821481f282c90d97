"""Best-first trees on histograms: the leaf that gains most is divided next, on all shards of the table at once.

One division is three steps: choose the leaf (`choose`), divide its rows and sum up the smaller child on every
shard (`divide_on_shard`), subtract to get the other child and find the best split of both (`settle`). The same
steps run in one compiled call where one shard is enough, on threads, and on a cluster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.rows import ordered_map
from assay.trees.growing.criteria import cost
from assay.trees.growing.cuts import NO_CUT, Rule, best_cut, node_value, real_sums
from assay.trees.growing.histograms import Shard, divide_shard, fill_histogram, goes_left
from assay.trees.growing.nodes import (
    COLUMN,
    CUT,
    DEPTH,
    GAIN,
    HIGH,
    LEAF,
    LEFT,
    LOW,
    PARENT,
    PLACE_OF_BITS,
    RIGHT,
    GrowingTree,
    empty_tree,
    mixed,
    pop,
    push,
    uniform,
)
from assay.trees.growing.scan import LINES, best_newton_cut
from assay.trees.growing.whole import (
    ColumnRules,
    Limits,
    Space,
    Split,
    copy_bits,
    finish_grouping,
    group_levels,
    keep_split,
    list_columns,
    make_space,
)

N_NODES, N_OPEN, N_LEAVES, N_FREE = range(4)
"""Places of `Growth.counts`."""

POOL_BYTES = 2**28
"""Memory for the histograms of open nodes; nodes beyond it have theirs summed up again when divided."""

ALONE = 2**17
"""Work of a division, in updates of sums, below which threads cost more than they save."""

LEAST_CURVATURE = 1e-3
"""Curvature of each side of a split: with less, a Newton step has nothing to go by."""

NOISE = 1e-12
"""Gains below this share of what the node has gained already are rounding."""

SPARE = 3
"""Histograms that are always free: those of two children, and one."""


class Growth(NamedTuple):
    """A tree under construction, with integer sums and histograms of its open nodes.

    Attributes
    ----------
    tree : GrowingTree
        The places of rows are those of the shards.
    sums, left : int64 arrays of shape (capacity, 3)
        Weight, statistic and curvature of each node, and of the left side of its split.
    slots : int64 array of shape (capacity,)
        The place of its histogram in the pool, −1 where it has none.
    pool : int64 array of shape (n_slots, n_columns * stride, 3)
    free : int64 array of shape (n_slots,)
        A stack of the places that are free.
    heap : int64 array of shape (capacity,)
        The nodes that can be divided, by gain.
    paths : uint64 array of shape (capacity,)
        What the draws of a node depend on.
    counts : int64 array of shape (4,)
        Nodes, open nodes, leaves, free places.
    """

    tree: GrowingTree
    sums: NDArray[np.int64]
    left: NDArray[np.int64]
    slots: NDArray[np.int64]
    pool: NDArray[np.int64]
    free: NDArray[np.int64]
    heap: NDArray[np.int64]
    paths: NDArray[np.uint64]
    counts: NDArray[np.int64]


class Plan(NamedTuple):
    """What stays the same from tree to tree."""

    form: Any
    limits: Limits
    columns: ColumnRules
    n_codes: NDArray[np.int32]
    stride: int
    space: Space
    lines: NDArray[np.float64]


def make_plan(form: Any, limits: Limits, columns: ColumnRules, n_codes: NDArray[np.int32]) -> Plan:
    """A plan for trees of these columns; the stride leaves room for the code of missing values."""
    stride = int(n_codes.max(initial=0)) + 1
    space = make_space(1, len(n_codes), 3, 255, np.ones(3))
    return Plan(form, limits, columns, n_codes, stride, space, np.empty((LINES, 257)))


def make_growth(plan: Plan, capacity: int) -> Growth:
    """Room for trees of so many nodes."""
    n_bins = len(plan.n_codes) * plan.stride
    n_slots = max(SPARE + 1, min(capacity // 2 + SPARE + 1, POOL_BYTES // (24 * n_bins)))
    return Growth(
        empty_tree(capacity, 3, categories=bool(plan.columns.categorical.any())),
        np.zeros((capacity, 3), dtype=np.int64),
        np.zeros((capacity, 3), dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty((n_slots, n_bins, 3), dtype=np.int64),
        np.empty(n_slots, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.uint64),
        np.zeros(4, dtype=np.int64),
    )


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
    tree.real[0, LOW], tree.real[0, HIGH] = -np.inf, np.inf
    for k in range(3):
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
        tree.sums[node, k] = growth.sums[node, k] * plan.space.unit[k]


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
def search(node, growth, plan):  # type: ignore[no-untyped-def]
    """Write the best split of a node into the tree."""
    tree, space, limits, columns = growth.tree, plan.space, plan.limits, plan.columns
    sums, whole, missing = growth.pool[growth.slots[node]], growth.sums[node], space.sums[1]
    for k in range(3):
        space.sums[0, k] = whole[k]
    real_sums(whole, space.unit, space.work[3])
    rounding = NOISE * abs(cost(plan.form, space.work[3]))
    best, n_tried, state = max(limits.min_gain, rounding), 0, growth.paths[node]
    least = (np.int64(limits.min_leaf), np.int64(np.ceil(LEAST_CURVATURE / space.unit[2])))
    n_columns = list_columns(node, columns, tree, space.columns)
    for place in range(n_columns):
        if limits.n_tried < n_columns:
            if n_tried >= limits.n_tried and tree.whole[node, COLUMN] != LEAF:
                break
            state = mixed(state)
            other = place + np.int64(uniform(state) * (n_columns - place))
            space.columns[place], space.columns[other] = space.columns[other], space.columns[place]
        n_tried += 1
        j = space.columns[place]
        n_codes, first = np.int64(plan.n_codes[j]), j * plan.stride
        for k in range(3):
            missing[k] = sums[first + n_codes, k]
        if n_codes < 1 or (n_codes == 1 and missing[0] == 0):
            continue
        rule = Rule(limits.min_leaf, np.int64(columns.signs[j]), tree.real[node, LOW], tree.real[node, HIGH])
        if columns.categorical[j]:
            best = search_levels(node, j, sums, best, rule, growth, plan)
            continue
        tally = sums[first : first + n_codes]
        if rule.sign == 0:
            cut = best_newton_cut(
                plan.form, tally, n_codes, whole, missing, space.unit, least, plan.lines, space.order
            )
        else:
            cut = best_cut(plan.form, tally, n_codes, whole, missing, space.unit, rule, space.work)
        if cut.place != NO_CUT and cut.gain > best:
            best = cut.gain
            keep_split(node, j, cut.place, next_code(tally, cut.place), cut.missing_left, cut.gain, tree)
            tree.whole[node, PLACE_OF_BITS] = -1
            if missing[0] == 0:  # later missing values go where most rows went
                tree.missing_left[node] = 2 * weight_upto(tally, cut.place) >= whole[0]
    if tree.whole[node, COLUMN] != LEAF:
        sum_left(node, sums, growth, plan)


@compiled
def search_levels(node, j, sums, best, rule, growth, plan):  # type: ignore[no-untyped-def]
    """The same for a column of categories; gives the gain of the best split so far."""
    tree, space = growth.tree, plan.space
    n_levels, first, n_codes = np.int64(plan.n_codes[j]), j * plan.stride, 0
    for code in range(n_levels):
        if sums[first + code, 0] > 0:
            space.codes[n_codes] = code
            for k in range(3):
                space.tally[n_codes, k] = sums[first + code, k]
            n_codes += 1
    missing = space.sums[1]
    if n_codes < 1 or (n_codes == 1 and missing[0] == 0):
        return best
    gain, missing_left = group_levels(plan.form, space, n_codes, space.sums[0], missing, rule)
    if gain > best:
        best = gain
        keep_split(node, j, np.int64(0), np.int64(0), missing_left, gain, tree)
        tree.whole[node, PLACE_OF_BITS] = node
        copy_bits(space.bits[0], tree.bits[node])
        finish_grouping(node, n_levels, n_codes, missing, tree, space)
    return best


@compiled
def next_code(tally, place):  # type: ignore[no-untyped-def]
    """The first code after a place that occurs; the place itself where none does."""
    for code in range(place + 1, tally.shape[0]):
        if tally[code, 0] > 0:
            return np.int64(code)
    return np.int64(place)


@compiled
def weight_upto(tally, place):  # type: ignore[no-untyped-def]
    """Weight of the codes up to a place."""
    weight = np.int64(0)
    for code in range(place + 1):
        weight += tally[code, 0]
    return weight


@compiled
def split_of(node, growth, plan):  # type: ignore[no-untyped-def]
    """The split of a node as rows are divided by it."""
    tree = growth.tree
    j = tree.whole[node, COLUMN]
    is_category = tree.whole[node, PLACE_OF_BITS] >= 0
    bits = tree.bits[node] if is_category else plan.space.bits[1]
    return Split(j, tree.whole[node, CUT], tree.missing_left[node], is_category, bits)


@compiled
def sum_left(node, sums, growth, plan):  # type: ignore[no-untyped-def]
    """Sums of the left side of the split of a node."""
    split = split_of(node, growth, plan)
    absent, first = np.int64(plan.n_codes[split.column]), split.column * plan.stride
    for k in range(3):
        growth.left[node, k] = 0
    for code in range(absent + 1):
        if goes_left(code, absent, split):
            for k in range(3):
                growth.left[node, k] += sums[first + code, k]


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
    first = counts[N_NODES]
    counts[N_OPEN] -= 1
    counts[N_NODES] += 2
    counts[N_LEAVES] += 1
    tree.whole[node, LEFT], tree.whole[node, RIGHT] = first, first + 1
    for side in range(2):
        child = first + side
        tree.whole[child, DEPTH] = tree.whole[node, DEPTH] + 1
        tree.whole[child, PARENT] = node
        tree.real[child, LOW], tree.real[child, HIGH] = tree.real[node, LOW], tree.real[node, HIGH]
        growth.paths[child] = mixed(growth.paths[node] + np.uint64(side + 1))
        growth.slots[child] = -1
        for k in range(3):
            left = growth.left[node, k]
            growth.sums[child, k] = growth.sums[node, k] - left if side else left
        end_leaf(child, growth, plan)
    bound_children(node, first, growth, plan)
    return node


@compiled
def bound_children(node, first, growth, plan):  # type: ignore[no-untyped-def]
    """Under a constraint, what one side may predict ends where the other's begins."""
    tree = growth.tree
    sign = np.int64(plan.columns.signs[tree.whole[node, COLUMN]])
    if sign == 0:
        return
    middle = 0.0
    for side in range(2):
        real_sums(growth.sums[first + side], plan.space.unit, plan.space.work[3])
        value = node_value(plan.form, plan.space.work[3])
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
    if growth.slots[node] >= 0:
        other = 2 * first + 1 - small
        rest, part = growth.pool[growth.slots[node]], growth.pool[growth.slots[small]]
        for b in range(rest.shape[0]):
            for k in range(3):
                rest[b, k] -= part[b, k]
        growth.slots[other] = growth.slots[node]
        growth.slots[node] = -1
    open_leaf(first, growth, plan)
    open_leaf(first + 1, growth, plan)


@compiled
def divide_on_shard(shard, node, first, split, absent, stride, small, sums, other, more):  # type: ignore[no-untyped-def]
    """Divide the rows of a node; add those of the children to be summed up (−1: none) to histograms."""
    divide_shard(shard, node, first, split, absent)
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
def grow_alone(shard, growth, plan, seed):  # type: ignore[no-untyped-def]
    """Grow a tree on one shard in one call; gives the number of nodes."""
    begin(growth, plan, seed)
    node, split, small, other = advance(np.int64(-1), np.int64(-1), growth, plan)
    while node >= 0:
        sums, more = growth.pool[growth.slots[max(small, 0)]], growth.pool[growth.slots[max(other, 0)]]
        first, absent = growth.tree.whole[node, LEFT], np.int64(plan.n_codes[split.column])
        divide_on_shard(shard, node, first, split, absent, plan.stride, small, sums, other, more)
        node, split, small, other = advance(node, small, growth, plan)
    return growth.counts[N_NODES]


def grow_on_shards(shards: Sequence[Shard], growth: Growth, plan: Plan, seed: int) -> int:
    """Grow a tree on several shards, each on a thread; gives the number of nodes.

    The first shard adds to the histograms of the pool, the others to their own, which are then added.
    """
    if len(shards) == 1:
        return int(grow_alone(shards[0], growth, plan, seed))
    begin(growth, plan, seed)
    own = np.zeros((len(shards) - 1, 2, *growth.pool.shape[1:]), dtype=np.int64)
    node, split, small, other = advance(-1, -1, growth, plan)
    while node >= 0:
        first, absent = int(growth.tree.whole[node, LEFT]), int(plan.n_codes[split.column])

        def divide(place: int) -> None:
            if place == 0:
                sums, more = (growth.pool[growth.slots[max(child, 0)]] for child in (small, other))
            else:
                sums, more = own[place - 1]
                sums[:] = 0
                more[: len(more) if other >= 0 else 0] = 0
            shard = shards[place]
            divide_on_shard(shard, node, first, split, absent, plan.stride, small, sums, other, more)

        work = growth.sums[node, 0] + len(plan.n_codes) * growth.sums[max(small, 0), 0]
        if work < ALONE:
            for place in range(len(shards)):
                divide(place)
        else:
            deque(ordered_map(divide, range(len(shards))), maxlen=0)
        for sums, more in own:
            if small >= 0:
                growth.pool[growth.slots[small]] += sums
            if other >= 0:
                growth.pool[growth.slots[other]] += more
        node, split, small, other = advance(node, small, growth, plan)
    return int(growth.counts[N_NODES])


__all__ = ["Growth", "Plan", "grow_on_shards", "make_growth", "make_plan"]
