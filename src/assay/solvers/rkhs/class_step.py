"""Newton's system of several classes without iterations: one factor per class, and one of their sum.

With D_k = c p_k the diagonal of class k and E_k = (K + D_k⁻¹)⁻¹ = D_k^{1/2} (I + D_k^{1/2} K D_k^{1/2})⁻¹
D_k^{1/2},

    (K + W⁻¹)⁻¹ v = E v − E 1 (Σ_k E_k)⁻¹ Σ_k E_k v_k,

which gives the step d = ρ − (K + W⁻¹)⁻¹(Kρ + 1δᵀ) (Rasmussen & Williams, algorithm 3.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, get_lapack_funcs

from assay.kernels import mirror_upper
from assay.solvers.rkhs.curved import Array, Curvature, GramOperator, Step


class ClassFactors:
    """The matrices E_k of each class and the factor of their sum, at the probabilities of one point."""

    def __init__(self, gram: Array, curvature: Curvature) -> None:
        assert curvature.probabilities is not None
        self.parts = [_inverse_sum(gram, np.sqrt(curvature.cost * p)) for p in curvature.probabilities.T]
        total = np.sum(self.parts, axis=0)
        # Rows that are all but certain hardly take part: the rounding of the others is the size of their
        # entries.
        total.flat[:: len(total) + 1] += np.finfo(np.float64).eps * total.diagonal().max()
        self.total = cho_factor(total, lower=True, check_finite=False)

    def solve(self, values: Array) -> Array:
        """(K + W⁻¹)⁻¹ times an array of one column per class."""
        parts = np.column_stack([part @ column for part, column in zip(self.parts, values.T, strict=True)])
        common = cho_solve(self.total, parts.sum(axis=1), check_finite=False)
        return parts - np.column_stack([part @ common for part in self.parts])


def _inverse_sum(gram: Array, root: Array) -> Array:
    """S (I + SKS)⁻¹ S."""
    matrix = gram * root
    matrix *= root[:, None]
    matrix.flat[:: len(matrix) + 1] += 1.0
    routines: Any = get_lapack_funcs(("potrf", "potri"), (matrix,))
    potrf, potri = routines
    # What LAPACK calls lower is the upper triangle of a matrix that is stored by rows.
    potrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    potri(matrix.T, lower=1, overwrite_c=1)
    mirror_upper(matrix)
    matrix *= root
    matrix *= root[:, None]
    return matrix


def class_step(
    operator: GramOperator, curvature: Curvature, residual: Array, slope_sums: Array | None
) -> Step:
    """What `newton_step` gives, for several classes and a Gram matrix in memory."""
    assert operator.gram is not None
    factors = ClassFactors(operator.gram, curvature)
    solved, level = factors.solve(operator @ residual), np.zeros(residual.shape[1])
    if slope_sums is not None:
        n_free = residual.shape[1] - 1
        borders = []
        for j in range(n_free):
            ones = np.zeros_like(residual)
            ones[:, j] = 1.0
            borders.append(factors.solve(ones))
        inner = np.array([border[:, :n_free].sum(axis=0) for border in borders])
        wanted = (-slope_sums - solved.sum(axis=0))[:n_free]
        level[:n_free] = np.linalg.pinv(inner, hermitian=True) @ wanted
        for size, border in zip(level, borders, strict=False):
            solved = solved + size * border
    coef = residual - solved
    return Step(coef, operator @ coef, level, 0)
