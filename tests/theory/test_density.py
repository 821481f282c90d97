"""Risks of kernel densities: bounds that hold and bite, exact bias, rates, the unbiased criterion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from assay.kernel_sums import KernelSums, legendre_kernel, smoothing_kernel
from assay.theory import density_rate, kernel_mse, mse_bound, unbiased_criterion

NORMAL, PEAK = stats.norm(), stats.norm.pdf(0)
GRID = np.linspace(-3, 3, 61)


def simulated(kernel, n, h, points, repeats, seed):
    rng = np.random.default_rng(seed)
    return np.array(
        [KernelSums(rng.standard_normal((n, 1)), kernel, h)(points[:, None]) for _ in range(repeats)]
    )


@pytest.mark.spec("douc/T2.2")
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "uniform"])
def test_variance_and_bias_are_below_their_bounds_everywhere(kernel):
    n, widths = 100, np.array([0.05, 0.2, 0.5, 1.0])
    bound = mse_bound(kernel, n, widths, sup=PEAK, curvature=PEAK)
    k = smoothing_kernel(kernel)
    assert_allclose(bound.variance, PEAK * k.square_integral / (n * widths))
    assert_allclose(bound.squared_bias, (widths**2 / 2 * PEAK * k.absolute_moment(2)) ** 2)
    assert_allclose(bound.total, bound.variance + bound.squared_bias)
    for h, variance, bias in zip(widths, bound.variance, bound.squared_bias, strict=True):
        exact = kernel_mse(NORMAL, kernel, n, h, GRID)
        assert exact.variance.max() <= variance
        assert (exact.bias**2).max() <= bias
        if h <= 0.2:  # reached at the peak as h → 0: a factor less would be false
            assert exact.variance.max() > (1 - 2 * h) * variance
            assert (exact.bias**2).max() > 0.9 * bias
    drawn = simulated(kernel, n, 0.5, GRID[::10], 400, 0)
    exact = kernel_mse(NORMAL, kernel, n, 0.5, GRID[::10])
    assert np.all(np.abs(drawn.var(axis=0) / exact.variance - 1) < 4 * math.sqrt(2 / 400) * 1.5)
    assert np.all(
        np.abs(drawn.mean(axis=0) - NORMAL.pdf(GRID[::10]) - exact.bias) < 4.5 * drawn.std(axis=0) / 20
    )


@pytest.mark.spec("douc/T2.4")
@pytest.mark.parametrize("kernel", ["gaussian", "triangular", "exponential", legendre_kernel(4)])
def test_the_bias_is_an_integral_of_increments(kernel):
    k, h, points = smoothing_kernel(kernel), 0.6, np.array([-1.0, 0.0, 0.4])
    found = kernel_mse(NORMAL, kernel, 10, h, points).bias
    for x, value in zip(points, found, strict=True):
        # E p̂(x) = ∫ K_h(y − x) p(y) dy, the other way to write it.
        mean = integrate.quad(
            lambda y, x=x: float(k((y - x) / h)) / h * NORMAL.pdf(y),
            -12,
            12,
            limit=800,
            points=[x, x - h, x + h],
        )[0]
        assert_allclose(value, mean - NORMAL.pdf(x), atol=1e-7)
    if kernel == "gaussian":
        assert_allclose(
            found, stats.norm(0, math.sqrt(1 + h * h)).pdf(points) - NORMAL.pdf(points), atol=1e-12
        )


class Corner:
    """The triangular density 1 − |x|: Hölder of exponent 1 with η = 1, and no better at 0."""

    def pdf(self, x):
        return np.maximum(1 - np.abs(x), 0.0)

    def cdf(self, x):
        return stats.triang(0.5, -1, 2).cdf(x)


@pytest.mark.spec("douc/T2.3")
def test_holder_bounds_hold_and_their_rates_are_reached():
    one = legendre_kernel(1)
    for h in (0.1, 0.4):
        bias = kernel_mse(Corner(), one, 50, h, np.linspace(-1, 1, 41)).bias
        # ⌊1⌋ = 1: the derivative jumps by 2, so that η = 2 in the course's definition.
        bound = math.sqrt(mse_bound(one, 50, [h], sup=1.0, beta=1.0, eta=2.0).squared_bias[0])
        assert np.abs(bias).max() <= bound
        assert_allclose(np.abs(bias).max(), h * one.absolute_moment(1), rtol=1e-3)
    # For β = 4 the course's η is the range of p⁗.
    smooth = legendre_kernel(4)
    grid = np.linspace(-6, 6, 24_001)
    fourth = (grid**4 - 6 * grid**2 + 3) * NORMAL.pdf(grid)
    eta = np.ptp(fourth)
    for h in (0.5, 1.0):
        bias = kernel_mse(NORMAL, smooth, 50, h, GRID).bias
        limit = math.sqrt(mse_bound(smooth, 50, [h], sup=PEAK, beta=4.0, eta=eta).squared_bias[0])
        assert 0 < np.abs(bias).max() <= limit
    sizes = np.array([10**4, 10**6, 10**8, 10**10])
    slow = density_rate(
        Corner(), one, sizes, 0.0, lambda n: mse_bound(one, n, [1.0], sup=1.0, beta=1.0, eta=2.0)
    )
    assert_allclose(slow.slope, -2 / 3, atol=0.01)
    curved = {"sup": PEAK, "curvature": PEAK}
    plain = density_rate(NORMAL, "gaussian", sizes, 0.0, lambda n: mse_bound("gaussian", n, [1.0], **curved))
    assert_allclose(plain.slope, -4 / 5, atol=0.02)
    assert np.all(plain.mse <= plain.bound)
    fast = density_rate(
        NORMAL, smooth, sizes, 0.0, lambda n: mse_bound(smooth, n, [1.0], sup=PEAK, beta=4.0, eta=eta)
    )
    assert fast.expected == -8 / 9
    assert fast.slope < -0.86
    assert np.all(fast.mse <= fast.bound)


@pytest.mark.spec("douc/T2.5")
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_the_criterion_is_unbiased_for_the_true_error(kernel):
    widths = np.array([0.15, 0.4, 1.0])
    found = unbiased_criterion(NORMAL, kernel, 25, widths, repeats=400, interval=(-9, 9), random_state=0)
    assert np.all(np.abs(found.mean - found.truth) < 4 * found.standard_error)
    # The true error in closed form, for the Gaussian: mixtures of Gaussians.
    if kernel == "gaussian":
        for h, value in zip(widths, found.truth, strict=True):
            first = 1 / (2 * math.sqrt(math.pi) * 25 * h) + (1 - 1 / 25) / math.sqrt(
                2 * math.pi * (2 + 2 * h * h)
            )
            assert_allclose(value, first - 2 / math.sqrt(2 * math.pi * (2 + h * h)), rtol=1e-6)
    with_truth = (
        found.mean - integrate.quad(lambda x: NORMAL.pdf(x) ** 2, -9, 9)[0]
    )  # the printed ∫p² counts twice
    assert np.all(np.abs(with_truth - found.truth) > 4 * found.standard_error)
