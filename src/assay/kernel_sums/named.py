"""Kernels by name, Legendre kernels of any order, and kernels made of functions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from scipy import integrate

from assay.kernel_sums.kernels import HIGHEST, KernelMoments, SmoothingKernel, moments_of
from assay.parameters import Domain, integer, real, refusal, require

POSITIVE_OR_INFINITE = real(above=0.0) | Domain("infinity", lambda value: value == math.inf)


def kernel_moments(kernel: Any, *, highest: int = HIGHEST) -> KernelMoments:
    """The moments ∫u^j K up to the first that is not zero, and the order: how many after the first vanish.

    Parameters
    ----------
    kernel : SmoothingKernel, str or callable
        See `smoothing_kernel`.
    highest : int, default=40
        Moments looked at.

    Examples
    --------
    >>> from assay.kernel_sums import kernel_moments, legendre_kernel
    >>> found = kernel_moments(legendre_kernel(2))
    >>> found.order, round(found.first_nonzero, 6)
    (3, -0.085714)
    """
    return moments_of(smoothing_kernel(kernel), highest)


MOST_POWERS = 20
"""Order up to which the powers of a Legendre kernel keep ten digits."""


@dataclass(frozen=True)
class LegendreSeries:
    """Σ_m c_m P_m(u) on (−1, 1), by the recurrence of the polynomials."""

    coefficients: tuple[float, ...]

    def __call__(self, u: Any) -> Any:
        """The series where |u| < 1, else 0."""
        inside = np.abs(u) < 1.0
        return np.where(inside, legendre.legval(np.where(inside, u, 0.0), self.coefficients), 0.0)


@lru_cache(maxsize=64)
def legendre_kernel(order: int) -> SmoothingKernel:
    """The kernel K_ℓ(u) = Σ_{m≤ℓ} φ_m(0) φ_m(u) on (−1, 1), of order ℓ: φ are orthonormal polynomials.

    Being even, K_{2j} = K_{2j+1}; ∫K² = K(0). From order 2 on it takes negative values.

    Parameters
    ----------
    order : int from 0 to 38
        ℓ. Up to 20 the kernel is a polynomial, whose sums are fast; beyond, powers of u lose their digits,
        and it is a function of the orthonormal polynomials.

    Examples
    --------
    >>> from assay.kernel_sums import legendre_kernel
    >>> legendre_kernel(2).coefficients
    (1.125, 0.0, -1.875)

    References
    ----------
    Douc & Le Corff §8.1.
    """
    require("legendre_kernel", integer(at_least=0), order=order)
    if order > HIGHEST - 2:
        raise refusal("legendre_kernel", "order", f"an int from 0 to {HIGHEST - 2}", order)
    at_zero = [float(legendre.legval(0.0, [0.0] * m + [1.0])) for m in range(order + 1)]
    series = [(2 * m + 1) / 2 * value for m, value in enumerate(at_zero)]
    if order > MOST_POWERS:
        return SmoothingKernel(f"legendre({order})", "function", function=LegendreSeries(tuple(series)))
    powers = legendre.leg2poly(series)
    powers[1::2] = 0.0
    return SmoothingKernel(
        f"legendre({order})", "polynomial", tuple(float(c) for c in np.trim_zeros(powers, "b"))
    )


def _cosine() -> SmoothingKernel:
    """(π/4) cos(πu/2) on (−1, 1) by its Taylor series, whose terms past u^26 are below rounding."""
    terms = [0.0] * 27
    for k in range(14):
        terms[2 * k] = math.pi / 4 * (-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k)
    return SmoothingKernel("cosine", "polynomial", tuple(terms))


def _named(name: str, *coefficients: float) -> SmoothingKernel:
    return SmoothingKernel(name, "polynomial", coefficients)


NAMED: dict[str, SmoothingKernel] = {
    "gaussian": SmoothingKernel("gaussian", "gaussian", support=math.inf),
    "epanechnikov": _named("epanechnikov", 0.75, 0.0, -0.75),
    "uniform": _named("uniform", 0.5),
    "triangular": _named("triangular", 1.0, -1.0),
    "biweight": _named("biweight", 15 / 16, 0.0, -15 / 8, 0.0, 15 / 16),
    "exponential": SmoothingKernel("exponential", "exponential", support=math.inf),
    "cosine": _cosine(),
}
NAMED |= {"tophat": NAMED["uniform"], "linear": NAMED["triangular"]}
"""Kernels by name; "tophat" and "linear" are what scikit-learn calls two of them."""

KERNEL_NAMES = tuple(NAMED)


def smoothing_kernel(kernel: Any, *, support: float = math.inf) -> SmoothingKernel:
    """A kernel from its name, from itself, or from a function of an array, which is checked.

    Parameters
    ----------
    kernel : str, SmoothingKernel or callable
        A function must be even, of integral 1 and of a finite square; both are measured by quadrature.
    support : float, default=inf
        Beyond which |u| a function is zero.

    Examples
    --------
    >>> from assay.kernel_sums import smoothing_kernel
    >>> smoothing_kernel(lambda u: 1.0 + 0 * u, support=1.0)
    Traceback (most recent call last):
    assay.parameters.ParameterError: The 'kernel' parameter of smoothing_kernel must be ...
    """
    if isinstance(kernel, SmoothingKernel):
        return kernel
    if isinstance(kernel, str) and kernel in NAMED:
        return NAMED[kernel]
    owner = "smoothing_kernel"
    if isinstance(kernel, str) or not callable(kernel):
        raise refusal(owner, "kernel", f"a SmoothingKernel, a function or one of {', '.join(NAMED)}", kernel)
    require(owner, POSITIVE_OR_INFINITE, support=support)
    return _checked(kernel, support)


@lru_cache(maxsize=64)
def _checked(function: Callable[[Any], Any], support: float) -> SmoothingKernel:
    name = getattr(function, "__name__", "function")
    kernel = SmoothingKernel(name, "function", function=function, support=support)
    points = np.linspace(0.0, min(support, 8.0), 257)[:-1]
    try:
        ahead, behind = kernel(points), kernel(-points)
    except (TypeError, ValueError) as error:
        raise refusal("smoothing_kernel", "kernel", "a function of an array", function) from error
    if ahead.shape != points.shape or not np.allclose(ahead, behind, rtol=1e-9, atol=1e-12):
        raise refusal("smoothing_kernel", "kernel", "an even function of an array", function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)  # the refusal says it
        total = kernel.moment(0)
    if not abs(total - 1.0) <= 1e-6:
        words = f"a function of integral 1 (its integral is {total:.6g}; divide by it)"
        raise refusal("smoothing_kernel", "kernel", words, function)
    return kernel
