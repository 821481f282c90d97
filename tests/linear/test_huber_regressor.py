"""Huber regression: with a fitted and with a given scale, against general solvers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse
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


def objective(X, y, weight, model, *, epsilon, alpha):
    """Huber's objective at a fit, the limit at σ = 0, by plain sums."""
    size, sigma = np.abs(y - X @ model.coef_ - model.intercept_), model.scale_
    charge = 2 * epsilon * size - epsilon**2 * sigma
    if sigma > 0:
        charge = np.where(size <= epsilon * sigma, size**2 / sigma, charge)
    return weight @ (sigma + charge) + alpha * model.coef_ @ model.coef_


def least_deviations(X, y, weight):
    """Σ s|r| at its minimum over (w, b), by linear programming."""
    n, d = X.shape
    cost = np.concatenate([np.zeros(d + 1), weight, weight])
    rows = np.hstack([X, np.ones((n, 1)), np.eye(n), -np.eye(n)])
    bounds = [(None, None)] * (d + 1) + [(0, None)] * (2 * n)
    return optimize.linprog(cost, A_eq=rows, b_eq=y, bounds=bounds).fun


def small_table(seed):
    """A table with about as many columns as rows, on which the scale may vanish."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 40)), int(rng.integers(1, 20))
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n) * 10.0 ** rng.integers(-3, 2)
    if seed % 3 == 0:
        y[rng.random(n) < 0.2] += 50 * rng.standard_normal()
    if seed % 5 == 0:  # most rows on a plane
        y = X @ rng.standard_normal(d) + (rng.random(n) < 0.3) * rng.standard_normal(n)
    weight = np.ones(n) if seed % 2 else rng.integers(0, 4, n).astype(float) + (np.arange(n) == 0)
    return X, y, weight, float(rng.choice([1.01, 1.35, 2.0, 5.0])), float(rng.choice([0, 1e-4, 1.0]))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_no_small_table_is_fitted_worse_than_by_scikit_learn_dense_or_sparse(seed):
    X, y, weight, epsilon, alpha = small_table(seed)
    rule = {"epsilon": epsilon, "alpha": alpha}
    dense = HuberRegressor(**rule).fit(X, y, weight)
    csr = HuberRegressor(**rule).fit(sparse.csr_array(X), y, weight)
    values = [objective(X, y, weight, model, **rule) for model in (dense, csr)]
    assert values[0] == pytest.approx(values[1], rel=1e-7, abs=1e-9 * (weight @ np.abs(y)))
    for model in (dense, csr):
        assert model.converged_
        assert model.certificates_.holds
    try:
        theirs = linear_model.HuberRegressor(**rule, max_iter=500).fit(X, y, weight)
    except ValueError:  # their solver gave up
        return
    least = objective(X, y, weight, theirs, **rule)
    assert max(values) <= least * (1 + 1e-7) + 1e-9 * (weight @ np.abs(y))


def test_where_most_rows_are_fitted_exactly_the_scale_is_zero_and_the_fit_least_deviations():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 15)), 10 * rng.standard_normal(20)
    model = HuberRegressor(alpha=0.0).fit(X, y)
    assert model.scale_ == 0
    residual = np.abs(y - model.predict(X))
    assert 2 * 1.35 * residual.sum() == pytest.approx(
        2 * 1.35 * least_deviations(X, y, np.ones(20)), rel=1e-9
    )
    assert np.array_equal(model.outliers_, residual > 1e-6)
    assert 0 < model.outliers_.sum() <= 4
    assert np.all(np.abs(model.dual_coef_) <= 2 * 1.35 + 1e-9)
    damaged = HuberRegressor(alpha=0.0).fit(X, y)
    damaged.scale_ = 0.1
    assert not damaged.certify(X, y).holds


@pytest.mark.parametrize("scale", [1e-9, 1e-5])
def test_a_tiny_given_scale_ends_at_the_minimum_too(scale):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 8)), 10 * rng.standard_normal(40)
    model = HuberRegressor(scale=scale, alpha=0.0).fit(X, y)
    assert model.certificates_.holds
    assert np.abs(y - model.predict(X)).sum() == pytest.approx(least_deviations(X, y, np.ones(40)), abs=1e-3)


def test_numbers_beyond_the_squares_of_floating_point_are_refused_in_a_sentence(table):
    X, y = table
    for unit in (1e-300, 1e200):
        with pytest.raises(ValueError, match=r"spread of .* Divide the target"):
            HuberRegressor().fit(X, unit * y)
    X = X.copy()
    X[3, 1] = 1e160
    with pytest.raises(ValueError, match="squares of column 1 of X are too large"):
        HuberRegressor().fit(X, y)


def test_a_wrong_mark_of_an_outlier_does_not_hold(table):
    X, y = table
    model = HuberRegressor().fit(X, y)
    model.outliers_[0] = ~model.outliers_[0]
    assert [item.quantity for item in model.certify(X, y).failed] == ["rows with a wrong mark"]
