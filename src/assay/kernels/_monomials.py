"""Explicit features of kernels that are power series of ⟨x, z⟩: weighted monomials."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.kernels._products import as_matrix, is_sparse


def series_features(X: Any, coefficients: list[float]) -> NDArray:
    """Features φ with ⟨φ(x), φ(z)⟩ = Σ_k a_k ⟨x, z⟩^k, for a_k ≥ 0.

    ⟨x, z⟩^k = Σ_{|m| = k} k!/(m₁! ⋯ m_d!) x^m z^m: one feature √(a_k k!/m!) x^m per multi-index m with
    a_k > 0, by degree, pure powers first.
    """
    X = as_matrix(X)
    X = X.toarray() if is_sparse(X) else X
    features = []
    for degree, coefficient in enumerate(coefficients):
        if coefficient == 0.0:
            continue
        for exponents in _multi_indices(X.shape[1], degree):
            weight = coefficient * math.factorial(degree)
            for exponent in exponents.values():
                weight /= math.factorial(exponent)
            column = np.full(X.shape[0], math.sqrt(weight), dtype=X.dtype)
            for feature, exponent in exponents.items():
                column *= X[:, feature] ** exponent
            features.append(column)
    return np.column_stack(features)


def exponential_features(X: Any, scale: float, order: int) -> NDArray:
    """Features of Σ_{k ≤ order} (scale ⟨x, z⟩)^k / k!, the Taylor series of exp(scale ⟨x, z⟩)."""
    at_least_zero = parameters.integer(at_least=0)
    if not at_least_zero.contains(order):
        raise parameters.refusal("the Taylor expansion", "order", at_least_zero.words, order)
    return series_features(X, [scale**k / math.factorial(k) for k in range(order + 1)])


def _multi_indices(n_features: int, degree: int) -> Iterator[dict[int, int]]:
    """Multi-indices of one degree as {feature: exponent}, those with the largest single exponent first."""
    found = [
        {feature: chosen.count(feature) for feature in sorted(set(chosen))}
        for chosen in combinations_with_replacement(range(n_features), degree)
    ]
    yield from sorted(found, key=lambda exponents: -max(exponents.values(), default=0))
