"""Linear support vector machines: objectives, scales, the intercept, certificates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from assay.linear import LinearSVC, LinearSVR


@pytest.fixture
def two(rng):
    X = rng.standard_normal((200, 3)) + [0.0, 1.0, 0.0]
    return X, np.where(X @ [1.0, -1.0, 0.5] + 0.7 * rng.standard_normal(200) > -1, "yes", "no")


@pytest.fixture
def line(rng):
    X = rng.standard_normal((120, 3))
    return X, X @ [1.0, -2.0, 0.0] + 3 + 0.3 * rng.standard_t(3, 120)


@pytest.mark.spec("rudi/M2.6")
@pytest.mark.parametrize("penalty_strength", [0.001, 0.1])
def test_hinge_classifier_solves_the_quadratic_program_of_the_course(two, penalty_strength):
    X, y = two
    t, n = np.where(y == "yes", 1.0, -1.0), len(y)
    model = LinearSVC(loss="hinge", penalty_strength=penalty_strength).fit(X, y)

    def risk(coef, intercept):
        return np.mean(np.maximum(0, 1 - t * (X @ coef + intercept))) + penalty_strength * coef @ coef

    # Slack variables: minimise λ‖w‖² + mean ξ subject to ξ ≥ 0 and t f ≥ 1 − ξ, by a general solver.
    start = np.concatenate([np.zeros(4), np.ones(n)])
    found = optimize.minimize(
        lambda z: penalty_strength * z[:3] @ z[:3] + z[4:].mean(),
        start,
        jac=lambda z: np.concatenate([2 * penalty_strength * z[:3], [0.0], np.full(n, 1 / n)]),
        constraints={
            "type": "ineq",
            "fun": lambda z: t * (X @ z[:3] + z[3]) - 1 + z[4:],
            "jac": lambda z: np.hstack([t[:, None] * X, t[:, None], np.eye(n)]),
        },
        bounds=[(None, None)] * 4 + [(0, None)] * n,
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-12},
    )
    ours = risk(model.coef_[0], model.intercept_[0])
    assert ours <= risk(found.x[:3], found.x[3]) + 1e-9
    assert ours == pytest.approx(found.fun, abs=1e-5)
    assert pytest.approx(1 / (2 * penalty_strength * n)) == model.C_
    assert model.penalty_strength_ == pytest.approx(penalty_strength)
    assert_allclose(model.dual_coef_[0] @ X, model.coef_[0], atol=1e-9)
    assert abs(model.dual_coef_.sum()) < 1e-9
    assert model.dual_gap_ < 1e-9


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["newton", "dual_coordinate"])
def test_a_penalised_intercept_gives_liblinears_coefficients(two, loss, solver):
    X, y = two
    ours = LinearSVC(0.5, loss=loss, intercept_scaling=2.0, solver=solver, random_state=0).fit(X, y)
    theirs = svm.LinearSVC(
        C=0.5, loss=loss, intercept_scaling=2.0, tol=1e-9, max_iter=1_000_000, random_state=0
    ).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)
    assert ours.certificates_.holds


def test_a_free_intercept_gives_the_kernel_machines_coefficients(two):
    X, y = two
    ours = LinearSVC(0.5, loss="hinge").fit(X, y)
    theirs = svm.SVC(C=0.5, kernel="linear", tol=1e-8, random_state=0).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert_allclose(ours.n_support_, theirs.n_support_, atol=2)


@pytest.mark.spec("sangnier/T-1.2.1-c")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_training_error_is_below_the_mean_loss_of_the_fit(two, loss):
    X, y = two
    model = LinearSVC(0.01, loss=loss, class_weight={"yes": 3.0}).fit(X, y)
    found = model.certificates_.named("training error")
    t = np.where(y == "yes", 1.0, -1.0)
    weight = np.where(y == "yes", 3.0, 1.0)
    margin = t * model.decision_function(X)
    hinge = np.maximum(0, 1 - margin) ** (1 if loss == "hinge" else 2)
    assert found.value == pytest.approx(np.average(margin <= 0, weights=weight))
    assert found.bound == pytest.approx(np.average(hinge, weights=weight))
    assert found.holds


def test_several_classes_are_one_against_the_rest(rng):
    X = np.vstack([rng.standard_normal((40, 2)) + center for center in ([3, 0], [-3, 0], [0, 4])])
    y = np.repeat(["a", "b", "c"], 40)
    model = LinearSVC(loss="hinge").fit(X, y)
    for k, label in enumerate("abc"):
        alone = LinearSVC(loss="hinge").fit(X, np.where(y == label, 1, 0))
        assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-8)
    assert model.score(X, y) > 0.95
    assert model.n_support_.shape == (3, 2)
    assert model.certify(X, y).holds


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("solver", ["newton", "dual_coordinate"])
def test_regression_gives_liblinears_coefficients(line, loss, solver):
    X, y = line
    ours = LinearSVR(0.2, C=0.5, loss=loss, intercept_scaling=1.0, solver=solver, random_state=0).fit(X, y)
    theirs = svm.LinearSVR(epsilon=0.2, C=0.5, loss=loss, tol=1e-8, max_iter=1_000_000, random_state=0).fit(
        X, y
    )
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], abs=1e-3)
    assert ours.certificates_.holds


@pytest.mark.shuffles_globally
def test_regression_with_a_free_intercept_gives_the_kernel_machines_coefficients(line):
    X, y = line
    ours = LinearSVR(0.2, C=0.5).fit(X, y)
    theirs = svm.SVR(epsilon=0.2, C=0.5, kernel="linear", tol=1e-8).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_[0], atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], abs=1e-5)


def test_balanced_classes_weigh_the_same(two):
    X, y = two
    counts = {label: np.mean(y == label) for label in ("no", "yes")}
    by_hand = LinearSVC(class_weight={label: 0.5 / share for label, share in counts.items()}).fit(X, y)
    assert_allclose(LinearSVC(class_weight="balanced").fit(X, y).coef_, by_hand.coef_, atol=1e-10)


def test_sparse_rows_give_the_result_of_dense_ones(two):
    X, y = two
    X = X * (np.abs(X) > 0.5)
    for loss in ("hinge", "squared_hinge"):
        dense, csr = (LinearSVC(loss=loss).fit(table, y) for table in (X, sparse.csr_array(X)))
        assert_allclose(csr.coef_, dense.coef_, atol=1e-8)


def test_a_stopped_solver_says_so_and_its_certificate_fails(two):
    X, y = two
    with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
        model = LinearSVC(100.0, loss="hinge", max_iter=2).fit(X, y)
    assert not model.converged_
    assert not model.certificates_.holds


def test_bad_input_is_refused_in_one_sentence(two):
    X, y = two
    with pytest.raises(ValueError, match="needs rows of at least two classes"):
        LinearSVC().fit(X, np.zeros(200))
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        LinearSVC().fit(X, np.where(np.arange(200) == 3, np.inf, np.arange(200) % 2))
    with pytest.raises(ValueError, match="'C' parameter of LinearSVC must be a finite number above 0"):
        LinearSVC(0.0).fit(X, y)
    with pytest.raises(ValueError, match="All sample weights are zero"):
        LinearSVC().fit(X, y, sample_weight=np.zeros(200))
    with pytest.raises(ValueError, match="one-dimensional with 200 entries"):
        LinearSVC().fit(X, y, sample_weight=np.ones(199))
    model = LinearSVC(loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="needs the 200 rows of the fit"):
        model.certify(X[:50], y[:50])
    with pytest.raises(ValueError, match="predicts one number"):
        LinearSVR().fit(X, X[:, :2])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("unit", [1e-100, 1e12, 1e15, 1e20, 1e100])
def test_columns_of_any_size_give_a_plane_that_is_certified(unit, loss, rng):
    X = rng.standard_normal((50, 3))
    y = X[:, 0] + 0.3 * rng.standard_normal(50) > 0
    model = LinearSVC(loss=loss, max_iter=200).fit(unit * X, y)
    assert np.isfinite(model.coef_).all()
    assert model.certify(unit * X, y).holds
    if unit > 1:  # there the penalty no longer counts, and the size of the columns neither
        assert_allclose(model.predict(unit * X), LinearSVC(1e12, loss=loss).fit(X, y).predict(X))
        model.coef_ = 1.01 * model.coef_
        assert not model.certify(unit * X, y).holds


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_columns_whose_squares_leave_floating_point_are_refused_in_a_sentence(loss, rng):
    X = rng.standard_normal((20, 3))
    for unit, size in ((1e160, "large"), (1e308, "large"), (1e-160, "small"), (1e-200, "small")):
        table = X / np.abs(X).max() * [1.0, unit, 1.0]
        with pytest.raises(ValueError, match=f"squares of column 1 of X are too {size}"):
            LinearSVC(loss=loss).fit(table, X[:, 0] > 0)
        if unit > 1:
            with pytest.raises(ValueError, match="squares of row 0 of X are too large"):
                LinearSVC(loss=loss, solver="dual_coordinate").fit(table, X[:, 0] > 0)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("epsilon_insensitive", "newton"),
        ("squared_epsilon_insensitive", "newton"),
        ("squared_epsilon_insensitive", "dual_coordinate"),
    ],
)
def test_a_target_too_large_for_its_loss_is_refused_in_a_sentence(loss, solver, rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match=r"too large for floating point|floating point does not hold"):
        LinearSVR(loss=loss, solver=solver, max_iter=20).fit(X, 1e307 * X[:, 0] / np.abs(X).max())


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 100.0])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_regression_on_rows_inside_the_tube_raises_no_false_alarm(loss, epsilon, C, rng):
    X = rng.standard_normal((60, 3))
    for y in (np.full(60, 0.1), np.zeros(60), X @ [1.0, 2.0, 3.0] + 1, rng.standard_normal(60)):
        model = LinearSVR(epsilon, C=C, loss=loss).fit(X, y)
        assert model.converged_
        assert model.certificates_.holds
        assert np.isfinite(model.coef_).all()


def perturbed(model, X, y):
    """Whether the certificates see a coefficient, and the intercept, that is one per cent off."""
    seen = []
    for name in ("coef_", "intercept_"):
        kept = getattr(model, name)
        setattr(model, name, np.asarray(kept * np.asarray(1.01, dtype=np.asarray(kept).dtype)))
        seen.append(not model.certify(X, y).holds)
        setattr(model, name, kept)
    return seen


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_coefficients_rounded_to_single_precision_raise_no_false_alarm(loss, epsilon, C, offset):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        plain = rng.standard_normal((60, 3))
        X = (plain + offset).astype(np.float32)
        for noise in (0.0, 0.3):
            y = (plain @ [1.0, 2.0, 3.0] + 1 + noise * rng.standard_normal(60)).astype(np.float32)
            model = LinearSVR(epsilon, C=C, loss=loss).fit(X, y)
            assert model.coef_.dtype == np.float32
            assert model.certificates_.holds, str(model.certificates_)
            assert model.certify(X, y).holds
            if epsilon == 0 or noise > 0:  # else the tube holds all rows, and those of a plane beside it
                assert all(perturbed(model, X, y))


@pytest.mark.parametrize("C", [1e6, 1e8])
def test_a_tube_that_nearly_holds_all_rows_is_solved_to_its_minimum(C):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, 2.0, 3.0] + 1
    model, slow = (
        LinearSVR(0.1, C=C, loss="squared_epsilon_insensitive", solver=solver, max_iter=10**6, random_state=0)
        for solver in ("newton", "dual_coordinate")
    )
    assert_allclose(model.fit(X, y).coef_, slow.fit(X, y).coef_, rtol=1e-5)
    assert model.converged_
    assert model.certificates_.holds


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "options",
    [{}, {"intercept_scaling": 1.0}, {"fit_intercept": False}, {"C": 1e6}, {"C": 1e-6}],
    ids=repr,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_whose_rows_weigh_nothing_raises_no_false_alarm(loss, dtype, options, n_classes):
    y = np.arange(60) % n_classes
    for seed, offset in ((0, 0.0), (1, 100.0), (4, 100.0), (5, 100.0)):
        rng = np.random.default_rng(seed)
        X = (rng.normal(size=(60, 3)) + (y == 1)[:, None] + offset).astype(dtype)
        for absent in range(n_classes):
            weight = (y != absent).astype(float)
            model = LinearSVC(loss=loss, **options).fit(X, y, sample_weight=weight)
            assert model.converged_
            assert model.certificates_.holds, str(model.certificates_)
            assert model.certify(X, y, weight).holds


def test_a_penalised_intercept_of_one_class_is_that_of_liblinear():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    weight = (y == 1).astype(float)
    model = LinearSVC(loss="hinge", intercept_scaling=1.0).fit(X, y, sample_weight=weight)
    theirs = svm.LinearSVC(loss="hinge", tol=1e-10, max_iter=10**6, random_state=0)
    theirs.fit(X, y, sample_weight=weight)
    assert_allclose(model.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(model.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("tol", [1e-16, 1e-17, 1e-300])
def test_a_tolerance_below_rounding_ends_where_the_numbers_do(two, line, tol):
    for model, table in ((LinearSVC(loss="hinge", tol=tol), two), (LinearSVR(0.1, tol=tol), line)):
        model.fit(*table)
        assert np.isfinite(model.coef_).all()
        assert model.certificates_.holds
        assert model.n_iter_ < 100


def test_the_bound_on_the_training_error_is_no_certificate_of_the_fit(rng):
    X = rng.standard_normal((50, 2))
    model = LinearSVC().fit(X, X[:, 0] > 0)
    assert model.certificates_.named("training error").informative
    assert len(model.certificates_.decisive) == len(model.certificates_) - 1
