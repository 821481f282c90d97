"""Features of power series of ⟨x, z⟩: weighted monomials, counted before they are made."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.kernels.tiles import as_matrix, is_sparse
from assay.parameters import integer, real, require

MAX_FEATURES = 100_000
"""The most features that a map makes."""
MAX_VALUES = 2**27
"""The most values of a table of features: one GiB of float64."""


def require_room(owner: str, n_rows: int, n_features_out: float) -> None:
    """Refuse a feature map whose dimension explodes, before anything is computed."""
    if n_features_out > MAX_FEATURES or n_rows * n_features_out > MAX_VALUES:
        count = f"{n_features_out:,.0f}" if n_features_out < 1e15 else "more than 10¹⁵"
        raise ValueError(
            f"The features of {owner} would be {count} for each of {n_rows:,} rows; at most "
            f"{MAX_FEATURES:,} features and {MAX_VALUES:,} values are made: use the kernel itself, a lower "
            "degree or fewer columns."
        )


def require_terms(owner: str, order: int) -> None:
    """Check the order of a truncated series, whose terms are written out one by one."""
    require(owner, integer(at_least=0), order=order)
    require_room(owner, 1, order + 1)


def n_monomials(n_features: int, degree: int, *, exact: bool = True) -> int:
    """The number of monomials of total degree exactly `degree`, C(d + r − 1, r), or at most, C(d + r, r).

    Examples
    --------
    >>> from assay.kernels import n_monomials
    >>> n_monomials(3, 2), n_monomials(3, 2, exact=False), n_monomials(100, 5)
    (6, 10, 91962520)
    """
    require("n_monomials", integer(at_least=1), n_features=n_features)
    require("n_monomials", integer(at_least=0), degree=degree)
    return math.comb(n_features + degree - (1 if exact else 0), degree)


def n_series_features(n_features: int, coefficients: Sequence[float]) -> int:
    """The number of features of Σ_k a_k ⟨x, z⟩^k: the monomials of each degree with a_k > 0."""
    return sum(n_monomials(n_features, k) for k, value in enumerate(coefficients) if value > 0.0)


def series_features(X: Any, coefficients: Sequence[float]) -> NDArray:
    """Features φ with ⟨φ(x), φ(z)⟩ = Σ_k a_k ⟨x, z⟩^k, for a_k ≥ 0.

    ⟨x, z⟩^k = Σ_{|m| = k} k!/(m₁! ⋯ m_d!) x^m z^m: one feature √(a_k k!/m!) x^m per multi-index m with
    a_k > 0, by degree, pure powers first.
    """
    X = as_matrix(X)
    X = X.toarray() if is_sparse(X) else X
    require_room("a power series", X.shape[0], n_series_features(X.shape[1], coefficients))
    features = []
    for degree, coefficient in enumerate(coefficients):
        if coefficient == 0.0:
            continue
        # Multi-indices as {feature: exponent}, those with the largest single exponent first.
        chosen = combinations_with_replacement(range(X.shape[1]), degree)
        for exponents in sorted(map(Counter, chosen), key=lambda index: -max(index.values(), default=0)):
            weight = coefficient * math.factorial(degree)
            for exponent in exponents.values():
                weight /= math.factorial(exponent)
            column = np.full(X.shape[0], math.sqrt(weight), dtype=X.dtype)
            for feature, exponent in exponents.items():
                column *= X[:, feature] ** exponent
            features.append(column)
    return np.column_stack(features) if features else np.zeros((X.shape[0], 0), dtype=X.dtype)


def exponential_features(X: Any, scale: float, order: int) -> NDArray:
    """Features of Σ_{k ≤ order} (scale ⟨x, z⟩)^k / k!, the Taylor series of exp(scale ⟨x, z⟩)."""
    require("the Taylor expansion", integer(at_least=0), order=order)
    room = n_monomials(np.shape(X)[1], order, exact=False) if np.ndim(X) == 2 or is_sparse(X) else 0
    require_room("the Taylor expansion", np.shape(X)[0], room)
    return series_features(X, exponential_coefficients(scale, order))


def exponential_coefficients(scale: float, order: int) -> list[float]:
    """Taylor coefficients scale^k/k! of exp(scale · t) up to an order."""
    return [math.exp(k * math.log(scale) - math.lgamma(k + 1)) for k in range(order + 1)]


def exponential_tail(t: float, order: int, *, damped: bool) -> float:
    """The remainder Σ_{k > order} t^k/k! for t ≥ 0, or e^{−t} times it.

    It is e^t P(order + 1, t) with P the regularised lower incomplete gamma function.
    """
    share = float(special.gammainc(order + 1, t))
    if damped:
        return share
    if share == 0.0:
        return 0.0
    exponent = t + math.log(share)
    return math.exp(exponent) if exponent < 709.0 else math.inf


def require_order_and_radius(order: int, radius: float) -> None:
    """Check the arguments of `truncation_error`."""
    require("truncation_error", integer(at_least=0), order=order)
    require("truncation_error", real(at_least=0.0), radius=radius)
