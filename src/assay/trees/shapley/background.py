"""Shapley values against background rows: columns outside the set take the values of other rows.

For a row x, a background row b and a leaf of value v, only the columns that exactly one of the two passes
matter: with a of them passed by x alone and c by b alone, and every other column of the path by both,

    φ_j = v (a − 1)! c! / (a + c)!  for those of x,        φ_j = −v a! (c − 1)! / (a + c)!  for those of b.

Which columns of a path a row passes is a set of bits; background rows of the same set at a leaf are counted
once, with their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import beta

from assay.loops import compiled, inner
from assay.trees.shapley.loops import turn
from assay.trees.shapley.splits import Splits

MOST_COLUMNS = 63
"""Different columns of a path that fit the bits of a word."""


class Patterns(NamedTuple):
    """Which columns of the path of each leaf the background rows pass.

    Attributes
    ----------
    starts : int64 array of shape (n_leaves + 1,)
        Where the patterns of each leaf begin, leaves in the order of the nodes.
    passed : uint64 array of shape (n_patterns,)
    share : float64 array of shape (n_patterns,)
        Share of the background rows.
    """

    starts: NDArray[np.int64]
    passed: NDArray[np.uint64]
    share: NDArray[np.float64]


class Tables(NamedTuple):
    """(a − 1)! c! / (a + c)! and its kin for pairs: row a, column c."""

    single: NDArray[np.float64]
    pair: NDArray[np.float64]


def tables(most: int) -> Tables:
    """∫ t^(a−1) (1 − t)^c dt and ∫ t^(a−1) (1 − t)^(c−1) dt, 0 where an exponent is below 0."""
    a, c = np.meshgrid(np.arange(most + 2), np.arange(most + 2), indexing="ij")
    single = np.where(a > 0, beta(np.maximum(a, 1), c + 1), 0.0)
    pair = np.where((a > 0) & (c > 0), beta(np.maximum(a, 1), np.maximum(c, 1)), 0.0)
    return Tables(single, pair)


def patterns_of(columns: NDArray[np.float64], splits: Splits) -> Patterns:
    """The patterns of background rows given as columns."""
    n_rows = columns.shape[1]
    counts: list[int] = []
    passed: list[NDArray] = []
    shares: list[NDArray] = []
    for t in range(len(splits.starts) - 1):
        found = passed_by_leaf(columns, splits, t)
        for leaf in found:
            patterns, times = np.unique(leaf, return_counts=True)
            counts.append(len(patterns))
            passed.append(patterns)
            shares.append(times / n_rows)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Patterns(starts, np.concatenate(passed).astype(np.uint64), np.concatenate(shares))


def passed_by_leaf(columns: NDArray[np.float64], splits: Splits, tree: int) -> NDArray[np.uint64]:
    """For each leaf of a tree and each row, the columns of the path that the row passes, as bits."""
    nodes = slice(int(splits.starts[tree]), int(splits.starts[tree + 1]))
    out = np.empty((int((splits.feature[nodes] < 0).sum()), columns.shape[1]), dtype=np.uint64)
    most = int(splits.depth[nodes].max()) + 1
    goes = np.empty((most, columns.shape[1]))
    masks = np.zeros((most, columns.shape[1]), dtype=np.uint64)
    mark_leaves(columns, splits, tree, goes, masks, out)
    return out


@compiled
def mark_leaves(columns, splits, t, goes, masks, out):  # type: ignore[no-untyped-def]
    """Bits of the columns passed by each row at each leaf of a tree, in the order they appear on the path."""
    n_rows, one = columns.shape[1], np.uint64(1)
    place = np.zeros(goes.shape[0], dtype=np.uint64)
    count = np.zeros(goes.shape[0], dtype=np.uint64)
    leaf = 0
    for p in range(splits.starts[t], splits.starts[t + 1]):
        here = np.int64(splits.depth[p])
        if here > 0:
            b, left = np.int64(splits.before[p]), splits.is_left[p]
            place[here] = place[b] if b > 0 else count[here - 1]
            count[here] = count[here - 1] + (np.uint64(0) if b > 0 else one)
            bit = one << place[here]
            for i in range(n_rows):
                passes = (goes[here - 1, i] > 0.5) == left
                known = masks[here - 1, i]
                if b > 0:
                    masks[here, i] = known if passes else known & ~bit
                else:
                    masks[here, i] = known | bit if passes else known
        if splits.feature[p] >= 0:
            turn(columns, 0, splits, p, goes[here])
        else:
            for i in range(n_rows):
                out[leaf, i] = masks[here, i]
            leaf += 1


@inner
def columns_of_leaf(path, depth, splits, names):  # type: ignore[no-untyped-def]
    """The different columns of the path to a leaf, in the order they appear; gives their number."""
    count = 0
    for level in range(1, depth + 1):
        if splits.before[path[level]] == 0:
            names[count] = splits.edge[path[level]]
            count += 1
    return count


@inner
def deepest(depth):  # type: ignore[no-untyped-def]
    """The largest depth."""
    most = np.int64(0)
    for level in depth:
        most = max(most, np.int64(level))
    return most


@inner
def ones(word):  # type: ignore[no-untyped-def]
    """Number of bits that are set."""
    count = 0
    while word != np.uint64(0):
        word &= word - np.uint64(1)
        count += 1
    return count


@compiled
def add_against(t, splits, first_leaf, marks, patterns, weights, out):  # type: ignore[no-untyped-def]
    """Add the Shapley values of one tree; `out` is (n_columns, n_outputs, n_rows)."""
    names, one = np.empty(64, dtype=np.int64), np.uint64(1)
    path = np.empty(deepest(splits.depth) + 1, dtype=np.int64)
    leaf, k0 = first_leaf, splits.output[t]
    for p in range(splits.starts[t], splits.starts[t + 1]):
        path[splits.depth[p]] = p
        if splits.feature[p] >= 0:
            continue
        size = columns_of_leaf(path, splits.depth[p], splits, names)
        full = (one << np.uint64(size)) - one
        for i in range(marks.shape[1]):
            mine = marks[leaf - first_leaf, i]
            lacking = full & ~mine
            c, owed = ones(lacking), 0.0
            for place in range(patterns.starts[leaf], patterns.starts[leaf + 1]):
                theirs = patterns.passed[place]
                if lacking & ~theirs != np.uint64(0):
                    continue  # a column that neither passes: the leaf is out of reach
                alone = mine & ~theirs
                a, share = ones(alone), patterns.share[place]
                owed += share * weights.single[c, a]
                gained = share * weights.single[a, c]
                for j in range(size):
                    if (alone >> np.uint64(j)) & one == one:
                        for k in range(splits.value.shape[1]):
                            out[names[j], k0 + k, i] += splits.value[p, k] * gained
            if owed > 0.0:
                for j in range(size):
                    if (lacking >> np.uint64(j)) & one == one:
                        for k in range(splits.value.shape[1]):
                            out[names[j], k0 + k, i] -= splits.value[p, k] * owed
        leaf += 1


@compiled
def add_pairs_against(t, splits, first_leaf, marks, patterns, weights, out):  # type: ignore[no-untyped-def]
    """Add half the interactions of one tree; `out` is (n_columns, n_columns, n_outputs, n_rows)."""
    names, one, zero = np.empty(64, dtype=np.int64), np.uint64(1), np.uint64(0)
    path = np.empty(deepest(splits.depth) + 1, dtype=np.int64)
    leaf, k0 = first_leaf, splits.output[t]
    for p in range(splits.starts[t], splits.starts[t + 1]):
        path[splits.depth[p]] = p
        if splits.feature[p] >= 0:
            continue
        size = columns_of_leaf(path, splits.depth[p], splits, names)
        full = (one << np.uint64(size)) - one
        for i in range(marks.shape[1]):
            mine = marks[leaf - first_leaf, i]
            lacking = full & ~mine
            c = ones(lacking)
            for place in range(patterns.starts[leaf], patterns.starts[leaf + 1]):
                theirs = patterns.passed[place]
                if lacking & ~theirs != zero:
                    continue
                alone = mine & ~theirs
                a, half = ones(alone), 0.5 * patterns.share[place]
                for j in range(size):
                    for other in range(size):
                        x_j, x_l = (alone >> np.uint64(j)) & one, (alone >> np.uint64(other)) & one
                        b_j, b_l = (lacking >> np.uint64(j)) & one, (lacking >> np.uint64(other)) & one
                        if j == other or x_j + b_j == zero or x_l + b_l == zero:
                            continue
                        if x_j == x_l:
                            # t^(a−2) (1 − t)^c for two of the row, t^a (1 − t)^(c−2) for two of the other
                            weight = weights.pair[a - 1, c + 1] if x_j == one else weights.pair[a + 1, c - 1]
                        else:
                            weight = -weights.pair[a, c]
                        for k in range(splits.value.shape[1]):
                            out[names[j], names[other], k0 + k, i] += half * weight * splits.value[p, k]
        leaf += 1
