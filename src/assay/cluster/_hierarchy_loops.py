"""Compiled loops on trees of joins: cuts, the order of the leaves, cophenetic rows, Kruskal's labels.

Leaves are 0, …, n − 1 and join t makes node n + t of `children[t]`, two nodes made before.
"""

from __future__ import annotations

import numpy as np

from assay.graphs._spanning_tree_loops import root
from assay.loops import compiled


@compiled
def label_edges(first, second, children):  # type: ignore[no-untyped-def]
    """Nodes that each edge joins, edges taken one after the other (union-find)."""
    n = first.shape[0] + 1
    parent = np.arange(2 * n - 1)
    for t in range(n - 1):
        a, b = root(parent, first[t]), root(parent, second[t])
        children[t, 0], children[t, 1] = min(a, b), max(a, b)
        parent[a] = parent[b] = n + t


@compiled
def prim_step(row, added, distance, origin):  # type: ignore[no-untyped-def]
    """Account for the node last added to the tree; the node nearest to the tree (negative: inside)."""
    best, found = np.inf, -1
    for j in range(row.shape[0]):
        if row[j] < distance[j]:
            distance[j], origin[j] = row[j], added
        if distance[j] >= 0.0 and (found < 0 or distance[j] < best):
            best, found = distance[j], j
    return found


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
