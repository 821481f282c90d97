"""The losses under test, with targets that suit them."""

from __future__ import annotations

from scipy import stats

from assay.losses import (
    Absolute,
    CrossEntropy,
    CumulativeResponse,
    EpsilonInsensitive,
    Exponential,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    NegativeBinomial,
    Poisson,
    Probit,
    Quantile,
    Savage,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Tweedie,
)

REGRESSION = [
    Squared(),
    Squared(halved=False),
    Absolute(),
    Huber(0.7),
    Quantile(0.8),
    EpsilonInsensitive(0.3),
    SquaredEpsilonInsensitive(0.3),
    SquaredEpsilonInsensitive(0.0),
]
MARGIN = [Logistic(), Logistic(base=2), Exponential(), Hinge(), SquaredHinge(), Savage(), Probit()]
RESPONSE = [CumulativeResponse(law) for law in ("logistic", "normal", "cauchy", "gumbel_l", "gumbel_r")]
CUSTOM = [CumulativeResponse(stats.logistic(loc=0.5, scale=2.0)), CumulativeResponse(stats.t(df=3))]
COUNTS = [Poisson(), NegativeBinomial(0.4), NegativeBinomial(3.0), Tweedie(1.0), Tweedie(1.4)]
POSITIVE = [Gamma(), Tweedie(2.0), Tweedie(1.8)]
BENT = [Tweedie(0.0), Tweedie(-1.5), Tweedie(2.5), Tweedie(3.0)]
PROPORTIONS = [CrossEntropy()]

EVERY = REGRESSION + MARGIN + RESPONSE + CUSTOM + COUNTS + POSITIVE + BENT + PROPORTIONS
CONVEX = [loss for loss in EVERY if loss.convex]


def targets(loss, rng, size):
    """Legal targets of a loss."""
    if loss in MARGIN + RESPONSE + CUSTOM:
        return rng.choice([-1.0, 1.0], size)
    if loss in COUNTS:
        return rng.poisson(2.0, size).astype(float)
    if loss in POSITIVE + BENT:
        return rng.gamma(2.0, size=size) + 0.05
    if loss in PROPORTIONS:
        return rng.uniform(0, 1, size)
    return rng.standard_normal(size)


def name(loss):
    """A name without memory addresses, the same in every process."""
    return f"CumulativeResponse({loss.distribution.dist.name})" if loss in CUSTOM else repr(loss)
