"""Support vector classification: primal and dual, conditions, sets, paths, constraints."""

import numpy as np
import pytest
from scipy import optimize
from sklearn import svm
from sklearn.datasets import load_iris

from assay.datasets import TwoMoons
from assay.kernel_machines import SVC
from assay.kernel_machines.support_vectors import selection
from assay.kernel_machines.support_vectors.machine import solve_machine
from assay.kernels import Gaussian
from assay.kernels.tiles import squared_distances_of
from assay.linear import LinearSVC, LogisticRegression
from assay.losses import Hinge
from assay.solvers.rkhs.box import BoxOptions, solve_box, whole
from assay.solvers.rkhs.dual import BoxDual
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.problem import RKHSProblem


@pytest.fixture(scope="module")
def moons():
    X, y = TwoMoons(noise_std=0.3).sample(60, random_state=0)
    return X, np.where(y == y.max(), 1, -1)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    kept = np.sort(
        np.unique(X, axis=0, return_index=True)[1]
    )  # of equal rows the coefficients are not unique
    return X[kept], y[kept]


def dual_by_programming(K, y, C):
    """Maximiser of Σα − ½ αᵀQα over 0 ≤ α ≤ C, yᵀα = 0, by a general solver that shares nothing."""
    Q = y[:, None] * K * y
    result = optimize.minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(len(y)),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, C)] * len(y),
        constraints={"type": "eq", "fun": lambda a: y @ a, "jac": lambda a: y.astype(float)},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert result.success
    return result.x, -result.fun


@pytest.mark.spec("sangnier/M-1.4.6-a", "sangnier/M-1.4.3-a", "wei/M8.10")
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_the_dual_is_solved_and_gives_back_the_machine(moons, C):
    X, y = moons
    K = Gaussian(0.7).gram(X)
    alpha, value = dual_by_programming(K, y, C)
    model = SVC(C=C, gamma=0.7, tol=1e-10).fit(X, y)
    assert model.dual_value_[0] == pytest.approx(value, rel=1e-6)
    assert model.primal_value_[0] == pytest.approx(value, rel=1e-6)  # no gap: strong duality
    nu = np.zeros(len(y))
    nu[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(nu, y * alpha, atol=2e-4 * C)
    free = (alpha > 1e-4 * C) & (alpha < (1 - 1e-4) * C)
    b = y[free] - K[free] @ (y * alpha)
    assert np.ptp(b) < 1e-3
    assert model.intercept_[0] == pytest.approx(b.mean(), abs=1e-4)
    np.testing.assert_allclose(model.decision_function(X), K @ nu + model.intercept_[0], atol=1e-10)


@pytest.mark.spec("sangnier/M-1.4.1-a", "sangnier/T-1.4.1-a")
def test_the_primal_of_slacks_and_the_penalised_hinge_are_one_problem(moons):
    X, y = moons
    strength = 0.05  # Sangnier's λ
    C = 1 / (strength * len(y))
    model = SVC(C=C, kernel="linear", tol=1e-12).fit(X, y)

    def penalised(point):  # (P2)
        w, b = point[:2], point[2]
        return strength / 2 * w @ w + np.maximum(0, 1 - y * (X @ w + b)).mean()

    w, b = model.coef_[0], model.intercept_[0]
    least = min(
        optimize.minimize(
            penalised, np.r_[w, b] + shift, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}
        ).fun
        for shift in (0.0, 0.1, -0.1)
    )
    assert penalised(np.r_[w, b]) <= least + 1e-9
    # (P3) is λ⁻¹ times (P2), slacks at their least, max(0, 1 − y f).
    assert model.primal_value_[0] == pytest.approx(penalised(np.r_[w, b]) / strength, rel=1e-8)
    slack = np.maximum(0, 1 - y * (X @ w + b))
    np.testing.assert_allclose(model.slack_, slack, atol=1e-10)
    assert model.primal_value_[0] == pytest.approx(0.5 * w @ w + C * slack.sum(), rel=1e-10)
    assert model.loss_value_[0] == pytest.approx(C * slack.sum(), rel=1e-10)
    # The house's λ on the mean is half of it, and either may be given.
    assert model.penalty_strength_ == pytest.approx(strength / 2)
    again = SVC(penalty_strength=strength / 2, kernel="linear", tol=1e-12).fit(X, y)
    assert pytest.approx(C) == again.C_
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-6)
    assert np.array_equal(slack > 1, y * model.decision_function(X) < 0)  # beyond 1: on the wrong side


