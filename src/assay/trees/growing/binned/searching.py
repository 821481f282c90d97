"""The best split of a node from its histogram, and what a growing tree on histograms is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.trees.growing.binned.histograms import goes_left
from assay.trees.growing.binned.scan import LINES, best_newton_cut
from assay.trees.growing.criteria import Newton, cost
from assay.trees.growing.cuts import NO_CUT, Rule, best_cut, real_sums
from assay.trees.growing.finding import list_columns
from assay.trees.growing.levels import copy_bits, finish_grouping, group_levels
from assay.trees.growing.nodes import (
    CENTER,
    COLUMN,
    CUT,
    GAIN,
    HIGH,
    LEAF,
    LOW,
    PLACE_OF_BITS,
    GrowingTree,
    empty_tree,
    keep_split,
    mixed,
    uniform,
)
from assay.trees.growing.space import ColumnRules, Limits, Space, Split, make_space

POOL_BYTES = 2**28
"""Memory for the histograms of open nodes; nodes beyond it have theirs summed up again when divided."""

NOISE = 1e-12
"""Gains below this share of what the node has gained already are rounding."""

LEAST_CURVATURE = 1e-3
"""Curvature of each side of a split at least: with less, a Newton step has nothing to go by."""

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
    units : float64 array of shape (capacity, 3)
        What a unit of each sum is worth; the centre of the slopes is that of the tree.
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
    units: NDArray[np.float64]


class Plan(NamedTuple):
    """What stays the same from tree to tree; each side of a cut has at least the curvature `flattest`."""

    form: Any
    limits: Limits
    columns: ColumnRules
    n_codes: NDArray[np.int32]
    stride: int
    space: Space
    lines: NDArray[np.float64]
    flattest: float


def make_plan(
    form: Any,
    limits: Limits,
    columns: ColumnRules,
    n_codes: NDArray[np.int32],
    flattest: float = LEAST_CURVATURE,
) -> Plan:
    """A plan for trees of these columns; the stride leaves room for the code of missing values."""
    stride = int(n_codes.max(initial=0)) + 1
    space = make_space(1, len(n_codes), 3, 255, np.ones(3))
    return Plan(form, limits, columns, n_codes, stride, space, np.empty((LINES, 257)), flattest)


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
        np.ones((capacity, 3)),
    )


@compiled
def search(node, growth, plan):  # type: ignore[no-untyped-def]
    """Write the best split of a node into the tree."""
    tree, space, limits, columns = growth.tree, plan.space, plan.limits, plan.columns
    sums, whole, missing = growth.pool[growth.slots[node]], growth.sums[node], space.sums[1]
    for k in range(3):
        space.sums[0, k], space.unit[k] = whole[k], growth.units[node, k]
    center = tree.real[node, CENTER]
    form = centered(plan.form, center)
    real_sums(whole, space.unit, space.work[3])
    rounding = NOISE * abs(cost(form, space.work[3]))
    constant = form.shift * center  # centred slopes gain that much more
    best, n_tried, state = max(limits.min_gain, rounding) + constant, 0, growth.paths[node]
    least = (np.int64(limits.min_leaf), np.int64(np.ceil(plan.flattest / space.unit[2])))
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
        low, high = tree.real[node, LOW] - center, tree.real[node, HIGH] - center
        rule = Rule(limits.min_leaf, np.int64(columns.signs[j]), low, high)
        if columns.categorical[j]:
            best = search_levels(node, j, sums, best, rule, growth, plan, form)
            continue
        tally = sums[first : first + n_codes]
        if rule.sign == 0:
            cut = best_newton_cut(
                form, tally, n_codes, whole, missing, space.unit, least, plan.lines, space.order
            )
        else:
            cut = best_cut(form, tally, n_codes, whole, missing, space.unit, rule, space.work)
        if cut.place != NO_CUT and cut.gain > best:
            best = cut.gain
            after = next_code(tally, cut.place)
            keep_split(
                node, j, middle_cut(cut.place, after, n_codes), after, cut.missing_left, cut.gain, tree
            )
            tree.whole[node, PLACE_OF_BITS] = -1
            if missing[0] == 0:  # later missing values go where most rows went
                tree.missing_left[node] = 2 * weight_upto(tally, cut.place) >= whole[0]
    if tree.whole[node, COLUMN] != LEAF:
        tree.real[node, GAIN] -= constant
        sum_left(node, sums, growth, plan)


@compiled
def centered(form, center):  # type: ignore[no-untyped-def]
    """The criterion for slopes that are counted from a centre."""
    return Newton(form.l2, form.classes, form.l2 * center)


@compiled
def search_levels(node, j, sums, best, rule, growth, plan, form):  # type: ignore[no-untyped-def]
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
    gain, missing_left = group_levels(form, space, n_codes, space.sums[0], missing, rule)
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
def middle_cut(place, after, n_codes):  # type: ignore[no-untyped-def]
    """The cut in the middle of the codes that do not occur between a place and the next code that does.

    All of these cuts divide the rows of the node alike; later rows are nearer to those of their side. Where
    no code follows, every value goes left.
    """
    return (place + after) >> 1 if after > place else n_codes - 1


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
