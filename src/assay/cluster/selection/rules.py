"""Rules that read a number of clusters off a curve, by itself or penalised. Pure functions of the curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.parameters import real, refusal

Array = NDArray[np.float64]

CLEAR_FALL = 4.0
"""An elbow is clear where the curve falls at least so many times faster before it than anywhere after."""

CLEAR_BEND = 2.0
"""An elbow is in doubt where the curve bends more than this many times as much elsewhere."""

NEAR = 0.05
"""Share of the range of a curve within which two values are not told apart."""


class Choice(NamedTuple):
    """Where a rule points, whether the curve leaves it in doubt, and why."""

    place: int
    ambiguous: bool
    reason: str


class Elbow(NamedTuple):
    """The elbow of a falling curve by two rules; see `find_elbow`.

    Attributes
    ----------
    value : float
        Where the curve is farthest below its chord: the elbow.
    bend : float
        Where its second difference is the largest.
    ambiguous : bool
    reason : str
    below_chord, second_difference : arrays of shape (n_values,)
        Both axes scaled to [0, 1]; NaN at the ends for the latter.
    place : int
        Place of `value` among the values.
    """

    value: float
    bend: float
    ambiguous: bool
    reason: str
    below_chord: Array
    second_difference: Array
    place: int


def find_elbow(values: ArrayLike, curve: ArrayLike) -> Elbow:
    """Find the elbow of a falling curve, and say whether there is a clear one.

    The elbow is the point farthest below the chord from the first to the last point. It is ambiguous when

    - the curve falls less than four times as fast right before it as somewhere after it, or
    - the largest second difference stands elsewhere and is more than twice that at the elbow.

    Parameters
    ----------
    values : array of shape (n_values,)
        Increasing numbers of clusters, at least three.
    curve : array of shape (n_values,)
        Within-cluster inertia, or any quantity that falls with them.

    Examples
    --------
    >>> from assay.cluster import find_elbow
    >>> elbow = find_elbow([1, 2, 3, 4, 5, 6], [100.0, 60.0, 20.0, 16.0, 13.0, 11.0])
    >>> elbow.value, elbow.bend, elbow.ambiguous
    (3.0, 3.0, False)
    >>> find_elbow([1, 2, 3, 4, 5, 6], [100.0, 80.0, 61.0, 43.0, 26.0, 10.0]).ambiguous
    True

    References
    ----------
    Sangnier §2.5.1.
    """
    x, y = np.asarray(values, dtype=float), np.asarray(curve, dtype=float)
    if x.ndim != 1 or x.size < 3 or (np.diff(x) <= 0).any():
        raise refusal("find_elbow", "values", "at least three increasing numbers", values)
    if y.shape != x.shape or not np.isfinite(y).all():
        raise refusal("find_elbow", "curve", f"{x.size} finite numbers, one a value", curve)
    fall = y[0] - y[-1]
    if fall <= 0:
        raise ValueError("find_elbow needs a curve that falls from its first to its last point.")
    x_unit, y_unit = (x - x[0]) / (x[-1] - x[0]), (y - y[-1]) / fall
    below = 1.0 - x_unit - y_unit
    slopes = -np.diff(y_unit) / np.diff(x_unit)
    bends = np.full(x.size, np.nan)
    bends[1:-1] = slopes[:-1] - slopes[1:]
    index = 1 + int(np.argmax(below[1:-1]))
    sharpest = 1 + int(np.argmax(bends[1:-1]))
    before, after = slopes[index - 1], max(float(slopes[index:].max()), 0.0)
    if below[index] <= 0 or before < CLEAR_FALL * after:
        ambiguous, reason = True, "the curve falls less than four times as fast before the elbow as after it"
    elif bends[sharpest] > CLEAR_BEND * bends[index]:
        ambiguous, reason = True, f"the curve bends more than twice as much at {x[sharpest]:g}"
    else:
        ambiguous, reason = False, f"the curve is farthest below its chord at {x[index]:g}"
    return Elbow(float(x[index]), float(x[sharpest]), ambiguous, reason, below, bends, index)


def first_small_decrease(values: Sequence[Any], decrease: Array, limit: float) -> Choice:
    """The first value after which the curve falls by at most `limit`; the last one where it always does more.

    `decrease[j]` is the fall from value j to the next; the last entry is NaN.
    """
    small = decrease[:-1] <= limit
    if not small.any():
        return Choice(len(values) - 1, True, "no decrease is below the threshold: the range ends too early")
    index = int(np.argmax(small))
    if not small[index:].all():
        later = values[index + int(np.argmin(small[index:]))]
        return Choice(index, True, f"the decrease exceeds the threshold again at {later}")
    return Choice(index, False, f"from {values[index]} on every decrease is below the threshold")


def first_gap(values: Sequence[Any], gap: Array, error: Array) -> Choice:
    """The smallest value with Gap(K) ≥ Gap(K+1) − s'_{K+1}; the largest gap where there is none."""
    enough = gap[:-1] >= gap[1:] - error[1:]
    largest = int(np.nanargmax(gap))
    if not enough.any():
        return Choice(largest, True, "the gap rises to the end of the range: it ends too early")
    index = int(np.argmax(enough))
    if gap[largest] > gap[index] + error[largest]:
        return Choice(index, True, f"a later value, {values[largest]}, has a gap larger by over s'")
    return Choice(index, False, f"the gap does not rise by more than s' after {values[index]}")


