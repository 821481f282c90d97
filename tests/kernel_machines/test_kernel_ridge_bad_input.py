"""Damaged fits, near-singular systems and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.certificates import CertificateError
from assay.kernel_machines import KernelRidge
from assay.kernel_machines.kernel_ridge.gram_system import GramSystem
from assay.kernels import Gaussian, Linear
from assay.parameters import ParameterError


@pytest.fixture
def data(rng):
    X = rng.standard_normal((50, 3))
    return X, X[:, 0] + 0.1 * rng.standard_normal(50) + 1.0


@pytest.mark.spec("sangnier/E-1.12")
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_damaged_fit_loses_its_certificates(data, fit_intercept):
    X, y = data
    model = KernelRidge(0.5, kernel="rbf", fit_intercept=fit_intercept).fit(X, y)
    assert model.certify(X, y).holds
    model.dual_coef_ = model.dual_coef_.copy()
    model.dual_coef_[7] += 1e-2
    proof = model.certify(X, y)
    assert not proof.named("stationarity residual").holds
    assert not proof.named("relative duality gap").holds
    assert not proof.named("relative difference of the two routes").holds
    if fit_intercept:
        assert not proof.named("relative sum of dual coefficients").holds
    with pytest.raises(CertificateError, match="duality gap"):
        proof.require()


def test_a_shifted_intercept_or_another_target_is_noticed(data):
    X, y = data
    model = KernelRidge(0.5, kernel="rbf", fit_intercept=True).fit(X, y)
    assert not model.certify(X, y[::-1]).holds
    model.intercept_ += 0.1
    assert not model.certify(X, y).named("relative duality gap").holds


def test_the_gap_bounds_the_suboptimality_of_any_coefficients(data, rng):
    """Primal minus minimum is at most the certified gap, and the gap is never negative."""
    X, y = data
    alpha = 0.5
    for fit_intercept in (False, True):
        model = KernelRidge(alpha, kernel="rbf", fit_intercept=fit_intercept).fit(X, y)
        K, best = model.kernel_.gram(X), model.dual_coef_

        def primal(beta, b, K=K):
            return 0.5 * beta @ K @ beta + np.sum((y - K @ beta - b) ** 2) / (2 * alpha)

        minimum = primal(best, model.intercept_)
        for size in (1e-6, 1e-3, 1e-1, 10.0):
            model.dual_coef_ = best + size * rng.standard_normal(50)
            value = primal(model.dual_coef_, model.intercept_)
            gap = model.certify(X, y).named("relative duality gap").value * value
            assert gap >= (value - minimum) * (1 - 1e-6) - 1e-12


def test_a_failed_spectrum_fit_is_noticed(data):
    X, y = data
    model = KernelRidge(0.0, kernel="linear", fit_intercept=True).fit(X, y)
    assert model.solver_ == "spectrum"
    assert model.certificates_.holds
    assert model.certify(X, y).holds
    model.dual_coef_ = model.dual_coef_ * 1.01
    assert not model.certify(X, y).named("relative gradient norm").holds


@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e-14, 1e-10, 1e-8])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
def test_tiny_penalties_do_not_crash_and_say_so(data, alpha, kernel):
    X, y = data
    X = np.vstack([X, X])  # every row twice: the Gram matrix is singular
    y = np.concatenate([y, y + 0.2])
    model = KernelRidge(alpha, kernel=kernel).fit(X, y)
    assert model.solver_ in ("cholesky", "spectrum")
    assert np.isfinite(model.dual_coef_).all()
    assert model.certificates_.holds
    if kernel == "linear":
        assert_allclose(model.predict(X), X @ np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-5)
        assert model.solver_ == "spectrum"


def test_duplicated_rows_share_their_prediction(data):
    X, y = data
    model = KernelRidge(0.1, kernel="rbf").fit(np.vstack([X, X]), np.concatenate([y, y + 1]))
    alone = KernelRidge(0.05, kernel="rbf").fit(X, y + 0.5)
    assert_allclose(model.predict(X), alone.predict(X), rtol=1e-7)


def test_one_row_constant_columns_and_constant_targets(data):
    X, _ = data
    one = KernelRidge(1.0, kernel="rbf").fit([[1.0, 2.0]], [3.0])
    assert_allclose(one.predict([[1.0, 2.0]]), [1.5])
    one = KernelRidge(1.0, kernel="rbf", fit_intercept=True).fit([[1.0, 2.0]], [3.0])
    assert_allclose(one.predict([[5.0, 5.0]]), [3.0])
    assert one.certificates_.holds
    constant = KernelRidge(1.0, kernel="rbf", fit_intercept=True).fit(np.ones((10, 2)), np.arange(10.0))
    assert_allclose(constant.predict(np.ones((1, 2))), [4.5])
    flat = KernelRidge(1.0, kernel="rbf", fit_intercept=True).fit(X, np.full(50, 7.0))
    assert_allclose(flat.predict(X), 7.0)
    assert flat.certificates_.holds
    assert KernelRidge().fit(np.zeros((5, 2)), np.zeros(5)).certificates_.holds
    zero = KernelRidge(0.0).fit(np.zeros((5, 2)), np.ones(5))
    assert_allclose(zero.predict(np.ones((2, 2))), 0.0)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
def test_huge_scales(data, kernel):
    X, y = data
    for fit_intercept in (False, True):
        model = KernelRidge(1.0, kernel=kernel, fit_intercept=fit_intercept).fit(1e8 * X, 1e8 * y)
        assert np.isfinite(model.predict(1e8 * X)).all()
        assert model.certificates_.holds
        assert KernelRidge(1.0, kernel="rbf", gamma=1e-16).fit(1e8 * X, y).certificates_.holds


def test_kernels_that_overflow_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match=r"The kernel Exponential overflows .* smaller 'gamma'"):
        KernelRidge(kernel="exponential").fit(1e8 * X, y)
    with pytest.raises(ValueError, match="The kernel Polynomial overflows"):
        KernelRidge(kernel="poly", degree=40).fit(1e8 * X, y)


def test_precomputed_matrices_that_are_no_kernels_are_refused(data, rng):
    X, y = data
    K = X @ X.T
    with pytest.raises(ValueError, match=r"must be a square matrix.*\(50, 3\)"):
        KernelRidge(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match=r"The precomputed kernel is not symmetric: .* differ by up to 1"):
        KernelRidge(kernel="precomputed").fit(K + np.eye(50, k=1), y)
    for alpha in (1e-3, 1e3):
        with pytest.raises(
            ValueError, match=r"The precomputed kernel is not positive semi-definite: vᵀKv = -"
        ):
            KernelRidge(alpha, kernel="precomputed").fit(K - 0.5 * np.eye(50), y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelRidge(kernel="precomputed").path(K - 0.5 * np.eye(50), y, [1.0])
    with pytest.raises(ValueError, match="The kernel Sigmoid is not positive semi-definite"):
        KernelRidge(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="The kernel function is not symmetric"):
        KernelRidge(kernel=lambda x, z: x[0] * z[1]).fit(X, y)

    def against(x, z):
        return -float(x @ z)

    with pytest.raises(ValueError, match="The kernel against is not positive semi-definite"):
        KernelRidge(kernel=against).fit(X, y)
    with pytest.raises(ValueError, match="overflows on these rows or is not a number"):
        KernelRidge(kernel=lambda x, z: np.nan).fit(X, y)


def test_the_negative_direction_proves_the_refusal(rng):
    A = rng.standard_normal((30, 30))
    K = A + A.T
    for order_first in (False, True):
        K[0, 0] = -1.0 if order_first else 5.0
        system = GramSystem(K.copy())
        order = system.factor(1e-9)
        direction, curvature = system.negative_direction(order)
        assert curvature < 0
        assert_allclose(direction @ K @ direction, curvature, rtol=1e-8)
        assert_allclose(np.linalg.norm(direction), 1.0)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": -1.0}, "'alpha' parameter of KernelRidge must be a finite number at least 0"),
        ({"alpha": [1.0, -2.0]}, "'alpha' parameter of KernelRidge"),
        (
            {"alpha": [1.0, 2.0, 3.0]},
            r"'alpha' parameter of KernelRidge must be .* one number per target \(1\)",
        ),
        ({"alpha": np.nan}, "'alpha' parameter"),
        ({"penalty_strength": -1.0}, "'penalty_strength' parameter of KernelRidge must be None or"),
        (
            {"kernel": "cubic"},
            "'kernel' parameter of KernelRidge must be a Kernel, a callable or one of 'linear'",
        ),
        ({"kernel": 3}, "'kernel' parameter"),
        ({"gamma": 0.0}, "'gamma' parameter"),
        ({"degree": 2.5}, "'degree' parameter"),
        ({"coef0": "one"}, "'coef0' parameter"),
        ({"kernel": "poly", "coef0": -1.0}, "'coef0' parameter of Polynomial"),
        ({"kernel_params": 3}, "'kernel_params' parameter"),
        ({"fit_intercept": "yes"}, "'fit_intercept' parameter"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(data, parameters, words):
    with pytest.raises(ParameterError, match=words):
        KernelRidge(**parameters).fit(*data)


def test_bad_tables_are_refused(data):
    X, y = data
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            KernelRidge().fit(broken, y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            KernelRidge().fit(X, np.where(np.arange(50) == 2, bad, y))
    with pytest.raises(ValueError, match="0 sample"):
        KernelRidge().fit(np.empty((0, 3)), np.empty(0))
    with pytest.raises(ValueError, match="inconsistent"):
        KernelRidge().fit(X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        KernelRidge().fit(X, y, -np.ones(50))
    model = KernelRidge(kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="the rows and the target of the fit"):
        model.certify(X[:10], y[:10])


def test_products_read_the_untouched_triangle(rng):
    X = rng.standard_normal((600, 4))
    K = Linear().gram(X) + Gaussian(0.1).gram(X)
    system = GramSystem(K.copy())
    columns = rng.standard_normal((600, 3))
    assert system.factor(0.3) == 0
    assert_allclose(system.product(columns), K @ columns)
    assert_allclose(system.product(columns[:, :1]), K @ columns[:, :1])
    A = K + 0.3 * np.eye(600)
    assert_allclose(A @ system.solve(columns), columns, atol=1e-9)
    assert np.array_equal(system.restore(), K)
    assert system.factor(0.3) == 0
    assert_allclose(system.inverse_diagonal(), np.diag(np.linalg.inv(A)), rtol=1e-8)
    assert_allclose(system.product(columns), K @ columns)
