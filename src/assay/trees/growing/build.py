"""From rows to a fitted tree: make room, grow, number the nodes, turn codes into thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.trees.growing.columns import Columns
from assay.trees.growing.criteria import impurity
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
from assay.trees.growing.table import CodeTable, room_near
from assay.trees.growing.whole import ColumnRules, Limits, grow, make_space
from assay.trees.tree import Tree


def column_rules(
    columns: Columns, signs: NDArray | None = None, groups: NDArray | None = None
) -> ColumnRules:
    """What the grower must know of each column; see `ColumnRules`."""
    d = columns.n_columns
    return ColumnRules(
        columns.categorical,
        np.zeros(d, dtype=np.int8) if signs is None else signs.astype(np.int8),
        np.empty((0, d), dtype=np.bool_) if groups is None else groups,
        0.5 * columns.low + 0.5 * columns.high,
        columns.offsets,
    )


def grow_tree(
    table: CodeTable,
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
    growing = empty_tree(2 * most + 1, n_sums, categories=bool(rules.categorical.any()))
    n_total = table.codes.shape[1] if table.codes.size else n_rows
    space = make_space(n_rows, len(rules.signs), n_sums, int(table.n_codes.max(initial=0)), unit)
    goes_left = np.empty(max(n_total, int(table.rows.max(initial=0)) + 1), dtype=np.bool_)
    n_nodes = grow(table, rows, room_near(table, rows), form, limits, rules, growing, space, goes_left)
    return finished(growing, n_nodes, form, columns, table, len(goes_left))


def finished(
    growing: GrowingTree, n_nodes: int, form: Any, columns: Columns, table: CodeTable, n_total: int
) -> tuple[Tree, NDArray[np.int32]]:
    """The grown nodes in the order of readers, and the leaf of each row."""
    order, place = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes + 1, dtype=np.int64)
    place[-1] = -1  # the child of a leaf
    preorder(growing, n_nodes, order, place)
    whole, real, sums = growing.whole[order], growing.real[order], growing.sums[order]
    feature = whole[:, COLUMN]
    inner = feature != LEAF
    threshold = np.full(n_nodes, np.nan)
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
        bits=growing.bits[order[grouped]] if grouped.any() else np.empty((0, 8), dtype=np.uint32),
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
    leaves[table.rows] = np.repeat(ends, (whole[ends, END] - whole[ends, START]))
    return tree, leaves


def node_values(form: Any, sums: NDArray, real: NDArray) -> NDArray[np.float64]:
    """Shares of the classes, or the mean (the Newton step) about the centre, within the bounds of the node."""
    if form.classes:
        return sums[:, 1:] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0)
    size = sums[:, 2] + getattr(form, "l2", 0.0)
    value = np.divide(sums[:, 1], size, out=np.zeros(len(sums)), where=size > 0) + real[:, CENTER]
    return np.clip(value, real[:, LOW], real[:, HIGH])[:, np.newaxis]
