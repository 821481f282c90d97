"""Tables as the sparse solvers see them: weighted, centred (implicitly), and asked for few columns at a time.

With h = s/W and means x̄, ȳ (zero without an intercept), G = Σ h (x − x̄)(x − x̄)ᵀ, q = Σ h (x − x̄)(y − ȳ) and
y² = Σ h (y − ȳ)²: the smooth part of the objective is ½ y² − qᵀw + ½ wᵀGw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.rows import alone, ordered_map
from assay.solvers.sparse.loops import Columns, column_combination, column_products, column_squares

Array = NDArray[np.float64]

BLOCK_VALUES = 2**18
"""Values of a block of columns that one thread multiplies at a time."""


def by_blocks(function: Callable[[slice], Any], size: int, width: int) -> None:
    """Call a function with the blocks of so many columns, on threads, each with one BLAS thread."""
    for _ in ordered_map(lambda start: function(slice(start, start + width)), range(0, size, width)):
        pass


class Design(ABC):
    """A weighted, centred table: `root` is √h, `target` √h (y − ȳ), `square` its squared norm, `linear` q."""

    def __init__(self, X: Any, y: NDArray, weight: NDArray | None, *, center: bool) -> None:
        n = X.shape[0]
        self.shape, self.center = X.shape, center
        mass = np.ones(n) if weight is None else weight.astype(np.float64)
        self.total_weight = float(mass.sum())
        share = mass / self.total_weight
        self.root = np.sqrt(share)
        self._X = X
        target = y.astype(np.float64)
        self.mean_x, self.mean_y = np.zeros(X.shape[1]), 0.0
        if center:
            self.mean_y = float(share @ target)
            self.mean_x = self._products(share[None])[0]
        self.target = self.root * (target - self.mean_y)
        self.square = float(self.target @ self.target)
        self.linear = self.correlations(self.target[None])[0]

    def correlations(self, residuals: Array, which: NDArray | None = None) -> Array:
        """Correlation of the columns (all, or those listed) with residuals of shape (k, n), scaled by √h."""
        pull = residuals * self.root
        mean = self.mean_x if which is None else self.mean_x[which]
        return self._products(pull, which) - np.outer(pull.sum(axis=1), mean)

    @abstractmethod
    def _products(self, rows: Array, which: NDArray | None = None) -> Array:
        """Products X[:, which]ᵀ rows, of shape (k, number of columns)."""

    @abstractmethod
    def raw_columns(self, which: NDArray) -> Array:
        """The listed columns as they are, as rows of shape (len(which), n)."""

    def columns(self, which: NDArray) -> Array:
        """The listed columns, centred and scaled by √h, as rows of shape (len(which), n)."""
        columns = self.raw_columns(which)
        columns -= self.mean_x[which, None]
        columns *= self.root
        return columns

    @abstractmethod
    def squares(self) -> Array:
        """The diagonal of G."""

    def intercept(self, which: NDArray, coef: Array) -> float:
        """The intercept of coefficients on the listed columns."""
        return float(self.mean_y - self.mean_x[which] @ coef)


class DenseDesign(Design):
    """An array in C or F order, read in place."""

    def raw_columns(self, which: NDArray) -> Array:
        """The listed columns as they are, as rows of shape (len(which), n)."""
        return np.array(self._X[:, which].T, dtype=np.float64, order="C")

    def _products(self, rows: Array, which: NDArray | None = None) -> Array:
        X = self._X if which is None else self._X[:, which]
        out = np.empty((rows.shape[0], X.shape[1]))

        def product(part: slice) -> None:
            np.matmul(rows, X[:, part].astype(np.float64, copy=False), out=out[:, part])

        if X.size <= BLOCK_VALUES:
            alone(product, slice(None))
        else:
            by_blocks(product, X.shape[1], max(16, BLOCK_VALUES // X.shape[0]))
        return out

    def squares(self) -> Array:
        """The diagonal of G."""
        n, d = self.shape
        out = np.empty(d)

        def block(part: slice) -> None:
            columns = self._X[:, part].astype(np.float64) - self.mean_x[part]
            out[part] = self.root**2 @ columns**2

        by_blocks(block, d, max(16, BLOCK_VALUES // n))
        return out


class SparseDesign(Design):
    """A CSC matrix, centred implicitly; rows of weight zero are left out."""

    def __init__(self, X: Any, y: NDArray, weight: NDArray | None, *, center: bool) -> None:
        if weight is not None and not np.all(weight > 0):
            keep = np.flatnonzero(weight > 0)
            X, y, weight = sparse.csr_array(X)[keep], y[keep], weight[keep]
        self.matrix = matrix = sparse.csc_array(X, dtype=np.float64)
        matrix.sum_duplicates()
        self.entries = Columns(matrix.data, matrix.indices, matrix.indptr)
        super().__init__(matrix, y, weight, center=center)
        self.share = self.root**2
        self.column_squares = np.maximum(self.squares(), 0.0)

    def _products(self, rows: Array, which: NDArray | None = None) -> Array:
        listed = np.arange(self._X.shape[1]) if which is None else which
        out = np.empty((rows.shape[0], listed.size))
        rows = np.ascontiguousarray(rows)
        per_column = max(1, self.entries.data.size // max(1, self._X.shape[1]))
        width = max(16, BLOCK_VALUES // per_column)

        def product(part: slice) -> None:
            column_products(self.entries, rows, listed[part], out[:, part])

        if listed.size <= width:
            product(slice(0, width))
        else:
            by_blocks(product, listed.size, width)
        return out

    def squares(self) -> Array:
        """The diagonal of G."""
        out = np.empty(self.shape[1])
        column_squares(self.entries, self.root**2, out)
        spread = out - self.mean_x**2
        spread[spread <= 8 * np.finfo(np.float64).eps * out] = 0.0  # constant columns, but for rounding
        return spread

    def raw_columns(self, which: NDArray) -> Array:
        """The listed columns, dense, as rows of shape (len(which), n)."""
        return np.ascontiguousarray(self.matrix[:, which].toarray().T)

    def predictions(self, which: NDArray, coef: Array) -> Array:
        """X[:, which] coef, uncentred."""
        out = np.zeros(self.shape[0])
        column_combination(self.entries, which, coef, out)
        return out
