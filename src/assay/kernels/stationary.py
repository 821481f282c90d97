"""Kernels of the distance between two rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.kernels.dot_product import exponential_features
from assay.kernels.kernel import POSITIVE, ScaledKernel
from assay.kernels.tiles import Fill, Matrix, as_matrix, distance_tiles, scaled_exponential, squared_norms


class Stationary(ScaledKernel):
    """A kernel exp(−γ ‖x − z‖²) or exp(−γ ‖x − z‖)."""

    rooted: ClassVar[bool] = False

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        scale, distances = -self._scale(X), distance_tiles(X, Z)

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            distances(rows, columns, tile)
            if self.rooted:
                np.sqrt(tile, out=tile)
            scaled_exponential(tile, scale)

        return fill

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        return np.ones(X.shape[0], dtype=X.dtype)


@dataclass(frozen=True)
class Gaussian(Stationary):
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

    @classmethod
    def from_scale(cls, sigma: float) -> Self:
        """The kernel exp(−‖x − z‖²/σ²)."""
        return cls(gamma=1.0 / _width(cls.__name__, sigma) ** 2)

    @classmethod
    def from_bandwidth(cls, sigma: float) -> Self:
        """The kernel exp(−‖x − z‖²/(2σ²))."""
        return cls(gamma=0.5 / _width(cls.__name__, sigma) ** 2)

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
        gamma = self._scale(X)
        damping = np.exp(-gamma * squared_norms(X))
        return damping[:, None] * exponential_features(X, 2.0 * gamma, order)


@dataclass(frozen=True)
class Laplacian(Stationary):
    """k(x, z) = exp(−γ ‖x − z‖₂), with the Euclidean norm.

    scikit-learn's `laplacian_kernel` takes the sum of absolute differences instead; the two agree on one
    column.

    Parameters
    ----------
    gamma : float above 0 or None, default=None
        The scale γ; None means one over the number of features. `from_scale` is exp(−‖x − z‖/σ).

    Examples
    --------
    >>> from assay.kernels import Laplacian
    >>> Laplacian(gamma=1.0).gram([[0.0, 0.0], [3.0, 4.0]]).round(4)
    array([[1.    , 0.0067],
           [0.0067, 1.    ]])

    References
    ----------
    Sangnier §1.4.2; Peyré (where it is printed with the squared norm, which is a Gaussian).
    """

    gamma: float | None = None
    rooted: ClassVar[bool] = True

    @classmethod
    def from_scale(cls, sigma: float) -> Self:
        """The kernel exp(−‖x − z‖/σ)."""
        return cls(gamma=1.0 / _width(cls.__name__, sigma))


def _width(owner: str, sigma: float) -> float:
    """Check a width σ > 0."""
    if not POSITIVE.contains(sigma):
        raise parameters.refusal(owner, "sigma", POSITIVE.words, sigma)
    return float(sigma)
