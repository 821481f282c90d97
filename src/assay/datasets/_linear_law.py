"""Linear regression laws: the risk of any linear predictor in closed form."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from assay.datasets._regression_law import RegressionLaw
from assay.datasets._requirements import Array, of_shape


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
