"""Compiled search of a tree: bounds of distances, and the nearest points."""

from __future__ import annotations

import numpy as np

from assay.distances.tree import BUNCH, DEPTH, LEAF
from assay.loops import _exact, _exact_inlined, compiled, inlined, part


@_exact_inlined
def leaf_distances(leaves, leaf, point, power, distances):  # type: ignore[no-untyped-def]
    """Distances of a point to the points of a leaf, summed in the order of the features.

    Two features at a time: a sum that waits in memory between two features takes longer than the arithmetic.
    """
    n_features, value = leaves.shape[1], point[0]
    if power == 2:
        for p in range(LEAF):
            difference = leaves[leaf, 0, p] - value
            distances[p] = difference * difference
        for f in range(1, n_features - 1, 2):
            value, other_value = point[f], point[f + 1]
            for p in range(LEAF):
                difference, other = leaves[leaf, f, p] - value, leaves[leaf, f + 1, p] - other_value
                distances[p] = (distances[p] + difference * difference) + other * other
        if n_features % 2 == 0:
            value = point[n_features - 1]
            for p in range(LEAF):
                difference = leaves[leaf, n_features - 1, p] - value
                distances[p] += difference * difference
        return
    for p in range(LEAF):
        distances[p] = abs(leaves[leaf, 0, p] - value)
    for f in range(1, n_features):
        value = point[f]
        if power == 1:
            for p in range(LEAF):
                distances[p] += abs(leaves[leaf, f, p] - value)
        else:
            for p in range(LEAF):
                difference = abs(leaves[leaf, f, p] - value)
                distances[p] = difference if difference > distances[p] else distances[p]


@_exact
def squared_distance(X, i, Z, j):  # type: ignore[no-untyped-def]
    """Σ (x_i − z_j)² in the order of the features, so that every method gives the same bits."""
    distance = X[i, 0] - X[i, 0]
    for f in range(X.shape[1]):
        difference = Z[j, f] - X[i, f]
        distance += difference * difference
    return distance


@_exact
def moved_by_radius(boxes, radius, n_features, bound, sign, power):  # type: ignore[no-untyped-def]
    """A bound for the centre of a ball, moved by its radius and, in that direction, by more than rounding."""
    length = np.sqrt(bound) if power == 2 else bound
    margin = (n_features + 4) * np.finfo(boxes.dtype).eps * (length + radius)
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
        bound = moved_by_radius(boxes, boxes[node, 2, 0], boxes.shape[2], bound, -1.0, power)
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
        bound = moved_by_radius(boxes, boxes[node, 2, 0], boxes.shape[2], bound, 1.0, power)
    return bound


@_exact_inlined
def bunch_bounds(corners, entry, point, power, bounds):  # type: ignore[no-untyped-def]
    """`nearest_bound` of a point for the children of an entry of a `WideTree`."""
    zero = point[0] - point[0]
    for i in range(BUNCH):
        bounds[i] = zero
    for f in range(corners.shape[2]):
        value = point[f]
        for i in range(BUNCH):
            below, above = corners[entry, 0, f, i] - value, value - corners[entry, 1, f, i]
            side = below if below > above else above
            side = side if side > zero else zero
            if power == 2:
                bounds[i] += side * side
            elif power == 1:
                bounds[i] += side
            else:
                bounds[i] = side if side > bounds[i] else bounds[i]
    if corners.shape[1] == 3:
        for i in range(BUNCH):
            radius, bound = corners[entry, 2, 0, i], bounds[i]
            bounds[i] = moved_by_radius(corners, radius, corners.shape[2], bound, -1.0, power)


@_exact_inlined
def bunch_far_bounds(corners, entry, point, power, bounds):  # type: ignore[no-untyped-def]
    """`farthest_bound` of a point for the children of an entry of a `WideTree` of boxes."""
    for i in range(BUNCH):
        bounds[i] = point[0] - point[0]
    for f in range(corners.shape[2]):
        value = point[f]
        for i in range(BUNCH):
            below, above = value - corners[entry, 0, f, i], corners[entry, 1, f, i] - value
            side = below if below > above else above
            if power == 2:
                bounds[i] += side * side
            elif power == 1:
                bounds[i] += side
            else:
                bounds[i] = side if side > bounds[i] else bounds[i]


@inlined
def place_of_least(values, n_values):  # type: ignore[no-untyped-def]
    """Where the first of the least values stands."""
    place, least = 0, values[0]
    for i in range(1, n_values):
        smaller = values[i] < least  # chosen, not branched to: which one is least cannot be foreseen
        place, least = i if smaller else place, values[i] if smaller else least
    return place


