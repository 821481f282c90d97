"""Laws of random frequencies: what a stationary kernel is the Fourier transform of (Bochner)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from assay.kernels import Gaussian, Laplacian
from assay.kernels.stationary import Stationary

Array = NDArray[np.float64]


class Frequencies(NamedTuple):
    """Random frequencies and phases, drawn from a seed.

    Attributes
    ----------
    weights : array of shape (n_features, n_components)
    offset : array of shape (n_components,)
        Phases, uniform on [0, 2π).
    """

    weights: Array
    offset: Array


def draw_frequencies(
    kernel: Stationary, n_features: int, n_components: int, *, orthogonal: bool, seed: int
) -> Frequencies:
    """Frequencies of the law of a kernel: always the same from the same seed.

    exp(−γ‖δ‖²) is the Fourier transform of N(0, 2γ I), and exp(−γ‖δ‖) that of the Cauchy law of scale γ: a
    Gaussian vector over the absolute value of one more Gaussian number. Orthogonal frequencies keep the law
    of each one; those of a group of n_features have random orthogonal directions and independent lengths.
    """
    rng = np.random.default_rng(seed)
    gaussian = rng.standard_normal((n_features, n_components))
    if orthogonal:
        lengths = np.linalg.norm(gaussian, axis=0)
        gaussian = lengths * _orthogonal_directions(n_features, n_components, rng)
    assert kernel.gamma is not None
    if isinstance(kernel, Gaussian):
        weights = np.sqrt(2.0 * kernel.gamma) * gaussian
    else:
        weights = kernel.gamma * gaussian / np.abs(rng.standard_normal(n_components))
    return Frequencies(weights, rng.uniform(0.0, 2.0 * np.pi, n_components))


def _orthogonal_directions(n_features: int, n_components: int, rng: np.random.Generator) -> Array:
    """Unit vectors, uniform on the sphere, orthogonal within each group of n_features."""
    n_groups = -(-n_components // n_features)
    bases, triangles = np.linalg.qr(rng.standard_normal((n_groups, n_features, n_features)))
    # Signs of the diagonals make the bases uniform among all orthogonal ones.
    bases *= np.where(np.diagonal(triangles, axis1=1, axis2=2) < 0, -1.0, 1.0)[:, None, :]
    return np.hstack(list(bases))[:, :n_components]


def squared_length_share(kernel: Stationary, weights: Array) -> Array:
    """The distribution function of the squared length, at each frequency: uniform on [0, 1] by the law."""
    n_features = weights.shape[0]
    squares = (weights.astype(np.float64) ** 2).sum(axis=0)
    assert kernel.gamma is not None
    if isinstance(kernel, Laplacian):
        return np.asarray(stats.f(n_features, 1).cdf(squares / (n_features * kernel.gamma**2)))
    return np.asarray(stats.chi2(n_features).cdf(squares / (2.0 * kernel.gamma)))


def largest_step(uniforms: Array) -> float:
    """Largest difference between an empirical distribution function and that of the uniform law."""
    ordered, n = np.sort(uniforms), len(uniforms)
    above = np.arange(1, n + 1) / n - ordered
    return float(max(above.max(), (1.0 / n - above).max()))


def mean_error_bound(at: Array, twice: Array, n_means: int, n_independent: int, *, delta: float) -> Array:
    """How far means of 2 cos(wᵀx + b) cos(wᵀz + b) may be from k(x − z), with chance 1 − δ for all pairs.

    The terms are within 2 of zero and have the variance 1/2 + (1 + k(2δ))/2 − k(δ)²: the smaller of
    Hoeffding's √(8 log(2m/δ)/D) and Bernstein's root, for m pairs.

    Parameters
    ----------
    at, twice : arrays of shape (n_pairs,)
        k(x − z) and k(2(x − z)).
    n_means : int
        Number m of pairs.
    n_independent : int
        Number D of independent terms: the frequencies, or groups of orthogonal ones.
    delta : float
    """
    level = np.log(2.0 * n_means / delta) / n_independent
    variance = np.maximum(0.5 + (1.0 + twice) / 2.0 - at**2, 0.0)
    linear = (2.0 + np.abs(at)) * level / 3.0
    bernstein = linear + np.sqrt(linear**2 + 2.0 * variance * level)
    return np.asarray(np.minimum(np.sqrt(8.0 * level), bernstein))
