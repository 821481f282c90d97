"""Losses of a binary response that have a distribution function as inverse link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.losses.base import Loss, increasing_root, negative_entropy, weighted_mean
from assay.losses.margin import MarginLoss
from assay.losses.response_laws import (
    NORMAL,
    RESPONSES,
    Response,
    is_law,
    is_log_concave,
    is_response,
    response_of,
)
from assay.randomness import RandomState, generator


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
        return NORMAL.value(margin)

    def margin_derivative(self, margin: NDArray) -> NDArray:
        """The negative of the ratio r(u) of the density to the distribution function."""
        return NORMAL.slope(margin)

    def margin_curvature(self, margin: NDArray) -> NDArray:
        """r(u)(r(u) + u)."""
        return NORMAL.curvature(margin)

    def margin_conjugate(self, slope: NDArray) -> NDArray:
        """φ*(s) for s ≤ 0, where φ'(u) = s is solved by bisection; 0 at s = 0."""
        inside = np.minimum(slope, 0)
        margin = increasing_root(NORMAL.slope, inside, inside - 1, np.full_like(inside, 40))
        return np.where(slope <= 0, inside * margin - NORMAL.value(margin), np.inf)

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
    distribution : str, frozen SciPy distribution or callable, default="normal"
        The law F: "logistic", "normal" (probit), "cauchy" (cauchit), "gumbel_l" (complementary log-log),
        "gumbel_r" (log-log), any object with SciPy's `cdf`, `logcdf`, `logsf`, `logpdf`, `ppf` and `rvs`, or
        a function from arrays of scores to (0, 1) that rises from 0 to 1. For such an object convexity is
        measured on a grid of quantiles, the constants are left at inf, and the tails are as exact as its own
        logarithms.

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
        if not named and not is_law(law) and not is_response(law):
            names = ", ".join(map(repr, RESPONSES))
            words = f"one of {names}, a distribution function or a frozen SciPy distribution"
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
