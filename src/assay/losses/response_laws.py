"""Responses: distribution functions F, named, with SciPy's methods, or any function from scores to (0, 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.losses.base import exponential, increasing_root
from assay.losses.logistic import Logistic
from assay.losses.margin import logit

Function = Callable[[NDArray], NDArray]


class Side(NamedTuple):
    """A function of the raw prediction with its two derivatives."""

    value: Function
    slope: Function
    curvature: Function


class Response(NamedTuple):
    """A distribution function F: −log F and −log(1 − F), its inverse, its draws and its constants."""

    positive: Side
    negative: Side
    cdf: Function
    quantile: Function
    draw: Callable[[np.random.Generator, tuple[int, ...]], NDArray]
    log_concave: bool | None  # None: not known, to be measured
    smoothness: float
    lipschitz: float


def mirrored(side: Side) -> Side:
    """The same function of −f."""
    return Side(lambda f: side.value(-f), lambda f: -side.slope(-f), lambda f: side.curvature(-f))


_LOSS = Logistic()
_LOGISTIC = Side(_LOSS.margin_value, _LOSS.margin_derivative, _LOSS.margin_curvature)


def _mills(f: NDArray) -> NDArray:
    """φ(f)/Φ(f) of the normal law, without a difference of large logarithms."""
    return math.sqrt(2 / math.pi) / special.erfcx(-f / math.sqrt(2))


def _normal_curvature(f: NDArray) -> NDArray:
    ratio = _mills(f)
    far = np.maximum(-f, 50)  # there φ/Φ + f = 1/z − 2/z³ + 10/z⁵ − 74/z⁷ + …, z = −f
    excess = (1 - (2 - (10 - 74 / far**2) / far**2) / far**2) / far
    return ratio * np.where(-f > 50, excess, ratio + f)


NORMAL = Side(lambda f: -special.log_ndtr(f), lambda f: -_mills(f), _normal_curvature)


def _cauchy_angle(f: NDArray) -> NDArray:
    return np.arctan2(np.ones_like(f), -f)


def _cauchy_value(f: NDArray) -> NDArray:
    upper = np.arctan2(np.ones_like(f), np.abs(f)) / math.pi  # the smaller of F(f) and 1 − F(f)
    return np.where(f > 0, -np.log1p(-upper), -np.log(upper))


def _cauchy_slope(f: NDArray) -> NDArray:
    return -1 / ((1 + f**2) * _cauchy_angle(f))


def _cauchy_curvature(f: NDArray) -> NDArray:
    ratio = -_cauchy_slope(f)
    return ratio * (ratio + 2 * f / (1 + f**2))


_CAUCHY = Side(_cauchy_value, _cauchy_slope, _cauchy_curvature)


def _gumbel_value(f: NDArray) -> NDArray:
    size = exponential(f)
    low = -f - np.log(special.exprel(-np.minimum(size, 1)))
    return np.where(f < 0, low, -np.log1p(-np.exp(-np.maximum(size, 1))))


def _gumbel_curvature(f: NDArray) -> NDArray:
    size = np.minimum(exponential(f), 1000)
    return (1 / special.exprel(-size) - 1) / special.exprel(size)


_GUMBEL_BELOW = Side(_gumbel_value, lambda f: -1 / special.exprel(exponential(f)), _gumbel_curvature)
_GUMBEL_ABOVE = Side(exponential, exponential, exponential)


def _log_exponential_draw(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray:
    return np.log(generator.standard_exponential(shape))


def _gumbel_r_quantile(p: NDArray) -> NDArray:
    with np.errstate(divide="ignore"):
        return -np.log(-np.log(p))


def _gumbel_l_quantile(p: NDArray) -> NDArray:
    with np.errstate(divide="ignore"):
        return np.log(-np.log1p(-p))


RESPONSES: Mapping[str, Response] = {
    "logistic": Response(
        _LOGISTIC, mirrored(_LOGISTIC), special.expit, logit,
        lambda generator, shape: generator.logistic(size=shape), True, 0.25, 1.0,
    ),
    "normal": Response(
        NORMAL, mirrored(NORMAL), special.ndtr, special.ndtri,
        lambda generator, shape: generator.standard_normal(shape), True, 1.0, math.inf,
    ),
    # With F(f) = θ/π the slope is sin²θ/θ, largest where tan θ = 2θ; the bound of the curvature is numerical.
    "cauchy": Response(
        _CAUCHY, mirrored(_CAUCHY), lambda f: _cauchy_angle(f) / math.pi,
        lambda p: np.tan(math.pi * (np.asarray(p) - 0.5)),
        lambda generator, shape: generator.standard_cauchy(shape), False,
        0.5141347958443856, 0.7246113537767086,
    ),
    "gumbel_l": Response(
        _GUMBEL_BELOW, _GUMBEL_ABOVE, lambda f: -np.expm1(-exponential(f)), _gumbel_l_quantile,
        _log_exponential_draw, True, math.inf, math.inf,
    ),
    "gumbel_r": Response(
        mirrored(_GUMBEL_ABOVE), mirrored(_GUMBEL_BELOW), lambda f: np.exp(-exponential(-f)),
        _gumbel_r_quantile,
        lambda generator, shape: -_log_exponential_draw(generator, shape), True, math.inf, math.inf,
    ),
}  # fmt: skip


_LAW_METHODS = ("cdf", "logcdf", "logsf", "logpdf", "ppf", "rvs")
_BEYOND = 1e150
"""Scores that stand for infinity."""


def is_law(value: Any) -> bool:
    """Whether an object has the methods of a frozen SciPy distribution that a response needs."""
    return all(callable(getattr(value, method, None)) for method in _LAW_METHODS)


def is_response(value: Any) -> bool:
    """Whether an object is a law, or a function, that rises from 0 to 1 along the scores."""
    if not is_law(value) and not callable(value):
        return False
    grid = np.concatenate([[-_BEYOND], np.linspace(-30.0, 30.0, 121), [_BEYOND]])
    try:
        with np.errstate(all="ignore"):
            share = np.asarray((value.cdf if is_law(value) else value)(grid), dtype=float)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
        return False
    if share.shape != grid.shape or np.isnan(share).any():
        return False
    rises = share[0] < 0.01 and share[-1] > 0.99 and bool(np.all(np.diff(share) >= -1e-12))
    return rises and bool(np.all((share >= 0) & (share <= 1)))


@dataclass(frozen=True)
class FunctionLaw:
    """A law that is known by its distribution function F alone, with the methods of SciPy's laws.

    The density is a difference of fourth order, the quantile found by bisection; as 1 − F is what F leaves,
    tails above lose the digits that those below keep.
    """

    function: Callable[[NDArray], Any]

    def cdf(self, f: Any) -> NDArray:
        """F."""
        return np.clip(np.asarray(self.function(np.asarray(f, dtype=float)), dtype=float), 0.0, 1.0)

    def logcdf(self, f: Any) -> NDArray:
        """Logarithm of F."""
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(f))

    def logsf(self, f: Any) -> NDArray:
        """Logarithm of 1 − F."""
        with np.errstate(divide="ignore"):
            return np.log1p(-self.cdf(f))

    @cached_property
    def _step(self) -> float:
        """A thousandth of the distance of the quartiles."""
        low, high = self.ppf(np.array([0.25, 0.75]))
        return 1e-3 * max(float(high - low), 1e-12)

    def pdf(self, f: Any) -> NDArray:
        """The derivative of F, not below 0."""
        h, f = self._step, np.asarray(f, dtype=float)
        near, far = self.cdf(f + h) - self.cdf(f - h), self.cdf(f + 2 * h) - self.cdf(f - 2 * h)
        return np.maximum((8 * near - far) / (12 * h), 0.0)

    def logpdf(self, f: Any) -> NDArray:
        """Logarithm of the density."""
        with np.errstate(divide="ignore"):
            return np.log(self.pdf(f))

    def ppf(self, p: Any) -> NDArray:
        """The score of a probability."""
        p = np.asarray(p, dtype=float)
        low, high = np.full(p.shape, -1.0), np.ones(p.shape)
        while np.any(short := (self.cdf(low) >= p) & (low > -_BEYOND)):
            low = np.where(short, 2 * low, low)
        while np.any(short := (self.cdf(high) < p) & (high < _BEYOND)):
            high = np.where(short, 2 * high, high)
        return increasing_root(self.cdf, p, low, high)

    def rvs(self, size: Any = None, random_state: Any = None) -> NDArray:
        """Draws, the quantiles of uniform ones."""
        return self.ppf(random_state.random(size))


def law_of(source: Any) -> Any:
    """An object with the methods of SciPy's laws: itself, or that of a distribution function."""
    return source if is_law(source) else FunctionLaw(source)


