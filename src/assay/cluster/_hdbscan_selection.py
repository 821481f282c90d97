"""Clusters chosen from a condensed tree: those of the greatest total stability, or the leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster._hdbscan_tree import CondensedTree


class Selection(NamedTuple):
    """The clusters chosen, numbered by their first rows, and how firmly each row belongs to its own."""

    labels: NDArray
    probabilities: NDArray
    chosen: NDArray


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
    found = np.flatnonzero(tree.is_leaf)
    return found if allow_single_cluster else found[found > 0]


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


def label_rows(tree: CondensedTree, chosen: NDArray, *, epsilon: float = 0.0) -> Selection:
    """Rows of the chosen clusters; of a single one of all rows, those that stay to its end, or to epsilon."""
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
    found, first, inverse = np.unique(holder[inside], return_index=True, return_inverse=True)
    rank = np.empty(found.size, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(found.size, dtype=np.int32)
    labels = np.full(holder.size, -1, dtype=np.int32)
    labels[inside] = rank[inverse]
    probabilities = np.zeros(holder.size)
    death, density = tree.death[holder[inside]], tree.row_density[inside]
    share = np.ones(death.size)
    np.divide(density, death, out=share, where=np.isfinite(density) & (death > 0.0))
    probabilities[inside] = np.minimum(share, 1.0)
    return Selection(labels, probabilities, found[np.argsort(rank)])


def _outermost(tree: CondensedTree, marked: NDArray) -> NDArray:
    """The marked clusters that are in no other marked one."""
    covered = np.zeros(marked.size, dtype=np.bool_)
    for cluster in range(1, marked.size):
        above = tree.parent[cluster]
        covered[cluster] = covered[above] or marked[above]
    return np.flatnonzero(marked & ~covered)
