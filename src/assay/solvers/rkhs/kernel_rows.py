"""Rows of a Gram matrix, computed in blocks when they are asked for and kept in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.kernels.tiles import fill_rows
from assay.rows import ordered_map
from assay.solvers.rkhs.loops import copy_lines, submatrix, subtract_rows
from assay.solvers.rkhs.problem import Array

PIECE = 4096
"""Columns of the gradient that one thread updates at a time: they stay in its cache."""

BESIDE = 128
"""Rows of a Gram matrix of which entries below the diagonal are looked at as well: they are few."""


class KernelRows:
    """The rows k(x_i, ·) that were asked for last, as many as fit.

    Single precision halves the memory and the time to read them. What it loses is put right by the solver,
    which makes the values of h afresh in double precision before it ends.
    """

    def __init__(self, kernel: Kernel, X: Any, *, n_kept: int) -> None:
        self.kernel, self.X = kernel, X.astype(np.float32)
        n = X.shape[0]
        self.kept = np.empty((min(n_kept, n), n), dtype=np.float32)
        self.slot_of = np.full(n, -1, dtype=np.intp)
        self._owner = np.full(len(self.kept), -1, dtype=np.intp)
        self._used = np.zeros(len(self.kept), dtype=np.int64)
        self._clock = 0
        self.n_computed = 0

    def slots(self, rows: NDArray[np.intp], needless: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Where the kernel rows of some rows are kept; those that are missing are computed.

        They take the place of rows that are `needless`, unlikely to be asked for again, before memory that
        was never touched, which costs more than computing a row; then of those that were used longest ago.
        """
        self._clock += 1
        found = self.slot_of[rows]
        self._used[found[found >= 0]] = self._clock
        missing = rows[found < 0]
        if len(missing):
            oldest = np.arange(len(self._used))
            if len(missing) < len(oldest):
                order = self._used.copy()
                free = (self._owner >= 0) & (self._used < self._clock) & needless[self._owner]
                order[free] -= self._clock
                oldest = np.argpartition(order, len(missing) - 1)[: len(missing)]
            oldest.sort()
            self.slot_of[self._owner[oldest[self._owner[oldest] >= 0]]] = -1
            self._owner[oldest], self._used[oldest] = missing, self._clock
            self.slot_of[missing] = oldest
            self._compute(missing, oldest)
        return self.slot_of[rows]

    def _compute(self, rows: NDArray[np.intp], slots: NDArray[np.intp]) -> None:
        self.n_computed += len(rows)
        fill_rows(self.kernel._open(self.X[rows], self.X), self.kept, slots)

    def gram(self, rows: NDArray[np.intp]) -> NDArray:
        """The Gram matrix of some rows in single precision: making it is faster than gathering it."""
        return self.kernel.gram(self.X[rows])

    def subtract(self, slots: NDArray[np.intp], change: NDArray[np.float64], gradient: NDArray) -> None:
        """Subtract Σ change · (kernel row) from the gradient, a piece of it per thread."""
        n = len(gradient)

        def piece(start: int) -> None:
            subtract_rows(self.kept, slots, change, gradient, start, min(start + PIECE, n))

        for _ in ordered_map(piece, range(0, n, PIECE)):
            pass


class GramLines:
    """Some rows and the same columns of a Gram matrix, all of them with None.

    A line is copied when it is first read: few rows of a machine ever move, and machines that share one Gram
    matrix copy no more of it than the lines of those.

    `form` is what loops take: the lines, which of them are there, the whole matrix and the rows.
    """

    def __init__(self, whole: NDArray, rows: NDArray[np.intp] | None = None) -> None:
        n = len(whole) if rows is None else len(rows)
        lines = whole if rows is None else np.empty((n, n), dtype=whole.dtype)
        self.form = lines, np.full(n, rows is None), whole, np.arange(n) if rows is None else rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray:
        lines, known, whole, _ = self.form
        if lines is not whole:
            copy_lines(self.form, np.arange(len(known)))
        return np.asarray(lines, dtype=dtype)

    def diagonal(self) -> NDArray:
        """The diagonal."""
        return self.form[2].diagonal()[self.form[3]]

    def least(self) -> float:
        """The smallest entry, of those on and above the diagonal."""
        matrix = np.asarray(self)
        n = len(matrix)
        return min(float(matrix[i : i + BESIDE, i:].min()) for i in range(0, n, BESIDE))

    def part(self, places: NDArray[np.intp]) -> NDArray:
        """The matrix of some of the rows."""
        return submatrix(self.form[2], self.form[3][places])

    def subtract(self, places: NDArray[np.intp], change: Array, out: Array) -> None:
        """Subtract Σ change · line from a vector."""
        copy_lines(self.form, places)
        subtract_rows(self.form[0], places, change, out, 0, len(out))

    def product(self, coef: Array) -> Array:
        """K ν, from the lines where ν is not 0."""
        result = np.zeros(len(coef))
        rows = np.flatnonzero(coef)
        self.subtract(rows, -coef[rows], result)
        return result
