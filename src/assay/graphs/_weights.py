"""The weights of a graph: a symmetric matrix without negative entries, dense or CSR."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Weights: TypeAlias = Any
"""A symmetric `ndarray` or `csr_array` of float64, W_iℓ ≥ 0; W_ii is the weight of a loop."""

SYMMETRY = 1e-6


def as_csr(matrix: Any, shape: tuple[int, int] | None = None) -> Any:
    """A `csr_array` of a sparse or full matrix, or of (values, columns, offsets)."""
    return sparse.csr_array(matrix, shape=shape)


def as_weights(W: Any, owner: str = "A graph") -> Weights:
    """Validated weights: square, finite, not negative, symmetric; CSR stays CSR, all else is dense.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Weights, or similarities. Differences of rounding between W and Wᵀ are evened out.
    owner : str
        Whom the error names.

    Examples
    --------
    >>> from assay.graphs import as_weights
    >>> as_weights([[1, 2], [2, 1]])
    array([[1., 2.],
           [2., 1.]])
    """
    if sparse.issparse(W):
        matrix = as_csr(W).astype(np.float64, copy=False)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        values = matrix.data
    else:
        matrix = np.asarray(W, dtype=np.float64)
        values = matrix
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"{owner} needs a square matrix of similarities. Got shape {matrix.shape} instead.")
    if not np.isfinite(values).all():
        raise ValueError(f"{owner} needs finite similarities. The matrix holds NaN or infinity.")
    if values.size and values.min() < 0.0:
        raise ValueError(
            f"{owner} needs similarities that are at least 0. Negative values in data: the least is "
            f"{values.min():.3g}; exp(−d²/(2σ²)) makes similarities of distances."
        )
    gap = abs(matrix - matrix.T)
    worst = float(gap.max()) if values.size else 0.0
    if worst > SYMMETRY * float(values.max(initial=0.0)):
        raise ValueError(
            f"{owner} needs a symmetric matrix of similarities. W and its transpose differ by {worst:.3g}; "
            "take (W + Wᵀ)/2."
        )
    if worst > 0.0:
        matrix = 0.5 * (matrix + matrix.T)
        matrix = as_csr(matrix) if sparse.issparse(matrix) else matrix
    return matrix


def is_sparse(W: Weights) -> bool:
    """Whether weights are stored as a sparse matrix."""
    return bool(sparse.issparse(W))


def degrees(W: Weights) -> NDArray:
    """Degrees d_i = Σ_ℓ W_iℓ, a loop counted once.

    Examples
    --------
    >>> from assay.graphs import degrees
    >>> degrees([[0.0, 1.0], [1.0, 0.0]])
    array([1., 1.])
    """
    W = W if is_sparse(W) else np.asarray(W, dtype=np.float64)
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def edges(W: Weights) -> tuple[NDArray, NDArray, NDArray]:
    """Both ends and the weight of every ordered pair with W_iℓ ≠ 0, row by row."""
    if is_sparse(W):
        row = np.repeat(np.arange(W.shape[0], dtype=W.indices.dtype), np.diff(W.indptr))
        return row, W.indices, W.data
    row, column = np.nonzero(W)
    return row, column, W[row, column]


def with_loops_where_alone(W: Weights) -> tuple[Weights, NDArray]:
    """The same weights with a loop of weight 1 at each vertex of degree 0, and those vertices."""
    alone = np.flatnonzero(degrees(W) == 0.0)
    if alone.size == 0:
        return W, alone
    loops = np.zeros(W.shape[0])
    loops[alone] = 1.0
    if is_sparse(W):
        return as_csr(W + sparse.diags_array(loops, format="csr")), alone
    return W + np.diag(loops), alone
