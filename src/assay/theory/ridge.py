"""Exact moments, errors and risk of ridge on a fixed design; its oracle penalty and the bound at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.certificates import Certificate, Details, at_most
from assay.parameters import refusal
from assay.theory.least_squares import Array, CoefficientMoments, fixed_design, refined_minimum


def excess_risk(X: ArrayLike, coef: ArrayLike, true_coef: ArrayLike) -> float:
    """Excess risk ‖θ − θ*‖²_Σ of coefficients θ on the fixed design X, with Σ = XᵀX/n.

    The risk R_X(θ) = E ‖Y' − Xθ‖²/n of new targets Y' = Xθ* + ε on the same rows is R_X(θ*) plus this number
    (Rudi & Şimşekli, Proposition 1.2).

    Examples
    --------
    >>> from assay.theory import excess_risk
    >>> excess_risk([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0], [0.0, 0.0])
    2.5
    """
    difference = np.asarray(X, dtype=float) @ (np.asarray(coef, float) - np.asarray(true_coef, float))
    return float(difference @ difference / len(difference))


class RidgeRisk(NamedTuple):
    """Expected excess risk of ridge, split in two, along a grid of penalties.

    Attributes
    ----------
    penalty_strengths : array of shape (k,)
        λ on the scale of the mean.
    bias : array of shape (k,)
        Squared bias, grows with λ.
    variance : array of shape (k,)
        Falls with λ.
    best_penalty_strength : float
        Exact minimiser over λ ≥ 0 of the sum.
    """

    penalty_strengths: Array
    bias: Array
    variance: Array
    best_penalty_strength: float

    @property
    def risk(self) -> Array:
        """Bias plus variance."""
        return self.bias + self.variance


def ridge_risk(
    X: ArrayLike, true_coef: ArrayLike, noise_std: float, penalty_strengths: ArrayLike
) -> RidgeRisk:
    """Expected excess risk of ridge (1/n)‖Y − Xθ‖² + λ‖θ‖² on a fixed design, exactly.

    In the eigenbasis of Σ = XᵀX/n, with eigenvalues λ_j and θ* = Σ θ*_j v_j,

        E ‖θ̂_λ − θ*‖²_Σ = Σ_j λ_j θ*_j² / (1 + λ_j/λ)² + (σ²/n) Σ_j λ_j²/(λ_j + λ)²

    (Rudi & Şimşekli, Proposition 1.6); as λ → 0 this tends to σ² rank(X)/n.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The fixed design; there is no intercept.
    true_coef : array-like of shape (d,)
        θ*; give a fitted coefficient for the plug-in version.
    noise_std : float
        σ.
    penalty_strengths : array-like of non-negative numbers

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import ridge_risk
    >>> risk = ridge_risk(np.eye(4), [1.0, 0.0, 0.0, 0.0], 1.0, [0.0, 1.0])
    >>> risk.variance
    array([1.  , 0.04])
    """
    table, truth, sigma = fixed_design("ridge_risk", X, true_coef, noise_std)
    strengths = np.asarray(penalty_strengths, dtype=float)
    if strengths.ndim != 1 or np.any(strengths < 0):
        raise refusal("ridge_risk", "penalty_strengths", "a list of numbers at least 0", penalty_strengths)
    n = table.shape[0]
    _, values, vt = np.linalg.svd(table, full_matrices=False)
    keep = values > values[0] * max(table.shape) * np.finfo(float).eps
    eigenvalues = values[keep] ** 2 / n
    signal = (vt[keep] @ truth) ** 2

    def parts(strength: Array) -> tuple[Array, Array]:
        total = eigenvalues + strength[:, None]
        bias = np.sum(eigenvalues * signal * (strength[:, None] / total) ** 2, axis=1)
        return bias, sigma**2 / n * np.sum((eigenvalues / total) ** 2, axis=1)

    grid = np.linspace(np.log(eigenvalues[-1]) - 20, np.log(eigenvalues[0]) + 20, 400)
    start, refined = refined_minimum(parts, grid)
    best = 0.0 if start == 0 else np.inf if start == len(grid) - 1 else refined
    return RidgeRisk(strengths, *parts(strengths), best)


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
    table, truth, sigma = fixed_design("ridge_moments", X, true_coef, noise_std)
    if not alpha >= 0:
        raise refusal("ridge_moments", "alpha", "at least 0", alpha)
    values, vectors = _spectrum("ridge_moments", table, alpha)
    bias = -alpha * vectors @ ((vectors.T @ truth) / (values + alpha))
    covariance = sigma**2 * (vectors * (values / (values + alpha) ** 2)) @ vectors.T
    return CoefficientMoments(truth + bias, covariance)


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
    table, truth, sigma = fixed_design("ridge_error", X, true_coef, noise_std)
    grid = np.asarray(alphas, dtype=float)
    if grid.ndim != 1 or not grid.size or not np.all(grid >= 0):
        raise refusal("ridge_error", "alphas", "a list of numbers at least 0", alphas)
    values, vectors = _spectrum("ridge_error", table, float(grid.min()))
    signal = (vectors.T @ truth) ** 2

    def parts(alpha: Array) -> tuple[Array, Array]:
        total = (values + alpha[:, None]) ** 2
        return alpha**2 * np.sum(signal / total, axis=1), sigma**2 * np.sum(values / total, axis=1)

    return RidgeError(grid, *parts(grid), _best_alpha(parts, signal[values > 0], sigma))


def _best_alpha(parts: Callable[[Array], tuple[Array, Array]], signal: Array, sigma: float) -> float:
    """Minimiser of bias plus variance over α ≥ 0, by a grid on log α and a refinement.

    `signal` holds ⟨θ*, v_j⟩² of the directions that X determines; in the others the error is constant.
    """
    if sigma == 0:
        return 0.0
    if not signal.any():
        return np.inf

    # The derivative is 2 Σ_j γ_j (α⟨θ*, v_j⟩² − σ²)/(γ_j + α)³: it changes sign between these two.
    low, high = np.log(sigma**2 / signal.max()), np.log(sigma**2 / signal[signal > 0].min())
    if high - low < 1e-12:
        return float(np.exp(low))
    return refined_minimum(parts, np.linspace(low, high, 400))[1]


class RidgeOracle(NamedTuple):
    """Ridge at the penalty that minimises a bound of its excess risk.

    Attributes
    ----------
    penalty_strength : float
        λ* = σ √(tr Σ)/(‖θ*‖ √n).
    risk : float
        Exact expected excess risk at λ*.
    bound : float
        σ √(tr Σ) ‖θ*‖/(2√n).
    printed_bound : float
        σ √(2 tr(Σ) ‖θ*‖)/√n, as the notes print it; false where ‖θ*‖ is large.
    best_penalty_strength, best_risk : float
        Exact minimiser of the risk over λ, and the risk there.
    certificate : Certificate
        That the risk at λ* is at most the bound.
    """

    penalty_strength: float
    risk: float
    bound: float
    printed_bound: float
    best_penalty_strength: float
    best_risk: float
    certificate: Certificate


def ridge_oracle_lambda(X: ArrayLike, true_coef: ArrayLike, noise_std: float) -> float:
    """λ* = σ √(tr Σ)/(‖θ*‖ √n) with Σ = XᵀX/n, on the scale of the mean; infinite without a signal.

    It minimises λ‖θ*‖²/4 + σ² tr(Σ)/(4λn), a bound of the excess risk: each λ_j λ²/(λ_j + λ)² of the bias is
    at most λ/4, and each λ_j²/(λ_j + λ)² of the variance at most λ_j/(4λ).

    Parameters
    ----------
    X : array-like of shape (n, d)
        The fixed design; there is no intercept.
    true_coef : array-like of shape (d,)
        θ*; give a fitted coefficient for the plug-in version.
    noise_std : float
        σ.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import ridge_oracle_lambda
    >>> ridge_oracle_lambda(2.0 * np.eye(4), [1.0, 0.0, 0.0, 0.0], 0.5)
    0.5

    References
    ----------
    Rudi & Şimşekli §1.5.2, Property 1.6.
    """
    table, truth, sigma = fixed_design("ridge_oracle_lambda", X, true_coef, noise_std)
    size = float(np.linalg.norm(truth))
    top = sigma * float(np.linalg.norm(table)) / len(table)
    return top / size if size > 0 else (np.inf if top > 0 else 0.0)


def ridge_oracle(X: ArrayLike, true_coef: ArrayLike, noise_std: float) -> RidgeOracle:
    """Exact risk of ridge at λ*, its bound, and what the best λ would reach.

    Parameters
    ----------
    X, true_coef, noise_std
        As in `ridge_oracle_lambda`; the signal must not vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import ridge_oracle
    >>> oracle = ridge_oracle(np.eye(4), [1.0, 1.0, 0.0, 0.0], 1.0)
    >>> oracle.risk <= oracle.bound, oracle.best_risk <= oracle.risk
    (True, True)

    References
    ----------
    Rudi & Şimşekli §1.5.2, Property 1.6, with the bound corrected.
    """
    table, truth, _ = fixed_design("ridge_oracle", X, true_coef, noise_std)
    size, n = float(np.linalg.norm(truth)), len(table)
    if size == 0:
        raise refusal("ridge_oracle", "true_coef", "different from zero", truth.tolist())
    strength = ridge_oracle_lambda(table, truth, noise_std)
    trace = float(np.sum(table**2)) / n
    risk = ridge_risk(table, truth, noise_std, [strength])
    best = risk.best_penalty_strength
    # As λ → ∞ the fit is zero and all of the signal is bias.
    signal = float(np.sum((table @ truth) ** 2)) / n
    least = float(ridge_risk(table, truth, noise_std, [best]).risk[0]) if np.isfinite(best) else signal
    bound = float(noise_std * np.sqrt(trace / n) * size / 2)
    exact = float(risk.risk[0])
    printed = float(noise_std * np.sqrt(2 * trace * size / n))
    claim = "The excess risk of ridge at λ* is at most σ √(tr Σ) ‖θ*‖/(2√n)."
    assumed = ("Y = Xθ* + ε with X fixed", "the errors are independent, centred, of variance σ²")
    details = Details(assumptions=assumed, trivial=signal, tolerance=1e-12 * bound)
    proof = at_most(claim, "expected excess risk", exact, bound, "Rudi & Şimşekli §1.5.2", **details)
    return RidgeOracle(strength, exact, bound, printed, best, min(least, exact), proof)


def _spectrum(owner: str, table: Array, alpha: float) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of XᵀX, from a decomposition of X itself."""
    d = table.shape[1]
    _, singular, vt = np.linalg.svd(table, full_matrices=True)
    values = np.zeros(d)
    rounding = singular[:1].sum() * max(table.shape) * np.finfo(float).eps
    values[: len(singular)] = np.where(singular > rounding, singular**2, 0.0)
    if alpha == 0 and not values.all():
        needed = "must have linearly independent columns for alpha = 0"
        raise ValueError(f"The 'X' parameter of {owner} {needed}.")
    return values, vt.T
