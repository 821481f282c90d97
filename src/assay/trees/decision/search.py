"""The best split of a node found the slow way, to prove the fast one: rows sorted anew, sums of floats."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import choices, compiled
from assay.trees.growing.criteria import AbsoluteError, cost
from assay.trees.growing.levels import EXHAUSTIVE
from assay.trees.tree import Tree


class Admissible(NamedTuple):
    """What a split must respect: weight of a side, direction of the column, bounds of the prediction."""

    min_leaf: float
    sign: float
    low: float
    high: float


def row_statistics(form: Any, target: NDArray, weight: NDArray, n_shares: int, center: Any = 0.0) -> NDArray:
    """Weighted statistics of each row, the weight first, as the criteria take them; see `Several`."""
    if form.classes:
        return np.column_stack([weight, weight[:, np.newaxis] * one_hot(target, n_shares)])
    columns = weight[:, np.newaxis] * (target.reshape(len(target), -1) - center)
    return np.ascontiguousarray(np.column_stack([weight, columns[:, 0], weight, columns[:, 1:]]))


def one_hot(labels: NDArray, n_shares: int) -> NDArray[np.bool_]:
    """Which class, or class of each output, a row is of."""
    places = labels.reshape(len(labels), -1, 1)
    return np.asarray((places == np.arange(n_shares)).any(axis=1))


@compiled
def gain_by_sorting(form, x, stats, rule):  # type: ignore[no-untyped-def]
    """The largest gain of a cut of one column, −inf where none is admissible.

    Parameters
    ----------
    form : NamedTuple
        The criterion.
    x : float64 array of shape (n_rows,)
        Values of the column, NaN where missing.
    stats : float64 array of shape (n_rows, n_sums)
        Weighted statistics of the rows, the weight first.
    rule : Admissible
    """
    return largest_gain(form, x, stats, rule)


@compiled
def cost_of_rows(form, stats):  # type: ignore[no-untyped-def]
    """Cost of a node of these rows."""
    return total_cost(form, stats)


def largest_gain(form: Any, x: NDArray, stats: NDArray, rule: Admissible) -> float:
    """See `gain_by_sorting`; for compiled loops only."""
    raise NotImplementedError("largest_gain is called inside compiled loops.")


def total_cost(form: Any, stats: NDArray) -> float:
    """See `cost_of_rows`; for compiled loops only."""
    raise NotImplementedError("total_cost is called inside compiled loops.")


@overload(total_cost, jit_options=choices(forceinline=False))
def _chosen_total(form, stats):  # type: ignore[no-untyped-def]
    def of_medians(form, stats):  # type: ignore[no-untyped-def]
        return costs_about_medians(np.arange(stats.shape[0]), stats)[-1] if stats.shape[0] > 0 else 0.0

    def of_sums(form, stats):  # type: ignore[no-untyped-def]
        total = np.zeros(stats.shape[1])
        for i in range(stats.shape[0]):
            for k in range(stats.shape[1]):
                total[k] += stats[i, k]
        return cost(form, total)

    return of_medians if form.instance_class is AbsoluteError else of_sums


@overload(largest_gain, jit_options=choices(forceinline=False))
def _chosen_gain(form, x, stats, rule):  # type: ignore[no-untyped-def]
    return _gain_of_medians if form.instance_class is AbsoluteError else _gain_of_sums


def _gain_of_medians(form, x, stats, rule):  # type: ignore[no-untyped-def]
    order = np.argsort(x)  # missing values come last
    n_known = np.sum(x == x)
    known, missing, best = order[:n_known], order[n_known:], -np.inf
    whole, least = cost_of_rows(form, stats), rule.min_leaf * (1.0 - 1e-12)
    for side in range(2 if len(missing) > 0 else 1):
        on_left, on_right = (missing, missing[:0]) if side == 1 else (missing[:0], missing)
        left = costs_about_medians(np.concatenate((on_left, known)), stats)
        right = costs_about_medians(np.concatenate((on_right, known[::-1])), stats)
        weight, total = stats[on_left, 0].sum(), stats[:, 0].sum()
        for p in range(1, n_known + 1 if len(on_right) > 0 else n_known):
            weight += stats[known[p - 1], 0]
            if p < n_known and x[known[p]] == x[known[p - 1]]:
                continue
            if weight < least or total - weight < least:
                continue
            apart = left[len(on_left) + p - 1] + right[len(on_right) + n_known - p - 1]
            best = max(best, whole - apart)
    return best


@compiled
def costs_about_medians(places, stats):  # type: ignore[no-untyped-def]
    """Σ w |y − m| about the median of the first rows of a list, for every number of them.

    Weights and sums of those that are there are kept in a Fenwick tree by target, which is descended to the
    middle.
    """
    n_rows = stats.shape[0]
    target = stats[:, 1] / stats[:, 0]
    order = np.argsort(target)
    ranks, sums = np.empty(n_rows, dtype=np.int64), np.zeros((n_rows + 1, 2))
    for rank in range(n_rows):
        ranks[order[rank]] = rank
    whole, whole_sum, costs = 0.0, 0.0, np.empty(places.shape[0])
    top = 1
    while 2 * top <= n_rows:
        top *= 2
    for p in range(places.shape[0]):
        i = places[p]
        whole, whole_sum = whole + stats[i, 0], whole_sum + stats[i, 1]
        at = ranks[i] + 1
        while at <= n_rows:
            sums[at, 0] += stats[i, 0]
            sums[at, 1] += stats[i, 1]
            at += at & -at
        at, under, under_sum, step = 0, 0.0, 0.0, top
        while step > 0:  # to the last place before which less than half of the weight lies
            if at + step <= n_rows and 2.0 * (under + sums[at + step, 0]) < whole:
                at += step
                under, under_sum = under + sums[at, 0], under_sum + sums[at, 1]
            step >>= 1
        middle = target[order[min(at, n_rows - 1)]]
        costs[p] = max(middle * (2.0 * under - whole) + whole_sum - 2.0 * under_sum, 0.0)
    return costs


def medians_of_nodes(
    tree: Tree, leaves: NDArray, target: NDArray, weight: NDArray
) -> tuple[NDArray, NDArray]:
    """The weighted median of the rows of each node, and what they cost about it, by sorting."""
    order = np.argsort(leaves, kind="stable")
    starts = np.searchsorted(leaves[order], np.arange(tree.node_count))
    ends = np.searchsorted(leaves[order], last_nodes(tree))
    medians, costs = np.zeros(tree.node_count), np.zeros(tree.node_count)
    sort_parts(starts, ends, target[order], weight[order], medians, costs)
    return medians, costs


@compiled
def sort_parts(starts, ends, target, weight, medians, costs):  # type: ignore[no-untyped-def]
    """See `medians_of_nodes`; half of the weight on either side gives the middle of two targets."""
    for node in range(starts.shape[0]):
        y, w = target[starts[node] : ends[node]], weight[starts[node] : ends[node]]
        if y.shape[0] == 0:
            continue
        order, half, p = np.argsort(y), 0.5 * w.sum(), 0
        under = w[order[0]]
        while under < half * (1.0 - 1e-12):
            p += 1
            under += w[order[p]]
        after = min(p + 1, y.shape[0] - 1) if under <= half * (1.0 + 1e-12) else p
        medians[node] = 0.5 * y[order[p]] + 0.5 * y[order[after]]
        costs[node] = np.sum(w * np.abs(y - medians[node]))


def last_nodes(tree: Tree) -> NDArray[np.int64]:
    """One past the last node of what grows from each node, which is numbered without gaps."""
    sizes = np.ones(tree.node_count, dtype=np.int64)
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        sizes[node] += sizes[tree.children_left[node]] + sizes[tree.children_right[node]]
    return np.arange(tree.node_count) + sizes


def _gain_of_sums(form, x, stats, rule):  # type: ignore[no-untyped-def]
    n_sums = stats.shape[1]
    order = np.argsort(x)  # missing values come last
    total, missing = np.zeros(n_sums), np.zeros(n_sums)
    left, right = np.zeros(n_sums), np.zeros(n_sums)
    n_known = 0
    for i in range(x.shape[0]):
        is_known = x[i] == x[i]
        n_known += is_known
        for k in range(n_sums):
            total[k] += stats[i, k]
            if not is_known:
                missing[k] += stats[i, k]
    whole, best = cost(form, total), -np.inf
    some_missing = n_known < x.shape[0]
    for side in range(2 if some_missing else 1):
        for k in range(n_sums):
            left[k] = missing[k] if side == 1 else 0.0
        for p in range(n_known):
            for k in range(n_sums):
                left[k] += stats[order[p], k]
            if p + 1 == n_known:
                if side == 1 or not some_missing:
                    break
            elif x[order[p + 1]] == x[order[p]]:
                continue
            for k in range(n_sums):
                right[k] = total[k] - left[k]
            least = rule.min_leaf * (1.0 - 1e-12)
            if left[0] < least or right[0] < least:
                continue
            if rule.sign != 0.0:
                top = 1 if n_sums == 3 and not form.classes else 2
                below = 0
                first = min(max(left[top] / left[below], rule.low), rule.high)
                second = min(max(right[top] / right[below], rule.low), rule.high)
                if rule.sign * (second - first) < 0.0:
                    continue
            best = max(best, whole - cost(form, left) - cost(form, right))
    return best


def best_gain(
    form: Any, X: NDArray, stats: NDArray, columns: NDArray, categorical: NDArray, rules: list[Admissible]
) -> float:
    """The largest gain over some columns of the rows of a node."""
    best = -np.inf
    for j in columns:
        x = np.ascontiguousarray(X[:, j], dtype=np.float64)
        if not categorical[j]:
            best = max(best, gain_by_sorting(form, x, stats, rules[j]))
            continue
        for ordered in groupings(x, stats, is_class=form.classes):
            best = max(best, gain_by_sorting(form, ordered, stats, rules[j]))
    return float(best)


def groupings(x: NDArray, stats: NDArray, *, is_class: bool) -> list[NDArray]:
    """Orders of the levels among whose cuts the best grouping is, or all groupings of few levels."""
    known = ~np.isnan(x)
    levels, places = np.unique(x[known], return_inverse=True)

    def as_column(ranks: NDArray) -> NDArray[np.float64]:
        column = np.full(len(x), np.nan)
        column[known] = ranks[places]
        return column

    several = stats.shape[1] > 3
    if is_class and several and len(levels) <= EXHAUSTIVE:
        result = []
        for size in range(1, len(levels) // 2 + 1):
            for chosen in combinations(range(len(levels)), size):
                inside = np.zeros(len(levels))
                inside[list(chosen)] = 1.0
                result += [as_column(inside), as_column(1.0 - inside)]
        return result or [as_column(np.zeros(len(levels)))]
    weights = np.bincount(places, stats[known, 0], minlength=len(levels))
    result = []
    for k in range(1, stats.shape[1]) if several else [2 if is_class else 1]:
        means = np.bincount(places, stats[known, k], minlength=len(levels)) / np.where(
            weights > 0, weights, 1
        )
        result.append(as_column(np.argsort(np.argsort(means, kind="stable"), kind="stable").astype(float)))
    return result
