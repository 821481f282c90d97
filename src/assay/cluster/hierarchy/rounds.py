"""Linkage on all pairs: rounds that join every two clusters nearest to each other, then a chain.

For the complete, average, weighted and Ward linkages a join brings no third cluster nearer to either of the
two: two clusters that are nearest to each other stay so until they are joined, so that all such pairs are
joined at once. A round walks the triangle of dissimilarities along memory, on threads, and leaves a smaller
one in its place. The first round finds the pairs by a search and computes the triangle of the clusters it
leaves directly: that of the rows is never stored. When a round would join few pairs, or few clusters are
left, a nearest-neighbour chain joins the rest, so that the whole takes O(n²) time whatever the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.cluster.hierarchy import loops
from assay.distances import Metric, distance_matrix
from assay.rows import ordered_map


class Linkage(NamedTuple):
    """A binary tree over leaves 0, …, n − 1: join t makes node n + t of the two nodes children[t].

    `height` holds the linkage of the two; for Ward it is the increase of the inertia.
    """

    children: NDArray
    height: NDArray


class Merges:
    """Joins of clusters, found in any order that makes nodes before they are used."""

    def __init__(self, n_leaves: int) -> None:
        self.n_leaves, self.n_joins = n_leaves, 0
        self._parts: list[tuple[NDArray, NDArray, NDArray]] = []

    @property
    def next_node(self) -> int:
        """The node that the next join makes."""
        return self.n_leaves + self.n_joins

    def add(self, left: NDArray, right: NDArray, height: NDArray) -> None:
        """Record joins in the order of the nodes they make."""
        self._parts.append((left, right, height))
        self.n_joins += len(height)

    def sorted(self) -> Linkage:
        """The joins by increasing height, nodes numbered anew.

        Rounding can put a join a hair below those it stands on: it is lifted to them.
        """
        left, right, height = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        n = self.n_leaves
        while True:
            of_node = np.concatenate([np.zeros(n), height])
            below = np.maximum(of_node[left], of_node[right])
            if (below <= height).all():
                break
            height = np.maximum(height, below)
        order = np.argsort(height, kind="stable")
        number = np.arange(2 * n - 1)
        number[n + order] = np.arange(n, 2 * n - 1)
        children = np.sort(np.column_stack([number[left], number[right]])[order], axis=1)
        return Linkage(children, height[order])


Result = TypeVar("Result")

CODES = {name: code for code, name in enumerate(("complete", "average", "weighted", "ward"))}  # of the loops
WORTH_FIRST = 0.9  # the first round is worth its search when at most this share of the leaves is left
WORTH = 0.97  # a further round is worth its pass when at most this share of the clusters is left
FEW = 2048  # up to this many clusters the chain is as fast as a round
GATHERED = 64  # columns of the triangle that are read together
BLOCK_ENTRIES = 2**18


class Leaves(NamedTuple):
    """What is to be joined: rows, or their dissimilarities (metric "precomputed").

    The metric "ward" stands for the increase of the inertia when two rows are joined.
    """

    X: NDArray
    weights: NDArray
    metric: Metric

    def ordered(self, order: NDArray) -> Leaves:
        """The same leaves in another order."""
        X = self.X[np.ix_(order, order)] if self.metric == "precomputed" else self.X[order]
        return Leaves(X, self.weights[order], self.metric)

    def block(self, start: int, stop: int) -> NDArray:
        """Dissimilarities of the leaves start, …, stop − 1 to the leaves 0, …, stop − 1, in float64."""
        if self.metric == "precomputed":
            return self.X[start:stop, :stop].astype(np.float64, copy=False)
        if self.metric != "ward":
            return distance_matrix(self.X[start:stop], self.X[:stop], metric=self.metric)
        squares = distance_matrix(self.X[start:stop], self.X[:stop], metric="sqeuclidean")
        loops.ward_costs(squares, self.weights, start, stop - start)
        return squares


class Pairs(NamedTuple):
    """Clusters of a round: first[k] < second[k] joined at joint[k]; second[k] alone when first[k] is −1."""

    first: NDArray
    second: NDArray
    joint: NDArray

    @property
    def joins(self) -> NDArray:
        """Whether each cluster is a join."""
        return self.first >= 0


class Clusters(NamedTuple):
    """Nodes that are not yet joined, with their weights."""

    nodes: NDArray
    weights: NDArray


def link_pairs(leaves: Leaves, linkage: str, *, nearest: tuple[NDArray, NDArray] | None = None) -> Linkage:
    """The tree of a linkage for which no join brings clusters nearer: those of `CODES`.

    `nearest`, dissimilarity and index of the nearest other leaf, spares the triangle of the leaves.
    """
    n, code = len(leaves.weights), CODES[linkage]
    merges = Merges(n)
    clusters = Clusters(np.arange(n), leaves.weights.astype(np.float64))
    if nearest is not None and n > FEW and (pairs := mutual_pairs(*nearest)).second.size <= WORTH_FIRST * n:
        order, pairs = neighbours_in_order(pairs)
        clusters = Clusters(order, clusters.weights[order])
        triangle = _triangle_of_joins(leaves.ordered(order), clusters.weights, pairs, code)
        clusters = _joined(clusters, pairs, merges)
    else:
        triangle = _triangle(leaves)
    known = nearest_neighbours(triangle, len(clusters.nodes))
    while (m := len(clusters.nodes)) > FEW:
        # As many joins as have gathered rows that fit, beside the triangle, in the memory of the first one.
        affordable = (n * (n - 1) // 2 - m * (m - 1) // 2) // m
        pairs = mutual_pairs(*known, at_most=max(affordable, m // 8))
        if pairs.second.size > WORTH * m:
            break
        triangle = _join_triangle(triangle, code, pairs, clusters.weights)
        clusters = _joined(clusters, pairs, merges)
        known = nearest_neighbours(triangle, len(clusters.nodes))
    if m > 1:
        left, right, height = np.empty(m - 1, np.int64), np.empty(m - 1, np.int64), np.empty(m - 1)
        state = clusters.weights, clusters.nodes, merges.next_node, *known
        loops.chain(triangle, code, *state, left, right, height)
        merges.add(left, right, height)
    return merges.sorted()


def mutual_pairs(distance: NDArray, nearest: NDArray, *, at_most: int | None = None) -> Pairs:
    """Join every two clusters that are each other's nearest; clusters are ordered by their later member."""
    index = np.arange(len(nearest))
    mutual = nearest[nearest] == index
    if at_most is not None and np.count_nonzero(mutual) > 2 * at_most:
        later = np.flatnonzero(mutual & (nearest < index))[at_most:]
        mutual[later] = mutual[nearest[later]] = False
    second = np.flatnonzero(~mutual | (nearest < index))
    is_join = mutual[second]
    return Pairs(np.where(is_join, nearest[second], -1), second, np.where(is_join, distance[second], 0.0))


