"""Machines that share a Gram matrix: lines read when asked for, gaps of all machines at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from assay.kernels import Gaussian
from assay.losses import EpsilonInsensitive, Hinge
from assay.solvers.rkhs.box import POLISH, BoxOptions, solve_box
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.problem import RKHSProblem, measure, measure_each, stacked


@pytest.fixture
def table(rng):
    X = rng.standard_normal((90, 3))
    return X, Gaussian(0.5).gram(X), np.where(X[:, 0] + 0.5 * rng.standard_normal(90) > 0, 1.0, -1.0)


def test_lines_of_some_rows_are_copied_when_they_are_read(table, rng):
    _, gram, _ = table
    rows = np.flatnonzero(rng.random(90) < 0.5)
    lines, coef = GramLines(gram, rows), np.zeros(len(rows))
    coef[[3, 7]] = 0.5, -2.0
    part = gram[np.ix_(rows, rows)]
    assert_allclose(lines.product(coef), part @ coef, rtol=1e-13)
    assert_array_equal(np.flatnonzero(lines.form[1]), [3, 7])
    assert_array_equal(lines.part(np.array([1, 4])), part[np.ix_([1, 4], [1, 4])])
    assert_array_equal(lines.diagonal(), part.diagonal())
    assert_array_equal(np.asarray(lines), part)
    assert np.asarray(GramLines(gram)) is gram


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)])
def test_a_machine_on_lines_of_a_larger_matrix_is_that_of_its_own_matrix(table, loss, intercept):
    X, gram, y = table
    rows = np.arange(5, 85, 2)
    problem = RKHSProblem(loss, y[rows], np.full(len(rows), 3.0), intercept)
    shared = solve_box(problem, Gaussian(0.5), X[rows], BoxOptions(), gram=GramLines(gram, rows))
    alone = solve_box(problem, Gaussian(0.5), X[rows], BoxOptions())
    assert_allclose(shared.coef, alone.coef, atol=1e-10)
    assert_allclose(shared.products, alone.products, atol=1e-10)
    assert abs(shared.intercept - alone.intercept) < 1e-10


def test_free_rows_solved_for_early_are_those_of_the_optimum(rng):
    X = rng.standard_normal((400, 3))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(400) > 0, 1.0, -1.0)
    problem = RKHSProblem(Hinge(), y, np.full(400, 2.0), True)
    early = solve_box(problem, Gaussian(0.5), X, BoxOptions())
    steps_alone = solve_box(problem, Gaussian(0.5), X, BoxOptions(polished=False))
    late = solve_box(problem, Gaussian(0.5), X, BoxOptions(tol=1e-12, rule="max_violating_pair"))
    assert POLISH < early.n_iter * 400 < steps_alone.n_iter * 400
    assert_allclose(early.coef, late.coef, atol=1e-7)


def test_gaps_of_stacked_machines_are_those_of_each(table, rng):
    _, gram, y = table
    problems, coefs, products, intercepts = [], [], [], rng.standard_normal(3)
    for rows, size in ((np.arange(40), 1.0), (np.arange(30, 90), 0.3), (np.arange(10, 20), 0.0)):
        problems.append(RKHSProblem(Hinge(), y[rows], np.full(len(rows), 1.5), True))
        coef = size * y[rows] * rng.uniform(0, 1.5, size=len(rows))
        part = gram[np.ix_(rows, rows)]
        coefs.append(coef)
        products.append(np.column_stack([part @ np.maximum(coef, 0), part @ np.maximum(-coef, 0)]))
    sizes = np.array([len(coef) for coef in coefs])
    together = measure_each(
        stacked(problems), sizes, np.concatenate(coefs), intercepts, np.concatenate(products)
    )
    for gap, *alone in zip(together, problems, coefs, intercepts, products, strict=True):
        one = measure(*alone)
        assert_allclose(gap[:3], one[:3], rtol=1e-12)
        assert_allclose(gap.row_gaps, one.row_gaps, atol=1e-12)
        assert gap.scale == pytest.approx(one.scale, rel=1e-12)
        assert gap.gap > 0
