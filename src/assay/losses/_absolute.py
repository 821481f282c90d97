"""Losses linear in the size of the error: absolute, Huber, pinball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.losses._loss import Loss, piecewise_linear_root, require, weighted_quantile, weights_of
from assay.parameters import Domain

_LEVEL = Domain(
    "a number above 0 and below 1", lambda value: parameters.real(above=0.0).contains(value) and value < 1
)


@dataclass(frozen=True, slots=True)
class Absolute(Loss):
    """ℓ(y, f) = |y − f|; its population minimiser is the conditional median.

    At f = y the subgradient is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Absolute
    >>> Absolute().value(np.array([3.0]), np.array([1.0]))
    array([2.])

    References
    ----------
    Sangnier §1.4.1.
    """

    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = math.inf
    strong_convexity: ClassVar[float] = 0.0
    lipschitz: ClassVar[float] = 1.0

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        return np.abs(y - prediction)

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The sign of f − y, 0 at f = y."""
        return np.sign(prediction - y)

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """0, as it is at every f ≠ y."""
        return np.zeros_like(prediction - y)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = u y for |u| ≤ 1."""
        return np.where(np.abs(slope) <= 1, slope * y, np.inf)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The weighted median."""
        return weighted_quantile(y, sample_weight, 0.5)


@dataclass(frozen=True, slots=True)
class Huber(Loss):
    """ℓ(y, f) = ½ r² where r = f − y has |r| ≤ δ, and δ|r| − ½ δ² beyond.

    Parameters
    ----------
    delta : float above 0, default=1.0
        Size δ of the errors from which the loss is linear.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Huber
    >>> Huber(delta=1.0).value(np.zeros(2), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    delta: float = 1.0
    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = 1.0
    strong_convexity: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        require(self, "delta", parameters.real(above=0.0))

    @property
    def lipschitz(self) -> float:
        """δ."""
        return float(self.delta)

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        size = np.abs(prediction - y)
        inner = np.minimum(size, self.delta)
        return inner * (size - inner / 2)

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The error f − y clipped to [−δ, δ]."""
        return np.clip(prediction - y, -self.delta, self.delta)

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """1 where |f − y| ≤ δ, 0 beyond."""
        error = np.asarray(prediction - y)
        return (np.abs(error) <= self.delta).astype(error.dtype)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = u y + ½ u² for |u| ≤ δ."""
        return np.where(np.abs(slope) <= self.delta, slope * y + slope**2 / 2, np.inf)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The root of the sum of clipped errors, which is piecewise linear: exact up to rounding."""
        values, weight = np.asarray(y, dtype=float), weights_of(y, sample_weight)
        breakpoints = np.sort(np.concatenate([values - self.delta, values + self.delta]))
        return piecewise_linear_root(
            lambda c: float(weight @ self.gradient(values, np.array(c))), breakpoints
        )


@dataclass(frozen=True, slots=True)
class Quantile(Loss):
    """The pinball loss ℓ(y, f) = τ (y − f) where y ≥ f, (1 − τ)(f − y) elsewhere.

    Its population minimiser is the conditional quantile of level τ. At f = y the subgradient is 0.

    Parameters
    ----------
    level : float above 0 and below 1, default=0.5
        The level τ.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Quantile
    >>> Quantile(0.75).value(np.zeros(2), np.array([-1.0, 1.0]))
    array([0.75, 0.25])
    """

    level: float = 0.5
    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = math.inf
    strong_convexity: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        require(self, "level", _LEVEL)

    @property
    def lipschitz(self) -> float:
        """max(τ, 1 − τ)."""
        return float(max(self.level, 1 - self.level))

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        left = y - prediction
        return np.maximum(self.level * left, (self.level - 1) * left)

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """−τ where f < y, 1 − τ where f > y, 0 at f = y."""
        error = np.asarray(prediction - y)
        return (error > 0) * error.dtype.type(1 - self.level) - (error < 0) * error.dtype.type(self.level)

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """0, as it is at every f ≠ y."""
        return np.zeros_like(prediction - y)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = u y for −τ ≤ u ≤ 1 − τ."""
        return np.where((slope >= -self.level) & (slope <= 1 - self.level), slope * y, np.inf)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The weighted quantile of level τ."""
        return weighted_quantile(y, sample_weight, self.level)
