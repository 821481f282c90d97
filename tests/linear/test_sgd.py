"""Stochastic gradient descent: what it reaches, in which order, and how it is certified."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from assay.linear import LinearSVC, Ridge, SGDClassifier, SGDRegressor
from assay.losses import Logistic, SquaredEpsilonInsensitive
from assay.rows import MemoryRows
from assay.solvers._sgd_gap import gather_risk, risk_gap


@pytest.fixture
def line(rng):
    X = rng.standard_normal((1500, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 0.0]
    return X, X @ [1.0, -0.2, 5.0, 0.0] + 3 + rng.standard_normal(1500)


@pytest.fixture
def two(rng):
    X = rng.standard_normal((1500, 3))
    return X, (X @ [1.0, -1.0, 0.5] + rng.logistic(size=1500) > 0.3).astype(int)


@pytest.mark.spec("rudi/M1.6")
@pytest.mark.parametrize("batch_size", [16, 64, 1500])
def test_least_squares_by_batches_reaches_the_closed_form(line, batch_size):
    X, y = line
    model = SGDRegressor(alpha=0.01, batch_size=batch_size, tol=1e-3, random_state=0).fit(X, y)
    exact = Ridge(0.01 * len(y)).fit(X, y)

    def objective(coef, intercept):
        return np.mean((y - X @ coef - intercept) ** 2) / 2 + 0.005 * coef @ coef

    least = objective(exact.coef_, exact.intercept_)
    ours = objective(model.coef_, model.intercept_)
    assert least <= ours + 1e-12
    assert ours - least <= model.dual_gap_ * ours  # the gap bounds what is left
    assert model.dual_gap_ <= 1e-3


@pytest.mark.spec("rudi/M2.3", "wei/M7.6")
def test_logistic_regression_by_batches_is_near_the_exact_minimum(two):
    X, y = two
    model = SGDClassifier(alpha=0.01, batch_size=64, tol=1e-3, random_state=0).fit(X, y)
    t = 2 * y - 1

    def objective(point):
        return np.mean(np.logaddexp(0, -t * (X @ point[:3] + point[3]))) + 0.005 * point[:3] @ point[:3]

    least = optimize.minimize(objective, np.zeros(4)).fun
    ours = objective(np.append(model.coef_[0], model.intercept_))
    assert -1e-9 <= ours - least <= model.dual_gap_ * ours
    assert model.certify(X, y).holds


@pytest.mark.spec("sangnier/T-1.2.1-c")
def test_the_logistic_majorant_is_the_loss_over_log_two(two):
    X, y = two
    found = SGDClassifier(random_state=0).fit(X, y).certificates_.named("training error")
    model = SGDClassifier(random_state=0).fit(X, y)
    margin = (2 * y - 1) * model.decision_function(X)
    assert found.value == pytest.approx(np.mean(margin <= 0))
    assert found.bound == pytest.approx(np.mean(np.logaddexp(0, -margin)) / np.log(2))
    # Without the division it is no majorant: a row on the plane is an error, its loss log 2 < 1.
    assert Logistic().margin_value(np.zeros(1))[0] < 1


def test_the_squared_hinge_agrees_with_the_exact_machine(two):
    X, y = two
    model = SGDClassifier("squared_hinge", alpha=0.1, tol=1e-4, random_state=0).fit(X, y)
    exact = LinearSVC(1 / (0.1 * len(y))).fit(X, y)
    assert_allclose(model.coef_, exact.coef_, atol=0.01)


@pytest.mark.parametrize("loss", [Logistic(), SquaredEpsilonInsensitive(0.2)])
def test_the_gap_bounds_the_distance_from_the_minimum_of_any_point(two, loss, rng):
    X, code = two
    data = MemoryRows(X, code.astype(float))
    t = 2.0 * code - 1

    def objective(point):
        penalty = 0.02 * np.abs(point[:3]).sum() + 0.05 * point[:3] @ point[:3]
        return loss.value(t, X @ point[:3] + point[3]).mean() + penalty

    least = optimize.minimize(objective, np.full(4, 0.1), method="Nelder-Mead", options={"xatol": 1e-8}).fun
    for size in (0.0, 0.1, 1.0):
        point = size * rng.standard_normal(4)
        evidence = gather_risk(data, loss, point[:3], point[3], 1)
        gap = risk_gap(evidence, point[:3], 0.02, 0.1, fit_intercept=True)
        assert gap.objective == pytest.approx(objective(point))
        assert gap.relative * gap.objective >= objective(point) - least - 1e-6


def test_memory_disk_and_cluster_give_the_same_batches(line, tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = line
    np.save(tmp_path / "rows.npy", X)
    models = [
        SGDRegressor(batch_size=50, tol=0.05, random_state=3).fit(table, target)
        for table, target in (
            (X, y),
            (str(tmp_path / "rows.npy"), y),
            (da.from_array(X, chunks=(333, 2)), da.from_array(y, chunks=200)),
        )
    ]
    for other in models[1:]:
        assert_allclose(other.coef_, models[0].coef_, atol=1e-9)


def test_tables_beyond_memory_are_fetched_in_slabs(line, tmp_path, monkeypatch):
    X, y = line
    np.save(tmp_path / "rows.npy", X)
    whole = SGDRegressor(batch_size=50, tol=0.05, random_state=3).fit(X, y)
    monkeypatch.setattr("assay.solvers._sgd.LARGEST_BYTES", 0)
    monkeypatch.setattr("assay.solvers._sgd.SLAB_BYTES", 1)
    slabs = SGDRegressor(batch_size=50, tol=0.05, random_state=3).fit(str(tmp_path / "rows.npy"), y)
    assert_allclose(slabs.coef_, whole.coef_, atol=1e-9)


def test_sparse_rows_are_scaled_and_not_filled(two):
    X, y = two
    X = X * (np.abs(X) > 0.7)
    model = SGDClassifier(alpha=0.01, random_state=0).fit(sparse.csr_array(X), y)
    assert model.certificates_.holds
    assert model.certify(X, y).holds


def test_the_l1_penalty_leaves_columns_out(line):
    X, y = line
    model = SGDRegressor(penalty="l1", alpha=0.3, average=False, random_state=0).fit(X, y)
    assert model.coef_[3] == 0
    assert np.isinf(model.dual_gap_)
    assert model.certificates_[0].quantity == "relative gradient"


def test_a_stopped_descent_says_so(line):
    X, y = line
    with pytest.warns(ConvergenceWarning, match="passes with relative duality gap"):
        model = SGDRegressor(tol=1e-9, max_iter=2, history=True, random_state=0).fit(X, y)
    assert not model.certificates_.holds
    assert len(model.history_) == 2
