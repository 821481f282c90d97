"""Kernel sums on a tree: near points one by one, far nodes by two-sided bounds of the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances.loops import bunch_bounds, bunch_far_bounds, place_of_least
from assay.distances.tree import BUNCH, DEPTH, LEAF, build_tree, wide_tree
from assay.kernel_sums.loops import PRODUCT, TILE, add_range, fill_profile, padded
from assay.loops import compiled, inner

Array = NDArray[np.float64]


class SumTree(NamedTuple):
    """Points and values in the order of a `WideTree`, whose `corners` and `starts` come first.

    `firsts` and `lasts` are the leaves below each entry; `cumulated` has the values of all leaves before one.
    """

    corners: NDArray
    starts: NDArray
    firsts: NDArray
    lasts: NDArray
    columns: Array
    values: Array
    cumulated: Array


def grow(columns: Array, values: Array) -> SumTree:
    """The tree of points given feature by feature, with their values column by column."""
    tree = build_tree(np.ascontiguousarray(columns.T))
    corners, starts, _ = wide_tree(tree)
    n_inner, n_leaves = len(starts) - 1, len(tree.leaves)
    firsts = np.concatenate([np.zeros(n_inner, np.intp), np.arange(n_leaves)])
    lasts = firsts + 1
    for entry in range(n_inner - 1, -1, -1):  # children come after their parents
        firsts[entry], lasts[entry] = firsts[starts[entry]], lasts[starts[entry + 1] - 1]
    ordered = np.ascontiguousarray(values[:, tree.order])
    by_leaf = np.add.reduceat(ordered, np.arange(0, ordered.shape[1], LEAF), axis=1)
    cumulated = np.concatenate([np.zeros((len(values), 1)), np.cumsum(by_leaf, axis=1)], axis=1)
    return SumTree(corners, starts, firsts, lasts, *padded(columns[:, tree.order], ordered), cumulated)


@inner
def bracket(tree, entry, point, profile, coefficients, near, heights):  # type: ignore[no-untyped-def]
    """Nearest distances of the children of an entry; the kernel there, and behind it where they are farthest.

    All heights are computed at once: so many make a vector.
    """
    power = 0 if profile == PRODUCT else 2
    bunch_bounds(tree.corners, entry, point, power, near)
    if profile == PRODUCT:  # of unknown size where it is not 0
        for i in range(BUNCH):
            heights[i], heights[BUNCH + i] = 0.0 if near[i] >= 1.0 else np.inf, 0.0
        return
    bunch_far_bounds(tree.corners, entry, point, power, heights)
    for i in range(BUNCH):
        heights[BUNCH + i], heights[i] = heights[i], near[i]
    fill_profile(heights, heights.shape[0], profile, coefficients)


@inner
def add_mean(tree, entry, height, sums):  # type: ignore[no-untyped-def]
    """Count the points below an entry at one height of the kernel."""
    for k in range(sums.shape[0]):
        sums[k] += height * (tree.cumulated[k, tree.lasts[entry]] - tree.cumulated[k, tree.firsts[entry]])


@compiled
def tree_sums(tree, queries, profile, coefficients, has_bounds, rtol, atol, out):  # type: ignore[no-untyped-def]
    """Σ_i v_i K for each query, to `atol` or a share `rtol` of the sum of the first column, which is ≥ 0.

    Nodes are opened the nearest first. One that could change the sum by no more than its share of what is
    allowed counts with the mean of its bounds. Without bounds only nodes where the kernel is 0 are left out.
    """
    starts, columns, values = tree.starts, tree.columns, tree.values
    n_inner = starts.shape[0] - 1
    total = tree.cumulated[0, tree.cumulated.shape[1] - 1] if has_bounds else 1.0
    share = 2.0 * rtol / (1.0 + rtol) if has_bounds else 0.0
    least = 2.0 * atol if has_bounds else 0.0
    room, sums, point = np.empty(TILE), np.empty(values.shape[0]), np.empty(columns.shape[0])
    near, heights = np.empty((DEPTH, BUNCH)), np.empty((DEPTH, 2 * BUNCH))
    entries, n_left = np.empty((DEPTH, BUNCH), np.int64), np.empty(DEPTH, np.int64)
    for q in range(queries.shape[0]):
        sums[:] = 0.0
        for f in range(columns.shape[0]):
            point[f] = queries[q, f]
        entry, depth = 0, 0
        while entry >= 0:
            first, n = starts[entry], starts[entry + 1] - starts[entry]
            high, low = heights[depth, :BUNCH], heights[depth, BUNCH:]
            bracket(tree, entry, point, profile, coefficients, near[depth], heights[depth])
            entry = -1
            if first >= n_inner:
                # Leaves, in their order: those that lie side by side are summed at once.
                begin = 0
                for i in range(n + 1):
                    allowed = share * sums[0] + least
                    if i == n or (high[i] - low[i]) * total <= allowed:
                        if begin < i:
                            start, stop = tree.firsts[first + begin] * LEAF, tree.firsts[first + i - 1] * LEAF
                            add_range(
                                columns, values, start, stop + LEAF, point, profile, coefficients, room, sums
                            )
                        begin = i + 1
                        if has_bounds and i < n:
                            add_mean(tree, first + i, 0.5 * (high[i] + low[i]), sums)
                depth -= 1
            else:
                n_left[depth] = n
                for i in range(n):
                    entries[depth, i] = first + i
            while entry < 0 and depth >= 0:
                n_left[depth] -= 1
                last = n_left[depth]
                if last < 0:
                    depth -= 1
                    continue
                i = place_of_least(near[depth], last + 1)
                high, low = heights[depth, :BUNCH], heights[depth, BUNCH:]
                child, top, bottom = entries[depth, i], high[i], low[i]
                near[depth, i], entries[depth, i] = near[depth, last], entries[depth, last]
                high[i], low[i] = high[last], low[last]
                allowed = share * sums[0] + least
                if (top - bottom) * total > allowed:
                    entry = child
                elif has_bounds:
                    add_mean(tree, child, 0.5 * (top + bottom), sums)
            depth += 1
        for k in range(values.shape[0]):
            out[q, k] = sums[k]
