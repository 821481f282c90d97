"""Fisher's discriminant in a reproducing kernel Hilbert space, from the Gram matrix: pure functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Array = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)


class KernelScatter(NamedTuple):
    """Means of two classes and the scatter within them, in coordinates of the rows.

    Attributes
    ----------
    step : array of shape (n,)
        v₁ − v₀, (v_k)_j the mean of k(x, x_j) over the rows of class k.
    within : array of shape (n, n)
        Σ_k π_k Ψ_k.
    shares : array of shape (2,)
        π_k.
    """

    step: Array
    within: Array
    shares: Array


class KernelSolution(NamedTuple):
    """Coefficients, Rayleigh quotient, and rank and condition of the matrix that was inverted."""

    coef: Array
    quotient: float
    rank: int
    condition: float


def kernel_scatter(gram: Array, codes: NDArray, weight: Array, *, as_printed: bool) -> KernelScatter:
    """Ψ_k = (1/n_k) K_k H K_kᵀ, or without 1/n_k as the notes print it; weights count repetitions.

    A class without rows has the mean of all rows and no scatter: no function tells the classes apart.
    """
    totals = np.bincount(codes, weight, minlength=2)
    shares = totals / totals.sum()
    within, means = np.zeros_like(gram), []
    for k in np.flatnonzero(totals):
        own = codes == k
        columns, weights = gram[:, own], weight[own]
        mean = columns @ weights / totals[k]
        centred = columns - mean[:, None]
        scatter = (centred * weights) @ centred.T
        within += shares[k] * (scatter if as_printed else scatter / totals[k])
        means.append(mean)
    step = means[1] - means[0] if len(means) == 2 else np.zeros(len(gram))
    return KernelScatter(step, within, shares)


def regulariser(gram: Array, weight: Array, kind: str) -> Array:
    """What is added, times the strength: K (the squared norm of the function), or I (that of α).

    A row of weight s is s rows that share its coefficient: I becomes diag(1/s).
    """
    return gram if kind == "kernel" else np.diag(1 / weight)


def solve_kernel_fisher(
    gram: Array, scatter: KernelScatter, weight: Array, *, reg: float, kind: str
) -> KernelSolution:
    """α with (Σ_k π_k Ψ_k + reg R) α = v₁ − v₀; of least norm where there are many.

    Parameters
    ----------
    gram : array of shape (n, n)
    scatter : KernelScatter
    weight : array of shape (n,)
    reg : float
        Strength; 0 takes the pseudo-inverse.
    kind : {"kernel", "identity"}
        R = K or R = I.
    """
    back = None
    matrix, step = scatter.within + reg * regulariser(gram, weight, kind), scatter.step
    if reg > 0 and kind == "kernel":
        # In orthonormal coordinates of the functions on the rows, h = Uᵀ…, K is the identity.
        values, vectors = spectrum(gram)
        back = vectors / np.sqrt(values)
        matrix = back.T @ scatter.within @ back + reg * np.eye(len(values))
        step = back.T @ step
    values, vectors = spectrum(matrix)
    coef = vectors @ ((vectors.T @ step) / values)
    coef = coef if back is None else back @ coef
    condition = float(values[-1] / values[0]) if len(values) else np.inf
    return KernelSolution(coef, kernel_quotient(coef, scatter), len(values), condition)


def spectrum(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues above rounding, increasing, and their vectors."""
    values, vectors = eigh(matrix, check_finite=False)
    kept = values > len(values) * 8 * EPSILON * max(float(values[-1]), 0.0)
    return values[kept], vectors[:, kept]


def kernel_quotient(coef: Array, scatter: KernelScatter) -> float:
    """Rayleigh quotient π₀π₁ ⟨α, v₁ − v₀⟩² / αᵀ(Σ_k π_k Ψ_k)α of the function of coefficients α."""
    within = float(coef @ scatter.within @ coef)
    between = float(np.prod(scatter.shares)) * float(coef @ scatter.step) ** 2
    return between / within if within > 0 else np.inf if between > 0 else 0.0


def penalised_quotient(coef: Array, scatter: KernelScatter, penalty: Array) -> float:
    """The same with αᵀ(reg R)α added below: what the coefficients maximise."""
    within = float(coef @ scatter.within @ coef + coef @ penalty @ coef)
    between = float(np.prod(scatter.shares)) * float(coef @ scatter.step) ** 2
    return between / within if within > 0 else 0.0
