"""What a kernel is: a symmetric function of two rows, evaluated tile by tile; and whether it is definite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels.tiles import (
    Fill,
    Matrix,
    as_matrix,
    asymmetry,
    fill_column,
    fill_cross,
    fill_gram,
    fill_product,
)
from assay.parameters import Domain, nothing, real, require

POSITIVE = real(above=0.0)
POSITIVE_OR_DEFAULT = Domain("None (one over the number of features)", nothing.contains) | POSITIVE


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

    def columns(self, X: Any) -> Callable[[int], NDArray]:
        """A function that gives the column k(x_1, x_j), …, k(x_n, x_j) for j, prepared once for all columns.

        For methods that look at few columns, one after the other, and never at the whole matrix.
        """
        X = as_matrix(X)
        fill = self.for_features(X.shape[1])._open(X, X)

        def column(j: int) -> NDArray:
            out = np.empty((X.shape[0], 1), dtype=X.dtype)
            fill_column(fill, j, out)
            return out[:, 0]

        return column

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


class ScaledKernel(Kernel):
    """A kernel with a scale γ, by default one over the number of features."""

    gamma: float | None

    def __post_init__(self) -> None:
        require(type(self).__name__, POSITIVE_OR_DEFAULT, gamma=self.gamma)

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return self if self.gamma is not None else replace(self, gamma=1.0 / n_features)  # type: ignore[type-var]

    def _scale(self, X: Matrix) -> float:
        """γ for the rows of a table."""
        return float(self.gamma or 1.0 / X.shape[1])


def _alike(X: Any, Z: Any) -> tuple[Matrix, Matrix]:
    X, Z = as_matrix(X), as_matrix(Z)
    if X.shape[1] != Z.shape[1]:
        sizes = f"X has {X.shape[1]} features but Z has {Z.shape[1]}"
        raise ValueError(f"{sizes}; a kernel compares rows of one kind.")
    dtype = np.result_type(X.dtype, Z.dtype)
    return X.astype(dtype, copy=False), Z.astype(dtype, copy=False)


def _buffer(out: NDArray | None, shape: tuple[int, int], dtype: Any) -> NDArray:
    if out is None:
        return np.empty(shape, dtype=dtype)
    if out.shape != shape or out.dtype != dtype:
        got = f"shape {out.shape} and dtype {out.dtype}"
        raise ValueError(f"'out' must have shape {shape} and dtype {dtype}. Got {got} instead.")
    return out


class Definiteness(NamedTuple):
    """Result of `is_psd`; true in a condition when the matrix is symmetric positive semi-definite."""

    psd: bool
    min_eigenvalue: float
    max_eigenvalue: float
    asymmetry: float
    tolerance: float
    direction: NDArray
    """A unit vector v with vᵀKv = min_eigenvalue."""

    def __bool__(self) -> bool:
        return self.psd


def is_psd(K: Any, *, tolerance: float | None = None) -> Definiteness:
    """Whether a square matrix is symmetric positive semi-definite up to rounding.

    Parameters
    ----------
    K : array of shape (n, n)
    tolerance : float, optional
        Relative to the largest eigenvalue in absolute value; ten times n times the machine precision by
        default.

    Returns
    -------
    result : Definiteness
        Its smallest eigenvalue, a direction that reaches it, and the largest |K_ij − K_ji|.

    Examples
    --------
    >>> from assay.kernels import is_psd
    >>> verdict = is_psd([[1.0, 2.0], [2.0, 1.0]])
    >>> bool(verdict), round(verdict.min_eigenvalue, 12)
    (False, -1.0)
    """
    K = np.asarray(K)
    K = K if K.dtype in (np.float32, np.float64) else K.astype(np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise ValueError(f"is_psd needs a square matrix. Got shape {K.shape} instead.")
    relative = 10.0 * K.shape[0] * float(np.finfo(K.dtype).eps) if tolerance is None else tolerance
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    allowed = relative * float(np.abs(values).max())
    skew = asymmetry(K)
    definite = bool(values[0] >= -allowed and skew <= allowed)
    return Definiteness(definite, float(values[0]), float(values[-1]), skew, allowed, vectors[:, 0])


def check_psd(kernel: Kernel, X: Any, *, tolerance: float | None = None) -> Definiteness:
    """Whether the Gram matrix of a kernel on these rows is symmetric positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian, check_psd
    >>> bool(check_psd(Gaussian(), np.arange(10.0)[:, None]))
    True
    """
    # All pairs in both orders: a Gram matrix is symmetric by construction, the function may not be.
    return is_psd(kernel.cross(X, X), tolerance=tolerance)
