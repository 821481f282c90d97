"""Compiled walks over a graph: components, hops, shortest paths, and the phases of a minimum cut."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


@compiled
def label_components(indptr, indices, labels, queue):  # type: ignore[no-untyped-def]
    """Number the components in the order of their first vertices, breadth first; returns how many."""
    labels[:] = -1
    n_components = 0
    for root in range(labels.size):
        if labels[root] >= 0:
            continue
        labels[root] = n_components
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            vertex = queue[head]
            head += 1
            for place in range(indptr[vertex], indptr[vertex + 1]):
                other = indices[place]
                if labels[other] < 0:
                    labels[other] = n_components
                    queue[tail] = other
                    tail += 1
        n_components += 1
    return n_components


@compiled
def label_dense_components(weights, labels, queue):  # type: ignore[no-untyped-def]
    """`label_components` of a full matrix; ends as soon as every vertex has its number."""
    labels[:] = -1
    n_components, n_labelled = 0, 0
    for root in range(labels.size):
        if labels[root] >= 0:
            continue
        labels[root] = n_components
        n_labelled += 1
        queue[0] = root
        head, tail = 0, 1
        while head < tail and n_labelled < labels.size:
            vertex = queue[head]
            head += 1
            for other in range(labels.size):
                if labels[other] < 0 and weights[vertex, other] != 0.0:
                    labels[other] = n_components
                    n_labelled += 1
                    queue[tail] = other
                    tail += 1
        n_components += 1
    return n_components


@compiled
def count_hops(indptr, indices, source, hops, queue):  # type: ignore[no-untyped-def]
    """Least number of edges from a source to every vertex; infinity where there is no path."""
    hops[:] = np.inf
    hops[source] = 0.0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        vertex = queue[head]
        head += 1
        for place in range(indptr[vertex], indptr[vertex + 1]):
            other = indices[place]
            if hops[other] == np.inf:
                hops[other] = hops[vertex] + 1.0
                queue[tail] = other
                tail += 1


@compiled
def shortest_paths(indptr, indices, lengths, source, distance, heap, place_in_heap):  # type: ignore[no-untyped-def]
    """Dijkstra's distances from a source with a binary heap of vertices; infinity where there is no path.

    `place_in_heap` is −1 for a vertex not seen, −2 for one that is settled.
    """
    distance[:] = np.inf
    place_in_heap[:] = -1
    distance[source] = 0.0
    heap[0] = source
    place_in_heap[source] = 0
    size = 1
    while size > 0:
        vertex = heap[0]
        place_in_heap[vertex] = -2
        size -= 1
        if size > 0:
            moved = heap[size]
            hole = 0
            while True:
                child = 2 * hole + 1
                if child >= size:
                    break
                if child + 1 < size and distance[heap[child + 1]] < distance[heap[child]]:
                    child += 1
                if distance[heap[child]] >= distance[moved]:
                    break
                heap[hole] = heap[child]
                place_in_heap[heap[hole]] = hole
                hole = child
            heap[hole] = moved
            place_in_heap[moved] = hole
        for edge in range(indptr[vertex], indptr[vertex + 1]):
            other = indices[edge]
            reached = distance[vertex] + lengths[edge]
            if place_in_heap[other] == -2 or reached >= distance[other]:
                continue
            distance[other] = reached
            hole = place_in_heap[other]
            if hole < 0:
                hole = size
                size += 1
            while hole > 0 and distance[heap[(hole - 1) // 2]] > reached:
                heap[hole] = heap[(hole - 1) // 2]
                place_in_heap[heap[hole]] = hole
                hole = (hole - 1) // 2
            heap[hole] = other
            place_in_heap[other] = hole


@compiled
def minimum_cut_phases(weights, merged, best_phase):  # type: ignore[no-untyped-def]
    """Stoer and Wagner: n − 1 phases of maximum adjacency; `weights` is contracted in place.

    `merged[i, 0]` and `merged[i, 1]` are the vertices joined after phase i, `best_phase[0]` the phase whose
    last vertex alone (with all merged into it before) makes the least cut. Returns the value of that cut.
    """
    n = weights.shape[0]
    alive = np.ones(n, dtype=np.bool_)
    added = np.empty(n, dtype=np.bool_)
    attachment = np.empty(n)
    best = np.inf
    for phase in range(n - 1):
        added[:] = False
        attachment[:] = 0.0
        before, last = -1, -1
        for _ in range(n - phase):
            chosen = -1
            for vertex in range(n):
                if (
                    alive[vertex]
                    and not added[vertex]
                    and (chosen < 0 or attachment[vertex] > attachment[chosen])
                ):
                    chosen = vertex
            added[chosen] = True
            before, last = last, chosen
            for vertex in range(n):
                attachment[vertex] += weights[chosen, vertex]
        value = 0.0
        for vertex in range(n):
            if alive[vertex] and vertex != last:
                value += weights[last, vertex]
        if value < best:
            best = value
            best_phase[0] = phase
        merged[phase, 0], merged[phase, 1] = before, last
        for vertex in range(n):
            weights[before, vertex] += weights[last, vertex]
            weights[vertex, before] = weights[before, vertex]
        weights[before, before] = 0.0
        alive[last] = False
    return best
