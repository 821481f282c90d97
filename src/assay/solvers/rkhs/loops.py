"""Loops of the box-constrained dual: one variable ν per row, its two one-sided slopes, steps of pairs.

The dual is Σ(y ν − ε|ν|) − ½ νᵀKν over −lower ≤ ν ≤ upper, with Σν = 0 for an intercept. `gradient` is y −
Kν. Moving ν_i up gains `rise`, moving it down costs `fall`: they differ by the corner of ε|ν| at 0. The point
is a maximum when no rise exceeds a fall (with an intercept), or 0 lies between them in every row (without).
"""

from typing import Any

import numpy as np
from numba.extending import overload

from assay.loops import choices, compiled, inlined, searching

SECOND_ORDER, MAX_VIOLATING_PAIR, RANDOM = 0, 1, 2


@inlined
def rise(gradient, nu, upper, epsilon):  # type: ignore[no-untyped-def]
    """Slope of the dual as ν grows; −inf at its upper bound."""
    if nu >= upper:
        return -np.inf
    return gradient - epsilon if nu >= 0.0 else gradient + epsilon


@inlined
def fall(gradient, nu, lower, epsilon):  # type: ignore[no-untyped-def]
    """Slope of the dual as ν falls, with the sign of growth; inf at its lower bound."""
    if nu <= -lower:
        return np.inf
    return gradient + epsilon if nu <= 0.0 else gradient - epsilon


@inlined
def room_above(nu, upper, epsilon):  # type: ignore[no-untyped-def]
    """How far ν may grow before its slope jumps or the box ends."""
    return -nu if nu < 0.0 and epsilon > 0.0 else upper - nu


@inlined
def room_below(nu, lower, epsilon):  # type: ignore[no-untyped-def]
    """How far ν may fall before its slope jumps or the box ends."""
    return nu if nu > 0.0 and epsilon > 0.0 else nu + lower


@compiled
def slopes(gradient, nu, upper, lower, epsilon, rises, falls):  # type: ignore[no-untyped-def]
    """Both slopes of every row; returns the largest rise and the least fall."""
    largest, least = -np.inf, np.inf
    for i in range(nu.shape[0]):
        rises[i] = rise(gradient[i], nu[i], upper[i], epsilon)
        falls[i] = fall(gradient[i], nu[i], lower[i], epsilon)
        largest, least = max(largest, rises[i]), min(least, falls[i])
    return largest, least


@compiled
def gap_sums(gradient, nu, upper, lower, target, epsilon, intercept):  # type: ignore[no-untyped-def]
    """Σ of the gaps of the rows, Σ of their losses and ‖h‖² at a point."""
    gap, loss, norm = 0.0, 0.0, 0.0
    for i in range(nu.shape[0]):
        residual = gradient[i] - intercept
        value = upper[i] * max(residual - epsilon, 0.0) + lower[i] * max(-residual - epsilon, 0.0)
        gap += max(value - nu[i] * residual + epsilon * abs(nu[i]), 0.0)
        loss += value
        norm += nu[i] * (target[i] - gradient[i])
    return gap, loss, norm


@compiled
def dual_value(gradient, nu, target, epsilon):  # type: ignore[no-untyped-def]
    """Σ(y ν − ε|ν|) − ½ νᵀKν: a loop, since BLAS would leave its threads spinning beside ours."""
    value = 0.0
    for i in range(nu.shape[0]):
        value += 0.5 * nu[i] * (target[i] + gradient[i]) - epsilon * abs(nu[i])
    return value


def copy_line(form: Any, i: int) -> None:
    """Line i of a Gram matrix, made unless it is there; for compiled loops only.

    `form` is that of `GramLines`, or that of a machine of two classes; see `assay.solvers.rkhs.machines`.
    """
    raise NotImplementedError("copy_line is called inside compiled loops.")


@overload(copy_line, jit_options=choices())
def _copied_line(form, i):  # type: ignore[no-untyped-def]
    return line_of_rows if len(form) == 4 else line_of_classes


def line_of_rows(form, i):  # type: ignore[no-untyped-def]
    """A line of the Gram matrix of some rows, from that of the table."""
    lines, known, whole, rows = form
    if not known[i]:
        source, line = whole[rows[i]], lines[i]
        for k in range(rows.shape[0]):
            line[k] = source[rows[k]]
        known[i] = True


