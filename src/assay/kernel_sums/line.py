"""Kernel sums on a line: polynomials exactly by prefix sums of powers, distribution functions by windows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inner

Array = NDArray[np.float64]

GAUSSIAN_REACH = 8.5
"""Bandwidths beyond which what is left of a Gaussian, below 1e-17, is nothing beside 1."""

POWERS = 12
"""Powers up to which the sums of a cell keep their digits."""


class PowerSums(NamedTuple):
    """Sorted points in cells of width 1, and Σ v t^p over the points of the same cell up to each.

    t is the distance from the middle of the cell, at most ½: the powers stay small and no digits cancel.
    `ends` has the place after the last point of the cell of each.
    """

    ordered: Array
    cells: Array
    ends: NDArray[np.int64]
    prefix: Array


def power_sums(ordered: Array, values: Array, degree: int) -> PowerSums:
    """Prepare sorted points for polynomials up to a degree."""
    cells = np.floor(ordered)
    prefix = np.empty((ordered.shape[0], values.shape[0], degree + 1))
    fill_prefix(ordered, cells, values, prefix)
    return PowerSums(ordered, cells, np.searchsorted(cells, cells, side="right"), prefix)


@compiled
def fill_prefix(ordered, cells, values, prefix):  # type: ignore[no-untyped-def]
    """Sums of v t^p that begin anew in each cell."""
    for i in range(ordered.shape[0]):
        t = ordered[i] - (cells[i] + 0.5)
        goes_on = i > 0 and cells[i - 1] == cells[i]
        for k in range(values.shape[0]):
            term = values[k, i]
            for p in range(prefix.shape[2]):
                prefix[i, k, p] = term + (prefix[i - 1, k, p] if goes_on else 0.0)
                term *= t


@inner
def add_cells(sums_of, start, stop, x, coefficients, sign, sums, powers):  # type: ignore[no-untyped-def]
    """Add Σ v Σ_j c_j (±(x − t))^j over consecutive points, cell by cell.

    Σ_j c_j (x − t)^j is expanded in powers of t: the factor of t^p is (−1)^p Σ_j c_j C(j, p) x^{j−p}.
    """
    cells, ends, prefix = sums_of.cells, sums_of.ends, sums_of.prefix
    degree = coefficients.shape[0] - 1
    while start < stop:
        cell, last = cells[start], min(ends[start], stop) - 1
        before = start > 0 and cells[start - 1] == cell
        away = x - (cell + 0.5)
        for p in range(degree + 1):
            factor, binomial, power = 0.0, 1.0, 1.0
            for j in range(p, degree + 1):
                signed = coefficients[j] if sign > 0 or j % 2 == 0 else -coefficients[j]
                factor += signed * binomial * power
                binomial *= (j + 1.0) / (j + 1.0 - p)
                power *= away
            powers[p] = -factor if p % 2 else factor
        for k in range(sums.shape[0]):
            for p in range(degree + 1):
                between = prefix[last, k, p] - (prefix[start - 1, k, p] if before else 0.0)
                sums[k] += powers[p] * between
        start = last + 1


@compiled
def polynomial_sums(sums_of, queries, left, right, starts, out):  # type: ignore[no-untyped-def]
    """Σ v L(x − t) over points in (x − 1, x] and Σ v R(t − x) over those in (x, x + 1).

    L and R are polynomials given by their coefficients; `starts` has, for each query, the places where its
    windows begin, part and end among the sorted points.
    """
    powers = np.empty(left.shape[0])
    for q in range(queries.shape[0]):
        out[q, :] = 0.0
        add_cells(sums_of, starts[q, 0], starts[q, 1], queries[q], left, 1.0, out[q], powers)
        add_cells(sums_of, starts[q, 1], starts[q, 2], queries[q], right, -1.0, out[q], powers)


def window_sums(sums_of: PowerSums, queries: Array, left: Array, right: Array) -> Array:
    """`polynomial_sums` of queries in any order, shape (n_queries, n_columns)."""
    ordered = sums_of.ordered
    begin = np.searchsorted(ordered, queries - 1.0, side="right")
    middle = np.searchsorted(ordered, queries, side="right")
    end = np.searchsorted(ordered, queries + 1.0, side="left")
    starts = np.stack([begin, middle, np.maximum(end, middle)], axis=1)
    out = np.empty((queries.shape[0], sums_of.prefix.shape[1]))
    polynomial_sums(sums_of, queries, left, right, starts, out)
    return out


@compiled
def gaussian_below(ordered, values, queries, starts, out):  # type: ignore[no-untyped-def]
    """Add Σ v Φ(x − t) over the points of a window."""
    for q in range(queries.shape[0]):
        total = 0.0
        for i in range(starts[q, 0], starts[q, 1]):
            total += values[i] * 0.5 * math.erfc((ordered[i] - queries[q]) * 0.7071067811865476)
        out[q] += total


def gaussian_line_below(ordered: Array, values: Array, queries: Array) -> Array:
    """Σ v Φ(x − t): points far below count whole, points far above not at all."""
    starts = np.stack(
        [
            np.searchsorted(ordered, queries - GAUSSIAN_REACH),
            np.searchsorted(ordered, queries + GAUSSIAN_REACH),
        ],
        axis=1,
    )
    mass = np.concatenate([[0.0], np.cumsum(values)])
    out = mass[starts[:, 0]]
    gaussian_below(ordered, values, queries, starts, out)
    return out
