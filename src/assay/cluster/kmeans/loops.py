"""Compiled loops of k-means: nearest centres with and without distance bounds.

Rows come dense (`dense`, the other three None) or as CSR (`dense` None, then `values`, `columns`, `starts`),
together in a `RowTable`; the tests `is not None` are decided when a loop is compiled, which needs them to be
arguments. An empty `weight` means that every row counts once. Arrays that belong together come in plain
tuples: a loop takes microseconds to recognise a NamedTuple, which a small fit would feel.

Every nearest centre is exact in double precision, yet most of the work is done in single precision: rows are
gathered in tiles, relative to a `shift` amid the data (0 for CSR), and multiplied in float32:

    ‖x − c_j‖² = ‖x‖² + 2 (half_j + x · negated_j),        half_j = ‖c_j‖²/2,        negated_j = −c_j.

With ρ = `rounding` (see `centers`), the float32 value of half_j + x · negated_j is wrong by at most
ρ (‖x‖² + ‖c_j‖²). ρ ‖c_j‖² is already taken off `half`, so that scores are lower bounds up to ρ ‖x‖².
Where that does not decide which centre is nearest, the distances to those that may be are computed in float64
from `centers` and `norms` (‖c − shift‖²): to all centres where squares would overflow in float32. What
is lost where they vanish there is at most 2⁻¹⁰⁰ ρ. `negated` is padded to a multiple of `LANES` rows that
are never nearest; `transposed` is the same transposed, for CSR.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inner

LANES = 4
TILE_ROWS, TILE_ITEMS = 192, 2**15
STORED_DOWN = 1.2e-7  # a float32 is within 6e-8 of what it stands for: bounds are stored this much lower
TINY = 1e-32  # what squares below the least normal float32 can come to, times any number of features
VANISHED = 2.0**-100  # times ρ: what products can lose to float32 numbers below the least normal one
LARGE = 1e37  # squared norms above this are not multiplied in float32
LARGEST, LEAST = 3e38, 1.2e-38  # of normal float32 numbers
LOOKED_AT = 32  # rows of a block whose distances to all centres are measured, to certify the others
EXACT = 1e-12  # relative room for the rounding of a float64 distance


RowTable = tuple[Any, Any, Any, Any, NDArray]
"""The rows of a block: `dense`, `values`, `columns`, `starts`, `weight`."""

CenterLayout = tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray, float]
"""Centres: `shift`, `centers`, `norms`, `negated`, `transposed`, `half`, `rounding`."""

NearestCenters = tuple[NDArray, NDArray, NDArray, NDArray]
"""`nearest` centres, `uppers` of the distances to them, `lowers` of those to all others, `row_norms`."""


@inner
def load_rows(dense, values, starts, shift, visited, tile, row_norms):  # type: ignore[no-untyped-def]
    """Write rows relative to the shift into the tile (dense rows only), and their squared norms."""
    if values is not None:
        for r in range(visited.shape[0]):
            norm = 0.0
            for position in range(starts[visited[r]], starts[visited[r] + 1]):
                norm += np.float64(values[position]) ** 2
            row_norms[r] = norm
    if dense is not None:
        for r in range(visited.shape[0]):
            i, norm = visited[r], 0.0
            for f in range(tile.shape[1]):
                value = np.float64(dense[i, f]) - shift[f]
                tile[r, f] = value
                norm += value * value
            row_norms[r] = norm


@compiled
def squared_distance(dense, values, columns, starts, i, norm, centers, norms, j):  # type: ignore[no-untyped-def]
    """Squared distance of row i to centre j in float64, without cancellation for dense rows."""
    distance = 0.0
    if values is not None:
        for position in range(starts[i], starts[i + 1]):
            distance -= np.float64(values[position]) * centers[j, columns[position]]
        distance = max(norm + 2.0 * distance + norms[j], 0.0)
    if dense is not None:
        for f in range(centers.shape[1]):
            difference = np.float64(dense[i, f]) - centers[j, f]
            distance += difference * difference
    return distance


@compiled
def squared_gap(rows, others, i, j):  # type: ignore[no-untyped-def]
    """Squared distance of row i to another row j, in the dtype that both have."""
    distance = rows.dtype.type(0)
    for f in range(rows.shape[1]):
        difference = rows[i, f] - others[j, f]
        distance += difference * difference
    return np.float64(distance)


@compiled
def add_row(dense, values, columns, starts, shift, i, weight, sums, j):  # type: ignore[no-untyped-def]
    """Add row i relative to the shift, times its weight, to the sum of cluster j."""
    if values is not None:
        for position in range(starts[i], starts[i + 1]):
            sums[j, columns[position]] += weight * np.float64(values[position])
    if dense is not None:
        for f in range(sums.shape[1]):
            sums[j, f] += weight * (np.float64(dense[i, f]) - shift[f])


@compiled
def multiply(dense, values, columns, starts, visited, tile, negated, transposed, products):  # type: ignore[no-untyped-def]
    """Products of rows (dense: those of the tile) with the negated centres, one per row."""
    if values is not None:
        scratch = np.empty(products.shape[0], products.dtype)
        for r in range(products.shape[1]):
            scratch[:] = 0.0
            for position in range(starts[visited[r]], starts[visited[r] + 1]):
                value, f = np.float32(values[position]), columns[position]
                for j in range(scratch.shape[0]):
                    scratch[j] += value * transposed[f, j]
            products[:, r] = scratch
    if dense is not None:
        np.dot(negated, tile[: products.shape[1]].T, products)


@compiled
def two_smallest(products, half, nearest, first, second):  # type: ignore[no-untyped-def]
    """Of each column of half + products: the first index of the smallest entry, that and the next entry.

    A tournament of four centres at a time, in vector lanes of rows. Comparisons are strict, so that ties go
    to the lowest index. Written with one scalar per line: other forms do not vectorise.
    `second` is not the last to be compared, so that its store needs no mask, which is slow on some machines.
    """
    for r in range(products.shape[1]):
        first[r] = np.inf
        second[r] = np.inf
        nearest[r] = 0
    for j in range(0, products.shape[0], LANES):
        half_0, half_1, half_2, half_3 = half[j], half[j + 1], half[j + 2], half[j + 3]
        index_0, index_1 = np.int32(j), np.int32(j + 1)
        index_2, index_3 = np.int32(j + 2), np.int32(j + 3)
        for r in range(products.shape[1]):
            score_0 = products[j, r] + half_0
            score_1 = products[j + 1, r] + half_1
            score_2 = products[j + 2, r] + half_2
            score_3 = products[j + 3, r] + half_3
            is_1 = score_1 < score_0
            low = score_1 if is_1 else score_0
            high = score_0 if is_1 else score_1
            winner = index_1 if is_1 else index_0
            is_3 = score_3 < score_2
            low_b = score_3 if is_3 else score_2
            high_b = score_2 if is_3 else score_3
            winner_b = index_3 if is_3 else index_2
            is_b = low_b < low
            middle = low if is_b else low_b
            low = low_b if is_b else low
            winner = winner_b if is_b else winner
            high = high if high < high_b else high_b
            high = high if high < middle else middle
            next_best = second[r]
            high = high if high < next_best else next_best
            best = first[r]
            champion = nearest[r]
            is_new = low < best
            middle = best if is_new else low
            second[r] = high if high < middle else middle
            nearest[r] = winner if is_new else champion
            first[r] = low if is_new else best


@compiled
def nearest_centers(table, layout, visited, result, tile):  # type: ignore[no-untyped-def]
    """Nearest centre of the visited rows, with bounds on the distances to it and to the next.

    Fills `result`: `uppers` are at least the distance to the nearest, `lowers` at most that to any other, in
    the order of `visited`. `tile` is room for rows, their products with all centres, and the two best scores.
    """
    dense, values, columns, starts, _ = table
    shift, centers, norms, negated, transposed, half, rounding = layout
    nearest, uppers, lowers, row_norms = result
    tile_rows, products, firsts, seconds = tile
    n_tile, spare = firsts.shape[0], 4.0 * rounding * norms
    overflows, vanished = norms.max() > LARGE, VANISHED * rounding
    sparse_room = EXACT if values is not None else 0.0
    for start in range(0, visited.shape[0], n_tile):
        stop = min(start + n_tile, visited.shape[0])
        scores = products[: half.shape[0] * (stop - start)].reshape((half.shape[0], stop - start))
        rows = visited[start:stop]
        load_rows(dense, values, starts, shift, rows, tile_rows, row_norms[start:stop])
        multiply(dense, values, columns, starts, rows, tile_rows, negated, transposed, scores)
        two_smallest(scores, half, nearest[start:stop], firsts, seconds)
        # Three loops, so that the first and the last, which all rows take, become vector code.
        for t in range(start, stop):
            norm = row_norms[t]
            uppers[t] = norm * (1.0 + 2.0 * rounding) + 2.0 * firsts[t - start] + spare[nearest[t]]
            lowers[t] = norm * (1.0 - 2.0 * rounding) + 2.0 * seconds[t - start] - vanished
        for t in range(start, stop):
            too_large = overflows or row_norms[t] > LARGE
            if too_large or uppers[t] + vanished >= lowers[t]:
                norm, winner, limit = row_norms[t], nearest[t], uppers[t] + vanished
                upper, lower = np.inf, np.inf
                for j in range(centers.shape[0]):
                    distance = norm * (1.0 - 2.0 * rounding) + 2.0 * (scores[j, t - start] + half[j])
                    distance -= vanished
                    if too_large or distance <= limit:
                        distance = squared_distance(
                            dense, values, columns, starts, visited[t], norm, centers, norms, j
                        )
                        if distance < upper:
                            distance, upper, winner = upper, distance, j
                    lower = distance if distance < lower else lower
                nearest[t] = winner
                # CSR distances round relative to their terms, dense ones relative to themselves alone.
                room = sparse_room * (norm + norms[winner])
                uppers[t] = (upper + room) * (1.0 + EXACT)
                lowers[t] = (lower - room) * (1.0 - EXACT)
        for t in range(start, stop):
            uppers[t] = np.sqrt(max(uppers[t] + vanished, 0.0))
            lowers[t] = np.sqrt(max(lowers[t], 0.0))


@compiled
def doubtful_rows(table, centers, bounds, gaps, visited, uppers, rounding):  # type: ignore[no-untyped-def]
    """List in `visited` the rows whose label may have to change; return how many there are.

    `centers` are those in the dtype of dense rows, and in float64 with their norms; `bounds` are the labels,
    `slack`, `lower`, `thresholds` and `decay`. Of row i with label a, `slack` and `lower` remember from its
    last visit how much nearer its own centre was than any other, and how far the others were at least. Since
    then the own centre has moved by at most `thresholds[a] − decay[a]` and any other by at most `decay[a]`
    (both grow from iteration to iteration and are added when bounds are stored, so that a row which is passed
    over is only read). `gaps[a]` is at most the distance from centre a to the nearest other. A label of −1
    marks a row never visited.

    The distance to the own centre is computed in the dtype of dense rows, and widened by `rounding`, a bound
    on its relative error.

    Rows are taken in runs as long as `uppers`, which is room to work in. A run is three loops without
    branches that depend on the data: those would often be mispredicted.
    """
    dense, values, columns, starts, _ = table
    labels, slack, lower, thresholds, decay = bounds
    n_visited = 0
    for start in range(0, labels.shape[0], uppers.shape[0]):
        n_listed = n_visited
        for i in range(start, min(start + uppers.shape[0], labels.shape[0])):
            visited[n_listed] = i
            n_listed += 0 if slack[i] > thresholds[max(labels[i], 0)] else 1
        listed = visited[n_visited:n_listed]
        own_bounds(dense, values, columns, starts, centers, labels, listed, rounding, uppers)
        for t in range(listed.shape[0]):
            i, upper = listed[t], np.sqrt(uppers[t])
            label = np.int64(max(labels[i], 0))
            others = max(np.float64(lower[i]) - decay[label], gaps[label] - upper)
            # A row that has to be visited is given other bounds there.
            gain = others - upper + thresholds[label]
            lower[i] = min((others + decay[label]) * (1.0 - STORED_DOWN), LARGEST)
            slack[i] = min(gain - STORED_DOWN * abs(gain) - LEAST, LARGEST)
            visited[n_visited] = i
            n_visited += 0 if upper < others else 1
    return n_visited


@inner
def own_bounds(dense, values, columns, starts, centers, labels, listed, rounding, uppers):  # type: ignore[no-untyped-def]
    """At least the squared distances of listed rows to their own centres; infinite without a label."""
    given, exact, norms = centers
    for t in range(listed.shape[0]):
        i, norm, uppers[t] = listed[t], 0.0, np.inf
        label = np.int64(labels[i])
        if label >= 0:
            if values is not None:
                for position in range(starts[i], starts[i + 1]):
                    norm += np.float64(values[position]) ** 2
                own = squared_distance(dense, values, columns, starts, i, norm, exact, norms, label)
                uppers[t] = (own + (norm + norms[label]) * EXACT) * (1.0 + EXACT)
            if dense is not None:
                uppers[t] = squared_gap(dense, given, i, label) * (1.0 + rounding) + TINY


@compiled
def settle(table, shift, bounds, visited, result, sums, counts):  # type: ignore[no-untyped-def]
    """Give the visited rows their new labels and bounds.

    Adds to `sums` and `counts` what the rows that change cluster bring and take; returns how many did, and
    the sum of w ‖x − shift‖² over the rows visited for the first time.
    """
    dense, values, columns, starts, weight = table
    labels, slack, lower, thresholds, decay = bounds
    nearest, uppers, lowers, row_norms = result
    n_changed, scatter = 0, 0.0
    for t in range(visited.shape[0]):
        i, new = visited[t], np.int64(nearest[t])
        gain = lowers[t] - uppers[t] + thresholds[new]
        lower[i] = min((lowers[t] + decay[new]) * (1.0 - STORED_DOWN), LARGEST)
        slack[i] = min(gain - STORED_DOWN * abs(gain) - LEAST, LARGEST)
        old = np.int64(labels[i])
        if new != old:
            n_changed += 1
            labels[i] = new
            w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
            add_row(dense, values, columns, starts, shift, i, w, sums, new)
            counts[new] += w
            if old >= 0:
                add_row(dense, values, columns, starts, shift, i, -w, sums, old)
                counts[old] -= w
            else:
                scatter += w * row_norms[t]
    return n_changed, scatter


@compiled
def measure(table, layout, result, labels, distances, sums, counts):  # type: ignore[no-untyped-def]
    """Measure a partition, given the nearest centres of all rows.

    A label of −1 is replaced by the nearest centre. Writes the squared `distances` to the own centres, adds
    every row to the `sums` and `counts` of its cluster, and returns the inertia, Σ w ‖x − shift‖², and the
    largest (‖x − own‖² − ‖x − nearest‖²) / (‖x − shift‖² + ‖own − shift‖²). All distances of a few rows
    are computed, so that a wrong `nearest` does not pass.
    """
    dense, values, columns, starts, weight = table
    shift, centers, norms = layout[:3]
    nearest, _, _, row_norms = result
    inertia, scatter, excess = 0.0, 0.0, 0.0
    stride = max(labels.shape[0] // LOOKED_AT, 1)
    for i in range(labels.shape[0]):
        best, norm = np.int64(nearest[i]), row_norms[i]
        label = best if labels[i] < 0 else np.int64(labels[i])
        labels[i] = label
        own = squared_distance(dense, values, columns, starts, i, norm, centers, norms, label)
        least = own
        if label != best:
            least = squared_distance(dense, values, columns, starts, i, norm, centers, norms, best)
        if i % stride == 0:
            for j in range(centers.shape[0]):
                other = squared_distance(dense, values, columns, starts, i, norm, centers, norms, j)
                least = min(least, other)
        if own > least:
            excess = max(excess, (own - least) / (norm + norms[label]))
        distances[i] = own
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        inertia += w * own
        scatter += w * norm
        add_row(dense, values, columns, starts, shift, i, w, sums, label)
        counts[label] += w
    return inertia, scatter, excess
