"""Support vector and quantile regression, and the classifier of the largest margin."""

import numpy as np
import pytest
from scipy import optimize
from sklearn import svm
from sklearn.model_selection import KFold

from assay.display import ErrorSurfaceDisplay
from assay.kernel_machines import SVC, SVR, HardMarginSVC, KernelQuantileRegressor
from assay.kernels import Gaussian


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 6, 50))[:, None]
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_t(2, 50)


def quadratic_programme(H, linear, bounds, total=None, joint=None):
    """Minimiser of ½ aᵀHa + linearᵀa in a box, with a sum zero and sums of pairs bounded where asked."""
    constraints = []
    if total is not None:
        constraints.append({"type": "eq", "fun": lambda a: total @ a, "jac": lambda a: total})
    if joint is not None:
        pairs, most = joint
        constraints.append({"type": "ineq", "fun": lambda a: most - pairs @ a, "jac": lambda a: -pairs})
    result = optimize.minimize(
        lambda a: 0.5 * a @ H @ a + linear @ a,
        np.zeros(len(linear)),
        jac=lambda a: H @ a + linear,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-11},
    )
    assert result.success
    return result.x, result.fun


@pytest.mark.spec("sangnier/M-1.5.3-a", "sangnier/T-1.5.3-b")
@pytest.mark.parametrize("dual", ["box", "joint"])
def test_both_duals_of_the_tube_have_the_value_and_the_function_of_the_machine(waves, dual):
    X, y = waves
    n, C, epsilon = len(y), 1.5, 0.2
    K = Gaussian(0.8).gram(X)
    model = SVR(C=C, epsilon=epsilon, gamma=0.8, dual=dual, tol=1e-12).fit(X, y)
    H = np.block([[K, -K], [-K, K]])
    linear = np.concatenate([epsilon - y, epsilon + y])
    bounds = [(0, C if dual == "box" else None)] * (2 * n)
    joint = (np.hstack([np.eye(n), np.eye(n)]), C) if dual == "joint" else None
    a, least = quadratic_programme(H, linear, bounds, np.repeat([1.0, -1.0], n), joint)
    assert model.dual_value_[0] == pytest.approx(-least, rel=1e-6)
    assert model.primal_value_[0] == pytest.approx(-least, rel=1e-6)
    nu = np.zeros(n)
    nu[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(nu, a[:n] - a[n:], atol=2e-3)
    assert np.abs(a[:n] * a[n:]).max() < 1e-6  # no row is above and below the tube
    fitted = model.predict(X)
    residual = y - fitted
    np.testing.assert_allclose(fitted, K @ nu + model.intercept_[0], atol=1e-12)
    slack = np.maximum(0, np.abs(residual) - epsilon)
    np.testing.assert_allclose(model.slack_, slack, atol=1e-9)
    assert model.primal_value_[0] == pytest.approx(0.5 * nu @ K @ nu + C * slack.sum())
    # b from either edge of the tube; strictly inside it there is no support vector.
    upper, lower = (nu > 1e-6) & (nu < C - 1e-6), (nu < -1e-6) & (nu > -C + 1e-6)
    np.testing.assert_allclose((y - K @ nu - epsilon)[upper], model.intercept_[0], atol=1e-5)
    np.testing.assert_allclose((y - K @ nu + epsilon)[lower], model.intercept_[0], atol=1e-5)
    assert upper.any()
    assert lower.any()
    assert np.all(nu[np.abs(residual) < epsilon - 1e-6] == 0)
    assert 0 < len(model.support_) < n


@pytest.mark.spec("sangnier/M-1.5.3-a")
def test_the_constrained_form_is_the_penalised_one_at_its_radius(waves):
    X, y = waves
    penalised = SVR(C=0.8, epsilon=0.1, gamma=0.8, tol=1e-12).fit(X, y)
    ball = SVR(radius=float(penalised.rkhs_norm_[0]), epsilon=0.1, gamma=0.8).fit(X, y)
    assert pytest.approx(0.8, rel=1e-3) == ball.C_
    np.testing.assert_allclose(ball.predict(X), penalised.predict(X), atol=1e-4)
    # Sangnier's λ on the mean: C = 1/(λn).
    strength = 1 / (0.8 * len(y))
    given = SVR(penalty_strength=strength / 2, epsilon=0.1, gamma=0.8).fit(X, y)
    assert pytest.approx(0.8) == given.C_


@pytest.mark.spec("sangnier/T-1.5.3-d")
def test_the_oracle_bound_is_that_of_a_ball_without_intercept(waves):
    X, y = waves
    model = SVR(radius=1.5, epsilon=0.1, gamma=0.8, fit_intercept=False).fit(X, y)
    n, c, largest, delta = len(y), 1.5, 10.0, 0.1
    value = 8 * c / np.sqrt(n) + 8 * largest * np.sqrt(2 * np.log(2) / n)
    value += 2 * (largest + c) * np.sqrt(np.log(1 / delta) / (2 * n))
    bound = model.oracle_bound(X, y, largest_target=largest, delta=delta)
    assert bound.value == pytest.approx(value)
    median = SVR(radius=1.5, epsilon=0.0, gamma=0.8, fit_intercept=False).fit(X, y)
    assert median.oracle_bound(X, y, largest_target=largest, delta=delta).value == pytest.approx(value)
    for refused in (SVR(fit_intercept=False), SVR(radius=1.0)):
        with pytest.raises(ValueError, match="a ball that was fixed before the data"):
            refused.fit(X, y).oracle_bound(X, y, largest_target=largest)
    with pytest.raises(ValueError, match="at least every"):
        model.oracle_bound(X, y, largest_target=0.1)
    # What the bound speaks of, on a law: the excess risk over the best function of the ball.
    rng = np.random.default_rng(1)
    X_new = rng.uniform(0, 6, 4000)[:, None]
    y_new = np.sin(X_new[:, 0])
    risk = np.maximum(0, np.abs(y_new - model.predict(X_new)) - 0.1).mean()
    assert risk <= bound.value


@pytest.mark.spec("sangnier/M-1.5.2-a")
def test_a_tube_of_no_width_is_median_regression(waves):
    X, y = waves
    K = Gaussian(0.8).gram(X)
    C, n = 1.5, len(y)
    nu, least = quadratic_programme(K, -y, [(-C, C)] * n, np.ones(n))
    model = SVR(C=C, epsilon=0.0, gamma=0.8, tol=1e-10).fit(X, y)
    assert model.dual_value_[0] == pytest.approx(-least, rel=1e-6)
    # The loss of the median is half of the absolute error.
    median = KernelQuantileRegressor(C=2 * C, gamma=0.8, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(median.predict(X), model.predict(X), atol=1e-3)
    np.testing.assert_allclose(median.predict(X), K @ nu + median.intercept_[0], atol=5e-3)
    outlier = y.copy()
    above = np.argmax(y - median.predict(X))
    outlier[above] += 1000.0  # a row above the curve may go as far up as it likes
    moved = KernelQuantileRegressor(C=2 * C, gamma=0.8, tol=1e-10).fit(X, outlier)
    np.testing.assert_allclose(moved.predict(X), median.predict(X), atol=1e-3)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_a_quantile_has_its_share_of_rows_below(waves, level):
    X, y = waves
    model = KernelQuantileRegressor(quantile=level, gamma=0.8, tol=1e-12).fit(X, y)
    fitted = model.predict(X)
    assert np.mean(y < fitted - 1e-4) <= level + 1e-12
    assert np.mean(y > fitted + 1e-4) <= 1 - level + 1e-12
    K, n = Gaussian(0.8).gram(X), len(y)
    _, least = quadratic_programme(K, -y, [(level - 1, level)] * n, np.ones(n))
    assert model.dual_value_[0] == pytest.approx(-least, rel=1e-5)


@pytest.fixture
def untouched_random_state():
    """libsvm draws a seed from the global state, which no test may move."""
    state = np.random.get_state()
    yield
    np.random.set_state(state)


@pytest.mark.usefixtures("untouched_random_state")
def test_regression_agrees_with_libsvm(waves):
    X, y = waves
    for options in ({"C": 1.0, "epsilon": 0.1}, {"C": 20.0, "epsilon": 0.3}, {"kernel": "linear", "C": 2.0}):
        ours, theirs = SVR(tol=1e-9, **options).fit(X, y), svm.SVR(tol=1e-8, **options).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
        assert np.array_equal(ours.support_, theirs.support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)


@pytest.mark.spec("sangnier/M-1.4.1-b", "sangnier/T-1.4.1-c", "wei/M8.9", "wei/E8.3")
def test_the_largest_margin_is_found_where_the_classes_are_apart():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(25, 2)) + 2.2, rng.normal(size=(25, 2)) - 2.2])
    y = np.repeat([1, -1], 25)
    model = HardMarginSVC(kernel="linear", tol=1e-12).fit(X, y)
    result = optimize.minimize(  # the primal, by a general solver
        lambda p: 0.5 * p[:2] @ p[:2],
        np.array([1.0, 1.0, 0.0]),
        jac=lambda p: np.r_[p[:2], 0.0],
        constraints={"type": "ineq", "fun": lambda p: y * (X @ p[:2] + p[2]) - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    w, b = model.coef_[0], model.intercept_[0]
    np.testing.assert_allclose(w, result.x[:2], atol=1e-5)
    assert b == pytest.approx(result.x[2], abs=1e-5)
    distances = np.abs(X @ w + b) / np.linalg.norm(w)
    assert model.margin_[0] == pytest.approx(distances.min())
    assert model.margin_[0] == pytest.approx(1 / np.linalg.norm(w))
    assert np.all(y * (X @ w + b) >= 1 - 1e-6)
    # w = Σ α y x over the rows on the margin; b is the mean of y − wᵀx over them.
    on = model.support_
    np.testing.assert_allclose(distances[on], model.margin_[0], rtol=1e-5)
    np.testing.assert_allclose(model.dual_coef_[0] @ X[on], w, atol=1e-9)
    assert b == pytest.approx(np.mean(y[on] - X[on] @ w), abs=1e-6)
    # No separating hyperplane has a larger margin (P5).
    separating = 0
    for _ in range(3000):
        direction = w / np.linalg.norm(w) + 0.4 * rng.normal(size=2)
        high, low = (X[y > 0] @ direction).min(), (X[y < 0] @ direction).max()
        if high > low:
            separating += 1
            middle = -(high + low) / 2
            assert np.abs(X @ direction + middle).min() / np.linalg.norm(direction) <= model.margin_[0] + 1e-9
    assert separating > 100
    # It is the limit of the machine with slacks.
    soft = SVC(kernel="linear", C=1e6, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(soft.coef_[0], w, atol=1e-4)
    model.dual_coef_ = model.dual_coef_ * 0.99
    assert not model.certify(X, y).holds


@pytest.mark.spec("sangnier/M-1.4.1-b", "wei/M8.9")
def test_classes_that_no_hyperplane_separates_are_refused_with_the_distance_of_their_hulls():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([1, -1], 20)
    # A linear programme says that there is no hyperplane.
    rows = -(y[:, None] * np.column_stack([X, np.ones(40)]))
    none = optimize.linprog(np.zeros(3), A_ub=rows, b_ub=-np.ones(40), bounds=[(None, None)] * 3)
    assert none.status == 2
    with pytest.raises(ValueError, match="no hyperplane has a margin above"):
        HardMarginSVC(kernel="linear").fit(X, y)
    assert HardMarginSVC(kernel="rbf", gamma=5.0).fit(X, y).score(X, y) == 1  # distinct rows: always apart
    twice, labels = np.vstack([X, X[:1]]), np.append(y, -y[0])
    with pytest.raises(ValueError, match="no hyperplane has a margin above"):
        HardMarginSVC(kernel="rbf", gamma=5.0).fit(twice, labels)
    with pytest.raises(ValueError, match="two classes"):
        HardMarginSVC().fit(X, np.arange(40) % 3)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(C=0.0), "'C' parameter of SVC must be"),
        (SVC(radius=1.0, budget=1.0), "one constraint"),
        (SVR(epsilon=-1.0), "'epsilon' parameter of SVR"),
        (SVR(kernel="precomputed"), "square"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(model, message):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    with pytest.raises(ValueError, match=message):
        model.fit(X, [0, 1, 1])


def test_bad_kernels_are_refused_with_what_refutes_them():
    indefinite = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for model in (SVC(kernel="precomputed"), SVR(kernel="precomputed")):
        with pytest.raises(ValueError, match=r"not positive semi-definite: vᵀKv = -0\.6"):
            model.fit(indefinite, [0, 1, 1])
        with pytest.raises(ValueError, match="not symmetric"):
            model.fit(np.array([[1.0, 0.5, 0], [0.0, 1.0, 0], [0, 0, 1.0]]), [0, 1, 1])
    with pytest.raises(ValueError, match="overflows"):
        SVC(kernel="exponential", gamma=1.0).fit(np.array([[0.0], [1e3], [2e3]]), [0, 1, 1])


def test_hard_cases_have_answers():
    X = np.array([[0.0], [1.0]])
    assert SVC().fit(X, [0, 1]).certificates_.holds  # two rows
    assert SVC().fit(np.ones((6, 2)), [0, 1] * 3).certificates_.holds  # constant columns
    assert SVR(epsilon=100.0).fit(np.arange(5.0)[:, None], np.arange(5.0)).support_.size == 0
    steep = SVC(C=1e6).fit(np.arange(8.0)[:, None], [0, 0, 1, 0, 1, 1, 0, 1])
    assert steep.certificates_.holds
    with pytest.raises(ValueError, match="at least two classes"):
        SVC().fit(X, [1, 1])


def test_weights_are_repetitions_and_rows_of_none_are_absent():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.where(rng.random(30) < 0.5, 1, -1)
    weight = rng.integers(0, 3, 30).astype(float)
    repeated = np.repeat(np.arange(30), weight.astype(int))
    for model, target in ((SVC(tol=1e-10, gamma=0.5), y), (SVR(tol=1e-10, gamma=0.5), X[:, 0] * y)):
        weighted = model.fit(X, target, sample_weight=weight)
        values = weighted.decision_function(X) if target is y else weighted.predict(X)
        assert weighted.certify(X, target, sample_weight=weight).holds
        plain = type(model)(tol=1e-10, gamma=0.5).fit(X[repeated], target[repeated])
        again = plain.decision_function(X) if target is y else plain.predict(X)
        np.testing.assert_allclose(values, again, atol=1e-4)


def test_cost_width_and_tube_are_chosen_by_the_error_of_rows_held_out():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(150, 1))
    y = np.sin(X[:, 0]) + rng.normal(scale=0.1, size=150)
    grid = {"Cs": [0.01, 1.0], "gammas": [0.01, 1.0], "cv": KFold(3)}
    chosen = SVR().select_tube(X, y, [0.1, 1.5], **grid)
    assert chosen.parameter == "C, gamma, epsilon"
    assert chosen.best == {"C": 1.0, "gamma": 1.0, "epsilon": 0.1}
    assert chosen.model.get_params()["epsilon"] == 0.1
    assert chosen.model.certificates_.holds
    # scikit-learn's machines on the same folds, costs as much larger as the rows are fewer, err as much.
    errors = []
    for told in chosen.values:
        squares = np.empty(150)
        for train, test in grid["cv"].split(X):
            machine = svm.SVR(**{**told, "C": 1.5 * told["C"]}, tol=1e-6)
            machine.random_state = 0  # the global one would be drawn from
            squares[test] = (machine.fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2
        errors.append(squares.mean())
    np.testing.assert_allclose(chosen.curve, errors, rtol=0.02)
    surface = ErrorSurfaceDisplay.from_selection(chosen)
    np.testing.assert_allclose(np.sort(surface.errors.ravel()), np.sort(chosen.curve[:4]))  # of the tube 0.1
    with pytest.raises(
        ValueError, match=r"'epsilons' parameter of SVR.select_tube must be a list of finite numbers"
    ):
        SVR().select_tube(X, y, [-1.0], **grid)


def test_in_units_of_the_target_the_chosen_tube_scales_with_it():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 2))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=90)
    grid = {"Cs": [1.0, 10.0], "gammas": [0.5], "cv": 3, "random_state": 0}
    one, thousand = (
        SVR().select_tube(X, unit * y, [0.01, 0.2], standardise=True, **grid) for unit in (1.0, 1000.0)
    )
    assert thousand.index == one.index
    assert thousand.best["epsilon"] == pytest.approx(1000 * one.best["epsilon"])
    assert thousand.best["C"] == pytest.approx(1000 * one.best["C"])
