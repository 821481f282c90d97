"""Coordinate descent on sparse columns, and their products with residuals: the hot loops."""

from __future__ import annotations

from assay.loops import compiled
from assay.solvers._coordinate_loops import shrunk


@compiled
def column_products(data, indices, indptr, rows, which, out):  # type: ignore[no-untyped-def]
    """Write x_jᵀ r for each listed column j of a CSC matrix and each row r of `rows` to `out`."""
    for k in range(rows.shape[0]):
        for position in range(which.size):
            j = which[position]
            total = 0.0
            for place in range(indptr[j], indptr[j + 1]):
                total += data[place] * rows[k, indices[place]]
            out[k, position] = total


@compiled
def column_combination(data, indices, indptr, which, coef, out):  # type: ignore[no-untyped-def]
    """Add Σ_j coef_j x_j over the listed columns of a CSC matrix to `out`."""
    for position in range(which.size):
        weight = coef[position]
        if weight != 0.0:
            for place in range(indptr[which[position]], indptr[which[position] + 1]):
                out[indices[place]] += weight * data[place]


@compiled
def column_squares(data, indices, indptr, weight, out):  # type: ignore[no-untyped-def]
    """Write Σ_i h_i x_ij² for each column j of a CSC matrix to `out`."""
    for j in range(out.size):
        total = 0.0
        for place in range(indptr[j], indptr[j + 1]):
            total += weight[indices[place]] * data[place] * data[place]
        out[j] = total


@compiled
def column_epoch(  # type: ignore[no-untyped-def]
    data, indices, indptr, which, mean, square, weight, coef, pull, level, slope, curvature, positive
):
    """One cycle of coordinate descent over the listed columns of a CSC matrix, implicitly centred.

    `pull` is h·r for the residual r of the uncentred columns, `level` its sum: the correlation of column j
    less its mean with the residual less its mean is Σ x_ij pull_i − mean_j level. Returns the new level.
    """
    for position in range(which.size):
        j = which[position]
        begin, end = indptr[j], indptr[j + 1]
        if square[j] + curvature[position] <= 0.0:
            continue
        total = -mean[j] * level
        for place in range(begin, end):
            total += data[place] * pull[indices[place]]
        old = coef[position]
        new = shrunk(total + square[j] * old, square[j], slope[position], curvature[position], positive)
        if new != old:
            change = new - old
            coef[position] = new
            level -= change * mean[j]
            for place in range(begin, end):
                i = indices[place]
                pull[i] -= change * data[place] * weight[i]
    return level
