"""Compiled loops over centres and seeds, and Lloyd's whole iteration on a small dense table in one call."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled, inner


@compiled
def lay_out(centers, shift, rounding, points, norms, negated, transposed, half):  # type: ignore[no-untyped-def]
    """Fill the forms of the centres that `assay.cluster.kmeans.loops` takes; padding is left alone."""
    for j in range(centers.shape[0]):
        norm = 0.0
        for f in range(centers.shape[1]):
            value = centers[j, f] - shift[f]
            points[j, f] = value
            negated[j, f] = -value
            transposed[f, j] = -value
            norm += value * value
        norms[j] = norm
        half[j] = (0.5 - rounding) * norm


@compiled
def nearest_gaps(points, gaps):  # type: ignore[no-untyped-def]
    """Distance from each centre to the nearest other one; infinite for a single centre."""
    gaps[:] = np.inf
    for j in range(points.shape[0]):
        for other in range(j):
            square = 0.0
            for f in range(points.shape[1]):
                square += (points[j, f] - points[other, f]) ** 2
            gaps[j] = min(gaps[j], square)
            gaps[other] = min(gaps[other], square)
    for j in range(points.shape[0]):
        gaps[j] = np.sqrt(gaps[j])


@compiled
def widen(before, after, reach, thresholds, decay):  # type: ignore[no-untyped-def]
    """Add to `decay` how far any other centre has moved at most, to `thresholds` the own way as well."""
    n_clusters = before.shape[0]
    drift = np.empty(n_clusters)
    largest, second, which = 0.0, 0.0, 0
    for j in range(n_clusters):
        square = 0.0
        for f in range(before.shape[1]):
            square += (after[j, f] - before[j, f]) ** 2
        drift[j] = np.sqrt(square) * reach
        if drift[j] > largest:
            largest, second, which = drift[j], largest, j
        elif drift[j] > second:
            second = drift[j]
    for j in range(n_clusters):
        others = second if j == which else largest
        decay[j] += others
        thresholds[j] += others + drift[j]


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


@compiled
def approach(table, candidates, candidate_norms, new, quarter_gaps, bucket, closest, nearest, masses):  # type: ignore[no-untyped-def]
    """Squared distance of each row to its closest seed, if a candidate were a seed too.

    `quarter_gaps[c, a]` is a quarter of the squared distance between candidate c and seed a: a row that close
    to its own seed cannot be closer to the candidate. With `new` < 0 candidates are tried: w · closest is
    added to the mass of each. Else the one candidate becomes seed number `new`: `closest` and `nearest` are
    brought up to date and w · closest is added to the mass of each row's bucket.
    """
    dense, values, columns, starts, weight = table
    for i in range(closest.shape[0]):
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        for c in range(candidates.shape[0]):
            least = closest[i]
            if least > quarter_gaps[c, nearest[i]]:
                distance = squares_to_seed(dense, values, columns, starts, i, candidates, candidate_norms, c)
                if distance < least:
                    least = distance
                    if new >= 0:
                        closest[i] = distance
                        nearest[i] = new
            masses[bucket[i] if new >= 0 else c] += w * least


@inner
def squares_to_seed(dense, values, columns, starts, i, candidates, candidate_norms, c):  # type: ignore[no-untyped-def]
    """Squared distance of row i to candidate c, 0 where they are equal."""
    distance = 0.0
    if values is not None:
        for position in range(starts[i], starts[i + 1]):
            value = np.float64(values[position])
            distance += value * (value - 2.0 * candidates[c, columns[position]])
        distance += candidate_norms[c]
        # What remains of a row that equals the seed is rounding.
        if distance <= 1e-14 * candidate_norms[c]:
            distance = 0.0
    if dense is not None:
        for f in range(candidates.shape[1]):
            distance += (np.float64(dense[i, f]) - candidates[c, f]) ** 2
    return distance


SETTLED, STILL, SPENT, EMPTY = range(4)
"""How it ended: no label changed, the centres stood still, max_iter iterations, a cluster lost its rows."""


TILE = 64
"""Rows whose distances are computed together, one feature after the other."""


@inner
def move_centers(sums, counts, centers, moved):  # type: ignore[no-untyped-def]
    """Set `moved` to the means of the clusters, from sums of rows about the centres.

    Returns the squared movement, as rounded to the dtype of `moved`, and how much inertia it saves; −1 where
    a cluster has no rows.
    """
    movement, saved = 0.0, 0.0
    for c in range(centers.shape[0]):
        if counts[c] <= 0.0:
            return movement, -1.0
        for f in range(centers.shape[1]):
            step = sums[c, f] / counts[c]
            moved[c, f] = centers[c, f] + step
            rounded = np.float64(moved[c, f]) - centers[c, f]
            movement += rounded * rounded
            saved += counts[c] * (step * step - (rounded - step) * (rounded - step))
    return movement, max(saved, 0.0)


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
        movement, saved = move_centers(sums, counts, across, moved)
        if saved < 0.0:
            return n_iter, n_trace, EMPTY
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
