"""Links: what turns the mean of a target into a linear score; and the loss of shares around such a mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.losses import Loss, RowTerms, weighted_mean
from assay.losses.base import negative_entropy
from assay.losses.response_laws import RESPONSES, Response, Side, is_response, law_of, response_of

Function = Callable[[NDArray], NDArray]

NEAR = 0.01
"""Means nearer to 0 or 1 than this lose digits in 1 − mean: their losses are computed from the score."""


@dataclass(frozen=True)
class Link:
    """A monotone function g with g(mean) = score.

    Attributes
    ----------
    name : str
    score, mean : callables
        g and its inverse.
    slope : callable
        Derivative of the mean in the score.
    low, high : float
        Scores outside this interval have no mean.
    sides : tuple of two `Side`, optional
        −log(mean) and −log(1 − mean) as functions of the score, with their slopes, for means between 0 and 1:
        they keep their digits where the mean itself rounds to 0 or 1.
    source : str, law or callable, optional
        What `link` made it of.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.families import link
    >>> link("cloglog").mean(np.array([0.0])).round(4)        # 1 − 1/e
    array([0.6321])

    References
    ----------
    Sangnier §1.2.1; McCullagh & Nelder (1989), chapter 2.
    """

    name: str
    score: Function = field(repr=False, compare=False)
    mean: Function = field(repr=False, compare=False)
    slope: Function = field(repr=False, compare=False)
    low: float = -math.inf
    high: float = math.inf
    sides: tuple[Side, Side] | None = field(default=None, repr=False, compare=False)
    source: Any = field(default=None, repr=False)

    @property
    def standard(self) -> str | None:
        """Its name among `LINKS`; None for a link of one's own, whatever its name."""
        return self.name if LINKS.get(self.name) is self else None

    def __reduce__(self) -> Any:
        """By its source, where functions made on the spot could not travel."""
        return super().__reduce__() if self.source is None else (link, (self.source,))


def _exp(score: NDArray) -> NDArray:
    return np.exp(np.minimum(score, 700.0))


def _of_response(name: str, law: Response, density: Function, source: Any) -> Link:
    """The link F⁻¹ of a distribution function F."""
    sides = law.positive, law.negative
    return Link(name, law.quantile, law.cdf, density, sides=sides, source=source)


def _of_law(name: str, law: str, density: Function) -> Link:
    return _of_response(name, RESPONSES[law], density, name)


def _plain(name: str, score: Function, mean: Function, slope: Function, **more: Any) -> Link:
    return Link(name, score, mean, slope, source=name, **more)


_LOG_SIDES = (
    Side(lambda f: -f, lambda f: -np.ones_like(f), np.zeros_like),
    Side(lambda f: -np.log(-np.expm1(f)), lambda f: 1 / np.expm1(-f), lambda f: 0.25 / np.sinh(f / 2) ** 2),
)
"""−log p and −log(1 − p) of a probability p = e^f, f < 0."""

LINKS: Mapping[str, Link] = {
    one.name: one
    for one in (
        _plain("identity", lambda mean: mean, lambda score: score, np.ones_like),
        _plain("log", np.log, _exp, _exp, sides=_LOG_SIDES),
        _of_law("logit", "logistic", lambda score: special.expit(score) * special.expit(-score)),
        _of_law("probit", "normal", lambda score: np.exp(-np.square(score) / 2) / math.sqrt(2 * math.pi)),
        _of_law("cloglog", "gumbel_l", lambda score: np.exp(np.minimum(score, 700.0) - _exp(score))),
        _of_law("loglog", "gumbel_r", lambda score: np.exp(np.minimum(-score, 700.0) - _exp(-score))),
        _of_law("cauchit", "cauchy", lambda score: 1 / (math.pi * (1 + np.square(score)))),
        _plain(
            "inverse",
            lambda mean: 1 / mean,
            lambda score: 1 / score,
            lambda score: -1 / np.square(score),
            low=0.0,
        ),
        _plain(
            "inverse_squared",
            lambda mean: 1 / np.square(mean),
            lambda score: 1 / np.sqrt(score),
            lambda score: -0.5 * score**-1.5,
            low=0.0,
        ),
        _plain("sqrt", np.sqrt, np.square, lambda score: 2 * score, low=0.0),
    )
}
"""Links by name."""


