"""The graph of convex clustering: which pairs of rows are drawn together, and how strongly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from assay import parameters
from assay.cluster.convex.solver import components
from assay.distances import NeighborSearch, distance_matrix, euclidean_spanning_tree
from assay.models.clusterer import numbered_by_appearance
from assay.parameters import Domain

LEAST_WEIGHT = 1e-4
"""Gaussian weights go no lower, so that a large penalty always fuses all rows."""

DUAL_ORDERS = {"l2": 2, "l1": np.inf, "linf": 1}


class Nodes(NamedTuple):
    """Distinct rows about their weighted mean, with their weights; `node_of` is −1 for rows of weight 0."""

    rows: NDArray
    mass: NDArray
    mean: NDArray
    node_of: NDArray


class Graph(NamedTuple):
    """Edges (pairs of nodes, each once) and their weights; the last `n_bridges` only join components."""

    edges: NDArray
    weights: NDArray
    n_bridges: int


def distinct_nodes(X: NDArray, weight: NDArray | None, *, collapse: bool) -> Nodes:
    """Drop rows of weight 0 and, when asked, make equal rows one node with their weights added."""
    present = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
    rows = X[present].astype(np.float64)
    mass: NDArray = np.ones(len(present)) if weight is None else weight[present].astype(np.float64)
    node_of = np.full(len(X), -1, dtype=np.int64)
    node_of[present] = np.arange(len(present))
    if collapse:
        rows, inverse = np.unique(rows, axis=0, return_inverse=True)
        node_of[present] = inverse.ravel()
        mass = np.bincount(inverse.ravel(), mass)
    # About a first mean and then about the mean of the rest: far from the origin one pass leaves a remainder.
    mean = mass @ rows / mass.sum()
    rows = rows - mean
    rest = mass @ rows / mass.sum()
    return Nodes(rows - rest, mass, mean + rest, node_of)


def neighbor_graph(rows: NDArray, n_neighbors: int, gamma: float | None) -> Graph:
    """Each row with its nearest ones, exp(−γ‖x_i − x_j‖²); spanning-tree edges join what is left apart.

    Without γ it is one over the median squared length of the edges between neighbours.
    """
    n_nodes = len(rows)
    k = min(n_neighbors, n_nodes - 1)
    if k < 1:
        return Graph(np.empty((0, 2), dtype=np.int64), np.empty(0), 0)
    near = NeighborSearch(rows).nearest(k).indices
    pairs = np.column_stack([np.repeat(np.arange(n_nodes), k), near.ravel()])
    edges = np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)
    parts = components(n_nodes, edges)
    squares = _squared_lengths(rows, edges)
    scale = float(np.median(squares)) or float(squares.mean()) or 1.0
    bridges = np.empty((0, 2), dtype=np.int64)
    if parts.max() > 0:
        tree = euclidean_spanning_tree(rows)
        joins = parts[tree.first] != parts[tree.second]
        bridges = np.column_stack([tree.first[joins], tree.second[joins]]).astype(np.int64)
        edges = np.vstack([edges, bridges])
        squares = np.concatenate([squares, _squared_lengths(rows, bridges)])
    exponents = squares / scale if gamma is None else gamma * squares
    return Graph(edges, np.maximum(np.exp(-exponents), LEAST_WEIGHT), len(bridges))


def complete_graph(n_nodes: int) -> Graph:
    """Every pair, with weight 1."""
    first, second = np.triu_indices(n_nodes, 1)
    edges = np.column_stack([first, second]).astype(np.int64)
    return Graph(edges, np.ones(len(edges)), 0)


def given_graph(weights: Any, present: NDArray) -> Graph:
    """The pairs of positive weight of a symmetric matrix, among the rows that are there."""
    upper = sparse.triu(sparse.csr_array(weights)[present][:, present], k=1).tocoo()
    kept = upper.data > 0
    edges = np.column_stack([upper.row[kept], upper.col[kept]]).astype(np.int64)
    return Graph(edges, upper.data[kept].astype(np.float64), 0)


def _is_weights(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("gaussian_knn", "uniform")
    return bool(sparse.issparse(value)) or parameters.matrix.contains(value)


weights_domain = Domain(
    "'gaussian_knn', 'uniform' or a symmetric matrix of weights at least 0, of shape (n_samples, n_samples)",
    _is_weights,
)


def check_given_weights(weights: Any, n_samples: int, owner: str) -> None:
    """Refuse a matrix of weights that is not square, symmetric, finite and at least 0."""
    given = sparse.csr_array(weights)
    if given.shape != (n_samples, n_samples):
        must_be = f"a square matrix with a row for each of the {n_samples} rows of X"
    elif given.nnz and not (np.isfinite(given.data).all() and given.data.min() >= 0.0):
        must_be = "finite and at least 0 for every pair of rows"
    elif given.nnz and not (given.data[given.data > 0.0].min(initial=1.0) >= 1e-30 and given.max() <= 1e30):
        must_be = "0, or from 1e-30 to 1e30, for every pair of rows"
    elif abs(given - given.T).max() > 1e-10 * max(float(abs(given).max()), 1e-300):
        must_be = "a symmetric matrix, w_ij = w_ji for every pair of rows"
    else:
        return
    raise parameters.refusal(owner, "weights", must_be, weights)


def check_penalty(penalty: float, rows: NDArray, owner: str, name: str) -> None:
    """Refuse a penalty that rounding drowns, so that no gap can be proven, or whose products overflow."""
    spread = float(np.abs(rows).max(initial=0.0)) or 1.0
    least, most = 1e-20 * spread, 1e100 * max(spread, 1e-50)
    if penalty > 0.0 and not least <= penalty <= min(most, 1e150):
        must_be = f"0, or from {least:.3g} to {min(most, 1e150):.3g} for rows that spread by {spread:.3g}"
        raise parameters.refusal(owner, name, must_be, penalty)


def of_rows(X: NDArray, nodes: Nodes, labels: NDArray, centroids: NDArray) -> tuple[NDArray, NDArray]:
    """Labels and centroids of all rows, from those of the nodes; rows of weight 0 join the nearest cluster.

    Clusters are numbered by their first nodes, which does not depend on the order of the rows where equal
    rows are one node; centroids are in the dtype of the rows.
    """
    labels = numbered_by_appearance(labels)
    absent = np.flatnonzero(nodes.node_of < 0)
    node_of = nodes.node_of
    if absent.size:
        weight = np.bincount(labels, nodes.mass)
        sums = [np.bincount(labels, nodes.mass * column) for column in nodes.rows.T]
        means = np.column_stack(sums) / weight[:, np.newaxis]
        nearest = distance_matrix(X[absent] - nodes.mean, means).argmin(axis=1)
        node_of = node_of.copy()
        node_of[absent] = np.unique(labels, return_index=True)[1][nearest]
    return labels[node_of], (centroids + nodes.mean).astype(X.dtype)[node_of]


def largest_useful_penalty(nodes: Nodes, graph: Graph, norm: str, *, bridges: bool) -> float:
    """A penalty from which on each component of the graph is one cluster.

    The flow ν_ab = w_ab (z_a − z_b), with z from the Laplacian system L z = s (x − x̄), holds all rows of a
    component at its mean; it is feasible once the penalty reaches the largest dual norm of z_a − z_b.
    """
    n_edges = len(graph.edges) - (0 if bridges else graph.n_bridges)
    edges = graph.edges[:n_edges]
    if not n_edges:
        return 0.0
    strength = graph.weights[:n_edges] * nodes.mass[edges[:, 0]] * nodes.mass[edges[:, 1]]
    n_nodes = len(nodes.rows)
    half: Any = sparse.coo_array((strength, (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))
    adjacency = (half + half.T).tocsr()
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    filled = np.where(degrees > 0, degrees, 1.0)
    laplacian = (sparse.diags_array(filled) - adjacency).tocsr()
    parts = components(n_nodes, edges)
    mass = np.bincount(parts, nodes.mass)
    means = np.column_stack([np.bincount(parts, nodes.mass * column) / mass for column in nodes.rows.T])
    pulls = (nodes.rows - means[parts]) * nodes.mass[:, np.newaxis]
    jacobi = sparse.diags_array(1.0 / filled)
    potentials = np.column_stack(
        [cg(laplacian, pull, rtol=1e-9, atol=0.0, maxiter=20 * n_nodes, M=jacobi)[0] for pull in pulls.T]
    )
    drops = potentials[edges[:, 0]] - potentials[edges[:, 1]]
    return float(np.linalg.norm(drops, ord=DUAL_ORDERS[norm], axis=1).max()) * (1.0 + 1e-6)


def _squared_lengths(rows: NDArray, edges: NDArray) -> NDArray:
    return np.asarray(((rows[edges[:, 0]] - rows[edges[:, 1]]) ** 2).sum(axis=1))
