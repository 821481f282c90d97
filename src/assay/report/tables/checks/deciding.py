"""How far a column alone decides to which class or group a row belongs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


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