def link(source: Any) -> Link:
    """The link of a name, of a law with SciPy's methods, or of a distribution function F: g = F⁻¹.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.families import link
    >>> link(lambda score: 0.5 + score / (2 * (1 + abs(score)))).score(np.array([0.25, 0.75])).round(6)
    array([-1.,  1.])
    """
    if isinstance(source, Link):
        return source
    if isinstance(source, str):
        return LINKS[source]
    if not is_response(source):
        words = f"{parameters.one_of(*LINKS).words}, a law with SciPy's methods, or a distribution function"
        raise parameters.refusal("link", "source", words, source)
    response = response_of(source)
    name = getattr(getattr(source, "dist", source), "name", None) or getattr(source, "__name__", "response")
    density = getattr(source, "pdf", None) or law_of(source).pdf
    return _of_response(str(name), response, density, source)


@dataclass(frozen=True)
class ShareLoss(Loss):
    """ℓ(y, f) = −y log F(f) − (1 − y) log(1 − F(f)), targets in [0, 1]: F a response, the link is F⁻¹.

    It is finite wherever −log F and −log(1 − F) are, however near F(f) is to 0 or 1. Its curvature is the
    expected one, F'²/(F(1 − F)), never negative.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.families import ShareLoss, link
    >>> ShareLoss(link("probit")).value(np.array([0.0]), np.array([40.0])).round(3)   # Φ(40) rounds to 1
    array([804.608])

    References
    ----------
    Sangnier §1.2.1, remark 1.2.3.
    """

    link: Link
    convex: ClassVar[bool] = False  # of most responses it is, but its curvature is not the second derivative
    n_groups: ClassVar[int] = 0
    takes_shares: ClassVar[bool] = True

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """Loss, slope and expected curvature of each row; the loss is inf where the law has no such mean."""
        y, scores = np.broadcast_arrays(y, scores)
        with np.errstate(all="ignore"):
            mean, change = self.link.mean(scores), self.link.slope(scores)
            missed = 1 - mean
            ratio = change / (mean * missed)
            losses = -(y * np.log(mean) + (1 - y) * np.log(missed))
            slopes, curvature = (mean - y) * ratio, change * ratio
            far = ~(np.minimum(mean, missed) > NEAR)
            if far.any():
                some = self._far_terms(y[far], scores[far], mean[far])
                losses[far], slopes[far], curvature[far] = some
        dtype = scores.dtype
        return RowTerms(*(term.astype(dtype, copy=False) for term in (losses, slopes, curvature)))

    def _far_terms(self, y: NDArray, scores: NDArray, mean: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """The same of rows whose mean is near 0 or 1, from the score alone."""
        assert self.link.sides is not None
        positive, negative = self.link.sides
        up, down = positive.slope(scores), negative.slope(scores)
        # A share of none counts for nothing where its loss overflows, and (F'/F)(F'/(1 − F)) fades there.
        losses = np.where(y > 0, y * positive.value(scores), 0) + np.where(
            y < 1, (1 - y) * negative.value(scores), 0
        )
        slopes = np.where(y > 0, y * up, 0) + np.where(y < 1, (1 - y) * down, 0)
        curvature = np.where(np.isfinite(up * down), -up * down, 0)
        bad = ~np.isfinite(losses) | ~np.isfinite(slopes) | ~((mean >= 0) & (mean <= 1))
        return np.where(bad, np.inf, losses), np.where(bad, 0, slopes), np.where(bad, 0, curvature)

    def smallest(self, y: NDArray) -> NDArray:
        """The entropy of y, at F(f) = y."""
        return -negative_entropy(y)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """Not known for a response in general."""
        words = "'logit' for the loss of shares to have a conjugate"
        raise parameters.refusal(type(self).__name__, "link", words, self.link.name)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """F⁻¹ of the weighted mean."""
        return float(self.link.score(np.array([weighted_mean(y, sample_weight)]))[0])
