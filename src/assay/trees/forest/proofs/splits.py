"""The best split of every node of a forest, found the slow way from the rows of the bags."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inner
from assay.trees.decision.search import (
    Admissible,
    cost_of_rows,
    gain_by_sorting,
    last_nodes,
    row_statistics,
)
from assay.trees.decision.solver import Growth
from assay.trees.forest.solver import Forest
from assay.trees.growing.build import column_rules
from assay.trees.growing.criteria import NumberCost, is_of_counts
from assay.trees.growing.finding import draw_code, list_columns
from assay.trees.growing.levels import EXHAUSTIVE, sort_places
from assay.trees.growing.nodes import (
    COLUMN,
    DEPTH,
    LEFT,
    PARENT,
    RIGHT,
    GrowingTree,
    empty_tree,
    mixed,
    uniform,
)
from assay.trees.tree import Tree

NOISE = 1e-7
"""Share of the cost of the root below which a gain in fixed point may be taken for none."""


class BagRows(NamedTuple):
    """Rows of a bag in the order of the nodes: codes (one row per column), statistics, targets by output.

    The first statistic is the weight; those of a node are rows `starts` to `ends`.
    """

    codes: NDArray[np.uint8]
    n_codes: NDArray[np.int32]
    stats: NDArray[np.float64]
    target: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    is_centered: bool


class Claim(NamedTuple):
    """What the splits of a tree were chosen by; `closed` where a leaf must have no split left."""

    n_tried: int
    max_depth: float
    min_split: float
    min_leaf: float
    min_gain: float
    random_cuts: bool
    closed: bool
    seed: int


def excess_of_tree(tree: Tree, leaves: NDArray[np.int32], seed: int, forest: Forest) -> float:
    """What a split that a node tried gains beyond the one taken, at most, as a share of the root's cost."""
    growth, table = forest.growth, forest.table
    _, weight = forest.weights(seed)
    inside = np.flatnonzero(weight > 0)
    order = inside[np.argsort(leaves[inside], kind="stable")]
    target = table.target[order].astype(np.float64).reshape(len(order), -1)
    stats = row_statistics(growth.form, target, weight[order], forest.n_classes)
    ranked, ends = leaves[order], last_nodes(tree)
    rows = BagRows(
        np.ascontiguousarray(table.codes[:, order]),
        table.columns.n_codes,
        stats,
        target,
        np.searchsorted(ranked, np.arange(tree.node_count)),
        np.searchsorted(ranked, ends),
        isinstance(getattr(growth.form, "form", growth.form), NumberCost) and not is_of_counts(growth.form),
    )
    rules = column_rules(table.columns, growth.signs, growth.groups)
    closed = forest.ccp_alpha == 0 and growth.max_leaves is None
    return float(largest_excess(growth.form, claim_of(growth, seed, closed), rules, shape_of(tree), rows))


def claim_of(growth: Growth, seed: int, closed: bool) -> Claim:
    """The rules of a tree, as numbers."""
    deepest = np.inf if growth.max_depth is None else float(growth.max_depth)
    minima = (float(growth.min_split), float(growth.min_leaf), float(growth.min_gain))
    return Claim(growth.n_tried, deepest, *minima, growth.random_cuts, closed, seed)


def shape_of(tree: Tree) -> GrowingTree:
    """Columns, children, parents and depths of a fitted tree, as a growing one has them."""
    shape = empty_tree(tree.node_count, 1, categories=False)
    shape.whole[:, COLUMN], shape.whole[:, PARENT] = tree.feature, tree.parents
    shape.whole[:, LEFT], shape.whole[:, RIGHT] = tree.children_left, tree.children_right
    shape.whole[:, DEPTH] = tree.depths
    return shape


@compiled
def largest_excess(form, claim, columns, tree, rows):  # type: ignore[no-untyped-def]
    """See `excess_of_tree`; draws the columns and cuts of each node again from its path."""
    n_nodes = tree.whole.shape[0]
    paths, worst = np.empty(n_nodes, dtype=np.uint64), 0.0
    paths[0] = mixed(np.uint64(claim.seed))
    size = size_of_root(form, rows)
    for node in range(n_nodes):
        left, right = tree.whole[node, LEFT], tree.whole[node, RIGHT]
        if left >= 0:
            paths[left], paths[right] = mixed(paths[node] + np.uint64(1)), mixed(paths[node] + np.uint64(2))
        first, last = rows.starts[node], rows.ends[node]
        if left < 0 and not (claim.closed and may_divide(node, claim, tree, rows)):
            continue
        stats = centered_stats(rows, first, last)
        taken = max(claim.min_gain, -size)
        if left >= 0:
            taken = gain_of_sides(form, stats, rows.ends[left] - first)
        best = best_of_tried(form, claim, columns, tree, rows, node, stats, paths[node], NOISE * size)
        worst = max(worst, (best - taken) / size)
    return worst


@inner
def size_of_root(form, rows):  # type: ignore[no-untyped-def]
    """Cost of the root: of squared errors with the squares, which the criterion leaves out."""
    size, n_outputs = 0.0, rows.target.shape[1]
    if rows.is_centered:
        weight = rows.stats[:, 0]
        for k in range(n_outputs):
            center = np.sum(weight * rows.target[:, k]) / np.sum(weight)
            size += np.sum(weight * (rows.target[:, k] - center) ** 2) / n_outputs
    else:
        size = abs(cost_of_rows(form, rows.stats))
    return size if size > 0.0 else 1.0


