"""From rows to a fitted tree: make room, grow, number the nodes, turn codes into thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.trees.growing.columns import Columns
from assay.trees.growing.criteria import AbsoluteError, Several, impurity, is_of_counts
from assay.trees.growing.finding import Site
from assay.trees.growing.medians import median_rows
from assay.trees.growing.nodes import (
    CENTER,
    COLUMN,
    CUT,
    END,
    GAIN,
    HIGH,
    LEAF,
    LEFT,
    LOW,
    NEXT,
    RIGHT,
    START,
    GrowingTree,
    empty_tree,
    preorder,
)
from assay.trees.growing.space import ColumnRules, Limits, make_space
from assay.trees.growing.statistics import SeveralRows, center_of, class_rows, moment_rows, several_rows
from assay.trees.growing.table import BinnedTable, SortedTable, room_near
from assay.trees.growing.whole import grow
from assay.trees.tree import NO_THRESHOLD, Tree


def column_rules(
    columns: Columns, signs: NDArray | None = None, groups: NDArray | None = None
) -> ColumnRules:
    """What the grower must know of each column; see `ColumnRules`."""
    d = columns.n_columns
    return ColumnRules(
        columns.categorical,
        np.zeros(d, dtype=np.int8) if signs is None else signs.astype(np.int8),
        np.empty((0, d), dtype=np.bool_) if groups is None else groups,
        columns.low if columns.low is columns.high else 0.5 * columns.low + 0.5 * columns.high,
        columns.offsets,
    )


class Counted(NamedTuple):
    """Statistics of the rows of a tree in units, what a unit of each sum is worth, where numbers begin."""

    rows: Any
    units: NDArray[np.float64]
    center: Any

    def finish(self, tree: Tree, leaves: NDArray, target: NDArray, weight: NDArray, form: Any) -> Tree:
        """The tree with values that count from 0, and the impurities of numbers measured."""
        if form.classes:
            return tree
        tree = tree.with_values(tree.value + self.center) if np.any(self.center != 0.0) else tree
        return measured_impurity(tree, leaves, target, weight, form)


def count_rows(
    form: Any, target: NDArray, weight: NDArray, n_shares: int, inside: NDArray, usual: NDArray
) -> Counted:
    """Statistics of the rows `inside`, which weigh something, as a criterion takes them.

    Numbers are counted from their mean, where rows have the weights `usual`: the same for all trees of a
    forest. `n_shares` is the number of classes of all outputs.
    """
    if form.classes:
        rows, unit = class_rows(target, weight)
        return Counted(rows, np.full(n_shares + 1, unit), 0.0)
    centered = not is_of_counts(form)
    if target.ndim == 2:
        center = np.array([center_of(column, usual) if centered else 0.0 for column in target.T])
        return Counted(*several_rows(weight, target - center, centered=centered), center)
    if isinstance(form, AbsoluteError):
        return Counted(*median_rows(weight, target, inside), 0.0)
    start = center_of(target, usual) if centered else 0.0
    return Counted(*moment_rows(weight, target - start, weight, centered=centered), start)


def grow_tree(
    table: SortedTable | BinnedTable,
    rows: Any,
    unit: NDArray,
    form: Any,
    limits: Limits,
    columns: Columns,
    rules: ColumnRules,
) -> tuple[Tree, NDArray[np.int32]]:
    """Grow one tree on the rows of a table; the table is rearranged.

    Returns
    -------
    tree : Tree
    leaves : int32 array of shape (n_table_rows,)
        The leaf of each row of the tree; −1 for rows that are not among them.
    """
    n_rows, n_sums = len(table.rows), len(unit)
    most = n_rows if limits.max_leaves == 0 else min(n_rows, limits.max_leaves)
    if limits.max_depth < 40:
        most = min(most, 2**limits.max_depth)
    capacity = 2 * most + 1
    n_outputs = rows.raw.shape[1] - 1 if isinstance(rows, SeveralRows) else 1
    has_levels = bool(rules.categorical.any())
    growing = empty_tree(capacity, n_sums, categories=has_levels, n_outputs=n_outputs)
    n_total = n_rows if isinstance(table, SortedTable) else table.codes.shape[1]
    most_codes = int(table.n_codes.max(initial=0))
    space = make_space(n_rows, len(rules.signs), n_sums, most_codes, unit, capacity)
    goes_left = np.empty(max(n_total, int(table.rows.max(initial=0)) + 1), dtype=np.bool_)
    site = Site(table, rows, rules, growing, space)
    n_nodes = grow(site, room_near(table, rows), form, limits, goes_left)
    return finished(growing, n_nodes, form, columns, table.rows, len(goes_left))


def finished(
    growing: GrowingTree, n_nodes: int, form: Any, columns: Columns, rows: NDArray, n_total: int
) -> tuple[Tree, NDArray[np.int32]]:
    """The grown nodes in the order of readers, and the leaf of each row."""
    order, place = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes + 1, dtype=np.int64)
    place[-1] = -1  # the child of a leaf
    preorder(growing, n_nodes, order, place)
    whole, real = growing.whole.take(order, axis=0), growing.real.take(order, axis=0)
    sums = growing.sums.take(order, axis=0)
    feature = whole[:, COLUMN]
    inner = feature != LEAF
    threshold = np.full(n_nodes, NO_THRESHOLD)
    ordered = inner & ~columns.categorical[feature]
    threshold[ordered] = columns.thresholds(feature[ordered], whole[ordered, CUT], whole[ordered, NEXT])
    grouped = inner & ~ordered
    levels = np.where(grouped, np.cumsum(grouped) - 1, -1)
    tree = Tree(
        children_left=np.where(inner, place[whole[:, LEFT]], -1).astype(np.int32),
        children_right=np.where(inner, place[whole[:, RIGHT]], -1).astype(np.int32),
        feature=feature.astype(np.int32),
        threshold=threshold,
        missing_go_to_left=growing.missing_left[order] & inner,
        levels=levels.astype(np.int32),
        bits=growing.bits[order[grouped]],
        value=node_values(form, sums, real),
        impurity=impurity(form, sums),
        gain=np.where(inner, real[:, GAIN], 0.0),
        weighted_n_node_samples=sums[:, 0],
        n_node_samples=whole[:, END] - whole[:, START],
        cut=np.where(inner, whole[:, CUT], -1),
    )
    leaves = np.full(n_total, -1, dtype=np.int32)
    ends = np.flatnonzero(~inner)
    ends = ends[np.argsort(whole[ends, START])]
    leaves[rows] = np.repeat(ends, (whole[ends, END] - whole[ends, START]))
    return tree, leaves


def node_values(form: Any, sums: NDArray, real: NDArray) -> NDArray[np.float64]:
    """Shares of the classes, the mean (the Newton step) or the median, within the bounds of the node."""
    if form.classes:
        shares = sums[:, 1:] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0)
        if shares.shape[1] == 2 and np.isfinite(real[:, [LOW, HIGH]]).any():  # constraints order the second
            second = np.clip(shares[:, 1], real[:, LOW], real[:, HIGH])
            shares = np.column_stack([1.0 - second, second])
        return shares
    if isinstance(form, AbsoluteError):
        return np.clip(sums[:, 1], real[:, LOW], real[:, HIGH])[:, np.newaxis]
    size = (sums[:, 2] + getattr(form, "l2", 0.0))[:, np.newaxis]
    totals = np.delete(sums, (0, 2), axis=1)
    value = np.divide(totals, size, out=np.zeros_like(totals), where=size > 0) + real[:, CENTER::2]
    return np.clip(value, real[:, [LOW]], real[:, [HIGH]])


def measured_impurity(tree: Tree, leaves: NDArray, target: NDArray, weight: NDArray, form: Any) -> Tree:
    """The tree with the impurity of every node measured on the rows: variance, or half the mean deviance.

    Sums of squares are taken about the mean of each leaf and put together from the bottom up, so that nothing
    cancels.
    """
    if isinstance(form, AbsoluteError):  # measured as it grew
        return tree
    if isinstance(form, Several):
        each = (measured_impurity(tree, leaves, column, weight, form.form).impurity for column in target.T)
        return replace(tree, impurity=np.mean(list(each), axis=0))
    n_nodes = tree.node_count
    totals = np.bincount(leaves, weight, minlength=n_nodes)
    means = np.bincount(leaves, weight * target, minlength=n_nodes) / np.where(totals > 0, totals, 1.0)
    is_poisson = is_of_counts(form)
    if is_poisson:
        terms = weight * poisson_terms(target, means[leaves])
    else:
        terms = weight * (target - means[leaves]) ** 2
    rests = np.bincount(leaves, terms, minlength=n_nodes)
    gather_up(tree.children_left, tree.children_right, totals, means, rests, is_poisson)
    return replace(tree, impurity=np.maximum(rests, 0.0) / np.where(totals > 0, totals, 1.0))


def poisson_terms(target: NDArray, mean: NDArray) -> NDArray[np.float64]:
    """Half the Poisson deviance of each row: y log(y/μ) − y + μ."""
    positive = target > 0
    ratio = np.divide(target, mean, out=np.ones_like(target, dtype=np.float64), where=positive & (mean > 0))
    return target * np.log(ratio) - target + mean


@compiled
def gather_up(left, right, totals, means, rests, is_poisson):  # type: ignore[no-untyped-def]
    """Weight, mean and sum of the row terms of inner nodes from those of their children."""
    for node in range(left.shape[0] - 1, -1, -1):  # children come after their parents
        if left[node] < 0:
            continue
        rest, total, mean = 0.0, totals[left[node]] + totals[right[node]], 0.0
        for child in (left[node], right[node]):
            mean += totals[child] / total * means[child]
        for child in (left[node], right[node]):
            weight, inside = totals[child], means[child]
            if is_poisson:
                between = inside * np.log(inside / mean) - inside + mean if inside > 0.0 else mean
            else:
                between = (inside - mean) ** 2
            rest += rests[child] + weight * between
        totals[node], means[node], rests[node] = total, mean, rest
