"""Choices of a bandwidth: rules, cross-validation, Sheather and Jones, bounds."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize, stats
from sklearn.exceptions import ConvergenceWarning

from assay.density import KernelDensity
from assay.density.bandwidths import LISTED_PAIRS, PAIRS, quantile, sheather_jones
from assay.density.risk import kernel_ucv
from assay.kernel_sums import KernelSums, legendre_kernel, pair_lags, smoothing_kernel
from assay.theory import mse_bound

R = json.loads((Path(__file__).parent.parent / "reference" / "density.json").read_text())
X = np.array(R["x"])[:, None]


def test_rules_know_the_scale_of_the_data():
    n = len(X)
    gaussian = stats.gaussian_kde(X[:, 0])
    scott = KernelDensity(bandwidth="scott").fit(X)
    assert_allclose(scott.bandwidth_, gaussian.scotts_factor() * X.std(ddof=1))
    assert_allclose(
        KernelDensity(bandwidth="silverman").fit(X).bandwidth_, gaussian.silverman_factor() * X.std(ddof=1)
    )
    assert_allclose(scott.pdf(X[:9]), gaussian(X[:9, 0]), rtol=1e-9)
    assert_allclose(KernelDensity(bandwidth="scott").fit(1e6 * X).bandwidth_, 1e6 * scott.bandwidth_)
    two = np.column_stack([X[:, 0], 100 * X[::-1, 0]])
    wide = KernelDensity(bandwidth="scott").fit(two).bandwidth_
    assert_allclose(wide, n ** (-1 / 6) * two.std(axis=0, ddof=1))
    silverman = KernelDensity(bandwidth="silverman").fit(two).bandwidth_
    assert_allclose(silverman, stats.gaussian_kde(two.T).silverman_factor() * two.std(axis=0, ddof=1))
    # A constant column, far from 0, whose deviation is rounding, has the mean scale of the others.
    constant = np.column_stack([X[:, 0], np.full(n, 1e8 / 3)])
    level = KernelDensity(bandwidth="scott").fit(constant).bandwidth_
    assert_allclose(level, n ** (-1 / 6) * X.std(ddof=1) * np.ones(2))
    with pytest.raises(
        ValueError, match="'bandwidth' parameter of KernelDensity must be a number where all rows"
    ):
        KernelDensity(bandwidth="silverman").fit(np.ones((9, 1)))


def criterion_by_quadrature(x, h, kernel="gaussian"):
    """∫p̂² on a fine grid, and leave-one-out means: the definition."""
    k, n = smoothing_kernel(kernel), len(x)
    grid = np.linspace(x.min() - 9, x.max() + 9, 60_001)
    square = integrate.trapezoid(KernelSums(x[:, None], k, h)(grid[:, None]) ** 2, grid)
    votes = k((x[:, None] - x) / h) / h
    left_out = (votes.sum(axis=1) - np.diag(votes)) / (n - 1)
    return square - 2 * left_out.mean()


@pytest.mark.spec("douc/M8.2", "douc/M2.8")
def test_the_criterion_is_that_of_quadrature_and_of_the_closed_form():
    x = X[:60, 0]
    n = len(x)
    lags = pair_lags(x, np.ones(n), n_bins=2, exact_up_to=n)
    for h in (0.15, 0.5, 1.5):
        value = kernel_ucv(smoothing_kernel("gaussian"), lags, h)
        assert_allclose(value, criterion_by_quadrature(x, h), rtol=1e-6)
        d2 = (x[:, None] - x)[~np.eye(n, dtype=bool)] ** 2
        closed = 1 / (2 * math.sqrt(math.pi) * n * h) * (1 + np.exp(-d2 / (4 * h**2)).sum() / n)
        closed -= 2 / (n * (n - 1) * h * math.sqrt(2 * math.pi)) * np.exp(-d2 / (2 * h**2)).sum()
        assert_allclose(value, closed, rtol=1e-12)
    for kernel in ("epanechnikov", "triangular", "biweight", legendre_kernel(2)):
        value = kernel_ucv(smoothing_kernel(kernel), lags, 0.7)
        assert_allclose(value, criterion_by_quadrature(x, 0.7, kernel), rtol=1e-4)


@pytest.mark.spec("douc/M2.8")
def test_cross_validation_takes_the_least_point_and_tells_of_the_border():
    model = KernelDensity(bandwidth="ucv").fit(X)
    lags = pair_lags(X[:, 0], np.ones(len(X)), n_bins=2, exact_up_to=len(X))
    curve = [kernel_ucv(smoothing_kernel("gaussian"), lags, h) for h in model.bandwidths_]
    assert_allclose(model.criterion_, curve)
    least = optimize.minimize_scalar(
        lambda h: kernel_ucv(smoothing_kernel("gaussian"), lags, h), bounds=(0.2, 0.5), method="bounded"
    )
    assert_allclose(model.bandwidth_, least.x, rtol=1e-4)
    assert model.certificates_.holds
    # R divides both sums by n²; with that its choice is met, to the precision of its search.
    n = len(X)

    def of_r(h):
        pairs = lags.sum(lambda d: np.exp(-((d / h) ** 2) / 4) - math.sqrt(8) * np.exp(-((d / h) ** 2) / 2))
        return (0.5 + pairs / (2 * n)) / (n * h * math.sqrt(math.pi))

    assert_allclose(
        optimize.minimize_scalar(of_r, bounds=(0.2, 0.5), method="bounded").x, R["ucv"], rtol=1e-3
    )
    with pytest.warns(ConvergenceWarning, match="least at an end of the bandwidths tried"):
        cut = KernelDensity(bandwidth="ucv", bandwidths=[0.5, 0.7, 0.9]).fit(X)
    assert not cut.certificates_.holds
    with pytest.warns(ConvergenceWarning, match="another rule where rows are repeated"):
        KernelDensity(bandwidth="ucv").fit(np.repeat(X, 3, axis=0))


@pytest.mark.spec("douc/M8.2")
def test_bins_give_the_criterion_of_all_pairs():
    x = np.random.default_rng(0).standard_normal(PAIRS + 1)
    model = KernelDensity(bandwidth="ucv", bandwidths=np.geomspace(0.1, 0.6, 9)).fit(x[:, None])
    lags = pair_lags(x, np.ones(len(x)), n_bins=2, exact_up_to=len(x))
    curve = np.array([kernel_ucv(smoothing_kernel("gaussian"), lags, h) for h in model.bandwidths_])
    assert 0 < np.abs(model.criterion_ - curve).max() < 1e-3 * np.abs(curve.min())
    assert np.argmin(curve) == np.argmin(model.criterion_)


@pytest.mark.spec("douc/M8.2", "douc/M2.8")
def test_a_few_thousand_points_have_the_closed_form_over_all_pairs():
    rng = np.random.default_rng(7)
    x = 1e8 + np.concatenate([rng.standard_normal(900), rng.normal(0.0, 0.02, 600)])  # two scales, far from 0
    weight = rng.integers(1, 4, len(x)).astype(float)
    grid = np.geomspace(0.01, 0.8, 7)
    assert LISTED_PAIRS < len(x) <= PAIRS
    near, n = x - 1e8, weight.sum()
    pairs = np.outer(weight, weight) - np.diag(weight)  # without each copy of a point and itself
    squares = (near[:, None] - near) ** 2
    with pytest.warns(ConvergenceWarning, match="rows are repeated"):
        model = KernelDensity(bandwidth="ucv", bandwidths=grid).fit(x[:, None], sample_weight=weight)
    for h, found in zip(grid, model.criterion_, strict=True):
        closed = (n + np.sum(pairs * np.exp(-squares / (4 * h**2)))) / (2 * math.sqrt(math.pi) * n**2 * h)
        votes = np.sum(pairs * np.exp(-squares / (2 * h**2))) / math.sqrt(2 * math.pi)
        assert_allclose(found, closed - 2 * votes / (n * (n - 1) * h), rtol=1e-9)


def test_weights_are_repetitions_in_the_criterion():
    x, weight = np.array(R["x"])[:40], np.tile([1.0, 2.0], 20)
    grid = np.geomspace(0.3, 2.0, 9)
    repeated = np.repeat(x, weight.astype(int))
    first = KernelDensity(bandwidth="ucv", bandwidths=grid).fit(x[:, None], sample_weight=weight)
    second = KernelDensity(bandwidth="ucv", bandwidths=grid).fit(repeated[:, None])
    assert_allclose(first.bandwidth_, second.bandwidth_, rtol=1e-8)
    assert_allclose(first.criterion_, second.criterion_, rtol=1e-10)
    for share in (0.0, 0.25, 0.5, 0.9, 1.0):
        assert_allclose(quantile(x, weight, share), np.quantile(repeated, share))
    assert_allclose(sheather_jones(x, weight), sheather_jones(repeated, np.ones(60)), rtol=1e-8)


def test_cross_validation_of_two_columns_is_that_of_its_definition():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(80, 2)) * [1.0, 5.0]
    model = KernelDensity(bandwidth="ucv").fit(table)
    start = KernelDensity(bandwidth="silverman").fit(table).bandwidth_
    multiple = model.bandwidths_[30]
    h = multiple * start
    difference = (table[:, None] - table) / h
    square = np.exp(-0.25 * (difference**2).sum(axis=2)).mean() / (4 * np.pi * np.prod(h))
    votes = np.exp(-0.5 * (difference**2).sum(axis=2)) / (2 * np.pi * np.prod(h))
    expected = square - 2 * (votes.sum() - np.trace(votes)) / (80 * 79)
    assert_allclose(model.criterion_[30], expected, rtol=1e-10)
    assert_allclose(model.bandwidth_ / start, (model.bandwidth_ / start)[0])
    weight = np.tile([1, 2], 40)
    with pytest.warns(ConvergenceWarning, match="rows are repeated"):
        first = KernelDensity(bandwidth="ucv").fit(table, sample_weight=weight)
    with pytest.warns(ConvergenceWarning, match="rows are repeated"):
        second = KernelDensity(bandwidth="ucv").fit(np.repeat(table, weight, axis=0))
    assert_allclose(first.criterion_, second.criterion_, rtol=1e-9)


def test_sheather_and_jones_agree_with_r():
    assert_allclose(
        KernelDensity(bandwidth="sheather-jones").fit(X).bandwidth_, R["sheather_jones"], rtol=2e-5
    )
    # Of several columns each has its own equation, at the rate n^{−1/(d + 4)} of a density of d.
    three = np.column_stack([X[:, 0], 9 * X[:, 0], -X[:, 0]])
    both = KernelDensity(bandwidth="sheather-jones").fit(three).bandwidth_
    assert_allclose(both / R["sheather_jones"], len(X) ** (1 / 5 - 1 / 7) * np.array([1, 9, 1]), rtol=2e-5)
    many = np.random.default_rng(2).standard_normal(LISTED_PAIRS + 200)  # by bins
    ones = np.ones(len(many))
    from assay.density import bandwidths

    def exact(x, weight, smallest):
        return pair_lags(x, weight, n_bins=2, exact_up_to=len(x))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bandwidths, "_lags", exact)
        listed = sheather_jones(many, ones)
    assert_allclose(sheather_jones(many, ones), listed, rtol=1e-4)


@pytest.mark.spec("douc/M2.6")
def test_the_oracle_minimises_the_bound_of_a_smooth_density():
    truth = {"sup": stats.norm.pdf(0), "curvature": stats.norm.pdf(0)}
    for kernel in ("gaussian", "epanechnikov"):
        model = KernelDensity(bandwidth="oracle", kernel=kernel, truth=truth).fit(X)
        k, n = smoothing_kernel(kernel), len(X)
        c1 = truth["sup"] * k.square_integral
        c2 = truth["curvature"] ** 2 * k.absolute_moment(2) ** 2 / 4
        assert_allclose(model.bandwidth_, (c1 / (4 * c2 * n)) ** 0.2)
        least = optimize.minimize_scalar(
            lambda h, c1=c1, c2=c2, n=n: c1 / (n * h) + c2 * h**4, bounds=(0.01, 5), method="bounded"
        )
        assert_allclose(model.bandwidth_, least.x, rtol=1e-4)
        assert_allclose(model.risk_bound_, least.fun, rtol=1e-6)
        assert model.certify(X).holds
    # h ∝ n^{−1/5}, the bound ∝ n^{−4/5}; without a truth, those of a Gaussian of the same deviation.
    few, many = (mse_bound("gaussian", n, [1.0], sup=0.4, curvature=0.4) for n in (100, 3200))
    assert_allclose(few.best_bandwidth / many.best_bandwidth, 2.0)
    assert_allclose(few.least / many.least, 16.0)
    s = X.std(ddof=1)
    peak = 1 / (s * math.sqrt(2 * math.pi))
    assert_allclose(
        KernelDensity(bandwidth="oracle").fit(X).bandwidth_,
        mse_bound("gaussian", len(X), [1.0], sup=peak, curvature=peak / s**2).best_bandwidth,
    )


@pytest.mark.spec("douc/M2.7")
@pytest.mark.parametrize("beta", [1.0, 2.5, 4.0])
def test_the_holder_rule_takes_the_kernel_of_its_order_and_the_bandwidth_of_its_bound(beta):
    truth = {"sup": 0.5, "beta": beta, "eta": 0.7}
    model = KernelDensity(bandwidth="holder", truth=truth).fit(X)
    kernel, n = legendre_kernel(math.floor(beta)), len(X)
    assert model.kernel_ == kernel
    c1 = 0.5 * kernel.square_integral
    c2 = (0.7 * kernel.absolute_moment(beta) / math.factorial(math.floor(beta))) ** 2
    assert_allclose(model.bandwidth_, (c1 / (2 * beta * c2 * n)) ** (1 / (2 * beta + 1)))
    least = optimize.minimize_scalar(
        lambda h: c1 / (n * h) + c2 * h ** (2 * beta), bounds=(0.01, 9), method="bounded"
    )
    assert_allclose(model.risk_bound_, least.fun, rtol=1e-6)
    assert model.certificates_.named("order of the kernel").holds
    few, many = (mse_bound(kernel, m, [1.0], sup=0.5, beta=beta, eta=0.7) for m in (100, 10_000))
    assert_allclose(few.rate, -2 * beta / (2 * beta + 1))
    assert_allclose(np.log(many.least / few.least) / np.log(100), few.rate)  # the course prints −1/(2β + 1)
    # Without a truth, that of a Gaussian of the same deviation, whose p″ has the range η.
    s, grid = X.std(ddof=1), np.linspace(-6, 6, 20_001)
    peak = 1 / (s * math.sqrt(2 * math.pi))
    eta = np.ptp((grid**2 - 1) * np.exp(-(grid**2) / 2)) * peak / s**2
    plain = KernelDensity(bandwidth="holder").fit(X)
    expected = mse_bound(legendre_kernel(2), n, [1.0], sup=peak, beta=2.0, eta=eta)
    assert_allclose(
        [plain.bandwidth_, plain.risk_bound_], [expected.best_bandwidth, expected.least], rtol=1e-6
    )
    with pytest.raises(ValueError, match="'kernel' parameter of mse_bound must be of order 4"):
        mse_bound("gaussian", 100, [1.0], sup=0.5, beta=4.0, eta=0.7)
    with pytest.raises(ValueError, match="'kernel' parameter of mse_bound must be of order 2"):
        mse_bound("gaussian", 100, [1.0], sup=0.5, beta=2.0, eta=0.7)
