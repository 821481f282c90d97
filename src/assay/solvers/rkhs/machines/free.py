"""All free rows of a small machine solved for at once: a Cholesky factor of a few dozen rows, in place.

LAPACK is faster from some hundreds of rows on, and called from Python; see `rkhs.at_once.free_rows`.
"""

import numpy as np

from assay.loops import inner
from assay.solvers.rkhs.loops import copy_line

MOST_FREE = 300
"""Free rows up to which all of them are solved for at once."""

N_PINS = 8
RIDGE = 1e-13


@inner
def factor(matrix, n):  # type: ignore[no-untyped-def]
    """The Cholesky factor in the lower triangle; returns the smallest pivot, 0 where one is not above 0."""
    smallest = np.inf
    for i in range(n):
        line = matrix[i]
        for j in range(i):
            other, total = matrix[j], line[j]
            for k in range(j):
                total -= line[k] * other[k]
            line[j] = total / other[j]
        pivot = line[i]
        for k in range(i):
            pivot -= line[k] * line[k]
        if not pivot > 0.0:
            return 0.0
        smallest = min(smallest, pivot)
        line[i] = np.sqrt(pivot)
    return smallest


@inner
def solve_factored(matrix, n, values):  # type: ignore[no-untyped-def]
    """Solve L Lᵀ x = values in place."""
    for i in range(n):
        total, line = values[i], matrix[i]
        for k in range(i):
            total -= line[k] * values[k]
        values[i] = total / line[i]
    for i in range(n - 1, -1, -1):
        line = matrix[i]
        values[i] /= line[i]
        x = values[i]
        for k in range(i):
            values[k] -= x * line[k]


@inner
def gram_of(form, diagonal, places, n, matrix):  # type: ignore[no-untyped-def]
    """The lower triangle of K + κ²11ᵀ for some rows, and κ², their largest k(x, x).

    Where Σδ is given, δᵀKδ and what it is least at do not change by the second term; but K may be singular
    where their sum is not.
    """
    K, top = form[0], 0.0
    for i in range(n):
        top = max(top, diagonal[places[i]])
    for i in range(n):
        copy_line(form, places[i])
        line = K[places[i]]
        for j in range(i + 1):
            matrix[i, j] = line[places[j]] + top
    return top


@inner
def free_rows(nu, box, epsilon, places):  # type: ignore[no-untyped-def]
    """Places of the rows inside their box, 0 being a corner of ε|ν|; how many there are."""
    upper, lower = box
    m = 0
    for k in range(nu.shape[0]):
        if -lower[k] < nu[k] < upper[k] and (epsilon == 0.0 or nu[k] != 0.0):
            places[m] = k
            m += 1
    return m


@inner
def move(nu, places, changes, box, epsilon):  # type: ignore[no-untyped-def]
    """Change some ν; what ends at a bound, or at the corner of ε|ν|, ends there exactly."""
    (change, up, down), (upper, lower) = changes, box
    for i in range(places.shape[0]):
        k = places[i]
        if change[i] == up[i]:
            nu[k] = 0.0 if epsilon > 0.0 and nu[k] < 0.0 else upper[k]
        elif change[i] == down[i]:
            nu[k] = 0.0 if epsilon > 0.0 and nu[k] > 0.0 else -lower[k]
        else:
            nu[k] += change[i]


@inner
def solve_free(form, diagonal, box, epsilon, nu, gradient):  # type: ignore[no-untyped-def]
    """Move all free rows to the maximum of the dual over them; false where that is not possible.

    Those that would leave their box are pinned at the bound they cross, and the others solved for again. The
    gradient is not brought up to date.
    """
    upper, lower = box
    free = np.empty(nu.shape[0], dtype=np.intp)
    m = free_rows(nu, box, epsilon, free)
    if m == 0 or m > MOST_FREE:
        return False
    pull, change, up, down = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        k = free[i]
        side = 0.0 if epsilon == 0.0 else np.sign(nu[k])
        pull[i] = gradient[k] - epsilon * side
        up[i] = (upper[k] if side >= 0.0 else 0.0) - nu[k]
        down[i] = (-lower[k] if side <= 0.0 else 0.0) - nu[k]
    matrix, level, right = np.empty((m, m)), np.empty(m), np.empty(m)
    pinned = np.zeros(m, dtype=np.bool_)
    kept, places = np.empty(m, dtype=np.intp), np.empty(m, dtype=np.intp)
    K = form[0]
    for attempt in range(N_PINS):
        q, fixed = 0, 0.0
        for i in range(m):
            if pinned[i]:
                fixed += change[i]
            else:
                kept[q] = i
                q += 1
        if q == 0:
            return False
        for i in range(q):
            places[i] = free[kept[i]]
        top = gram_of(form, diagonal, places, q, matrix)
        for i in range(q):
            matrix[i, i] += RIDGE * q * top
            right[i], level[i] = pull[kept[i]], 1.0
            if attempt > 0:
                line = K[places[i]]
                for j in range(m):
                    if pinned[j]:
                        right[i] -= line[free[j]] * change[j]
        if factor(matrix, q) == 0.0:
            return False
        solve_factored(matrix, q, right)
        solve_factored(matrix, q, level)
        weight = 0.0
        for i in range(q):
            fixed += right[i]
            weight += level[i]
        shift = fixed / weight
        outside = 0
        for i in range(q):
            step, place = right[i] - shift * level[i], kept[i]
            change[place] = min(max(step, down[place]), up[place])
            if change[place] != step:
                pinned[place] = True
                outside += 1
        if outside == 0:
            break
        if attempt == N_PINS - 1:
            return False
    move(nu, free[:m], (change, up, down), box, epsilon)
    return True
