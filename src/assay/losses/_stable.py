"""Elementary functions that neither overflow loudly nor lose digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special


def exponential(x: NDArray) -> NDArray:
    """e^x, inf without a warning beyond the largest float."""
    with np.errstate(over="ignore"):
        return np.exp(x)


def softplus(x: NDArray) -> NDArray:
    """log(1 + e^x)."""
    return np.logaddexp(0, x)


def negative_entropy(p: NDArray) -> NDArray:
    """Give p log p + (1 − p) log(1 − p) on [0, 1] (up to rounding of p), inf outside."""
    p = np.asarray(p)
    inside = np.clip(p, 0, 1)
    rounding = 4 * np.finfo(inside.dtype).eps if inside.dtype.kind == "f" else 0.0
    value = special.xlogy(inside, inside) + special.xlog1py(1 - inside, -inside)
    return np.where(np.abs(p - inside) <= rounding, value, np.inf)


def increasing_root(
    function: Callable[[NDArray], NDArray], target: NDArray, low: NDArray, high: NDArray
) -> NDArray:
    """Point between `low` and `high` where an increasing function is `target`, by bisection."""
    for _ in range(1200):  # enough for the whole range of floats; a bracket of ordinary size takes about 60
        middle = (low + high) / 2
        if np.all((middle == low) | (middle == high)):
            break
        below = function(middle) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
