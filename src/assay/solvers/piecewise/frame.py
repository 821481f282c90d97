"""Linear scores of rows and the loss they are charged: coordinates of a solver, targets and weights."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss, SidedLoss
from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array

LossType = TypeVar("LossType", bound=Loss, covariant=True)


class MachineLoss(NamedTuple, Generic[LossType]):
    """The loss that one machine charges for its scores.

    `factor` multiplies the weights of all rows, `class_weight` those of each class. `positive` is the class
    number whose label is +1, the others being −1; None when the target is a number.
    """

    loss: LossType
    factor: float = 1.0
    positive: int | None = None
    class_weight: Array | None = None

    def target(self, y: NDArray) -> Array:
        """The target as the loss wants it: a number, or +1 for one class and −1 for the others."""
        y = y.reshape(-1)
        return y.astype(np.float64) if self.positive is None else np.where(y == self.positive, 1.0, -1.0)

    def read(self, block: Block) -> tuple[Array, Array]:
        """Target of each row and what it weighs."""
        assert block.y is not None
        weight = block.weights
        if self.class_weight is not None:
            weight = weight * self.class_weight[block.y.reshape(-1).astype(np.intp)]
        return self.target(block.y), self.factor * weight


def sides(block: Block, machine: MachineLoss[SidedLoss]) -> tuple[Array, Array, Array]:
    """Target of each row and its factors above and below, weights included."""
    target, weight = machine.read(block)
    upper, lower = machine.loss.sides(target)
    return target, weight * upper, weight * lower


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
    with np.errstate(over="ignore", invalid="ignore"):
        weight, total, squares = data.reduce(column_sums)
    lost = (squares < 1e-290 * weight) & ((squares > 0) | (total != 0))
    if lost.any() or not np.isfinite(squares).all():
        size, bad = ("small", lost) if lost.any() else ("large", ~np.isfinite(squares))
        raise ValueError(
            f"The squares of column {int(np.argmax(bad))} of X are too {size} for floating point. Divide the "
            "columns by their scale, by StandardScaler for instance."
        )
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
    if block.is_sparse:
        squares = block.X.power(2)
        return float(weight.sum()), np.asarray(block.X.T @ weight), np.asarray(squares.T @ weight)
    X = block.X.astype(np.float64, copy=False)
    return float(weight.sum()), weight @ X, np.einsum("i,ij,ij->j", weight, X, X)


def centred_squares(block: Block, mean: Array) -> Array:
    """Σ s (x − mean)² of one block of dense rows."""
    X = block.X - mean
    return np.einsum("i,ij,ij->j", block.weights, X, X)


def design(block: Block, frame: Frame, root: Array | None = None, kept: NDArray | None = None) -> Array:
    """(Some of) the rows of one block less the shift, not yet scaled, times a factor per row."""
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


def row_targets(block: Block) -> Array:
    """Targets of the rows of one block."""
    assert block.y is not None
    return block.y.reshape(block.X.shape[0]).astype(np.float64)


def target_sums(block: Block) -> tuple[float, float, float]:
    """Σ s, Σ s y and Σ s y² of one block."""
    weight, y = block.weights, row_targets(block)
    return float(weight.sum()), float(weight @ y), float(weight @ y**2)


def target_squares(block: Block, center: float) -> float:
    """Σ s (y − center)² of one block."""
    return float(block.weights @ (row_targets(block) - center) ** 2)


def require_spread(spread: float) -> None:
    """Raise where the squares of a target leave floating point."""
    if not 1e-150 < spread < 1e150:
        raise ValueError(
            f"The target has a spread of {spread:.1g}, whose square floating point does not hold. Divide the "
            "target by its scale."
        )
