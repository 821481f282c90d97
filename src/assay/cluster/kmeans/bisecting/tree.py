"""The tree of splits: routing rows to its leaves, and measuring the leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates, at_most
from assay.cluster.kmeans.centers import Centers, Inspection, means_of, table
from assay.cluster.kmeans.certificates import huygens_certificate, measure
from assay.cluster.kmeans.loops import add_row, squared_distance
from assay.loops import compiled, inner, read_only
from assay.rows import Block, MappedRows, Rows

Router = tuple[NDArray, NDArray, NDArray, NDArray]
"""A tree as the loops take it: `children`, `centers` in float64, `norms` of those, squared, and `labels`."""


@dataclass(frozen=True, slots=True)
class SplitTree:
    """A tree of splits; node 0 is the root. The s-th split makes the nodes 2s + 1 and 2s + 2.

    The first child of a node keeps its label, the second takes the next free one: dropping the last splits
    gives the partitions into fewer clusters, each nested in the one before.

    Parameters
    ----------
    children : array of int32 of shape (n_nodes, 2)
        Children of each node; −1 for leaves.
    centers : array of shape (n_nodes, n_features)
        Centre of each node: rows of its parent that are nearer to it than to its sibling are its own.
    labels : array of int32 of shape (n_nodes,)
        Label of each node among the leaves of its time.
    inertias : array of shape (n_nodes,)
        Inertia of the rows of each node about its centre.
    weights : array of shape (n_nodes,)
        Number of rows, or weight, of each node.
    split_nodes : array of int32 of shape (n_leaves − 1,)
        The nodes split, in order.
    """

    children: NDArray
    centers: NDArray
    labels: NDArray
    inertias: NDArray
    weights: NDArray
    split_nodes: NDArray

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.split_nodes) + 1

    @property
    def leaves(self) -> NDArray:
        """The leaves in the order of their labels."""
        ends = np.flatnonzero(self.children[:, 0] < 0)
        return ends[np.argsort(self.labels[ends])]

    def parents(self, n_clusters: int) -> NDArray:
        """Label, in the partition into `n_clusters`, of each label of the leaves."""
        merged = np.arange(self.n_leaves, dtype=np.int32)
        for label in range(n_clusters, self.n_leaves):
            merged[label] = merged[self.labels[self.split_nodes[label - 1]]]
        return merged

    def paths(self) -> NDArray:
        """Which leaves (columns, in the order of their labels) lie below which nodes (rows)."""
        below = np.zeros((len(self.children), self.n_leaves), dtype=bool)
        below[self.leaves, np.arange(self.n_leaves)] = True
        for node in self.split_nodes[::-1]:
            below[node] = below[self.children[node]].any(axis=0)
        return below


class Survey(NamedTuple):
    """Sums (about the shift), weights and inertias of the leaves, total scatter, rows with another label."""

    sums: NDArray
    counts: NDArray
    inertias: NDArray
    scatter: float
    n_misrouted: int

    @property
    def whole(self) -> Inspection:
        """The same partition, measured as any other."""
        return Inspection(self.sums, self.counts, float(self.inertias.sum()), self.scatter, 0.0)


@inner
def row_norm(dense, values, starts, shift, i):  # type: ignore[no-untyped-def]
    """‖x − shift‖² of row i; CSR rows have the shift 0."""
    norm = 0.0
    if values is not None:
        for position in range(starts[i], starts[i + 1]):
            norm += np.float64(values[position]) ** 2
    if dense is not None:
        for f in range(shift.shape[0]):
            norm += (np.float64(dense[i, f]) - shift[f]) ** 2
    return norm


@compiled
def descend(table, tree, labels):  # type: ignore[no-untyped-def]
    """Label of the leaf that each row reaches, at every node by the nearer child; ties go to the first."""
    dense, values, columns, starts, _ = table
    children, centers, norms, node_labels = tree
    nothing = np.zeros(0)
    for i in range(labels.shape[0]):
        norm, node = row_norm(dense, values, starts, nothing, i), np.int64(0)
        while children[node, 0] >= 0:
            first, second = np.int64(children[node, 0]), np.int64(children[node, 1])
            to_first = squared_distance(dense, values, columns, starts, i, norm, centers, norms, first)
            to_second = squared_distance(dense, values, columns, starts, i, norm, centers, norms, second)
            node = second if to_second < to_first else first
        labels[i] = node_labels[node]


@compiled
def survey_rows(table, shift, centers, norms, labels, leaves):  # type: ignore[no-untyped-def]
    """Add every row to the sums, counts and inertias of its leaf (`leaves`); return Σ w ‖x − shift‖².

    `norms` are ‖c‖² and only used for CSR rows, whose shift is 0.
    """
    dense, values, columns, starts, weight = table
    sums, counts, inertias = leaves
    scatter = 0.0
    for i in range(labels.shape[0]):
        w = np.float64(weight[i]) if weight.shape[0] > 0 else 1.0
        label = np.int64(labels[i])
        norm = row_norm(dense, values, starts, shift, i)
        own = squared_distance(dense, values, columns, starts, i, norm, centers, norms, label)
        add_row(dense, values, columns, starts, shift, i, w, sums, label)
        counts[label] += w
        inertias[label] += w * own
        scatter += w * norm
    return scatter


def router(children: NDArray, centers: NDArray, labels: NDArray) -> Router:
    """Lay out a tree for routing, checked: the loops trust it, and every path must come to an end."""
    n_nodes, own = len(labels), np.arange(len(labels))[:, np.newaxis]
    ends = children[:, 0] < 0
    inside = ends[:, np.newaxis] | ((children > own) & (children < n_nodes))
    leaf_labels = labels[ends]
    if not inside.all() or leaf_labels.min() < 0 or leaf_labels.max() >= np.count_nonzero(ends):
        raise ValueError(
            "The tree_ of BisectingKMeans must have children after their parents and leaves numbered from 0; "
            "fit again."
        )
    points = centers.astype(np.float64)
    return children, points, np.einsum("kd,kd->k", points, points), labels


def route(block: Block, way: Router) -> NDArray:
    """Labels of the leaves that the rows of a block reach."""
    labels = np.empty(block.X.shape[0], dtype=np.int32)
    descend(table(block), way, labels)
    return labels


def survey(
    data: Rows, way: Router, leaf_centers: NDArray, shift: NDArray, labels: NDArray | None = None
) -> Survey:
    """Measure the leaves in one walk; labels of −1 are filled in, others are compared."""
    rowwise = () if labels is None else (labels,)
    return data.reduce(_survey_block, way, leaf_centers.astype(np.float64), shift, rowwise=rowwise)


def _survey_block(
    block: Block, way: Router, centers: NDArray, shift: NDArray, labels: NDArray | None = None
) -> Survey:
    routed = route(block, way)
    n_misrouted = 0
    if labels is not None:
        unknown = labels < 0
        labels[unknown] = routed[unknown]
        n_misrouted = int(np.count_nonzero(labels != routed))
        routed = labels
    leaves = np.zeros(centers.shape), np.zeros(len(centers)), np.zeros(len(centers))
    norms = np.einsum("kd,kd->k", centers, centers)
    scatter = survey_rows(table(block), shift, centers, norms, read_only(routed), leaves)
    return Survey(*leaves, scatter, n_misrouted)


def leaf_rows(data: Rows, way: Router, label: int) -> Rows:
    """The rows of one leaf of a table outside memory: the other rows are there with weight 0."""
    return MappedRows(data, _on_leaf, way, label, has_weight=True, local=False)


def _on_leaf(block: Block, way: Router, label: int) -> Block:
    inside = route(block, way) == label
    return block._replace(weight=np.where(inside, block.weights, 0.0).astype(block.X.dtype))


def _inertias_and_movement(tree: SplitTree, leaves: Survey, centers: Centers) -> tuple[NDArray, float]:
    """Inertias of all nodes about their centres, and how far a split is from its means at most.

    That is Σ ‖mean − centre‖² of both sides, over the mean variance in the node.
    """
    below = tree.paths()
    means = means_of(leaves.sums, leaves.counts, centers.points)
    within = np.maximum(leaves.inertias - leaves.counts * ((means - centers.points) ** 2).sum(axis=1), 0.0)
    weights = below @ leaves.counts
    least = np.maximum(weights, 1e-300)
    node_means = (below @ leaves.sums) / least[:, np.newaxis]
    spread = ((means[np.newaxis] - node_means[:, np.newaxis]) ** 2).sum(axis=2)
    node_within = below @ within + (below * spread) @ leaves.counts
    places = tree.centers.astype(np.float64) - centers.shift
    places[tree.leaves] = centers.points
    squares = ((node_means - places) ** 2).sum(axis=1)
    inertias = node_within + weights * squares
    if not len(tree.split_nodes):
        return inertias, 0.0
    epsilon, sides = float(np.finfo(centers.given.dtype).eps), tree.children[tree.split_nodes]
    rounding = 4.0 * epsilon**2 * ((places + centers.shift) ** 2).sum(axis=1)[sides].sum(axis=1)
    variance = (node_within / least)[tree.split_nodes] / means.shape[1]
    beyond = np.maximum(squares[sides].sum(axis=1) - rounding - 1e-20 * variance, 0.0)
    moves = np.divide(beyond, variance, out=np.where(beyond > 0, np.inf, 0.0), where=variance > 0)
    return inertias, float(moves.max())


def bisecting_certificates(
    tree: SplitTree, leaves: Survey, centers: Centers, *, inertia: float, path: NDArray, tol: float
) -> Certificates:
    """Certificates of a tree that claims these inertias of its nested partitions."""
    measured = measure(leaves.whole, centers)
    inertias, movement = _inertias_and_movement(tree, leaves, centers)
    scale = measured.anova.total or 1.0
    parts = inertias[tree.children[tree.split_nodes]].sum(axis=1)
    measured_path = inertias[0] + np.concatenate([[0.0], np.cumsum(parts - inertias[tree.split_nodes])])
    mismatch = float(np.abs(path - measured_path).max()) if path.shape == measured_path.shape else np.inf
    rise = float(np.diff(path, prepend=path[0]).max())
    return Certificates(
        [
            at_most(
                "Every row is in the leaf that it reaches from the root by the nearer of two centres.",
                "rows off their path",
                leaves.n_misrouted,
                0.0,
                source="Sangnier §2.2",
            ),
            at_most(
                "Both centres of every split are the means of their rows: another update moves none.",
                "movement of the centres",
                movement,
                tol,
                source="Rudi & Şimşekli §7.1.2; Sangnier §2.2",
            ),
            at_most(
                "Each split lowers the inertia, by as much as the tree says.",
                "largest rise or misstatement of the inertia",
                max(rise, mismatch, 0.0) / scale,
                1e-10 * measured.scatter_ratio,
                source="Sangnier Prop. 57",
            ),
            huygens_certificate(measured, inertia),
        ]
    )
