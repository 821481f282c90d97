"""The squared loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.losses._loss import Loss, require, weighted_mean


@dataclass(frozen=True, slots=True)
class Squared(Loss):
    """ℓ(y, f) = ½ (y − f)², a function of the prediction f; or (y − f)², without the half.

    Smooth and strongly convex with the same constant, 1 (or 2); its population minimiser is the conditional
    mean E[Y | X].

    Parameters
    ----------
    halved : bool, default=True
        Whether the square is halved.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Squared
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([2.])

    References
    ----------
    Sangnier §1.4.1; Rudi & Şimşekli §2.1.2.
    """

    halved: bool = True
    convex: ClassVar[bool] = True
    lipschitz: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        require(self, "halved", parameters.boolean)

    @property
    def smoothness(self) -> float:
        """1, or 2 without the half."""
        return 1.0 if self.halved else 2.0

    @property
    def strong_convexity(self) -> float:
        """1, or 2 without the half."""
        return self.smoothness

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        return (y - prediction) ** 2 * (self.smoothness / 2)

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Derivative in the prediction."""
        return (prediction - y) * self.smoothness

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Second derivative in the prediction."""
        return np.full_like(prediction, self.smoothness)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = sup_f u f − ℓ(y, f) = u y + ½ u², or u y + ¼ u² without the half."""
        return slope * y + slope**2 / (2 * self.smoothness)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The weighted mean."""
        return weighted_mean(y, sample_weight)
