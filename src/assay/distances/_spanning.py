"""The minimum spanning tree of points, without the matrix of their distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from assay.distances._matrix import distance_matrix


class SpanningTree(NamedTuple):
    """The n − 1 edges of a tree, first < second, by increasing length, then by their two ends."""

    first: NDArray
    second: NDArray
    length: NDArray


def euclidean_spanning_tree(X: NDArray, *, core_distances: NDArray | None = None) -> SpanningTree:
    """The minimum spanning tree of rows under the Euclidean distance.

    With `core_distances` c, under the mutual reachability distance max(c_i, c_j, ‖x_i − x_j‖).
    """
    distances = distance_matrix(X)
    if core_distances is not None:
        distances = np.maximum(distances, np.maximum.outer(core_distances, core_distances))
    tree = minimum_spanning_tree(distances + 1e-300).tocoo()
    first, second = np.minimum(tree.row, tree.col), np.maximum(tree.row, tree.col)
    order = np.lexsort((second, first, tree.data))
    return SpanningTree(first[order], second[order], tree.data[order])
