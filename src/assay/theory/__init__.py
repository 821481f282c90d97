"""Executable theory: exact risks, bounds and simulations with a known truth."""

from __future__ import annotations

from assay.theory._kernel_smoothing import (
    KernelRidgeRisk,
    LinearSmootherRisk,
    kernel_ridge_risk,
    linear_smoother_risk,
)
from assay.theory._quantization import (
    ExpectedCriterion,
    LloydTrap,
    OptimalPartition,
    PlusPlusRatio,
    corrected_criterion,
    expected_criterion,
    optimal_partition,
    pairwise_criterion,
    plus_plus_factor,
    plus_plus_ratio,
    stuck_rectangle,
    tie_trap,
    unlucky_rows,
)
from assay.theory._ridge import (
    Crossover,
    RidgeRisk,
    Stability,
    excess_risk,
    primal_dual_crossover,
    ridge_risk,
    squaring_experiment,
)

__all__ = [
    "Crossover",
    "ExpectedCriterion",
    "KernelRidgeRisk",
    "LinearSmootherRisk",
    "LloydTrap",
    "OptimalPartition",
    "PlusPlusRatio",
    "RidgeRisk",
    "Stability",
    "corrected_criterion",
    "excess_risk",
    "expected_criterion",
    "kernel_ridge_risk",
    "linear_smoother_risk",
    "optimal_partition",
    "pairwise_criterion",
    "plus_plus_factor",
    "plus_plus_ratio",
    "primal_dual_crossover",
    "ridge_risk",
    "squaring_experiment",
    "stuck_rectangle",
    "tie_trap",
    "unlucky_rows",
]
