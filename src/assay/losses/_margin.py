"""What a margin loss is: a function φ of the margin u = y f, with labels −1 and +1."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.losses._loss import Loss, weighted_mean


POSITIVE = np.array(1, dtype=np.float32)
"""The label of which the prediction is the margin, in the lower precision."""


class MarginLoss(Loss):
    """Base of the losses ℓ(y, f) = φ(y f) of binary classification, y ∈ {−1, +1}.

    A subclass gives φ* and the population minimiser, and its row form or φ, φ', φ''; the rest follows.
    `majorises_zero_one` tells whether φ(u) ≥ 1{u ≤ 0} everywhere.
    """

    __slots__ = ()

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
