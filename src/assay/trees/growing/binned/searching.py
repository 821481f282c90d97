"""The best split of a node from its histogram, and what a growing tree on histograms is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import lean, lean_inner, part
from assay.trees.growing.binned.grouping import gain_of_levels, keep_levels, list_levels
from assay.trees.growing.binned.scan import LINES, Sides, best_newton_cut
from assay.trees.growing.criteria import NumberCost
from assay.trees.growing.cuts import NO_CUT, Cut
from assay.trees.growing.finding import list_columns
from assay.trees.growing.nodes import (
    CENTER,
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
from assay.trees.growing.space import ColumnRules, Limits

POOL_BYTES = 2**28
"""Memory for the histograms of open nodes; nodes beyond it have theirs summed up again when divided."""

NOISE = 1e-12
"""Gains below this share of what the node has gained already are rounding."""

LEAST_CURVATURE = 1e-3
"""Curvature of each side of a split at least: with less, a Newton step has nothing to go by."""

CAUTION = 10.0
"""Penalty on the step of a side of a grouping of levels, per noise of a slope, in what it is worth.

A grouping is the best of very many, which gains by chance what other rows do not gain. It is as if forty more
rows of equal chances were on either side, whose best step is none.
"""

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
    sides : uint8 array of shape (256,)
        1 for every code that the last split looked at sends left.
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
    sides: NDArray[np.uint8]


class Memory(NamedTuple):
    """What the searches of the splits of two nodes, which go on at the same time, overwrite.

    Attributes
    ----------
    columns : int64 array of shape (2, n_columns)
    sums : int64 array of shape (2, 2, 3)
        Of the node, and of its missing values.
    unit : float64 array of shape (2, 3)
        Of the sums of the node.
    lines : float64 array of shape (2, 3, 257)
        See `scan.LINES`.
    places : int64 array of shape (2, 257)
    levels, order : int64 arrays of shape (2, 257)
        Levels of a category that occur, and their order by mean step.
    means : float64 array of shape (2, 257)
    ordered : int64 array of shape (2, 257, 3)
        Sums of the levels in that order.
    sides : uint8 array of shape (2, 256)
        1 for every code that the split sends left.
    """

    columns: NDArray[np.int64]
    sums: NDArray[np.int64]
    unit: NDArray[np.float64]
    lines: NDArray[np.float64]
    places: NDArray[np.int64]
    levels: NDArray[np.int64]
    order: NDArray[np.int64]
    means: NDArray[np.float64]
    ordered: NDArray[np.int64]
    sides: NDArray[np.uint8]


class Plan(NamedTuple):
    """What stays the same from tree to tree; each side of a cut has at least the curvature `flattest`.

    `noise` is the variance of a slope per unit of curvature, 0 where it is not known. Set for each tree are
    `unit`, what a unit of each sum is worth at the root, and `drawn`, the columns that it may be divided by.
    """

    form: Any
    limits: Limits
    columns: ColumnRules
    n_codes: NDArray[np.int32]
    stride: int
    flattest: float
    noise: float
    unit: NDArray[np.float64]
    drawn: NDArray[np.bool_]
    memory: Memory

    def for_thread(self) -> Plan:
        """The same plan with memory of its own."""
        own: Any = (part.copy() for part in self.memory)
        return self._replace(unit=self.unit.copy(), drawn=self.drawn.copy(), memory=Memory(*own))


def make_plan(
    form: Any,
    limits: Limits,
    columns: ColumnRules,
    n_codes: NDArray[np.int32],
    flattest: float = LEAST_CURVATURE,
    noise: float = 0.0,
) -> Plan:
    """A plan for trees of these columns; the stride leaves room for the code of missing values."""
    memory = Memory(
        np.empty((2, len(n_codes)), dtype=np.int64),
        np.empty((2, 2, 3), dtype=np.int64),
        np.ones((2, 3)),
        np.empty((2, LINES, 257)),
        np.empty((2, 257), dtype=np.int64),
        np.empty((2, 257), dtype=np.int64),
        np.empty((2, 257), dtype=np.int64),
        np.empty((2, 257)),
        np.empty((2, 257, 3), dtype=np.int64),
        np.zeros((2, 256), dtype=np.uint8),
    )
    stride = int(n_codes.max(initial=0)) + 1
    every = np.ones(len(n_codes), dtype=np.bool_)
    return Plan(form, limits, columns, n_codes, stride, flattest, noise, np.ones(3), every, memory)


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
        np.zeros(256, dtype=np.uint8),
    )


@lean_inner
def search(node, turn, histogram, tree, sums, units, state, plan):  # type: ignore[no-untyped-def]
    """Write the best split of a node into the tree; what is drawn depends on `state`.

    Columns compete by what their splits gain, groupings of levels by what they would gain with the slopes
    that are expected of each level (see `expect_steps`) and a penalty of `CAUTION` more on either side.
    `turn` says which of the two places of the memory is overwritten.
    """
    form, limits, columns, code_counts, stride, flattest, noise, _, drawn, memory = plan
    tried, unit, both = memory.columns[turn], memory.unit[turn], memory.sums[turn]
    levels, means = memory.levels[turn], memory.means[turn]
    order, ordered = memory.order[turn], memory.ordered[turn]
    lines, places, whole, missing = memory.lines[turn], memory.places[turn], both[0], both[1]
    for k in range(3):
        whole[k], unit[k] = sums[node, k], units[node, k]
    center = tree.real[node, CENTER]
    form = NumberCost(form.l2, form.l2 * center, form.is_poisson)
    constant = form.shift * center  # centred slopes gain that much more
    careful = NumberCost(form.l2 + CAUTION * noise, form.shift + CAUTION * noise * center, form.is_poisson)
    slope, size = whole[1] * unit[1] - form.shift, whole[2] * unit[2] + form.l2
    # Gains below the rounding of what the node has gained already are none.
    rounding = NOISE * (slope * slope / size if size > 0.0 else 0.0)
    best, n_tried = max(limits.min_gain, rounding) + constant, 0
    column, top = np.int64(LEAF), Cut(best, NO_CUT, False)
    low, high = tree.real[node, LOW] - center, tree.real[node, HIGH] - center
    curved = np.int64(np.ceil(flattest / unit[2]))
    n_columns = keep_drawn(tried, list_columns(node, columns, tree, tried), drawn)
    for place in range(n_columns):
        if limits.n_tried < n_columns:
            if n_tried >= limits.n_tried and column != LEAF:
                break
            state = mixed(state)
            other = place + np.int64(uniform(state) * (n_columns - place))
            tried[place], tried[other] = tried[other], tried[place]
        n_tried += 1
        j = tried[place]
        is_category, sign = columns.categorical[j], np.int64(columns.signs[j])
        n_codes, tally, first, own = np.int64(code_counts[j]), histogram, j * stride, form
        for k in range(3):
            missing[k] = histogram[first + n_codes, k]
        if is_category:
            tally, first, own = ordered, np.int64(0), careful
            n_codes = list_levels(histogram, j * stride, n_codes, unit, noise, levels, means, order, tally)
        if n_codes < 1 or (n_codes == 1 and missing[0] == 0):
            continue
        total = whole[1]
        if is_category:  # what is expected of the levels, and of the node
            whole[1] = missing[1]
            for p in range(n_codes):
                whole[1] += tally[p, 1]
        curvature = np.int64(0) if is_category or sign != 0 else curved
        sides = Sides(np.int64(limits.min_leaf), curvature, sign, low, high)
        cut = best_newton_cut(own, tally, first, n_codes, whole, missing, unit, sides, lines, places)
        whole[1] = total
        gain = cut.gain - (own.shift - form.shift) * center
        if cut.place != NO_CUT and gain > best:
            best, column, top = gain, j, cut
    if column == LEAF:
        return
    n_codes, first = np.int64(code_counts[column]), column * stride
    for k in range(3):
        missing[k] = histogram[first + n_codes, k]
    if columns.categorical[column]:
        n_levels = list_levels(histogram, first, n_codes, unit, noise, levels, means, order, ordered)
        gain = gain_of_levels(form, histogram, first, levels, order, top, whole, missing, unit)
        top = Cut(gain, top.place, top.missing_left)
        keep_levels(node, column, top, ordered, n_levels, levels, order, n_codes, tree, both)
    else:
        keep_cut(node, column, top, histogram, first, n_codes, tree, both)
    tree.real[node, GAIN] -= constant


@part
def keep_drawn(listed, n_listed, drawn):  # type: ignore[no-untyped-def]
    """Keep those of the listed columns that are drawn, in their order; gives how many they are."""
    count = 0
    for place in range(n_listed):
        listed[count] = listed[place]
        count += drawn[listed[place]]
    return count


@lean_inner
def keep_cut(node, j, cut, tally, first, n_codes, tree, sums):  # type: ignore[no-untyped-def]
    """Write a cut into the tree: in the middle of the codes that do not occur before the next that does.

    All of these cuts divide the rows of the node alike; later rows are nearer to those of their side. Where
    no code follows, every value goes left. Later missing values go where most rows went.
    """
    after, weight = np.int64(cut.place), np.int64(0)
    for code in range(cut.place + 1, n_codes):
        if tally[first + code, 0] > 0:
            after = np.int64(code)
            break
    for code in range(cut.place + 1):
        weight += tally[first + code, 0]
    middle = (cut.place + after) >> 1 if after > cut.place else n_codes - 1
    missing_left = cut.missing_left if sums[1, 0] > 0 else 2 * weight >= sums[0, 0]
    keep_split(node, j, middle, after, missing_left, cut.gain, tree)
    tree.whole[node, PLACE_OF_BITS] = -1


@lean
def write_sides(node, absent, tree, sides):  # type: ignore[no-untyped-def]
    """Write which codes the split of a node sends left; `absent` is the code of missing values."""
    cut, is_category = tree.whole[node, CUT], tree.whole[node, PLACE_OF_BITS] >= 0
    for code in range(256):
        if is_category:
            sides[code] = (tree.bits[node, code >> 5] >> np.uint32(code & 31)) & np.uint32(1)
        else:
            sides[code] = code <= cut
    sides[absent] = tree.missing_left[node]


@lean_inner
def sum_left(node, histogram, first, absent, sides, left):  # type: ignore[no-untyped-def]
    """Sums of the left side of the split of a node."""
    for k in range(3):
        left[node, k] = 0
    for code in range(absent + 1):
        if sides[code] > 0:
            for k in range(3):
                left[node, k] += histogram[first + code, k]
