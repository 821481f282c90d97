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

from assay.parameters import refusal
from assay.randomness import RandomState, generator

Array = NDArray[np.float64]

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
    table, truth, sigma = _model("bias_variance", X, true_coef, noise_std)
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
    table, truth, sigma = _model("simulated_bias_variance", X, true_coef, noise_std)
    n = table.shape[0]
    targets = (table @ truth)[:, None] + sigma * generator(random_state).standard_normal((n, n_draws))
    coefs = estimator(targets) if callable(estimator) else np.asarray(estimator, dtype=float) @ targets
    coefs = np.asarray(coefs, dtype=float)
    mean = coefs.mean(axis=1)
    bias = table @ (mean - truth)
    spread = np.sum((table @ (coefs - mean[:, None])) ** 2, axis=0) / n
    risks = np.sum((table @ (coefs - truth[:, None])) ** 2, axis=0) / n
    return BiasVariance(
        float(bias @ bias / n), float(spread.mean()), mean, float(risks.std(ddof=1) / np.sqrt(n_draws))
    )


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
                raise ValueError(
                    "The 'estimator' must be linear in the targets for an exact answer; use "
                    "simulated_bias_variance instead."
                )
    if matrix.shape != (d, n):
        raise ValueError(
            f"The 'estimator' must be a matrix of shape {(d, n)} or give one from the {n} unit vectors. "
            f"Got shape {matrix.shape} instead."
        )
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
    table, truth, sigma = _model("least_squares_moments", X, true_coef, noise_std)
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
    _check_noise("least_squares_risk", noise_std)
    optimal = float(noise_std) ** 2
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
    found = []
    for n in sizes:
        X = rng.standard_normal((int(n), n_features))
        q, _ = np.linalg.qr(X)
        # ŷ − Xθ* is the projection of the noise; the truth cancels.
        risks = np.sum((q.T @ (noise_std * rng.standard_normal((int(n), n_draws)))) ** 2, axis=0) / n
        exact = least_squares_risk(int(n), n_features, noise_std).excess
        found.append((risks.mean(), risks.std(ddof=1) / np.sqrt(n_draws), exact))
    simulated, error, exact_curve = np.array(found).T
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
    _check_noise("gauss_markov", noise_std)
    best = _pseudo_inverse("gauss_markov", table)
    matrix = estimator_matrix(estimator, table)
    defect = float(np.abs(matrix @ table - np.eye(table.shape[1])).max())
    if defect > 1e-8 * max(1.0, float(np.abs(matrix).max() * np.abs(table).max())):
        raise ValueError(
            f"The 'estimator' of gauss_markov must be unbiased, AX = I. Got a defect of {defect:.2g}; "
            "bias_variance serves biased ones."
        )
    difference = noise_std**2 * (matrix @ matrix.T - best @ best.T)
    return GaussMarkov(difference, float(np.linalg.eigvalsh(difference)[0]), defect)


def ridge_moments(X: ArrayLike, true_coef: ArrayLike, noise_std: float, alpha: float) -> CoefficientMoments:
    """Mean and covariance of ridge θ̂ = (XᵀX + αI)⁻¹XᵀY, α on the scale of the sum of squares.

    The bias E θ̂ − θ* is −α(XᵀX + αI)⁻¹θ*, the covariance σ²(XᵀX + αI)⁻²XᵀX.

    Examples
    --------
    >>> from assay.theory import ridge_moments
    >>> ridge_moments([[1.0], [1.0]], [3.0], noise_std=2.0, alpha=1.0)
    CoefficientMoments(mean=array([2.]), covariance=array([[0.88888889]]))

    References
    ----------
    Douc & Le Corff, Proposition 6.8.
    """
    table, truth, sigma = _model("ridge_moments", X, true_coef, noise_std)
    if not alpha >= 0:
        raise refusal("ridge_moments", "alpha", "at least 0", alpha)
    values, vectors = _spectrum("ridge_moments", table, alpha)
    bias = -alpha * vectors @ ((vectors.T @ truth) / (values + alpha))
    return CoefficientMoments(
        truth + bias, sigma**2 * (vectors * (values / (values + alpha) ** 2)) @ vectors.T
    )


class RidgeError(NamedTuple):
    """Mean squared error of ridge in the norm of the coefficients, along a grid of penalties.

    Attributes
    ----------
    alphas : array of shape (k,)
    bias : array of shape (k,)
        ‖E θ̂ − θ*‖², grows with α.
    variance : array of shape (k,)
        E‖θ̂ − E θ̂‖², falls with α.
    best_alpha : float
        Minimiser of the sum over α ≥ 0.
    """

    alphas: Array
    bias: Array
    variance: Array
    best_alpha: float

    @property
    def mean_squared_error(self) -> Array:
        """E‖θ̂ − θ*‖²."""
        return self.bias + self.variance


