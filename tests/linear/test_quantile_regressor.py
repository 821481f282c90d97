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
