"""The best cut of one column in one node, from the sums of its codes.

A column of a node comes as a *tally*: the codes that occur, in increasing order, with the sums of the rows of
each, and apart from them the sums of the rows where the value is missing. How the tally was made (a
histogram, a sort, a walk along sorted rows) no longer matters here. Sums are integers, multiples of `unit`:
adding them in any order gives the same bits, and right = node − left is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from assay.loops import compiled, inner
from assay.trees.growing.criteria import OPTIONS, cost, cost_apart, of_classes

NO_CUT = -1


class Rule(NamedTuple):
    """What a cut must respect, besides having rows on both sides.

    `min_leaf` is the least weight of a side, in units of the weights. `sign` is 1 (−1) where the prediction
    must not fall (rise) from the left side to the right one; predictions stay between `low` and `high`, which
    are what the constraints further up have left. `apart` says whether all rows with a value may go left
    where missing ones go right.
    """

    min_leaf: int
    sign: Any
    low: float
    high: float
    apart: Any


class Cut(NamedTuple):
    """The best cut: what it gains, after which place of the tally it is, the side of missing values."""

    gain: float
    place: int
    missing_left: bool


@compiled
def real_sums(sums, unit, out):  # type: ignore[no-untyped-def]
    """Integer sums as numbers."""
    for k in range(sums.shape[0]):
        out[k] = sums[k] * unit[k]


def node_value(form: Any, sums: Any) -> float:
    """What constraints order: the mean or the Newton step of a node, or its share of the second class."""
    raise NotImplementedError("node_value is called inside compiled loops.")


def _value_of_classes(form, sums):  # type: ignore[no-untyped-def]
    return sums[2] / sums[0] if sums[0] > 0.0 else 0.0


def _value_of_numbers(form, sums):  # type: ignore[no-untyped-def]
    return sums[1] / sums[2] if sums[2] > 0.0 else 0.0


@overload(node_value, jit_options=OPTIONS)
def _chosen_value(form, sums):  # type: ignore[no-untyped-def]
    return _value_of_classes if of_classes(form) else _value_of_numbers


@inner
def is_admissible(form, whole, left, unit, rule, right):  # type: ignore[no-untyped-def]
    """Whether both sides of a cut weigh enough, and predict in the order that a constraint asks for."""
    for k in range(whole.shape[0]):
        right[k] = whole[k] - left[k]
    least = rule.min_leaf * unit[0]
    if left[0] < least or right[0] < least:
        return False
    if rule.sign == 0:
        return True
    first = min(max(node_value(form, left), rule.low), rule.high)
    second = min(max(node_value(form, right), rule.low), rule.high)
    return rule.sign * (second - first) >= 0.0


@inner
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
    whole, left = work[0], work[1]  # `left` holds whole numbers here, exact below 2⁵³ units
    real_sums(node, unit, whole)
    parent = cost(form, whole)
    best, place, best_left = -np.inf, NO_CUT, False
    least, heaviest = rule.min_leaf * unit[0], whole[0] - rule.min_leaf * unit[0]
    for missing_left in range(2 if missing[0] > 0 else 1):
        # All rows with a value may go left only where missing ones are left for the right side.
        end = n_codes if (missing_left == 0 and missing[0] > 0 and rule.apart) else n_codes - 1
        for k in range(n_sums):
            left[k] = missing[k] * unit[k] if missing_left else 0.0
        for p in range(end):
            for k in range(n_sums):
                left[k] += tally[p, k] * unit[k]
            if left[0] < least:
                continue
            if left[0] > heaviest:
                break
            gain = parent - cost_apart(form, whole, left)
            # Few cuts are better than all before them: only those are asked whether they are in order.
            if gain > best and (rule.sign == 0 or is_admissible(form, whole, left, unit, rule, work[2])):
                best, place, best_left = gain, p, missing_left == 1
    return Cut(best, place, best_left)
