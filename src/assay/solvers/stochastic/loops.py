"""Compiled loops of stochastic gradient descent: one pass over a window of rows, dense or CSR.

The loops take the row form of a loss and are compiled once per form; step rules are numbered below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inlined
from assay.losses.row_form import row_terms
from assay.solvers.in_memory import DenseRows, SparseRows, add_row, row_product

FALLING, OPTIMAL, ADAGRAD, RMSPROP, ADADELTA, ADAM = range(6)

RHO_RMSPROP, RHO_ADADELTA, BETA_FIRST, BETA_SECOND = 0.9, 0.95, 0.9, 0.999
EPS, EPS_ADADELTA = 1e-8, 1e-3


class Window(NamedTuple):
    """Rows that are visited in an order of their own, their targets and the factors of their gradients."""

    rows: DenseRows | SparseRows
    target: NDArray
    factor: NDArray


class SlopeSums(NamedTuple):
    """Sums over the visits of a row: its slope times the step, and the step; empty when they are not kept."""

    slope: NDArray
    step: NDArray


@inlined
def step_size(rule, t):  # type: ignore[no-untyped-def]
    """Step of update t = 1, 2, …: η/t^power, or η/(1 + ηλt) for the rule OPTIMAL."""
    if rule.code == OPTIMAL:
        return rule.eta / (1.0 + rule.eta * rule.decay * t)
    return rule.eta / t**rule.power if rule.power > 0.0 else rule.eta


@inlined
def move_point(state, gradient, strengths, rule, size, t):  # type: ignore[no-untyped-def]
    """One update of the point in place: a step and the proximal map of the penalty, or an adaptive step.

    Adaptive rules take the subgradient of the penalty; `first` and `second` are their running means.
    """
    point, first, second = state.point, state.first, state.second
    l1, l2, code = strengths.l1, strengths.l2, rule.code
    for j in range(point.shape[0]):
        if code <= OPTIMAL:
            moved = point[j] - size * gradient[j]
            room = size * l1[j]
            moved = moved - min(max(moved, -room), room)
            point[j] = moved / (1.0 + size * l2[j])
            continue
        slope = gradient[j] + l2[j] * point[j] + l1[j] * np.sign(point[j])
        if code == ADAGRAD:
            second[j] += slope * slope
            point[j] -= size * slope / np.sqrt(second[j] + EPS)
        elif code == RMSPROP:
            second[j] = RHO_RMSPROP * second[j] + (1.0 - RHO_RMSPROP) * slope * slope
            point[j] -= size * slope / np.sqrt(second[j] + EPS)
        elif code == ADADELTA:
            second[j] = RHO_ADADELTA * second[j] + (1.0 - RHO_ADADELTA) * slope * slope
            change = -np.sqrt(first[j] + EPS_ADADELTA) / np.sqrt(second[j] + EPS_ADADELTA) * slope
            first[j] = RHO_ADADELTA * first[j] + (1.0 - RHO_ADADELTA) * change * change
            point[j] += size * change
        else:
            first[j] = BETA_FIRST * first[j] + (1.0 - BETA_FIRST) * slope
            second[j] = BETA_SECOND * second[j] + (1.0 - BETA_SECOND) * slope * slope
            mean = first[j] / (1.0 - BETA_FIRST**t)
            scale = np.sqrt(second[j] / (1.0 - BETA_SECOND**t))
            point[j] -= size * mean / (scale + EPS)


@compiled
def batch_pass(window, order, batch_size, form, frame, strengths, rule, state, sums):  # type: ignore[no-untyped-def]
    """One pass over a window in the given order, cut into batches of nearly equal size.

    θ is in the columns less `shift`, over `scale`, then the intercept if there is one. `state.total` gains
    the sum of the points; `sums`, unless empty, those of the slopes. Returns the number of updates so far.
    """
    n, d, updates = order.shape[0], frame.shift.shape[0], state.updates
    point, total, shift, scale = state.point, state.total, frame.shift, frame.scale
    coef, gradient = np.empty(d), np.empty(point.shape[0])
    kept = sums.slope.shape[0] > 0
    n_batches = (n + batch_size - 1) // batch_size
    for batch in range(n_batches):
        # All rows of a batch are scored at the same point, of which `coef` and `intercept` are the view in
        # the columns as they are: a row is read as it is, the shift enters once per batch.
        begin, end = batch * n // n_batches, (batch + 1) * n // n_batches
        updates += 1
        size = step_size(rule, np.float64(updates))
        intercept = point[d] if frame.intercept else 0.0
        for j in range(d):
            coef[j] = point[j] / scale[j]
            gradient[j] = 0.0
        # A loop that sums writes nothing: else the order of its sum goes by where the arrays lie in memory.
        for j in range(d):
            intercept -= shift[j] * coef[j]
        level = 0.0
        for place in range(begin, end):
            i = order[place]
            if window.factor[i] == 0.0:
                continue
            score = intercept + row_product(window.rows, i, coef)
            slope = row_terms(form, window.target[i], score)[1]
            if kept:
                sums.slope[i] += size * slope
                sums.step[i] += size
            slope *= window.factor[i]
            if slope == 0.0:
                continue
            level += slope
            add_row(window.rows, i, slope, gradient)
        inverse = 1.0 / (end - begin)
        for j in range(d):
            gradient[j] = (gradient[j] - level * shift[j]) * inverse / scale[j]
        if frame.intercept:
            gradient[d] = level * inverse
        move_point(state, gradient, strengths, rule, size, np.float64(updates))
        for j in range(point.shape[0]):
            total[j] += point[j]
    return updates
