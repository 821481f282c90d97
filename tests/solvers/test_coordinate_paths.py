"""The sparse engine: every table, both losses, proved by gaps that are measured here afresh."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse, special
from sklearn import linear_model

from assay.loops import compiled
from assay.losses import Logistic, Squared
from assay.penalties import L1, ElasticNet
from assay.penalties.coordinates import ConcaveForm, ElasticNetForm, PositiveElasticNet, entry_minimiser
from assay.solvers import SparseProblem, sparse_path
from assay.solvers.sparse import subproblem as subproblem_module
from assay.solvers.sparse.design import DenseDesign
from assay.solvers.sparse.working_set import WorkingSetPath

KINDS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "csr": sparse.csr_array, "csc": sparse.csc_array}


def lasso_gap(X, y, weight, coef, intercept, alpha):
    """Relative duality gap of the lasso, written out."""
    share = weight / weight.sum()
    residual = y - X @ coef - intercept
    slope = X.T @ (share * residual)
    scale = min(1.0, alpha / np.abs(slope).max())
    primal = share @ residual**2 / 2 + alpha * np.abs(coef).sum()
    dual_point = scale * residual
    assert abs(share @ dual_point) < 1e-8 * np.abs(y).max()
    dual = share @ (y * dual_point) - share @ dual_point**2 / 2
    centred = y - share @ y
    return (primal - dual) / (share @ centred**2 / 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(50, 120), (300, 15)])
def test_every_solution_of_a_path_is_within_its_gap(rng, kind, shape):
    X = rng.standard_normal(shape) + 2
    y = X[:, :4] @ [1.0, -1.0, 2.0, 0.5] + rng.standard_normal(shape[0])
    weight = rng.integers(0, 3, shape[0]).astype(float)
    problem = SparseProblem(KINDS[kind](X), y, weight, L1(1.0), n_strengths=20)
    strengths = np.geomspace(problem.critical_strength(), 0.01 * problem.critical_strength(), 20)
    found = problem.solve(strengths, tol=1e-7, max_iter=10_000)
    assert found.converged.all()
    assert not found.coef[0].any()
    for alpha, coef, level, claimed in zip(
        strengths, found.coef, found.intercept, found.relative_gap, strict=True
    ):
        measured = lasso_gap(X, y, weight, coef, level, alpha)
        assert -1e-12 <= measured <= 1.01e-7
        assert measured == pytest.approx(claimed, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_solutions_are_those_of_scikit_learn(rng, kind, positive, fit_intercept, ratio):
    X = rng.standard_normal((40, 60)) + 1
    y = X[:, :3] @ [1.0, -1.0, 2.0] + rng.standard_normal(40)
    weight = rng.random(40)
    options = {"fit_intercept": fit_intercept, "tol": 1e-11}
    penalty = (PositiveElasticNet if positive else ElasticNet)(1.0, ratio)
    found = sparse_path(KINDS[kind](X), y, weight, [0.5, 0.1], penalty=penalty, **options)
    options |= {"l1_ratio": ratio, "positive": positive}
    peer = linear_model.ElasticNet(alpha=0.1, max_iter=200_000, random_state=0, **options).fit(
        X, y, sample_weight=weight
    )
    assert found.converged.all()
    assert_allclose(found.coef[1], peer.coef_, atol=2e-4)
    assert found.intercept[1] == pytest.approx(peer.intercept_, abs=2e-3)


@pytest.mark.parametrize("kind", ["C", "csr"])
@pytest.mark.parametrize("shape", [(40, 60), (200, 8)])
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_features_may_be_free_excluded_or_weighted(rng, kind, shape, loss):
    X = rng.standard_normal(shape) + 1
    y = X[:, :3] @ [0.7, -0.6, 0.5] + 2 * rng.standard_normal(shape[0])
    y = np.where(y > np.median(y), 1.0, -1.0) if loss == Logistic() else y
    weights = np.ones(shape[1])
    weights[[0, 1, 2]] = 0.0, np.inf, 3.0
    found = sparse_path(KINDS[kind](X), y, None, [0.08], loss=loss, penalty=L1(1.0, weights), tol=1e-10)
    coef = found.coef[0]
    assert found.converged.all()
    assert coef[1] == 0
    prediction = X @ coef + found.intercept[0]
    pull = y - prediction if loss == Squared() else y * special.expit(-y * prediction)
    slope = X.T @ pull / len(y)
    assert abs(slope[0]) < 1e-5
    assert abs(pull.mean()) < 1e-6
    bound = 0.08 * weights
    inside = np.abs(slope) <= bound * (1 + 1e-4)
    assert inside[np.isfinite(weights) & (weights > 0)].all()
    active = (coef != 0) & (weights > 0)
    assert_allclose(slope[active], bound[active] * np.sign(coef[active]), rtol=1e-3)


def test_the_critical_strength_leaves_out_free_features(rng):
    X = rng.standard_normal((50, 5))
    y = 10 * X[:, 0] + X[:, 1] + rng.standard_normal(50)
    weights = np.array([0.0, 1.0, 1.0, 2.0, 1.0])
    for table in (X, sparse.csr_array(X)):
        problem = SparseProblem(table, y, None, L1(1.0, weights), n_strengths=1)
        critical = problem.critical_strength()
        centred = X - X.mean(axis=0)
        alone = np.linalg.lstsq(centred[:, :1], y - y.mean(), rcond=None)[0]
        slope = np.abs(centred.T @ (y - y.mean() - centred[:, :1] @ alone)) / 50
        assert critical == pytest.approx((slope[1:] / weights[1:]).max(), rel=1e-6)
        assert np.count_nonzero(problem.solve([critical * 1.0001], tol=1e-9, max_iter=1000).coef) == 1
        assert np.count_nonzero(problem.solve([critical * 0.99], tol=1e-9, max_iter=1000).coef) == 2


@pytest.mark.spec("wei/M7.7")
@pytest.mark.parametrize("kind", ["C", "csr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_l1_logistic_is_proved_by_its_gap_and_its_conditions(rng, kind, fit_intercept):
    X = rng.standard_normal((150, 40))
    y = np.where(rng.random(150) < special.expit(X[:, 0] - X[:, 1] + 0.5), 1.0, -1.0)
    weight = rng.integers(1, 4, 150).astype(float)
    share = weight / weight.sum()
    strengths = [0.1, 0.05, 0.02]
    found = sparse_path(
        KINDS[kind](X), y, weight, strengths, loss=Logistic(), fit_intercept=fit_intercept, tol=1e-9
    )
    assert found.converged.all()
    for alpha, coef, level in zip(strengths, found.coef, found.intercept, strict=True):
        prediction = X @ coef + level
        slope = X.T @ (share * y * special.expit(-y * prediction))
        assert np.all(np.abs(slope) <= alpha * (1 + 1e-4))
        assert_allclose(slope[coef != 0], alpha * np.sign(coef[coef != 0]), rtol=1e-3)
        value = share @ np.logaddexp(0, -y * prediction) + alpha * np.abs(coef).sum()
        assert value <= 1e-6 + split_logistic(X, y, share, alpha, fit_intercept)


def split_logistic(X, y, share, alpha, fit_intercept):
    """Minimum of the l1 logistic objective by L-BFGS-B on positive and negative parts."""
    d = X.shape[1]
    table = np.hstack([X, -X, np.ones((len(y), 1))])

    def objective(v):
        margin = y * (table @ v)
        slope = table.T @ (-share * y * special.expit(-margin))
        slope[: 2 * d] += alpha
        return share @ np.logaddexp(0, -margin) + alpha * v[: 2 * d].sum(), slope

    bounds = [(0, None)] * (2 * d) + [(None, None) if fit_intercept else (0, 0)]
    found = optimize.minimize(
        objective, np.zeros(2 * d + 1), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return found.fun


def test_the_sign_of_the_likelihood_is_that_of_a_loss(rng):
    """The penalised criterion is minimised with minus the log-likelihood: the slope rises with the labels."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.0], [0.5], [-0.5]])
    y = np.array([-1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    found = sparse_path(X, y, None, [0.05], loss=Logistic(), tol=1e-10)
    assert found.coef[0, 0] > 0
    assert found.loss[0] < np.log(2)


def test_working_sets_that_grow_too_large_fall_back_to_columns(rng, monkeypatch):
    X = rng.standard_normal((30, 90))
    y = X[:, 0] + rng.standard_normal(30)
    expected = sparse_path(X, y, None, [0.2, 0.02], penalty=ElasticNet(1.0, 0.2), tol=1e-9)
    monkeypatch.setattr(subproblem_module, "LARGEST_WORKING_SET", 20)
    found = sparse_path(X, y, None, [0.2, 0.02], penalty=ElasticNet(1.0, 0.2), tol=1e-9)
    assert found.converged.all()
    assert_allclose(found.coef, expected.coef, atol=1e-3)


def test_a_start_is_used_and_does_not_change_the_answer(rng):
    X = rng.standard_normal((60, 100))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(60)
    cold = sparse_path(X, y, None, [0.1], tol=1e-9)
    warm = sparse_path(X, y, None, [0.1], tol=1e-9, start=cold.coef[0])
    assert warm.n_iter[0] < cold.n_iter[0]
    assert_allclose(warm.coef, cold.coef, atol=1e-4)


def test_screening_skips_columns_and_the_proof_is_completed_on_all(rng, monkeypatch):
    """Cold starts whose working set grows slowly: several rounds, most columns screened in between."""
    X = rng.standard_normal((100, 3000))
    y = X[:, :20] @ rng.standard_normal(20) + 0.1 * rng.standard_normal(100)
    looked = []
    plain = DenseDesign.correlations

    def recorded(self, residuals, which=None):
        looked.append(3000 if which is None else which.size)
        return plain(self, residuals, which)

    monkeypatch.setattr(DenseDesign, "correlations", recorded)
    monkeypatch.setattr("assay.solvers.sparse.working_set.FEWEST_NEWCOMERS", 1)
    critical = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / 100
    for alpha in np.array([0.7, 0.6, 0.5, 0.4]) * critical:
        found = sparse_path(X, y, None, [alpha], tol=1e-8)
        assert found.converged.all()
        assert looked[-1] == 3000
        assert lasso_gap(X, y, np.ones(100), found.coef[0], found.intercept[0], alpha) <= 1.01e-8
        residual = y - X @ found.coef[0] - found.intercept[0]
        assert_allclose(found.correlation, X.T @ residual / 100, atol=1e-10)
    assert min(looked) < 3000 // 4


def test_running_out_of_cycles_is_told(rng):
    X = rng.standard_normal((50, 100))
    y = X[:, :5].sum(axis=1)
    found = sparse_path(X, y, None, [0.001], tol=1e-12, max_iter=3)
    assert not found.converged[0]
    assert found.n_iter[0] == 3
    assert found.relative_gap[0] > 1e-12


def test_large_paths_come_back_sparse(rng, monkeypatch):
    monkeypatch.setattr("assay.solvers.sparse.path.LARGEST_DENSE_RESULT", 10)
    X, y = rng.standard_normal((30, 50)), rng.standard_normal(30)
    expected = np.vstack([sparse_path(X, y, None, [a], tol=1e-9).coef.toarray() for a in (0.3, 0.1)])
    found = sparse_path(X, y, None, [0.3, 0.1], tol=1e-9).coef
    assert sparse.issparse(found)
    assert_allclose(found.toarray(), expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["C", "csr"])
def test_constant_columns_and_constant_targets_give_zero(kind):
    X = np.column_stack([np.full(20, 1e8), np.arange(20.0), np.zeros(20)])
    found = sparse_path(KINDS[kind](X), np.arange(20.0), None, [0.1], tol=1e-9)
    assert found.coef[0, 0] == found.coef[0, 2] == 0
    flat = sparse_path(KINDS[kind](X), np.full(20, 3.0), None, [0.1], tol=1e-9)
    assert not flat.coef.any()
    assert flat.intercept[0] == pytest.approx(3)
    assert flat.converged.all()


@pytest.mark.parametrize("shape", [(100, 400), (900, 60)])
def test_nearly_collinear_columns_take_a_jump_and_not_ten_thousand_cycles(rng, shape):
    X = rng.standard_normal((shape[0], 1)) + 0.01 * rng.standard_normal(shape)
    y = X[:, 0] + 0.1 * rng.standard_normal(shape[0])
    found = sparse_path(X, y, None, [1e-3, 1e-4], tol=1e-9)
    assert found.converged.all()
    assert found.n_iter.max() < 3000
    for alpha, coef, level in zip([1e-3, 1e-4], found.coef, found.intercept, strict=True):
        assert lasso_gap(X, y, np.ones(shape[0]), coef, level, alpha) <= 1.1e-9


def test_a_jump_reaches_the_minimum_on_the_support_and_never_rises(rng):
    X = rng.standard_normal((40, 8)) + 2 * rng.standard_normal((40, 1))
    gram, linear = X.T @ X / 40, X.T @ rng.standard_normal(40) / 40
    profile = ElasticNetForm(np.full(8, 0.02), np.full(8, 0.01))

    def value(w):
        return w @ gram @ w / 2 - linear @ w + 0.02 * np.abs(w).sum() + 0.005 * w @ w

    coef = rng.standard_normal(8)
    before = coef.copy()
    subproblem_module.jump_to_minimum(gram, linear, coef, profile)
    assert value(coef) < value(before)
    assert np.all(coef * before >= 0)
    active = coef != 0
    slope = linear - gram @ coef - 0.01 * coef
    assert_allclose(slope[active], 0.02 * np.sign(coef[active]), atol=1e-12)


def test_a_strength_that_was_repaired_has_more_columns_than_the_next_one():
    """The check lets columns in; a strength that it finds proved keeps those that it had."""
    path = WorkingSetPath.__new__(WorkingSetPath)
    path.convex, path.subproblem = True, SimpleNamespace(which=np.arange(4))
    earlier = SimpleNamespace(strength=4.0, coef=np.array([1.0, 2.0, 0.0, 3.0]))
    latest = SimpleNamespace(strength=3.0, coef=np.array([2.0, 1.5]))
    going_on = path._predicted(SimpleNamespace(strength=2.0), latest, earlier, np.zeros(4))
    assert going_on.tolist() == [3.0, 1.0, 0.0, 0.0]


@compiled
def minimisers(form, values, out):
    for j in range(values.size):
        out[j] = entry_minimiser(form, j, values[j], 1.0)


def test_below_its_slope_a_concave_penalty_sets_a_coefficient_to_zero_and_no_rounding_of_it(rng):
    """The knee of MCP is (γ − γ)α: as γα − γα, fused, it was −6e-17 where indices are checked."""
    for gamma in rng.uniform(1.1, 6.0, 50):
        slope, found = rng.uniform(0.01, 3.0, 7), np.ones(7)
        form = ConcaveForm(slope, np.zeros(7), positive=False, gamma=gamma, bend=gamma)
        minimisers(form, slope * rng.uniform(-1.0, 1.0, 7), found)
        assert np.all(found == 0.0)
