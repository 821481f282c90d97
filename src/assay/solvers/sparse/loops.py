"""Coordinate descent on a quadratic with a penalty that is a sum over coordinates: the hot loops.

The quadratic is ½ wᵀGw − qᵀw + ½ y², known either by its Gram matrix G (`gram_descent`) or by sparse columns
(`column_epoch`). Both keep g = q − Gw, the correlation of each column with the residual.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from assay.loops import compiled, inner
from assay.penalties.coordinates import ElasticNetForm, entry_minimiser, entry_slope, entry_value

DEPTH = 5
"""Iterates that one extrapolation combines."""


class Columns(NamedTuple):
    """A CSC matrix as loops take it."""

    data: Any
    indices: Any
    indptr: Any


@compiled
def penalty_value(coef, penalty):  # type: ignore[no-untyped-def]
    """Σ_j of the penalty of w_j."""
    total = 0.0
    for j in range(coef.size):
        if coef[j] != 0.0:
            total += entry_value(penalty, j, abs(coef[j]))
    return total


@compiled
def distance_to_stationarity(coef, corr, penalty):  # type: ignore[no-untyped-def]
    """Largest distance, over the coordinates, from g_j to the subdifferential of the penalty at w_j."""
    largest = 0.0
    for j in range(coef.size):
        bound = entry_slope(penalty, j, abs(coef[j]))
        if coef[j] == 0.0:
            pull = corr[j] if penalty.positive else abs(corr[j])
            miss = max(pull - bound, 0.0)
        else:
            sign = 1.0 if coef[j] > 0 else -1.0
            miss = abs(corr[j] - penalty.curvature[j] * coef[j] - sign * bound)
        largest = max(largest, miss)
    return largest


@compiled
def fenchel_young(coef, corr, penalty, scale):  # type: ignore[no-untyped-def]
    """Ω(w) + Ω*(κg) − κ wᵀg, term by term, each at least 0; unpenalised coordinates count nothing."""
    total = 0.0
    for j in range(coef.size):
        a, c, g = penalty.slope[j], penalty.curvature[j], scale * corr[j]
        if a == np.inf or (a == 0.0 and c == 0.0):  # excluded, unpenalised
            continue
        inside = min(g, a) if penalty.positive else min(max(g, -a), a)
        total += max(a * abs(coef[j]) - inside * coef[j], 0.0)
        if c > 0.0:
            miss = c * coef[j] - (g - inside)
            total += miss * miss / (2.0 * c)
    return total


@compiled
def quadratic_gap(cross, residual, coef, corr, penalty):  # type: ignore[no-untyped-def]
    """Duality gap of ½‖y − Xw‖² + Σ a|w| + ½c w² at the best multiple κ r of the residual.

    `cross` is yᵀr, `residual` is ‖r‖². The gap is ½(1 − κ)²‖r‖² plus Fenchel–Young terms:
    a sum of numbers that are not negative. Returns the gap and κ.
    """
    slope, curvature, positive = penalty.slope, penalty.curvature, penalty.positive
    largest, bent = np.inf, False
    for j in range(coef.size):
        pull = corr[j] if positive else abs(corr[j])
        if curvature[j] > 0.0:
            bent = True
            pull = corr[j] - curvature[j] * coef[j]
            pull = pull if positive else abs(pull)
        if slope[j] + curvature[j] > 0.0 and pull * largest > slope[j]:
            largest = slope[j] / pull
    scale = 1.0 if residual <= 0.0 else max(cross / residual, 0.0)
    scale = min(scale, largest)
    gap = 0.5 * (1.0 - scale) ** 2 * residual + fenchel_young(coef, corr, penalty, scale)
    if bent and scale != 1.0:
        feasible = True
        for j in range(coef.size):
            pull = corr[j] if positive else abs(corr[j])
            if curvature[j] == 0.0 and slope[j] > 0.0 and pull > slope[j]:
                feasible = False
        if feasible:
            other = fenchel_young(coef, corr, penalty, 1.0)
            if other < gap:
                gap, scale = other, 1.0
    return gap, scale


@compiled
def extrapolation(past, weights):  # type: ignore[no-untyped-def]
    """Anderson's weights of the last DEPTH iterates, summing to one; false when they cannot be found.

    past : (DEPTH + 1, m), successive iterates. The weights z minimise ‖Σ z_k (w_{k+1} − w_k)‖.
    """
    system = np.empty((DEPTH, DEPTH + 1))
    trace = 0.0
    for a in range(DEPTH):
        for b in range(a + 1):
            total = 0.0
            for j in range(past.shape[1]):
                total += (past[a + 1, j] - past[a, j]) * (past[b + 1, j] - past[b, j])
            system[a, b] = system[b, a] = total
        system[a, DEPTH] = 1.0
        trace += system[a, a]
    if not trace > 0.0:
        return False
    for a in range(DEPTH):
        system[a, a] += 1e-12 * trace
    for a in range(DEPTH):  # elimination without pivoting: the matrix is positive definite
        if not system[a, a] > 0.0:
            return False
        for b in range(a + 1, DEPTH):
            factor = system[b, a] / system[a, a]
            for k in range(a, DEPTH + 1):
                system[b, k] -= factor * system[a, k]
    total = 0.0
    for a in range(DEPTH - 1, -1, -1):
        value = system[a, DEPTH]
        for b in range(a + 1, DEPTH):
            value -= system[a, b] * weights[b]
        weights[a] = value / system[a, a]
        total += weights[a]
    if not abs(total) > 0.0:
        return False
    for a in range(DEPTH):
        weights[a] /= total
    return True


def convergence_measure(cross, residual, coef, corr, penalty):  # type: ignore[no-untyped-def]
    """The duality gap of a convex penalty, else the distance to stationarity; for compiled loops only."""
    raise NotImplementedError("convergence_measure is called inside compiled loops.")


@overload(convergence_measure)
def _chosen_measure(cross, residual, coef, corr, penalty):  # type: ignore[no-untyped-def]
    if penalty.instance_class is ElasticNetForm:
        return lambda cross, residual, coef, corr, penalty: quadratic_gap(
            cross, residual, coef, corr, penalty
        )[0]
    return lambda cross, residual, coef, corr, penalty: distance_to_stationarity(coef, corr, penalty)


@compiled
def gram_epoch(gram, coef, corr, penalty):  # type: ignore[no-untyped-def]
    """One cycle over the coordinates, each set to its exact minimiser."""
    m = coef.size
    for j in range(m):
        square, old = gram[j, j], coef[j]
        if square + penalty.curvature[j] <= 0.0:
            continue
        new = entry_minimiser(penalty, j, corr[j] + square * old, square)
        if new != old:
            coef[j] = new
            change = new - old
            for k in range(m):
                corr[k] -= change * gram[j, k]


@inner
def extrapolated(past, past_corr, weights, trial, trial_corr):  # type: ignore[no-untyped-def]
    """Combine the last iterates and their correlations into a trial; false when they cannot be combined."""
    if not extrapolation(past, weights):
        return False
    for j in range(trial.size):
        value, corr = 0.0, 0.0
        for a in range(DEPTH):
            value += weights[a] * past[a + 1, j]
            corr += weights[a] * past_corr[a + 1, j]
        trial[j], trial_corr[j] = value, corr
    return True


@inner
def copy_point(coef, corr, to_coef, to_corr):  # type: ignore[no-untyped-def]
    """Copy coefficients and their correlations."""
    for j in range(coef.size):
        to_coef[j] = coef[j]
        to_corr[j] = corr[j]


@inner
def quadratic_value(coef, linear, corr):  # type: ignore[no-untyped-def]
    """½ wᵀGw − qᵀw = −½ wᵀ(q + g)."""
    total = 0.0
    for j in range(coef.size):
        total += coef[j] * (linear[j] + corr[j])
    return -0.5 * total


@compiled
def gram_descent(gram, linear, square, coef, corr, penalty, target, max_epochs, trace):  # type: ignore[no-untyped-def]
    """Cyclic coordinate descent with extrapolation, until the measure is below the target.

    `coef` and `corr` are updated in place, with corr = q − G coef throughout; `trace` receives the objective
    after each cycle, as far as it reaches. Returns the number of cycles and the last measure: the duality
    gap, or for MCP and SCAD, which have no useful dual, the distance to stationarity.
    """
    m = coef.size
    past, past_corr = np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, m))
    weights, trial, trial_corr = np.empty(DEPTH), np.empty(m), np.empty(m)
    stored, measure = 0, np.inf
    for epoch in range(max_epochs):
        gram_epoch(gram, coef, corr, penalty)
        copy_point(coef, corr, past[stored], past_corr[stored])
        stored += 1
        if stored == DEPTH + 1:
            stored = 0
            if extrapolated(past, past_corr, weights, trial, trial_corr):
                allowed = True
                for j in range(m):
                    if penalty.positive and trial[j] < 0.0:
                        allowed = False
                now = penalty_value(coef, penalty) + quadratic_value(coef, linear, corr)
                then = penalty_value(trial, penalty) + quadratic_value(trial, linear, trial_corr)
                if allowed and then < now:
                    copy_point(trial, trial_corr, coef, corr)
        cross, inner = square, 0.0
        for j in range(m):
            cross -= linear[j] * coef[j]
            inner += coef[j] * corr[j]
        residual = max(cross - inner, 0.0)
        measure = convergence_measure(cross, residual, coef, corr, penalty)
        if epoch < trace.size:
            trace[epoch] = 0.5 * residual + penalty_value(coef, penalty)
        if measure <= target:
            return epoch + 1, measure
    return max_epochs, measure


# Coordinate descent on sparse columns, and their products with residuals: the hot loops.


@compiled
def column_products(columns, rows, which, out):  # type: ignore[no-untyped-def]
    """Write x_jᵀ r for each listed column j of a CSC matrix and each row r of `rows` to `out`."""
    data, indices, indptr = columns.data, columns.indices, columns.indptr
    for k in range(rows.shape[0]):
        for position in range(which.size):
            j = which[position]
            total = 0.0
            for place in range(indptr[j], indptr[j + 1]):
                total += data[place] * rows[k, indices[place]]
            out[k, position] = total


@compiled
def column_combination(columns, which, coef, out):  # type: ignore[no-untyped-def]
    """Add Σ_j coef_j x_j over the listed columns of a CSC matrix to `out`."""
    data, indices, indptr = columns.data, columns.indices, columns.indptr
    for position in range(which.size):
        weight = coef[position]
        if weight != 0.0:
            for place in range(indptr[which[position]], indptr[which[position] + 1]):
                out[indices[place]] += weight * data[place]


@compiled
def column_squares(columns, weight, out):  # type: ignore[no-untyped-def]
    """Write Σ_i h_i x_ij² for each column j of a CSC matrix to `out`."""
    data, indices, indptr = columns.data, columns.indices, columns.indptr
    for j in range(out.size):
        total = 0.0
        for place in range(indptr[j], indptr[j + 1]):
            total += weight[indices[place]] * data[place] * data[place]
        out[j] = total


@compiled
def column_epoch(columns, which, mean, square, weight, coef, pull, level, penalty):  # type: ignore[no-untyped-def]
    """One cycle of coordinate descent over the listed columns of a CSC matrix, implicitly centred.

    `pull` is h·r for the residual r of the uncentred columns, `level` its sum: the correlation of column j
    less its mean with the residual less its mean is Σ x_ij pull_i − mean_j level. Returns the new level.
    """
    data, indices, indptr = columns.data, columns.indices, columns.indptr
    for position in range(which.size):
        j = which[position]
        begin, end = indptr[j], indptr[j + 1]
        if square[j] + penalty.curvature[position] <= 0.0:
            continue
        total = -mean[j] * level
        for place in range(begin, end):
            total += data[place] * pull[indices[place]]
        old = coef[position]
        new = entry_minimiser(penalty, position, total + square[j] * old, square[j])
        if new != old:
            change = new - old
            coef[position] = new
            level -= change * mean[j]
            for place in range(begin, end):
                i = indices[place]
                pull[i] -= change * data[place] * weight[i]
    return level
