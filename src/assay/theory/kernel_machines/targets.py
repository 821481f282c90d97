"""What kernel machines stand on: margins of hyperplanes, means and medians as targets of losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from assay.parameters import integer, one_of, real, refusal, require
from assay.randomness import RandomState, generator

Array = NDArray[np.float64]


def distance_to_hyperplane(w: ArrayLike, b: float, X: ArrayLike) -> Array:
    """Distances |wᵀx + b|/‖w‖ of rows to the hyperplane {z : wᵀz + b = 0}.

    Parameters
    ----------
    w : array-like of shape (n_features,)
        Not zero.
    b : float
    X : array-like of shape (n_rows, n_features)

    Examples
    --------
    >>> from assay.theory import distance_to_hyperplane
    >>> distance_to_hyperplane([3.0, 4.0], -5.0, [[0.0, 0.0], [3.0, 4.0]])
    array([1., 4.])

    References
    ----------
    Sangnier §1.4.1, proposition 20.
    """
    normal, rows = np.asarray(w, dtype=np.float64), np.atleast_2d(np.asarray(X, dtype=np.float64))
    largest = float(np.abs(normal).max(initial=0.0))
    if normal.ndim != 1 or normal.size != rows.shape[1] or not 0 < largest < np.inf:
        expected = f"a finite vector of {rows.shape[1]} numbers that are not all 0"
        raise refusal("distance_to_hyperplane", "w", expected, w)
    require("distance_to_hyperplane", real(), b=b)
    # Divided by the largest entry first: squares of large and of small entries are no numbers.
    normal, offset = normal / largest, b / largest
    return np.abs(rows @ normal + offset) / np.linalg.norm(normal)


def margin(w: ArrayLike, b: float, X: ArrayLike) -> float:
    """The margin μ(w, b) = min_i |wᵀx_i + b|/‖w‖ of a hyperplane: the smallest distance of a row.

    Parameters
    ----------
    w : array-like of shape (n_features,)
    b : float
    X : array-like of shape (n_rows, n_features)

    Examples
    --------
    >>> from assay.theory import margin
    >>> margin([1.0, 0.0], -1.0, [[0.0, 5.0], [3.0, 0.0]])
    1.0

    References
    ----------
    Sangnier §1.4.1.
    """
    return float(distance_to_hyperplane(w, b, X).min())


class MedianIdentity(NamedTuple):
    """The two sides of the identity that shows that the median minimises absolute errors.

    Attributes
    ----------
    difference : array
        |y − f| − |y − g|.
    product : array
        2(y − f)(1{y < g} − 1{y < f}), never negative.
    rest : array
        (1 − 2·1{y < g})(f − g), of mean zero where g is the median of y.
    """

    difference: Array
    product: Array
    rest: Array

    @property
    def largest_error(self) -> float:
        """Largest |difference − (product − rest)|."""
        return float(np.abs(self.difference - self.product + self.rest).max())


def median_identity(y: ArrayLike, f: ArrayLike, g: ArrayLike) -> MedianIdentity:
    """Compute |y − f| − |y − g| = 2(y − f)(1{y < g} − 1{y < f}) − (1 − 2·1{y < g})(f − g), both sides.

    Parameters
    ----------
    y, f, g : array-likes of one shape

    Examples
    --------
    >>> from assay.theory import median_identity
    >>> sides = median_identity([0.0, 3.0], [1.0, 1.0], [2.0, 2.0])
    >>> sides.difference, sides.largest_error
    (array([-1.,  1.]), 0.0)

    References
    ----------
    Sangnier §1.5.2, exercise 1.13.
    """
    y, f, g = (np.asarray(values, dtype=np.float64) for values in (y, f, g))
    below_g, below_f = (y < g).astype(np.float64), (y < f).astype(np.float64)
    product = 2.0 * (y - f) * (below_g - below_f)
    return MedianIdentity(np.abs(y - f) - np.abs(y - g), product, (1.0 - 2.0 * below_g) * (f - g))


NOISES = {"exponential": stats.expon(), "lognormal": stats.lognorm(1.0), "pareto": stats.pareto(2.5)}
"""Skewed noise laws, before they are moved; the last has no third moment."""


class MeanAgainstMedian(NamedTuple):
    """Risks of f = g + t·h minus those of g, on the same draws, for Y = g(X) + ε.

    Attributes
    ----------
    shifts : array of shape (n_shifts,)
        t.
    squared, absolute : arrays of shape (2, n_shifts)
        Mean of (Y − f)² − (Y − g)² and of |Y − f| − |Y − g|, for h = 1 and for h(x) = cos 2πx.
    squared_error, absolute_error : arrays of shape (2, n_shifts)
        Their standard errors.
    mean, median : float
        Of the noise: one of them is 0, by the choice of `center`.
    identity_error : float
        Largest error of `median_identity` on the draws.
    """

    shifts: Array
    squared: Array
    absolute: Array
    squared_error: Array
    absolute_error: Array
    mean: float
    median: float
    identity_error: float

    @property
    def best_squared(self) -> float:
        """The constant shift of least mean square: the mean of the noise."""
        return float(self.shifts[self.squared[0].argmin()])

    @property
    def best_absolute(self) -> float:
        """The constant shift of least mean absolute error: the median of the noise."""
        return float(self.shifts[self.absolute[0].argmin()])


def mean_against_median(
    noise: Any = "exponential",
    *,
    center: str = "mean",
    shifts: ArrayLike | None = None,
    n_draws: int = 20_000,
    random_state: RandomState = None,
) -> MeanAgainstMedian:
    """Simulate which function squared and absolute errors are least for, under skewed noise.

    Y = g(X) + ε with X uniform on [0, 1] and g(x) = sin 2πx. With mean zero noise g minimises E(Y − f(X))²;
    with median zero noise it minimises E|Y − f(X)|; with skewed noise no function does both.

    Parameters
    ----------
    noise : "exponential", "lognormal", "pareto" or a frozen law of scipy.stats, default="exponential"
    center : {"mean", "median"}, default="mean"
        Which of the two is moved to 0.
    shifts : array-like, optional
        t; from −1 to 1 by default.
    n_draws : int, default=20_000
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> from assay.theory import mean_against_median
    >>> shown = mean_against_median("exponential", center="mean", random_state=0)
    >>> abs(shown.best_squared) < 0.05, round(shown.median, 2), shown.best_absolute < -0.2
    (True, -0.31, True)

    References
    ----------
    Sangnier §1.5.1, theorem 44; §1.5.2, theorem 45, exercise 1.13.
    """
    owner = "mean_against_median"
    require(owner, one_of("mean", "median"), center=center)
    require(owner, integer(at_least=2), n_draws=n_draws)
    law: Any = NOISES.get(noise) if isinstance(noise, str) else noise
    if not all(hasattr(law, name) for name in ("rvs", "mean", "median")):
        named = ", ".join(map(repr, NOISES))
        raise refusal(owner, "noise", f"one of {named} or a frozen law of scipy.stats", noise)
    t = np.linspace(-1.0, 1.0, 41) if shifts is None else np.asarray(shifts, dtype=np.float64)
    rng = generator(random_state)
    x = rng.uniform(size=n_draws)
    zero = float(law.mean() if center == "mean" else law.median())
    g = np.sin(2 * np.pi * x)
    y = g + law.rvs(size=n_draws, random_state=rng) - zero
    excess, identity = np.empty((2, 2, len(t), 2)), 0.0
    for place, direction in enumerate((np.ones(n_draws), np.cos(2 * np.pi * x))):
        for index, shift in enumerate(t):
            f = g + shift * direction
            sides = median_identity(y, f, g)
            identity = max(identity, sides.largest_error)
            for kind, values in enumerate(((y - f) ** 2 - (y - g) ** 2, sides.difference)):
                excess[kind, place, index] = values.mean(), values.std(ddof=1) / np.sqrt(n_draws)
    (squared, absolute), (squared_error, absolute_error) = excess[..., 0], excess[..., 1]
    moved = float(law.mean()) - zero, float(law.median()) - zero
    return MeanAgainstMedian(t, squared, absolute, squared_error, absolute_error, *moved, identity)
