"""Families with a score log μ, and those of counts, which are losses of the score."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.loops import EXP_MAX, exp
from assay.losses.base import Loss, exponential, negative_entropy, require, weighted_mean
from assay.losses.row_form import decay, terms_of


class Family(ABC):
    """A law whose variance is φ V(μ): mean μ, variance function V, dispersion φ.

    `canonical` names the link of the natural parameter, `usual` the one taken by default; `links` those that
    fit its means; `dispersed` says whether φ is estimated (else it is 1), `has_likelihood` whether there is a
    density in closed form. With a link a family is a loss of the score, `LinkedFamily`; a `LogLinkLoss` is a
    family and its loss with the logarithm as link in one.
    """

    __slots__ = ()

    name: ClassVar[str]
    canonical: ClassVar[str]
    usual: ClassVar[str]
    links: ClassVar[tuple[str, ...]]
    dispersed: ClassVar[bool] = True
    has_likelihood: ClassVar[bool] = True
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


class PoissonForm(NamedTuple):
    """Row form of `Poisson`."""


@terms_of(PoissonForm)
def poisson_terms(form, y, score):  # type: ignore[no-untyped-def]
    """e^f − y f, e^f − y, e^f; the derivatives stay finite, for sums against columns that have zeros."""
    mean = exp(score)
    return (mean - y * score if score <= EXP_MAX else np.inf), mean - y, mean


class NegativeBinomialForm(NamedTuple):
    """Row form of `NegativeBinomial`: size 1/α and shift log α."""

    size: float
    shift: float


@terms_of(NegativeBinomialForm)
def negative_binomial_terms(form, y, score):  # type: ignore[no-untyped-def]
    """(y + 1/α) log(1 + e^t) − y t, (y + 1/α) σ(t) − y, (y + 1/α) σ(t) σ(−t) at t = f + log α."""
    shifted, total = score + form.shift, y + form.size
    small, rest = decay(shifted)
    inverse = 1.0 / (1.0 + small)
    share = inverse if shifted >= 0.0 else small * inverse
    value = total * (max(shifted, 0.0) + rest) - y * shifted
    return value, total * share - y, total * small * inverse * inverse


class CountLoss(LogLinkLoss):
    """Base of the families of counts."""

    __slots__ = ()
    convex: ClassVar[bool] = True
    links: ClassVar[tuple[str, ...]] = ("log", "identity", "sqrt")
    dispersed: ClassVar[bool] = False
    target: ClassVar[str] = "a count: an integer at least 0"

    def accepts(self, y: NDArray) -> bool:
        """Whether all are integers at least 0."""
        return bool(np.all((y >= 0) & (y == np.floor(y))))


@dataclass(frozen=True, slots=True)
class Poisson(CountLoss):
    """ℓ(y, f) = e^f − y f, the negative log-likelihood of a Poisson count of mean e^f, up to log y!.

    As a family, V(μ) = μ: counts.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Poisson
    >>> Poisson().gradient(np.array([3.0]), np.array([0.0]))
    array([-2.])
    """

    row_form: ClassVar[PoissonForm] = PoissonForm()
    name: ClassVar[str] = "poisson"
    target: ClassVar[str] = (
        "a count: an integer at least 0 (rates and other fractions: family='quasi_poisson', or exposure)"
    )

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = m log m − m at m = u + y ≥ 0."""
        mean = np.maximum(slope + y, 0)
        return np.where(slope + y >= 0, special.xlogy(mean, mean) - mean, np.inf)

    def smallest(self, y: NDArray) -> NDArray:
        """The value y − y log y at f = log y."""
        return y - special.xlogy(y, y)

    def variance(self, mean: NDArray) -> NDArray:
        """μ."""
        return mean

    def negative_log_likelihood(self, y: NDArray, prediction: NDArray, dispersion: float = 1.0) -> NDArray:
        """The loss plus log y!."""
        return self.value(y, prediction) + special.gammaln(y + 1)

    @property
    def canonical_loss(self) -> Poisson:
        """The family itself."""
        return self

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """The Poisson law."""
        return scipy.stats.poisson(mean)


@dataclass(frozen=True, slots=True)
class QuasiPoisson(Poisson):
    """V(μ) = μ with a dispersion of its own: any target that is not negative."""

    name: ClassVar[str] = "quasi_poisson"
    dispersed: ClassVar[bool] = True
    has_likelihood: ClassVar[bool] = False
    target: ClassVar[str] = "a number at least 0"

    def accepts(self, y: NDArray) -> bool:
        """Whether none is negative."""
        return bool(np.all(y >= 0))

    def law(self, mean: NDArray, dispersion: float) -> None:
        """Two moments make no law."""


@dataclass(frozen=True, slots=True)
class NegativeBinomial(CountLoss):
    """Negative log-likelihood of a count of mean μ = e^f and variance μ + αμ², up to terms free of f.

    ℓ(y, f) = (y + 1/α) log(1 + αe^f) − y log(αe^f).

    Parameters
    ----------
    dispersion : float above 0, default=1.0
        The dispersion α; as it goes to 0 the law tends to the Poisson law.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import NegativeBinomial
    >>> NegativeBinomial(0.5).variance(np.array([2.0]))
    array([4.])
    """

    dispersion: float = 1.0
    name: ClassVar[str] = "negative_binomial"

    def __post_init__(self) -> None:
        require(self, "dispersion", parameters.real(above=0.0))

    @property
    def _size(self) -> float:
        return 1 / float(self.dispersion)

    @property
    def row_form(self) -> NegativeBinomialForm:
        """See `Loss.row_form`."""
        return NegativeBinomialForm(self._size, math.log(self.dispersion))

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """(y + 1/α)(p log p + (1 − p) log(1 − p)) − u log α at p = (u + y)/(y + 1/α) ∈ [0, 1]."""
        total = y + self._size
        return total * negative_entropy((slope + y) / total) - slope * math.log(self.dispersion)

    def smallest(self, y: NDArray) -> NDArray:
        """(y + 1/α) log(1 + αy) − y log(αy)."""
        scaled = y * float(self.dispersion)
        return (y + self._size) * np.log1p(scaled) - special.xlogy(y, scaled)

    def variance(self, mean: NDArray) -> NDArray:
        """μ + αμ²."""
        return mean + self.dispersion * mean**2

    def negative_log_likelihood(self, y: NDArray, prediction: NDArray, dispersion: float = 1.0) -> NDArray:
        """The loss plus log Γ(1/α) + log y! − log Γ(y + 1/α)."""
        constant = special.gammaln(self._size) + special.gammaln(y + 1) - special.gammaln(y + self._size)
        return self.value(y, prediction) + constant

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """The negative binomial law of size 1/α."""
        return scipy.stats.nbinom(self._size, self._size / (self._size + mean))
