"""What inference knows of a table: its means and a root of (XᵀX)⁻¹, without the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from assay.linear.least_squares.engine import Array
from assay.rows import Block

SMALLEST_RCOND = 1e-13
"""Reciprocal condition of the scaled XᵀX below which its inverse is nothing but rounding."""


class Design(NamedTuple):
    """The columns of a table, with the column of ones in front if the model has an intercept.

    Attributes
    ----------
    weight : float
        W = Σ s, the number of rows counted with repetition.
    mean : array of shape (d,)
        Column means; zeros without an intercept.
    root : array of shape (d, d)
        A with AAᵀ the inverse of the (centred) XᵀX.
    fit_intercept : bool
    """

    weight: float
    mean: Array
    root: Array
    fit_intercept: bool

    @property
    def n_parameters(self) -> int:
        """Number of parameters p, the intercept included."""
        return len(self.mean) + self.fit_intercept

    def coordinates(self, block: Block) -> Array:
        """The rows x of a block in an orthonormal basis: e with ‖e‖² = xᵀ(XᵀX)⁻¹x, shape (n, p)."""
        inner = (dense(block.X) - self.mean) @ self.root
        if not self.fit_intercept:
            return inner
        return np.column_stack([np.full(len(inner), 1 / np.sqrt(self.weight)), inner])

    def basis(self) -> Array:
        """B with (XᵀX)⁻¹x = B e for every row x with coordinates e, so that BBᵀ = (XᵀX)⁻¹."""
        if not self.fit_intercept:
            return self.root
        p = self.n_parameters
        basis = np.zeros((p, p))
        basis[0, 0] = 1 / np.sqrt(self.weight)
        basis[0, 1:] = -self.mean @ self.root
        basis[1:, 1:] = self.root
        return basis


def dense(X: Any) -> Array:
    """Rows of a block as a float64 array."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def inverse_root(scatter: Array, triangle: Array | None) -> Array | None:
    """A with AAᵀ = scatter⁻¹, from the triangle where there is one (no squaring); None if singular."""
    d = scatter.shape[0]
    if triangle is not None:
        norms = np.linalg.norm(triangle, axis=0)
        if triangle.shape[0] < d or not norms.all() or not np.diagonal(triangle).all():
            return None
        inverse, info = linalg.lapack.dtrtri(triangle / norms)
        return inverse / norms[:, None] if info == 0 else None
    diagonal = np.diagonal(scatter)
    if diagonal.min() <= 0:
        return None
    scale = 1 / np.sqrt(diagonal)
    matrix = scatter * scale * scale[:, None]
    factor, info = linalg.lapack.dpotrf(matrix, lower=False, overwrite_a=False, clean=True)
    if info != 0:
        return None
    rcond, _ = linalg.lapack.dpocon(factor, np.abs(matrix).sum(axis=0).max(), uplo="U")
    if not rcond > SMALLEST_RCOND:
        return None
    inverse, _ = linalg.lapack.dtrtri(factor)
    return scale[:, None] * inverse


# Intervals of predictions, row by row.


KINDS = ("prediction", "mean")


def interval_step(
    block: Block, coef: Array, intercept: Array, design: Design, half: Array, noise: float
) -> Array:
    """ŷ ± half·√(noise + xᵀ(XᵀX)⁻¹x) of each row, all lower ends and then all upper ends: shape (n, 2t)."""
    e = design.coordinates(block)
    spread = np.sqrt(noise + np.einsum("ij,ij->i", e, e))
    center = dense(block.X) @ coef + intercept
    width = np.multiply.outer(spread, half)
    return np.concatenate([center - width, center + width], axis=1)
