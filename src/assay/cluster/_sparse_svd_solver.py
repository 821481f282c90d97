"""Sparse singular vectors by adaptive soft thresholding, each threshold chosen by BIC."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster._bicluster_svd import leading_singular


class Thresholded(NamedTuple):
    """A thresholded vector (not normalised), the penalty BIC chose, and the criterion there."""

    vector: NDArray
    penalty: float
    criterion: float


class Layer(NamedTuple):
    """One sparse rank-one layer d u vᵀ, ‖u‖ = ‖v‖ = 1."""

    left: NDArray
    value: float
    right: NDArray
    penalties: tuple[float, float]
    n_iter: int
    converged: bool


def threshold_by_bic(products: NDArray, squares: float, n_entries: int, power: float) -> Thresholded:
    """Minimise ‖X − u ṽᵀ‖² + λ Σ_j |z_j|^(−γ) |ṽ_j| for z = Xᵀu, ‖u‖ = 1, with λ by BIC.

    The minimiser is the soft threshold of z_j at λ|z_j|^(−γ)/2: entry j is in while λ < 2|z_j|^(1 + γ). BIC
    is ‖X − u ṽᵀ‖²/(N σ̂²) + (log N / N) · (entries in), σ̂² the residual variance without a penalty; it is
    compared at the λ where one more entry would come in, the best fit for each number of entries.

    Parameters
    ----------
    products : array of shape (n,)
        z.
    squares : float
        ‖X‖².
    n_entries : int
        N, the number of entries of X.
    power : float
        γ.
    """
    sizes = np.abs(products)
    order = np.argsort(-sizes, kind="stable")
    ranked = sizes[order]
    ranked = ranked[ranked > 0.0]
    if not ranked.size:
        return Thresholded(np.zeros_like(products), 0.0, np.inf)
    # In units of the largest entry, so that powers neither overflow nor vanish.
    unit = ranked[0]
    relative = ranked / unit
    limits = np.append(2.0 * relative ** (1.0 + power), 0.0)[1:]  # λ at which the next entry would come in
    residual = squares / unit**2 - np.cumsum(relative**2)
    with np.errstate(over="ignore"):
        shrunk = 0.25 * limits**2 * np.cumsum(relative ** (-2.0 * power))
    freedom = max(n_entries - len(products), 1)
    variance = max(squares / unit**2 - float((relative**2).sum()), 1e-12 * squares / unit**2) / freedom
    counts = np.arange(1, len(ranked) + 1)
    criteria = (residual + shrunk) / (n_entries * variance) + np.log(n_entries) / n_entries * counts
    chosen = int(np.argmin(criteria))
    penalty = float(limits[chosen])
    return Thresholded(
        soft_adaptive(products, penalty * unit ** (1.0 + power), power), penalty, float(criteria[chosen])
    )


def soft_adaptive(products: NDArray, penalty: float, power: float) -> NDArray:
    """sign(z)(|z| − λ|z|^(−γ)/2)₊."""
    sizes = np.abs(products)
    kept = np.zeros_like(sizes)
    inside = sizes > 0.0
    with np.errstate(over="ignore"):
        kept[inside] = np.maximum(sizes[inside] - 0.5 * penalty * sizes[inside] ** (-power), 0.0)
    # At the λ of its own entry rounding may leave a trace of an entry that is out.
    kept[kept <= 1e-12 * kept.max(initial=0.0)] = 0.0
    result: NDArray = np.sign(products) * kept
    return result


def half_step(X: NDArray, vector: NDArray, squares: float, power: float) -> tuple[NDArray, float]:
    """The unit vector that answers a given one, with the penalty chosen for it."""
    found = threshold_by_bic(X.T @ vector, squares, X.size, power)
    size = float(np.linalg.norm(found.vector))
    return (found.vector / size if size > 0.0 else found.vector), found.penalty


def sparse_layer(
    X: NDArray,
    *,
    power: float,
    tol: float,
    max_iter: int,
    stop: Callable[[NDArray, NDArray, int], bool] = lambda left, right, n_iter: False,
) -> Layer:
    """The leading sparse layer of a matrix, from its leading singular vectors."""
    start = leading_singular(X, 1, 0)
    left, right = start.left[:, 0], start.right[:, 0]
    squares = float((X**2).sum())
    penalties, n_iter, converged = (0.0, 0.0), 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        new_right, right_penalty = half_step(X, left, squares, power)
        new_left, left_penalty = half_step(X.T, new_right, squares, power)
        moved = max(float(np.linalg.norm(new_left - left)), float(np.linalg.norm(new_right - right)))
        left, right, penalties = new_left, new_right, (left_penalty, right_penalty)
        converged = moved <= tol
        if stop(left, right, n_iter):
            break
    sign = np.sign(left[np.abs(left).argmax()]) or 1.0
    left, right = sign * left, sign * right
    return Layer(left, float(left @ X @ right), right, penalties, n_iter, converged)
