"""Distributions that turn a raw prediction f into the probability F(f), with both negative logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.losses._logistic import Logistic
from assay.losses._loss import exponential
from assay.losses._margin import logit

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


_NORMAL = Side(lambda f: -special.log_ndtr(f), lambda f: -_mills(f), _normal_curvature)


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
        _NORMAL, mirrored(_NORMAL), special.ndtr, special.ndtri,
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


def response_of(law: Any) -> Response:
    """The response of a frozen SciPy distribution; the slope of its log-density is a central difference."""

    def score(f: NDArray) -> NDArray:
        step = 1e-5 * np.maximum(1, np.abs(f))
        return (law.logpdf(f + step) - law.logpdf(f - step)) / (2 * step)

    def ratio(f: NDArray) -> NDArray:
        return np.exp(law.logpdf(f) - law.logcdf(f))

    def hazard(f: NDArray) -> NDArray:
        return np.exp(law.logpdf(f) - law.logsf(f))

    positive = Side(lambda f: -law.logcdf(f), lambda f: -ratio(f), lambda f: ratio(f) * (ratio(f) - score(f)))
    negative = Side(lambda f: -law.logsf(f), hazard, lambda f: hazard(f) * (hazard(f) + score(f)))
    return Response(
        positive,
        negative,
        law.cdf,
        law.ppf,
        lambda generator, shape: np.asarray(law.rvs(size=shape, random_state=generator)),
        None,
        math.inf,
        math.inf,
    )


def is_log_concave(response: Response) -> bool:
    """Whether −log F and −log(1 − F) bend upwards at a grid of quantiles."""
    grid = response.quantile(np.linspace(0.001, 0.999, 201))
    bends = np.concatenate([response.positive.curvature(grid), response.negative.curvature(grid)])
    return bool(np.all(bends >= -1e-6 * np.abs(bends).max()))
