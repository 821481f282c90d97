"""Exact risk of linear smoothers and of kernel ridge regression on fixed rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.theory.least_squares import refined_minimum


class LinearSmootherRisk(NamedTuple):
    """Result of `linear_smoother_risk`; the first three are means over the rows."""

    squared_bias: float
    variance: float
    risk: float
    effective_df: float
    pointwise_bias: NDArray
    pointwise_variance: NDArray


def linear_smoother_risk(smoother: Any, f_star: Any, noise_std: float) -> LinearSmootherRisk:
    """Exact in-sample risk of ŷ = S Y when Y = f* + noise with independent errors of one variance.

    E‖ŷ − f*‖²/n = ‖(S − I)f*‖²/n + σ² tr(SSᵀ)/n.

    Parameters
    ----------
    smoother : array of shape (n, n)
        The matrix S, which may not depend on Y.
    f_star : array of shape (n,)
        Regression function at the rows.
    noise_std : float
        Standard deviation σ of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import linear_smoother_risk
    >>> mean = linear_smoother_risk(np.full((4, 4), 0.25), np.ones(4), noise_std=2.0)
    >>> mean.squared_bias, mean.variance, mean.effective_df
    (0.0, 1.0, 1.0)
    """
    S, f = np.asarray(smoother, dtype=float), np.asarray(f_star, dtype=float)
    if S.ndim != 2 or S.shape != (f.size, f.size):
        raise ValueError(f"The smoother of {f.size} rows must have shape {(f.size, f.size)}. Got {S.shape}.")
    bias = S @ f - f
    variances = noise_std**2 * np.square(S).sum(axis=1)
    squared_bias, variance = float(np.mean(bias**2)), float(np.mean(variances))
    risk, df = squared_bias + variance, float(np.trace(S))
    return LinearSmootherRisk(squared_bias, variance, risk, df, bias, variances)


@dataclass(frozen=True)
class KernelRidgeRisk:
    """Result of `kernel_ridge_risk`: curves over `alphas`, and what the spectrum gives at any other penalty.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties on the sum of squares.
    squared_bias, variance, risk : arrays of shape (n_alphas,)
        Means over the rows.
    effective_df : array of shape (n_alphas,)
        Σ λ_i/(λ_i + α).
    oracle_alpha, oracle_risk : float
        The penalty of smallest risk in the range of `alphas`, and that risk.
    eigenvalues, eigenvectors : arrays
        Of the Gram matrix.
    """

    alphas: NDArray
    squared_bias: NDArray
    variance: NDArray
    risk: NDArray
    effective_df: NDArray
    oracle_alpha: float
    oracle_risk: float
    eigenvalues: NDArray
    eigenvectors: NDArray
    noise_std: float

    def pointwise_variance(self, alpha: float) -> NDArray:
        """Variance of the fitted value at every row: diagonal of Σ (λ_i σ/(λ_i + α))² u_i u_iᵀ."""
        gain = self.eigenvalues / (self.eigenvalues + alpha)
        return self.noise_std**2 * np.square(self.eigenvectors) @ gain**2

    def mallows_cp(self, y: Any) -> NDArray:
        """Mallows' C_p of a response at every penalty: ‖y − ŷ‖²/n + 2σ² df/n, unbiased for risk + σ²."""
        coordinates = self.eigenvectors.T @ np.asarray(y, dtype=float)
        left = self.alphas[:, None] / (self.eigenvalues + self.alphas[:, None])
        n_samples = len(self.eigenvalues)
        misfit = np.square(left * coordinates).sum(axis=1)
        return (misfit + 2 * self.noise_std**2 * self.effective_df) / n_samples


def kernel_ridge_risk(
    gram: Any, *, f_star: Any = None, beta_star: Any = None, noise_std: float, alphas: Any
) -> KernelRidgeRisk:
    """Exact in-sample risk of kernel ridge regression as a curve in the penalty.

    With K = Σ λ_i u_i u_iᵀ and Y = f* + noise, the fitted values are Σ λ_i/(λ_i + α) ⟨Y, u_i⟩ u_i, hence

        bias²    = Σ (α/(λ_i + α))² ⟨f*, u_i⟩² = Σ (α λ_i/(λ_i + α))² ⟨β*, u_i⟩²,
        variance = σ² Σ (λ_i/(λ_i + α))²,

    both divided by n here. β* are the coefficients of the projection of f* on the span of the k(x_i, ·),
    which has the values of f* at the rows.

    Parameters
    ----------
    gram : array of shape (n, n), the Gram matrix K of the rows
    f_star : array of shape (n,), optional
        Values of the regression function at the rows; one of `f_star` and `beta_star` is given.
    beta_star : array of shape (n,), optional
        Coefficients with f* = Kβ* at the rows.
    noise_std : float
        Standard deviation σ of the noise.
    alphas : array of shape (n_alphas,)
        Penalties α > 0 on the sum of squares.

    Returns
    -------
    risk : KernelRidgeRisk

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian
    >>> from assay.theory import kernel_ridge_risk
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> curve = kernel_ridge_risk(Gaussian(1.0).gram(X), f_star=np.sin(X[:, 0]), noise_std=0.5,
    ...                           alphas=np.logspace(-3, 3, 25))
    >>> bool(curve.oracle_risk <= curve.risk.min())
    True

    References
    ----------
    Douc & Le Corff §8.13, questions 2 and 3.
    """
    K = np.asarray(gram, dtype=float)
    if (f_star is None) == (beta_star is None):
        raise ValueError("kernel_ridge_risk needs exactly one of f_star and beta_star.")
    grid = np.asarray(alphas, dtype=float)
    if grid.ndim != 1 or grid.size == 0 or not (grid > 0).all() or not np.isfinite(grid).all():
        raise ValueError("The 'alphas' of kernel_ridge_risk must be finite numbers above 0.")
    values, vectors = np.linalg.eigh(K)
    values = values.clip(min=0.0)
    signal = np.asarray(f_star, dtype=float) if beta_star is None else K @ np.asarray(beta_star, dtype=float)
    power, n_samples = np.square(vectors.T @ signal), len(values)

    def curves(alpha: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        total = values + alpha[:, None]
        gain, left = values / total, alpha[:, None] / total
        variance = noise_std**2 * np.square(gain).sum(axis=1) / n_samples
        return np.square(left) @ power / n_samples, variance, gain.sum(axis=1)

    squared_bias, variance, df = curves(grid)
    risk = squared_bias + variance
    _, refined = refined_minimum(curves, np.log(np.sort(grid)))
    at_refined = float(np.sum(curves(np.array([refined]))[:2]))
    oracle = refined if at_refined < risk.min() else float(grid[np.argmin(risk)])
    least = min(at_refined, float(risk.min()))
    spectrum = values, vectors, float(noise_std)
    return KernelRidgeRisk(grid, squared_bias, variance, risk, df, oracle, least, *spectrum)
