"""Smoothing kernels: moments, orders, constants, convolutions, draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from assay.kernel_sums import (
    KERNEL_NAMES,
    KernelSums,
    SmoothingKernel,
    kernel_moments,
    legendre_kernel,
    smoothing_kernel,
)

KERNELS = [smoothing_kernel(name) for name in KERNEL_NAMES] + [legendre_kernel(order) for order in (2, 4, 7)]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def quad(function, low=-1.0, high=1.0):
    ends = [low, 0.0, high] if low < 0 < high else [low, high]
    parts = itertools.pairwise(ends)
    return sum(integrate.quad(function, a, b, limit=400, epsabs=1e-11)[0] for a, b in parts)


def reach(kernel):
    return kernel.support if math.isfinite(kernel.support) else 40.0


@pytest.mark.spec("douc/M2.4")
@each_kernel
def test_constants_are_those_of_quadrature(kernel):
    far = reach(kernel)
    assert_allclose(quad(kernel, -far, far), 1.0, atol=1e-10)
    assert_allclose(kernel.square_integral, quad(lambda u: float(kernel(u)) ** 2, -far, far), rtol=1e-9)
    for power in (0, 1, 2, 3, 4):
        assert_allclose(
            kernel.moment(power), quad(lambda u, j=power: u**j * float(kernel(u)), -far, far), atol=1e-9
        )
    # Roots of a kernel with negative values are corners of |K|.
    roots = [0.0, *kernel._sign_changes, far] if kernel.shape == "polynomial" else [0.0, far]
    for power in (0.0, 1.5, 2.0):
        parts = [quad(lambda u, j=power: u**j * float(kernel(u)), a, b) for a, b in itertools.pairwise(roots)]
        assert_allclose(kernel.absolute_moment(power), 2 * np.abs(parts).sum(), rtol=1e-8)
    for u in (-2.0, -0.3, 0.0, 0.9, 1.7):
        assert_allclose(
            kernel.integral_below(u), quad(kernel, -far, min(u, far)) if u > -far else 0.0, atol=1e-9
        )


@each_kernel
def test_convolutions_are_those_of_quadrature(kernel):
    far = reach(kernel)
    for t in (0.0, 0.4, 1.0, 1.3, 2.5):
        corners = sorted({p for p in (-1.0, 0.0, 1.0, t - 1, t, t + 1) if -far < p < far})
        ends = [-far, *corners, far]
        parts = [
            integrate.quad(lambda v, t=t: float(kernel(v)) * float(kernel(t - v)), a, b, limit=300)[0]
            for a, b in itertools.pairwise(ends)
        ]
        assert_allclose(kernel.convolution(t), sum(parts), atol=1e-8)


@pytest.mark.spec("douc/M2.5")
def test_the_order_is_the_number_of_moments_that_vanish():
    assert [kernel_moments(name).order for name in ("gaussian", "uniform", "epanechnikov", "biweight")] == [
        1
    ] * 4
    # (3 − u²)/2 times the Gaussian: the second moment vanishes, the fourth is −3.
    fourth = smoothing_kernel(lambda u: (3 - u**2) / 2 * stats.norm.pdf(u))
    found = kernel_moments(fourth)
    assert found.order == 3
    assert_allclose(found.first_nonzero, -3.0, atol=1e-7)
    assert_allclose(found.moments, [1, 0, 0, 0, -3], atol=1e-7)


@pytest.mark.spec("douc/M8.1", "douc/M2.5")
def test_legendre_kernels_are_those_of_the_course():
    u = np.linspace(-0.999, 0.999, 41)
    explicit = {
        0: np.full_like(u, 0.5),
        2: 9 / 8 - 15 * u**2 / 8,
        4: 15 / 128 * (15 - 70 * u**2 + 63 * u**4),
        6: 2.392578 - 21.533203 * u**2 + 47.373047 * u**4 - 29.326172 * u**6,
    }
    first = {0: 1 / 3, 2: -0.085714, 4: 0.021645, 6: -0.005439}
    height = {0: 0.5, 2: 1.125, 4: 1.757813, 6: 2.392578}
    for order, values in explicit.items():
        kernel = legendre_kernel(order)
        assert_allclose(kernel(u), values, atol=1e-6)
        assert kernel == SmoothingKernel(
            f"legendre({order})", "polynomial", legendre_kernel(order + 1).coefficients
        )
        assert_allclose(kernel.square_integral, height[order], atol=1e-6)
        assert_allclose(kernel.square_integral, float(kernel(0.0)), rtol=1e-12)
        found = kernel_moments(kernel)
        assert found.order == order + 1
        assert_allclose(found.first_nonzero, first[order], atol=1e-6)
        # K_ℓ(u) = Σ φ_m(0) φ_m(u) from orthonormal polynomials evaluated apart.
        basis = [np.polynomial.legendre.Legendre.basis(m) for m in range(order + 1)]
        assert_allclose(kernel(u), sum((m + 0.5) * p(0.0) * p(u) for m, p in enumerate(basis)), atol=1e-12)
    for order in (9, 14, 20):
        assert kernel_moments(legendre_kernel(order)).order >= order
    with pytest.raises(ValueError, match="'order' parameter of legendre_kernel"):
        legendre_kernel(-1)


@pytest.mark.spec("douc/M8.1")
@pytest.mark.parametrize("order", [10, 20, 21, 38])
def test_legendre_kernels_of_high_order_keep_their_digits(order):
    """Powers of u would cancel: from order 24 on the moments, from 38 on the values themselves."""
    kernel, nodes = legendre_kernel(order), np.polynomial.legendre.leggauss(80)
    u = np.linspace(-0.999, 0.999, 401)
    terms = [
        (2 * m + 1) / 2 * special.eval_legendre(m, 0.0) * special.eval_legendre(m, u)
        for m in range(order + 1)
    ]
    assert_allclose(kernel(u), np.sum(terms, axis=0), atol=1e-8)
    assert kernel(1.0) == kernel(-1.2) == 0.0
    moments = [nodes[1] @ (nodes[0] ** j * kernel(nodes[0])) for j in range(order + 1)]
    assert_allclose(moments, np.eye(1, order + 1)[0], atol=1e-9)
    assert kernel.order >= order  # moments below 1e-9 count as zero: of 38, also the next one
    assert kernel.order == order + (order + 1) % 2 or order == 38
    X = np.random.default_rng(0).normal(size=(50, 1))
    plain = [np.mean(kernel((x - X[:, 0]) / 1.3)) / 1.3 for x in (0.0, 0.7)]
    assert_allclose(KernelSums(X, kernel, 1.3)([[0.0], [0.7]]), plain, atol=1e-8)


@each_kernel
def test_the_radial_form_integrates_to_one(kernel):
    if not kernel.is_nonnegative:
        pytest.skip("a kernel with negative values is a product")
    for d in (1, 2, 3, 5):
        surface = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
        total = integrate.quad(lambda r: float(kernel(r)) * r ** (d - 1), 0, reach(kernel), limit=400)[0]  # noqa: B023
        assert_allclose(kernel.radial_constant(d) * surface * total, 1.0, rtol=1e-8)


@pytest.mark.parametrize(
    "name", ["gaussian", "uniform", "epanechnikov", "triangular", "biweight", "exponential", "cosine"]
)
def test_draws_follow_the_kernel(name):
    kernel = smoothing_kernel(name)
    drawn = kernel.draw(4000, np.random.default_rng(0))
    assert stats.kstest(drawn, kernel.integral_below).pvalue > 0.01
    radii = np.linalg.norm(kernel.draw_radial(4000, 3, np.random.default_rng(1)), axis=1)
    grid = np.linspace(0, reach(kernel), 20001)
    mass = integrate.cumulative_trapezoid(kernel(grid) * grid**2, grid, initial=0.0)
    assert stats.kstest(radii, lambda r: np.interp(r, grid, mass / mass[-1])).pvalue > 0.01


@each_kernel
def test_bounds_of_derivatives_hold_and_are_reached(kernel):
    u = np.linspace(0, min(reach(kernel), 6) * 0.9999, 20001)
    step = u[1]
    assert_allclose(np.abs(kernel(u)).max(), kernel.largest, rtol=1e-6)
    if math.isfinite(kernel.largest_slope):
        slopes = np.abs(np.diff(kernel(u))) / step
        assert_allclose(slopes.max(), kernel.largest_slope, rtol=1e-3)
    if math.isfinite(kernel.largest_curvature):
        curvatures = np.abs(np.diff(kernel(u), 2)) / step**2
        assert_allclose(curvatures.max(), kernel.largest_curvature, rtol=1e-2)


def test_kernels_that_are_none_are_refused_in_a_sentence():
    for bad, words in [
        (lambda u: 2 * stats.norm.pdf(u), "integral 1 .its integral is 2"),
        (lambda u: stats.norm.pdf(u - 1), "an even function"),
        ("box", "a SmoothingKernel, a function or one of"),
    ]:
        with pytest.raises(ValueError, match=f"The 'kernel' parameter of smoothing_kernel must be .*{words}"):
            smoothing_kernel(bad)
