"""Dynamic programming over cuts of sorted numbers."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


@compiled
def interval_cost(values, masses, sums, squares, absolute, start, stop):  # type: ignore[no-untyped-def]
    """Cost of the numbers from `start` to `stop` about their mean, or median, from prefix sums."""
    mass, total = masses[stop] - masses[start], sums[stop] - sums[start]
    if not absolute:
        return max(squares[stop] - squares[start] - total * total / mass, 0.0)
    half = masses[start] + 0.5 * mass
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) // 2
        if masses[middle + 1] >= half:
            high = middle
        else:
            low = middle + 1
    left = values[low] * (masses[low] - masses[start]) - (sums[low] - sums[start])
    right = (sums[stop] - sums[low]) - values[low] * (masses[stop] - masses[low])
    return max(left + right, 0.0)


@compiled
def best_cuts(values, masses, sums, squares, absolute, cuts):  # type: ignore[no-untyped-def]
    """Set `cuts[k, stop]` to where the last of k + 1 intervals of the first `stop` numbers begins at best.

    For a fixed k the best cut does not decrease with `stop`: the middle one is found first and bounds those
    of both halves, which wait on a stack.
    """
    n_values = values.shape[0]
    before = np.full(n_values + 1, np.inf)
    best = np.full(n_values + 1, np.inf)
    before[0] = 0.0
    for stop in range(1, n_values + 1):
        before[stop] = interval_cost(values, masses, sums, squares, absolute, 0, stop)
    stack = np.empty((128, 4), np.int64)
    for k in range(1, cuts.shape[0]):
        best[:] = np.inf
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = k + 1, n_values, k, n_values - 1
        height = 1
        while height > 0:
            height -= 1
            first, last = stack[height, 0], stack[height, 1]
            lowest, highest = stack[height, 2], stack[height, 3]
            if first > last:
                continue
            stop = (first + last) // 2
            least, chosen = np.inf, lowest
            for start in range(lowest, min(highest, stop - 1) + 1):
                cost = before[start] + interval_cost(values, masses, sums, squares, absolute, start, stop)
                if cost < least:
                    least, chosen = cost, start
            best[stop], cuts[k, stop] = least, chosen
            stack[height, 0], stack[height, 1] = first, stop - 1
            stack[height, 2], stack[height, 3] = lowest, chosen
            stack[height + 1, 0], stack[height + 1, 1] = stop + 1, last
            stack[height + 1, 2], stack[height + 1, 3] = chosen, highest
            height += 2
        before[:] = best
