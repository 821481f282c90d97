"""Kernels of the distance between two rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.kernels.kernel import POSITIVE, ScaledKernel
from assay.kernels.series import exponential_features, exponential_tail, require_order_and_radius
from assay.kernels.tiles import (
    Fill,
    Matrix,
    Scratch,
    as_matrix,
    distance_tiles,
    exponential_tiles,
    fill_gram,
    in_range,
    scaled_exponential,
    squared_norms,
)
from assay.parameters import Domain, real, require


class OfDistance(ScaledKernel):
    """A universal kernel that is a function of ‖x − z‖, 1 at 0."""

    universal_on: ClassVar[str] = "compact sets"

    def diagonal(self, X: Any) -> NDArray:
        """See `Kernel.diagonal`."""
        X = as_matrix(X)
        return np.ones(X.shape[0], dtype=X.dtype)

    def supremum(self, radius: float = math.inf) -> float:
        """See `Kernel.supremum`: 1."""
        return 1.0


class Stationary(OfDistance):
    """A kernel exp(−γ ‖x − z‖²) or exp(−γ ‖x − z‖)."""

    rooted: ClassVar[bool] = False

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        return exponential_tiles(X, Z, -self._scale(X), rooted=self.rooted)

    def leaves_range(self, X: Matrix) -> bool:
        """Whether rows are so large or so close that squared distances leave the range of floats."""
        return in_range(X, X, self._scale(X))[2] != 1.0

    def gram_of_distances(self, squared: NDArray) -> NDArray:
        """The Gram matrix of rows from ‖x_i − x_j‖², which serve every scale."""
        factor, result = squared.dtype.type(-self._known_scale()), np.empty_like(squared)

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            np.copyto(tile, squared[rows, columns])
            if self.rooted:
                np.sqrt(tile, out=tile)
            scaled_exponential(tile, factor)

        fill_gram(fill, result)
        return result


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

    def truncation_error(self, order: int, radius: float) -> float:
        """The largest error of `taylor_features` over rows with ‖x‖ ≤ radius.

        With t = 2γ radius² it is e^{−t} Σ_{k > order} t^k / k!, the probability that a Poisson variable of
        mean t exceeds the order.
        """
        require_order_and_radius(order, radius)
        return exponential_tail(2.0 * self._known_scale() * float(radius) ** 2, order, damped=True)

    def square_integrable_feature(self, x: Any) -> Callable[[Any], NDArray]:
        """The feature φ_x of a row in L²(ℝ^d): ∫ φ_x(t) φ_z(t) dt = k(x, z).

        φ_x(t) = (4γ/π)^{d/4} e^{−2γ‖t − x‖²}, which is √2 (γ/π)^{1/4} e^{−2γ(t − x)²} for one column: an
        infinite-dimensional map. The function returned takes a table of points t, one per row.
        """
        center = np.atleast_1d(np.asarray(x, dtype=float))
        gamma = float(self.gamma or 1.0 / center.size)

        def feature(points: Any) -> NDArray:
            squares = squared_norms(as_matrix(points) - center)
            return (4.0 * gamma / math.pi) ** (center.size / 4) * np.exp(-2.0 * gamma * squares)

        return feature


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


LARGEST_NU = 30.0
"""Beyond, K_ν overflows for rows that are not yet equal; the kernel is close to its limit, a Gaussian."""

FAR = 700.0

_SMOOTHNESS = Domain(
    f"a number above 0 and at most {LARGEST_NU:g}, or inf",
    lambda value: real(above=0.0, at_most=LARGEST_NU).contains(value) or str(value) == "inf",
)


@dataclass(frozen=True)
class Matern(OfDistance):
    """k(x, z) = (2^{1−ν}/Γ(ν)) t^ν K_ν(t) with t = √(2ν) γ ‖x − z‖, K_ν the modified Bessel function.

    The functions of its RKHS are those of a Sobolev space, smoother as ν grows: ν = 1/2 is the Laplacian
    kernel e^{−t}, ν = 3/2 is (1 + t)e^{−t}, ν = 5/2 is (1 + t + t²/3)e^{−t}, and ν = ∞ is the limit, a
    Gaussian exp(−γ²‖x − z‖²/2).

    Parameters
    ----------
    nu : float above 0 and at most 30, or inf, default=1.5
        The smoothness ν; closed forms serve 1/2, 3/2, 5/2 and inf, the Bessel function the others.
    gamma : float above 0 or None, default=None
        One over the length scale; None means one over the number of features. `from_scale(ℓ)` is γ = 1/ℓ.

    Examples
    --------
    >>> from assay.kernels import Matern
    >>> Matern(1.5, gamma=1.0).gram([[0.0], [1.0]]).round(4)
    array([[1.    , 0.4834],
           [0.4834, 1.    ]])

    References
    ----------
    Rudi & Şimşekli §4.3 (translation-invariant kernels on ℝ^d).
    """

    nu: float = 1.5
    gamma: float | None = None

    def __post_init__(self) -> None:
        require("Matern", _SMOOTHNESS, nu=self.nu)
        super().__post_init__()

    @classmethod
    def from_scale(cls, length_scale: float, nu: float = 1.5) -> Self:
        """The kernel of a length scale ℓ, γ = 1/ℓ, as scikit-learn writes it."""
        require(cls.__name__, POSITIVE, length_scale=length_scale)
        return cls(nu=nu, gamma=1.0 / float(length_scale))

    def _open(self, X: Matrix, Z: Matrix) -> Fill:
        X, Z, unit = in_range(X, Z, self._scale(X))
        gamma, distances, scratch = self._scale(X) * unit, distance_tiles(X, Z), Scratch()
        farthest = math.sqrt(0.25 * float(np.finfo(X.dtype).max))

        def fill(rows: slice, columns: slice, tile: NDArray) -> None:
            distances(rows, columns, tile)
            if self.nu == math.inf:
                scaled_exponential(tile, tile.dtype.type(-0.5 * min(gamma, farthest) ** 2))
                return
            np.sqrt(tile, out=tile)
            tile *= tile.dtype.type(min(math.sqrt(2.0 * self.nu) * gamma, farthest))
            np.minimum(tile, tile.dtype.type(2 * FAR), out=tile)  # its square is a number, e to minus it 0
            if self.nu in (0.5, 1.5, 2.5):
                self._close(tile, scratch)
            else:
                tile[...] = self._bessel(tile.astype(np.float64))

        return fill

    def _close(self, t: NDArray, scratch: Scratch) -> None:
        factor = scratch.tile(t)
        if self.nu == 1.5:
            np.add(t, 1.0, out=factor)
        elif self.nu == 2.5:
            np.multiply(t, t.dtype.type(1.0 / 3.0), out=factor)
            factor += 1.0
            factor *= t
            factor += 1.0
        scaled_exponential(t, t.dtype.type(-1.0))
        if self.nu != 0.5:
            t *= factor

    def _bessel(self, t: NDArray) -> NDArray:
        scale = math.exp((1.0 - self.nu) * math.log(2.0) - math.lgamma(self.nu))
        with np.errstate(invalid="ignore", over="ignore"):
            value = t**self.nu
            value *= special.kv(self.nu, t)
        value *= scale
        # K_ν is infinite at 0, where the limit of the product is 1, and 0 to rounding beyond FAR. So near 0
        # that the product is 1 to rounding, t^ν and K_ν by themselves are not.
        value[
            np.isnan(value) | (value > 1.0) | (t < np.finfo(np.float64).eps ** (0.6 / min(self.nu, 1.0)))
        ] = 1.0
        value[t > FAR] = 0.0
        return value


def _width(owner: str, sigma: float) -> float:
    """Check a width σ > 0."""
    require(owner, POSITIVE, sigma=sigma)
    return float(sigma)
