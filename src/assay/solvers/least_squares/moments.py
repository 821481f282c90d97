"""Second moments of a table, in one walk: all that least squares needs to know of the rows.

The moments are the Gram matrix of the augmented rows √s·[x − p, y − q, 1], where (p, q) is the mean of the
first rows in the columns where that is large beside their spread, and 0 in the others. The shift keeps the
digits that columns with a large mean would lose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.rows import Block, Rows

# NaN and infinity, found from the result of a walk: a finite sum needs no second look at the rows.


def require_finite(sums: NDArray, data: Rows) -> None:
    """Raise one sentence when sums over the rows are not finite, naming what the rows contain."""
    if np.isfinite(sums).all():
        return
    kinds = data.reduce(count_not_finite)
    for what, (n_nan, n_infinite) in zip(("Input X", "Input y"), kinds, strict=True):
        if n_nan or n_infinite:
            word = "NaN" if n_nan else "infinity"
            raise ValueError(
                f"{what} contains {word} ({n_nan or n_infinite} values); drop or fill them first."
            )
    raise too_large("X" if not np.isfinite(sums[..., : data.shape[1]]).all() else "y")


def too_large(what: str) -> ValueError:
    """The refusal of values whose squares overflow."""
    verb = "Divide its columns by their scale first" if what == "X" else "Divide it by its scale first"
    return ValueError(f"Input {what} is too large: its squares overflow. {verb}.")


LARGEST_SQUARE, SMALLEST_SQUARE = 1e150, 1e-150
"""Sums of squares of columns between which squared products of two columns keep their digits."""


def require_range(squares: NDArray, shift: NDArray, data: Rows) -> None:
    """Refuse columns [x, y] whose squares overflow, or underflow although the column less its shift is not 0.

    Only columns with hardly any sum of squares are looked at again.
    """
    require_finite(squares, data)
    d = data.shape[1]
    large, small = squares > LARGEST_SQUARE, np.flatnonzero(squares < SMALLEST_SQUARE)
    if large.any():
        raise too_large("X" if large[:d].any() else "y")
    if not small.size:
        return
    sizes = data.reduce(largest_values, small, shift[small], combine=np.maximum)
    lost = small[sizes > 0]
    if lost.size:
        what, them = ("X", "its columns by their") if lost[0] < d else ("y", "it by its")
        raise ValueError(f"Input {what} is too small: its squares underflow. Divide {them} scale first.")


def largest_values(block: Block, columns: NDArray, shift: NDArray) -> NDArray:
    """Largest |[x, y] − shift| of some columns of one block, over the rows that count."""
    d = block.X.shape[1]
    assert block.y is not None
    y = block.y.reshape(block.X.shape[0], -1)
    features = block.X[:, columns[columns < d]]
    features = features.toarray() if block.is_sparse else features
    table = np.column_stack([features, y[:, columns[columns >= d] - d]]).astype(np.float64) - shift
    if block.weight is not None:
        table = table[block.weight > 0]
    return np.abs(table).max(axis=0, initial=0.0)


def count_not_finite(block: Block) -> tuple[NDArray, NDArray]:
    """Numbers of NaN and of infinite values in features and target of one block."""
    values = block.X.data if block.is_sparse else block.X
    target = np.empty(0) if block.y is None else block.y
    return _count(values), _count(target)


def _count(values: NDArray) -> NDArray:
    return np.array([np.isnan(values).sum(), np.isinf(values).sum()])


PILOT_ROWS = 512
LARGE_MEAN = 4.0
"""Standard deviations beyond which a mean is subtracted before squaring; below, about a digit is lost."""
EPSILON = float(np.finfo(np.float64).eps)


class TableMoments(NamedTuple):
    """Means and scatter of the columns [x, y], weighted by s.

    Attributes
    ----------
    weight : float
        W = Σ s_i, the number of rows counted with repetition.
    mean_x, mean_y : arrays of shape (d,), (t,)
        Weighted means; zeros when the moments are taken about the origin.
    xx, xy, yy : arrays of shape (d, d), (d, t), (t,)
        Σ s (x − mean_x)(x − mean_x)ᵀ and so on.
    constant : boolean array of shape (d,)
        Columns whose scatter is nothing but rounding; their rows in xx and xy are zero.
    """

    weight: float
    mean_x: NDArray
    mean_y: NDArray
    xx: NDArray
    xy: NDArray
    yy: NDArray
    constant: NDArray


def moments(data: Rows, *, center: bool) -> TableMoments:
    """Walk the rows once and return their moments, about the mean or about the origin.

    Parameters
    ----------
    data : Rows
        With a target.
    center : bool
        Whether the moments are taken about the mean (a model with an intercept).
    """
    d, t = data.shape[1], data.n_targets
    pilot = np.zeros(d + t)
    if center and not data.is_sparse:
        pilot[:] = data.head(PILOT_ROWS, pilot_shift)
    with np.errstate(over="ignore", invalid="ignore"):
        gram = data.reduce(augmented_gram, pilot)
    require_range(np.diagonal(gram)[:-1], pilot, data)
    weight, sums, scatter = gram[-1, -1], gram[-1, :-1], gram[:-1, :-1]
    mean = np.zeros(d + t)
    raw = np.diagonal(scatter).copy()
    if center:
        scatter = scatter - sums[:, None] * (sums / weight)
        mean = pilot + sums / weight
    spread = np.diagonal(scatter)
    # What is left of a constant column is rounding: of its value (before the shift), of its square (after).
    constant = spread[:d] <= rounding_of_constant(raw[:d], mean[:d], weight)
    xx, xy = scatter[:d, :d], scatter[:d, d:]
    if constant.any():
        xx, xy = xx.copy(), xy.copy()
        xx[constant] = xx[:, constant] = xy[constant] = 0.0
    return TableMoments(float(weight), mean[:d], mean[d:], xx, xy, np.maximum(spread[d:], 0.0), constant)


def rounding_of_constant(squares: NDArray, mean: NDArray, weight: float) -> NDArray:
    """What rounding leaves of Σ s (x − x̄)² of constant columns, `squares` being the sums before centring."""
    return 8 * EPSILON * (squares + 8 * weight * EPSILON * mean**2)


def pilot_shift(block: Block) -> NDArray:
    """Plain mean of [x, y] over a few rows, 0 where it is below a few standard deviations."""
    n = block.X.shape[0]
    assert block.y is not None
    table = np.concatenate([block.X, block.y.reshape(n, -1)], axis=1, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite shows in the moments
        mean = table.sum(axis=0) / n
        spread = np.einsum("ij,ij->j", table, table) / n - mean**2
        return np.where(mean**2 > LARGE_MEAN**2 * spread, mean, 0.0)


def augmented_gram(block: Block, pilot: NDArray) -> NDArray:
    """Gram matrix of the rows √s·[x − p, y − q, 1] of one block, in float64."""
    if block.is_sparse:
        return _sparse_gram(block)
    augmented = augmented_rows(block, pilot, ones=True)
    return augmented.T @ augmented


def augmented_rows(block: Block, shift: NDArray, *, ones: bool) -> NDArray:
    """The rows √s·[x − p, y − q] of one block, with a last column √s if `ones`."""
    n, d = block.X.shape
    assert block.y is not None
    y = block.y.reshape(n, -1)
    width = d + y.shape[1]
    X = block.dense
    augmented = np.empty((n, width + ones), order="F" if X.flags.f_contiguous else "C")
    augmented[:, :d], augmented[:, d:width] = X, y
    if shift.any():  # a copy is cheaper than a subtraction
        augmented[:, :width] -= shift
    if ones:
        augmented[:, width] = 1.0
    if block.weight is not None:
        augmented *= np.sqrt(block.weight.astype(np.float64))[:, None]
    return augmented


def _sparse_gram(block: Block) -> NDArray:
    """The same for CSR rows, without a shift: zeros stay zeros."""
    n, d = block.X.shape
    X = block.X.astype(np.float64)
    assert block.y is not None
    rest = np.column_stack([block.y.reshape(n, -1), np.ones(n)]).astype(np.float64)
    weight = block.weights
    weighted = sparse.csr_array(X.multiply(weight[:, None]))
    gram = np.empty((d + rest.shape[1],) * 2)
    gram[:d, :d] = (weighted.T @ X).toarray()
    gram[:d, d:] = weighted.T @ rest
    gram[d:, :d] = gram[:d, d:].T
    gram[d:, d:] = rest.T @ (weight[:, None] * rest)
    return gram
