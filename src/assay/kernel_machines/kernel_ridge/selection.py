"""Choice of the penalty and the width of a kernel ridge: leave-one-out, one decomposition per width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

STRENGTHS = np.logspace(-6.0, 0.5, 27)
WIDTHS = np.array([0.01, 0.03, 0.1, 0.3, 1.0])
"""Scales of a kernel times the number of features: rows of unit variance are about √(2d) apart."""


def leave_one_out_table(machines: list[Any], X: Any, y: NDArray, strengths: NDArray) -> NDArray:
    """Leave-one-out errors of every machine (one per width) at every penalty on the mean of squares."""
    rows = [machine.path(X, y, alphas=strengths * len(y)).leave_one_out_error for machine in machines]
    errors = np.array(rows, dtype=np.float64)
    return np.where(np.isnan(errors), np.inf, errors)
