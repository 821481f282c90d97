"""A tree of joins: cuts, nested partitions, the order of the leaves, cophenetic distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances.spanning import find_root
from assay.loops import compiled
from assay.parameters import refusal

# Leaves are 0, …, n − 1 and join t makes node n + t of `children[t]`, two nodes made before.


@compiled
def label_edges(first, second, children):  # type: ignore[no-untyped-def]
    """Nodes that each edge joins, edges taken one after the other (union-find)."""
    n = first.shape[0] + 1
    parent = np.arange(2 * n - 1)
    for t in range(n - 1):
        a, b = find_root(parent, first[t]), find_root(parent, second[t])
        children[t, 0], children[t, 1] = min(a, b), max(a, b)
        parent[a] = parent[b] = n + t


@compiled
def leaf_spans(children, order, start, count):  # type: ignore[no-untyped-def]
    """Order of the leaves under the root, first child first; each node's first place in it and size."""
    n = children.shape[0] + 1
    count[:n] = 1
    for t in range(n - 1):
        count[n + t] = count[children[t, 0]] + count[children[t, 1]]
    start[2 * n - 2] = 0
    for t in range(n - 2, -1, -1):
        start[children[t, 0]] = start[n + t]
        start[children[t, 1]] = start[n + t] + count[children[t, 0]]
    for leaf in range(n):
        order[start[leaf]] = leaf


@compiled
def cut_tree(children, n_made, labels):  # type: ignore[no-untyped-def]
    """Labels of all nodes when the first `n_made` joins are made: roots of the forest get 0, 1, …."""
    n = children.shape[0] + 1
    labels[:] = -1
    n_labels = 0
    for node in range(n + n_made - 1, -1, -1):
        if labels[node] < 0:
            labels[node] = n_labels
            n_labels += 1
        if node >= n:
            labels[children[node - n, 0]] = labels[node]
            labels[children[node - n, 1]] = labels[node]
    return n_labels


@compiled
def cophenetic_rows(children, heights, parent, order, start, count, leaves, out):  # type: ignore[no-untyped-def]
    """Heights at which given leaves are first joined with every leaf."""
    n = children.shape[0] + 1
    for r in range(leaves.shape[0]):
        node = leaves[r]
        out[r, node] = 0.0
        while parent[node] >= 0:
            up = parent[node]
            pair = children[up - n]
            other = pair[0] + pair[1] - node
            for p in range(start[other], start[other] + count[other]):
                out[r, order[p]] = heights[up - n]
            node = up


class Spans(NamedTuple):
    """The leaves in the order of the dendrogram; the sizes[v] leaves of node v stand from start[v] on."""

    order: NDArray
    start: NDArray
    sizes: NDArray

    def members(self, node: int) -> NDArray:
        """The leaves under a node."""
        return self.order[self.start[node] : self.start[node] + self.sizes[node]]


