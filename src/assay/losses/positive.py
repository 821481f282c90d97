"""Families of positive targets: with the logarithm as link they are losses of the score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.loops import EXP_MAX, exp, log
from assay.losses.base import exponential, increasing_root, require
from assay.losses.counts import LogLinkLoss, Poisson
from assay.losses.row_form import terms_of
from assay.parameters import Domain

_POWER = Domain(
    "a finite number at most 0 or at least 1",
    lambda value: parameters.real().contains(value) and not 0 < value < 1,
)


class GammaForm(NamedTuple):
    """Row form of `Gamma`."""


@terms_of(GammaForm)
def gamma_terms(form, y, score):  # type: ignore[no-untyped-def]
    """Y e^{−f} + f, 1 − y e^{−f}, y e^{−f}; the derivatives stay finite."""
    ratio = y * exp(-score)
    return (ratio + score if score >= -EXP_MAX else np.inf), 1.0 - ratio, ratio


class TweedieForm(NamedTuple):
    """Row form of `Tweedie`, for powers other than 1 and 2."""

    power: float


@terms_of(TweedieForm)
def tweedie_terms(form, y, score):  # type: ignore[no-untyped-def]
    """A e^{(2−p)f} − b y e^{(1−p)f} for three pairs (a, b); never a difference of two infinities."""
    over, under = 2.0 - form.power, 1.0 - form.power
    sign = (1.0 if y > 0.0 else 0.0) - (1.0 if y < 0.0 else 0.0)
    left = over * score
    right = under * score + log(abs(y)) if sign != 0.0 else left
    top = max(left, right)
    first, second = exp(left - top), sign * exp(right - top)
    scale = exp(top)
    value = scale * (first / over - second / under) if top <= EXP_MAX else np.inf
    return value, scale * (first - second), scale * (over * first - under * second)


@dataclass(frozen=True, slots=True)
class Gamma(LogLinkLoss):
    """ℓ(y, f) = y e^{−f} + f, y > 0: the negative log-likelihood of a Gamma law of mean e^f at dispersion 1.

    As a family, V(μ) = μ²: positive targets of constant relative spread. Its canonical link is the inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Gamma
    >>> Gamma().gradient(np.array([3.0]), np.array([0.0]))
    array([-2.])
    """

    convex: ClassVar[bool] = True
    row_form: ClassVar[GammaForm] = GammaForm()
    name: ClassVar[str] = "gamma"
    canonical: ClassVar[str] = "inverse"
    links: ClassVar[tuple[str, ...]] = ("log", "inverse", "identity")
    target: ClassVar[str] = "a number above 0"

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = s log(s/y) − s at s = 1 − u ≥ 0."""
        rest = np.maximum(1 - slope, 0)
        return np.where(slope <= 1, special.xlogy(rest, rest / y) - rest, np.inf)

    def smallest(self, y: NDArray) -> NDArray:
        """1 + log y."""
        return 1 + np.log(y)

    def variance(self, mean: NDArray) -> NDArray:
        """μ²."""
        return mean**2

    def negative_log_likelihood(self, y: NDArray, prediction: NDArray, dispersion: float = 1.0) -> NDArray:
        """That of the Gamma law of mean e^f and variance φe^{2f}, φ the dispersion: shape 1/φ, scale φe^f."""
        shape = 1 / dispersion
        constant = math.lgamma(shape) - shape * math.log(shape)
        return shape * self.value(y, prediction) - (shape - 1) * np.log(y) + constant

    def accepts(self, y: NDArray) -> bool:
        """Whether all are above 0."""
        return bool(np.all((y > 0) & np.isfinite(y)))

    def law(self, mean: NDArray, dispersion: float) -> Any:
        """The Gamma law of shape 1/φ."""
        return scipy.stats.gamma(1 / dispersion, scale=mean * dispersion)


@dataclass(frozen=True, slots=True)
class Tweedie(LogLinkLoss):
    """ℓ(y, f) = e^{(2−p)f}/(2 − p) − y e^{(1−p)f}/(1 − p): half a deviance, variance μ^p.

    Terms free of f are left out. At p = 1 it is `Poisson`, at p = 2 `Gamma`, at p = 0 the squared loss of
    e^f, at p = 3 the inverse Gaussian. Convex in f for 1 ≤ p ≤ 2 only. As a family, V(μ) = μ^p: for 1 < p < 2
    a sum of a Poisson number of Gamma amounts, with a mass at 0.

    Parameters
    ----------
    power : float at most 0 or at least 1, default=1.5
        The power p. Targets are real for p ≤ 0, at least 0 for 1 ≤ p < 2, above 0 for p ≥ 2.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Tweedie
    >>> Tweedie(1.5).gradient(np.array([1.0]), np.array([0.0]))
    array([0.])
    """

    power: float = 1.5
    name: ClassVar[str] = "tweedie"
    has_likelihood: ClassVar[bool] = False
    links: ClassVar[tuple[str, ...]] = ("log", "identity")
    target: ClassVar[str] = "a number at least 0"

    def __post_init__(self) -> None:
        require(self, "power", _POWER)

    @property
    def convex(self) -> bool:
        """Whether 1 ≤ p ≤ 2."""
        return bool(1 <= self.power <= 2)

    @property
    def _limit(self) -> LogLinkLoss | None:
        """The loss of the two powers where the formula divides by 0."""
        return {1.0: Poisson(), 2.0: Gamma()}.get(float(self.power))

    @property
    def row_form(self) -> tuple[Any, ...] | None:
        """See `Loss.row_form`."""
        return TweedieForm(float(self.power)) if self._limit is None else self._limit.row_form

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u), where ℓ'(y, f) = u is solved by bisection; only for 1 ≤ p ≤ 2."""
        if not self.convex:
            words = "at least 1 and at most 2 for the loss to have a conjugate"
            raise parameters.refusal(type(self).__name__, "power", words, self.power)
        if self._limit is not None:
            return self._limit.conjugate(y, slope)
        y, slope = np.broadcast_arrays(np.asarray(y), np.asarray(slope))
        positive = y > 0
        target = np.where(positive, y, 1)
        # In t = f − log y the equation is e^{(2−p)t} − e^{(1−p)t} = u y^{p−2}, increasing in t.
        scaled = slope * target ** (self.power - 2)
        reach = 2 + np.log1p(np.abs(scaled))
        shift = increasing_root(
            lambda t: exponential((2 - self.power) * t) - exponential((1 - self.power) * t),
            scaled,
            -1 - reach / (self.power - 1),
            1 + reach / (2 - self.power),
        )
        best = shift + np.log(target)
        inside = np.maximum(slope, 0)
        at_zero = np.where(slope >= 0, (special.xlogy(inside, inside) - inside) / (2 - self.power), np.inf)
        return np.where(positive, slope * best - self.value(target, best), at_zero)

    def smallest(self, y: NDArray) -> NDArray:
        """y^{2−p}/((2 − p)(p − 1)); 0 for y ≤ 0."""
        if self._limit is not None:
            return self._limit.smallest(y)
        positive = np.where(np.asarray(y) > 0, y, 1)
        value = positive ** (2 - self.power) / ((2 - self.power) * (self.power - 1))
        return np.where(np.asarray(y) > 0, value, np.zeros_like(value))

    def variance(self, mean: NDArray) -> NDArray:
        """μ^p."""
        return mean**self.power

    def accepts(self, y: NDArray) -> bool:
        """Whether none is negative, as the powers from 1 to 2 ask."""
        return bool(np.all((y >= 0) & np.isfinite(y)))
