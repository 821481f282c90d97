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

from assay.trees.growing.criteria import OPTIONS

BITS = 31

SMALL = 2**21
"""Units that the largest statistic of a node may fall to, a thousandth of the range, before it is refined."""


class ClassRows(NamedTuple):
    """Rows of classes: the label (a place among the classes) and the weight of each, in units."""

    labels: NDArray[np.int32]
    weights: NDArray[np.int32]


class MomentRows(NamedTuple):
    """Rows of numbers: weight, statistic and curvature of each, in units.

    `raw` has weight and value of each row, whose product is the statistic, so that a node can be counted in
    finer units; with `centered` the value is then taken from the mean of the node.
    """

    values: NDArray[np.int32]
    raw: NDArray[np.float64]
    centered: bool


def unit_of(values: NDArray, *, whole: bool = False) -> float:
    """The power of two that the values are counted in; 1 for whole numbers if `whole` asks for them."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    if whole and largest < 2**BITS - 1 and bool(np.all(values == np.rint(values))):
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


def moment_rows(
    weight: NDArray, value: NDArray, curvature: NDArray, *, centered: bool
) -> tuple[MomentRows, NDArray]:
    """Rows of numbers in units, and what a unit of each of the three is worth; see `MomentRows`."""
    columns = (weight, weight * value, curvature)
    units = np.array([unit_of(column, whole=place != 1) for place, column in enumerate(columns)])
    values = np.empty((len(weight), 3), dtype=np.int32)
    for place, column in enumerate(columns):
        values[:, place] = in_units(column, units[place])
    return MomentRows(values, np.column_stack([weight, value]), centered), units


def add_row(rows: Any, i: int, sums: NDArray) -> None:
    """Add the statistics of one row to sums; for compiled loops only."""
    raise NotImplementedError("add_row is called inside compiled loops.")


def _add_class(rows, i, sums):  # type: ignore[no-untyped-def]
    weight = np.int64(rows.weights[i])
    sums[0] += weight
    sums[np.uint64(rows.labels[i]) + np.uint64(1)] += weight  # unsigned: no place counts from the end


def _add_moments(rows, i, sums):  # type: ignore[no-untyped-def]
    sums[0] += rows.values[i, 0]
    sums[1] += rows.values[i, 1]
    sums[2] += rows.values[i, 2]


@overload(add_row, jit_options=OPTIONS)
def _chosen_rows(rows, i, sums):  # type: ignore[no-untyped-def]
    return _add_class if rows.instance_class is ClassRows else _add_moments


def refine(rows: Any, places: NDArray, unit: NDArray, center: float) -> float:
    """Count a node in finer units where its statistics have become small; for compiled loops only."""
    raise NotImplementedError("refine is called inside compiled loops.")


def _keep_classes(rows, places, unit, center):  # type: ignore[no-untyped-def]
    return center


def _refine_moments(rows, places, unit, center):  # type: ignore[no-untyped-def]
    largest, total, weight = 0, 0.0, 0.0
    for i in places:
        largest = max(largest, abs(np.int64(rows.values[i, 1])))
        total += rows.raw[i, 0] * (rows.raw[i, 1] - center)
        weight += rows.raw[i, 0]
    if largest >= SMALL or largest == 0 or weight <= 0.0:
        return center
    if rows.centered:
        center += total / weight
    top = 0.0
    for i in places:
        top = max(top, abs(rows.raw[i, 0] * (rows.raw[i, 1] - center)))
    if top > 0.0:
        unit[1] = 2.0 ** max(np.ceil(np.log2(top)) - (BITS - 1), -1022.0)
    for i in places:
        rows.values[i, 1] = np.int32(np.rint(rows.raw[i, 0] * (rows.raw[i, 1] - center) / unit[1]))
    return center


@overload(refine, jit_options=OPTIONS)
def _chosen_refinement(rows, places, unit, center):  # type: ignore[no-untyped-def]
    return _keep_classes if rows.instance_class is ClassRows else _refine_moments


def copy_row(source: Any, i: int, target: Any, place: int) -> None:
    """Copy the statistics of one row to a place of other rows of its kind; for compiled loops only."""
    raise NotImplementedError("copy_row is called inside compiled loops.")


def _copy_class(source, i, target, place):  # type: ignore[no-untyped-def]
    target.labels[place], target.weights[place] = source.labels[i], source.weights[i]


def _copy_moments(source, i, target, place):  # type: ignore[no-untyped-def]
    for k in range(source.values.shape[1]):
        target.values[place, k] = source.values[i, k]
    target.raw[place, 0], target.raw[place, 1] = source.raw[i, 0], source.raw[i, 1]


@overload(copy_row, jit_options=OPTIONS)
def _chosen_copy(source, i, target, place):  # type: ignore[no-untyped-def]
    return _copy_class if source.instance_class is ClassRows else _copy_moments


def room_for(rows: Any, n_rows: int) -> Any:
    """Rows of the same kind, not filled in, for so many."""
    if isinstance(rows, ClassRows):
        return ClassRows(np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int32))
    values = np.empty((n_rows, rows.values.shape[1]), dtype=np.int32)
    return rows._replace(values=values, raw=np.empty((n_rows, 2)))
