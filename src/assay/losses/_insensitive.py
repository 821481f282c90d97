"""Losses that forgive errors up to ε."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.losses._loss import Loss, piecewise_linear_root, require, weighted_quantile, weights_of


@dataclass(frozen=True, slots=True)
class EpsilonInsensitive(Loss):
    """ℓ(y, f) = max(0, |y − f| − ε), which is ½ |f − y − ε| + ½ |f − y + ε| − ε.

    At |f − y| = ε the subgradient is 0.

    Parameters
    ----------
    epsilon : float at least 0, default=0.1
        Half the width ε of the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0. , 1.5])

    References
    ----------
    Sangnier §1.5.
    """

    epsilon: float = 0.1
    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = math.inf
    strong_convexity: ClassVar[float] = 0.0
    lipschitz: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        require(self, "epsilon", parameters.real(at_least=0.0))

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        return np.maximum(np.abs(y - prediction) - self.epsilon, 0)

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The sign of f − y outside the tube, 0 inside and on its border."""
        error = np.asarray(prediction - y)
        return np.sign(error) * (np.abs(error) > self.epsilon)

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """0, as it is off the border of the tube."""
        return np.zeros_like(prediction - y)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = u y + ε |u| for |u| ≤ 1."""
        size = np.abs(slope)
        return np.where(size <= 1, slope * y + self.epsilon * size, np.inf)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The weighted median of all y_i − ε and y_i + ε."""
        values, weight = np.asarray(y, dtype=float), weights_of(y, sample_weight)
        borders = np.concatenate([values - self.epsilon, values + self.epsilon])
        return weighted_quantile(borders, np.concatenate([weight, weight]), 0.5)


@dataclass(frozen=True, slots=True)
class SquaredEpsilonInsensitive(Loss):
    """ℓ(y, f) = max(0, |y − f| − ε)².

    Parameters
    ----------
    epsilon : float at least 0, default=0.1
        Half the width ε of the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0.  , 2.25])
    """

    epsilon: float = 0.1
    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = 2.0
    lipschitz: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        require(self, "epsilon", parameters.real(at_least=0.0))

    @property
    def strong_convexity(self) -> float:
        """0, or 2 for ε = 0, where the loss is the square."""
        return 0.0 if self.epsilon > 0 else 2.0

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        return np.maximum(np.abs(y - prediction) - self.epsilon, 0) ** 2

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Derivative in the prediction."""
        error = np.asarray(prediction - y)
        return 2 * (error - np.clip(error, -self.epsilon, self.epsilon))

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """2 outside the tube and on its border, 0 inside."""
        error = np.asarray(prediction - y)
        return 2 * (np.abs(error) >= self.epsilon).astype(error.dtype)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = u y + ε |u| + ¼ u²."""
        return slope * y + self.epsilon * np.abs(slope) + slope**2 / 4

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The root of the sum of derivatives, which is piecewise linear: exact up to rounding."""
        values, weight = np.asarray(y, dtype=float), weights_of(y, sample_weight)
        breakpoints = np.sort(np.concatenate([values - self.epsilon, values + self.epsilon]))
        return piecewise_linear_root(
            lambda c: float(weight @ self.gradient(values, np.array(c))), breakpoints
        )
