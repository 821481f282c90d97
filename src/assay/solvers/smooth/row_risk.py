"""The penalised mean loss of a linear score, its gradient and its Hessian, each by one walk over the rows.

Points are arrays of shape (p, k): the coefficients of k scores and, in the last row, their intercepts when
there are some. The intercept belongs to columns shifted by `center`, so that a column with a large mean does
not tie its coefficient to the intercept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, MappedRows, Rows
from assay.solvers.least_squares.moments import PILOT_ROWS, require_finite
from assay.solvers.smooth.row_loss_loops import LOGISTIC, fused_sums
from assay.solvers.smooth.row_losses import RowLoss, RowTerms

Array = NDArray[np.float64]

FAR = 1e4
"""Standard deviations from zero beyond which a column is shifted before anything is computed."""


class Sums(NamedTuple):
    """Sums over rows: losses, weight on the wrong side, slopes against the columns and against ones."""

    loss: float
    mistakes: float
    slope: Array
    total: Array


class Split(NamedTuple):
    """Sums of the slopes group by group of rows: a dual point, and parts of it that scale by themselves.

    `slope` (g, d, k) and `total` (g, k) are sums of slopes, `conjugate` (g,) of the conjugates less slope
    times offset, `rest` (g,) of the conjugates at slope 0.
    """

    slope: Array
    total: Array
    conjugate: Array
    rest: Array


class Measured(NamedTuple):
    """What one walk says of a point, on the scale of the mean.

    `risk` is the mean loss and `value` adds the penalty; `gradient` is of `value`, shape (p, k).
    """

    value: float
    gradient: Array
    risk: float
    mistakes: float
    hessian: Array | None = None
    split: Split | None = None


class RowRisk:
    """f(θ) = (1/W) Σ s ℓ(y, x·w + b) + ½ Σ_j α_j w_j², for rows wherever they live.

    Parameters
    ----------
    data : Rows
        With a target, and an offset of the score as its second column if `has_offset`.
    loss : RowLoss
    alpha : array of shape (d,)
        Penalty of each feature.
    fit_intercept, has_offset : bool
    weight : float, optional
        W; Σ s, times the weights of the classes, by default.
    center : array of shape (d,), optional
        Shift of the columns; the mean of the first rows by default.
    class_weight : array of shape (n_classes,), optional
        Multiplies the weight of each row, whose class is its target.
    """

    def __init__(
        self,
        data: Rows,
        loss: RowLoss,
        alpha: Array,
        *,
        fit_intercept: bool,
        has_offset: bool = False,
        weight: float | None = None,
        center: Array | None = None,
        class_weight: Array | None = None,
    ) -> None:
        self.data = self.source = data
        self.loss = loss
        self.fit_intercept, self.has_offset = fit_intercept, has_offset
        self.class_weight = class_weight
        if weight is None:
            weight = data.total_weight if class_weight is None else data.reduce(total_weight, class_weight)
        self.weight = weight
        d = data.shape[1]
        shifts: Array | None = None
        if center is None:
            center = np.zeros(d)
            if fit_intercept and not data.is_sparse:
                center, shifts = data.head(PILOT_ROWS, block_moments)
        self.center = self.inner = center
        if shifts is not None and np.any(np.abs(center) > FAR * shifts):
            # Scores would be small differences of large numbers: the rows themselves are shifted.
            self.data, self.inner = MappedRows(data, shifted, center), np.zeros(d)
        self.shape = d + fit_intercept, loss.n_scores
        self.rounding = float(np.finfo(data.dtype).eps)
        self._set_penalty(alpha)

    def with_alpha(self, alpha: Array) -> RowRisk:
        """The same risk with another squared-norm penalty."""
        other = copy.copy(self)
        other._set_penalty(alpha)
        return other

    def _set_penalty(self, alpha: Array) -> None:
        self.alpha = alpha
        self.ridge = np.append(alpha, np.zeros(int(self.fit_intercept)))[:, None]
        self.free = self.ridge[:, 0] == 0  # rows of a point that no penalty holds

    def split_point(self, point: Array) -> tuple[Array, Array]:
        """Coefficients (d, k) and intercepts (k,) of the columns as they are."""
        if not self.fit_intercept:
            return point, np.zeros(point.shape[1])
        coef = point[:-1]
        return coef, point[-1] - self.center @ coef

    def walk_point(self, point: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts for the columns as they are walked, `data`."""
        if not self.fit_intercept:
            return point, np.zeros(point.shape[1])
        return point[:-1], point[-1] - self.inner @ point[:-1]

    def join_point(self, coef: Array, intercept: Array) -> Array:
        """The point of coefficients and intercepts."""
        if not self.fit_intercept:
            return coef
        return np.vstack([coef, intercept + self.center @ coef])

    def gradient(self, point: Array) -> tuple[float, Array]:
        """Value and gradient at a point, by one walk."""
        return self._measured(self._walk(gradient_step, point), point)[:2]

    def measure(self, point: Array, *, hessian: bool = False, split: bool = False) -> Measured:
        """All that one walk can say of a point; the Hessian is ordered score by score, (k p, k p)."""
        split = split and self.loss.n_groups > 0
        sums, groups, curved = self._walk(full_step, point, self.inner, self.fit_intercept, hessian, split)
        found = self._measured(sums, point)
        if curved is not None:
            found = found._replace(hessian=self._regularised(curved / self.weight))
        return found._replace(split=groups)

    def mean_curvature(self, point: Array) -> Array:
        """Mean second derivative of the loss in each score, rows counted once, shape (k,)."""
        return np.maximum(self._walk(curvature_sum, point) / self.data.shape[0], 1e-6)

    def _walk(self, step: Callable[..., Any], point: Array, *state: Any) -> Any:
        coef, level = self.walk_point(point)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.data.reduce(step, coef, level, self.loss, self.has_offset, self.class_weight, *state)

    def _measured(self, sums: Sums, point: Array) -> Measured:
        slope = sums.slope
        if np.isnan(sums.loss) or np.isnan(slope).any():
            require_finite(np.array([np.nan]), self.data)
        if self.fit_intercept:
            slope = np.vstack([slope - np.outer(self.inner, sums.total), sums.total])
        risk = sums.loss / self.weight
        value = risk + 0.5 * float(np.sum(self.ridge * point**2))
        gradient = slope / self.weight + self.ridge * point
        return Measured(value, gradient, risk, sums.mistakes / self.weight)

    def _regularised(self, hessian: Array) -> Array:
        p, k = self.shape
        places = np.arange(p * k)
        hessian[places, places] += np.tile(self.ridge[:, 0], k)
        if self.loss.symmetric:
            # A common shift of all scores has no curvature, and the gradient no part in it: any will do.
            view = hessian.reshape(k, p, k, p)
            for j in np.flatnonzero(self.free):
                view[:, j, :, j] += np.trace(view[:, j, :, j]) / k**2
        return hessian


