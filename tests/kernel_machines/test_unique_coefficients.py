"""Whether the coefficients of a machine are the only ones, against what linear programming finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from assay.kernel_machines import SVC, SVR
from assay.kernel_machines.support_vectors import uniqueness
from assay.kernel_machines.support_vectors.machine import MachineData
from assay.kernels import Linear
from assay.losses import Hinge
from assay.solvers.rkhs.problem import RKHSProblem


def largest_range(rows, box, dual_value, target, epsilon):
    """How far a coefficient may move over all solutions of the dual of a linear machine.

    All solutions have the same w and the same Σ ν y − ε|ν|; their two signs are variables of their own.
    """
    (solution, coef, intercept), (lower, upper) = dual_value, box
    n = len(rows)
    w = rows.T @ solution
    fitted = rows @ coef + intercept
    assert np.allclose(w, coef, atol=1e-5)
    side = np.hstack([np.eye(n), -np.eye(n)])
    equal = np.vstack([rows.T @ side, np.ones(n) @ side])
    # Complementary slackness: a row off a corner keeps its coefficient.
    residual = target - fitted
    limits = []
    for sign, bound in ((1, upper), (-1, lower)):
        beyond = sign * residual - epsilon
        limits += [
            (b, b) if far > 1e-4 else (0.0, 0.0) if far < -1e-4 else (0.0, b)
            for far, b in zip(beyond, bound, strict=True)
        ]
    widest = 0.0
    for i in range(n):
        ends = []
        for direction in (1, -1):
            told = linprog(direction * side[i], A_eq=equal, b_eq=[*w, 0.0], bounds=limits)
            if told.status != 0:  # rounding of w: no room
                return 0.0
            ends.append(direction * told.fun)
        widest = max(widest, ends[1] - ends[0])
    return widest


@pytest.mark.spec("sangnier/T-1.4.3-c")
@pytest.mark.parametrize("seed", range(6))
def test_coefficients_of_lines_are_unique_exactly_where_none_may_move(seed):
    random = np.random.default_rng(seed)
    rows = np.round(random.normal(size=(12, 2)), 1)
    label = (rows[:, 0] + 0.8 * random.normal(size=12) > 0).astype(int)
    label[:2] = 0, 1
    if seed % 2:  # the same row twice, or thrice
        model = SVC(kernel="linear", C=1.0, tol=1e-12).fit(rows, label)
        again = model.support_[np.argmin(np.abs(np.abs(model.dual_coef_[0]) - 0.5))]
        rows, label = np.vstack([rows, rows[[again, again]]]), np.r_[label, label[[again, again]]]
    model = SVC(kernel="linear", C=1.0, tol=1e-12).fit(rows, label)
    solution = np.zeros(len(rows))
    solution[model.support_] = model.dual_coef_[0]
    sign = 2.0 * label - 1
    limits = (sign < 0) * 1.0, (sign > 0) * 1.0
    moves = largest_range(rows, limits, (solution, model.coef_[0], model.intercept_[0]), sign, 0.0) > 1e-4
    assert bool(model.alpha_unique_[0]) != moves


@pytest.mark.spec("sangnier/T-1.4.3-c")
def test_a_strictly_positive_kernel_has_one_solution_and_repeated_rows_have_many():
    random = np.random.default_rng(0)
    rows, y = random.normal(size=(40, 3)), random.normal(size=40)
    assert SVC(gamma=1.0).fit(rows, y > 0).alpha_unique_.all()
    assert SVR(gamma=1.0).fit(rows, y).alpha_unique_.all()
    twice = np.vstack([rows, rows])
    assert not SVC(gamma=1.0).fit(twice, np.r_[y, y] > 0).alpha_unique_.any()
    assert not SVR(gamma=1.0).fit(twice, np.r_[y, y]).alpha_unique_.any()
    # Squares bend in every row.
    assert SVC(gamma=1.0, loss="squared_hinge").fit(twice, np.r_[y, y] > 0).alpha_unique_.all()


def test_each_of_several_machines_is_told_of():
    rows = np.array([[-1.0], [-1.0], [1.0], [3.0]])
    model = SVC(kernel="linear", C=10.0).fit(rows, [0, 0, 1, 2])
    assert model.alpha_unique_.tolist() == [False, False, True]


@pytest.mark.parametrize(("last", "unique"), [(2.0, True), (-1.0, False)])
def test_rows_at_a_corner_may_move_in_one_direction_alone(last, unique):
    # Both last rows are on the margin with ν = 0: their ν may rise, and must leave w₂ = ν₃ + last·ν₄ at 0.
    rows, label = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, last]]), [0, 1, 1, 1]
    model = SVC(kernel="linear", C=10.0, tol=1e-12).fit(rows, label)
    assert model.alpha_unique_.tolist() == [unique]


@pytest.mark.parametrize(("last", "unique"), [(-1.0, True), (1.0, False)])
def test_rows_of_the_other_class_may_move_the_other_way(last, unique):
    rows, label = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [-1.0, last]]), [0, 1, 1, 0]
    model = SVC(kernel="linear", C=10.0, tol=1e-12).fit(rows, label)
    assert model.alpha_unique_.tolist() == [unique]


def test_beyond_so_many_rows_it_is_decided_where_few_span_the_others_and_left_open_elsewhere(monkeypatch):
    monkeypatch.setattr("assay.kernel_machines.support_vectors.uniqueness.LARGEST", 30)
    monkeypatch.setattr("assay.kernel_machines.support_vectors.uniqueness.TRIED", 20)
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 2))
    # A tube of width 0 around a plane: every row is at its corner, and three of them determine the plane.
    plane = SVR(kernel="linear", epsilon=0.0, C=10.0, tol=1e-12, history=True)
    plane.fit(rows, rows @ [1.0, -0.5])
    assert plane.alpha_unique_.tolist() == [False]
    # A kernel that interpolates: all rows are at their corner and their kernels are independent.
    # (A machine whose history is kept is not the compiled call of small ones, which decides by itself.)
    free = SVR(gamma=20.0, epsilon=0.0, C=1e4, tol=1e-12, history=True)
    y = random.normal(size=60)
    model = free.fit(rows, y)
    assert model.alpha_unique_.tolist() == [None]
    assert model.certify(rows, y).holds
    wrong = SVR(gamma=20.0, epsilon=0.0, C=1e4, tol=1e-12, history=True).fit(rows, y)
    wrong.alpha_unique_ = np.array([True])
    assert not wrong.certify(rows, y).holds
    monkeypatch.setattr("assay.kernel_machines.support_vectors.uniqueness.LARGEST", 2000)
    assert free.fit(rows, y).alpha_unique_.tolist() == [True]


# What is rounding, from either side.


@pytest.mark.parametrize(("away", "unique"), [(1e-7, False), (1e-5, True)])
def test_rows_off_the_margin_by_more_than_rounding_do_not_move(away, unique):
    rows = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0 + away, 1.0], [1.0 + away, -1.0]])
    # A kept history takes the machine past the compiled call of small ones, which decides by itself.
    model = SVC(kernel="linear", C=10.0, tol=1e-13, history=True).fit(rows, [0, 1, 1, 1])
    assert model.alpha_unique_.tolist() == [unique]


def test_a_small_coefficient_that_is_not_rounding_may_fall():
    # ν₃ + 2ν₄ = 0.001: either may give way to the other, though both are a ten-millionth of the box.
    rows = np.array([[-1.0, 0.0], [1.0, -0.002], [1.0, 1.0], [1.0, 2.0]])
    model = SVC(kernel="linear", C=1e4, tol=1e-13).fit(rows, [0, 1, 1, 1])
    coef = np.zeros(4)
    coef[model.support_] = model.dual_coef_[0]
    assert coef[2] + 2 * coef[3] == pytest.approx(1e-3, rel=1e-2)
    assert model.alpha_unique_.tolist() == [False]


@pytest.mark.parametrize(("apart", "count"), [(1e-15, 1), (5e-14, 0)])
def test_two_kernels_are_one_where_rounding_alone_parts_them(apart, count):
    gram = np.array([[1.0, 1.0 - apart], [1.0 - apart, 1.0]])
    basis = uniqueness.dependences(gram, balanced=False)
    assert basis.shape == (2, count)
    np.testing.assert_allclose(gram @ basis, 0, atol=1e-14)


@pytest.mark.parametrize(("height", "dependent"), [(1e-6, True), (3e-5, False)])
def test_one_row_out_of_the_plane_that_the_others_span_is_seen(monkeypatch, height, dependent):
    monkeypatch.setattr(uniqueness, "TRIED", 20)
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=(60, 2)), np.zeros(60)])
    rows[1, 2] = height  # a row that is not among those tried
    data = MachineData(np.arange(60), RKHSProblem(Hinge(), np.ones(60), np.ones(60), False), rows, None)
    assert uniqueness.are_dependent(Linear(), data, np.arange(60), balanced=False) == dependent


def test_many_kernels_that_are_nearly_of_few_features_are_independent(monkeypatch):
    monkeypatch.setattr(uniqueness, "TRIED", 20)
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=(60, 2)), 4e-6 * np.eye(60)])
    data = MachineData(np.arange(60), RKHSProblem(Hinge(), np.ones(60), np.ones(60), False), rows, None)
    assert not uniqueness.are_dependent(Linear(), data, np.arange(60), balanced=False)
