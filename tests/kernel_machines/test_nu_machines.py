"""Machines that are told a share of their rows: NuSVC, NuSVR, OneClassSVM."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, minimize

from assay import kernel_machines
from assay.kernel_machines import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from assay.kernel_machines.support_vectors import base
from assay.kernels import Gaussian
from assay.solvers.rkhs.box import BoxOptions
from assay.solvers.rkhs.fixed_sums import FixedSums, solve_fixed_sums

GAMMA = 0.3
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 4))
Y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.3 * RANDOM.normal(size=150)
LABEL = (Y > 1).astype(int)
THREE = np.digitize(Y, [0.3, 1.3])
WEIGHT = RANDOM.integers(1, 4, 150).astype(float)

PAIRS = [
    (NuSVC, sklearn.svm.NuSVC, LABEL),
    (NuSVC, sklearn.svm.NuSVC, THREE),
    (NuSVR, sklearn.svm.NuSVR, Y),
    (OneClassSVM, sklearn.svm.OneClassSVM, None),
]


def peer(kind, **options):
    """A machine of scikit-learn, which would advance the global random state by itself."""
    model = kind(**options)
    model.random_state = 0
    return model


@pytest.mark.parametrize("nu", [0.2, 0.5])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(("ours", "theirs", "target"), PAIRS)
def test_attributes_signs_and_values_are_those_of_scikit_learn(ours, theirs, target, weight, nu):
    mine = ours(nu=nu, gamma=GAMMA, tol=1e-12).fit(X, target, sample_weight=weight)
    other = peer(theirs, nu=nu, gamma=GAMMA, tol=1e-12).fit(X, target, sample_weight=weight)
    mine.certificates_.require()
    for name in ("support_", "n_support_"):
        assert np.array_equal(getattr(mine, name), getattr(other, name)), name
    assert_allclose(mine.dual_coef_, other.dual_coef_, atol=1e-5 * np.abs(other.dual_coef_).max())
    assert_allclose(mine.intercept_, other.intercept_, atol=1e-6)
    method = "predict" if ours is NuSVR else "decision_function"
    assert_allclose(getattr(mine, method)(X), getattr(other, method)(X), atol=1e-5)
    if ours is OneClassSVM:
        assert_allclose(mine.offset_, other.offset_, rtol=1e-7)
        assert_allclose(mine.score_samples(X), other.score_samples(X), rtol=1e-6)
        off = np.abs(other.decision_function(X)) > 1e-6
        assert np.array_equal(mine.predict(X)[off], other.predict(X)[off])
        assert np.array_equal(mine.fit_predict(X, sample_weight=weight), mine.predict(X))


@pytest.mark.parametrize(("upper", "sums"), [(1.0, (6.3, 6.3)), (0.7, (4.0, 0.0)), (2.0, (3.0, 3.0))])
def test_the_dual_of_given_sums_is_maximised_as_a_dense_solver_does(upper, sums):
    rows, y = X[:40], Y[:40]
    K = np.exp(-GAMMA * ((rows[:, None] - rows) ** 2).sum(axis=2))
    lower = np.full(40, upper if sums[1] else 0.0)
    problem = FixedSums(y, np.full(40, upper), lower, sums)
    solved = solve_fixed_sums(problem, Gaussian(GAMMA), rows, BoxOptions(tol=1e-10))
    assert solved.converged

    def objective(point):
        nu = point[:40] - point[40:]
        return 0.5 * nu @ K @ nu - y @ nu, np.concatenate([K @ nu - y, y - K @ nu])

    sides = np.kron(np.eye(2), np.ones(40))
    bounds = [(0, upper)] * 40 + [(0, each) for each in lower]
    start = np.concatenate([np.full(40, sums[0] / 40), np.full(40, sums[1] / 40)])
    told = minimize(
        objective,
        start,
        jac=True,
        bounds=bounds,
        constraints=LinearConstraint(sides, sums, sums),
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert_allclose(
        objective(np.concatenate([np.maximum(solved.coef, 0), np.maximum(-solved.coef, 0)]))[0],
        told.fun,
        rtol=1e-6,
    )


@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_the_machine_is_that_of_the_cost_or_the_tube_that_comes_out(nu):
    shared = NuSVC(nu=nu, gamma=GAMMA, tol=1e-10).fit(X, LABEL)
    same = SVC(C=float(shared.C_[0]), gamma=GAMMA, tol=1e-10).fit(X, LABEL)
    assert_allclose(shared.decision_function(X), same.decision_function(X), atol=1e-5)
    shared = NuSVR(nu=nu, gamma=GAMMA, tol=1e-10).fit(X, Y)
    same = SVR(epsilon=shared.epsilon_, gamma=GAMMA, tol=1e-10).fit(X, Y)
    assert_allclose(shared.predict(X), same.predict(X), atol=1e-5)


@pytest.mark.parametrize(("n", "nu"), [(31, 0.97), (31, 1.0), (30, 0.97), (30, 1.0)])
def test_a_tube_that_more_weight_is_asked_for_than_pulls_is_closed(n, nu):
    few = X[:n], Y[:n]  # of an odd number not all rows can pull
    model = NuSVR(nu=nu, C=1e3, gamma=GAMMA, tol=1e-8).fit(*few)
    assert model.epsilon_ == 0
    model.certificates_.require()
    median = SVR(epsilon=0.0, C=1e3, gamma=GAMMA, tol=1e-8).fit(*few)
    assert_allclose(model.predict(X), median.predict(X), atol=1e-3)


@pytest.mark.parametrize("kind", ["NuSVC", "NuSVR", "OneClassSVM"])
def test_more_rows_than_a_working_set_give_what_scikit_learn_does(kind, monkeypatch):
    monkeypatch.setattr(base, "SHARED_GRAM", 0)  # so that kernel rows are made as they are asked for
    random = np.random.default_rng(1)
    rows = random.normal(size=(1200, 3))
    target = rows[:, 0] + rows[:, 1] ** 2 + 0.2 * random.normal(size=1200)
    target = {"NuSVC": (target > 1).astype(int), "NuSVR": target, "OneClassSVM": None}[kind]
    mine = getattr(kernel_machines, kind)(nu=0.4, gamma=GAMMA, tol=1e-8).fit(rows, target)
    mine.certificates_.require()
    other = peer(getattr(sklearn.svm, kind), nu=0.4, gamma=GAMMA, tol=1e-8).fit(rows, target)
    method = "predict" if kind == "NuSVR" else "decision_function"
    assert_allclose(getattr(mine, method)(rows), getattr(other, method)(rows), atol=2e-4)


@pytest.mark.parametrize(("kind", "target"), [(NuSVC, LABEL), (NuSVR, Y), (OneClassSVM, None)])
@pytest.mark.parametrize("nu", [0.15, 0.3, 0.55])
def test_errors_are_at_most_the_share_and_support_vectors_at_least(kind, target, nu):
    model = kind(nu=nu, gamma=GAMMA).fit(X, target)
    assert model.error_share_[0] <= nu + 1e-9 <= model.support_share_[0] + 2e-9
    if kind is OneClassSVM:
        assert np.mean(model.predict(X) < 0) <= nu


def test_a_share_that_a_class_cannot_give_is_refused_with_the_largest():
    most = 2 * min(LABEL.sum(), (1 - LABEL).sum()) / len(LABEL)
    NuSVC(nu=most, gamma=GAMMA).fit(X, LABEL).certificates_.require()
    with pytest.raises(ValueError, match=rf"'nu' .* which is {most:.6g} for the classes 1 and 0"):
        NuSVC(nu=most + 1e-3, gamma=GAMMA).fit(X, LABEL)
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        peer(sklearn.svm.NuSVC, nu=most + 1e-2).fit(X, LABEL)


def test_classes_or_rows_that_meet_are_refused():
    twice, labels = np.vstack([X, X]), np.repeat([0, 1], len(X))
    with pytest.raises(ValueError, match="give a larger 'nu'"):
        NuSVC(nu=0.5).fit(twice, labels)
    with pytest.raises(ValueError, match="a mean of the rows"):
        OneClassSVM(kernel="linear", nu=0.5).fit(np.vstack([X, -X]))


def test_weights_of_classes_are_weights_of_rows():
    weighted = NuSVC(nu=0.4, gamma=GAMMA, tol=1e-10, class_weight={0: 1.0, 1: 2.0}).fit(X, LABEL)
    rows = NuSVC(nu=0.4, gamma=GAMMA, tol=1e-10).fit(X, LABEL, sample_weight=1.0 + LABEL)
    assert_allclose(weighted.decision_function(X), rows.decision_function(X), atol=1e-7)


def test_the_most_probable_class_is_the_one_said():
    model = NuSVC(nu=0.5, probability=True).fit(X, THREE)
    assert np.array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("dual_coef_", "distance from the sum, over it"),
        ("intercept_", "relative duality gap of the share"),
        ("nu", "distance from the sum, over it"),
    ],
)
@pytest.mark.parametrize(("kind", "target"), [(NuSVC, LABEL), (NuSVR, Y), (OneClassSVM, None)])
def test_the_certificates_of_the_share_fail_when_a_fit_is_damaged(kind, target, name, claim):
    model = kind(nu=0.3, gamma=GAMMA).fit(X, target)
    if kind is OneClassSVM and name == "intercept_":
        name = "offset_"
    value = getattr(model, name)
    setattr(model, name, 1.02 * value if name != "intercept_" else value + 0.05)
    failed = {each.quantity for each in model.certify(X, target) if not each.holds}
    assert claim in failed


def test_more_errors_than_the_share_are_seen():
    model = OneClassSVM(nu=0.3, gamma=GAMMA).fit(X)
    model.offset_ = model.offset_ * 1.5
    model.intercept_ = -model.offset_
    assert "share of errors" in {each.quantity for each in model.certify(X) if not each.holds}
    model = NuSVR(nu=0.3, gamma=GAMMA).fit(X, Y)
    model.epsilon_ = 0.5 * model.epsilon_
    assert "share of errors" in {each.quantity for each in model.certify(X, Y) if not each.holds}


def test_too_few_support_vectors_are_seen():
    model = NuSVR(nu=0.3, gamma=GAMMA).fit(X, Y)
    kept = np.arange(len(model.support_)) % 2 == 0
    model.support_, model.dual_coef_ = model.support_[kept], model.dual_coef_[:, kept]
    model.support_vectors_ = model.support_vectors_[kept]
    assert "share of support vectors" in {each.quantity for each in model.certify(X, Y) if not each.holds}


def test_a_stopped_solver_fails_its_certificate():
    with pytest.warns(match="stopped after"):
        model = NuSVR(nu=0.3, gamma=GAMMA, max_iter=3).fit(X, Y)
    assert not model.certificates_.holds
    assert not model.converged_


@pytest.mark.parametrize("seed", [6, 57, 62, 63, 82])
def test_a_tube_that_seemed_closed_may_be_open_after_all(seed):
    # Exchanges on either side end where the tube is less than empty, while the median asks for too much.
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 14))
    rows, y = random.normal(size=(n, 1)), random.normal(size=n)
    cost, nu = 10 ** random.uniform(-1, 3), random.uniform(0.5, 1)
    gamma = 10 ** random.uniform(-2, 1)
    model = NuSVR(nu=nu, C=cost, gamma=gamma, tol=1e-8).fit(rows, y)
    assert np.abs(model.dual_coef_).sum() <= nu * cost * n * (1 + 1e-9)
    model.certificates_.require()


def test_slacks_that_are_rounding_are_no_damage():
    rows = np.repeat(np.random.default_rng(0).normal(size=(40, 3))[:20], 2, axis=0)
    model = OneClassSVM(nu=0.3).fit(rows)
    assert model.slack_.max() < 1e-12 * model.offset_[0]  # of the order of the last digit
    assert model.certify(rows).holds
    model.slack_ = model.slack_ + 1e-3
    assert not model.certify(rows).holds


def test_the_smallest_weight_there_is_leaves_every_slack_a_number():
    weight = np.ones(150)
    weight[7] = 5e-324
    model = OneClassSVM(gamma=1.0).fit(X, sample_weight=weight)
    short = np.maximum(-model.decision_function(X), 0)
    assert_allclose(model.slack_, short, atol=1e-6 * model.offset_[0])


def test_a_dual_point_that_misses_its_sums_is_charged_for_what_must_move():
    # ‖h + m k‖ is at most ‖h‖ + m κ: the dual value of the point made feasible is below that of ‖h‖ alone.
    model = OneClassSVM(nu=0.3, gamma=1.0).fit(X)
    before = model.certify(X).named("relative duality gap of the share").value
    model.nu = 0.3 * (1 + 1e-4)
    after = model.certify(X).named("relative duality gap of the share").value
    moved = 1e-4 * 0.3 * len(X)
    norm, level = model.rkhs_norm_[0], model.offset_[0]
    # In units of the level: the objective falls by level · moved, the dual by ‖h‖ κ m and (κ m)² / 2.
    charged = (norm * moved + 0.5 * moved**2 - level * moved) / abs(model.primal_value_[0] - level * moved)
    assert after - before == pytest.approx(charged, rel=0.05)


def test_a_tube_whose_dual_point_misses_its_sums_is_charged_for_the_targets_too():
    # Σ ν y may fall by as much as the largest |y|, counted from the middle, for all that must move.
    model = NuSVR(nu=0.3, gamma=1.0).fit(X, Y)
    before = model.certify(X, Y).named("relative duality gap of the share").value
    model.nu = 0.3 * (1 + 1e-4)
    after = model.certify(X, Y).named("relative duality gap of the share").value
    moved, norm, level = 1e-4 * 0.3 * len(X), model.rkhs_norm_[0], model.epsilon_
    charged = norm * moved + 0.5 * moved**2 + 0.5 * np.ptp(Y) * moved + level * moved
    # The objective of the share is that of the tube and its width.
    objective = model.primal_value_[0] + level * 0.3 * len(X)
    assert after - before == pytest.approx(charged / objective, rel=0.01)
