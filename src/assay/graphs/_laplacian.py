"""The three Laplacians of a graph, and the scaled form that the eigensolvers work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.graphs._weights import Weights, as_weights, degrees, is_sparse
from assay.parameters import refusal

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
        A = (
            self.W.toarray()
            if self.is_sparse
            else _scaled(self.W, self._root, self._root) + np.diag(self._rest)
        )
        return np.eye(self.shape[0]) - A


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
