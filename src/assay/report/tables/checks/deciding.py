"""How far a column alone decides to which class or group a row belongs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

CHANCE = 1e-6
"""Levels that would decide the class with a greater probability by chance are not told."""


def share_by_levels(codes: NDArray, labels: NDArray) -> float:
    """Share of the rows that have the commonest label of their level, one row of each level not counted.

    A level for every row decides nothing: the first row of a level cannot be told by others.

    Examples
    --------
    >>> share_by_levels(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 2, 1]))
    0.75
    >>> share_by_levels(np.arange(6), np.arange(6))
    0.0
    """
    kept = codes >= 0
    levels = np.unique(codes[kept], return_inverse=True)[1]
    names = np.unique(labels[kept], return_inverse=True)[1]
    if not len(levels) or levels.max() + 1 == len(levels):
        return 0.0
    cells, counts = np.unique(levels * (names.max() + 1) + names, return_counts=True)
    commonest = np.zeros(levels.max() + 1)
    np.maximum.at(commonest, cells // (names.max() + 1), counts)
    return float((commonest.sum() - len(commonest)) / (len(levels) - len(commonest)))


def decides_beyond_chance(codes: NDArray, labels: NDArray, n_tried: int = 1) -> bool:
    """Whether each level, a missing value being one, has rows of one label only, and that is no chance.

    Examples
    --------
    >>> decides_beyond_chance(np.arange(60) % 12, np.arange(60) % 2)
    True
    >>> decides_beyond_chance(np.arange(60), np.arange(60) % 2)  # a level for every row
    False
    """
    _, levels = np.unique(codes, return_inverse=True)
    _, names, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if levels.max() == 0 or len(counts) < 2 or not is_pure(levels, names):
        return False
    chance = chance_of_purity(np.zeros_like(names), levels, names)
    return bool(chance + np.log(n_tried) < np.log(CHANCE))


def is_pure(cells: NDArray, classes: NDArray) -> bool:
    """Whether each cell has rows of one class only."""
    pairs = np.unique(cells * (int(classes.max()) + 1) + classes)
    return len(pairs) == len(np.unique(cells))


def chance_of_purity(known: NDArray, cells: NDArray, classes: NDArray) -> float:
    """Logarithm of the chance of pure cells if, given one column, the other told nothing of the class."""
    counts = np.zeros((int(known.max()) + 1, int(classes.max()) + 1))
    np.add.at(counts, (known, classes), 1.0)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    _, first, sizes = np.unique(cells, return_index=True, return_counts=True)
    return float(np.log((shares[known[first]] ** sizes[:, None]).sum(axis=1)).sum())


def share_in_ranges(values: NDArray, labels: NDArray) -> float:
    """Share of the rows that lie in the range of their group, cut half-way between neighbouring groups.

    Examples
    --------
    >>> share_in_ranges(np.arange(10.0), np.repeat([1, 0], 5))
    1.0
    """
    kept = (labels >= 0) & ~np.isnan(values)
    if not kept.any():
        return 0.0
    values, labels = values[kept], labels[kept]
    groups = np.unique(labels)
    order = sorted(groups, key=lambda group: float(np.median(values[labels == group])))
    cuts = []
    for low, high in pairwise(order):
        below, above = np.sort(values[labels == low]), np.sort(values[labels == high])
        cuts.append(_cut(below, above))
    named = np.array(order)[np.searchsorted(np.array(cuts), values, side="left")]
    return float(np.mean(named == labels))


def _cut(below: NDArray, above: NDArray) -> float:
    """The value that parts two groups with the fewest rows on the wrong side."""
    ends = np.unique(np.concatenate([below, above]))
    between = (ends[:-1] + ends[1:]) / 2 if len(ends) > 1 else ends
    wrong = len(below) - np.searchsorted(below, between) + np.searchsorted(above, between)
    return float(between[int(np.argmin(wrong))])
