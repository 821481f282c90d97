"""Adaptive methods against twins of three lines, and the problem on which Adam fails."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.optimize import (
    adadelta,
    adagrad,
    adam,
    adam_counterexample,
    adaptive_descent,
    least_squares_objective,
    plain,
    quadratic,
    rmsprop,
    root_step,
)
from assay.parameters import ParameterError

F = quadratic(np.diag([1.0, 30.0]), [1.0, -3.0])
START = np.array([4.0, 2.0])


def twin_adagrad(n, eta=0.5, eps=1e-8):
    w, s = START, 0.0
    for _ in range(n):
        s = s + F.gradient(w) ** 2
        w = w - eta * F.gradient(w) / np.sqrt(s + eps)
    return w


def twin_adadelta(n, rho=0.9, eps=1e-4):
    w, s, u = START, 0.0, 0.0
    for _ in range(n):
        s = rho * s + (1 - rho) * F.gradient(w) ** 2
        move = -np.sqrt(u + eps) / np.sqrt(s + eps) * F.gradient(w)
        w, u = w + move, rho * u + (1 - rho) * move**2
    return w


def twin_rmsprop(n, eta=0.05, rho=0.8, eps=1e-6):
    w, v = START, 0.0
    for _ in range(n):
        v = rho * v + (1 - rho) * F.gradient(w) ** 2
        w = w - eta * F.gradient(w) / np.sqrt(v + eps)
    return w


def twin_adam(n, eta=0.1, b1=0.8, b2=0.95, eps=1e-8):
    w, m, v = START, 0.0, 0.0
    for k in range(1, n + 1):
        g = F.gradient(w)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        w = w - eta * (m / (1 - b1**k)) / (np.sqrt(v / (1 - b2**k)) + eps)
    return w


@pytest.mark.parametrize("n", [1, 2, 25])
@pytest.mark.parametrize(
    ("method", "twin"),
    [
        pytest.param(adagrad(0.5), twin_adagrad, marks=pytest.mark.spec("douc/M5.6")),
        pytest.param(adadelta(0.9, 1e-4), twin_adadelta, marks=pytest.mark.spec("douc/M5.7")),
        pytest.param(rmsprop(0.05, 0.8, 1e-6), twin_rmsprop, marks=pytest.mark.spec("douc/M5.8")),
        pytest.param(adam(0.1, 0.8, 0.95), twin_adam, marks=pytest.mark.spec("douc/M5.9")),
    ],
    ids=["adagrad", "adadelta", "rmsprop", "adam"],
)
def test_methods_are_their_formulas(method, twin, n):
    assert_allclose(adaptive_descent(method, F, START, n_iter=n).point, twin(n), rtol=1e-12)


@pytest.mark.parametrize(
    ("method", "twin"),
    [
        pytest.param(adadelta(), twin_adadelta(12, 0.95, 1e-6), marks=pytest.mark.spec("douc/M5.7")),
        pytest.param(rmsprop(), twin_rmsprop(12, 1e-3, 0.9, 1e-8), marks=pytest.mark.spec("douc/M5.8")),
        pytest.param(adam(), twin_adam(12, 1e-3, 0.9, 0.999, 1e-8), marks=pytest.mark.spec("douc/M5.9")),
    ],
    ids=["adadelta", "rmsprop", "adam"],
)
def test_the_usual_constants_are_the_defaults(method, twin):
    assert_allclose(adaptive_descent(method, F, START, n_iter=12).point, twin, rtol=1e-12)


@pytest.mark.spec("douc/M5.7", "douc/M5.8", "douc/M5.9")
def test_the_states_hold_the_running_means():
    g, h = np.array([2.0, -1.0]), np.array([0.5, 3.0])

    def twice(method):
        first, state = method.update(g, method.init(START))
        second, state = method.update(h, state)
        return first, second, state

    first, second, state = twice(adadelta(0.9))
    assert_allclose(state.squares, 0.09 * g**2 + 0.1 * h**2)
    assert_allclose(state.moves, 0.09 * first**2 + 0.1 * second**2)
    assert_allclose(twice(rmsprop(0.1, 0.8))[2].squares, 0.16 * g**2 + 0.2 * h**2)
    *_, state = twice(adam(0.1, 0.8, 0.95))
    assert_allclose(state.first, 0.16 * g + 0.2 * h)
    assert_allclose(state.second, 0.95 * 0.05 * g**2 + 0.05 * h**2)


@pytest.mark.spec("douc/M5.6")
def test_adagrad_gives_each_coordinate_its_own_rate_and_counts_the_first_gradient():
    move, state = adagrad(0.5).update(np.array([1e-2, 1e4]), adagrad(0.5).init(START))
    assert_allclose(move, [-0.5, -0.5], rtol=1e-4)  # whatever the size of the gradient
    assert_allclose(state.squares, [1e-4, 1e8])


@pytest.mark.parametrize(
    "method",
    [plain(0.05), adagrad(1.0), adadelta(0.95, 1e-5), rmsprop(root_step(0.3)), adam(root_step(0.5))],
    ids=["plain", "adagrad", "adadelta", "rmsprop", "adam"],
)
def test_methods_minimise_a_smooth_objective(method, rng):
    X = rng.standard_normal((30, 3)) * [1.0, 3.0, 0.5]
    f = least_squares_objective(X, X @ [1.0, 2.0, 3.0] + rng.standard_normal(30), 0.1)
    found = adaptive_descent(method, f, np.zeros(3), n_iter=1500, keep_points=True)
    assert f.value(found.point) - f.minimum < 1e-2 * (f.value(np.zeros(3)) - f.minimum)
    assert found.points.shape == (1501, 3)
    assert_allclose(found.average, found.points[1:].mean(axis=0))


def test_updates_leave_their_arguments_alone():
    for method in (adagrad(), adadelta(), rmsprop(), adam(), plain()):
        gradient, state = np.array([1.0, -2.0]), method.init(START)
        first, again = method.update(gradient, state), method.update(gradient, state)
        assert_allclose(first[0], again[0])
        assert np.array_equal(gradient, [1.0, -2.0])


@pytest.mark.spec("douc/T5.12")
def test_adam_goes_to_the_worst_point_where_its_rivals_find_the_best():
    problem = adam_counterexample()

    def run(method):
        return adaptive_descent(
            method, problem.gradient, problem.start, n_iter=30_000, project=problem.project
        ).point[0]

    slopes = [problem.gradient(problem.start, t)[0] for t in range(1, 8)]
    assert slopes == [3.0, -1.0, -1.0, 3.0, -1.0, -1.0, 3.0]  # so the left end minimises the sum
    assert problem.minimiser[0] == -1
    assert problem.project(np.array([-3.0])) == -1
    assert problem.project(np.array([3.0])) == 1
    # The published instance, by hand: β₁ = 0, β₂ = 1/(1 + C²), steps 0.5/√t.
    x, v = problem.start.copy(), 0.0
    for t in range(1, 31):
        g = problem.gradient(x, t)
        v = v / 10 + 0.9 * g**2
        x = np.clip(x - 0.5 / np.sqrt(t) * g / (np.sqrt(v / (1 - 0.1**t)) + 1e-8), -1, 1)
    short = adaptive_descent(
        problem.method, problem.gradient, problem.start, n_iter=30, project=problem.project
    )
    assert_allclose(short.point, x, rtol=1e-9)
    assert run(problem.method) > 0.99
    assert [round(run(rival), 3) for rival in problem.rivals] == [-0.997, -0.994]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: adagrad(0.0), "step"),
        (lambda: adagrad(0.1, 0.0), "eps"),
        (lambda: rmsprop(0.1, rho=1.0), "rho"),
        (lambda: adadelta(rho=-0.1), "rho"),
        (lambda: adam(beta1=1.0), "beta1"),
        (lambda: adam(beta2=np.nan), "beta2"),
        (lambda: adam_counterexample(2.0), "large"),
        (lambda: adaptive_descent(adam(), F, START, n_iter=0), "n_iter"),
        (lambda: adaptive_descent(adam(), F, 3.0, n_iter=1), "start"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(make, name):
    with pytest.raises(
        ParameterError, match=rf"(?s)^The '{name}' parameter of \w+ must be .* Got .* instead\.$"
    ):
        make()