def line_of_classes(form, i):  # type: ignore[no-untyped-def]
    """A line of the Gram matrix of two classes, from the blocks of each and the one across."""
    lines, known, own, cross, spot = form
    if not known[i]:
        _, n_first, n_second, a, a_column, b, b_column, row, column = spot
        line = lines[i]
        if i < n_first:
            source = own[a + i]
            for k in range(n_first):
                line[k] = source[a_column + k]
            source = cross[row + i]
            for k in range(n_second):
                line[n_first + k] = source[column + k]
        else:
            j = i - n_first
            for k in range(n_first):
                line[k] = cross[row + k, column + j]
            source = own[b + j]
            for k in range(n_second):
                line[n_first + k] = source[b_column + k]
        known[i] = True


@compiled
def copy_lines(form, places):  # type: ignore[no-untyped-def]
    """Some lines of the Gram matrix of some rows."""
    for i in places:
        copy_line(form, i)


LOWEST_RANK, HIGHEST_RANK = np.int64(-(2**63)), np.int64(2**63 - 1)
SIGN, REST = np.int64(63), np.int64(2**63 - 1)


@inlined
def rank(value):  # type: ignore[no-untyped-def]
    """A whole number in the order of the values: vector code finds the largest of those, not of floats."""
    bits = np.float64(value).view(np.int64)
    return bits ^ ((bits >> SIGN) & REST)


@inlined
def of_rank(place):  # type: ignore[no-untyped-def]
    """The value of a rank."""
    return np.int64(place ^ ((place >> SIGN) & REST)).view(np.float64)


@searching
def pair_steps(form, diagonal, box, epsilon, nu, gradient, limits, rule, draws):  # type: ignore[no-untyped-def]
    """Maximise the dual over pairs ν_i + t, ν_j − t; returns the steps made and the violation left.

    The row of the largest rise is paired with the one that promises the largest gain ("second order"), with
    that of the least fall, or both are drawn. `form` is that of `GramLines`, `box` holds upper and lower
    bounds, `limits` the tolerance and the most steps.

    `above[k]` is rise − gradient and `below[k]` fall − gradient: they change with ν_k alone, so that one pass
    of vector code finds the largest rise of all rows.
    """
    upper, lower, K = box[0], box[1], form[0]
    tol, max_iter = limits
    n = nu.shape[0]
    above, below, gains = np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        above[k] = rise(0.0, nu[k], upper[k], epsilon)
        below[k] = fall(0.0, nu[k], lower[k], epsilon)
    top, bottom = LOWEST_RANK, HIGHEST_RANK
    for k in range(n):
        top = max(top, rank(gradient[k] + above[k]))
        bottom = min(bottom, rank(gradient[k] + below[k]))
    highest, lowest = of_rank(top), of_rank(bottom)
    step = 0
    while step < max_iter and highest - lowest > tol:
        step += 1
        if rule == RANDOM:
            i, j = drawn_pair(draws[step - 1], gradient, above, below)
            if gradient[i] + above[i] <= gradient[j] + below[j]:
                continue
        else:
            i = place_of(highest, gradient, above)
            j = place_of(lowest, gradient, below) if rule == MAX_VIOLATING_PAIR else 0
        copy_line(form, i)
        if rule == SECOND_ORDER:
            line, base, floor = K[i], diagonal[i], 1e-12 * diagonal[i] + 1e-300
            most = rank(0.0)
            for k in range(n):
                excess = highest - gradient[k] - below[k]
                excess = excess if excess > 0.0 else 0.0
                bend = base + diagonal[k] - 2.0 * line[k]
                gains[k] = excess * excess / (bend if bend > floor else floor)
                most = max(most, rank(gains[k]))
            j = first_of(of_rank(most), gains)
        copy_line(form, j)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], 1e-12 * diagonal[i] + 1e-300)
        room_i, room_j = room_above(nu[i], upper[i], epsilon), room_below(nu[j], lower[j], epsilon)
        length = min((gradient[i] + above[i] - gradient[j] - below[j]) / curvature, room_i, room_j)
        # A bound that is reached is reached exactly: which rows are free is read off ν.
        nu[i] = end_above(nu[i], upper[i], epsilon) if length == room_i else nu[i] + length
        nu[j] = end_below(nu[j], lower[j], epsilon) if length == room_j else nu[j] - length
        for k in (i, j):
            above[k] = rise(0.0, nu[k], upper[k], epsilon)
            below[k] = fall(0.0, nu[k], lower[k], epsilon)
        # The slopes of the next step are looked at as they are made.
        first, second = K[i], K[j]
        top, bottom = LOWEST_RANK, HIGHEST_RANK
        for k in range(n):
            slope = gradient[k] - length * (first[k] - second[k])
            gradient[k] = slope
            top = max(top, rank(slope + above[k]))
            bottom = min(bottom, rank(slope + below[k]))
        highest, lowest = of_rank(top), of_rank(bottom)
    return step, highest - lowest


