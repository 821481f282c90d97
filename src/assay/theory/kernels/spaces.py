"""What a reproducing kernel Hilbert space holds: universality, density, continuous evaluation, membership."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.kernels import Kernel
from assay.parameters import integer, real, refusal, require
from assay.theory.least_squares import Array

N_GRID = 2001
ROUNDING = 1e-14
"""Eigenvalues below this share of the largest are rounding: fits leave their directions out."""


class InterpolationErrors(NamedTuple):
    """Result of `interpolation_errors`.

    Attributes
    ----------
    n_points : array of int of shape (k,)
    error : array of shape (k,)
        The largest |f(x) − target(x)| over the interval.
    rank : array of int of shape (k,)
        How many directions of the Gram matrix are above rounding: as many as points where they can all be
        interpolated.
    universal_on : str
        What the kernel says of itself.
    """

    n_points: NDArray[np.int64]
    error: Array
    rank: NDArray[np.int64]
    universal_on: str


def interpolation_errors(
    kernel: Kernel,
    target: Callable[[Array], ArrayLike],
    n_points: Sequence[int],
    *,
    interval: tuple[float, float] = (-1.0, 1.0),
) -> InterpolationErrors:
    """Interpolate a continuous function at more and more points, and measure the error between them.

    The interpolant is the function of least norm of the RKHS with the values of the target at n Chebyshev
    points; where the kernel has fewer features than points it is the nearest one in least squares. The error
    falls towards 0 for a universal kernel; for a polynomial one it cannot fall below the error of the best
    polynomial of its degree.

    Parameters
    ----------
    kernel : Kernel
    target : callable
        A continuous function of an array of numbers.
    n_points : sequence of int
    interval : (float, float), default=(-1, 1)

    Examples
    --------
    >>> from assay.kernels import Gaussian, Polynomial
    >>> from assay.theory import interpolation_errors
    >>> interpolation_errors(Gaussian(10.0), abs, [4, 8, 16, 32]).error.round(2)
    array([0.15, 0.11, 0.06, 0.03])
    >>> interpolation_errors(Polynomial(3, 1.0), abs, [4, 8, 16, 32]).error.round(1)
    array([0.3, 0.2, 0.2, 0.2])

    References
    ----------
    Sangnier §1.4.2, Definition 1.4.4 and Example 1.4.5.
    """
    sizes = np.array([_count("interpolation_errors", n) for n in n_points], dtype=np.int64)
    middle, half = _interval("interpolation_errors", interval)
    grid = middle + half * np.linspace(-1.0, 1.0, N_GRID)
    truth, errors, ranks = np.asarray(target(grid), dtype=float), [], []
    for size in sizes:
        points = middle + half * _chebyshev(int(size))
        values, vectors = np.linalg.eigh(kernel.gram(points[:, None]))
        kept = values > ROUNDING * values[-1]
        along = vectors[:, kept].T @ np.asarray(target(points), dtype=float)
        coef = vectors[:, kept] @ (along / values[kept])
        errors.append(float(np.abs(kernel.apply(grid[:, None], points[:, None], coef) - truth).max()))
        ranks.append(int(kept.sum()))
    return InterpolationErrors(sizes, np.array(errors), np.array(ranks), kernel.universal_on)


class DensityErrors(NamedTuple):
    """Result of `density_errors`.

    Attributes
    ----------
    penalties : array of shape (k,)
        λ.
    error : array of shape (k,)
        The largest |f_λ(x) − target(x)| over the interval.
    norm : array of shape (k,)
        ‖f_λ‖, which grows without bound for a target outside the RKHS.
    """

    penalties: Array
    error: Array
    norm: Array


def density_errors(
    kernel: Kernel,
    target: Callable[[Array], ArrayLike],
    penalties: ArrayLike,
    *,
    n_points: int = 400,
    interval: tuple[float, float] = (-0.95, 0.95),
) -> DensityErrors:
    """Fit a continuous function by kernel ridge without noise, with smaller and smaller penalties.

    f_λ minimises (1/n) Σ (target(x_i) − f(x_i))² + λ‖f‖² over n Chebyshev points. A space that is dense in
    the continuous functions comes as near as one likes as λ falls, though the target, such as |x| in a space
    of analytic functions, is not in it: its norm then grows for ever.

    Parameters
    ----------
    kernel : Kernel
    target : callable
        A continuous function of an array of numbers.
    penalties : array-like of numbers above 0
        λ, on the mean of squares.
    n_points : int, default=400
    interval : (float, float), default=(-0.95, 0.95)
        A compact set; inside ]−1, 1[ for the geometric kernel.

    Examples
    --------
    >>> from assay.kernels import Geometric
    >>> from assay.theory import density_errors
    >>> density_errors(Geometric(), abs, [1e-2, 1e-4, 1e-8, 1e-12]).error.round(2)
    array([0.23, 0.11, 0.05, 0.04])

    References
    ----------
    Rudi & Şimşekli §4.2.
    """
    owner = "density_errors"
    strengths = np.atleast_1d(np.asarray(penalties, dtype=float))
    if not all(real(above=0.0).contains(float(value)) for value in strengths):
        raise refusal(owner, "penalties", "numbers above 0", penalties)
    middle, half = _interval(owner, interval)
    points = middle + half * _chebyshev(_count(owner, n_points))
    grid = middle + half * np.linspace(-1.0, 1.0, N_GRID)
    values, vectors = np.linalg.eigh(kernel.gram(points[:, None]))
    kept = values > ROUNDING * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    along = vectors.T @ np.asarray(target(points), dtype=float)
    shares = along[:, None] / (values[:, None] + points.size * strengths)
    fitted = kernel.apply(grid[:, None], points[:, None], vectors @ shares)
    error = np.abs(fitted - np.asarray(target(grid), dtype=float)[:, None]).max(axis=0)
    return DensityErrors(strengths, error, np.sqrt(values @ shares**2))


class PowerSequence(NamedTuple):
    """Result of `power_sequence`: ∫₀¹ xⁿ dx and the value of xⁿ at 1."""

    orders: NDArray[np.int64]
    l1_norm: Array
    value_at_one: Array


def power_sequence(orders: Sequence[int]) -> PowerSequence:
    """The functions xⁿ on [0, 1]: they vanish in L¹ and stay 1 at x = 1.

    In a reproducing kernel Hilbert space convergence in norm is convergence of values,
    |f(x)| ≤ ‖f‖ √k(x, x); here it is not, and L¹ is no such space.

    Examples
    --------
    >>> from assay.theory import power_sequence
    >>> power_sequence([1, 9, 99]).l1_norm
    array([0.5 , 0.1 , 0.01])

    References
    ----------
    Sangnier §1.4.2, Proposition 28.
    """
    exponents = np.array([_count("power_sequence", n) for n in orders], dtype=np.int64)
    l1_norm = 1.0 / (exponents.astype(np.float64) + 1.0)
    return PowerSequence(exponents, l1_norm, np.ones(exponents.size))


class MembershipSums(NamedTuple):
    """Result of `membership_sums`: two partial sums of a series Σ_i α_i k(·, x_i).

    Attributes
    ----------
    squared_norm : array of shape (n,)
        ‖Σ_{i ≤ m} α_i k(·, x_i)‖² = Σ_{i, j ≤ m} α_i α_j k(x_i, x_j): the series is a function of the RKHS if
        its partial sums converge in norm, and then these stay bounded.
    diagonal : array of shape (n,)
        Σ_{i ≤ m} α_i² k(x_i, x_i), which the course prints as the criterion.
    last_step : array of shape (n,)
        ‖f_n − f_m‖, the distance to the last partial sum: it must become small.
    """

    squared_norm: Array
    diagonal: Array
    last_step: Array


def membership_sums(kernel: Kernel, points: Any, coefficients: ArrayLike) -> MembershipSums:
    """Follow the norm of the partial sums of Σ_i α_i k(·, x_i), beside the sum Σ α_i² k(x_i, x_i).

    One point repeated with α_i = 1/i has a convergent Σ α_i² k(x_i, x_i) = Σ 1/i² and a divergent series
    (Σ 1/i) k(·, x); with α_i = (−1)^i/√i it is the other way round.

    Parameters
    ----------
    kernel : Kernel
    points : array of shape (n, n_features)
    coefficients : array-like of shape (n,)
        α.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian
    >>> from assay.theory import membership_sums
    >>> sums = membership_sums(Gaussian(), np.zeros((100, 1)), 1 / np.arange(1, 101))
    >>> sums.diagonal[[9, 99]].round(2), sums.squared_norm[[9, 99]].round(1)
    (array([1.55, 1.63]), array([ 8.6, 26.9]))

    References
    ----------
    Sangnier §1.4.2, Corollary 31 (whose criterion is the second sum).
    """
    gram, alpha = kernel.gram(points), np.asarray(coefficients, dtype=float)
    if alpha.shape != (gram.shape[0],):
        words = f"one number per point, shape ({gram.shape[0]},)"
        raise refusal("membership_sums", "coefficients", words, coefficients)
    terms = alpha[:, None] * gram * alpha
    corner = terms.cumsum(axis=0).cumsum(axis=1)
    squared = np.diag(corner)
    last = np.maximum(squared[-1] - 2.0 * corner[-1] + squared, 0.0)
    return MembershipSums(squared.copy(), np.cumsum(np.diag(terms)), np.sqrt(last))


def _chebyshev(n: int) -> Array:
    """The zeros of the Chebyshev polynomial of degree n, in ]−1, 1[."""
    return np.cos(np.pi * (np.arange(n) + 0.5) / n)


def _count(owner: str, n: Any) -> int:
    require(owner, integer(at_least=1), n_points=n)
    return int(n)


def _interval(owner: str, interval: tuple[float, float]) -> tuple[float, float]:
    """Middle and half-length."""
    if len(interval) != 2 or not all(map(real().contains, interval)) or interval[0] >= interval[1]:
        raise refusal(owner, "interval", "two finite numbers, the smaller one first", interval)
    low, high = map(float, interval)
    return (low + high) / 2, (high - low) / 2
