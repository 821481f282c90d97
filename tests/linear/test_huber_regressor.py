"""Huber regression: with a fitted and with a given scale, against general solvers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from assay.linear import HuberRegressor, Ridge
from assay.losses import Huber


@pytest.fixture
def table(rng):
    X = rng.standard_normal((150, 3)) + [0.0, 5.0, 0.0]
    y = X @ [1.0, -1.0, 0.5] + 2 + 0.3 * rng.standard_normal(150)
    y[::10] += 20
    return X, y


@pytest.mark.parametrize("alpha", [0.0, 0.0001, 5.0])
@pytest.mark.parametrize("epsilon", [1.1, 1.35, 3.0])
def test_coefficients_and_scale_are_scikit_learns(table, alpha, epsilon):
    X, y = table
    weight = np.linspace(0, 2, 150)
    ours = HuberRegressor(epsilon, alpha=alpha).fit(X, y, weight)
    theirs = linear_model.HuberRegressor(epsilon=epsilon, alpha=alpha, tol=1e-9, max_iter=5000).fit(
        X, y, weight
    )
    assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert ours.scale_ == pytest.approx(theirs.scale_, rel=1e-3)
    assert ours.certify(X, y, weight).holds
    assert ours.dual_gap_ < 1e-8


def test_a_given_scale_minimises_hubers_loss(table):
    X, y = table
    model = HuberRegressor(1.5, alpha=0.7, scale=0.4).fit(X, y)
    # σH(r/σ) is 2/σ times Huber's loss with δ = εσ.
    loss = Huber(1.5 * 0.4)

    def objective(point):
        return 5.0 * loss.value(y, X @ point[:3] + point[3]).sum() + 0.7 * point[:3] @ point[:3]

    found = optimize.minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert_allclose(np.append(model.coef_, model.intercept_), found.x, atol=1e-5)
    assert model.scale_ == 0.4
    assert model.certificates_.holds
    damaged = HuberRegressor(1.5, alpha=0.7, scale=0.4).fit(X, y)
    damaged.coef_ = damaged.coef_ + 0.01
    measured = damaged.certify(X, y).named("relative duality gap")
    assert not measured.holds
    point = np.append(damaged.coef_, damaged.intercept_)
    total = objective(point) + 0.4 * len(y)
    assert (
        measured.value * total
        >= objective(point) - objective(np.append(model.coef_, model.intercept_)) - 1e-9
    )


def test_outliers_are_named_and_do_not_pull(table):
    X, y = table
    model = HuberRegressor().fit(X, y)
    assert model.outliers_[::10].all()
    assert_allclose(model.coef_, [1.0, -1.0, 0.5], atol=0.15)
    assert np.array_equal(model.outliers_, np.abs(y - model.predict(X)) > 1.35 * model.scale_)


def test_without_outliers_it_is_ridge(table):
    X, y = table
    model = HuberRegressor(1e6, alpha=2.0, scale=1.0).fit(X, y)
    assert not model.outliers_.any()
    assert_allclose(model.coef_, Ridge(2.0).fit(X, y).coef_, atol=1e-9)


def test_the_objective_falls_and_a_stopped_solver_says_so(table):
    X, y = table
    model = HuberRegressor(history=True).fit(X, y)
    assert np.all(np.diff(model.history_) <= 1e-9)
    with pytest.warns(ConvergenceWarning, match="Newton steps"):
        assert not HuberRegressor(max_iter=1).fit(X, y).certificates_.holds


def test_perfect_fits_constant_targets_and_far_scales_are_solved(rng):
    X = rng.standard_normal((60, 2))
    constant = HuberRegressor().fit(X, np.full(60, 3.0))
    assert_allclose(constant.predict(X), 3.0)
    y = X @ [1.0, 2.0] + 1
    assert_allclose(HuberRegressor(alpha=0.0).fit(X, y).predict(X), y, atol=1e-6)
    noisy = y + 0.1 * rng.standard_normal(60)
    for scale in (1e-8, 1e8):
        model = HuberRegressor(alpha=0.0).fit(scale * X, noisy)
        assert_allclose(model.coef_ * scale, HuberRegressor(alpha=0.0).fit(X, noisy).coef_, rtol=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, np.inf, None])
def test_bad_thresholds_are_refused(table, epsilon):
    with pytest.raises(
        ValueError, match="'epsilon' parameter of HuberRegressor must be a finite number above"
    ):
        HuberRegressor(epsilon).fit(*table)
