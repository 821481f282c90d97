"""Grow a whole tree in one compiled call: nodes are divided one after the other, on one thread.

One grower serves every criterion, sorted and binned tables, depth-first and best-first order, all or some
columns per node, best or random cuts. What is drawn at a node depends on the seed and on the path to it, not
on when it is reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, uncounted
from assay.trees.growing.cuts import (
    EXHAUSTIVE,
    NO_CUT,
    Rule,
    best_cut,
    best_grouping,
    cut_at,
    node_value,
    order_levels,
    real_sums,
)
from assay.trees.growing.nodes import (
    CENTER,
    COLUMN,
    CUT,
    DEPTH,
    END,
    GAIN,
    HIGH,
    LEAF,
    LEFT,
    LOW,
    NEXT,
    PARENT,
    PLACE_OF_BITS,
    RIGHT,
    START,
    UNIT,
    WORDS,
    mixed,
    pop,
    push,
    uniform,
)
from assay.trees.growing.statistics import add_row, refine
from assay.trees.growing.table import NEAR, bring_back, bring_near, divide, mark_sides, tally_column


class Limits(NamedTuple):
    """When a tree stops growing, and what it looks at.

    Weights are in units of the statistics. A node is divided if it is less deep than `max_depth`, weighs at
    least `min_split` and gains more than `min_gain`; each side weighs at least `min_leaf`. `max_leaves` of 0
    means no limit; else the node that gains most is divided first. `n_tried` columns are drawn per node, all
    if there are no more; 0 is all in a drawn order, so that among cuts of equal gain the draw decides, not
    the place of the column. `random_cuts` tries one cut of each, at a value drawn between its ends.
    """

    max_depth: int
    min_split: int
    min_leaf: int
    min_gain: float
    max_leaves: int
    n_tried: int
    random_cuts: bool
    seed: int


class ColumnRules(NamedTuple):
    """What is known of each column.

    Attributes
    ----------
    categorical : bool array of shape (n_columns,)
    signs : int8 array of shape (n_columns,)
        1 (−1) where predictions must not fall (rise) as the column rises.
    groups : bool array of shape (n_groups, n_columns)
        Columns that may follow one another on a path; none: all may.
    values : float64 array
        For random cuts: the value of every code, one column after the other.
    offsets : int64 array of shape (n_columns + 1,)
        Where each column begins among the values.
    """

    categorical: NDArray[np.bool_]
    signs: NDArray[np.int8]
    groups: NDArray[np.bool_]
    values: NDArray[np.float64]
    offsets: NDArray[np.int64]


class Split(NamedTuple):
    """One split of a node, as the table is divided by it."""

    column: int
    cut: int
    missing_left: bool
    is_category: bool
    bits: NDArray[np.uint32]


class Space(NamedTuple):
    """Memory that the search of a node overwrites."""

    tally: NDArray[np.int64]
    histogram: NDArray[np.int64]
    ordered: NDArray[np.int64]
    codes: NDArray[np.int64]
    order: NDArray[np.int64]
    keys: NDArray[np.uint64]
    columns: NDArray[np.int64]
    sums: NDArray[np.int64]
    work: NDArray[np.float64]
    bits: NDArray[np.uint32]
    unit: NDArray[np.float64]


def make_space(n_rows: int, n_columns: int, n_sums: int, most_codes: int, unit: NDArray) -> Space:
    """Memory for trees of so many rows, columns, sums and codes."""
    size = max(min(n_rows, most_codes), 0) + 1
    size = max(size, 257) if most_codes < 256 else size
    return Space(
        np.empty((size, n_sums), dtype=np.int64),
        np.zeros((257, n_sums), dtype=np.int64),
        np.empty((min(size, 257), n_sums), dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(257, dtype=np.int64),
        np.empty(n_rows + 1, dtype=np.uint64),
        np.empty(n_columns, dtype=np.int64),
        np.empty((3, n_sums), dtype=np.int64),
        np.empty((4, n_sums)),
        np.zeros((2, WORDS), dtype=np.uint32),
        np.asarray(unit, dtype=np.float64).copy(),
    )


@compiled
def grow(table, rows, near, form, limits, columns, tree, space, goes_left):  # type: ignore[no-untyped-def]
    """Grow a tree on the rows of a table; gives the number of nodes."""
    return grow_nodes(
        uncounted(table), uncounted(rows), uncounted(near), form, limits,
        uncounted(columns), uncounted(tree), uncounted(space), uncounted(goes_left),
    )  # fmt: skip


@compiled
def grow_nodes(table, rows, near, form, limits, columns, tree, space, goes_left):  # type: ignore[no-untyped-def]
    """The same, once no array is counted.

    Invariant: the rows of a node are the places `START` to `END` of the table, in every column of a sorted
    one; an open node carries its best split, and nothing of it has been divided yet.
    """
    capacity = tree.whole.shape[0]
    open_nodes = np.empty(capacity, dtype=np.int64)
    paths = np.empty(capacity, dtype=np.uint64)
    paths[0] = mixed(np.uint64(limits.seed))
    tree.whole[0, START], tree.whole[0, END] = 0, table.rows.shape[0]
    tree.whole[0, DEPTH], tree.whole[0, PARENT] = 0, -1
    tree.real[0, LOW], tree.real[0, HIGH], tree.real[0, CENTER] = -np.inf, np.inf, 0.0
    tree.real[0, UNIT] = space.unit[1]
    n_nodes, n_open, n_leaves = np.int64(1), 0, 1
    root = np.int64(0)  # not a literal, for which Numba would compile everything below once more
    if open_node(root, table, rows, form, limits, columns, tree, space, paths[0]):
        open_nodes[0] = root
        n_open = 1
    while n_open > 0 and n_nodes + 2 <= capacity:
        if limits.max_leaves > 0:
            if n_leaves >= limits.max_leaves:
                break
            node = pop(open_nodes, n_open, tree)
        else:
            node = open_nodes[n_open - 1]
        n_open -= 1
        first = n_nodes
        was_near = is_near(node, tree, near)
        if was_near:
            divide_node(node, first, near.table, near.rows, form, columns, tree, space, goes_left)
        else:
            divide_node(node, first, table, rows, form, columns, tree, space, goes_left)
        n_nodes += 2
        n_leaves += 1
        for side in range(1, -1, -1):  # the left child is opened last and, without a limit, divided next
            child = first + side
            paths[child] = mixed(paths[node] + np.uint64(side + 1))
            if is_near(child, tree, near):
                if not was_near:
                    bring_near(table, rows, tree.whole[child, START], tree.whole[child, END], near)
                opened = open_node(
                    child, near.table, near.rows, form, limits, columns, tree, space, paths[child]
                )
            else:
                opened = open_node(child, table, rows, form, limits, columns, tree, space, paths[child])
            if opened:
                if limits.max_leaves > 0:
                    push(open_nodes, n_open, child, tree)
                else:
                    open_nodes[n_open] = child
                n_open += 1
    for p in range(n_open):
        tree.whole[open_nodes[p], COLUMN] = LEAF
    for node in range(n_nodes):
        if tree.whole[node, COLUMN] == LEAF and is_near(node, tree, near):
            bring_back(table, tree.whole[node, START], tree.whole[node, END], near)
    return n_nodes


@compiled
def is_near(node, tree, near):  # type: ignore[no-untyped-def]
    """Whether a node is small enough for a copy of its own, where there is room for any."""
    return near.origin.shape[0] > 0 and tree.whole[node, END] - tree.whole[node, START] <= NEAR


@compiled
def open_node(node, table, rows, form, limits, columns, tree, space, path):  # type: ignore[no-untyped-def]
    """Sum up the rows of a node and find its best split; whether there is one."""
    start, end = tree.whole[node, START], tree.whole[node, END]
    whole = space.sums[0]
    n_sums = whole.shape[0]
    space.unit[1] = tree.real[node, UNIT]
    center, is_pure = refine(rows, table.rows[start:end], space.unit, tree.real[node, CENTER])
    tree.real[node, CENTER] = center
    tree.real[node, UNIT] = space.unit[1]
    sum_rows(table.rows[start:end], rows, whole)
    for k in range(n_sums):
        tree.sums[node, k] = whole[k] * space.unit[k]
    tree.whole[node, COLUMN] = LEAF
    tree.whole[node, LEFT] = tree.whole[node, RIGHT] = -1
    tree.real[node, GAIN] = 0.0
    if tree.whole[node, DEPTH] >= limits.max_depth or whole[0] < limits.min_split:
        return False
    if whole[0] < 2 * limits.min_leaf or end - start < 2:
        return False
    if is_pure and limits.min_gain < 0.0:  # cuts that gain nothing are for nodes that are not pure
        return False
    if form.classes:
        for k in range(1, n_sums):
            if whole[k] == whole[0]:  # of one class: nothing is left to gain
                return False
    find_split(node, table, rows, form, limits, columns, tree, space, path)
    return tree.whole[node, COLUMN] != LEAF


@compiled
def sum_rows(places, rows, sums):  # type: ignore[no-untyped-def]
    """Sums of some rows."""
    for k in range(sums.shape[0]):
        sums[k] = 0
    for p in range(places.shape[0]):
        add_row(rows, np.uint64(places[p]), sums)


@compiled
def find_split(node, table, rows, form, limits, columns, tree, space, path):  # type: ignore[no-untyped-def]
    """Write the best split of a node into the tree, among the columns that are tried."""
    start, end = tree.whole[node, START], tree.whole[node, END]
    n_columns = list_columns(node, columns, tree, space.columns)
    whole, missing = space.sums[0], space.sums[1]
    low, high = tree.real[node, LOW], tree.real[node, HIGH]
    best = limits.min_gain
    n_tried, state = 0, path
    for place in range(n_columns):
        if limits.n_tried < n_columns:
            if 0 < limits.n_tried <= n_tried and tree.whole[node, COLUMN] != LEAF:
                break
            state = mixed(state)
            other = place + np.int64(uniform(state) * (n_columns - place))
            space.columns[place], space.columns[other] = space.columns[other], space.columns[place]
        j = space.columns[place]
        n_codes = tally_column(table, j, start, end, rows, space.tally, space.codes, missing, space.histogram)
        if n_codes < 1 or (n_codes == 1 and missing[0] == 0):
            continue  # constant here: not counted among those tried
        n_tried += 1
        center = tree.real[node, CENTER]
        rule = Rule(limits.min_leaf, np.int64(columns.signs[j]), low - center, high - center)
        if columns.categorical[j]:
            gain, missing_left = group_levels(form, space, n_codes, whole, missing, rule)
            if gain > best:
                best = gain
                keep_split(node, j, np.int64(0), np.int64(0), missing_left, gain, tree)
                tree.whole[node, PLACE_OF_BITS] = node
                copy_bits(space.bits[0], tree.bits[node])
                finish_grouping(node, table.n_codes[j], n_codes, missing, tree, space)
            continue
        if limits.random_cuts:
            state = mixed(state)
            place_of_cut = draw_place(uniform(state), columns, j, space.codes, n_codes)
            cut = cut_at(form, space.tally, place_of_cut, whole, missing, space.unit, rule, space.work)
        else:
            cut = best_cut(form, space.tally, n_codes, whole, missing, space.unit, rule, space.work)
        if cut.place != NO_CUT and cut.gain > best:
            best = cut.gain
            last = space.codes[cut.place]
            after = space.codes[cut.place + 1] if cut.place + 1 < n_codes else last
            keep_split(node, j, last, after, cut.missing_left, cut.gain, tree)
            tree.whole[node, PLACE_OF_BITS] = -1
            if missing[0] == 0:  # later missing values go where most rows went
                tree.missing_left[node] = 2 * weight_upto(space.tally, cut.place) >= whole[0]


@compiled
def keep_split(node, column, cut, after, missing_left, gain, tree):  # type: ignore[no-untyped-def]
    """Write a split into the tree."""
    tree.whole[node, COLUMN] = column
    tree.whole[node, CUT], tree.whole[node, NEXT] = cut, after
    tree.missing_left[node] = missing_left
    tree.real[node, GAIN] = gain


@compiled
def draw_place(share, columns, j, codes, n_codes):  # type: ignore[no-untyped-def]
    """The place of a cut at a value drawn between the smallest and the largest of the node."""
    begin = columns.offsets[j]
    low, high = columns.values[begin + codes[0]], columns.values[begin + codes[n_codes - 1]]
    value = low + share * (high - low)
    first, last = 0, max(n_codes - 2, 0)  # the last place with a value of at most the drawn one
    while first < last:
        middle = (first + last + 1) >> 1
        if columns.values[begin + codes[middle]] <= value:
            first = middle
        else:
            last = middle - 1
    return first


@compiled
def list_columns(node, columns, tree, out):  # type: ignore[no-untyped-def]
    """Columns that a node may be divided by: those that share a group with all columns above it."""
    d = columns.signs.shape[0]
    if columns.groups.shape[0] == 0:
        for j in range(d):
            out[j] = j
        return d
    allowed = np.zeros(d, dtype=np.bool_)
    for g in range(columns.groups.shape[0]):
        fits, above = True, tree.whole[node, PARENT]
        while above >= 0 and fits:
            fits = columns.groups[g, tree.whole[above, COLUMN]]
            above = tree.whole[above, PARENT]
        if fits:
            for j in range(d):
                allowed[j] |= columns.groups[g, j]
    count = 0
    for j in range(d):
        if allowed[j]:
            out[count] = j
            count += 1
    return count


@compiled
def group_levels(form, space, n_codes, whole, missing, rule):  # type: ignore[no-untyped-def]
    """The best grouping of the levels of a category: its gain and the side of missing values.

    The levels that go left are written as bits of their codes into `space.bits[0]`.
    """
    n_sums = whole.shape[0]
    chosen, best, best_left = space.bits[0], -np.inf, False
    for word in range(WORDS):
        chosen[word] = 0
    if form.classes and n_sums > 3 and n_codes <= EXHAUSTIVE:
        gain, bits, missing_left = best_grouping(
            form, space.tally, n_codes, whole, missing, space.unit, rule, space.work
        )
        for p in range(n_codes):
            if bits & (1 << p):
                set_bit(chosen, space.codes[p])
        return gain, missing_left
    # Several classes and many levels: one order per class, the best of the cuts.
    last = n_sums if form.classes and n_sums > 3 else (3 if form.classes else 2)
    for statistic in range(2 if form.classes and n_sums == 3 else 1, last):
        order_levels(form, space.tally, n_codes, statistic, space.order)
        for p in range(n_codes):
            for k in range(n_sums):
                space.ordered[p, k] = space.tally[space.order[p], k]
        cut = best_cut(form, space.ordered, n_codes, whole, missing, space.unit, rule, space.work)
        if cut.place != NO_CUT and cut.gain > best:
            best, best_left = cut.gain, cut.missing_left
            for word in range(WORDS):
                chosen[word] = 0
            for p in range(cut.place + 1):
                set_bit(chosen, space.codes[space.order[p]])
    return best, best_left


@compiled
def finish_grouping(node, n_levels, n_codes, missing, tree, space):  # type: ignore[no-untyped-def]
    """Send missing values, where there are none yet, and levels that are not in the node to one side."""
    if missing[0] == 0:
        weight = 0
        for p in range(n_codes):
            if has_bit(space.bits[0], space.codes[p]):
                weight += space.tally[p, 0]
        tree.missing_left[node] = 2 * weight >= space.sums[0, 0]
    if tree.missing_left[node]:
        place = 0
        for code in range(n_levels):
            if place < n_codes and space.codes[place] == code:
                place += 1
            else:
                set_bit(tree.bits[node], code)


@compiled
def weight_upto(tally, place):  # type: ignore[no-untyped-def]
    """Weight of the codes up to a place of a tally."""
    weight = 0
    for p in range(place + 1):
        weight += tally[p, 0]
    return weight


@compiled
def copy_bits(source, target):  # type: ignore[no-untyped-def]
    """Copy a set of levels."""
    for word in range(WORDS):
        target[word] = source[word]


@compiled
def set_bit(bits, code):  # type: ignore[no-untyped-def]
    """Add a code to a set."""
    bits[code >> 5] |= np.uint32(1) << np.uint32(code & 31)


@compiled
def has_bit(bits, code):  # type: ignore[no-untyped-def]
    """Whether a code is in a set."""
    return (bits[code >> 5] >> np.uint32(code & 31)) & np.uint32(1) == np.uint32(1)


@compiled
def divide_node(node, first, table, rows, form, columns, tree, space, goes_left):  # type: ignore[no-untyped-def]
    """Divide the rows of a node by its split, and begin its two children at place `first`."""
    start, end = tree.whole[node, START], tree.whole[node, END]
    j = tree.whole[node, COLUMN]
    is_category = columns.categorical[j]
    bits = tree.bits[node] if is_category else space.bits[1]
    split = Split(j, tree.whole[node, CUT], tree.missing_left[node], is_category, bits)
    n_left = mark_sides(table, split, start, end, goes_left)
    divide(table, start, end, goes_left, space.keys)
    tree.whole[node, LEFT], tree.whole[node, RIGHT] = first, first + 1
    for side in range(2):
        child = first + side
        tree.whole[child, START] = start + side * n_left
        tree.whole[child, END] = end if side else start + n_left
        tree.whole[child, DEPTH] = tree.whole[node, DEPTH] + 1
        tree.whole[child, PARENT] = node
        tree.real[child, LOW], tree.real[child, HIGH] = tree.real[node, LOW], tree.real[node, HIGH]
        tree.real[child, CENTER], tree.real[child, UNIT] = tree.real[node, CENTER], tree.real[node, UNIT]
    sign = np.int64(columns.signs[j])
    if sign != 0:  # what one side may predict ends where the other's begins
        values = space.work[3]
        space.unit[1] = tree.real[node, UNIT]
        middle = 0.0
        for side in range(2):
            child = first + side
            sum_rows(table.rows[tree.whole[child, START] : tree.whole[child, END]], rows, space.sums[1])
            real_sums(space.sums[1], space.unit, values)
            value = node_value(form, values) + tree.real[node, CENTER]
            middle += 0.5 * min(max(value, tree.real[node, LOW]), tree.real[node, HIGH])
        rising, falling = (first, first + 1) if sign > 0 else (first + 1, first)
        tree.real[rising, HIGH], tree.real[falling, LOW] = middle, middle
