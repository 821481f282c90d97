"""One penalised fit, two problems: weights of features or coefficients of rows, whichever is cheaper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from assay.kernels import Kernel, RKHSFunction, Side, cheaper_side
from assay.kernels.tiles import as_matrix
from assay.parameters import one_of, real, refusal, require
from assay.theory.least_squares import Array


class SidedRidge(NamedTuple):
    """Result of `ridge_by_side`.

    Attributes
    ----------
    solved : "primal" or "dual"
        Which problem was solved.
    costs : Side
        What each would cost, and which is cheaper.
    weights : array of shape (D,) or None
        w, of the primal problem.
    function : RKHSFunction or None
        Σ α_i k(·, x_i), of the dual problem.
    fitted : array of shape (n,)
        The values at the rows, the same from both.
    squared_norm : float
        ‖w‖² = αᵀKα.
    """

    solved: str
    costs: Side
    weights: Array | None
    function: RKHSFunction | None
    fitted: Array
    squared_norm: float


def ridge_by_side(kernel: Kernel, X: Any, y: Any, alpha: float, *, side: str = "auto") -> SidedRidge:
    """Ridge regression in the space of a kernel, by the cheaper of two systems.

    Minimises Σ (y_i − f(x_i))² + α‖f‖². In ℝ^D: (ΦᵀΦ + αI)w = Φᵀy with f = ⟨w, φ(·)⟩; in ℝ^n: (K + αI)a = y
    with f = Σ a_i k(·, x_i). They are one function, w = Φᵀa.

    Parameters
    ----------
    kernel : Kernel
    X : array of shape (n, d)
    y : array of shape (n,)
    alpha : float above 0
        The penalty on the sum of squares.
    side : {"auto", "primal", "dual"}, default="auto"
        "auto" takes what `assay.kernels.cheaper_side` says.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Linear
    >>> from assay.theory import ridge_by_side
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> ridge_by_side(Linear(), X, X[:, 0], 1.0).solved, ridge_by_side(Linear(), X.T, X[:4, 0], 1.0).solved
    ('primal', 'dual')

    References
    ----------
    Rudi & Şimşekli §4.2.
    """
    require("ridge_by_side", real(above=0.0), alpha=alpha)
    require("ridge_by_side", one_of("auto", "primal", "dual"), side=side)
    X, target = as_matrix(X), np.asarray(y, dtype=float)
    if target.shape != (X.shape[0],):
        raise refusal("ridge_by_side", "y", f"one number per row of X, shape ({X.shape[0]},)", y)
    costs = cheaper_side(kernel, *X.shape)
    solved = costs.side if side == "auto" else side
    if solved == "primal":
        features = np.asarray(kernel.feature_map(X), dtype=float)
        weights = _solve(features.T @ features, alpha, features.T @ target)
        return SidedRidge(solved, costs, weights, None, features @ weights, float(weights @ weights))
    gram = kernel.gram(X).astype(float)
    coef = _solve(gram.copy(), alpha, target)
    fitted = gram @ coef
    function = RKHSFunction(coef, X, kernel)
    return SidedRidge(solved, costs, None, function, fitted, float(coef @ fitted))


def _solve(matrix: Array, alpha: float, right: Array) -> Array:
    matrix[np.diag_indices_from(matrix)] += alpha
    return linalg.solve(matrix, right, assume_a="pos")