@pytest.mark.spec("sangnier/P-1.4.3")
def test_a_linear_kernel_gives_the_linear_machine(iris):
    X, y = iris[0][50:], iris[1][50:]
    machine = SVC(kernel="linear", C=0.5, tol=1e-9).fit(X, y)
    linear = LinearSVC(C=0.5, loss="hinge", intercept_scaling=None, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(machine.coef_, linear.coef_, atol=1e-4)
    np.testing.assert_allclose(machine.intercept_, linear.intercept_, atol=1e-3)


@pytest.mark.spec("sangnier/T-1.4.6-a", "wei/T8.4", "sangnier/M-1.4.6-c")
def test_every_row_is_where_its_coefficient_says(moons):
    X, y = moons
    C = 2.0
    model = SVC(C=C, gamma=0.5, tol=1e-12).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0] * y[model.support_]
    value = y * model.decision_function(X)
    assert alpha.min() >= 0
    assert alpha.max() <= C
    assert y @ alpha == pytest.approx(0, abs=1e-10)
    assert np.all(alpha[value > 1 + 1e-6] == 0)
    assert np.all(alpha[value < 1 - 1e-6] == C)
    assert np.all(value[alpha == 0] >= 1 - 1e-6)
    assert np.all(value[alpha == C] <= 1 + 1e-6)
    free = (alpha > 0) & (alpha < C)
    np.testing.assert_allclose(value[free], 1, atol=1e-5)
    assert np.abs(alpha * (value - 1 + model.slack_)).max() < 1e-5  # complementary slackness
    assert model.kkt_violations_.max() < 1e-5
    sets = model.point_sets()
    for sign, name in ((1, "+"), (-1, "-")):
        assert np.array_equal(sets["M" + name], np.flatnonzero(free & (y == sign)))
        assert np.array_equal(sets["I" + name], np.flatnonzero((alpha == C) & (y == sign)))
        assert np.array_equal(sets["O" + name], np.flatnonzero((alpha == 0) & (y == sign)))
    on_or_inside = np.concatenate([sets[name] for name in ("M+", "M-", "I+", "I-")])
    assert set(model.support_) == set(on_or_inside)  # the union, not the intersection
    norm = np.sqrt((alpha * y) @ Gaussian(0.5).gram(X) @ (alpha * y))
    assert model.rkhs_norm_[0] == pytest.approx(norm)
    assert model.margin_[0] == pytest.approx(1 / norm)


@pytest.mark.spec("sangnier/T-1.4.6-a")
def test_a_swapped_label_violates_by_its_distance_from_the_margin(moons):
    X, y = moons
    model = SVC(C=2.0, gamma=0.5).fit(X, y)
    value = y * model.decision_function(X)
    sure = int(np.argmax(value))
    swapped = y.copy()
    swapped[sure] *= -1
    assert model.certify(X, y).holds
    damaged = model.certify(X, swapped).named("KKT violation")
    assert not damaged.holds
    assert damaged.value == pytest.approx(1 + value[sure])  # outside, where only y f ≥ 1 has α = 0


@pytest.mark.spec("sangnier/T-1.4.6-a")
def test_violations_of_a_stopped_machine_are_told_row_by_row(moons):
    X, y = moons
    with pytest.warns(match="stopped after 12 steps"):
        model = SVC(C=0.5, gamma=0.5, working_set="random", random_state=0, max_iter=12).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0] * y[model.support_]
    short = 1 - y * model.decision_function(X)
    # α = 0 ⇒ y f ≥ 1, α = C ⇒ y f ≤ 1, and y f = 1 between.
    expected = np.maximum(np.where(alpha < 0.5, short, 0), np.where(alpha > 0, -short, 0)).clip(min=0)
    assert {0.0, 0.5} < set(alpha)
    assert np.sum(expected > 0.1) > 5
    np.testing.assert_allclose(model.kkt_violations_, expected, atol=1e-9)
    assert not model.certificates_.named("KKT violation").holds


@pytest.mark.spec("sangnier/M-1.4.6-a", "sangnier/T-1.4.6-a")
def test_without_a_row_on_the_margin_the_intercept_is_the_middle_of_an_interval():
    X, y = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([-1, -1, 1, 1])
    model = SVC(kernel="linear", C=0.05).fit(X, y)
    assert np.all(model.point_sets_ == 2)  # all at the bound: w = 2 · 2 · 0.05 = 0.2
    np.testing.assert_allclose(model.coef_, [[0.2]])
    # Any b with y(0.2 y + b) ≤ 1 is as good: |b| ≤ 0.8.
    np.testing.assert_allclose(model.intercept_interval_, [[-0.8, 0.8]], atol=1e-12)
    assert model.intercept_[0] == pytest.approx(0, abs=1e-12)

    def objective(b):
        return 0.5 * 0.04 + 0.05 * np.maximum(0, 1 - y * (0.2 * X[:, 0] + b)).sum()

    assert objective(0.79) == pytest.approx(model.primal_value_[0])
    assert objective(0.81) > model.primal_value_[0] + 1e-4


