"""What one block of rows adds to a smooth fit: sums of losses, slopes and curvatures of a linear score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.losses import Loss, RowTerms
from assay.losses.row_form import row_terms
from assay.rows import Block

Array = NDArray[np.float64]

TILE = 128
"""Rows whose scores are kept at hand between the two products with them."""


class LinearScore(NamedTuple):
    """A loss of the score x·w + b, of columns as they are walked.

    `coef` is (d, k) and `intercept` (k,); with `has_offset` the target has the offset of the score as second
    column; `class_weight` multiplies the weight of each row, whose class is its target. Curvatures belong to
    columns shifted by `center`, and a column of ones with `fit_intercept`.
    """

    coef: Array
    intercept: Array
    loss: Loss
    has_offset: bool
    class_weight: Array | None
    center: Array
    fit_intercept: bool


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


@compiled
def fused_sums(form, X, y, weight, coef, level, wrong, rising, slope):  # type: ignore[no-untyped-def]
    """Sums of weighted losses, slopes and mistakes over dense rows that are read once from memory.

    The slopes against the columns are added to `slope`. An empty `weight` counts every row once. Rows of no
    weight count for nothing; with `rising`, nor do rows whose slope is not above 0. A mistake is a slope
    above `wrong`, or at most −`wrong`.
    """
    n, d = X.shape
    weighted = weight.shape[0] > 0
    scores, losses = np.empty(TILE), np.empty(TILE)
    loss, total, mistakes = 0.0, 0.0, 0.0
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for i in range(size):
            score = 0.0
            for j in range(d):
                score += X[start + i, j] * coef[j]
            scores[i] = score + level
        for i in range(size):
            losses[i], scores[i], _ = row_terms(form, y[start + i], scores[i])
        if rising:
            for i in range(size):
                losses[i] = losses[i] if scores[i] > 0.0 else 0.0
                scores[i] = max(scores[i], 0.0)
        if weighted:
            for i in range(size):
                factor = weight[start + i]
                mistakes += factor * (1.0 if scores[i] > wrong or scores[i] <= -wrong else 0.0)
                losses[i] = factor * losses[i] if factor > 0.0 else 0.0
                scores[i] = factor * scores[i] if factor > 0.0 else 0.0
        else:
            for i in range(size):
                mistakes += 1.0 if scores[i] > wrong or scores[i] <= -wrong else 0.0
        for i in range(size):
            loss += losses[i]
            total += scores[i]
        whole = size - size % 4
        for i in range(0, whole, 4):
            a, b, c, e = scores[i], scores[i + 1], scores[i + 2], scores[i + 3]
            row = start + i
            for j in range(d):
                slope[j] += a * X[row, j] + b * X[row + 1, j] + c * X[row + 2, j] + e * X[row + 3, j]
        for i in range(whole, size):
            for j in range(d):
                slope[j] += scores[i] * X[start + i, j]
    return loss, total, mistakes


def row_weights(block: Block, class_weight: Array | None) -> NDArray | None:
    """Weight of each row of a block, with that of its class."""
    if class_weight is None:
        return block.weight
    assert block.y is not None
    y = block.y if block.y.ndim == 1 else block.y[:, 0]
    weight = class_weight[y.astype(np.intp)].astype(block.X.dtype)
    return weight if block.weight is None else weight * block.weight


def block_scores(block: Block, model: LinearScore) -> NDArray:
    """Scores of the rows of a block, without their offsets: a vector for one score."""
    X, which = block.X, 0 if model.loss.n_scores == 1 else slice(None)
    scores = np.asarray(X @ model.coef[:, which].astype(X.dtype))
    scores += model.intercept[which].astype(X.dtype)
    return scores


def block_terms(block: Block, model: LinearScore, scores: NDArray | None = None) -> tuple[RowTerms, NDArray]:
    """Loss terms of one block, and its target; given scores without offset are overwritten."""
    y = block.y
    assert y is not None
    scores = block_scores(block, model) if scores is None else scores
    if model.has_offset:
        scores += y[:, 1] if model.loss.n_scores == 1 else y[:, 1:2]
    target = y if y.ndim == 1 else np.ascontiguousarray(y[:, 0])
    return model.loss.terms(target, scores), target


def gradient_step(block: Block, model: LinearScore) -> Sums:
    """Sums of one block."""
    weight = row_weights(block, model.class_weight)
    if can_fuse(block, model):
        return fused(block, model, weight)
    terms, y = block_terms(block, model)
    return summed(block, terms, y, weight, model.loss)


def full_step(
    block: Block, model: LinearScore, with_hessian: bool, with_split: bool
) -> tuple[Sums, Split | None, Array | None]:
    """Sums of one block, with those of each group and with curvatures."""
    weight, loss = row_weights(block, model.class_weight), model.loss
    if not with_hessian and can_fuse(block, model) and (loss.reaches_zero or not with_split):
        sums = fused(block, model, weight)
        return sums, fused_split(block, model, sums, weight) if with_split else None, None
    scores = block_scores(block, model)
    kept = scores.copy() if with_split else scores  # without the offset
    terms, y = block_terms(block, model, scores)
    sums = summed(block, terms, y, weight, loss)
    split = split_step(block, terms, y, kept, weight, loss, sums) if with_split else None
    if not with_hessian:
        return sums, split, None
    columns = shifted_columns(block, model.center, model.fit_intercept)
    gram = weighted_gram if loss.n_scores == 1 else coupled_gram
    return sums, split, gram(columns, terms.curvature, weight)


def can_fuse(block: Block, model: LinearScore) -> bool:
    """Whether one compiled loop can take all sums of a block: dense rows, one score, no offset."""
    compiled_loss = model.loss.row_form is not None and not model.has_offset
    return compiled_loss and not block.is_sparse and bool(block.X.flags.c_contiguous)


def fused(block: Block, model: LinearScore, weight: NDArray | None, rising: bool = False) -> Sums:
    """Sums of one block, or of its rows with a rising loss, by one compiled loop."""
    assert block.y is not None
    loss, slope = model.loss, np.zeros(model.coef.shape[0])
    given = np.empty(0) if weight is None else weight.astype(np.float64)
    column, level = np.ascontiguousarray(model.coef[:, 0]), float(model.intercept[0])
    value, total, mistakes = fused_sums(
        loss.row_form, block.X, block.y, given, column, level, loss.wrong_slope, rising, slope
    )
    return Sums(value, mistakes, slope[:, None], np.array([total]))


def fused_split(block: Block, model: LinearScore, sums: Sums, weight: NDArray | None) -> Split:
    """The split by the sign of the slope: the sums of rising losses, and what they leave to the others."""
    rising = fused(block, model, weight, rising=True)
    slope = np.stack([sums.slope - rising.slope, rising.slope])
    total = np.stack([sums.total - rising.total, rising.total])
    losses = np.array([sums.loss - rising.loss, rising.loss])
    # Σ u f over a group is linear in its sums.
    conjugate = np.einsum("gdk,dk->g", slope, model.coef) + total @ model.intercept - losses
    return Split(slope, total, conjugate, np.zeros(2))


def summed(block: Block, terms: RowTerms, y: NDArray, weight: NDArray | None, loss: Loss) -> Sums:
    """Weighted sums of the terms of one block."""
    slope, wrong = terms.slope, loss.mistakes(y, terms)
    if weight is None:
        value = float(terms.value.sum(dtype=np.float64))
        mistakes = 0.0 if wrong is None else float(np.count_nonzero(wrong))
    else:
        # Rows of no weight count for nothing, even where their loss is infinite.
        counted = weight > 0
        value = float(weight[counted].astype(np.float64) @ terms.value[counted])
        mistakes = 0.0 if wrong is None else float(weight[wrong].sum(dtype=np.float64))
        slope = slope * (weight if slope.ndim == 1 else weight[:, None])
        slope[~counted] = 0
    columns = np.asarray(block.X.T @ slope, dtype=np.float64)
    total = np.atleast_1d(slope.sum(axis=0, dtype=np.float64))
    return Sums(value, mistakes, columns.reshape(columns.shape[0], -1), total)


def split_step(
    block: Block, terms: RowTerms, y: NDArray, scores: NDArray, weight: NDArray | None, loss: Loss, sums: Sums
) -> Split:
    """Slopes and conjugates of one block, group by group; the last group has what the others leave.

    At the slope u of a score f the conjugate is u·f − ℓ, of which u times the offset is taken off.
    """
    n, g, k = len(y), loss.n_groups, loss.n_scores
    groups = loss.groups(y, terms.slope)
    residual = terms.slope.reshape(n, k)
    weights = np.ones(n) if weight is None else weight.astype(np.float64)
    slope, total = np.empty((g, sums.slope.shape[0], k)), np.empty((g, k))
    for group in range(g - 1):
        member = groups == group
        part = residual * (member if weight is None else np.where(member, weight, 0))[:, None]
        slope[group] = np.asarray(block.X.T @ part.astype(block.X.dtype), dtype=np.float64)
        total[group] = part.sum(axis=0, dtype=np.float64)
    slope[-1], total[-1] = sums.slope - slope[:-1].sum(axis=0), sums.total - total[:-1].sum(axis=0)
    reach = np.einsum("ij,ij->i", residual, scores.reshape(n, k), dtype=np.float64) - terms.value
    conjugate = np.bincount(groups, np.where(weights > 0, weights * reach, 0.0), minlength=g)
    rest = -np.bincount(groups, weights * loss.smallest(y), minlength=g)
    return Split(slope, total, conjugate.astype(np.float64), rest.astype(np.float64))


def curvature_sum(block: Block, model: LinearScore) -> Array:
    """Sum of the second derivatives in each score over one block, rows counted once."""
    curvature = block_terms(block, model)[0].curvature
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
