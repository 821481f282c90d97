"""Compiled search of a tree: bounds, the nearest points, the points within a radius."""

from __future__ import annotations

import numpy as np

from assay.distances.tree import DEPTH, LEAF
from assay.loops import _exact, compiled, inner


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
def squared_distance(X, i, Z, j):  # type: ignore[no-untyped-def]
    """Σ (x_i − z_j)² in the order of the features, so that every method gives the same bits."""
    distance = X[i, 0] - X[i, 0]
    for f in range(X.shape[1]):
        difference = Z[j, f] - X[i, f]
        distance += difference * difference
    return distance


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


@compiled
def home_leaves(boxes, n_leaves, queries, power, homes):  # type: ignore[no-untyped-def]
    """A leaf near each query: where the descent to the nearer child ends."""
    point = np.empty(queries.shape[1], queries.dtype)
    for q in range(queries.shape[0]):
        for f in range(queries.shape[1]):
            point[f] = queries[q, f]
        node, first, last = 0, 0, n_leaves
        while last - first > 1:
            middle = (first + last) // 2
            left, right = node + 1, node + 2 * (middle - first)
            if nearest_bound(boxes, right, point, point, power) < nearest_bound(
                boxes, left, point, point, power
            ):
                node, first = right, middle
            else:
                node, last = left, middle
        homes[q] = first


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


@compiled
def nearest_points(  # type: ignore[no-untyped-def]
    leaves, order, boxes, lowest, queries, visited, is_own, power, distances, indices
):  # fmt: skip
    """The nearest points of the visited queries, sorted by distance, then by number.

    With `is_own` the queries are the points of the tree and none counts among its own neighbours. A node
    is passed over when its bound is beyond the worst of the best, or equal to it with higher numbers only.
    """
    n_points, n_neighbors = order.shape[0], indices.shape[1]
    point, room = np.empty(queries.shape[1], queries.dtype), np.empty(LEAF, leaves.dtype)
    best, numbers = np.empty(n_neighbors, leaves.dtype), np.empty(n_neighbors, np.int64)
    nodes, firsts, lasts = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    bounds = np.empty(DEPTH, leaves.dtype)
    for v in range(visited.shape[0]):
        q = visited[v]
        own = q if is_own else -1
        for f in range(queries.shape[1]):
            point[f] = queries[q, f]
        best[:] = np.inf
        numbers[:] = n_points
        nodes[0], firsts[0], lasts[0], bounds[0], n_open = 0, 0, leaves.shape[0], 0.0, 1
        # `best` has the nearest of the points looked at, sorted; a nearer one lies in a node that is open.
        while n_open > 0:
            n_open -= 1
            node, first, last, bound = nodes[n_open], firsts[n_open], lasts[n_open], bounds[n_open]
            worst, highest = best[n_neighbors - 1], numbers[n_neighbors - 1]
            if bound > worst or (bound == worst and lowest[node] > highest):
                continue
            while last - first > 1:
                middle = (first + last) // 2
                near, far = node + 1, node + 2 * (middle - first)
                near_bound = nearest_bound(boxes, near, point, point, power)
                far_bound = nearest_bound(boxes, far, point, point, power)
                left = near_bound < far_bound or (near_bound == far_bound and lowest[near] < lowest[far])
                if left:
                    firsts[n_open], lasts[n_open], last = middle, last, middle
                else:
                    near, far, near_bound, far_bound = far, near, far_bound, near_bound
                    firsts[n_open], lasts[n_open], first = first, middle, middle
                if far_bound <= worst:
                    nodes[n_open], bounds[n_open] = far, far_bound
                    n_open += 1
                node, bound = near, near_bound
            leaf_distances(leaves, first, point, power, room)
            n_near = 0
            for p in range(LEAF):
                n_near += room[p] <= worst
            if n_near == 0:
                continue
            for p in range(min(LEAF, n_points - first * LEAF)):
                if room[p] <= best[n_neighbors - 1]:
                    number = np.int64(order[first * LEAF + p])
                    if number != own and (
                        room[p] < best[n_neighbors - 1] or number < numbers[n_neighbors - 1]
                    ):
                        insert(room[p], number, best, numbers)
        for j in range(n_neighbors):
            distances[q, j] = best[j]
            indices[q, j] = numbers[j]


