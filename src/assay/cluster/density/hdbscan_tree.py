"""The tree of clusters of HDBSCAN, merges along a spanning tree without the small ones, and the choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.models.clusterer import numbered_by_appearance

TIE = 1e-13


@dataclass(frozen=True, slots=True)
class CondensedTree:
    """Clusters that live over ranges of density, and when each row leaves them.

    Densities are λ = 1/distance. Cluster 0 holds all rows from λ = 0 on. A cluster ends where it falls into
    two of at least `min_cluster_size` rows, or where it is smaller than that; rows that come off it before
    leave it alone. Edges of the same length go at once. Parents come before their children.

    Parameters
    ----------
    parent : array of int of shape (n_clusters,)
        Cluster that each one came out of; −1 for the first.
    birth : array of shape (n_clusters,)
        λ at which each begins.
    death : array of shape (n_clusters,)
        λ at which the last rows leave it, alone or in a further cluster.
    size : array of int of shape (n_clusters,)
        Its number of rows when it begins.
    row_cluster : array of int of shape (n_samples,)
        The last cluster of each row.
    row_density : array of shape (n_samples,)
        λ at which the row leaves that.
    """

    parent: NDArray
    birth: NDArray
    death: NDArray
    size: NDArray
    row_cluster: NDArray
    row_density: NDArray

    @property
    def stability(self) -> NDArray:
        """Excess of mass of each cluster: Σ (λ at which a row leaves it − λ at which it begins)."""
        density = np.where(np.isinf(self.row_density), 0.0, self.row_density)
        left = np.bincount(self.row_cluster, weights=density, minlength=self.parent.size)
        n_left = np.bincount(self.row_cluster, minlength=self.parent.size).astype(np.float64)
        parent, child = self.parent[1:], np.arange(1, self.parent.size)
        np.add.at(left, parent, self.size[child] * self.birth[child])
        np.add.at(n_left, parent, self.size[child])
        stability = left - n_left * self.birth
        endless = np.isinf(self.row_density)
        stability[np.unique(self.row_cluster[endless])] = np.inf
        return np.maximum(stability, 0.0)

    @property
    def is_leaf(self) -> NDArray:
        """Whether no further cluster comes out of each cluster."""
        leaf = np.ones(self.parent.size, dtype=np.bool_)
        leaf[self.parent[1:]] = False
        return leaf


def condense(first: NDArray, second: NDArray, length: NDArray, min_cluster_size: int) -> CondensedTree:
    """The condensed tree of a spanning tree whose edges come by increasing length."""
    n_rows = first.size + 1
    children, sizes = np.empty((n_rows - 1, 2), dtype=np.int64), np.ones(2 * n_rows - 1, dtype=np.int64)
    merge_edges(first, second, children, sizes)
    with np.errstate(divide="ignore", over="ignore"):
        densities = 1.0 / level(length.astype(np.float64))
    most = 2 * (n_rows // min_cluster_size) + 2
    parent, birth = np.full(most, -1), np.zeros(most)
    row_cluster, row_density = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows)
    size = np.full(most, n_rows)
    tree = parent, birth, size, row_cluster, row_density
    used = fall_apart(children, sizes, densities, min_cluster_size, *tree)
    parent, birth, size = parent[:used].copy(), birth[:used].copy(), size[:used].copy()
    death = np.zeros(used)
    np.maximum.at(death, row_cluster, row_density)
    np.maximum.at(death, parent[1:], birth[1:])
    return CondensedTree(parent, birth, death, size, row_cluster, row_density)


def level(lengths: NDArray) -> NDArray:
    """Increasing lengths, those that differ by rounding alone made the same."""
    begins = np.append(True, lengths[1:] > lengths[:-1] * (1.0 + TIE))
    return lengths[begins][np.cumsum(begins) - 1]


@compiled
def merge_edges(first, second, children, sizes):  # type: ignore[no-untyped-def]
    """Merge rows along edges: node n_rows + e joins what the ends of edge e belong to."""
    n_rows = first.shape[0] + 1
    above = np.arange(2 * n_rows - 1)
    for edge in range(n_rows - 1):
        node = n_rows + edge
        for side in range(2):
            end = first[edge] if side == 0 else second[edge]
            while above[end] != end:
                above[end] = above[above[end]]
                end = above[end]
            children[edge, side] = end
            above[end] = node
        sizes[node] = sizes[children[edge, 0]] + sizes[children[edge, 1]]


@compiled
def fall_apart(  # type: ignore[no-untyped-def]
    children, sizes, densities, min_cluster_size, parent, birth, size, row_cluster, row_density
):
    """Follow the clusters from all rows down; returns their number.

    All edges of one length go at once, so that ties have no order. Of the parts, those of too few rows leave
    the cluster; two large ones or more are new clusters, a single one is still the same. Rows that are the
    same leave at infinite density, together: no cluster falls apart there.
    """
    n_rows = children.shape[0] + 1
    nodes, clusters = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_rows + 1, dtype=np.int64)
    inner, parts = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_rows + 1, dtype=np.int64)
    leaving = np.empty(n_rows + 1)
    nodes[0], clusters[0], leaving[0] = 2 * n_rows - 2, 0, -1.0
    n_waiting, used = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        node, cluster, left_at = nodes[n_waiting], clusters[n_waiting], leaving[n_waiting]
        if node < n_rows:
            row_cluster[node], row_density[node] = cluster, max(left_at, 0.0)
            continue
        density = densities[node - n_rows]
        inner[0] = node
        n_inner, n_parts, n_large = 1, 0, 0
        while n_inner > 0:
            n_inner -= 1
            part = inner[n_inner]
            if part >= n_rows and densities[part - n_rows] == density:
                inner[n_inner], inner[n_inner + 1] = children[part - n_rows]
                n_inner += 2
            else:
                parts[n_parts] = part
                n_parts += 1
                n_large += sizes[part] >= min_cluster_size
        for p in range(n_parts):
            part = parts[p]
            nodes[n_waiting], clusters[n_waiting], leaving[n_waiting] = part, cluster, left_at
            if left_at < 0.0:
                if sizes[part] < min_cluster_size:
                    leaving[n_waiting] = density
                elif n_large > 1:
                    parent[used], birth[used], size[used] = cluster, density, sizes[part]
                    clusters[n_waiting] = used
                    used += 1
            n_waiting += 1
    return used


def most_stable(tree: CondensedTree, *, allow_single_cluster: bool) -> NDArray:
    """The clusters, none inside another, of the greatest total stability (excess of mass).

    From the leaves up, a cluster stays unless the best within it are worth more.
    """
    own = tree.stability
    if not allow_single_cluster:
        own[0] = -1.0
    within = np.zeros(own.size)
    stays = np.zeros(own.size, dtype=np.bool_)
    for cluster in range(own.size - 1, -1, -1):
        stays[cluster] = within[cluster] <= own[cluster]
        if cluster > 0:
            within[tree.parent[cluster]] += max(own[cluster], within[cluster])
    return _outermost(tree, stays)


def leaves(tree: CondensedTree, *, allow_single_cluster: bool) -> NDArray:
    """The clusters that no other comes out of."""
    ends = np.flatnonzero(tree.is_leaf)
    return ends if allow_single_cluster else ends[ends > 0]


def lift(tree: CondensedTree, chosen: NDArray, epsilon: float, *, allow_single_cluster: bool) -> NDArray:
    """Replace clusters that begin below a distance by the first around them that begins above it."""
    reached = np.zeros(tree.parent.size, dtype=np.bool_)
    for cluster in chosen:
        while cluster > 0 and tree.birth[cluster] * epsilon > 1.0:
            above = tree.parent[cluster]
            if above == 0 and not allow_single_cluster:
                break
            cluster = above
        reached[cluster] = True
    return _outermost(tree, reached)


def label_rows(tree: CondensedTree, chosen: NDArray, epsilon: float) -> tuple[NDArray, NDArray, NDArray]:
    """Labels, numbered by first rows, how firmly each row belongs to its cluster, and the clusters in order.

    Of a single cluster of all rows, those that stay to its end, or to epsilon.
    """
    number = np.full(tree.parent.size, -1)
    number[chosen] = chosen
    for cluster in range(1, number.size):  # parents come before their children
        if number[cluster] < 0:
            number[cluster] = number[tree.parent[cluster]]
    holder = number[tree.row_cluster]
    if chosen.size == 1 and chosen[0] == 0:
        stays = tree.row_density >= (1.0 / epsilon if epsilon > 0.0 else tree.death[0])
        holder = np.where(stays, holder, -1)
    inside = holder >= 0
    labels = numbered_by_appearance(holder)
    clusters = np.empty(labels.max(initial=-1) + 1, dtype=holder.dtype)
    clusters[labels[inside]] = holder[inside]
    probabilities = np.zeros(holder.size)
    death, density = tree.death[holder[inside]], tree.row_density[inside]
    share = np.ones(death.size)
    np.divide(density, death, out=share, where=np.isfinite(density) & (death > 0.0))
    probabilities[inside] = np.minimum(share, 1.0)
    return labels, probabilities, clusters


def _outermost(tree: CondensedTree, marked: NDArray) -> NDArray:
    """The marked clusters that are in no other marked one."""
    covered = np.zeros(marked.size, dtype=np.bool_)
    for cluster in range(1, marked.size):
        above = tree.parent[cluster]
        covered[cluster] = covered[above] or marked[above]
    return np.flatnonzero(marked & ~covered)
