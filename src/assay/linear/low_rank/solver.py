"""Least squares for matrices of low rank: exactly, by accelerated proximal steps, and by splitting.

All functions minimise over B of shape (d, t)

    ½ ‖(Y − XB) Γ^½‖² + α ‖B‖_* + β Σ_i ‖B_i‖,

or the first term alone over matrices of rank at most k; X and Y may be the triangle of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.linear.least_squares.engine import Array, CentredTriangle
from assay.models.path import PenaltyPath, penalty_grid
from assay.models.selection import checked_alphas
from assay.penalties import Nuclear, RowSparse
from assay.solvers import decomposed, minimum_norm

Report = Callable[[Array], bool]

CHECK_EVERY = 10
"""Iterations between two looks at the duality gap."""


class LowRankProblem(NamedTuple):
    """X (r, d) and Y (r, t), the symmetric Γ^½, α, β, and whether the row penalty is on Bᵀ (responses)."""

    X: Array
    Y: Array
    root: Array
    alpha: float = 0.0
    row_alpha: float = 0.0
    responses: bool = False

    def rows(self, coef: Array) -> Array:
        """B, or Bᵀ when the row penalty is on responses."""
        return coef.T if self.responses else coef

    def residual(self, coef: Array) -> Array:
        """(Y − XB) Γ^½."""
        return (self.Y - self.X @ coef) @ self.root

    def pull(self, residual: Array) -> Array:
        """Xᵀ (Y − XB) Γ, the negative gradient of the first term."""
        return self.X.T @ residual @ self.root

    def objective(self, coef: Array) -> float:
        """The value to be minimised."""
        penalty = Nuclear(self.alpha).value(coef) + RowSparse(self.row_alpha).value(self.rows(coef))
        return float(np.sum(self.residual(coef) ** 2) / 2 + penalty)


class LowRank(NamedTuple):
    """Result of a solver: B, a part of the dual point, the duality gap relative to the objective at zero."""

    coef: Array
    row_dual: Array
    gap: float
    n_iter: int
    converged: bool
    trace: list[float]


class HardRank(NamedTuple):
    """B, all singular values of X B̂ Γ^½ (B̂ least squares), and the least ‖(Y − XB) Γ^½‖² of each rank."""

    coef: Array
    singular_values: Array
    least: Array


def by_rank(problem: LowRankProblem, rank: int) -> HardRank:
    """The best B of rank at most k: B̂ Γ^½ V V ᵀ Γ^−½, V the first k right singular vectors of X B̂ Γ^½.

    X B̂ is the projection of Y, not a product with B̂: where columns nearly repeat, B̂ is large, and X B̂ would
    have its rounding.
    """
    target = problem.Y @ problem.root
    explained = decomposed(problem.X)[0].project(target)
    _, values, vt = np.linalg.svd(explained, full_matrices=False)
    right = vt[:rank].T
    part = minimum_norm(problem.X, target @ right).coef
    coef = np.linalg.solve(problem.root, right @ part.T).T
    floor = float(np.sum((target - explained) ** 2))
    tails = np.concatenate([np.cumsum((values**2)[::-1])[::-1], [0.0]])
    return HardRank(np.asarray(coef, dtype=np.float64), values, floor + tails)


def duality_gap(problem: LowRankProblem, coef: Array, row_dual: Array) -> float:
    """Gap at the residual, scaled until feasible; relative to the objective at zero, never negative.

    The dual point U maximises ½‖Ỹ‖² − ½‖Ỹ − U‖², Ỹ = YΓ^½, among those whose XᵀUΓ^½ is a sum of a matrix of
    spectral norm at most α and one with rows of norm at most β. `row_dual` proposes the second one: any
    proposal gives a true bound, the right one gives a small gap.
    """
    residual = problem.residual(coef)
    scale = dual_scale(problem, problem.pull(residual), row_dual)
    target = problem.Y @ problem.root
    null = float(np.sum(target**2) / 2)
    if null == 0:
        return 0.0
    dual = null - float(np.sum((target - scale * residual) ** 2) / 2)
    return max(problem.objective(coef) - dual, 0.0) / null


def critical_alpha(problem: LowRankProblem) -> float:
    """The penalty from which on the nuclear norm alone leaves nothing: ‖XᵀYΓ‖."""
    return float(np.linalg.norm(problem.pull(problem.Y @ problem.root), 2))


def dual_scale(problem: LowRankProblem, pull: Array, row_dual: Array) -> float:
    """The factor s ≤ 1 that makes s·residual feasible for the dual, `pull` being Xᵀ·residual·Γ^½."""
    excess = _ratio(spectral_norm(pull - row_dual), problem.alpha)
    if problem.row_alpha > 0:
        lengths = np.linalg.norm(problem.rows(row_dual), axis=1)
        excess = max(excess, _ratio(float(lengths.max()), problem.row_alpha))
    return min(1.0, 1 / excess) if excess > 0 else 1.0


def _ratio(value: float, bound: float) -> float:
    return value / bound if bound > 0 else (np.inf if value > 0 else 0.0)


def shrink(matrix: Array, threshold: float) -> Array:
    """Soft thresholding of the singular values, from the smaller of the two products of the matrix.

    Squaring costs the digits of small singular values only, and those are set to zero; where the threshold
    is itself small beside the largest one, a singular value decomposition is taken.
    """
    tall = matrix.shape[0] >= matrix.shape[1]
    table = matrix if tall else matrix.T
    squares, right = np.linalg.eigh(table.T @ table)
    largest = float(squares[-1])
    if threshold**2 < 1e-8 * largest:
        return Nuclear(threshold).proximal(matrix, 1.0)
    kept = squares > threshold**2
    right, values = right[:, kept], np.sqrt(squares[kept])
    shrunk = table @ (right * (1 - threshold / values)) @ right.T
    return shrunk if tall else shrunk.T


def spectral_norm(matrix: Array) -> float:
    """The largest singular value, from the smaller of the two products of the matrix."""
    table = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    return float(np.sqrt(max(np.linalg.eigvalsh(table.T @ table)[-1], 0.0)))


def by_proximal_gradient(
    problem: LowRankProblem, *, tol: float, max_iter: int, start: Array | None = None, report: Report
) -> LowRank:
    """Accelerated proximal gradient with restarts: singular values soft-thresholded at every step."""
    d, t = problem.X.shape[1], problem.Y.shape[1]
    none = np.zeros((d, t))
    smoothness = float(np.linalg.norm(problem.X, 2) * np.linalg.norm(problem.root, 2)) ** 2
    step = 1 / smoothness if smoothness > 0 else 1.0
    coef = none.copy() if start is None else start.copy()
    point, momentum, trace = coef, 1.0, []
    gap, n_iter = duality_gap(problem, coef, none), 0
    while gap > tol and n_iter < max_iter:
        n_iter += 1
        moved = shrink(point + step * problem.pull(problem.residual(point)), step * problem.alpha)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        if np.sum((point - moved) * (moved - coef)) > 0:  # the momentum points uphill: start it afresh
            following, momentum = 1.0, 1.0
        point = moved + (momentum - 1) / following * (moved - coef)
        coef, momentum = moved, following
        if n_iter % CHECK_EVERY == 0 or n_iter == max_iter:
            gap = duality_gap(problem, coef, none)
            trace.append(gap)
        if report(coef):
            break
    return LowRank(coef, none, gap, n_iter, gap <= tol, trace)


def by_splitting(
    problem: LowRankProblem, *, tol: float, max_iter: int, start: Array | None = None, report: Report
) -> LowRank:
    """Alternating directions: one copy of B for each of the three terms, brought together by multipliers.

    The quadratic copy is exact in the singular bases of X and Γ; the two others are proximal maps, whose
    residuals are the two parts of a dual point.
    """
    d, t = problem.X.shape[1], problem.Y.shape[1]
    _, values, vt = np.linalg.svd(problem.X, full_matrices=False)
    weights, right = np.linalg.eigh(problem.root)
    curvature = np.multiply.outer(values**2, weights**2)
    pull = problem.pull(problem.Y @ problem.root)
    row_sparse = RowSparse(problem.row_alpha)
    rho = float(np.mean(curvature)) or 1.0
    low = np.zeros((d, t)) if start is None else start.copy()
    sparse, low_dual, row_dual = low.copy(), np.zeros((d, t)), np.zeros((d, t))
    coef, trace, gap, n_iter = low, list[float](), np.inf, 0
    while gap > tol and n_iter < max_iter:
        n_iter += 1
        right_side = pull - low_dual - row_dual + rho * (low + sparse)
        inside = vt @ right_side @ right
        quadratic = (right_side - vt.T @ inside @ right.T) / (2 * rho)
        quadratic += vt.T @ (inside / (curvature + 2 * rho)) @ right.T
        before = low + sparse
        low = shrink(quadratic + low_dual / rho, problem.alpha / rho)
        sparse = problem.rows(row_sparse.proximal(problem.rows(quadratic + row_dual / rho), 1 / rho))
        low_dual = low_dual + rho * (quadratic - low)
        row_dual = row_dual + rho * (quadratic - sparse)
        if n_iter % CHECK_EVERY == 0 or n_iter == max_iter:
            coef = _both(problem, low, sparse)
            gap = duality_gap(problem, coef, row_dual)
            trace.append(gap)
            apart = float(np.linalg.norm(quadratic - low) + np.linalg.norm(quadratic - sparse))
            moving = float(np.linalg.norm(low + sparse - before))
            if n_iter <= max_iter // 2:  # a step that suits the scale; fixed later, so that it converges
                rho *= 2.0 if apart > 10 * moving else 0.5 if moving > 10 * apart else 1.0
        if report(coef):
            break
    return LowRank(coef, row_dual, gap, n_iter, gap <= tol, trace)


def _both(problem: LowRankProblem, low: Array, sparse: Array) -> Array:
    """The copy of low rank, with the rows that the other copy has at zero: it has both properties."""
    alive = np.any(problem.rows(sparse) != 0, axis=1)
    return problem.rows(problem.rows(low) * alive[:, None])


# Every rank or penalty.


@dataclass(frozen=True, eq=False)
class RankPath(PenaltyPath):
    """Reduced-rank fits from simple to rich.

    Attributes
    ----------
    alphas : array of shape (k,) or None
        Penalties, decreasing; None for method="rank".
    coef : array of shape (k, n_targets, n_features)
    intercept : array of shape (k, n_targets)
    ranks : array of int of shape (k,)
        Rank of each matrix: 1, 2, … for method="rank".
    training_error : array of shape (k,)
        Σ s ‖Γ^½ (y − ŷ)‖²/Σ s.
    n_selected : array of int of shape (k,)
        Rows (of the axis) that are not zero.
    """

    ranks: NDArray[np.int64]
    training_error: Array
    n_selected: NDArray[np.int64]


def rank_path(
    problem: LowRankProblem, known: CentredTriangle, method: str, alphas: Any, tol: float, max_iter: int
) -> RankPath:
    """All ranks by one decomposition, or all penalties one after the other with warm starts."""
    coefs: list[Array] = []
    grid: Array | None = None
    if method == "rank":
        coefs = [by_rank(problem, k + 1).coef for k in range(min(problem.X.shape[1], problem.Y.shape[1]))]
    else:
        owner = "ReducedRankRegression.path"
        critical = critical_alpha(problem)
        grid = penalty_grid(critical, 20, 1e-2, owner) if alphas is None else checked_alphas(alphas, owner)
        solver = by_proximal_gradient if method == "nuclear" else by_splitting
        solve = partial(solver, tol=tol, max_iter=max_iter, report=lambda coef: False)
        start: Array | None = None
        for alpha in grid:
            start = solve(problem._replace(alpha=float(alpha)), start=start).coef
            coefs.append(start)
    stacked = np.stack(coefs)
    return RankPath(
        grid,
        stacked.transpose(0, 2, 1),
        known.mean_y - np.einsum("d,kdt->kt", known.mean_x, stacked),
        np.array([np.linalg.matrix_rank(coef) for coef in coefs]),
        np.array([np.sum(problem.residual(coef) ** 2) for coef in coefs]) / known.weight,
        np.array([np.count_nonzero(np.any(problem.rows(coef) != 0, axis=1)) for coef in coefs]),
    )
