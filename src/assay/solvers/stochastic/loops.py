"""Compiled loops of stochastic gradient descent: one pass over a window of rows, dense or CSR.

Rows come dense (`dense`, the other three None) or as CSR (`dense` None, then `values`, `columns`, `starts`);
the tests `is not None` are decided when a loop is compiled. Losses and step rules are told by the numbers
below.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled, exp

SQUARED, HUBER, INSENSITIVE, SQUARED_INSENSITIVE, ABSOLUTE, QUANTILE, LOGISTIC, HINGE, SQUARED_HINGE = range(
    9
)
FALLING, OPTIMAL, ADAGRAD, RMSPROP, ADADELTA, ADAM = range(6)

RHO_RMSPROP, RHO_ADADELTA, BETA_FIRST, BETA_SECOND = 0.9, 0.95, 0.9, 0.999
EPS, EPS_ADADELTA = 1e-8, 1e-3


@compiled
def loss_slope(loss, parameter, y, score):  # type: ignore[no-untyped-def]
    """Derivative in the score, or the subgradient that is 0 in corners; `parameter` is δ, ε or the level."""
    if loss == LOGISTIC:
        small = exp(-abs(score))
        share = 1.0 / (1.0 + small)
        return -y * (small * share if y * score >= 0.0 else share)
    if loss == HINGE:
        return -y if y * score < 1.0 else 0.0
    if loss == SQUARED_HINGE:
        return -2.0 * y * max(1.0 - y * score, 0.0)
    error = score - y
    if loss == SQUARED:
        return error
    if loss == HUBER:
        return min(max(error, -parameter), parameter)
    if loss == SQUARED_INSENSITIVE:
        return 2.0 * (error - min(max(error, -parameter), parameter))
    if loss == QUANTILE:
        return (1.0 - parameter) * (error > 0.0) - parameter * (error < 0.0)
    width = parameter if loss == INSENSITIVE else 0.0
    return 1.0 * (error > width) - 1.0 * (error < -width)


@compiled
def step_size(rule, eta, power, decay, t):  # type: ignore[no-untyped-def]
    """Step of update t = 1, 2, …: η/t^power, or η/(1 + ηλt) for the rule OPTIMAL."""
    if rule == OPTIMAL:
        return eta / (1.0 + eta * decay * t)
    return eta / t**power if power > 0.0 else eta


@compiled
def move_point(point, gradient, l1, l2, rule, size, t, first, second):  # type: ignore[no-untyped-def]
    """One update of the point in place: a step and the proximal map of the penalty, or an adaptive step.

    Adaptive rules take the subgradient of the penalty; `first` and `second` are their running means.
    """
    for j in range(point.shape[0]):
        if rule <= OPTIMAL:
            moved = point[j] - size * gradient[j]
            room = size * l1[j]
            moved = moved - min(max(moved, -room), room)
            point[j] = moved / (1.0 + size * l2[j])
            continue
        slope = gradient[j] + l2[j] * point[j] + l1[j] * np.sign(point[j])
        if rule == ADAGRAD:
            second[j] += slope * slope
            point[j] -= size * slope / np.sqrt(second[j] + EPS)
        elif rule == RMSPROP:
            second[j] = RHO_RMSPROP * second[j] + (1.0 - RHO_RMSPROP) * slope * slope
            point[j] -= size * slope / np.sqrt(second[j] + EPS)
        elif rule == ADADELTA:
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
def batch_pass(  # type: ignore[no-untyped-def]
    dense, values, columns, starts, target, factor, order, batch_size, loss, parameter,
    shift, scale, free, l1, l2, rule, eta, power, decay, updates,
    point, total, first, second, coef, gradient, slopes, masses,
):  # fmt: skip
    """One pass over a window in the given order, cut into batches of nearly equal size.

    θ is in the columns less `shift`, over `scale`, then the intercept if `free`. `total` gains the sum of the
    points; where `slopes` is not empty, it gains the slope of each row times the step, and `masses` the step.
    `coef` and `gradient` are working memory. Returns the number of updates so far.
    """
    n, d = order.shape[0], shift.shape[0]
    n_batches = (n + batch_size - 1) // batch_size
    for batch in range(n_batches):
        begin, end = batch * n // n_batches, (batch + 1) * n // n_batches
        updates += 1
        size = step_size(rule, eta, power, decay, np.float64(updates))
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
            if factor[i] == 0.0:
                continue
            score = intercept
            if dense is not None:
                for j in range(d):
                    score += np.float64(dense[i, j]) * coef[j]
            if values is not None:
                for position in range(starts[i], starts[i + 1]):
                    score += np.float64(values[position]) * coef[columns[position]]
            slope = loss_slope(loss, parameter, target[i], score)
            if slopes.shape[0] > 0:
                slopes[i] += size * slope
                masses[i] += size
            slope *= factor[i]
            if slope == 0.0:
                continue
            level += slope
            if dense is not None:
                for j in range(d):
                    gradient[j] += slope * np.float64(dense[i, j])
            if values is not None:
                for position in range(starts[i], starts[i + 1]):
                    gradient[columns[position]] += slope * np.float64(values[position])
        inverse = 1.0 / (end - begin)
        for j in range(d):
            gradient[j] = (gradient[j] - level * shift[j]) * inverse / scale[j]
        if free:
            gradient[d] = level * inverse
        move_point(point, gradient, l1, l2, rule, size, np.float64(updates), first, second)
        for j in range(point.shape[0]):
            total[j] += point[j]
    return updates
