"""Compiled kernel sums: tiles of points in cache against one query at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, exp, inner

Array = NDArray[np.float64]

TILE = 512
"""Points whose distances to a query are in cache at a time."""

VECTOR = 32
"""Points that the compiler takes at a time; what is left of a tile it takes one by one, ten times slower."""

GAUSSIAN, EXPONENTIAL, EVEN, GENERAL, PRODUCT = 0, 1, 2, 3, 4
"""Profiles: exp(−r²/2), exp(−r), a polynomial of r² on r < 1, one of r, a product over the features."""


def padded(columns: Array, values: Array) -> tuple[Array, Array]:
    """Points and values with as many points of no value, infinitely far, as fill the last vector."""
    missing = -columns.shape[1] % VECTOR
    return (
        np.pad(np.ascontiguousarray(columns), ((0, 0), (0, missing)), constant_values=np.inf),
        np.pad(values, ((0, 0), (0, missing))),
    )


@inner
def horner(coefficients, x):  # type: ignore[no-untyped-def]
    """Σ_j c_j x^j."""
    value = 0.0
    for j in range(coefficients.shape[0] - 1, -1, -1):
        value = value * x + coefficients[j]
    return value


@inner
def fill_profile(room, n, profile, coefficients):  # type: ignore[no-untyped-def]
    """Replace squared distances by the profile of the kernel."""
    if profile == GAUSSIAN:
        for p in range(n):
            room[p] = exp(-0.5 * room[p])
    elif profile == EXPONENTIAL:
        for p in range(n):
            room[p] = exp(-np.sqrt(room[p]))
    else:
        is_even = profile == EVEN
        for p in range(n):
            square = room[p]
            x = square if is_even else np.sqrt(square)
            value = horner(coefficients, min(x, 1.0))
            room[p] = value if square < 1.0 else 0.0


@inner
def fill_distances(columns, point, room):  # type: ignore[no-untyped-def]
    """Squared distances of a query to the points of a tile, the first two features at once."""
    n, n_features = columns.shape[1], columns.shape[0]
    value, column = point[0], columns[0]
    if n_features == 1:
        for p in range(n):
            difference = column[p] - value
            room[p] = difference * difference
        return
    value_two, column_two = point[1], columns[1]
    for p in range(n):
        difference, other = column[p] - value, column_two[p] - value_two
        room[p] = difference * difference + other * other
    for f in range(2, n_features):
        value, column = point[f], columns[f]
        for p in range(n):
            difference = column[p] - value
            room[p] += difference * difference


@compiled
def fill_product(columns, point, coefficients, room):  # type: ignore[no-untyped-def]
    """Products over the features of polynomials of the distances."""
    n = columns.shape[1]
    for p in range(n):
        room[p] = 1.0
    for f in range(columns.shape[0]):
        value, column = point[f], columns[f]
        for p in range(n):
            size = abs(column[p] - value)
            factor = horner(coefficients, min(size, 1.0))
            room[p] *= factor if size < 1.0 else 0.0


@inner
def add_range(columns, values, start, stop, point, profile, coefficients, room, sums):  # type: ignore[no-untyped-def]
    """Add Σ v_i K over consecutive points to the sums of a query."""
    for begin in range(start, stop, TILE):
        # Slices, not sums of indices: those might be negative, and the compiler would not vectorise.
        end = min(begin + TILE, stop)
        tile = columns[:, begin:end]
        if profile == PRODUCT:
            fill_product(tile, point, coefficients, room)
        else:
            fill_distances(tile, point, room)
            fill_profile(room, end - begin, profile, coefficients)
        for k in range(values.shape[0]):
            total, column = 0.0, values[k, begin:end]
            for p in range(column.shape[0]):
                total += column[p] * room[p]
            sums[k] += total


@compiled
def direct_sums(columns, values, queries, profile, coefficients, out):  # type: ignore[no-untyped-def]
    """Σ_i v_i K for each query, over all points."""
    room = np.empty(TILE)
    for q in range(queries.shape[0]):
        out[q, :] = 0.0
        add_range(columns, values, 0, columns.shape[1], queries[q], profile, coefficients, room, out[q])
