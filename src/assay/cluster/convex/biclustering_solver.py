"""Convex biclustering: Dykstra-like alternation of row and column fusion, and the joint duality gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.cluster.convex import loops
from assay.cluster.convex import solver as fusion
from assay.cluster.convex.graph import Graph, Nodes, largest_useful_penalty, neighbor_graph
from assay.cluster.convex.solver import FusionGap, FusionProblem, components, never, proven_share, separations

FIRST_STEPS, MOST_STEPS = 20, 400
EXTRA_PASSES = 10


class FusionSide(NamedTuple):
    """The graph of the rows, or of the columns: edges and the penalty of each."""

    edges: NDArray
    radii: NDArray


Sides: TypeAlias = tuple[FusionSide, FusionSide]
Duals: TypeAlias = tuple[NDArray, NDArray]


class Checkerboard(NamedTuple):
    """A matrix that is constant on the blocks of row and column clusters, and its gap."""

    fitted: NDArray
    row_labels: NDArray
    column_labels: NDArray
    gap: FusionGap


class Cobra(NamedTuple):
    """Result of `cobra`: the checkerboard, the dual points that prove it, and how it was reached."""

    board: Checkerboard
    row_dual: NDArray
    column_dual: NDArray
    n_iter: int
    converged: bool
    trace: list[float]


def cobra(
    X: NDArray,
    rows: FusionSide,
    columns: FusionSide,
    start: tuple[NDArray, NDArray] | None = None,
    *,
    tol: float,
    max_iter: int,
    prove: bool = True,
    stop: Callable[[Checkerboard, int], bool] = never,
) -> Cobra:
    """Minimise ½‖X − U‖² + Σ r_ab ‖U_a· − U_b·‖ + Σ c_ab ‖U_·a − U_·b‖ by fusing rows and columns in turn.

    Each pass fuses the rows of X minus the forces of the columns, then the columns of X minus the forces of
    the rows: Dykstra's corrections are those forces. The dual rises at every pass. Converged when the exactly
    fused matrix has a gap of at most `tol` times the objective; with `prove` the passes go on for up to
    half as long again while the gap does not prove all clusters to be apart.
    """
    if start is None:
        start = np.zeros((len(rows.edges), X.shape[1])), np.zeros((len(columns.edges), X.shape[0]))
    sides = rows, columns
    row_dual, column_dual = duals = start[0].copy(), start[1].copy()
    loops.make_feasible(rows.radii, row_dual, loops.TWO)
    loops.make_feasible(columns.radii, column_dual, loops.TWO)
    n_iter, n_steps, trace, stopped, last = 0, FIRST_STEPS, [], False, max_iter
    while True:
        board = _merge_the_inseparable(X, sides, duals, fused_board(X, sides, duals), tol)
        trace.append(board.gap.relative)
        converged = board.gap.relative <= tol
        if converged:
            last = min(last, n_iter + n_iter // 2 + EXTRA_PASSES)
            proven = not prove or proven_share(board_separations(rows, columns, board), board.gap) == 1.0
        if stopped or n_iter >= (last if converged else max_iter) or (converged and proven):
            return Cobra(board, *duals, n_iter, converged, trace)
        _ascend(X - forces_of(columns, column_dual, X.shape[1]).T, rows, row_dual, n_steps)
        _ascend((X - forces_of(rows, row_dual, X.shape[0])).T, columns, column_dual, n_steps)
        n_iter += 1
        n_steps = min(n_steps + 2, MOST_STEPS)
        stopped = stop(board, n_iter)


def forces_of(side: FusionSide, dual: NDArray, n_nodes: int) -> NDArray:
    """Net force on every row (or column)."""
    forces = np.empty((n_nodes, dual.shape[1]))
    loops.gather(side.edges, dual, forces)
    return forces


def joint_gap(X: NDArray, sides: Sides, fitted: NDArray, duals: Duals) -> FusionGap:
    """Gap between the objective at any matrix and the dual value at feasible points: no term is negative."""
    apart = fitted - dual_matrix(X, sides, duals)
    primal, gap = 0.5 * ((X - fitted) ** 2).sum(), 0.5 * (apart**2).sum()
    for side, dual, matrix in zip(sides, duals, (fitted, np.ascontiguousarray(fitted.T)), strict=True):
        penalty, slack = loops.edge_terms(matrix, *side, dual, loops.TWO)
        primal, gap = primal + penalty, gap + slack
    return FusionGap(float(primal), float(gap))


def dual_matrix(X: NDArray, sides: Sides, duals: Duals) -> NDArray:
    """X minus all forces: the minimiser of the Lagrangian."""
    of_rows, of_columns = map(forces_of, sides, duals, X.shape)
    return np.asarray(X - of_rows - of_columns.T)


def fused_board(X: NDArray, sides: Sides, duals: Duals) -> Checkerboard:
    """The matrix made constant on the blocks that dual vectors strictly inside their balls fuse."""
    row_labels, column_labels = map(_fused, sides, duals, X.shape)
    fitted = block_averaged(dual_matrix(X, sides, duals), row_labels, column_labels)
    return Checkerboard(fitted, row_labels, column_labels, joint_gap(X, sides, fitted, duals))


def block_averaged(matrix: NDArray, row_labels: NDArray, column_labels: NDArray) -> NDArray:
    """Each entry replaced by the mean of its block."""
    averaged = _averaged_rows(matrix, row_labels)
    return np.ascontiguousarray(_averaged_rows(averaged.T, column_labels).T)


def board_separations(rows: FusionSide, columns: FusionSide, board: Checkerboard) -> NDArray:
    """Separations of the row clusters, then of the column clusters, that an edge joins."""
    of_rows = separations(_as_problem(board.fitted, rows), board.fitted, board.row_labels)[1]
    across = board.fitted.T
    return np.append(of_rows, separations(_as_problem(across, columns), across, board.column_labels)[1])


def _merge_the_inseparable(
    X: NDArray, sides: Sides, duals: Duals, board: Checkerboard, tol: float
) -> Checkerboard:
    """Join clusters that the gap cannot tell apart, when the joined matrix is as good as was asked."""
    while board.gap.relative <= tol:
        row_labels = _joined(board.fitted, sides[0], board.row_labels, 2.0 * board.gap.gap)
        column_labels = _joined(board.fitted.T, sides[1], board.column_labels, 2.0 * board.gap.gap)
        if row_labels.max() == board.row_labels.max() and column_labels.max() == board.column_labels.max():
            break
        fitted = block_averaged(board.fitted, row_labels, column_labels)
        gap = joint_gap(X, sides, fitted, duals)
        if gap.relative > tol:
            break
        board = Checkerboard(fitted, row_labels, column_labels, gap)
    return board


def _joined(matrix: NDArray, side: FusionSide, labels: NDArray, reach: float) -> NDArray:
    pairs, apart = separations(_as_problem(matrix, side), matrix, labels)
    return components(int(labels.max()) + 1, pairs[apart <= reach])[labels]


def _as_problem(matrix: NDArray, side: FusionSide) -> FusionProblem:
    return FusionProblem(matrix, np.ones(len(matrix)), side.edges, side.radii, "l2")


def _fused(side: FusionSide, dual: NDArray, n_nodes: int) -> NDArray:
    inside = np.empty(len(side.radii), dtype=np.bool_)
    loops.inside_balls(side.radii, dual, fusion.ROOM, loops.TWO, inside)
    return components(n_nodes, side.edges[inside])


def _averaged_rows(matrix: NDArray, labels: NDArray) -> NDArray:
    members = (labels == np.arange(labels.max() + 1)[:, np.newaxis]).astype(np.float64)
    means: NDArray = members @ matrix / members.sum(axis=1)[:, np.newaxis]
    return means[labels]


def _ascend(target: NDArray, side: FusionSide, dual: NDArray, n_steps: int) -> None:
    """Accelerated dual steps of convex clustering of the rows of `target`, in place."""
    target = np.ascontiguousarray(target)
    degrees = np.bincount(side.edges.ravel(), minlength=len(target)).astype(np.float64)
    steps = 1.0 / (degrees[side.edges[:, 0]] + degrees[side.edges[:, 1]])
    graph = loops.FusionEdges(target, np.ones(len(target)), side.edges, side.radii)
    loops.ascend(graph, steps, dual, dual.copy(), np.empty_like(target), 1.0, n_steps, loops.TWO)


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Errors at entries that the fits did not see.

    Parameters
    ----------
    row_penalties, column_penalties : arrays of shape (n_candidates,)
        The candidates, in increasing order.
    errors : array of shape (n_candidates,)
        Mean squared error at the held-out entries of the means of the entries seen in their blocks.
    standard_errors : array of shape (n_candidates,)
        Of those means.
    """

    row_penalties: NDArray
    column_penalties: NDArray
    errors: NDArray
    standard_errors: NDArray

    @property
    def best(self) -> tuple[float, float]:
        """Row and column penalty: the largest whose error is within a standard error of the least."""
        least = int(np.argmin(self.errors))
        at = int(np.flatnonzero(self.errors <= self.errors[least] + self.standard_errors[least])[-1])
        return float(self.row_penalties[at]), float(self.column_penalties[at])


