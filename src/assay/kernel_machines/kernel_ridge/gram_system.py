"""The training rows that are there, their Gram matrix, and linear systems with it in its memory alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from assay.kernels import Custom, Kernel, Precomputed, asymmetry, mirror_upper
from assay.rows import alone

BLOCK = 512
FEW = 4


class GramSystem:
    """A Gram matrix K, the Cholesky factor of K + D in one triangle, K itself in the other.

    The factor is made in place in the lower triangle; the strict upper triangle and a copy of the diagonal
    still hold K, so that products with K check the solution against the data, not against the factor. The
    matrix given, symmetric and row-major, is overwritten.
    """

    def __init__(self, gram: NDArray) -> None:
        self._gram = gram
        self._view = gram.T  # what LAPACK calls upper is the lower triangle in memory
        self._diagonal = gram.diagonal().copy()
        self._factored = False
        routines: Any = get_lapack_funcs(("potrf", "potrs", "trtri"), (gram,))
        self._potrf, self._potrs, self._trtri = routines
        products: Any = get_blas_funcs(("symv", "symm"), (gram,))
        self._symv, self._symm = products

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of K."""
        return (self._gram.shape[0], self._gram.shape[1])

    @property
    def diagonal(self) -> NDArray:
        """Diagonal of K."""
        return self._diagonal

    def factor(self, ridge: NDArray | float) -> int:
        """Factor K + diag(ridge); 0, or the order of the first minor that is not positive."""
        if self._factored:
            self.restore()
        self._factored = True
        np.fill_diagonal(self._gram, self._diagonal + ridge)
        _, order = self._potrf(self._view, lower=0, overwrite_a=1, clean=0)
        return int(order)

    def solve(self, right: NDArray) -> NDArray:
        """(K + D)⁻¹ times one or more columns."""
        return _calmly(right, lambda: self._potrs(self._view, right, lower=0)[0])

    def product(self, columns: NDArray) -> NDArray:
        """K times one or more columns, read from the triangle that the factor has not touched."""

        def multiply() -> NDArray:
            if columns.shape[1] == 1:
                return self._symv(1.0, self._view, columns[:, 0], lower=1)[:, None]
            return self._symm(1.0, self._view, columns, lower=1)

        # K's diagonal takes the place of the factor's meanwhile: a difference would drown a small K.
        of_factor = self._gram.diagonal().copy()
        np.fill_diagonal(self._gram, self._diagonal)
        result = _calmly(columns, multiply)
        np.fill_diagonal(self._gram, of_factor)
        return result

    def restore(self) -> NDArray:
        """Put K back in the whole matrix and return it."""
        mirror_upper(self._gram)
        np.fill_diagonal(self._gram, self._diagonal)
        self._factored = False
        return self._gram

    def inverse_diagonal(self) -> NDArray:
        """Diagonal of (K + D)⁻¹; the factor is replaced by its inverse, and `solve` is lost."""
        self._trtri(self._view, lower=0, overwrite_c=1)
        n_samples = self._gram.shape[0]
        total = np.zeros(n_samples)
        for start in range(0, n_samples, BLOCK):
            stop = min(start + BLOCK, n_samples)
            left, square = self._gram[start:stop, :start], np.tril(self._gram[start:stop, start:stop])
            total[:start] += np.einsum("ij,ij->j", left, left)
            total[start:stop] += np.einsum("ij,ij->j", square, square)
        return total

    def negative_direction(self, order: int) -> tuple[NDArray, float]:
        """A unit vector v and vᵀKv, negative after `factor` stopped at a minor of this order."""
        n_before = order - 1
        direction = np.zeros(self._gram.shape[0], dtype=self._gram.dtype)
        direction[n_before] = 1.0
        if n_before:
            factor = np.asfortranarray(self._view[:n_before, :n_before])
            # Column `n_before` of K above its diagonal, read from the triangle of K.
            column = self._gram[:n_before, n_before].copy()
            direction[:n_before] = -self._potrs(factor, column, lower=0)[0]
        direction /= np.linalg.norm(direction)
        curvature = float(direction @ self.product(direction[:, None])[:, 0])
        return direction, curvature


def _calmly(columns: NDArray, work: Callable[[], NDArray]) -> NDArray:
    """One BLAS thread for a few columns: reading the matrix is all the work, and more threads would spin."""
    return alone(work) if columns.shape[1] <= FEW else work()


# The Gram matrix of the training rows, checked to be one.


N_PROBED = 16
# Matrices of doubles are often made from single precision: that much is rounding, not a negative eigenvalue.
SINGLE_ROUNDING = 1e-6


def training_gram(kernel: Kernel, X: Any) -> NDArray:
    """The Gram matrix of the rows, or one sentence why there is none."""
    if isinstance(kernel, Precomputed):
        X = X if isinstance(X, np.ndarray) else X.toarray()
        if X.shape[0] == X.shape[1]:
            _require_symmetric(X, "The precomputed kernel")
    elif isinstance(kernel, Custom):
        probe = X[:N_PROBED]
        _require_symmetric(kernel.cross(probe, probe), "The kernel function")
    # A positive semi-definite matrix is nowhere larger than on its diagonal.
    if not isinstance(kernel, Custom) and not np.isfinite(kernel.diagonal(X)).all():
        raise overflow(kernel)
    with np.errstate(over="ignore", invalid="ignore"):
        gram = kernel.gram(X)
        if not np.isfinite(gram.sum(dtype=np.float64)):
            raise overflow(kernel)
    return gram


