"""What a split gains: every criterion is the cost of a node as a function of sums of per-row statistics.

The first sum is always the weight W of the rows. Trees of classes have the weight of each class behind it,
all others the sum S of a statistic and the sum H of a curvature (the weight again where there is none). A
split is worth

    gain = cost(node) − cost(left) − cost(right),

which is never negative for the costs here. A criterion hands compiled loops its *form*: a NamedTuple of its
parameters, whose class says which sums it takes (as losses do with their row forms).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import choices, inlined, log

OPTIONS = choices()


GINI, ENTROPY, MISTAKES = range(3)
"""Kinds of `ClassCost`."""


class ClassCost(NamedTuple):
    """Cost of a node of classes, one of three kinds.

    `GINI` is W (1 − Σ p_k²), the error of a label drawn from the node times its weight; `ENTROPY` is
    −W Σ p_k log p_k, the negative log-likelihood of the rows under the shares of the node; `MISTAKES` is
    W (1 − max p_k), the weight that the commonest class gets wrong.
    """

    kind: int = GINI
    classes: bool = True


class NumberCost(NamedTuple):
    """−S² / (H + λ): twice what a Newton step in the node gains; squared error where H is the weight.

    The statistic is the negative slope of the loss, or the target less any constant: the sum of squares is
    left out of the cost, being the same before and after a split. Slopes s_i counted from a centre c as
    s_i − c h_i, h_i the curvatures, have the cost −(S − cλ)² / (H + λ) up to terms that no split changes but
    for a constant: `shift` is cλ.

    With `is_poisson` it is −S log(S / W) instead: half the Poisson deviance of the node, up to a term that no
    split changes.
    """

    l2: float = 0.0
    shift: float = 0.0
    is_poisson: bool = False
    classes: bool = False


class AbsoluteError(NamedTuple):
    """Σ w |y − m|, m the weighted median: the one cost here that is no function of sums (`medians`)."""

    classes: bool = False


class Several(NamedTuple):
    """The mean over several outputs of the cost of each.

    `ends` has one past the last column of each output among those of the values: as many columns as an output
    has classes, or one. Sums are the weight and then those of the classes of one output after the other; of
    numbers, the weight, the statistic of the first output, the curvature, the statistics of the others.
    """

    form: Any
    ends: NDArray[np.int64]
    classes: bool


# Functions of numbers alone, not of arrays: inside the search of a cut each array that is handed on would be
# counted as one more reference, which takes longer than the arithmetic. Kinds of a cost are values, not
# classes: one loop is compiled for all of them, and the branch is the same for every cut.


@inlined
def class_part(form, total, weight):  # type: ignore[no-untyped-def]
    """What one class of a node of weight `total` adds to its cost."""
    if form.kind == GINI:
        return weight * weight
    if form.kind == ENTROPY:
        return -weight * log(weight / total) if weight > 0.0 else 0.0
    return weight


@inlined
def class_cost(form, total, parts):  # type: ignore[no-untyped-def]
    """Cost of a node from what its classes add."""
    if form.kind == GINI:
        return total - parts / total if total > 0.0 else 0.0
    return parts if form.kind == ENTROPY else total - parts


@inlined
def joined_parts(form, first, second):  # type: ignore[no-untyped-def]
    """Parts of two classes together: their sum, or the larger."""
    return max(first, second) if form.kind == MISTAKES else first + second


@inlined
def number_cost(form, weight, total, size):  # type: ignore[no-untyped-def]
    """Cost of a node from its three sums."""
    if form.is_poisson:
        # Infinite where a node has no count: its mean 0 would make any count impossible.
        return -total * log(total / weight) if total > 0.0 and weight > 0.0 else np.inf
    whole, moved = size + form.l2, total - form.shift
    return -moved * moved / whole if whole > 0.0 else 0.0


def cost(form: Any, sums: NDArray) -> float:
    """Cost of a node with these sums; for compiled loops only."""
    raise NotImplementedError("cost is called inside compiled loops.")


def _cost_of_classes(form, sums):  # type: ignore[no-untyped-def]
    parts = 0.0
    for k in range(1, sums.shape[0]):
        parts = joined_parts(form, parts, class_part(form, sums[0], sums[k]))
    return class_cost(form, sums[0], parts)


def _cost_of_numbers(form, sums):  # type: ignore[no-untyped-def]
    return number_cost(form, sums[0], sums[1], sums[2])


def _cost_of_several(form, sums):  # type: ignore[no-untyped-def]
    total, begin = 0.0, 0
    for end in form.ends:
        total += output_cost(form.form, sums, sums, 0.0, begin, end)
        begin = end
    return total / form.ends.shape[0]


@overload(cost, jit_options=OPTIONS)
def _chosen_cost(form, sums):  # type: ignore[no-untyped-def]
    if form.instance_class is Several:
        return _cost_of_several
    return _cost_of_classes if of_classes(form) else _cost_of_numbers


def of_classes(form: Any) -> bool:
    """Whether a form, as the compiler knows it, is one of classes."""
    kind = form.types[0] if form.instance_class is Several else form
    return bool(kind.instance_class._field_defaults["classes"])


def output_cost(form: Any, sums: NDArray, others: NDArray, share: float, begin: int, end: int) -> float:
    """Cost of one output, whose values are the columns `begin` to `end`; for compiled loops only.

    Of the sums less a share, 0 or 1, of others.
    """
    raise NotImplementedError("output_cost is called inside compiled loops.")


@overload(output_cost, jit_options=OPTIONS)
def _chosen_output_cost(form, sums, others, share, begin, end):  # type: ignore[no-untyped-def]
    def classes(form, sums, others, share, begin, end):  # type: ignore[no-untyped-def]
        weight, parts = sums[0] - share * others[0], 0.0
        for k in range(1 + begin, 1 + end):
            parts = joined_parts(form, parts, class_part(form, weight, sums[k] - share * others[k]))
        return class_cost(form, weight, parts)

    def number(form, sums, others, share, begin, end):  # type: ignore[no-untyped-def]
        k = 1 if begin == 0 else begin + 2
        weight, size = sums[0] - share * others[0], sums[2] - share * others[2]
        return number_cost(form, weight, sums[k] - share * others[k], size)

    return classes if of_classes(form) else number


def cost_apart(form: Any, whole: NDArray, left: NDArray) -> float:
    """Cost of two sides of a node, from the sums of the node and of the left one; for compiled loops only."""
    raise NotImplementedError("cost_apart is called inside compiled loops.")


def _classes_apart(form, whole, left):  # type: ignore[no-untyped-def]
    rest = whole[0] - left[0]
    parts, others = 0.0, 0.0
    for k in range(1, whole.shape[0]):
        parts = joined_parts(form, parts, class_part(form, left[0], left[k]))
        others = joined_parts(form, others, class_part(form, rest, whole[k] - left[k]))
    return class_cost(form, left[0], parts) + class_cost(form, rest, others)


def _numbers_apart(form, whole, left):  # type: ignore[no-untyped-def]
    first = number_cost(form, left[0], left[1], left[2])
    return first + number_cost(form, whole[0] - left[0], whole[1] - left[1], whole[2] - left[2])


def _several_apart(form, whole, left):  # type: ignore[no-untyped-def]
    total, begin = 0.0, 0
    for end in form.ends:
        total += output_cost(form.form, left, left, 0.0, begin, end)
        total += output_cost(form.form, whole, left, 1.0, begin, end)
        begin = end
    return total / form.ends.shape[0]


@overload(cost_apart, jit_options=OPTIONS)
def _chosen_cost_apart(form, whole, left):  # type: ignore[no-untyped-def]
    if form.instance_class is Several:
        return _several_apart
    return _classes_apart if of_classes(form) else _numbers_apart


def impurity(form: Any, sums: NDArray, squares: NDArray | None = None) -> NDArray:
    """Cost per unit of weight of many nodes, one row of sums each.

    Parameters
    ----------
    form : NamedTuple
        One of this file.
    sums : array of shape (n_nodes, n_sums)
    squares : array of shape (n_nodes,), optional
        Σ w t² of the statistic t of the rows: what the squared error adds to the Newton cost.

    Returns
    -------
    impurity : array of shape (n_nodes,)
        Gini index, entropy, share of mistakes, variance, or half the mean Poisson deviance less the part that
        depends on the rows alone.
    """
    weight = np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
    if isinstance(form, Several):
        each = (impurity(form.form, sums[:, places]) for places in sums_of_outputs(form))
        return np.mean(list(each), axis=0)
    if form.classes:
        shares = sums[:, 1:] / weight[:, np.newaxis]
        if form.kind == GINI:
            return 1.0 - np.sum(shares**2, axis=1)
        if form.kind == MISTAKES:
            return 1.0 - shares.max(axis=1)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return -np.sum(shares * logs, axis=1)
    if isinstance(form, AbsoluteError):  # the cost is among the sums
        return np.asarray(sums[:, 2] / weight)
    if form.is_poisson:
        mean = np.where(sums[:, 1] > 0, sums[:, 1] / weight, 1.0)
        return -sums[:, 1] / weight * np.log(mean)
    size = np.where(sums[:, 2] + form.l2 > 0, sums[:, 2] + form.l2, 1.0)
    rest = 0.0 if squares is None else squares
    return np.maximum((rest - sums[:, 1] ** 2 / size) / weight, 0.0 if squares is not None else -np.inf)


def is_of_counts(form: Any) -> bool:
    """Whether a criterion is the Poisson deviance, of one output or several."""
    return bool(getattr(getattr(form, "form", form), "is_poisson", False))


def sums_of_outputs(form: Several) -> list[list[int]]:
    """Places of the sums of each of several outputs, in the order that a criterion of one takes them."""
    ends = [0, *form.ends.tolist()]
    if form.classes:
        return [[0, *range(begin + 1, end + 1)] for begin, end in pairwise(ends)]
    return [[0, begin + 2 if begin else 1, 2] for begin in ends[:-1]]
