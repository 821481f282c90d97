"""Penalties of convex biclustering by hold-out entries: majorise, minimise, compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster.convex.biclustering_solver import Checkerboard, Cobra, Side, cobra
from assay.cluster.convex.graph import Graph, Nodes, largest_useful_penalty, neighbor_graph


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

    def at(self, penalty: float) -> Side:
        """The side at one penalty."""
        return Side(self.graph.edges, penalty * self.graph.weights)


def side_graph(matrix: NDArray, n_neighbors: int, gamma: float | None) -> SideGraph:
    """Gaussian weights of the nearest rows of a matrix."""
    mean = matrix.mean(axis=0)
    nodes = Nodes(matrix - mean, np.ones(len(matrix)), mean, np.arange(len(matrix)))
    graph = neighbor_graph(nodes.rows, n_neighbors, gamma)
    return SideGraph(graph, largest_useful_penalty(nodes, graph, "l2", bridges=False))


def complete(
    X: NDArray, seen: NDArray, rows: Side, columns: Side, start: NDArray, *, tol: float, max_iter: int
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
    X: NDArray, seen: NDArray, shares: NDArray, *, n_neighbors: int, gamma: float | None, tol: float
) -> HoldOut:
    """Error at the unseen entries for penalties that are these shares of the largest useful ones."""
    start = additive_fill(X, seen)
    filled = np.where(seen, X, start)
    row_side, column_side = side_graph(filled, n_neighbors, gamma), side_graph(filled.T, n_neighbors, gamma)
    errors, spreads = np.empty(len(shares)), np.empty(len(shares))
    for candidate, share in enumerate(shares):
        rows = row_side.at(share * row_side.penalty_max)
        columns = column_side.at(share * column_side.penalty_max)
        found = complete(X, seen, rows, columns, start, tol=tol, max_iter=30)
        squares = (refitted(X, seen, found.fit.board) - X)[~seen] ** 2
        errors[candidate], spreads[candidate] = squares.mean(), squares.std() / np.sqrt(squares.size)
    return HoldOut(shares * row_side.penalty_max, shares * column_side.penalty_max, errors, spreads)


def refitted(X: NDArray, seen: NDArray, board: Checkerboard) -> NDArray:
    """Means of the entries seen in each block, which no penalty draws together; else the fit."""
    n_blocks = int(board.column_labels.max()) + 1
    block = board.row_labels[:, np.newaxis] * n_blocks + board.column_labels
    counts = np.bincount(block[seen], minlength=int(block.max()) + 1)
    sums = np.bincount(block[seen], X[seen], minlength=int(block.max()) + 1)
    means = (sums / np.maximum(counts, 1))[block]
    result: NDArray = np.where(counts[block] > 0, means, board.fitted)
    return result


def additive_fill(X: NDArray, seen: NDArray) -> NDArray:
    """Row mean + column mean − mean, of the entries seen."""
    counts = np.maximum(seen.sum(axis=1), 1), np.maximum(seen.sum(axis=0), 1)
    mean = X[seen].mean()
    row_effects = np.where(seen, X - mean, 0.0).sum(axis=1) / counts[0]
    column_effects = np.where(seen, X - mean, 0.0).sum(axis=0) / counts[1]
    result: NDArray = mean + row_effects[:, np.newaxis] + column_effects
    return result


def _seen_objective(X: NDArray, seen: NDArray, rows: Side, columns: Side, board: Checkerboard) -> float:
    fitted = board.fitted
    row_drops = np.linalg.norm(fitted[rows.edges[:, 0]] - fitted[rows.edges[:, 1]], axis=1)
    column_drops = np.linalg.norm(fitted[:, columns.edges[:, 0]] - fitted[:, columns.edges[:, 1]], axis=0)
    return float(
        0.5 * ((X - fitted)[seen] ** 2).sum() + rows.radii @ row_drops + columns.radii @ column_drops
    )
