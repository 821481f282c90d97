"""Steps of pairs where the coefficients of either sign have a sum of their own.

Of two rows that pull up, or two that pull down, one gains what the other loses: ν_i + t, ν_j − t, none
beyond 0 or its bound. A row at 0 may begin on either side.
"""

import numpy as np

from assay.loops import inlined, searching
from assay.solvers.rkhs.loops import HIGHEST_RANK, LOWEST_RANK, first_of, of_rank, place_of, rank


@inlined
def opened(above, below, nu, upper, lower, k):  # type: ignore[no-untyped-def]
    """Where row k may rise (0, else −inf) and fall (0, else inf), on the side above and on that below."""
    above[0, k] = 0.0 if 0.0 <= nu < upper else -np.inf
    below[0, k] = 0.0 if nu > 0.0 else np.inf
    above[1, k] = 0.0 if nu < 0.0 else -np.inf
    below[1, k] = 0.0 if -lower < nu <= 0.0 else np.inf


@searching
def side_steps(K, diagonal, box, nu, gradient, limits):  # type: ignore[no-untyped-def]
    """Maximise the dual over pairs of one side; returns the steps made and the violation left.

    On each side the row of the largest slope rises, and the row that promises the largest gain falls; of the
    two pairs the one of the larger gain moves. `box` holds upper and lower bounds, `limits` the tolerance and
    the most steps.
    """
    upper, lower = box[0], box[1]
    tol, max_iter = limits
    n = nu.shape[0]
    above, below, gains = np.empty((2, n)), np.empty((2, n)), np.empty(n)
    for k in range(n):
        opened(above, below, nu[k], upper[k], lower[k], k)
    violation, step = np.inf, 0
    while step < max_iter:
        violation, best, i, j, side = -np.inf, -1.0, -1, -1, 0
        for s in range(2):
            up, down = above[s], below[s]
            top, bottom = LOWEST_RANK, HIGHEST_RANK
            for k in range(n):
                top = max(top, rank(gradient[k] + up[k]))
                bottom = min(bottom, rank(gradient[k] + down[k]))
            highest, lowest = of_rank(top), of_rank(bottom)
            violation = max(violation, highest - lowest)
            if not highest - lowest > tol:
                continue
            first = place_of(highest, gradient, up)
            line, base, floor = K[first], diagonal[first], 1e-12 * diagonal[first] + 1e-300
            largest = rank(0.0)
            for k in range(n):
                excess = highest - gradient[k] - down[k]
                excess = excess if excess > 0.0 else 0.0
                bend = base + diagonal[k] - 2.0 * line[k]
                gains[k] = excess * excess / (bend if bend > floor else floor)
                largest = max(largest, rank(gains[k]))
            most = of_rank(largest)
            if most > best:
                best, i, side, j = most, first, s, first_of(most, gains)
        if i < 0:
            break
        step += 1
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], 1e-12 * diagonal[i] + 1e-300)
        top_i, end_j = (upper[i], 0.0) if side == 0 else (0.0, -lower[j])
        room_i, room_j = top_i - nu[i], nu[j] - end_j
        length = min((gradient[i] - gradient[j]) / curvature, room_i, room_j)
        # A bound that is reached is reached exactly: which rows are free is read off ν.
        nu[i] = top_i if length == room_i else nu[i] + length
        nu[j] = end_j if length == room_j else nu[j] - length
        opened(above, below, nu[i], upper[i], lower[i], i)
        opened(above, below, nu[j], upper[j], lower[j], j)
        line, other = K[i], K[j]
        for k in range(n):
            gradient[k] -= length * (line[k] - other[k])
    return step, violation