def response_of(source: Any) -> Response:
    """The response of a law or of a function; the slope of the log-density is a central difference."""
    law = law_of(source)

    def score(f: NDArray) -> NDArray:
        step = 1e-5 * np.maximum(1, np.abs(f))
        return (law.logpdf(f + step) - law.logpdf(f - step)) / (2 * step)

    def ratio(f: NDArray) -> NDArray:
        return np.exp(law.logpdf(f) - law.logcdf(f))

    def hazard(f: NDArray) -> NDArray:
        return np.exp(law.logpdf(f) - law.logsf(f))

    positive = Side(lambda f: -law.logcdf(f), lambda f: -ratio(f), lambda f: ratio(f) * (ratio(f) - score(f)))
    negative = Side(lambda f: -law.logsf(f), hazard, lambda f: hazard(f) * (hazard(f) + score(f)))

    def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray:
        return np.asarray(law.rvs(size=shape, random_state=generator))

    return Response(positive, negative, law.cdf, law.ppf, draw, None, math.inf, math.inf)


def is_log_concave(response: Response) -> bool:
    """Whether −log F and −log(1 − F) bend upwards at a grid of quantiles."""
    grid = response.quantile(np.linspace(0.001, 0.999, 201))
    bends = np.concatenate([response.positive.curvature(grid), response.negative.curvature(grid)])
    return bool(np.all(bends >= -1e-6 * np.abs(bends).max()))
