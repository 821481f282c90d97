"""The best split of a node found the slow way, to prove the fast one: rows sorted anew, sums of floats."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.trees.growing.criteria import cost
from assay.trees.growing.levels import EXHAUSTIVE


class Admissible(NamedTuple):
    """What a split must respect: weight of a side, direction of the column, bounds of the prediction."""

    min_leaf: float
    sign: float
    low: float
    high: float


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

    n_classes = stats.shape[1] - 1 if is_class else 0
    if n_classes > 2 and len(levels) <= EXHAUSTIVE:
        result = []
        for size in range(1, len(levels) // 2 + 1):
            for chosen in combinations(range(len(levels)), size):
                inside = np.zeros(len(levels))
                inside[list(chosen)] = 1.0
                result += [as_column(inside), as_column(1.0 - inside)]
        return result or [as_column(np.zeros(len(levels)))]
    weights = np.bincount(places, stats[known, 0], minlength=len(levels))
    result = []
    for k in range(1, n_classes + 1) if n_classes > 2 else [2 if is_class else 1]:
        means = np.bincount(places, stats[known, k], minlength=len(levels)) / np.where(
            weights > 0, weights, 1
        )
        result.append(as_column(np.argsort(np.argsort(means, kind="stable"), kind="stable").astype(float)))
    return result
