"""The best split of every node once more: by sorting rows and adding floats, not from integer histograms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trees.boosting.ensemble import LEAF, BoostedTrees
from assay.trees.growing.binned.searching import CAUTION, NOISE
from assay.trees.growing.columns import Columns

TIED = 1e-9
"""Splits whose worth differs by no more than this share may have been taken one for the other."""

SLACK = 1e-9
"""Sides that just miss or just meet a limit are left out by this share: their sums are rounded."""


class Rows(NamedTuple):
    """Rows that a tree was grown on, in the order of its leaves.

    `codes` has a row per column; `kinds` has weight, weighted slope and weighted curvature of each row, and
    how far the fixed point may round the last two: shape (5, n_rows).
    """

    codes: NDArray[np.uint8]
    kinds: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class Rules(NamedTuple):
    """What a split must respect."""

    l2: float
    min_leaf: float
    max_depth: int
    max_leaves: int
    every_column: bool
    signs: NDArray[np.int8] | None
    groups: NDArray[np.bool_] | None
    columns: Columns
    flattest: float
    noise: float


def rules_of(
    model: Any, signs: NDArray | None, groups: NDArray | None, flattest: float, noise: float
) -> Rules:
    """The rules of a fitted model."""
    return Rules(
        float(model.l2_regularization),
        float(model.min_samples_leaf) if model.min_samples_leaf > 1 else 0.0,
        10**6 if model.max_depth is None else int(model.max_depth),
        10**9 if model.max_leaf_nodes is None else int(model.max_leaf_nodes),
        float(model.max_features) >= 1.0,
        signs,
        groups,
        model.columns_,
        flattest,
        noise,
    )


def rows_by_leaf(trees: BoostedTrees, nodes: slice, leaf: NDArray, codes: NDArray, kinds: NDArray) -> Rows:
    """Rows in an order in which those of every node are consecutive."""
    feature, left, right = trees.feature[nodes], trees.children_left[nodes], trees.children_right[nodes]
    rank, stack, count = np.zeros(len(feature), dtype=np.int64), [0], 0
    while stack:
        node = stack.pop()
        if feature[node] == LEAF:
            rank[node], count = count, count + 1
        else:
            stack += [int(right[node]), int(left[node])]
    order = np.argsort(rank[leaf], kind="stable")
    sizes = np.bincount(rank[leaf], minlength=count)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    starts, ends = bounds[rank], bounds[rank + 1]
    for node in range(len(feature) - 1, -1, -1):  # children come after their parents
        if feature[node] != LEAF:
            starts[node], ends[node] = starts[left[node]], ends[right[node]]
    return Rows(codes[:, order], kinds[:, order], starts, ends)


def value_bounds(
    trees: BoostedTrees, nodes: slice, sums: NDArray, signs: NDArray | None
) -> NDArray[np.float64]:
    """What monotone constraints leave to the value of each node: its least and largest, one row per node."""
    feature, left, right = trees.feature[nodes], trees.children_left[nodes], trees.children_right[nodes]
    bounds = np.tile([-np.inf, np.inf], (len(feature), 1))
    if signs is None:
        return bounds
    value = np.divide(sums[:, 1], sums[:, 2], out=np.zeros(len(sums)), where=sums[:, 2] > 0)
    for node in np.flatnonzero(feature != LEAF):
        a, b = left[node], right[node]
        bounds[a] = bounds[b] = bounds[node]
        sign = signs[feature[node]]
        if sign != 0:
            middle = 0.5 * (np.clip(value[a], *bounds[node]) + np.clip(value[b], *bounds[node]))
            rising, falling = (a, b) if sign > 0 else (b, a)
            bounds[rising, 1] = bounds[falling, 0] = middle
    return bounds


class Best(NamedTuple):
    """The best split of a node: what it is worth, and what it gains; groupings are worth a share of that."""

    worth: float
    gain: float


def missed_gain(
    trees: BoostedTrees,
    nodes: slice,
    rows: Rows,
    sums: NDArray,
    bounds: NDArray,
    rules: Rules,
    drawn: NDArray[np.bool_],
) -> float:
    """Largest gain that a tree has missed, relative to what its root could gain: 0 where it missed none.

    `drawn` are the columns that the tree could be divided by.

    A node misses the worth of its best admissible split over the one taken; while another node was divided,
    an open one must not gain more; a leaf that may be divided must not gain unless the leaves have run out.
    """
    feature, left = trees.feature[nodes], trees.children_left[nodes]
    right, gain = trees.children_right[nodes], trees.gain[nodes]
    n_nodes, inner = len(feature), feature != LEAF
    depth = np.zeros(n_nodes, dtype=np.int64)
    allowed = np.ones((n_nodes, len(rows.codes) if rules.groups is None else len(rules.groups)), dtype=bool)
    for node in np.flatnonzero(inner).tolist():
        for child in (left[node], right[node]):
            depth[child] = depth[node] + 1
            if rules.groups is not None:
                allowed[child] = allowed[node] & rules.groups[:, feature[node]]
    best, taken = np.zeros((n_nodes, 2)), gain.copy()
    for node in range(n_nodes):
        if not inner[node] and depth[node] >= rules.max_depth:
            continue
        columns = np.flatnonzero(drawn)
        if rules.groups is not None:
            columns = np.flatnonzero(drawn & rules.groups[allowed[node]].any(axis=0))
        if not rules.every_column:  # the others may not have been drawn
            columns = np.array([feature[node]] if inner[node] else [], dtype=np.intp)
        if len(columns) and sums[node, 0] >= 2 * rules.min_leaf:
            best[node] = best_split(rows, node, bounds[node], columns, rules)
        if inner[node] and rules.columns.categorical[feature[node]]:
            taken[node] = worth_of_grouping(trees, nodes.start + node, rows, node, rules)
    rounding = NOISE * np.abs(worth_of(sums[:, 1], sums[:, 2], rules.l2)) + room_of(sums[:, 1:], rules.l2)
    worth, best_gain = best.T
    lacking = np.where(inner, worth - taken, 0.0)
    if int((~inner).sum()) < rules.max_leaves:
        lacking = np.where(inner, lacking, worth)
    elif rules.every_column:
        created, ended = np.arange(n_nodes), np.where(inner, left, n_nodes + 1)
        rank = np.where(inner, gain, best_gain)
        for node in np.flatnonzero(inner).tolist():  # a node is divided when its children are made
            rivals = (created < left[node]) & (ended > left[node])
            largest = float((rank - rounding)[rivals].max(initial=-np.inf))
            lacking[node] = max(lacking[node], largest - gain[node])
    scale = max(float(gain.max(initial=0.0)), np.finfo(float).tiny)
    return float(np.max(lacking - rounding, initial=0.0) / scale)


def worth_of(slope: NDArray, size: NDArray, l2: float) -> NDArray[np.float64]:
    """S²/(H + λ): twice what a Newton step gains."""
    whole = size + l2
    return np.divide(slope**2, whole, out=np.zeros_like(whole), where=whole > 0)


def room_of(sums: NDArray, l2: float) -> NDArray[np.float64]:
    """What rounding may change in S²/(H + λ); `sums` has S, H and the rounding of both in columns."""
    slope, size = np.abs(sums[..., 0]), sums[..., 1] + l2
    step = np.divide(slope, size, out=np.zeros_like(size), where=size > 0)
    return 2 * sums[..., 2] * step + sums[..., 3] * step**2 + 1e-12 * step * slope


def best_split(rows: Rows, node: int, bounds: NDArray, columns: NDArray, rules: Rules) -> Best:
    """The best of the admissible splits of a node, less what rounding may have added to it.

    Of those that are worth as much, or just miss a limit and are worth more, the least gain.
    """
    surely, perhaps = [Best(0.0, 0.0)], [Best(-np.inf, np.inf)]
    careful = rules._replace(l2=rules.l2 + CAUTION * rules.noise)
    for j in columns:
        _, levels, missing = sums_of_codes(rows, node, j, rules)
        if levels.shape[1] == 0:
            continue
        left = expected = np.cumsum(levels, axis=1)
        is_category = rules.columns.categorical[j]
        if is_category:
            left, expected = _in_order_of_steps(levels, expected_of(levels, rules.noise))
        for slack, splits in ((SLACK, surely), (-SLACK, perhaps)):
            gain, worth = (
                _gains(_sides(sums, missing), sums[:, -1] + missing, bounds, j, own, slack)
                for sums, own in ((left, rules), (expected, careful if is_category else rules))
            )
            if worth.max(initial=-np.inf) > 0:
                top = int(np.argmax(worth))
                splits.append(Best(float(worth[top]), float(gain[top])))
    most = max(one.worth for one in surely)
    return Best(most, min(one.gain for one in surely + perhaps if one.worth >= most * (1 - TIED)))


def worth_of_grouping(trees: BoostedTrees, place: int, rows: Rows, node: int, rules: Rules) -> float:
    """What the grouping of levels at a place of the trees is worth in its node, as `best_split` counts it."""
    codes, levels, missing = sums_of_codes(rows, node, int(trees.feature[place]), rules)
    levels, words = expected_of(levels, rules.noise), trees.bits[trees.levels[place]]
    goes_left = (words[codes >> 5] >> (codes & 31).astype(np.uint32)) & np.uint32(1) == 1
    total = levels.sum(axis=1) + missing
    left = levels[:, goes_left].sum(axis=1) + (missing if trees.missing_go_to_left[place] else 0.0)
    l2 = rules.l2 + CAUTION * rules.noise
    first, second, both = (worth_of(sums[1:2], sums[2:3], l2) for sums in (left, total - left, total))
    return float((first + second - both)[0])


def sums_of_codes(
    rows: Rows, node: int, j: int, rules: Rules
) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
    """Codes of a column that a node has, the sums of the rows of each, and those of its missing values."""
    part = slice(rows.starts[node], rows.ends[node])
    codes = rows.codes[j, part]
    order = np.argsort(codes, kind="stable")
    codes, n_codes = codes[order], int(rules.columns.n_codes[j])
    sums = np.cumsum(rows.kinds[:, part][:, order], axis=1)
    ends = np.flatnonzero(np.append(codes[1:] != codes[:-1], True) & (codes < n_codes))
    known = sums[:, ends[-1]] if len(ends) else np.zeros(len(sums))
    return codes[ends], np.diff(sums[:, ends], axis=1, prepend=0.0), sums[:, -1] - known


def _sides(left: NDArray, missing: NDArray) -> NDArray[np.float64]:
    """Sums of the left sides of the cuts after each code, with missing values on either side."""
    if not missing[0] > 0:
        return left[:, :-1]
    return np.concatenate([left, left[:, :-1] + missing[:, np.newaxis]], axis=1)


def expected_of(levels: NDArray, noise: float) -> NDArray[np.float64]:
    """The sums of levels with the slopes that are expected of other rows; see `grouping.expect_steps`.

    With random effects of variance τ² (DerSimonian & Laird): slopes of the common step where τ² is 0.
    """
    _, slope, size = levels[:3]
    if noise == 0 or levels.shape[1] < 2 or not size.sum() > 0:
        return levels
    steps = np.divide(slope, size, out=np.zeros_like(slope), where=size > 0)
    spread = np.sum(size * (steps - slope.sum() / size.sum()) ** 2)
    most = size.sum() - np.sum(size**2) / size.sum()
    between = max(float(spread - noise * (len(size) - 1)) / most, 0.0) if most > 0 else 0.0
    precision = size / (between * size + noise)
    mean = np.sum(precision * steps) / precision.sum()
    kept = between * precision
    return np.vstack([levels[:1], size * (mean + kept * (steps - mean)), levels[2:]])


def _in_order_of_steps(levels: NDArray, expected: NDArray) -> tuple[NDArray, NDArray]:
    """Sums of the first levels in the order of the expected steps S/H, as they are and as they are expected.

    Near ones, whose order is open, come together.
    """
    size = np.maximum(levels[2], np.finfo(float).tiny)
    step = np.where(levels[2] > 0, expected[1] / size, 0.0)
    off = (levels[3] + np.abs(step) * levels[4]) / size + 1e-12 * np.abs(step)
    order = np.argsort(step, kind="stable")
    apart = np.diff(step[order]) > off[order][1:] + off[order][:-1]
    ends = np.append(apart, True)
    return np.cumsum(levels[:, order], axis=1)[:, ends], np.cumsum(expected[:, order], axis=1)[:, ends]


def _gains(
    first: NDArray, whole: NDArray, bounds: NDArray, j: int, rules: Rules, slack: float
) -> NDArray[np.float64]:
    """What splits with these left sides gain, less what rounding may have added; −∞ where it is forbidden."""
    second = whole[:, np.newaxis] - first
    least = rules.min_leaf * (1 + slack)
    fits = (first[0] >= least) & (second[0] >= least) & (first[0] > 0) & (second[0] > 0)
    sign = 0 if rules.signs is None else int(rules.signs[j])
    if sign == 0 and not rules.columns.categorical[j]:
        lowest = rules.flattest * (1 + slack) + np.copysign(np.maximum(first[4], second[4]), slack)
        fits &= (first[2] >= lowest) & (second[2] >= lowest)
    elif sign != 0:
        values = [
            np.clip(np.divide(s[1], s[2], out=np.zeros(s.shape[1]), where=s[2] > 0), *bounds)
            for s in (first, second)
        ]
        size = np.abs(values[0]) + np.abs(values[1])
        fits &= sign * (values[1] - values[0]) > np.copysign(1e-6, slack) * size
    gain = np.full(first.shape[1], -np.inf)
    if fits.any():
        total = np.zeros(int(fits.sum()))
        for side in (first[:, fits], second[:, fits]):
            total = total + worth_of(side[1], side[2], rules.l2) - room_of(side[1:].T, rules.l2)
        gain[fits] = total - worth_of(whole[1:2], whole[2:3], rules.l2)
    return gain


def wrong_sides(trees: BoostedTrees, nodes: slice, rows: Rows, sums: NDArray, columns: Columns) -> int:
    """Splits that send what their rows have not shown, missing values or levels, to the lighter side."""
    wrong = 0
    for node in np.flatnonzero(trees.feature[nodes] != LEAF):
        place = nodes.start + node
        j, goes_left = int(trees.feature[place]), bool(trees.missing_go_to_left[place])
        codes, n_codes = rows.codes[j, rows.starts[node] : rows.ends[node]], int(columns.n_codes[j])
        surplus = 2 * sums[trees.children_left[place], 0] - sums[node, 0]
        if not np.any(codes == n_codes) and abs(surplus) > SLACK * sums[node, 0]:
            wrong += goes_left != (surplus > 0)
        if trees.levels[place] >= 0:
            other = np.setdiff1d(np.arange(n_codes), codes)
            words = trees.bits[trees.levels[place]]
            sides = (words[other >> 5] >> (other & 31).astype(np.uint32)) & np.uint32(1) == 1
            wrong += int(np.any(sides != goes_left))
    return wrong
