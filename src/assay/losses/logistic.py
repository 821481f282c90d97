"""Smooth losses of the margin: logistic, exponential, Savage; and the logistic loss of targets in [0, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.losses.base import Loss, negative_entropy, require, weighted_mean
from assay.losses.margin import MarginLoss, logit
from assay.losses.row_form import decay, terms_of, wide_exp
from assay.parameters import Domain

_BASE = Domain(
    "'e' or 2",
    lambda value: (
        (isinstance(value, str) and value == "e")
        or (not isinstance(value, (bool, str)) and np.isscalar(value) and value == 2)
    ),
)


# Terms of rows, with one exponential each.


class LogisticForm(NamedTuple):
    """Row form of `Logistic`; `scale` is 1 over the logarithm of the base."""

    scale: float


@terms_of(LogisticForm)
def logistic_terms(form, y, score):  # type: ignore[no-untyped-def]
    """log(1 + e^{−u}), −y σ(−u), σ(u) σ(−u) at u = y f, times the scale."""
    margin = y * score
    small, rest = decay(margin)
    inverse = 1.0 / (1.0 + small)
    against = small * inverse if margin >= 0.0 else inverse
    value = max(-margin, 0.0) + rest
    return form.scale * value, -form.scale * y * against, form.scale * small * inverse * inverse


class CrossEntropyForm(NamedTuple):
    """Row form of `CrossEntropy`."""


@terms_of(CrossEntropyForm)
def cross_entropy_terms(form, y, score):  # type: ignore[no-untyped-def]
    """log(1 + e^f) − y f, σ(f) − y, σ(f) σ(−f)."""
    small, rest = decay(score)
    inverse = 1.0 / (1.0 + small)
    chance = inverse if score >= 0.0 else small * inverse
    return max(score, 0.0) - y * score + rest, chance - y, small * inverse * inverse


class ExponentialForm(NamedTuple):
    """Row form of `Exponential`."""


@terms_of(ExponentialForm)
def exponential_terms(form, y, score):  # type: ignore[no-untyped-def]
    """e^{−u} at u = y f, its negative times y, and itself."""
    value = wide_exp(-y * score)
    return value, -y * value, value


class SavageForm(NamedTuple):
    """Row form of `Savage`."""


@terms_of(SavageForm)
def savage_terms(form, y, score):  # type: ignore[no-untyped-def]
    """q², −2y q² p, 2 q² p (2p − q) at p = σ(u), q = σ(−u), u = y f; the last is negative for u < −log 2."""
    margin = y * score
    small, _ = decay(margin)
    inverse = 1.0 / (1.0 + small)
    gain = inverse if margin >= 0.0 else small * inverse
    loss = small * inverse if margin >= 0.0 else inverse
    square = loss * loss
    return square, -2.0 * y * square * gain, 2.0 * square * gain * (2.0 * gain - loss)


@dataclass(frozen=True, slots=True)
class Logistic(MarginLoss):
    """φ(u) = log(1 + e^{−u}), labels −1 and +1: the negative log-likelihood of P(Y = 1) = σ(f).

    The natural logarithm gives log 2 < 1 at u = 0 and does not majorise the 0-1 loss; base 2 does.
    u*(η) = log(η/(1 − η)), infinite at η = 0 and 1; the minimal risk is the entropy of η in that base.

    Parameters
    ----------
    base : {"e", 2}, default="e"
        Base of the logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Logistic
    >>> Logistic(base=2).margin_value(np.array([0.0, 1e4, -1e4])).round(2)
    array([1.000000e+00, 0.000000e+00, 1.442695e+04])

    References
    ----------
    Sangnier §1.2.1, exercise 1.5; Rudi & Şimşekli §2.1.2; Peyré, logistic classification.
    """

    base: Any = "e"
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require(self, "base", _BASE)

    @property
    def lipschitz(self) -> float:
        """1, or 1/log 2 in base 2."""
        return 1.0 if self.base == "e" else 1 / math.log(2)

    @property
    def smoothness(self) -> float:
        """¼, or ¼/log 2 in base 2."""
        return self.lipschitz / 4

    @property
    def majorises_zero_one(self) -> bool:
        """In base 2 only."""
        return self.base != "e"

    @property
    def wrong_slope(self) -> float:
        """Half the Lipschitz constant: the slope at the margin 0."""
        return self.lipschitz / 2

    @property
    def row_form(self) -> LogisticForm:
        """See `Loss.row_form`."""
        return LogisticForm(self.lipschitz)

    def margin_conjugate(self, slope: NDArray) -> NDArray:
        """φ*(s) = p log p + (1 − p) log(1 − p) at p = −s ∈ [0, 1]; in base 2 at p = −s log 2, over log 2."""
        return negative_entropy(-slope / self.lipschitz) * self.lipschitz

    def minimiser(self, eta: NDArray) -> NDArray:
        """log(η/(1 − η))."""
        return logit(eta)

    def minimal_risk(self, eta: NDArray) -> NDArray:
        """The entropy of η."""
        return -negative_entropy(eta) * self.lipschitz


@dataclass(frozen=True, slots=True)
class Exponential(MarginLoss):
    """φ(u) = e^{−u}, labels −1 and +1: the loss of AdaBoost.

    u*(η) = ½ log(η/(1 − η)), infinite at η = 0 and 1; the minimal risk is 2√(η(1 − η)).

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Exponential
    >>> Exponential().margin_value(np.array([0.0, 1e4, -1e4]))
    array([ 1.,  0., inf])

    References
    ----------
    Sangnier §1.3.3, exercise 1.5.
    """

    convex: ClassVar[bool] = True
    row_form: ClassVar[ExponentialForm] = ExponentialForm()
    majorises_zero_one: ClassVar[bool] = True

    def margin_conjugate(self, slope: NDArray) -> NDArray:
        """φ*(s) = t log t − t at t = −s ≥ 0."""
        size = np.maximum(-slope, 0)
        return np.where(slope <= 0, special.xlogy(size, size) - size, np.inf)

    def minimiser(self, eta: NDArray) -> NDArray:
        """½ log(η/(1 − η))."""
        return logit(eta) / 2

    def minimal_risk(self, eta: NDArray) -> NDArray:
        """2√(η(1 − η))."""
        return 2 * np.sqrt(eta * (1 - eta))


_STEEPEST = (15 - math.sqrt(33)) / 24  # largest φ'' of Savage, in q = σ(−u): root of 12 q² − 15 q + 4


@dataclass(frozen=True, slots=True)
class Savage(MarginLoss):
    """φ(u) = 1/(1 + e^u)², labels −1 and +1: not convex, yet calibrated.

    u*(η) = log(η/(1 − η)), infinite at η = 0 and 1; the minimal risk is η(1 − η).

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Savage
    >>> Savage().margin_value(np.array([0.0, -1e4]))
    array([0.25, 1.  ])

    References
    ----------
    Sangnier, examination of 2023, exercise 3.
    """

    convex: ClassVar[bool] = False
    row_form: ClassVar[SavageForm] = SavageForm()
    smoothness: ClassVar[float] = 2 * _STEEPEST**2 * (1 - _STEEPEST) * (2 - 3 * _STEEPEST)
    lipschitz: ClassVar[float] = 8 / 27
    majorises_zero_one: ClassVar[bool] = False

    def margin_conjugate(self, slope: NDArray) -> NDArray:
        """0 at s = 0, inf elsewhere: a bounded loss has no other affine minorant."""
        return np.where(slope == 0, np.zeros_like(slope), np.inf)

    def minimiser(self, eta: NDArray) -> NDArray:
        """log(η/(1 − η))."""
        return logit(eta)

    def minimal_risk(self, eta: NDArray) -> NDArray:
        """η(1 − η)."""
        return eta * (1 - eta)


@dataclass(frozen=True, slots=True)
class CrossEntropy(Loss):
    """ℓ(y, f) = y log(1 + e^{−f}) + (1 − y) log(1 + e^f), targets in [0, 1].

    With y ∈ {0, 1} it is the logistic loss of the labels 2y − 1.

    Parameters
    ----------
    shares : bool, default=True
        Whether targets may be shares between 0 and 1. If not they are classes, the losses of which have the
        infimum 0.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import CrossEntropy
    >>> CrossEntropy().gradient(np.array([1.0, 0.0]), np.zeros(2))
    array([-0.5,  0.5])

    References
    ----------
    Rudi & Şimşekli §2.1.2.
    """

    shares: bool = True
    convex: ClassVar[bool] = True
    row_form: ClassVar[CrossEntropyForm] = CrossEntropyForm()
    smoothness: ClassVar[float] = 0.25
    lipschitz: ClassVar[float] = 1.0
    wrong_slope: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        require(self, "shares", parameters.boolean)

    @property
    def reaches_zero(self) -> bool:
        """For classes."""
        return not self.shares

    @property
    def takes_shares(self) -> bool:
        """Unless they are classes."""
        return self.shares

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = p log p + (1 − p) log(1 − p) at p = u + y ∈ [0, 1]."""
        return negative_entropy(slope + y)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """The logarithm of the odds of the weighted mean."""
        return float(logit(np.array(weighted_mean(y, sample_weight))))
