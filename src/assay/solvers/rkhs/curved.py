"""Newton's linear system in the Hilbert space of a kernel, well conditioned as curvature vanishes.

With W = M Mᵀ the second derivatives of the loss at the scores (one block per row), a Newton step d of the
coefficients and δ of the intercepts solves d + W(K d + 1δᵀ) = ρ. With ρ = ρ₀ + M v₀ and d = ρ₀ + M v it is

    (I + MᵀKM) v = v₀ − Mᵀ(Kρ₀ + 1δᵀ),        1ᵀM v as the sum of the coefficients asks,

whose matrix is never smaller than the identity, whatever the weights: rows of no curvature take no part. It
is solved by conjugate gradients among the v that satisfy the second equation, preconditioned by a factor of
I + SKS with one weight s² per row (shared by all classes), made in single precision and kept while it serves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from assay.kernels import Kernel

Array = NDArray[np.float64]

MEMORY = 2.0**31
"""Bytes of a Gram matrix up to which it is kept; beyond, products with it are made tile by tile."""

SMALL = 700
"""Rows up to which a factor in double precision costs no more than what single precision would save."""

LANDMARKS = 512
"""Rows whose kernels approximate the matrix where it is not kept."""

PATIENCE = 8
"""Steps of conjugate gradients with a factor of other weights, after which the factor is made anew."""

ROUNDING, EXACT = 2.0**-52, 1e-9
"""Rounding of an entry of K, and the relative error of ‖h‖² from which it is read in another way."""

DECOMPOSED = 2000
"""Rows up to which the eigenvectors of K are worth an exact norm."""

CG_TOL, CG_EXACT, CG_STEPS = 1e-3, 1e-8, 500
"""Relative error of a step; the second where the first led to a step that had to be cut short."""

SINGLE_ROUNDING = 1e-6
"""A factor in single precision serves where the matrix is below one over this."""


class GramOperator:
    """Products with a Gram matrix that is in memory, or made tile by tile where it does not fit."""

    def __init__(
        self, kernel: Kernel, X: Any, gram: NDArray | None = None, *, memory: float | None = None
    ) -> None:
        self.kernel, self.X = kernel, X
        if gram is None and 8.0 * X.shape[0] ** 2 <= (MEMORY if memory is None else memory):
            gram = kernel.gram(_double(X))
        self.gram = None if gram is None else np.asarray(gram, dtype=np.float64)
        self.n_products = 0

    def __matmul__(self, columns: Array) -> Array:
        self.n_products += 1
        if self.gram is not None:
            return self.gram @ columns
        rows = _double(self.X)
        return self.kernel.apply(rows, rows, columns)

    @property
    def diagonal(self) -> Array:
        """k(x_i, x_i)."""
        if self.gram is not None:
            return self.gram.diagonal()
        return self.kernel.diagonal(_double(self.X))

    def squared_norm(self, coef: Array, values: Array) -> float:
        """αᵀKα, of coefficients α and their values Kα.

        Where coefficients are large and cancel, as those of a small penalty do, the rounding of K alone is
        many times the norm: it is then read from the features, where a kernel has few, or from the
        eigenvectors of K that are not rounding.
        """
        product = max(float(coef @ values), 0.0)
        sizes = np.abs(coef) * np.sqrt(np.abs(self.diagonal))
        if ROUNDING * float(sizes @ sizes) * np.sqrt(len(coef)) <= EXACT * product:
            return product
        if self.X is not None and self.kernel.n_features_out(self.X.shape[1]) <= len(coef):
            features = self.kernel.feature_map(_double(self.X))
            return float(np.sum(np.square(features.T @ coef)))
        if self.gram is not None and len(coef) <= DECOMPOSED:
            roots, vectors = np.linalg.eigh(self.gram)
            kept = roots > len(roots) * ROUNDING * max(float(roots[-1]), 0.0)
            return float(roots[kept] @ np.square(vectors[:, kept].T @ coef))
        return product


def _double(X: Any) -> Any:
    return X if X.dtype == np.float64 else X.astype(np.float64)


class Curvature(NamedTuple):
    """The second derivatives W = M Mᵀ of the loss: blocks of one row each, on its scores.

    One score: M is the root of `weight`. Several: c (diag p − p pᵀ), M = √c (diag √p − p √pᵀ); `weight` is
    then what a single number says best.
    """

    weight: Array
    cost: Array
    probabilities: Array | None

    def root(self, values: Array) -> Array:
        """M times one array of the shape of the scores."""
        if self.probabilities is None:
            return np.sqrt(self.weight)[:, None] * values
        p = self.probabilities
        inner = np.sqrt(p) * values
        return np.sqrt(self.cost)[:, None] * (inner - p * inner.sum(axis=1, keepdims=True))

    def root_transposed(self, values: Array) -> Array:
        """Mᵀ times one array of the shape of the scores."""
        if self.probabilities is None:
            return np.sqrt(self.weight)[:, None] * values
        p = self.probabilities
        mean = (p * values).sum(axis=1, keepdims=True)
        return np.sqrt(self.cost)[:, None] * np.sqrt(p) * (values - mean)

    def project(self, values: Array) -> Array:
        """Without the part on which M is zero: the multiples of √p."""
        if self.probabilities is None:
            return values
        root = np.sqrt(self.probabilities)
        return values - root * (root * values).sum(axis=1, keepdims=True)


class Factor:
    """A Cholesky factor of I + SKS on the rows with a weight, in single precision where that is worth it."""

    def __init__(self, operator: GramOperator, weight: Array) -> None:
        gram = operator.gram
        assert gram is not None
        self.rows = np.flatnonzero(weight > 0)
        self.whole = len(self.rows) == len(weight)
        root = np.sqrt(weight[self.rows])
        if not len(root):
            return
        largest = 1.0 + float(weight @ np.abs(gram.diagonal()))  # the trace bounds the norm
        single = len(self.rows) > SMALL and largest * SINGLE_ROUNDING < 1.0
        for dtype in (np.float32, np.float64) if single else (np.float64,):
            matrix = self._scaled(gram, root, dtype)
            routines: Any = get_lapack_funcs(("potrf", "potrs"), (matrix,))
            self._potrf, self._potrs = routines
            self._factor, order = self._potrf(matrix.T, lower=1, overwrite_a=1, clean=0)
            if order == 0:
                return
        # A Gram matrix is semi-definite up to rounding, which so large a norm makes larger than the identity.
        matrix = self._scaled(gram, root, np.float64)
        matrix.flat[:: len(matrix) + 1] += largest * len(matrix) * np.finfo(np.float64).eps
        self._factor, _ = self._potrf(matrix.T, lower=1, overwrite_a=1, clean=0)

    def _scaled(self, gram: NDArray, root: Array, dtype: Any) -> NDArray:
        matrix = gram.astype(dtype) if self.whole else gram[np.ix_(self.rows, self.rows)].astype(dtype)
        matrix *= root.astype(dtype)
        matrix *= root.astype(dtype)[:, None]
        matrix.flat[:: len(matrix) + 1] += 1
        return matrix

    def solve(self, values: Array) -> Array:
        """(I + SKS)⁻¹ times columns."""
        if not len(self.rows):
            return values
        part = values if self.whole else values[self.rows]
        solved = self._potrs(self._factor, part.astype(self._factor.dtype), lower=1)[0].astype(np.float64)
        if self.whole:
            return solved
        result = values.copy()
        result[self.rows] = solved
        return result


class LandmarkFactor:
    """The same with K projected on the kernels of a few rows, by the identity of Woodbury."""

    def __init__(self, operator: GramOperator, weight: Array) -> None:
        n = len(weight)
        chosen = np.unique(np.linspace(0, n - 1, min(LANDMARKS, n)).astype(np.intp))
        rows = _double(operator.X)
        small = operator.kernel.gram(rows[chosen])
        values, vectors = np.linalg.eigh(small)
        kept = values > values[-1] * len(small) * np.finfo(np.float64).eps
        basis = vectors[:, kept] / np.sqrt(values[kept])
        self._features = np.sqrt(weight)[:, None] * (operator.kernel.cross(rows, rows[chosen]) @ basis)
        inner = self._features.T @ self._features
        inner.flat[:: len(inner) + 1] += 1.0
        self._inverse = np.linalg.inv(inner)

    def solve(self, values: Array) -> Array:
        """(I + S K̃ S)⁻¹ times columns."""
        return values - self._features @ (self._inverse @ (self._features.T @ values))


def factor_of(operator: GramOperator, weight: Array) -> Factor | LandmarkFactor:
    """A preconditioner with one weight per row."""
    return LandmarkFactor(operator, weight) if operator.gram is None else Factor(operator, weight)


class Step(NamedTuple):
    """Result of `newton_step`: changes of the coefficients, of K times them and of the intercepts."""

    coef: Array
    values: Array
    intercept: Array
    n_steps: int


def newton_step(
    operator: GramOperator,
    curvature: Curvature,
    factor: Factor | LandmarkFactor,
    residual: Array,
    slope_sums: Array | None,
    *,
    patience: int = CG_STEPS,
    tol: float = CG_TOL,
) -> Step | None:
    """Solve d + W(K d + 1δᵀ) = ρ, the sums of coefficients plus d being zero where there are intercepts.

    `residual` is ρ, one column per score, and `slope_sums` the sums of the slopes, None without intercepts.
    None where more than `patience` steps of conjugate gradients are needed, unless that is as many as there
    may be at all.
    """
    light, first = parts_of(operator, curvature, residual)
    pulled = operator @ light
    right = first - curvature.root_transposed(pulled)
    asked = None if slope_sums is None else -(slope_sums + (residual - light).sum(axis=0))
    border = Border(curvature, factor, asked, residual.shape)
    solution, level = border.start(_precondition(curvature, factor, right))
    image = operator @ curvature.root(solution)
    rest = right + border.lift(level) - solution - curvature.root_transposed(image)
    unit = abs(float(np.vdot(right + border.lift(level), solution)))
    direction, size, n_steps = np.zeros_like(rest), 1.0, 0
    while n_steps < CG_STEPS:
        if n_steps == patience:
            return None
        corrected = border.project(_precondition(curvature, factor, rest))
        new_size = float(np.vdot(rest, corrected))
        if not new_size > tol**2 * unit:
            break
        direction = corrected + (new_size / size if n_steps else 0.0) * direction
        direction_image = operator @ curvature.root(direction)
        bent = direction + curvature.root_transposed(direction_image)
        length = new_size / float(np.vdot(direction, bent))
        solution, image, rest = (
            solution + length * direction,
            image + length * direction_image,
            rest - length * bent,
        )
        size, n_steps = new_size, n_steps + 1
    # What is left of the first equation is a multiple of the border: the step of the intercepts.
    level = level - border.level_of(rest)
    return Step(light + curvature.root(solution), pulled + image, -level, n_steps)


def parts_of(operator: GramOperator, curvature: Curvature, residual: Array) -> tuple[Array, Array]:
    """ρ₀ and v₀ with ρ = ρ₀ + M v₀, the rows of much weight in the second.

    There ρ is many times the step, which would be lost in the difference ρ − M u. Of several scores all of ρ
    is in the first.
    """
    nothing = np.zeros_like(residual)
    if curvature.probabilities is not None:
        return residual, nothing
    heavy = (curvature.weight * operator.diagonal > 1.0)[:, None]
    root = np.sqrt(curvature.weight)[:, None]
    return np.where(heavy, 0.0, residual), np.divide(residual, root, out=nothing, where=heavy)


def _precondition(curvature: Curvature, factor: Factor | LandmarkFactor, values: Array) -> Array:
    return curvature.project(factor.solve(curvature.project(values)))


class Border:
    """The columns E = Mᵀ(1 e_jᵀ) of the intercepts, and the projection on the v with Eᵀv = 0.

    Of several scores the last intercept is held: a common shift of all changes nothing.
    """

    def __init__(
        self,
        curvature: Curvature,
        factor: Factor | LandmarkFactor,
        slope_sums: Array | None,
        shape: tuple[int, ...],
    ) -> None:
        self.n_scores, self.columns, self.asked = shape[1], [], slope_sums
        free = 0 if slope_sums is None else max(shape[1] - 1, 1)
        for j in range(free):
            ones = np.zeros(shape)
            ones[:, j] = 1.0
            self.columns.append(curvature.root_transposed(ones))
        self.solved = [_precondition(curvature, factor, column) for column in self.columns]
        inner = np.array([[np.vdot(left, right) for right in self.solved] for left in self.columns])
        self.inverse = np.linalg.pinv(inner, hermitian=True) if free else np.empty((0, 0))

    def lift(self, level: Array) -> Array | float:
        """E δ."""
        return sum((d * column for d, column in zip(level, self.columns, strict=False)), start=0.0)

    def level_of(self, values: Array) -> Array:
        """The δ for which E δ is nearest to some values in the preconditioned metric; 0 for what is held."""
        level = np.zeros(self.n_scores)
        if self.columns:
            level[: len(self.columns)] = self.inverse @ [np.vdot(column, values) for column in self.solved]
        return level

    def start(self, solved: Array) -> tuple[Array, Array]:
        """The preconditioned right-hand side, moved to the sums that are asked for; and by which δ."""
        level = np.zeros(self.n_scores)
        if self.asked is not None:
            sums = np.array([np.vdot(column, solved) for column in self.columns])
            level[: len(sums)] = self.inverse @ (-self.asked[: len(sums)] - sums)
            for d, column in zip(level, self.solved, strict=False):
                solved = solved + d * column
        return solved, level

    def project(self, solved: Array) -> Array:
        """Preconditioned values without what would change the sums."""
        if not self.columns:
            return solved
        level = self.inverse @ [np.vdot(column, solved) for column in self.columns]
        for d, column in zip(level, self.solved, strict=True):
            solved = solved - d * column
        return solved
