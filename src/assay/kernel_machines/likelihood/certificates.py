"""What proves a kernel logistic regression: a duality gap, its optimality conditions, what it stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.certificates import Certificate, agreement, at_most
from assay.kernel_machines.likelihood.solver import Evidence

SOURCE = "Wei §7.3.4; Peyré, logistic classification"
CONDITIONS = {
    "rkhs": "Each coefficient is minus the slope of the loss of its row: α = −C ℓ'(y, f).",
    "l2": "The coefficients are K times minus the slopes of the loss.",
    "l1": "The pull of the slopes on a centre is 1 in the direction of its coefficient, at most 1 where "
    "it is 0.",
}


def logistic_certificates(
    evidence: Evidence, penalty: str, tol: float, *, single: bool, fit_intercept: bool
) -> list[Certificate]:
    """The gap from a feasible dual point, the optimality conditions, and the balance of a free intercept."""
    certificates = [
        at_most(
            "The objective is this close to its minimum, by a feasible point of the dual.",
            "relative duality gap",
            evidence.relative_gap,
            max(1.01 * tol, 1e-6 if single else 1e-8),
            SOURCE,
            assumptions=("the kernel is positive semi-definite",),
        ),
        at_most(
            CONDITIONS[penalty],
            "violation of the optimality conditions",
            evidence.violation,
            max(10 * np.sqrt(tol), 2e-3 if single else 1e-4),
            SOURCE,
        ),
    ]
    if fit_intercept:
        claim = "The slopes of the loss sum to zero: the intercept is free."
        bound = max(10 * np.sqrt(tol), 1e-3 if single else 1e-5)
        certificates.append(at_most(claim, "relative sum of slopes", evidence.imbalance, bound, SOURCE))
    return certificates


def stored_certificate(pairs: Mapping[str, tuple[Any, Any]], *, single: bool) -> Certificate:
    """What the model keeps is what its coefficients and the rows give again."""
    claim = "Norms, risks and penalties are those of the rows."
    return agreement(claim, pairs, SOURCE, rtol=1e-3 if single else 1e-5)
