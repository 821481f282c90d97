"""Compiled loops of linkages between centres: Ward's chain, and the centroid and median linkages.

Centres are stored with one feature per row, so that the distances of one centre to all others run along
memory. Clusters stand in places 0, …, m − 1 without gaps: the last one moves to the place that becomes free.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled, inner

WARD, CENTROID, MEDIAN = 0, 1, 2
TILE = 512
LARGEST = np.iinfo(np.int64).max


@compiled
def squares_to(centers, i, start, stop, out):  # type: ignore[no-untyped-def]
    """Squared distances of centre i to the centres start, …, stop − 1."""
    for j in range(stop - start):
        out[j] = 0.0
    for f in range(centers.shape[0]):
        center, row = centers[f, i], centers[f, start:stop]
        for j in range(row.shape[0]):
            difference = row[j] - center
            out[j] += difference * difference


@compiled
def costs_to(kind, centers, weights, i, start, stop, out):  # type: ignore[no-untyped-def]
    """Costs of joining cluster i with the clusters start, …, stop − 1; infinite with itself."""
    squares_to(centers, i, start, stop, out)
    if kind == WARD:
        w = weights[i]
        others = weights[start:stop]
        for j in range(others.shape[0]):
            out[j] *= w * others[j] / (w + others[j])
    if start <= i < stop:
        out[i - start] = np.inf


@compiled
def closest(kind, centers, weights, i, m, scratch, bits):  # type: ignore[no-untyped-def]
    """The cluster that is cheapest to join with cluster i, the first in case of ties, and the cost."""
    best, nearby = LARGEST, -1
    for start in range(0, m, TILE):
        stop = min(start + TILE, m)
        costs_to(kind, centers, weights, i, start, stop, scratch)
        low = LARGEST
        for j in range(stop - start):
            low = bits[j] if bits[j] < low else low
        if low < best:
            best, j = low, 0
            while bits[j] != low:
                j += 1
            nearby, cost = start + j, scratch[j]
    return nearby, cost


@inner
def join_centers(kind, centers, weights, a, b):  # type: ignore[no-untyped-def]
    """Put the centre and the weight of A ∪ B into the place of A."""
    share = 0.5 if kind == MEDIAN else weights[b] / (weights[a] + weights[b])
    for f in range(centers.shape[0]):
        centers[f, a] += share * (centers[f, b] - centers[f, a])
    weights[a] += weights[b]


@compiled
def move(centers, weights, nodes, source, target):  # type: ignore[no-untyped-def]
    """Move a cluster to another place."""
    for f in range(centers.shape[0]):
        centers[f, target] = centers[f, source]
    weights[target], nodes[target] = weights[source], nodes[source]


@compiled
def ward_chain(centers, weights, nodes, left, right, height):  # type: ignore[no-untyped-def]
    """Join all clusters along nearest-neighbour chains of Ward's cost; see `loops.chain`."""
    n = weights.shape[0]
    links, costs, link_of = np.empty(n, np.int64), np.empty(n), np.full(n, -1)
    scratch = np.empty(TILE)
    bits = scratch.view(np.int64)
    length = 0
    for t in range(n - 1):
        m = n - t
        if length == 0:
            links[0], costs[0], link_of[0], length = 0, np.inf, 0, 1
        while True:
            i = links[length - 1]
            nearby, cost = closest(WARD, centers, weights, i, m, scratch, bits)
            # Costs fall strictly along a chain, also where the two directions of a pair round differently.
            if length > 1 and (cost >= costs[length - 1] or link_of[nearby] >= 0):
                nearby, cost = links[length - 2], costs[length - 1]
                break
            links[length], costs[length], link_of[nearby] = nearby, cost, length
            length += 1
        length -= 2
        a, b, last = min(i, nearby), max(i, nearby), m - 1
        link_of[a] = link_of[b] = -1
        left[t], right[t], height[t] = nodes[a], nodes[b], cost
        join_centers(WARD, centers, weights, a, b)
        nodes[a] = n + t
        if b != last:
            move(centers, weights, nodes, last, b)
            link_of[b], link_of[last] = link_of[last], -1
            if link_of[b] >= 0:
                links[link_of[b]] = b


@inner
def closest_pair(kind, centers, weights, m, lower, lower_bits, nearest, scratch, bits):  # type: ignore[no-untyped-def]
    """The cheapest join of all: searches anew only where a lower bound on the cost is the least of all."""
    while True:
        low, i = LARGEST, 0
        for j in range(m):
            low = lower_bits[j] if lower_bits[j] < low else low
        while lower_bits[i] != low:
            i += 1
        if nearest[i] >= 0:
            return i, nearest[i]
        nearest[i], lower[i] = closest(kind, centers, weights, i, m, scratch, bits)


@inner
def refresh(kind, centers, weights, a, b, m, lower, nearest, scratch):  # type: ignore[no-untyped-def]
    """Account in the nearest clusters for the join that stands in place a, and for the end of b."""
    best, nearby = np.inf, -1
    for start in range(0, m, TILE):
        stop = min(start + TILE, m)
        costs_to(kind, centers, weights, a, start, stop, scratch)
        for j in range(start, stop):
            cost = scratch[j - start]
            if j == b:
                continue
            if cost < lower[j]:
                lower[j], nearest[j] = cost, a
            elif nearest[j] == a or nearest[j] == b:
                nearest[j] = -1  # what was known stays a lower bound
            if cost < best:
                best, nearby = cost, j
    lower[a], nearest[a] = best, nearby


@compiled
def join_closest(kind, centers, weights, nodes, left, right, height):  # type: ignore[no-untyped-def]
    """Join the two closest clusters, again and again; for linkages that can bring clusters nearer."""
    n = weights.shape[0]
    lower, nearest, scratch = np.empty(n), np.empty(n, np.int64), np.empty(TILE)
    bits, lower_bits = scratch.view(np.int64), lower.view(np.int64)
    for i in range(n):
        nearest[i], lower[i] = closest(kind, centers, weights, i, n, scratch, bits)
    for t in range(n - 1):
        m = n - t
        i, j = closest_pair(kind, centers, weights, m, lower, lower_bits, nearest, scratch, bits)
        a, b, last = min(i, j), max(i, j), m - 1
        left[t], right[t], height[t] = nodes[a], nodes[b], lower[i]
        join_centers(kind, centers, weights, a, b)
        nodes[a] = n + t
        refresh(kind, centers, weights, a, b, m, lower, nearest, scratch)
        if b != last:
            move(centers, weights, nodes, last, b)
            lower[b], nearest[b] = lower[last], nearest[last]
            for x in range(last):
                nearest[x] = b if nearest[x] == last else nearest[x]