@inner
def load_tile(queries, visited, homes, start, tile, low, high):  # type: ignore[no-untyped-def]
    """Copy the queries from `start` on that share a home, at most a tile of them; returns where they end."""
    stop = start
    while stop < visited.shape[0] and stop - start < tile.shape[0] and homes[stop] == homes[start]:
        for f in range(tile.shape[1]):
            value = queries[visited[stop], f]
            tile[stop - start, f] = value
            low[f] = value if stop == start or value < low[f] else low[f]
            high[f] = value if stop == start or value > high[f] else high[f]
        stop += 1
    return stop


@compiled
def near_leaves(boxes, n_leaves, low, high, power, limit, inside, near, whole):  # type: ignore[no-untyped-def]
    """List the leaves within the limit of a box; returns how many there are, and how many whole nodes.

    With `inside`, a node that is within the limit of every point of the box is not opened but listed in
    `whole`: its number, its first leaf and its last.
    """
    nodes, firsts, lasts = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    nodes[0], firsts[0], lasts[0], n_open, n_near, n_whole = 0, 0, n_leaves, 1, 0, 0
    while n_open > 0:
        n_open -= 1
        node, first, last = nodes[n_open], firsts[n_open], lasts[n_open]
        if nearest_bound(boxes, node, low, high, power) > limit:
            continue
        if inside and farthest_bound(boxes, node, low, high, power) <= limit:
            whole[n_whole, 0], whole[n_whole, 1], whole[n_whole, 2] = node, first, last
            n_whole += 1
        elif last - first == 1:
            near[n_near, 0], near[n_near, 1] = node, first
            n_near += 1
        else:
            middle = (first + last) // 2
            nodes[n_open], firsts[n_open], lasts[n_open] = node + 2 * (middle - first), middle, last
            nodes[n_open + 1], firsts[n_open + 1], lasts[n_open + 1] = node + 1, first, middle
            n_open += 2
    return n_near, n_whole


@compiled
def count_points(tree, masses, queries, visited, homes, power, limit, inside, counts):  # type: ignore[no-untyped-def]
    """Number of points within the limit of the visited queries; their weight when there are weights.

    `masses` are the weights of the points, leaf by leaf (or empty), and the weight of the leaves before each.
    Whole nodes are counted at once with `inside`; without it all is compared, as `list_points` does.
    """
    leaves, boxes, n_points = tree.leaves, tree.boxes, tree.order.shape[0]
    weights, cumulated = masses
    n_leaves = leaves.shape[0]
    tile, room = np.empty((LEAF, queries.shape[1]), queries.dtype), np.empty(LEAF, leaves.dtype)
    low, high = np.empty(queries.shape[1], queries.dtype), np.empty(queries.shape[1], queries.dtype)
    near, whole = np.empty((n_leaves, 2), np.int64), np.empty((n_leaves, 3), np.int64)
    start = np.int64(0)  # not a literal, for which helpers would be compiled once more
    while start < visited.shape[0]:
        stop = load_tile(queries, visited, homes, start, tile, low, high)
        n_near, n_whole = near_leaves(boxes, n_leaves, low, high, power, limit, inside, near, whole)
        common, common_weight = 0, 0.0
        for w in range(n_whole):
            first, last = whole[w, 1], whole[w, 2]
            common += min(last * LEAF, n_points) - first * LEAF
            if weights.shape[0] > 0:
                common_weight += cumulated[last] - cumulated[first]
        for t in range(start, stop):
            point, count, weight = tile[t - start], common, common_weight
            for n in range(n_near):
                leaf = near[n, 1]
                if nearest_bound(boxes, near[n, 0], point, point, power) > limit:
                    continue
                leaf_distances(leaves, leaf, point, power, room)
                if weights.shape[0] > 0:
                    for p in range(LEAF):
                        weight += weights[leaf, p] if room[p] <= limit else 0.0
                else:
                    for p in range(LEAF):
                        count += room[p] <= limit
            counts[visited[t]] = weight if weights.shape[0] > 0 else count
        start = stop


