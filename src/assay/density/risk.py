"""Risks of density estimates in closed form: what choices of bins and bandwidths minimise."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernel_sums import PairLags, SmoothingKernel

Array = NDArray[np.float64]


def histogram_risk(probabilities: Array, square_integral: float, n_samples: float, width: float) -> float:
    """Ē = ∫p² + Σ_j p_j(1 − p_j)/(nh) − Σ_j p_j²/h, the exact integrated risk of a histogram."""
    p = np.asarray(probabilities, dtype=np.float64)
    return float(square_integral + np.sum(p * (1.0 - p)) / (n_samples * width) - np.sum(p * p) / width)


def histogram_ucv(counts: Array, n_samples: float, volume: float) -> float:
    """J = 2/((n − 1)v) − (n + 1)/((n − 1)v) Σ_j (Z_j/n)², unbiased for Ē − ∫p², v the volume of a cell."""
    shares = np.asarray(counts, dtype=np.float64) / n_samples
    return float((2.0 - (n_samples + 1.0) * np.sum(shares * shares)) / ((n_samples - 1.0) * volume))


def kernel_ucv(kernel: SmoothingKernel, lags: PairLags, bandwidth: float) -> float:
    """J(h) = ∫p̂² − 2/(n(n − 1)h) Σ_{i≠j} K((X_i − X_j)/h), unbiased for Ē(h) − ∫p².

    ∫p̂² = (1/(n²h)) Σ_{i,j} (K * K)((X_i − X_j)/h), the pairs i = j included.
    """
    n, h = lags.n_points, bandwidth
    squares, votes = lags.sum(lambda d: kernel.convolution(d / h)), lags.sum(lambda d: kernel(d / h))
    return ucv_of_sums(squares + n * float(kernel.convolution(0.0)), votes, n, h)


def ucv_of_sums(squares: float, votes: float, n_samples: float, bandwidth: float) -> float:
    """J(h) of one column from Σ_{i,j} (K * K)((X_i − X_j)/h) and Σ_{i≠j} K((X_i − X_j)/h)."""
    n, h = n_samples, bandwidth
    return squares / (n * n * h) - 2.0 * votes / (n * (n - 1.0) * h)


class ErrorBound(NamedTuple):
    """𝓔(x) ≤ c₁/(nh) + c₂ h^{2β} for a kernel estimate, uniformly in x.

    Attributes
    ----------
    variance : float
        c₁ = ‖p‖∞ ∫K².
    bias : float
        c₂, the square of the factor of h^β in the bound of the bias.
    exponent : float
        β.
    """

    variance: float
    bias: float
    exponent: float

    def at(self, bandwidth: Any, n_samples: float) -> Any:
        """The bound at a bandwidth, or at several."""
        h = np.asarray(bandwidth, dtype=np.float64)
        return self.variance / (n_samples * h) + self.bias * h ** (2.0 * self.exponent)

    def best_bandwidth(self, n_samples: float) -> float:
        """H = (c₁/(2β c₂ n))^{1/(2β+1)}, where the bound is least."""
        beta = self.exponent
        return float((self.variance / (2.0 * beta * self.bias * n_samples)) ** (1.0 / (2.0 * beta + 1.0)))

    @property
    def rate(self) -> float:
        """The exponent of n in the least bound, −2β/(2β + 1)."""
        return -2.0 * self.exponent / (2.0 * self.exponent + 1.0)


def smooth_bound(kernel: SmoothingKernel, sup_density: float, sup_curvature: float) -> ErrorBound:
    """The bound for p twice differentiable: c₁ = ‖p‖∞∫K², c₂ = ¼‖p″‖∞²(∫u²|K|)², β = 2."""
    bias = 0.25 * sup_curvature**2 * kernel.absolute_moment(2) ** 2
    return ErrorBound(sup_density * kernel.square_integral, bias, 2.0)


def holder_bound(kernel: SmoothingKernel, sup_density: float, beta: float, eta: float) -> ErrorBound:
    """The bound for p in the Hölder class (β, η): c₂ = (η∫|u|^β|K|/⌊β⌋!)²."""
    factor = eta * kernel.absolute_moment(beta) / math.factorial(math.floor(beta))
    return ErrorBound(sup_density * kernel.square_integral, factor**2, beta)
