"""What the losses of counts and positive targets share: the mean is the exponential of the prediction."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from assay.losses._loss import Loss, exponential, weighted_mean


class LogLinkLoss(Loss):
    """Base of the negative log-likelihoods of a mean μ = e^f, without the terms that do not depend on f."""

    __slots__ = ()

    @abstractmethod
    def smallest(self, y: NDArray) -> NDArray:
        """inf_f ℓ(y, f), reached at f = log y for y > 0."""

    @abstractmethod
    def variance(self, mean: NDArray) -> NDArray:
        """Variance of the target as a function of its mean, at dispersion 1."""

    def mean(self, prediction: NDArray) -> NDArray:
        """The mean e^f."""
        return exponential(prediction)

    def deviance(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Unit deviance 2(ℓ(y, f) − inf ℓ(y, ·)) of each row, never negative."""
        return np.maximum(2 * (self.value(y, prediction) - self.smallest(y)), 0)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The logarithm of the weighted mean; −inf when it is not above 0."""
        mean = weighted_mean(y, sample_weight)
        return math.log(mean) if mean > 0 else -math.inf