@compiled
def list_points(tree, queries, visited, homes, power, limit, indptr, indices, distances):  # type: ignore[no-untyped-def]
    """Write the points within the limit of the visited queries, by number, where `indptr` says.

    Distances are written unless that array is empty.
    """
    leaves, order, boxes = tree.leaves, tree.order, tree.boxes
    n_leaves, keep = leaves.shape[0], distances.shape[0] > 0
    tile, room = np.empty((LEAF, queries.shape[1]), queries.dtype), np.empty(LEAF, leaves.dtype)
    low, high = np.empty(queries.shape[1], queries.dtype), np.empty(queries.shape[1], queries.dtype)
    near, whole = np.empty((n_leaves, 2), np.int64), np.empty((0, 3), np.int64)
    longest = 0
    for v in range(visited.shape[0]):
        longest = max(longest, indptr[visited[v] + 1] - indptr[visited[v]])
    numbers, other_numbers = np.empty(longest + LEAF, order.dtype), np.empty(longest + LEAF, order.dtype)
    values, other_values = np.empty(longest + LEAF, leaves.dtype), np.empty(longest + LEAF, leaves.dtype)
    starts = np.empty(n_leaves + 1, np.int64)
    start = np.int64(0)  # not a literal, for which helpers would be compiled once more
    while start < visited.shape[0]:
        stop = load_tile(queries, visited, homes, start, tile, low, high)
        n_near, _ = near_leaves(boxes, n_leaves, low, high, power, limit, np.bool_(False), near, whole)
        for t in range(start, stop):
            point, n_listed, n_runs = tile[t - start], 0, np.int64(0)
            for n in range(n_near):
                leaf = near[n, 1]
                if nearest_bound(boxes, near[n, 0], point, point, power) > limit:
                    continue
                leaf_distances(leaves, leaf, point, power, room)
                starts[n_runs] = n_listed
                for p in range(min(LEAF, order.shape[0] - leaf * LEAF)):
                    numbers[n_listed] = order[leaf * LEAF + p]
                    values[n_listed] = room[p]
                    n_listed += room[p] <= limit
                n_runs += starts[n_runs] < n_listed
            starts[n_runs] = n_listed
            swapped = merge_runs(starts, n_runs, numbers, values, other_numbers, other_values)
            begin = indptr[visited[t]]
            for n in range(n_listed):
                indices[begin + n] = other_numbers[n] if swapped else numbers[n]
            if keep:
                for n in range(n_listed):
                    distances[begin + n] = other_values[n] if swapped else values[n]
        start = stop


@compiled
def merge_runs(starts, n_runs, numbers, values, other_numbers, other_values):  # type: ignore[no-untyped-def]
    """Sort by number what consists of sorted runs, two runs at a time; returns whether it ends in the other.

    `starts` holds where the runs begin, and the end; it is used up.
    """
    swapped = False
    while n_runs > 1:
        if swapped:
            merge_pairs(starts, n_runs, other_numbers, other_values, numbers, values)
        else:
            merge_pairs(starts, n_runs, numbers, values, other_numbers, other_values)
        swapped = not swapped
        for run in range(0, n_runs, 2):
            starts[run // 2] = starts[run]
        starts[(n_runs + 1) // 2] = starts[n_runs]
        n_runs = (n_runs + 1) // 2
    return swapped


@inner
def merge_pairs(starts, n_runs, numbers, values, merged_numbers, merged_values):  # type: ignore[no-untyped-def]
    """Merge each run with the next; an odd last one is copied."""
    for run in range(0, n_runs, 2):
        i, middle = starts[run], starts[run + 1]
        j, end = middle, starts[min(run + 2, n_runs)]
        for place in range(i, end):
            left = j == end or (i < middle and numbers[i] < numbers[j])
            source = i if left else j
            merged_numbers[place], merged_values[place] = numbers[source], values[source]
            i += left
            j += not left