def neighbours_in_order(pairs: Pairs) -> tuple[NDArray, Pairs]:
    """An order of the leaves in which those of a pair follow each other, and the pairs in that order."""
    order = np.column_stack([pairs.first, pairs.second]).ravel()
    order = order[order >= 0]
    second = np.cumsum(1 + pairs.joins) - 1
    return order, Pairs(np.where(pairs.joins, second - 1, -1), second, pairs.joint)


def nearest_neighbours(triangle: NDArray, n_clusters: int) -> tuple[NDArray, NDArray]:
    """Dissimilarity and index of the nearest other cluster, the lowest index in case of ties."""
    bits = triangle.view(np.int64)

    def of_rows(rows: tuple[int, int]) -> tuple[NDArray, NDArray]:
        part = np.full(rows[1], np.inf), np.full(rows[1], -1)
        loops.nearest_in_rows(triangle, bits, *rows, *part)
        return part

    distance, nearest = np.full(n_clusters, np.inf), np.full(n_clusters, -1)
    for part_distance, part_nearest in in_order(of_rows, row_blocks(n_clusters, 8 * BLOCK_ENTRIES)):
        m = len(part_distance)
        closer = part_distance < distance[:m]
        distance[:m][closer] = part_distance[closer]
        nearest[:m][closer] = part_nearest[closer]
    return distance, nearest


