"""The minimum spanning tree of points, without the matrix of their distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.distances.brute import blockwise, fill_tile
from assay.distances.functions import check_distance
from assay.distances.loops import leaf_distances, nearest_bound
from assay.distances.matrix import distance_matrix
from assay.distances.metrics import (
    SCALES,
    Metric,
    check_dissimilarity,
    check_metric,
    check_table,
)
from assay.distances.ranges import check_range
from assay.distances.search import try_tree
from assay.distances.tree import DEPTH, LEAF, PointTree, leaf_ranges
from assay.loops import compiled, inner

BLOCK = 32 * LEAF


class Edges(NamedTuple):
    """Edges between numbered points, in no particular order."""

    first: NDArray
    second: NDArray
    length: NDArray


class Forest(NamedTuple):
    """Components of points while they grow, in the order of the tree.

    The component and core distance of each point; of each node, the component of all its points (or −1) and
    their least core distance; the shortest known way out of each component, and of each point its other end
    (or −1) and length.
    """

    component: NDArray
    cores: NDArray
    node_component: NDArray
    node_core: NDArray
    best: NDArray
    partner: NDArray
    length: NDArray


def boruvka(tree: PointTree, core_distances: NDArray | None, *, power: int, root: bool) -> Edges:
    """The minimum spanning tree of points under max(core_i, core_j, distance).

    In each round every component finds the shortest edge that leads out of it, and all these edges join
    the tree: at most log₂ n rounds. A point remembers the way out that it found until that leads nowhere,
    and then its length as a lower bound on the next.
    """
    n_points, n_nodes, dtype = tree.n_points, len(tree.lowest), tree.leaves.dtype
    cores = np.zeros(n_points, dtype=dtype)
    if core_distances is not None:
        cores[:] = core_distances[tree.order]
    component, partner, length = np.arange(n_points), np.full(n_points, -1), cores.copy()
    node_component, node_core = np.empty(n_nodes, dtype=np.intp), np.empty(n_nodes, dtype=dtype)
    best = np.empty(n_points, dtype=dtype)
    forest = Forest(component, cores, node_component, node_core, best, partner, length)
    shortest, parent = np.empty((2, n_points), dtype=np.intp)
    first, second = np.empty((2, n_points - 1), dtype=np.intp)
    edges = Edges(first, second, np.empty(n_points - 1, dtype=dtype))

    def search(block: slice) -> None:
        find_ways_out(tree, forest, power, root, block.start, block.stop)

    n_edges = 0
    while n_edges < n_points - 1:
        best_known(component, partner, length, best)
        summarize_nodes(component, cores, len(tree.leaves), node_component, node_core)
        blockwise(search, n_points, BLOCK)
        state = tree.order, component, partner, length, shortest, parent
        n_edges = join_components(*state, first, second, edges.length, n_edges)
    return edges


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
    if len(X) <= X.shape[1]:  # the matrix takes no more room than the rows, and their tiles less time
        matrix = distance_matrix(X, metric=metric)
        return lambda i, numbers: matrix[i, numbers]
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
"""As in `assay.distances.search`: a component bounds the search of its points, so trees pay longer."""


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
        got = np.shape(core_distances)
        raise ValueError(f"The 'core_distances' must be {len(X)}, one per row. Got {got}.")
    if core_distances is not None and not np.isfinite(core_distances).all():
        raise ValueError("The 'core_distances' must be finite. Got NaN or infinity.")
    if isinstance(metric, str) and metric == "precomputed":
        D = check_dissimilarity(X, "A spanning tree")
        return _sorted(prim(len(D), lambda i, numbers: D[i, numbers], core_distances), D.dtype)
    metric = check_metric(metric)
    check_range(X, metric)
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


@inner
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
def find_ways_out(tree, forest, power, root, start, stop):  # type: ignore[no-untyped-def]
    """The shortest edge from each point at positions `start` to `stop` to another component.

    It is sought only where none is known (`partner` −1) and it may be the shortest of the component; `length`
    is then at most the length of any way out. Threads share `best`: a bound that another one has just lowered
    saves work but changes no result.
    """
    leaves, order, boxes, lowest = tree
    component, cores, node_component, node_core, best, partner, length = forest
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
        # A point of another component nearer than `shortest` lies in a node that is still open.
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

    `shortest` and `parent` are room for one position per point.
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
