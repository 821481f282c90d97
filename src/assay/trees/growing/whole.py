"""Grow a whole tree in one compiled call: nodes are divided one after the other, on one thread.

One grower serves every criterion, sorted and binned tables, depth-first and best-first order, all or some
columns per node, best or random cuts. Tables, rows and sums are chosen by the class of what is handed in, all
else by its value, so that few loops are compiled. What is drawn at a node depends on the seed and on the path
to it, not on when it is reached.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from assay.loops import inner, lean, part
from assay.trees.growing.criteria import OPTIONS, Several, of_classes
from assay.trees.growing.cuts import node_value, real_sums
from assay.trees.growing.finding import Site, find_split
from assay.trees.growing.levels import has_bit
from assay.trees.growing.medians import divide_order, sum_node
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
    PARENT,
    RIGHT,
    START,
    UNIT,
    mixed,
    pop,
    push,
)
from assay.trees.growing.statistics import add_row, refine
from assay.trees.growing.table import bring_back, bring_near, divide, entry, is_near, where_it_is


@lean
def grow(site, near, form, limits, goes_left):  # type: ignore[no-untyped-def]
    """Grow a tree on the rows of a table; gives the number of nodes.

    Invariant: the rows of a node are the places `START` to `END` of the table, in every column of a sorted
    one; an open node carries its best split, and nothing of it has been divided yet.
    """
    table, rows, columns, tree, space = site
    capacity, open_nodes, paths = tree.whole.shape[0], space.open_nodes, space.paths
    begin_tree(table.rows.shape[0], tree.whole, tree.real, space.unit)
    paths[0] = mixed(np.uint64(limits.seed))
    node, first, n_new, was_near = np.int64(0), np.int64(0), np.int64(1), False
    n_nodes, n_open, n_leaves = np.int64(1), np.int64(0), np.int64(1)
    while True:
        for side in range(
            n_new - 1, -1, -1
        ):  # the left child is opened last and, without a limit, divided next
            child = first + side
            copied = is_near(child, tree, near)
            if copied and not was_near:
                bring_near(table, rows, tree.whole[child, START], tree.whole[child, END], near)
            own_table, own_rows = where_it_is(table, rows, near, copied)
            own = Site(own_table, own_rows, columns, tree, space)
            if open_node(child, own, form, limits, paths[child]):
                if limits.max_leaves > 0:
                    push(open_nodes, n_open, child, tree)
                else:
                    open_nodes[n_open] = child
                n_open += 1
        is_full = limits.max_leaves > 0 and n_leaves >= limits.max_leaves
        if n_open == 0 or is_full or n_nodes + 2 > capacity:
            break
        node = pop(open_nodes, n_open, tree) if limits.max_leaves > 0 else open_nodes[n_open - 1]
        n_open -= 1
        first, n_new, was_near = n_nodes, np.int64(2), is_near(node, tree, near)
        own_table, own_rows = where_it_is(table, rows, near, was_near)
        divide_node(node, first, Site(own_table, own_rows, columns, tree, space), form, goes_left)
        for side in range(2):
            paths[first + side] = mixed(paths[node] + np.uint64(side + 1))
        n_nodes += 2
        n_leaves += 1
    for p in range(n_open):
        tree.whole[open_nodes[p], COLUMN] = LEAF
    bring_back(table, tree, n_nodes, near)
    return n_nodes


@inner
def begin_tree(n_rows, whole, real, unit):  # type: ignore[no-untyped-def]
    """The root, not yet opened."""
    whole[0, START], whole[0, END] = 0, n_rows
    whole[0, DEPTH], whole[0, PARENT] = 0, -1
    real[0, LOW], real[0, HIGH] = -np.inf, np.inf
    for place in range(CENTER, real.shape[1], 2):
        real[0, place] = 0.0
        real[0, place + 1] = unit[1 if place == CENTER else (place - CENTER) // 2 + 2]


@part
def open_node(node, site, form, limits, path):  # type: ignore[no-untyped-def]
    """Sum up the rows of a node and find its best split; whether there is one."""
    table, rows, tree, space = site.table, site.rows, site.tree, site.space
    start, end = tree.whole[node, START], tree.whole[node, END]
    whole = space.sums[0]
    is_pure = refine(rows, table.rows[start:end], space.unit, tree.real[node])
    sum_rows(table.rows[start:end], rows, whole)
    sum_node(rows, node, tree, whole, space.unit)
    tree.whole[node, COLUMN] = LEAF
    tree.whole[node, LEFT] = tree.whole[node, RIGHT] = -1
    tree.real[node, GAIN] = 0.0
    too_deep = tree.whole[node, DEPTH] >= limits.max_depth
    too_small = whole[0] < limits.min_split or whole[0] < 2 * limits.min_leaf or end - start < 2
    # Cuts that gain nothing are for nodes that are not pure.
    if not (too_deep or too_small or (is_pure and limits.min_gain < 0.0) or is_of_one_class(form, whole)):
        find_split(node, site, form, limits, path)
    return tree.whole[node, COLUMN] != LEAF


def is_of_one_class(form: Any, sums: Any) -> bool:
    """Whether all rows of a node are of one class in each output, which leaves nothing to gain.

    For compiled loops only.
    """
    raise NotImplementedError("is_of_one_class is called inside compiled loops.")


@overload(is_of_one_class, jit_options=OPTIONS)
def _chosen_purity(form, sums):  # type: ignore[no-untyped-def]
    def any_is_all(form, sums):  # type: ignore[no-untyped-def]
        is_any = False
        for k in range(1, sums.shape[0]):
            is_any |= sums[k] == sums[0]
        return is_any

    def each_is_all(form, sums):  # type: ignore[no-untyped-def]
        count = 0
        for k in range(1, sums.shape[0]):
            count += sums[k] == sums[0]
        return count >= form.ends.shape[0]

    if not of_classes(form):
        return lambda form, sums: False
    return each_is_all if form.instance_class is Several else any_is_all


@inner
def sum_rows(places, rows, sums):  # type: ignore[no-untyped-def]
    """Sums of some rows."""
    for k in range(sums.shape[0]):
        sums[k] = 0
    for p in range(places.shape[0]):
        add_row(rows, np.uint64(places[p]), sums)


@part
def divide_node(node, first, site, form, goes_left):  # type: ignore[no-untyped-def]
    """Divide the rows of a node by its split, and begin its two children at place `first`."""
    table, rows, columns, tree, space = site
    start, end = tree.whole[node, START], tree.whole[node, END]
    n_left = mark_sides(node, table, columns, tree, goes_left)
    divide(table, start, end, goes_left, space.keys)
    divide_order(rows, start, end, goes_left, space.keys)
    begin_children(node, first, n_left, tree.whole, tree.real)
    sign = np.int64(columns.signs[tree.whole[node, COLUMN]])
    if sign != 0:  # what one side may predict ends where the other's begins
        space.unit[1] = tree.real[node, UNIT]
        middle = 0.0
        for side in range(2):
            child = first + side
            sum_rows(table.rows[tree.whole[child, START] : tree.whole[child, END]], rows, space.sums[1])
            real_sums(space.sums[1], space.unit, space.work[3])
            value = node_value(form, space.work[3]) + tree.real[node, CENTER]
            middle += 0.5 * min(max(value, tree.real[node, LOW]), tree.real[node, HIGH])
        rising, falling = (first, first + 1) if sign > 0 else (first + 1, first)
        tree.real[rising, HIGH], tree.real[falling, LOW] = middle, middle


@inner
def begin_children(node, first, n_left, whole, real):  # type: ignore[no-untyped-def]
    """The two children of a node, not yet opened, with its bounds, centre and unit."""
    whole[node, LEFT], whole[node, RIGHT] = first, first + 1
    for side in range(2):
        child = first + side
        whole[child, START] = whole[node, START] + side * n_left
        whole[child, END] = whole[node, END] if side else whole[node, START] + n_left
        whole[child, DEPTH] = whole[node, DEPTH] + 1
        whole[child, PARENT] = node
        for name in range(LOW, real.shape[1]):
            real[child, name] = real[node, name]


@inner
def mark_sides(node, table, columns, tree, goes_left):  # type: ignore[no-untyped-def]
    """Mark the rows of a node that go left; gives their number."""
    j, cut = tree.whole[node, COLUMN], tree.whole[node, CUT]
    absent, missing_left = np.int64(table.n_codes[j]), tree.missing_left[node]
    is_category = columns.categorical[j]
    count = np.int64(0)
    for p in range(tree.whole[node, START], tree.whole[node, END]):
        i, code = entry(table, j, p)
        if code == absent:
            left = missing_left
        elif is_category:
            left = has_bit(tree.bits[node], code)
        else:
            left = code <= cut
        goes_left[i] = left
        count += left
    return count
