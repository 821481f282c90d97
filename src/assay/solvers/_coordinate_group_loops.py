"""Block coordinate descent for the (sparse) group lasso on a Gram matrix: the hot loops."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled
from assay.solvers._coordinate_loops import DEPTH, extrapolation

INNER_STEPS = 4
"""Proximal steps on a block before the next one."""


@compiled
def group_value(coef, starts, entry, group):  # type: ignore[no-untyped-def]
    """Penalty entry ‖w‖₁ + Σ_g group_g ‖w_g‖."""
    total = 0.0
    for g in range(group.size):
        square, size = 0.0, 0.0
        for j in range(starts[g], starts[g + 1]):
            square += coef[j] * coef[j]
            size += abs(coef[j])
        if square > 0.0:
            total += entry * size + group[g] * np.sqrt(square)
    return total


@compiled
def group_epoch(gram, coef, corr, starts, smoothness, entry, group, old):  # type: ignore[no-untyped-def]
    """One cycle of proximal steps over the blocks; returns the largest change times its smoothness."""
    m, largest = coef.size, 0.0
    for g in range(group.size):
        first, last, bound = starts[g], starts[g + 1], smoothness[g]
        if bound <= 0.0:
            continue
        for step in range(INNER_STEPS):
            square = 0.0
            for j in range(first, last):
                old[j] = coef[j]
                value = coef[j] + corr[j] / bound
                size = abs(value) - entry / bound
                coef[j] = 0.0 if size <= 0.0 else (size if value > 0 else -size)
                square += coef[j] * coef[j]
            norm = np.sqrt(square)
            factor = max(1.0 - group[g] / (bound * norm), 0.0) if norm > 0.0 else 0.0
            moved = 0.0
            for j in range(first, last):
                coef[j] *= factor
                change = coef[j] - old[j]
                if change != 0.0:
                    moved += change * change
                    for k in range(m):
                        corr[k] -= change * gram[j, k]
            moved = bound * np.sqrt(moved)
            if step == 0:
                largest = max(largest, moved)
            if last - first == 1 or moved <= 0.1 * largest:
                break
    return largest


@compiled
def group_descent(  # type: ignore[no-untyped-def]
    gram, linear, square, coef, corr, starts, smoothness, entry, group, target, max_epochs, trace
):
    """Cycles with extrapolation until no block moves by more than the target; `coef`, `corr` in place."""
    m = coef.size
    past, past_corr = np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, m))
    weights, trial, trial_corr, old = np.empty(DEPTH), np.empty(m), np.empty(m), np.empty(m)
    stored = 0
    for epoch in range(max_epochs):
        moved = group_epoch(gram, coef, corr, starts, smoothness, entry, group, old)
        past[stored], past_corr[stored] = coef, corr
        stored += 1
        if stored == DEPTH + 1:
            stored = 0
            if extrapolation(past, weights):
                trial[:] = 0.0
                trial_corr[:] = 0.0
                for a in range(DEPTH):
                    for j in range(m):
                        trial[j] += weights[a] * past[a + 1, j]
                        trial_corr[j] += weights[a] * past_corr[a + 1, j]
                now = -0.5 * np.sum(coef * (linear + corr)) + group_value(coef, starts, entry, group)
                then = -0.5 * np.sum(trial * (linear + trial_corr))
                then += group_value(trial, starts, entry, group)
                if then < now:
                    coef[:] = trial
                    corr[:] = trial_corr
        if epoch < trace.size:
            value = 0.5 * square - 0.5 * np.sum(coef * (linear + corr))
            trace[epoch] = value + group_value(coef, starts, entry, group)
        if moved <= target:
            return epoch + 1
    return max_epochs
