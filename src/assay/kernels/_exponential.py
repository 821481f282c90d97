"""The exponential kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels._kernel import Kernel
from assay.kernels._kernel_loops import scaled_exponential
from assay.kernels._monomials import exponential_features
from assay.kernels._products import POSITIVE_OR_DEFAULT, Matrix, as_matrix, inner, require, squared_norms
from assay.kernels._tiles import Fill


@dataclass(frozen=True)
class Exponential(Kernel):
    """k(x, z) = exp(γ ⟨x, z⟩).

    Grows like exp(γ‖x‖²): scale the columns first.

    Parameters
    ----------
    gamma : float above 0 or None, default=None
        The scale γ; None means one over the number of features.

    Examples
    --------
    >>> from assay.kernels import Exponential
    >>> Exponential(gamma=1.0).gram([[0.0], [1.0]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])

    References
    ----------
    Sangnier §1.4.2.
    """

    gamma: float | None = None

    def __post_init__(self) -> None:
        require(self, "gamma", POSITIVE_OR_DEFAULT)

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return self if self.gamma is not None else replace(self, gamma=1.0 / n_features)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        assert self.gamma is not None
        scale = float(self.gamma)

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            inner(X[rows], Z[columns], tile)
            scaled_exponential(tile, scale)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        with np.errstate(over="ignore"):
            return np.exp(self.for_features(X.shape[1]).gamma * squared_norms(X)).astype(X.dtype)

    def taylor_features(self, X: Any, order: int) -> NDArray:
        """Features whose inner products are Σ_{k ≤ order} (γ⟨x, z⟩)^k / k!."""
        X = as_matrix(X)
        gamma = self.for_features(X.shape[1]).gamma
        assert gamma is not None
        return exponential_features(X, gamma, order)
