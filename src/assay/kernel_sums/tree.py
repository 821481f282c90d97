"""Kernel sums on a tree: near points one by one, far nodes by two-sided bounds of the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances.loops import farthest_bound, nearest_bound
from assay.distances.tree import DEPTH, LEAF, build_tree
from assay.kernel_sums.loops import EXPONENTIAL, GAUSSIAN, PRODUCT, TILE, add_range, horner, padded
from assay.loops import compiled, exp, inner

Array = NDArray[np.float64]

BASE_LEAVES = TILE // LEAF
"""Leaves below which a node is summed point by point."""


class SumTree(NamedTuple):
    """Points and values in the order of a tree; `cumulated` has the values of the leaves before each."""

    boxes: NDArray
    columns: Array
    values: Array
    cumulated: Array


def grow(columns: Array, values: Array) -> SumTree:
    """The tree of points given feature by feature, with their values column by column."""
    tree = build_tree(np.ascontiguousarray(columns.T))
    ordered = np.ascontiguousarray(values[:, tree.order])
    by_leaf = np.add.reduceat(ordered, np.arange(0, ordered.shape[1], LEAF), axis=1)
    cumulated = np.concatenate([np.zeros((len(values), 1)), np.cumsum(by_leaf, axis=1)], axis=1)
    return SumTree(tree.boxes, *padded(columns[:, tree.order], ordered), cumulated)


@inner
def profile_at(square, profile, coefficients):  # type: ignore[no-untyped-def]
    """The profile of a kernel at a squared distance."""
    if profile == GAUSSIAN:
        return exp(-0.5 * square)
    if profile == EXPONENTIAL:
        return exp(-np.sqrt(square))
    if square >= 1.0:
        return 0.0
    return horner(coefficients, square if profile == 2 else np.sqrt(square))


@compiled
def tree_sums(tree, queries, profile, coefficients, has_bounds, rtol, atol, out):  # type: ignore[no-untyped-def]
    """Σ_i v_i K for each query, to `atol` or a share `rtol` of the sum of the first column, which is ≥ 0.

    Nodes are opened the nearest first. One that could change the sum by no more than its share of what is
    allowed counts with the mean of its bounds. Without bounds only nodes where the kernel is 0 are left out.
    """
    boxes, columns, values, cumulated = tree
    n_leaves = cumulated.shape[1] - 1
    power = 0 if profile == PRODUCT else 2
    total = cumulated[0, n_leaves]
    room, sums, point = np.empty(TILE), np.empty(values.shape[0]), np.empty(columns.shape[0])
    nodes, firsts, lasts = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    nearest = np.empty(DEPTH)
    for q in range(queries.shape[0]):
        sums[:] = 0.0
        for f in range(columns.shape[0]):
            point[f] = queries[q, f]
        nodes[0], firsts[0], lasts[0], nearest[0], n_open = 0, 0, n_leaves, 0.0, 1
        while n_open > 0:
            n_open -= 1
            node, first, last, near = nodes[n_open], firsts[n_open], lasts[n_open], nearest[n_open]
            if not has_bounds and near >= 1.0:
                continue
            if has_bounds:
                high = profile_at(near, profile, coefficients)
                low = profile_at(farthest_bound(boxes, node, point, point, power), profile, coefficients)
                if (high - low) * total <= 2.0 * (rtol * sums[0] / (1.0 + rtol) + atol):
                    for k in range(values.shape[0]):
                        sums[k] += 0.5 * (high + low) * (cumulated[k, last] - cumulated[k, first])
                    continue
            if last - first <= BASE_LEAVES:
                start, stop = first * LEAF, last * LEAF
                add_range(columns, values, start, stop, point, profile, coefficients, room, sums)
                continue
            middle = (first + last) // 2
            left, right = node + 1, node + 2 * (middle - first)
            near_left = nearest_bound(boxes, left, point, point, power)
            near_right = nearest_bound(boxes, right, point, point, power)
            is_left = near_left <= near_right
            # The nearer child goes on top of the stack.
            nodes[n_open] = right if is_left else left
            firsts[n_open] = middle if is_left else first
            lasts[n_open] = last if is_left else middle
            nearest[n_open] = near_right if is_left else near_left
            nodes[n_open + 1] = left if is_left else right
            firsts[n_open + 1] = first if is_left else middle
            lasts[n_open + 1] = middle if is_left else last
            nearest[n_open + 1] = near_left if is_left else near_right
            n_open += 2
        for k in range(values.shape[0]):
            out[q, k] = sums[k]
