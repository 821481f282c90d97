"""All free rows at once: the maximum of a quadratic function in a box, beside a quadratic programme."""

from __future__ import annotations

import numpy as np
import pytest

from assay.kernels import Gaussian
from assay.losses import Absolute, Hinge
from assay.solvers.rkhs import box
from assay.solvers.rkhs.at_once import free_rows
from assay.solvers.rkhs.at_once.free_rows import box_step
from assay.solvers.rkhs.at_once.many_free import NearMatrix, balanced, conjugate_step, times
from assay.solvers.rkhs.problem import RKHSProblem


def quadratic(n: int, width: float, seed: int = 0):
    """A kernel matrix, slopes and a box that cuts off some of the maximum."""
    rng = np.random.default_rng(seed)
    K = Gaussian(0.05).gram(rng.normal(size=(n, 12)))
    pull = rng.normal(size=n)
    up, down = width * rng.uniform(0.5, 1.5, n), -width * rng.uniform(0.5, 1.5, n)
    return K, pull, up, down


def value(K, pull, change):
    return float(pull @ change - 0.5 * change @ K @ change)


@pytest.mark.parametrize("sums", [0, 1, 2])
@pytest.mark.parametrize("width", [0.5, 3.0, 1e4])
def test_conjugate_gradients_in_a_box_reach_the_maximum_of_the_factor(width, sums):
    K, pull, up, down = quadratic(300, width)
    A = (np.arange(300)[:, None] % max(sums, 1) == np.arange(sums)).astype(float)
    change = conjugate_step(K.astype(np.float32), pull, up, down, A)
    assert np.all((change <= up) & (change >= down))
    np.testing.assert_allclose(A.T @ change, 0.0, atol=1e-9)
    exact = box_step(K.copy(), pull, up, down, A)
    best = value(K, pull, exact)
    assert value(K, pull, change) >= best - 2e-3 * abs(best)
    if sums == 2 and width < 1:
        return  # hardly a row of either sum is inside its box
    # No row can move and gain: slopes point outwards at bounds, and are those of the constraints inside.
    inside = (change < up) & (change > down)
    slope = pull - K @ change
    level = A @ (A[inside].T @ slope[inside] / np.maximum(A[inside].sum(axis=0), 1)) if sums else 0.0
    left = slope - level
    allowed = 5e-2 * np.abs(pull).max()
    assert np.abs(left[inside]).max(initial=0.0) < allowed
    assert np.all(left[change >= up] > -allowed)
    assert np.all(left[change <= down] < allowed)
    assert (~inside).any() == (width < 1e3)


def test_the_matrix_near_it_has_its_large_eigenvalues_and_its_trace():
    K = quadratic(400, 1.0)[0].astype(np.float32)
    near = NearMatrix.of(K)
    low = np.asarray(near.low_rank @ near.low_rank.T, dtype=np.float64)
    assert np.trace(low) + 400 * near.tail == pytest.approx(np.trace(K), rel=1e-4)
    # K less it is positive semi-definite, up to single precision, and far smaller.
    left = np.linalg.eigvalsh(K - low)
    assert left[0] > -1e-3
    assert left[-1] < 0.05 * np.linalg.eigvalsh(K)[-1]


def test_products_by_pieces_are_products():
    K, pull, *_ = quadratic(700, 1.0)
    np.testing.assert_allclose(times(K.astype(np.float32), pull), K @ pull, rtol=1e-4, atol=1e-4)


def test_what_a_cut_takes_from_a_sum_is_shared_inside_the_box():
    rng = np.random.default_rng(1)
    trial, A = rng.normal(size=50), np.ones((50, 1))
    up, down = np.full(50, 0.7), np.full(50, -2.0)
    shared = balanced(trial - trial.mean(), up, down, A)
    assert abs(shared.sum()) < 1e-12
    assert np.all((shared <= up) & (shared >= down))
    centred = trial - trial.mean()
    inside = (np.maximum(shared, centred) < up) & (centred > down)
    moved = (shared - centred)[inside]
    np.testing.assert_allclose(moved, moved[0], atol=1e-12)


@pytest.mark.parametrize("loss", [Hinge(), Absolute()], ids=["hinge", "absolute"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_machine_of_many_free_rows_is_that_of_the_factor(loss, intercept, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1150, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    target = np.sign(y) if isinstance(loss, Hinge) else y
    problem = RKHSProblem(loss, target, np.full(1150, 3.0), intercept)
    options = box.BoxOptions(tol=1e-6)
    plain = box.solve_box(problem, Gaussian(0.1), X, options)
    calls = []

    def counted(*given):
        calls.append(len(given[1]))
        return conjugate_step(*given)

    monkeypatch.setattr(free_rows, "LARGEST", 10)
    monkeypatch.setattr(box, "LARGEST", 10)
    monkeypatch.setattr(free_rows, "conjugate_step", counted)
    monkeypatch.setattr(box, "VERY_CLOSE", 10.0)
    monkeypatch.setattr(
        box.Pace, "is_slow", lambda self, gap, price: self._mark is None or self.cost > self._mark[1]
    )
    other = box.solve_box(problem, Gaussian(0.1), X, options)
    assert max(calls) > 100
    assert plain.converged
    assert other.converged
    np.testing.assert_allclose(other.products @ [1, -1], plain.products @ [1, -1], atol=2e-2)


def test_rounds_are_slow_where_their_pace_costs_more_than_the_price():
    pace = box.Pace(1e-6)
    assert not pace.is_slow(1e-2, 40.0)  # nothing is measured yet
    pace.cost = 9.0
    assert not pace.is_slow(5e-3, 40.0)  # less than a quarter of the price
    pace.cost = 10.0
    # From 1e-2 to 1e-3 in a cost of 10: three more decades cost 30.
    assert not pace.is_slow(1e-3, 40.0)
    assert pace.is_slow(1e-3 * 1.001, 20.0)  # what rounding hid is judged by the last pace
    pace.cost = 20.0
    assert pace.is_slow(9e-4, 40.0)
    pace.begin(1e-5)
    assert not pace.is_slow(1e-5, 40.0)
