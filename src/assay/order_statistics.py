"""The value of a given rank among many, without sorting them; for compiled loops."""

from __future__ import annotations

import numpy as np

from assay.loops import lean, part

MANY = 600
"""Values from which on one of them is looked for among a few first."""


@lean
def select(values, order, first, last, rank):  # type: ignore[no-untyped-def]
    """Rearrange values between two places such that the one at `rank` is where sorting would bring it.

    None before it is larger, none after it smaller. Many values are divided about one that is a little beyond
    the place looked for, chosen among the few around it: most stay on the side that is then done with, as
    they seldom do about the middle (Floyd & Rivest 1975).

    Parameters
    ----------
    values : float64 array
    order : int64 array of the same length or (0,)
        Moved like the values; empty where nothing goes along with them.
    first, last, rank : int
        Places, the last one included.
    """
    while last - first > MANY:
        n, before = np.float64(last - first + 1), np.float64(rank - first + 1)
        few = 0.5 * n ** (2 / 3)
        beyond = 0.5 * np.sqrt(np.log(n) * few * (n - few) / n) * (1.0 if before > 0.5 * n else -1.0)
        low = max(first, np.int64(rank - before * few / n + beyond))
        high = min(last, np.int64(rank + (n - before) * few / n + beyond))
        select_of_few(values, order, low, high, rank)
        j, i = divide_values(values, order, first, last, values[rank])
        if rank <= j:
            last = j
        elif rank >= i:
            first = i
        else:
            return
    select_of_few(values, order, first, last, rank)


@part
def divide_values(values, order, first, last, pivot):  # type: ignore[no-untyped-def]
    """Bring values up to the pivot before those from it on; gives the last of these, the first of those."""
    i, j = first, last
    while i <= j:
        while values[i] < pivot:
            i += 1
        while values[j] > pivot:
            j -= 1
        if i <= j:
            values[i], values[j] = values[j], values[i]
            if order.shape[0] > 0:
                order[i], order[j] = order[j], order[i]
            i += 1
            j -= 1
    return j, i


@lean
def select_of_few(values, order, first, last, rank):  # type: ignore[no-untyped-def]
    """The same about the middle of three values (Hoare)."""
    while first < last:
        low, middle, high = values[first], values[(first + last) >> 1], values[last]
        j, i = divide_values(values, order, first, last, max(min(low, middle), min(max(low, middle), high)))
        if rank <= j:
            last = j
        elif rank >= i:
            first = i
        else:
            return
