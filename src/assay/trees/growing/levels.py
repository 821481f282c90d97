"""Columns of categories: the levels of a node divided into two groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from assay.loops import inner, part
from assay.trees.growing.criteria import OPTIONS, of_classes
from assay.trees.growing.cuts import NO_CUT, best_cut
from assay.trees.growing.medians import best_median_cut, code_of, sort_ranks
from assay.trees.growing.nodes import END, PLACE_OF_BITS, START, WORDS, keep_split

EXHAUSTIVE = 8
"""Levels up to which all groupings are tried where no order of the levels is known to be optimal."""


@part
def keep_groups(node, j, n_codes, best, gain, missing_left, site):  # type: ignore[no-untyped-def]
    """Keep a grouping, its bits in `space.bits[0]`, if it gains more than `best`; gives the larger gain."""
    table, tree, space = site.table, site.tree, site.space
    if gain > best:
        best = gain
        keep_split(node, j, np.int64(0), np.int64(0), missing_left, gain, tree)
        tree.whole[node, PLACE_OF_BITS] = node
        copy_bits(space.bits[0], tree.bits[node])
        finish_grouping(node, table.n_codes[j], n_codes, space.sums[1], tree, space)
    return best


@part
def group_by_medians(form, node, j, n_codes, site, rule):  # type: ignore[no-untyped-def]
    """As `group_levels`: the best cut in the order of the means.

    No order is known to have the best grouping about medians among its cuts.
    """
    rows, tree, space = site.rows, site.tree, site.space
    order_levels(form, space.tally, n_codes, 1, space.means, space.order)
    for p in range(n_codes):
        rows.codes[0, space.codes[space.order[p]]] = p
    start, end = tree.whole[node, START], tree.whole[node, END]
    n_known = sort_ranks(site.table, j, start, end, rows, space.keys)
    cut, _ = best_median_cut(space.keys, n_known, node, rows, tree, space.unit, rule, True)
    for word in range(WORDS):
        space.bits[0, word] = 0
    if cut.place != NO_CUT:
        for p in range(code_of(space.keys[cut.place]) + 1):
            set_bit(space.bits[0], space.codes[space.order[p]])
    return cut.gain, cut.missing_left


@inner
def group_levels(form, space, n_codes, rule):  # type: ignore[no-untyped-def]
    """The best grouping of the levels of a category: its gain and the side of missing values.

    The levels that go left are written as bits of their codes into `space.bits[0]`. Each try is the best cut
    of a tally: of all levels in the order of a statistic (one order per class), or of two groups.
    """
    whole, missing = space.sums[0], space.sums[1]
    n_sums = whole.shape[0]
    all_groups = is_exhaustive(form, n_sums, n_codes)
    first, last = statistics_of(form, n_sums)
    if all_groups:  # the last level is never on the left: a grouping and its mirror image are the same
        first, last = 0, 1 << (n_codes - 1)
    best, best_left, chosen, place = -np.inf, False, -1, NO_CUT
    for turn in range(first, last):
        if all_groups:
            sum_groups(space.tally, n_codes, turn, space.ordered)
        else:
            order_levels(form, space.tally, n_codes, turn, space.means, space.order)
            for p in range(n_codes):
                for k in range(n_sums):
                    space.ordered[p, k] = space.tally[space.order[p], k]
        n_parts = 2 if all_groups else n_codes
        cut = best_cut(form, space.ordered, n_parts, whole, missing, space.unit, rule, space.work)
        if cut.place != NO_CUT and cut.gain > best:
            best, best_left, chosen, place = cut.gain, cut.missing_left, turn, cut.place
    bits = space.bits[0]
    for word in range(WORDS):
        bits[word] = 0
    if chosen >= 0 and not all_groups:
        order_levels(form, space.tally, n_codes, chosen, space.means, space.order)
    for p in range(n_codes if chosen >= 0 else 0):
        if all_groups and (place > 0 or (chosen >> p) & 1):
            set_bit(bits, space.codes[p])
        elif not all_groups and p <= place:
            set_bit(bits, space.codes[space.order[p]])
    return best, best_left


@inner
def sum_groups(tally, n_codes, group, out):  # type: ignore[no-untyped-def]
    """Sums of the levels whose bits are set in a group, and of the others."""
    for k in range(tally.shape[1]):
        out[0, k] = out[1, k] = 0
        for p in range(n_codes):
            out[1 - ((group >> p) & 1), k] += tally[p, k]


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