@pytest.mark.spec("sangnier/M-1.4.6-b")
@pytest.mark.parametrize("rule", ["random", "max_violating_pair", "second_order"])
def test_steps_of_pairs_raise_the_dual_to_its_maximum(moons, rule):
    X, y = moons
    model = SVC(C=1.0, gamma=0.5, working_set=rule, history=True, tol=1e-8, random_state=0).fit(X, y)
    (trace,) = model.history_
    assert trace[0] == 0  # α = 0
    assert np.all(np.diff(trace) >= -1e-12)
    _, value = dual_by_programming(Gaussian(0.5).gram(X), y, 1.0)
    assert trace[-1] == pytest.approx(value, rel=1e-6)
    assert model.converged_


@pytest.mark.spec("sangnier/M-1.4.6-b")
def test_one_step_solves_the_dual_in_two_variables(moons):
    X, y = moons[0][:20], moons[1][:20]
    K = Gaussian(0.5).gram(X)
    with pytest.warns(match="stopped after 1 steps with a relative duality gap"):
        one = SVC(C=1.0, gamma=0.5, working_set="max_violating_pair", max_iter=1).fit(X, y)
    alpha = np.zeros(20)
    alpha[one.support_] = one.dual_coef_[0] * y[one.support_]
    i, j = one.support_
    Q = y[:, None] * K * y
    assert y[i] != y[j]

    def value(size):  # along the segment where y_i α_i + y_j α_j stays 0
        a = np.zeros(20)
        a[[i, j]] = size
        return a.sum() - 0.5 * a @ Q @ a

    best = optimize.minimize_scalar(
        lambda size: -value(size), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
    )
    np.testing.assert_allclose(alpha[[i, j]], best.x, atol=1e-6)


@pytest.mark.spec("sangnier/P-1.4.6")
def test_more_cost_gives_fewer_support_vectors_and_folds_choose_it(moons):
    X, y = moons
    path = SVC(gamma=0.5).path(X, y, [0.01, 1.0, 100.0])
    assert np.all(np.diff(path.n_support) < 0)
    assert np.all(np.diff(path.rkhs_norm[:, 0]) > 0)
    assert np.all(np.diff(path.loss[:, 0]) < 0)
    for model in path.models:  # started from the one before, each is what it would be alone
        alone = SVC(gamma=0.5, C=model.C).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=2e-3)
    chosen = SVC().select(X, y, Cs=[0.01, 1.0, 100.0], gammas=[0.05, 0.5, 50.0], cv=4, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    parts = np.array_split(order, 4)
    errors = []
    for gamma in (0.05, 0.5, 50.0):
        for C in (0.01, 1.0, 100.0):
            wrong = []
            for part in parts:
                train = np.setdiff1d(order, part)
                fit = svm.SVC(random_state=0, C=C * len(y) / len(train), gamma=gamma, tol=1e-6).fit(
                    X[train], y[train]
                )
                wrong.append(np.mean(fit.predict(X[part]) != y[part]))
            errors.append(np.mean(wrong))
    np.testing.assert_allclose(chosen.curve, errors, atol=1e-9)
    assert errors[chosen.index] == min(errors)
    assert chosen.best["C"] == chosen.model.C


def test_the_rule_of_one_standard_error_takes_the_least_cost_that_errs_as_little():
    X, y = TwoMoons(noise_std=0.4).sample(120, random_state=0)
    costs, options = [0.3, 1.0, 3.0, 10.0], {"gammas": [1.0], "cv": 5, "random_state": 0}
    least = SVC().select(X, y, Cs=costs, **options)
    modest = SVC().select(X, y, Cs=costs, rule="one_se", **options)
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 5)
    wrong = np.empty((5, 4))
    for fold, part in enumerate(parts):
        train = np.setdiff1d(np.arange(len(y)), part)
        for place, C in enumerate(costs):
            machine = svm.SVC(random_state=0, C=C * len(y) / len(train), gamma=1.0, tol=1e-6)
            wrong[fold, place] = np.mean(machine.fit(X[train], y[train]).predict(X[part]) != y[part])
    best = int(np.argmin(wrong.mean(axis=0)))
    excess = wrong - wrong[:, [best]]
    within = excess.mean(axis=0) <= excess.std(axis=0, ddof=1) / np.sqrt(5)
    first = next(place for place in range(best, -1, -1) if place == 0 or not within[place - 1])
    assert first < best
    assert least.best["C"] == costs[best]
    assert modest.best["C"] == modest.model.C == costs[first]


