"""Kernel ridge regression as a linear smoother: degrees of freedom, leave-one-out, GCV, paths."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.kernel_machines import KernelRidge
from assay.kernels import Gaussian

ALPHAS = np.logspace(-4, 2, 7)


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (35, 2))
    return X, X[:, 0] ** 2 + 0.3 * rng.standard_normal(35) + 1.0


def brute_force_leave_one_out(model, X, y, weight=None):
    residuals = []
    for row in range(len(y)):
        others = np.arange(len(y)) != row
        kept = None if weight is None else weight[others]
        refit = KernelRidge(**model.get_params()).fit(X[others], y[others], kept)
        residuals.append(y[row] - refit.predict(X[[row]])[0])
    return np.array(residuals)


@pytest.mark.spec("wei/M6.5", "sangnier/M-1.5.1-a")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_residuals_are_those_of_refits(data, kernel, fit_intercept, weighted, rng):
    X, y = data
    weight = rng.uniform(0.3, 2, len(y)) if weighted else None
    model = KernelRidge(0.5, kernel=kernel, fit_intercept=fit_intercept).fit(X, y, weight)
    expected = brute_force_leave_one_out(model, X, y, weight)
    smoothing = model.smoothing()
    assert_allclose(smoothing.leave_one_out_residuals, expected, rtol=1e-7)
    assert_allclose(model.leave_one_out_error_, np.average(expected**2, weights=weight), rtol=1e-7)
    path = model.path(X, y, [0.5], weight)
    assert_allclose(path.leave_one_out_error, [model.leave_one_out_error_], rtol=1e-7)
    assert model.smoothing() is smoothing


@pytest.mark.spec("wei/M6.5", "sangnier/M-1.5.1-a")
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_smoother_matrix_maps_targets_to_fitted_values(data, fit_intercept, weighted, rng):
    X, y = data
    weight = rng.uniform(0.3, 2, len(y)) if weighted else None
    model = KernelRidge(0.5, kernel="rbf", fit_intercept=fit_intercept).fit(X, y, weight)
    S = model.smoother_matrix()
    assert_allclose(S @ y, model.fitted_values_, rtol=1e-8)
    other = rng.standard_normal(len(y))
    refit = KernelRidge(0.5, kernel="rbf", fit_intercept=fit_intercept).fit(X, other, weight)
    assert_allclose(S @ other, refit.fitted_values_, rtol=1e-7, atol=1e-9)
    assert_allclose(model.smoothing().leverages, np.diag(S), rtol=1e-8)
    assert_allclose(model.effective_df_, np.trace(S), rtol=1e-8)
    total = len(y) if weight is None else weight.sum()
    rss = np.sum((1 if weight is None else weight) * model.residuals_**2)
    assert_allclose(model.gcv_, rss / total / (1 - np.trace(S) / total) ** 2, rtol=1e-8)
    if fit_intercept:
        assert_allclose(S.sum(axis=1), 1.0)  # constants are kept as they are


@pytest.mark.spec("wei/M6.5")
def test_without_intercept_the_smoother_is_the_course_formula(data):
    X, y = data
    model = KernelRidge(0.5, kernel="rbf").fit(X, y)
    K = model.kernel_.gram(X)
    assert_allclose(model.smoother_matrix(), K @ np.linalg.inv(K + 0.5 * np.eye(len(y))), atol=1e-10)


@pytest.mark.spec("wei/M6.5")
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_path_is_the_fit_at_every_penalty(data, fit_intercept, weighted, rng):
    X, y = data
    weight = rng.integers(0, 3, len(y)).astype(float) if weighted else None
    model = KernelRidge(kernel="rbf", fit_intercept=fit_intercept)
    path = model.path(X, y, ALPHAS, weight)
    for index, alpha in enumerate(ALPHAS):
        fit = KernelRidge(alpha, kernel="rbf", fit_intercept=fit_intercept).fit(X, y, weight)
        assert_allclose(path.coef[index], fit.dual_coef_, rtol=1e-5, atol=1e-6 * np.abs(fit.dual_coef_).max())
        assert_allclose(path.intercept[index], fit.intercept_, rtol=1e-6, atol=1e-12)
        assert_allclose(path.rkhs_norms[index], fit.rkhs_norm_, rtol=1e-6)
        assert_allclose(path.effective_df[index], fit.effective_df_, rtol=1e-6)
        assert_allclose(path.leave_one_out_error[index], fit.leave_one_out_error_, rtol=1e-6)
        assert_allclose(path.gcv[index], fit.gcv_, rtol=1e-6)
        assert_allclose(path.penalty_strengths[index], fit.penalty_strength_)
    assert path.best_alpha == ALPHAS[np.argmin(path.leave_one_out_error)]
    assert path.best_alpha_gcv == ALPHAS[np.argmin(path.gcv)]
    assert np.all(np.diff(path.effective_df) < 0)
    assert not hasattr(model, "dual_coef_")


def test_several_targets_each_with_its_penalty(data):
    X, y = data
    Y = np.column_stack([y, X[:, 1]])
    model = KernelRidge([0.1, 2.0], kernel="rbf", fit_intercept=True).fit(X, Y)
    smoothing = model.smoothing()
    for column, alpha in enumerate([0.1, 2.0]):
        alone = KernelRidge(alpha, kernel="rbf", fit_intercept=True).fit(X, Y[:, column])
        assert_allclose(smoothing.effective_df[column], alone.effective_df_)
        assert_allclose(
            smoothing.leave_one_out_residuals[:, column], alone.smoothing().leave_one_out_residuals
        )
        assert_allclose(smoothing.gcv[column], alone.gcv_)
        assert_allclose(model.smoother_matrix(column), alone.smoother_matrix(), atol=1e-12)
    path = KernelRidge(kernel="rbf").path(X, Y, [0.1, 2.0])
    assert path.coef.shape == (2, 35, 2)
    assert path.leave_one_out_error.shape == (2,)


def test_ordinary_least_squares_is_the_limit_without_penalty(data):
    """α = 0 with the linear kernel: the Gram matrix is singular, the spectrum gives the hat matrix."""
    X, y = data
    model = KernelRidge(0.0, kernel="linear").fit(X, y)
    hat = X @ np.linalg.pinv(X)
    assert model.solver_ == "spectrum"
    assert_allclose(model.fitted_values_, hat @ y, rtol=1e-8)
    assert_allclose(model.effective_df_, 2.0)
    assert_allclose(model.smoothing().leave_one_out_residuals, (y - hat @ y) / (1 - np.diag(hat)), rtol=1e-8)
    assert model.certify(X, y).holds


def test_interpolation_without_penalty(data):
    X, y = data
    model = KernelRidge(0.0, kernel=Gaussian(20.0)).fit(X, y)
    assert_allclose(model.predict(X), y, rtol=1e-6)
    assert_allclose(model.effective_df_, len(y), rtol=1e-8)
    others = np.arange(len(y)) != 3
    refit = KernelRidge(0.0, kernel=Gaussian(20.0)).fit(X[others], y[others])
    left_out = y[3] - refit.predict(X[[3]])[0]
    assert_allclose(model.smoothing().leave_one_out_residuals[3], left_out, rtol=1e-5)
    assert np.isnan(model.gcv_) or model.gcv_ >= 0
    assert model.certify(X, y).holds


def test_paths_refuse_bad_penalties(data):
    X, y = data
    for bad in ([], [-1.0], 1.0, [np.nan], [[1.0]], "many"):
        with pytest.raises(ValueError, match=r"'alphas' parameter of KernelRidge.path must be"):
            KernelRidge().path(X, y, bad)
