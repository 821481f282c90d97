"""The loop that solves a small machine, from its first step to the last look at its gap.

It takes steps of pairs to a tolerance, solves for all free rows at once, makes the gradient afresh in double
precision, and begins again with a smaller tolerance where the gap is not small enough.
"""

import numpy as np

from assay.loops import compiled, inner, within
from assay.solvers.rkhs.loops import (
    SECOND_ORDER,
    copy_line,
    dual_value,
    fall,
    gap_sums,
    pair_steps,
    rise,
)
from assay.solvers.rkhs.machines.free import MOST_FREE, factor, gram_of, solve_free
from assay.solvers.rkhs.problem import PERFECT

MOST_ROUNDS = 200

EXACT = 1e-4
"""Share of the tolerance below which the gap after such a solve is rounding."""

EPSILON = float(np.finfo(np.float64).eps)

APART = 1e-11
"""Pivot, over the largest diagonal entry and the order, above which kernels are surely independent."""

LIMITS = (1e-6, 1e-8)
"""Distances that are rounding: of a residual from a corner, of a coefficient from 0 or its bounds."""

N_ITER, CONVERGED, INTERCEPT, LOW, HIGH, ALONE, REACH, N_NUMBERS = range(8)
"""Columns of the numbers of a machine: steps, whether its gap is small enough, its intercept and the interval
of those that are as good, whether its coefficients are surely unique, and the largest k(x, x)."""

pairs, sums, value_of = within(pair_steps), within(gap_sums), within(dual_value)

NO_DRAWS = np.zeros((1, 2), dtype=np.int64)


@inner
def copy(values, out):  # type: ignore[no-untyped-def]
    """Write values to an array: a loop, which compiles in a tenth of the time that an assignment takes."""
    for k in range(values.shape[0]):
        out[k] = values[k]


@inner
def fresh(form, nu, target, gradient, products):  # type: ignore[no-untyped-def]
    """K ν⁺ and K ν⁻ from the lines of the support vectors, and the gradient y − Kν."""
    n, K = nu.shape[0], form[0]
    places, both = np.empty(n, dtype=np.intp), np.zeros((2, n))
    for side in range(2):
        m, out = 0, both[side]
        for j in range(n):
            if (nu[j] > 0.0) if side == 0 else (nu[j] < 0.0):
                copy_line(form, j)
                places[m] = j
                m += 1
        j = 0
        while j + 3 < m:  # four lines at a time: what is summed to is read and written less often
            p, q, r, s = places[j], places[j + 1], places[j + 2], places[j + 3]
            a, b, c, d = abs(nu[p]), abs(nu[q]), abs(nu[r]), abs(nu[s])
            P, Q, R, S = K[p], K[q], K[r], K[s]
            for k in range(n):
                out[k] += a * P[k] + b * Q[k] + c * R[k] + d * S[k]
            j += 4
        while j < m:
            a, P = abs(nu[places[j]]), K[places[j]]
            for k in range(n):
                out[k] += a * P[k]
            j += 1
    above, below = both[0], both[1]
    for k in range(n):
        products[k, 0], products[k, 1] = above[k], below[k]
        gradient[k] = target[k] - (above[k] - below[k])


@inner
def look(gradient, nu, target, box, epsilon, floor):  # type: ignore[no-untyped-def]
    """The relative gap, the largest rise and the least fall."""
    upper, lower = box
    high, low = -np.inf, np.inf
    for k in range(nu.shape[0]):
        high = max(high, rise(gradient[k], nu[k], upper[k], epsilon))
        low = min(low, fall(gradient[k], nu[k], lower[k], epsilon))
    middle = 0.0
    if high > -np.inf and low < np.inf:
        middle = 0.5 * (high + low)
    elif high > -np.inf or low < np.inf:  # rows of one class pull one way
        middle = high if high > -np.inf else low
    gap, loss, norm = sums(gradient, nu, upper, lower, target, epsilon, middle)
    scale = max(loss + 0.5 * norm, floor)
    return (gap / scale if scale > 0.0 else 0.0), high, low, middle


@inner
def balance(nu, box, epsilon):  # type: ignore[no-untyped-def]
    """Take the rounding of Σν = 0 out of the row of the most room."""
    upper, lower = box
    excess, widest, place = 0.0, -1.0, 0
    for k in range(nu.shape[0]):
        excess += nu[k]
        room = min(upper[k] - nu[k], nu[k] + lower[k])
        if epsilon > 0.0:
            room = min(room, abs(nu[k]))
        if room > widest:
            widest, place = room, k
    if widest > 2.0 * abs(excess):
        nu[place] -= excess


