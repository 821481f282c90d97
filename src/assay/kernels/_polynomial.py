"""The polynomial kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.kernels._kernel import Kernel
from assay.kernels._monomials import series_features
from assay.kernels._products import POSITIVE_OR_DEFAULT, Matrix, as_matrix, inner, require, squared_norms
from assay.kernels._tiles import Fill


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (coef0 + γ ⟨x, z⟩)^degree, homogeneous with coef0 = 0.

    Parameters
    ----------
    degree : int at least 1, default=3
        Only whole degrees give a positive semi-definite kernel in general.
    gamma : float above 0 or None, default=None
        The scale of the inner product (c in Sangnier); None means one over the number of features.
    coef0 : float at least 0, default=1.0
        The constant; a negative one would not be positive semi-definite.

    Examples
    --------
    >>> from assay.kernels import Polynomial
    >>> kernel = Polynomial(degree=2, gamma=1.0)
    >>> kernel.feature_map([[1.0, 3.0]]).round(3)    # 1, √2 x₁, √2 x₂, x₁², x₂², √2 x₁x₂
    array([[1.   , 1.414, 4.243, 1.   , 9.   , 4.243]])

    References
    ----------
    Sangnier §1.4.2; Wei §6.1.3; Peyré.
    """

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        require(self, "degree", parameters.integer(at_least=1))
        require(self, "gamma", POSITIVE_OR_DEFAULT)
        require(self, "coef0", parameters.real(at_least=0.0))

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return self if self.gamma is not None else replace(self, gamma=1.0 / n_features)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            inner(X[rows], Z[columns], tile)
            self._power(tile)

        return fill

    def _power(self, values: NDArray) -> None:
        """Turn inner products into kernel values in place, by products (a general power is far slower)."""
        assert self.gamma is not None
        values *= values.dtype.type(self.gamma)
        values += values.dtype.type(self.coef0)
        base = values.copy() if self.degree > 1 else values
        with np.errstate(over="ignore"):
            for bit in bin(self.degree)[3:]:
                values *= values
                if bit == "1":
                    values *= base

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        values = squared_norms(X)
        self.for_features(X.shape[1])._power(values)
        return values

    def feature_map(self, X: Any) -> NDArray:
        """Weighted monomials φ with ⟨φ(x), φ(z)⟩ = k(x, z), by degree, pure powers first.

        There are C(n_features + degree, degree) of them (those of the full degree alone when coef0 = 0).
        """
        X = as_matrix(X)
        gamma = self.for_features(X.shape[1]).gamma
        assert gamma is not None
        coefficients = [
            math.comb(self.degree, k) * self.coef0 ** (self.degree - k) * gamma**k
            for k in range(self.degree + 1)
        ]
        return series_features(X, coefficients)
