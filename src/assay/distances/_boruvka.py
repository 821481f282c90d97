"""Borůvka's algorithm on a KD-tree: memory of order n, no distance computed that a bound rules out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances._boruvka_loops import best_known, find_ways_out, join_components, summarize_nodes
from assay.distances._tree import Tree
from assay.distances._tree_loops import LEAF
from assay.rows import ordered_map

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
