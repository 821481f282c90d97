"""Exponential families of other links than the logarithm, and all families by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from assay.losses import CrossEntropy, Family, Gamma, NegativeBinomial, Poisson, QuasiPoisson, Tweedie


@dataclass(frozen=True)
class Gaussian(Family):
    """V(μ) = 1."""

    name = "gaussian"
    canonical = usual = "identity"
    links = ("identity", "log", "inverse")

    def variance(self, mean: NDArray) -> NDArray:
        """One."""
        return np.ones_like(mean)

    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """(y − μ)²."""
        return np.square(y - mean)

    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Of N(μ, φ)."""
        return -(np.square(y - mean) / dispersion + math.log(2 * math.pi * dispersion)) / 2

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """N(μ, φ)."""
        return stats.norm(mean, math.sqrt(dispersion))


@dataclass(frozen=True)
class Binomial(Family):
    """V(μ) = μ(1 − μ): shares of successes, each row weighted by its number of trials."""

    name = "binomial"
    canonical = usual = "logit"
    links = ("logit", "probit", "cloglog", "loglog", "cauchit", "log", "identity")
    dispersed = False
    target = "a share between 0 and 1"
    low, high = 0.0, 1.0

    def variance(self, mean: NDArray) -> NDArray:
        """μ(1 − μ)."""
        return mean * (1 - mean)

    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """Twice the relative entropy of y to μ."""
        return 2 * (special.xlogy(y, y / mean) + special.xlogy(1 - y, (1 - y) / (1 - mean)))

    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Of one trial; the number of ways to order several is left out."""
        return special.xlogy(y, mean) + special.xlog1py(1 - y, -mean)

    def accepts(self, y: NDArray) -> bool:
        """Whether all are between 0 and 1."""
        return bool(np.all((y >= 0) & (y <= 1)))

    @property
    def canonical_loss(self) -> CrossEntropy:
        """The logistic loss of shares."""
        return CrossEntropy()

    def first_mean(self, y: float) -> float:
        """A little towards one half."""
        return 0.999 * y + 0.0005

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """One trial."""
        return stats.bernoulli(mean)


@dataclass(frozen=True)
class InverseGaussian(Family):
    """V(μ) = μ³: positive targets with long tails."""

    name = "inverse_gaussian"
    canonical = "inverse_squared"
    usual = "log"
    links = ("log", "inverse_squared", "inverse", "identity")
    target = "a number above 0"
    low = 0.0
    positive = True

    def variance(self, mean: NDArray) -> NDArray:
        """μ³."""
        return mean**3

    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """(y − μ)²/(μ²y)."""
        return np.square(y - mean) / (np.square(mean) * y)

    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Of the inverse Gaussian law of shape 1/φ."""
        return -(self.unit_deviance(y, mean) / dispersion + np.log(2 * math.pi * dispersion * y**3)) / 2

    def accepts(self, y: NDArray) -> bool:
        """Whether all are above 0."""
        return bool(np.all((y > 0) & np.isfinite(y)))

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """The inverse Gaussian law of shape 1/φ."""
        return stats.invgauss(mean * dispersion, scale=1 / dispersion)


FAMILIES: dict[str, type[Family]] = {
    kind.name: kind
    for kind in (Gaussian, Binomial, Poisson, QuasiPoisson, NegativeBinomial, Gamma, InverseGaussian, Tweedie)
}
"""Families by name."""
