"""Hartigan's moves of single rows, which lower the inertia where Lloyd's iteration has come to rest.

A row of weight w that goes from cluster k to cluster l, both of which follow it with their means, changes the
inertia by w (n_l/(n_l + w) ‖x − c_l‖² − n_k/(n_k − w) ‖x − c_k‖²). A row that weighs more than 1 stands for
copies that may go one by one: it goes, with all its weight, as soon as one of them would (then all do, for
what each saves grows with those that went before).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from assay.base import Watch
from assay.certificates import Certificate, at_most
from assay.cluster.kmeans.centers import Centers, inspect, means_of, placed, table
from assay.cluster.kmeans.loops import squared_distance
from assay.cluster.kmeans.seeding import order_keys
from assay.cluster.kmeans.solver import Lloyd
from assay.loops import compiled, inner
from assay.rows import Block, MemoryRows, Rows

SMALLEST_GAIN = 1e-11
"""Moves that save less than this share of the terms compared are rounding."""

ROUNDING = 16.0 * float(np.finfo(np.float64).eps)

ALONE = 1.0 + 1e-9
"""A cluster that weighs less than this times a row has no other row."""


def polish(
    data: MemoryRows, result: Lloyd, *, watch: Watch, max_iter: int, keep_empty: bool, keep_steps: bool
) -> Lloyd:
    """Move single rows, pass by pass, until no move of one lowers the inertia, or `max_iter` is reached.

    Rows are taken in an order by their content, so that neither their order nor copies matter. Means and
    weights follow every move, and are added up afresh after a pass. The trace goes on with two values for
    each pass, after the moves and after an assignment to the new means: equal but where max_iter ends it.
    """
    assert result.labels is not None
    labels, trace, steps = result.labels.copy(), list(result.trace), list(result.steps)
    centers, means, counts, _ = _means(data, placed(data, result.centers), labels)
    features, order = table(Block(data.X, None, data.weight, 0)), np.argsort(order_keys(data), kind="stable")
    checked, changed = np.zeros(len(labels), np.int64), np.ones(len(counts), np.int64)
    n_iter, clock, stopped = result.n_iter, 1, False
    while n_iter < max_iter and not stopped:
        state = labels, means, np.square(means).sum(axis=1), counts
        before, clock = clock, move_rows(features, order, state, checked, changed, clock, keep_empty)
        n_iter += 1
        if clock == before:  # no row has moved, and the centres are the means
            return Lloyd(centers.given, _filled(data, centers, labels), trace, n_iter, True, True, steps)
        centers, means, counts, inertia = _means(data, centers, labels)
        trace += [min(inertia, trace[-1])] * 2
        if keep_steps:
            steps.append((centers.given, labels.copy()))
        report = {"cluster_centers_": centers.given, "n_iter_": n_iter, "inertia_": trace[-1]}
        stopped = watch.iteration(lambda: report)  # noqa: B023
    labels[:] = -1
    trace[-1] = min(inspect(data, centers, labels).inertia, trace[-1])
    return Lloyd(centers.given, labels, trace, n_iter, False, False, steps)


def _means(data: MemoryRows, centers: Centers, labels: NDArray) -> tuple[Centers, NDArray, NDArray, float]:
    """Means, laid out and in doubles, weights and inertia of the clusters; an empty one keeps its centre."""
    partition = inspect(data, centers, labels)
    means = means_of(partition.sums, partition.counts, centers.points)
    exact = means + centers.shift
    moved = centers.moved(exact.astype(data.dtype))
    # About the means the inertia is least; the centres are the means but for rounding.
    apart, left = (np.square(points - means).sum(axis=1) for points in (moved.points, centers.points))
    inertia = partition.inertia + float(partition.counts @ (apart - left))
    return moved, exact, partition.counts, max(inertia, 0.0)


def _filled(data: MemoryRows, centers: Centers, labels: NDArray) -> NDArray:
    """The labels, those of rows of weight 0 by the nearest centre."""
    if data.weight is not None:
        labels[data.weight == 0.0] = -1
        inspect(data, centers, labels)
    return labels


@inner
def sparse_norm(values, starts, i):  # type: ignore[no-untyped-def]
    """Squared norm of row i of a CSR table; 0 for dense rows, whose distances need none."""
    norm = 0.0
    if values is not None:
        for position in range(starts[i], starts[i + 1]):
            norm += np.float64(values[position]) ** 2
    return norm


@compiled
def follow(dense, values, columns, starts, i, share, mean):  # type: ignore[no-untyped-def]
    """Move a mean by a share of the way to row i, in place; return its squared norm."""
    if values is not None:
        for f in range(mean.shape[0]):
            mean[f] *= 1.0 - share
        for position in range(starts[i], starts[i + 1]):
            mean[columns[position]] += share * np.float64(values[position])
    if dense is not None:
        for f in range(mean.shape[0]):
            mean[f] += share * (np.float64(dense[i, f]) - mean[f])
    norm = 0.0
    for f in range(mean.shape[0]):
        norm += mean[f] * mean[f]
    return norm


@compiled
def move_rows(table, order, state, checked, changed, clock, keep_empty):  # type: ignore[no-untyped-def]
    """One pass over the rows in their order, each moved where that lowers the inertia most; return the clock.

    `state` are the labels, the means, their squared norms and the weights of the clusters. The clock counts
    moves; `changed` tells when a cluster last gained or lost a row, `checked` when a row was last looked at.
    Invariant: of clusters unchanged since a row was looked at, none but its own has become worth leaving, so
    that only those changed since are compared, or all where its own has changed.
    """
    dense, values, columns, starts, weight = table
    labels, means, norms, counts = state
    for place in range(order.shape[0]):
        i = order[place]
        own = np.int64(labels[i])
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        if w <= 0.0 or counts[own] <= ALONE * w:
            continue
        since = checked[i]
        checked[i] = clock
        norm = sparse_norm(values, starts, i)
        unit = min(w, 1.0)
        stay = squared_distance(dense, values, columns, starts, i, norm, means, norms, own)
        # Coordinates far from 0 lose digits, products of sparse rows even their squares.
        error = ROUNDING * np.sqrt(norms[own])
        room = 2.0 * error * (2.0 * np.sqrt(stay) + error) + SMALLEST_GAIN * norm
        stay *= counts[own] / (counts[own] - unit)
        least, best = stay * (1.0 - SMALLEST_GAIN) - room, own
        for j in range(means.shape[0]):
            if j == own or (changed[own] <= since and changed[j] <= since):
                continue
            if counts[j] <= 0.0 and (keep_empty or stay <= room):
                continue
            go = squared_distance(dense, values, columns, starts, i, norm, means, norms, j)
            go *= max(counts[j], 0.0) / (max(counts[j], 0.0) + unit)
            if go < least:
                least, best = go, np.int64(j)
        if best == own:
            continue
        clock += 1
        changed[own], changed[best] = clock, clock
        labels[i] = best
        leave, enter = w / (counts[own] - w), w / (max(counts[best], 0.0) + w)
        counts[own], counts[best] = counts[own] - w, max(counts[best], 0.0) + w
        norms[own] = follow(dense, values, columns, starts, i, -leave, means[own])
        norms[best] = follow(dense, values, columns, starts, i, enter, means[best])
    return clock


def single_move_certificate(
    data: Rows, centers: NDArray, weights: NDArray, labels: NDArray, inertia: float
) -> Certificate:
    """No move of a single row lowers the inertia, from all distances to the means of the clusters."""
    points = centers.astype(np.float64)
    gain, farthest = data.reduce(_largest_gain, points, weights, combine=np.maximum, rowwise=(labels,))
    # The means are rounded to the dtype of the rows, and distances with them.
    error = 4.0 * float(np.finfo(data.dtype).eps) * float(np.abs(points).max()) * points.shape[1] ** 0.5
    rounding = error * (2.0 * float(np.sqrt(farthest)) + error)
    return at_most(
        "No move of a single row, or of one copy of it, to another cluster lowers the inertia.",
        "gain of the best single move",
        gain / inertia if inertia > 0.0 else 0.0,
        SMALLEST_GAIN + (rounding / inertia if inertia > 0.0 else 0.0),
        source="Hartigan & Wong (1979)",
    )


def _largest_gain(block: Block, points: NDArray, weights: NDArray, labels: NDArray) -> NDArray:
    """What the best move of a row of the block saves, and the largest squared distance to an own mean."""
    squares, places = cdist(block.dense.astype(np.float64), points, "sqeuclidean"), np.arange(len(labels))
    unit = np.minimum(block.weights, 1.0)
    stay, left = squares[places, labels], weights[labels] - unit
    saved = np.where(
        left > (ALONE - 1.0) * unit, weights[labels] / np.where(left > 0.0, left, 1.0) * stay, 0.0
    )
    added = squares * (weights / np.maximum(weights + unit[:, np.newaxis], np.finfo(np.float64).tiny))
    added[places, labels] = np.inf
    added[:, weights <= 0.0] = np.inf
    gains = unit * (saved - added.min(axis=1))
    return np.array([max(float(gains.max()), 0.0), float(stay.max())])
