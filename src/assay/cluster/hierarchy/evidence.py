"""Measurements on a tree of joins, from the data alone: heights by definition, and the closest clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster.hierarchy.tree import MergeTree
from assay.distances import distance_matrix
from assay.loops import compiled, read_only

# Compiled loops recompute linkages from their definitions, without the recursions of the solvers.
NEAREST, FARTHEST, MEAN, CENTERS, WARD = 0, 1, 2, 3, 4


@compiled
def node_shares(halving, parents, weights, members, node, out):  # type: ignore[no-untyped-def]
    """Share of each leaf in the centre of a node: by weight, or ½ for every join below the node."""
    total = 0.0
    for p in range(members.shape[0]):
        out[p] = weights[members[p]]
        if halving:
            out[p], up = 1.0, members[p]
            while up != node:
                out[p] *= 0.5
                up = parents[up]
        total += out[p]
    for p in range(members.shape[0]):
        out[p] /= total


@compiled
def level_shares(halving, parents, weights, order, start, sizes, nodes, out):  # type: ignore[no-untyped-def]
    """Shares of all leaves, in the order of the dendrogram, in those of the nodes that they stand under."""
    for k in range(nodes.shape[0]):
        span = slice(start[nodes[k]], start[nodes[k]] + sizes[nodes[k]])
        node_shares(halving, parents, weights, order[span], nodes[k], out[span])


@compiled
def pair_linkage(kind, D, rows, columns, row_shares, column_shares):  # type: ignore[no-untyped-def]
    """Least, greatest or mean dissimilarity of two clusters."""
    low, high, mean = np.inf, 0.0, 0.0
    for p in range(rows.shape[0]):
        part = 0.0
        for q in range(columns.shape[0]):
            value = D[rows[p], columns[q]]
            low, high = min(low, value), max(high, value)
            part += column_shares[q] * value
        mean += row_shares[p] * part
    return low if kind == NEAREST else high if kind == FARTHEST else mean


@compiled
def joins_by_pairs(kind, halving, D, children, parents, spans, weights, joins, out):  # type: ignore[no-untyped-def]
    """Linkage of the two clusters of each join, from the matrix of all dissimilarities."""
    order, start, count = spans
    a, b = np.empty(order.shape[0]), np.empty(order.shape[0])
    for r in range(joins.shape[0]):
        left, right = children[joins[r], 0], children[joins[r], 1]
        rows = order[start[left] : start[left] + count[left]]
        columns = order[start[right] : start[right] + count[right]]
        node_shares(halving, parents, weights, rows, left, a)
        node_shares(halving, parents, weights, columns, right, b)
        out[r] = pair_linkage(kind, D, rows, columns, a, b)


@compiled
def joins_by_centers(kind, halving, X, children, parents, spans, weights, joins, out):  # type: ignore[no-untyped-def]
    """Height of each join between centres: their distance, for Ward √(2D)."""
    order, start, count = spans
    shares, centers = np.empty(order.shape[0]), np.empty((2, X.shape[1]))
    for r in range(joins.shape[0]):
        total = np.zeros(2)
        for side in range(2):
            node = children[joins[r], side]
            members = order[start[node] : start[node] + count[node]]
            node_shares(halving, parents, weights, members, node, shares)
            centers[side] = 0.0
            for p in range(members.shape[0]):
                total[side] += weights[members[p]]
                for f in range(X.shape[1]):
                    centers[side, f] += shares[p] * X[members[p], f]
        square = 0.0
        for f in range(X.shape[1]):
            square += (centers[0, f] - centers[1, f]) ** 2
        if kind == WARD:
            square *= 2.0 * total[0] * total[1] / (total[0] + total[1])
        out[r] = np.sqrt(square)


KINDS = {"single": NEAREST, "complete": FARTHEST, "ward": WARD}
KINDS |= {"average": MEAN, "weighted": MEAN, "centroid": CENTERS, "median": CENTERS}
HALVING = ("weighted", "median")
MATRIX_LEAVES, MATRIX_LEAVES_OF_CERTIFY = 512, 2048
"""Up to here the matrix of all dissimilarities is computed at once, by a fit and by `certify`."""


@dataclass(frozen=True)
class TreeEvidence:
    """A fitted tree beside its data: the leaves (rows, or their dissimilarities) and their weights.

    `dissimilarities(leaves, rows, columns)` are those between some leaves and some others; `thorough` says
    whether there is time to look at all joins.
    """

    tree: MergeTree
    leaves: NDArray
    weights: NDArray
    linkage: str
    dissimilarities: Callable[..., NDArray]
    labels: NDArray
    n_clusters: int
    threshold: float | None
    thorough: bool

    @property
    def kind(self) -> int:
        """How the linkage is computed from shares of leaves."""
        return KINDS[self.linkage]

    @property
    def between_centers(self) -> bool:
        """Whether the linkage is between centres."""
        return self.kind >= CENTERS

    @cached_property
    def centred(self) -> NDArray:
        """The rows about their mean, in float64."""
        X = self.leaves.astype(np.float64)
        return X - np.average(X, axis=0, weights=self.weights)

    @cached_property
    def matrix(self) -> NDArray | None:
        """All dissimilarities, where there are not too many."""
        if self.tree.n_leaves > (MATRIX_LEAVES_OF_CERTIFY if self.thorough else MATRIX_LEAVES):
            return None
        return self.dissimilarities(self.leaves, slice(None))

    def block(self, rows: NDArray, columns: NDArray) -> NDArray:
        """Dissimilarities between some leaves and some others."""
        if self.matrix is not None:
            return self.matrix[np.ix_(rows, columns)]
        return self.dissimilarities(self.leaves, rows, columns)

    @property
    def _halving(self) -> bool:
        return self.linkage in HALVING

    def join_costs(self) -> NDArray:
        """What it takes to recompute each join: pairs of leaves, or leaves."""
        left, right = self.tree.spans.sizes[self.tree.children].T
        return left + right if self.between_centers else left * right

    def heights(self, joins: NDArray) -> NDArray:
        """Heights of joins, from the definition of the linkage."""
        tree = self.tree
        shape = tree.children, tree.parents, tree.spans, self.weights, joins
        heights = np.empty(len(joins))
        if self.between_centers:
            joins_by_centers(self.kind, self._halving, read_only(self.centred), *shape, heights)
        elif self.matrix is not None:
            joins_by_pairs(self.kind, self._halving, read_only(self.matrix), *shape, heights)
        else:
            for place, join in enumerate(joins):
                heights[place] = self._pair_height(*tree.children[join])
        return heights

    def _pair_height(self, left: int, right: int) -> float:
        rows, columns = self.tree.spans.members(left), self.tree.spans.members(right)
        places, shares = (
            (np.arange(len(rows)), np.arange(len(columns))),
            (self._shares(left), self._shares(right)),
        )
        block = read_only(self.block(rows, columns))
        return float(pair_linkage(self.kind, block, *places, *shares))

    def _shares(self, node: int) -> NDArray:
        members = self.tree.spans.members(node)
        shares = np.empty(len(members))
        node_shares(self._halving, self.tree.parents, self.weights, members, node, shares)
        return shares

    def closest(self, n_clusters: int, max_pairs: int) -> float:
        """The least linkage between some of the clusters of a level and all others.

        Small clusters come first, as many as `max_pairs` comparisons allow; infinite when not even one fits.
        """
        tree = self.tree
        nodes = tree.nodes_at(n_clusters)
        nodes = nodes[np.argsort(tree.spans.start[nodes])]
        counts = tree.spans.sizes[nodes]
        by_size = np.argsort(counts, kind="stable")
        cost = np.full(n_clusters, n_clusters) if self.between_centers else counts * tree.n_leaves
        chosen, n_fitting = by_size, int(np.searchsorted(np.cumsum(cost[by_size]), max_pairs, side="right"))
        if n_fitting < n_clusters:  # not the very smallest alone: spread over those that fit
            by_size = by_size[: max(1, int(n_clusters * 0.75))]
            chosen = by_size[np.unique(np.linspace(0, len(by_size) - 1, max(1, n_fitting)).astype(int))]
            while cost[chosen].sum() > max_pairs:
                chosen = chosen[: chosen.size // 2]
        if chosen.size == 0:
            return np.inf
        return (self._closest_centers if self.between_centers else self._closest_pairs)(nodes, chosen)

    def _level_shares(self, nodes: NDArray) -> NDArray:
        """Share of each leaf, in the order of the dendrogram, in the cluster it belongs to."""
        shares = np.empty(self.tree.n_leaves)
        spans = self.tree.spans
        level_shares(self._halving, self.tree.parents, self.weights, *spans, nodes, shares)
        return shares

    def _closest_centers(self, nodes: NDArray, chosen: NDArray) -> float:
        order, start = self.tree.spans.order, self.tree.spans.start[nodes]
        shares = self._level_shares(nodes)
        centers = np.add.reduceat(self.centred[order] * shares[:, np.newaxis], start, axis=0)
        costs = distance_matrix(centers[chosen], centers)
        if self.kind == WARD:
            total = np.add.reduceat(self.weights[order], start)
            costs = costs * np.sqrt(2.0 / (1.0 / total[chosen][:, np.newaxis] + 1.0 / total))
        costs[np.arange(len(chosen)), chosen] = np.inf
        return float(costs.min())

    def _closest_pairs(self, nodes: NDArray, chosen: NDArray) -> float:
        spans, start = self.tree.spans, self.tree.spans.start[nodes]
        chosen = np.sort(chosen)
        sizes = spans.sizes[nodes[chosen]]
        places = np.concatenate([np.arange(spans.sizes[node]) + spans.start[node] for node in nodes[chosen]])
        block = self.block(spans.order[places], spans.order)
        if self.kind == MEAN:
            shares = self._level_shares(nodes)
            block *= shares[places][:, np.newaxis] * shares
        reduce: Any = {NEAREST: np.minimum, FARTHEST: np.maximum, MEAN: np.add}[self.kind]
        linkages = reduce.reduceat(block, np.cumsum(sizes) - sizes, axis=0)
        linkages = reduce.reduceat(linkages, start, axis=1)
        linkages[np.arange(len(chosen)), chosen] = np.inf
        return float(linkages.min())
