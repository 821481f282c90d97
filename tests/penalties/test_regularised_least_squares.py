"""Critical strengths and optimality residuals on a small least-squares problem."""

from __future__ import annotations

import numpy as np
import pytest

from assay.penalties import (
    L1,
    MCP,
    SCAD,
    Box,
    ElasticNet,
    GroupL2,
    Nuclear,
    RowSparse,
    SparseGroup,
    SquaredNorm,
)

GROUPS = [0, 0, 1, 1, 2]
FAMILIES = {
    "l1": L1,
    "weighted l1": lambda strength: L1(strength, [1.0, 2.0, 0.5, 1.0, np.inf]),
    "elastic net": lambda strength: ElasticNet(strength, 0.3),
    "group": lambda strength: GroupL2(strength, GROUPS),
    "sparse group": lambda strength: SparseGroup(strength, GROUPS, 0.4),
    "rows": RowSparse,
    "nuclear": Nuclear,
    "mcp": lambda strength: MCP(strength, 8.0),
    "scad": lambda strength: SCAD(strength, 9.0),
}
each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


def problem(columns):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((30, 5))
    return X, X @ rng.standard_normal((5, columns)) + 0.1 * rng.standard_normal((30, columns))


def gradient(X, y, coef):
    return X.T @ (X @ coef - y) / len(X)


def solve(X, y, penalty, n_iter=600):
    """Proximal gradient on ‖y − Xw‖²/(2n) + Ω(w) from zero."""
    step = len(X) / np.linalg.norm(X, 2) ** 2
    coef = np.zeros((X.shape[1], y.shape[1]))
    for _ in range(n_iter):
        coef = penalty.proximal(coef - step * gradient(X, y, coef), step)
    return coef


@each_family
@pytest.mark.parametrize("columns", [1, 3])
def test_zero_is_the_solution_exactly_from_the_critical_strength_on(family, columns):
    X, y = problem(columns)
    slope = gradient(X, y, np.zeros((5, columns)))
    critical = float(np.max(family(1.0).critical_strength(slope)))
    assert not np.any(solve(X, y, family(critical * (1 + 1e-9)), n_iter=50))
    assert np.any(solve(X, y, family(critical * (1 - 1e-3)), n_iter=50))
    zero = np.zeros((5, columns))
    assert np.max(family(critical * (1 + 1e-9)).subgradient_distance(zero, -slope)) == 0
    assert np.max(family(critical * (1 - 1e-3)).subgradient_distance(zero, -slope)) > 0


@each_family
def test_residual_vanishes_at_the_solution_and_grows_when_it_is_damaged(family):
    X, y = problem(2)
    penalty = family(0.3 * float(np.max(family(1.0).critical_strength(gradient(X, y, np.zeros((5, 2)))))))
    coef = solve(X, y, penalty)
    assert np.any(coef)
    assert np.max(penalty.subgradient_distance(coef, -gradient(X, y, coef))) < 1e-8
    damaged = coef + 1e-3 * (coef != 0)
    assert np.max(penalty.subgradient_distance(damaged, -gradient(X, y, damaged))) > 1e-5


@pytest.mark.parametrize(
    "penalty",
    [L1(0.2), ElasticNet(0.2), GroupL2(0.2, GROUPS), SparseGroup(0.2, GROUPS), Nuclear(0.2), RowSparse(0.2)],
)
def test_fenchel_young_gap_bounds_the_suboptimality(penalty):
    """With ν = s · residual scaled into the dual ball, loss gap + penalty gap ≥ objective − minimum."""
    X, y = problem(2)

    def objective(coef):
        return np.sum((y - X @ coef) ** 2) / (2 * len(X)) + np.sum(penalty.value(coef))

    best = solve(X, y, penalty)
    for coef in (np.zeros((5, 2)), best, best + 0.1, best * 0.9):
        residual = y - X @ coef
        dual = X.T @ residual / len(X)
        scale = 1.0
        if hasattr(penalty, "dual_norm"):
            scale = min(1.0, penalty.strength / float(np.max(penalty.dual_norm(dual))))
        loss_gap = np.sum((1 - scale) ** 2 * residual**2) / (2 * len(X))
        gap = loss_gap + np.sum(penalty.fenchel_young_gap(coef, scale * dual))
        assert np.isfinite(gap)
        assert gap >= objective(coef) - objective(best) - 1e-12
    residual = y - X @ best
    assert np.sum(penalty.fenchel_young_gap(best, 0.999999 * X.T @ residual / len(X))) < 1e-4


def test_unpenalised_features_are_fitted_first():
    X, y = problem(1)
    weights = [0.0, 1.0, 1.0, 1.0, 1.0]
    alone = np.zeros((5, 1))
    alone[0] = np.linalg.lstsq(X[:, :1], y)[0][0]
    critical = float(L1(1.0, weights).critical_strength(gradient(X, y, alone))[0])
    at_threshold = solve(X, y, L1(critical * (1 + 1e-9), weights))
    np.testing.assert_allclose(at_threshold, alone, atol=1e-9)
    assert np.any(solve(X, y, L1(critical * 0.99, weights))[1:])


def test_scikit_learn_has_the_same_elastic_net():
    from sklearn.linear_model import ElasticNet as Peer

    X, y = problem(1)
    ours = solve(X, y, ElasticNet(0.3, 0.6), n_iter=2000)
    peer = Peer(alpha=0.3, l1_ratio=0.6, fit_intercept=False, tol=1e-12, random_state=0).fit(X, y[:, 0])
    np.testing.assert_allclose(ours[:, 0], peer.coef_, atol=1e-8)


def test_penalties_without_a_finite_critical_strength():
    slope = np.array([[0.0, 1.0], [0.0, -1.0]])
    np.testing.assert_array_equal(SquaredNorm(1.0).critical_strength(slope), [0, np.inf])
    np.testing.assert_array_equal(ElasticNet(1.0, 0.0).critical_strength(slope), [0, np.inf])
    np.testing.assert_array_equal(Box(0.0, [0.0, 1.0]).critical_strength(slope), [0, np.inf])
    np.testing.assert_array_equal(Box(0.0, 1.0).critical_strength(np.array([[2.0], [0.0]])), [0])


def test_box_constrained_least_squares_is_what_scipy_finds():
    from scipy.optimize import lsq_linear

    X, y = problem(1)
    box = Box(-0.5, [0.2, 0.5, 0.5, 0.5, 3.0])
    coef = solve(X, y, box, n_iter=2000)
    np.testing.assert_allclose(coef[:, 0], lsq_linear(X, y[:, 0], (-0.5, box.upper), tol=1e-12).x, atol=1e-6)
    assert box.subgradient_distance(coef, -gradient(X, y, coef))[0] < 1e-10
    assert box.subgradient_distance(0.9 * coef, -gradient(X, y, coef))[0] > 1e-3
