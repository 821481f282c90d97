"""Smooth objectives with their exact constants: what every method of the toolbox descends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from assay.parameters import array, real, refusal
from assay.solvers.least_squares.direct import Array


@dataclass(frozen=True, slots=True)
class Smooth:
    """A differentiable function with what is known about it.

    Parameters
    ----------
    value, gradient : callable
        f and ∇f at a point.
    hessian : callable, optional
        ∇²f at a point.
    smoothness : float, optional
        L, a Lipschitz constant of the gradient.
    strong_convexity : float, optional
        α, a modulus of strong convexity; 0 says "convex", None says nothing.
    minimum, minimiser : float and ndarray, optional
        f* and a point where it is reached.

    Examples
    --------
    >>> from assay.optimize import quadratic
    >>> f = quadratic([[2.0, 0.0], [0.0, 8.0]], [2.0, 8.0])
    >>> f.smoothness, f.strong_convexity, f.condition_number
    (8.0, 2.0, 4.0)
    >>> f.minimiser, f.minimum
    (array([1., 1.]), -5.0)
    """

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    hessian: Callable[[Array], Array] | None = None
    smoothness: float | None = None
    strong_convexity: float | None = None
    minimum: float | None = None
    minimiser: Array | None = None

    @property
    def condition_number(self) -> float:
        """κ = L/α; infinite when one of them is not known or α = 0."""
        if self.smoothness is None or not self.strong_convexity:
            return float("inf")
        return self.smoothness / self.strong_convexity


def quadratic(A: Any, b: Any, c: float = 0.0) -> Smooth:
    """f(x) = ½ xᵀAx − bᵀx + c, with L = λ_max(A) and α = λ_min(A).

    A matrix with a negative eigenvalue is allowed: f is then not convex and has no minimum. A singular
    one has its minimum at the solution of least norm when b is in its range, and none otherwise.
    """
    matrix, linear = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    if linear.ndim != 1 or linear.size == 0 or matrix.shape != 2 * linear.shape:
        raise refusal("quadratic", "A", f"a matrix of shape {2 * linear.shape}, as b asks", matrix.shape)
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * np.abs(matrix).max()):
        raise refusal("quadratic", "A", "a symmetric matrix", A)
    eigenvalues = np.linalg.eigvalsh(matrix)
    rounding = len(linear) * np.finfo(float).eps * max(abs(eigenvalues[0]), abs(eigenvalues[-1]))
    convex = eigenvalues[0] >= -rounding
    lowest = float(eigenvalues[0]) if eigenvalues[0] > rounding else 0.0

    def value(x: Array) -> float:
        return float(x @ (matrix @ x) / 2 - linear @ x + c)

    minimum, minimiser = None, None
    if convex:
        solution = np.linalg.lstsq(matrix, linear, rcond=None)[0]
        if np.linalg.norm(matrix @ solution - linear) <= 1e-9 * max(float(np.linalg.norm(linear)), 1e-300):
            minimiser, minimum = solution, value(solution)
    return Smooth(
        value,
        lambda x: matrix @ x - linear,
        lambda x: matrix,
        float(max(abs(eigenvalues[0]), abs(eigenvalues[-1]))),
        lowest if convex else None,
        minimum,
        minimiser,
    )


def least_squares_objective(X: Any, y: Any, alpha: float = 0.0, *, mean: bool = True) -> Smooth:
    """‖y − Xw‖²/n + α‖w‖² (with `mean=False`, the sum in place of the mean).

    The constants are L = 2(λ_max + α) and 2(λ_min + α), with λ the eigenvalues of XᵀX/n (of XᵀX).
    """
    rows, target = _table("least_squares_objective", X, y, alpha)
    scale = 1 / len(target) if mean else 1.0
    d = rows.shape[1]
    gram = scale * rows.T @ rows + alpha * np.eye(d)
    base = quadratic(2 * gram, 2 * scale * rows.T @ target)
    solution = base.minimiser

    def value(w: Array) -> float:
        residual = target - rows @ w
        return float(scale * residual @ residual + alpha * w @ w)

    def gradient(w: Array) -> Array:
        return 2 * scale * (rows.T @ (rows @ w - target)) + 2 * alpha * w

    return Smooth(
        value,
        gradient,
        lambda w: 2 * gram,
        base.smoothness,
        base.strong_convexity,
        None if solution is None else value(solution),
        solution,
    )


def logistic_objective(X: Any, y: Any, alpha: float = 0.0, *, mean: bool = True) -> Smooth:
    """(1/n) Σ log(1 + exp(−s xᵀw)) + α‖w‖², s = ±1 (with `mean=False`, the sum in place of the mean).

    L = λ_max(XᵀX/n)/4 + 2α and the modulus is 2α: the curvature of the loss goes to zero at infinity. The
    larger of the two labels is s = +1.
    """
    rows, target = _table("logistic_objective", X, y, alpha, labels=True)
    labels = np.unique(target)
    if len(labels) != 2:
        raise refusal("logistic_objective", "y", "labels of exactly two kinds", labels.tolist())
    sign = np.where(target == labels[1], 1.0, -1.0)
    scale = 1 / len(target) if mean else 1.0
    signed = rows * sign[:, None]
    top = float(np.linalg.eigvalsh(scale * rows.T @ rows)[-1])

    def value(w: Array) -> float:
        return float(scale * np.logaddexp(0.0, -(signed @ w)).sum() + alpha * w @ w)

    def gradient(w: Array) -> Array:
        return -scale * (signed.T @ expit(-(signed @ w))) + 2 * alpha * w

    def hessian(w: Array) -> Array:
        margin = signed @ w
        curvature = scale * expit(margin) * expit(-margin)
        return (rows.T * curvature) @ rows + 2 * alpha * np.eye(rows.shape[1])

    return Smooth(value, gradient, hessian, top / 4 + 2 * alpha, 2 * alpha)


def kernel_ridge_objective(K: Any, y: Any, alpha: float) -> Smooth:
    """‖y − Ka‖² + α aᵀKa in the coefficients a, with L = 2κ(κ + α) for κ the largest eigenvalue of K."""
    gram, target = _table("kernel_ridge_objective", K, y, alpha)
    return quadratic(2 * (gram @ gram + alpha * gram), 2 * gram @ target, float(target @ target))


def _table(owner: str, X: Any, y: Any, alpha: float, *, labels: bool = False) -> tuple[Array, NDArray[Any]]:
    if not real(at_least=0).contains(alpha):
        raise refusal(owner, "alpha", "a finite number at least 0", alpha)
    if not array("", lambda values: values.ndim == 2 and values.size > 0).contains(X):
        raise refusal(owner, "X", "a matrix of finite numbers with at least one row", X)
    rows = np.asarray(X, dtype=float)
    target = np.asarray(y)
    words = f"one {'label' if labels else 'finite number'} for each of the {len(rows)} rows"
    if target.shape != rows.shape[:1]:
        raise refusal(owner, "y", words, y)
    if labels:
        return rows, target
    if target.dtype.kind not in "biuf" or not np.isfinite(target).all():
        raise refusal(owner, "y", words, y)
    return rows, target.astype(float)
