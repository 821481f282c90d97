"""Exact stumps: the split with the fewest weighted mistakes, by one walk along columns that are sorted once.

Weights are rounded to whole units, so that sums do not depend on the order of the rows and ties are ties.
For two classes the edge of a cut is |Σ_i D_i y_i − 2 Σ_left D_i y_i|, whatever the polarity: one sum per row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inner
from assay.rows import ordered_map
from assay.trees.growing.columns import Columns, sort_columns
from assay.trees.tree import EVERY_VALUE, LEAF, NO_THRESHOLD, Tree

LOW_PART = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)

UNIT_BITS, TOTAL_BITS = 52, 61
"""Units of the heaviest row, and what the units of all rows stay below, as powers of two."""

ON_THREADS, AT_ONCE = 2**19, 2**15
"""Values from which columns are searched on several threads, and those that one call searches at least."""


class SortedRows(NamedTuple):
    """The rows of a fit, sorted along each column once.

    Attributes
    ----------
    pairs : uint64 array of shape (n_columns, n_rows)
        code · 2³² + row, in order; missing values last.
    columns : Columns
    labels : int64 array of shape (n_rows,)
        Places of the classes.
    n_classes : int
    weight : float64 array of shape (n_rows,)
    gini : bool
        Whether splits are chosen by the Gini index in place of mistakes.
    """

    pairs: NDArray[np.uint64]
    columns: Columns
    labels: NDArray[np.int64]
    n_classes: int
    weight: NDArray[np.float64]
    gini: bool


class Stump(NamedTuple):
    """A split and the classes of its two sides; `feature` −1 is a constant, that of the left side."""

    feature: int
    cut: int
    threshold: float
    missing_left: bool
    left: int
    right: int


class Stumps(NamedTuple):
    """Many stumps as flat arrays, for compiled loops; see `Stump`."""

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


def sort_rows(
    X: NDArray, labels: NDArray[np.int64], n_classes: int, weight: NDArray[np.float64], *, gini: bool = False
) -> SortedRows:
    """Sort the rows along each column."""
    pairs, columns = sort_columns(X)
    return SortedRows(pairs, columns, labels, n_classes, weight, gini)


def units_of(row_share: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """Shares in (0, 1] of rows of weight 1, times their weights, as whole units.

    Of whole weights each row is rounded before it is repeated, so that a weight of 2 is two rows.
    """
    total = float(weight.sum())
    is_whole = bool(np.all(weight == np.rint(weight))) and total < 2.0**30
    factor = weight if is_whole else weight / weight.max()
    total = total if is_whole else float(len(weight))
    bits = min(UNIT_BITS, TOTAL_BITS - int(np.ceil(np.log2(max(total, 2.0)))))
    if is_whole:
        return np.rint(row_share * 2.0**bits).astype(np.int64) * weight.astype(np.int64)
    return np.rint(row_share * factor * 2.0**bits).astype(np.int64)


class Choice(NamedTuple):
    """A stump and which rows of the fit go to its left side."""

    stump: Stump
    goes_left: NDArray[np.bool_]


def best_stump(rows: SortedRows, units: NDArray[np.int64]) -> Choice:
    """The stump of the fewest units of mistakes (or the least impurity); the first of equally good ones."""
    n_columns = len(rows.pairs)
    absent = rows.columns.n_codes.astype(np.int64)
    totals = class_sums(rows.labels, units, np.zeros(rows.n_classes, dtype=np.int64))
    places = np.zeros((n_columns, 3))
    if rows.n_classes == 2 and not rows.gini:
        signed = np.where(rows.labels == 1, units, -units)
        total = np.int64(totals[1] - totals[0])
        constant = abs(float(total))

        def search(part: slice) -> None:
            signed_cuts(rows.pairs[part], absent[part], signed, total, places[part])
    else:
        share = totals / max(totals.sum(), 1)
        constant = float(share @ share if rows.gini else totals.max())

        def search(part: slice) -> None:
            class_cuts(rows.pairs[part], absent[part], rows.labels, units, totals, rows.gini, places[part])

    if rows.pairs.size < ON_THREADS:
        search(slice(0, n_columns))
    else:
        # Columns of few rows go together: a call from Python costs more than the search of one of them.
        step = max(1, AT_ONCE // rows.pairs.shape[1])
        for _ in ordered_map(search, [slice(j, j + step) for j in range(0, n_columns, step)]):
            pass
    j = int(places[:, 0].argmax())
    if places[j, 0] <= constant:
        side = int(totals.argmax())
        everyone = np.ones(len(rows.labels), dtype=np.bool_)
        return Choice(Stump(LEAF, -1, NO_THRESHOLD, False, side, side), everyone)
    return _cut_after(rows, units, j, int(places[j, 1]), missing_left=bool(places[j, 2]))


def _cut_after(
    rows: SortedRows, units: NDArray[np.int64], j: int, place: int, *, missing_left: bool
) -> Choice:
    """The cut after a place of a sorted column, with the heaviest class of each side."""
    pairs, absent = rows.pairs[j], int(rows.columns.n_codes[j])
    order = (pairs & LOW_PART).astype(np.int64)
    cut = int(pairs[place] >> SHIFT)
    after = int(pairs[place + 1] >> SHIFT)
    goes_left = np.zeros(len(order), dtype=np.bool_)
    goes_left[order[: place + 1]] = True
    if missing_left:
        goes_left[order[np.searchsorted(pairs, np.uint64(absent) << SHIFT) :]] = True
    sums = np.zeros(2 * rows.n_classes, dtype=np.int64)
    class_sums(rows.labels + rows.n_classes * ~goes_left, units, sums)
    both = sums.reshape(2, -1)
    sides = both.argmax(axis=1)
    if int(pairs[-1] >> SHIFT) != absent:  # none is missing: later ones go to the heavier side
        missing_left = bool(both[0].sum() >= both[1].sum())
    if after >= absent:  # those with a value from those without
        threshold = EVERY_VALUE
    else:
        threshold = float(rows.columns.thresholds(np.array([j]), np.array([cut]), np.array([after]))[0])
    stump = Stump(j, cut, threshold, missing_left, int(sides[0]), int(sides[1]))
    return Choice(stump, goes_left)


@compiled
def class_sums(labels, units, sums):  # type: ignore[no-untyped-def]
    """Units of each class."""
    for i in range(labels.shape[0]):
        sums[labels[i]] += units[i]
    return sums


@inner
def signed_cut(column, absent, signed, total, best):  # type: ignore[no-untyped-def]
    """The cut of a sorted column with the largest edge: edge, place and side of missing values in `best`."""
    n_known, missing = column.shape[0], np.int64(0)
    while n_known > 0 and np.int64(column[n_known - 1] >> SHIFT) == absent:
        n_known -= 1
        missing += signed[np.int64(column[n_known] & LOW_PART)]
    some_missing = n_known < column.shape[0]
    left, edge, place, side = np.int64(0), np.int64(-1), np.int64(0), np.int64(0)
    for p in range(n_known):
        word = column[p]
        left += signed[np.int64(word & LOW_PART)]
        if p + 1 < n_known:
            if column[p + 1] >> SHIFT == word >> SHIFT:
                continue
        elif not some_missing:
            break
        now = abs(total - 2 * left)
        if now > edge:
            edge, place, side = now, np.int64(p), np.int64(0)
        if some_missing and p + 1 < n_known:
            now = abs(total - 2 * (left + missing))
            if now > edge:
                edge, place, side = now, np.int64(p), np.int64(1)
    best[0] = edge
    best[1] = place
    best[2] = side


@inner
def class_cut(column, absent, labels, units, totals, gini, best):  # type: ignore[no-untyped-def]
    """The cut of a sorted column with the most units right: their number, place, side of missing values.

    With `gini` Σ L_k²/(W L) + Σ R_k²/(W R) is largest, which is 1 less the impurity of the two sides.
    """
    n_classes = totals.shape[0]
    left, missing = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes, dtype=np.int64)
    n_known = column.shape[0]
    while n_known > 0 and np.int64(column[n_known - 1] >> SHIFT) == absent:
        n_known -= 1
        i = np.int64(column[n_known] & LOW_PART)
        missing[labels[i]] += units[i]
    some_missing = n_known < column.shape[0]
    whole = 0.0
    for k in range(n_classes):
        whole += totals[k]
    most, place, side = -1.0, np.int64(0), np.int64(0)
    for p in range(n_known):
        word = column[p]
        i = np.int64(word & LOW_PART)
        left[labels[i]] += units[i]
        if p + 1 < n_known:
            if column[p + 1] >> SHIFT == word >> SHIFT:
                continue
        elif not some_missing:
            break
        for way in range(2 if some_missing and p + 1 < n_known else 1):
            first, second, weight = 0.0, 0.0, 0.0
            for k in range(n_classes):
                here = np.float64(left[k] + way * missing[k])
                there = totals[k] - here
                weight += here
                first = first + here * here if gini else max(first, here)
                second = second + there * there if gini else max(second, there)
            if gini and 0.0 < weight < whole:
                first, second = first / weight / whole, second / (whole - weight) / whole
            if first + second > most:
                most, place, side = first + second, np.int64(p), np.int64(way)
    best[0] = most
    best[1] = place
    best[2] = side


@compiled
def signed_cuts(pairs, absent, signed, total, best):  # type: ignore[no-untyped-def]
    """The best cut of each of some columns; see `signed_cut`."""
    for j in range(pairs.shape[0]):
        signed_cut(pairs[j], absent[j], signed, total, best[j])


@compiled
def class_cuts(pairs, absent, labels, units, totals, gini, best):  # type: ignore[no-untyped-def]
    """The best cut of each of some columns; see `class_cut`."""
    for j in range(pairs.shape[0]):
        class_cut(pairs[j], absent[j], labels, units, totals, gini, best[j])


@compiled
def say_stumps(stumps, X, first, out):  # type: ignore[no-untyped-def]
    """Class of each row (a column) by each stump from `first` on (a row)."""
    for t in range(out.shape[0]):
        j = stumps.feature[first + t]
        threshold, missing_left = stumps.threshold[first + t], stumps.missing_left[first + t]
        left, right = stumps.left[first + t], stumps.right[first + t]
        for i in range(X.shape[0]):
            if j < 0:
                out[t, i] = left
                continue
            value = X[i, j]
            goes_left = value <= threshold if value == value else missing_left
            out[t, i] = left if goes_left else right


def tree_of(choice: Choice, rows: SortedRows, share: NDArray[np.float64]) -> Tree:
    """The stump as a fitted tree, with the weights that it was chosen under."""
    places = rows.labels + rows.n_classes * ~choice.goes_left
    sides = np.bincount(places, share, 2 * rows.n_classes).reshape(2, -1)
    counts = np.bincount(places, minlength=2 * rows.n_classes).reshape(2, -1).sum(axis=1)
    return stump_tree(choice.stump, sides, counts, gini=rows.gini)


def stump_tree(stump: Stump, sides: NDArray, counts: NDArray, *, gini: bool) -> Tree:
    """A stump as a fitted tree, from the weights of the classes and the number of rows on its two sides."""
    inner = stump.feature >= 0
    sums = np.vstack([sides.sum(axis=0), sides]) if inner else sides[:1]
    n_samples = np.array([counts.sum(), *counts] if inner else [counts.sum()], dtype=np.int64)
    weights = sums.sum(axis=1)
    shares = sums / np.where(weights > 0, weights, 1.0)[:, np.newaxis]
    impurity = 1.0 - ((shares**2).sum(axis=1) if gini else shares.max(axis=1))
    costs, gain = weights * impurity, np.zeros(len(sums))
    gain[0] = max(costs[0] - costs[1:].sum(), 0.0) if inner else 0.0
    leaves = [LEAF] * (len(sums) - 1)
    rest = [NO_THRESHOLD] * (len(sums) - 1)
    return Tree(
        np.array([1 if inner else LEAF, *leaves], dtype=np.int32),
        np.array([2 if inner else LEAF, *leaves], dtype=np.int32),
        np.array([stump.feature, *leaves], dtype=np.int32),
        np.array([stump.threshold, *rest]),
        np.array([stump.missing_left, *(False for _ in leaves)]),
        np.full(len(sums), -1, dtype=np.int32),
        np.empty((0, 8), dtype=np.uint32),
        shares,
        impurity,
        gain,
        weights,
        n_samples,
        np.array([stump.cut, *leaves], dtype=np.int64),
    )


def stumps_of(trees: list[Tree]) -> Stumps:
    """Trees of one split as flat arrays."""
    feature = np.array([tree.feature[0] for tree in trees], dtype=np.int64)
    said = [tree.value.argmax(axis=1) for tree in trees]
    return Stumps(
        feature,
        np.array([tree.threshold[0] for tree in trees]),
        np.array([tree.missing_go_to_left[0] for tree in trees]),
        np.array([s[min(1, len(s) - 1)] for s in said], dtype=np.int64),
        np.array([s[-1] for s in said], dtype=np.int64),
    )
