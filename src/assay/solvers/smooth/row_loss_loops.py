"""Losses row by row, compiled: one exponential a score gives the loss and both derivatives.

The scores are overwritten by the losses, so that a block needs no further memory of its size.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled, exp, log


@compiled
def logistic_rows(y, scores, residual, curvature):  # type: ignore[no-untyped-def]
    """Loss log(1 + e^f) − y f of targets y in [0, 1], its slope σ(f) − y and its curvature σ(f)σ(−f)."""
    for i in range(scores.shape[0]):
        score = scores[i]
        small = exp(-abs(score))
        inverse = 1.0 / (1.0 + small)
        probability = inverse if score >= 0.0 else small * inverse
        scores[i] = max(score, 0.0) - y[i] * score + log(1.0 + small)
        residual[i] = probability - y[i]
        curvature[i] = small * inverse * inverse


@compiled
def poisson_rows(y, scores, residual, curvature):  # type: ignore[no-untyped-def]
    """Loss e^f − y f of counts y, its slope e^f − y and its curvature e^f."""
    for i in range(scores.shape[0]):
        mean = exp(scores[i])
        scores[i] = mean - y[i] * scores[i]
        residual[i] = mean - y[i]
        curvature[i] = mean


@compiled
def softmax_rows(y, scores, losses, probabilities):  # type: ignore[no-untyped-def]
    """Loss log Σ_j e^{f_j} − f_y of classes y, and the probabilities e^{f_j}/Σ."""
    n, k = scores.shape
    for i in range(n):
        top = scores[i, 0]
        for j in range(1, k):
            top = max(top, scores[i, j])
        for j in range(k):
            probabilities[i, j] = exp(scores[i, j] - top)
        total = 0.0
        for j in range(k):
            total += probabilities[i, j]
        inverse = 1.0 / total
        for j in range(k):
            probabilities[i, j] *= inverse
        losses[i] = log(total) - (scores[i, int(y[i])] - top)


TILE = 128
"""Rows whose scores are kept at hand between the two products with them."""

LOGISTIC, POISSON = 0, 1


@compiled
def fused_sums(X, y, weight, coef, level, kind, slope):  # type: ignore[no-untyped-def]
    """Sums of weighted losses, slopes and mistakes over dense rows that are read once from memory.

    The slopes against the columns are added to `slope`. An empty `weight` counts every row once. Rows of no
    weight count for nothing.
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
        if kind == LOGISTIC:
            for i in range(size):
                score = scores[i]
                small = exp(-abs(score))
                inverse = 1.0 / (1.0 + small)
                target = y[start + i]
                losses[i] = max(score, 0.0) - target * score + log(1.0 + small)
                scores[i] = (inverse if score >= 0.0 else small * inverse) - target
        else:
            for i in range(size):
                mean = exp(scores[i])
                losses[i] = mean - y[start + i] * scores[i]
                scores[i] = mean - y[start + i]
        if weighted:
            for i in range(size):
                factor = weight[start + i]
                wrong = 1.0 if abs(scores[i]) > 0.5 else 0.0
                mistakes += factor * wrong
                losses[i] = factor * losses[i] if factor > 0.0 else 0.0
                scores[i] = factor * scores[i] if factor > 0.0 else 0.0
        else:
            for i in range(size):
                mistakes += 1.0 if abs(scores[i]) > 0.5 else 0.0
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
