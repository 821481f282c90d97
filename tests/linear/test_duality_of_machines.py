"""The duality gap of a machine at any iterate is its primal value less the dual value of its multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from assay.kernel_machines import KernelRidge
from assay.linear import LinearSVC, LinearSVR


@pytest.fixture
def table(rng):
    X = rng.standard_normal((80, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.5 * rng.standard_normal(80)


def classifier(X, y, max_iter):
    labels = np.where(y > 0, 1.0, -1.0)
    options = {"fit_intercept": False, "max_iter": max_iter, "random_state": 0}
    model = LinearSVC(0.5, loss="hinge", solver="dual_coordinate", **options).fit(X, labels)
    w, nu = model.coef_[0], model.dual_coef_[0]
    primal = 0.5 * w @ w + 0.5 * np.maximum(0, 1 - labels * (X @ w)).sum()
    assert np.all((labels * nu >= 0) & (labels * nu <= 0.5))
    return model, primal, labels @ nu - 0.5 * np.sum((nu @ X) ** 2)


def regressor(X, y, max_iter):
    options = {"fit_intercept": False, "max_iter": max_iter, "random_state": 0}
    model = LinearSVR(epsilon=0.1, C=0.5, solver="dual_coordinate", **options).fit(X, y)
    w, nu = model.coef_, model.dual_coef_
    primal = 0.5 * w @ w + 0.5 * np.maximum(0, np.abs(y - X @ w) - 0.1).sum()
    assert np.all(np.abs(nu) <= 0.5)
    return model, primal, nu @ y - 0.1 * np.abs(nu).sum() - 0.5 * np.sum((nu @ X) ** 2)


@pytest.mark.spec("sangnier/T-1.4.5-d")
@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("machine", [classifier, regressor])
def test_the_gap_of_a_support_vector_machine_is_primal_less_dual(machine, table):
    _, best, _ = machine(*table, 2000)
    for max_iter in (1, 3, 2000):
        model, primal, dual = machine(*table, max_iter)
        assert dual <= best * (1 + 1e-9)
        assert best <= primal * (1 + 1e-9)
        assert model.dual_gap_ == pytest.approx((primal - dual) / primal, abs=1e-12)
        assert (model.dual_gap_ > 1e-3) == (max_iter < 2000)


@pytest.mark.spec("sangnier/T-1.4.5-d")
def test_the_gap_of_kernel_ridge_is_primal_less_dual(table):
    X, y = table
    model = KernelRidge(0.5, kernel="rbf").fit(X, y)
    K = model.kernel_.gram(X)

    def values(beta):  # ½‖h‖² + ‖ξ‖²/(2α) and its dual, α = 0.5
        primal = 0.5 * beta @ K @ beta + np.sum((y - K @ beta) ** 2)
        return primal, y @ beta - 0.5 * beta @ K @ beta - 0.25 * beta @ beta

    best = values(model.dual_coef_)
    assert best[0] == pytest.approx(best[1], rel=1e-10)
    for factor in (1.1, 0.7):
        damaged = KernelRidge(0.5, kernel="rbf").fit(X, y)
        damaged.dual_coef_ = factor * damaged.dual_coef_
        primal, dual = values(damaged.dual_coef_)
        assert dual < best[1] < primal
        gap = damaged.certify(X, y).named("relative duality gap").value
        assert gap == pytest.approx((primal - dual) / primal, rel=1e-9)
