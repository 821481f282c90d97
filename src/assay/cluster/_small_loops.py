"""Lloyd's whole iteration on a small dense table, in one call."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled

SETTLED, STILL, SPENT, EMPTY = range(4)
"""How it ended: no label changed, the centres stood still, max_iter iterations, a cluster lost its rows."""


TILE = 64
"""Rows whose distances are computed together, one feature after the other."""


@compiled
def iterate(tiles, n, weight, centers, small_move, max_iter, labels, trace):  # type: ignore[no-untyped-def]
    """Alternate assignments and means until nothing changes; ties go to the lowest index.

    `tiles[t, f, i]` is feature f of row TILE · t + i, of n. `centers`, in the dtype of the rows, are those of
    the last assignment at the end; `trace` gets the inertia after every half-step. Returns the number of
    updates, of values in `trace`, and how it ended.
    """
    n_tiles, d, _ = tiles.shape
    k = centers.shape[0]
    across, squares = np.empty((k, d)), np.empty(TILE)
    least, which = np.empty(TILE), np.empty(TILE, dtype=np.int64)
    sums, counts = np.empty((k, d)), np.empty(k)
    moved = np.empty_like(centers)
    labels[:] = -1
    previous, n_iter, n_trace = np.inf, 0, 0
    while True:
        for c in range(k):
            counts[c] = 0.0
            for f in range(d):
                across[c, f] = centers[c, f]
                sums[c, f] = 0.0
        inertia, n_changed = 0.0, 0
        for t in range(n_tiles):
            for i in range(TILE):
                least[i] = np.inf
                which[i] = 0
            for c in range(k):
                for i in range(TILE):
                    squares[i] = 0.0
                for f in range(d):
                    center = across[c, f]
                    for i in range(TILE):
                        difference = tiles[t, f, i] - center
                        squares[i] += difference * difference
                for i in range(TILE):
                    closer = squares[i] < least[i]
                    least[i] = squares[i] if closer else least[i]
                    which[i] = c if closer else which[i]
            begin = t * TILE
            for i in range(min(TILE, n - begin)):
                best = which[i]
                w = np.float64(weight[begin + i]) if weight.shape[0] > 0 else 1.0
                inertia += w * least[i]
                n_changed += labels[begin + i] != best
                labels[begin + i] = best
                counts[best] += w
                for f in range(d):
                    # About the centre: sums of differences lose nothing to a far origin.
                    sums[best, f] += w * (tiles[t, f, i] - across[best, f])
        trace[n_trace] = inertia
        n_trace += 1
        movement, saved = 0.0, 0.0
        for c in range(k):
            if counts[c] <= 0.0:
                return n_iter, n_trace, EMPTY
            for f in range(d):
                step = sums[c, f] / counts[c]
                moved[c, f] = across[c, f] + step
                rounded = np.float64(moved[c, f]) - across[c, f]
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