def ridge_error(X: ArrayLike, true_coef: ArrayLike, noise_std: float, alphas: ArrayLike) -> RidgeError:
    """Mean squared error of ridge in the norm of the coefficients, exactly.

    With (γ_j, v_j) the eigenpairs of XᵀX,

        E‖θ̂_α − θ*‖² = σ² Σ_j γ_j/(γ_j + α)² + α² Σ_j ⟨θ*, v_j⟩²/(γ_j + α)².

    `ridge_risk` is the same for predictions, in the norm of Σ = XᵀX/n.

    Parameters
    ----------
    X : array-like of shape (n, d)
    true_coef : array-like of shape (d,)
        θ*; give a fitted coefficient (and an estimated σ) for the plug-in version.
    noise_std : float
    alphas : array-like of non-negative numbers
        On the scale of the sum of squares; 0 needs X of full column rank.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import ridge_error
    >>> curve = ridge_error(np.eye(3), [1.0, 1.0, 1.0], 1.0, [0.0, 1.0])
    >>> curve.mean_squared_error, round(curve.best_alpha, 6)
    (array([3. , 1.5]), 1.0)

    References
    ----------
    Douc & Le Corff §6.3.1.
    """
    table, truth, sigma = _model("ridge_error", X, true_coef, noise_std)
    grid = np.asarray(alphas, dtype=float)
    if grid.ndim != 1 or not grid.size or not np.all(grid >= 0):
        raise refusal("ridge_error", "alphas", "a list of numbers at least 0", alphas)
    values, vectors = _spectrum("ridge_error", table, float(grid.min()))
    signal = (vectors.T @ truth) ** 2

    def parts(alpha: Array) -> tuple[Array, Array]:
        total = (values + alpha[:, None]) ** 2
        return alpha**2 * np.sum(signal / total, axis=1), sigma**2 * np.sum(values / total, axis=1)

    bias, variance = parts(grid)
    return RidgeError(grid, bias, variance, _best_alpha(parts, signal[values > 0], sigma))


def _best_alpha(parts: Callable[[Array], tuple[Array, Array]], signal: Array, sigma: float) -> float:
    """Minimiser of bias plus variance over α ≥ 0, by a grid on log α and a refinement.

    `signal` holds ⟨θ*, v_j⟩² of the directions that X determines; in the others the error is constant.
    """
    if sigma == 0:
        return 0.0
    if not signal.any():
        return np.inf

    def error(log_alpha: float) -> float:
        bias, variance = parts(np.array([np.exp(log_alpha)]))
        return float(bias[0] + variance[0])

    # The derivative is 2 Σ_j γ_j (α⟨θ*, v_j⟩² − σ²)/(γ_j + α)³: it changes sign between these two.
    low, high = np.log(sigma**2 / signal.max()), np.log(sigma**2 / signal[signal > 0].min())
    if high - low < 1e-12:
        return float(np.exp(low))
    grid = np.linspace(low, high, 400)
    start = int(np.argmin([error(point) for point in grid]))
    bounds = (grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)])
    return float(
        np.exp(optimize.minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x)
    )


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
        One entry a draw, e.g. `(low <= truth) & (truth <= high)`.

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
        raise ValueError(
            f"coverage needs one True or False a draw. Got {draws.dtype} of shape {draws.shape}."
        )
    share = float(draws.mean())
    return Coverage(share, float(np.sqrt(share * (1 - share) / draws.size)), draws.size)


def _model(owner: str, X: ArrayLike, true_coef: ArrayLike, noise_std: float) -> tuple[Array, Array, float]:
    table, truth = np.asarray(X, dtype=float), np.asarray(true_coef, dtype=float)
    if table.ndim != 2:
        raise ValueError(f"The 'X' parameter of {owner} must have two dimensions. Got {table.ndim} instead.")
    if truth.shape != table.shape[1:]:
        raise ValueError(
            f"The 'true_coef' parameter of {owner} must have one entry a column of X ({table.shape[1]}). "
            f"Got shape {truth.shape} instead."
        )
    _check_noise(owner, noise_std)
    return table, truth, float(noise_std)


def _check_noise(owner: str, noise_std: float) -> None:
    if not noise_std >= 0:
        raise refusal(owner, "noise_std", "at least 0", noise_std)


def _pseudo_inverse(owner: str, table: Array) -> Array:
    """(XᵀX)⁻¹Xᵀ of a table of full column rank."""
    if table.ndim != 2 or np.linalg.matrix_rank(table) < table.shape[1]:
        raise ValueError(f"The 'X' parameter of {owner} must have linearly independent columns.")
    return np.asarray(np.linalg.pinv(table), dtype=np.float64)


def _spectrum(owner: str, table: Array, alpha: float) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of XᵀX, from a decomposition of X itself."""
    d = table.shape[1]
    _, singular, vt = np.linalg.svd(table, full_matrices=True)
    values = np.zeros(d)
    rounding = singular[:1].sum() * max(table.shape) * np.finfo(float).eps
    values[: len(singular)] = np.where(singular > rounding, singular**2, 0.0)
    if alpha == 0 and not values.all():
        raise ValueError(
            f"The 'X' parameter of {owner} must have linearly independent columns for alpha = 0."
        )
    return values, vt.T
