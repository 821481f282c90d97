"""Compiled loops of divisive clustering (DIANA) on a matrix of dissimilarities.

A cluster is a stretch of `order`; `sums[i]` holds Σ_j D(i, j) over the cluster of i.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled

ROUNDING = 1e-12
"""Sums are kept by differences: a row moves when it gains more than this share of the diameter."""


@compiled
def diameter(D, members):  # type: ignore[no-untyped-def]
    """The greatest dissimilarity within a cluster, and the two that are so far apart."""
    high, first, second = 0.0, members[0], members[0]
    for p in range(members.shape[0]):
        row = D[members[p]]
        for q in range(p):
            if row[members[q]] > high:
                high, first, second = row[members[q]], members[p], members[q]
    return high, first, second


@compiled
def splinter(D, members, sums, new_sums, moved, room):  # type: ignore[no-untyped-def]
    """Move rows that are nearer, on average, to those that have left than to those that stay.

    The first to leave is the one farthest, on average, from the others. `sums` becomes those over the rows
    that stay, `new_sums` those over the rows that left. Returns how many left.
    """
    n = members.shape[0]
    leaving = 0
    for p in range(n):
        moved[p], new_sums[members[p]] = False, 0.0
        if sums[members[p]] > sums[members[leaving]]:
            leaving = p
    n_moved = 0
    while leaving >= 0:
        moved[leaving] = True
        n_moved += 1
        row = D[members[leaving]]
        best, next_leaving = room, -1
        n_others = n - n_moved - 1
        for p in range(n):
            i = members[p]
            sums[i] -= row[i]
            new_sums[i] += row[i]
            if not moved[p] and n_others > 0:
                gain = sums[i] / n_others - new_sums[i] / n_moved
                if gain > best:
                    best, next_leaving = gain, p
        leaving = next_leaving
    return n_moved


@compiled
def part(members, moved, scratch):  # type: ignore[no-untyped-def]
    """Put the rows that stay before those that left, both in their order; returns how many stay."""
    n_stay, n_left = 0, 0
    for p in range(members.shape[0]):
        if moved[p]:
            scratch[n_left] = members[p]
            n_left += 1
        else:
            members[n_stay] = members[p]
            n_stay += 1
    for p in range(n_left):
        members[n_stay + p] = scratch[p]
    return n_stay


@compiled
def divide(D, order, start, stop, height, lower, upper):  # type: ignore[no-untyped-def]
    """Split clusters until only single rows are left.

    Split s is of the rows order[start[s]:stop[s]], of that diameter; `lower[s]` and `upper[s]` are the splits
    of its two parts, or −1 − i for a part that is the single row i. Parts are split after their whole.
    """
    n = order.shape[0]
    sums, new_sums = np.zeros(n), np.zeros(n)
    moved, scratch = np.zeros(n, np.bool_), np.empty(n, np.int64)
    far = np.zeros((n, 2), np.int64)
    for i in range(n):
        for j in range(n):
            sums[i] += D[i, j]
    start[0], stop[0], n_splits = 0, n, 1
    height[0], far[0, 0], far[0, 1] = diameter(D, order)
    for s in range(n - 1):
        members = order[start[s] : stop[s]]
        if height[s] > 0.0:
            splinter(D, members, sums, new_sums, moved, ROUNDING * height[s])
            n_stay = part(members, moved, scratch)
            for p in range(n_stay, members.shape[0]):
                sums[members[p]] = new_sums[members[p]]
        else:
            n_stay = members.shape[0] - 1  # equal rows: one leaves after the other
        for side in range(2):
            child = members[:n_stay] if side == 0 else members[n_stay:]
            name = -1 - child[0]
            if child.shape[0] > 1:
                name = n_splits
                start[name] = start[s] if side == 0 else start[s] + n_stay
                stop[name] = start[name] + child.shape[0]
                n_far = 0
                for p in range(child.shape[0]):
                    n_far += child[p] == far[s, 0] or child[p] == far[s, 1]
                height[name], far[name, 0], far[name, 1] = height[s], far[s, 0], far[s, 1]
                if n_far < 2 and height[s] > 0.0:
                    height[name], far[name, 0], far[name, 1] = diameter(D, child)
                n_splits += 1
            if side == 0:
                lower[s] = name
            else:
                upper[s] = name
