"""Exponential families: the law of a target around its mean."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats


@dataclass(frozen=True)
class Family(ABC):
    """A law whose variance is φ V(μ): mean μ, variance function V, dispersion φ.

    `canonical` names the link of the natural parameter, `usual` the one taken by default; `links` those that
    fit its means; `dispersed` says whether φ is estimated (else it is 1).
    """

    name: ClassVar[str]
    canonical: ClassVar[str]
    usual: ClassVar[str]
    links: ClassVar[tuple[str, ...]]
    dispersed: ClassVar[bool] = True
    target: ClassVar[str] = "a number"
    low: ClassVar[float] = -math.inf
    high: ClassVar[float] = math.inf
    positive: ClassVar[bool] = False

    @abstractmethod
    def variance(self, mean: NDArray) -> NDArray:
        """V(μ)."""

    @abstractmethod
    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """Twice what the log-likelihood of a row at φ = 1 falls short of that of the mean y; 0 at μ = y."""

    @abstractmethod
    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Logarithm of the density of each row."""

    def accepts(self, y: NDArray) -> bool:
        """Whether every target is one that the law can give."""
        return bool(np.isfinite(y).all())

    def first_mean(self, y: float) -> float:
        """A mean inside the domain, near the average target."""
        return y

    def inside(self, mean: NDArray) -> NDArray:
        """Which means are means of the law."""
        return (mean > self.low) & (mean < self.high)

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """The law of a new target as a frozen SciPy distribution; None where there is none in closed form."""
        return None


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

    def first_mean(self, y: float) -> float:
        """A little towards one half."""
        return 0.999 * y + 0.0005

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """One trial."""
        return stats.bernoulli(mean)


@dataclass(frozen=True)
class Poisson(Family):
    """V(μ) = μ: counts."""

    name = "poisson"
    canonical = usual = "log"
    links = ("log", "identity", "sqrt")
    dispersed = False
    target = "a count: an integer at least 0 (rates and other fractions: family='quasi_poisson', or exposure)"
    low = 0.0
    positive = True

    def variance(self, mean: NDArray) -> NDArray:
        """μ."""
        return mean

    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """2(y log(y/μ) − y + μ)."""
        return 2 * (special.xlogy(y, y / mean) - y + mean)

    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Of the Poisson law."""
        return special.xlogy(y, mean) - mean - special.gammaln(y + 1)

    def accepts(self, y: NDArray) -> bool:
        """Whether all are counts."""
        return bool(np.all((y >= 0) & (y == np.floor(y))))

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """The Poisson law."""
        return stats.poisson(mean)


@dataclass(frozen=True)
class QuasiPoisson(Poisson):
    """V(μ) = μ with a dispersion of its own: any target that is not negative."""

    name = "quasi_poisson"
    dispersed = True
    target = "a number at least 0"

    def accepts(self, y: NDArray) -> bool:
        """Whether none is negative."""
        return bool(np.all(y >= 0))

    def law(self, mean: NDArray, dispersion: float) -> None:
        """Two moments make no law."""


@dataclass(frozen=True)
class NegativeBinomial(Family):
    """V(μ) = μ + θμ²: counts with more spread than Poisson's, a Gamma mixture of them.

    Parameters
    ----------
    overdispersion : float, default=1.0
        θ.
    """

    name = "negative_binomial"
    canonical = usual = "log"
    links = ("log", "identity", "sqrt")
    dispersed = False
    target = "a count: an integer at least 0"
    low = 0.0
    positive = True

    overdispersion: float = 1.0

    def variance(self, mean: NDArray) -> NDArray:
        """μ + θμ²."""
        return mean + self.overdispersion * np.square(mean)

    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """2(y log(y/μ) − (y + 1/θ) log((y + 1/θ)/(μ + 1/θ)))."""
        size = 1 / self.overdispersion
        return 2 * (special.xlogy(y, y / mean) - (y + size) * np.log((y + size) / (mean + size)))

    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Of the negative binomial law of size 1/θ."""
        size = 1 / self.overdispersion
        counts = special.gammaln(y + size) - special.gammaln(size) - special.gammaln(y + 1)
        return counts + special.xlogy(y, mean / (mean + size)) - size * np.log1p(mean / size)

    def accepts(self, y: NDArray) -> bool:
        """Whether all are counts."""
        return bool(np.all((y >= 0) & (y == np.floor(y))))

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """The negative binomial law."""
        size = 1 / self.overdispersion
        return stats.nbinom(size, size / (size + mean))


@dataclass(frozen=True)
class Gamma(Family):
    """V(μ) = μ²: positive targets of constant relative spread."""

    name = "gamma"
    canonical = "inverse"
    usual = "log"
    links = ("log", "inverse", "identity")
    target = "a number above 0"
    low = 0.0
    positive = True

    def variance(self, mean: NDArray) -> NDArray:
        """μ²."""
        return np.square(mean)

    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """2((y − μ)/μ − log(y/μ))."""
        return 2 * ((y - mean) / mean - np.log(y / mean))

    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Of the Gamma law of shape 1/φ."""
        shape = 1 / dispersion
        return shape * np.log(shape * y / mean) - shape * y / mean - np.log(y) - special.gammaln(shape)

    def accepts(self, y: NDArray) -> bool:
        """Whether all are above 0."""
        return bool(np.all((y > 0) & np.isfinite(y)))

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """The Gamma law of shape 1/φ."""
        return stats.gamma(1 / dispersion, scale=mean * dispersion)


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


@dataclass(frozen=True)
class Tweedie(Family):
    """V(μ) = μ^p: for 1 < p < 2 a sum of a Poisson number of Gamma amounts, with a mass at 0.

    Parameters
    ----------
    power : float, default=1.5
        p, between 1 and 2 (both excluded).
    """

    name = "tweedie"
    canonical = usual = "log"
    links = ("log", "identity")
    target = "a number at least 0"
    low = 0.0
    positive = True

    power: float = 1.5

    def variance(self, mean: NDArray) -> NDArray:
        """μ^p."""
        return mean**self.power

    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """2(y^{2−p}/((1 − p)(2 − p)) − yμ^{1−p}/(1 − p) + μ^{2−p}/(2 − p))."""
        p = self.power
        own = np.maximum(y, 0) ** (2 - p) / ((1 - p) * (2 - p))
        return 2 * (own - y * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p))

    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Not known in closed form: NaN."""
        return np.full(np.shape(y), np.nan)

    def accepts(self, y: NDArray) -> bool:
        """Whether none is negative."""
        return bool(np.all((y >= 0) & np.isfinite(y)))


FAMILIES: dict[str, type[Family]] = {
    kind.name: kind
    for kind in (
        Gaussian,
        Binomial,
        Poisson,
        QuasiPoisson,
        NegativeBinomial,
        Gamma,
        InverseGaussian,
        Tweedie,
    )
}
"""Families by name."""