@inlined
def first_of(value, values):  # type: ignore[no-untyped-def]
    """First place of a value: all are looked at, which vector code does sooner than one after the other."""
    place = values.shape[0]
    for k in range(values.shape[0]):
        place = min(place, k if values[k] == value else values.shape[0])
    return place if place < values.shape[0] else 0


@inlined
def place_of(value, gradient, offset):  # type: ignore[no-untyped-def]
    """First row whose slope is this value."""
    place = gradient.shape[0]
    for k in range(gradient.shape[0]):
        place = min(place, k if gradient[k] + offset[k] == value else gradient.shape[0])
    return place if place < gradient.shape[0] else 0


@inlined
def drawn_pair(draw, gradient, above, below):  # type: ignore[no-untyped-def]
    """Two drawn rows, the one to rise first."""
    n = gradient.shape[0]
    i, j = draw[0] % n, draw[1] % n
    forth = gradient[i] + above[i] - gradient[j] - below[j]
    back = gradient[j] + above[j] - gradient[i] - below[i]
    return (j, i) if back > forth else (i, j)


@inlined
def end_above(nu, upper, epsilon):  # type: ignore[no-untyped-def]
    """Where the room above ends."""
    return 0.0 if nu < 0.0 and epsilon > 0.0 else upper


@inlined
def end_below(nu, lower, epsilon):  # type: ignore[no-untyped-def]
    """Where the room below ends."""
    return 0.0 if nu > 0.0 and epsilon > 0.0 else -lower


@searching
def single_steps(form, diagonal, box, epsilon, nu, gradient, limits):  # type: ignore[no-untyped-def]
    """Maximise the dual over one ν_i at a time, that of the largest gain; no intercept, so no Σν = 0."""
    upper, lower, K = box[0], box[1], form[0]
    tol, max_iter = limits
    n = nu.shape[0]
    above, below, gains = np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        above[k] = rise(0.0, nu[k], upper[k], epsilon)
        below[k] = fall(0.0, nu[k], lower[k], epsilon)
    violation = np.inf
    for step in range(max_iter):
        worst, most = rank(0.0), rank(0.0)
        for k in range(n):
            up, down = gradient[k] + above[k], -gradient[k] - below[k]
            excess = up if up > down else down
            excess = excess if excess > 0.0 else 0.0
            base = diagonal[k]
            gains[k] = excess * excess / (base if base > 1e-300 else 1e-300)
            worst, most = max(worst, rank(excess)), max(most, rank(gains[k]))
        violation = of_rank(worst)
        if violation <= tol:
            return step, violation
        i = first_of(of_rank(most), gains)
        up, down = gradient[i] + above[i], gradient[i] + below[i]
        length = (up if up > -down else down) / max(diagonal[i], 1e-300)
        if length > 0.0:
            room = room_above(nu[i], upper[i], epsilon)
            length = min(length, room)
            nu[i] = end_above(nu[i], upper[i], epsilon) if length == room else nu[i] + length
        else:
            room = room_below(nu[i], lower[i], epsilon)
            length = -min(-length, room)
            nu[i] = end_below(nu[i], lower[i], epsilon) if -length == room else nu[i] + length
        above[i] = rise(0.0, nu[i], upper[i], epsilon)
        below[i] = fall(0.0, nu[i], lower[i], epsilon)
        copy_line(form, i)
        line = K[i]
        for k in range(n):
            gradient[k] -= length * line[k]
    return max_iter, violation


@compiled
def subtract_rows(cache, slots, change, gradient, start, stop):  # type: ignore[no-untyped-def]
    """Subtract Σ change · (kernel row) from a piece of the gradient, four kernel rows at a time."""
    n, m = slots.shape[0], 0
    while m + 3 < n:
        a, b, c, d = change[m], change[m + 1], change[m + 2], change[m + 3]
        p, q, r, s = cache[slots[m]], cache[slots[m + 1]], cache[slots[m + 2]], cache[slots[m + 3]]
        for k in range(start, stop):
            gradient[k] -= a * p[k] + b * q[k] + c * r[k] + d * s[k]
        m += 4
    while m < n:
        a, p = change[m], cache[slots[m]]
        for k in range(start, stop):
            gradient[k] -= a * p[k]
        m += 1


@compiled
def submatrix(matrix, rows):  # type: ignore[no-untyped-def]
    """Some rows and the same columns of a matrix."""
    n = rows.shape[0]
    result = np.empty((n, n), dtype=matrix.dtype)
    for i in range(n):
        line = matrix[rows[i]]
        for j in range(n):
            result[i, j] = line[rows[j]]
    return result
