"""The moving window: counts, exact variance, convergence, confidence intervals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from assay.density import EmpiricalDistribution, KernelDensity, MovingWindowDensity
from assay.theory import binomial_distance


@pytest.mark.spec("douc/M2.3")
def test_the_half_open_window_is_a_difference_of_distribution_functions():
    x = np.random.default_rng(0).integers(0, 12, 80) / 4.0  # a lattice: borders matter
    Q = np.arange(-1, 5, 0.25)[:, None]
    steps = EmpiricalDistribution().fit(x[:, None])
    h = 0.5
    model = MovingWindowDensity(bandwidth=h, window="half_open").fit(x[:, None])
    assert_allclose(model.pdf(Q), (steps.cdf(Q[:, 0] + h) - steps.cdf(Q[:, 0] - h)) / (2 * h), atol=1e-14)
    kernel = np.array([(((x - q) / h > -1) & ((x - q) / h <= 1)).mean() / (2 * h) for q in Q[:, 0]])
    assert_allclose(model.pdf(Q), kernel, atol=1e-14)
    opened = MovingWindowDensity(bandwidth=h).fit(x[:, None])
    assert_allclose(
        opened.pdf(Q), KernelDensity(kernel="uniform", bandwidth=h).fit(x[:, None]).pdf(Q), atol=1e-14
    )
    assert np.any(opened.pdf(Q) < model.pdf(Q) - 1e-3)


@pytest.mark.spec("douc/M8.3")
def test_counts_are_binomial_and_the_error_vanishes():
    rng, n, h, x = np.random.default_rng(1), 200, 0.3, 0.4
    q = stats.norm.cdf(x + h) - stats.norm.cdf(x - h)
    counts = []
    for _ in range(800):
        model = MovingWindowDensity(bandwidth=h).fit(rng.standard_normal((n, 1)))
        counts.append(round(2 * n * h * model.pdf([[x]])[0], 8))
    assert_allclose(counts, np.round(counts))
    assert stats.kstest(np.array(counts) + rng.random(800) - 0.5, _smoothed(stats.binom(n, q))).pvalue > 0.01
    variance = np.var(counts) / (2 * n * h) ** 2
    assert abs(variance / (q * (1 - q) / (4 * n * h**2)) - 1) < 4 * np.sqrt(2 / 800)
    assert q * (1 - q) / (4 * n * h**2) <= q / (4 * n * h**2)
    share = model.pdf([[x]])[0] * 2 * h
    assert_allclose(model.pdf_variance([[x]]), share * (1 - share) / (4 * n * h**2))

    # E(p̂ − p)² = q̃(1 − q̃)/(4nh²) + (q̃/2h − p)², exactly, falls to zero where h → 0 and nh → ∞ and only there.
    def error(n, h):
        q = stats.norm.cdf(x + h) - stats.norm.cdf(x - h)
        return q * (1 - q) / (4 * n * h**2) + (q / (2 * h) - stats.norm.pdf(x)) ** 2

    assert_allclose(
        np.mean((np.array(counts) / (2 * n * h) - stats.norm.pdf(x)) ** 2), error(n, h), rtol=0.25
    )
    assert error(10**6, 10**-1.5) < 1e-4 < 1e-3 < min(error(10**6, 1.0), error(10**6, 1e-6))


def _smoothed(law):
    """The distribution function of a count moved by a uniform number of mean zero."""

    def cdf(x):
        below = np.floor(x + 0.5)
        return law.cdf(below - 1) + (x + 0.5 - below) * law.pmf(below)

    return cdf


def coverage_of(n, repeats, seed, *, exponent=0.4, x=0.0, **options):
    rng, hits = np.random.default_rng(seed), []
    for _ in range(repeats):
        model = MovingWindowDensity(bandwidth=n**-exponent).fit(rng.standard_normal((n, 1)))
        _, low, high = model.pdf_interval([[x]], 0.95, **options)
        hits.append(low[0] <= stats.norm.pdf(x) <= high[0])
    return np.mean(hits)


@pytest.mark.spec("douc/M8.4")
def test_intervals_cover_where_the_window_is_small_and_not_where_it_is_wide():
    covered = coverage_of(2000, 500, 0)
    assert abs(covered - 0.953) < 4 * np.sqrt(0.05 * 0.95 / 500)
    binomial = coverage_of(2000, 300, 1, variance="binomial")
    assert abs(binomial - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 300)
    with pytest.warns(UserWarning, match="too wide for an unbiased interval"):
        assert coverage_of(2000, 100, 2, exponent=0.05) < 0.3
    # A bound M h/2 of the bias, M = max|p′|, brings the coverage back.
    with pytest.warns(UserWarning, match="too wide"):
        assert coverage_of(2000, 100, 2, exponent=0.05, slope=stats.norm.pdf(1.0)) > 0.9
    model = MovingWindowDensity(bandwidth=0.1).fit(np.random.default_rng(3).standard_normal((500, 1)))
    pdf, low, high = model.pdf_interval([[0.0]], 0.9)
    half = stats.norm.ppf(0.95) * np.sqrt(pdf / (2 * 500 * 0.1))
    assert_allclose([low, high], [pdf - half, pdf + half])
    narrow = model.pdf_interval([[0.0]], 0.9, variance="binomial")
    assert_allclose(narrow.high - pdf, half * np.sqrt(1 - 2 * 0.1 * pdf))
    assert_allclose(model.pdf_interval([[0.0]], 0.9, slope=2.0).high - high, 0.1)


@pytest.mark.spec("douc/M8.4")
def test_nh3_must_go_to_zero_and_not_to_infinity():
    """The statement asks for nh³ → 0; its proof prints nh³ → +∞, where the bias drowns the interval."""
    x, z = 1.0, []
    for exponent in (0.45, 0.2):  # nh³ → 0, and nh³ → ∞
        n = 10**7
        h = n**-exponent
        bias = (stats.norm.cdf(x + h) - stats.norm.cdf(x - h)) / (2 * h) - stats.norm.pdf(x)
        # Of a window that is not symmetric, (x, x + 2h), whose bias is of the order h as in the proof.
        skew = (stats.norm.cdf(x + 2 * h) - stats.norm.cdf(x)) / (2 * h) - stats.norm.pdf(x)
        assert abs(bias) <= abs(skew) <= stats.norm.pdf(1.0) * h * 1.01
        z.append(abs(skew) * np.sqrt(2 * n * h / stats.norm.pdf(x)))
    assert z[0] < 1 < 10 < z[1]


def test_an_oversmoothed_window_fails_its_certificate():
    X = np.random.default_rng(4).standard_normal((300, 1))
    assert MovingWindowDensity().fit(X).certificates_.holds
    assert not MovingWindowDensity(bandwidth=0.8).fit(X).certificates_.holds
    with pytest.raises(
        ValueError, match="'bandwidth' parameter of MovingWindowDensity must be a number where"
    ):
        MovingWindowDensity().fit(np.zeros((5, 1)))


@pytest.mark.spec("douc/T8.1")
def test_triangular_binomials_are_normal_in_the_limit_where_np_grows():
    sizes = [100, 10_000, 1_000_000]
    growing = [binomial_distance(n, n**-0.5) for n in sizes]
    stuck = [binomial_distance(n, 2.0 / n) for n in sizes]
    assert growing[0] > 2.5 * growing[1] > 6 * growing[2]
    assert min(stuck) > 0.1  # np = 2: a Poisson law in the limit
    x = np.linspace(-5, 5, 200_001)
    n = 30
    for p in (0.2, 0.8):  # the largest distance is at a jump for the one, below a jump for the other
        steps = stats.binom.cdf(np.floor(n * p + x * np.sqrt(n * p * (1 - p))), n, p)
        assert_allclose(binomial_distance(n, p), np.abs(steps - stats.norm.cdf(x)).max(), atol=2e-4)