@inlined
def keep_nearer(bounds, entries, first, last, worst):  # type: ignore[no-untyped-def]
    """Move to the front the bounds, and the entries, that are not beyond the worst; returns how many."""
    n_kept = 0
    for i in range(last - first):
        bounds[n_kept], entries[n_kept] = bounds[i], first + i
        n_kept += bounds[i] <= worst
    return n_kept


@compiled
def home_leaves(wide, queries, power, homes):  # type: ignore[no-untyped-def]
    """A leaf near each query: where the descent to the nearest child ends."""
    corners, starts, _ = wide
    n_inner = starts.shape[0] - 1
    point, bounds = np.empty(queries.shape[1], queries.dtype), np.empty(BUNCH, corners.dtype)
    for q in range(queries.shape[0]):
        for f in range(queries.shape[1]):
            point[f] = queries[q, f]
        entry = 0
        while entry < n_inner:
            first, last = starts[entry], starts[entry + 1]
            bunch_bounds(corners, entry, point, power, bounds)
            entry = first + place_of_least(bounds, last - first)
        homes[q] = entry - n_inner


@compiled
def insert(distance, number, best, numbers):  # type: ignore[no-untyped-def]
    """Put a point among the best, which stand by distance, then by number; the last falls out."""
    place = best.shape[0] - 1
    while place > 0 and (
        best[place - 1] > distance or (best[place - 1] == distance and numbers[place - 1] > number)
    ):
        best[place] = best[place - 1]
        numbers[place] = numbers[place - 1]
        place -= 1
    best[place] = distance
    numbers[place] = number


@part
def absorb_leaf(leaves, order, leaf, point, own, power, room, best, numbers):  # type: ignore[no-untyped-def]
    """Put the points of a leaf among the best."""
    last, n_near = best.shape[0] - 1, 0
    leaf_distances(leaves, leaf, point, power, room)
    worst = best[last]
    for p in range(LEAF):
        n_near += room[p] <= worst
    if n_near == 0:
        return
    for p in range(min(LEAF, order.shape[0] - leaf * LEAF)):
        if room[p] <= best[last]:
            number = np.int64(order[leaf * LEAF + p])
            if number != own and (room[p] < best[last] or number < numbers[last]):
                insert(room[p], number, best, numbers)


@compiled
def nearest_points(  # type: ignore[no-untyped-def]
    tree, wide, queries, visited, is_own, power, distances, indices
):  # fmt: skip
    """The nearest points of the visited queries, sorted by distance, then by number.

    With `is_own` the queries are the points of the tree and none counts among its own neighbours. The
    children of a node are bounded at once and opened the nearest first, until the bound of one is beyond the
    worst of the best; one whose bound equals it is passed over when it has higher numbers only.
    """
    leaves, order = tree.leaves, tree.order
    corners, starts, lowest = wide
    n_points, n_inner, last_place = order.shape[0], starts.shape[0] - 1, indices.shape[1] - 1
    point, room = np.empty(queries.shape[1], queries.dtype), np.empty(LEAF, leaves.dtype)
    best, numbers = np.empty(last_place + 1, leaves.dtype), np.empty(last_place + 1, np.int64)
    bounds, entries = np.empty((DEPTH, BUNCH), leaves.dtype), np.empty((DEPTH, BUNCH), np.int64)
    n_left = np.empty(DEPTH, np.int64)
    for v in range(visited.shape[0]):
        q = visited[v]
        own = q if is_own else -1
        for f in range(queries.shape[1]):
            point[f] = queries[q, f]
        best[:] = np.inf
        numbers[:] = n_points
        entry, depth = 0, -1
        # `best` has the nearest of the points looked at, sorted; a nearer one lies below an entry left.
        while True:
            if entry < n_inner:
                depth += 1
                first, last, bunch = starts[entry], starts[entry + 1], bounds[depth]
                bunch_bounds(corners, entry, point, power, bunch)
                n_left[depth] = keep_nearer(bunch, entries[depth], first, last, best[last_place])
            else:
                absorb_leaf(leaves, order, entry - n_inner, point, own, power, room, best, numbers)
            entry = -1
            while entry < 0 and depth >= 0:
                bunch, n = bounds[depth], n_left[depth] - 1
                place = place_of_least(bunch, n + 1)
                bound = bunch[place]
                if n < 0 or bound > best[last_place]:
                    depth -= 1
                    continue
                if bound < best[last_place] or lowest[entries[depth, place]] < numbers[last_place]:
                    entry = entries[depth, place]
                bunch[place], entries[depth, place], n_left[depth] = bunch[n], entries[depth, n], n
            if entry < 0:
                break
        for j in range(last_place + 1):
            distances[q, j] = best[j]
            indices[q, j] = numbers[j]
