"""Checkerboard biclustering by alternation: row labels, column labels and block values in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Blocks(NamedTuple):
    """Values of the blocks of a checkerboard, and the number of entries of each."""

    values: NDArray
    means: NDArray
    counts: NDArray


class Alternation(NamedTuple):
    """Result of `alternate`: labels and block values at which no half-step improves."""

    row_labels: NDArray
    column_labels: NDArray
    values: NDArray
    trace: list[float]
    n_iter: int
    converged: bool


def alternate(
    X: NDArray,
    row_labels: NDArray,
    column_labels: NDArray,
    shape: tuple[int, int],
    *,
    penalty: float,
    max_iter: int,
    stop: Callable[[NDArray, NDArray, NDArray, int], bool],
) -> Alternation:
    """Lower ½ Σ (x_ij − μ_{k(i) r(j)})² + λ Σ |μ_kr| until the labels stay.

    A row goes to the row cluster that fits it best, then a column to its best column cluster; after each the
    block values are block means, soft-thresholded at λ over the entries of the block. No half-step raises the
    objective.
    """
    total = float((X**2).sum())
    blocks = block_values(X, row_labels, column_labels, shape, penalty)
    trace = [objective_of(blocks, total, penalty)]
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        new_rows = best_labels(X, column_labels, blocks.values, row_labels)
        blocks = block_values(X, new_rows, column_labels, shape, penalty)
        trace.append(objective_of(blocks, total, penalty))
        new_columns = best_labels(X.T, new_rows, blocks.values.T, column_labels)
        blocks = block_values(X, new_rows, new_columns, shape, penalty)
        trace.append(objective_of(blocks, total, penalty))
        converged = bool((new_rows == row_labels).all() and (new_columns == column_labels).all())
        row_labels, column_labels = new_rows, new_columns
        if stop(row_labels, column_labels, blocks.values, n_iter):
            break
    return Alternation(row_labels, column_labels, blocks.values, trace, n_iter, converged)


def block_values(
    X: NDArray, row_labels: NDArray, column_labels: NDArray, shape: tuple[int, int], penalty: float
) -> Blocks:
    """Minimisers for given labels: soft(block mean, λ / entries of the block); 0 for empty blocks."""
    rows_of, columns_of = indicators(row_labels, shape[0]), indicators(column_labels, shape[1])
    counts = np.outer(rows_of.sum(axis=0), columns_of.sum(axis=0))
    means = rows_of.T @ X @ columns_of / np.maximum(counts, 1.0)
    size = np.maximum(np.abs(means) - penalty / np.maximum(counts, 1.0), 0.0)
    return Blocks(np.where(counts > 0, np.sign(means) * size, 0.0), means, counts)


def objective_of(blocks: Blocks, total: float, penalty: float) -> float:
    """½ Σ x² + Σ_kr n_kr (½ μ² − μ x̄) + λ Σ |μ|."""
    fit = blocks.counts * blocks.values * (0.5 * blocks.values - blocks.means)
    return 0.5 * total + float(fit.sum() + penalty * np.abs(blocks.values).sum())


def label_costs(X: NDArray, other_labels: NDArray, values: NDArray) -> NDArray:
    """½ Σ_j (x_ij − μ_{k r(j)})² − ½ Σ_j x_ij² of each row i in each cluster k."""
    others = indicators(other_labels, values.shape[1])
    costs: NDArray = 0.5 * (values**2) @ others.sum(axis=0) - (X @ others) @ values.T
    return costs


def best_labels(X: NDArray, other_labels: NDArray, values: NDArray, labels: NDArray) -> NDArray:
    """Cluster of least cost; a row stays where it is unless another is better by more than rounding."""
    costs = label_costs(X, other_labels, values)
    best = costs.argmin(axis=1)
    at = np.arange(len(X))
    room = 1e-12 * (np.abs(costs).max(axis=1) + 0.5 * (X**2).sum(axis=1))
    better = costs[at, best] < costs[at, labels] - room
    return np.where(better, best, labels)


def indicators(labels: NDArray, n_clusters: int) -> NDArray:
    """One column a cluster, with 1 for its members."""
    result: NDArray = (labels[:, np.newaxis] == np.arange(n_clusters)).astype(np.float64)
    return result


def random_labels(n_items: int, n_clusters: int, random: Any) -> NDArray:
    """Labels of equal frequency in random order: no cluster is empty."""
    labels: NDArray = random.permutation(np.arange(n_items) % n_clusters)
    return labels
