"""Per-row statistics in fixed point: integers whose sums do not depend on the order of the rows.

A statistic x becomes the nearest integer to x/u, with a power of two u such that the largest fits 31 bits.
Sums of up to 2³² rows fit 64 bits, and a sum of n rows is off by at most n u/2. Whole numbers, counts and
weights among them, lose nothing as long as they have fewer than 31 bits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import compiled, inlined, inner
from assay.trees.growing.criteria import OPTIONS
from assay.trees.growing.nodes import CENTER, UNIT

BITS = 31

SMALL = 2**21
"""Units that the largest statistic of a node may fall to, a thousandth of the range, before it is refined."""


class ClassRows(NamedTuple):
    """Rows of classes: the label (a place among the classes) and the weight of each, in units.

    Of several outputs there is a label each, the places counted on from one output to the next.
    """

    labels: NDArray[np.int32]
    weights: NDArray[np.int32]


class MomentRows(NamedTuple):
    """Rows of numbers: weight, statistic, curvature and factor of each, in units.

    The factor multiplies the statistic as it is added up. Where weights are whole numbers it is the weight,
    so that a row of weight k adds what k rows would, to the last bit; else it is 1 and the statistic holds
    the weight already. `raw` has weight and value of each row, whose product is the statistic, so that a node
    can be counted in finer units; with `centered` the value is then taken from about the mean of the node.
    """

    values: NDArray[np.int32]
    raw: NDArray[np.float64]
    centered: bool


class SeveralRows(NamedTuple):
    """Rows of several numbers: as `MomentRows`, with the statistics of the other outputs behind the factor.

    In `raw` the values of the outputs follow the weight.
    """

    values: NDArray[np.int32]
    raw: NDArray[np.float64]
    centered: bool


def unit_of(values: NDArray, *, whole: bool = False) -> float:
    """The power of two that the values are counted in; 1 for whole numbers if `whole` asks for them."""
    largest = float(np.abs(values).max(initial=0.0))
    if whole and largest < 2**BITS - 1 and bool(np.all(values == np.rint(values))):
        return 1.0
    return unit_of_largest(largest)


def unit_of_largest(largest: float) -> float:
    """The power of two that values up to the largest are counted in."""
    if largest == 0.0:
        return 1.0
    # frexp gives largest = m 2^e with ½ ≤ m < 1, so that largest / 2^(e − BITS) < 2^BITS.
    unit = math.ldexp(1.0, max(math.frexp(largest)[1] - BITS, -1073))
    return unit if round(largest / unit) < 2**BITS else 2 * unit


def in_units(values: NDArray, unit: float) -> NDArray[np.int32]:
    """Nearest whole numbers of units."""
    return np.rint(values / unit).astype(np.int32)


def class_rows(labels: NDArray, weight: NDArray) -> tuple[ClassRows, float]:
    """Rows of classes in units, and what a unit of weight is worth."""
    unit = unit_of(weight, whole=True)
    return ClassRows(labels.astype(np.int32), in_units(weight, unit)), unit


def center_of(value: NDArray, weight: NDArray) -> float:
    """About the weighted mean, rounded to so few binary digits that whole numbers stay exact about it."""
    mean = float(np.dot(value, weight) / weight.sum())
    return float(rounded_center(mean, float(np.abs(value - mean).max(initial=0.0))))


def moment_rows(
    weight: NDArray, value: NDArray, curvature: NDArray, *, centered: bool
) -> tuple[MomentRows, NDArray]:
    """Rows of numbers in units, and what a unit of each sum is worth; see `MomentRows`."""
    unit_weight = unit_of(weight, whole=True)
    whole = unit_weight == 1.0 and float(weight.sum()) < 2.0**BITS
    statistic = value if whole else weight * value
    units = np.array([unit_weight, unit_of(statistic), unit_of(curvature, whole=True)])
    values = np.empty((len(weight), 4), dtype=np.int32)
    for place, column in enumerate((weight, statistic, curvature)):
        values[:, place] = in_units(column, units[place])
    values[:, 3] = values[:, 0] if whole else 1
    return MomentRows(values, np.column_stack([weight, value]), centered), units


def several_rows(weight: NDArray, value: NDArray, *, centered: bool) -> tuple[SeveralRows, NDArray]:
    """Rows of several numbers each in units, and what a unit of each sum is worth; see `SeveralRows`."""
    each = [moment_rows(weight, column, weight, centered=centered) for column in value.T]
    first, units = each[0]
    values = np.column_stack([first.values, *(rows.values[:, 1] for rows, _ in each[1:])])
    units = np.append(units, [units[1] for _, units in each[1:]])
    raw = np.column_stack([weight, value])
    # Of one layout, whatever that of the target is: the loops are compiled once.
    return SeveralRows(np.ascontiguousarray(values), np.ascontiguousarray(raw), centered), units


def add_row(rows: Any, i: Any, sums: NDArray) -> None:
    """Add the statistics of one row to sums; for compiled loops only."""
    raise NotImplementedError("add_row is called inside compiled loops.")


def _add_class(rows, i, sums):  # type: ignore[no-untyped-def]
    weight = np.int64(rows.weights[i])
    sums[0] += weight
    sums[np.uint64(rows.labels[i]) + np.uint64(1)] += weight  # unsigned: no place counts from the end


def _add_moments(rows, i, sums):  # type: ignore[no-untyped-def]
    sums[0] += rows.values[i, 0]
    sums[1] += np.int64(rows.values[i, 1]) * rows.values[i, 3]
    sums[2] += rows.values[i, 2]


def _add_labels(rows, i, sums):  # type: ignore[no-untyped-def]
    weight = np.int64(rows.weights[i])
    sums[0] += weight
    for k in range(rows.labels.shape[1]):
        sums[np.uint64(rows.labels[i, k]) + np.uint64(1)] += weight


def _add_several(rows, i, sums):  # type: ignore[no-untyped-def]
    _add_first(rows, i, sums)
    for k in range(4, rows.values.shape[1]):
        sums[k - 1] += np.int64(rows.values[i, k]) * rows.values[i, 3]


_add_first = inlined(_add_moments)


def _add_amount(rows, i, sums):  # type: ignore[no-untyped-def]
    sums[0] += rows.weights[i]
    sums[1] += rows.amounts[i]
    sums[2] += rows.weights[i]


@overload(add_row, jit_options=OPTIONS)
def _chosen_rows(rows, i, sums):  # type: ignore[no-untyped-def]
    if rows.instance_class is ClassRows:
        return _add_labels if rows.types[0].ndim == 2 else _add_class
    if "amounts" in rows.fields:  # of `MedianRows`
        return _add_amount
    return _add_several if rows.instance_class is SeveralRows else _add_moments


@compiled
def rounded_center(mean, spread):  # type: ignore[no-untyped-def]
    """A number near the mean: a multiple of a power of two about a thousandth of the spread."""
    if spread <= 0.0:
        return mean
    step = 2.0 ** max(np.ceil(np.log2(spread)) - 10.0, -1000.0)
    return np.rint(mean / step) * step


@inlined
def statistic(rows, i, output, center):  # type: ignore[no-untyped-def]
    """Value of a row from a centre, times its weight unless the factor brings it in."""
    value = rows.raw[i, 1 + output] - center
    return rows.raw[i, 0] * value if rows.values[i, 3] == 1 else value


def refine(rows: Any, places: NDArray, unit: NDArray, real: NDArray) -> bool:
    """Count a node in finer units where its statistics have become small; for compiled loops only.

    Centre and unit are those of a node (`GrowingTree.real`), and written there; the unit also into `unit`.
    Gives whether all rows have the same value.
    """
    raise NotImplementedError("refine is called inside compiled loops.")


def _keep_classes(rows, places, unit, real):  # type: ignore[no-untyped-def]
    return False


def _compare_targets(rows, places, unit, real):  # type: ignore[no-untyped-def]
    is_pure = True
    for i in places:
        is_pure &= rows.targets[i] == rows.targets[places[0]]
    return is_pure


def _refine_moments(rows, places, unit, real):  # type: ignore[no-untyped-def]
    return refine_output(rows, places, 0, unit, real)


def _refine_several(rows, places, unit, real):  # type: ignore[no-untyped-def]
    is_pure = True
    for output in range(rows.raw.shape[1] - 1):
        is_pure &= refine_output(rows, places, output, unit, real)
    return is_pure


@inner
def refine_output(rows, places, output, unit, real):  # type: ignore[no-untyped-def]
    """The same for one output."""
    at = output + 3 if output > 0 else 1  # among the statistics of a row
    its = output + 2 if output > 0 else 1  # among the sums and their units
    unit[its] = real[UNIT + 2 * output]
    center = real[CENTER + 2 * output]
    low, high, heaviest, largest = np.inf, -np.inf, 0.0, np.int64(0)
    total, weight = np.int64(0), np.int64(0)
    for i in places:
        low, high = min(low, rows.raw[i, 1 + output]), max(high, rows.raw[i, 1 + output])
        largest = max(largest, abs(np.int64(rows.values[i, at])))
        if rows.values[i, 3] == 1:
            heaviest = max(heaviest, rows.raw[i, 0])
        total += np.int64(rows.values[i, at]) * rows.values[i, 3]
        weight += rows.values[i, 0]
    # About a centre of its own a node may be counted as finely as its values lie close together.
    width = max(heaviest, 1.0) * (high - low) / unit[its] if rows.centered else np.float64(largest)
    if rows.centered and low == high:  # its own centre, which leaves nothing to round
        for i in places:
            rows.values[i, at] = 0
        real[CENTER + 2 * output] = low
        return True
    if width >= SMALL or weight <= 0 or low == high:
        return low == high
    if rows.centered:  # from sums of integers, so that the order of the rows does not matter
        mean = center + total * unit[its] / (weight * unit[0])
        center = rounded_center(mean, max(high - mean, mean - low))
    top = 0.0
    for i in places:
        top = max(top, abs(statistic(rows, i, output, center)))
    if top > 0.0:
        unit[its] = 2.0 ** max(np.ceil(np.log2(top)) - (BITS - 1), -1022.0)
    for i in places:
        rows.values[i, at] = np.int32(np.rint(statistic(rows, i, output, center) / unit[its]))
    real[CENTER + 2 * output], real[UNIT + 2 * output] = center, unit[its]
    return False


@overload(refine, jit_options=OPTIONS)
def _chosen_refinement(rows, places, unit, real):  # type: ignore[no-untyped-def]
    if rows.instance_class is ClassRows:
        return _keep_classes
    if "amounts" in rows.fields:
        return _compare_targets
    return _refine_several if rows.instance_class is SeveralRows else _refine_moments


def copy_row(source: Any, i: int, target: Any, place: int) -> None:
    """Copy the statistics of one row to a place of other rows of its kind; for compiled loops only."""
    raise NotImplementedError("copy_row is called inside compiled loops.")


def _copy_class(source, i, target, place):  # type: ignore[no-untyped-def]
    target.labels[place], target.weights[place] = source.labels[i], source.weights[i]


def _copy_moments(source, i, target, place):  # type: ignore[no-untyped-def]
    for k in range(source.values.shape[1]):
        target.values[place, k] = source.values[i, k]
    for k in range(source.raw.shape[1]):
        target.raw[place, k] = source.raw[i, k]


def _copy_labels(source, i, target, place):  # type: ignore[no-untyped-def]
    for k in range(source.labels.shape[1]):
        target.labels[place, k] = source.labels[i, k]
    target.weights[place] = source.weights[i]


@overload(copy_row, jit_options=OPTIONS)
def _chosen_copy(source, i, target, place):  # type: ignore[no-untyped-def]
    if source.instance_class is ClassRows:
        return _copy_labels if source.types[0].ndim == 2 else _copy_class
    return _copy_nothing if "amounts" in source.fields else _copy_moments


def _copy_nothing(source, i, target, place):  # type: ignore[no-untyped-def]
    return None  # such rows stay where they are


def room_for(rows: Any, n_rows: int) -> Any:
    """Rows of the same kind, not filled in, for so many."""
    if isinstance(rows, ClassRows):
        return ClassRows(*(np.empty((n_rows, *part.shape[1:]), dtype=np.int32) for part in rows))
    if hasattr(rows, "amounts"):
        return rows
    values = np.empty((n_rows, rows.values.shape[1]), dtype=np.int32)
    return rows._replace(values=values, raw=np.empty((n_rows, rows.raw.shape[1])))
