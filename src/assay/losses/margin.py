"""Losses of the margin: what they share, the two hinges and the 0-1 loss."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.losses.base import Loss, require, weighted_mean
from assay.losses.decision import mistaken
from assay.losses.residual import SidedForm, SidedLoss

POSITIVE = np.array(1, dtype=np.float32)
"""The label of which the prediction is the margin, in the lower precision."""


class MarginLoss(Loss):
    """Base of the losses ℓ(y, f) = φ(y f) of binary classification, y ∈ {−1, +1}.

    A subclass gives φ* and the population minimiser, and its row form or φ, φ', φ''; the rest follows.
    `majorises_zero_one` tells whether φ(u) ≥ 1{u ≤ 0} everywhere.
    """

    __slots__ = ()
    reaches_zero: ClassVar[bool] = True

    @property
    @abstractmethod
    def majorises_zero_one(self) -> bool:
        """Whether φ(u) ≥ 1{u ≤ 0} for every u, so that the error rate is at most the risk."""

    def margin_value(self, margin: NDArray) -> NDArray:
        """φ(u)."""
        return self.value(POSITIVE, margin)

    def margin_derivative(self, margin: NDArray) -> NDArray:
        """φ'(u), or the subgradient that the class names."""
        return self.gradient(POSITIVE, margin)

    def margin_curvature(self, margin: NDArray) -> NDArray:
        """φ''(u), where there is one."""
        return self.curvature(POSITIVE, margin)

    @abstractmethod
    def margin_conjugate(self, slope: NDArray) -> NDArray:
        """φ*(s) = sup_u s u − φ(u)."""

    @abstractmethod
    def minimiser(self, eta: NDArray) -> NDArray:
        """u*(η) = argmin_u η φ(u) + (1 − η) φ(−u), where η = P(Y = 1 | X)."""

    @abstractmethod
    def minimal_risk(self, eta: NDArray) -> NDArray:
        """min_u η φ(u) + (1 − η) φ(−u)."""

    def conditional_risk(self, eta: NDArray, prediction: NDArray) -> NDArray:
        """E[φ(Y f) | X] = η φ(f) + (1 − η) φ(−f)."""
        return eta * self.margin_value(prediction) + (1 - eta) * self.margin_value(-prediction)

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """φ(y f)."""
        return self.margin_value(y * prediction) if self.row_form is None else super().value(y, prediction)

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """The product y φ'(y f)."""
        if self.row_form is not None:
            return super().gradient(y, prediction)
        return y * self.margin_derivative(y * prediction)

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """φ''(y f)."""
        if self.row_form is not None:
            return super().curvature(y, prediction)
        return self.margin_curvature(y * prediction)

    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = φ*(y u), inf outside its domain."""
        return self.margin_conjugate(y * slope)

    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> float:
        """u*(η) at the weighted share η of positive labels; infinite when one class is absent, if u* is."""
        share = weighted_mean(np.asarray(y) > 0, sample_weight)
        return float(self.minimiser(np.array(share)))

    _PROBES: ClassVar[NDArray] = np.linspace(0.05, 0.95, 19)

    def is_calibrated(self) -> bool:
        """Whether minimising the risk gives the Bayes classifier, whatever the law.

        A convex φ is calibrated exactly when it is differentiable at 0 with φ'(0) < 0, which is measured here
        by differences from both sides; otherwise the sign of u*(η) is compared with that of 2η − 1 on a grid.
        """
        if not self.convex:
            agree = np.sign(self.minimiser(self._PROBES)) == np.sign(self._PROBES - 0.5)
            return bool(np.all(agree[self._PROBES != 0.5]))
        step = 1e-6
        left, centre, right = self.margin_value(np.array([-step, 0.0, step]))
        before, after = (centre - left) / step, (right - centre) / step
        return bool(after < -1e-4 and after - before < 1e-3)


def logit(eta: NDArray) -> NDArray:
    """log(η/(1 − η)), −inf at 0 and inf at 1."""
    with np.errstate(divide="ignore"):
        return np.log(eta) - np.log1p(-np.asarray(eta))


class _SidedMargin(MarginLoss, SidedLoss):
    """A loss of the margin that is a sided loss of the label."""

    __slots__ = ()
    majorises_zero_one: ClassVar[bool] = True

    def margin_conjugate(self, slope: NDArray) -> NDArray:
        """φ*(s), the conjugate for the label 1."""
        return SidedLoss.conjugate(self, np.ones_like(slope), slope)


@dataclass(frozen=True, slots=True)
class Hinge(_SidedMargin):
    """φ(u) = max(0, 1 − u), labels −1 and +1: the loss of support vector machines.

    At u = 1 the subgradient is 0. u*(η) = sign(2η − 1); at η = ½ every u in [−1, 1] is a minimiser and 0 is
    given, at η = 0 every u ≤ −1 and at η = 1 every u ≥ 1.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import Hinge
    >>> Hinge().minimiser(np.array([0.2, 0.5, 0.9]))
    array([-1.,  0.,  1.])

    References
    ----------
    Sangnier §1.4.1, exercise 1.5; Rudi & Şimşekli §2.1.2.
    """

    row_form: ClassVar[SidedForm] = SidedForm(labelled=True)

    def minimiser(self, eta: NDArray) -> NDArray:
        """The sign of 2η − 1."""
        return np.sign(2 * eta - 1)

    def minimal_risk(self, eta: NDArray) -> NDArray:
        """2 min(η, 1 − η)."""
        return 2 * np.minimum(eta, 1 - eta)


@dataclass(frozen=True, slots=True)
class SquaredHinge(_SidedMargin):
    """φ(u) = max(0, 1 − u)², labels −1 and +1.

    u*(η) = 2η − 1; at η = 0 every u ≤ −1 is a minimiser and at η = 1 every u ≥ 1. The minimal risk is
    4η(1 − η).

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import SquaredHinge
    >>> SquaredHinge().minimiser(np.array([0.25, 0.5, 1.0]))
    array([-0.5,  0. ,  1. ])

    References
    ----------
    Sangnier, examination of 2023, exercise 3.
    """

    row_form: ClassVar[SidedForm] = SidedForm(curve=2.0, reach=math.inf, labelled=True)

    def minimiser(self, eta: NDArray) -> NDArray:
        """2η − 1."""
        return 2 * eta - 1

    def minimal_risk(self, eta: NDArray) -> NDArray:
        """4η(1 − η)."""
        return 4 * eta * (1 - eta)


@dataclass(frozen=True, slots=True)
class ZeroOne(MarginLoss):
    """φ(u) = 1{u ≤ 0}, labels −1 and +1: the error itself, for evaluation only.

    u*(η) is any number of the sign of 2η − 1; that sign is given, 0 at η = ½ where every u ≠ 0 is a minimiser
    but 0 is not. There are no useful derivatives: asking for them raises.

    Parameters
    ----------
    ties : {"error", "negative", "positive"}, default="error"
        Whether f = 0 counts as an error for both labels, as the prediction −1 (that of every classifier here,
        see `assay.losses.chosen`), or as the prediction +1.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import ZeroOne
    >>> ZeroOne().value(np.array([1.0, -1.0, 1.0]), np.array([0.3, 0.3, 0.0]))
    array([0., 1., 1.])
    >>> ZeroOne(ties="negative").value(np.array([1.0, -1.0, -1.0]), np.array([0.3, 0.3, 0.0]))
    array([0., 1., 0.])

    References
    ----------
    Sangnier §1.2.1; Rudi & Şimşekli §2.1.2.
    """

    ties: str = "error"
    convex: ClassVar[bool] = False
    majorises_zero_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require(self, "ties", parameters.one_of("error", "negative", "positive"))

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """1 where the sign of the prediction is not the label."""
        margin = np.asarray(y * prediction)
        if self.ties == "error":
            return self.margin_value(margin)
        if self.ties == "negative":
            return mistaken(np.asarray(y), np.asarray(prediction)).astype(margin.dtype)
        return mistaken(-np.asarray(y), -np.asarray(prediction)).astype(margin.dtype)

    def margin_value(self, margin: NDArray) -> NDArray:
        """1{u ≤ 0}."""
        margin = np.asarray(margin)
        return (margin <= 0).astype(margin.dtype)

    def margin_derivative(self, margin: NDArray) -> NoReturn:
        """There is none to descend along."""
        raise NotImplementedError("The 0-1 loss is for evaluation: minimise Hinge, Logistic or Exponential.")

    def margin_curvature(self, margin: NDArray) -> NoReturn:
        """There is none to descend along."""
        self.margin_derivative(margin)

    def margin_conjugate(self, slope: NDArray) -> NDArray:
        """0 at s = 0, inf elsewhere."""
        return np.where(slope == 0, np.zeros_like(slope), np.inf)

    def minimiser(self, eta: NDArray) -> NDArray:
        """The sign of 2η − 1."""
        return np.sign(2 * eta - 1)

    def minimal_risk(self, eta: NDArray) -> NDArray:
        """min(η, 1 − η)."""
        return np.minimum(eta, 1 - eta)
