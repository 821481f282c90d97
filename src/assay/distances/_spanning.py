"""The minimum spanning tree of points, without the matrix of their distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.distances._boruvka_loops import (
    best_known,
    comes_before,
    find_ways_out,
    join_components,
    summarize_nodes,
)
from assay.distances._dissimilarity import check_dissimilarity
from assay.distances._function_search import check_distance
from assay.distances._metrics import SCALES, Metric, check_metric, check_table
from assay.distances._tile_loops import fill_tile
from assay.distances._tree import Tree
from assay.distances._tree_loops import LEAF
from assay.distances._tree_search import try_tree
from assay.loops import compiled
from assay.rows import ordered_map

# Borůvka's algorithm on a KD-tree: memory of order n, no distance computed that a bound rules out.


BLOCK = 32 * LEAF


class Edges(NamedTuple):
    """Edges between numbered points, in no particular order."""

    first: NDArray
    second: NDArray
    length: NDArray


def boruvka(tree: Tree, core_distances: NDArray | None, *, power: int, root: bool) -> Edges:
    """The minimum spanning tree of points under max(core_i, core_j, distance).

    In each round every component finds the shortest edge that leads out of it, and all these edges join
    the tree: at most log₂ n rounds. A point remembers the way out that it found until that leads nowhere,
    and then its length as a lower bound on the next.
    """
    n_points, n_nodes, dtype = tree.n_points, len(tree.lowest), tree.leaves.dtype
    cores = np.zeros(n_points, dtype=dtype)
    if core_distances is not None:
        cores[:] = core_distances[tree.order]
    component, partner = np.arange(n_points), np.full(n_points, -1)
    length, best = cores.copy(), np.empty(n_points, dtype=dtype)
    node_component, node_core = np.empty(n_nodes, dtype=np.intp), np.empty(n_nodes, dtype=dtype)
    shortest, parent = np.empty((2, n_points), dtype=np.intp)
    first, second = np.empty((2, n_points - 1), dtype=np.intp)
    edges = Edges(first, second, np.empty(n_points - 1, dtype=dtype))

    def search(start: int) -> None:
        find_ways_out(
            *tree, node_component, node_core, component, cores, power, root,
            start, min(start + BLOCK, n_points), best, partner, length,
        )  # fmt: skip

    n_edges = 0
    while n_edges < n_points - 1:
        best_known(component, partner, length, best)
        summarize_nodes(component, cores, len(tree.leaves), node_component, node_core)
        if n_points <= BLOCK:
            search(0)
        else:
            for _ in ordered_map(search, range(0, n_points, BLOCK)):
                pass
        n_edges = join_components(
            tree.order, component, partner, length, shortest, parent, first, second, edges.length, n_edges
        )
    return edges


# The compiled step of Prim's algorithm.


@compiled
def absorb_point(distances, current, cores, remaining, closest, parents):  # type: ignore[no-untyped-def]
    """Bring the shortest edges from the tree to the remaining points up to date with its newest point.

    Returns the place of the remaining point whose edge comes first, by length, then by the two ends.
    """
    core, nearest = cores[current], 0
    for place in range(remaining.shape[0]):
        number = remaining[place]
        length = max(np.float64(distances[place]), core, cores[number])
        if length <= closest[place] and comes_before(
            length, current, number, closest[place], parents[place], number
        ):
            closest[place], parents[place] = length, current
        if closest[place] <= closest[nearest] and comes_before(
            closest[place], parents[place], number, closest[nearest], parents[nearest], remaining[nearest]
        ):
            nearest = place
    return nearest


# Prim's algorithm: all pairs once, memory of order n.


DistancesFrom: TypeAlias = Callable[[int, NDArray], NDArray]
"""Distances of point i to the points of these numbers, which are those of the last call but for one."""


def prim(n_points: int, distances_from: DistancesFrom, core_distances: NDArray | None) -> Edges:
    """The minimum spanning tree under max(core_i, core_j, distance), grown point by point from the first."""
    cores = np.zeros(n_points) if core_distances is None else np.asarray(core_distances, dtype=np.float64)
    remaining, parents = np.arange(1, n_points), np.zeros(n_points - 1, dtype=np.intp)
    closest = np.full(n_points - 1, np.inf)
    first, second = np.empty((2, n_points - 1), dtype=np.intp)
    lengths, current = np.empty(n_points - 1), 0
    for n_left in range(n_points - 1, 0, -1):
        open_points = remaining[:n_left]
        distances = distances_from(current, open_points)
        place = absorb_point(distances, current, cores, open_points, closest[:n_left], parents[:n_left])
        current, parent = int(remaining[place]), int(parents[place])
        first[n_left - 1], second[n_left - 1] = min(current, parent), max(current, parent)
        lengths[n_left - 1] = closest[place]
        for values in (remaining, closest, parents):
            values[place] = values[n_left - 1]
    return Edges(first, second, lengths)


def distances_of_rows(X: NDArray, metric: Metric) -> DistancesFrom:
    """What `prim` needs to know of rows under a metric: a name or a function of two of them."""
    if not isinstance(metric, str):
        return lambda i, numbers: np.array([check_distance(metric(X[i], X[j])) for j in numbers.tolist()])
    scale = SCALES[metric]
    rows = scale.prepare(X)
    columns, known = np.array(rows.T, order="C"), np.arange(len(X))
    tile = np.empty((1, len(X)), dtype=X.dtype)

    def distances_from(i: int, numbers: NDArray) -> NDArray:
        # The columns follow the numbers, of which one has changed since the last call.
        changed = np.flatnonzero(known[: len(numbers)] != numbers)
        known[changed] = numbers[changed]
        columns[:, changed] = rows[numbers[changed]].T
        part = tile[:, : len(numbers)]
        fill_tile(rows[i : i + 1], columns, 0, scale.power, part)
        return scale.distances(part)[0]

    return distances_from


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
