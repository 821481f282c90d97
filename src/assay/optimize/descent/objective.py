"""Smooth objectives with their exact constants: what every method of the toolbox descends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.losses import Logistic, Loss, Squared
from assay.parameters import matrix, real, refusal, require
from assay.penalties import SquaredNorm
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
    curved, linear = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    if linear.ndim != 1 or linear.size == 0 or curved.shape != 2 * linear.shape:
        raise refusal("quadratic", "A", f"a matrix of shape {2 * linear.shape}, as b asks", curved.shape)
    if not np.allclose(curved, curved.T, rtol=1e-10, atol=1e-12 * np.abs(curved).max()):
        raise refusal("quadratic", "A", "a symmetric matrix", A)
    eigenvalues = np.linalg.eigvalsh(curved)
    rounding = len(linear) * np.finfo(float).eps * max(abs(eigenvalues[0]), abs(eigenvalues[-1]))
    convex = eigenvalues[0] >= -rounding
    lowest = float(eigenvalues[0]) if eigenvalues[0] > rounding else 0.0

    def value(x: Array) -> float:
        return float(x @ (curved @ x) / 2 - linear @ x + c)

    minimum, minimiser = None, None
    if convex:
        solution = np.linalg.lstsq(curved, linear, rcond=None)[0]
        if np.linalg.norm(curved @ solution - linear) <= 1e-9 * max(float(np.linalg.norm(linear)), 1e-300):
            minimiser, minimum = solution, value(solution)
    constants = (float(np.abs(eigenvalues).max()), lowest if convex else None, minimum, minimiser)
    return Smooth(value, lambda x: curved @ x - linear, lambda x: curved, *constants)


def weighted_sum(terms: Sequence[tuple[float, Smooth]]) -> Smooth:
    """Σ wₖ fₖ, with L and α summed where every term knows them (α only for weights that keep convexity)."""
    smoothness: float | None = 0.0
    modulus: float | None = 0.0
    for weight, f in terms:
        known = f.smoothness is not None and smoothness is not None
        smoothness = (smoothness or 0.0) + abs(weight) * (f.smoothness or 0.0) if known else None
        if f.smoothness == 0.0:
            continue
        usable = modulus is not None and f.strong_convexity is not None and weight >= 0
        modulus = (modulus or 0.0) + weight * (f.strong_convexity or 0.0) if usable else None

    def hessian(x: Array) -> Array:
        return np.asarray(sum(w * f.hessian(x) for w, f in terms if f.hessian is not None))

    return Smooth(
        lambda x: float(sum(w * f.value(x) for w, f in terms)),
        lambda x: np.asarray(sum(w * f.gradient(x) for w, f in terms)),
        hessian if all(f.hessian is not None for _, f in terms) else None,
        smoothness,
        modulus,
    )


def sum_of_losses(loss: Loss, design: Array, y: Array, share: Array) -> Smooth:
    """Σ sᵢ ℓ(yᵢ, ⟨xᵢ, w⟩), with the constants that follow from those of the loss and the spectrum of XᵀSX."""
    spectrum = np.linalg.eigvalsh((design.T * share) @ design)
    lowest, room = float(spectrum[0]), len(spectrum) * float(np.finfo(float).eps) * float(spectrum[-1])
    return Smooth(
        lambda w: float(share @ loss.value(y, design @ w)),
        lambda w: design.T @ (share * loss.gradient(y, design @ w)),
        lambda w: (design.T * (share * loss.curvature(y, design @ w))) @ design,
        loss.smoothness * float(spectrum[-1]) if np.isfinite(loss.smoothness) else None,
        loss.strong_convexity * (lowest if lowest > room else 0.0) if loss.convex else None,
    )


def squared_norm(strength: float, n_penalised: int, size: int) -> Smooth:
    """(strength/2)‖w‖² of the first of `size` coefficients, the others left alone."""
    penalty, kept = SquaredNorm(strength), np.arange(size) < n_penalised
    return Smooth(
        lambda w: float(penalty.value(w[:n_penalised])),
        lambda w: np.where(kept, penalty.gradient(w), 0.0),
        lambda w: strength * np.diag(kept.astype(float)),
        strength,
        strength if n_penalised == size else 0.0,
    )


def least_squares_objective(X: Any, y: Any, alpha: float = 0.0, *, mean: bool = True) -> Smooth:
    """‖y − Xw‖²/n + α‖w‖² (with `mean=False`, the sum in place of the mean).

    The constants are L = 2(λ_max + α) and 2(λ_min + α), with λ the eigenvalues of XᵀX/n (of XᵀX).
    """
    rows, target = _table("least_squares_objective", X, y, alpha)
    scale, d = 1 / len(target) if mean else 1.0, rows.shape[1]
    objective = _ridge(Squared(halved=False), rows, target, scale, alpha)
    base = quadratic(2 * (scale * rows.T @ rows + alpha * np.eye(d)), 2 * scale * rows.T @ target)
    solution = base.minimiser
    minimum = None if solution is None else objective.value(solution)
    modulus = base.strong_convexity
    return replace(objective, strong_convexity=modulus, minimum=minimum, minimiser=solution)


def logistic_objective(X: Any, y: Any, alpha: float = 0.0, *, mean: bool = True) -> Smooth:
    """(1/n) Σ log(1 + exp(−s xᵀw)) + α‖w‖², s = ±1 (with `mean=False`, the sum in place of the mean).

    L = λ_max(XᵀX/n)/4 + 2α and the modulus is 2α: the curvature of the loss goes to zero at infinity. The
    larger of the two labels is s = +1.
    """
    rows, target = _table("logistic_objective", X, y, alpha, labels=True)
    labels, scale = signs("logistic_objective", target), 1 / len(target) if mean else 1.0
    return _ridge(Logistic(), rows, labels, scale, alpha)


def kernel_ridge_objective(K: Any, y: Any, alpha: float) -> Smooth:
    """‖y − Ka‖² + α aᵀKa in the coefficients a, with L = 2κ(κ + α) for κ the largest eigenvalue of K."""
    gram, target = _table("kernel_ridge_objective", K, y, alpha)
    return quadratic(2 * (gram @ gram + alpha * gram), 2 * gram @ target, float(target @ target))


def signs(owner: str, y: NDArray[Any]) -> Array:
    """Labels of two kinds as −1 and +1, the larger being +1."""
    kinds = np.unique(y)
    if len(kinds) != 2:
        raise refusal(owner, "y", "labels of exactly two kinds", kinds.tolist())
    return np.where(y == kinds[1], 1.0, -1.0)


def _ridge(loss: Loss, rows: Array, y: Array, scale: float, alpha: float) -> Smooth:
    """Scale times the sum of the losses, plus α‖w‖²."""
    d = rows.shape[1]
    fit = sum_of_losses(loss, rows, y, np.full(len(y), scale))
    return weighted_sum([(1.0, fit), (1.0, squared_norm(2 * alpha, d, d))])


def _table(owner: str, X: Any, y: Any, alpha: float, *, labels: bool = False) -> tuple[Array, NDArray[Any]]:
    require(owner, real(at_least=0), alpha=alpha)
    require(owner, matrix, X=X)
    rows, target = np.asarray(X, dtype=float), np.asarray(y)
    words = f"one {'label' if labels else 'finite number'} for each of the {len(rows)} rows"
    numeric = target.dtype.kind in "biuf"
    if target.shape != rows.shape[:1] or not (labels or (numeric and np.isfinite(target).all())):
        raise refusal(owner, "y", words, y)
    return rows, target if labels else target.astype(float)
