"""Losses with one slope above the target and another below: hinge, ε-insensitive and pinball alike.

With the residual r = target − prediction of a row that weighs s,

    ℓ(r) = s [upper (r − ε)₊ᵖ + lower (−r − ε)₊ᵖ],        p = 1 or 2.

Pinball: upper = q, lower = 1 − q. ε-insensitive: upper = lower = C. Hinge of the label t = ±1: max(0, 1 − tf)
is (t − f)₊ for t = 1 and (f − t)₊ for t = −1, so that a row has one side only. The conjugate in the slope ν
of a row is ε|ν| for p = 1, −s lower ≤ ν ≤ s upper, and ε|ν| + ν²/(4 s upper) (lower for ν < 0) for p = 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array


class Tilt(NamedTuple):
    """A loss of residuals with two sides.

    Attributes
    ----------
    upper, lower : float
        Slopes above and below.
    epsilon : float
        Errors that cost nothing.
    squared : bool
        Whether p = 2.
    positive : int or None
        Class number whose label is +1, the others being −1; None when the target is a number.
    class_weight : array of shape (n_classes,) or None
        Factor of the weight of each class.
    """

    upper: float
    lower: float
    epsilon: float = 0.0
    squared: bool = False
    positive: int | None = None
    class_weight: Array | None = None


class Frame(NamedTuple):
    """Coordinates of a solver: columns less `shift`, divided by `scale`, then a column of ones if asked."""

    shift: Array
    scale: Array
    intercept: bool

    def inside(self, coef: Array, intercept: float) -> Array:
        """Coefficients of the shifted and scaled columns."""
        scaled = coef * self.scale
        return np.append(scaled, intercept + self.shift @ coef) if self.intercept else scaled

    def outside(self, point: Array) -> tuple[Array, float]:
        """Coefficients and intercept of the columns as they are."""
        d = len(self.shift)
        coef = point[:d] / self.scale
        return coef, float(point[d] - self.shift @ coef) if self.intercept else 0.0


def frame_of(data: Rows, *, intercept: bool, shift: bool) -> Frame:
    """Columns of mean 0 (if `shift`, for dense rows) and mean square 1; a column of zeros keeps scale 1."""
    weight, total, squares = data.reduce(column_sums)
    mean = total / weight if shift and not data.is_sparse else np.zeros_like(total)
    # Twice, so that a mean far from zero does not hide the spread.
    if mean.any():
        squares = data.reduce(centred_squares, mean)
    scale = np.sqrt(squares / weight)
    noise = 8 * np.finfo(float).eps * np.abs(mean)
    return Frame(mean, np.where(scale > noise, scale, 1.0), intercept)


def column_sums(block: Block) -> tuple[float, Array, Array]:
    """Σ s, Σ s x and Σ s x² of one block."""
    weight = block.weights
    squares = block.X.power(2) if block.is_sparse else None
    if squares is not None:
        return float(weight.sum()), np.asarray(block.X.T @ weight), np.asarray(squares.T @ weight)
    X = block.X.astype(np.float64, copy=False)
    return float(weight.sum()), weight @ X, np.einsum("i,ij,ij->j", weight, X, X)


def centred_squares(block: Block, mean: Array) -> Array:
    """Σ s (x − mean)² of one block of dense rows."""
    X = block.X - mean
    weight = block.weights
    return np.einsum("i,ij,ij->j", weight, X, X)


def sides(block: Block, tilt: Tilt) -> tuple[Array, Array, Array]:
    """Target of each row and its slopes above and below, weights included."""
    assert block.y is not None
    y = block.y.reshape(block.X.shape[0]).astype(np.float64)
    weight = block.weights
    if tilt.class_weight is not None:
        weight = weight * tilt.class_weight[y.astype(np.intp)]
    if tilt.positive is None:
        return y, tilt.upper * weight, tilt.lower * weight
    up = y == tilt.positive
    return np.where(up, 1.0, -1.0), tilt.upper * weight * up, tilt.lower * weight * ~up


def design(block: Block, frame: Frame, root: Array | None = None, kept: NDArray | None = None) -> Array:
    """(Some of) the rows of one block less the shift, not yet scaled, times a factor a row."""
    X = block.X if kept is None else block.X[kept]
    X = X.toarray() if block.is_sparse else X
    rows = np.empty((X.shape[0], X.shape[1] + frame.intercept))
    body = rows[:, : X.shape[1]]
    if frame.shift.any():
        np.subtract(X, frame.shift, out=body)
        if root is not None:
            body *= root[:, None]
    elif root is None:
        body[:] = X
    else:
        np.multiply(X, root[:, None], out=body)
    rows[:, X.shape[1] :] = 1.0 if root is None else root[:, None]
    return rows


def gram(rows: Array, frame: Frame) -> Array:
    """Second moments of rows that `design` gave, in the coordinates of the frame."""
    scale = np.ones(rows.shape[1])
    scale[: len(frame.scale)] = frame.scale
    return (rows.T @ rows) / np.outer(scale, scale)


def scores(block: Block, frame: Frame, point: Array) -> Array:
    """Aθ of one block, without a copy of its rows."""
    coef, intercept = frame.outside(point)
    return np.asarray(block.X @ coef, dtype=np.float64) + intercept


def pulled(block: Block, frame: Frame, values: Array) -> Array:
    """Aᵀv of one block, without a copy of its rows."""
    total = values.sum()
    body = (np.asarray(block.X.T @ values, dtype=np.float64) - total * frame.shift) / frame.scale
    return np.append(body, total) if frame.intercept else body


def losses(residual: Array, upper: Array, lower: Array, tilt: Tilt) -> Array:
    """Loss of each row."""
    above = np.maximum(residual - tilt.epsilon, 0)
    under = np.maximum(-residual - tilt.epsilon, 0)
    if tilt.squared:
        return upper * above**2 + lower * under**2
    return upper * above + lower * under


def slopes(residual: Array, upper: Array, lower: Array, tilt: Tilt) -> Array:
    """ν = ℓ'(r), with 0 in the corners of p = 1."""
    above, under = residual - tilt.epsilon, -residual - tilt.epsilon
    if tilt.squared:
        return 2 * (upper * np.maximum(above, 0) - lower * np.maximum(under, 0))
    return upper * (above > 0) - lower * (under > 0)


def row_slopes(block: Block, tilt: Tilt, coef: Array, intercept: float) -> NDArray:
    """ν of the rows of one block at given coefficients."""
    target, upper, lower = sides(block, tilt)
    return slopes(target - np.asarray(block.X @ coef) - intercept, upper, lower, tilt)
