"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.kernels._kernel import Kernel
from assay.kernels._kernel_loops import scaled_exponential
from assay.kernels._monomials import exponential_features
from assay.kernels._products import (
    POSITIVE_OR_DEFAULT,
    Matrix,
    as_matrix,
    distance_tiles,
    require,
    scale_from_width,
    squared_norms,
)
from assay.kernels._tiles import Fill


@dataclass(frozen=True)
class Gaussian(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖₂²), also called radial basis function.

    Parameters
    ----------
    gamma : float above 0 or None, default=None
        The scale γ; None means one over the number of features. The courses write σ instead: `from_scale` is
        exp(−‖x − z‖²/σ²), `from_bandwidth` is exp(−‖x − z‖²/(2σ²)).

    Examples
    --------
    >>> from assay.kernels import Gaussian
    >>> Gaussian.from_scale(2.0), Gaussian.from_bandwidth(2.0)
    (Gaussian(gamma=0.25), Gaussian(gamma=0.125))
    >>> Gaussian(gamma=0.5).gram([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])

    References
    ----------
    Sangnier §1.4.2; Wei §6.1.3; Peyré.
    """

    gamma: float | None = None

    def __post_init__(self) -> None:
        require(self, "gamma", POSITIVE_OR_DEFAULT)

    @classmethod
    def from_scale(cls, sigma: float) -> Self:
        """The kernel exp(−‖x − z‖²/σ²)."""
        return cls(gamma=1.0 / scale_from_width(cls.__name__, sigma) ** 2)

    @classmethod
    def from_bandwidth(cls, sigma: float) -> Self:
        """The kernel exp(−‖x − z‖²/(2σ²))."""
        return cls(gamma=0.5 / scale_from_width(cls.__name__, sigma) ** 2)

    def for_features(self, n_features: int) -> Self:
        """See `Kernel.for_features`."""
        return self if self.gamma is not None else replace(self, gamma=1.0 / n_features)

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        assert self.gamma is not None
        scale, distances = -float(self.gamma), distance_tiles(X, Z)

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            distances(rows, columns, tile)
            scaled_exponential(tile, scale)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        return np.ones(X.shape[0], dtype=X.dtype)

    def taylor_features(self, X: Any, order: int) -> NDArray:
        """Features whose inner products are the kernel's Taylor series up to an order.

        From exp(−γ‖x − z‖²) = e^{−γ‖x‖²} e^{−γ‖z‖²} Σ_k (2γ⟨x, z⟩)^k / k!, the terms k ≤ order, one feature
        per monomial. The error at (x, z) is at most e^{−γ(‖x‖² + ‖z‖²) + |t|} |t|^{order + 1} / (order + 1)!
        with t = 2γ⟨x, z⟩.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        order : int
            Number of terms after the constant.

        Returns
        -------
        features : array of shape (n_samples, number of monomials of degree at most `order`)
        """
        X = as_matrix(X)
        gamma = self.for_features(X.shape[1]).gamma
        assert gamma is not None
        damping = np.exp(-gamma * squared_norms(X))
        return damping[:, None] * exponential_features(X, 2.0 * gamma, order)
