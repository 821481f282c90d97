"""What a family is: the law of a target around its mean, and families with a score log μ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.losses._loss import Loss, exponential, weighted_mean


class Family(ABC):
    """A law whose variance is φ V(μ): mean μ, variance function V, dispersion φ.

    `canonical` names the link of the natural parameter, `usual` the one taken by default; `links` those that
    fit its means; `dispersed` says whether φ is estimated (else it is 1). With a link a family is a loss of
    the score, `LinkedFamily`; a `LogLinkLoss` is a family and its loss with the logarithm as link in one.
    """

    __slots__ = ()

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
        """V(μ), the variance of the target at dispersion 1."""

    @abstractmethod
    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """Twice what the log-likelihood of a row at φ = 1 falls short of that of the mean y; 0 at μ = y."""

    @abstractmethod
    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """Logarithm of the density of each row."""

    @property
    def canonical_loss(self) -> Loss | None:
        """The loss of the canonical score, up to a function of y; None where it is not compiled."""
        return None

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


class LogLinkLoss(Loss, Family):
    """Base of the families of positive means, as losses of the score f = log μ.

    The loss is the negative log-likelihood at dispersion 1 without the terms that do not depend on f.
    """

    __slots__ = ()

    canonical: ClassVar[str] = "log"
    usual: ClassVar[str] = "log"
    low: ClassVar[float] = 0.0
    positive: ClassVar[bool] = True

    @abstractmethod
    def smallest(self, y: NDArray) -> NDArray:
        """inf_f ℓ(y, f), reached at f = log y for y > 0."""

    def negative_log_likelihood(self, y: NDArray, prediction: NDArray, dispersion: float = 1.0) -> NDArray:
        """The loss over φ with the terms that do not depend on f; NaN where they are not known."""
        return np.full(np.broadcast_shapes(np.shape(y), np.shape(prediction)), np.nan)

    def mean(self, prediction: NDArray) -> NDArray:
        """The mean e^f."""
        return exponential(prediction)

    def deviance(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Unit deviance 2(ℓ(y, f) − inf ℓ(y, ·)) of each row, never negative."""
        return np.maximum(2 * (self.value(y, prediction) - self.smallest(y)), 0)

    def unit_deviance(self, y: NDArray, mean: NDArray) -> NDArray:
        """See `Family.unit_deviance`."""
        return self.deviance(y, log_of_mean(mean))

    def log_likelihood(self, y: NDArray, mean: NDArray, dispersion: float) -> NDArray:
        """See `Family.log_likelihood`."""
        return -self.negative_log_likelihood(y, log_of_mean(mean), dispersion)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The logarithm of the weighted mean; −inf when it is not above 0."""
        mean = weighted_mean(y, sample_weight)
        return math.log(mean) if mean > 0 else -math.inf


def log_of_mean(mean: NDArray) -> NDArray:
    """Log μ, and that of the smallest float at 0; NaN below."""
    mean = np.asarray(mean)
    with np.errstate(invalid="ignore"):
        return np.log(np.where(mean == 0, np.finfo(mean.dtype).tiny, mean))
