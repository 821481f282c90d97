"""Compiled loops of minimum spanning forests.

Edges are numbered by increasing weight, ties by their ends: this strict order makes the forest unique, and
edge e is lighter than edge f exactly when e < f. `starts`, `edges` list the edges at each node.
"""

from __future__ import annotations

import heapq

import numpy as np

from assay.loops import compiled


@compiled
def root(parent, i):  # type: ignore[no-untyped-def]
    """The representative of i in a forest of sets; halves the path to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@compiled
def kruskal_edges(first, second, n_nodes, kept):  # type: ignore[no-untyped-def]
    """Keep each edge, lightest first, that closes no cycle."""
    parent = np.arange(n_nodes)
    for e in range(first.shape[0]):
        a, b = root(parent, first[e]), root(parent, second[e])
        kept[e] = a != b
        parent[a] = b


@compiled
def prim_edges(first, second, starts, edges, kept):  # type: ignore[no-untyped-def]
    """Grow a tree from each node not yet reached by the lightest edge that leaves it."""
    reached = np.zeros(starts.shape[0] - 1, dtype=np.bool_)
    for seed in range(reached.shape[0]):
        if reached[seed]:
            continue
        reached[seed] = True
        heap = [edges[p] for p in range(starts[seed], starts[seed + 1])]
        heapq.heapify(heap)
        while len(heap) > 0:
            e = heapq.heappop(heap)
            if reached[first[e]] and reached[second[e]]:
                continue
            kept[e] = True
            new = second[e] if reached[first[e]] else first[e]
            reached[new] = True
            for p in range(starts[new], starts[new + 1]):
                f = edges[p]
                if not (reached[first[f]] and reached[second[f]]):
                    heapq.heappush(heap, f)


@compiled
def boruvka_round(first, second, parent, lightest, kept):  # type: ignore[no-untyped-def]
    """Keep the lightest edge that leaves each component; returns how many components were joined."""
    lightest[:] = -1
    for e in range(first.shape[0] - 1, -1, -1):  # the lightest is written last
        a, b = root(parent, first[e]), root(parent, second[e])
        if a != b:
            lightest[a] = lightest[b] = e
    n_joined = 0
    for i in range(lightest.shape[0]):
        e = lightest[i]
        if e < 0:
            continue
        a, b = root(parent, first[e]), root(parent, second[e])
        if a != b:
            parent[a] = b
            kept[e] = True
            n_joined += 1
    return n_joined


@compiled
def connected(first, second, starts, edges, kept, source, target, seen, queue, mark):  # type: ignore[no-untyped-def]
    """Whether a path of kept edges leads from source to target."""
    seen[source], queue[0] = mark, source
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        for p in range(starts[node], starts[node + 1]):
            e = edges[p]
            if not kept[e]:
                continue
            other = first[e] + second[e] - node
            if other == target:
                return True
            if seen[other] != mark:
                seen[other], queue[end] = mark, other
                end += 1
    return False


@compiled
def reverse_delete_edges(first, second, starts, edges, n_needed, kept):  # type: ignore[no-untyped-def]
    """Drop each edge, heaviest first, whose ends stay connected without it; `n_needed` edges are left."""
    n_nodes, n_edges = starts.shape[0] - 1, first.shape[0]
    seen, queue = np.full(n_nodes, -1), np.empty(n_nodes, np.int64)
    n_left = n_edges
    for e in range(n_edges - 1, -1, -1):
        if n_left == n_needed:
            return
        kept[e] = False
        if connected(first, second, starts, edges, kept, first[e], second[e], seen, queue, e):
            n_left -= 1
        else:
            kept[e] = True
