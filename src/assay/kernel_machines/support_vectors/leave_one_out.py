"""The leave-one-out error of a machine of two classes: its bound, and the error itself from many fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.kernel_machines.support_vectors.machine import MachineData, Standing
from assay.kernels import Kernel
from assay.kernels.stationary import Stationary
from assay.solvers.rkhs.machines.judging import MARGIN


def xi_alpha_bound(data: MachineData, standing: Standing, kernel: Kernel, C: float) -> float:
    """Share of rows with 2 α R² + ξ ≥ 1, where R² bounds the range of the kernel.

    A row that is not among them is on the right side of the machine fitted without it. α is that of one of
    the repetitions of a row of some weight. Squares of slacks have the hard margin of the kernel that is
    larger by 1/(2C) on its diagonal: with α = 2Cξ these are the rows with 2 α R² + 2 ξ ≥ 1. An intercept that
    no row on the margin holds may move when a row is left out: then nothing is known, and the share is 1.
    """
    problem = data.problem
    if problem.fit_intercept and not (standing.sets == MARGIN).any():
        return 1.0
    repeats = problem.cost / C
    alpha = problem.target * standing.coef / repeats
    slack = standing.slack if problem.loss.cornered else 2 * np.sqrt(standing.slack)
    doubtful = 2 * kernel_range(kernel, data, standing.reach) * alpha + slack >= 1 - 1e-9
    return float(repeats @ doubtful) / float(repeats.sum())


def kernel_range(kernel: Kernel, data: MachineData, top: float) -> float:
    """R² with c ≤ k(x, z) ≤ c + R² on the rows: `top` is the largest k(x, x), no k is below −`top`."""
    if data.gram is not None:
        return top - data.gram.least()
    return top if isinstance(kernel, Stationary) else 2 * top


def leave_one_out_error(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Share of rows that the model fitted without one repetition of them gets wrong.

    A row that is no support vector leaves the fit as it is: only the others need a fit each. The cost C is
    that of the whole fit, also where a radius, a budget or λ led to it: of fewer rows they lead to another.
    """
    known = model.get_params(deep=False)
    fixed = {"C": model.C_, "penalty_strength": None, "radius": None, "budget": None, "probability": False}
    fixed = {name: value for name, value in fixed.items() if name in known}
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    labels = np.asarray(y)
    wrong = np.asarray(model.predict(X)) != labels
    for row in model.support_.tolist():
        without = weight.copy()
        without[row] = max(without[row] - 1.0, 0.0)
        again = model._with(**fixed).fit(X, y, sample_weight=without)
        wrong[row] = (again.predict(X[row : row + 1]) != labels[row : row + 1]).item()
    return float(weight @ wrong / weight.sum())
