"""Targets on another scale: logarithm and Yeo–Johnson powers, and the way back without bias."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Array = NDArray[np.float64]

BEYOND = 0.25
"""How far beyond the known targets, in shares of their range, a prediction may lie on the other scale: a law
that goes on as it was is then missed by little even from few rows, and one that does not cannot explode."""


class TargetScale(NamedTuple):
    """A scale of a target, learnt from known ones.

    Attributes
    ----------
    kind : {"log", "yeo-johnson"}
    power : float
        λ of Yeo and Johnson.
    unit : float
        What the target is divided by before the power, so that λ does not depend on its unit.
    low, high : float
        Ends of the known targets on the scale; the way back begins within a quarter of the range of them.
    """

    kind: str
    power: float
    unit: float
    low: float
    high: float

    def forward(self, y: ArrayLike) -> Array:
        """The target on the scale."""
        return _forward(np.asarray(y, dtype=np.float64), self.kind, self.power, self.unit)

    def back(self, values: ArrayLike, *, bounded: bool = True) -> Array:
        """Values of the scale as targets, none far beyond those that are known unless they may be."""
        room = BEYOND * (self.high - self.low) if bounded else np.inf
        inside = np.clip(np.asarray(values, dtype=np.float64), self.low - room, self.high + room)
        if self.kind == "log":
            with np.errstate(over="ignore"):  # ends of an interval may be infinite
                return np.exp(inside)
        return self.unit * _inverse_power(inside, self.power)


def learn_scale(y: ArrayLike, kind: str) -> TargetScale:
    """Learn a scale from targets: the power of greatest likelihood of a normal law, for Yeo–Johnson.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Above zero for the logarithm.
    kind : {"log", "yeo-johnson"}

    Examples
    --------
    >>> scale = learn_scale([1.0, 10.0, 100.0], "log")
    >>> scale.back(scale.forward([10.0])).round(9).tolist()
    [10.0]
    """
    known = np.asarray(y, dtype=np.float64)
    power, unit = 0.0, 1.0
    if kind == "log":
        if known.min() <= 0:
            raise ValueError(f"The logarithm needs a target above zero. Got {known.min():g} instead.")
    elif kind == "yeo-johnson":
        unit = float(np.median(np.abs(known - np.median(known)))) or float(known.std()) or 1.0
        power = float(np.clip(stats.yeojohnson_normmax(known / unit), -2.0, 4.0))
    else:
        raise ValueError(f"The 'kind' of a scale must be 'log' or 'yeo-johnson'. Got {kind!r} instead.")
    values = _forward(known, kind, power, unit)
    return TargetScale(kind, power, unit, float(values.min()), float(values.max()))


def smeared(scale: TargetScale, predictions: ArrayLike, residuals: ArrayLike) -> Array:
    """Mean target for each prediction on a scale: (1/m) Σ_j back(prediction + residual_j), Duan's smearing.

    The way back of the prediction itself is near the median, below the mean of a skewed target; averaged over
    residuals of rows that the fit has not seen, it is the mean for errors of any law that does not depend on
    the row (Duan 1983).

    Parameters
    ----------
    scale : TargetScale
    predictions : array of shape (n_rows,)
        On the scale.
    residuals : array of shape (m,)
        On the scale.

    Returns
    -------
    means : array of shape (n_rows,)
    """
    errors = np.asarray(residuals, dtype=np.float64)
    return scale.back(np.asarray(predictions, dtype=np.float64)[:, None] + errors).mean(axis=1)


def helpful_scale(y: ArrayLike) -> str | None:
    """The scale on which a skewed target is at most half as skewed; None where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> normal = np.random.default_rng(0).normal(size=500)
    >>> helpful_scale(np.exp(normal)), helpful_scale(normal), helpful_scale(np.exp(normal) - 1)
    ('log', None, 'yeo-johnson')
    """
    known = np.asarray(y, dtype=np.float64)
    before = abs(float(stats.skew(known)))
    if not before > 1 or np.unique(known).size < 10:
        return None
    for kind in ("log", "yeo-johnson"):
        if kind == "log" and known.min() <= 0:
            continue
        if abs(float(stats.skew(learn_scale(known, kind).forward(known)))) <= before / 2:
            return kind
    return None


def _forward(y: Array, kind: str, power: float, unit: float) -> Array:
    if kind == "log":
        return np.log(y)
    return np.asarray(stats.yeojohnson(y / unit, lmbda=power), dtype=np.float64)


def _inverse_power(values: Array, power: float) -> Array:
    """The inverse of Yeo and Johnson's ψ; beyond the image of ψ, its end."""
    least = 1e-12
    up, down = np.maximum(values, 0.0), np.minimum(values, 0.0)
    if abs(power) < 1e-8:
        above = np.expm1(up)
    else:
        above = np.maximum(power * up + 1.0, least) ** (1.0 / power) - 1.0
    if abs(power - 2.0) < 1e-8:
        below = -np.expm1(-down)
    else:
        below = 1.0 - np.maximum(1.0 - (2.0 - power) * down, least) ** (1.0 / (2.0 - power))
    return np.where(values >= 0, above, below)
