"""Polynomial regression."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, combinations, combinations_with_replacement
from math import comb
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.linear.features.base import LARGEST_WIDTH, Array, FeatureMap, column_ranges
from assay.parameters import Domain
from assay.rows import Rows

# Polynomial features.


BASES = ("monomial", "legendre", "chebyshev")


class PolynomialMap(FeatureMap):
    """Powers and products of columns up to a degree.

    Minimises nothing: it maps x to the products P_{k₁}(x₁) ⋯ P_{k_d}(x_d) with k₁ + … + k_d ≤ degree, where
    P_k(x) = x^k, or the Legendre or Chebyshev polynomial of degree k of the column scaled to [−1, 1] over
    the range of the fit. All three bases span the same functions; the two orthogonal ones keep a table of
    high degree well conditioned. Columns are made one block of rows at a time.

    Assumes: columns inside the range of the fit; beyond it powers grow fast.

    Certificates: `certify(X)` measures the condition number of the features on rows.

    Parameters
    ----------
    degree : int, default=2
        Largest total degree.
    interaction_only : bool, default=False
        Whether a column may enter a product at most once.
    basis : {"monomial", "legendre", "chebyshev"}, default="monomial"
        The polynomials P_k.
    include_bias : bool, default=False
        Whether the first feature is the constant 1 (which a model with an intercept has already).

    Attributes
    ----------
    powers_ : array of shape (n_features_out_, n_features)
        Degrees k of each feature, by total degree and then in the order of the columns.
    center_, half_range_ : arrays of shape (n_features,)
        The scaling u = (x − center)/half_range of the orthogonal bases; 0 and 1 for monomials.
    n_features_out_ : int

    Examples
    --------
    >>> from assay.linear import PolynomialMap
    >>> PolynomialMap(2).fit_transform([[2.0, 3.0], [0.0, 1.0]])
    array([[2., 3., 4., 6., 9.],
           [0., 1., 0., 0., 1.]])
    >>> PolynomialMap(2).fit([[2.0, 3.0]]).get_feature_names_out()
    array(['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2'], dtype=object)

    References
    ----------
    Rudi & Şimşekli §1.3.4, §4.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "degree": parameters.integer(at_least=0),
        "interaction_only": parameters.boolean,
        "basis": parameters.one_of(*BASES),
        "include_bias": parameters.boolean,
    }

    def __init__(
        self,
        degree: int = 2,
        *,
        interaction_only: bool = False,
        basis: str = "monomial",
        include_bias: bool = False,
    ) -> None:
        self.degree = degree
        self.interaction_only = interaction_only
        self.basis = basis
        self.include_bias = include_bias

    def _learn(self, data: Rows) -> None:
        d = data.shape[1]
        width = comb(d + self.degree, self.degree)
        if self.interaction_only:
            width = sum(comb(d, k) for k in range(min(self.degree, d) + 1))
        if width > LARGEST_WIDTH:
            raise self._refuse("degree", f"smaller: {d} columns would make {width} features")
        if self.degree == 0 and not self.include_bias:
            raise self._refuse("degree", "an int at least 1 with include_bias=False")
        self.powers_ = exponents(d, self.degree, self.interaction_only, self.include_bias)
        if self.basis == "monomial":
            self.center_, self.half_range_ = np.zeros(d), np.ones(d)
        else:
            ranges = column_ranges(data)
            self.center_, self.half_range_ = ranges.low + ranges.spread / 2, ranges.spread / 2

    def _expansion(self) -> PolynomialExpansion:
        return PolynomialExpansion(
            len(self.powers_), self.powers_, self.basis, self.center_, self.half_range_
        )

    def _names(self, columns: list[str]) -> list[str]:
        symbol = {"monomial": "", "legendre": "P", "chebyshev": "T"}[self.basis]

        def factor(name: str, k: int) -> str:
            if symbol:
                return f"{symbol}{k}({name})"
            return name if k == 1 else f"{name}^{k}"

        return [
            " ".join(factor(name, int(k)) for name, k in zip(columns, row, strict=True) if k) or "1"
            for row in self.powers_
        ]


def exponents(n_features: int, degree: int, interaction_only: bool, include_bias: bool) -> NDArray[np.int64]:
    """Exponents of all products of total degree at most `degree`, one per row."""
    choose: Any = combinations if interaction_only else combinations_with_replacement
    degree = min(degree, n_features) if interaction_only else degree
    chosen = list(
        chain.from_iterable(choose(range(n_features), k) for k in range(0 if include_bias else 1, degree + 1))
    )
    powers = np.zeros((len(chosen), n_features), dtype=np.int64)
    for row, columns in enumerate(chosen):
        np.add.at(powers[row], list(columns), 1)
    return powers


class PolynomialExpansion(NamedTuple):
    """Products of univariate polynomials, as a pure function of rows."""

    width: int
    powers: NDArray[np.int64]
    basis: str
    center: Array
    half_range: Array

    def __call__(self, X: NDArray) -> Array:
        """The features of rows."""
        u = np.ascontiguousarray(((X - self.center) / self.half_range).T, dtype=np.float64)
        tables = univariate(u, int(self.powers.max(initial=0)), self.basis)
        features = np.ones((X.shape[0], self.width), order="F")
        for column, row in enumerate(self.powers):
            for j in np.flatnonzero(row):
                features[:, column] *= tables[row[j], j]
        return features


def univariate(u: Array, degree: int, basis: str) -> Array:
    """P_0, …, P_degree at every entry of u, by their recurrences: shape (degree + 1, *u.shape)."""
    values = np.ones((degree + 1, *u.shape))
    if degree:
        values[1] = u
    for k in range(2, degree + 1):
        if basis == "monomial":
            values[k] = u * values[k - 1]
        elif basis == "legendre":
            values[k] = ((2 * k - 1) * u * values[k - 1] - (k - 1) * values[k - 2]) / k
        else:
            values[k] = 2 * u * values[k - 1] - values[k - 2]
    return values
