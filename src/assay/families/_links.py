"""Links: how the mean of a target is a function of a linear score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.losses._responses import RESPONSES

Function = Callable[[NDArray], NDArray]


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

    def __reduce__(self) -> tuple[Callable[[str], Link], tuple[str]]:
        return link, (self.name,)


def _exp(score: NDArray) -> NDArray:
    return np.exp(np.minimum(score, 700.0))


def _of_law(name: str, law: str, density: Function) -> Link:
    """The link F⁻¹ of a distribution function F that losses know."""
    return Link(name, RESPONSES[law].quantile, RESPONSES[law].cdf, density)


LINKS: Mapping[str, Link] = {
    one.name: one
    for one in (
        Link("identity", lambda mean: mean, lambda score: score, np.ones_like),
        Link("log", np.log, _exp, _exp),
        _of_law("logit", "logistic", lambda score: special.expit(score) * special.expit(-score)),
        _of_law("probit", "normal", lambda score: np.exp(-np.square(score) / 2) / math.sqrt(2 * math.pi)),
        _of_law("cloglog", "gumbel_l", lambda score: np.exp(np.minimum(score, 700.0) - _exp(score))),
        _of_law("loglog", "gumbel_r", lambda score: np.exp(np.minimum(-score, 700.0) - _exp(-score))),
        _of_law("cauchit", "cauchy", lambda score: 1 / (math.pi * (1 + np.square(score)))),
        Link(
            "inverse",
            lambda mean: 1 / mean,
            lambda score: 1 / score,
            lambda score: -1 / np.square(score),
            low=0.0,
        ),
        Link(
            "inverse_squared",
            lambda mean: 1 / np.square(mean),
            lambda score: 1 / np.sqrt(score),
            lambda score: -0.5 * score**-1.5,
            low=0.0,
        ),
        Link("sqrt", np.sqrt, np.square, lambda score: 2 * score, low=0.0),
    )
}
"""Links by name."""


def link(name: str) -> Link:
    """The link of a name."""
    return LINKS[name]
