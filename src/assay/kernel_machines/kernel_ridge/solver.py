"""Solvers of kernel ridge regression: Cholesky with refinement, else the spectrum of the Gram matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from assay.kernel_machines.kernel_ridge.gram_system import GramSystem

MAX_REFINEMENTS = 3


class KernelRidgeSolution(NamedTuple):
    """Result of `solve_kernel_ridge`; one column per target."""

    dual_coef: NDArray
    intercept: NDArray
    product: NDArray
    """K times the dual coefficients."""
    solver: str
    """"cholesky", or "spectrum" when the system was too close to singular for it."""


def solve_kernel_ridge(
    system: GramSystem, targets: NDArray, alphas: NDArray, weight: NDArray | None, fit_intercept: bool
) -> KernelRidgeSolution:
    """Solve (K + αW⁻¹)β + b1 = y, with 1ᵀβ = 0 when there is an intercept b, for every target.

    Targets of one α share a factorisation. Where the Cholesky solution does not satisfy the equations, the
    minimum-norm solution of the gradient equation K((K + αW⁻¹)β + b1 − y) = 0 is taken from the spectrum.
    """
    unique = np.unique(alphas)
    if len(unique) == 1:
        return _solve_one(system, targets, float(unique[0]), weight, fit_intercept)
    coef, product = np.empty_like(targets), np.empty_like(targets)
    intercept, solver = np.empty(len(alphas), dtype=targets.dtype), "cholesky"
    for alpha in unique:
        chosen = alphas == alpha
        part = _solve_one(system, targets[:, chosen], float(alpha), weight, fit_intercept)
        coef[:, chosen], product[:, chosen], intercept[chosen] = part.dual_coef, part.product, part.intercept
        solver = part.solver if part.solver == "spectrum" else solver
    return KernelRidgeSolution(coef, intercept, product, solver)


def _solve_one(
    system: GramSystem, targets: NDArray, alpha: float, weight: NDArray | None, fit_intercept: bool
) -> KernelRidgeSolution:
    ridge = np.asarray(alpha if weight is None else alpha / weight, dtype=targets.dtype)
    solution = None
    if system.factor(ridge) == 0:
        solution = _by_cholesky(system, targets, ridge, weight, fit_intercept)
    return solution or _by_spectrum(system, targets, alpha, weight, fit_intercept)


def _by_cholesky(
    system: GramSystem, targets: NDArray, ridge: NDArray, weight: NDArray | None, fit_intercept: bool
) -> KernelRidgeSolution | None:
    """Solve with the factor and refine; None when the equations are not met to half the digits."""
    n_samples, n_targets = targets.shape
    offset = np.average(targets, axis=0, weights=weight) if fit_intercept else np.zeros(n_targets)
    right = targets - offset.astype(targets.dtype) if fit_intercept else targets
    constant = system.solve(np.ones((n_samples, 1), dtype=targets.dtype)) if fit_intercept else None

    def bordered(values: NDArray) -> tuple[NDArray, NDArray]:
        solved = system.solve(values)
        if constant is None:
            return solved, np.zeros(n_targets, dtype=targets.dtype)
        level = solved.sum(axis=0) / constant.sum()
        return solved - constant * level, level

    eps = float(np.finfo(targets.dtype).eps)
    size = np.linalg.norm(right, axis=0)
    size[size == 0] = 1.0
    coef, level = bordered(right)
    error = np.inf
    for _ in range(MAX_REFINEMENTS + 1):
        product = system.product(coef)
        residual = right - product - level - ridge.reshape(-1, 1) * coef
        previous, error = error, float((np.linalg.norm(residual, axis=0) / size).max())
        if error <= 1e3 * eps or not error < previous / 2:
            break
        step, level_step = bordered(residual)
        coef, level = coef + step, level + level_step
    if not error <= np.sqrt(eps):
        return None
    return KernelRidgeSolution(coef, (level + offset).astype(targets.dtype), product, "cholesky")


def _by_spectrum(
    system: GramSystem, targets: NDArray, alpha: float, weight: NDArray | None, fit_intercept: bool
) -> KernelRidgeSolution:
    decomposition = spectrum(system.restore().copy(), weight, fit_intercept)
    coef = decomposition.dual_coef(decomposition.coordinates(targets), alpha).astype(targets.dtype)
    intercept = decomposition.intercept(targets, coef).astype(targets.dtype)
    return KernelRidgeSolution(coef, intercept, system.product(coef), "spectrum")


# Everything for every penalty at once, from one eigendecomposition.


class GramSpectrum(NamedTuple):
    """Eigendecomposition of M = H W^{1/2} K W^{1/2} H.

    W holds the weights; H = I − qqᵀ with q ∝ w^{1/2} takes the free intercept out (H = I without one). With
    the scaled target ỹ = W^{1/2} y, the dual coefficients are W^{1/2} (M + αI)⁻¹ H ỹ and the smoother is
    W^{−1/2} (M (M + αI)⁻¹ + qqᵀ) W^{1/2}.
    """

    values: NDArray
    vectors: NDArray
    """Columns H u_k."""
    root_weight: NDArray
    intercept_direction: NDArray | None
    """q, or None without an intercept."""
    direction_product: NDArray | None
    """W^{1/2} K W^{1/2} q."""

    @property
    def cutoff(self) -> float:
        """Eigenvalues up to here are zero up to rounding."""
        return float(self.values[-1]) * len(self.values) * float(np.finfo(self.vectors.dtype).eps)

    def inverse(self, alpha: float) -> NDArray:
        """1/(λ_k + α); 0 on the null space of M when α is too small for those digits to mean anything."""
        null = self.values <= self.cutoff
        drops = alpha <= np.sqrt(np.finfo(self.vectors.dtype).eps) * self.values[-1]
        with np.errstate(divide="ignore"):
            return np.where(null & drops, 0.0, 1.0 / (self.values + alpha))

    def complement(self, alpha: float) -> NDArray:
        """What the smoother leaves of each eigenvector: α/(λ_k + α), and 1 on the null space."""
        with np.errstate(invalid="ignore"):
            left = alpha / (self.values + alpha)
        return np.where(self.values <= self.cutoff, 1.0, left)

    def coordinates(self, targets: NDArray) -> NDArray:
        """Coordinates of the scaled targets in the eigenvectors."""
        return self.vectors.T @ (self.root_weight[:, None] * targets)

    def dual_coef(self, coordinates: NDArray, alpha: float) -> NDArray:
        """Dual coefficients, shape (n_samples, n_targets)."""
        scaled = self.vectors @ (self.inverse(alpha)[:, None] * coordinates)
        return self.root_weight[:, None] * scaled

    def intercept(self, targets: NDArray, dual_coef: NDArray) -> NDArray:
        """Weighted mean of y − Kβ; zeros without an intercept."""
        if self.intercept_direction is None or self.direction_product is None:
            return np.zeros(targets.shape[1], dtype=targets.dtype)
        size = float(np.linalg.norm(self.root_weight))
        scaled = self.intercept_direction @ (self.root_weight[:, None] * targets)
        return (scaled - (self.direction_product / self.root_weight) @ dual_coef) / size

    def effective_df(self, alpha: float) -> float:
        """Trace of the smoother."""
        return float(self.leverages(alpha).sum())

    def leverage_complement(self, alpha: float) -> NDArray:
        """1 − S_ii of every row, without cancellation."""
        return np.square(self.vectors) @ self.complement(alpha)

    def leverages(self, alpha: float) -> NDArray:
        """Diagonal of the smoother."""
        return 1.0 - self.leverage_complement(alpha)

    def residuals(self, coordinates: NDArray, alpha: float) -> NDArray:
        """Y − ŷ of every row."""
        return (self.vectors @ (self.complement(alpha)[:, None] * coordinates)) / self.root_weight[:, None]

    def leave_one_out(self, coordinates: NDArray, alpha: float) -> NDArray:
        """Residual of every row under the fit without it: (y_i − ŷ_i)/(1 − S_ii)."""
        left = self.complement(alpha)
        if not np.any(self.values <= self.cutoff):  # same ratio, and it keeps its digits as α → 0
            left = 1.0 / (self.values + alpha)
        numerator = (self.vectors @ (left[:, None] * coordinates)) / self.root_weight[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return numerator / (np.square(self.vectors) @ left)[:, None]

    def smoother(self, alpha: float) -> NDArray:
        """The matrix S with ŷ = S y."""
        inner = (self.vectors * (1.0 - self.complement(alpha))) @ self.vectors.T
        if self.intercept_direction is not None:
            inner += np.outer(self.intercept_direction, self.intercept_direction)
        return inner * self.root_weight / self.root_weight[:, None]


def spectrum(gram: NDArray, weight: NDArray | None, fit_intercept: bool) -> GramSpectrum:
    """Decompose a Gram matrix, which is overwritten; needs about three matrices of its size."""
    n_samples = gram.shape[0]
    root = np.ones(n_samples, dtype=gram.dtype) if weight is None else np.sqrt(weight)
    direction: NDArray | None = None
    product: NDArray | None = None
    if weight is not None:
        gram *= root
        gram *= root[:, None]
    if fit_intercept:
        direction = root / np.linalg.norm(root)
        product = gram @ direction
        half = product - (direction @ product) / 2 * direction
        gram -= np.outer(direction, half)
        gram -= np.outer(half, direction)
    values, vectors = eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
    if direction is not None:
        vectors -= np.outer(direction, direction @ vectors)
    return GramSpectrum(values.clip(min=0.0), vectors, root, direction, product)
