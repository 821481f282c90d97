"""Compiled arithmetic of a tree: distances of a point to a leaf, and bounds on those to a node.

Distances are measured in powers, without roots: Σ (x − z)² for `power` 2, Σ |x − z| for 1, max |x − z| for 0.
All sums go over the features in one order and rounding is monotone, so that the computed bound of a node
never exceeds the computed distance to a point in it: pruning is exact, not up to rounding.

Bounds hold for all points of a box with corners `low` and `high`; for one point, both are the point.

A node is a box, of two rows (its corners), or a ball, of three (its centre twice, then its radius).
"""

from __future__ import annotations

import numpy as np

from assay.distances._tree_loops import LEAF
from assay.loops import _exact, compiled


@compiled
def leaf_distances(leaves, leaf, point, power, distances):  # type: ignore[no-untyped-def]
    """Distances of a point to the points of a leaf."""
    for p in range(LEAF):
        distances[p] = 0.0
    if power == 2:
        for f in range(leaves.shape[1]):
            value = point[f]
            for p in range(LEAF):
                difference = leaves[leaf, f, p] - value
                distances[p] += difference * difference
    elif power == 1:
        for f in range(leaves.shape[1]):
            value = point[f]
            for p in range(LEAF):
                distances[p] += abs(leaves[leaf, f, p] - value)
    else:
        for f in range(leaves.shape[1]):
            value = point[f]
            for p in range(LEAF):
                difference = abs(leaves[leaf, f, p] - value)
                distances[p] = difference if difference > distances[p] else distances[p]


@_exact
def moved_by_radius(boxes, node, bound, sign, power):  # type: ignore[no-untyped-def]
    """A bound for the centre of a ball, moved by its radius and, in that direction, by more than rounding."""
    length, radius = np.sqrt(bound) if power == 2 else bound, boxes[node, 2, 0]
    margin = (boxes.shape[2] + 4) * np.finfo(boxes.dtype).eps * (length + radius)
    length = max(length + sign * (radius + margin), 0.0)
    return boxes.dtype.type(length * length if power == 2 else length)


@_exact
def nearest_bound(boxes, node, low, high, power):  # type: ignore[no-untyped-def]
    """At most the distance between a point of the box and a point of the node."""
    zero = low[0] - low[0]
    bound = zero
    for f in range(boxes.shape[2]):
        below, above = boxes[node, 0, f] - high[f], low[f] - boxes[node, 1, f]
        side = below if below > above else above
        side = side if side > zero else zero
        if power == 2:
            bound += side * side
        elif power == 1:
            bound += side
        else:
            bound = side if side > bound else bound
    if boxes.shape[1] == 3:
        bound = moved_by_radius(boxes, node, bound, -1.0, power)
    return bound


@_exact
def farthest_bound(boxes, node, low, high, power):  # type: ignore[no-untyped-def]
    """At least the distance between a point of the box and a point of the node."""
    bound = low[0] - low[0]
    for f in range(boxes.shape[2]):
        below, above = high[f] - boxes[node, 0, f], boxes[node, 1, f] - low[f]
        side = below if below > above else above
        if power == 2:
            bound += side * side
        elif power == 1:
            bound += side
        else:
            bound = side if side > bound else bound
    if boxes.shape[1] == 3:
        bound = moved_by_radius(boxes, node, bound, 1.0, power)
    return bound
