"""Fully corrective weights: all steps of a boosted vote at once, a convex problem with a duality gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss
from assay.rows import MemoryRows
from assay.solvers.smooth.fit import fit_smooth
from assay.solvers.smooth.row_risk import RowRisk

Array = NDArray[np.float64]


class CorrectiveWeights(NamedTuple):
    """Weights of the learners that minimise the penalised risk together.

    Attributes
    ----------
    steps : array of shape (n_rounds,)
        w_t; f = Σ_t w_t g_t.
    objective, risk : float
        Mean loss with and without the penalty.
    stagewise_risk : float
        Mean loss of the weights that boosting chose one by one.
    dual_gap : float
        Objective minus the dual value of a feasible point: how far the objective is from the least at most.
    """

    steps: Array
    objective: float
    risk: float
    stagewise_risk: float
    dual_gap: float


def refit(
    agreed: Array, weight: Array, loss: Loss, start: Array, penalty_strength: float
) -> CorrectiveWeights:
    """Minimise (1/W) Σ_i s_i φ(m_iᵀw) + ½ λ‖w‖², m_i what the learners add to the margin of a row."""
    ones, n_rounds = np.ones(len(agreed)), agreed.shape[1]
    data = MemoryRows(np.ascontiguousarray(agreed), ones, weight)
    risk = RowRisk(data, loss, np.full(n_rounds, penalty_strength), fit_intercept=False)
    fitted = fit_smooth(risk, start.reshape(-1, 1).copy(), solver="newton", tol=1e-10, max_iter=500)
    steps = fitted.point[:, 0]
    mean = float(np.average(loss.value(ones, agreed @ steps), weights=weight))
    objective = mean + 0.5 * penalty_strength * float(steps @ steps)
    # Fenchel: slopes of any size are feasible, and those of the fit are the best ones at the minimum.
    slopes = loss.gradient(ones, agreed @ steps)
    pull = agreed.T @ (weight * slopes) / weight.sum()
    conjugate = float(np.average(loss.conjugate(ones, slopes), weights=weight))
    dual = -conjugate - float(pull @ pull) / (2.0 * penalty_strength)
    with np.errstate(over="ignore"):
        before = float(np.average(loss.value(ones, agreed @ start), weights=weight))
    gap = objective - dual
    rounding = 1e-12 * max(abs(objective), 1.0)
    return CorrectiveWeights(steps, objective, mean, before, 0.0 if abs(gap) < rounding else gap)
