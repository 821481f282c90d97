"""What a cloud of predictions shows that one number does not: that it bends, or that it fans out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

FEWEST = 40
"""Rows below which a pattern is not told from chance."""

CLEAR = 4.0
"""Standard errors that a pattern must be away from none: one cloud in 15,000 without any goes beyond."""

BENT, FANNED = 0.02, 1.6
"""What else it takes: the share of what is missed that a curve explains, the ratio of the errors."""

FAR = 6.0
"""Residuals count up to so many times the middle one in size: one far row makes no pattern."""


def patterns(observed: NDArray, predicted: NDArray) -> tuple[str, ...]:
    """Sentences on a curve that the model misses and on errors that grow with the prediction.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 200)
    >>> patterns(x**2, 0.3 + 0.01 * x)[0]
    'The cloud bends: predictions at both ends are too low, those between too high.'
    """
    known = np.isfinite(observed) & np.isfinite(predicted)
    residuals = (observed - predicted)[known]
    if residuals.size < FEWEST or np.ptp(predicted[known]) == 0.0:
        return ()
    size = float(np.median(np.abs(residuals)))
    if size == 0.0:
        return ()
    residuals = np.clip(residuals / size, -FAR, FAR)
    # Ranks: how the predictions are spread says nothing about the errors.
    place = 2 * (rankdata(predicted[known]) - 0.5) / residuals.size - 1
    told = []
    bend, share = _slope(residuals, place, 0.5 * (3 * place**2 - 1))
    if abs(bend) > CLEAR and share > BENT:
        low, high = ("low", "high") if bend > 0 else ("high", "low")
        told.append(f"The cloud bends: predictions at both ends are too {low}, those between too {high}.")
    errors = np.abs(residuals - np.median(residuals))
    fan, _ = _slope(errors, np.ones_like(place), place)
    upper, lower = errors[place > 1 / 3].mean(), errors[place < -1 / 3].mean()
    ratio = float(max(upper, lower) / max(min(upper, lower), 1e-12))
    if abs(fan) > CLEAR and ratio > FANNED:
        large, small = ("great", "small") if upper > lower else ("small", "great")
        times = f"{ratio:.1f}" if ratio < 10 else "more than 10"
        told.append(
            f"It fans out: {large} predictions miss by {times} times as much as {small} ones, so that one "
            "error for all says too little."
        )
    return tuple(told)


def _slope(values: NDArray, other: NDArray, along: NDArray) -> tuple[float, float]:
    """Standard errors that the slope along a direction is away from none, and the share it explains.

    The directions are orthogonal to each other and to a constant but for rounding; the standard error holds
    for errors of unequal size.
    """
    design = np.column_stack([np.ones_like(along), other, along]) if np.ptp(other) > 0 else None
    design = np.column_stack([np.ones_like(along), along]) if design is None else design
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = inverse @ (design.T @ values)
    rest = values - design @ coefficients
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    meat = design * (rest / np.maximum(1 - leverage, 1e-9))[:, None]
    error = float(np.sqrt((inverse @ (meat.T @ meat) @ inverse)[-1, -1]))
    explained = coefficients[-1] ** 2 * np.var(along) / max(float(np.var(values)), 1e-300)
    return float(coefficients[-1] / max(error, 1e-300)), float(explained)
