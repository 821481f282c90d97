"""Normalised matrices and their leading singular vectors, behind the spectral biclusterings."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import svd
from scipy.sparse.linalg import svds
from sklearn.exceptions import ConvergenceWarning

from assay.cluster._kmeans import KMeans

DENSE_SIDE = 400
"""Matrices with a shorter side up to this, or of few times the wanted rank, are decomposed whole."""

SUMS_TOLERANCE, MAX_SCALINGS = 1e-8, 2000


class Scaled(NamedTuple):
    """D_r^(-1/2) X D_c^(-1/2) and the two diagonals (0 where a row or column sums to 0)."""

    matrix: Any
    rows: NDArray
    columns: NDArray


class Singular(NamedTuple):
    """Leading singular values, in falling order, and vectors as columns."""

    left: NDArray
    values: NDArray
    right: NDArray


def scaled(X: Any) -> Scaled:
    """Divide by the roots of the row sums and of the column sums."""
    rows = _inverse_root(np.asarray(X.sum(axis=1), dtype=np.float64).ravel())
    columns = _inverse_root(np.asarray(X.sum(axis=0), dtype=np.float64).ravel())
    if not isinstance(X, np.ndarray):
        return Scaled(sparse.diags_array(rows) @ X @ sparse.diags_array(columns), rows, columns)
    return Scaled(rows[:, np.newaxis] * X * columns, rows, columns)


def bistochastic(X: NDArray) -> tuple[NDArray, float]:
    """Scale rows and columns in turn until all rows have one sum and all columns another.

    Returns the matrix and the largest relative deviation of a sum that is left; rows and columns of zeros
    stay.
    """
    matrix, left = X, np.inf
    for _ in range(MAX_SCALINGS):
        matrix = scaled(matrix).matrix
        left = max(_deviation(matrix.sum(axis=1)), _deviation(matrix.sum(axis=0)))
        if left <= SUMS_TOLERANCE:
            break
    return matrix, left


def log_interactions(X: NDArray) -> NDArray:
    """log(1 + x) minus its row, column and overall means (as in a two-way analysis of variance)."""
    logs = np.log1p(X)
    result: NDArray = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0) + logs.mean()
    return result


def leading_singular(matrix: Any, n_vectors: int, seed: int) -> Singular:
    """The leading singular triplets; signs are fixed by the largest entry of each left vector."""
    side = min(matrix.shape)
    n_vectors = min(n_vectors, side)
    left: Any
    values: Any
    right: Any
    if side <= DENSE_SIDE or 3 * n_vectors > side:
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        left, values, right = svd(dense, full_matrices=False)
    else:
        start = np.random.default_rng(seed).uniform(-1, 1, size=side)
        left, values, right = svds(matrix, k=n_vectors, v0=start, tol=1e-12)
        order = np.argsort(-values)
        left, values, right = left[:, order], values[order], right[order]
    left, values, right = left[:, :n_vectors], values[:n_vectors], right[:n_vectors].T
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(n_vectors)])
    signs[signs == 0] = 1.0
    return Singular(left * signs, values, right * signs)


def singular_residual(matrix: Any, found: Singular) -> float:
    """Largest of ‖A v − σ u‖, ‖Aᵀ u − σ v‖ and of the departure from orthonormal vectors, in units of σ_1."""
    scale = float(found.values[0]) or 1.0
    forward = np.linalg.norm(matrix @ found.right - found.left * found.values, axis=0).max()
    backward = np.linalg.norm(matrix.T @ found.left - found.right * found.values, axis=0).max()
    identity = np.eye(len(found.values))
    crossed = max(
        float(np.abs(found.left.T @ found.left - identity).max()),
        float(np.abs(found.right.T @ found.right - identity).max()),
    )
    return max(float(forward) / scale, float(backward) / scale, crossed)


def grouped(points: NDArray, n_clusters: int, n_init: int, seed: int) -> tuple[NDArray, float]:
    """k-means labels of points, iterated to the end, and the inertia."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points: clusters stay empty
        model = KMeans(n_clusters, n_init=n_init, tol=0.0, random_state=seed).fit(
            np.ascontiguousarray(points)
        )
    return np.asarray(model.labels_), float(model.inertia_)


def assignment_excess(points: NDArray, labels: NDArray) -> float:
    """What points would gain, in squared distance over the scatter, in the cluster of the nearest mean."""
    used, inverse = np.unique(labels, return_inverse=True)
    means = np.array([points[labels == label].mean(axis=0) for label in used])
    squares = ((points[:, np.newaxis] - means) ** 2).sum(axis=2)
    scatter = float(((points - points.mean(axis=0)) ** 2).sum())
    excess = float((squares[np.arange(len(points)), inverse] - squares.min(axis=1)).sum())
    return excess / scatter if scatter > 0 else 0.0


def _inverse_root(sums: NDArray) -> NDArray:
    result: NDArray = np.where(sums > 0, 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0)), 0.0)
    return result


def _deviation(sums: NDArray) -> float:
    filled = sums[sums > 0]
    return float(np.abs(filled / filled.mean() - 1.0).max(initial=0.0))
