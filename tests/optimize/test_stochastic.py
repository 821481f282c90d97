"""Stochastic descent: statements in expectation, seen through means with their standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.optimize import (
    averaged_stochastic_plan,
    averaged_stochastic_rate,
    averaging_step,
    constant_step,
    constant_step_floor,
    gradient_noise,
    in_expectation,
    inverse_step,
    least_squares_objective,
    least_squares_rows,
    logistic_objective,
    logistic_rows,
    root_step,
    stochastic_descent,
    stochastic_gradient,
    stochastic_plan,
    stochastic_rate,
    unbiased_step,
)
from assay.parameters import ParameterError
from assay.randomness import spawn

RUNS = 150


@pytest.fixture
def table(rng):
    X = rng.standard_normal((40, 3))
    return X, X @ [1.0, -1.0, 2.0] + 0.5 * rng.standard_normal(40)


def many_means(step, n_iter, runs=4000, start=5.0, spread=1.0, seed=0):
    """All runs of the noisy mean at once: x ← x − γₜ(x − a), and the average of x₁ … xₙ."""
    draws = np.random.default_rng(seed).choice([-spread, spread], size=(n_iter, runs))
    x, total = np.full(runs, start), np.zeros(runs)
    for t in range(n_iter):
        x = x - step(t + 1) * (x - draws[t])
        total += x
    return x, total / n_iter


@pytest.mark.spec("rudi/M3.9", "douc/M5.5")
def test_falling_steps_reach_the_minimum(table):
    f, rows = least_squares_objective(*table), least_squares_rows(*table)
    found = stochastic_gradient(
        rows, 40, np.zeros(3), step=inverse_step(1.0, 20), n_iter=4000, batch_size=4, random_state=0
    )
    assert_allclose(found.last, f.minimiser, atol=0.1)
    assert_allclose(found.average, f.minimiser, atol=0.1)
    assert np.array_equal(found.point, found.average)
    again = stochastic_gradient(
        rows, 40, np.zeros(3), step=inverse_step(1.0, 20), n_iter=4000, batch_size=4, random_state=0
    )
    assert np.array_equal(found.last, again.last)


@pytest.mark.spec("douc/M5.5")
def test_the_average_leaves_the_start_out_and_the_path_is_the_recursion(table):
    rows = least_squares_rows(*table)
    found = stochastic_gradient(
        rows, 40, np.ones(3), step=root_step(0.02), n_iter=7, average=False, keep_points=True, random_state=3
    )
    rng, x, path = np.random.default_rng(3), np.ones(3), [np.ones(3)]
    for t in range(1, 8):
        x = x - 0.02 / np.sqrt(t) * rows(x, rng.integers(40, size=1))[0]
        path.append(x)
    assert_allclose(found.points, path)
    assert_allclose(found.average, np.mean(path[1:], axis=0))
    assert np.array_equal(found.point, found.last)
    assert_allclose(found.step_sizes, 0.02 / np.sqrt(np.arange(1, 8)))


@pytest.mark.spec("rudi/M3.9")
def test_a_stream_is_served_like_a_table():
    found = stochastic_descent(
        lambda x, rng: x - rng.normal(2.0, 1.0, size=1),
        [0.0],
        step=inverse_step(1.0),
        n_iter=5000,
        random_state=1,
    )
    assert abs(found.last[0] - 2) < 4 / np.sqrt(5000)


@pytest.mark.spec("rudi/T3.8")
def test_noise_is_the_variance_over_the_rows(table):
    X, y = table
    f, rows = least_squares_objective(X, y, 0.2), least_squares_rows(X, y, 0.2)
    x = np.array([0.5, 0.0, -1.0])
    single = rows(x, np.arange(40))
    expected = np.mean(np.sum((single - f.gradient(x)) ** 2, axis=1))
    assert gradient_noise(rows, 40, x)[0] == pytest.approx(expected)
    assert gradient_noise(rows, 40, x, batch_size=4)[0] == pytest.approx(expected / 4)
    path = np.array([x, f.minimiser])
    assert gradient_noise(rows, 40, path).shape == (2,)
    drawn = (
        rows(x, np.random.default_rng(0).integers(40, size=(4000, 4)).ravel())
        .reshape(4000, 4, 3)
        .mean(axis=1)
    )
    errors = np.sum((drawn - f.gradient(x)) ** 2, axis=1)
    assert abs(errors.mean() - expected / 4) < 4 * errors.std() / np.sqrt(4000)


@pytest.mark.spec("rudi/T3.10")
def test_the_stochastic_step_is_unbiased_by_enumeration(table):
    X, y = table
    x = np.array([0.5, 0.0, -1.0])
    assert unbiased_step(least_squares_objective(X, y, 0.2), least_squares_rows(X, y, 0.2), 40, x, 0.1).holds
    labels = y > 0
    assert unbiased_step(logistic_objective(X, labels, 0.2), logistic_rows(X, labels, 0.2), 40, x, 0.1).holds
    # Rows of another table, or a penalty left out, are not unbiased.
    assert not unbiased_step(least_squares_objective(X, y, 0.2), least_squares_rows(X, y), 40, x, 0.1).holds
    assert not unbiased_step(least_squares_objective(X, y), least_squares_rows(X, -y), 40, x, 0.1).holds


@pytest.mark.spec("rudi/T3.9")
def test_constant_step_keeps_its_bound_in_expectation(table):
    f, rows = least_squares_objective(*table), least_squares_rows(*table)
    start, n_iter, step = np.zeros(3), 60, 0.2 / f.smoothness
    runs = [
        stochastic_gradient(rows, 40, start, step=step, n_iter=n_iter, keep_points=True, random_state=child)
        for child in spawn(7, RUNS)
    ]
    variance = max(float(gradient_noise(rows, 40, run.points[::6]).max()) for run in runs[:20])
    squared = np.array([np.sum((run.points - f.minimiser) ** 2, axis=1) for run in runs])
    bound = stochastic_rate(step, f.smoothness, f.strong_convexity, float(squared[0, 0]), variance)
    for n in (1, 10, n_iter):
        assert in_expectation(bound, squared[:, n], n).holds
    damaged = squared[:, n_iter] + float(bound(n_iter))
    assert not in_expectation(bound, damaged, n_iter).holds


@pytest.mark.spec("rudi/T3.9")
def test_a_constant_step_stalls_at_its_floor_and_falling_steps_do_not():
    problem = constant_step_floor(spread=1.0, start=5.0)
    step, n_iter = 0.3, 400
    stalled, _ = many_means(constant_step(step), n_iter)
    floor, error = problem.floor(step), (stalled**2).std() / np.sqrt(len(stalled))
    assert abs((stalled**2).mean() - floor) < 4 * error
    bound = stochastic_rate(step, 1.0, 1.0, 25.0, problem.variance)
    assert in_expectation(bound, stalled**2, n_iter).holds
    assert float(bound(10**6)) == pytest.approx(step * problem.variance)
    falling, _ = many_means(inverse_step(1.0), n_iter)
    assert (falling**2).mean() < floor / 20
    assert (falling**2).mean() == pytest.approx(1 / n_iter, rel=0.15)
    with pytest.raises(ParameterError, match="above the floor that a constant step leaves"):
        bound.iterations(0.9 * step)
    # The same run through the public function.
    run = stochastic_gradient(
        problem.gradient_of_rows,
        problem.n_rows,
        problem.start,
        step=step,
        n_iter=4000,
        keep_points=True,
        random_state=2,
    )
    late = run.points[500:, 0] ** 2
    assert late.mean() == pytest.approx(floor, rel=0.2)
    assert gradient_noise(problem.gradient_of_rows, 2, problem.start)[0] == problem.variance
    # A step too large for the theorem does not even reach the floor it would have.
    wild, _ = many_means(constant_step(2.1), 40)
    assert not in_expectation(stochastic_rate(0.5, 1.0, 1.0, 25.0, 1.0), wild**2, 40).holds


@pytest.mark.spec("rudi/T3.9")
def test_planned_stochastic_steps_are_enough():
    plan = stochastic_plan(1.0, 1.0, 25.0, 1.0, 0.1)
    assert plan.step == pytest.approx(0.05)
    assert plan.bound <= 0.1 * (1 + 1e-9)
    last, _ = many_means(constant_step(plan.step), plan.n_iter)
    assert (last**2).mean() <= 0.1
    assert stochastic_plan(1.0, 1.0, 25.0, 0.0, 0.1).step == 0.5


@pytest.mark.spec("douc/T5.11", "douc/M5.5")
def test_averaged_descent_keeps_its_bound_and_its_plan():
    plan = averaged_stochastic_plan(1.0, 25.0, 1.0, 0.5)
    assert plan.n_iter == 200
    rule = averaging_step(5.0, 1.0, plan.n_iter, 1.0)
    assert rule(1) == plan.step
    assert plan.step == pytest.approx(5 / np.sqrt(2 * 200))
    _, means = many_means(rule, plan.n_iter)
    gap = means**2 / 2
    bound = averaged_stochastic_rate(plan.step, 1.0, 25.0, 1.0)
    assert plan.bound == pytest.approx(np.sqrt(2) * 5 / np.sqrt(200))
    assert plan.bound == float(bound(200))
    assert in_expectation(bound, gap, 200).holds
    assert gap.mean() <= 0.5
    for n in (5, 50):
        assert in_expectation(bound, many_means(rule, n)[1] ** 2 / 2, n).holds
    # Steps a hundred times too small have hardly left the start.
    assert not in_expectation(bound, many_means(constant_step(plan.step / 100), 200)[1] ** 2 / 2, 200).holds
    assert bound.iterations(0.6) <= 200
    assert bound(bound.iterations(0.6)) <= 0.6 * (1 + 1e-9)


def test_logistic_rows_average_to_the_objective(table):
    X, y = table
    labels = np.where(y > 0, "b", "a")
    x = np.array([0.1, 0.2, 0.3])
    rows = np.mean([logistic_rows(X, labels == "b", 0.1)(x, np.array([i]))[0] for i in range(40)], axis=0)
    assert_allclose(rows, logistic_objective(X, labels, 0.1).gradient(x), atol=1e-12)


def test_divergence_is_told(table):
    found = stochastic_gradient(
        least_squares_rows(*table), 40, np.zeros(3), step=50.0, n_iter=500, random_state=0
    )
    assert found.diverged


ROWS = least_squares_rows(np.eye(3), np.ones(3))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: stochastic_gradient(ROWS, 0, np.zeros(3), step=0.1, n_iter=1), "n_rows"),
        (lambda: stochastic_gradient(ROWS, 3, np.zeros(3), step=0.1, n_iter=1, batch_size=0), "batch_size"),
        (lambda: stochastic_gradient(ROWS, 3, np.zeros(3), step=0.0, n_iter=1), "step"),
        (lambda: stochastic_gradient(ROWS, 3, np.zeros(3), step=0.1, n_iter=0), "n_iter"),
        (lambda: stochastic_gradient(ROWS, 3, [np.inf], step=0.1, n_iter=1), "start"),
        (lambda: inverse_step(1.0, -1.0), "delay"),
        (lambda: root_step(0), "size"),
        (lambda: averaging_step(5.0, 1.0, 5, 1.0), "n_iter"),
        (lambda: constant_step_floor(0.0), "spread"),
        (lambda: stochastic_rate(0.6, 1.0, 1.0, 1.0, 1.0), "step"),
        (lambda: averaged_stochastic_plan(1.0, 1.0, 0.0, 0.1), "variance"),
        (lambda: in_expectation(stochastic_rate(0.1, 1.0, 1.0, 1.0, 1.0), [1.0], 3), "samples"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(make, name):
    with pytest.raises(
        ParameterError, match=rf"(?s)^The '{name}' parameter of \w+ must be .* Got .* instead\.$"
    ):
        make()
