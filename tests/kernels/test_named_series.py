"""Matérn, geometric, periodic and arc-cosine kernels against other libraries, quadrature and series."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, sparse
from sklearn.gaussian_process import kernels as theirs

from assay.kernels import (
    ArcCosine,
    BernoulliSpline,
    CosineSeries,
    Exponential,
    ExpSineSquared,
    Gaussian,
    Geometric,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    check_psd,
    is_psd,
)
from assay.parameters import ParameterError


@pytest.mark.spec("rudi/M4.3")
@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0, 1.5, 2.2, 2.5, 7.0, 30.0, math.inf])
def test_matern_is_scikit_learns(nu, rng):
    X = rng.standard_normal((30, 3))
    ours = Matern.from_scale(1.7, nu=nu)
    assert ours == Matern(nu, 1 / 1.7)
    assert np.allclose(ours.gram(X), theirs.Matern(length_scale=1.7, nu=nu)(X), rtol=1e-9, atol=1e-12)
    assert np.all(np.diag(ours.gram(X)) == 1.0)
    assert ours.cross(X[:2], X[1:3])[1, 0] == 1.0
    assert ours.gram(X.astype(np.float32)).dtype == np.float32
    assert check_psd(ours, X)


@pytest.mark.spec("rudi/M4.3")
def test_matern_of_one_half_is_laplacian_and_of_infinity_gaussian(rng):
    X = rng.standard_normal((20, 2))
    assert np.allclose(Matern(0.5, 0.8).gram(X), Laplacian(0.8).gram(X), rtol=1e-13)
    assert np.allclose(Matern(math.inf, 0.8).gram(X), Gaussian(0.32).gram(X), rtol=1e-13)
    # Rows that are almost equal: 1 − k is t²/(4(ν − 1)), which an overflow of K_ν would hide.
    t = math.sqrt(2 * 7.5) * 1e-5
    near = 1.0 - Matern(7.5, 1.0).gram([[0.0], [1e-5]])[0, 1]
    assert near == pytest.approx(t**2 / (4 * 6.5), rel=1e-3)
    for nu in (0.3, 29.0):
        assert np.array_equal(Matern(nu, 1.0).gram([[0.0], [1e12]]), np.eye(2))
        assert Matern(nu, 1.0).gram([[0.0], [1e-300]])[0, 1] == 1.0


@pytest.mark.spec("rudi/M4.3", "rudi/T4.4")
def test_the_geometric_kernel_is_the_sum_of_all_powers(rng):
    X = rng.uniform(-0.5, 0.5, (25, 3))
    K, inner = Geometric().gram(X), X @ X.T
    assert np.allclose(K, 1 / (1 - inner), rtol=1e-14)
    assert np.allclose(Geometric().diagonal(X), 1 / (1 - np.square(X).sum(axis=1)))
    assert np.allclose(Geometric().gram(sparse.csr_array(X)), K)
    radius = float(np.linalg.norm(X, axis=1).max())
    for order in (0, 3, 8):
        features = Geometric().taylor_features(X, order)
        assert features.shape[1] == math.comb(3 + order, order)
        partial = sum(inner**j for j in range(order + 1))
        assert np.allclose(features @ features.T, partial)
        assert np.allclose(Geometric().truncated(order).gram(X), partial)
        # |t|^J/(1 − |t|) with J = order + 1 terms kept, pair by pair and over the ball.
        remainder = np.abs(inner) ** (order + 1) / (1 - np.abs(inner))
        assert np.all(np.abs(K - partial) <= remainder + 1e-14)
        # Reached by positive products: equal there.
        assert np.allclose((K - partial)[inner > 0], remainder[inner > 0], rtol=1e-6, atol=1e-14)
        worst = Geometric().truncation_error(order, radius)
        assert np.abs(K - partial).max() == pytest.approx(worst, rel=1e-9)


@pytest.mark.spec("rudi/M4.3", "rudi/T4.4")
@pytest.mark.parametrize("norm", [1.0, 1.5])
def test_the_geometric_kernel_is_refused_outside_the_open_ball(norm):
    """Printed on the closed interval [−1, 1], where k(1, 1) = 1/0."""
    words = "needs rows of norm below 1. Got a row of norm"
    inside, outside = np.array([[0.3]]), np.array([[norm]])
    for call in (
        lambda: Geometric().gram(outside),
        lambda: Geometric().cross(inside, outside),
        lambda: Geometric().cross(outside, inside),
        lambda: Geometric().diagonal(outside),
        lambda: Geometric().apply(inside, outside, np.ones(1)),
        lambda: Geometric().taylor_features(outside, 2),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert Geometric().truncation_error(3, 1.0) == math.inf


def neurons(order, x, z):
    """E[σ(wᵀx)σ(wᵀz)] in the plane by quadrature: w has a Rayleigh radius and a uniform angle."""

    def at(angle):
        left, right = (v[0] * math.cos(angle) + v[1] * math.sin(angle) for v in (x, z))
        return left**order * right**order if left > 0 and right > 0 else 0.0

    edges = sorted(
        (math.atan2(v[1], v[0]) + shift) % (2 * math.pi) for v in (x, z) for shift in (1.5707963, -1.5707963)
    )
    value = integrate.quad(at, 0, 2 * math.pi, points=edges, limit=200)[0] / (2 * math.pi)
    return value * 2**order * math.factorial(order)  # E r^{2·order}


@pytest.mark.spec("rudi/M4.3")
@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_kernels_are_layers_of_random_neurons(order, rng):
    X = rng.standard_normal((6, 2))
    expected = np.array([[neurons(order, x, z) for z in X] for x in X])
    kernel = ArcCosine(order)
    assert np.allclose(kernel.gram(X), expected, rtol=1e-6, atol=1e-6)
    assert np.allclose(kernel.diagonal(X), np.diag(kernel.gram(X)), rtol=1e-14)
    assert np.allclose(kernel.gram(sparse.csr_array(X)), kernel.gram(X), atol=1e-12)
    assert kernel.gram(X.astype(np.float32)).dtype == np.float32
    assert check_psd(kernel, rng.standard_normal((40, 3)))


def test_arc_cosine_closed_forms_at_special_angles():
    """Equal, orthogonal and opposite rows, and zeros: the step at 0 is ½."""
    X = np.array([[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0], [4.0, 0.0], [0.0, 0.0]])
    step, relu = ArcCosine(0).gram(X), ArcCosine(1).gram(X)
    assert np.array_equal(step[0], [0.5, 0.25, 0.0, 0.5, 0.25])
    assert step[4, 4] == 0.25
    assert np.allclose(relu[0], [2.0, 6.0 / (2 * math.pi), 0.0, 4.0, 0.0], atol=1e-15)
    assert np.array_equal(ArcCosine(0).diagonal(X), np.diag(step))
    assert np.allclose(ArcCosine(2).diagonal(X), np.diag(ArcCosine(2).gram(X)))


@pytest.mark.spec("rudi/M4.3")
def test_random_neurons_converge_to_the_arc_cosine_kernel(rng):
    """The mean over m weights is within a few standard errors of its limit."""
    X, W = rng.standard_normal((5, 3)), rng.standard_normal((3, 200_000))
    hidden = np.maximum(X @ W, 0.0)
    error = np.abs(hidden @ hidden.T / W.shape[1] - ArcCosine(1).gram(X))
    products = hidden[:, None] * hidden[None]
    assert np.all(error <= 5 * products.std(axis=2) / math.sqrt(W.shape[1]))


@pytest.mark.spec("rudi/M4.3")
@pytest.mark.parametrize("order", [1, 2, 3])
def test_bernoulli_splines_are_their_fourier_series(order, rng):
    x = rng.uniform(-3, 3, (12, 1))
    kernel = BernoulliSpline(order, period=1.5)
    m = np.arange(1, 4001)[:, None, None]
    series = 1 + np.sum(2 * np.cos(2 * np.pi * m * (x - x.T) / 1.5) / (2 * np.pi * m) ** (2 * order), axis=0)
    assert np.allclose(kernel.gram(x), series, atol=2e-5 if order == 1 else 1e-12)
    assert np.allclose(kernel.diagonal(x), np.diag(kernel.gram(x)), rtol=1e-13)
    for terms in (0, 2, 5):
        features = kernel.fourier_features(x, terms)
        assert features.shape[1] == 2 * terms + 1
        difference = kernel.gram(x) - features @ features.T
        assert np.allclose(kernel.truncated(terms).gram(x), features @ features.T)
        bound = kernel.truncation_error(terms)
        assert np.abs(difference).max() == pytest.approx(bound, rel=1e-6, abs=1e-14)


@pytest.mark.spec("rudi/M4.3")
def test_the_bernoulli_spline_reproduces_in_its_sobolev_space():
    """⟨k_x, k_z⟩ = ∫k_x ∫k_z + ∫k_x′ k_z′ = k(x, z), by quadrature on a fine grid."""
    kernel, n = BernoulliSpline(1), 20_000
    t = (np.arange(n)[:, None] + 0.5) / n
    x, z = 0.2, 0.65
    values = kernel.cross(t, [[x], [z]])
    slopes = np.diff(np.vstack([values, values[:1]]), axis=0) * n
    inner = values.mean(axis=0).prod() + np.mean(slopes[:, 0] * slopes[:, 1])
    assert inner == pytest.approx(kernel.cross([[x]], [[z]]).item(), abs=1e-3)


@pytest.mark.spec("rudi/M4.3")
def test_exp_sine_squared_is_scikit_learns_on_one_column_and_definite_on_more(rng):
    x = rng.uniform(-4, 4, (40, 1))
    kernel = ExpSineSquared(0.8, 1.7)
    assert np.allclose(kernel.gram(x), theirs.ExpSineSquared(0.8, 1.7)(x), rtol=1e-9)
    X = rng.uniform(-4, 4, (60, 3))
    assert check_psd(kernel, X)
    assert not is_psd(theirs.ExpSineSquared(0.8, 1.7)(X))
    for order in (1, 4, 12):
        features = kernel.fourier_features(x, order)
        error = np.abs(features @ features.T - kernel.gram(x)).max()
        assert error == pytest.approx(kernel.truncation_error(order), rel=1e-6, abs=1e-13)
    two = X[:, :2]
    features = kernel.fourier_features(two, 4)
    assert features.shape[1] == 81
    error = np.abs(features @ features.T - kernel.gram(two)).max()
    assert error == pytest.approx(kernel.truncation_error(4, n_features=2), rel=1e-6)


@pytest.mark.spec("rudi/M4.3")
@pytest.mark.parametrize(
    "kernel", [ExpSineSquared(0.8, 1.7), BernoulliSpline(3, 1.7), CosineSeries([1, 0, 2], 1.7)]
)
def test_fourier_coefficients_are_integrals_and_not_negative(kernel):
    """a_m = 2 ∫ q(u) cos(2πmu) du over a period, half of it for m = 0, by the mean over a grid."""
    u = np.arange(512) / 512
    q = kernel.cross(1.7 * u[:, None], [[0.0]])[:, 0]
    integrals = [(2 if m else 1) * np.mean(q * np.cos(2 * np.pi * m * u)) for m in range(6)]
    assert np.allclose(kernel.fourier_coefficients(5), integrals, atol=1e-12)
    assert np.all(kernel.fourier_coefficients(30) >= 0)


@pytest.mark.spec("rudi/M4.3", "rudi/M4.1")
def test_a_cosine_series_has_the_features_of_its_frequencies(rng):
    X = rng.uniform(-2, 2, (30, 2))
    kernel = CosineSeries([0.3, 0.0, 1.2, 0.1], period=2.5)
    features = kernel.feature_map(X)
    assert features.shape[1] == kernel.n_features_out(2) == 25
    assert np.allclose(features @ features.T, kernel.gram(X))
    assert kernel.truncation_error(2) == pytest.approx(0.1)
    assert kernel.truncation_error(3) == 0.0
    # A negative coefficient would not be a kernel: cos 0 − 2 cos 2πu.
    u = np.linspace(0, 1, 7)[:, None] - np.linspace(0, 1, 7)
    assert not is_psd(1 - 0.5 * np.cos(2 * np.pi * u))


@pytest.mark.spec("wei/T6.1", "sangnier/T-1.4.2-b", "sangnier/M-1.4.2-b")
def test_taylor_series_reach_their_kernels_at_the_rate_of_their_remainder(rng):
    """The limit of the kernels Σ_{k ≤ m} (γ⟨x, z⟩)^k/k! is the exponential kernel, and the error is told."""
    X = rng.standard_normal((30, 2))
    radius = float(np.linalg.norm(X, axis=1).max())
    exponential, gaussian = Exponential(0.3), Gaussian(0.3)
    errors = []
    for order in (1, 4, 8, 16, 24):
        truncated = exponential.truncated(order)
        assert truncated.positive_definite
        assert check_psd(truncated, X)
        error = np.abs(truncated.gram(X) - exponential.gram(X)).max()
        features = exponential.taylor_features(X, order)
        assert np.allclose(features @ features.T, truncated.gram(X))
        assert error == pytest.approx(exponential.truncation_error(order, radius), rel=1e-6, abs=1e-12)
        t = 0.3 * radius**2
        assert exponential.truncation_error(order, radius) <= math.exp(t) * t ** (order + 1) / math.factorial(
            order + 1
        )
        features = gaussian.taylor_features(X, order)
        error_gaussian = np.abs(features @ features.T - gaussian.gram(X)).max()
        assert error_gaussian == pytest.approx(gaussian.truncation_error(order, radius), rel=1e-6, abs=1e-13)
        errors.append(error)
    assert np.all(np.diff(errors) < 0)
    assert errors[-1] < 1e-11


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Matern(0.0), "'nu' parameter of Matern must be a number above 0 and at most 30, or inf"),
        (lambda: Matern(31.0), "'nu' parameter of Matern"),
        (lambda: Matern(1.5, -1.0), "'gamma' parameter of Matern"),
        (lambda: Matern.from_scale(0.0), "'length_scale' parameter of Matern"),
        (lambda: ArcCosine(3), "'order' parameter of ArcCosine must be 0 .step., 1 .ReLU. or 2"),
        (lambda: BernoulliSpline(0), "'order' parameter of BernoulliSpline must be an int from 1 to 12"),
        (lambda: BernoulliSpline(13), "'order' parameter of BernoulliSpline"),
        (lambda: BernoulliSpline(1, 0.0), "'period' parameter of BernoulliSpline"),
        (
            lambda: CosineSeries([1.0, -0.1]),
            "'coefficients' parameter of CosineSeries must be numbers at least 0",
        ),
        (lambda: CosineSeries([]), "'coefficients' parameter of CosineSeries"),
        (lambda: ExpSineSquared(0.0), "'length_scale' parameter of ExpSineSquared"),
        (lambda: ExpSineSquared(1.0, -2.0), "'period' parameter of ExpSineSquared"),
        (lambda: Gaussian(1.0).truncation_error(-1, 1.0), "'order' parameter of truncation_error"),
        (lambda: Gaussian(1.0).truncation_error(1, -1.0), "'radius' parameter of truncation_error"),
        (lambda: Geometric().truncated(-1), "'order' parameter of Geometric.truncated"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_a_scale_that_waits_for_columns_says_so():
    for call in (
        lambda: Exponential().truncated(3),
        lambda: Gaussian().truncation_error(3, 1.0),
        lambda: Polynomial().supremum(1.0),
    ):
        with pytest.raises(ValueError, match=r"call `for_features\(n_features\)` first"):
            call()
    assert Exponential().for_features(2).truncated(1) == Linear().polynomial([1.0, 0.5])