def extreme(
    values: Sequence[Any],
    curve: Array,
    error: Array | None,
    *,
    largest: bool,
    room: float | None = None,
    last: bool = False,
) -> Choice:
    """The largest (smallest) entry, in doubt if another one is near; the first of equal ones, or the last.

    Near is within `room`, else within 5 % of the range or the standard error of the chosen entry.
    """
    signed = np.where(np.isnan(curve), -np.inf, curve if largest else -curve)
    index = int(np.flatnonzero(signed >= signed.max() - (1e-12 if last else 0.0))[-1 if last else 0])
    word = "largest" if largest else "smallest"
    words = "" if room is None else f"{room:g}"
    if room is None:
        finite = signed[np.isfinite(signed)]
        room, words = float(np.ptp(finite)) * NEAR if finite.size else 0.0, "5 % of the range"
        if error is not None and error[index] > room:
            room, words = float(error[index]), "a standard error"
    places = np.flatnonzero(signed >= signed[index] - room).tolist()
    near = [str(values[place]) for place in places if place != index]
    if near:
        return Choice(index, True, f"{', '.join(near)} within {words} of the {word}")
    return Choice(index, False, f"the score is the {word} at {values[index]}")


class PenaltyHull(NamedTuple):
    """The numbers of clusters that minimise J(K) + λK, for every λ ≥ 0; see `penalty_path`.

    Attributes
    ----------
    values : array of shape (m,)
        The numbers that some λ chooses, increasing: the corners of the lower convex hull of J.
    curve : array of shape (m,)
        J there.
    breakpoints : array of shape (m − 1,)
        Decreasing; λ between `breakpoints[i]` and `breakpoints[i - 1]` chooses `values[i]`.
    """

    values: Array
    curve: Array
    breakpoints: Array

    @property
    def lower(self) -> Array:
        """Least λ that chooses each of the values."""
        return np.append(self.breakpoints, 0.0)

    @property
    def upper(self) -> Array:
        """Largest λ that chooses each of the values; infinite for the first."""
        return np.insert(self.breakpoints, 0, np.inf)

    @property
    def most_persistent(self) -> float:
        """The value chosen over the widest range of λ on a logarithmic scale.

        Not one of the two ends, which some λ chooses whatever the data, unless the hull has no other corner.
        """
        if len(self.values) < 3:
            return float(self.values[0])
        return float(self.values[1 + int(np.argmax(self.breakpoints[:-1] / self.breakpoints[1:]))])

    def at(self, penalty: float) -> float:
        """The value that minimises J(K) + λK at λ = `penalty`, the smallest in case of ties."""
        domain = real(at_least=0.0)
        if not domain.contains(penalty):
            raise refusal("PenaltyHull.at", "penalty", domain.words, penalty)
        return float(self.values[int(np.count_nonzero(self.breakpoints > penalty))])


def penalty_path(values: ArrayLike, curve: ArrayLike) -> PenaltyHull:
    """Every choice of K that minimises J(K) + λK for some λ ≥ 0, with the λ at which the choice changes.

    A value is chosen by some λ if and only if (K, J(K)) is a corner of the lower convex hull of the curve;
    the choice changes at the slopes of the hull.

    Parameters
    ----------
    values : array of shape (n_values,)
        Increasing numbers of clusters.
    curve : array of shape (n_values,)
        Distortion J(K) = Σ_i ‖x_i − μ_{z_i}‖².

    Examples
    --------
    >>> from assay.cluster import penalty_path
    >>> path = penalty_path([1, 2, 3, 4], [100.0, 70.0, 20.0, 15.0])
    >>> path.values, path.breakpoints
    (array([1., 3., 4.]), array([40.,  5.]))
    >>> path.at(10.0)
    3.0

    References
    ----------
    Rudi & Şimşekli §7.1.4.
    """
    x, y = np.asarray(values, dtype=float), np.asarray(curve, dtype=float)
    if x.ndim != 1 or x.size == 0 or (np.diff(x) <= 0).any():
        raise refusal("penalty_path", "values", "increasing numbers, at least one", values)
    if y.shape != x.shape or not np.isfinite(y).all():
        raise refusal("penalty_path", "curve", f"{x.size} finite numbers, one a value", curve)

    def slope(first: int, second: int) -> float:
        return float((y[second] - y[first]) / (x[second] - x[first]))

    hull: list[int] = []
    for place in range(int(np.argmin(y)) + 1):  # λ ≥ 0 never chooses past the first minimum
        while len(hull) > 1 and slope(hull[-2], hull[-1]) >= slope(hull[-1], place):
            hull.pop()
        hull.append(place)
    return PenaltyHull(x[hull], y[hull], -np.diff(y[hull]) / np.diff(x[hull]))
