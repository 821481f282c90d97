"""The weights of a graph, its three Laplacians, and the scaled form that the eigensolvers work on."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.parameters import refusal

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
        matrix.check_format(full_check=True)  # loops trust the places of the entries
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
    largest = float(values.max(initial=0.0))
    limits = np.finfo(np.float64)
    if (
        largest > float(limits.max) / 2.0**12 / max(values.size, 1)
        or 0.0 < largest < limits.tiny / limits.eps
    ):
        verb = "lose their digits" if largest < 1.0 else "overflow"
        raise ValueError(
            f"Sums of similarities of size {largest:.3g} {verb} in {owner}. "
            "Divide the matrix by one number, e.g. its largest entry."
        )
    gap = abs(matrix - matrix.T)
    worst = float(gap.max()) if values.size else 0.0
    if worst > SYMMETRY * largest:
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


LAPLACIANS = ("random_walk", "symmetric", "unnormalized")


def laplacian(W: Any, kind: str = "unnormalized") -> Weights:
    """A Laplacian of a graph.

    - "unnormalized": L = D − W, symmetric, positive semi-definite;
    - "symmetric": L_s = I − D^{−1/2} W D^{−1/2}, symmetric, positive semi-definite, eigenvalues at most 2;
    - "random_walk": L_w = I − D⁻¹W, not symmetric in general, with the eigenvalues of L_s.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric weights. The last two kinds need positive degrees.
    kind : {"unnormalized", "symmetric", "random_walk"}

    Returns
    -------
    matrix : array or csr_array of shape (n, n)

    Examples
    --------
    >>> from assay.graphs import laplacian
    >>> laplacian([[0.0, 2.0], [2.0, 0.0]])
    array([[ 2., -2.],
           [-2.,  2.]])
    >>> laplacian([[0.0, 2.0], [2.0, 0.0]], "random_walk")
    array([[ 1., -1.],
           [-1.,  1.]])

    References
    ----------
    Sangnier §2.2.6; von Luxburg (2007).
    """
    if kind not in LAPLACIANS:
        raise refusal("laplacian", "kind", "one of " + ", ".join(map(repr, LAPLACIANS)), kind)
    W = as_weights(W, "laplacian")
    degree = degrees(W)
    if kind == "unnormalized":
        return _diagonal(degree, W) - W
    require_degrees(degree)
    if kind == "random_walk":
        return _diagonal(np.ones_like(degree), W) - _scaled(W, 1.0 / degree, None)
    root = 1.0 / np.sqrt(degree)
    return _diagonal(np.ones_like(degree), W) - _scaled(W, root, root)


class Scaled:
    """A symmetric Laplacian M of a graph over its scale: M/scale = I − A, eigenvalues in [0, 2].

    For L_s, A = D^{−1/2} W D^{−1/2} and scale = 1; for L, A = I − L/scale with scale the largest degree. The
    minor eigenvectors of M are the major ones of A. Sparse weights are scaled once, full ones at every
    product.

    Parameters
    ----------
    W : array or csr_array
        Validated weights.
    kind : {"symmetric", "random_walk", "unnormalized"}
        L_w has the spectrum of L_s, which stands for it.

    Attributes
    ----------
    scale : float
    weight : array of shape (n,)
        Degrees for L_s, ones for L: the null vectors are √weight on each component.
    """

    def __init__(self, W: Weights, kind: str) -> None:
        degree = degrees(W)
        self.W, self.is_sparse, self.shape = W, is_sparse(W), W.shape
        self.scale, self.weight = 1.0, degree
        self._root, self._rest = np.ones_like(degree), np.zeros_like(degree)
        if kind == "unnormalized":
            self.scale, self.weight = float(degree.max()) or 1.0, np.ones_like(degree)
            self._root /= np.sqrt(self.scale)
            self._rest = 1.0 - degree / self.scale
        else:
            require_degrees(degree)
            self._root = 1.0 / np.sqrt(degree)
        if self.is_sparse:
            self.W = _scaled(W, self._root, self._root)
            if kind == "unnormalized":
                self.W = sparse.csr_array(self.W + sparse.diags_array(self._rest))

    def adjacency(self, vectors: NDArray) -> NDArray:
        """A times vectors (in columns)."""
        if self.is_sparse:
            return np.asarray(self.W @ vectors)
        column = (slice(None),) + (np.newaxis,) * (vectors.ndim - 1)
        product = self._root[column] * (self.W @ (self._root[column] * vectors))
        return product + self._rest[column] * vectors

    def apply(self, vectors: NDArray) -> NDArray:
        """M/scale times vectors (in columns)."""
        return vectors - self.adjacency(vectors)

    def tosparse(self) -> Any:
        """M/scale as a sparse matrix, for sparse weights."""
        return sparse.csc_array(sparse.eye_array(self.shape[0]) - self.W)

    def toarray(self) -> NDArray:
        """M/scale as a full matrix."""
        if self.is_sparse:
            return np.eye(self.shape[0]) - self.W.toarray()
        return np.eye(self.shape[0]) - (_scaled(self.W, self._root, self._root) + np.diag(self._rest))


def require_degrees(degree: NDArray) -> None:
    """Refuse vertices of degree zero, where the normalised Laplacians do not exist."""
    if not (degree > 0.0).all():
        vertex = int(np.argmin(degree))
        raise ValueError(
            f"The normalised Laplacians need positive degrees, and vertex {vertex} has degree 0: give it a "
            "loop, W_ii > 0, or leave it out."
        )


def _diagonal(values: NDArray, like: Weights) -> Weights:
    return sparse.csr_array(sparse.diags_array(values)) if is_sparse(like) else np.diag(values)


def _scaled(W: Weights, left: NDArray, right: NDArray | None) -> Weights:
    """diag(left) W diag(right), stored as W is."""
    if not is_sparse(W):
        scaled = W * left[:, np.newaxis]
        if right is not None:
            scaled *= right
        return scaled
    factor = np.repeat(left, np.diff(W.indptr))
    if right is not None:
        factor = factor * right[W.indices]
    return sparse.csr_array((W.data * factor, W.indices, W.indptr), shape=W.shape)
