"""Whether classes are Gaussian with one covariance: Box's M, and shares of rows within normal quantiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from assay.certificates import Certificate, at_least, at_most
from assay.discriminant.gaussian.covariance import factored
from assay.discriminant.gaussian.moments import ClassMoments
from assay.rows import Block, Rows

Array = NDArray[np.float64]

LEVELS = np.arange(1, 20) / 20
"""Levels of the quantiles at which shares of rows are compared with those of the Gaussian law."""

DOUBT = 1e-3
"""Probability, under the assumption, of an alarm."""


class CovarianceTest(NamedTuple):
    """Box's test that K Gaussian classes have one covariance.

    Attributes
    ----------
    statistic : float
        M (1 − c), M = (n − K) log|S| − Σ_k (n_k − 1) log|S_k|.
    degrees_of_freedom : float
        (K − 1) d (d + 1)/2.
    pvalue : float
        By the χ² approximation.
    """

    statistic: float
    degrees_of_freedom: float
    pvalue: float


def box_m(moments: ClassMoments) -> CovarianceTest | None:
    """Box's M from the scatter of each class; None where a class has too few rows for it.

    Columns that vary in no class are left out.

    References
    ----------
    Wei §7.3 (likelihood ratio); Box (1949).
    """
    used, moving = moments.weight > 0, ~moments.constant
    weight = moments.weight[used]
    d, k = int(np.count_nonzero(moving)), len(weight)
    scatters = moments.scatters[used][:, moving][:, :, moving]
    if d == 0 or k < 2 or weight.min() <= d + 1 or len(scatters) != k:
        return None
    free = weight - 1
    signs, logs = np.linalg.slogdet(np.concatenate([scatters / free[:, None, None], _pooled(scatters, free)]))
    rank = factored(_pooled(scatters, free)[0], 1e-7).rank
    if rank < d or (signs <= 0).any():
        return None
    m = free.sum() * logs[-1] - float(free @ logs[:-1])
    scale = (2 * d * d + 3 * d - 1) / (6 * (d + 1) * (k - 1)) * ((1 / free).sum() - 1 / free.sum())
    degrees = (k - 1) * d * (d + 1) / 2
    statistic = float(m * (1 - scale))
    return CovarianceTest(statistic, degrees, float(chi2.sf(statistic, degrees)))


def _pooled(scatters: Array, free: Array) -> Array:
    return np.asarray((scatters.sum(axis=0) / free.sum())[None])


def covariance_certificate(moments: ClassMoments) -> list[Certificate]:
    """That the classes have one covariance, unless Box's test says otherwise."""
    test = box_m(moments)
    if test is None:
        return []
    claim = "The classes have one covariance as far as Box's test can tell (if not: a quadratic model)."
    source = "Wei §7.3; Box (1949)"
    return [at_least(claim, "p-value of Box's M", test.pvalue, DOUBT, source)]


def own_whitenings(moments: ClassMoments, tol: float) -> list[Array]:
    """Whitening of each class by its own covariance; of no columns where it has too few rows to judge it."""
    d = moments.means.shape[1]
    weight = np.where(moments.weight > 0, moments.weight, 1.0)
    covariances = moments.scatters / weight[:, None, None]
    enough = moments.weight > 3 * (d + 1)
    whitenings = zip(covariances, enough, strict=True)
    return [factored(matrix, tol).whitening if ok else np.zeros((d, 0)) for matrix, ok in whitenings]


def quantile_shares(data: Rows, means: Array, whitenings: list[Array]) -> tuple[Array, Array]:
    """Shares of the rows of each class within the ellipsoids that hold shares `LEVELS` of the Gaussian law.

    Returns
    -------
    shares : array of shape (K, 19)
    weight : array of shape (K,)
    """
    limits = np.array([chi2.ppf(LEVELS, max(whitening.shape[1], 1)) for whitening in whitenings])
    counts, weight = data.reduce(quantile_block, means, whitenings, limits)
    weight = np.where([whitening.shape[1] > 0 for whitening in whitenings], weight, 0.0)
    return counts / np.where(weight > 0, weight, 1.0)[:, None], weight


def quantile_block(block: Block, means: Array, whitenings: list[Array], limits: Array) -> tuple[Array, Array]:
    """Weights of the rows of each class within its ellipsoids, and of all of them, in one block."""
    assert block.y is not None
    codes, weights, X = block.y.astype(np.intp), block.weights, block.dense
    counts, total = np.zeros(limits.shape), np.zeros(len(means))
    for k in np.unique(codes):
        own = codes == k
        rows = (X[own] - means[k]) @ whitenings[k]
        distances = np.einsum("ij,ij->i", rows, rows)
        counts[k] = weights[own] @ (distances[:, None] <= limits[k])
        total[k] = weights[own].sum()
    return counts, total


def normality_certificate(shares: Array, weight: Array) -> Certificate:
    """That the rows of each class lie within its normal quantiles as often as they should."""
    used = weight > 0
    gaps = np.abs(shares - LEVELS).max(axis=1)[used]
    limits = np.sqrt(np.log(2 * np.count_nonzero(used) / DOUBT) / (2 * weight[used]))
    claim = "In each class, distances from its mean have the quantiles of the Gaussian law."
    source = "Sangnier §1.1.2; Dvoretzky–Kiefer–Wolfowitz"
    quantity = "largest gap of shares within normal quantiles, over its limit"
    return at_most(claim, quantity, float((gaps / limits).max(initial=0.0)), 1.0, source)
