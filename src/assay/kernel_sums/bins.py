"""Kernel sums on the bins of a line: grids by Taylor series at bins, sums over pairs by their lags."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from assay.kernel_sums.line import GAUSSIAN_REACH
from assay.loops import compiled, exp, inlined
from assay.rows import ordered_map

Array = NDArray[np.float64]

MOST_BINS = 2**20
"""Bins of 32 bytes that a grid may be refined to."""

PIECE = 2**18
"""Points that one thread bins at a time."""

FOURTH_DERIVATIVE = 3.0 / math.sqrt(2.0 * math.pi)
"""sup|K⁗| of the Gaussian."""


class GridSums(NamedTuple):
    """Sums at equally spaced points, and how far each may be from the exact one."""

    points: Array
    sums: Array
    error: float


@inlined
def shared_place(value, low, inverse, last):  # type: ignore[no-untyped-def]
    """The lower of the two bins around a number, at most `last`, and the share of the upper one."""
    place = (value - low) * inverse
    bin_ = min(max(np.int64(np.floor(place)), 0), last)
    return bin_, min(max(place - bin_, 0.0), 1.0)


@compiled
def linear_bins(x, weight, low, step, masses):  # type: ignore[no-untyped-def]
    """Share each weight between the two bins around it; returns Σ w f(1 − f), f the share of the upper.

    A point outside the bins goes to the first or the last. No weights (an empty array) mean ones.
    """
    last, cross = masses.shape[0] - 2, 0.0
    inverse = 1.0 / step
    for i in range(x.shape[0]):
        bin_, share = shared_place(x[i], low, inverse, last)
        w = weight[i] if weight.shape[0] > 0 else 1.0
        masses[bin_] += w * (1.0 - share)
        masses[bin_ + 1] += w * share
        cross += w * share * (1.0 - share)
    return cross


@compiled
def moment_bins(x, weight, low, step, moments):  # type: ignore[no-untyped-def]
    """Add w, wt, wt², wt³ to the nearest bin of each point, t its distance from there in steps."""
    last, inverse = moments.shape[0] - 1, 1.0 / step
    for i in range(x.shape[0]):
        place = (x[i] - low) * inverse
        bin_ = min(max(np.int64(place + 0.5), 0), last)
        t = place - bin_
        w = weight[i] if weight.shape[0] > 0 else 1.0
        moments[bin_, 0] += w
        moments[bin_, 1] += w * t
        moments[bin_, 2] += w * t * t
        moments[bin_, 3] += w * t * t * t


@compiled
def dots_at(padded, votes, every, out):  # type: ignore[no-untyped-def]
    """Dot products of the votes with the bins from every so many places on."""
    for p in range(out.shape[0]):
        # A slice, not a sum of indices: that might be negative, and the compiler would not vectorise.
        total, window = 0.0, padded[p * every : p * every + votes.shape[0]]
        for j in range(window.shape[0]):
            total += window[j] * votes[j]
        out[p] = total


def taylor_error(bandwidth: float, step: float) -> float:
    """(δ/2)⁴/4! sup|K_h⁗| of a Gaussian: how far three derivatives at a bin may be from the kernel itself."""
    return (step / 2.0 / bandwidth) ** 4 / 24.0 * FOURTH_DERIVATIVE / bandwidth


def gaussian_grid(
    x: Array, weight: Array, bandwidth: float, points: Array, *, rtol: float = 1e-6
) -> GridSums:
    """Σ_i w_i K_h(p − x_i)/Σ w at the points p of an equally spaced grid, K Gaussian, in one walk over x.

    Each point goes to the nearest bin with its powers up to the third, so that the kernel around it is its
    Taylor series at the bin. The bins are so fine that the remainder (δ/2)⁴/4! sup|K_h⁗| is at most `rtol` of
    the mean height of a density over the grid, hence of its maximum.

    Parameters
    ----------
    x : array of shape (n,)
    weight : array of shape (n,) or (0,)
        Empty for ones.
    bandwidth : float
    points : array of shape (m,), increasing, equally spaced
        That span the data: points outside are further from the outermost bin than the error allows for.
    rtol : float, default=1e-6

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_sums import gaussian_grid
    >>> found = gaussian_grid(np.zeros(1), np.empty(0), 1.0, np.linspace(-3, 3, 7))
    >>> bool(abs(found.sums[3] - 1 / np.sqrt(2 * np.pi)) <= found.error <= 1e-6)
    True
    """
    coarse = (points[-1] - points[0]) / (len(points) - 1)
    mean_height = 1.0 / (points[-1] - points[0])
    needed = (taylor_error(bandwidth, coarse) / (rtol * mean_height)) ** 0.25
    finer = int(min(max(math.ceil(needed), 1), max(MOST_BINS // len(points), 1)))
    step = coarse / finer
    moments = _moments(x, weight, float(points[0]), step, (len(points) - 1) * finer + 1)
    reach = min(math.ceil(bandwidth * GAUSSIAN_REACH / step), len(moments) - 1)
    u = np.arange(reach, -reach - 1, -1) * (step / bandwidth)
    eta = step / bandwidth
    # (−δ)^p/p! K_h^(p)(u): derivatives of exp(−u²/2) are Hermite polynomials times itself.
    factors = [np.ones_like(u), eta * u, eta**2 / 2 * (u * u - 1), eta**3 / 6 * (u**3 - 3 * u)]
    votes = (
        np.stack(factors, axis=1)
        * (np.exp(-0.5 * u * u) / (math.sqrt(2 * math.pi) * bandwidth))[:, np.newaxis]
    )
    padded = np.zeros((len(moments) + 2 * reach, 4))
    padded[reach : reach + len(moments)] = moments / moments[:, 0].sum()
    sums = np.empty(len(points))
    dots_at(padded.ravel(), votes.ravel(), 4 * finer, sums)
    return GridSums(points, sums, taylor_error(bandwidth, step))


def _moments(x: Array, weight: Array, low: float, step: float, n_bins: int) -> Array:
    """`moment_bins` of pieces on threads, added in their order."""

    def one(start: int) -> Array:
        moments = np.zeros((n_bins, 4))
        part = slice(start, start + PIECE)
        moment_bins(x[part], weight[part], low, step, moments)
        return moments

    starts = range(0, len(x), PIECE)
    if len(x) <= PIECE:
        return one(0)
    return functools.reduce(np.add, ordered_map(one, starts))


class PairLags(NamedTuple):
    """Pairs of different points by their distance: Σ_{i≠j} w_i w_j f(|x_i − x_j|) = Σ_k counts[k] f(lags[k]).

    `n_points` is the sum of the weights: a weight of 2 is a point twice, at distance 0 of itself.
    """

    lags: Array
    counts: Array
    n_points: float

    def sum(self, function: Callable[[Array], Array]) -> float:
        """Σ over ordered pairs of different points of a function of their distance."""
        return float(self.counts @ function(self.lags))


@compiled
def gaussian_pairs(ordered, weight, bandwidth):  # type: ignore[no-untyped-def]
    """Σ_{i<j} w_i w_j exp(−d²/4) and Σ_{i<j} w_i w_j exp(−d²/2) over sorted points, d in bandwidths.

    The second is the square of the first: one exponential serves both. Points beyond the reach are nothing.
    """
    wide, narrow, stop, n_points = 0.0, 0.0, 0, ordered.shape[0]
    reach, factor = 1.5 * GAUSSIAN_REACH * bandwidth, -0.25 / (bandwidth * bandwidth)
    for i in range(n_points):
        while stop < n_points and ordered[stop] - ordered[i] <= reach:
            stop += 1
        x, both, squares = ordered[i], 0.0, 0.0
        others, weights = ordered[i + 1 : stop], weight[i + 1 : stop]
        for j in range(others.shape[0]):
            difference = others[j] - x
            vote = exp(factor * difference * difference)
            both += weights[j] * vote
            squares += weights[j] * vote * vote
        wide += weight[i] * both
        narrow += weight[i] * squares
    return wide, narrow


def pair_lags(x: Array, weight: Array, *, n_bins: int, exact_up_to: int) -> PairLags:
    """All distances of a few points; for many, those of the bins they are shared between, by an FFT.

    Parameters
    ----------
    x, weight : arrays of shape (n,)
    n_bins : int
        Bins of the range of `x`.
    exact_up_to : int
        Points up to which all pairs are listed.
    """
    total = float(weight.sum())
    if len(x) <= exact_up_to:
        upper = np.triu_indices(len(x), 1)
        lags = np.append(0.0, np.abs(x[upper[0]] - x[upper[1]]))
        same = float(weight @ weight - total)  # pairs among the copies of one point
        return PairLags(lags, np.append(same, 2.0 * weight[upper[0]] * weight[upper[1]]), total)
    low, high = float(x.min()), float(x.max())
    step = (high - low) / (n_bins - 1)
    masses = np.zeros(n_bins)
    cross = linear_bins(x, weight, low, step, masses)
    return lags_of_bins(masses, step, cross)


def lags_of_bins(masses: Array, step: float, cross: float) -> PairLags:
    """The lags of linearly binned points, without the pairs of each point with itself.

    `cross` is Σ w f(1 − f): each copy of a point meets itself with (1 − f)² + f² at lag 0 and f(1 − f) on
    either side.
    """
    total = float(masses.sum())
    length = fft.next_fast_len(2 * len(masses), real=True)
    spectrum = np.abs(fft.rfft(masses, length)) ** 2
    counts = np.array(fft.irfft(spectrum, length)[: len(masses)])
    counts[1:] *= 2.0
    counts[0] -= total - 2.0 * cross
    counts[1] -= 2.0 * cross
    return PairLags(np.arange(len(masses), dtype=np.float64) * step, counts, total)
