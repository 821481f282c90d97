"""Machines measured on their rows from coefficients, intercepts and kernel values alone: one walk for all.

The numbers are those of `assay.solvers.rkhs.problem.measure_each`, row by row and without arrays between.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled, inlined, inner
from assay.losses.residual import row_sides
from assay.losses.row_form import row_terms
from assay.solvers.rkhs.loops import fall, rise
from assay.solvers.rkhs.problem import PERFECT

OUTSIDE, MARGIN, BOUND = 0, 1, 2
"""Where a row stands: ν = 0, ν inside its box, ν at the end of its box."""

(
    BEYOND,
    IMBALANCE,
    LOW,
    HIGH,
    PRIMAL,
    GAP,
    SQUARED_NORM,
    LOSS,
    SCALE,
    VIOLATION,
    N_NUMBERS,
) = range(11)
"""Columns of the numbers of a machine: how far ν is beyond its box, |Σν| over Σ|ν|, the ends of the
intercepts that are as good, the objective, its gap, ‖h‖², the losses, what gaps are relative to, and the
largest violation."""


@inlined
def snapped(nu, upper, lower, digits):  # type: ignore[no-untyped-def]
    """ν within its box, at the bound that it is near to rounding."""
    value = min(max(nu, -lower), upper)
    if upper > 0.0 and value >= (1.0 - digits) * upper:
        return upper
    if lower > 0.0 and value <= (digits - 1.0) * lower:
        return -lower
    return value


@inlined
def bend_of(form, nu, side):  # type: ignore[no-untyped-def]
    """ν²/(2κ side) of a loss that is quadratic: what its conjugate has beside the line."""
    return nu * nu / (2.0 * form.curve * side) if form.reach > 0.0 and side > 0.0 else 0.0


@inner
def feasible(coef, upper, lower, digits, part, inside):  # type: ignore[no-untyped-def]
    """Put ν within its box; how far it was beyond, Σν and Σ|ν| as they were, Σν⁺ and Σν⁻ as they are."""
    beyond, signed, size, plus, minus = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(part[0], part[1]):
        width = upper[i] + lower[i]
        excess = max(max(coef[i] - upper[i], -lower[i] - coef[i]), 0.0)
        beyond = max(beyond, excess / (width if width > 0.0 else 1.0))
        signed += coef[i]
        size += abs(coef[i])
        inside[i] = snapped(coef[i], upper[i], lower[i], digits)
        plus += max(inside[i], 0.0)
        minus += max(-inside[i], 0.0)
    return beyond, signed, size, plus, minus


@compiled
def judge_machines(  # type: ignore[no-untyped-def]
    form, stack, point, sizes, free_intercept, digits, of_rows, numbers
):
    """Measure machines whose rows are stacked one machine after the other.

    `stack` are targets, costs and the box; `point` the coefficients, K ν⁺ and K ν⁻ and an intercept per
    machine. Of each row come out its ν within the box, loss, slack, slope, violation, gap and set.
    """
    target, cost, upper, lower = stack
    coef, products, intercepts = point
    inside, losses, slack, slopes, violations, gaps, sets = of_rows
    end = 0
    for m in range(sizes.shape[0]):
        start, end, b = end, end + sizes[m], intercepts[m]
        beyond, signed, size, plus, minus = feasible(coef, upper, lower, digits, (start, end), inside)
        # The dual point must have Σν = 0 where the intercept is free: the heavier side is scaled down.
        least, above, below = min(plus, minus), 1.0, 1.0
        if free_intercept and max(plus, minus) > 0.0:
            above = min(1.0, least / plus) if plus > 0.0 else 0.0
            below = min(1.0, least / minus) if minus > 0.0 else 0.0
        norm, loss, at_zero, gap, apart, steepest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        high, low, worst, held = -np.inf, np.inf, 0.0, False
        for i in range(start, end):
            nu, y = inside[i], target[i]
            value = products[i, 0] - products[i, 1]
            score = value + b
            norm += nu * value
            slack[i] = row_terms(form, y, score)[0]
            losses[i] = cost[i] * slack[i]
            loss += losses[i]
            at_zero += cost[i] * row_terms(form, y, 0.0)[0]
            sides = row_sides(form, y)
            side = cost[i] * (sides[0] if nu >= 0.0 else sides[1])
            dual = form.epsilon * abs(nu) - nu * y + bend_of(form, nu, side)
            steepest = max(steepest, abs(dual))
            gaps[i] = max(losses[i] + dual + nu * score, 0.0)
            share = above if nu > 0.0 else below
            if share == 1.0:
                gap += gaps[i]
            else:
                mu = share * nu
                dual = form.epsilon * abs(mu) - mu * y + bend_of(form, mu, side)
                gap += max(losses[i] + dual + mu * score, 0.0)
            apart += (nu - share * nu) * (value - (above * products[i, 0] - below * products[i, 1]))
            slope = y - score
            if form.reach > 0.0 and side > 0.0:  # the conjugate of a square bends
                slope -= nu / (form.curve * side)
            slopes[i] = slope
            up, down = rise(slope, nu, upper[i], form.epsilon), fall(slope, nu, lower[i], form.epsilon)
            violations[i] = max(max(up, -down), 0.0)
            worst, high, low = max(worst, violations[i]), max(high, up), min(low, down)
            sets[i] = OUTSIDE if nu == 0.0 else BOUND if nu >= upper[i] or nu <= -lower[i] else MARGIN
            held |= sets[i] == MARGIN
        norm = max(norm, 0.0)
        primal = 0.5 * norm + loss
        scale = abs(primal)
        # The loss at zero matters to a fit that is nearly perfect alone.
        if primal <= 1e-3 * steepest or norm == 0.0:
            scale = max(scale, PERFECT * at_zero)
        place = numbers[m]
        place[BEYOND], place[PRIMAL], place[GAP] = beyond, primal, gap + 0.5 * max(apart, 0.0)
        place[IMBALANCE] = abs(signed) / (size if size > 0.0 else 1.0) if free_intercept else 0.0
        place[LOW], place[HIGH] = 0.0, 0.0
        if free_intercept:
            place[LOW] = b if held else b + min(high, 0.0)
            place[HIGH] = b if held else b + max(low, 0.0)
        place[SQUARED_NORM], place[LOSS], place[SCALE], place[VIOLATION] = norm, loss, scale, worst
