"""The best split of a node: which columns it looks at, and where each is cut.

Where cuts are looked for is a *finder*: `BestCuts` tries all cuts of a column, from a tally of its codes;
`RandomCuts` one, at a value drawn between its smallest and largest in the node, by two passes over the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from assay.loops import inner, part
from assay.trees.growing.criteria import OPTIONS, AbsoluteError
from assay.trees.growing.cuts import NO_CUT, Rule, best_cut, is_admissible, real_sums
from assay.trees.growing.levels import search_levels
from assay.trees.growing.medians import (
    best_median_cut,
    code_of,
    cost_of_node,
    cost_of_sides,
    mark_row,
    sort_keys,
)
from assay.trees.growing.nodes import (
    CENTER,
    COLUMN,
    CUT,
    END,
    HIGH,
    LEAF,
    LOW,
    NEXT,
    PARENT,
    PLACE_OF_BITS,
    START,
    GrowingTree,
    keep_split,
    mixed,
    uniform,
)
from assay.trees.growing.space import ColumnRules, Space
from assay.trees.growing.statistics import add_row
from assay.trees.growing.table import entry, tally_column

TIE = 1e-12
"""Share of a gain by which a cut must gain more than those before: the same rows left and right tie."""


class BestCuts(NamedTuple):
    """All cuts of a column are tried."""

    random: bool = False


class RandomCuts(NamedTuple):
    """One cut of a column is tried, drawn at random."""

    random: bool = True


class Site(NamedTuple):
    """Where a node is divided: the codes and statistics of the rows, the columns, the tree, memory."""

    table: Any
    rows: Any
    columns: ColumnRules
    tree: GrowingTree
    space: Space


@part
def find_split(node, site, form, finder, limits, path):  # type: ignore[no-untyped-def]
    """Write the best split of a node into the tree, among the columns that are tried."""
    columns, tree, space = site.columns, site.tree, site.space
    n_columns = list_columns(node, columns, tree, space.columns)
    low = tree.real[node, LOW] - tree.real[node, CENTER]
    high = tree.real[node, HIGH] - tree.real[node, CENTER]
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
        rule = Rule(limits.min_leaf, np.int64(columns.signs[j]), low, high)
        if columns.categorical[j]:
            best, has_values = search_levels(node, j, best, site, form, rule)
        else:
            share = mixed(state + np.uint64(j + 1))
            best, has_values = search_cuts(finder, node, j, best, share, site, form, rule)
        n_tried += has_values  # columns that are constant here are not counted
    finish_split(finder, node, site)


def search_cuts(
    finder: Any, node: Any, j: Any, best: Any, state: Any, site: Any, form: Any, rule: Any
) -> Any:
    """Keep the best cut of a column if it gains more than `best`; for compiled loops only.

    Gives the gain of the best split so far, and whether the column is not constant in the node.
    """
    raise NotImplementedError("search_cuts is called inside compiled loops.")


def _search_all(finder, node, j, best, state, site, form, rule):  # type: ignore[no-untyped-def]
    tree, space = site.tree, site.space
    missing = space.sums[1]
    n_codes = tally_column(site.table, j, node, tree, site.rows, space)
    if n_codes < 1 or (n_codes == 1 and missing[0] == 0):
        return best, False
    cut = best_cut(form, space.tally, n_codes, space.sums[0], missing, space.unit, rule, space.work)
    if cut.place == NO_CUT or not cut.gain - best > TIE * abs(cut.gain):
        return best, True
    last = space.codes[cut.place]
    after = space.codes[cut.place + 1] if cut.place + 1 < n_codes else last
    missing_left = cut.missing_left
    if missing[0] == 0:  # later missing values go where most rows went
        weight = np.int64(0)
        for p in range(cut.place + 1):
            weight += space.tally[p, 0]
        missing_left = 2 * weight >= space.sums[0, 0]
    keep_split(node, j, last, after, missing_left, cut.gain, tree)
    tree.whole[node, PLACE_OF_BITS] = -1
    return cut.gain, True


def _search_medians(finder, node, j, best, state, site, form, rule):  # type: ignore[no-untyped-def]
    tree, rows, keys = site.tree, site.rows, site.space.keys
    count = tree.whole[node, END] - tree.whole[node, START]
    n_known = sort_keys(site.table, j, node, tree, rows, keys)
    if n_known < 1 or (n_known == count and code_of(keys[0]) == code_of(keys[count - 1])):
        return best, False
    cut, weight = best_median_cut(keys, n_known, node, rows, tree, site.space.unit, rule)
    if cut.place == NO_CUT or not cut.gain - best > TIE * tree.sums[node, 2]:
        return best, True
    last = code_of(keys[cut.place])
    after = code_of(keys[cut.place + 1]) if cut.place + 1 < n_known else last
    missing_left = cut.missing_left if n_known < count else 2 * weight >= site.space.sums[0, 0]
    keep_split(node, j, last, after, missing_left, cut.gain, tree)
    tree.whole[node, PLACE_OF_BITS] = -1
    return cut.gain, True


def _search_one(finder, node, j, best, state, site, form, rule):  # type: ignore[no-untyped-def]
    table, rows, columns, tree, space = site
    start, end = tree.whole[node, START], tree.whole[node, END]
    absent, low, high, n_missing = np.int64(table.n_codes[j]), np.int64(table.n_codes[j]), np.int64(-1), 0
    for p in range(start, end):
        _, code = entry(table, j, p)
        low = min(low, code)  # a missing one is larger than all
        high = max(high, code if code != absent else np.int64(-1))
        n_missing += code == absent
    if high < 0 or (low == high and n_missing == 0):
        return best, False
    cut = draw_code(uniform(state), columns, j, low, high)
    whole, left, sums, unit = space.work[0], space.work[1], space.sums, space.unit
    for side in range(1, 4):
        for k in range(sums.shape[1]):
            sums[side, k] = 0
    for p in range(start, end):
        i, code = entry(table, j, p)
        side = 1 if code == absent else (2 if code <= cut else 3)
        add_row(rows, i, sums[side])
        mark_row(rows, i, side)
    real_sums(sums[0], unit, whole)
    parent = cost_of_node(form, whole, node, tree)
    for missing_left in range(2 if n_missing > 0 else 1):
        for k in range(sums.shape[1]):
            left[k] = (sums[2, k] + (sums[1, k] if missing_left == 1 else 0)) * unit[k]
        if not is_admissible(form, whole, left, unit, rule, space.work[2]):
            continue
        gain = parent - cost_of_sides(form, whole, left, missing_left, node, site)
        if gain > best:
            best = gain
            goes_left = missing_left == 1 if n_missing > 0 else 2 * sums[2, 0] >= sums[0, 0]
            keep_split(node, j, cut, cut, goes_left, gain, tree)
            tree.whole[node, PLACE_OF_BITS] = -1
    return best, True


@overload(search_cuts, jit_options=OPTIONS)
def _chosen_search(finder, node, j, best, state, site, form, rule):  # type: ignore[no-untyped-def]
    if finder.instance_class is RandomCuts:
        return _search_one
    return _search_medians if form.instance_class is AbsoluteError else _search_all


@inner
def draw_code(share, columns, j, low, high):  # type: ignore[no-untyped-def]
    """The last code with a value up to one drawn between those of two codes, the second not among them."""
    begin = columns.offsets[j]
    least, most = columns.values[begin + low], columns.values[begin + high]
    value = least + share * (most - least)
    first, last = low, max(high - 1, low)
    while first < last:
        middle = (first + last + 1) >> 1
        if columns.values[begin + middle] <= value:
            first = middle
        else:
            last = middle - 1
    return first


def finish_split(finder: Any, node: Any, site: Any) -> None:
    """Find the codes on either side of a cut that was drawn; for compiled loops only."""
    raise NotImplementedError("finish_split is called inside compiled loops.")


def _find_neighbours(finder, node, site):  # type: ignore[no-untyped-def]
    table, columns, tree = site.table, site.columns, site.tree
    j = tree.whole[node, COLUMN]
    if j == LEAF or columns.categorical[j]:
        return
    cut, absent = tree.whole[node, CUT], np.int64(table.n_codes[j])
    last, after = np.int64(-1), absent
    for p in range(tree.whole[node, START], tree.whole[node, END]):
        _, code = entry(table, j, p)
        last = max(last, code if code <= cut else np.int64(-1))
        after = min(after, code if code > cut else absent)
    tree.whole[node, CUT], tree.whole[node, NEXT] = last, after if after < absent else last


@overload(finish_split, jit_options=OPTIONS)
def _chosen_finish(finder, node, site):  # type: ignore[no-untyped-def]
    if finder.instance_class is RandomCuts:
        return _find_neighbours
    return lambda finder, node, site: None


@inner
def list_columns(node, columns, tree, out):  # type: ignore[no-untyped-def]
    """Columns that a node may be divided by: those that share a group with all columns above it."""
    d = columns.signs.shape[0]
    if columns.groups.shape[0] == 0:
        for j in range(d):
            out[j] = j
        return d
    n_allowed = 0
    for j in range(d):
        out[j] = 0  # first whether each is allowed, then which are
    for g in range(columns.groups.shape[0]):
        if n_allowed == d:  # soon so at the root, where pairs of columns are many groups
            break
        fits, above = True, tree.whole[node, PARENT]
        while above >= 0 and fits:
            fits = columns.groups[g, tree.whole[above, COLUMN]]
            above = tree.whole[above, PARENT]
        if fits:
            for j in range(d):
                n_allowed += columns.groups[g, j] and out[j] == 0
                out[j] |= columns.groups[g, j]
    count = 0
    for j in range(d):
        if out[j] != 0:
            out[count] = j
            count += 1
    return count
