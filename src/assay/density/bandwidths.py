"""Choices of a bandwidth: rules of the scale, cross-validation, Sheather and Jones, bounds of the risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from assay.density.risk import ErrorBound, holder_bound, kernel_ucv, smooth_bound, ucv_of_sums
from assay.kernel_sums import (
    KernelSums,
    PairLags,
    SmoothingKernel,
    gaussian_pairs,
    legendre_kernel,
    pair_lags,
)
from assay.parameters import refusal

Array = NDArray[np.float64]

RULES = ("scott", "silverman", "ucv", "sheather-jones", "holder", "oracle")

PAIRS = 4096
"""Points up to which a Gaussian sums over all pairs; beyond, over the bins that they are shared between."""

LISTED_PAIRS = 1024
"""Points up to which all distances are listed, for any function of them."""

BINS_A_BANDWIDTH = 24
"""Bins that the smallest bandwidth tried spans."""

CURVE_SIZE = 50
"""Bandwidths tried by cross-validation."""


class Chosen(NamedTuple):
    """A bandwidth, and the curve it was chosen on (empty where there is none).

    `bandwidth` is a number, or one for each column; `grid` and `curve` are of one number that multiplies the
    bandwidths of the columns (for one column: the bandwidth itself).
    """

    bandwidth: Any
    grid: Array
    curve: Array
    bound: ErrorBound | None = None


def places_inside(curve: Array) -> int:
    """Places of the least point of a curve from the nearer end of its grid."""
    least = int(np.argmin(curve))
    return min(least, len(curve) - 1 - least)


NO_CURVE = np.empty(0)


def column_scales(X: Array, weight: Array) -> Array:
    """Standard deviations of the columns (divisor n − 1); a constant column has the mean of the others."""
    n = float(weight.sum())
    centred = X - (weight @ X) / n
    deviations = np.sqrt(weight @ (centred * centred) / max(n - 1.0, 1.0))
    # Rounding leaves a deviation to a constant column far from 0.
    is_constant = deviations <= 1e-12 * np.abs(X).max(axis=0)
    others = float(deviations[~is_constant].mean()) if not is_constant.all() else 0.0
    return np.where(is_constant, others, deviations)


def quantile(x: Array, weight: Array, share: float) -> float:
    """The quantile of numbers as often as their weights say, between neighbours linearly (R's type 7)."""
    order = np.argsort(x, kind="stable")
    counted = np.cumsum(weight[order])
    place = (counted[-1] - 1.0) * share
    lower = math.floor(place + 1e-9)
    last = len(x) - 1
    low, high = (x[order[min(int(np.searchsorted(counted, p + 0.5)), last)]] for p in (lower, lower + 1))
    return float(low + max(place - lower, 0.0) * (high - low))


def rule_factor(rule: str, n_samples: float, n_features: int) -> float:
    """What multiplies the scale of a column: Scott's n^{−1/(d+4)}, Silverman's (n(d + 2)/4)^{−1/(d+4)}."""
    size = n_samples if rule == "scott" else n_samples * (n_features + 2) / 4.0
    return float(size ** (-1.0 / (n_features + 4)))


def unbiased_cv(X: Array, weight: Array, kernel: SmoothingKernel, start: Array, grid: Any = None) -> Chosen:
    """Least-squares cross-validation: minimise J over multiples of a bandwidth, then between two of them."""
    n_features = X.shape[1]
    values = np.geomspace(0.05, 3.0, CURVE_SIZE) if grid is None else np.asarray(grid, dtype=np.float64)
    if n_features == 1:
        values = values * start[0] if grid is None else values
        criterion = _criterion_of_line(X[:, 0], weight, kernel, float(values.min()))
    else:
        criterion = _criterion_of_rows(X, weight, kernel, start)
    curve = np.array([criterion(float(value)) for value in values])
    least = int(np.argmin(curve))
    best = float(values[least])
    if 0 < least < len(values) - 1:
        best = _refined(criterion, best, float(np.log(values[least + 1] / values[least - 1])) / 2.0)
    return Chosen(best if n_features == 1 else best * start, values, curve)


def _refined(criterion: Callable[[float], float], best: float, step: float) -> float:
    """The vertex of parabolas through three points of a curve in log h, ever closer together.

    A search for the least value would end where rounding hides it, at another place for repeated rows.
    """
    for _ in range(3):
        low, middle, high = (criterion(best * math.exp(move)) for move in (-step, 0.0, step))
        curvature = low - 2.0 * middle + high
        if not curvature > 0.0:
            return best
        best *= math.exp(min(max(0.5 * step * (low - high) / curvature, -step), step))
        step /= 10.0
    return best


def _criterion_of_line(
    x: Array, weight: Array, kernel: SmoothingKernel, smallest: float
) -> Callable[[float], float]:
    """J of one column: of a Gaussian in closed form over all pairs of a few thousand points."""
    if kernel.shape != "gaussian" or not LISTED_PAIRS < len(x) <= PAIRS:
        lags = _lags(x, weight, smallest)
        return lambda h: kernel_ucv(kernel, lags, h)
    order = np.argsort(x, kind="stable")
    ordered, each, n = x[order] - x[order[0]], weight[order], float(weight.sum())
    own = float(each @ each)  # copies of one point are pairs at distance 0

    def criterion(h: float) -> float:
        wide, narrow = gaussian_pairs(ordered, each, h)
        squares = (own + 2.0 * wide) * float(kernel.convolution(0.0))
        return ucv_of_sums(squares, (own - n + 2.0 * narrow) * float(kernel(0.0)), n, h)

    return criterion


def _lags(x: Array, weight: Array, smallest: float) -> PairLags:
    spread = float(np.ptp(x))
    n_bins = int(min(max(BINS_A_BANDWIDTH * spread / smallest, 1024), 2**21)) + 2
    return pair_lags(x, weight, n_bins=n_bins, exact_up_to=LISTED_PAIRS if spread > 0 else len(x))


def _criterion_of_rows(
    X: Array, weight: Array, kernel: SmoothingKernel, start: Array
) -> Callable[[float], float]:
    """J of several columns, for a Gaussian: K * K is the Gaussian of bandwidth √2 h."""
    if kernel.shape != "gaussian":
        words = "a number or another rule for several columns, or the kernel 'gaussian'"
        raise refusal("KernelDensity", "bandwidth", words, "ucv")
    n = float(weight.sum())

    def criterion(multiple: float) -> float:
        wide = KernelSums(X, kernel, math.sqrt(2.0) * multiple * start, values=weight)
        narrow = KernelSums(X, kernel, multiple * start, values=weight)
        square = float(weight @ wide(X)) / (n * n)
        others = float(weight @ narrow(X)) - n * narrow.at_zero
        return square - 2.0 * others / (n * (n - 1.0))

    return criterion


def sheather_jones(x: Array, weight: Array) -> float:
    """The bandwidth of a Gaussian kernel that solves Sheather and Jones's equation.

    h = (R(K)/(n S(α(h))))^{1/5}, S an estimate of ∫p″² with a bandwidth that depends on h.
    """
    n, unit = float(weight.sum()), float(column_scales(x[:, np.newaxis], weight)[0])
    # In deviations: fifth and seventh powers of a bandwidth stay within the range of floats.
    return unit * _solved((x - x[0]) / unit, weight, n)


def _solved(x: Array, weight: Array, n: float) -> float:
    """The solution for numbers of unit deviation."""
    spread = (quantile(x, weight, 0.75) - quantile(x, weight, 0.25)) / 1.349
    scale = min(1.0, spread) if spread > 0 else 1.0
    lags = _lags(x, weight, 0.05 * scale * n ** (-0.2))

    def fourth(h: float) -> float:
        def term(d: Array) -> Array:
            square = (d / h) ** 2
            return (square * square - 6.0 * square + 3.0) * np.exp(-0.5 * square)

        return (lags.sum(term) + 3.0 * n) / (n * (n - 1.0) * h**5 * math.sqrt(2 * math.pi))

    def sixth(h: float) -> float:
        def term(d: Array) -> Array:
            square = (d / h) ** 2
            return (square**3 - 15.0 * square**2 + 45.0 * square - 15.0) * np.exp(-0.5 * square)

        return (lags.sum(term) - 15.0 * n) / (n * (n - 1.0) * h**7 * math.sqrt(2 * math.pi))

    third = -sixth(1.23 * scale * n ** (-1 / 9))
    if not third > 0:
        return rule_factor("silverman", n, 1)
    alpha = 1.357 * (max(fourth(1.24 * scale * n ** (-1 / 7)), 1e-300) / third) ** (1 / 7)

    def excess(h: float) -> float:
        roughness = fourth(alpha * h ** (5 / 7))
        return (1.0 / (2.0 * math.sqrt(math.pi) * n * roughness)) ** 0.2 - h if roughness > 0 else scale

    low, high = 0.01 * scale * n ** (-0.2), 3.0 * scale
    while excess(high) > 0 and high < 1e3 * scale:
        high *= 2.0
    if not excess(low) > 0 > excess(high):
        return rule_factor("silverman", n, 1)
    return float(optimize.brentq(excess, low, high, xtol=1e-12 * scale, rtol=1e-12))


def reference_bound(
    kernel: SmoothingKernel, scale: float, truth: Mapping[str, float] | None, rule: str
) -> ErrorBound:
    """The bound of the risk from what is known of p, or from a Gaussian of the same scale.

    `truth` names "sup" = ‖p‖∞, with "curvature" = ‖p″‖∞ for "oracle", or "beta" and "eta" for "holder".
    """
    known = dict(truth or {})
    peak = 1.0 / (scale * math.sqrt(2.0 * math.pi))
    sup = float(known.get("sup", peak))
    if rule == "oracle":
        return smooth_bound(kernel, sup, float(known.get("curvature", peak / scale**2)))
    beta = float(known.get("beta", 2.0))
    # Of a Gaussian p″ runs from −1 to 2e^{−3/2} times its peak over σ².
    eta = float(known.get("eta", (1.0 + 2.0 * math.exp(-1.5)) * peak / scale**2))
    return holder_bound(kernel, sup, beta, eta)


def holder_kernel(truth: Mapping[str, float] | None) -> SmoothingKernel:
    """The Legendre kernel of the order ⌊β⌋ that the Hölder class asks for."""
    return legendre_kernel(math.floor(float((truth or {}).get("beta", 2.0))))


def choose(
    rule: str, X: Array, weight: Array, kernel: SmoothingKernel, *, truth: Any = None, grid: Any = None
) -> Chosen:
    """The bandwidth by a rule.

    Parameters
    ----------
    rule : {"scott", "silverman", "ucv", "sheather-jones", "holder", "oracle"}
    X, weight : arrays of shape (n, d) and (n,)
    kernel : SmoothingKernel
    truth : mapping, optional
        See `reference_bound`.
    grid : array, optional
        Bandwidths tried by "ucv"; for several columns, multiples of Silverman's.
    """
    n, n_features = float(weight.sum()), X.shape[1]
    scales = column_scales(X, weight)
    if not np.all(scales > 0):
        raise refusal(
            "KernelDensity",
            "bandwidth",
            "a number where all rows are equal, as one sample is: they have no scale",
            rule,
        )
    if rule in ("scott", "silverman"):
        found: Any = rule_factor(rule, n, n_features) * scales
    elif rule == "ucv":
        return unbiased_cv(X, weight, kernel, rule_factor("silverman", n, n_features) * scales, grid)
    elif rule == "sheather-jones":
        # Of one column each, at the rate n^{−1/(d+4)} of a density of several.
        slower = n ** (0.2 - 1.0 / (n_features + 4))
        found = slower * np.array([_own(X[:, f], weight, scales[f]) for f in range(n_features)])
    else:
        if n_features > 1:
            raise refusal("KernelDensity", "bandwidth", "a number or another rule for several columns", rule)
        bound = reference_bound(kernel, float(scales[0]), truth, rule)
        return Chosen(bound.best_bandwidth(n), NO_CURVE, NO_CURVE, bound)
    return Chosen(float(found[0]) if n_features == 1 else found, NO_CURVE, NO_CURVE)


def _own(x: Array, weight: Array, scale: float) -> float:
    """The bandwidth of a column; a constant one has no equation to solve."""
    if np.ptp(x) <= 1e-9 * max(abs(float(x[0])), scale):
        return rule_factor("silverman", float(weight.sum()), 1) * scale
    return sheather_jones(x, weight)
