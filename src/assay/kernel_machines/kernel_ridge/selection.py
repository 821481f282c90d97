"""Choice of the penalty and the width of a kernel ridge: leave-one-out, one decomposition a width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

STRENGTHS = np.logspace(-6.0, 0.5, 27)
WIDTHS = np.array([0.01, 0.03, 0.1, 0.3, 1.0])
"""Scales of a kernel times the number of features: rows of unit variance are about √(2d) apart."""


@dataclass(frozen=True)
class KernelSelection:
    """A penalty and a width of least leave-one-out error.

    Attributes
    ----------
    penalty_strengths : array of shape (n_strengths,)
        λ on the mean of squares.
    gammas : array of shape (n_gammas,)
        Scales of the kernel; one NaN for a kernel whose scale is not searched.
    leave_one_out_error : array of shape (n_gammas, n_strengths)
        Mean squared error of predicting each row from the others.
    penalty_strength, gamma : float
        The choice.
    model : KernelRidge
        Fitted on all rows at the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import KernelRidge
    >>> X = np.linspace(-2, 2, 60)[:, None]
    >>> chosen = KernelRidge(kernel="rbf", fit_intercept=True).select(X, np.sin(3 * X[:, 0]))
    >>> chosen.model.certificates_.holds
    True
    """

    penalty_strengths: NDArray
    gammas: NDArray
    leave_one_out_error: NDArray
    penalty_strength: float
    gamma: float
    model: Any


def leave_one_out_table(machines: list[Any], X: Any, y: NDArray, strengths: NDArray) -> NDArray:
    """Leave-one-out errors of every machine (one a width) at every penalty on the mean of squares."""
    rows = [machine.path(X, y, alphas=strengths * len(y)).leave_one_out_error for machine in machines]
    errors = np.array(rows, dtype=np.float64)
    return np.where(np.isnan(errors), np.inf, errors)
