"""Families: laws of a target around its mean, which with a link are a loss of a linear score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from assay import parameters
from assay.families.links import Link, ShareLoss
from assay.losses import (
    CrossEntropy,
    Family,
    Gamma,
    LogLinkLoss,
    Loss,
    NegativeBinomial,
    Poisson,
    QuasiPoisson,
    RowTerms,
    Tweedie,
    weighted_mean,
)


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
        failed, missed = 1 - y, 1 - mean
        positive = special.xlogy(y, np.divide(y, mean, out=np.ones_like(missed + y), where=y > 0))
        negative = special.xlogy(failed, np.divide(failed, missed, out=np.ones_like(missed + y), where=y < 1))
        return 2 * (positive + negative)

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


@dataclass(frozen=True)
class LinkedFamily(Loss):
    """The loss ½ d(y, g⁻¹(f)) of a score f: half the unit deviance, at dispersion 1.

    Its curvature is the expected one, never negative. The loss is inf where the law has no such mean.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.families import Gamma, LinkedFamily, link
    >>> losses, slopes, curvatures = LinkedFamily(Gamma(), link("log")).score_terms(np.ones(1), np.zeros(1))
    >>> losses, slopes, curvatures
    (array([0.]), array([0.]), array([1.]))
    """

    family: Family
    link: Link
    n_groups: ClassVar[int] = 0
    reaches_zero: ClassVar[bool] = True

    @property
    def convex(self) -> bool:
        """With the canonical link, or as a convex loss of the logarithm of the mean; otherwise not known."""
        return self._log_loss.convex if self._log_loss else self.link.standard == self.family.canonical

    @property
    def _log_loss(self) -> LogLinkLoss | None:
        """The family as a loss of the score, if the link is the logarithm."""
        return self.family if self.link.standard == "log" and isinstance(self.family, LogLinkLoss) else None

    @property
    def compiled(self) -> Loss:
        """The same loss up to a function of y, in compiled terms where there are some for this link."""
        if self.link.standard == self.family.canonical and self.family.canonical_loss is not None:
            return self.family.canonical_loss
        return self if self._shares is None else self._shares

    @property
    def _shares(self) -> ShareLoss | None:
        """The loss of shares from the score alone, where the link knows −log μ and −log(1 − μ)."""
        counted = isinstance(self.family, Binomial) and self.link.sides is not None
        return ShareLoss(self.link) if counted else None

    @property
    def takes_shares(self) -> bool:
        """Of the binomial family."""
        return isinstance(self.family, Binomial)

    def mean(self, scores: NDArray) -> NDArray:
        """The mean of each score, NaN outside the domain of the link."""
        inside = (scores > self.link.low) & (scores < self.link.high)
        return self.link.mean(np.where(inside, scores, np.nan))

    def score_terms(self, y: NDArray, scores: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Loss, slope and expected curvature of each row; the loss is inf where the law has no such mean.

        The slope is (μ − y) μ'/V(μ) and the expected curvature μ'²/V(μ); of shares they are computed from the
        score, as the mean may round to 0 or 1.
        """
        if self._shares is not None:
            value, slope, curvature = self._shares.terms(y, scores)
            return value - self._shares.smallest(y).astype(scores.dtype), slope, curvature
        with np.errstate(all="ignore"):
            mean = self.mean(scores)
            slope_of_mean = self.link.slope(scores)
            ratio = slope_of_mean / self.family.variance(mean)
            losses = self.family.unit_deviance(y, mean) / 2
            bad = ~self.family.inside(mean) | ~np.isfinite(losses)
            losses = np.where(bad, np.inf, losses)
            residual = np.where(bad, 0.0, (mean - y) * ratio)
            curvature = np.where(bad, 0.0, slope_of_mean * ratio)
        dtype = scores.dtype
        return losses.astype(dtype), residual.astype(dtype), curvature.astype(dtype)

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """See `score_terms`."""
        return RowTerms(*self.score_terms(y, scores))

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = u g(μ) − ½ d(y, μ) for the canonical link g, whose slopes are u = c(μ − y)."""
        if self._log_loss is not None:
            return self._log_loss.conjugate(y, slope) + self._log_loss.smallest(y)
        if not self.convex:
            words = (
                f"{self.family.canonical!r} for the loss of family {self.family.name!r} to have a conjugate"
            )
            raise parameters.refusal(type(self).__name__, "link", words, self.link.name)
        with np.errstate(all="ignore"):
            middle = np.array([0.5])  # a mean of every family; c = μ'/V(μ) is the same at all of them
            mean = y + slope * self.family.variance(middle) / self.link.slope(self.link.score(middle))
            reached = slope * self.link.score(mean) - self.family.unit_deviance(y, mean) / 2
            return np.where(self.family.inside(mean), reached, np.inf)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The score of the weighted mean."""
        return float(self.link.score(np.array([weighted_mean(y, sample_weight)]))[0])
