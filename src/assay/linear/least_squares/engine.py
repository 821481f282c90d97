"""One engine for least squares and ridge: choose what to read from the rows, solve, and keep the evidence."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Rows
from assay.solvers import (
    Solution,
    augmented_rows,
    by_cholesky,
    by_conjugate_gradient,
    by_dual,
    by_gradient_descent,
    by_triangle,
    minimum_norm,
    moments,
    triangle,
)
from assay.solvers.least_squares.iterative import Report, weighted_sums
from assay.solvers.least_squares.moments import (
    PILOT_ROWS,
    TableMoments,
    pilot_shift,
    require_range,
    rounding_of_constant,
)

Array = NDArray[np.float64]

LARGEST_GRAM = 8192
"""Columns beyond which no d × d matrix is formed unless a solver is named."""

WIDE_BYTES = 2**31
"""Largest table with more columns than rows that is brought into memory from elsewhere."""


class FitEvidence(NamedTuple):
    """What the certificates of a linear model are computed from, for each of t targets.

    W = Σ s; Xᵀ S r (d, t), X centred with an intercept; Σ s r (zero without one) and Σ s r²; the norms of the
    (centred) columns; Σ s (y − ȳ)², about zero without an intercept; and the size Σ_j |w_j| ‖x_j‖ + ‖y‖ of
    what is added up in a residual, nothing centred: its rounding is that of the residual.
    """

    weight: float
    cross: Array
    residual_sum: Array
    residual_ss: Array
    column_norms: Array
    target_ss: Array
    size: Array


class Fit(NamedTuple):
    """A fitted linear model before it becomes attributes.

    `mean_x` are the weighted column means (zeros without an intercept); `triangle` is R with RᵀR = XᵀX where
    the fit found it without squaring, of fewer rows where the table has fewer.
    """

    coef: Array
    intercept: Array
    solution: Solution
    evidence: FitEvidence
    scatter: Array | None
    trace: list[float]
    solver: str
    mean_x: Array
    triangle: Array | None = None


def fit_linear(
    data: Rows,
    alpha: NDArray,
    *,
    fit_intercept: bool,
    solver: str,
    tol: float,
    max_iter: int,
    report: Report = lambda coef, intercept: False,
) -> Fit:
    """Minimise Σ s ‖y − b − w·x‖² + α‖w‖², b not penalised, α of each target on the scale of the sum.

    "auto" reads the moments and solves by Cholesky, walks again for a QR factorisation when squaring would
    cost digits, takes the dual form when there are more columns than rows, and conjugate gradients when even
    the moments are too large. `report` is told every iteration; true asks to stop.
    """
    n, d = data.shape
    if solver == "auto":
        wide = d > n and n <= LARGEST_GRAM
        solver = "dual" if wide else "conjugate_gradient" if d > LARGEST_GRAM else "auto"
    if solver in ("cholesky", "qr", "gradient_descent") and d > LARGEST_GRAM:
        raise ValueError(
            f"solver={solver!r} needs the products of all pairs of columns, at most {LARGEST_GRAM} of them. "
            f'Got {d}; take solver="dual" where rows are few, or "conjugate_gradient".'
        )
    if solver == "dual":
        return _fit_dual(data, alpha, fit_intercept)
    if solver == "conjugate_gradient":
        iterated, mean_x, mean_y = by_conjugate_gradient(
            data, alpha, center=fit_intercept, tol=tol, max_iter=max_iter, report=report
        )
        intercept = mean_y - mean_x @ iterated.coef
        evidence = gather_evidence(data, iterated.coef, intercept, fit_intercept=fit_intercept)
        return Fit(iterated.coef, intercept, iterated, evidence, None, [], solver, mean_x)

    stats = moments(data, center=fit_intercept)
    trace: list[float] = []
    solution: Solution | None = None
    known: CentredTriangle | None = None
    root: Array | None = None
    if solver == "gradient_descent":
        solution, trace = by_gradient_descent(stats, alpha, tol=tol, max_iter=max_iter, report=report)
    elif solver in ("auto", "cholesky"):
        solution = by_cholesky(stats, alpha)
    if solution is None:
        factor = triangle(data, np.concatenate([stats.mean_x, stats.mean_y]))
        factor[:, :d][:, stats.constant] = 0.0
        solution = by_triangle(factor, d, alpha)
        known = CentredTriangle(factor[:, :d], factor[:, d:], stats.mean_x, stats.mean_y, stats.weight)
        root = factor[:d, :d].copy()
        solver = "qr"
    intercept = stats.mean_y - stats.mean_x @ solution.coef
    # Where squaring would cost digits, the products of the moments are no evidence.
    if known is None:
        evidence = evidence_of_moments(stats, solution.coef)
    else:
        evidence = evidence_of_triangle(known, solution.coef, intercept)
    solver = "cholesky" if solver == "auto" else solver
    # A view would keep the moments of all the targets alive.
    scatter = stats.xx.copy() if data.n_targets > d else stats.xx
    return Fit(solution.coef, intercept, solution, evidence, scatter, trace, solver, stats.mean_x, root)


def _fit_dual(data: Rows, alpha: NDArray, fit_intercept: bool) -> Fit:
    """Bring a wide table into memory, centre it, and solve a problem of the size of its rows."""
    n, d = data.shape
    if n * d * 8 > WIDE_BYTES and not hasattr(data, "X"):
        raise ValueError(
            f"A table of {n} rows and {d} columns is too large for the dual form out of memory; "
            "use solver='conjugate_gradient' instead."
        )
    mean = np.zeros(d + data.n_targets)
    table = data.reduce(partial(augmented_rows, ones=True), mean, combine=stack)
    weight = table[:, -1]  # √s
    X, y = table[:, :d], table[:, d:-1]
    with np.errstate(over="ignore", invalid="ignore"):
        require_range(np.einsum("ij,ij->j", table, table)[:-1], mean, data)
    if fit_intercept:
        mean = weight @ table[:, :-1] / (weight @ weight)
        table[:, :-1] -= weight[:, None] * mean
        X[:, np.linalg.norm(X, axis=0) <= noise_of_means(mean[:d], float(weight @ weight))] = 0.0
    solution = by_dual(X, y, alpha) if alpha.min() > 0 else minimum_norm(X, y)
    intercept = mean[d:] - mean[:d] @ solution.coef
    residual = y - X @ solution.coef
    norms, target_ss, total = np.linalg.norm(X, axis=0), np.sum(y**2, axis=0), float(weight @ weight)
    evidence = FitEvidence(
        total,
        X.T @ residual,
        weight @ residual if fit_intercept else np.zeros(residual.shape[1]),
        np.sum(residual**2, axis=0),
        norms,
        target_ss,
        residual_size(solution.coef, norms, target_ss, total, mean),
    )
    return Fit(solution.coef, intercept, solution, evidence, None, [], "dual", mean[:d])


def stack(above: Array, below: Array) -> Array:
    """Blocks one below the other."""
    return np.vstack([above, below])


def residual_size(coef: Array, norms: Array, target_ss: Array, weight: float, mean: Array) -> Array:
    """Σ_j |w_j| ‖x_j‖ + ‖y‖ of each target, from what the columns are about their means [x, y]."""
    d = coef.shape[0]
    columns = np.hypot(norms, np.sqrt(weight) * np.abs(mean[:d]))
    targets = np.hypot(np.sqrt(target_ss), np.sqrt(weight) * np.abs(mean[d:]))
    return np.asarray(columns @ np.abs(coef) + targets)


def evidence_of_moments(stats: TableMoments, coef: Array) -> FitEvidence:
    """Evidence without another walk."""
    product = stats.xx @ coef
    residual_ss = np.maximum(stats.yy + np.sum(coef * (product - 2 * stats.xy), axis=0), 0.0)
    norms = np.sqrt(np.maximum(np.diagonal(stats.xx), 0.0))
    mean = np.concatenate([stats.mean_x, stats.mean_y])
    return FitEvidence(
        stats.weight,
        stats.xy - product,
        np.zeros(coef.shape[1]),
        residual_ss,
        norms,
        stats.yy,
        residual_size(coef, norms, stats.yy, stats.weight, mean),
    )


def gather_evidence(data: Rows, coef: Array, intercept: Array, *, fit_intercept: bool) -> FitEvidence:
    """Evidence from the rows themselves: one walk with the coefficients in hand, nothing else."""
    d = data.shape[1]
    pilot = np.zeros(d + data.n_targets)
    if fit_intercept and not data.is_sparse:
        pilot = data.head(PILOT_ROWS, pilot_shift)
    weight, cross, r_sum, r_ss, x_sum, x_ss, y_sum, y_ss = data.reduce(residual_step, coef, intercept, pilot)
    mean = np.zeros_like(pilot)
    if fit_intercept:
        cross = cross - np.outer(x_sum / weight, r_sum)
        x_ss = x_ss - x_sum**2 / weight
        y_ss = y_ss - y_sum**2 / weight
        mean = pilot + np.concatenate([x_sum, y_sum]) / weight
        constant = x_ss <= rounding_of_constant(x_ss + x_sum**2 / weight, mean[:d], weight)
        x_ss, cross = np.where(constant, 0.0, x_ss), np.where(constant[:, None], 0.0, cross)
    else:
        r_sum = np.zeros_like(r_sum)
    norms, y_ss = np.sqrt(np.maximum(x_ss, 0.0)), np.maximum(y_ss, 0.0)
    size = residual_size(coef, norms, y_ss, weight, mean)
    return FitEvidence(weight, cross, r_sum, r_ss, norms, y_ss, size)


def residual_step(block: Block, coef: Array, intercept: Array, pilot: Array) -> tuple[object, ...]:
    """Sums over one block of the residual against everything, columns shifted by the pilot mean."""
    rows = augmented_rows(block, pilot, ones=True)
    d = coef.shape[0]
    X, y, root = rows[:, :d], rows[:, d:-1], rows[:, -1]
    residual = y - X @ coef - root[:, None] * (intercept - pilot[d:] + pilot[:d] @ coef)
    return (
        float(root @ root),
        X.T @ residual,
        root @ residual,
        np.sum(residual**2, axis=0),
        root @ X,
        np.sum(X**2, axis=0),
        root @ y,
        np.sum(y**2, axis=0),
    )


# The triangle of a centred table: all that a small problem needs to know of the rows, without squaring.


class CentredTriangle(NamedTuple):
    """R_x (r, d) and R_y (r, t) with R_xᵀR_x = XᵀX, R_xᵀR_y = XᵀY, R_yᵀR_y = YᵀY of the weighted table.

    Of a table with at least as many columns as rows it is the table itself. The means are what was
    subtracted, zeros without an intercept; columns of R_x that are constant up to rounding are zero.
    """

    x: Array
    y: Array
    mean_x: Array
    mean_y: Array
    weight: float

    def intercept(self, coef: Array) -> Array:
        """The intercepts of coefficients of shape (d, t)."""
        return self.mean_y - self.mean_x @ coef


def centred_triangle(data: Rows, *, fit_intercept: bool) -> CentredTriangle:
    """Walk the rows for their means, and again for the triangle."""
    n, d = data.shape
    with np.errstate(over="ignore", invalid="ignore"):
        weight, sums, squares = data.reduce(weighted_sums)
    require_range(squares, np.zeros_like(sums), data)
    mean = sums / weight if fit_intercept else np.zeros_like(sums)
    if n <= d:  # as large as its triangle
        factor = data.reduce(partial(augmented_rows, ones=False), mean, combine=stack)
    else:
        factor = triangle(data, mean)
    constant = np.linalg.norm(factor[:, :d], axis=0) <= noise_of_means(mean[:d], weight)
    factor[:, :d][:, constant] = 0.0
    return CentredTriangle(factor[:, :d], factor[:, d:], mean[:d], mean[d:], weight)


def noise_of_means(mean: Array, weight: float) -> Array:
    """Length that rounding leaves of a constant column less its mean."""
    return np.asarray(8 * np.finfo(float).eps * np.abs(mean) * np.sqrt(weight))


def evidence_of_triangle(known: CentredTriangle, coef: Array, intercept: Array) -> FitEvidence:
    """What certificates are computed from, without another walk: the triangle knows every product."""
    residual = known.y - known.x @ coef
    level = known.intercept(coef) - intercept
    norms, target_ss = np.linalg.norm(known.x, axis=0), np.sum(known.y**2, axis=0)
    mean = np.concatenate([known.mean_x, known.mean_y])
    return FitEvidence(
        known.weight,
        known.x.T @ residual,
        known.weight * level,
        np.sum(residual**2, axis=0) + known.weight * level**2,
        norms,
        target_ss,
        residual_size(coef, norms, target_ss, known.weight, mean),
    )
