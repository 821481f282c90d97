"""Certificates of the stochastic estimators."""

from __future__ import annotations

import numpy as np

from assay.certificates import Certificate
from assay.losses import MarginLoss
from assay.solvers._sgd_gap import RiskEvidence

SOURCE = "Rudi & Şimşekli §1.3.3, §3.2.3; Douc & Le Corff §5.4"


def nearness(value: float, bound: float, *, dual: bool) -> Certificate:
    """Relative duality gap or, without a dual point at hand, relative gradient."""
    claim, quantity = "The gradient of the risk nearly vanishes.", "relative gradient"
    if dual:
        claim, quantity = "The objective is this close to its minimum.", "relative duality gap"
    return Certificate(
        claim=claim,
        quantity=quantity,
        value=value,
        relation="<=",
        bound=bound * (1 + 1e-3),  # coefficients are rounded to the table's precision
        source=SOURCE,
    )


def better_than_a_constant(value: float, constant: float) -> Certificate:
    """Held-out loss against that of the best constant."""
    return Certificate(
        claim="On rows held out the mean loss is at most that of the constant that is best for them.",
        quantity="held-out loss",
        value=value,
        relation="<=",
        bound=constant,
        source=SOURCE,
    )


def surrogate_bound(evidences: list[RiskEvidence], loss: MarginLoss) -> Certificate:
    """Training error below the mean of φ(tf)/φ(0), which majorises it for a falling convex φ."""
    at_zero = float(loss.margin_value(np.zeros(1))[0])
    total = evidences[0].weight
    return Certificate(
        claim="The training error is at most the mean of φ(tf)/φ(0), which majorises it.",
        quantity="training error",
        value=sum(item.wrong for item in evidences) / total,
        relation="<=",
        bound=sum(item.loss for item in evidences) / (at_zero * total),
        source="Sangnier §1.2.1",
        trivial=1.0,
        tolerance=1e-12,
    )
