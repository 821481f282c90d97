"""The best cut of one column in one node, from the sums of its codes.

A column of a node comes as a *tally*: the codes that occur, in increasing order, with the sums of the rows of
each, and apart from them the sums of the rows where the value is missing. How the tally was made (a
histogram, a sort, a walk along sorted rows) no longer matters here. Sums are integers, multiples of `unit`:
adding them in any order gives the same bits, and right = node − left is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.loops import compiled, inlined
from assay.trees.growing.criteria import cost

NO_CUT = -1

EXHAUSTIVE = 8
"""Levels up to which all groupings are tried where no order of the levels is known to be optimal."""


class Rule(NamedTuple):
    """What a cut must respect, besides having rows on both sides.

    `min_leaf` is the least weight of a side, in units of the weights. `sign` is 1 (−1) where the prediction
    must not fall (rise) from the left side to the right one; predictions stay between `low` and `high`, which
    are what the constraints further up have left.
    """

    min_leaf: int
    sign: Any
    low: float
    high: float


class Cut(NamedTuple):
    """The best cut: what it gains, after which place of the tally it is, the side of missing values."""

    gain: float
    place: int
    missing_left: bool


@inlined
def real_sums(sums, unit, out):  # type: ignore[no-untyped-def]
    """Integer sums as numbers."""
    for k in range(sums.shape[0]):
        out[k] = sums[k] * unit[k]


@inlined
def node_value(form, sums):  # type: ignore[no-untyped-def]
    """What constraints order: the mean or the Newton step of a node, or its share of the second class."""
    if form.classes:
        return sums[2] / sums[0] if sums[0] > 0.0 else 0.0
    return sums[1] / sums[2] if sums[2] > 0.0 else 0.0


@inlined
def cut_gain(form, whole, left, right, rule):  # type: ignore[no-untyped-def]
    """Gain of a division of a node, −inf where it breaks a constraint."""
    if rule.sign != 0:
        first = min(max(node_value(form, left), rule.low), rule.high)
        second = min(max(node_value(form, right), rule.low), rule.high)
        if rule.sign * (second - first) < 0.0:
            return -np.inf
    return whole - cost(form, left) - cost(form, right)


@compiled
def best_cut(form, tally, n_codes, node, missing, unit, rule, work):  # type: ignore[no-untyped-def]
    """The cut of largest gain between neighbouring codes of a tally.

    Parameters
    ----------
    form : NamedTuple
        The criterion.
    tally : int64 array of shape (at least n_codes, n_sums)
        Sums of the codes that occur, in order; zero weights do not occur.
    n_codes : int
    node, missing : int64 arrays of shape (n_sums,)
        Sums of the node, and of its rows without a value (part of the node).
    unit : float64 array of shape (n_sums,)
        What one unit of each sum is worth.
    rule : Rule
    work : float64 array of shape (3, n_sums)
        Overwritten.

    Returns
    -------
    cut : Cut
        `place` is `NO_CUT` where nothing can be cut.
    """
    n_sums = node.shape[0]
    left_sums = np.zeros(n_sums, dtype=np.int64)
    whole, left, right = work[0], work[1], work[2]
    real_sums(node, unit, whole)
    parent = cost(form, whole)
    best, place, best_left = -np.inf, NO_CUT, False
    for missing_left in range(2 if missing[0] > 0 else 1):
        # All rows with a value may go left only where missing ones are left for the right side.
        end = n_codes if (missing_left == 0 and missing[0] > 0) else n_codes - 1
        for k in range(n_sums):
            left_sums[k] = missing[k] if missing_left else 0
        for p in range(end):
            for k in range(n_sums):
                left_sums[k] += tally[p, k]
            weight = left_sums[0]
            if weight < rule.min_leaf:
                continue
            if node[0] - weight < rule.min_leaf:
                break
            for k in range(n_sums):
                left[k] = left_sums[k] * unit[k]
                right[k] = (node[k] - left_sums[k]) * unit[k]
            gain = cut_gain(form, parent, left, right, rule)
            if gain > best:
                best, place, best_left = gain, p, missing_left == 1
    return Cut(best, place, best_left)


@compiled
def cut_at(form, tally, place, node, missing, unit, rule, work):  # type: ignore[no-untyped-def]
    """The cut after a given place (drawn at random); missing values go where they gain more."""
    n_sums = node.shape[0]
    whole, left, right = work[0], work[1], work[2]
    real_sums(node, unit, whole)
    parent = cost(form, whole)
    best, best_left = -np.inf, False
    for missing_left in range(2 if missing[0] > 0 else 1):
        for k in range(n_sums):
            inside = missing[k] if missing_left else 0
            for p in range(place + 1):
                inside += tally[p, k]
            left[k] = inside * unit[k]
            right[k] = (node[k] - inside) * unit[k]
        if left[0] < rule.min_leaf * unit[0] or right[0] < rule.min_leaf * unit[0]:
            continue
        gain = cut_gain(form, parent, left, right, rule)
        if gain > best:
            best, best_left = gain, missing_left == 1
    return Cut(best, place if best > -np.inf else NO_CUT, best_left)


@compiled
def order_levels(form, tally, n_codes, first, order):  # type: ignore[no-untyped-def]
    """Levels of a category by their mean statistic, smallest first.

    For two classes, squared error and Newton steps the best grouping is a cut in this order (Fisher 1958).
    The statistic is the share of class `first` (a place among the sums), or the mean.
    """
    below = 0 if form.classes else 2
    means = np.empty(n_codes)
    for p in range(n_codes):
        size = tally[p, below]
        means[p] = tally[p, first] / size if size > 0 else 0.0
    sort_places(means, n_codes, order)


@compiled
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


@compiled
def best_grouping(form, tally, n_codes, node, missing, unit, rule, work):  # type: ignore[no-untyped-def]
    """The best of all groupings of few levels, as the bits of those that go left; one level stays right.

    Returns
    -------
    gain, bits, missing_left
        `bits` is 0 where nothing can be cut.
    """
    n_sums = node.shape[0]
    whole, left, right = work[0], work[1], work[2]
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
                right[k] = (node[k] - inside) * unit[k]
            if left[0] < rule.min_leaf * unit[0] or right[0] < rule.min_leaf * unit[0]:
                continue
            gain = cut_gain(form, parent, left, right, rule)
            if gain > best:
                best, best_bits, best_left = gain, bits, missing_left == 1
    return best, best_bits, best_left
