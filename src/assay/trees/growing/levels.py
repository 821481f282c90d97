"""Columns of categories: the levels of a node divided into two groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from assay.loops import inner
from assay.trees.growing.criteria import OPTIONS, AbsoluteError, cost, cost_apart, of_classes
from assay.trees.growing.cuts import NO_CUT, best_cut, is_admissible, real_sums
from assay.trees.growing.medians import best_median_cut, code_of, sort_ranks
from assay.trees.growing.nodes import END, PLACE_OF_BITS, START, WORDS, keep_split
from assay.trees.growing.table import tally_column

EXHAUSTIVE = 8
"""Levels up to which all groupings are tried where no order of the levels is known to be optimal."""


def search_levels(node: Any, j: Any, best: Any, site: Any, form: Any, rule: Any) -> Any:
    """Keep the best grouping of a column of categories if it gains more than `best`; for compiled loops only.

    Gives the gain of the best split so far, and whether the column has anything to divide. A tree without
    room for sets of levels has no such column, and nothing is compiled for it.
    """
    raise NotImplementedError("search_levels is called inside compiled loops.")


def _no_levels(node, j, best, site, form, rule):  # type: ignore[no-untyped-def]
    return best, False


def _search(node, j, best, site, form, rule):  # type: ignore[no-untyped-def]
    table, tree, space = site.table, site.tree, site.space
    missing = space.sums[1]
    n_codes = tally_column(table, j, node, tree, site.rows, space)
    if n_codes < 1 or (n_codes == 1 and missing[0] == 0):
        return best, False
    gain, missing_left = best_groups(form, node, j, n_codes, site, rule)
    if gain > best:
        best = gain
        keep_split(node, j, np.int64(0), np.int64(0), missing_left, gain, tree)
        tree.whole[node, PLACE_OF_BITS] = node
        copy_bits(space.bits[0], tree.bits[node])
        finish_grouping(node, table.n_codes[j], n_codes, missing, tree, space)
    return best, True


@overload(search_levels, jit_options=OPTIONS)
def _chosen_search(node, j, best, site, form, rule):  # type: ignore[no-untyped-def]
    return _no_levels if isinstance(site.types[3].types[-1], types.NoneType) else _search


def best_groups(form: Any, node: Any, j: Any, n_codes: Any, site: Any, rule: Any) -> Any:
    """The best grouping of the levels of a node: its gain and the side of missing values.

    The levels that go left are written as bits of their codes into `space.bits[0]`. For compiled loops only.
    """
    raise NotImplementedError("best_groups is called inside compiled loops.")


def _groups_by_sums(form, node, j, n_codes, site, rule):  # type: ignore[no-untyped-def]
    return group_levels(form, site.space, n_codes, site.space.sums[0], site.space.sums[1], rule)


def _groups_by_medians(form, node, j, n_codes, site, rule):  # type: ignore[no-untyped-def]
    # The best cut in the order of the means; no order is known to have the best grouping among its cuts.
    rows, tree, space = site.rows, site.tree, site.space
    order_levels(form, space.tally, n_codes, 1, space.means, space.order)
    for p in range(n_codes):
        rows.codes[0, space.codes[space.order[p]]] = p
    start, end = tree.whole[node, START], tree.whole[node, END]
    n_known = sort_ranks(site.table, j, start, end, rows, space.keys)
    cut, _ = best_median_cut(space.keys, n_known, node, rows, tree, space.unit, rule)
    for word in range(WORDS):
        space.bits[0, word] = 0
    if cut.place != NO_CUT:
        for p in range(code_of(space.keys[cut.place]) + 1):
            set_bit(space.bits[0], space.codes[space.order[p]])
    return cut.gain, cut.missing_left


@overload(best_groups, jit_options=OPTIONS)
def _chosen_groups(form, node, j, n_codes, site, rule):  # type: ignore[no-untyped-def]
    return _groups_by_medians if form.instance_class is AbsoluteError else _groups_by_sums


@inner
def group_levels(form, space, n_codes, whole, missing, rule):  # type: ignore[no-untyped-def]
    """The best grouping of the levels of a category: its gain and the side of missing values.

    The levels that go left are written as bits of their codes into `space.bits[0]`.
    """
    n_sums = whole.shape[0]
    chosen, best, best_left = space.bits[0], -np.inf, False
    for word in range(WORDS):
        chosen[word] = 0
    if is_exhaustive(form, n_sums, n_codes):
        gain, bits, missing_left = best_grouping(
            form, space.tally, n_codes, whole, missing, space.unit, rule, space.work
        )
        for p in range(n_codes):
            if bits & (1 << p):
                set_bit(chosen, space.codes[p])
        return gain, missing_left
    # Several classes and many levels: one order per class, the best of the cuts.
    first, last = statistics_of(form, n_sums)
    for statistic in range(first, last):
        order_levels(form, space.tally, n_codes, statistic, space.means, space.order)
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


def is_exhaustive(form: Any, n_sums: int, n_codes: int) -> bool:
    """Whether all groupings are tried: several classes and few levels; for compiled loops only."""
    raise NotImplementedError("is_exhaustive is called inside compiled loops.")


@overload(is_exhaustive, jit_options=OPTIONS)
def _chosen_exhaustion(form, n_sums, n_codes):  # type: ignore[no-untyped-def]
    if of_classes(form):
        return lambda form, n_sums, n_codes: n_sums > 3 and n_codes <= EXHAUSTIVE
    return lambda form, n_sums, n_codes: False


def statistics_of(form: Any, n_sums: int) -> tuple[int, int]:
    """First and one past the last of the sums whose means order levels; for compiled loops only."""
    raise NotImplementedError("statistics_of is called inside compiled loops.")


@overload(statistics_of, jit_options=OPTIONS)
def _chosen_statistics(form, n_sums):  # type: ignore[no-untyped-def]
    if of_classes(form):  # of two classes the second says it all
        return lambda form, n_sums: (2 if n_sums == 3 else 1, n_sums)
    # Of several numbers each has an order; that of the curvature, equal for all, is the order of the codes.
    return lambda form, n_sums: (1, n_sums if n_sums > 3 else 2)


@inner
def order_levels(form, tally, n_codes, first, means, order):  # type: ignore[no-untyped-def]
    """Levels of a category by their mean statistic, smallest first.

    For two classes, squared error and Newton steps the best grouping is a cut in this order (Fisher 1958).
    The statistic is the share of class `first` (a place among the sums), or the mean.
    """
    below = 0 if form.classes else 2
    for p in range(n_codes):
        size = tally[p, below]
        means[p] = tally[p, first] / size if size > 0 else 0.0
    sort_places(means, n_codes, order)


@inner
def sort_places(values, count, order):  # type: ignore[no-untyped-def]
    """Places of few numbers in increasing order; equal ones keep their order."""
    for p in range(count):
        order[p] = p
    for p in range(1, count):
        place = order[p]
        q = p - 1
        while q >= 0 and values[order[q]] > values[place]:
            order[q + 1] = order[q]
            q -= 1
        order[q + 1] = place


@inner
def best_grouping(form, tally, n_codes, node, missing, unit, rule, work):  # type: ignore[no-untyped-def]
    """The best of all groupings of few levels, as the bits of those that go left; one level stays right.

    Returns
    -------
    gain, bits, missing_left
        `bits` is 0 where nothing can be cut.
    """
    n_sums = node.shape[0]
    whole, left = work[0], work[1]
    real_sums(node, unit, whole)
    parent = cost(form, whole)
    best, best_bits, best_left = -np.inf, 0, False
    for missing_left in range(2 if missing[0] > 0 else 1):
        for bits in range(1, 1 << n_codes):
            if bits & (1 << (n_codes - 1)) and missing[0] == 0:
                continue  # a grouping and its mirror image are the same without missing values
            if bits == (1 << n_codes) - 1 and (missing_left == 1 or missing[0] == 0):
                continue
            for k in range(n_sums):
                inside = missing[k] if missing_left else 0
                for p in range(n_codes):
                    if bits & (1 << p):
                        inside += tally[p, k]
                left[k] = inside * unit[k]
            if is_admissible(form, whole, left, unit, rule, work[2]):
                gain = parent - cost_apart(form, whole, left)
                if gain > best:
                    best, best_bits, best_left = gain, bits, missing_left == 1
    return best, best_bits, best_left


@inner
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


@inner
def copy_bits(source, target):  # type: ignore[no-untyped-def]
    """Copy a set of levels."""
    for word in range(WORDS):
        target[word] = source[word]


@inner
def set_bit(bits, code):  # type: ignore[no-untyped-def]
    """Add a code to a set."""
    bits[code >> 5] |= np.uint32(1) << np.uint32(code & 31)


@inner
def has_bit(bits, code):  # type: ignore[no-untyped-def]
    """Whether a code is in a set."""
    return (bits[code >> 5] >> np.uint32(code & 31)) & np.uint32(1) == np.uint32(1)


def is_level_left(tree: Any, node: Any, code: Any) -> bool:
    """Whether the split of categories of a node sends a level left; for compiled loops only."""
    raise NotImplementedError("is_level_left is called inside compiled loops.")


@overload(is_level_left, jit_options=OPTIONS)
def _chosen_level_side(tree, node, code):  # type: ignore[no-untyped-def]
    if isinstance(tree.types[-1], types.NoneType):
        return lambda tree, node, code: False
    return lambda tree, node, code: has_bit(tree.bits[node], code)