def shifted(block: Block, shift: Array) -> Block:
    """A block with a number subtracted from each column, in float64."""
    return block._replace(X=block.X - shift)


def block_moments(block: Block) -> tuple[Array, Array]:
    """Weighted mean and standard deviation of the columns of a block; 0 and inf where not finite."""
    X = block.X.astype(np.float64)
    weight = block.weights
    with np.errstate(all="ignore"):
        mean = weight @ X / weight.sum()
        spread = np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    finite = np.isfinite(mean) & np.isfinite(spread)
    return np.where(finite, mean, 0.0), np.where(finite, spread, np.inf)


def row_weights(block: Block, class_weight: Array | None) -> NDArray | None:
    """Weight of each row of a block, with that of its class."""
    if class_weight is None:
        return block.weight
    assert block.y is not None
    y = block.y if block.y.ndim == 1 else block.y[:, 0]
    weight = class_weight[y.astype(np.intp)].astype(block.X.dtype)
    return weight if block.weight is None else weight * block.weight


def total_weight(block: Block, class_weight: Array) -> float:
    """Sum of the weights of one block."""
    weight = row_weights(block, class_weight)
    assert weight is not None
    return float(weight.sum(dtype=np.float64))


def row_scores(block: Block, coef: Array, intercept: Array, loss: RowLoss) -> NDArray:
    """Scores of the rows of a block, without their offsets: a vector for one score."""
    X = block.X
    if loss.n_scores == 1:
        scores = np.asarray(X @ coef[:, 0].astype(X.dtype))
        scores += X.dtype.type(intercept[0])
    else:
        scores = np.asarray(X @ coef.astype(X.dtype))
        scores += intercept.astype(X.dtype)
    return scores


def terms_of_scores(
    block: Block, scores: NDArray, loss: RowLoss, has_offset: bool
) -> tuple[RowTerms, NDArray]:
    """Loss terms of scores, which are overwritten, and the target."""
    y = block.y
    assert y is not None
    if has_offset:
        scores += y[:, 1] if loss.n_scores == 1 else y[:, 1:2]
    target = y if y.ndim == 1 else np.ascontiguousarray(y[:, 0])
    return loss.terms(target, scores), target


