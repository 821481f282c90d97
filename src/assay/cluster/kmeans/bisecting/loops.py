"""Compiled loops of bisecting k-means: the way of a row down the tree, sums over the leaves, 2-means.

Rows come in a `RowTable`, dense or as CSR, as in `assay.cluster.kmeans.loops`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans.loops import add_row, squared_distance
from assay.cluster.kmeans.small_loops import EMPTY, SETTLED, SPENT, STILL, TILE
from assay.loops import compiled

Router = tuple[NDArray, NDArray, NDArray, NDArray]
"""A tree as the loops take it: `children`, `centers` in float64, `norms` of those, squared, and `labels`."""


@compiled
def row_norm(dense, values, starts, shift, i):  # type: ignore[no-untyped-def]
    """‖x − shift‖² of row i; CSR rows have the shift 0."""
    norm = 0.0
    if values is not None:
        for position in range(starts[i], starts[i + 1]):
            norm += np.float64(values[position]) ** 2
    if dense is not None:
        for f in range(shift.shape[0]):
            norm += (np.float64(dense[i, f]) - shift[f]) ** 2
    return norm


@compiled
def descend(table, tree, labels):  # type: ignore[no-untyped-def]
    """Label of the leaf that each row reaches, at every node by the nearer child; ties go to the first."""
    dense, values, columns, starts, _ = table
    children, centers, norms, node_labels = tree
    nothing = np.zeros(0)
    for i in range(labels.shape[0]):
        norm, node = row_norm(dense, values, starts, nothing, i), np.int64(0)
        while children[node, 0] >= 0:
            first, second = np.int64(children[node, 0]), np.int64(children[node, 1])
            to_first = squared_distance(dense, values, columns, starts, i, norm, centers, norms, first)
            to_second = squared_distance(dense, values, columns, starts, i, norm, centers, norms, second)
            node = second if to_second < to_first else first
        labels[i] = node_labels[node]


@compiled
def survey_rows(table, shift, centers, norms, labels, leaves):  # type: ignore[no-untyped-def]
    """Add every row to the sums, counts and inertias of its leaf (`leaves`); return Σ w ‖x − shift‖².

    `norms` are ‖c‖² and only used for CSR rows, whose shift is 0.
    """
    dense, values, columns, starts, weight = table
    sums, counts, inertias = leaves
    scatter = 0.0
    for i in range(labels.shape[0]):
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        label = np.int64(labels[i])
        norm = row_norm(dense, values, starts, shift, i)
        own = squared_distance(dense, values, columns, starts, i, norm, centers, norms, label)
        add_row(dense, values, columns, starts, shift, i, w, sums, label)
        counts[label] += w
        inertias[label] += w * own
        scatter += w * norm
    return scatter


@compiled
def fill_tiles(X, shift, tiles):  # type: ignore[no-untyped-def]
    """Write rows about the shift into tiles, feature by feature; returns the largest squared norm."""
    largest = 0.0
    for t in range(tiles.shape[0]):
        begin = t * TILE
        for i in range(min(TILE, X.shape[0] - begin)):
            norm = 0.0
            for f in range(X.shape[1]):
                value = np.float64(X[begin + i, f]) - shift[f]
                tiles[t, f, i] = value
                norm += value * value
            largest = max(largest, norm)
        for i in range(max(X.shape[0] - begin, 0), TILE):
            for f in range(X.shape[1]):
                tiles[t, f, i] = 0.0
    return largest


@compiled
def cut_tiles(tiles, mass, normal, offset, doubt, centers, sides, sums):  # type: ignore[no-untyped-def]
    """Put each row on its side of the plane x · normal = offset; returns weight and changes of the far side.

    `sums` gets the sum of the far rows. Rows within `doubt` of the plane are decided by their distances to
    both centres. Rows without mass stay where they are.
    """
    d = normal.shape[0]
    scores, far = np.empty(TILE), np.empty(TILE)
    sums[:] = 0.0
    weight, n_changed = 0.0, 0
    for t in range(tiles.shape[0]):
        begin, n_doubtful = t * TILE, 0
        for i in range(TILE):
            scores[i] = -offset
        for f in range(d):
            factor = normal[f]
            for i in range(TILE):
                scores[i] += factor * tiles[t, f, i]
        for i in range(TILE):
            n_doubtful += abs(scores[i]) <= doubt
        if n_doubtful > 0:
            for i in range(TILE):
                if abs(scores[i]) <= doubt:
                    first, second = 0.0, 0.0
                    for f in range(d):
                        first += (tiles[t, f, i] - centers[0, f]) ** 2
                        second += (tiles[t, f, i] - centers[1, f]) ** 2
                    scores[i] = first - second
        for i in range(TILE):
            side = scores[i] > 0.0
            w = mass[begin + i]
            n_changed += (w > 0.0) & (side != sides[begin + i])
            sides[begin + i] = side
            far[i] = w if side else 0.0
            weight += far[i]
        for f in range(d):
            total = 0.0
            for i in range(TILE):
                total += far[i] * tiles[t, f, i]
            sums[f] += total
    return weight, n_changed


@compiled
def halve(tiles, mass, radius, centers, tol, max_iter, sides, trace):  # type: ignore[no-untyped-def]
    """Lloyd's iteration with two centres: one product x · (c_1 − c_0) decides where a row goes.

    `centers` are about the shift of the tiles and end as those of the last assignment; `radius` is the
    largest norm of a row, `tol` what two updates in a row may move the centres by, relative to the mean
    variance. The sums of one side are those of all rows less those of the other. `trace` gets the inertia of
    every assignment. Returns the number of updates, of values in `trace`, and how it ended.
    """
    d = centers.shape[1]
    normal, sums, totals = np.empty(d), np.empty((2, d)), np.empty(d)
    total, scatter = 0.0, 0.0
    totals[:] = 0.0
    for t in range(tiles.shape[0]):
        for f in range(d):
            for i in range(TILE):
                value = mass[t * TILE + i] * tiles[t, f, i]
                totals[f] += value
                scatter += value * tiles[t, f, i]
        for i in range(TILE):
            total += mass[t * TILE + i]
    spread = scatter / total
    for f in range(d):
        spread -= (totals[f] / total) ** 2
    small_move = tol * max(spread, 0.0) / d
    previous, n_iter, counts = np.inf, 0, np.empty(2)
    while True:
        offset, length = 0.0, 0.0
        for f in range(d):
            normal[f] = centers[1, f] - centers[0, f]
            offset += 0.5 * (centers[1, f] ** 2 - centers[0, f] ** 2)
            length += normal[f] ** 2
        doubt = 4.0e-16 * (d + 8) * (radius * np.sqrt(length) + abs(offset))
        counts[1], n_changed = cut_tiles(tiles, mass, normal, offset, doubt, centers, sides, sums[1])
        counts[0] = total - counts[1]
        if not min(counts[0], counts[1]) > 1e-12 * total:
            return n_iter, n_iter, EMPTY
        inertia, movement = scatter, 0.0
        for f in range(d):
            sums[0, f] = totals[f] - sums[1, f]
            for c in range(2):
                inertia += centers[c, f] * (counts[c] * centers[c, f] - 2.0 * sums[c, f])
                movement += (sums[c, f] / counts[c] - centers[c, f]) ** 2
        trace[n_iter] = inertia
        if n_iter > 0 and n_changed == 0:
            return n_iter, n_iter + 1, SETTLED
        if n_iter > 0 and max(previous, movement) <= small_move:
            return n_iter, n_iter + 1, STILL
        if n_iter == max_iter:
            return n_iter, n_iter + 1, SPENT
        previous = movement
        for c in range(2):
            for f in range(d):
                centers[c, f] = sums[c, f] / counts[c]
        n_iter += 1