@pytest.mark.spec("sangnier/M-1.4.7-a", "sangnier/T-1.4.7-a", "wei/M8.11")
@pytest.mark.parametrize("intercept", [True, False])
def test_ball_budget_and_penalty_are_three_names_of_one_machine(moons, intercept):
    X, y = moons
    options = {"gamma": 0.5, "fit_intercept": intercept}
    penalised = SVC(C=0.7, tol=1e-12, **options).fit(X, y)
    ball = SVC(radius=float(penalised.rkhs_norm_[0]), **options).fit(X, y)
    budget = SVC(budget=float(penalised.slack_.sum()), **options).fit(X, y)
    for model in (ball, budget):
        assert pytest.approx(0.7, rel=1e-3) == model.C_
        np.testing.assert_allclose(model.decision_function(X), penalised.decision_function(X), atol=1e-4)
        assert model.certify(X, y).holds
    assert ball.rkhs_norm_[0] == pytest.approx(penalised.rkhs_norm_[0], rel=1e-5)
    # A general solver over ‖h‖ ≤ c and b, with the slacks as variables, has the same mean loss.
    n, c = len(y), penalised.rkhs_norm_[0]
    values, vectors = np.linalg.eigh(Gaussian(0.5).gram(X))
    root = vectors * np.sqrt(values.clip(min=0))
    rows = np.column_stack([y[:, None] * root, y * intercept, np.eye(n)])
    mean = np.r_[np.zeros(n + 1), np.full(n, 1 / n)]
    result = optimize.minimize(
        lambda p: mean @ p,
        np.r_[np.zeros(n + 1), np.ones(n)],
        jac=lambda p: mean,
        bounds=[(None, None)] * (n + 1) + [(0, None)] * n,
        constraints=[
            {"type": "ineq", "fun": lambda p: rows @ p - 1, "jac": lambda p: rows},
            {
                "type": "ineq",
                "fun": lambda p: c**2 - p[:n] @ p[:n],
                "jac": lambda p: np.r_[-2 * p[:n], np.zeros(n + 1)],
            },
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert result.success
    mine = np.maximum(0, 1 - y * ball.decision_function(X)).mean()
    assert mine == pytest.approx(result.fun, rel=1e-4)


@pytest.mark.spec("sangnier/X21-1.1")
def test_hinge_gives_few_support_vectors_where_logistic_has_all_rows(moons):
    X, y = moons
    model = SVC(kernel="linear", C=1.0, tol=1e-9).fit(X, y)
    w = model.coef_[0]
    assert model.primal_value_[0] == pytest.approx(
        0.5 * w @ w + np.maximum(0, 1 - y * (X @ w + model.intercept_)).sum()
    )
    assert model.margin_[0] == pytest.approx(1 / np.linalg.norm(w))
    assert len(model.support_) < len(y) / 2
    logistic = LogisticRegression(C=1.0).fit(X, y)
    slopes = 1 / (1 + np.exp(y * logistic.decision_function(X)))  # the dual point of logistic regression
    assert np.all(slopes > 0)
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("options", [{}, {"decision_function_shape": "ovo"}, {"break_ties": True}])
def test_several_classes_are_laid_out_and_voted_as_in_scikit_learn(iris, options):
    X, y = iris
    model = SVC(C=3.0, tol=1e-9, **options).fit(X, y)
    other = svm.SVC(random_state=0, C=3.0, tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-4)
    assert np.array_equal(model.predict(X), other.predict(X))
    assert np.array_equal(model.support_, other.support_)
    assert np.array_equal(model.n_support_, other.n_support_)
    np.testing.assert_allclose(model.dual_coef_, other.dual_coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-4)
    np.testing.assert_allclose(model.support_vectors_, other.support_vectors_)


def test_each_class_against_the_rest_takes_the_largest_value(iris):
    X, y = iris
    model = SVC(multi_class="ovr", tol=1e-9).fit(X, y)
    values = np.column_stack(
        [SVC(tol=1e-9, gamma=model.kernel_.gamma).fit(X, y == k).decision_function(X) for k in range(3)]
    )
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-4)
    assert np.array_equal(model.predict(X), values.argmax(axis=1))
    assert model.certify(X, y).holds


def test_the_most_probable_class_is_the_one_predicted(iris):
    X, y = iris
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(len(y)) < 0.2, rng.integers(0, 3, len(y)), y)
    for target in (noisy, noisy == 1):
        model = SVC(probability=True).fit(X, target)
        chances = model.predict_proba(X)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    model.inverse_temperature_ *= 1.01
    assert not model.certify(X, target).holds


