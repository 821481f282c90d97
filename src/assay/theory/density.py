"""Risks of density estimates: exact by quadrature, bounds, rates, the unbiased criterion, a limit theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, stats

from assay.density.histogram import imse
from assay.density.risk import ErrorBound, holder_bound, kernel_ucv, smooth_bound
from assay.kernel_sums import pair_lags, smoothing_kernel
from assay.parameters import Domain, integer, real, refusal, require
from assay.randomness import RandomState, generator

Array = NDArray[np.float64]

LAW = Domain("an object with pdf and cdf", lambda law: hasattr(law, "pdf") and hasattr(law, "cdf"))
SIZE = integer(at_least=2)
POSITIVE = real(above=0.0)

PIECES, NODES = 24, 16
"""Pieces of a quadrature over the reach of a kernel, and nodes of each."""


class HistogramRisk(NamedTuple):
    """Exact risk of a histogram.

    Attributes
    ----------
    bins : array of int
        Numbers of bins m.
    risk : array
        Ē(m), the mean integrated squared error.
    best : int
        The m of least risk.
    """

    bins: NDArray[np.int64]
    risk: Array
    best: int


def histogram_imse(
    law: Any, n_samples: int, bins: ArrayLike, *, support: tuple[float, float]
) -> HistogramRisk:
    """Exact mean integrated squared error of a histogram, for numbers of bins.

    Ē = ∫p² + Σ_j p_j(1 − p_j)/(nh) − Σ_j p_j²/h, h the width of a bin; the course prints 1/(mn) for 1/(nh).

    Parameters
    ----------
    law : object with `pdf` and `cdf`
        Such as a frozen distribution of SciPy, with its mass in the support.
    n_samples : int
    bins : int or array-like of int
    support : pair of float

    Examples
    --------
    >>> from scipy import stats
    >>> from assay.theory import histogram_imse
    >>> histogram_imse(stats.beta(2, 3), 50, [8], support=(0, 1)).risk.round(4)
    array([0.1573])

    References
    ----------
    Douc & Le Corff §2.1, Proposition 2.1.
    """
    owner = "histogram_imse"
    require(owner, LAW, law=law)
    require(owner, SIZE, n_samples=n_samples)
    grid = np.atleast_1d(np.asarray(bins, dtype=np.int64))
    if grid.min() < 1:
        raise refusal(owner, "bins", "ints at least 1", bins)
    risk = np.array([imse(law, n_samples, int(m), support) for m in grid])
    return HistogramRisk(grid, risk, int(grid[np.argmin(risk)]))


def histogram_mse(
    law: Any, n_samples: int, bins: int, x: ArrayLike, *, support: tuple[float, float]
) -> Array:
    """Exact mean squared error at points: p_j(1 − p_j)/(nh²) + (p_j/h − p(x))², j the bin of x.

    References
    ----------
    Douc & Le Corff §2.1, Proposition 2.1.
    """
    require("histogram_mse", LAW, law=law)
    edges = np.linspace(*support, bins + 1)
    at = np.asarray(x, dtype=np.float64)
    place = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, bins - 1)
    p, h = np.diff(law.cdf(edges))[place], edges[1] - edges[0]
    return p * (1 - p) / (n_samples * h * h) + (p / h - law.pdf(at)) ** 2


class MseBound(NamedTuple):
    """Bounds of the mean squared error of a kernel estimate at any point, for bandwidths.

    Attributes
    ----------
    bandwidths, variance, squared_bias, total : arrays
    best_bandwidth, least : float
        Where the total is least, over all bandwidths, and what it is there.
    rate : float
        Exponent of n in the least total.
    """

    bandwidths: Array
    variance: Array
    squared_bias: Array
    total: Array
    best_bandwidth: float
    least: float
    rate: float


def mse_bound(
    kernel: Any, n_samples: int, bandwidths: ArrayLike, *, sup: float, curvature: float | None = None,
    beta: float | None = None, eta: float | None = None,
) -> MseBound:  # fmt: skip
    """The bound c₁/(nh) + c₂h^{2β} of the mean squared error, and what it is made of.

    With ‖p″‖∞: β = 2 and c₂ = ¼‖p″‖∞²(∫u²|K|)². In the Hölder class (β, η), for a kernel of order ⌊β⌋:
    c₂ = (η∫|u|^β|K|/⌊β⌋!)². Always c₁ = ‖p‖∞∫K².

    Parameters
    ----------
    kernel : str, SmoothingKernel or callable
    n_samples : int
    bandwidths : array-like of positive numbers
    sup : float
        ‖p‖∞.
    curvature : float, optional
        ‖p″‖∞.
    beta, eta : float, optional
        Of the Hölder class, in place of `curvature`.

    Examples
    --------
    >>> from assay.theory import mse_bound
    >>> round(mse_bound("gaussian", 100, [0.5], sup=0.4, curvature=0.4).best_bandwidth, 4)
    0.3713

    References
    ----------
    Douc & Le Corff §2.2.1, Proposition 2.2; §2.2.2, Proposition 2.5.
    """
    owner, grid = "mse_bound", np.atleast_1d(np.asarray(bandwidths, dtype=np.float64))
    require(owner, SIZE, n_samples=n_samples)
    require(owner, POSITIVE, sup=sup)
    found = smoothing_kernel(kernel)
    if curvature is not None:
        require(owner, POSITIVE, curvature=curvature)
        bound = smooth_bound(found, sup, curvature)
    else:
        require(owner, POSITIVE, beta=beta, eta=eta)
        bound = holder_bound(found, sup, float(beta or 0.0), float(eta or 0.0))
        if found.order < int(bound.exponent):
            words = f"of order {int(bound.exponent)} or more, not {found.order}"
            raise refusal(owner, "kernel", words, found.name)
    return _bound_at(bound, grid, n_samples)


def _bound_at(bound: ErrorBound, grid: Array, n_samples: int) -> MseBound:
    variance, bias = bound.variance / (n_samples * grid), bound.bias * grid ** (2 * bound.exponent)
    best = bound.best_bandwidth(n_samples)
    return MseBound(grid, variance, bias, variance + bias, best, float(bound.at(best, n_samples)), bound.rate)


class KernelMse(NamedTuple):
    """Exact bias, variance and mean squared error of a kernel estimate at points."""

    bias: Array
    variance: Array
    mse: Array


def kernel_mse(law: Any, kernel: Any, n_samples: int, bandwidth: float, x: ArrayLike) -> KernelMse:
    """Exact bias and variance of a kernel estimate at points, by quadrature.

    E p̂(x) − p(x) = ∫K(u)(p(x + uh) − p(x))du, and Var p̂(x) = ((1/h)∫K²(u)p(x + uh)du − (E p̂(x))²)/n.

    Examples
    --------
    >>> from scipy import stats
    >>> from assay.theory import kernel_mse
    >>> kernel_mse(stats.norm(), "gaussian", 100, 0.5, [0.0]).bias.round(5)
    array([-0.04212])

    References
    ----------
    Douc & Le Corff §2.2.1.
    """
    owner = "kernel_mse"
    require(owner, LAW, law=law)
    require(owner, POSITIVE, bandwidth=bandwidth)
    found, at = smoothing_kernel(kernel), np.atleast_1d(np.asarray(x, dtype=np.float64))
    u, weights = _nodes(found)
    shifted = law.pdf(at[:, np.newaxis] + bandwidth * u)
    bias = (shifted - law.pdf(at)[:, np.newaxis]) @ (weights * found(u))
    square = shifted @ (weights * found(u) ** 2) / bandwidth
    variance = (square - (law.pdf(at) + bias) ** 2) / n_samples
    return KernelMse(bias, variance, bias**2 + variance)


def _nodes(kernel: Any) -> tuple[Array, Array]:
    """Nodes and weights of Gauss–Legendre on pieces of the support, cut at 0."""
    far = kernel.support if np.isfinite(kernel.support) else (12.0 if kernel.shape == "gaussian" else 40.0)
    ends = np.linspace(-far, far, 2 * PIECES + 1)
    nodes, weights = legendre.leggauss(NODES)
    half = (ends[1] - ends[0]) / 2
    return (ends[:-1, np.newaxis] + half * (nodes + 1)).ravel(), np.tile(half * weights, len(ends) - 1)


class RateExperiment(NamedTuple):
    """Exact mean squared errors at a point as n grows, at the bandwidths that minimise the bound.

    Attributes
    ----------
    n_samples, bandwidths, mse, bound : arrays
    slope : float
        Of log mse over log n.
    expected : float
        −2β/(2β + 1).
    """

    n_samples: NDArray[np.int64]
    bandwidths: Array
    mse: Array
    bound: Array
    slope: float
    expected: float


def density_rate(
    law: Any, kernel: Any, n_samples: ArrayLike, x: float, bound: Callable[[int], MseBound]
) -> RateExperiment:
    """The exact error at a point for growing n, each at the bandwidth of least bound, and its log-log slope.

    Parameters
    ----------
    law : object with `pdf` and `cdf`
    kernel : str, SmoothingKernel or callable
    n_samples : array-like of int
    x : float
    bound : callable
        The `MseBound` of a number of rows.

    References
    ----------
    Douc & Le Corff §2.2.1, §2.2.2.
    """
    sizes = np.asarray(n_samples, dtype=np.int64)
    bounds = [bound(int(n)) for n in sizes]
    widths = np.array([each.best_bandwidth for each in bounds])
    errors = [kernel_mse(law, kernel, int(n), h, [x]).mse[0] for n, h in zip(sizes, widths, strict=True)]
    least = np.array([each.least for each in bounds])
    slope = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
    return RateExperiment(sizes, widths, np.array(errors), least, slope, bounds[0].rate)


class CriterionCheck(NamedTuple):
    """Cross-validation beside the truth.

    Attributes
    ----------
    bandwidths : array
    mean, standard_error : arrays
        Of J over samples.
    truth : array
        Ē(h) − ∫p², by quadrature.
    """

    bandwidths: Array
    mean: Array
    standard_error: Array
    truth: Array


def unbiased_criterion(
    law: Any, kernel: Any, n_samples: int, bandwidths: ArrayLike, *, repeats: int = 200,
    interval: tuple[float, float], random_state: RandomState = None,
) -> CriterionCheck:  # fmt: skip
    """Draw samples of a law, and compare the mean of J(h) with the true error less ∫p².

    Parameters
    ----------
    law : frozen distribution of SciPy
        With `pdf`, `cdf` and `rvs`.
    kernel : str or SmoothingKernel
    n_samples : int
    bandwidths : array-like
    repeats : int, default=200
    interval : pair of float
        Outside which estimates are nothing, for the quadrature of the true error.
    random_state : int, Generator, SeedSequence, RandomState or None

    References
    ----------
    Douc & Le Corff §2.2.3, Proposition 2.6.
    """
    require("unbiased_criterion", SIZE, n_samples=n_samples, repeats=repeats)
    found, rng = smoothing_kernel(kernel), generator(random_state)
    grid, ones = np.asarray(bandwidths, dtype=np.float64), np.ones(n_samples)
    drawn = np.empty((repeats, len(grid)))
    for repeat in range(repeats):
        x = np.asarray(law.rvs(n_samples, random_state=rng))
        lags = pair_lags(x, ones, n_bins=2, exact_up_to=n_samples)
        drawn[repeat] = [kernel_ucv(found, lags, h) for h in grid]
    points = np.linspace(*interval, 4001)
    square = integrate.simpson(law.pdf(points) ** 2, x=points)
    truth = [
        integrate.simpson(kernel_mse(law, found, n_samples, h, points).mse, x=points) - square for h in grid
    ]
    error = drawn.std(axis=0, ddof=1) / np.sqrt(repeats)
    return CriterionCheck(grid, drawn.mean(axis=0), error, np.array(truth))


def binomial_distance(n_samples: int, probability: float) -> float:
    """sup_x |P((S − np)/√(np(1 − p)) ≤ x) − Φ(x)| for S binomial: exact, at the jumps and below them.

    Goes to 0 in a triangular array with np → ∞ and p bounded away from 1, at the rate 1/√(np(1 − p)).

    Examples
    --------
    >>> from assay.theory import binomial_distance
    >>> [round(binomial_distance(n, n**-0.5), 3) for n in (100, 10_000, 1_000_000)]
    [0.083, 0.027, 0.008]

    References
    ----------
    Douc & Le Corff §8.3.
    """
    require("binomial_distance", integer(at_least=1), n_samples=n_samples)
    require("binomial_distance", real(above=0.0, at_most=1.0 - 1e-12), probability=probability)
    spread = np.sqrt(n_samples * probability * (1 - probability))
    middle = n_samples * probability
    counts = np.arange(
        max(0, int(middle - 12 * spread - 2)), min(n_samples, int(middle + 12 * spread + 2)) + 1
    )
    after = stats.binom.cdf(counts, n_samples, probability)
    before = after - stats.binom.pmf(counts, n_samples, probability)
    limit = stats.norm.cdf((counts - middle) / spread)
    return float(max(np.abs(after - limit).max(), np.abs(before - limit).max()))
