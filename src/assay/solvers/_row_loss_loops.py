"""Losses row by row, compiled: one exponential a score gives the loss and both derivatives.

The scores are overwritten by the losses, so that a block needs no further memory of its size.
"""

from __future__ import annotations

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
