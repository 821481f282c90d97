"""Fitted boosted trees: flat arrays, one row per node, and how they predict.

Rows are predicted on their codes. In a tree of at most 64 leaves, numbered from left to right, a node that
sends a row to the right rules out the leaves on its left; the row belongs to the first leaf not ruled out.
What the nodes of one column rule out depends on one code: a table of 256 words per tree and column gives the
leaf of a row by a few look-ups joined by AND, without a branch (Lucchese et al. 2015, on codes).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.trees.growing.columns import Columns

LEAF = -1
MOST_LEAVES = 64
ROWS_AT_ONCE = 1024


class LookUps(NamedTuple):
    """Which leaves each code of each column leaves possible, tree by tree.

    Attributes
    ----------
    first : int64 array of shape (n_trees + 1,)
        Where the tables of each tree begin; as many as it has columns, none where it has too many leaves.
    column : int64 array of shape (n_tables,)
    masks : uint64 array of shape (n_tables, 256)
    values : float64 array of shape (n_trees, 64)
        Of the leaves from left to right.
    """

    first: NDArray[np.int64]
    column: NDArray[np.int64]
    masks: NDArray[np.uint64]
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees whose values add up to scores, beside the constant that they start from.

    Attributes
    ----------
    starts : int64 array of shape (n_trees + 1,)
        Where the nodes of each tree begin; the trees of a round, one per output, follow one another.
    feature : int32 array of shape (n_nodes,)
        Column of the split, −1 in leaves.
    cut : int32 array of shape (n_nodes,)
        The last code on the left.
    threshold : float64 array of shape (n_nodes,)
        The largest value that goes left; NaN in leaves and in splits of categories.
    children_left, children_right : int32 arrays of shape (n_nodes,)
        Nodes of the same tree, counted from its first; −1 in leaves.
    missing_go_to_left : bool array of shape (n_nodes,)
    levels : int32 array of shape (n_nodes,)
        The row of `bits` of a split of categories, else −1.
    bits : uint32 array of shape (n_category_splits, 8)
        Codes that go left.
    value : float64 array of shape (n_nodes,)
        What a leaf adds to the score, shrinkage included; 0 in inner nodes.
    gain : float64 array of shape (n_nodes,)
    weight : float64 array of shape (n_nodes,)
        Weight of the training rows.
    slope, curvature : float64 arrays of shape (n_nodes,)
        Sums of the negative slopes and of the curvatures of the training rows, as the fit has rounded them.
    baseline : float64 array of shape (n_outputs,)
        The constant score.
    n_codes : int32 array of shape (n_columns,)
        Codes of each column; that of missing values is the next.
    """

    starts: NDArray[np.int64]
    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    threshold: NDArray[np.float64]
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    missing_go_to_left: NDArray[np.bool_]
    levels: NDArray[np.int32]
    bits: NDArray[np.uint32]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    weight: NDArray[np.float64]
    slope: NDArray[np.float64]
    curvature: NDArray[np.float64]
    baseline: NDArray[np.float64]
    n_codes: NDArray[np.int32]

    def __getstate__(self) -> dict[str, NDArray]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # tables are made anew

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoostedTrees):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name), equal_nan=True)
            for field in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.starts) - 1

    @property
    def n_outputs(self) -> int:
        """Scores per row."""
        return len(self.baseline)

    @property
    def n_rounds(self) -> int:
        """Number of rounds: trees per score."""
        return self.n_trees // self.n_outputs

    def tree(self, place: int) -> slice:
        """The nodes of a tree."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def of_outputs(self, outputs: range) -> BoostedTrees:
        """The trees of some of the scores."""
        places = [t for t in range(self.n_trees) if t % self.n_outputs in outputs]
        nodes = np.concatenate([np.arange(*self.starts[t : t + 2]) for t in places])
        per_node = {
            field.name: getattr(self, field.name)[nodes]
            for field in fields(self)
            if field.name not in ("starts", "bits", "baseline", "n_codes")
        }
        sizes = [int(self.starts[t + 1] - self.starts[t]) for t in places]
        starts = np.cumsum([0, *sizes]).astype(np.int64)
        return replace(self, starts=starts, baseline=self.baseline[outputs.start : outputs.stop], **per_node)

    def importances(self, n_columns: int) -> NDArray[np.float64]:
        """Share of each column in what the splits gain, per tree averaged."""
        inner = self.feature != LEAF
        total = np.bincount(self.feature[inner], self.gain[inner], minlength=n_columns)
        return np.asarray(total / (total.sum() if total.sum() > 0 else 1.0))

    @cached_property
    def _look_ups(self) -> LookUps:
        return look_ups(self)

    def _nodes(self) -> tuple[NDArray, ...]:
        sides = (self.children_left, self.children_right, self.missing_go_to_left)
        return (self.starts, self.feature, self.cut, *sides, self.levels, self.bits, self.value, self.n_codes)

    def one_tree(self, place: int) -> tuple[NDArray, ...]:
        """The nodes of one tree as the loops take those of all."""
        starts, feature, cut, left, right, missing, levels, bits, value, n_codes = self._nodes()
        nodes = self.tree(place)
        own = (feature[nodes], cut[nodes], left[nodes], right[nodes], missing[nodes], levels[nodes])
        return (starts[place : place + 2] - starts[place], *own, bits, value[nodes], n_codes)

    def add_scores(self, codes: NDArray[np.uint8], scores: NDArray, trees: range) -> None:
        """Add the values of some trees to scores, (n_rows, n_outputs); codes have a row per column."""
        add_values(codes, self._nodes(), self._look_ups, trees.start, trees.stop, scores)

    def scores(self, X: NDArray, columns: Columns, n_rounds: int | None = None) -> NDArray[np.float64]:
        """Scores of rows after so many rounds, all by default: shape (n_rows, n_outputs)."""
        n_rounds = self.n_rounds if n_rounds is None else n_rounds
        trees, scores = range(n_rounds * self.n_outputs), np.tile(self.baseline, (len(X), 1))
        for start in range(0, len(X), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            self.add_scores(codes_by_column(X[part], columns), scores[part], trees)
        return scores

    def round_scores(self, X: NDArray, columns: Columns, number: int) -> NDArray[np.float64]:
        """What one round adds to the scores of rows."""
        scores = np.zeros((len(X), self.n_outputs))
        trees = range(number * self.n_outputs, (number + 1) * self.n_outputs)
        for start in range(0, len(X), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            self.add_scores(codes_by_column(X[part], columns), scores[part], trees)
        return scores

    def leaves(self, X: NDArray, columns: Columns) -> NDArray[np.int32]:
        """The leaf of each row in each tree: shape (n_rows, n_trees)."""
        leaves = np.empty((len(X), self.n_trees), dtype=np.int32)
        for start in range(0, len(X), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            find_leaves(codes_by_column(X[part], columns), self._nodes(), leaves[part])
        return leaves


def codes_by_column(X: NDArray, columns: Columns) -> NDArray[np.uint8]:
    """Codes of a block of rows, a row per column, on this thread."""
    block = np.empty(X.shape, dtype=np.uint8)
    columns.encode_into(np.ascontiguousarray(X), block)
    return np.ascontiguousarray(block.T)


def look_ups(trees: BoostedTrees) -> LookUps:
    """Tables of all trees that have at most 64 leaves."""
    n_trees = trees.n_trees
    inner = trees.feature != LEAF
    owner = np.repeat(np.arange(n_trees), np.diff(trees.starts))
    small = np.bincount(owner[~inner], minlength=n_trees) <= MOST_LEAVES
    used = inner & small[owner]
    width = int(trees.feature.max(initial=0)) + 1
    pairs = np.unique(owner[used] * width + trees.feature[used])
    first = np.searchsorted(pairs, np.arange(n_trees + 1) * width)
    made = LookUps(
        first.astype(np.int64),
        (pairs % width).astype(np.int64),
        np.full((len(pairs), 256), 2**64 - 1, dtype=np.uint64),
        np.zeros((n_trees, MOST_LEAVES)),
    )
    fill_look_ups(trees._nodes(), made, small)
    return made


@compiled
def sends_left(code, node, nodes):  # type: ignore[no-untyped-def]
    """Whether a node sends a code to the left."""
    _, feature, cut, _, _, missing_left, levels, bits, _, n_codes = nodes
    if code >= n_codes[feature[node]]:
        return missing_left[node]
    if levels[node] >= 0:
        word = bits[levels[node], code >> 5]
        return (word >> np.uint32(code & 31)) & np.uint32(1) == np.uint32(1)
    return code <= cut[node]


@compiled
def fill_look_ups(nodes, made, small):  # type: ignore[no-untyped-def]
    """Number the leaves from left to right and write what every node rules out."""
    starts, feature, _, left, right, _, _, _, value, _ = nodes
    one = np.uint64(1)
    for t in range(small.shape[0]):
        base, count = starts[t], starts[t + 1] - starts[t]
        if not small[t]:
            continue
        begin, end = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        stack, seen = np.empty(count + 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
        size, leaf = 1, 0
        stack[0] = 0
        while size > 0:  # left part, right part, node
            node = stack[size - 1]
            if feature[base + node] < 0:
                begin[node], end[node] = leaf, leaf + 1
                made.values[t, leaf] = value[base + node]
                leaf += 1
                size -= 1
            elif seen[node] < 2:
                stack[size] = left[base + node] if seen[node] == 0 else right[base + node]
                seen[node] += 1
                size += 1
            else:
                begin[node], end[node] = begin[left[base + node]], end[right[base + node]]
                size -= 1
        for node in range(count):
            if feature[base + node] < 0:
                continue
            table = np.int64(made.first[t])
            while made.column[table] != feature[base + node]:
                table += 1
            child = left[base + node]
            above = one << np.uint64(begin[child])
            ruled = (above << np.uint64(end[child] - begin[child] - 1)) - above
            ruled |= one << np.uint64(end[child] - 1)
            for code in range(256):
                if not sends_left(code, base + node, nodes):
                    made.masks[table, code] &= ~ruled


@compiled
def add_values(codes, nodes, made, first, last, scores):  # type: ignore[no-untyped-def]
    """Add the leaves of some trees to the scores of few rows."""
    n_rows, n_outputs = scores.shape
    possible = np.empty(n_rows, dtype=np.uint64)
    for t in range(first, last):
        k = t % n_outputs
        if made.first[t] == made.first[t + 1]:
            walk_tree(codes, nodes, t, k, scores)
            continue
        for i in range(n_rows):
            possible[i] = np.uint64(0xFFFFFFFFFFFFFFFF)
        for table in range(made.first[t], made.first[t + 1]):
            column, masks = codes[made.column[table]], made.masks[table]
            for i in range(n_rows):
                possible[i] &= masks[column[i]]
        values = made.values[t]
        for i in range(n_rows):
            scores[i, k] += values[trailing_zeros(possible[i])]


@compiled
def trailing_zeros(word):  # type: ignore[no-untyped-def]
    """Place of the first bit of a word that has one."""
    lowest = word & (~word + np.uint64(1))
    place = np.int64(0)
    place += 32 * np.int64((lowest & np.uint64(0x00000000FFFFFFFF)) == np.uint64(0))
    place += 16 * np.int64((lowest & np.uint64(0x0000FFFF0000FFFF)) == np.uint64(0))
    place += 8 * np.int64((lowest & np.uint64(0x00FF00FF00FF00FF)) == np.uint64(0))
    place += 4 * np.int64((lowest & np.uint64(0x0F0F0F0F0F0F0F0F)) == np.uint64(0))
    place += 2 * np.int64((lowest & np.uint64(0x3333333333333333)) == np.uint64(0))
    place += np.int64((lowest & np.uint64(0x5555555555555555)) == np.uint64(0))
    return place


@compiled
def leaf_of(codes, i, nodes, t):  # type: ignore[no-untyped-def]
    """The leaf of a row, counted from the first node of its tree."""
    starts, feature, _, left, right, _, _, _, _, _ = nodes
    base, node = starts[t], np.int64(0)
    while feature[base + node] >= 0:
        j = feature[base + node]
        goes_left = sends_left(np.int64(codes[j, i]), base + node, nodes)
        node = np.int64(left[base + node] if goes_left else right[base + node])
    return node


@compiled
def walk_tree(codes, nodes, t, k, scores):  # type: ignore[no-untyped-def]
    """Add the leaves of one tree, node by node."""
    for i in range(scores.shape[0]):
        scores[i, k] += nodes[8][nodes[0][t] + leaf_of(codes, i, nodes, t)]


@compiled
def walk_rows(codes, rows, nodes, scores):  # type: ignore[no-untyped-def]
    """Add the leaves of the first tree to the scores of some rows of row-major codes."""
    _, feature, _, left, right, _, _, _, value, _ = nodes
    for i in rows:
        node = np.int64(0)
        while feature[node] >= 0:
            goes_left = sends_left(np.int64(codes[i, feature[node]]), node, nodes)
            node = np.int64(left[node] if goes_left else right[node])
        scores[i] += value[node]


@compiled
def find_leaves(codes, nodes, leaves):  # type: ignore[no-untyped-def]
    """The leaf of each row in each tree."""
    for t in range(leaves.shape[1]):
        for i in range(leaves.shape[0]):
            leaves[i, t] = leaf_of(codes, i, nodes, t)
