"""Moments of classes: weights, means and scatter about them, by one walk over the rows.

The rows are shifted by a rough mean before they are squared. Where the scatter about the means of the classes
is nothing beside what was added up (classes far apart, offsets of 10⁸), digits were lost: the rows are then
walked again, each shifted by the mean of its class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Rows
from assay.solvers.least_squares.moments import (
    PILOT_ROWS,
    pilot_shift,
    require_finite,
    rounding_of_constant,
    too_large,
)

Array = NDArray[np.float64]

LOST = 1e-6
"""Share of a sum of squares below which what is left of it after centring is measured again."""

LARGEST = 1e150
"""Sum of squares of a column beyond which products of two columns overflow."""

FEW_CLASSES = 32
"""Classes up to which their sums are a product with marks of the classes; beyond, rows are sorted."""


class ClassMoments(NamedTuple):
    """Weights, means and scatter of K classes of rows with d columns.

    Attributes
    ----------
    weight : array of shape (K,)
        w_k = Σ s_i over the rows of the class.
    means : array of shape (K, d)
        Weighted means; that of all rows for a class without weight.
    scatters : array of shape (K, d, d) or (1, d, d)
        Σ s (x − μ_k)(x − μ_k)ᵀ of each class, or summed over the classes where they are not kept apart.
    constant : boolean array of shape (d,)
        Columns that vary in no class but for rounding; their scatter is 0.
    """

    weight: Array
    means: Array
    scatters: Array
    constant: NDArray[np.bool_]

    @property
    def total_weight(self) -> float:
        """Sum of all weights, n."""
        return float(self.weight.sum())

    @property
    def mean(self) -> Array:
        """Mean of all rows."""
        return np.asarray(self.weight @ self.means / self.weight.sum())

    @property
    def within(self) -> Array:
        """Scatter about the means of the classes, summed over the classes."""
        return np.asarray(self.scatters[0] if len(self.scatters) == 1 else self.scatters.sum(axis=0))

    @property
    def between(self) -> Array:
        """Σ_k w_k (μ_k − μ)(μ_k − μ)ᵀ: total scatter less `within`."""
        centred = self.means - self.mean
        return np.asarray((self.weight[:, None] * centred).T @ centred)


class ClassSums(NamedTuple):
    """What a walk adds up: Σ s, Σ s (x − p_k) and Σ s (x − p_k)(x − p_k)ᵀ of the classes."""

    weight: Array
    sums: Array
    products: Array


def class_moments(data: Rows, n_classes: int, *, apart: bool, about_means: bool = False) -> ClassMoments:
    """Walk the rows and return the moments of their classes.

    Parameters
    ----------
    data : Rows
        The target is the place of the class, 0 … K−1.
    n_classes : int
        K.
    apart : bool
        Whether the scatter of each class is kept, or their sum alone.
    about_means : bool, default=False
        Whether the rows are walked again in any case, so that classes that do not vary have no scatter but
        for the rounding of their means.
    """
    d = data.shape[1]
    shift = np.zeros(d) if data.is_sparse else data.head(PILOT_ROWS, pilot_shift)[:d]
    sums = _walk(data, n_classes, shift, apart)
    result, raw = _centred(sums, shift)
    within = np.diagonal(result.within)
    if about_means or np.any(within < LOST * raw):
        shift = result.means
        result, raw = _centred(_walk(data, n_classes, shift, apart), shift)
        within = np.diagonal(result.within)
    size = np.abs(result.means).max(axis=0, initial=0.0)
    constant = within <= rounding_of_constant(raw, size, result.total_weight)
    if constant.any():
        scatters = result.scatters.copy()
        scatters[:, constant] = scatters[:, :, constant] = 0.0
        result = result._replace(scatters=scatters)
    return result._replace(constant=constant)


def _walk(data: Rows, n_classes: int, shift: Array, apart: bool) -> ClassSums:
    step = class_sums_apart if apart else class_sums
    with np.errstate(over="ignore", invalid="ignore"):
        sums: ClassSums = data.reduce(step, shift, n_classes)
    squares = np.diagonal(sums.products, axis1=1, axis2=2)
    require_finite(squares, data)
    if squares.max(initial=0.0) > LARGEST:
        raise too_large("X")
    return sums


def _centred(sums: ClassSums, shift: Array) -> tuple[ClassMoments, Array]:
    """Moments about the means of the classes, and the sums of squares of the columns before centring."""
    weight = sums.weight
    heavy = np.where(weight > 0, weight, 1.0)[:, None]
    offset = sums.sums / heavy
    means = shift + offset
    if not weight.all():  # the mean of no row is that of all rows
        means[weight == 0] = weight @ means / weight.sum()
    # Σ s (x − μ)(x − μ)ᵀ = Σ s (x − p)(x − p)ᵀ − w (μ − p)(μ − p)ᵀ
    weighted = weight[:, None] * offset
    if len(sums.products) == 1:
        scatters = sums.products - weighted.T @ offset
    else:
        scatters = sums.products - weighted[:, :, None] * offset[:, None, :]
    raw = np.diagonal(sums.products, axis1=1, axis2=2).sum(axis=0)
    nothing = np.zeros(means.shape[1], dtype=bool)
    return ClassMoments(weight, means, scatters, nothing), raw


def class_sums(block: Block, shift: Array, n_classes: int) -> ClassSums:
    """Sums of one block, products summed over the classes."""
    assert block.y is not None
    codes, weight = block.y.astype(np.intp), block.weight
    rows = shifted_rows(block.dense, codes, shift)
    counts = np.bincount(codes, weight, minlength=n_classes).astype(np.float64)
    root = None if weight is None else np.sqrt(weight.astype(np.float64))
    if root is not None:
        rows = rows * root[:, None]
    if n_classes <= FEW_CLASSES:
        marks = np.zeros((len(codes), n_classes))
        marks[np.arange(len(codes)), codes] = 1.0 if root is None else root
        sums = marks.T @ rows
    else:
        sums = _sums_of_sorted(rows, codes, root, n_classes)
    return ClassSums(counts, sums, (rows.T @ rows)[None])


def class_sums_apart(block: Block, shift: Array, n_classes: int) -> ClassSums:
    """Sums of one block, products of each class."""
    assert block.y is not None
    codes = block.y.astype(np.intp)
    d = block.X.shape[1]
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    codes = codes[order]
    rows = shifted_rows(block.dense[order], codes, shift)
    weight = np.ones(len(codes)) if block.weight is None else block.weight[order].astype(np.float64)
    root = np.sqrt(weight)
    if block.weight is not None:
        rows = rows * root[:, None]
    counts, sums = np.zeros(n_classes), np.zeros((n_classes, d))
    products = np.zeros((n_classes, d, d))
    start = 0
    for k, stop in enumerate(ends.tolist()):
        if stop > start:
            own = rows[start:stop]
            counts[k], sums[k], products[k] = weight[start:stop].sum(), root[start:stop] @ own, own.T @ own
        start = stop
    return ClassSums(counts, sums, products)


def shifted_rows(X: NDArray, codes: NDArray, shift: Array) -> Array:
    """Rows in float64 less one shift, or less that of the class of each; not to be written to."""
    if shift.ndim == 2:
        return np.asarray(X - shift[codes], dtype=np.float64)
    return np.subtract(X, shift, dtype=np.float64) if shift.any() else X.astype(np.float64, copy=False)


def _sums_of_sorted(rows: Array, codes: NDArray, root: Array | None, n_classes: int) -> Array:
    order = np.argsort(codes, kind="stable")
    weighted = rows[order] if root is None else rows[order] * root[order, None]
    present, starts = np.unique(codes[order], return_index=True)
    sums = np.zeros((n_classes, rows.shape[1]))
    sums[present] = np.add.reduceat(weighted, starts, axis=0)
    return sums


# Columns one by one, where products of two are not needed.


class ClassSquares(NamedTuple):
    """Weights, means and sums of squares about them of K classes.

    Attributes
    ----------
    weight : array of shape (K,)
    means : array of shape (K, d)
        That of all rows for a class without weight.
    squares : array of shape (K, d)
        Σ s (x − μ_k)² of each column.
    """

    weight: Array
    means: Array
    squares: Array


def class_squares(data: Rows, n_classes: int) -> ClassSquares:
    """Walk the rows for means and sums of squares of each column in each class; safe at large offsets."""
    d = data.shape[1]
    shift = np.zeros(d) if data.is_sparse else data.head(PILOT_ROWS, pilot_shift)[:d]
    result, raw = _squares(data, n_classes, shift)
    if np.any(result.squares.sum(axis=0) < LOST * raw):
        result, raw = _squares(data, n_classes, result.means)
    return result


def _squares(data: Rows, n_classes: int, shift: Array) -> tuple[ClassSquares, Array]:
    with np.errstate(over="ignore", invalid="ignore"):
        weight, sums, squares = data.reduce(squares_block, shift, n_classes)
    require_finite(squares, data)
    if squares.max(initial=0.0) > LARGEST:
        raise too_large("X")
    offset = sums / np.where(weight > 0, weight, 1.0)[:, None]
    means = shift + offset
    if not weight.all():
        means[weight == 0] = weight @ means / weight.sum()
    left = np.maximum(squares - weight[:, None] * offset**2, 0.0)
    return ClassSquares(weight, means, left), squares.sum(axis=0)


def squares_block(block: Block, shift: Array, n_classes: int) -> tuple[Array, Array, Array]:
    """Σ s, Σ s (x − p) and Σ s (x − p)² of the classes in one block."""
    assert block.y is not None
    codes, weights = block.y.astype(np.intp), block.weights
    rows = shifted_rows(block.dense, codes, shift)
    if n_classes <= FEW_CLASSES:
        marks = np.zeros((len(codes), n_classes))
        marks[np.arange(len(codes)), codes] = weights
        sums = marks.T @ rows
        return marks.sum(axis=0), sums, marks.T @ (rows * rows)
    counts = np.bincount(codes, weights, minlength=n_classes).astype(np.float64)
    sums = _sums_of_sorted(rows, codes, weights, n_classes)
    return counts, sums, _sums_of_sorted(rows**2, codes, weights, n_classes)
