"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Squared:
    """ℓ(y, f) = ½ (y − f)², a function of the prediction f.

    Smooth with constant 1 and strongly convex with constant 1; its population minimiser is the conditional
    mean E[Y | X].

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Squared
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    smoothness: ClassVar[float] = 1.0
    strong_convexity: ClassVar[float] = 1.0

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        return (y - prediction) ** 2 / 2

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Derivative in the prediction."""
        return prediction - y

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Second derivative in the prediction."""
        return np.ones_like(prediction)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = sup_f u f − ℓ(y, f) = u y + ½ u²."""
        return slope * y + slope**2 / 2
