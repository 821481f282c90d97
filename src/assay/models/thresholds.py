"""The cut of a score that makes fewest errors, with every cut that is as good."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class OptimalThreshold(NamedTuple):
    """The best intercept b of the rule "second class where score + b > 0".

    Attributes
    ----------
    intercept : float
        The middle of the widest bounded interval of best intercepts. Beyond the scores where none is bounded:
        every row is then of one class, the first where either is as good.
    error : float
        Share of the rows, by weight, on the wrong side.
    intervals : array of shape (n_intervals, 2)
        All best intercepts: low < b ≤ high for each row, −inf and inf included.
    """

    intercept: float
    error: float
    intervals: Array


def optimal_threshold(
    scores: Any, y: Any, sample_weight: Any = None, *, second_class: Any = None
) -> OptimalThreshold:
    """Minimise over b the share of rows with sign(score + b) ≠ label, exactly, in O(n log n).

    The error changes at −score of a row only, so that n + 1 cuts decide: those between sorted scores and one
    beyond each end. With sign(0) = −1 the n values −score_i never give every row to the second class.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
    y : array-like of shape (n_samples,)
        Two labels.
    sample_weight : array-like of shape (n_samples,), optional
    second_class : label, optional
        The label of the second class; the larger one by default.

    Returns
    -------
    best : OptimalThreshold

    Examples
    --------
    >>> from assay.models.thresholds import optimal_threshold
    >>> best = optimal_threshold([0.0, 1.0, 3.0], [-1, -1, 1])
    >>> best.intercept, best.error, best.intervals
    (-2.0, 0.0, array([[-3., -1.]]))

    References
    ----------
    Sangnier §1.1.3, where n cuts are said to suffice.
    """
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(y)
    classes = np.unique(labels)
    if values.ndim != 1 or values.shape != labels.shape or not 1 <= len(classes) <= 2:
        raise ValueError("optimal_threshold needs one score per row and labels of at most two classes.")
    weight = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    second = labels == (classes[-1] if second_class is None else second_class)
    places, first = np.unique(values, return_inverse=True)
    gain = np.bincount(first, np.where(second, weight, -weight), minlength=len(places))
    # Cut j gives the rows of the first j different scores to the first class.
    errors = np.concatenate([[0.0], np.cumsum(gain)]) + float(weight[~second].sum())
    best = errors.min()
    room = 1e-12 * float(weight.sum())
    ends = np.concatenate([[-np.inf], places, [np.inf]])
    intervals = _merged([(ends[j], ends[j + 1]) for j in np.flatnonzero(errors <= best + room)])
    middles = np.array([_middle(low, high, places) for low, high in intervals])
    widths = np.where(np.isfinite(intervals).all(axis=1), np.diff(intervals, axis=1)[:, 0], 0.0)
    chosen = float(middles[np.argmax(widths) if widths.any() else -1])
    cuts = -intervals[::-1, ::-1]
    return OptimalThreshold(-chosen, float(best / weight.sum()), cuts)


def _merged(pieces: list[tuple[float, float]]) -> Array:
    """Intervals of scores that touch become one."""
    joined: list[list[float]] = []
    for low, high in pieces:
        if joined and joined[-1][1] == low:
            joined[-1][1] = high
        else:
            joined.append([low, high])
    return np.array(joined)


def _middle(low: float, high: float, places: Array) -> float:
    """A cut inside an interval; beyond the scores, by as much as they spread."""
    spread = float(np.ptp(places)) or 1.0
    if np.isinf(low) and np.isinf(high):
        return float(places[-1]) + spread
    if np.isinf(low):
        return high - spread
    return low + spread if np.isinf(high) else low + (high - low) / 2
