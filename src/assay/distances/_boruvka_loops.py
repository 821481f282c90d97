"""Compiled loops of Borůvka's algorithm on a tree: each component finds its shortest way out.

Points are known by their positions in the tree. A component is named by the position of one of its points.
Edges are ordered by length, then by the lower and the higher number of their ends: with this order, which has
no ties, the minimum spanning tree is unique and the shortest ways out never close a cycle.

The length of an edge is max(core_i, core_j, distance); `cores` are zeros for plain distances. Distances are
searched in powers (see `assay.distances._bound_loops`): `root` says whether the distance is their root.
"""

from __future__ import annotations

import numpy as np

from assay.distances._bound_loops import leaf_distances, nearest_bound
from assay.distances._tree_loops import DEPTH, LEAF, leaf_ranges
from assay.loops import compiled


@compiled
def comes_before(length, a, b, other_length, c, d):  # type: ignore[no-untyped-def]
    """Whether the edge of the numbers a, b comes before that of c, d."""
    if length != other_length:
        return length < other_length
    low, other_low = min(a, b), min(c, d)
    return low < other_low or (low == other_low and max(a, b) < max(c, d))


@compiled
def summarize_nodes(component, cores, n_leaves, node_component, node_core):  # type: ignore[no-untyped-def]
    """The component that all points of a node belong to, or −1, and the least of their core distances."""
    firsts, lasts = leaf_ranges(0, n_leaves)
    for node in range(firsts.shape[0] - 1, -1, -1):
        first, last = firsts[node], lasts[node]
        if last - first > 1:
            left, right = node + 1, node + 2 * ((first + last) // 2 - first)
            same = node_component[left] == node_component[right]
            node_component[node] = node_component[left] if same else -1
            node_core[node] = min(node_core[left], node_core[right])
            continue
        start, stop = first * LEAF, min(last * LEAF, component.shape[0])
        node_component[node], node_core[node] = component[start], cores[start]
        for i in range(start + 1, stop):
            node_core[node] = min(node_core[node], cores[i])
            if component[i] != component[start]:
                node_component[node] = -1


@compiled
def best_known(component, partner, length, best):  # type: ignore[no-untyped-def]
    """Length of the shortest known way out of each component; ways that end inside it are forgotten."""
    best[:] = np.inf
    for i in range(component.shape[0]):
        if partner[i] >= 0 and component[partner[i]] == component[i]:
            partner[i] = -1
        if partner[i] >= 0:
            best[component[i]] = min(best[component[i]], length[i])


@compiled
def find_ways_out(  # type: ignore[no-untyped-def]
    leaves, order, boxes, lowest, node_component, node_core, component, cores, power, root,
    start, stop, best, partner, length,
):  # fmt: skip
    """The shortest edge from each point at positions `start` to `stop` to another component.

    It is sought only where none is known (`partner` −1) and it may be the shortest of the component; `length`
    is then at most the length of any way out. Threads share `best`: a bound that another one has just lowered
    saves work but changes no result.
    """
    n_points, n_features = order.shape[0], boxes.shape[2]
    widened = 1.0 + 8.0 * np.finfo(leaves.dtype).eps if root else 1.0
    point, room = np.empty(n_features, leaves.dtype), np.empty(LEAF, leaves.dtype)
    nodes, firsts, lasts = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    bounds = np.empty(DEPTH, leaves.dtype)
    for i in range(start, stop):
        mine, core, number = component[i], cores[i], np.int64(order[i])
        if partner[i] >= 0 or length[i] > best[mine]:
            continue
        for f in range(n_features):
            point[f] = leaves[i // LEAF, f, i % LEAF]
        shortest, other, other_number = best[mine], np.int64(-1), np.int64(n_points)
        limit = shortest * shortest * widened if root else shortest
        nodes[0], firsts[0], lasts[0], bounds[0], n_open = 0, 0, leaves.shape[0], 0.0, 1
        while n_open > 0:
            n_open -= 1
            node, first, last = nodes[n_open], firsts[n_open], lasts[n_open]
            if bounds[n_open] > limit or node_component[node] == mine:
                continue
            while last - first > 1:
                middle = (first + last) // 2
                near, far = node + 1, node + 2 * (middle - first)
                near_bound = nearest_bound(boxes, near, point, point, power)
                far_bound = nearest_bound(boxes, far, point, point, power)
                if near_bound < far_bound or (near_bound == far_bound and lowest[near] < lowest[far]):
                    firsts[n_open], lasts[n_open], last = middle, last, middle
                else:
                    near, far, near_bound, far_bound = far, near, far_bound, near_bound
                    firsts[n_open], lasts[n_open], first = first, middle, middle
                if far_bound <= limit and node_component[far] != mine:
                    nodes[n_open], bounds[n_open] = far, far_bound
                    n_open += 1
                node = near
                if near_bound > limit or node_component[near] == mine:
                    first = last
                else:
                    least = max(node_core[near], core, np.sqrt(near_bound) if root else near_bound)
                    if not comes_before(least, number, lowest[near], shortest, number, other_number):
                        first = last
            if first == last:
                continue
            leaf_distances(leaves, first, point, power, room)
            n_near = 0
            for p in range(LEAF):
                n_near += room[p] <= limit
            if n_near == 0:
                continue
            for p in range(min(LEAF, n_points - first * LEAF)):
                j = first * LEAF + p
                if room[p] <= limit and component[j] != mine:
                    reach = max(cores[j], core, np.sqrt(room[p]) if root else room[p])
                    if comes_before(reach, number, order[j], shortest, number, other_number):
                        shortest, other, other_number = reach, j, np.int64(order[j])
                        limit = shortest * shortest * widened if root else shortest
        partner[i] = other
        length[i] = shortest
        if other >= 0 and shortest < best[mine]:
            best[mine] = shortest


@compiled
def join_components(order, component, partner, length, shortest, parent, first, second, lengths, n_edges):  # type: ignore[no-untyped-def]
    """Add the shortest way out of every component and name the components anew; returns the number of edges.

    `shortest` and `parent` are room for one position each a point.
    """
    n_points = component.shape[0]
    for i in range(n_points):
        shortest[i] = -1
        parent[i] = component[i]
    for i in range(n_points):
        mine, j = component[i], partner[i]
        if j >= 0:
            best = shortest[mine]
            if best < 0 or comes_before(
                length[i], order[i], order[j], length[best], order[best], order[partner[best]]
            ):
                shortest[mine] = i
    for mine in range(n_points):
        i = shortest[mine]
        if i >= 0:
            a, b = find_root(parent, mine), find_root(parent, component[partner[i]])
            if a != b:
                parent[max(a, b)] = min(a, b)
                number, other = np.int64(order[i]), np.int64(order[partner[i]])
                first[n_edges], second[n_edges] = min(number, other), max(number, other)
                lengths[n_edges] = length[i]
                n_edges += 1
    for i in range(n_points):
        component[i] = find_root(parent, i)
    return n_edges


@compiled
def find_root(parent, i):  # type: ignore[no-untyped-def]
    """The name of a component; paths are halved on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
