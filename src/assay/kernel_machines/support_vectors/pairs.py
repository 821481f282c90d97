"""Several classes by machines of two: their rows, the layout of their coefficients, their votes.

The layout of `dual_coef_` is scikit-learn's. One against one: a support vector of class i has its coefficient
in the machine against class j in row j − 1 if j > i, in row j if j < i. The machine of i and j, i < j, is
above 0 for i. Two classes have one machine, above 0 for the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.models.classes import class_of
from assay.solvers.rkhs.machines.solver import Span


class Duel(NamedTuple):
    """One machine: the class that is +1, and the one that is −1 (all others with None)."""

    positive: int
    negative: int | None


def duels(n_classes: int, *, against_rest: bool) -> list[Duel]:
    """The machines of a number of classes, in the order of their columns."""
    if n_classes == 2:
        return [Duel(1, 0)]
    if against_rest:
        return [Duel(place, None) for place in range(n_classes)]
    return [Duel(i, j) for i, j in combinations(range(n_classes), 2)]


def packed(coefs: NDArray, codes: NDArray, n_classes: int, machines: list[Duel]) -> NDArray:
    """`dual_coef_` from the coefficients of support vectors of these classes, one column per machine."""
    if machines[0].negative is None or n_classes == 2:
        return np.ascontiguousarray(coefs.T)
    result = np.zeros((n_classes - 1, len(codes)), dtype=coefs.dtype)
    for column, (i, j) in zip(coefs.T, machines, strict=True):
        assert j is not None
        result[j - 1, codes == i] = column[codes == i]
        result[i, codes == j] = column[codes == j]
    return result


def duel_table(coef: NDArray, spans: Sequence[Span], machines: list[Duel], n: int) -> NDArray:
    """`dual_coef_` of n rows sorted by class, from the stacked coefficients of machines of two classes."""
    result, start = np.zeros((machines[-1].negative or 0, n)), 0
    for (a, a_end, b, b_end), (i, j) in zip(spans, machines, strict=True):
        assert j is not None
        middle, end = start + a_end - a, start + a_end - a + b_end - b
        result[j - 1, a:a_end], result[i, b:b_end] = coef[start:middle], coef[middle:end]
        start = end
    return result


def unpacked(dual_coef: NDArray, codes: NDArray, n_classes: int, machines: list[Duel]) -> NDArray:
    """The way back from `dual_coef_` to one column per machine."""
    if machines[0].negative is None or n_classes == 2:
        return np.ascontiguousarray(dual_coef.T)
    result = np.zeros((len(codes), len(machines)), dtype=dual_coef.dtype)
    for place, (i, j) in enumerate(machines):
        assert j is not None
        result[codes == i, place] = dual_coef[j - 1, codes == i]
        result[codes == j, place] = dual_coef[i, codes == j]
    return result


def votes(values: NDArray, n_classes: int) -> NDArray:
    """Duels won by each class, and the sum of the values in its favour."""
    won, favour = np.zeros((2, len(values), n_classes))
    for place, (i, j) in enumerate(combinations(range(n_classes), 2)):
        value = values[:, place]
        won[:, i] += value >= 0
        won[:, j] += value < 0
        favour[:, i] += value
        favour[:, j] -= value
    return np.stack([won, favour])


def class_scores(values: NDArray, n_classes: int) -> NDArray:
    """One score per class: duels won, and less than half a duel for the sum of the values in its favour."""
    won, favour = votes(values, n_classes)
    return won + favour / (3 * (np.abs(favour) + 1))


def classes_of(values: NDArray, classes: NDArray, *, against_rest: bool, break_ties: bool) -> NDArray:
    """The class of each row; the first of those with equally many duels unless ties are broken by values."""
    if len(classes) == 2:
        return class_of(values[:, 0], classes)
    if against_rest:
        return class_of(values, classes)
    if break_ties:
        return class_of(class_scores(values, len(classes)), classes)
    return class_of(votes(values, len(classes))[0], classes)
