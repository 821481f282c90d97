"""Convex clustering with unit weights and q = 1: each coordinate in closed form, by sorting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from assay import parameters
from assay.cluster.convex import solver as fusion
from assay.cluster.convex.graph import Graph, Nodes, largest_useful_penalty
from assay.cluster.convex.loops import make_feasible
from assay.cluster.convex.solver import NORMS, Fusion, FusionGap, FusionProblem


def sorted_centroids(rows: NDArray, mass: NDArray, penalty: float) -> NDArray:
    """Minimiser of ½ Σ s_i ‖x_i − μ_i‖² + λ Σ_{i<j} s_i s_j ‖μ_i − μ_j‖₁, in O(n log n) per coordinate.

    The centroids of a coordinate keep the order of its values, and where the order is kept the penalty is
    linear: sorted values move by λ times the weight above minus the weight below, and an isotonic regression
    pools those that would pass one another.
    """
    centroids = np.empty_like(rows)
    for column, values in enumerate(rows.T):
        order = np.argsort(values, kind="stable")
        moved = values[order] - penalty * _weight_below_less_above(mass[order])
        centroids[order, column] = isotonic_regression(moved, weights=mass[order]).x
    return centroids


def sorted_gap(rows: NDArray, mass: NDArray, penalty: float, centroids: NDArray) -> FusionGap:
    """Duality gap at any centroids, in O(n log n) per coordinate.

    A force g on the rows is a sum of feasible forces of pairs exactly when it sums to 0 and
    Σ_A g ≤ λ s(A) s(Aᶜ) for the sets A of largest g/s; the forces s (x − μ) are scaled down until it does.
    """
    primal = gap = 0.0
    total = mass.sum()
    for values, points in zip(rows.T, centroids.T, strict=True):
        order = np.argsort(points, kind="stable")
        terms = mass[order] * _weight_below_less_above(mass[order])
        penalised = penalty * float(terms @ (points[order] - points.mean()))
        pull = values - points
        pull = pull - mass @ pull / total
        order = np.argsort(-pull, kind="stable")
        sums, weights = np.cumsum(mass[order] * pull[order])[:-1], np.cumsum(mass[order])[:-1]
        room = penalty * weights * (total - weights)
        over = float(np.max(sums / np.maximum(room, 1e-300), initial=1.0))
        pull = pull / over
        primal += 0.5 * float(mass @ (values - points) ** 2) + penalised
        gap += max(penalised - float((mass * pull) @ (points - points.mean())), 0.0)
        gap += 0.5 * float(mass @ (points - values + pull) ** 2)
    return FusionGap(primal, gap)


def sorted_penalty_max(rows: NDArray, mass: NDArray) -> float:
    """Least penalty that fuses all rows: from it on, no set of the largest values can pull away.

    It is the largest Σ_A s (x − x̄) / (s(A) s(Aᶜ)) over features and over sets A of the largest values.
    """
    largest, total = 0.0, mass.sum()
    for values in rows.T:
        order = np.argsort(-values, kind="stable")
        centred = values[order] - mass @ values / total
        sums, weights = np.cumsum(mass[order] * centred)[:-1], np.cumsum(mass[order])[:-1]
        largest = max(largest, float(np.max(sums / (weights * (total - weights)), initial=0.0)))
    return largest


def equal_rows(centroids: NDArray) -> NDArray:
    """Number of the group of exactly equal rows that each row belongs to."""
    labels: NDArray = np.unique(centroids, axis=0, return_inverse=True)[1]
    return labels.ravel().astype(np.int64)


def _weight_below_less_above(mass: NDArray) -> NDArray:
    upto = np.cumsum(mass)
    return np.asarray((upto - mass) - (upto[-1] - upto))


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
        self, penalty: float, start: NDArray | None, tol: float, max_iter: int, stop: Stop = fusion.never
    ) -> Fusion:
        """Minimise, from a dual point of another penalty."""
        return fusion.fuse(self.at(penalty), start, tol=tol, max_iter=max_iter, stop=stop)

    def gap(self, penalty: float, centroids: NDArray, dual: NDArray) -> FusionGap:
        """Duality gap between centroids and the nearest feasible point to a dual one."""
        problem, feasible = self.at(penalty), np.array(dual, dtype=np.float64)
        fusion.check_dual(feasible, (len(problem.edges), problem.rows.shape[1]), "dual_")
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
        return sorted_penalty_max(self.nodes.rows, self.nodes.mass)

    def solve(
        self, penalty: float, start: NDArray | None, tol: float, max_iter: int, stop: Stop = fusion.never
    ) -> Fusion:
        """Minimise in closed form."""
        centroids = sorted_centroids(self.nodes.rows, self.nodes.mass, penalty)
        no_dual = np.empty((0, centroids.shape[1]))
        gap = self.gap(penalty, centroids, no_dual)
        stop(centroids, 1)
        return Fusion(centroids, equal_rows(centroids), gap, no_dual, 1, True, [gap.relative])

    def gap(self, penalty: float, centroids: NDArray, dual: NDArray) -> FusionGap:
        """Duality gap at the forces that the centroids imply."""
        return sorted_gap(self.nodes.rows, self.nodes.mass, penalty, centroids)

    def separations(self, penalty: float, centroids: NDArray, labels: NDArray) -> NDArray:
        """None: the solution is exact, and nothing was judged to be equal."""
        return np.empty(0)


ConvexProblem: TypeAlias = GraphProblem | SortedProblem


@dataclass(frozen=True, slots=True)
class ConvexPath:
    """Centroids of every row along increasing penalties.

    Parameters
    ----------
    penalties : array of shape (n_penalties,)
        In increasing order.
    centroids : array of shape (n_penalties, n_samples, n_features)
        Fitted points.
    labels : array of int32 of shape (n_penalties, n_samples)
        Clusters at each penalty, numbered by their first rows.
    gaps : array of shape (n_penalties,)
        Relative duality gap of each fit.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import ConvexClustering
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> path = ConvexClustering(norm="l1", weights="uniform").path(X, [0.0, 1.0, 6.0])
    >>> path.n_clusters
    array([4, 2, 1], dtype=int32)
    >>> path.linkage()[:, 2]
    array([1., 1., 6.])
    """

    penalties: NDArray
    centroids: NDArray
    labels: NDArray
    gaps: NDArray

    @property
    def n_clusters(self) -> NDArray:
        """Number of clusters at each penalty."""
        return self.labels.max(axis=1) + 1

    def linkage(self) -> NDArray:
        """The fusions as a linkage matrix in SciPy's layout; heights are the penalties where they happen.

        Rows once fused stay so, also where the path parts them again for a while (which general weights
        allow). The last penalty must make one cluster of all rows.

        Returns
        -------
        linkage : array of shape (n_samples − 1, 4)
        """
        if self.labels[-1].any():
            raise ValueError(
                f"The path ends with {int(self.n_clusters[-1])} clusters but a dendrogram needs one: let the "
                "last penalty be at least penalty_max(X), with weights that join all rows."
            )
        n_samples = self.labels.shape[1]
        parents = np.arange(2 * n_samples - 1)
        sizes = np.ones(2 * n_samples - 1, dtype=np.int64)
        merges: list[tuple[float, float, float, float]] = []
        for penalty, labels in zip(self.penalties, self.labels, strict=True):
            order = np.argsort(labels, kind="stable")
            together = labels[order[:-1]] == labels[order[1:]]
            for row, following in zip(order[:-1][together], order[1:][together], strict=True):
                low, high = sorted((_root(parents, row), _root(parents, following)))
                if low == high:
                    continue
                new = n_samples + len(merges)
                parents[[low, high]] = new
                sizes[new] = sizes[low] + sizes[high]
                merges.append((low, high, float(penalty), int(sizes[new])))
        return np.array(merges, dtype=np.float64).reshape(-1, 4)


def path_penalties(problem: ConvexProblem, penalties: Any) -> NDArray:
    """The given penalties in increasing order, or 0 and 40 on a logarithmic scale to the largest useful."""
    if penalties is None:
        low, high = problem.penalty_max(bridges=False), problem.penalty_max()
        return np.concatenate([[0.0], np.geomspace(1e-3 * low, high, 40) if low > 0 else [1.0]])
    values = np.sort(np.asarray(penalties, dtype=np.float64).ravel())
    if not values.size or not np.isfinite(values).all() or values[0] < 0.0:
        must_be = "finite numbers at least 0, one or more"
        raise parameters.refusal("ConvexClustering.path", "penalties", must_be, penalties)
    return values


def _root(parents: NDArray, node: int) -> int:
    """The cluster that holds a node now; the way to it is shortened."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return int(node)
