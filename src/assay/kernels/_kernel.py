"""What a kernel is: a symmetric function of two rows, evaluated tile by tile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels._products import Matrix, as_matrix
from assay.kernels._tiles import Fill, fill_cross, fill_gram, fill_product


class Kernel(ABC):
    """Base of all kernels: small immutable objects, compared by value.

    A subclass says in `_open` how a tile of k(x_i, z_j) is filled; Gram matrices, cross matrices and products
    with coefficients follow from it. `positive_definite` tells whether every Gram matrix of the kernel is
    positive semi-definite by a theorem; where it is False, `check_psd` looks at the data.
    """

    positive_definite: ClassVar[bool] = True

    @abstractmethod
    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        """Prepare two tables of one dtype; return the function that fills a tile of their cross matrix."""

    @abstractmethod
    def diagonal(self, X: Any) -> NDArray:
        """The values k(x_i, x_i), shape (n_samples,)."""

    def for_features(self, n_features: int) -> Self:
        """The same kernel with the defaults that depend on the number of features filled in."""
        return self

    def gram(self, X: Any, *, out: NDArray | None = None) -> NDArray:
        """The symmetric matrix of k(x_i, x_j).

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        out : array of shape (n_samples, n_samples), optional
            Where the result goes; nothing else of that size is allocated.

        Returns
        -------
        K : array of shape (n_samples, n_samples)
            Exactly symmetric; float32 when `X` is.
        """
        X = as_matrix(X)
        out = _buffer(out, (X.shape[0], X.shape[0]), X.dtype)
        fill_gram(self.for_features(X.shape[1])._open(X, X), out)
        return out

    def cross(self, X: Any, Z: Any, *, out: NDArray | None = None) -> NDArray:
        """The matrix of k(x_i, z_j), shape (n_samples_X, n_samples_Z)."""
        X, Z = _alike(X, Z)
        out = _buffer(out, (X.shape[0], Z.shape[0]), X.dtype)
        fill_cross(self.for_features(X.shape[1])._open(X, Z), out)
        return out

    def apply(self, X: Any, Z: Any, coef: NDArray) -> NDArray:
        """The function Σ_j c_j k(z_j, ·) at the rows of `X`, without the cross matrix in memory.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples_X, n_features)
        Z : array or CSR matrix of shape (n_samples_Z, n_features)
        coef : array of shape (n_samples_Z,) or (n_samples_Z, n_outputs)

        Returns
        -------
        values : array of shape (n_samples_X,) or (n_samples_X, n_outputs)
        """
        X, Z = _alike(X, Z)
        fill = self.for_features(X.shape[1])._open(X, Z)
        return fill_product(fill, X.shape[0], np.asarray(coef, dtype=X.dtype))

    def __call__(self, X: Any, Z: Any = None) -> NDArray:
        """`gram(X)`, or `cross(X, Z)` with a second table."""
        return self.gram(X) if Z is None else self.cross(X, Z)


def _alike(X: Any, Z: Any) -> tuple[Matrix, Matrix]:
    X, Z = as_matrix(X), as_matrix(Z)
    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features but Z has {Z.shape[1]}; a kernel compares rows of one kind."
        )
    dtype = np.result_type(X.dtype, Z.dtype)
    return X.astype(dtype, copy=False), Z.astype(dtype, copy=False)


def _buffer(out: NDArray | None, shape: tuple[int, int], dtype: Any) -> NDArray:
    if out is None:
        return np.empty(shape, dtype=dtype)
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(
            f"'out' must have shape {shape} and dtype {dtype}. "
            f"Got shape {out.shape} and dtype {out.dtype} instead."
        )
    return out
