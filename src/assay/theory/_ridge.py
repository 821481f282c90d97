"""Exact risk of least squares and ridge on a fixed design, and the price of squaring."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from assay.parameters import refusal
from assay.rows import rows
from assay.solvers import by_cholesky, by_dual, moments

Array = NDArray[np.float64]


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
    table = np.asarray(X, dtype=float)
    strengths = np.asarray(penalty_strengths, dtype=float)
    if strengths.ndim != 1 or np.any(strengths < 0):
        raise refusal("ridge_risk", "penalty_strengths", "a list of numbers at least 0", penalty_strengths)
    if noise_std < 0:
        raise refusal("ridge_risk", "noise_std", "at least 0", noise_std)
    n = table.shape[0]
    _, values, vt = np.linalg.svd(table, full_matrices=False)
    keep = values > values[0] * max(table.shape) * np.finfo(float).eps
    eigenvalues = values[keep] ** 2 / n
    signal = (vt[keep] @ np.asarray(true_coef, dtype=float)) ** 2

    def parts(strength: Array) -> tuple[Array, Array]:
        total = eigenvalues + strength[:, None]
        bias = np.sum(eigenvalues * signal * (strength[:, None] / total) ** 2, axis=1)
        variance = noise_std**2 / n * np.sum((eigenvalues / total) ** 2, axis=1)
        return bias, variance

    bias, variance = parts(strengths)
    return RidgeRisk(strengths, bias, variance, _best(parts, eigenvalues))


def _best(parts: Callable[[Array], tuple[Array, Array]], eigenvalues: Array) -> float:
    """Minimiser over λ: the risk as a function of log λ, bracketed on a grid and then refined."""

    def risk(log_strength: float) -> float:
        bias, variance = parts(np.array([np.exp(log_strength)]))
        return float(bias[0] + variance[0])

    grid = np.linspace(np.log(eigenvalues[-1]) - 20, np.log(eigenvalues[0]) + 20, 400)
    start = int(np.argmin([risk(point) for point in grid]))
    if start == 0:
        return 0.0
    if start == len(grid) - 1:
        return np.inf
    found = optimize.minimize_scalar(
        risk, bounds=(grid[start - 1], grid[start + 1]), method="bounded", options={"xatol": 1e-12}
    )
    return float(np.exp(found.x))


class Crossover(NamedTuple):
    """Seconds that the two forms of ridge took, and how far apart their coefficients are."""

    n_features: NDArray
    primal: Array
    dual: Array
    largest_difference: Array


def primal_dual_crossover(
    n_features: ArrayLike, *, n_samples: int = 300, alpha: float = 1.0, repeats: int = 3
) -> Crossover:
    """Time ridge in its primal form (size d) and dual form (size n) as d grows past n.

    w = (XᵀX + αI_d)⁻¹Xᵀy = Xᵀ(XXᵀ + αI_n)⁻¹y: the same vector; the smaller system wins (Peyré, ridge).

    Parameters
    ----------
    n_features : array-like of int
    n_samples : int, default=300
    alpha : float, default=1.0
    repeats : int, default=3
        The shortest of so many runs is kept.
    """
    rng = np.random.default_rng(11)
    grid = np.asarray(n_features, dtype=int)
    seconds, difference = np.empty((2, grid.size)), np.empty(grid.size)
    for index, d in enumerate(grid):
        X, y = rng.standard_normal((n_samples, d)), rng.standard_normal((n_samples, 1))
        primal, seconds[0, index] = _shortest(_primal_form, X, y, alpha, repeats=repeats)
        dual, seconds[1, index] = _shortest(_dual_form, X, y, alpha, repeats=repeats)
        difference[index] = np.abs(primal - dual).max()
    return Crossover(grid, seconds[0], seconds[1], difference)


def _primal_form(X: Array, y: Array, alpha: float) -> Array:
    solution = by_cholesky(moments(rows(X, y), center=False), np.array([alpha]))
    if solution is None:
        raise refusal("primal_dual_crossover", "alpha", "large enough for a Cholesky factorisation", alpha)
    return solution.coef


def _dual_form(X: Array, y: Array, alpha: float) -> Array:
    return by_dual(X, y, np.array([alpha])).coef


def _shortest(
    form: Callable[[Array, Array, float], Array], X: Array, y: Array, alpha: float, *, repeats: int
) -> tuple[Array, float]:
    """The coefficients, and the shortest time of several runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        coef = form(X, y, alpha)
        times.append(perf_counter() - start)
    return coef, min(times)


class Stability(NamedTuple):
    """Relative errors of two solvers as the condition number grows."""

    condition: Array
    normal_equations: Array
    qr: Array


def squaring_experiment(conditions: ArrayLike, *, n_samples: int = 60, n_features: int = 8) -> Stability:
    """Solve least squares with a known answer by normal equations and by QR, for growing cond(X).

    X = U diag(s) Vᵀ with singular values from 1 down to 1/cond, y = X·1 exactly. The error of the normal
    equations grows like cond², that of QR like cond (Rudi & Şimşekli §1.3.3).
    """
    rng = np.random.default_rng(7)
    u, _ = np.linalg.qr(rng.standard_normal((n_samples, n_features)))
    v, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    truth = np.ones(n_features)
    grid = np.asarray(conditions, dtype=float)
    errors = np.empty((2, grid.size))
    for index, condition in enumerate(grid):
        X = (u * np.geomspace(1, 1 / condition, n_features)) @ v.T
        y = X @ truth
        normal = np.linalg.solve(X.T @ X, X.T @ y)
        q, r = np.linalg.qr(X)
        triangular = np.linalg.solve(r, q.T @ y)
        for row, found in enumerate((normal, triangular)):
            errors[row, index] = np.linalg.norm(found - truth) / np.linalg.norm(truth)
    return Stability(grid, errors[0], errors[1])
