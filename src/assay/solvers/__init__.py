"""Solvers: pure functions from rows and arrays to a result."""

from __future__ import annotations

from assay.solvers._descent import by_conjugate_gradient, by_gradient_descent
from assay.solvers._least_squares import Solution, by_cholesky, by_dual, by_triangle, minimum_norm
from assay.solvers._moments import Moments, augmented_rows, moments
from assay.solvers._triangular import triangle

__all__ = [
    "Moments",
    "Solution",
    "augmented_rows",
    "by_cholesky",
    "by_conjugate_gradient",
    "by_dual",
    "by_gradient_descent",
    "by_triangle",
    "minimum_norm",
    "moments",
    "triangle",
]
