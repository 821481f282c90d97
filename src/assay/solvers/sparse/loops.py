"""Coordinate descent on a quadratic with a penalty that is a sum over coordinates: the hot loops.

The quadratic is ½ wᵀGw − qᵀw + ½ y², known either by its Gram matrix G (`gram_descent`) or by sparse columns
(`column_epoch`). Both keep g = q − Gw, the correlation of each column with the residual.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled

DEPTH = 5
"""Iterates that one extrapolation combines."""

ELASTIC_NET, MINIMAX_CONCAVE, CLIPPED = 0, 1, 2
"""Profiles of the penalty: a|w| + c w²/2, MCP, SCAD."""


@compiled
def shrunk(value, square, slope, curvature, positive):  # type: ignore[no-untyped-def]
    """Minimiser of ½ square w² − value w + slope |w| + ½ curvature w²."""
    if value > slope:
        return (value - slope) / (square + curvature)
    if value < -slope and not positive:
        return (value + slope) / (square + curvature)
    return 0.0 * value


@compiled
def profile(size, slope, gamma, kind):  # type: ignore[no-untyped-def]
    """MCP or SCAD at a coefficient of this size."""
    x = min(size, gamma * slope)
    if kind == MINIMAX_CONCAVE:
        return slope * x - x * x / (2.0 * gamma)
    if x <= slope:
        return slope * x
    return (2.0 * gamma * slope * x - x * x - slope * slope) / (2.0 * (gamma - 1.0))


@compiled
def clipped(value, square, slope, gamma, kind, positive):  # type: ignore[no-untyped-def]
    """Global minimiser of ½ square w² − value w + profile(|w|), the best of its stationary points."""
    if value < 0 and positive:
        return 0.0 * value
    size, best, least = abs(value), 0.0, 0.0
    for piece in range(4):
        if piece == 0:  # where the penalty is flat
            x = max(size / square, gamma * slope)
        elif piece == 1:  # where it bends down
            if kind == MINIMAX_CONCAVE:
                bend, pull = square - 1.0 / gamma, size - slope
            else:
                bend = square - 1.0 / (gamma - 1.0)
                pull = size - gamma * slope / (gamma - 1.0)
            x = min(max(pull / bend, 0.0), gamma * slope) if bend > 0 else 0.0
        elif piece == 2:  # where SCAD is the l1 norm
            x = min(max((size - slope) / square, 0.0), slope)
        else:
            x = 0.0
        risk = 0.5 * square * x * x - size * x + profile(x, slope, gamma, kind)
        if risk < least:
            best, least = x, risk
    return best if value > 0 else -best


@compiled
def penalty_value(coef, slope, curvature, gamma, kind):  # type: ignore[no-untyped-def]
    """Σ_j of the profile at w_j."""
    total = 0.0
    for j in range(coef.size):
        if coef[j] != 0.0:
            size = abs(coef[j])
            if kind == ELASTIC_NET:
                total += slope[j] * size + 0.5 * curvature[j] * size * size
            else:
                total += profile(size, slope[j], gamma, kind)
    return total


@compiled
def distance_to_stationarity(coef, corr, slope, curvature, gamma, kind, positive):  # type: ignore[no-untyped-def]
    """Largest distance, over the coordinates, from g_j to the subdifferential of the penalty at w_j."""
    largest = 0.0
    for j in range(coef.size):
        size = abs(coef[j])
        bound = slope[j]
        if kind == MINIMAX_CONCAVE:
            bound = max(slope[j] - size / gamma, 0.0)
        elif kind == CLIPPED:
            bound = min(max(gamma * slope[j] - size, 0.0) / (gamma - 1.0), slope[j])
        if size == 0.0:
            pull = corr[j] if positive else abs(corr[j])
            miss = max(pull - bound, 0.0)
        else:
            sign = 1.0 if coef[j] > 0 else -1.0
            miss = abs(corr[j] - curvature[j] * coef[j] - sign * bound)
        largest = max(largest, miss)
    return largest


@compiled
def fenchel_young(coef, corr, slope, curvature, positive, scale):  # type: ignore[no-untyped-def]
    """Ω(w) + Ω*(κg) − κ wᵀg, term by term, each at least 0; unpenalised coordinates count nothing."""
    total = 0.0
    for j in range(coef.size):
        a, c, g = slope[j], curvature[j], scale * corr[j]
        if a == np.inf or (a == 0.0 and c == 0.0):  # excluded, unpenalised
            continue
        inside = min(g, a) if positive else min(max(g, -a), a)
        total += max(a * abs(coef[j]) - inside * coef[j], 0.0)
        if c > 0.0:
            miss = c * coef[j] - (g - inside)
            total += miss * miss / (2.0 * c)
    return total


@compiled
def quadratic_gap(cross, residual, coef, corr, slope, curvature, positive):  # type: ignore[no-untyped-def]
    """Duality gap of ½‖y − Xw‖² + Σ a|w| + ½c w² at the best multiple κ r of the residual.

    `cross` is yᵀr, `residual` is ‖r‖². The gap is ½(1 − κ)²‖r‖² plus Fenchel–Young terms:
    a sum of numbers that are not negative. Returns the gap and κ.
    """
    largest = np.inf
    bent = False
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
    gap = 0.5 * (1.0 - scale) ** 2 * residual
    gap += fenchel_young(coef, corr, slope, curvature, positive, scale)
    if bent and scale != 1.0:
        feasible = True
        for j in range(coef.size):
            pull = corr[j] if positive else abs(corr[j])
            if curvature[j] == 0.0 and slope[j] > 0.0 and pull > slope[j]:
                feasible = False
        if feasible:
            other = fenchel_young(coef, corr, slope, curvature, positive, 1.0)
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


@compiled
def gram_epoch(gram, coef, corr, slope, curvature, gamma, kind, positive):  # type: ignore[no-untyped-def]
    """One cycle over the coordinates, each set to its exact minimiser."""
    m = coef.size
    for j in range(m):
        square, old = gram[j, j], coef[j]
        if square + curvature[j] <= 0.0:
            continue
        value = corr[j] + square * old
        if kind == ELASTIC_NET:
            new = shrunk(value, square, slope[j], curvature[j], positive)
        else:
            new = clipped(value, square, slope[j], gamma, kind, positive)
        if new != old:
            coef[j] = new
            change = new - old
            for k in range(m):
                corr[k] -= change * gram[j, k]


@compiled
def gram_descent(  # type: ignore[no-untyped-def]
    gram, linear, square, coef, corr, slope, curvature, gamma, kind, positive, target, max_epochs, trace
):
    """Cyclic coordinate descent with extrapolation, until the gap is below the target.

    `coef` and `corr` are updated in place; `trace` receives the objective after each cycle, as far as it
    reaches. For MCP and SCAD, which have no useful dual, the measure is the distance to stationarity.
    Returns the number of cycles and the last measure.
    """
    m = coef.size
    past, past_corr = np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, m))
    weights, trial, trial_corr = np.empty(DEPTH), np.empty(m), np.empty(m)
    stored, measure = 0, np.inf
    for epoch in range(max_epochs):
        gram_epoch(gram, coef, corr, slope, curvature, gamma, kind, positive)
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
                allowed = True
                for j in range(m):
                    if positive and trial[j] < 0.0:
                        allowed = False
                now = -0.5 * np.sum(coef * (linear + corr))
                then = -0.5 * np.sum(trial * (linear + trial_corr))
                now += penalty_value(coef, slope, curvature, gamma, kind)
                then += penalty_value(trial, slope, curvature, gamma, kind)
                if allowed and then < now:
                    coef[:] = trial
                    corr[:] = trial_corr
        cross = square - np.sum(linear * coef)
        residual = max(cross - np.sum(coef * corr), 0.0)
        if kind == ELASTIC_NET:
            measure, _ = quadratic_gap(cross, residual, coef, corr, slope, curvature, positive)
        else:
            measure = distance_to_stationarity(coef, corr, slope, curvature, gamma, kind, positive)
        if epoch < trace.size:
            trace[epoch] = 0.5 * residual + penalty_value(coef, slope, curvature, gamma, kind)
        if measure <= target:
            return epoch + 1, measure
    return max_epochs, measure


# Coordinate descent on sparse columns, and their products with residuals: the hot loops.


@compiled
def column_products(data, indices, indptr, rows, which, out):  # type: ignore[no-untyped-def]
    """Write x_jᵀ r for each listed column j of a CSC matrix and each row r of `rows` to `out`."""
    for k in range(rows.shape[0]):
        for position in range(which.size):
            j = which[position]
            total = 0.0
            for place in range(indptr[j], indptr[j + 1]):
                total += data[place] * rows[k, indices[place]]
            out[k, position] = total


@compiled
def column_combination(data, indices, indptr, which, coef, out):  # type: ignore[no-untyped-def]
    """Add Σ_j coef_j x_j over the listed columns of a CSC matrix to `out`."""
    for position in range(which.size):
        weight = coef[position]
        if weight != 0.0:
            for place in range(indptr[which[position]], indptr[which[position] + 1]):
                out[indices[place]] += weight * data[place]


@compiled
def column_squares(data, indices, indptr, weight, out):  # type: ignore[no-untyped-def]
    """Write Σ_i h_i x_ij² for each column j of a CSC matrix to `out`."""
    for j in range(out.size):
        total = 0.0
        for place in range(indptr[j], indptr[j + 1]):
            total += weight[indices[place]] * data[place] * data[place]
        out[j] = total


@compiled
def column_epoch(  # type: ignore[no-untyped-def]
    data, indices, indptr, which, mean, square, weight, coef, pull, level, slope, curvature, positive
):
    """One cycle of coordinate descent over the listed columns of a CSC matrix, implicitly centred.

    `pull` is h·r for the residual r of the uncentred columns, `level` its sum: the correlation of column j
    less its mean with the residual less its mean is Σ x_ij pull_i − mean_j level. Returns the new level.
    """
    for position in range(which.size):
        j = which[position]
        begin, end = indptr[j], indptr[j + 1]
        if square[j] + curvature[position] <= 0.0:
            continue
        total = -mean[j] * level
        for place in range(begin, end):
            total += data[place] * pull[indices[place]]
        old = coef[position]
        new = shrunk(total + square[j] * old, square[j], slope[position], curvature[position], positive)
        if new != old:
            change = new - old
            coef[position] = new
            level -= change * mean[j]
            for place in range(begin, end):
                i = indices[place]
                pull[i] -= change * data[place] * weight[i]
    return level
