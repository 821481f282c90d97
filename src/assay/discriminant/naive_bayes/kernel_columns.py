"""Kernel densities of single columns: rows are shared out to the nodes of a grid, and the grid is smoothed.

The rows themselves are not kept, so that the statistics add up over any source of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.discriminant.naive_bayes.binned_columns import (
    Bins,
    HistogramFamily,
    column_ranges,
    merge_ranges,
    open_ranges,
)
from assay.discriminant.naive_bayes.columns import Array, ColumnLaws, Share
from assay.discriminant.naive_bayes.loops import share_to_nodes
from assay.kernel_sums import KernelSums
from assay.rows import Rows

N_NODES = 257
"""Nodes of the grid of a column."""

MARGIN = 0.2
"""What the grid has beyond the rows on either side, as a share of their range."""


class KernelLaws(ColumnLaws):
    """A density given at the nodes of a grid and linear between them; beyond the ends as at the ends.

    Attributes
    ----------
    nodes : array of shape (d, G)
    heights : array of shape (K, d, G)
        Densities at the nodes, of integral 1 by the rule of trapezes, which is exact for them.
    """

    def __init__(self, nodes: Array, heights: Array) -> None:
        self.nodes, self.heights, self.n_classes = nodes, heights, len(heights)

    @property
    def numbers(self) -> dict[str, Any]:
        """What the laws are built from."""
        return {"nodes": self.nodes, "heights": self.heights}

    def log_density(self, X: Array) -> NDArray:
        """Σ_j log p̂_kj(x_j)."""
        total = np.zeros((len(X), self.n_classes))
        for j, nodes in enumerate(self.nodes):
            there = ~np.isnan(X[:, j])
            for k in range(self.n_classes):
                total[there, k] += np.log(np.interp(X[there, j], nodes, self.heights[k, j]))
        return total

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """A node by its share of the mass, then the triangle about it."""
        X = np.empty((len(codes), len(self.nodes)))
        for j, nodes in enumerate(self.nodes):
            steps = np.cumsum(self.heights[:, j], axis=1)
            steps /= steps[:, -1:]
            places = np.sum(rng.random(len(codes))[:, None] >= steps[codes, :-1], axis=1)
            shifts = rng.triangular(-1.0, 0.0, 1.0, len(codes)) * (nodes[1] - nodes[0])
            X[:, j] = np.clip(nodes[places] + shifts, nodes[0], nodes[-1])
        return X

    @property
    def integrals(self) -> Array:
        """Integral of each density."""
        return np.asarray(np.trapezoid(self.heights, self.nodes[None], axis=2))


class NodeCounts(NamedTuple):
    """Weights by class, column and node: each row is shared out to the two nodes beside it."""

    counts: Array


class KernelFamily(HistogramFamily):
    """Gaussian kernel densities of single columns, with Silverman's bandwidth 0.9 min(s, IQR/1.34) n^(−1/5).

    `alpha` rows spread evenly over the grid keep the density of each class above 0.
    """

    name = "kernel"

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha, N_NODES - 1)

    def prepare(self, data: Rows, columns: NDArray[np.intp], n_classes: int) -> Bins:
        """What the walk begins with."""
        low, high = open_ranges(*data.reduce(column_ranges, columns, combine=merge_ranges))
        room = MARGIN * (high - low)
        return Bins(np.linspace(low - room, high + room, N_NODES, axis=1))

    def gather(self, share: Share, state: Bins) -> NodeCounts:  # type: ignore[override]
        """Statistics of one block."""
        counts = np.zeros((share.n_classes, *state.edges.shape))
        share_to_nodes(share.X, share.codes, share.weights, state.edges, counts)
        return NodeCounts(counts)

    def estimate(self, statistics: NodeCounts, state: Bins) -> KernelLaws:  # type: ignore[override]
        """The laws of the columns."""
        nodes = state.edges
        heights = np.empty(statistics.counts.shape)
        for k, of_class in enumerate(statistics.counts):
            for j, counts in enumerate(of_class):
                heights[k, j] = self.density(nodes[j], counts)
        return KernelLaws(nodes, heights)

    def density(self, nodes: Array, counts: Array) -> Array:
        """The density of one column in one class at the nodes, of integral 1."""
        total, length = float(counts.sum()), nodes[-1] - nodes[0]
        even = np.full(len(nodes), 1.0 / length)
        if total == 0:
            return even
        sums = KernelSums(nodes[:, None], "gaussian", bandwidth(nodes, counts), values=counts / total)
        smooth = np.asarray(sums(nodes[:, None]))
        smooth = smooth / np.trapezoid(smooth, nodes)
        alpha = max(self.alpha, 1e-10)
        return np.asarray((total * smooth + alpha * even) / (total + alpha))

    def gradient(self, laws: KernelLaws, statistics: NodeCounts, state: Bins) -> float:  # type: ignore[override]
        """How far the integrals are from 1: the bandwidth is a rule, no maximum of the likelihood."""
        return float(np.abs(laws.integrals - 1.0).max(initial=0.0))


def bandwidth(nodes: Array, counts: Array) -> float:
    """Silverman's rule from weights on a grid; one step of the grid at least."""
    total = counts.sum()
    mean = counts @ nodes / total
    deviation = np.sqrt(counts @ (nodes - mean) ** 2 / total)
    quartiles = np.interp([0.25, 0.75], np.cumsum(counts) / total, nodes)
    spread = (quartiles[1] - quartiles[0]) / 1.34
    scale = min(deviation, spread) if spread > 0 else deviation
    return float(max(0.9 * scale * total**-0.2, nodes[1] - nodes[0]))
