"""Distribution functions, and the losses of a binary response that have them as inverse link."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.losses.base import Loss, exponential, increasing_root, negative_entropy, weighted_mean
from assay.losses.logistic import Logistic
from assay.losses.margin import MarginLoss, logit
from assay.randomness import RandomState, generator

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

    def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray:
        return np.asarray(law.rvs(size=shape, random_state=generator))

    return Response(positive, negative, law.cdf, law.ppf, draw, None, math.inf, math.inf)


def is_log_concave(response: Response) -> bool:
    """Whether −log F and −log(1 − F) bend upwards at a grid of quantiles."""
    grid = response.quantile(np.linspace(0.001, 0.999, 201))
    bends = np.concatenate([response.positive.curvature(grid), response.negative.curvature(grid)])
    return bool(np.all(bends >= -1e-6 * np.abs(bends).max()))


_LAW_METHODS = ("cdf", "logcdf", "logsf", "logpdf", "ppf", "rvs")


@dataclass(frozen=True, slots=True)
class Probit(MarginLoss):
    """φ(u) = −log Φ(u), labels −1 and +1, Φ the normal distribution function.

    u*(η) = Φ⁻¹(η), infinite at η = 0 and 1; the minimal risk is the entropy of η. The conjugate has no closed
    form and is found by bisection.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Probit
    >>> Probit().margin_value(np.array([0.0, -1e4])).round(4)
    array([6.93100000e-01, 5.00000101e+07])

    References
    ----------
    Sangnier §1.2.1, remarks 1.2.2 and 1.2.3.
    """

    convex: ClassVar[bool] = True
    smoothness: ClassVar[float] = 1.0
    majorises_zero_one: ClassVar[bool] = False

    def margin_value(self, margin: NDArray) -> NDArray:
        """−log Φ(u)."""
        return _NORMAL.value(margin)

    def margin_derivative(self, margin: NDArray) -> NDArray:
        """The negative of the ratio r(u) of the density to the distribution function."""
        return _NORMAL.slope(margin)

    def margin_curvature(self, margin: NDArray) -> NDArray:
        """r(u)(r(u) + u)."""
        return _NORMAL.curvature(margin)

    def margin_conjugate(self, slope: NDArray) -> NDArray:
        """φ*(s) for s ≤ 0, where φ'(u) = s is solved by bisection; 0 at s = 0."""
        inside = np.minimum(slope, 0)
        margin = increasing_root(_NORMAL.slope, inside, inside - 1, np.full_like(inside, 40))
        return np.where(slope <= 0, inside * margin - _NORMAL.value(margin), np.inf)

    def minimiser(self, eta: NDArray) -> NDArray:
        """Φ⁻¹(η)."""
        return special.ndtri(eta)

    def minimal_risk(self, eta: NDArray) -> NDArray:
        """The entropy of η."""
        return -negative_entropy(eta)


@dataclass(frozen=True, slots=True)
class CumulativeResponse(Loss):
    """ℓ(+1, f) = −log F(f), ℓ(−1, f) = −log(1 − F(f)): Bernoulli labels with P(Y = 1) = F(f).

    Equivalently Y is the sign of f − ε, with ε drawn from F (for a symmetric law also of f + ε): the link is
    F⁻¹. Convex in f when F and 1 − F are log-concave, as all named laws but "cauchy" are.

    Parameters
    ----------
    distribution : str or frozen SciPy distribution, default="normal"
        The law F: "logistic", "normal" (probit), "cauchy" (cauchit), "gumbel_l" (complementary log-log),
        "gumbel_r" (log-log), or any object with SciPy's `cdf`, `logcdf`, `logsf`, `logpdf`, `ppf` and `rvs`.
        For such an object convexity is measured on a grid of quantiles, the constants are left at inf, and
        the tails are as exact as its own logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import CumulativeResponse
    >>> CumulativeResponse("logistic").value(np.array([1.0, -1.0]), np.array([0.0, 1e4]))
    array([6.93147181e-01, 1.00000000e+04])

    References
    ----------
    Sangnier §1.2.1, remarks 1.2.2 and 1.2.3.
    """

    distribution: Any = "normal"

    def __post_init__(self) -> None:
        law = self.distribution
        named = isinstance(law, str) and law in RESPONSES
        if not named and not all(callable(getattr(law, method, None)) for method in _LAW_METHODS):
            names = ", ".join(map(repr, RESPONSES))
            words = f"one of {names} or a frozen SciPy distribution"
            raise parameters.refusal(type(self).__name__, "distribution", words, law)

    @property
    def _response(self) -> Response:
        law = self.distribution
        return RESPONSES[law] if isinstance(law, str) else response_of(law)

    @property
    def convex(self) -> bool:
        """Whether F and 1 − F are log-concave."""
        response = self._response
        return is_log_concave(response) if response.log_concave is None else response.log_concave

    @property
    def smoothness(self) -> float:
        """Largest |ℓ''| of a named law."""
        return self._response.smoothness

    @property
    def lipschitz(self) -> float:
        """Largest |ℓ'| of a named law."""
        return self._response.lipschitz

    def _part(self, place: int, y: NDArray, prediction: NDArray) -> NDArray:
        law, f = self._response, np.asarray(prediction)
        return np.where(np.asarray(y) > 0, law.positive[place](f), law.negative[place](f))

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        return self._part(0, y, prediction)

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """−F'/F for the label +1, F'/(1 − F) for −1."""
        return self._part(1, y, prediction)

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Second derivative in the prediction."""
        return self._part(2, y, prediction)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u), where ℓ'(y, f) = u is solved by bisection; only for convex losses."""
        if not self.convex:
            words = "log-concave for the loss to have a conjugate"
            raise parameters.refusal(type(self).__name__, "distribution", words, self.distribution)
        y, slope = np.broadcast_arrays(np.asarray(y), np.asarray(slope))
        reach = 1e4 + 2 * np.abs(slope)
        prediction = increasing_root(lambda f: self.gradient(y, f), slope, -reach, reach)
        attained = (self.gradient(y, -reach) <= slope) & (self.gradient(y, reach) >= slope)
        return np.where(attained, slope * prediction - self.value(y, prediction), np.inf)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """F⁻¹ at the weighted share of positive labels."""
        return float(self.minimiser(np.array(weighted_mean(np.asarray(y) > 0, sample_weight))))

    def minimiser(self, eta: NDArray) -> NDArray:
        """u*(η) = F⁻¹(η), the link: the likelihood of P(Y = 1) = η is best at η itself."""
        return self._response.quantile(eta)

    def probability(self, prediction: NDArray) -> NDArray:
        """P(Y = 1) = F(f)."""
        return self._response.cdf(np.asarray(prediction))

    def sample(self, prediction: NDArray, random_state: RandomState = None) -> NDArray:
        """Labels −1 and +1 drawn as the sign of the latent f − ε, ε from F."""
        f = np.asarray(prediction)
        noise = self._response.draw(generator(random_state), f.shape)
        return np.where(f >= noise, 1, -1)
