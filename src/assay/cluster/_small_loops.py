"""Lloyd's whole iteration on a small dense table, in one call."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled

SETTLED, STILL, SPENT, EMPTY = range(4)
"""How it ended: no label changed, the centres stood still, max_iter iterations, a cluster lost its rows."""


@compiled
def iterate(X, weight, centers, small_move, max_iter, labels, trace):  # type: ignore[no-untyped-def]
    """Alternate assignments and means until nothing changes; ties go to the lowest index.

    `centers`, in the dtype of the rows, are those of the last assignment at the end; `trace` gets the inertia
    after every half-step. Returns the number of updates, of values in `trace`, and how it ended.
    """
    n, d = X.shape
    k = centers.shape[0]
    across, reach = np.empty((d, k)), np.empty(k)
    sums, counts = np.empty((k, d)), np.empty(k)
    moved = np.empty_like(centers)
    labels[:] = -1
    previous, n_iter, n_trace = np.inf, 0, 0
    while True:
        for c in range(k):
            counts[c] = 0.0
            for f in range(d):
                across[f, c] = centers[c, f]
                sums[c, f] = 0.0
        inertia, n_changed = 0.0, 0
        for i in range(n):
            reach[:] = 0.0
            for f in range(d):
                value = np.float64(X[i, f])
                for c in range(k):
                    difference = value - across[f, c]
                    reach[c] += difference * difference
            best = 0
            for c in range(1, k):
                if reach[c] < reach[best]:
                    best = c
            w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
            inertia += w * reach[best]
            n_changed += labels[i] != best
            labels[i] = best
            counts[best] += w
            for f in range(d):
                # About the centre: sums of differences lose nothing to a far origin.
                sums[best, f] += w * (np.float64(X[i, f]) - across[f, best])
        trace[n_trace] = inertia
        n_trace += 1
        movement, saved = 0.0, 0.0
        for c in range(k):
            if counts[c] <= 0.0:
                return n_iter, n_trace, EMPTY
            for f in range(d):
                step = sums[c, f] / counts[c]
                moved[c, f] = across[f, c] + step
                rounded = np.float64(moved[c, f]) - across[f, c]
                movement += rounded * rounded
                saved += counts[c] * (step * step - (rounded - step) * (rounded - step))
        if n_iter > 0 and n_changed == 0:
            return n_iter, n_trace, SETTLED
        if n_iter > 0 and max(previous, movement) <= small_move:
            return n_iter, n_trace, STILL
        if n_iter == max_iter:
            return n_iter, n_trace, SPENT
        previous = movement
        trace[n_trace] = max(inertia - saved, 0.0)
        n_trace += 1
        centers[:] = moved
        n_iter += 1
