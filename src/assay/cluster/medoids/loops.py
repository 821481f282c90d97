"""Loops of k-medoids over a symmetric matrix of dissimilarities.

Of every row i a loop may know its nearest medoid: `nearest[i]` is its place in the list of medoids,
`runner_up[i]` that of the next one, and `first[i]` ≤ `second[i]` are the dissimilarities to them; together
they are the `state`, a plain tuple, which a loop recognises sooner than a NamedTuple. An empty array of
weights stands for weights that are all 1. Rows of the matrix are read, never columns.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


@compiled
def two_nearest(distances, medoids, start, stop, nearest, runner_up, first, second):  # type: ignore[no-untyped-def]
    """Nearest and next medoid of rows, ties to the lowest place; `runner_up` is −1 for a single medoid."""
    for i in range(start, stop):
        nearest[i] = 0
        runner_up[i] = -1
        first[i] = distances[medoids[0], i]
        second[i] = np.inf
    for m in range(1, medoids.shape[0]):
        row = distances[medoids[m]]
        for i in range(start, stop):
            distance = row[i]
            if distance < first[i]:
                second[i] = first[i]
                runner_up[i] = nearest[i]
                first[i] = distance
                nearest[i] = m
            elif distance < second[i]:
                second[i] = distance
                runner_up[i] = m


@compiled
def removal_losses(weight, state, losses):  # type: ignore[no-untyped-def]
    """Set `losses[m]` to what removing medoid m costs: each of its rows goes to the next medoid."""
    nearest, _, first, second = state
    losses[:] = 0.0
    for i in range(nearest.shape[0]):
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        losses[nearest[i]] += w * (np.float64(second[i]) - np.float64(first[i]))


@compiled
def swap_change(row, weight, state, losses, listed, changes):  # type: ignore[no-untyped-def]
    """Change of the cost if a candidate took the place of each medoid, in `changes`.

    `row` holds the dissimilarities of the candidate. Only rows nearer to it than to their second medoid
    matter: they are listed first, without a branch, and are a small share where there are many medoids.
    """
    nearest, _, first, second = state
    n_listed = 0
    for i in range(row.shape[0]):
        listed[n_listed] = i
        n_listed += 1 if row[i] < second[i] else 0
    changes[:] = losses
    shared = 0.0
    for t in range(n_listed):
        i = listed[t]
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        distance, own = np.float64(row[i]), np.float64(first[i])
        shared += w * min(distance - own, 0.0)
        changes[nearest[i]] += w * (max(distance, own) - np.float64(second[i]))
    for m in range(changes.shape[0]):
        changes[m] += shared


@compiled
def best_swap(distances, weight, state, losses, medoids, piece, threshold, eager):  # type: ignore[no-untyped-def]
    """Scan the candidates of a piece (start, stop) for a swap that changes the cost by less than `threshold`.

    The first such candidate if `eager`, else the best of all. Returns the candidate (−1 if there is none),
    the place of the medoid it replaces, the change, and how many candidates were scanned.
    """
    (nearest, _, first, _), (start, stop) = state, piece
    n_clusters = medoids.shape[0]
    listed = np.empty(distances.shape[0], np.int32)
    changes = np.empty(n_clusters)
    candidate, replaced, least = -1, -1, threshold
    for j in range(start, stop):
        if weight.shape[0] > 0 and weight[j] == 0.0:
            continue
        if first[j] == 0.0 and medoids[nearest[j]] == j:
            continue
        swap_change(distances[j], weight, state, losses, listed, changes)
        for m in range(n_clusters):
            if changes[m] < least:
                candidate, replaced, least = j, m, changes[m]
        if eager and candidate >= 0:
            return candidate, replaced, least, j + 1 - start
    return candidate, replaced, least, stop - start


@compiled
def apply_swap(distances, medoids, place, nearest, runner_up, first, second):  # type: ignore[no-untyped-def]
    """Bring the nearest and next medoids up to date after the medoid in one place was replaced."""
    row = distances[medoids[place]]
    n_clusters = medoids.shape[0]
    for i in range(row.shape[0]):
        distance = row[i]
        if nearest[i] == place:
            if distance <= second[i]:
                first[i] = distance
                continue
            nearest[i] = runner_up[i]
            first[i] = second[i]
        elif distance < first[i]:
            second[i] = first[i]
            runner_up[i] = nearest[i]
            first[i] = distance
            nearest[i] = place
            continue
        elif runner_up[i] != place:
            if distance < second[i]:
                second[i] = distance
                runner_up[i] = place
            continue
        # The next medoid is gone or has moved away: look for it among all.
        second[i] = np.inf
        for m in range(n_clusters):
            if m != nearest[i] and distances[medoids[m], i] < second[i]:
                second[i] = distances[medoids[m], i]
                runner_up[i] = m


@compiled
def weighted_cost(weight, values):  # type: ignore[no-untyped-def]
    """Σ w_i v_i."""
    total = 0.0
    for i in range(values.shape[0]):
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        total += w * np.float64(values[i])
    return total


@compiled
def gains(distances, weight, first, start, stop, result):  # type: ignore[no-untyped-def]
    """Set `result[j]` to how much a further medoid j lowers the cost, for candidates of positive weight."""
    for j in range(start, stop):
        row = distances[j]
        total = 0.0
        if weight.shape[0] > 0:
            for i in range(row.shape[0]):
                total += np.float64(weight[i]) * max(np.float64(first[i]) - np.float64(row[i]), 0.0)
            result[j] = total if weight[j] > 0.0 else -1.0
        else:
            for i in range(row.shape[0]):
                total += max(np.float64(first[i]) - np.float64(row[i]), 0.0)
            result[j] = total


@compiled
def costs(distances, weight, start, stop, result):  # type: ignore[no-untyped-def]
    """Set `result[j]` to the cost of j as the only medoid; infinite for candidates of weight 0."""
    for j in range(start, stop):
        row = distances[j]
        total = 0.0
        if weight.shape[0] > 0:
            for i in range(row.shape[0]):
                total += np.float64(weight[i]) * np.float64(row[i])
            result[j] = total if weight[j] > 0.0 else np.inf
        else:
            for i in range(row.shape[0]):
                total += np.float64(row[i])
            result[j] = total


@compiled
def lazy_gain(distances, weight, first, bounds, fresh):  # type: ignore[no-untyped-def]
    """The candidate of largest gain, given upper bounds on the gains: gains only fall as medoids are added.

    The candidate of the largest bound is measured, until the largest bound is a measured one. `fresh` marks
    the bounds measured in this call.
    """
    fresh[:] = False
    while True:
        best = np.int64(0)  # not a literal, for which `gains` would be compiled once more
        for j in range(1, bounds.shape[0]):
            if bounds[j] > bounds[best]:
                best = np.int64(j)
        if fresh[best]:
            return best
        fresh[best] = True
        gains(distances, weight, first, best, best + 1, bounds)


@compiled
def add_rows(distances, weight, labels, start, stop, sums):  # type: ignore[no-untyped-def]
    """Add w_i d(i, ·) to the sums of the cluster of i: what each row would cost as its only medoid."""
    for i in range(start, stop):
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        row, total = distances[i], sums[labels[i]]
        for j in range(row.shape[0]):
            total[j] += w * np.float64(row[j])


@compiled
def reduced_costs(distances, weight, multipliers, start, stop, result):  # type: ignore[no-untyped-def]
    """Set `result[j]` to Σ_i min(w_i d_ij − λ_i, 0), infinite for candidates of weight 0."""
    for j in range(start, stop):
        row = distances[j]
        total = 0.0
        if weight.shape[0] > 0:
            for i in range(row.shape[0]):
                total += min(np.float64(weight[i]) * np.float64(row[i]) - multipliers[i], 0.0)
            result[j] = total if weight[j] > 0.0 else np.inf
        else:
            for i in range(row.shape[0]):
                total += min(np.float64(row[i]) - multipliers[i], 0.0)
            result[j] = total
