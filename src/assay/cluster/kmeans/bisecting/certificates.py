"""What a tree of splits proves about itself, from one walk that measures its leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates, at_most
from assay.cluster.kmeans.bisecting.tree import SplitTree, Survey
from assay.cluster.kmeans.centers import Centers, Inspection
from assay.cluster.kmeans.certificates import Measured, huygens_certificate, measure


def leaves_measured(found: Survey, centers: Centers) -> Measured:
    """The decomposition by the leaves, as for any other partition."""
    whole = Inspection(found.sums, found.counts, float(found.inertias.sum()), found.scatter, 0.0)
    return measure(whole, centers)


def node_statistics(
    tree: SplitTree, found: Survey, centers: Centers
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Weights, means (about the shift), inertias about the centres and within inertias of all nodes."""
    below, filled = tree.paths(), found.counts > 0.0
    means = centers.points.copy()
    np.divide(found.sums, found.counts[:, np.newaxis], out=means, where=filled[:, np.newaxis])
    within = np.maximum(found.inertias - found.counts * ((means - centers.points) ** 2).sum(axis=1), 0.0)
    weights = below @ found.counts
    node_means = np.divide(below @ found.sums, np.maximum(weights, 1e-300)[:, np.newaxis])
    spread = ((means[np.newaxis] - node_means[:, np.newaxis]) ** 2).sum(axis=2)
    node_within = below @ within + (below * spread) @ found.counts
    places = tree.centers.astype(np.float64) - centers.shift
    places[tree.leaves] = centers.points
    return weights, node_means, node_within + weights * ((node_means - places) ** 2).sum(axis=1), node_within


def bisecting_certificates(
    tree: SplitTree,
    found: Survey,
    centers: Centers,
    *,
    inertia: float,
    path: NDArray,
    tol: float,
) -> Certificates:
    """Certificates of a tree that claims these inertias of its nested partitions."""
    measured = leaves_measured(found, centers)
    weights, means, inertias, within = node_statistics(tree, found, centers)
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
                found.n_misrouted,
                0.0,
                source="Sangnier §2.2",
            ),
            at_most(
                "Both centres of every split are the means of their rows: another update moves none.",
                "movement of the centres",
                _largest_movement(tree, centers, means, within, weights),
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


def _largest_movement(
    tree: SplitTree, centers: Centers, means: NDArray, within: NDArray, weights: NDArray
) -> float:
    """Over the splits: Σ ‖mean − centre‖² of both sides, over the mean variance in the node."""
    if not len(tree.split_nodes):
        return 0.0
    places = tree.centers.astype(np.float64) - centers.shift
    places[tree.leaves] = centers.points
    epsilon = float(np.finfo(centers.given.dtype).eps)
    squares = ((means - places) ** 2).sum(axis=1)
    lengths = ((places + centers.shift) ** 2).sum(axis=1)
    moves = squares[tree.children[tree.split_nodes]].sum(axis=1)
    rounding = 4.0 * epsilon**2 * lengths[tree.children[tree.split_nodes]].sum(axis=1)
    variance = within[tree.split_nodes] / np.maximum(weights[tree.split_nodes], 1e-300) / means.shape[1]
    beyond = np.maximum(moves - rounding - 1e-20 * variance, 0.0)
    return float(np.divide(beyond, variance, out=np.where(beyond > 0, np.inf, 0.0), where=variance > 0).max())
