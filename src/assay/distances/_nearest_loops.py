"""Compiled search of the nearest points in a tree."""

from __future__ import annotations

import numpy as np

from assay.distances._bound_loops import leaf_distances, nearest_bound
from assay.distances._tree_loops import DEPTH, LEAF
from assay.loops import compiled


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