def require_target_range(gram: NDArray, targets: NDArray) -> None:
    """Raise one sentence if quadratic forms of the target in the Gram matrix overflow its precision."""
    size = max(1.0, float(np.abs(gram.diagonal()).max(initial=0.0)))
    largest = np.sqrt(1e-6 * float(np.finfo(targets.dtype).max) / size)
    if not float(np.abs(targets).max(initial=0.0)) * np.sqrt(targets.size) < largest:
        raise ValueError(
            f"Input y is too large: its squares times the kernel overflow {targets.dtype}. Divide it by its "
            "scale first."
        )


def require_range(kernel: Kernel, X: Any) -> None:
    """Raise one sentence if the kernel overflows in the precision of the rows, that of predictions."""
    if isinstance(kernel, (Custom, Precomputed)):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(kernel.diagonal(X)).all():
            raise overflow(kernel)


HOPELESS = 2.0**72
"""Cost of a row times its kernel, of which the rounding is a million: no digit of a value is left."""


def require_finite(coef: NDArray, cost: float, kernel: Kernel, X: Any, *, solved: bool) -> None:
    """Raise one sentence if a solver has left the range of floats, or found nothing but rounding in it."""
    reach = cost * float(np.abs(kernel.diagonal(X)).max())
    if not np.isfinite(coef).all() or (not solved and reach > HOPELESS):
        raise ValueError(
            f"Coefficients leave the range of floats: the cost of a row ({cost:.3g}) times its kernel "
            f"({float(np.abs(kernel.diagonal(X)).max()):.3g}) is too large; scale the columns "
            "(StandardScaler), or give a smaller 'C' or 'gamma'."
        )


def overflow(kernel: Kernel) -> ValueError:
    """The error for values of a kernel that are no numbers."""
    return ValueError(
        f"The kernel {kernel_name(kernel)} overflows on these rows or is not a number: scale the columns "
        "(StandardScaler) or give a smaller 'gamma'."
    )


def require_psd(system: GramSystem, kernel: Kernel) -> None:
    """Raise one sentence, with the curvature, if the matrix is not positive semi-definite."""
    eps, tiny = (float(getattr(np.finfo(system.diagonal.dtype), name)) for name in ("eps", "tiny"))
    n_samples = system.shape[0]
    scale = float(np.abs(system.diagonal).max())
    jitter = max(scale * max(10.0 * n_samples * eps, SINGLE_ROUNDING), tiny)
    order = system.factor(jitter)
    if order:
        _, curvature = system.negative_direction(order)
        what = "precomputed kernel" if isinstance(kernel, Precomputed) else f"kernel {kernel_name(kernel)}"
        raise ValueError(
            f"The {what} is not positive semi-definite: vᵀKv = {curvature:.3g} for a unit vector v, which "
            "`assay.kernels.check_psd` gives with its rows; use a positive semi-definite kernel, or add a "
            "multiple of the identity to the matrix."
        )
    system.restore()


def kernel_name(kernel: Kernel) -> str:
    """Short name for a sentence."""
    if isinstance(kernel, Custom):
        return getattr(kernel.function, "__name__", repr(kernel.function))
    return type(kernel).__name__


def _require_symmetric(matrix: NDArray, what: str) -> None:
    apart, size = asymmetry(matrix), float(np.abs(matrix).max(initial=0.0))
    if apart > float(np.sqrt(np.finfo(matrix.dtype).eps)) * size:
        raise ValueError(
            f"{what} is not symmetric: k(x, z) and k(z, x) differ by up to {apart:.3g}; symmetrise it "
            "((K + Kᵀ)/2) or check how it was computed."
        )


class KeptRows:
    """The training rows of positive weight (of their Gram matrix when `precomputed`), and the way back."""

    def __init__(self, X: Any, weight: NDArray | None, *, precomputed: bool) -> None:
        self.X, self.weight, self.X_fit = X, weight, X
        self.absent: NDArray | None = None
        """Indices of the rows of weight zero, or None when there are none."""
        self._indices: NDArray | None = None
        self._n_samples = X.shape[0]
        if weight is not None and not weight.all():
            self._indices, self.absent = np.flatnonzero(weight), np.flatnonzero(weight == 0)
            self.weight = weight[self._indices]
            self.X = X[self._indices]
            if precomputed:
                self.X = self.X[:, self._indices]

    @property
    def total_weight(self) -> float:
        """Sum of the weights: how many rows there are, repetitions counted."""
        return float(self._n_samples) if self.weight is None else float(self.weight.sum())

    def take(self, values: NDArray) -> NDArray:
        """The kept rows of an array."""
        return values if self._indices is None else values[self._indices]

    def put_back(self, values: NDArray) -> NDArray:
        """Kept rows in their places, zeros elsewhere."""
        if self._indices is None:
            return values
        result = np.zeros((self._n_samples, *values.shape[1:]), dtype=values.dtype)
        result[self._indices] = values
        return result


def as_columns(values: NDArray) -> NDArray:
    """A target or its coefficients, one column per target."""
    return values.reshape(len(values), -1)
