"""Solvers of kernel ridge regression: Cholesky with refinement, else the spectrum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernel_machines.kernel_ridge.gram_system import GramSystem
from assay.kernel_machines.kernel_ridge.spectrum import spectrum

MAX_REFINEMENTS = 3


class KernelRidgeSolution(NamedTuple):
    """Result of `solve_kernel_ridge`; one column a target."""

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