def row_terms(
    block: Block, coef: Array, intercept: Array, loss: RowLoss, has_offset: bool
) -> tuple[RowTerms, NDArray]:
    """Loss terms of one block at a point, and its target."""
    return terms_of_scores(block, row_scores(block, coef, intercept, loss), loss, has_offset)


def gradient_step(
    block: Block,
    coef: Array,
    intercept: Array,
    loss: RowLoss,
    has_offset: bool,
    class_weight: Array | None,
) -> Sums:
    """Sums of one block."""
    weight = row_weights(block, class_weight)
    if can_fuse(block, loss, has_offset):
        return fused(block, coef, intercept, weight, loss)
    terms, y = row_terms(block, coef, intercept, loss, has_offset)
    return summed(block, terms, y, weight, loss)


def can_fuse(block: Block, loss: RowLoss, has_offset: bool) -> bool:
    """Whether one compiled loop can take all sums of a block: dense rows, one score, no offset."""
    return loss.fused is not None and not has_offset and not block.is_sparse and block.X.flags.c_contiguous


def fused(block: Block, coef: Array, intercept: Array, weight: NDArray | None, loss: RowLoss) -> Sums:
    """Sums of one block by one compiled loop."""
    assert block.y is not None
    slope = np.zeros(coef.shape[0])
    given = np.empty(0) if weight is None else weight.astype(np.float64)
    column, level = np.ascontiguousarray(coef[:, 0]), float(intercept[0])
    value, total, mistakes = fused_sums(block.X, block.y, given, column, level, loss.fused, slope)
    return Sums(value, mistakes, slope[:, None], np.array([total]))


def fused_split(
    block: Block, sums: Sums, coef: Array, intercept: Array, weight: NDArray | None, loss: RowLoss
) -> Split:
    """The split of two classes: the sums of the second, and what they leave to the first."""
    assert block.y is not None
    second = (block.y >= 1).astype(np.float64)
    one = fused(block, coef, intercept, second if weight is None else weight * second, loss)
    slope = np.stack([sums.slope - one.slope, one.slope])
    total = np.stack([sums.total - one.total, one.total])
    losses = np.array([sums.loss - one.loss, one.loss])
    # Σ u f over a group is linear in its sums.
    conjugate = np.einsum("gdk,dk->g", slope, coef) + total @ intercept - losses
    smallest = loss.smallest(block.y)
    rest = np.zeros(2)
    if smallest is not None:
        weights = np.ones(len(second)) if weight is None else weight.astype(np.float64)
        rest = -np.bincount(second.astype(np.intp), weights * smallest, minlength=2).astype(np.float64)
    return Split(slope, total, conjugate, rest)


def summed(block: Block, terms: RowTerms, y: NDArray, weight: NDArray | None, loss: RowLoss) -> Sums:
    """Weighted sums of the terms of one block."""
    residual, wrong = terms.residual, loss.mistakes(terms, y)
    if weight is None:
        value = float(terms.losses.sum(dtype=np.float64))
        mistakes = 0.0 if wrong is None else float(np.count_nonzero(wrong))
    else:
        # Rows of no weight count for nothing, even where their loss is infinite.
        counted = weight > 0
        value = float(weight[counted].astype(np.float64) @ terms.losses[counted])
        mistakes = 0.0 if wrong is None else float(weight[wrong].sum(dtype=np.float64))
        residual = residual * (weight if residual.ndim == 1 else weight[:, None])
        residual[~counted] = 0
    slope = np.asarray(block.X.T @ residual, dtype=np.float64)
    total = np.atleast_1d(residual.sum(axis=0, dtype=np.float64))
    return Sums(value, mistakes, slope.reshape(slope.shape[0], -1), total)


