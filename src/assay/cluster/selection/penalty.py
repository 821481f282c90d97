"""The penalised choice of the number of clusters, for all penalties at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.parameters import real, refusal

Array = NDArray[np.float64]


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
        """The value chosen over the widest range of λ on a logarithmic scale, the two ends left out.

        The ends of the range are chosen down to λ = 0 and up to infinity, whatever the data: they are taken
        only where the hull has no other corner.
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
    hull: list[int] = []
    for place in range(int(np.argmin(y)) + 1):  # λ ≥ 0 never chooses past the first minimum
        while len(hull) > 1 and _slope(x, y, hull[-2], hull[-1]) >= _slope(x, y, hull[-1], place):
            hull.pop()
        hull.append(place)
    return PenaltyHull(x[hull], y[hull], -np.diff(y[hull]) / np.diff(x[hull]))


def _slope(x: Array, y: Array, first: int, second: int) -> float:
    return float((y[second] - y[first]) / (x[second] - x[first]))
