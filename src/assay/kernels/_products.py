"""Inner products between rows, dense or CSR."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Matrix: TypeAlias = Any
"""A two-dimensional float array or a CSR matrix."""


def is_sparse(X: Matrix) -> bool:
    """Whether a table is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(X))


def as_matrix(X: Any) -> Matrix:
    """A table of floats; float32 and float64 are kept, CSR stays CSR, everything else becomes float64."""
    if is_sparse(X):
        matrix = X.tocsr()
    else:
        matrix = np.asarray(X)
        if matrix.ndim != 2:
            raise ValueError(
                f"A kernel compares the rows of a two-dimensional table. Got {matrix.ndim} dimension(s)."
            )
    return matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)


def inner(X: Matrix, Z: Matrix, out: NDArray) -> None:
    """Write X Zᵀ into `out`."""
    if not is_sparse(X) and not is_sparse(Z):
        np.matmul(X, Z.T, out=out)
        return
    product = X @ Z.T
    out[...] = product.toarray() if is_sparse(product) else product


def squared_norms(X: Matrix) -> NDArray:
    """‖x_i‖² of every row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
    return np.einsum("ij,ij->i", X, X)
