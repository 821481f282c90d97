"""Exact moments and risk of linear estimators on a fixed design, and simulations that check them.

Everywhere Y = Xθ* + ε with X fixed (no intercept: put a column of ones in X where one is wanted) and errors
ε independent, of mean 0 and variance σ².
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from assay.parameters import real, refusal, require
from assay.randomness import RandomState, generator

Array = NDArray[np.float64]

Design: TypeAlias = tuple[Array, Array, float]
LinearEstimator: TypeAlias = "ArrayLike | Callable[[Array], Array]"
"""The matrix A of θ̂ = AY, or a function from targets (n, k) to coefficients (d, k)."""


class BiasVariance(NamedTuple):
    """Expected excess risk E‖θ̂ − θ*‖²_Σ of an estimator, split in two, with Σ = XᵀX/n.

    Attributes
    ----------
    bias : float
        ‖E θ̂ − θ*‖²_Σ.
    variance : float
        E‖θ̂ − E θ̂‖²_Σ.
    mean : array of shape (d,)
        E θ̂.
    standard_error : float
        Of the simulated risk; 0 when everything is exact.
    """

    bias: float
    variance: float
    mean: Array
    standard_error: float = 0.0

    @property
    def risk(self) -> float:
        """Bias plus variance: E R_X(θ̂) − R_X(θ*)."""
        return self.bias + self.variance


def bias_variance(
    estimator: LinearEstimator, X: ArrayLike, true_coef: ArrayLike, noise_std: float
) -> BiasVariance:
    """Expected excess risk of any estimator that is linear in the targets, exactly.

    For θ̂ = AY the bias is ‖(AX − I)θ*‖²_Σ and the variance σ² tr(Aᵀ Σ A).

    Parameters
    ----------
    estimator : array of shape (d, n), or callable
        A itself, or a function from targets (n, k) to coefficients (d, k), whose matrix is found by giving
        it the n unit vectors: least squares, ridge, a number of gradient steps.
    X : array-like of shape (n, d)
    true_coef : array-like of shape (d,)
    noise_std : float

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import bias_variance
    >>> X = np.vstack([np.eye(2), np.eye(2)])
    >>> half = bias_variance(X.T / 4, X, [2.0, 0.0], noise_std=1.0)   # half of least squares
    >>> half.bias, half.variance
    (0.5, 0.125)

    References
    ----------
    Rudi & Şimşekli, Proposition 1.2.
    """
    table, truth, sigma = fixed_design("bias_variance", X, true_coef, noise_std)
    matrix = estimator_matrix(estimator, table)
    mean = matrix @ (table @ truth)
    n = table.shape[0]
    bias = table @ (mean - truth)
    return BiasVariance(float(bias @ bias / n), float(sigma**2 * np.sum((table @ matrix) ** 2) / n), mean)


def simulated_bias_variance(
    estimator: LinearEstimator,
    X: ArrayLike,
    true_coef: ArrayLike,
    noise_std: float,
    *,
    n_draws: int = 2000,
    random_state: RandomState = None,
) -> BiasVariance:
    """The same by drawing targets with Gaussian noise; the estimator need not be linear.

    Parameters
    ----------
    estimator : array of shape (d, n), or callable
        A function from targets (n, k) to coefficients (d, k) may be anything, column by column.
    X, true_coef, noise_std
        As in `bias_variance`.
    n_draws : int, default=2000
    random_state : int, Generator, SeedSequence, RandomState or None
    """
    table, truth, sigma = fixed_design("simulated_bias_variance", X, true_coef, noise_std)
    n = table.shape[0]
    targets = (table @ truth)[:, None] + sigma * generator(random_state).standard_normal((n, n_draws))
    coefs = estimator(targets) if callable(estimator) else np.asarray(estimator, dtype=float) @ targets
    coefs = np.asarray(coefs, dtype=float)
    mean = coefs.mean(axis=1)
    bias = table @ (mean - truth)
    spread = np.sum((table @ (coefs - mean[:, None])) ** 2, axis=0) / n
    risks = np.sum((table @ (coefs - truth[:, None])) ** 2, axis=0) / n
    error = float(risks.std(ddof=1) / np.sqrt(n_draws))
    return BiasVariance(float(bias @ bias / n), float(spread.mean()), mean, error)


def estimator_matrix(estimator: LinearEstimator, X: ArrayLike) -> Array:
    """The matrix A of an estimator θ̂ = AY; refuses a function that is not linear in the targets."""
    table = np.asarray(X, dtype=float)
    n, d = table.shape
    if not callable(estimator):
        matrix = np.asarray(estimator, dtype=float)
    else:
        matrix = np.asarray(estimator(np.eye(n)), dtype=float)
        if matrix.shape == (d, n):
            probe = generator(0).standard_normal((n, 2))
            given, expected = np.asarray(estimator(probe), dtype=float), matrix @ probe
            if np.abs(given - expected).max() > 1e-6 * np.abs(expected).max():
                linear = "The 'estimator' must be linear in the targets for an exact answer"
                raise ValueError(f"{linear}; use simulated_bias_variance instead.")
    if matrix.shape != (d, n):
        words = f"a matrix of shape {(d, n)} or give one from the {n} unit vectors"
        raise ValueError(f"The 'estimator' must be {words}. Got shape {matrix.shape} instead.")
    return matrix


class CoefficientMoments(NamedTuple):
    """Mean and covariance of an estimated coefficient vector."""

    mean: Array
    covariance: Array


def least_squares_moments(X: ArrayLike, true_coef: ArrayLike, noise_std: float) -> CoefficientMoments:
    """Mean θ* and covariance σ²(XᵀX)⁻¹ of least squares; only two moments of the noise are used.

    Examples
    --------
    >>> from assay.theory import least_squares_moments
    >>> least_squares_moments([[1.0], [2.0], [2.0]], [5.0], noise_std=3.0).covariance
    array([[1.]])

    References
    ----------
    Rudi & Şimşekli, Proposition 1.3; Douc & Le Corff, Proposition 6.4.
    """
    table, truth, sigma = fixed_design("least_squares_moments", X, true_coef, noise_std)
    inverse = _pseudo_inverse("least_squares_moments", table)
    return CoefficientMoments(truth.copy(), sigma**2 * inverse @ inverse.T)


class LeastSquaresRisk(NamedTuple):
    """Expected risks of least squares on a fixed design.

    Attributes
    ----------
    optimal : float
        R_X(θ*) = σ², of the true coefficients on new targets.
    excess : float
        E R_X(θ̂) − R_X(θ*) = σ² d/n.
    training : float
        Expected empirical risk σ²(n − d)/n, also the mean of the maximum-likelihood variance.
    variance_bias : float
        Bias −σ² d/n of the maximum-likelihood variance ‖Y − Xθ̂‖²/n.
    """

    optimal: float
    excess: float
    training: float
    variance_bias: float


def least_squares_risk(n_samples: int, n_features: int, noise_std: float) -> LeastSquaresRisk:
    """Expected risks of least squares; they depend on X through its shape (and full rank) alone.

    Examples
    --------
    >>> from assay.theory import least_squares_risk
    >>> least_squares_risk(20, 5, noise_std=2.0)
    LeastSquaresRisk(optimal=4.0, excess=1.0, training=3.0, variance_bias=-1.0)

    References
    ----------
    Rudi & Şimşekli, Proposition 1.4 and §1.4.2.
    """
    if not 1 <= n_features <= n_samples:
        raise refusal("least_squares_risk", "n_features", f"from 1 to n_samples ({n_samples})", n_features)
    optimal = noise_deviation("least_squares_risk", noise_std) ** 2
    excess = optimal * n_features / n_samples
    return LeastSquaresRisk(optimal, excess, optimal - excess, -excess)


class RiskRate(NamedTuple):
    """Simulated and exact excess risk of least squares as the number of rows grows.

    Attributes
    ----------
    n_samples : array of shape (k,)
    simulated, standard_error, exact : arrays of shape (k,)
    slope : float
        Of log(simulated) against log(n_samples); the theorem says −1.
    """

    n_samples: NDArray
    simulated: Array
    standard_error: Array
    exact: Array
    slope: float


def least_squares_rate(
    n_samples: ArrayLike,
    n_features: int,
    noise_std: float,
    *,
    n_draws: int = 1000,
    random_state: RandomState = None,
) -> RiskRate:
    """Simulate the excess risk σ² d/n of least squares on Gaussian designs of growing size.

    Parameters
    ----------
    n_samples : array-like of int
    n_features : int
    noise_std : float
    n_draws : int, default=1000
        Targets drawn for each size.
    random_state : int, Generator, SeedSequence, RandomState or None
    """
    rng = generator(random_state)
    sizes = np.asarray(n_samples, dtype=int)
    curve = []
    for n in sizes:
        X = rng.standard_normal((int(n), n_features))
        q, _ = np.linalg.qr(X)
        # ŷ − Xθ* is the projection of the noise; the truth cancels.
        risks = np.sum((q.T @ (noise_std * rng.standard_normal((int(n), n_draws)))) ** 2, axis=0) / n
        exact = least_squares_risk(int(n), n_features, noise_std).excess
        curve.append((risks.mean(), risks.std(ddof=1) / np.sqrt(n_draws), exact))
    simulated, error, exact_curve = np.array(curve).T
    slope = float(np.polyfit(np.log(sizes), np.log(simulated), 1)[0]) if len(sizes) > 1 else np.nan
    return RiskRate(sizes, simulated, error, exact_curve, slope)


class GaussMarkov(NamedTuple):
    """How much more an unbiased linear estimator varies than least squares.

    Attributes
    ----------
    difference : array of shape (d, d)
        Cov(AY) − σ²(XᵀX)⁻¹ = σ² DDᵀ with D = A − X⁺, positive semi-definite by the theorem.
    smallest_eigenvalue : float
        Of the difference of the two covariances, each computed by itself; at least 0 up to rounding.
    defect : float
        ‖DX‖ (largest entry), 0 for an unbiased estimator.
    """

    difference: Array
    smallest_eigenvalue: float
    defect: float


def gauss_markov(estimator: LinearEstimator, X: ArrayLike, noise_std: float = 1.0) -> GaussMarkov:
    """Compare the covariance of an unbiased linear estimator with that of least squares.

    Parameters
    ----------
    estimator : array of shape (d, n), or callable
        As in `bias_variance`; unbiased, that is AX = I.
    X : array-like of shape (n, d)
    noise_std : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import gauss_markov
    >>> X = np.ones((4, 1))
    >>> gauss_markov([[0.5, 0.5, 0.0, 0.0]], X).difference       # the mean of two rows instead of four
    array([[0.25]])

    References
    ----------
    Rudi & Şimşekli §1.4.1 (Gauss–Markov).
    """
    table = np.asarray(X, dtype=float)
    sigma = noise_deviation("gauss_markov", noise_std)
    best = _pseudo_inverse("gauss_markov", table)
    matrix = estimator_matrix(estimator, table)
    defect = float(np.abs(matrix @ table - np.eye(table.shape[1])).max())
    if defect > 1e-8 * max(1.0, float(np.abs(matrix).max() * np.abs(table).max())):
        unbiased = "The 'estimator' of gauss_markov must be unbiased, AX = I."
        raise ValueError(f"{unbiased} Got a defect of {defect:.2g}; bias_variance serves biased ones.")
    difference = sigma**2 * (matrix @ matrix.T - best @ best.T)
    return GaussMarkov(difference, float(np.linalg.eigvalsh(difference)[0]), defect)


class Coverage(NamedTuple):
    """Share of draws that a region covers, with its binomial standard error."""

    estimate: float
    standard_error: float
    n_draws: int

    def agrees(self, level: float, n_errors: float = 4.0) -> bool:
        """Whether the share is within so many standard errors (those of `level`) of a claimed level."""
        error = np.sqrt(level * (1 - level) / self.n_draws)
        return bool(abs(self.estimate - level) <= n_errors * error)


def coverage(inside: Any) -> Coverage:
    """Share of independent draws in which a region covered the truth.

    Parameters
    ----------
    inside : array-like of bool
        One entry per draw, e.g. `(low <= truth) & (truth <= high)`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import coverage
    >>> draws = np.random.default_rng(0).standard_normal(10_000)
    >>> coverage(np.abs(draws) <= 1.96).agrees(0.95)
    True
    """
    draws = np.asarray(inside)
    if draws.dtype != bool or draws.ndim != 1 or not draws.size:
        given = f"{draws.dtype} of shape {draws.shape}"
        raise ValueError(f"coverage needs one True or False per draw. Got {given}.")
    share = float(draws.mean())
    return Coverage(share, float(np.sqrt(share * (1 - share) / draws.size)), draws.size)


def _pseudo_inverse(owner: str, table: Array) -> Array:
    """(XᵀX)⁻¹Xᵀ of a table of full column rank."""
    if table.ndim != 2 or np.linalg.matrix_rank(table) < table.shape[1]:
        raise ValueError(f"The 'X' parameter of {owner} must have linearly independent columns.")
    return np.asarray(np.linalg.pinv(table), dtype=np.float64)


def fixed_design(owner: str, X: ArrayLike, true_coef: ArrayLike, noise_std: float) -> Design:
    """The design, the true coefficients and σ, checked."""
    table, truth = np.asarray(X, dtype=float), np.asarray(true_coef, dtype=float)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise refusal(owner, "X", "a matrix of finite numbers", X)
    if truth.shape != table.shape[1:] or not np.isfinite(truth).all():
        raise refusal(owner, "true_coef", f"{table.shape[1]} finite numbers, one per column of X", true_coef)
    return table, truth, noise_deviation(owner, noise_std)


def noise_deviation(owner: str, noise_std: float) -> float:
    """σ, checked."""
    require(owner, real(at_least=0), noise_std=noise_std)
    return float(noise_std)


def refined_minimum(parts: Callable[[Array], tuple[Array, ...]], log_grid: Array) -> tuple[int, float]:
    """Index of the best penalty of a grid, and the penalty of least risk between its neighbours.

    `parts` gives bias and variance, whose sum is the risk, at penalties.
    """

    def risk(log_penalty: ArrayLike) -> Array:
        bias, variance, *_ = parts(np.exp(np.atleast_1d(log_penalty)))
        return bias + variance

    best = int(np.argmin(risk(log_grid)))
    low, high = float(log_grid[max(best - 1, 0)]), float(log_grid[min(best + 1, len(log_grid) - 1)])
    options: Any = {"bounds": (low, high), "method": "bounded", "options": {"xatol": 1e-12}}
    refined = optimize.minimize_scalar(lambda t: float(risk(t)[0]), **options)
    return best, float(np.exp(refined.x))
