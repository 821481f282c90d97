"""Least squares and ridge from moments, from a triangle, or from the rows themselves.

Every function minimises Σ s_i ‖y_i − w·x_i‖² + α ‖w‖² over w, the table being centred beforehand when the
model has an intercept. They differ in what they read (moments, triangle, rows) and so in cost and in lost
digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.rows import Block, Rows
from assay.solvers.least_squares.condition import condition_of_gram
from assay.solvers.least_squares.moments import EPSILON, TableMoments, augmented_rows

Array = NDArray[np.float64]


class Solution(NamedTuple):
    """Coefficients of a linear least-squares problem.

    Attributes
    ----------
    coef : array of shape (d, t)
        Minimiser; of least norm where there are several.
    rank : int
        Number of directions that the table determines.
    condition : float or None
        σ_max/σ_min of the table (above √α I if there is a penalty) with columns of unit norm, in the
        directions that are determined; of a table with more columns than rows, as it is. None where an
        iteration or the dual form did not find it, or where there is no direction that is determined.
    row_space : array of shape (d, rank) or None
        Orthonormal directions that the table determines, when they are not all; None otherwise.
    n_iter : int
    converged : bool
    """

    coef: Array
    rank: int
    condition: float | None
    row_space: Array | None = None
    n_iter: int = 1
    converged: bool = True


CHOLESKY_RCOND = 1e-6
"""Reciprocal condition of the scaled Gram matrix, σ_min²/σ_max², below which squaring costs many digits."""


def distinct(alpha: NDArray) -> NDArray:
    """The different penalties of several targets; one alone is not sorted."""
    return alpha if alpha.shape[0] == 1 else np.unique(alpha)


def by_cholesky(moments: TableMoments, alpha: NDArray) -> Solution | None:
    """Solve the normal equations (XᵀX + αI) w = Xᵀy by a Cholesky factorisation of size d.

    Returns None when the equilibrated matrix is not safely positive definite.

    Parameters
    ----------
    moments : TableMoments
    alpha : array of shape (t,)
        Penalty of each target, at least 0.
    """
    coef = np.empty_like(moments.xy)
    worst = 1.0
    for value in distinct(alpha):
        targets = alpha == value
        diagonal = np.diagonal(moments.xx) + value
        if not diagonal.size or diagonal.min() <= 0:
            return None
        scale = 1 / np.sqrt(diagonal)
        matrix = moments.xx * scale * scale[:, None]
        matrix.flat[:: matrix.shape[0] + 1] = 1.0
        factor, info = linalg.lapack.dpotrf(matrix, lower=True, overwrite_a=False, clean=False)
        if info != 0:
            return None
        condition = condition_of_gram(matrix, factor)
        if not condition**2 < 1 / CHOLESKY_RCOND:
            return None
        solution, _ = linalg.lapack.dpotrs(factor, scale[:, None] * moments.xy[:, targets], lower=True)
        coef[:, targets] = scale[:, None] * solution
        worst = max(worst, condition)
    return Solution(coef, len(coef), worst)


def by_triangle(triangle: Array, n_features: int, alpha: NDArray) -> Solution:
    """Solve from the triangle R of [X, y] (see `assay.solvers.triangle`): R₁₁ w = R₁₂ when α = 0.

    The rank is decided with columns scaled to unit norm, so that units do not matter; in the directions that
    X leaves free, w has no component.
    """
    d = n_features
    rows = triangle[: min(d, triangle.shape[0]), :]
    left, right = rows[:, :d], rows[:, d:]
    coef = np.empty((d, right.shape[1]))
    # √α I below R₁₁ is the augmented table of ridge.
    plain, worst = Solution(coef, d, None), 1.0
    for value in distinct(alpha):
        targets = alpha == value
        if value == 0:
            plain = minimum_norm(left, right[:, targets])
        elif left.shape[0] < d:
            plain = by_dual(left, right[:, targets], np.full(int(targets.sum()), value))
        else:
            table = np.vstack([left, np.sqrt(value) * np.eye(d)])
            plain = minimum_norm(table, np.vstack([right[:, targets], np.zeros((d, int(targets.sum())))]))
            plain = _corrected(plain, table, left, right[:, targets], value)
        coef[:, targets] = plain.coef
        worst = max(worst, plain.condition or 1.0)
    return plain._replace(coef=coef, condition=None if plain.condition is None else worst)


def _corrected(solution: Solution, table: Array, left: Array, right: Array, alpha: float) -> Solution:
    """One step on the gradient: in a column much shorter than √α the rounding of y has drowned it before."""
    norms = np.linalg.norm(table, axis=0)
    factor = np.linalg.qr(table / norms, mode="r")
    gradient = left.T @ (right - left @ solution.coef) - alpha * solution.coef
    half = linalg.solve_triangular(factor, gradient / norms[:, None], trans="T")
    return solution._replace(coef=solution.coef + linalg.solve_triangular(factor, half) / norms[:, None])


class Decomposed(NamedTuple):
    """Singular vectors and values of a table whose columns were divided by a scale, and its rank."""

    left: Array
    values: Array
    right: Array
    scale: Array

    @property
    def rank(self) -> int:
        """How many singular values are above rounding: all that are kept."""
        return len(self.values)

    def project(self, target: Array) -> Array:
        """What the columns explain of a target, to rounding of the target however large the coefficients."""
        return self.left @ (self.left.T @ target)


def decomposed(table: Array) -> tuple[Decomposed, Array]:
    """The singular value decomposition of a small table up to its rank, and the right vectors beyond it.

    With at least as many rows as columns the rank is decided on columns of unit norm, so that the units of
    the columns do not matter; a wide table is never of full rank and is taken as it is.
    """
    d = table.shape[1]
    norms = np.ones(d) if d > table.shape[0] else np.linalg.norm(table, axis=0)
    scale = np.where(norms > 0, norms, 1.0)
    u, values, vt = np.linalg.svd(table / scale, full_matrices=False)
    tolerance = 4 * EPSILON * max(*table.shape, 32) * (values[0] if values.size else 0.0)
    rank = int(np.count_nonzero(values > tolerance))
    return Decomposed(u[:, :rank], values[:rank], vt[:rank].T, scale), vt[rank:].T


def minimum_norm(table: Array, target: Array) -> Solution:
    """Least-norm least-squares solution of a small dense table, by its singular value decomposition."""
    d, wide = table.shape[1], table.shape[1] > table.shape[0]
    known, beyond = decomposed(table)
    rank, values, scale = known.rank, known.values, known.scale
    scaled = known.right @ ((known.left.T @ target) / values[:, None])
    coef = scaled / scale[:, None]
    row_space: Array | None = None
    if wide:
        row_space = known.right
    elif rank < d:
        free = beyond / scale[:, None]
        row_space = np.linalg.qr(free, mode="complete")[0][:, d - rank :]
        coef = row_space @ (row_space.T @ coef)
    condition = float(values[0] / values[-1]) if rank else None
    return Solution(coef, rank, condition, row_space)


def by_dual(X: Array, y: Array, alpha: NDArray) -> Solution:
    """Ridge in its dual form w = Xᵀ(XXᵀ + αI)⁻¹y, of size n: for tables with more columns than rows.

    Needs α > 0. `X` and `y` are centred and multiplied by √s beforehand.
    """
    gram = X @ X.T
    coef = np.empty((X.shape[1], y.shape[1]))
    for value in distinct(alpha):
        targets = alpha == value
        matrix = gram.copy()
        matrix.flat[:: matrix.shape[0] + 1] += value
        factor, info = linalg.lapack.dpotrf(matrix, lower=True, overwrite_a=False, clean=False)
        if info != 0:  # α is below the rounding of XXᵀ: solve without squaring
            u, values, vt = np.linalg.svd(X, full_matrices=False)
            coef[:, targets] = vt.T @ ((values / (values**2 + value))[:, None] * (u.T @ y[:, targets]))
            continue
        dual, _ = linalg.lapack.dpotrs(factor, y[:, targets], lower=True)
        coef[:, targets] = X.T @ dual
    return Solution(coef, X.shape[1], None)


# QR factorisation of a table by blocks: one walk, each block reduced to a triangle, triangles merged.
#
# The triangle R of √s·[x − mean, y − mean] satisfies RᵀR = scatter, but comes without squaring: errors grow
# with the condition number of the table and not with its square.


def triangle(data: Rows, mean: NDArray) -> NDArray:
    """Upper triangle R with RᵀR = Σ s ([x, y] − mean)([x, y] − mean)ᵀ, by one walk.

    A table of few rows has a triangle of as many rows.

    Parameters
    ----------
    data : Rows
        With a target.
    mean : array of shape (d + t,)
        What is subtracted from the columns [x, y]; zeros for a model without intercept.
    """
    factor: NDArray = data.reduce(block_triangle, mean, combine=merge_triangles)
    return factor


def block_triangle(block: Block, mean: NDArray) -> NDArray:
    """Triangle of one block."""
    return np.asarray(np.linalg.qr(augmented_rows(block, mean, ones=False), mode="r"))


def merge_triangles(above: NDArray, below: NDArray) -> NDArray:
    """Triangle of two triangles, one on top of the other."""
    return np.asarray(np.linalg.qr(np.vstack([above, below]), mode="r"))
