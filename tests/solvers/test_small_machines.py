"""Small machines in one compiled call each: against the solver of rounds, on a whole matrix and on blocks."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from assay.kernel_machines import SVC, SVR
from assay.kernel_machines.support_vectors import base, classification
from assay.kernels import Gaussian, Linear
from assay.loops import compiled
from assay.losses import EpsilonInsensitive, Hinge, Quantile, SquaredEpsilonInsensitive, SquaredHinge
from assay.rows import threads
from assay.solvers.rkhs.box import BoxOptions, solve_box
from assay.solvers.rkhs.loops import of_rank, rank
from assay.solvers.rkhs.machines import judging
from assay.solvers.rkhs.machines import loops as small
from assay.solvers.rkhs.machines.solver import SmallMachines, Span, solve_small
from assay.solvers.rkhs.problem import RKHSProblem, box, measure_each, split


@pytest.fixture
def three_classes(rng):
    """Rows sorted by class, and where each class begins and ends."""
    sizes = [40, 25, 33]
    X = np.concatenate([rng.standard_normal((n, 3)) + 0.8 * k for k, n in enumerate(sizes)])
    ends = np.cumsum([0, *sizes]).tolist()
    return X, list(pairwise(ends))


def duelling(parts, cost):
    """The machines of each two classes."""
    spans = [Span(*first, *second) for first, second in combinations(parts, 2)]
    signs = [np.repeat([1.0, -1.0], [a_end - a, b_end - b]) for a, a_end, b, b_end in spans]
    sign = np.concatenate(signs)
    upper, lower = np.where(sign > 0, cost, 0.0), np.where(sign < 0, cost, 0.0)
    return SmallMachines(sign, upper, lower, 0.0, spans), signs


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("cost", [0.1, 30.0])
def test_machines_of_two_classes_are_those_of_rounds_from_blocks_and_from_a_whole_matrix(
    three_classes, cost, n_threads
):
    X, parts = three_classes
    kernel = Gaussian(0.5)
    machines, signs = duelling(parts, cost)
    gram = kernel.gram(X)
    with threads(n_threads):
        whole = solve_small(machines, gram, tol=1e-8, max_iter=10**9)
        blocks = solve_small(machines, (kernel._open(X, X), len(X)), tol=1e-8, max_iter=10**9)
    assert_allclose(blocks.coef, whole.coef, atol=1e-9 * cost)
    start = 0
    for (a, a_end, b, b_end), sign, numbers in zip(machines.spans, signs, whole.numbers, strict=True):
        rows, part = np.r_[a:a_end, b:b_end], slice(start, start + len(sign))
        problem = RKHSProblem(Hinge(), sign, np.full(len(sign), cost), True)
        alone = solve_box(problem, kernel, X[rows], BoxOptions(tol=1e-12))
        assert numbers[small.CONVERGED]
        assert numbers[small.ALONE]
        assert_allclose(whole.coef[part], alone.coef, atol=1e-6 * cost)
        assert_allclose(whole.products[part], alone.products, atol=1e-6 * cost)
        assert_allclose(numbers[small.INTERCEPT], alone.intercept, atol=1e-6)
        assert numbers[small.LOW] <= numbers[small.INTERCEPT] <= numbers[small.HIGH]
        start += len(sign)


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Quantile(0.3), Hinge()])
def test_a_machine_of_all_rows_is_that_of_rounds(rng, loss):
    X = rng.standard_normal((120, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(120)
    if isinstance(loss, Hinge):
        y = np.sign(y)
    problem = RKHSProblem(loss, y, rng.uniform(0.5, 2.0, size=120), True)
    gram, epsilon = Gaussian(0.7).gram(X), loss.row_form.epsilon
    machine = SmallMachines(y, *box(problem), epsilon, [Span(0, 120)])
    solved = solve_small(machine, gram, tol=1e-8, max_iter=10**9)
    alone = solve_box(problem, Gaussian(0.7), X, BoxOptions(tol=1e-12))
    assert solved.numbers[0, small.CONVERGED]
    assert_allclose(solved.coef, alone.coef, atol=1e-6)
    assert_allclose(solved.numbers[0, small.INTERCEPT], alone.intercept, atol=1e-6)


def test_a_row_that_is_there_twice_is_told_from_rows_that_differ(rng):
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0)

    def alone(rows):
        table, sign = X[rows], y[rows]
        problem = RKHSProblem(Hinge(), sign, np.full(len(rows), 100.0), True)
        machine = SmallMachines(sign, *box(problem), 0.0, [Span(0, len(rows))])
        solved = solve_small(machine, Gaussian(0.5).gram(table), tol=1e-10, max_iter=10**9)
        free = (np.abs(solved.coef) > 1e-6) & (np.abs(solved.coef) < 99.9)
        return bool(solved.numbers[0, small.ALONE]), np.flatnonzero(free)

    unique, free = alone(np.arange(30))
    assert unique
    assert len(free)
    assert not alone(np.r_[np.arange(30), free[:1]])[0]


def test_what_a_call_leaves_unfinished_pairs_end(three_classes, monkeypatch):
    X, parts = three_classes
    y = np.repeat([0, 1, 2], [end - start for start, end in parts])
    whole = SVC(C=3.0, gamma=0.5).fit(X, y)

    def cut_short(machines, gram, **limits):
        solution = solve_small(machines, gram, **{**limits, "max_iter": 5, "polished": False})
        assert not solution.numbers[:, small.CONVERGED].any()
        return solution

    monkeypatch.setattr(base, "solve_small", cut_short)
    ended = SVC(C=3.0, gamma=0.5).fit(X, y)
    assert ended.certificates_.holds
    assert ended.converged_
    assert_array_equal(ended.support_, whole.support_)
    assert_allclose(ended.dual_coef_, whole.dual_coef_, atol=1e-5)
    assert np.all(ended.n_iter_ > 5)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_the_gram_matrix_give_the_model_of_the_whole(three_classes, rng, monkeypatch, weighted):
    X, parts = three_classes
    y = np.repeat(["c", "a", "b"], [end - start for start, end in parts])
    shuffled = rng.permutation(len(y))
    X, y = X[shuffled], y[shuffled]
    weight = rng.integers(0, 3, size=len(y)).astype(float) if weighted else None
    whole = SVC(C=2.0, gamma=0.4).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(classification, "FEW_ROWS", 0)
    blocks = SVC(C=2.0, gamma=0.4).fit(X, y, sample_weight=weight)
    for name in ("support_", "n_support_", "alpha_unique_", "point_sets_"):
        assert_array_equal(getattr(blocks, name), getattr(whole, name))
    for name in ("dual_coef_", "intercept_", "slack_", "intercept_interval_", "dual_value_"):
        assert_allclose(getattr(blocks, name), getattr(whole, name), atol=1e-7)
    assert blocks.certificates_.holds
    assert blocks.certify(X, y, sample_weight=weight).holds


@pytest.mark.parametrize("few", [0, 600])
def test_classes_whose_rows_weigh_nothing_leave_the_machines_of_others_alone(rng, monkeypatch, few):
    monkeypatch.setattr(classification, "FEW_ROWS", few)
    X, y = rng.standard_normal((75, 3)), np.repeat(np.arange(5), 15)
    weight = np.where((y == 1) | (y == 2), 0.0, 1.0)
    model = SVC(gamma=0.4).fit(X, y, sample_weight=weight)
    kept = weight > 0
    without = SVC(gamma=0.4).fit(X[kept], y[kept])
    assert model.certify(X, y, sample_weight=weight).holds
    # Of the pairs 01, 02, 03, 04, 12, 13, 14, 23, 24, 34; the machine of one class says that class.
    assert_allclose(model.intercept_[[2, 3, 9]], without.intercept_, atol=1e-8)
    assert_allclose(model.intercept_[[0, 1, 4, 5, 6, 7, 8]], [1, 1, 0, -1, -1, -1, -1])
    assert_allclose(np.abs(model.dual_coef_).sum(), np.abs(without.dual_coef_).sum())


def test_kernels_that_overflow_in_a_block_are_refused(monkeypatch):
    monkeypatch.setattr(classification, "FEW_ROWS", 0)
    X = np.repeat([[1e60], [2e60], [3e60]], 4, axis=0)
    with pytest.raises(ValueError, match="overflows"):
        SVC(kernel="polynomial", degree=6, gamma=1.0).fit(X, np.repeat([0, 1, 2], 4))


LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3), Quantile(0.8)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_walk_over_machines_measures_what_arrays_do(rng, loss, intercept):
    sizes = np.array([17, 5, 30])
    total = int(sizes.sum())
    y = np.sign(rng.standard_normal(total))
    problem = RKHSProblem(loss, y, rng.uniform(0.5, 2.0, size=total), intercept)
    upper, lower = (np.minimum(side, 4.0) for side in box(problem))
    coef = (1 - 1e-9) * np.clip(2 * rng.standard_normal(total), -lower, upper)  # no rounding beyond the box
    coef[::4] = 0.0
    grams = [Linear().gram(rng.standard_normal((n, 4))) for n in sizes]
    columns = np.column_stack([np.maximum(coef, 0), np.maximum(-coef, 0)])
    products = np.concatenate(
        [gram @ part for gram, part in zip(grams, np.split(columns, np.cumsum(sizes)[:-1]), strict=True)]
    )
    intercepts = rng.standard_normal(3)
    of_rows = (*np.empty((6, total)), np.empty(total, dtype=np.int8))
    numbers = np.empty((3, judging.N_NUMBERS))
    point, rows = (coef, products, intercepts), (y, problem.cost, *box(problem))
    judging.judge_machines(loss.row_form, rows, point, sizes, intercept, 1e-13, of_rows, numbers)
    gaps = measure_each(problem, sizes, coef, intercepts, products)
    for gap, line, losses, terms in zip(
        gaps, numbers, split(of_rows[1], sizes), split(of_rows[5], sizes), strict=True
    ):
        told = line[[judging.PRIMAL, judging.GAP, judging.SQUARED_NORM, judging.SCALE]]
        assert_allclose(told, [gap.primal, gap.gap, gap.squared_norm, gap.scale], rtol=1e-11)
        assert_allclose(losses, gap.row_loss, atol=1e-12)
        assert_allclose(terms, gap.row_gaps, atol=1e-11)
    assert np.any(numbers[:, judging.IMBALANCE] > 0.01) == intercept


def test_ranks_are_in_the_order_of_the_values():
    values = np.array([-np.inf, -1e300, -2.0, -1e-310, -0.0, 0.0, 1e-310, 0.5, 2.0, np.inf])

    @compiled
    def there_and_back(values, ranks, back):
        for i in range(values.shape[0]):
            ranks[i] = rank(values[i])
            back[i] = of_rank(ranks[i])

    ranks, back = np.empty(len(values), dtype=np.int64), np.empty(len(values))
    there_and_back(values, ranks, back)
    assert np.all(np.diff(ranks) > 0)
    assert_array_equal(back, values)


def test_a_small_regression_holds_and_says_that_its_coefficients_are_unique(rng):
    X = rng.standard_normal((80, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(80)
    model = SVR(C=5.0, epsilon=0.05).fit(X, y)
    assert model.certificates_.holds
    assert model.certify(X, y).holds
    assert model.alpha_unique_.all()
    assert model.dual_gap_ < 1e-9
