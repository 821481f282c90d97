"""The Gaussian linear model, with a fixed or a random design."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets._law import Estimate, Rule, Sample, answers
from assay.datasets._linear_law import LinearLaw, quadratic_form
from assay.datasets._requirements import (
    Array,
    finite_array,
    finite_number,
    number_at_least,
    of_shape,
    read_only,
    refuse,
)
from assay.randomness import RandomState


@dataclass(frozen=True, eq=False, init=False)
class LinearGaussian(LinearLaw):
    """The Gaussian linear model.

        Y = Xᵀθ* + b* + σε,        ε ~ N(0, 1) independent of X.

    *Random design* (default): X ~ N(μ, C), and risks are taken over a new row. *Fixed design*: the n rows
    of `design` are kept, only Y is drawn, and risks are means over those rows,

        R_X(θ) = E[(1/n) ‖Y − Xθ‖²],    R_X(θ) − R_X(θ*) = ‖θ − θ*‖²_Σ,    Σ = XᵀX/n.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
        The true coefficients θ*.
    intercept : float, default=0.0
        The true intercept b*.
    noise_std : float, default=1.0
        Standard deviation σ of the noise, at least 0.
    design : array-like of shape (n_samples, n_features), default=None
        Rows of the fixed design; None for a random design.
    mean : array-like of shape (n_features,), default=None
        Mean μ of the random design; None for 0.
    covariance : array-like of shape (n_features, n_features), default=None
        Covariance C of the random design, positive semi-definite; None for the identity.

    Examples
    --------
    >>> from assay.datasets import LinearGaussian
    >>> law = LinearGaussian([1.0, -2.0], noise_std=0.5)
    >>> X, y = law.sample(100, random_state=0)
    >>> X.shape, y.shape
    ((100, 2), (100,))
    >>> law.excess_risk([1.0, 0.0]), law.risk_of_coef([1.0, 0.0])
    (4.0, 4.25)

    References
    ----------
    Rudi & Şimşekli §1.2 to §1.4.
    """

    intercept: float
    noise_std: float
    design: Array | None = field(repr=False)
    mean: Array | None
    covariance: Array | None

    def __init__(
        self,
        coef: ArrayLike,
        *,
        intercept: float = 0.0,
        noise_std: float = 1.0,
        design: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        covariance: ArrayLike | None = None,
    ) -> None:
        name = self._name
        theta = finite_array(name, "coef", coef, 1)
        self._set(
            n_features=theta.size,
            coef=theta,
            intercept=finite_number(name, "intercept", intercept),
            noise_std=number_at_least(name, "noise_std", noise_std, 0),
            design=None,
            mean=None,
            covariance=None,
        )
        if design is not None:
            if mean is not None or covariance is not None:
                refuse(name, "design", "None when 'mean' or 'covariance' is given", "both")
            rows = finite_array(name, "design", design, 2)
            self._set(design=of_shape(name, "design", rows, (len(rows), theta.size)))
        else:
            mean = np.zeros(theta.size) if mean is None else mean
            covariance = np.eye(theta.size) if covariance is None else covariance
            self._set(
                mean=of_shape(name, "mean", mean, (theta.size,)),
                covariance=_semi_definite(name, covariance, theta.size),
            )

    @property
    def feature_mean(self) -> Array:
        """Mean of the design: μ, or the mean of the fixed rows."""
        if self.design is not None:
            return self.design.mean(axis=0)
        assert self.mean is not None
        return self.mean

    @property
    def second_moment(self) -> Array:
        """Second moment Σ of the design: XᵀX/n when it is fixed, C + μμᵀ when it is random."""
        if self.design is not None:
            fixed: Array = self.design.T @ self.design / len(self.design)
            return fixed
        assert self.covariance is not None
        random: Array = self.covariance + np.outer(self.feature_mean, self.feature_mean)
        return random

    def sample(self, n_samples: int | None = None, random_state: RandomState = None) -> Sample:
        """Draw independent rows; a fixed design gives all its rows, with a new Y.

        Parameters
        ----------
        n_samples : int, default=None
            Number of rows; for a fixed design, its own number of rows or None.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from.
        """
        if self.design is not None:
            if n_samples is not None and n_samples != len(self.design):
                refuse(self._name, "n_samples", f"the {len(self.design)} rows of the fixed design", n_samples)
            n_samples = len(self.design)
        elif n_samples is None:
            refuse(self._name, "n_samples", "given when the design is random", n_samples)
        return super().sample(n_samples, random_state)

    def risk(self, predict: Rule, n_samples: int = 100_000, random_state: RandomState = None) -> Estimate:
        """Squared risk of any predictor: a mean over the fixed rows (exact), or over new rows (Monte Carlo).

        Parameters
        ----------
        predict : callable or fitted model
            The predictor, a function of X or an object with a `predict` method.
        n_samples : int, default=100_000
            Number of rows drawn when the design is random.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from.
        """
        if self.design is None:
            return super().risk(predict, n_samples, random_state)
        errors = answers(predict, self.design) - self.regression_function(self.design)
        return Estimate(float(np.mean(errors**2)) + self.noise_variance, 0.0, True)

    def _draw_features(self, n_samples: int, rng: np.random.Generator) -> Array:
        if self.design is not None:
            return self.design.copy()
        assert self.covariance is not None
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        rows: Array = self.feature_mean + rng.standard_normal((n_samples, self.n_features)) @ root.T
        return rows

    def _variance_along(self, direction: Array) -> float:
        if self.design is not None:
            return float(np.var(self.design @ direction))
        assert self.covariance is not None
        return quadratic_form(self.covariance, direction)


def _semi_definite(owner: str, value: ArrayLike, n_features: int) -> Array:
    matrix = of_shape(owner, "covariance", value, (n_features, n_features))
    eigenvalues = np.linalg.eigvalsh(matrix)
    tolerance = 1e-10 * max(abs(eigenvalues[-1]), abs(eigenvalues[0]))
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0) or eigenvalues[0] < -tolerance:
        refuse(owner, "covariance", "symmetric and positive semi-definite", matrix)
    return read_only((matrix + matrix.T) / 2.0)
