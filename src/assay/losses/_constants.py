"""Constants that minimise a sum of losses: weighted means, quantiles and roots of piecewise linear slopes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def weights_of(y: NDArray, sample_weight: NDArray | None) -> NDArray:
    """The weights as floats, ones when there are none."""
    return np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)


def weighted_mean(y: NDArray, sample_weight: NDArray | None) -> float:
    """Σ s_i y_i / Σ s_i."""
    return float(np.average(np.asarray(y, dtype=float), weights=sample_weight))


def weighted_quantile(y: NDArray, sample_weight: NDArray | None, level: float) -> float:
    """Middle of the set with at most `level` of the weight below and at most 1 − `level` above."""
    values, weight = np.asarray(y, dtype=float), weights_of(y, sample_weight)
    values, weight = values[weight > 0], weight[weight > 0]
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weight[order])
    share, last = below / below[-1] - level, len(values) - 1
    rounding = 8 * np.finfo(float).eps
    first = min(int(np.searchsorted(share, -rounding)), last)
    return float(values[first] + values[min(int(np.searchsorted(share, rounding)), last)]) / 2


def piecewise_linear_root(slope: Callable[[float], float], breakpoints: NDArray) -> float:
    """Middle of the set of zeros of a non-decreasing function that is linear between sorted breakpoints.

    The function is at most 0 at the first breakpoint and at least 0 at the last.
    """

    def crossing(reached: Callable[[float], bool]) -> float:
        low, high = -1, len(breakpoints) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(slope(breakpoints[middle])) else (middle, high)
        if low < 0:
            return float(breakpoints[0])
        left, right = slope(breakpoints[low]), slope(breakpoints[high])
        if left >= right:
            return float(breakpoints[high])
        share = np.clip(-left / (right - left), 0.0, 1.0)
        return float(breakpoints[low] + share * (breakpoints[high] - breakpoints[low]))

    return (crossing(lambda value: value >= 0) + crossing(lambda value: value > 0)) / 2
