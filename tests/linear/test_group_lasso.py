"""Group lasso, MCP and SCAD: independent minimisers, certificates, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from assay.datasets import SparseLinear
from assay.linear import GroupLasso, Lasso, SparseRegressor
from assay.penalties import MCP, SCAD, SparseGroup
from assay.solvers.sparse.groups import Blocks, group_epoch, group_value

LABELS = np.repeat(np.arange(10), 3)


@pytest.fixture
def grouped(rng):
    X = rng.standard_normal((50, 30)) + 1
    return X, X[:, :3].sum(axis=1) - X[:, 3] + rng.standard_normal(50)


@pytest.mark.parametrize("ratio", [0.0, 0.4])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_group_solutions_are_those_of_proximal_descent(grouped, ratio, make):
    X, y = grouped
    model = GroupLasso(0.1, groups=LABELS, l1_ratio=ratio, tol=1e-10, history=True).fit(make(X), y)
    penalty = SparseGroup(0.1, LABELS, ratio)
    centred, target = X - X.mean(axis=0), y - y.mean()
    step = 50 / np.linalg.norm(centred, 2) ** 2
    coef = np.zeros(30)
    for _ in range(4_000):
        coef = penalty.proximal(coef + step * centred.T @ (target - centred @ coef) / 50, step)
    assert_allclose(model.coef_, coef, atol=1e-4)
    assert model.certificates_.holds
    assert model.certify(make(X), y).holds
    assert np.all(np.diff(model.history_) <= 1e-12)
    value = np.mean((target - centred @ model.coef_) ** 2) / 2 + penalty.value(model.coef_)
    assert model.history_[-1] == pytest.approx(value)


def test_groups_of_one_are_the_lasso(grouped):
    X, y = grouped
    assert_allclose(
        GroupLasso(0.1, tol=1e-11).fit(X, y).coef_, Lasso(0.1, tol=1e-11).fit(X, y).coef_, atol=1e-5
    )


def test_groups_enter_whole_along_the_path(grouped):
    X, y = grouped
    for table in (X, np.vstack([X, X, X])):  # working sets of groups; all groups on the moments
        target = np.resize(y, len(table))
        path = GroupLasso(groups=LABELS).path(table, target, n_alphas=15)
        assert path.n_nonzero[0] == 0
        assert np.all(path.dual_gap <= 1e-6)
        assert np.all(np.isin((path.coef != 0).reshape(15, 10, 3).sum(axis=2), [0, 3]))


def test_excluded_groups_stay_out_and_bad_groups_are_refused(grouped):
    X, y = grouped
    weights = np.ones(10)
    weights[0] = np.inf
    model = GroupLasso(0.1, groups=LABELS, group_weights=weights).fit(X, y)
    assert not model.coef_[:3].any()
    assert model.certify(X, y).holds
    with pytest.raises(ValueError, match="a partition of the 30 features"):
        GroupLasso(groups=[0, 0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="'group_weights' parameter of GroupLasso must be above 0"):
        GroupLasso(groups=LABELS, group_weights=np.zeros(10)).fit(X, y)
    with pytest.raises(ValueError, match="'weights' parameter of GroupLasso"):
        GroupLasso(groups=LABELS, group_weights=[1.0]).fit(X, y)


def test_one_cycle_over_groups_is_a_proximal_step_a_block(rng):
    X = rng.standard_normal((20, 4))
    gram, linear = X.T @ X / 20, rng.standard_normal(4)
    starts, radius = np.array([0, 1, 2, 3, 4]), np.full(4, 0.2)
    coef, corr = np.zeros(4), linear.copy()
    group_epoch(gram, coef, corr, Blocks(starts, np.diagonal(gram).copy(), 0.1, radius), np.empty(4))
    twin = np.zeros(4)
    for j in range(4):
        inner = linear[j] - gram[j] @ twin
        twin[j] = np.sign(inner) * max(abs(inner) - 0.3, 0) / gram[j, j]
    assert_allclose(coef, twin, atol=1e-12)
    assert_allclose(corr, linear - gram @ twin, atol=1e-12)
    value = group_value(coef, Blocks(np.array([0, 2, 4]), np.ones(2), 0.1, np.array([0.2, 0.5])))
    expected = 0.1 * np.abs(coef).sum() + 0.2 * np.hypot(*coef[:2]) + 0.5 * np.hypot(*coef[2:])
    assert value == pytest.approx(expected)


@pytest.mark.parametrize(("name", "kind"), [("mcp", MCP), ("scad", SCAD)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_concave_solutions_are_stationary_and_no_neighbour_is_better(name, kind, make):
    law = SparseLinear(40, 4, signal_to_noise=4, random_state=0)
    X, y = law.sample(60, random_state=1)
    model = SparseRegressor(0.25, penalty=name, tol=1e-10, history=True).fit(make(X), y)
    penalty = kind(0.25, model.gamma_)
    assert model.certificates_.holds
    assert model.certify(make(X), y).holds
    assert model.locally_convex_
    assert np.all(np.diff(model.history_) <= 1e-12)

    def value(coef):
        residual = (y - y.mean()) - (X - X.mean(axis=0)) @ coef
        return residual @ residual / 120 + penalty.value(coef)

    assert model.objective_ == pytest.approx(value(model.coef_))
    assert model.objective_ <= value(Lasso(0.25).fit(X, y).coef_)
    for j in range(40):  # each coordinate at its global minimum
        for x in np.linspace(-3, 3, 61):
            moved = model.coef_.copy()
            moved[j] = x
            assert value(moved) >= model.objective_ - 1e-9


def test_concave_penalties_do_not_shrink_what_is_large():
    law = SparseLinear(100, 3, signal_to_noise=20, random_state=0)
    X, y = law.sample(200, random_state=1)
    model = SparseRegressor(0.2).fit(X, y)
    assert set(np.flatnonzero(model.coef_)) == set(law.support)
    columns = np.column_stack([X[:, law.support], np.ones(200)])
    unbiased = np.linalg.lstsq(columns, y, rcond=None)[0][:-1]
    large = np.abs(unbiased) > 0.6
    assert_allclose(model.coef_[law.support][large], unbiased[large], atol=1e-3)
    assert np.abs(Lasso(0.2).fit(X, y).coef_).sum() < np.abs(model.coef_).sum() - 0.3


def test_damage_to_a_concave_fit_is_seen():
    X, y = SparseLinear(40, 4, random_state=0).sample(60, random_state=1)
    model = SparseRegressor(0.25).fit(X, y)
    model.coef_ = model.coef_ * 1.01
    assert not model.certify(X, y).named("distance to stationarity").holds
    risen = SparseRegressor(0.25).fit(X, y)
    risen.largest_rise_ = 1e-3
    assert not risen.certify(X, y).holds
    worse = SparseRegressor(0.25).fit(X, y)
    worse.coef_ = worse.coef_ + 1.0
    assert not worse.certify(X, y).named("objective").holds


@pytest.mark.parametrize(("name", "gamma"), [("mcp", 1.0), ("scad", 1.5)])
def test_gamma_must_leave_room(name, gamma):
    X, y = SparseLinear(5, 2, random_state=0).sample(20, random_state=1)
    with pytest.raises(ValueError, match="'gamma' parameter of SparseRegressor must be"):
        SparseRegressor(penalty=name, gamma=gamma).fit(X, y)


def test_a_zero_solution_is_certified_by_the_critical_strength():
    X, y = SparseLinear(5, 2, random_state=0).sample(20, random_state=1)
    for model in (SparseRegressor(100.0), GroupLasso(100.0, groups=[0, 0, 1, 1, 1])):
        fitted = model.fit(X, y)
        assert not fitted.coef_.any()
        assert fitted.certificates_.named("critical strength").holds
