"""Linear laws: the risk of any linear predictor in closed form."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import toeplitz
from scipy.signal import lfilter

from assay.datasets import requirements as checked
from assay.datasets.laws import Estimate, RegressionLaw, Rule, Sample, answers
from assay.datasets.requirements import Array, Labels, of_shape, refuse
from assay.randomness import RandomState, generator


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
        """Give f*(x) = xᵀθ* + b*, one value per row."""
        return np.asarray(self._rows(X) @ self.coef + self.intercept)

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
        theta = checked.finite_array(name, "coef", coef, 1)
        intercept = checked.number_at_least(name, "intercept", intercept, -np.inf)
        noise_std = checked.number_at_least(name, "noise_std", noise_std, 0)
        self._set(n_features=theta.size, coef=theta, intercept=intercept, noise_std=noise_std)
        self._set(design=None, mean=None, covariance=None)
        if design is not None:
            if mean is not None or covariance is not None:
                refuse(name, "design", "None when 'mean' or 'covariance' is given", "both")
            rows = checked.finite_array(name, "design", design, 2)
            self._set(design=of_shape(name, "design", rows, (len(rows), theta.size)))
        else:
            mean = np.zeros(theta.size) if mean is None else mean
            covariance = np.eye(theta.size) if covariance is None else covariance
            self._set(mean=of_shape(name, "mean", mean, (theta.size,)))
            self._set(covariance=_semi_definite(name, covariance, theta.size))

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
            return np.asarray(self.design.T @ self.design / len(self.design))
        assert self.covariance is not None
        return self.covariance + np.outer(self.feature_mean, self.feature_mean)

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

    def risk(self, rule: Rule, n_samples: int = 100_000, random_state: RandomState = None) -> Estimate:
        """Squared risk of any predictor, see `Law.risk`; with a fixed design the exact mean over its rows."""
        if self.design is None:
            return super().risk(rule, n_samples, random_state)
        return Estimate(float(np.mean(self._losses(answers(rule, self.design), self.design))), 0.0, True)

    def _draw_features(self, n_samples: int, rng: np.random.Generator) -> Array:
        if self.design is not None:
            return self.design.copy()
        assert self.covariance is not None
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.feature_mean + rng.standard_normal((n_samples, self.n_features)) @ root.T)

    def _variance_along(self, direction: Array) -> float:
        if self.design is not None:
            return float(np.var(self.design @ direction))
        assert self.covariance is not None
        return max(float(direction @ self.covariance @ direction), 0.0)


def _semi_definite(owner: str, value: ArrayLike, n_features: int) -> Array:
    matrix = of_shape(owner, "covariance", value, (n_features, n_features))
    eigenvalues = np.linalg.eigvalsh(matrix)
    tolerance = 1e-10 * max(abs(eigenvalues[-1]), abs(eigenvalues[0]))
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0) or eigenvalues[0] < -tolerance:
        refuse(owner, "covariance", "symmetric and positive semi-definite", matrix)
    return checked.read_only((matrix + matrix.T) / 2.0)


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
            size = checked.integer_between(name, "n_features", 100 if n_features is None else n_features, 1)
            asked = min(5, size) if n_nonzero is None else n_nonzero
            n_active = checked.integer_between(name, "n_nonzero", asked, 1, size)
            rng = generator(random_state)
            theta = np.zeros(size)
            theta[rng.choice(size, n_active, replace=False)] = rng.choice([-1.0, 1.0], n_active)
            checked.read_only(theta)
        else:
            theta = checked.finite_array(name, "coef", coef, 1)
            n_active = int(np.count_nonzero(theta))
            if n_active == 0:
                refuse(name, "coef", "non-zero somewhere", theta)
            if n_features not in (None, theta.size):
                refuse(name, "n_features", f"the size of 'coef' ({theta.size})", n_features)
            if n_nonzero not in (None, n_active):
                refuse(name, "n_nonzero", f"the number of non-zero entries of 'coef' ({n_active})", n_nonzero)
        correlation = checked.number_at_least(name, "rho", rho, -1, strictly=True)
        if correlation >= 1.0:
            refuse(name, "rho", "less than 1", rho)
        ratio = checked.number_at_least(name, "signal_to_noise", signal_to_noise, 0, strictly=True)
        self._set(n_features=theta.size, n_nonzero=n_active, coef=theta, intercept=0.0)
        self._set(rho=correlation, signal_to_noise=ratio)
        self._set(noise_std=float(np.sqrt(self.signal_variance / self.signal_to_noise)))

    @property
    def support(self) -> Labels:
        """Indices of the non-zero coefficients, increasing."""
        return np.flatnonzero(self.coef)

    @property
    def covariance(self) -> Array:
        """The Toeplitz matrix T of the design."""
        return np.asarray(toeplitz(self.rho ** np.arange(self.n_features)))

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
        return np.asarray(lfilter([1.0], [1.0, -self.rho], innovations, axis=1), dtype=np.float64)

    def _variance_along(self, direction: Array) -> float:
        # δᵀTδ is a sum of squares: T = AAᵀ with A the filter that makes X from innovations.
        backwards = np.asarray(lfilter([1.0], [1.0, -self.rho], direction[::-1]), dtype=np.float64)[::-1]
        scales = np.full(self.n_features, 1.0 - self.rho**2)
        scales[0] = 1.0
        return float(np.sum(scales * backwards**2))
