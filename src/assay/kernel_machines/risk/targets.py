"""Targets that a loss does not take, and risks that have no minimiser."""

from __future__ import annotations

import numpy as np

from assay.losses import CrossEntropy, Loss, MarginLoss
from assay.solvers.requirements import requires
from assay.solvers.rkhs.constraint import why_unsolvable
from assay.solvers.rkhs.problem import RKHSProblem


def require_targets(owner: str, problem: RKHSProblem[Loss]) -> None:
    """Refuse targets that the loss does not take, and problems without a solution."""
    loss, y = problem.loss, problem.target
    name = type(loss).__name__
    requires(owner, loss, convex=True, scores=1)
    if isinstance(loss, MarginLoss) and not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"{name} is a loss of labels: y must hold −1 and +1 only.")
    if isinstance(loss, CrossEntropy) and not ((y >= 0) & (y <= 1)).all():
        raise ValueError("CrossEntropy takes targets between 0 and 1.")
    with np.errstate(all="ignore"):
        known = np.isfinite(loss.value(y, np.zeros_like(y))) & np.isfinite(loss.smallest(y))
    if not known.all():
        raise ValueError(f"{name} does not take {y[~known][0]:g} as a target, or its loss overflows there.")
    with np.errstate(over="ignore"):
        if not np.isfinite(problem.loss_at_zero):
            raise ValueError(f"The sum of the {name} losses of y overflows: divide y by its scale first.")
    why = why_unsolvable(loss, y, problem.cost, np.ones_like(y), fit_intercept=problem.fit_intercept)
    if why is not None:
        raise ValueError(why.sentence)
