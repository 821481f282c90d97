"""Plain coordinate descent, and the compiled loops against NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse
from sklearn import linear_model

from assay.loops import compiled
from assay.optimize import coordinate_descent
from assay.penalties import L1, MCP, SCAD, ElasticNet
from assay.penalties.coordinates import (
    ElasticNetForm,
    PositiveElasticNet,
    coordinate_form,
    entry_minimiser,
)
from assay.solvers.sparse.loops import (
    DEPTH,
    Columns,
    column_epoch,
    column_products,
    extrapolation,
    fenchel_young,
    gram_epoch,
    quadratic_gap,
)


@compiled
def step(penalty, value, square):
    return entry_minimiser(penalty, 0, value, square)


@pytest.fixture
def table(rng):
    X = rng.standard_normal((40, 12)) * np.linspace(0.5, 3.0, 12)
    return X, X[:, :3] @ [1.0, -2.0, 0.5] + rng.standard_normal(40)


@pytest.mark.spec("douc/M6.6")
def test_cyclic_descent_reaches_the_minimum_with_an_objective_that_never_rises(table):
    X, y = table
    found = coordinate_descent(X, y, 20.0)
    assert found.converged
    assert np.all(np.diff(found.history) <= 1e-12)
    reference = linear_model.Lasso(20.0 / (2 * len(y)), fit_intercept=False, tol=1e-13, random_state=0)
    reference = reference.fit(X, y)
    assert_allclose(found.coef, reference.coef_, atol=1e-6)
    assert found.history[-1] == pytest.approx(
        np.sum((y - X @ found.coef) ** 2) + 20 * np.abs(found.coef).sum()
    )
    assert set(found.active) == set(np.flatnonzero(reference.coef_))


@pytest.mark.spec("douc/M6.6")
def test_each_coordinate_is_the_minimiser_only_when_divided_by_the_squared_norm(table):
    X, y = table
    X = X / np.linalg.norm(X, axis=0) * 2.0  # columns of norm 2: the printed update is four times too long
    found = coordinate_descent(X, y, 6.0)
    for j in range(X.shape[1]):
        rest = y - X @ found.coef + X[:, j] * found.coef[j]
        best = optimize.minimize_scalar(
            lambda b, j=j, rest=rest: np.sum((rest - b * X[:, j]) ** 2) + 6 * abs(b)
        )
        assert found.coef[j] == pytest.approx(best.x, abs=1e-5)
        inner = X[:, j] @ rest
        printed = inner * max(1 - 3 / abs(inner), 0)
        assert printed == pytest.approx(4 * found.coef[j], abs=1e-7)


@pytest.mark.spec("douc/T6.9")
def test_a_coefficient_is_zero_exactly_when_its_correlation_is_within_half_the_penalty(table):
    X, y = table
    for strength in (2.0, 20.0, 80.0):
        coef = coordinate_descent(X, y, strength, tol=1e-13).coef
        residual = y - X @ coef
        inner = X.T @ residual + np.sum(X**2, axis=0) * coef  # v_j
        assert np.array_equal(coef == 0, np.abs(inner) <= strength / 2)
        slope = 2 * X.T @ residual
        assert_allclose(slope[coef != 0], strength * np.sign(coef[coef != 0]), rtol=1e-8)
        assert np.all(np.abs(slope) <= strength * (1 + 1e-9))


@pytest.mark.spec("douc/T6.9")
def test_the_minimiser_need_not_be_unique(table):
    X, y = table
    twice = np.column_stack([X[:, :1], X[:, :1]])
    found = coordinate_descent(twice, y, 5.0)
    other = found.coef[::-1]

    def value(b):
        return np.sum((y - twice @ b) ** 2) + 5 * np.abs(b).sum()

    assert not np.array_equal(found.coef, other)
    assert value(found.coef) == pytest.approx(value(other)) == pytest.approx(value((found.coef + other) / 2))


def test_max_iter_ends_the_descent_and_says_so(table):
    found = coordinate_descent(*table, 1.0, max_iter=2)
    assert (found.n_iter, found.converged) == (2, False)


def test_the_scalar_step_is_the_proximal_map(rng):
    for value in rng.standard_normal(20) * 3:
        expected = ElasticNet(0.8, 0.5).proximal(np.array([value / 1.7]), 1 / 1.7)[0]
        assert step(coordinate_form(ElasticNet(0.8, 0.5), 1), value, 1.7) == pytest.approx(expected)
        positive = coordinate_form(PositiveElasticNet(0.8, 0.5), 1)
        assert step(positive, value, 1.7) == pytest.approx(max(expected, 0.0))


@pytest.mark.parametrize("penalty", [MCP(0.7, 3.0), SCAD(0.7, 3.7)])
@pytest.mark.parametrize("square", [0.2, 1.0, 4.0])
def test_the_concave_step_is_the_global_minimiser(rng, penalty, square):
    grid = np.linspace(-12, 12, 200_001)
    values = penalty.value(grid[None])
    for pull in np.concatenate([rng.standard_normal(10) * 2, [0.0, 0.69, -0.71]]):
        risk = square * grid**2 / 2 - pull * grid + values
        found = step(coordinate_form(penalty, 1), pull, square)
        there = square * found**2 / 2 - pull * found + penalty.value(np.array([found]))
        assert there <= risk.min() + 1e-9


def test_one_cycle_on_the_gram_matrix_is_one_cycle_on_the_columns(table, rng):
    X, y = table
    weight = rng.random(40)
    weight /= weight.sum()
    mean = weight @ X
    centred = X - mean
    gram, linear = (centred.T * weight) @ centred, centred.T @ (weight * y)
    penalty = ElasticNetForm(np.full(12, 0.1), np.full(12, 0.05))
    by_gram, corr = np.zeros(12), linear.copy()
    matrix = sparse.csc_array(X)
    columns = Columns(matrix.data, matrix.indices, matrix.indptr)
    by_column, pull = np.zeros(12), weight * y
    level = pull.sum()
    twin = np.zeros(12)
    for _ in range(3):
        gram_epoch(gram, by_gram, corr, penalty)
        level = column_epoch(
            columns, np.arange(12), mean, np.diagonal(gram).copy(), weight, by_column, pull, level, penalty
        )
        for j in range(12):
            inner = linear[j] - gram[j] @ twin + gram[j, j] * twin[j]
            twin[j] = np.sign(inner) * max(abs(inner) - 0.1, 0) / (gram[j, j] + 0.05)
    assert_allclose(by_gram, twin, atol=1e-12)
    assert_allclose(by_column, twin, atol=1e-12)
    assert_allclose(corr, linear - gram @ twin, atol=1e-12)
    assert level == pytest.approx(pull.sum(), abs=1e-12)
    out = np.empty((2, 3))
    rows = rng.standard_normal((2, 40))
    column_products(columns, rows, np.array([0, 5, 7]), out)
    assert_allclose(out, rows @ X[:, [0, 5, 7]])


def test_extrapolation_finds_the_limit_of_a_linear_iteration(rng):
    matrix = rng.standard_normal((4, 4))
    matrix *= 0.9 / np.abs(np.linalg.eigvals(matrix)).max()
    limit = np.linalg.solve(np.eye(4) - matrix, np.ones(4))
    past = [rng.standard_normal(4)]
    for _ in range(DEPTH):
        past.append(matrix @ past[-1] + 1)
    weights = np.empty(DEPTH)
    assert extrapolation(np.array(past), weights)
    assert weights.sum() == pytest.approx(1)
    reached = weights @ np.array(past)[1:]
    assert np.linalg.norm(reached - limit) < 1e-2 * np.linalg.norm(past[-1] - limit)
    assert not extrapolation(np.ones((DEPTH + 1, 4)), weights)


@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_the_gap_is_primal_minus_dual_and_never_negative(rng, ratio):
    X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    penalty = ElasticNet(0.5, ratio)
    slope, curvature = np.full(6, 0.5 * ratio), np.full(6, 0.5 * (1 - ratio))
    for coef in (np.zeros(6), rng.standard_normal(6)):
        residual = y - X @ coef
        corr = X.T @ residual
        gap, scale = quadratic_gap(
            y @ residual, residual @ residual, coef, corr, ElasticNetForm(slope, curvature)
        )
        dual_point = scale * residual
        primal = residual @ residual / 2 + penalty.value(coef)
        dual = (
            y @ dual_point - dual_point @ dual_point / 2 - penalty.conjugate(X.T @ dual_point * (1 - 1e-13))
        )
        assert gap == pytest.approx(primal - dual)
        assert gap >= 0
    twin = L1(0.5).fenchel_young_gap(coef, np.clip(corr, -0.5, 0.5))
    clipped_corr = np.clip(corr, -0.5, 0.5)
    form = ElasticNetForm(np.full(6, 0.5), np.zeros(6))
    assert fenchel_young(coef, clipped_corr, form, 1.0) == pytest.approx(twin)