@inner
def centered_stats(rows, first, last):  # type: ignore[no-untyped-def]
    """Statistics of the rows of a node, numbers about their mean."""
    stats = rows.stats[first:last].copy()
    if rows.is_centered:
        for output in range(rows.target.shape[1]):
            k = output + 2 if output > 0 else 1
            mean = np.sum(stats[:, k]) / np.sum(stats[:, 0])
            for i in range(stats.shape[0]):
                stats[i, k] = stats[i, 0] * (rows.target[first + i, output] - mean)
    return stats


@inner
def gain_of_sides(form, stats, n_left):  # type: ignore[no-untyped-def]
    """What a split gains whose left side are the first rows."""
    apart = cost_of_rows(form, stats[:n_left]) + cost_of_rows(form, stats[n_left:])
    return cost_of_rows(form, stats) - apart


@compiled
def may_divide(node, claim, tree, rows):  # type: ignore[no-untyped-def]
    """Whether a leaf is one for want of a split alone: not by depth, weight or purity."""
    first, last = rows.starts[node], rows.ends[node]
    weight, differs = 0.0, False
    for i in range(first, last):
        weight += rows.stats[i, 0]
        for output in range(rows.target.shape[1]):
            differs |= rows.target[i, output] != rows.target[first, output]
    is_heavy = weight >= max(claim.min_split, 2.0 * claim.min_leaf) * (1.0 + 1e-12)
    return differs and is_heavy and tree.whole[node, DEPTH] < claim.max_depth


@inner
def best_of_tried(form, claim, columns, tree, rows, node, stats, path, noise):  # type: ignore[no-untyped-def]
    """The best gain among the columns that a node tried, which its path draws again."""
    first, n_rows = rows.starts[node], stats.shape[0]
    names, x = np.empty(rows.n_codes.shape[0], dtype=np.int64), np.empty(n_rows)
    n_columns = list_columns(node, columns, tree, names)
    n_seen, state, best = 0, path, -np.inf
    for place in range(n_columns):
        if claim.n_tried < n_columns:
            if 0 < claim.n_tried <= n_seen and best > claim.min_gain - noise:
                break
            state = mixed(state)
            other = place + np.int64(uniform(state) * (n_columns - place))
            names[place], names[other] = names[other], names[place]
        j = names[place]
        low, high, n_missing = np.int64(256), np.int64(-1), 0
        for i in range(n_rows):
            code = np.int64(rows.codes[j, first + i])
            is_missing = code == rows.n_codes[j]
            x[i] = np.nan if is_missing else np.float64(code)
            low, high = min(low, code), max(high, np.int64(-1) if is_missing else code)
            n_missing += is_missing
        if high < 0 or (low == high and n_missing == 0):
            continue
        n_seen += 1
        rule = Admissible(claim.min_leaf, np.float64(columns.signs[j]), -np.inf, np.inf)
        if columns.categorical[j]:
            gain = gain_of_levels(form, x, stats, np.int64(rows.n_codes[j]), rule)
        elif claim.random_cuts:
            cut = draw_code(uniform(mixed(state + np.uint64(j + 1))), columns, j, low, high)
            gain = gain_of_cut(form, x, stats, cut, rule)
        else:
            gain = gain_by_sorting(form, x, stats, rule)
        best = max(best, gain)
    return best


@inner
def gain_of_cut(form, x, stats, cut, rule):  # type: ignore[no-untyped-def]
    """What one cut gains, with the missing values on the better side."""
    best, side = -np.inf, np.empty(x.shape[0])
    for missing_right in range(2):
        for i in range(x.shape[0]):
            side[i] = np.float64(missing_right) if x[i] != x[i] else np.float64(x[i] > cut)
        best = max(best, gain_by_sorting(form, side, stats, rule))
    return best


@inner
def gain_of_levels(form, x, stats, n_levels, rule):  # type: ignore[no-untyped-def]
    """The best gain of a grouping of levels: all of few, else the cuts of their orders by mean statistic."""
    n_sums = stats.shape[1]
    sums, ranks = np.zeros((n_levels, n_sums)), np.full(n_levels, -1)
    for i in range(x.shape[0]):
        if x[i] == x[i]:
            for k in range(n_sums):
                sums[np.int64(x[i]), k] += stats[i, k]
    n_there = 0
    for level in range(n_levels):
        if sums[level, 0] > 0.0:
            ranks[level] = n_there
            n_there += 1
    best, side = -np.inf, np.empty(x.shape[0])
    several = n_sums > 3
    if form.classes and several and n_there <= EXHAUSTIVE:
        for bits in range(1, 1 << n_there):
            for i in range(x.shape[0]):
                side[i] = np.float64((bits >> ranks[np.int64(x[i])]) & 1) if x[i] == x[i] else np.nan
            best = max(best, gain_by_sorting(form, side, stats, rule))
        return best
    first = 1 if several or not form.classes else 2
    means, order = np.empty(n_levels), np.empty(n_levels, dtype=np.int64)
    for k in range(first, n_sums if several else first + 1):
        for level in range(n_levels):
            means[level] = sums[level, k] / sums[level, 0] if sums[level, 0] > 0.0 else np.inf
        sort_places(means, n_levels, order)  # levels of one mean stay apart
        for place in range(n_levels):
            ranks[order[place]] = place
        for i in range(x.shape[0]):
            side[i] = np.float64(ranks[np.int64(x[i])]) if x[i] == x[i] else np.nan
        best = max(best, gain_by_sorting(form, side, stats, rule))
    return best
