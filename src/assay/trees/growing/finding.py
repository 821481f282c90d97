"""The best split of a node: which columns it looks at, and where each is cut.

All cuts of a column are tried, from a tally of its codes, or one at a value drawn between its smallest and
largest in the node, by two passes over the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from assay.loops import inner, part
from assay.trees.growing.criteria import OPTIONS, AbsoluteError
from assay.trees.growing.cuts import NO_CUT, Rule, best_cut
from assay.trees.growing.levels import group_by_medians, group_levels, keep_groups
from assay.trees.growing.medians import (
    best_median_cut,
    code_of,
    sort_keys,
    sort_sides,
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


class Site(NamedTuple):
    """Where a node is divided: the codes and statistics of the rows, the columns, the tree, memory."""

    table: Any
    rows: Any
    columns: ColumnRules
    tree: GrowingTree
    space: Space


@part
def find_split(node, site, form, limits, path):  # type: ignore[no-untyped-def]
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
        is_drawn = limits.random_cuts and not columns.categorical[j]
        share = uniform(mixed(state + np.uint64(j + 1))) if is_drawn else -1.0
        rule = Rule(limits.min_leaf, np.int64(columns.signs[j]), low, high, not is_drawn)
        best, has_values = search_column(node, j, best, share, site, form, rule)
        n_tried += has_values  # columns that are constant here are not counted
    if limits.random_cuts:
        find_neighbours(node, site.table, columns, tree)


def search_column(node: Any, j: Any, best: Any, share: Any, site: Any, form: Any, rule: Any) -> Any:
    """Keep the best split of a column if it gains more than `best`; for compiled loops only.

    With a share of 0 or more one cut of an ordered column is tried, that far between its extreme values.
    Gives the gain of the best split so far, and whether the column is not constant in the node.
    """
    raise NotImplementedError("search_column is called inside compiled loops.")


def _search_sums(node, j, best, share, site, form, rule):  # type: ignore[no-untyped-def]
    table, rows, columns, tree, space = site
    missing = space.sums[1]
    if share >= 0.0:
        n_codes = tally_sides(node, j, share, site)
    else:
        n_codes = tally_column(table, j, node, tree, rows, space)
    if n_codes < 1 or (n_codes == 1 and missing[0] == 0):
        return best, False
    if columns.categorical[j]:
        gain, missing_left = group_levels(form, space, n_codes, rule)
        return keep_groups(node, j, n_codes, best, gain, missing_left, site), True
    rule = Rule(rule.min_leaf, rule.sign, rule.low, rule.high, rule.apart or n_codes == 1)
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


def _search_medians(node, j, best, share, site, form, rule):  # type: ignore[no-untyped-def]
    table, rows, columns, tree, space = site
    keys, is_category, n_codes = space.keys, columns.categorical[j], 2
    count = tree.whole[node, END] - tree.whole[node, START]
    if is_category:
        n_codes = tally_column(table, j, node, tree, rows, space)
    elif share >= 0.0:
        n_codes = tally_sides(node, j, share, site)
    if n_codes < 1 or (n_codes == 1 and space.sums[1, 0] == 0):
        return best, False
    if is_category:
        gain, missing_left = group_by_medians(form, node, j, n_codes, site, rule)
        return keep_groups(node, j, n_codes, best, gain, missing_left, site), True
    if share >= 0.0:
        n_known = sort_sides(table, j, node, tree, space.codes[0], keys)
    else:
        n_known = sort_keys(table, j, node, tree, rows, keys)
    if n_known < 1 or (n_known == count and code_of(keys[0]) == code_of(keys[count - 1])):
        return best, False
    apart = rule.apart or n_codes == 1
    cut, weight = best_median_cut(keys, n_known, node, rows, tree, space.unit, rule, apart)
    if cut.place == NO_CUT or not cut.gain - best > TIE * tree.sums[node, 2]:
        return best, True
    last = code_of(keys[cut.place])
    after = code_of(keys[cut.place + 1]) if cut.place + 1 < n_known else last
    missing_left = cut.missing_left if n_known < count else 2 * weight >= space.sums[0, 0]
    if share >= 0.0:  # there the keys are those of the sides
        last = after = space.codes[0]
    keep_split(node, j, last, after, missing_left, cut.gain, tree)
    tree.whole[node, PLACE_OF_BITS] = -1
    return cut.gain, True


@overload(search_column, jit_options=OPTIONS)
def _chosen_search(node, j, best, share, site, form, rule):  # type: ignore[no-untyped-def]
    return _search_medians if form.instance_class is AbsoluteError else _search_sums


@part
def tally_sides(node, j, share, site):  # type: ignore[no-untyped-def]
    """A tally of the two sides of a cut that is a share of the way between the extreme values of a node.

    As `tally_column` gives it, with the code of the cut for both; see `find_neighbours`.
    """
    table, rows, columns, tree, space = site
    start, end = tree.whole[node, START], tree.whole[node, END]
    tally, missing = space.tally, space.sums[1]
    absent, low, high = np.int64(table.n_codes[j]), np.int64(table.n_codes[j]), np.int64(-1)
    for p in range(start, end):
        _, code = entry(table, j, p)
        low = min(low, code)  # a missing one is larger than all
        high = max(high, code if code != absent else np.int64(-1))
    cut = draw_code(share, columns, j, low, high) if high >= 0 else np.int64(-1)
    for k in range(missing.shape[0]):
        tally[0, k] = tally[1, k] = tally[2, k] = 0
    for p in range(start, end):
        i, code = entry(table, j, p)
        add_row(rows, i, tally[np.uint64(2) if code == absent else np.uint64(code > cut)])
    for k in range(missing.shape[0]):
        missing[k] = tally[2, k]
    space.codes[0] = space.codes[1] = cut
    return np.int64(high >= 0) + np.int64(low < high)  # what is drawn leaves the largest on the right


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


@inner
def find_neighbours(node, table, columns, tree):  # type: ignore[no-untyped-def]
    """Find the codes on either side of a cut that was drawn."""
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
