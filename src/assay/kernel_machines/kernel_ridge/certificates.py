"""Certificates of kernel ridge regression, measured from the data and the fitted attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, agreement, at_least, at_most
from assay.kernel_machines.kernel_ridge.solver import GramSpectrum

Product = Callable[[NDArray], NDArray]
SOURCE = "Sangnier §1.5, E-1.12; Wei §6.2.4"


class FittedKernelRidge(NamedTuple):
    """What is certified: one column per target; rows of weight zero left out."""

    targets: NDArray
    dual_coef: NDArray
    intercept: NDArray
    alphas: NDArray
    weight: NDArray | None
    fit_intercept: bool
    solver: str

    @property
    def weights(self) -> NDArray:
        """Weights as a column, ones where there are none."""
        ones = np.ones(len(self.targets))
        return (ones if self.weight is None else self.weight.astype(np.float64))[:, None]

    @property
    def scale(self) -> NDArray:
        """Length of y − b of each target, or the length at which its rounding is the tolerance."""
        targets = self.targets.astype(np.float64)
        rounding = 8 * float(np.finfo(self.targets.dtype).eps) * np.linalg.norm(targets, axis=0)
        return np.maximum(np.linalg.norm(targets - self.intercept, axis=0), rounding / self.tolerance)

    @property
    def tolerance(self) -> float:
        """Half the digits of the dtype."""
        return float(np.sqrt(np.finfo(self.targets.dtype).eps))


def kernel_ridge_certificates(
    fitted: FittedKernelRidge, kernel_product: Product, product: NDArray, diagonal: NDArray
) -> list[Certificate]:
    """The cheap ones, from Kβ (`product`), one more product with K, and its diagonal."""
    coef, weights = fitted.dual_coef.astype(np.float64), fitted.weights
    misfit = fitted.targets.astype(np.float64) - product - fitted.intercept
    violation = misfit - fitted.alphas / weights * coef
    certificates = []
    if fitted.solver == "cholesky":
        claim = "The dual coefficients solve (K + αW⁻¹)β + b1 = y."
        size = _worst(np.linalg.norm(violation, axis=0), fitted.scale)
        certificates.append(at_most(claim, "stationarity residual", size, fitted.tolerance, source=SOURCE))
        if fitted.alphas.min() > 0:
            lost = rounding_of_product(coef, diagonal, fitted.targets.dtype)
            certificates.append(_gap(fitted, kernel_product, product, misfit, violation, lost, diagonal))
    else:
        certificates.append(_gradient(fitted, kernel_product, violation))
    if fitted.fit_intercept:
        claim = "The dual coefficients sum to zero: the intercept is free."
        name = "relative sum of dual coefficients"
        size = _worst(np.abs(coef.sum(axis=0)), np.abs(coef).sum(axis=0))
        certificates.append(at_most(claim, name, size, fitted.tolerance, source="Sangnier §1.5.1"))
    return certificates


def rounding_of_product(coef: NDArray, diagonal: NDArray, dtype: np.dtype) -> NDArray:
    """What Kβ may be off by, |k(x, z)| being at most √k(x, x) √k(z, z)."""
    roots = np.sqrt(np.abs(diagonal.astype(np.float64)))
    return 8 * float(np.finfo(dtype).eps) * np.outer(roots, roots @ np.abs(coef))


def _gap(
    fitted: FittedKernelRidge,
    kernel_product: Product,
    product: NDArray,
    misfit: NDArray,
    violation: NDArray,
    lost: NDArray,
    diagonal: NDArray,
) -> Certificate:
    """Primal ½‖h‖² + Σ w_i ξ_i²/(2α) minus dual yᵀa − ½ aᵀ(K + αW⁻¹)a at a feasible point a.

    The point a = Wξ/α, moved to 1ᵀa = 0 when there is an intercept, makes the gap ½‖h_β − h_a‖² plus the
    square of the move: a sum of squares. Without an intercept β itself is feasible too, with gap Σ w_i
    r_i²/(2α) where r is the violation of the equations; the smaller of the two counts. What the rounding
    `lost` in Kβ alone would make of the gap counts as the tolerance.
    """
    weights, alphas = fitted.weights, fitted.alphas
    total = float(weights.sum())
    move = (
        (weights * misfit).sum(axis=0) / (alphas * total) if fitted.fit_intercept else np.zeros(len(alphas))
    )
    difference = move * weights - weights * violation / alphas
    curvature = np.einsum(
        "ij,ij->j", difference, kernel_product(difference.astype(fitted.targets.dtype)).astype(np.float64)
    )
    gap = curvature.clip(min=0.0) / 2 + alphas * move**2 * total / 2
    trace = float(np.abs(diagonal).sum(dtype=np.float64))
    room = trace * ((weights * lost / alphas) ** 2).sum(axis=0) / 2
    if not fitted.fit_intercept:
        gap = np.minimum(gap, (weights * violation**2).sum(axis=0) / (2 * alphas))
        room = np.minimum(room, (weights * lost**2).sum(axis=0) / (2 * alphas))
    norm = np.einsum("ij,ij->j", fitted.dual_coef.astype(np.float64), product).clip(min=0.0)
    primal = norm / 2 + (weights * misfit**2).sum(axis=0) / (2 * alphas)
    return at_most(
        "The objective is this close to its minimum over the whole RKHS.",
        "relative duality gap",
        _worst(gap, primal + room / fitted.tolerance),
        fitted.tolerance,
        source=SOURCE,
        assumptions=("the kernel is positive semi-definite",),
    )


def _gradient(fitted: FittedKernelRidge, kernel_product: Product, violation: NDArray) -> Certificate:
    """RKHS norm of the gradient, relative to the one of the constant function that fits best."""
    weights, dtype = fitted.weights, fitted.targets.dtype
    start = fitted.targets.astype(np.float64)
    if fitted.fit_intercept:
        start = start - (weights * start).sum(axis=0) / weights.sum()
    columns = weights * np.hstack([violation, start])
    squares = np.einsum("ij,ij->j", columns, kernel_product(columns.astype(dtype))).clip(min=0.0)
    norms = np.sqrt(squares)
    n_targets = len(fitted.alphas)
    return at_most(
        "The gradient of the objective vanishes: K W((K + αW⁻¹)β + b1 − y) = 0, by the minimum-norm β.",
        "relative gradient norm",
        _worst(norms[:n_targets], norms[n_targets:]),
        fitted.tolerance,
        source=SOURCE,
    )


def spectral_certificates(
    fitted: FittedKernelRidge, product: NDArray, decomposition: GramSpectrum, extremes: tuple[float, float]
) -> list[Certificate]:
    """The expensive ones, from the eigendecomposition and the extreme eigenvalues of the Gram matrix."""
    alphas, n_samples = fitted.alphas, len(fitted.targets)
    coordinates = decomposition.coordinates(fitted.targets)
    routes, degrees = [], []
    for column, alpha in enumerate(alphas):
        representer = fitted.targets[:, [column]] - decomposition.residuals(coordinates[:, [column]], alpha)
        difference = product[:, [column]] + fitted.intercept[column] - representer
        routes.append(_worst(np.linalg.norm(difference, axis=0), fitted.scale[[column]]))
        degrees.append(decomposition.effective_df(alpha))
    smallest, largest = extremes
    eps = float(np.finfo(fitted.targets.dtype).eps)
    exact, values = fitted.solver == "cholesky", decomposition.values
    # The Cholesky factor inverts all of K + αI, the eigenvectors only what is not rounding.
    inverted = values if exact else values[values > decomposition.cutoff]
    with np.errstate(divide="ignore"):
        condition = np.divide(largest + alphas.min(), inverted.min(initial=largest) + alphas.min())
    return [
        at_most(
            "The dual route and the representer route give the same fitted values.",
            "relative difference of the two routes",
            max(routes),
            fitted.tolerance,
            source="Sangnier E-1.12",
        ),
        at_least(
            "The Gram matrix is positive semi-definite up to rounding.",
            "smallest eigenvalue over largest",
            smallest / largest if largest > 0 else smallest,
            -10.0 * n_samples * eps,
            source="Wei §6.1.3",
        ),
        at_most(
            "The smoother uses no more degrees of freedom than rows.",
            "effective degrees of freedom",
            max(degrees),
            n_samples,
            source="Douc & Le Corff §8.13",
            tolerance=n_samples * fitted.tolerance,
        ),
        at_least(
            (
                "The smoother uses at least the degrees of freedom of the constant."
                if fitted.fit_intercept
                else "The degrees of freedom are not negative."
            ),
            "smallest effective degrees of freedom",
            min(degrees),
            1.0 if fitted.fit_intercept else 0.0,
            source="Douc & Le Corff §8.13",
            tolerance=n_samples * fitted.tolerance,
        ),
        at_most(
            (
                "What was inverted keeps digits."
                if exact
                else "Outside the null space, what was inverted keeps digits."
            ),
            "condition number",
            condition,
            1.0 / eps,
        ),
    ]


def rkhs_norms(coef: NDArray, product: NDArray) -> NDArray:
    """‖h‖ = √(βᵀKβ) of each target, from β and Kβ."""
    return np.sqrt(np.einsum("ij,ij->j", coef, product).clip(min=0.0))


def stored_certificate(
    fitted: FittedKernelRidge,
    stored: tuple[NDArray, NDArray],
    fresh: tuple[NDArray, NDArray],
    sizes: NDArray,
    others: dict[str, tuple[Any, Any]],
) -> Certificate:
    """Fitted values and norms against Kβ again, up to the rounding of its sums, and `others` as they are.

    `stored` are fitted values and norms, `fresh` fitted values and the Kβ of kept rows, `sizes` is |K||β|.
    """
    coef, (values, product) = np.abs(fitted.dual_coef.astype(np.float64)), fresh
    lost = 8 * float(np.finfo(fitted.targets.dtype).eps) / STORED * sizes
    norms = rkhs_norms(fitted.dual_coef.astype(np.float64), product.astype(np.float64))
    room = np.sqrt(norms**2 + np.einsum("ij,ij->j", coef, lost) / STORED)
    scale = np.abs(values).max(axis=0, initial=0.0) + lost.max(axis=0, initial=0.0)
    pairs = {
        "fitted_values_": (1 + _over(stored[0] - values, scale), np.ones_like(values)),
        "rkhs_norm_": (1 + _over(stored[1] - norms, room), np.ones_like(norms)),
        **others,
    }
    return agreement("What the fit stored is what its rows give again.", pairs, SOURCE, rtol=STORED)


STORED = 1e-4
"""Relative difference that two ways to the same fitted values may have, rounding beside them."""


def _over(difference: NDArray, scale: NDArray) -> NDArray:
    return difference / np.where(scale > 0, scale, 1.0)


def _worst(numerator: NDArray, denominator: NDArray) -> float:
    """The largest ratio, 0/0 counting as 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(numerator == 0, 0.0, numerator / denominator)
    return float(ratio.max())
