"""The absolute error: costs about medians, which are no function of sums, along a column.

A node costs Σ w |y − m|, m its weighted median. Rows leave the node in the order of a column; those that are
left stay linked in the order of their targets, and the median moves along the links, by no more weight than
half of what has left. So the costs of all parts of a column take about as many steps as it has rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import inlined, inner
from assay.trees.growing.criteria import OPTIONS
from assay.trees.growing.cuts import NO_CUT, Cut
from assay.trees.growing.nodes import END, START
from assay.trees.growing.statistics import BITS
from assay.trees.growing.table import LOW_BITS, SortedTable, divide_rows, entry

LAST_RANK = 256
"""The rank of missing values."""

SUM_BITS = 60
"""Bits that sums of weights or amounts may have: twice one less another still fits 64."""


class MedianRows(NamedTuple):
    """Rows of numbers whose medians are asked for, in units, and the rows in the order of their targets.

    Attributes
    ----------
    weights : int64 array of shape (n_table_rows,)
    levels : int64 array of shape (n_table_rows,)
        The target counted from the centre; see `whole`.
    amounts : int64 array of shape (n_table_rows,)
        Weight times target from the centre, in units so small that sums of all rows just fit 64 bits: an
        outlier blinds no split.
    targets : float64 array of shape (n_table_rows,)
    center : float
    whole : bool
        Whether weights are whole numbers, and amounts the products of weights and levels: nothing is rounded
        then, and a row of weight k is k rows.
    order : int32 array of shape (n_rows,)
        The rows of the tree by target; those of a node are consecutive.
    ranks : int32 array of shape (n_table_rows,)
        One more than the place of each row among them.
    links : int32 array of shape (n_rows + 2, 2)
        The places before and after each that are still there.
    costs, upto : float64 and int64 arrays of shape (n_rows,)
        Cost and weight of the rows of a node up to each in the order of a column.
    codes : int64 array of shape (2, 258)
        The rank of each code, and where the rows of each rank begin.
    state : int64 array of shape (5,)
        The middle of the node; see `leave`.
    """

    weights: NDArray[np.int64]
    levels: NDArray[np.int64]
    amounts: NDArray[np.int64]
    targets: NDArray[np.float64]
    center: float
    whole: bool
    order: NDArray[np.int32]
    ranks: NDArray[np.int32]
    links: NDArray[np.int32]
    costs: NDArray[np.float64]
    upto: NDArray[np.int64]
    codes: NDArray[np.int64]
    state: NDArray[np.int64]


def median_rows(weight: NDArray, target: NDArray, inside: NDArray) -> tuple[MedianRows, NDArray]:
    """Rows for medians, `inside` those that weigh something, and what a unit of each sum is worth.

    Equal targets are ordered by weight, so that the order of the table is forgotten.
    """
    order = inside[np.lexsort((weight[inside], target[inside]))].astype(np.int32)
    total = float(weight.sum())
    whole = total < 2.0**BITS and bool(np.all(weight == np.rint(weight)))
    weight_unit = 1.0 if whole else finest_unit(total)
    weights = np.rint(weight / weight_unit).astype(np.int64)
    upto = np.cumsum(weights[order])
    center = float(target[order[np.searchsorted(upto, (upto[-1] + 1) // 2)]])
    away = np.where(weight > 0, target - center, 0.0)
    unit = finest_unit(total * float(np.abs(away).max()))
    levels = np.rint(away / unit).astype(np.int64)
    amounts = levels * weights if whole else np.rint(weight * away / unit).astype(np.int64)
    n_rows, n_table_rows = len(order), len(weight)
    rows = MedianRows(
        weights,
        levels,
        amounts,
        target,
        center,
        whole,
        order,
        np.empty(n_table_rows, dtype=np.int32),
        np.empty((n_rows + 2, 2), dtype=np.int32),
        np.empty(n_rows),
        np.empty(n_rows, dtype=np.int64),
        np.empty((2, LAST_RANK + 2), dtype=np.int64),
        np.empty(5, dtype=np.int64),
    )
    return rows, np.array([weight_unit, unit, weight_unit])


def finest_unit(total: float) -> float:
    """The least power of two in which sums of up to a total can be counted."""
    return math.ldexp(1.0, max(math.frexp(total)[1] - SUM_BITS, -1000))


@inlined
def leave(rows, first, place, state):  # type: ignore[no-untyped-def]
    """Take one place out of a node; gives the state of those that are left.

    The state is the middle (the first place up to which at least half of the weight lies), weight and sum of
    statistics up to it, and those of all. No place is `first`, which comes before the others.
    """
    middle, under, under_sum, whole, whole_sum = state
    i = rows.order[place - 1]
    weight, amount = rows.weights[i], rows.amounts[i]
    before, after = np.int64(rows.links[place, 0]), np.int64(rows.links[place, 1])
    rows.links[before, 1], rows.links[after, 0] = after, before
    whole, whole_sum = whole - weight, whole_sum - amount
    if place <= middle:
        under, under_sum = under - weight, under_sum - amount
        middle = before if place == middle else middle
    while 2 * under < whole:
        middle = np.int64(rows.links[middle, 1])
        i = rows.order[middle - 1]
        under += rows.weights[i]
        under_sum += rows.amounts[i]
    while middle > first:
        i = rows.order[middle - 1]
        if 2 * (under - rows.weights[i]) < whole:
            break
        under -= rows.weights[i]
        under_sum -= rows.amounts[i]
        middle = np.int64(rows.links[middle, 0])
    return middle, under, under_sum, whole, whole_sum


@inlined
def cost_at(rows, state, unit):  # type: ignore[no-untyped-def]
    """Σ w |y − m| of the rows that are there, from a state."""
    middle, under, under_sum, whole, whole_sum = state
    if whole <= 0:
        return 0.0
    i = rows.order[middle - 1]
    if rows.whole:
        return (rows.levels[i] * (2 * under - whole) + whole_sum - 2 * under_sum) * unit[1]
    level = (rows.targets[i] - rows.center) * (2 * under - whole) * unit[0]
    return max(level + (whole_sum - 2 * under_sum) * unit[1], 0.0)


@inner
def link_all(rows, start, end):  # type: ignore[no-untyped-def]
    """Link all places of a node again."""
    for place in range(start, end + 2):
        rows.links[place, 0], rows.links[place, 1] = place - 1, place + 1


@inner
def middle_of(rows, start, end):  # type: ignore[no-untyped-def]
    """The state of all rows of a node."""
    whole, whole_sum = np.int64(0), np.int64(0)
    for p in range(start, end):
        i = rows.order[p]
        whole += rows.weights[i]
        whole_sum += rows.amounts[i]
    middle, under, under_sum = start, np.int64(0), np.int64(0)
    for p in range(start, end):
        if 2 * under >= whole:
            break
        i = rows.order[p]
        under += rows.weights[i]
        under_sum += rows.amounts[i]
        middle = np.int64(p + 1)
    return middle, under, under_sum, whole, whole_sum


def sum_node(rows: Any, node: Any, tree: Any, whole: Any, unit: Any) -> None:
    """Keep what the rows of a node sum up to, as numbers: medians and their costs where those are asked for.

    For compiled loops only.
    """
    raise NotImplementedError("sum_node is called inside compiled loops.")


def _keep_sums(rows, node, tree, whole, unit):  # type: ignore[no-untyped-def]
    for k in range(whole.shape[0]):
        tree.sums[node, k] = whole[k] * unit[k]


def _keep_median(rows, node, tree, whole, unit):  # type: ignore[no-untyped-def]
    start, end = tree.whole[node, START], tree.whole[node, END]
    state = middle_of(rows, start, end)
    middle, under, _, weight, _ = state
    for p in range(start, end):
        rows.ranks[rows.order[p]] = p + 1
    for k in range(5):
        rows.state[k] = state[k]
    after = middle + 1 if 2 * under == weight and middle < end else middle
    median = 0.5 * rows.targets[rows.order[middle - 1]] + 0.5 * rows.targets[rows.order[after - 1]]
    tree.sums[node, 0], tree.sums[node, 1] = weight * unit[0], median
    tree.sums[node, 2] = cost_at(rows, state, unit)


@overload(sum_node, jit_options=OPTIONS)
def _chosen_sums(rows, node, tree, whole, unit):  # type: ignore[no-untyped-def]
    return _keep_median if rows.instance_class is MedianRows else _keep_sums


def divide_order(rows: Any, start: Any, end: Any, goes_left: Any, buffer: Any) -> None:
    """Divide the rows by target as the table is divided, where they are kept; for compiled loops only."""
    raise NotImplementedError("divide_order is called inside compiled loops.")


def _nothing(rows, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    return None


@overload(divide_order, jit_options=OPTIONS)
def _chosen_division(rows, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
    def divided(rows, start, end, goes_left, buffer):  # type: ignore[no-untyped-def]
        divide_rows(rows.order, start, end, goes_left, buffer)

    return divided if rows.instance_class is MedianRows else _nothing


def sort_keys(table: Any, j: Any, node: Any, tree: Any, rows: Any, keys: Any) -> int:
    """Write code · 2³² + row of a node, in the order of an ordered column; for compiled loops only.

    Gives the number of rows that have a value, which come first.
    """
    raise NotImplementedError("sort_keys is called inside compiled loops.")


def _copy_pairs(table, j, node, tree, rows, keys):  # type: ignore[no-untyped-def]
    n_known = 0
    for p in range(tree.whole[node, START], tree.whole[node, END]):
        keys[p - tree.whole[node, START]] = table.pairs[j, p]
        n_known += np.int64(table.pairs[j, p] >> np.uint64(32)) != table.n_codes[j]
    return n_known


def _count_codes(table, j, node, tree, rows, keys):  # type: ignore[no-untyped-def]
    for code in range(table.n_codes[j]):
        rows.codes[0, code] = code
    return sort_ranks(table, j, tree.whole[node, START], tree.whole[node, END], rows, keys)


@overload(sort_keys, jit_options=OPTIONS)
def _chosen_keys(table, j, node, tree, rows, keys):  # type: ignore[no-untyped-def]
    return _copy_pairs if table.instance_class is SortedTable else _count_codes


@inner
def sort_ranks(table, j, start, end, rows, keys):  # type: ignore[no-untyped-def]
    """Write rank · 2³² + row in the order of the ranks of the codes, missing values last.

    Gives the number of rows that have a value.
    """
    ranks, first = rows.codes[0], rows.codes[1]
    ranks[table.n_codes[j]] = LAST_RANK
    for rank in range(LAST_RANK + 2):
        first[rank] = 0
    for p in range(start, end):
        _, code = entry(table, j, p)
        first[ranks[code] + 1] += 1
    for rank in range(LAST_RANK):
        first[rank + 1] += first[rank]
    n_known = first[LAST_RANK]
    for p in range(start, end):
        i, code = entry(table, j, p)
        rank = ranks[code]
        keys[first[rank]] = (np.uint64(rank) << np.uint64(32)) | np.uint64(i)
        first[rank] += 1
    return n_known


@inner
def sort_sides(table, j, node, tree, cut, keys):  # type: ignore[no-untyped-def]
    """Write rank · 2³² + row of a node: those up to a cut, those beyond it, missing values last.

    Gives the number of rows that have a value.
    """
    absent, count, n_known = np.int64(table.n_codes[j]), 0, 0
    for rank in range(3):
        for p in range(tree.whole[node, START], tree.whole[node, END]):
            i, code = entry(table, j, p)
            if rank == (2 if code == absent else np.int64(code > cut)):
                keys[count] = (np.uint64(rank) << np.uint64(32)) | np.uint64(i)
                count += 1
        n_known = count if rank == 1 else n_known
    return n_known


@inner
def best_median_cut(keys, n_known, node, rows, tree, unit, rule, apart):  # type: ignore[no-untyped-def]
    """The cut of largest gain between neighbouring codes of a column whose rows are sorted.

    Gives the cut, `place` being that of the last key on the left, and the weight of the left side in units.
    `apart` is that of `Rule`.
    """
    start, end = tree.whole[node, START], tree.whole[node, END]
    parent, count = tree.sums[node, 2], end - start
    full = (rows.state[0], rows.state[1], rows.state[2], rows.state[3], rows.state[4])
    best, place, best_left, best_weight = -np.inf, NO_CUT, False, np.int64(0)
    for missing_left in range(2 if n_known < count else 1):
        link_all(rows, start, end)
        state = full
        if missing_left == 0:
            for p in range(n_known, count):
                state = leave(rows, start, place_of(rows, keys[p]), state)
        for p in range(n_known - 1, -1, -1):  # what the rows up to each cost
            rows.costs[p], rows.upto[p] = cost_at(rows, state, unit), state[3]
            state = leave(rows, start, place_of(rows, keys[p]), state)
        link_all(rows, start, end)
        state = full
        if missing_left == 1:
            for p in range(n_known, count):
                state = leave(rows, start, place_of(rows, keys[p]), state)
        last = n_known if (missing_left == 0 and n_known < count and apart) else n_known - 1
        for p in range(last):
            state = leave(rows, start, place_of(rows, keys[p]), state)
            if p + 1 < n_known and (keys[p] ^ keys[p + 1]) >> np.uint64(32) == 0:
                continue
            if rows.upto[p] < rule.min_leaf:
                continue
            if full[3] - rows.upto[p] < rule.min_leaf:
                break
            gain = parent - rows.costs[p] - cost_at(rows, state, unit)
            if gain > best:
                best, place, best_left, best_weight = gain, p, missing_left == 1, rows.upto[p]
    return Cut(best, place, best_left), best_weight


@inlined
def place_of(rows, key):  # type: ignore[no-untyped-def]
    """One more than the place by target of the row of a key."""
    return np.int64(rows.ranks[np.int64(key & np.uint64(LOW_BITS))])


@inlined
def code_of(key):  # type: ignore[no-untyped-def]
    """The code, or rank, of a key."""
    return np.int64(key >> np.uint64(32))
