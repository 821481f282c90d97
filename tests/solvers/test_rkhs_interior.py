"""The dual in its box by an interior point, and machines whose pairs of rows creep."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from assay.kernel_machines import SVC, SVR, KernelQuantileRegressor
from assay.kernels import Gaussian, Linear
from assay.losses import Absolute, EpsilonInsensitive, Hinge, Quantile
from assay.solvers.rkhs import box as engine
from assay.solvers.rkhs.at_once.interior import interior_point
from assay.solvers.rkhs.box import BoxOptions, cross, solve_box
from assay.solvers.rkhs.dual import BoxDual
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.problem import RKHSProblem, box, measure

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(80, 3))
CLASSES = np.where(ROWS[:, 0] + RANDOM.normal(size=80) > 0, 1.0, -1.0)
NUMBERS = ROWS[:, 0] + np.sin(3 * ROWS[:, 1]) + RANDOM.normal(size=80)
LOSSES = [
    (Hinge(), CLASSES),
    (Absolute(), NUMBERS),
    (Quantile(0.8), NUMBERS),
    (EpsilonInsensitive(0.3), NUMBERS),
]


@pytest.mark.parametrize(("loss", "target"), LOSSES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.5)], ids=["linear", "rbf"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("cost", [0.1, 10.0, 1e5])
def test_it_ends_at_the_maximum_of_the_dual(loss, target, kernel, intercept, cost):
    weights = cost * np.linspace(0.5, 1.5, 80)
    problem, gram = RKHSProblem(loss, target, weights, intercept), kernel.gram(ROWS)
    upper, lower = box(problem)
    epsilon = float(loss.row_form.epsilon)
    nu = interior_point(gram, target, upper, lower, epsilon, balanced=intercept)
    assert np.all((nu <= upper) & (nu >= -lower))
    if intercept:
        assert abs(nu.sum()) <= 1e-7 * np.abs(nu).sum()
    dual = BoxDual(problem, nu, target - gram @ nu)
    gap = cross(dual, GramLines(gram), 1.0)
    assert gap <= 1e-6
    if cost < 1e5:  # steps of pairs come to the same value
        alone = solve_box(problem, kernel, ROWS, BoxOptions(tol=1e-9), gram=gram)
        other = BoxDual(problem, alone.coef, target - gram @ alone.coef)
        assert dual.value == pytest.approx(other.value, rel=1e-6)


def test_a_walk_that_does_not_help_changes_nothing():
    gram = Gaussian(0.5).gram(ROWS)
    problem = RKHSProblem(Hinge(), CLASSES, np.ones(80), True)
    solved = solve_box(problem, Gaussian(0.5), ROWS, BoxOptions(tol=1e-12), gram=gram)
    dual = BoxDual(problem, solved.coef.copy(), CLASSES - gram @ solved.coef)
    assert cross(dual, GramLines(gram), 0.0) == 0.0
    np.testing.assert_array_equal(dual.nu, solved.coef)
    np.testing.assert_allclose(dual.gradient, CLASSES - gram @ solved.coef)


@pytest.mark.parametrize("cost", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("kind", [SVC, SVR, KernelQuantileRegressor])
def test_a_linear_machine_of_a_large_cost_converges(kind, cost):
    target = CLASSES if kind is SVC else NUMBERS
    model = kind(kernel="linear", C=cost).fit(ROWS, target)
    model.certify(ROWS, target).require()
    assert model.n_iter_ < 30_000 or np.max(model.n_iter_) < 30_000


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_cost_beyond_what_rounding_leaves_ends_soon_and_says_so(kernel):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = SVC(kernel=kernel, C=1e12).fit(ROWS, CLASSES)
    assert np.max(model.n_iter_) < 500_000
    assert model.converged_ == model.certificates_.holds
    assert model.converged_ or "More of them do not help" in str(caught[0].message)


@pytest.mark.parametrize("crossed", [0, 5000])
def test_of_many_rows_pairs_that_creep_end_too(crossed, monkeypatch):
    random = np.random.default_rng(1)
    rows = random.normal(size=(1100, 3))
    sign = np.where(rows[:, 0] + 0.5 * random.normal(size=1100) > 0, 1.0, -1.0)
    problem = RKHSProblem(Hinge(), sign, np.full(1100, 1e5), True)
    monkeypatch.setattr(engine, "CROSSED", crossed)
    if not crossed:
        monkeypatch.setattr(engine, "STEPS_PER_ROW", 20)
    solution = solve_box(problem, Linear(), rows, BoxOptions())
    assert solution.converged == (crossed > 0)
    assert solution.n_iter <= (22_000 if not crossed else 500_000)
    gap = measure(problem, solution.coef, solution.intercept, solution.products)
    assert (gap.relative <= 1e-6) == (crossed > 0)
