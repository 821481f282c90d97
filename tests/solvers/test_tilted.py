"""Two-sided losses: the interior point, Newton, coordinates, and the gap that certifies them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse

from assay.losses import EpsilonInsensitive, Hinge, Quantile, SquaredHinge
from assay.rows import MemoryRows
from assay.solvers.piecewise import dual_coordinate as loops
from assay.solvers.piecewise.dual_coordinate import dual_coordinate
from assay.solvers.piecewise.gap import gather_tilted, tilted_gap
from assay.solvers.piecewise.newton import tilted_newton
from assay.solvers.piecewise.quantile_interior import tilted_interior
from assay.solvers.piecewise.tilted import Tilt, frame_of, losses, sides, slopes

LABELS = [Tilt(0.7, 0.7, positive=1), Tilt(0.7, 0.7, squared=True, positive=1)]
NUMBERS = [Tilt(0.7, 0.7, 0.3), Tilt(0.7, 0.7, 0.3, squared=True)]
each_loss = pytest.mark.parametrize("tilt", LABELS + NUMBERS, ids=["hinge", "hinge²", "tube", "tube²"])
each_penalty = pytest.mark.parametrize("rho", [0.0, 1.0], ids=["free", "penalised"])


@pytest.fixture
def table(rng):
    X = rng.standard_normal((150, 3)) + [0.0, 2.0, 0.0]
    score = X @ [1.0, -1.0, 0.5] + 1.5 + rng.standard_normal(150)
    return X, score


def rows(table, tilt, weight=None):
    X, score = table
    return MemoryRows(X, (score > 0).astype(float) if tilt.positive == 1 else score, weight)


def second_order(data, tilt, rho):
    frame = frame_of(data, intercept=True, shift=rho == 0)
    solve = tilted_newton if tilt.squared else tilted_interior
    found = solve(data, tilt, frame, np.append(1 / frame.scale**2, rho), tol=1e-10, max_iter=100)
    assert found.converged
    return *frame.outside(found.point), getattr(found, "dual", None)


def objective(data, tilt, rho, point):
    target, upper, lower = sides(data._block(0, data.shape[0]), tilt)
    loss = losses(target - data.X @ point[:-1] - point[-1], upper, lower, tilt).sum()
    return loss + point[:-1] @ point[:-1] / 2 + rho * point[-1] ** 2 / 2


def test_the_two_sided_loss_is_the_loss_of_the_vocabulary(rng):
    f, y = rng.standard_normal((2, 50))
    code = (y > 0).astype(float)
    data = MemoryRows(np.zeros((50, 1)), code)
    block = data._block(0, 50)
    for tilt, loss in ((Tilt(1, 1, positive=1), Hinge()), (Tilt(1, 1, 0, True, 1), SquaredHinge())):
        target, upper, lower = sides(block, tilt)
        assert_allclose(losses(target - f, upper, lower, tilt), loss.value(2 * code - 1, f))
    ones = np.ones(50)
    tube = Tilt(1, 1, 0.2)
    assert_allclose(losses(y - f, ones, ones, tube), EpsilonInsensitive(0.2).value(y, f))
    assert_allclose(losses(y - f, 0.9 * ones, 0.1 * ones, Tilt(0.9, 0.1)), Quantile(0.9).value(y, f))


@each_loss
@each_penalty
def test_second_order_steps_reach_what_a_general_minimiser_reaches(table, tilt, rho):
    data = rows(table, tilt, np.linspace(0, 2, 150))
    coef, intercept, dual = second_order(data, tilt, rho)
    ours = objective(data, tilt, rho, np.append(coef, intercept))
    best = min(
        optimize.minimize(
            lambda point: objective(data, tilt, rho, point),
            np.append(coef, intercept) + shift,
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000},
        ).fun
        for shift in (0.0, 0.1)
    )
    assert ours <= best + 1e-9
    evidence, outside = gather_tilted(data, tilt, coef, intercept, dual)
    gap = tilted_gap(evidence, coef, intercept, fit_intercept=True, intercept_penalty=rho)
    assert gap.objective == pytest.approx(ours)
    assert 0 <= gap.relative < 1e-10
    assert outside <= 1e-12


@each_loss
@each_penalty
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_coordinates_and_second_order_steps_agree(table, tilt, rho, kind):
    data = rows(table, tilt)
    coef, intercept, _ = second_order(data, tilt, rho)
    if kind == "csr":
        data = MemoryRows(sparse.csr_array(data.X), data.y)
    found = dual_coordinate(
        data,
        tilt,
        fit_intercept=True,
        intercept_penalty=rho,
        tol=1e-9,
        max_iter=5000,
        rng=np.random.default_rng(0),
    )
    assert found.converged
    assert_allclose(found.coef, coef, atol=1e-7)
    assert found.intercept == pytest.approx(intercept, abs=1e-7)


def test_coordinates_solve_a_table_with_more_columns_than_newton_takes(rng):
    X = sparse.random(300, 5000, density=0.01, format="csr", random_state=1)
    y = (X @ rng.standard_normal(5000) > 0).astype(float)
    for tilt in LABELS:
        found = dual_coordinate(
            MemoryRows(X, y),
            tilt,
            fit_intercept=True,
            intercept_penalty=0.0,
            tol=1e-7,
            max_iter=2000,
            rng=np.random.default_rng(0),
        )
        assert found.converged
        assert found.gap.relative <= 1e-7


@pytest.mark.parametrize("squared", [False, True])
def test_a_pass_of_coordinates_is_its_numpy_twin(rng, squared):
    X, target = rng.standard_normal((30, 4)), rng.standard_normal(30)
    upper, lower = rng.uniform(0.1, 1, (2, 30))
    norms = np.empty(30)
    loops.squared_norms(X, None, None, norms)
    assert_allclose(norms, np.sum(X**2, axis=1))
    nu, coef, state = np.zeros(30), np.zeros(4), np.array([0.0, 0.5])
    order = np.arange(30)
    loops.coordinate_pass(
        X, None, None, None, target, upper, lower, norms, order, nu, coef, state, 0.1, squared, np.inf
    )
    twin, w, b = np.zeros(30), np.zeros(4), 0.0
    for i in range(30):

        def value(new, i=i, w=w, b=b):
            change = new - twin[i]
            curve = (norms[i] + 0.5) * change**2 / 2 + change * (X[i] @ w + b - target[i])
            side = upper[i] if new > 0 else lower[i]
            return curve + 0.1 * abs(new) + (new**2 / (4 * side) if squared else 0.0)

        bounds = (-50, 50) if squared else (-lower[i], upper[i])
        best = optimize.minimize_scalar(value, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        w, b = w + (best - twin[i]) * X[i], b + (best - twin[i]) * 0.5
        twin[i] = best
    assert_allclose(nu, twin, atol=1e-5)
    assert_allclose(coef, X.T @ nu, atol=1e-12)


@each_loss
def test_the_gap_bounds_the_distance_from_the_minimum_of_any_point(table, tilt, rng):
    data = rows(table, tilt)
    coef, intercept, dual = second_order(data, tilt, 0.0)
    least = objective(data, tilt, 0.0, np.append(coef, intercept))
    for size in (1e-3, 1e-1, 1.0):
        moved, b = coef + size * rng.standard_normal(3), intercept + size
        evidence, _ = gather_tilted(data, tilt, moved, b, dual)
        gap = tilted_gap(evidence, moved, b, fit_intercept=True, intercept_penalty=0.0)
        assert gap.gap >= gap.objective - least - 1e-9


@each_loss
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["slopes", "a point beyond its box"])
def test_the_evidence_loop_adds_what_numpy_adds(table, tilt, dtype, kind, rng):
    data = rows(table, tilt, np.linspace(0, 2, 150))
    X, coef, intercept = data.X.astype(dtype), rng.normal(size=data.X.shape[1]), 0.3
    data = MemoryRows(X, data.y, data.weight)
    target, upper, lower = sides(data._block(0, 150), tilt)
    residual = target - X @ coef - intercept
    nu = slopes(residual, upper, lower, tilt)
    dual = None if kind == "slopes" else nu + rng.normal(size=len(nu))
    outside = 0.0
    if dual is not None:
        nu = dual
        if not tilt.squared:
            width = upper + lower
            beyond = np.maximum(np.maximum(dual - upper, -lower - dual), 0)
            outside = np.max(beyond / np.where(width > 0, width, 1))
            nu = np.clip(dual, -lower, upper)
    tables = [data, MemoryRows(sparse.csr_array(X), data.y, data.weight)]
    for found, worst in (gather_tilted(item, tilt, coef, intercept, dual) for item in tables):
        assert worst == pytest.approx(outside)
        assert found.loss == pytest.approx(losses(residual, upper, lower, tilt).sum())
        assert found.loss_at_zero == pytest.approx(losses(target, upper, lower, tilt).sum())
        for side, part in enumerate((np.maximum(nu, 0), np.maximum(-nu, 0))):
            sign, slope = (1, upper) if side == 0 else (-1, lower)
            assert found.slack[side] == pytest.approx(part @ (sign * residual - tilt.epsilon), abs=1e-9)
            if tilt.squared:
                squares = np.sum(part**2 / np.where(slope > 0, 4 * slope, 1))
                assert found.squares[side] == pytest.approx(squares)
            assert found.mass[side] == pytest.approx(part.sum())
            assert found.n_support[side] == np.count_nonzero(part)
            assert_allclose(found.pulls[side], sign * (part @ X), rtol=1e-6, atol=1e-6)
        assert found.wrong == pytest.approx((upper + lower)[target * (target - residual) <= 0].sum())
        assert found.signs.sum() == pytest.approx(found.weight)
        assert found.signs[0] == pytest.approx(data.weight[residual > 1e-4].sum(), abs=1e-6)
