"""Minimum spanning trees of graphs by four greedy algorithms, and the clusters they give."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.distances.spanning import find_root
from assay.loops import compiled, inner
from assay.parameters import integer, refusal


class SpanningForest(NamedTuple):
    """A minimum spanning tree, or one tree for each component of a graph that is not connected.

    Edges join `first[e]` < `second[e]` at `weight[e]` and stand by increasing weight, ties by their ends.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import kruskal
    >>> tree = kruskal(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]))
    >>> tree.edges
    array([[0, 1],
           [1, 2]])
    >>> tree.total_weight, tree.n_components
    (3.0, 1)
    """

    first: NDArray
    second: NDArray
    weight: NDArray
    n_nodes: int

    @property
    def edges(self) -> NDArray:
        """The ends of the edges, of shape (n_edges, 2)."""
        return np.column_stack([self.first, self.second])

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def n_components(self) -> int:
        """Number of trees: each has one edge less than nodes."""
        return self.n_nodes - len(self.weight)


def _incidence(edges: SpanningForest) -> tuple[NDArray, NDArray]:
    """The edges at each node: `numbers[starts[i]:starts[i + 1]]`."""
    number = np.arange(len(edges.first))
    ends, numbers = np.concatenate([edges.first, edges.second]), np.concatenate([number, number])
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=edges.n_nodes))])
    return starts, numbers[np.lexsort((numbers, ends))]


def _kept(edges: SpanningForest, kept: NDArray) -> SpanningForest:
    return SpanningForest(edges.first[kept], edges.second[kept], edges.weight[kept], edges.n_nodes)


def kruskal(graph: Any) -> SpanningForest:
    """Minimum spanning forest by Kruskal: edges by increasing weight, those that close a cycle left out.

    The edges accepted, in order, are the joins of single linkage.

    Parameters
    ----------
    graph : array of shape (n_nodes, n_nodes) or sparse matrix
        Weights of the edges, symmetric. In an array every pair is an edge, but for infinite weights; in a
        sparse matrix the stored entries are the edges, and one direction of each is enough.

    Returns
    -------
    forest : SpanningForest
        The same, edge by edge, for `kruskal`, `prim`, `boruvka` and `reverse_delete`: ties of weights are
        decided by the ends of the edges.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from assay.graphs import kruskal
    >>> square = csr_array(([1.0, 2.0, 3.0, 4.0], ([0, 1, 2, 0], [1, 2, 3, 3])), shape=(4, 4))
    >>> kruskal(square).weight
    array([1., 2., 3.])

    References
    ----------
    Sangnier §2.3.2.
    """
    edges = _read(graph, "kruskal")
    kept = np.zeros(len(edges.first), dtype=np.bool_)
    kruskal_edges(edges.first, edges.second, edges.n_nodes, kept)
    return _kept(edges, kept)


def prim(graph: Any) -> SpanningForest:
    """Minimum spanning forest by Prim: a tree grows by the lightest edge that leaves it.

    Parameters and result are those of `kruskal`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import prim
    >>> prim(np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))).total_weight
    5.0

    References
    ----------
    Sangnier §2.3.2.
    """
    edges = _read(graph, "prim")
    kept = np.zeros(len(edges.first), dtype=np.bool_)
    prim_edges(edges.first, edges.second, *_incidence(edges), kept)
    return _kept(edges, kept)


def boruvka(graph: Any) -> SpanningForest:
    """Minimum spanning forest by Borůvka: all components take their lightest outgoing edge at once.

    Parameters and result are those of `kruskal`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import boruvka
    >>> boruvka(np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))).weight
    array([1., 4.])

    References
    ----------
    Sangnier §2.3.2.
    """
    edges = _read(graph, "boruvka")
    kept = np.zeros(len(edges.first), dtype=np.bool_)
    parent, lightest = np.arange(edges.n_nodes), np.empty(edges.n_nodes, dtype=np.int64)
    while boruvka_round(edges.first, edges.second, parent, lightest, kept):
        pass
    return _kept(edges, kept)


def reverse_delete(graph: Any) -> SpanningForest:
    """Minimum spanning forest by deletion: edges by decreasing weight go, unless that cuts their ends apart.

    Each deletion looks for another path, so that this one is for small graphs. Parameters and result are
    those of `kruskal`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import reverse_delete
    >>> reverse_delete(np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))).total_weight
    5.0

    References
    ----------
    Sangnier §2.3.2.
    """
    edges = _read(graph, "reverse_delete")
    kept = np.ones(len(edges.first), dtype=np.bool_)
    n_needed = edges.n_nodes - _components(edges)[0]
    reverse_delete_edges(edges.first, edges.second, *_incidence(edges), n_needed, kept)
    return _kept(edges, kept)


def spanning_tree_clusters(tree: SpanningForest, n_clusters: int) -> NDArray:
    """Components that are left of a spanning forest when its heaviest edges are deleted.

    A tree loses its `n_clusters` − 1 heaviest edges. The clusters are those of single linkage.

    Parameters
    ----------
    tree : SpanningForest
    n_clusters : int
        From the number of components of the forest to the number of its nodes.

    Returns
    -------
    labels : array of int32 of shape (n_nodes,)
        Clusters numbered in the order of their first nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import kruskal, spanning_tree_clusters
    >>> x = np.array([0.0, 1.0, 5.0, 6.5])
    >>> spanning_tree_clusters(kruskal(np.abs(np.subtract.outer(x, x))), 2)
    array([0, 0, 1, 1], dtype=int32)

    References
    ----------
    Sangnier §2.3.2.
    """
    least, most = tree.n_components, tree.n_nodes
    if not integer(at_least=least).contains(n_clusters) or n_clusters > most:
        must_be = f"an int from the number of components ({least}) to that of nodes ({most})"
        raise refusal("spanning_tree_clusters", "n_clusters", must_be, n_clusters)
    n_kept = tree.n_nodes - int(n_clusters)
    kept = np.lexsort((tree.second, tree.first, tree.weight))[:n_kept]
    labels = _components(_kept(tree, kept))[1]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.int32)[inverse]


def _components(edges: SpanningForest) -> tuple[int, NDArray]:
    ends, shape = (edges.first, edges.second), (edges.n_nodes, edges.n_nodes)
    matrix = sparse.coo_array((np.ones(len(edges.first)), ends), shape=shape)
    return sparse.csgraph.connected_components(matrix, directed=False)


def _read(graph: Any, owner: str) -> SpanningForest:
    """The edges of a graph, each once, by increasing weight."""
    is_sparse = sparse.issparse(graph)
    matrix: Any = graph.tocoo() if is_sparse else np.asarray(graph, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(
            f"{owner} takes a square matrix of the weights of edges. Got shape {matrix.shape} instead."
        )
    n_nodes = matrix.shape[0]
    values = matrix.data if is_sparse else matrix
    if is_sparse and matrix.nnz:
        low, high = (min(matrix.row.min(), matrix.col.min()), max(matrix.row.max(), matrix.col.max()))
        if low < 0 or high >= n_nodes:
            raise ValueError(f"{owner} got an edge from {low} to {high}; nodes are 0 to {n_nodes - 1}.")
    if np.isnan(values).any():
        raise ValueError(f"{owner} got weights that are NaN; leave those edges out, or make them infinite.")
    if is_sparse:
        first, second = np.minimum(matrix.row, matrix.col), np.maximum(matrix.row, matrix.col)
        weight = np.asarray(matrix.data, dtype=np.float64)
    else:
        if not np.array_equal(matrix, matrix.T):
            raise ValueError(
                f"{owner} takes a symmetric matrix: an edge has one weight. Symmetrise it first."
            )
        first, second = np.triu_indices(n_nodes, 1)
        weight = matrix[first, second]
    there = (first != second) & (weight < np.inf)
    first, second, weight = first[there].astype(np.int64), second[there].astype(np.int64), weight[there]
    if is_sparse:  # an edge stored in both directions counts once, at its lesser weight
        order = np.lexsort((weight, second, first))
        first, second, weight = first[order], second[order], weight[order]
        new = np.ones(len(first), dtype=np.bool_)
        new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        first, second, weight = first[new], second[new], weight[new]
    order = np.argsort(weight, kind="stable")  # ties stay in the order of their ends
    return SpanningForest(first[order], second[order], weight[order], n_nodes)


@compiled
def kruskal_edges(first, second, n_nodes, kept):  # type: ignore[no-untyped-def]
    """Keep each edge, lightest first, that closes no cycle."""
    parent = np.arange(n_nodes)
    for e in range(first.shape[0]):
        a, b = find_root(parent, first[e]), find_root(parent, second[e])
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
        a, b = find_root(parent, first[e]), find_root(parent, second[e])
        if a != b:
            lightest[a] = lightest[b] = e
    n_joined = 0
    for i in range(lightest.shape[0]):
        e = lightest[i]
        if e < 0:
            continue
        a, b = find_root(parent, first[e]), find_root(parent, second[e])
        if a != b:
            parent[a] = b
            kept[e] = True
            n_joined += 1
    return n_joined


@inner
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
