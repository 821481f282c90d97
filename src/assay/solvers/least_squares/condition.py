"""The condition number of a table: one meaning, σ_max/σ_min, whatever the solver formed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[np.float64]

EXACT = 32
"""Columns up to which all eigenvalues cost no more than an estimate of two."""

LANCZOS_STEPS = 40
LANCZOS_TOL = 1e-4
"""Most steps of Lanczos, and the relative change of a Ritz value, over four of them, that ends it."""


def condition_of_gram(gram: Array, factor: Array) -> float:
    """σ_max/σ_min of a table, from AᵀA and its lower Cholesky factor, by the square root of the eigenvalues.

    The eigenvalues are exact up to 32 columns. Beyond, the extreme ones are found by Lanczos, from inside:
    the condition number is then up to about a per mille too small.
    """
    if len(gram) <= EXACT:
        values, _, _ = linalg.lapack.dsyevd(gram, compute_v=0)
        high, low = float(values[-1]), float(values[0])
    else:
        high = largest_eigenvalue(partial(np.dot, gram), len(gram))
        low = 1 / largest_eigenvalue(lambda v: linalg.lapack.dpotrs(factor, v, lower=True)[0], len(gram))
    return float(np.sqrt(high / low)) if low > 0 else np.inf


def largest_eigenvalue(product: Callable[[Array], Array], size: int) -> float:
    """The largest eigenvalue of a symmetric positive matrix, given as a product, by Lanczos."""
    steps = min(LANCZOS_STEPS, size)
    basis, small = np.zeros((steps, size)), np.zeros((steps, steps))
    vector = np.random.default_rng(0).standard_normal(size)
    vector /= np.linalg.norm(vector)
    before = 0.0
    for k in range(steps):
        basis[k] = vector
        image = product(vector)
        small[k, k] = vector @ image
        # Against all of the basis, twice: rounding would bring back directions that are already there.
        for _ in range(2):
            image = image - basis[: k + 1].T @ (basis[: k + 1] @ image)
        length = float(np.linalg.norm(image))
        if k % 4 == 3 or k == steps - 1 or length <= 1e-12 * small[k, k]:
            ritz = float(np.linalg.eigvalsh(small[: k + 1, : k + 1])[-1])
            if ritz - before <= LANCZOS_TOL * ritz or length <= 1e-12 * ritz:
                return ritz
            before = ritz
        if k + 1 < steps:
            small[k, k + 1] = small[k + 1, k] = length
            vector = image / length
    return before