@dataclass(frozen=True)
class MergeTree:
    """A binary tree over leaves 0, …, n − 1 in which join t makes node n + t of two nodes made before.

    Parameters
    ----------
    children : array of int of shape (n_leaves − 1, 2)
        The two nodes that each join joins.
    heights : array of shape (n_leaves − 1,)
        Where each join stands in the dendrogram.
    leaf_weights : array of shape (n_leaves,)
        How many rows each leaf stands for.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import MergeTree
    >>> tree = MergeTree(np.array([[0, 1], [2, 3]]), np.array([1.0, 4.0]), np.ones(3))
    >>> tree.cut(2), tree.n_clusters_at(1.0)
    (array([0, 0, 1], dtype=int32), 2)
    >>> tree.cophenetic_distances()
    array([1., 4., 4.])
    """

    children: NDArray
    heights: NDArray
    leaf_weights: NDArray

    def __post_init__(self) -> None:
        """Refuse what is no tree: compiled loops walk along the children and trust them."""
        n, children = self.n_leaves, np.asarray(self.children)
        fits = children.shape == (n - 1, 2) and np.shape(self.heights) == (n - 1,)
        made_before = np.arange(n, 2 * n - 1)[:, np.newaxis]
        if not (
            fits
            and children.dtype.kind in "iu"
            and ((children >= 0) & (children < made_before)).all()
            and (np.bincount(children.ravel(), minlength=2 * n - 2) == 1).all()
        ):
            raise ValueError(
                f"The 'children' of a tree of {n} leaves must be {n - 1} pairs of nodes made before, each "
                "node in one pair, with one height per pair. Got others: the fit was changed or damaged."
            )

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_weights)

    @cached_property
    def spans(self) -> Spans:
        """Where the leaves of each node stand in the dendrogram."""
        n = self.n_leaves
        spans = Spans(np.empty(n, np.int64), np.empty(2 * n - 1, np.int64), np.empty(2 * n - 1, np.int64))
        leaf_spans(self.children, *spans)
        return spans

    @cached_property
    def parents(self) -> NDArray:
        """The node above each node; −1 at the root."""
        n = self.n_leaves
        parents = np.full(2 * n - 1, -1)
        parents[self.children] = np.arange(n, 2 * n - 1)[:, np.newaxis]
        return parents

    @property
    def linkage_matrix(self) -> NDArray:
        """The joins in SciPy's layout: two nodes, height, number of leaves."""
        return np.column_stack([self.children, self.heights, self.spans.sizes[self.n_leaves :]]).astype(float)

    def nodes_at(self, n_clusters: int) -> NDArray:
        """The nodes that are clusters when `n_clusters` are left."""
        n_made = self.n_leaves - n_clusters
        there = np.ones(self.n_leaves + n_made, dtype=np.bool_)
        there[self.children[:n_made]] = False
        return np.flatnonzero(there)

    def cut(self, n_clusters: int) -> NDArray:
        """Labels of the leaves when `n_clusters` clusters are left, heaviest cluster first.

        Clusters of equal weight are numbered in the order of their first leaves.
        """
        if not 1 <= n_clusters <= self.n_leaves:
            must_be = f"an int from 1 to the number of leaves ({self.n_leaves})"
            raise refusal("cut", "n_clusters", must_be, n_clusters)
        labels = np.empty(2 * self.n_leaves - 1, dtype=np.int32)
        cut_tree(self.children, self.n_leaves - n_clusters, labels)
        labels = labels[: self.n_leaves]
        weight = np.bincount(labels, weights=self.leaf_weights, minlength=n_clusters)
        first = np.full(n_clusters, self.n_leaves)
        np.minimum.at(first, labels, np.arange(self.n_leaves))
        rank = np.empty(n_clusters, dtype=np.int32)
        rank[np.lexsort((first, -weight))] = np.arange(n_clusters, dtype=np.int32)
        return rank[labels]

    def n_clusters_at(self, height: float) -> int:
        """Number of clusters left when joins are made in order up to the first above `height`."""
        above = self.heights > height
        return self.n_leaves - (int(above.argmax()) if above.any() else len(above))

    def partitions(self) -> Iterator[NDArray]:
        """Labels of the leaves at every level, from one cluster per leaf to one cluster."""
        for n_clusters in range(self.n_leaves, 0, -1):
            yield self.cut(n_clusters)

    def cophenetic_rows(self, leaves: NDArray) -> NDArray:
        """Heights at which given leaves are first in one cluster with each leaf."""
        rows = np.empty((len(leaves), self.n_leaves))
        heights = self.heights.astype(np.float64)
        cophenetic_rows(self.children, heights, self.parents, *self.spans, leaves, rows)
        return rows

    def cophenetic_distances(self) -> NDArray:
        """Cophenetic distances of all pairs, in SciPy's condensed layout."""
        rows = self.cophenetic_rows(np.arange(self.n_leaves))
        return rows[np.triu_indices(self.n_leaves, 1)]
