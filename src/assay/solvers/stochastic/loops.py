"""Compiled loops of stochastic gradient descent: one pass over a window of rows, dense or CSR.

The loops take the row form of a loss and are compiled once per form; step rules are numbered below.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled, inlined
from assay.losses.row_form import row_terms
from assay.solvers.in_memory import add_row, row_product

FALLING, OPTIMAL, ADAGRAD, RMSPROP, ADADELTA, ADAM = range(6)

RHO_RMSPROP, RHO_ADADELTA, BETA_FIRST, BETA_SECOND = 0.9, 0.95, 0.9, 0.999
EPS, EPS_ADADELTA = 1e-8, 1e-3


@inlined
def step_size(rule, t):  # type: ignore[no-untyped-def]
    """Step of update t = 1, 2, …: η/t^power, or η/(1 + ηλt) for the rule OPTIMAL."""
    eta, power, decay = rule[1], rule[2], rule[3]
    if rule[0] == OPTIMAL:
        return eta / (1.0 + eta * decay * t)
    return eta / t**power if power > 0.0 else eta


@inlined
def move_point(state, gradient, l1, l2, code, size, t):  # type: ignore[no-untyped-def]
    """One update of the point in place: a step and the proximal map of the penalty, or an adaptive step.

    Adaptive rules take the subgradient of the penalty; `first` and `second` are their running means.
    """
    point, first, second = state[0], state[2], state[3]
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
def batch_pass(rows, table, order, batch_size, form, frame, free, rule, state, updates):  # type: ignore[no-untyped-def]
    """One pass over a window in the given order, cut into batches of nearly equal size.

    A call unboxes plain arrays several times faster than tuples of them. Columns of `table`: target, factor
    of the gradient and, where they are kept, the sums of slope times step and of steps, which are added to.
    Rows of `frame`: shift and scale of each coordinate of θ, its l1 and l2 strength; with `free` the last
    one is the intercept. `rule`: code, η, power, decay. Rows of `state`, changed: point, sum of the points,
    two running means. Returns the number of updates so far.
    """
    n, d = order.shape[0], frame.shape[1] - free
    point, total, shift, scale = state[0], state[1], frame[0], frame[1]
    coef, gradient = np.empty(d), np.empty(point.shape[0])
    kept = table.shape[1] > 2
    n_batches = (n + batch_size - 1) // batch_size
    for batch in range(n_batches):
        # All rows of a batch are scored at the same point, of which `coef` and `intercept` are the view in
        # the columns as they are: a row is read as it is, the shift enters once per batch.
        begin, end = batch * n // n_batches, (batch + 1) * n // n_batches
        updates += 1
        size = step_size(rule, np.float64(updates))
        intercept = point[d] if free else 0.0
        for j in range(d):
            coef[j] = point[j] / scale[j]
            gradient[j] = 0.0
        # A loop that sums writes nothing: else the order of its sum goes by where the arrays lie in memory.
        for j in range(d):
            intercept -= shift[j] * coef[j]
        level = 0.0
        for place in range(begin, end):
            i = order[place]
            if table[i, 1] == 0.0:
                continue
            score = intercept + row_product(rows, i, coef)
            slope = row_terms(form, table[i, 0], score)[1]
            if kept:
                table[i, 2] += size * slope
                table[i, 3] += size
            slope *= table[i, 1]
            if slope == 0.0:
                continue
            level += slope
            add_row(rows, i, slope, gradient)
        inverse = 1.0 / (end - begin)
        for j in range(d):
            gradient[j] = (gradient[j] - level * shift[j]) * inverse / scale[j]
        if free:
            gradient[d] = level * inverse
        move_point(state, gradient, frame[2], frame[3], rule[0], size, np.float64(updates))
        for j in range(point.shape[0]):
            total[j] += point[j]
    return updates