@inner
def surely_unique(form, diagonal, box, epsilon, nu, slope, target):  # type: ignore[no-untyped-def]
    """Whether the kernels of the rows at corners are independent where Σd = 0: no other coefficients do.

    False where it takes a closer look: see `assay.kernel_machines.support_vectors.uniqueness`.
    """
    upper, lower = box
    n, m, near = nu.shape[0], 0, 0.0
    for k in range(n):
        near = max(near, LIMITS[0] * abs(target[k]))
        near = max(near, rise(slope[k], nu[k], upper[k], epsilon), -fall(slope[k], nu[k], lower[k], epsilon))
    places = np.empty(n, dtype=np.intp)
    for k in range(n):
        room, value = LIMITS[1] * (upper[k] + lower[k]), nu[k]
        value = 0.0 if abs(value) <= room else value
        value = upper[k] if value >= upper[k] - room else -lower[k] if value <= room - lower[k] else value
        up = rise(slope[k], value, upper[k], epsilon)
        down = fall(slope[k], value, lower[k], epsilon)
        if abs(up) <= near or abs(down) <= near:
            places[m] = k
            m += 1
    if m < 2 or m > MOST_FREE:
        return m < 2
    matrix = np.empty((m, m))
    top = gram_of(form, diagonal, places, m, matrix)
    return factor(matrix, m) > APART * m * top


@inner
def solve_one(form, diagonal, stack, settings, numbers):  # type: ignore[no-untyped-def]
    """Solve one machine, whose ν is 0 at first; its coefficients, products and numbers."""
    target, upper, lower, nu, products = stack
    epsilon, tol, max_iter, polished = settings
    n, box = nu.shape[0], (upper, lower)
    gradient, before = np.empty(n), np.empty(n)
    copy(target, gradient)
    _, at_zero, _ = sums(gradient, nu, upper, lower, target, epsilon, 0.0)
    floor, largest = PERFECT * at_zero, 0.0
    for k in range(n):
        largest = max(largest, abs(target[k]))
    allowed = 1e-2 * largest
    smallest, patience, n_iter = 1e-12 * allowed, 30 * n + 1000, 0
    for _ in range(MOST_ROUNDS):
        most = min(max_iter - n_iter, patience)
        limits = (allowed, most)
        made, _ = pairs(form, diagonal, box, epsilon, nu, gradient, limits, SECOND_ORDER, NO_DRAWS)
        n_iter += made
        value = value_of(gradient, nu, target, epsilon)
        copy(nu, before)
        solved = polished and made < most and solve_free(form, diagonal, box, epsilon, nu, gradient)
        for _ in range(2):  # what lowers the dual is taken back
            balance(nu, box, epsilon)
            fresh(form, nu, target, gradient, products)
            if not solved or value_of(gradient, nu, target, epsilon) >= value - EPSILON * n * abs(value):
                break
            copy(before, nu)
            solved = False
        gap, high, low, middle = look(gradient, nu, target, box, epsilon, floor)
        enough = EXACT * tol if solved else tol
        if gap <= enough or n_iter >= max_iter or allowed <= smallest or made == patience:
            break
        allowed *= min(max(0.5 * tol / gap, 1e-3), 0.3)
    total, count, steep, norm = 0.0, 0, 0.0, 0.0
    for k in range(n):
        norm += nu[k] * (target[k] - gradient[k])
        if -lower[k] < nu[k] < upper[k] and (epsilon == 0.0 or nu[k] != 0.0):
            total += gradient[k] - (epsilon * np.sign(nu[k]) if epsilon > 0.0 else 0.0)
            steep += upper[k] + lower[k]
            count += 1
    # The last digits of the targets, in rows between their bounds, make a gap that no step closes.
    rounding = 4.0 * EPSILON * largest * steep / norm if norm > 0.0 else 0.0
    if count > 0:  # free rows determine the intercept
        middle = min(max(total / count, min(high, low)), max(high, low))
        apart, loss, norm = sums(gradient, nu, upper, lower, target, epsilon, middle)
        scale = max(loss + 0.5 * norm, floor)
        gap = min(gap, apart / scale if scale > 0.0 else 0.0)
    numbers[N_ITER], numbers[CONVERGED], numbers[INTERCEPT] = n_iter, gap <= max(tol, rounding), middle
    numbers[LOW], numbers[HIGH], numbers[REACH] = min(high, middle), max(low, middle), 0.0
    for k in range(n):
        before[k] = gradient[k] - middle
        numbers[REACH] = max(numbers[REACH], diagonal[k])
    numbers[ALONE] = polished and surely_unique(form, diagonal, box, epsilon, nu, before, target)


@compiled
def solve_machines(kernels, layout, stack, settings, numbers, first, last):  # type: ignore[no-untyped-def]
    """Solve the machines from `first` to before `last`; see `solve_one`.

    `kernels` are the blocks of the classes, the block across, and room for the lines of a machine of two
    classes. `layout` has a row of `Layout` per machine, `stack` the targets, largest and smallest ν of all
    rows of all machines, and takes their ν, 0 at first, and products.
    """
    own, cross, room = kernels
    target, upper, lower, nu, products = stack
    for m in range(first, last):
        at = layout[m]
        spot = at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8]
        start, n_first, n_second = spot[0], spot[1], spot[2]
        n = n_first + n_second
        end, diagonal = start + n, np.empty(n)
        for i in range(n_first):
            diagonal[i] = own[spot[3] + i, spot[4] + i]
        for i in range(n_second):
            diagonal[n_first + i] = own[spot[5] + i, spot[6] + i]
        lines, known = room, np.zeros(n, dtype=np.bool_)
        if n_second == 0 and spot[3] == 0 and spot[4] == 0:
            lines = own
            known[:] = True
        form = lines, known, own, cross, spot
        part = target[start:end], upper[start:end], lower[start:end], nu[start:end], products[start:end]
        solve_one(form, diagonal, part, settings, numbers[m])
