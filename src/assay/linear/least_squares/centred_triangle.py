"""The triangle of a centred table: all that a small problem needs to know of the rows, without squaring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.linear.least_squares.engine import Array, Evidence
from assay.linear.predictor import weighted_sums
from assay.rows import Rows
from assay.solvers import triangle
from assay.solvers.least_squares.moments import require_finite


class CentredTriangle(NamedTuple):
    """[R_x, R_y] with R_xᵀR_x = XᵀX, R_xᵀR_y = XᵀY, R_yᵀR_y = YᵀY of the (centred, weighted) table.

    Attributes
    ----------
    x, y : arrays of shape (r, d), (r, t)
        R_x and R_y; columns of R_x that are constant up to rounding are zero.
    mean_x, mean_y : arrays of shape (d,), (t,)
        What was subtracted; zeros without an intercept.
    weight : float
        Σ s.
    """

    x: Array
    y: Array
    mean_x: Array
    mean_y: Array
    weight: float


def centred_triangle(data: Rows, *, fit_intercept: bool) -> CentredTriangle:
    """Walk the rows for their means, and again for the triangle."""
    d = data.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        weight, sums = data.reduce(weighted_sums)
    require_finite(sums, data)
    mean = sums / weight if fit_intercept else np.zeros_like(sums)
    factor = triangle(data, mean)
    noise = 8 * np.finfo(float).eps * np.abs(mean[:d]) * np.sqrt(weight)
    factor[:, :d][:, np.linalg.norm(factor[:, :d], axis=0) <= noise] = 0.0
    return CentredTriangle(factor[:, :d], factor[:, d:], mean[:d], mean[d:], weight)


def evidence_of_triangle(known: CentredTriangle, coef: Array, intercept: Array) -> Evidence:
    """What certificates are computed from, without another walk: the triangle knows every product."""
    residual = known.y - known.x @ coef
    level = known.mean_y - known.mean_x @ coef - intercept
    return Evidence(
        known.weight,
        known.x.T @ residual,
        known.weight * level,
        np.sum(residual**2, axis=0) + known.weight * level**2,
        np.linalg.norm(known.x, axis=0),
        np.sum(known.y**2, axis=0),
    )
