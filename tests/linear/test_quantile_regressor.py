"""Quantile regression: the linear program, its dual, and the share of residuals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from assay.linear import QuantileRegressor


@pytest.fixture
def table(rng):
    X = rng.standard_normal((180, 4)) + [0.0, 50.0, 0.0, 0.0]
    return X, X @ [1.0, -1.0, 0.5, 0.0] + (1 + np.abs(X[:, 0])) * rng.standard_normal(180)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("alpha", [0.0, 0.03])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coefficients_are_those_of_the_linear_program(table, quantile, alpha, fit_intercept):
    X, y = table
    weight = np.tile([1.0, 0.0, 2.5], 60)
    ours = QuantileRegressor(quantile, alpha=alpha, fit_intercept=fit_intercept).fit(X, y, weight)
    theirs = linear_model.QuantileRegressor(
        quantile=quantile, alpha=alpha, fit_intercept=fit_intercept, solver="highs"
    ).fit(X, y, weight)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    assert ours.certify(X, y, weight).holds


def test_the_dual_point_is_in_its_box_and_orthogonal_to_every_column(table):
    X, y = table
    model = QuantileRegressor(0.3).fit(X, y)
    nu, residual = model.dual_coef_, y - model.predict(X)
    assert nu.min() >= -0.7
    assert nu.max() <= 0.3
    assert_allclose(nu @ np.column_stack([X, np.ones(180)]), 0, atol=1e-8)
    assert_allclose(nu[residual > 1e-6], 0.3)
    assert_allclose(nu[residual < -1e-6], -0.7)
    assert np.sum(np.abs(residual) < 1e-9) == 5  # a vertex: as many zero residuals as parameters
    assert np.mean(residual < -1e-9) <= 0.3 <= np.mean(residual < 1e-9)


def test_a_constant_is_the_sample_quantile(rng):
    y = rng.standard_normal(101)
    model = QuantileRegressor(0.25).fit(np.ones((101, 1)), y)
    assert model.predict(np.ones((1, 1)))[0] == pytest.approx(np.sort(y)[25])


def test_a_large_penalty_leaves_the_constant(table):
    X, y = table
    model = QuantileRegressor(alpha=100.0).fit(X, y)
    assert_allclose(model.coef_, 0, atol=1e-10)
    assert model.certificates_.holds


@pytest.mark.parametrize("damage", ["coef_", "dual_coef_"])
def test_certificates_see_damage_of_either_side(table, damage):
    X, y = table
    model = QuantileRegressor().fit(X, y)
    getattr(model, damage)[:2] += 0.01
    assert not model.certify(X, y).holds


def test_the_gap_falls_and_a_stopped_solver_says_so(table):
    X, y = table
    model = QuantileRegressor(history=True).fit(X, y)
    assert model.history_[-1] <= 1e-8 < model.history_[0]
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        assert not QuantileRegressor(max_iter=2).fit(X, y).certificates_.holds


def test_perfect_fits_and_far_scales_are_solved(rng):
    X = rng.standard_normal((50, 3))
    y = X @ [1.0, 2.0, 3.0] + 4
    for scale in (1e-8, 1.0, 1e8):
        model = QuantileRegressor().fit(scale * X, y)
        assert_allclose(model.coef_ * scale, [1.0, 2.0, 3.0], atol=1e-6)
        assert model.certificates_.holds


@pytest.mark.parametrize("quantile", [0.0, 1.0, -1, "median", np.nan])
def test_bad_levels_are_refused(table, quantile):
    with pytest.raises(ValueError, match="'quantile' parameter of QuantileRegressor must be a number"):
        QuantileRegressor(quantile).fit(*table)


def test_coefficients_that_are_zero_at_the_minimum_are_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 20))
    y = X[:, :3] @ [3.0, 2.0, 1.0] + 0.5 * rng.standard_normal(100)
    ours = QuantileRegressor(alpha=0.1).fit(X, y)
    theirs = linear_model.QuantileRegressor(alpha=0.1).fit(X, y)
    assert np.array_equal(ours.coef_ != 0, theirs.coef_ != 0)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_answer_is_a_vertex_also_where_the_minimum_is_not_unique(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 30)), int(rng.integers(1, 5))
    X, y = np.round(rng.standard_normal((n, d))), np.round(rng.standard_normal(n), seed % 3)
    alpha = [0.0, 0.05][seed % 2]
    model = QuantileRegressor(alpha=alpha).fit(X, y)
    theirs = linear_model.QuantileRegressor(alpha=alpha).fit(X, y)

    def objective(coef, intercept):
        return np.abs(y - X @ coef - intercept).mean() / 2 + alpha * np.abs(coef).sum()

    at_zero = np.abs(y - model.predict(X)) < 1e-12
    told = np.vstack([np.c_[X, np.ones(n)][at_zero], np.eye(d + 1)[:d][(model.coef_ == 0) & (alpha > 0)]])
    assert np.linalg.matrix_rank(told) == np.linalg.matrix_rank(np.c_[X, np.ones(n)])
    assert objective(model.coef_, model.intercept_) <= objective(theirs.coef_, theirs.intercept_) + 1e-12
    assert model.certificates_.holds


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("level", [0.0, 0.1, 3.0, 1e10])
@pytest.mark.parametrize("column", [0.0, 0.1, 2.0, 1e8])
def test_constant_columns_and_targets_have_an_answer(column, level, dtype):
    X, y = np.full((30, 2), column, dtype=dtype), np.full(30, level, dtype=dtype)
    for alpha in (0.0, 1.0):
        for fit_intercept in (True, False):
            model = QuantileRegressor(alpha=alpha, fit_intercept=fit_intercept).fit(X, y)
            assert np.isfinite(model.coef_).all()
            assert model.certificates_.holds
            if fit_intercept:
                assert_allclose(model.predict(X), y, rtol=1e-5)


def test_a_target_beyond_the_squares_of_floating_point_is_refused_in_a_sentence(rng):
    X = rng.standard_normal((20, 2))
    for unit in (1e-300, 1e200):
        with pytest.raises(ValueError, match=r"spread of .* Divide the target"):
            QuantileRegressor().fit(X, unit * rng.standard_normal(20))