class Completion(NamedTuple):
    """Result of `complete`: the last fit, the completed matrix, and the objective on the entries seen."""

    fit: Cobra
    filled: NDArray
    trace: list[float]


class SideGraph(NamedTuple):
    """The weights of one side, and the penalty from which its components are single clusters."""

    graph: Graph
    penalty_max: float

    def at(self, penalty: float) -> FusionSide:
        """The side at one penalty."""
        return FusionSide(self.graph.edges, penalty * self.graph.weights)


def side_graph(matrix: NDArray, n_neighbors: int, gamma: float | None) -> SideGraph:
    """Gaussian weights of the nearest rows of a matrix."""
    mean = matrix.mean(axis=0)
    nodes = Nodes(matrix - mean, np.ones(len(matrix)), mean, np.arange(len(matrix)))
    graph = neighbor_graph(nodes.rows, n_neighbors, gamma)
    return SideGraph(graph, largest_useful_penalty(nodes, graph, "l2", bridges=False))


def complete(
    X: NDArray,
    seen: NDArray,
    rows: FusionSide,
    columns: FusionSide,
    start: NDArray,
    *,
    tol: float,
    max_iter: int,
) -> Completion:
    """Fit the entries that `seen` marks: unseen ones are filled from the last fit, and the fit is repeated.

    Filling majorises: ½ Σ_seen (x − u)² ≤ ½‖filled − u‖², with equality at the last fit. The objective on the
    entries seen therefore never rises.
    """
    filled, trace, duals = np.where(seen, X, start), [], None
    for _ in range(max_iter):
        fit = cobra(filled, rows, columns, duals, tol=0.01 * tol, max_iter=1000, prove=False)
        duals = fit.row_dual, fit.column_dual
        trace.append(_seen_objective(X, seen, rows, columns, fit.board))
        moved = np.where(seen, X, fit.board.fitted)
        change = float(((moved - filled) ** 2).sum())
        filled = moved
        if change <= tol * float((X[seen] ** 2).sum()):
            break
    return Completion(fit, filled, trace)