def row_blocks(n_rows: int, entries: int = BLOCK_ENTRIES) -> Iterator[tuple[int, int]]:
    """Consecutive rows of a triangle that hold about as many entries each."""
    start = 0
    while start < n_rows:
        stop = min(n_rows, int(np.ceil(np.sqrt(start * start + 2 * entries))) + 1)
        yield start, stop
        start = stop


def in_order(
    step: Callable[[tuple[int, int]], Result], blocks: Iterable[tuple[int, int]]
) -> Iterator[Result]:
    """Results of a step on blocks, on threads when there are several."""
    blocks = list(blocks)
    return map(step, blocks) if len(blocks) == 1 else ordered_map(step, blocks)


def _triangle(leaves: Leaves) -> NDArray:
    n = len(leaves.weights)
    triangle = np.empty(n * (n - 1) // 2)

    _run(lambda rows: loops.copy_rows(leaves.block(*rows), *rows, triangle), row_blocks(n))
    return triangle


def _triangle_of_joins(leaves: Leaves, weights: NDArray, pairs: Pairs, code: int) -> NDArray:
    """The triangle of the clusters that the first round leaves, block by block from the leaves."""
    m = pairs.second.size
    triangle = np.empty(m * (m - 1) // 2)

    def write(rows: tuple[int, int]) -> None:
        start = pairs.second[rows[0]] - int(pairs.joins[rows[0]])
        block = leaves.block(int(start), int(pairs.second[rows[1] - 1]) + 1)
        loops.join_block(block, code, *pairs, weights, *rows, triangle)

    _run(write, row_blocks(m))
    return triangle


def _join_triangle(triangle: NDArray, code: int, pairs: Pairs, weights: NDArray) -> NDArray:
    """Join clusters in the memory of the triangle; gives the part of it that is left."""
    joins = np.flatnonzero(pairs.joins)
    joins = joins[np.argsort(pairs.first[joins])]
    gathered = np.empty((joins.size, weights.size))
    columns = pairs.first[joins], pairs.second[joins]
    _run(
        lambda rows: loops.gather_rows(triangle, *columns, *rows, gathered),
        ((start, min(start + GATHERED, joins.size)) for start in range(0, joins.size, GATHERED)),
    )
    slot = np.full(pairs.second.size, -1)
    slot[joins] = np.arange(joins.size)

    def join(rows: tuple[int, int]) -> tuple[int, NDArray]:
        start, stop = rows[0] * (rows[0] - 1) // 2, rows[1] * (rows[1] - 1) // 2
        block = np.empty(stop - start)
        loops.join_rows(triangle, code, pairs, weights, gathered, slot, *rows, block)
        return start, block

    m = pairs.second.size
    # New row k stands before old row second[k] ≥ k: what is written is no longer read by the rows to come.
    for start, block in in_order(join, row_blocks(m)):
        triangle[start : start + block.size] = block
    return triangle[: m * (m - 1) // 2]


def _joined(clusters: Clusters, pairs: Pairs, merges: Merges) -> Clusters:
    """Record the joins and make their nodes."""
    joins = np.flatnonzero(pairs.joins)
    first, second = pairs.first[joins], pairs.second[joins]
    nodes, weights = clusters.nodes[pairs.second], clusters.weights[pairs.second]
    nodes[joins] = merges.next_node + np.arange(joins.size)
    weights[joins] += clusters.weights[first]
    merges.add(clusters.nodes[first], clusters.nodes[second], pairs.joint[joins])
    return Clusters(nodes, weights)


def _run(step: Callable[[tuple[int, int]], None], blocks: Iterable[tuple[int, int]]) -> None:
    deque(in_order(step, blocks), maxlen=0)
