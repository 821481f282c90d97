"""Convex clustering of weighted nodes on a graph: the iteration, the fused centroids, the duality gap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from assay.certificates import Certificate, at_least, at_most
from assay.cluster.convex import loops

NORMS = {"l2": loops.TWO, "l1": loops.ONE, "linf": loops.INFINITY}
ROOM = 1e-7
"""A dual vector this much (relatively) inside its ball counts as strictly inside."""

STEPS_BETWEEN_GAPS = 20
EXTRA_STEPS = 50


class FusionProblem(NamedTuple):
    """½ Σ_i s_i ‖x_i − μ_i‖² + Σ_l r_l ‖μ_a − μ_b‖_q over the edges l = (a, b).

    `rows` are about their mean, `mass` is s > 0, `radii` are r ≥ 0, and `norm` is "l2", "l1" or "linf".
    """

    rows: NDArray
    mass: NDArray
    edges: NDArray
    radii: NDArray
    norm: str


class FusionGap(NamedTuple):
    """A primal value and how far above a dual value it stands."""

    primal: float
    gap: float

    @property
    def relative(self) -> float:
        """The gap over the primal value."""
        return self.gap / self.primal if self.primal > 0.0 else self.gap


class FusedPoint(NamedTuple):
    """Centroids that are exactly equal within the clusters that `labels` number, and their gap."""

    centroids: NDArray
    labels: NDArray
    gap: FusionGap


class Fusion(NamedTuple):
    """Result of `fuse`: the fused point, the dual point that proves it, and how it was reached."""

    centroids: NDArray
    labels: NDArray
    gap: FusionGap
    dual: NDArray
    n_iter: int
    converged: bool
    trace: list[float]


def never(centroids: Any, n_iter: int) -> bool:
    """Let the iteration go on."""
    return False


def fuse(
    problem: FusionProblem,
    start: NDArray | None = None,
    *,
    tol: float,
    max_iter: int,
    stop: Callable[[NDArray, int], bool] = never,
) -> Fusion:
    """Minimise by the accelerated alternating minimisation algorithm until the fused point is proven good.

    The dual maximises −½ Σ_i ‖f_i‖²/s_i + Σ_l ν_l·(x_a − x_b) over ‖ν_l‖_* ≤ r_l, f_i the net force of the
    edges on node i; centroids are x_i − f_i/s_i. Each edge has its own step, 1/(deg_a/s_a + deg_b/s_b). Nodes
    joined by an edge with ν strictly inside its ball are fused. Converged when the point that is exactly
    equal on each component of fused nodes has a gap of at most `tol` times the objective. While the gap does
    not prove all components to be apart in the minimiser, the iteration goes on for up to half as long again.
    """
    code = NORMS[problem.norm]
    rows, mass, edges, radii = graph = loops.FusionEdges(*problem[:4])
    dual = np.zeros((len(edges), rows.shape[1])) if start is None else start.copy()
    loops.make_feasible(radii, dual, code)
    degrees = np.bincount(edges.ravel(), minlength=len(rows)) / mass
    steps = 1.0 / (degrees[edges[:, 0]] + degrees[edges[:, 1]])
    ahead, room, momentum = dual.copy(), np.empty_like(rows), 1.0
    n_iter, trace, stopped, last = 0, [], False, max_iter
    while True:
        point = fused_point(problem, dual)
        trace.append(point.gap.relative)
        converged = point.gap.relative <= tol
        if converged:
            last = min(last, n_iter + n_iter // 2 + EXTRA_STEPS)
            point = _merge_the_inseparable(problem, dual, point, tol)
            proven = proven_share(separations(problem, point.centroids, point.labels)[1], point.gap)
        if stopped or n_iter >= (last if converged else max_iter) or (converged and proven == 1.0):
            break
        n_steps = min(STEPS_BETWEEN_GAPS + n_iter // 10, max_iter - n_iter)
        momentum = loops.ascend(graph, steps, dual, ahead, room, momentum, n_steps, code)
        n_iter += n_steps
        stopped = stop(point.centroids, n_iter)
    return Fusion(*point, dual, n_iter, converged, trace)


def fused_point(problem: FusionProblem, dual: NDArray) -> FusedPoint:
    """Centroids made equal on the components of fused nodes, the components, and the gap of that point."""
    inside = np.empty(len(problem.radii), dtype=np.bool_)
    loops.inside_balls(problem.radii, dual, ROOM, NORMS[problem.norm], inside)
    labels = components(len(problem.rows), problem.edges[inside])
    centroids = averaged(dual_centroids(problem, dual), problem.mass, labels)
    return FusedPoint(centroids, labels, duality_gap(problem, centroids, dual))


def dual_centroids(problem: FusionProblem, dual: NDArray) -> NDArray:
    """x_i − f_i/s_i: the minimiser of the Lagrangian."""
    forces = np.empty_like(problem.rows)
    loops.gather(problem.edges, dual, forces)
    forces /= problem.mass[:, np.newaxis]
    return np.subtract(problem.rows, forces, out=forces)


def duality_gap(problem: FusionProblem, centroids: NDArray, dual: NDArray) -> FusionGap:
    """Gap between the objective at any centroids and the dual value at a feasible point.

    It is Σ_l (r_l ‖μ_a − μ_b‖ − ν_l·(μ_a − μ_b)) + ½ Σ_i s_i ‖μ_i − x_i + f_i/s_i‖²: a sum of terms that are
    not negative, so that nothing cancels.
    """
    penalty, slack = loops.edge_terms(centroids, problem.edges, problem.radii, dual, NORMS[problem.norm])
    apart = ((centroids - dual_centroids(problem, dual)) ** 2).sum(axis=1)
    fit = ((centroids - problem.rows) ** 2).sum(axis=1)
    return FusionGap(float(0.5 * problem.mass @ fit + penalty), float(slack + 0.5 * problem.mass @ apart))


def separations(problem: FusionProblem, centroids: NDArray, labels: NDArray) -> tuple[NDArray, NDArray]:
    """Pairs of different clusters joined by an edge, and s_C s_D/(s_C + s_D) ‖μ_C − μ_D‖² of each.

    The objective is strongly convex: a point with gap g is within Σ s_i ‖μ_i − μ*_i‖² ≤ 2g of the minimiser.
    Clusters C and D whose number exceeds 2g are therefore apart in the minimiser too.
    """
    pairs = labels[problem.edges[problem.radii > 0.0]]
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0).reshape(-1, 2)
    mass = np.bincount(labels, problem.mass)
    centers = np.empty((len(mass), centroids.shape[1]))
    centers[labels] = centroids
    apart = ((centers[pairs[:, 0]] - centers[pairs[:, 1]]) ** 2).sum(axis=1)
    first, second = mass[pairs[:, 0]], mass[pairs[:, 1]]
    return pairs, apart * first * second / (first + second)


def proven_share(apart: NDArray, gap: FusionGap) -> float:
    """Share of the separations that exceed what the gap allows for; 1 when there are none."""
    return float(np.mean(apart > 2.0 * gap.gap)) if apart.size else 1.0


def _merge_the_inseparable(
    problem: FusionProblem, dual: NDArray, point: FusedPoint, tol: float
) -> FusedPoint:
    """Join clusters that the gap cannot tell apart, when the joined point is as good as was asked."""
    while True:
        pairs, apart = separations(problem, point.centroids, point.labels)
        near = pairs[apart <= 2.0 * point.gap.gap]
        if not near.size:
            return point
        labels = components(int(point.labels.max()) + 1, near)[point.labels]
        centroids = averaged(point.centroids, problem.mass, labels)
        gap = duality_gap(problem, centroids, dual)
        if gap.relative > tol:
            return point
        point = FusedPoint(centroids, labels, gap)


def averaged(points: NDArray, mass: NDArray, labels: NDArray) -> NDArray:
    """Each point replaced by the weighted mean of its component."""
    weight = np.bincount(labels, mass)
    means = np.column_stack([np.bincount(labels, mass * column) / weight for column in points.T])
    single = np.bincount(labels) == 1
    return np.asarray(np.where(single[labels, np.newaxis], points, means[labels]))


def components(n_nodes: int, edges: NDArray) -> NDArray:
    """Number of the connected component of each node."""
    graph: Any = sparse.coo_array(
        (np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes)
    )
    labels: NDArray = connected_components(graph, directed=False)[1]
    return labels.astype(np.int64)


def gap_certificate(gap: FusionGap, bound: float, source: str) -> Certificate:
    """The claim that the objective is near its minimum."""
    claim = "The objective is within this share of the minimum: a feasible dual point proves it."
    return at_most(claim, "relative duality gap", gap.relative, bound, source)


def reported_certificate(reported: tuple[float, float, float], gap: FusionGap, source: str) -> Certificate:
    """The reported objective, gap and relative gap are those of the stored point, up to rounding."""
    claim = "The objective and the gap that the fit reports are those of its centroids and dual point."
    scale = gap.primal if gap.primal > 0.0 else 1.0
    errors = abs(reported[0] - gap.primal) / scale, abs(reported[1] - gap.gap) / scale
    value = max(*errors, abs(reported[2] - gap.relative))
    quantity = "largest error of objective_, dual_gap_, optimality_ over the objective"
    return at_most(claim, quantity, value, 1e-3 * gap.relative + 1e-12, source)


def check_dual(dual: NDArray, shape: tuple[int, int], name: str) -> None:
    """Refuse a stored dual point that is no vector per edge: compiled loops trust its shape."""
    if dual.shape != shape or dual.dtype.kind != "f":
        raise ValueError(
            f"{name} must hold a vector for each edge of the graph of these rows, shape {shape}. "
            f"Got shape {dual.shape}: the rows are others, or the fit was changed."
        )


def apart_certificate(apart: NDArray, gap: FusionGap, claimed: float, source: str) -> Certificate:
    """The claim that clusters are apart in the minimiser: farther than twice the gap allows for."""
    claim = "As large a share as the fit claims of the clusters joined by an edge is apart in the minimiser."
    quantity, value = "share of joined clusters proven apart", proven_share(apart, gap)
    convex = ("the objective is strongly convex, with the weight of a row as modulus",)
    return at_least(claim, quantity, value, claimed, source, assumptions=convex, trivial=0.0, tolerance=1e-12)