def full_step(
    block: Block,
    coef: Array,
    intercept: Array,
    loss: RowLoss,
    has_offset: bool,
    class_weight: Array | None,
    center: Array,
    fit_intercept: bool,
    with_hessian: bool,
    with_split: bool,
) -> tuple[Sums, Split | None, Array | None]:
    """Sums of one block, with those of each group and with curvatures."""
    if not with_hessian and can_fuse(block, loss, has_offset) and (loss.fused == LOGISTIC or not with_split):
        weight = row_weights(block, class_weight)
        sums = fused(block, coef, intercept, weight, loss)
        split = fused_split(block, sums, coef, intercept, weight, loss) if with_split else None
        return sums, split, None
    scores = row_scores(block, coef, intercept, loss)
    kept = scores.copy() if with_split else scores  # without the offset
    terms, y = terms_of_scores(block, scores, loss, has_offset)
    weight = row_weights(block, class_weight)
    sums = summed(block, terms, y, weight, loss)
    split = split_step(block, terms, y, kept, weight, loss, sums) if with_split else None
    if not with_hessian:
        return sums, split, None
    columns = shifted_columns(block, center, fit_intercept)
    gram = weighted_gram if loss.n_scores == 1 else coupled_gram
    return sums, split, gram(columns, terms.curvature, weight)


def split_step(
    block: Block,
    terms: RowTerms,
    y: NDArray,
    scores: NDArray,
    weight: NDArray | None,
    loss: RowLoss,
    sums: Sums,
) -> Split:
    """Slopes and conjugates of one block, group by group; the last group has what the others leave.

    At the slope u of a score f the conjugate is u·f − ℓ, of which u times the offset is taken off.
    """
    n, g, k = len(y), loss.n_groups, loss.n_scores
    groups = loss.groups(y, terms.residual)
    residual = terms.residual.reshape(n, k)
    weights = np.ones(n) if weight is None else weight.astype(np.float64)
    slope, total = np.empty((g, sums.slope.shape[0], k)), np.empty((g, k))
    for group in range(g - 1):
        member = groups == group
        part = residual * (member if weight is None else np.where(member, weight, 0))[:, None]
        slope[group] = np.asarray(block.X.T @ part.astype(block.X.dtype), dtype=np.float64)
        total[group] = part.sum(axis=0, dtype=np.float64)
    slope[-1], total[-1] = sums.slope - slope[:-1].sum(axis=0), sums.total - total[:-1].sum(axis=0)
    reach = np.einsum("ij,ij->i", residual, scores.reshape(n, k), dtype=np.float64) - terms.losses
    conjugate = np.bincount(groups, np.where(weights > 0, weights * reach, 0.0), minlength=g)
    smallest = loss.smallest(y)
    rest = np.zeros(g) if smallest is None else -np.bincount(groups, weights * smallest, minlength=g)
    return Split(slope, total, conjugate.astype(np.float64), rest.astype(np.float64))


def curvature_sum(
    block: Block,
    coef: Array,
    intercept: Array,
    loss: RowLoss,
    has_offset: bool,
    class_weight: Array | None,
) -> Array:
    """Sum of the second derivatives in each score over one block, rows counted once."""
    terms, _ = row_terms(block, coef, intercept, loss, has_offset)
    curvature = terms.curvature
    each = curvature if curvature.ndim == 1 else curvature * (1 - curvature)
    return np.atleast_1d(each.sum(axis=0, dtype=np.float64))


def shifted_columns(block: Block, center: Array, fit_intercept: bool) -> Array:
    """[x − center, 1] of one block, in float64."""
    X = block.dense
    n, d = X.shape
    columns = np.empty((n, d + fit_intercept))
    if center.any():
        np.subtract(X, center, out=columns[:, :d])
    else:
        columns[:, :d] = X
    if fit_intercept:
        columns[:, d] = 1.0
    return columns


def weighted_gram(columns: Array, curvature: NDArray, weight: NDArray | None) -> Array:
    """Σ s h a aᵀ over the rows a; `columns` is overwritten."""
    factor = curvature.astype(np.float64)
    if weight is not None:
        factor = np.where(weight > 0, factor * weight, 0.0)
    columns *= np.sqrt(factor)[:, None]
    return np.asarray(columns.T @ columns)


def coupled_gram(columns: Array, probabilities: NDArray, weight: NDArray | None) -> Array:
    """Σ s (diag(p) − p pᵀ) ⊗ a aᵀ over the rows a, score by score."""
    k, p = probabilities.shape[1], columns.shape[1]
    share = probabilities.astype(np.float64)
    scale = share if weight is None else share * weight[:, None].astype(np.float64)
    hessian = np.empty((k * p, k * p))
    for j in range(k):
        for i in range(j, k):
            factor = scale[:, j] * ((i == j) - share[:, i])
            part = columns.T @ (columns * factor[:, None])
            hessian[j * p : (j + 1) * p, i * p : (i + 1) * p] = part
            hessian[i * p : (i + 1) * p, j * p : (j + 1) * p] = part.T
    return hessian
