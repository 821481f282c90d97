"""Losses of counts, with the logarithm as link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.loops import EXP_MAX, exp
from assay.losses._log_link import LogLinkLoss
from assay.losses._loss import negative_entropy, require
from assay.losses._row_form import log1p_of_share, terms_of


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
    small = exp(-abs(shifted))
    inverse = 1.0 / (1.0 + small)
    share = inverse if shifted >= 0.0 else small * inverse
    value = total * (max(shifted, 0.0) + log1p_of_share(small)) - y * shifted
    return value, total * share - y, total * small * inverse * inverse


@dataclass(frozen=True, slots=True)
class Poisson(LogLinkLoss):
    """ℓ(y, f) = e^f − y f, the negative log-likelihood of a Poisson count of mean e^f, up to log y!.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Poisson
    >>> Poisson().gradient(np.array([3.0]), np.array([0.0]))
    array([-2.])
    """

    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = math.inf
    strong_convexity: ClassVar[float] = 0.0
    lipschitz: ClassVar[float] = math.inf

    @property
    def row_form(self) -> PoissonForm:
        """See `Loss.row_form`."""
        return PoissonForm()

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

    def negative_log_likelihood(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The loss plus log y!."""
        return self.value(y, prediction) + special.gammaln(y + 1)


@dataclass(frozen=True, slots=True)
class NegativeBinomial(LogLinkLoss):
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
    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = math.inf
    strong_convexity: ClassVar[float] = 0.0
    lipschitz: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        require(self, "dispersion", parameters.real(above=0.0))

    @property
    def _size(self) -> float:
        return 1 / float(self.dispersion)

    @property
    def _shift(self) -> float:
        return math.log(self.dispersion)

    @property
    def row_form(self) -> NegativeBinomialForm:
        """See `Loss.row_form`."""
        return NegativeBinomialForm(self._size, self._shift)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """(y + 1/α)(p log p + (1 − p) log(1 − p)) − u log α at p = (u + y)/(y + 1/α) ∈ [0, 1]."""
        total = y + self._size
        return total * negative_entropy((slope + y) / total) - slope * self._shift

    def smallest(self, y: NDArray) -> NDArray:
        """(y + 1/α) log(1 + αy) − y log(αy)."""
        scaled = y * float(self.dispersion)
        return (y + self._size) * np.log1p(scaled) - special.xlogy(y, scaled)

    def variance(self, mean: NDArray) -> NDArray:
        """μ + αμ²."""
        return mean + self.dispersion * mean**2

    def negative_log_likelihood(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The loss plus log Γ(1/α) + log y! − log Γ(y + 1/α)."""
        constant = special.gammaln(self._size) + special.gammaln(y + 1) - special.gammaln(y + self._size)
        return self.value(y, prediction) + constant
