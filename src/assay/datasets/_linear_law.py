"""Regression laws: the regression function, the noise and the squared risk are known."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets._law import Estimate, Law, Rule, Sample, answers, monte_carlo
from assay.datasets._requirements import Array, integer_between, of_shape, rows_of
from assay.randomness import RandomState, generator


@dataclass(frozen=True, eq=False, init=False)
class RegressionLaw(Law):
    """A law Y = f*(X) + ε with ε independent of X, centred, of known variance."""

    @abstractmethod
    def regression_function(self, X: ArrayLike) -> Array:
        """Give f*(x) = E[Y | X = x], one value a row."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """Var(Y | X), the same everywhere."""

    @abstractmethod
    def _draw_features(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw rows of X."""

    def sample(self, n_samples: int, random_state: RandomState = None) -> Sample:
        """Draw independent rows (X, Y); the noise is Gaussian.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from.
        """
        n_samples = integer_between(self._name, "n_samples", n_samples, 1)
        rng = generator(random_state)
        X = self._draw_features(n_samples, rng)
        noise = np.sqrt(self.noise_variance) * rng.standard_normal(n_samples)
        return Sample(X, self.regression_function(X) + noise)

    def bayes_risk(self) -> Estimate:
        """Give the smallest squared risk, that of f*: the variance of the noise."""
        return Estimate(self.noise_variance, 0.0, True)

    def risk(self, predict: Rule, n_samples: int = 100_000, random_state: RandomState = None) -> Estimate:
        """Estimate the squared risk E[(Y − f(X))²] = E[(f(X) − f*(X))²] + Var(ε) of any predictor f.

        The noise is integrated out, so that only the rows of X are drawn.

        Parameters
        ----------
        predict : callable or fitted model
            The predictor f, a function of X or an object with a `predict` method.
        n_samples : int, default=100_000
            Number of rows drawn, at least 2.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from.
        """
        n_samples = integer_between(self._name, "n_samples", n_samples, 2)
        X = self._draw_features(n_samples, generator(random_state))
        return monte_carlo((answers(predict, X) - self.regression_function(X)) ** 2 + self.noise_variance)

    def _rows(self, X: ArrayLike) -> Array:
        return rows_of(self._name, X, self.n_features)


# Linear regression laws: the risk of any linear predictor in closed form.


@dataclass(frozen=True, eq=False, init=False)
class LinearLaw(RegressionLaw):
    """A law Y = Xᵀθ* + b* + σε, ε ~ N(0, 1), whose design has known mean and covariance."""

    coef: Array
    intercept: float = field(init=False)
    noise_std: float = field(init=False)

    @property
    @abstractmethod
    def feature_mean(self) -> Array:
        """Mean m of the rows of the design."""

    @abstractmethod
    def _variance_along(self, direction: Array) -> float:
        """Variance of Xᵀδ over the design."""

    @property
    def noise_variance(self) -> float:
        """Var(Y | X) = σ²."""
        return self.noise_std**2

    def regression_function(self, X: ArrayLike) -> Array:
        """Give f*(x) = xᵀθ* + b*, one value a row."""
        values: Array = self._rows(X) @ self.coef + self.intercept
        return values

    def excess_risk(self, coef: ArrayLike, intercept: float = 0.0) -> float:
        """Risk of x ↦ xᵀθ + b minus the risk of the truth, exactly.

        With Σ the second moment of the design and b = b*, this is R(θ) − R(θ*) = ‖θ − θ*‖²_Σ; in general

            Var(Xᵀδ) + (mᵀδ + b − b*)²,        δ = θ − θ*.

        Parameters
        ----------
        coef : array-like of shape (n_features,)
            The coefficients θ.
        intercept : float, default=0.0
            The intercept b.
        """
        difference = of_shape(self._name, "coef", coef, (self.n_features,)) - self.coef
        bias = float(self.feature_mean @ difference) + float(intercept) - self.intercept
        return self._variance_along(difference) + bias**2

    def risk_of_coef(self, coef: ArrayLike, intercept: float = 0.0) -> float:
        """Squared risk E[(Y − Xᵀθ − b)²] of a linear predictor, exactly.

        Parameters
        ----------
        coef : array-like of shape (n_features,)
            The coefficients θ.
        intercept : float, default=0.0
            The intercept b.
        """
        return self.excess_risk(coef, intercept) + self.noise_variance


def quadratic_form(matrix: Array, direction: Array) -> float:
    """Give δᵀAδ for a positive semi-definite A, never below 0 by rounding."""
    return max(float(direction @ matrix @ direction), 0.0)
