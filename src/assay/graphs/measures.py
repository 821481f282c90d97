"""What is asked of a graph first: degrees, volumes, components, distances along its edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.graphs.laplacians import Weights, as_weights, degrees, is_sparse
from assay.loops import compiled
from assay.rows import ordered_map


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
    # Lengths are not negative: the top of the heap is as near as it will ever be, and is settled.
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
                waits = alive[vertex] and not added[vertex]
                if waits and (chosen < 0 or attachment[vertex] > attachment[chosen]):
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


EVEN_DEGREES = 0.1


def volume(W: Any, subset: Any = None) -> float:
    """vol(A) = Σ_{i ∈ A} d_i of a set of vertices, given by indices or by a mask; of all by default.

    Examples
    --------
    >>> from assay.graphs import volume
    >>> volume([[0.0, 1.0], [1.0, 0.0]], [0])
    1.0
    """
    degree = degrees(as_weights(W, "volume"))
    return float((degree if subset is None else degree[np.asarray(subset)]).sum())


def size(subset: Any) -> int:
    """#A, the number of vertices of a set given by indices or by a mask.

    Examples
    --------
    >>> from assay.graphs import size
    >>> size([True, False, True]), size([0, 2])
    (2, 2)
    """
    subset = np.asarray(subset)
    return int(np.count_nonzero(subset)) if subset.dtype == bool else int(np.unique(subset).size)


def connected_components(W: Any) -> tuple[int, NDArray]:
    """Number of connected components and the component of each vertex, numbered by first appearance.

    Examples
    --------
    >>> from assay.graphs import connected_components
    >>> connected_components([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    (2, array([0, 1, 0], dtype=int32))
    """
    n = W.shape[0] if hasattr(W, "shape") else len(W)
    labels, queue = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    if not is_sparse(W):
        return int(label_dense_components(np.asarray(W, dtype=np.float64), labels, queue)), labels
    pattern = as_pattern(W)
    return int(label_components(pattern.indptr, pattern.indices, labels, queue)), labels


def is_connected(W: Any) -> bool:
    """Whether every vertex can be reached from every other.

    Examples
    --------
    >>> from assay.graphs import is_connected
    >>> is_connected([[0, 1], [1, 0]])
    True
    """
    return connected_components(W)[0] == 1


class DegreeReport(NamedTuple):
    """How even the degrees of a graph are, and which Laplacian that speaks for.

    Attributes
    ----------
    least, median, greatest : float
    variation : float
        Standard deviation over mean.
    isolated : int
        Vertices without a neighbour other than themselves.
    recommendation : str
        A sentence.
    """

    least: float
    median: float
    greatest: float
    variation: float
    isolated: int
    recommendation: str


def degree_report(W: Any) -> DegreeReport:
    """Look at the degrees: even ones make the three Laplacians equivalent, uneven ones speak for L_w.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import degree_report
    >>> degree_report(np.ones((3, 3))).recommendation
    'The degrees are even: the three Laplacians are nearly equivalent.'

    References
    ----------
    Sangnier §2.2.7.
    """
    W = W if is_sparse(W) else np.asarray(W, dtype=np.float64)
    degree = degrees(W)
    alone = degree - W.diagonal() <= 0.0
    mean = float(degree.mean())
    variation = float(degree.std()) / mean if mean > 0.0 else 0.0
    advice = "The degrees are uneven: prefer a normalised Laplacian, 'random_walk' before 'symmetric'."
    if variation <= EVEN_DEGREES:
        advice = "The degrees are even: the three Laplacians are nearly equivalent."
    least, median, greatest = map(float, (degree.min(), np.median(degree), degree.max()))
    return DegreeReport(least, median, greatest, variation, int(np.count_nonzero(alone)), advice)


def as_pattern(W: Any) -> sparse.csr_array:
    """The graph as CSR without stored zeros: what walks along edges read."""
    if is_sparse(W):
        pattern: Weights = sparse.csr_array(W)
        if pattern.data.size and not pattern.data.all():
            pattern = pattern.copy()
            pattern.eliminate_zeros()
        return pattern
    return sparse.csr_array(np.asarray(W, dtype=np.float64))


SOURCES = 64  # sources that one thread walks from before it reports


def graph_distance(W: Any, *, sources: Any = None, weighted: bool = False) -> NDArray:
    """Distances between vertices along edges; infinite where there is no path.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        The graph; an edge is a non-zero entry.
    sources : array of int, optional
        Where the paths begin; every vertex by default.
    weighted : bool
        False: the number of edges of the shortest path. True: its length, the entries of W being lengths of
        edges (not similarities), found by Dijkstra's algorithm.

    Returns
    -------
    distances : array of shape (n_sources, n)

    Examples
    --------
    >>> from assay.graphs import graph_distance
    >>> graph_distance([[0, 2, 0, 0], [2, 0, 3, 0], [0, 3, 0, 0], [0, 0, 0, 0]])[0]
    array([ 0.,  1.,  2., inf])

    References
    ----------
    Sangnier §2.2.4 (Remark 2.2.7).
    """
    graph = as_pattern(W)
    if graph.shape[0] != graph.shape[1]:
        raise ValueError(f"graph_distance needs a square matrix. Got shape {graph.shape} instead.")
    if weighted and graph.data.size and graph.data.min() < 0.0:
        raise ValueError(f"Lengths of edges must be at least 0; the least is {graph.data.min():.3g}.")
    starts = np.arange(graph.shape[0]) if sources is None else np.asarray(sources, dtype=np.int64)
    distances = np.empty((starts.size, graph.shape[0]))

    def walk(begin: int) -> None:
        queue = np.empty(graph.shape[0], dtype=np.int32)
        places = np.empty(graph.shape[0] if weighted else 0, dtype=np.int32)
        for row in range(begin, min(begin + SOURCES, starts.size)):
            ways, source, out = (graph.indptr, graph.indices), starts[row], distances[row]
            if weighted:
                shortest_paths(*ways, graph.data, source, out, queue, places)
            else:
                count_hops(*ways, source, out, queue)

    for _ in ordered_map(walk, range(0, starts.size, SOURCES)):
        pass
    return distances
