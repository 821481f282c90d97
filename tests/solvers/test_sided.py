"""Sided losses: the interior point, Newton, coordinates, and the gap that certifies them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse

from assay.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from assay.losses.residual import SidedForm
from assay.parameters import ParameterError
from assay.rows import MemoryRows
from assay.solvers.in_memory import loop_rows
from assay.solvers.piecewise import dual_coordinate as loops
from assay.solvers.piecewise.dual_coordinate import dual_coordinate
from assay.solvers.piecewise.frame import MachineLoss, frame_of, sides
from assay.solvers.piecewise.gap import MachineProblem, gather_sided
from assay.solvers.piecewise.interior import interior_point
from assay.solvers.piecewise.newton import sided_newton

LABELS = [MachineLoss(Hinge(), 0.7, 1), MachineLoss(SquaredHinge(), 0.7, 1)]
NUMBERS = [MachineLoss(EpsilonInsensitive(0.3), 0.7), MachineLoss(SquaredEpsilonInsensitive(0.3), 0.7)]
each_loss = pytest.mark.parametrize("machine", LABELS + NUMBERS, ids=["hinge", "hinge²", "tube", "tube²"])
each_penalty = pytest.mark.parametrize("rho", [0.0, 1.0], ids=["free", "penalised"])


@pytest.fixture
def table(rng):
    X = rng.standard_normal((150, 3)) + [0.0, 2.0, 0.0]
    score = X @ [1.0, -1.0, 0.5] + 1.5 + rng.standard_normal(150)
    return X, score


def rows(table, machine, weight=None):
    X, score = table
    return MemoryRows(X, (score > 0).astype(float) if machine.positive == 1 else score, weight)


def second_order(data, machine, rho):
    frame = frame_of(data, intercept=True, shift=rho == 0)
    solve = interior_point if machine.loss.cornered else sided_newton
    found = solve(data, machine, frame, np.append(1 / frame.scale**2, rho), tol=1e-10, max_iter=100)
    assert found.converged
    return *frame.outside(found.point), getattr(found, "dual", None)


def objective(data, machine, rho, point):
    target, upper, lower = sides(data._block(0, data.shape[0]), machine)
    loss = losses(target - data.X @ point[:-1] - point[-1], upper, lower, machine.loss).sum()
    return loss + point[:-1] @ point[:-1] / 2 + rho * point[-1] ** 2 / 2


def losses(residual, upper, lower, loss):
    """Losses with one factor above, one below, written out in NumPy."""
    epsilon, power = loss.row_form.epsilon, 1 if loss.cornered else 2
    above, under = np.maximum(residual - epsilon, 0), np.maximum(-residual - epsilon, 0)
    return upper * above**power + lower * under**power


def slopes(residual, upper, lower, loss):
    """Their derivatives in the residual, 0 in corners."""
    above, under = residual - loss.row_form.epsilon, -residual - loss.row_form.epsilon
    if loss.cornered:
        return upper * (above > 0) - lower * (under > 0)
    return 2 * (upper * np.maximum(above, 0) - lower * np.maximum(under, 0))


def test_the_two_sided_loss_is_the_loss_of_the_vocabulary(rng):
    f, y = rng.standard_normal((2, 50))
    code = (y > 0).astype(float)
    data = MemoryRows(np.zeros((50, 1)), code)
    block = data._block(0, 50)
    for loss in (Hinge(), SquaredHinge()):
        target, upper, lower = sides(block, MachineLoss(loss, positive=1))
        assert_allclose(losses(target - f, upper, lower, loss), loss.value(2 * code - 1, f))
    ones = np.ones(50)
    tube = EpsilonInsensitive(0.2)
    assert_allclose(losses(y - f, ones, ones, tube), tube.value(y, f))
    assert_allclose(losses(y - f, 0.9 * ones, 0.1 * ones, Quantile(0.9)), Quantile(0.9).value(y, f))


def test_a_solver_refuses_a_loss_that_it_cannot_take_in_one_sentence(table):
    X, score = table
    data, frame = MemoryRows(X, score), frame_of(MemoryRows(X, score), intercept=True, shift=True)
    settings = {"tol": 1e-8, "max_iter": 10}
    for loss in (Squared(), Huber(), SquaredHinge(), Logistic()):
        with pytest.raises(
            ParameterError, match=r"'loss' parameter of interior_point must be a sided loss w"
        ):
            interior_point(data, MachineLoss(loss), frame, np.ones(4), **settings)
    for loss in (Absolute(), Hinge(), Logistic()):
        with pytest.raises(
            ParameterError, match=r"'loss' parameter of sided_newton must be a sided loss with"
        ):
            sided_newton(data, MachineLoss(loss), frame, np.ones(4), **settings)
    with pytest.raises(
        ParameterError, match=r"'loss' parameter of dual_coordinate must be a sided loss. Got"
    ):
        dual_coordinate(
            data, MachineProblem(MachineLoss(Logistic()), True, 0.0), rng=np.random.default_rng(0), **settings
        )


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5)], ids=repr)
def test_the_same_solvers_take_every_sided_loss_without_corners(table, loss):
    X, score = table
    data, machine = MemoryRows(X, score), MachineLoss(loss, 2.0)
    coef, intercept, _ = second_order(data, machine, 0.0)
    problem = MachineProblem(machine, True, 0.0)
    evidence, _ = gather_sided(data, machine, coef, intercept)
    assert problem.gap(evidence, coef, intercept).relative < 1e-10
    ended = dual_coordinate(data, problem, tol=1e-9, max_iter=5000, rng=np.random.default_rng(0))
    assert ended.converged
    assert_allclose(ended.coef, coef, atol=1e-7)


@each_loss
@each_penalty
def test_second_order_steps_reach_what_a_general_minimiser_reaches(table, machine, rho):
    data = rows(table, machine, np.linspace(0, 2, 150))
    coef, intercept, dual = second_order(data, machine, rho)
    ours = objective(data, machine, rho, np.append(coef, intercept))
    best = min(
        optimize.minimize(
            lambda point: objective(data, machine, rho, point),
            np.append(coef, intercept) + shift,
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000},
        ).fun
        for shift in (0.0, 0.1)
    )
    assert ours <= best + 1e-9
    evidence, outside = gather_sided(data, machine, coef, intercept, dual)
    gap = MachineProblem(machine, True, rho).gap(evidence, coef, intercept)
    assert gap.objective == pytest.approx(ours)
    assert 0 <= gap.relative < 1e-10
    assert outside <= 1e-12


@each_loss
@each_penalty
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_coordinates_and_second_order_steps_agree(table, machine, rho, kind):
    data = rows(table, machine)
    coef, intercept, _ = second_order(data, machine, rho)
    if kind == "csr":
        data = MemoryRows(sparse.csr_array(data.X), data.y)
    found = dual_coordinate(
        data,
        MachineProblem(machine, True, rho),
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
    for machine in LABELS:
        found = dual_coordinate(
            MemoryRows(X, y),
            MachineProblem(machine, True, 0.0),
            tol=1e-7,
            max_iter=2000,
            rng=np.random.default_rng(0),
        )
        assert found.converged
        assert found.gap.relative <= 1e-7


@pytest.mark.parametrize("squared", [False, True])
def test_a_pass_of_coordinates_is_its_numpy_twin(rng, squared):
    X, target = rng.standard_normal((30, 4)), rng.standard_normal(30)
    weight = rng.uniform(0.1, 1, 30)
    upper, lower = 0.8 * weight, 0.3 * weight
    norms = loops.squared_norms(MemoryRows(X, target))
    assert_allclose(norms, np.sum(X**2, axis=1))
    assert_allclose(loops.squared_norms(MemoryRows(sparse.csr_array(X), target)), norms)
    nu, coef, state = np.zeros(30), np.zeros(4), np.array([0.0, 0.5])
    order = np.arange(30)
    form = SidedForm(0.8, 0.3, 0.1, *((2.0, np.inf) if squared else (0.0, 0.0)))
    loops.coordinate_pass(loop_rows(X), target, weight, norms, order, nu, coef, state, form, np.inf)
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
def test_the_gap_bounds_the_distance_from_the_minimum_of_any_point(table, machine, rng):
    data = rows(table, machine)
    coef, intercept, dual = second_order(data, machine, 0.0)
    least = objective(data, machine, 0.0, np.append(coef, intercept))
    for size in (1e-3, 1e-1, 1.0):
        moved, b = coef + size * rng.standard_normal(3), intercept + size
        evidence, _ = gather_sided(data, machine, moved, b, dual)
        gap = MachineProblem(machine, True, 0.0).gap(evidence, moved, b)
        assert gap.gap >= gap.objective - least - 1e-9


@each_loss
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["slopes", "a point beyond its box"])
def test_the_evidence_loop_adds_what_numpy_adds(table, machine, dtype, kind, rng):
    data = rows(table, machine, np.linspace(0, 2, 150))
    X, coef, intercept = data.X.astype(dtype), rng.normal(size=data.X.shape[1]), 0.3
    data = MemoryRows(X, data.y, data.weight)
    target, upper, lower = sides(data._block(0, 150), machine)
    residual = target - X @ coef - intercept
    nu = slopes(residual, upper, lower, machine.loss)
    dual = None if kind == "slopes" else nu + rng.normal(size=len(nu))
    outside = 0.0
    if dual is not None:
        nu = dual
        if machine.loss.cornered:
            width = upper + lower
            beyond = np.maximum(np.maximum(dual - upper, -lower - dual), 0)
            outside = np.max(beyond / np.where(width > 0, width, 1))
            nu = np.clip(dual, -lower, upper)
    tables = [data, MemoryRows(sparse.csr_array(X), data.y, data.weight)]
    for found, worst in (gather_sided(item, machine, coef, intercept, dual) for item in tables):
        assert worst == pytest.approx(outside)
        assert found.loss == pytest.approx(losses(residual, upper, lower, machine.loss).sum())
        assert found.loss_at_zero == pytest.approx(losses(target, upper, lower, machine.loss).sum())
        for side, part in enumerate((np.maximum(nu, 0), np.maximum(-nu, 0))):
            sign, slope = (1, upper) if side == 0 else (-1, lower)
            assert found.slack[side] == pytest.approx(
                part @ (sign * residual - machine.loss.row_form.epsilon), abs=1e-9
            )
            if not machine.loss.cornered:
                squares = np.sum(part**2 / np.where(slope > 0, 4 * slope, 1))
                assert found.squares[side] == pytest.approx(squares)
            assert found.mass[side] == pytest.approx(part.sum())
            assert found.n_support[side] == np.count_nonzero(part)
            assert_allclose(found.pulls[side], sign * (part @ X), rtol=1e-6, atol=1e-6)
        assert found.wrong == pytest.approx((upper + lower)[target * (target - residual) <= 0].sum())
        assert found.signs.sum() == pytest.approx(found.weight)
        assert found.signs[0] == pytest.approx(data.weight[residual > 1e-4].sum(), abs=1e-6)
