"""Distances along the edges of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.graphs import _graph_loops as loops
from assay.graphs._measures import as_pattern
from assay.rows import ordered_map

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
            if weighted:
                loops.shortest_paths(
                    graph.indptr, graph.indices, graph.data, starts[row], distances[row], queue, places
                )
            else:
                loops.count_hops(graph.indptr, graph.indices, starts[row], distances[row], queue)

    for _ in ordered_map(walk, range(0, starts.size, SOURCES)):
        pass
    return distances
