"""Inner products between rows, dense or CSR."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay import parameters
from assay.kernels._kernel_loops import squared_distances
from assay.kernels._tiles import Fill
from assay.parameters import Domain

# The default of a kernel's scale, and the sentences for parameters outside their domain.


POSITIVE = parameters.real(above=0.0)
POSITIVE_OR_DEFAULT = Domain(
    "None (one over the number of features) or a finite number above 0",
    lambda value: value is None or POSITIVE.contains(value),
)


def require(owner: object, name: str, domain: Domain) -> None:
    """Raise one sentence if a field of a kernel is outside its domain."""
    value: Any = getattr(owner, name)
    if not domain.contains(value):
        raise parameters.refusal(type(owner).__name__, name, domain.words, value)


def scale_from_width(owner: str, sigma: float) -> float:
    """Check a width σ > 0."""
    if not POSITIVE.contains(sigma):
        raise parameters.refusal(owner, "sigma", POSITIVE.words, sigma)
    return float(sigma)


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


# Tiles of squared distances, the raw material of the kernels of ‖x − z‖.


def distance_tiles(X: Matrix, Z: Matrix) -> Fill:
    """The function that fills a tile with ‖x_i − z_j‖².

    Dense tables are moved to the mean of `Z` first: distances do not change, and the cancellation in
    ‖x‖² + ‖z‖² − 2⟨x, z⟩ is the smallest there.
    """
    same = X is Z
    dense = not is_sparse(X) and not is_sparse(Z)
    if dense:
        centre = Z.mean(axis=0)
        X = np.subtract(X, centre, order="C")
        Z = X if same else np.subtract(Z, centre, order="C")
    row_norms = squared_norms(X)
    column_norms = row_norms if same else squared_norms(Z)
    cancellation = float(np.finfo(X.dtype).eps) ** 0.25
    nothing = np.empty((0, 0), dtype=X.dtype)

    def fill(rows: slice, columns: slice, tile: NDArray) -> None:
        left, right = X[rows], Z[columns]
        inner(left, right, tile)
        squared_distances(
            tile,
            row_norms[rows],
            column_norms[columns],
            left if dense else nothing,
            right if dense else nothing,
            cancellation,
        )

    return fill
