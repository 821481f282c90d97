"""Kernel sums by trees, sorted lines and bins are those of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.neighbors import KernelDensity as Peer

from assay.kernel_sums import (
    KernelSums,
    gaussian_grid,
    lags_of_bins,
    legendre_kernel,
    linear_bins,
    pair_lags,
    smoothing_kernel,
)
from assay.rows import threads

KERNELS = [
    "gaussian",
    "uniform",
    "epanechnikov",
    "triangular",
    "biweight",
    "exponential",
    "cosine",
    legendre_kernel(4),
]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k if isinstance(k, str) else k.name)


def all_pairs(X, Q, kernel, h, values, form="radial"):
    """By the definition, one query after the other."""
    k = smoothing_kernel(kernel)
    d = X.shape[1]
    if form == "product" or not k.is_nonnegative:
        votes = np.array([np.prod(k((X - q) / h) / h, axis=1) for q in Q])
    else:
        votes = np.array([k(np.linalg.norm((X - q) / h, axis=1)) for q in Q]) * k.radial_constant(d)
        votes /= np.prod(np.broadcast_to(h, d))
    return votes @ values


@each_kernel
@pytest.mark.parametrize("n", [90, 1500])  # directly, and by a tree or by prefix sums
@pytest.mark.parametrize("d", [1, 3])
def test_sums_are_those_of_all_pairs(kernel, n, d):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(n, d)), 2 * rng.normal(size=(60, d))
    values = np.column_stack([rng.uniform(size=n), rng.normal(size=n)])
    for h in (0.3, 1.7):
        sums = KernelSums(X, kernel, h, values=values)
        exact = all_pairs(X, Q, kernel, h, values)
        assert_allclose(sums(Q), exact, rtol=1e-10, atol=1e-12 * np.abs(exact).max())
        assert_allclose(sums.directly(Q), exact, rtol=1e-10, atol=1e-12 * np.abs(exact).max())


def test_products_vectors_and_matrices_of_bandwidths():
    rng = np.random.default_rng(1)
    X, Q = rng.normal(size=(1200, 2)), rng.normal(size=(40, 2))
    values = np.full(1200, 1 / 1200)
    h = np.array([0.4, 0.9])
    for form in ("radial", "product"):
        found = KernelSums(X, "epanechnikov", h, form=form)(Q)
        assert_allclose(found, all_pairs(X, Q, "epanechnikov", h, values, form), rtol=1e-10, atol=1e-14)
    H = np.array([[0.5, 0.2], [0.0, 0.7]])
    inverse = np.linalg.inv(H)
    found = KernelSums(X, "biweight", H)(Q)
    expected = all_pairs(X @ inverse.T, Q @ inverse.T, "biweight", 1.0, values) / np.linalg.det(H)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


@each_kernel
def test_products_are_products_for_every_kernel(kernel):
    rng = np.random.default_rng(7)
    X, Q, values = rng.normal(size=(1200, 2)), rng.normal(size=(20, 2)), np.full(1200, 1 / 1200)
    sums = KernelSums(X, kernel, 0.7, form="product")
    assert_allclose(sums(Q), all_pairs(X, Q, kernel, 0.7, values, "product"), rtol=1e-9, atol=1e-12)
    if kernel == "exponential":  # far away the logarithm is that of the sum of distances
        assert_allclose(sums.log([[9e3, 0.0]]), np.log(sums([[20.0, 0.0]])) - (9e3 - 20.0) / 0.7, rtol=1e-12)


def test_a_relative_tolerance_is_kept_and_used():
    rng = np.random.default_rng(2)
    X, Q = rng.normal(size=(10_000, 2)), 3 * rng.normal(size=(200, 2))  # a tree of three levels of bunches
    sums = KernelSums(X, "gaussian", 0.2)
    exact = all_pairs(X, Q, "gaussian", 0.2, np.full(10_000, 1 / 10_000))
    seen = exact > 1e-270
    assert_allclose(sums(Q)[seen], exact[seen], rtol=1e-12)
    for rtol in (1e-2, 1e-4):
        error = np.abs(sums(Q[seen], rtol=rtol) / exact[seen] - 1)
        assert 1e-9 < error.max() <= rtol
    assert np.abs(sums(Q, atol=1e-3) - exact).max() <= 1e-3
    wide = KernelSums(X, "gaussian", 30.0)  # far nodes count with their mean, no small part
    exact = all_pairs(X, Q, "gaussian", 30.0, np.full(10_000, 1 / 10_000))
    assert 1e-9 < np.abs(wide(Q, rtol=1e-3) / exact - 1).max() <= 1e-3


def test_far_rows_keep_their_logarithms():
    X = np.random.default_rng(3).normal(size=(1100, 2))
    Q = np.array([[300.0, 0.0], [0.0, 0.1]])
    for kernel in ("gaussian", "exponential"):
        ours = KernelSums(X, kernel, 0.5).log(Q)
        theirs = Peer(bandwidth=0.5, kernel=kernel).fit(X).score_samples(Q)
        assert_allclose(ours, theirs, rtol=1e-10)


def test_sums_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(4)
    X, Q = rng.normal(size=(1500, 1)), rng.normal(size=(30, 1))
    for kernel in ("gaussian", "epanechnikov"):
        near, far = KernelSums(X, kernel, 0.3)(Q), KernelSums(X + 2.0**27, kernel, 0.3)(Q + 2.0**27)
        assert_allclose(far, near, rtol=1e-5)


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(5)
    X, Q = rng.normal(size=(3000, 2)), rng.normal(size=(700, 2))
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(KernelSums(X, "gaussian", 0.3)(Q))
    assert np.array_equal(*found)


@each_kernel
def test_sums_below_are_integrals(kernel):
    rng = np.random.default_rng(6)
    X, Q, values = rng.normal(size=(300, 1)), 2 * rng.normal(size=(40, 1)), rng.uniform(size=300)
    k = smoothing_kernel(kernel)
    expected = [float(values @ k.integral_below((q - X[:, 0]) / 0.4)) for q in Q[:, 0]]
    assert_allclose(KernelSums(X, kernel, 0.4, values=values).below(Q), expected, rtol=1e-9, atol=1e-10)


def test_a_grid_is_within_its_certified_error():
    rng = np.random.default_rng(7)
    x, weight = rng.normal(size=3000), rng.integers(1, 4, 3000).astype(float)
    points = np.linspace(x.min() - 0.5, x.max() + 0.5, 200)
    exact = all_pairs(x[:, None], points[:, None], "gaussian", 0.1, weight / weight.sum())
    for rtol in (1e-2, 1e-6):
        found = gaussian_grid(x, weight, 0.1, points, rtol=rtol)
        error = np.abs(found.sums - exact).max()
        assert error <= found.error <= rtol * exact.max()
    assert error > 0
    coarse = gaussian_grid(x, weight, 0.1, points, rtol=1.0)
    assert np.abs(coarse.sums - exact).max() <= coarse.error  # and where one bin a point is enough


def test_pairs_by_lags_are_all_pairs_of_repeated_points():
    rng = np.random.default_rng(8)
    x, weight = rng.normal(size=250), rng.integers(1, 4, 250).astype(float)
    repeated = np.repeat(x, weight.astype(int))
    distances = np.abs(repeated[:, None] - repeated)

    def vote(d):
        return np.exp(-0.5 * (d / 0.4) ** 2)

    expected = vote(distances).sum() - len(repeated)
    listed = pair_lags(x, weight, n_bins=10, exact_up_to=1000)
    binned = pair_lags(x, weight, n_bins=4096, exact_up_to=10)
    assert_allclose(listed.sum(vote), expected, rtol=1e-12)
    assert_allclose(binned.sum(vote), expected, rtol=1e-5)
    assert listed.n_points == len(repeated)
    assert_allclose(binned.counts.sum(), len(repeated) * (len(repeated) - 1), rtol=1e-10)


def test_linear_bins_share_a_weight_by_distance():
    masses = np.zeros(4)
    cross = linear_bins(np.array([0.25, 2.0]), np.array([4.0, 1.0]), 0.0, 1.0, masses)
    assert_allclose(masses, [3.0, 1.0, 1.0, 0.0])
    assert_allclose(cross, 4.0 * 0.25 * 0.75)
    assert_allclose(lags_of_bins(masses, 1.0, cross).counts.sum(), 5.0 * 4.0, atol=1e-12)
