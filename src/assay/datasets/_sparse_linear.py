"""A linear law with few active features among correlated ones."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import toeplitz
from scipy.signal import lfilter

from assay.datasets._linear_law import LinearLaw
from assay.datasets._requirements import (
    Array,
    Labels,
    finite_array,
    integer_between,
    number_at_least,
    read_only,
    refuse,
)
from assay.randomness import RandomState, generator


@dataclass(frozen=True, eq=False, init=False)
class SparseLinear(LinearLaw):
    """A sparse Gaussian linear model on an autoregressive design.

        Y = Xᵀθ* + σε,    X ~ N(0, T),    T_jk = ρ^|j − k|,    ε ~ N(0, 1),

    where θ* has few non-zero entries and σ² = θ*ᵀTθ* / SNR.

    Parameters
    ----------
    n_features : int, default=None
        Number of features; None for 100, or for the size of `coef`.
    n_nonzero : int, default=None
        Number s of non-zero coefficients; None for 5, or for those of `coef`.
    coef : array-like of shape (n_features,), default=None
        The coefficients θ*; None draws the support uniformly and each coefficient in {−1, +1}.
    rho : float, default=0.0
        Correlation ρ of neighbouring features, in (−1, 1).
    signal_to_noise : float, default=3.0
        Ratio SNR of the variance of Xᵀθ* to that of the noise.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the support and the signs come from when `coef` is None.

    Examples
    --------
    >>> from assay.datasets import SparseLinear
    >>> law = SparseLinear(20, 3, rho=0.5, signal_to_noise=4.0, random_state=0)
    >>> law.support.size, law.sample(50, random_state=1).X.shape
    (3, (50, 20))
    >>> round(law.signal_variance / law.noise_variance, 6)
    4.0
    """

    n_nonzero: int = field(init=False)
    rho: float
    signal_to_noise: float

    def __init__(
        self,
        n_features: int | None = None,
        n_nonzero: int | None = None,
        *,
        coef: ArrayLike | None = None,
        rho: float = 0.0,
        signal_to_noise: float = 3.0,
        random_state: RandomState = None,
    ) -> None:
        name = self._name
        if coef is None:
            size = integer_between(name, "n_features", 100 if n_features is None else n_features, 1)
            asked = min(5, size) if n_nonzero is None else n_nonzero
            theta = _draw_coef(size, integer_between(name, "n_nonzero", asked, 1, size), random_state)
        else:
            theta = finite_array(name, "coef", coef, 1)
            _check_counts(name, theta, n_features, n_nonzero)
        correlation = number_at_least(name, "rho", rho, -1, strictly=True)
        if correlation >= 1.0:
            refuse(name, "rho", "less than 1", rho)
        self._set(
            n_features=theta.size,
            n_nonzero=int(np.count_nonzero(theta)),
            coef=theta,
            intercept=0.0,
            rho=correlation,
            signal_to_noise=number_at_least(name, "signal_to_noise", signal_to_noise, 0, strictly=True),
        )
        self._set(noise_std=float(np.sqrt(self.signal_variance / self.signal_to_noise)))

    @property
    def support(self) -> Labels:
        """Indices of the non-zero coefficients, increasing."""
        return np.flatnonzero(self.coef)

    @property
    def covariance(self) -> Array:
        """The Toeplitz matrix T of the design."""
        matrix: Array = toeplitz(self.rho ** np.arange(self.n_features))
        return matrix

    @property
    def signal_variance(self) -> float:
        """Variance θ*ᵀTθ* of the regression function."""
        return self._variance_along(self.coef)

    @property
    def feature_mean(self) -> Array:
        """Mean of the design, 0."""
        return np.zeros(self.n_features)

    def _draw_features(self, n_samples: int, rng: np.random.Generator) -> Array:
        # X_1 = Z_1 and X_j = ρ X_{j−1} + √(1 − ρ²) Z_j, a filter that never forms T.
        innovations = rng.standard_normal((n_samples, self.n_features))
        innovations[:, 1:] *= np.sqrt(1.0 - self.rho**2)
        rows: Array = np.asarray(lfilter([1.0], [1.0, -self.rho], innovations, axis=1), dtype=np.float64)
        return rows

    def _variance_along(self, direction: Array) -> float:
        # δᵀTδ is a sum of squares: T = AAᵀ with A the filter that makes X from innovations.
        backwards = np.asarray(lfilter([1.0], [1.0, -self.rho], direction[::-1]), dtype=np.float64)[::-1]
        scales = np.full(self.n_features, 1.0 - self.rho**2)
        scales[0] = 1.0
        return float(np.sum(scales * backwards**2))


def _draw_coef(n_features: int, n_nonzero: int, random_state: RandomState) -> Array:
    rng = generator(random_state)
    coef = np.zeros(n_features)
    coef[rng.choice(n_features, n_nonzero, replace=False)] = rng.choice([-1.0, 1.0], n_nonzero)
    return read_only(coef)


def _check_counts(owner: str, coef: Array, n_features: int | None, n_nonzero: int | None) -> None:
    n_active = int(np.count_nonzero(coef))
    if n_active == 0:
        refuse(owner, "coef", "non-zero somewhere", coef)
    if n_features not in (None, coef.size):
        refuse(owner, "n_features", f"the size of 'coef' ({coef.size})", n_features)
    if n_nonzero not in (None, n_active):
        refuse(owner, "n_nonzero", f"the number of non-zero entries of 'coef' ({n_active})", n_nonzero)
