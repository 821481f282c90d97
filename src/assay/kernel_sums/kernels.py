"""Smoothing kernels: even functions K(u) of integral 1, with the constants that theorems ask of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev, legendre, polynomial
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, special

Array = NDArray[np.float64]
Shape = Literal["polynomial", "gaussian", "exponential", "function"]

ROUNDING = 1e-9
"""How far the integral of a kernel may be from 1, and a moment that counts as zero from 0."""

HIGHEST = 40
"""Moments that the search for the order of a kernel looks at."""


@dataclass(frozen=True, eq=True)
class SmoothingKernel:
    """An even function K with ∫K = 1: one vote of height K(u) at a distance of u bandwidths.

    Parameters
    ----------
    name : str
        What it is called.
    shape : {"polynomial", "gaussian", "exponential", "function"}
        How it is computed: Σ_j c_j |u|^j for |u| < 1, exp(−u²/2)/√(2π), exp(−|u|)/2, or a function given.
    coefficients : tuple of float
        c_0, c_1, … of a polynomial.
    function : callable, optional
        Of an array; evaluated as it is.
    support : float
        K(u) = 0 where |u| is at least this.

    Examples
    --------
    >>> from assay.kernel_sums import smoothing_kernel
    >>> kernel = smoothing_kernel("epanechnikov")
    >>> kernel([0.0, 0.5, 2.0]), kernel.order, round(kernel.square_integral, 3)
    (array([0.75  , 0.5625, 0.    ]), 1, 0.6)

    References
    ----------
    Douc & Le Corff §2.2.1, Definition 2.4, §8.1.
    """

    name: str
    shape: Shape
    coefficients: tuple[float, ...] = ()
    function: Callable[[Any], Any] | None = field(default=None, compare=True)
    support: float = 1.0

    def __call__(self, u: ArrayLike) -> Array:
        """K(u), elementwise."""
        size = np.abs(np.asarray(u, dtype=np.float64))
        if self.shape == "gaussian":
            return np.exp(-0.5 * size * size) / math.sqrt(2 * math.pi)
        if self.shape == "exponential":
            return 0.5 * np.exp(-size)
        if self.function is not None:
            return np.asarray(self.function(np.asarray(u, dtype=np.float64)), dtype=np.float64)
        inside = size < 1.0
        return np.where(inside, polynomial.polyval(np.where(inside, size, 0.0), self.coefficients), 0.0)

    def integral_below(self, u: ArrayLike) -> Array:
        """∫ K over (−∞, u], elementwise."""
        values = np.asarray(u, dtype=np.float64)
        if self.shape == "gaussian":
            return np.asarray(special.ndtr(values))
        if self.shape == "exponential":
            half = 0.5 * np.exp(-np.abs(values))
            return np.where(values > 0, 1.0 - half, half)
        if self.function is not None:
            return np.vectorize(lambda x: self._integral(lambda v: float(self(v)), -self.support, x))(values)
        size = np.minimum(np.abs(values), 1.0)
        inside = polynomial.polyval(size, polynomial.polyint(self.coefficients))
        return np.asarray(0.5 + np.sign(values) * inside, dtype=np.float64)

    def moment(self, power: int) -> float:
        """∫ u^j K(u) du; zero for odd j, the kernel being even."""
        if self.function is not None:
            return self._integral(lambda u: u**power * float(self(u)))
        if power % 2:
            return 0.0
        if self.shape == "gaussian":
            return float(special.factorial2(power - 1)) if power else 1.0
        if self.shape == "exponential":
            return float(math.factorial(power))
        return 2.0 * math.fsum(c / (j + power + 1) for j, c in enumerate(self.coefficients))

    def absolute_moment(self, power: float) -> float:
        """∫ |u|^β |K(u)| du."""
        if self.shape == "gaussian":
            return float(2 ** (power / 2) * special.gamma((power + 1) / 2) / math.sqrt(math.pi))
        if self.shape == "exponential":
            return float(special.gamma(power + 1))
        if self.function is not None:
            return self._integral(lambda u: abs(u) ** power * abs(float(self(u))))
        ends = [0.0, *self._sign_changes, 1.0]
        primitive = [c / (j + power + 1) for j, c in enumerate(self.coefficients)]
        values = [math.fsum(p * end ** (j + power + 1) for j, p in enumerate(primitive)) for end in ends]
        return 2.0 * math.fsum(abs(after - before) for before, after in itertools.pairwise(values))

    @cached_property
    def square_integral(self) -> float:
        """∫ K²."""
        if self.shape == "gaussian":
            return 1.0 / (2.0 * math.sqrt(math.pi))
        if self.shape == "exponential":
            return 0.25
        if self.function is not None:
            return self._integral(lambda u: float(self(u)) ** 2)
        return float(
            2.0 * polynomial.polyval(1.0, polynomial.polyint(polynomial.polymul(*[self.coefficients] * 2)))
        )

    @cached_property
    def order(self) -> int:
        """The largest m with ∫u^j K = 0 for 1 ≤ j ≤ m."""
        return moments_of(self).order

    @cached_property
    def largest(self) -> float:
        """Sup |K|."""
        if self.shape in ("gaussian", "exponential"):
            return float(self(0.0))
        return float(np.abs(self._on_grid()).max())

    @cached_property
    def least(self) -> float:
        """The least value of K where it is not cut to 0."""
        return float(self._on_grid().min())

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether K ≥ 0, so that estimates are densities."""
        return self.shape in ("gaussian", "exponential") or bool(self._on_grid().min() >= -1e-12)

    @cached_property
    def is_decreasing(self) -> bool:
        """Whether K falls as |u| grows, so that distances bound it on both sides."""
        return self.function is None and bool(np.diff(self._on_grid()).max() <= 1e-12)

    @cached_property
    def largest_slope(self) -> float:
        """Sup |K′|; infinite where K jumps."""
        if self.shape == "gaussian":
            return math.exp(-0.5) / math.sqrt(2 * math.pi)
        if self.shape == "exponential":
            return 0.5
        jumps = abs(float(polynomial.polyval(1.0, self.coefficients))) > 1e-9 if self.coefficients else True
        return math.inf if jumps else self._largest_derivative(1)

    @cached_property
    def largest_curvature(self) -> float:
        """Sup |K″|; infinite where K or K′ jumps."""
        if self.shape == "gaussian":
            return 1.0 / math.sqrt(2 * math.pi)
        if self.shape != "polynomial" or not math.isfinite(self.largest_slope):
            return math.inf
        slopes = polynomial.polyval([0.0, 1.0], polynomial.polyder(self.coefficients))
        return math.inf if np.abs(slopes).max() > 1e-9 else self._largest_derivative(2)

    def radial_constant(self, n_features: int) -> float:
        """The factor c for which c K(‖u‖) has integral 1 over R^d."""
        if self.shape == "gaussian":
            return float((2 * math.pi) ** (-(n_features - 1) / 2))
        surface = 2.0 * math.pi ** (n_features / 2) / math.gamma(n_features / 2)
        if self.shape == "exponential":
            return 2.0 / (surface * math.gamma(n_features))
        return 1.0 / (surface * math.fsum(c / (j + n_features) for j, c in enumerate(self.coefficients)))

    def convolution(self, u: ArrayLike) -> Array:
        """(K * K)(u) = ∫ K(v) K(u − v) dv, elementwise."""
        size = np.abs(np.asarray(u, dtype=np.float64))
        if self.shape == "gaussian":
            return np.exp(-0.25 * size * size) / (2.0 * math.sqrt(math.pi))
        if self.shape == "exponential":
            return 0.25 * (1.0 + size) * np.exp(-size)
        if self.function is not None:
            reach = self.support
            return np.vectorize(
                lambda t: self._integral(lambda v: float(self(v)) * float(self(t - v)), t - reach, reach)
            )(size)
        near, far = self._convolution_pieces
        inside = np.minimum(size, 2.0)
        values = np.where(inside <= 1.0, near(np.minimum(inside, 1.0)), far(np.maximum(inside, 1.0)))
        return np.where(size < 2.0, values, 0.0)

    @cached_property
    def _convolution_pieces(self) -> tuple[chebyshev.Chebyshev, chebyshev.Chebyshev]:
        """K * K on [0, 1] and on [1, 2], where it is a polynomial: interpolated, hence exact."""
        degree = 2 * len(self.coefficients) - 1
        exact = np.vectorize(self._convolved)
        near, far = (chebyshev.Chebyshev.interpolate(exact, degree, domain=ends) for ends in ([0, 1], [1, 2]))
        return near, far

    def _convolved(self, t: float) -> float:
        """(K * K)(t) by Gauss–Legendre on the pieces where both factors are one polynomial: exact."""
        nodes, weights = legendre.leggauss(len(self.coefficients) + 1)
        ends = sorted({t - 1.0, 1.0, *(point for point in (0.0, t) if t - 1.0 < point < 1.0)})
        total = 0.0
        for low, high in itertools.pairwise(ends):
            v = 0.5 * (low + high) + 0.5 * (high - low) * nodes
            factors = polynomial.polyval(np.abs(v), self.coefficients) * polynomial.polyval(
                np.abs(t - v), self.coefficients
            )
            total += 0.5 * (high - low) * float(weights @ factors)
        return total

    def draw(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Numbers drawn from K, which must be non-negative."""
        if self.shape == "gaussian":
            return rng.standard_normal(n_samples)
        if self.shape == "exponential":
            return rng.laplace(size=n_samples)
        return rng.choice([-1.0, 1.0], n_samples) * self._radii(n_samples, rng, 1)

    def draw_radial(self, n_samples: int, n_features: int, rng: np.random.Generator) -> Array:
        """Vectors drawn from the radial form in d dimensions."""
        directions = rng.standard_normal((n_samples, n_features))
        if self.shape == "gaussian":
            return directions
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        if self.shape == "exponential":
            return directions * rng.gamma(n_features, size=(n_samples, 1))
        return directions * self._radii(n_samples, rng, n_features)[:, np.newaxis]

    def _radii(self, n_samples: int, rng: np.random.Generator, n_features: int) -> Array:
        """Radii of density proportional to K(r) r^(d−1) on [0, 1], by inversion on a grid."""
        grid = np.linspace(0.0, 1.0, 4097)
        powers = np.concatenate([np.zeros(n_features - 1), self.coefficients])
        primitive = polynomial.polyint(powers)
        mass = np.maximum.accumulate(polynomial.polyval(grid, primitive))
        wanted = rng.random(n_samples) * mass[-1]
        return np.interp(wanted, mass, grid)

    def _integral(
        self, function: Callable[[float], float], low: float | None = None, high: float | None = None
    ) -> float:
        """An integral over the support by adaptive quadrature, cut at 0."""
        low, high = -self.support if low is None else low, self.support if high is None else high
        if high <= low:
            return 0.0
        ends = [low, *([0.0] if low < 0.0 < high else []), high]
        parts = itertools.pairwise(ends)
        return math.fsum(
            integrate.quad(function, a, b, epsabs=1e-12, epsrel=1e-12, limit=200)[0] for a, b in parts
        )

    def _on_grid(self) -> Array:
        reach = self.support if math.isfinite(self.support) else 40.0
        return self(np.linspace(0.0, reach, 2049)[:-1])

    @cached_property
    def _sign_changes(self) -> list[float]:
        roots = polynomial.polyroots(np.trim_zeros(np.array(self.coefficients), "b"))
        real_roots = roots[np.abs(roots.imag) < 1e-9].real
        return sorted(float(root) for root in real_roots if 0.0 < root < 1.0 - 1e-6)

    def _largest_derivative(self, times: int) -> float:
        derivative = polynomial.polyder(self.coefficients, times)
        turning = np.trim_zeros(polynomial.polyder(derivative), "b")
        critical = polynomial.polyroots(turning) if len(turning) > 1 else np.empty(0)
        inside = [float(root.real) for root in critical if abs(root.imag) < 1e-9 and 0.0 < root.real < 1.0]
        return float(np.abs(polynomial.polyval(np.array([0.0, *inside, 1.0]), derivative)).max())


class KernelMoments(NamedTuple):
    """What `kernel_moments` finds: ∫u^j K for j = 0, 1, …, and the order that they show."""

    moments: Array
    order: int
    first_nonzero: float


def moments_of(kernel: SmoothingKernel, highest: int = HIGHEST) -> KernelMoments:
    """The moments of a kernel up to the first that is not zero."""
    moments = [kernel.moment(0)]
    for power in range(1, highest + 1):
        moments.append(kernel.moment(power))
        if abs(moments[-1]) > ROUNDING:
            return KernelMoments(np.array(moments), power - 1, moments[-1])
    return KernelMoments(np.array(moments), highest, math.nan)