def test_squares_of_slacks_are_minimised_too(moons):
    X, y = moons
    K = Gaussian(0.5).gram(X)
    model = SVC(loss="squared_hinge", C=1.5, gamma=0.5, fit_intercept=False, tol=1e-12).fit(X, y)

    def objective(a):
        f = K @ a
        return 0.5 * a @ f + 1.5 * (np.maximum(0, 1 - y * f) ** 2).sum()

    def slope(a):
        f = K @ a
        return K @ (a - 3.0 * y * np.maximum(0, 1 - y * f))

    least = optimize.minimize(
        objective, np.zeros(len(y)), jac=slope, method="BFGS", options={"gtol": 1e-10}
    ).fun
    assert model.primal_value_[0] == pytest.approx(least, rel=1e-6)
    assert model.certify(X, y).holds


def test_working_sets_and_free_rows_give_the_machine_of_the_whole_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=1300) > 0, 1, -1)
    for C in (1.0, 300.0):
        large = SVC(C=C, gamma=0.3, kernel=Gaussian(0.3)).fit(X, y)
        other = svm.SVC(random_state=0, C=C, gamma=0.3, tol=1e-5, cache_size=500).fit(X, y)
        assert large.certificates_.holds
        np.testing.assert_allclose(
            large.decision_function(X[:200]), other.decision_function(X[:200]), atol=1e-2
        )
        # Blocks of kernel rows, each in single precision and few at a time, change nothing that is certified.
        from assay.kernel_machines.support_vectors import base

        kept, base.SHARED_GRAM = base.SHARED_GRAM, 100
        try:
            blocks = SVC(C=C, gamma=0.3, kernel=Gaussian(0.3), cache_size=1).fit(X, y)
            again = blocks.certify(X, y)
        finally:
            base.SHARED_GRAM = kept
        assert again.holds
        assert blocks.dual_value_[0] == pytest.approx(large.dual_value_[0], rel=3e-6)


def test_steps_that_round_the_gradient_are_not_believed():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    y = np.where(X @ rng.normal(size=2) + rng.normal(size=200) > 0, 1.0, -1.0)
    # A hundred thousand steps creep along a matrix of rank 2: their gradient ends further off than the gap.
    model = SVC(kernel="linear", C=1e4).fit(X, y)
    assert model.converged_
    assert model.dual_gap_ <= 1.01e-6
    problem = RKHSProblem(Hinge(), y, np.ones(200), True)
    gram = Gaussian(1.0).gram(X)
    dual = BoxDual(problem, np.zeros(200), y + 0.1 * rng.normal(size=200))
    _, converged, _, products = whole(dual, GramLines(gram), BoxOptions())
    np.testing.assert_allclose(dual.gradient, y - gram @ dual.nu, atol=1e-10)
    np.testing.assert_allclose(products[:, 0] - products[:, 1], gram @ dual.nu, atol=1e-10)
    assert converged
    assert dual.value == pytest.approx(solve_box(problem, Gaussian(1.0), X, BoxOptions()).trace[-1], rel=1e-6)


def test_a_solver_that_says_it_converged_is_not_believed(moons, monkeypatch):
    def solve(self, data, options, start):
        solution = solve_machine(self.kernel_, data, options, start)
        return solution._replace(coef=0.99 * solution.coef, products=0.99 * solution.products)

    monkeypatch.setattr(SVC, "_solve_one", solve)
    with pytest.warns(match="relative duality gap"):
        model = SVC(C=2.0).fit(*moons)
    assert not model.converged_
    assert not model.certificates_.holds


def test_widths_share_squared_distances(moons, monkeypatch):
    X, y = moons
    found = []

    def counted(rows):
        found.append(len(rows))
        return squared_distances_of(rows)

    monkeypatch.setattr(selection, "squared_distances_of", counted)
    options = {"Cs": [0.1, 10.0], "random_state": 0}
    chosen = SVC().select(X, y, gammas=[0.05, 0.5, 5.0], **options)
    assert found == [len(y)]
    alone = [SVC().select(X, y, gammas=[gamma], **options).curve for gamma in (0.05, 0.5, 5.0)]
    np.testing.assert_array_equal(chosen.curve, np.concatenate(alone))
    assert len(found) == 4
