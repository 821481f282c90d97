"""Compiled search of a tree for the points within a radius: how many they are, and which."""

from __future__ import annotations

import numpy as np

from assay.distances.loops import farthest_bound, leaf_distances, nearest_bound
from assay.distances.tree import DEPTH, LEAF
from assay.loops import compiled, inner


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
