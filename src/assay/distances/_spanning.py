"""The minimum spanning tree of points, without the matrix of their distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances._boruvka import Edges, boruvka
from assay.distances._dissimilarity import check_dissimilarity
from assay.distances._metrics import SCALES, Metric, check_metric, check_table
from assay.distances._prim import distances_of_rows, prim
from assay.distances._tree_search import try_tree

PAYING_LEAVES = 4.8
"""As in `assay.distances._tree_search`: a component bounds the search of its points, so trees pay longer."""


class SpanningTree(NamedTuple):
    """The n − 1 edges of a tree, first < second, by increasing length, then by their two ends."""

    first: NDArray
    second: NDArray
    length: NDArray


def euclidean_spanning_tree(X: NDArray, *, core_distances: NDArray | None = None) -> SpanningTree:
    """The minimum spanning tree of rows under the Euclidean distance.

    With `core_distances` c, under the mutual reachability distance max(c_i, c_j, ‖x_i − x_j‖).

    Examples
    --------
    >>> import numpy as np
    >>> from assay.distances import euclidean_spanning_tree
    >>> euclidean_spanning_tree(np.array([[0.0], [5.0], [1.0]])).length
    array([1., 4.])
    """
    return spanning_tree(X, core_distances=core_distances)


def spanning_tree(
    X: NDArray, *, metric: Metric = "euclidean", core_distances: NDArray | None = None
) -> SpanningTree:
    """The minimum spanning tree of rows under a metric, in memory of order n.

    Edges are ordered by length, then by their two ends, which makes the tree unique: with duplicates and
    other ties, too, it depends neither on the method nor on threads.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows; with metric="precomputed", their symmetric matrix of dissimilarities.
    metric : str or function
        A name of `METRICS`, "precomputed", or a function d(x, z) of two rows. Names are searched by a KD-tree
        (Borůvka's algorithm) where a tree pays; others take n²/2 distances (Prim's).
    core_distances : array of shape (n_samples,), optional
        c for the mutual reachability distance max(c_i, c_j, d(x_i, x_j)).
    """
    X = check_table(X)
    if core_distances is not None and np.shape(core_distances) != (len(X),):
        raise ValueError(f"The 'core_distances' must be {len(X)}, one a row. Got {np.shape(core_distances)}.")
    if isinstance(metric, str) and metric == "precomputed":
        D = check_dissimilarity(X, "A spanning tree")
        return _sorted(prim(len(D), lambda i, numbers: D[i, numbers], core_distances), D.dtype)
    metric = check_metric(metric)
    search = None
    if isinstance(metric, str):
        scale = SCALES[metric]
        rows = scale.prepare(X)
        search = try_tree(rows, scale.power, paying_leaves=PAYING_LEAVES)
    if search is None:
        return _sorted(prim(len(X), distances_of_rows(X, metric), core_distances), X.dtype)
    cores = None if core_distances is None else np.asarray(core_distances) / scale.factor
    edges = boruvka(search.tree, cores, power=scale.power, root=scale.root)
    return _sorted(edges._replace(length=edges.length * X.dtype.type(scale.factor)), X.dtype)


def _sorted(edges: Edges, dtype: np.dtype) -> SpanningTree:
    length = edges.length.astype(dtype, copy=False)
    order = np.lexsort((edges.second, edges.first, length))
    return SpanningTree(edges.first[order], edges.second[order], length[order])
