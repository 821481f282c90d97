"""Certificates of reduced-rank regression."""

from __future__ import annotations

import numpy as np

from assay.certificates import Certificate, at_most
from assay.linear.least_squares.engine import Array
from assay.linear.low_rank.solver import LowRankProblem, dual_scale, duality_gap, spectral_norm
from assay.penalties import Nuclear

SOURCE = "Wei §1.4.3"


def rank_certificates(
    problem: LowRankProblem,
    coef: Array,
    rank: int,
    measured: float,
    least: Array,
    lost: float,
    *,
    single: bool,
) -> list[Certificate]:
    """Of the best matrix of a rank; `measured` is Σ s ‖Γ^½ r‖² of the rows themselves.

    `lost` is the length of Γ^½ r that is rounding: large coefficients of nearly equal columns cancel in it.
    """
    null = float(np.sum((problem.Y @ problem.root) ** 2))
    floor = float(least[min(rank, len(least) - 1)])
    values = np.linalg.svd(coef, compute_uv=False)
    beyond = values[rank] / values[0] if len(values) > rank and values[0] > 0 else 0.0
    return [
        at_most(
            f"No matrix of rank {rank} fits better.",
            "relative excess over the least value",
            max(measured - floor, 0.0) / null if null > 0 else 0.0,
            max(1e-5 if single else 1e-8, (2 * np.sqrt(floor) + lost) * lost / null if null > 0 else 0.0),
            source=f"{SOURCE}; Eckart & Young (1936)",
        ),
        at_most(
            f"The coefficients have rank at most {rank}.",
            "relative singular value beyond the rank",
            beyond,
            1e-5 if single else 1e-10,
            source=SOURCE,
        ),
    ]


def convex_certificates(
    problem: LowRankProblem, coef: Array, row_dual: Array, measured: float, tol: float, *, single: bool
) -> list[Certificate]:
    """Of a penalised matrix: the duality gap and, for the nuclear norm alone, its optimality conditions.

    With U = s·residual the feasible dual point, the gap is ½(1 − s)²‖residual‖² + α‖B‖_* − ⟨XᵀUΓ^½, B⟩, so
    that the alignment is at most the gap; and a gap g allows the gradient to exceed α by at most √(2Lg).
    """
    null = float(np.sum((problem.Y @ problem.root) ** 2))
    residual = problem.residual(coef)
    # What the triangle says of the residuals and what the rows say must be one.
    apart = abs(measured - float(np.sum(residual**2))) / null if null > 0 else 0.0
    bound = max(2 * tol, 1e-5 if single else 1e-10)
    certificates = [
        at_most(
            "The objective is this close to its minimum.",
            "relative duality gap",
            duality_gap(problem, coef, row_dual) + apart,
            bound,
            source=SOURCE,
        )
    ]
    if problem.row_alpha > 0 or problem.alpha == 0:
        return certificates
    pull = problem.pull(residual)
    size = float(np.linalg.norm(problem.X, 2) * np.linalg.norm(problem.root, 2))
    aligned = dual_scale(problem, pull, row_dual) * float(np.sum(pull * coef))
    gap = float(Nuclear(problem.alpha).value(coef)) - aligned
    return [
        *certificates,
        at_most(
            "The spectral norm of the gradient is at most α, up to what the gap allows.",
            "spectral norm of the gradient over α",
            spectral_norm(pull) / problem.alpha,
            1 + size * np.sqrt(bound * null) / problem.alpha,
            source=SOURCE,
        ),
        at_most(
            "The gradient is a subgradient of the nuclear norm: aligned with the singular vectors of B.",
            "relative misalignment of the gradient",
            max(gap, 0.0) / (null / 2) if null > 0 else 0.0,
            bound,
            source=SOURCE,
        ),
    ]


def level_certificate(sums: Array, weight: float, targets: Array, *, single: bool) -> Certificate:
    """The intercept makes the residuals of each response sum to zero; `targets` are their lengths."""
    scale = float(np.linalg.norm(targets)) * np.sqrt(weight)
    return at_most(
        "The residuals of each response sum to zero.",
        "relative sum of residuals",
        float(np.abs(sums).max() / scale) if scale > 0 else 0.0,
        1e-4 if single else 1e-8,
        source=SOURCE,
    )
