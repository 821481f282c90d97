"""The Newton direction where the Hessian is singular, and damped steps where the full one is too long."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from assay.solvers import newton_direction, newton_step, row_newton

GRADIENT = np.array([1.0, -2.0, 0.5])


def test_the_step_solves_the_newton_equations():
    hessian = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1e-8]]) + np.diag([0.0, 0.0, 1.0])
    step = newton_step(hessian, GRADIENT)
    assert_allclose(hessian @ step.direction, -GRADIENT, rtol=1e-10)
    assert_allclose(step.decrement**2, GRADIENT @ np.linalg.solve(hessian, GRADIENT))
    assert step.rank == 3
    direction, promised = newton_direction(hessian, GRADIENT)
    assert_allclose(direction, step.direction)
    assert_allclose(promised, step.decrement**2 / 2)


def test_flat_directions_are_left_alone_and_counted():
    columns = np.array([[1.0, 1.0, 2.0], [0.0, 0.0, 1.0]])
    hessian = columns.T @ columns
    gradient = hessian @ np.array([1.0, 1.0, -1.0])
    step = newton_step(hessian, gradient)
    assert step.rank == 2
    assert_allclose(hessian @ step.direction, -gradient, atol=1e-12)
    alone = newton_step(np.diag([1.0, 1e-20, 1.0]), GRADIENT, noise=np.array([0.0, 1e-8, 0.0]))
    assert alone.direction[1] == 0
    assert alone.rank == 2


def test_a_coordinate_without_curvature_descends_along_its_gradient():
    direction, _ = newton_direction(np.diag([2.0, 0.0, 1.0]), GRADIENT)
    assert_allclose(direction, [-0.5, 2.0, -0.5])


def test_steps_are_cut_until_they_descend_with_and_without_values_along_the_line():
    def evaluate(point):  # √(1 + x²), from which the full step runs away for |x| > 1
        root = np.sqrt(1 + point**2)
        return float(root.sum()), point / root, np.diag(root**-3)

    def along(point, direction, steps):
        return np.array([evaluate(point + step * direction)[0] for step in steps])

    for line in (None, along):
        result = row_newton(evaluate, line, np.array([3.0, -2.0]), tol=1e-14, max_iter=50)
        assert result.converged
        assert np.all(np.diff(result.values) <= 0)
        assert_allclose(result.point, 0, atol=1e-7)
    short = row_newton(evaluate, None, np.array([3.0]), tol=1e-14, max_iter=1)
    assert not short.converged
    assert short.n_iter == 1
