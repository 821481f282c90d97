"""Compiled loops that recompute linkages from their definitions, without the recursions of the solvers."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled

NEAREST, FARTHEST, MEAN, CENTERS, WARD = 0, 1, 2, 3, 4


@compiled
def node_shares(halving, parents, weights, members, node, out):  # type: ignore[no-untyped-def]
    """Share of each leaf in the centre of a node: by weight, or ½ for every join below the node."""
    total = 0.0
    for p in range(members.shape[0]):
        out[p] = weights[members[p]]
        if halving:
            out[p], up = 1.0, members[p]
            while up != node:
                out[p] *= 0.5
                up = parents[up]
        total += out[p]
    for p in range(members.shape[0]):
        out[p] /= total


@compiled
def level_shares(halving, parents, weights, order, start, sizes, nodes, out):  # type: ignore[no-untyped-def]
    """Shares of all leaves, in the order of the dendrogram, in those of the nodes that they stand under."""
    for k in range(nodes.shape[0]):
        span = slice(start[nodes[k]], start[nodes[k]] + sizes[nodes[k]])
        node_shares(halving, parents, weights, order[span], nodes[k], out[span])


@compiled
def pair_linkage(kind, D, rows, columns, row_shares, column_shares):  # type: ignore[no-untyped-def]
    """Least, greatest or mean dissimilarity of two clusters."""
    low, high, mean = np.inf, 0.0, 0.0
    for p in range(rows.shape[0]):
        part = 0.0
        for q in range(columns.shape[0]):
            value = D[rows[p], columns[q]]
            low, high = min(low, value), max(high, value)
            part += column_shares[q] * value
        mean += row_shares[p] * part
    return low if kind == NEAREST else high if kind == FARTHEST else mean


@compiled
def joins_by_pairs(kind, halving, D, children, parents, order, start, count, weights, joins, out):  # type: ignore[no-untyped-def]
    """Linkage of the two clusters of each join, from the matrix of all dissimilarities."""
    a, b = np.empty(order.shape[0]), np.empty(order.shape[0])
    for r in range(joins.shape[0]):
        left, right = children[joins[r], 0], children[joins[r], 1]
        rows = order[start[left] : start[left] + count[left]]
        columns = order[start[right] : start[right] + count[right]]
        node_shares(halving, parents, weights, rows, left, a)
        node_shares(halving, parents, weights, columns, right, b)
        out[r] = pair_linkage(kind, D, rows, columns, a, b)


@compiled
def joins_by_centers(kind, halving, X, children, parents, order, start, count, weights, joins, out):  # type: ignore[no-untyped-def]
    """Height of each join between centres: their distance, for Ward √(2D)."""
    shares, centers = np.empty(order.shape[0]), np.empty((2, X.shape[1]))
    for r in range(joins.shape[0]):
        total = np.zeros(2)
        for side in range(2):
            node = children[joins[r], side]
            members = order[start[node] : start[node] + count[node]]
            node_shares(halving, parents, weights, members, node, shares)
            centers[side] = 0.0
            for p in range(members.shape[0]):
                total[side] += weights[members[p]]
                for f in range(X.shape[1]):
                    centers[side, f] += shares[p] * X[members[p], f]
        square = 0.0
        for f in range(X.shape[1]):
            square += (centers[0, f] - centers[1, f]) ** 2
        if kind == WARD:
            square *= 2.0 * total[0] * total[1] / (total[0] + total[1])
        out[r] = np.sqrt(square)
