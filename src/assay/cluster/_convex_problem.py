"""The two forms of convex clustering: dual ascent on a graph, and the closed form for unit weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.cluster import _convex_fusion as fusion
from assay.cluster import _convex_sorted as closed
from assay.cluster._convex_fusion import NORMS, Fusion, FusionProblem, Gap
from assay.cluster._convex_graph import Graph, Nodes, largest_useful_penalty
from assay.cluster._convex_loops import make_feasible

Stop: TypeAlias = Callable[[NDArray, int], bool]


class GraphProblem(NamedTuple):
    """Nodes drawn together along the edges of a graph."""

    nodes: Nodes
    graph: Graph
    norm: str

    def at(self, penalty: float) -> FusionProblem:
        """The problem at one penalty."""
        mass, edges = self.nodes.mass, self.graph.edges
        radii = penalty * self.graph.weights * mass[edges[:, 0]] * mass[edges[:, 1]]
        return FusionProblem(self.nodes.rows, mass, edges, radii, self.norm)

    def penalty_max(self, *, bridges: bool = True) -> float:
        """An upper bound on the least penalty that makes each component one cluster."""
        return largest_useful_penalty(self.nodes, self.graph, self.norm, bridges=bridges)

    def solve(
        self, penalty: float, start: NDArray | None, *, tol: float, max_iter: int, stop: Stop
    ) -> Fusion:
        """Minimise, from a dual point of another penalty."""
        return fusion.fuse(self.at(penalty), start, tol=tol, max_iter=max_iter, stop=stop)

    def gap(self, penalty: float, centroids: NDArray, dual: NDArray) -> Gap:
        """Duality gap between centroids and the nearest feasible point to a dual one."""
        problem, feasible = self.at(penalty), np.array(dual, dtype=np.float64)
        make_feasible(problem.radii, feasible, NORMS[self.norm])
        return fusion.duality_gap(problem, centroids, feasible)

    def separations(self, penalty: float, centroids: NDArray, labels: NDArray) -> NDArray:
        """Separations of clusters joined by an edge; see `separations` of the fusion."""
        return fusion.separations(self.at(penalty), centroids, labels)[1]


class SortedProblem(NamedTuple):
    """All pairs with weight 1 and q = 1: each feature on its own, by sorting."""

    nodes: Nodes

    def penalty_max(self, *, bridges: bool = True) -> float:
        """The least penalty that makes one cluster of all rows, exactly."""
        return closed.sorted_penalty_max(self.nodes.rows, self.nodes.mass)

    def solve(
        self, penalty: float, start: NDArray | None, *, tol: float, max_iter: int, stop: Stop
    ) -> Fusion:
        """Minimise in closed form."""
        centroids = closed.sorted_centroids(self.nodes.rows, self.nodes.mass, penalty)
        no_dual = np.empty((0, centroids.shape[1]))
        gap = self.gap(penalty, centroids, no_dual)
        stop(centroids, 1)
        return Fusion(centroids, closed.equal_rows(centroids), gap, no_dual, 1, True, [gap.relative])

    def gap(self, penalty: float, centroids: NDArray, dual: NDArray) -> Gap:
        """Duality gap at the forces that the centroids imply."""
        return closed.sorted_gap(self.nodes.rows, self.nodes.mass, penalty, centroids)

    def separations(self, penalty: float, centroids: NDArray, labels: NDArray) -> NDArray:
        """None: the solution is exact, and nothing was judged to be equal."""
        return np.empty(0)


ConvexProblem: TypeAlias = GraphProblem | SortedProblem
