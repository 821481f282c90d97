"""Seeding on small tables: k-means++ and its greedy form in one call, where a walk a draw would cost more."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


@compiled
def draw_seeds(X, weight, order, uniforms, chosen):  # type: ignore[no-untyped-def]
    """Draw rows ∝ w · D(x)², of `uniforms.shape[1]` draws the one that leaves the smallest Σ w · D(x)².

    `order` is the canonical order of the rows, in which masses are added up. `chosen` gets the numbers of the
    rows; returns how many were drawn before every row was a seed.
    """
    n, d = X.shape
    n_seeds, n_trials = uniforms.shape
    closest, cumulative = np.full(n, np.inf), np.empty(n)
    total = 0.0
    for position in range(n):
        total += weight[order[position]] if weight.shape[0] > 0 else 1.0
        cumulative[position] = total
    chosen[0] = order[_position(cumulative, uniforms[0, 0])]
    for j in range(1, n_seeds):
        seed, total = chosen[j - 1], 0.0
        for position in range(n):
            i = order[position]
            distance = 0.0
            for f in range(d):
                distance += (np.float64(X[i, f]) - np.float64(X[seed, f])) ** 2
            closest[i] = min(closest[i], distance)
            total += closest[i] * (weight[i] if weight.shape[0] > 0 else 1.0)
            cumulative[position] = total
        if not total > 0.0:
            return j
        best = np.inf
        for trial in range(n_trials):
            candidate = order[_position(cumulative, uniforms[j, trial])]
            potential = 0.0
            if n_trials > 1:
                for i in range(n):
                    distance = 0.0
                    for f in range(d):
                        distance += (np.float64(X[i, f]) - np.float64(X[candidate, f])) ** 2
                    left = min(closest[i], distance)
                    potential += left * (weight[i] if weight.shape[0] > 0 else 1.0)
            # Candidates that differ by rounding only are equal, and the first is taken.
            if potential < best * (1.0 - 1e-9) or trial == 0:
                best = potential
                chosen[j] = candidate
    return n_seeds


@compiled
def _position(cumulative, uniform):  # type: ignore[no-untyped-def]
    """First position whose cumulative mass exceeds this share of the total; never one without mass."""
    total = cumulative[-1]
    position = np.searchsorted(cumulative, uniform * total, side="right")
    return min(position, np.searchsorted(cumulative, total, side="left"))