def hold_out(
    X: NDArray, seen: NDArray, shares: NDArray, n_neighbors: int, gamma: float | None, *, tol: float
) -> HoldOut:
    """Error at the unseen entries for penalties that are these shares of the largest useful ones."""
    start = additive_fill(X, seen)
    filled = np.where(seen, X, start)
    row_side, column_side = side_graph(filled, n_neighbors, gamma), side_graph(filled.T, n_neighbors, gamma)
    errors, spreads = np.empty(len(shares)), np.empty(len(shares))
    for candidate, share in enumerate(shares):
        rows = row_side.at(share * row_side.penalty_max)
        columns = column_side.at(share * column_side.penalty_max)
        completion = complete(X, seen, rows, columns, start, tol=tol, max_iter=30)
        squares = (refitted(X, seen, completion.fit.board) - X)[~seen] ** 2
        errors[candidate], spreads[candidate] = squares.mean(), squares.std() / np.sqrt(squares.size)
    return HoldOut(shares * row_side.penalty_max, shares * column_side.penalty_max, errors, spreads)


def refitted(X: NDArray, seen: NDArray, board: Checkerboard) -> NDArray:
    """Means of the entries seen in each block, which no penalty draws together; else the fit."""
    n_blocks = int(board.column_labels.max()) + 1
    block = board.row_labels[:, np.newaxis] * n_blocks + board.column_labels
    counts = np.bincount(block[seen], minlength=int(block.max()) + 1)
    sums = np.bincount(block[seen], X[seen], minlength=int(block.max()) + 1)
    means = (sums / np.maximum(counts, 1))[block]
    return np.asarray(np.where(counts[block] > 0, means, board.fitted))


def additive_fill(X: NDArray, seen: NDArray) -> NDArray:
    """Row mean + column mean − mean, of the entries seen."""
    mean = X[seen].mean()
    centred = np.where(seen, X - mean, 0.0)
    of_rows, of_columns = (centred.sum(axis=axis) / np.maximum(seen.sum(axis=axis), 1) for axis in (1, 0))
    return np.asarray(mean + of_rows[:, np.newaxis] + of_columns)


def _seen_objective(
    X: NDArray, seen: NDArray, rows: FusionSide, columns: FusionSide, board: Checkerboard
) -> float:
    fitted = board.fitted
    row_drops = np.linalg.norm(fitted[rows.edges[:, 0]] - fitted[rows.edges[:, 1]], axis=1)
    column_drops = np.linalg.norm(fitted[:, columns.edges[:, 0]] - fitted[:, columns.edges[:, 1]], axis=0)
    penalty = rows.radii @ row_drops + columns.radii @ column_drops
    return float(0.5 * ((X - fitted)[seen] ** 2).sum() + penalty)
