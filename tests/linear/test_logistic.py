"""Logistic regression: objective, solvers, proof, inference, separable classes, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy import optimize, sparse, special
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.pipeline import make_pipeline

from assay.datasets import GaussianClasses, iris, wine
from assay.linear import LogisticRegression, PolynomialMap
from assay.losses import Logistic, ReferenceMultinomial

INF = float("inf")


@pytest.fixture(scope="module")
def two():
    """Two overlapping classes, labels ±1."""
    return GaussianClasses([[0.5, 0.0, -0.2], [-0.5, 0.3, 0.2]]).sample(300, random_state=1)


@pytest.fixture(scope="module")
def three():
    """Three overlapping classes."""
    means = [[0.0, 0.8], [0.7, -0.4], [-0.7, -0.4]]
    return GaussianClasses(means, classes=["red", "green", "blue"]).sample(400, random_state=2)


def risk(model, X, y):
    """Mean loss from the probabilities alone."""
    p = model.predict_proba(X)
    return -np.mean(np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)]))


@pytest.mark.spec("sangnier/M-1.2.1-a", "rudi/M2.3", "douc/M3.5", "peyre/M11", "peyre/T7")
def test_the_unpenalised_fit_maximises_the_likelihood(two):
    X, y = two
    model = LogisticRegression(C=INF, history=True).fit(X, y)

    def objective(point):
        return np.mean(np.log1p(np.exp(-y * (X @ point[:3] + point[3]))))

    best = optimize.minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-10})
    assert_allclose([*model.coef_[0], *model.intercept_], best.x, atol=1e-6)
    assert_allclose(model.empirical_risk_, best.fun, rtol=1e-12)
    assert_allclose(model.log_likelihood_, -len(y) * best.fun, rtol=1e-12)
    assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))
    assert_allclose(np.abs(model.gradient(X, y)).max(), 0, atol=1e-9)
    assert np.all(np.diff(model.history_) <= 1e-15)
    assert_allclose(model.training_error_, np.mean(model.predict(X) != y))
    model.certificates_.require()


@pytest.mark.spec("douc/M8.6", "wei/M7.6", "peyre/M11", "rudi/M2.3")
def test_gradient_and_information_are_the_derivatives_of_the_risk(two):
    X, y = two
    model = LogisticRegression(penalty_strength=0.05).fit(X, y)
    point = np.append(model.coef_[0], model.intercept_) + 0.3
    model.coef_, model.intercept_ = point[None, :3], point[3:]

    def objective(coef):
        return np.mean(np.logaddexp(0, -y * (X @ coef + point[3]))) + 0.025 * coef @ coef

    numeric = optimize.approx_fprime(point[:3], objective, 1e-7)
    assert_allclose(model.gradient(X, y)[0], numeric, atol=1e-6)
    p = special.expit(X @ point[:3] + point[3])
    Z = np.column_stack([X, np.ones(len(X))])
    fit = LogisticRegression(C=INF).fit(X, y)
    p = fit.predict_proba(X)[:, 1]
    information = (Z * (p * (1 - p))[:, None]).T @ Z
    assert_allclose(
        np.linalg.inv(fit.inference().covariance), np.roll(np.roll(information, 1, 0), 1, 1), rtol=1e-7
    )


@pytest.mark.spec("peyre/M11", "peyre/M16", "wei/M7.7")
def test_the_printed_signs_are_wrong(two, three):
    X, y = two
    w = np.array([0.4, -0.2, 0.1])

    def energy(coef):
        return np.mean(np.log1p(np.exp(-y * (X @ coef))))

    model = LogisticRegression(C=INF, fit_intercept=False).fit(X, y)
    model.coef_ = w[None]
    descent = model.gradient(X, y)[0]
    assert_allclose(descent, -X.T @ (y * special.expit(-y * (X @ w))) / len(y), atol=1e-12)
    assert energy(w - 0.1 * descent) < energy(w) < energy(w + 0.1 * descent)
    X, y = three
    model = LogisticRegression().fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    assert_allclose(model.predict_proba(X), special.softmax(scores, axis=1), rtol=1e-10)
    # The energy has 1/n before both sums, and its gradient is Xᵀ(SM(XW) − D)/n.
    chosen = np.eye(3)[np.searchsorted(model.classes_, y)]
    mean = np.mean(special.logsumexp(scores, axis=1) - (scores * chosen).sum(axis=1))
    assert model.empirical_risk_ == pytest.approx(mean, rel=1e-10)
    free = LogisticRegression(C=INF).fit(X, y)
    free.coef_ = free.coef_ + np.arange(6.0).reshape(3, 2) / 5
    moved = X @ free.coef_.T + free.intercept_
    expected = (special.softmax(moved, axis=1) - chosen).T @ X / len(y)
    assert_allclose(free.gradient(X, y), expected, atol=1e-10)
    # One vector added to all leaves the probabilities, and a fit has them of sum zero.
    shifted = LogisticRegression(C=INF).fit(X, y)
    assert_allclose(shifted.coef_.sum(axis=0), 0.0, atol=1e-8)
    before = shifted.predict_proba(X)
    shifted.coef_ = shifted.coef_ + np.array([3.0, -1.0])
    assert_allclose(shifted.predict_proba(X), before, atol=1e-12)
    assert np.mean(model.classes_[np.argmin(scores, axis=1)] == y) < 1 / 3 < model.score(X, y)
    # More log-likelihood is less objective.
    weak, strong = LogisticRegression(C=1e-4).fit(X, y), LogisticRegression(C=1e4).fit(X, y)
    assert strong.log_likelihood_ > weak.log_likelihood_ >= weak.null_log_likelihood_


@pytest.mark.spec("sangnier/M-1.2.2-a", "rudi/M2.5", "wei/M7.7")
def test_the_penalty_is_on_the_mean_loss_and_spares_the_intercept(two):
    X, y = two
    shifted = X + 10.0
    model = LogisticRegression(penalty_strength=0.1).fit(X, y)
    moved = LogisticRegression(penalty_strength=0.1).fit(shifted, y)
    assert_allclose(moved.coef_, model.coef_, rtol=1e-7)

    def objective(point):
        return np.mean(np.logaddexp(0, -y * (X @ point[:3] + point[3]))) + 0.05 * point[:3] @ point[:3]

    best = optimize.minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-10}).x
    assert_allclose([*model.coef_[0], *model.intercept_], best, atol=1e-6)
    assert_allclose(model.C_ * model.penalty_strength_ * len(y), 1.0)
    # A penalty λ‖w‖² without the half is twice this strength, and λ-strong convexity bounds the gap.
    assert_allclose(LogisticRegression(C=1 / (0.1 * len(y))).fit(X, y).coef_, model.coef_, rtol=1e-8)
    model.certificates_.require()


@pytest.mark.parametrize("l1_ratio", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.spec("wei/M7.7", "rudi/M2.5", "peyre/M16")
def test_every_penalty_agrees_with_scikit_learn(request, name, l1_ratio):
    X, y = request.getfixturevalue(name)
    model = LogisticRegression(0.3, l1_ratio=l1_ratio).fit(X, y)
    peer = Peer(C=0.3, l1_ratio=l1_ratio, solver="saga", tol=1e-12, max_iter=100_000, random_state=0).fit(
        X, y
    )
    assert_allclose(model.coef_, peer.coef_, atol=2e-5)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    model.certificates_.require()
    model.certify(X, y).require()


@pytest.mark.spec("wei/M7.7")
def test_the_l1_fit_satisfies_its_optimality_conditions(two):
    X, y = two
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 5))])
    strength = 0.03
    model = LogisticRegression(penalty_strength=strength, l1_ratio=1.0).fit(X, y)
    slope = model.gradient(X, y)[0]
    active = model.coef_[0] != 0
    assert 0 < active.sum() < 8
    assert_allclose(slope[active], -strength * np.sign(model.coef_[0, active]), atol=1e-6)
    assert np.all(np.abs(slope[~active]) <= strength + 1e-9)


@pytest.mark.parametrize("solver", ["newton", "quasi_newton", "gradient_descent"])
@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.spec("wei/M7.6", "peyre/M16")
def test_every_solver_finds_the_same_minimum(request, name, solver):
    X, y = request.getfixturevalue(name)
    reference = LogisticRegression(0.5).fit(X, y)
    model = LogisticRegression(0.5, solver=solver, history=True).fit(X, y)
    assert model.solver_ == solver
    assert_allclose(model.coef_, reference.coef_, atol=1e-7)
    assert np.all(np.diff(model.history_) <= 1e-14)


@pytest.mark.spec("wei/M7.6")
def test_a_newton_step_is_a_weighted_least_squares_fit(two):
    X, y = two
    Z = np.column_stack([X, np.ones(len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = LogisticRegression(C=INF, max_iter=1, solver="newton").fit(X, y)
        two_steps = LogisticRegression(C=INF, max_iter=2, solver="newton").fit(X, y)
    theta = np.append(one.coef_[0], one.intercept_)
    u = special.expit(Z @ theta)
    working = Z @ theta + ((y > 0) - u) / (u * (1 - u))  # its errors have variance 1/(u(1 − u))
    W = u * (1 - u)
    expected = np.linalg.solve((Z * W[:, None]).T @ Z, (Z * W[:, None]).T @ working)
    assert_allclose(np.append(two_steps.coef_[0], two_steps.intercept_), expected, rtol=1e-8)


@pytest.mark.spec("sangnier/M-1.2.1-b")
def test_a_reference_class_gives_log_odds_against_it(three):
    X, y = three
    model = LogisticRegression(C=INF, reference_class="green").fit(X, y)
    place = list(model.classes_).index("green")
    assert np.all(model.coef_[place] == 0)
    assert model.intercept_[place] == 0
    p = model.predict_proba(X)
    odds = np.log(p / p[:, [place]])
    assert_allclose(odds, X @ model.coef_.T + model.intercept_, atol=1e-10)
    softmax = LogisticRegression(C=INF).fit(X, y)
    assert_allclose(softmax.predict_proba(X), p, atol=1e-8)
    assert_allclose(softmax.coef_.sum(axis=0), 0, atol=1e-8)
    codes = np.searchsorted(model.classes_, y)
    order = [k for k in range(3) if k != place] + [place]
    scores = (X @ model.coef_.T + model.intercept_)[:, order[:2]]
    losses = ReferenceMultinomial().value(np.array([order.index(c) for c in codes]), scores)
    assert_allclose(losses.mean(), model.empirical_risk_, rtol=1e-10)


@pytest.mark.spec("sangnier/M-1.2.1-b")
def test_multinomial_standard_errors_agree_with_statsmodels(three):
    X, y = three
    found = LogisticRegression(C=INF, reference_class="blue").fit(X, y).inference()
    codes = np.array([["blue", "green", "red"].index(label) for label in y])
    theirs = sm.MNLogit(codes, sm.add_constant(X)).fit(disp=False, tol=1e-12)
    assert_allclose(found.params, np.asarray(theirs.params).T.ravel(), rtol=1e-5, atol=1e-8)
    assert_allclose(found.bse, np.asarray(theirs.bse).T.ravel(), rtol=1e-5)
    assert_allclose(found.llf, theirs.llf, rtol=1e-9)
    assert_allclose(found.overall_test.pvalue, theirs.llr_pvalue, rtol=1e-6)
    assert found.names[:2] == ("green: intercept", "green: x0")
    with pytest.raises(ValueError, match="reference_class"):
        LogisticRegression(C=INF).fit(X, y).inference()


@pytest.mark.spec("peyre/T10")
def test_two_softmax_scores_are_one_logistic_score(two):
    X, y = two
    model = LogisticRegression(C=INF).fit(X, y)
    Z, codes = np.column_stack([X, np.ones(len(X))]), (y > 0).astype(int)

    def energy(flat):  # of softmax scores with a vector for each of the two classes
        scores = Z @ flat.reshape(4, 2)
        chosen = np.eye(2)[codes]
        slope = Z.T @ (special.softmax(scores, axis=1) - chosen) / len(y)
        return np.mean(special.logsumexp(scores, axis=1) - (scores * chosen).sum(axis=1)), slope.ravel()

    start = np.random.default_rng(0).normal(size=8)
    found = optimize.minimize(energy, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    W = found.x.reshape(4, 2)
    assert_allclose(np.append(model.coef_[0], model.intercept_), W[:, 1] - W[:, 0], atol=1e-6)
    assert found.fun == pytest.approx(model.empirical_risk_, rel=1e-10)
    assert_allclose(model.predict_proba(X), special.softmax(Z @ W, axis=1), atol=1e-7)


@pytest.mark.spec("wei/M7.6", "douc/M8.7")
def test_inference_agrees_with_statsmodels(two):
    X, y = two
    model = LogisticRegression(C=INF).fit(X, y)
    found = model.inference()
    theirs = sm.Logit((y > 0).astype(float), sm.add_constant(X)).fit(disp=False, tol=1e-12)
    assert_allclose(found.params, theirs.params, rtol=1e-6)
    assert_allclose(found.bse, theirs.bse, rtol=1e-6)
    assert_allclose(found.pvalues, theirs.pvalues, rtol=1e-5)
    assert_allclose(found.conf_int(0.9), theirs.conf_int(0.1), rtol=1e-5)
    assert_allclose(
        [found.llf, found.llnull, found.aic, found.bic], [theirs.llf, theirs.llnull, theirs.aic, theirs.bic]
    )
    assert_allclose(found.pseudo_rsquared, theirs.prsquared)
    robust = sm.Logit((y > 0).astype(float), sm.add_constant(X)).fit(disp=False, tol=1e-12, cov_type="HC0")
    assert_allclose(model.inference(X, y, covariance="HC0").bse, robust.bse, rtol=1e-6)
    assert "x2" in found.summary()
    with pytest.raises(ValueError, match="unpenalised"):
        LogisticRegression().fit(X, y).inference()


@pytest.mark.spec("douc/M8.7")
def test_intervals_and_ellipsoids_cover_the_truth():
    truth, n, repeats = np.array([0.3, -0.8]), 300, 150
    rng = np.random.default_rng(11)
    covered = np.zeros(2)
    for _ in range(repeats):
        X = rng.uniform(-1, 1, size=(n, 2))
        y = rng.random(n) < special.expit(X @ truth)
        found = LogisticRegression(C=INF, fit_intercept=False).fit(X, y).inference()
        low, high = found.conf_int(0.9)[0]
        covered += [low <= truth[0] <= high, found.confidence_region(level=0.9).contains(truth)]
    error = 3.5 * np.sqrt(0.09 / repeats)
    assert_allclose(covered / repeats, 0.9, atol=error)


@pytest.mark.spec("sangnier/T-1.2.2-b", "peyre/T6", "rudi/M2.3", "wei/M7.6")
def test_separable_classes_have_no_unpenalised_fit_and_the_refusal_names_the_direction():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 2.0], [1.0, 1.0], [3.5, 0.0]])
    y = np.array([-1, -1, 1, 1, -1, 1])
    with pytest.raises(ValueError, match=r"A hyperplane separates the classes.*w = \[.*use a finite C"):
        LogisticRegression(C=INF).fit(X, y)
    # Along the direction of the refusal the risk falls strictly to 0.
    from assay.solvers import separability

    found = separability(X, y)
    margins = y * (X @ found.direction + found.intercept)
    lengths = np.array([1.0, 10.0, 100.0, 1000.0])
    values = [Logistic().margin_value(length * margins).mean() for length in lengths]
    assert np.all(np.diff(values) < 0)
    assert values[-1] < 1e-6
    model = LogisticRegression(C=10.0).fit(X, y)
    model.certificates_.require()
    assert model.training_error_ == 0


@pytest.mark.spec("sangnier/T-1.2.2-b")
def test_quasi_separable_classes_have_none_either():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="all but the rows that lie on it"):
        LogisticRegression(C=INF).fit(X, [0, 0, 1, 1])
    X, y = iris(return_X_y=True)
    with pytest.raises(ValueError, match="an unpenalised fit does not exist"):
        LogisticRegression(C=INF).fit(X, y)


@pytest.mark.spec("peyre/T6", "sangnier/T-1.2.2-b")
def test_overlap_is_certified_and_the_minimum_is_unique_for_independent_columns(two):
    X, y = two
    model = LogisticRegression(C=INF).fit(X, y)
    assert any("separates" in item.claim for item in model.certificates_)
    doubled = np.column_stack([X, X[:, 0]])
    twice = LogisticRegression(C=INF).fit(doubled, y)
    assert_allclose(twice.decision_function(doubled), model.decision_function(X), atol=1e-7)
    with pytest.raises(ValueError, match="linearly independent"):
        twice.inference()


@pytest.mark.spec("sangnier/T-1.2.1-c", "rudi/T2.7")
def test_the_training_error_is_below_the_logistic_loss_in_base_two(two):
    X, y = two
    model = LogisticRegression().fit(X, y)
    found = model.certificates_[1]
    assert_allclose(found.value, np.mean(model.predict(X) != y))
    assert_allclose(found.bound, np.mean(Logistic(base=2).value(y, model.decision_function(X))), rtol=1e-9)
    assert found.holds


def test_the_duality_gap_bounds_what_is_still_to_gain(three):
    X, y = three
    best = LogisticRegression(penalty_strength=0.01).fit(X, y)

    def objective(model):
        return risk(model, X, y) + 0.005 * np.sum(model.coef_**2)

    damaged = LogisticRegression(penalty_strength=0.01).fit(X, y)
    damaged.coef_ = damaged.coef_ + 0.05
    damaged.coef_[0] += 0.2
    gap = damaged.certify(X, y)[0].value * -damaged.null_log_likelihood_ / damaged.total_weight_
    assert gap >= objective(damaged) - objective(best) > 0
    assert gap < 100 * (objective(damaged) - objective(best))
    assert not damaged.certify(X, y).holds
    assert best.dual_gap_ < 1e-10


def test_a_fit_stopped_early_says_so_and_its_certificate_fails(two):
    X, y = two
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = LogisticRegression(max_iter=1, solver="gradient_descent").fit(X, y)
    assert not model.converged_
    assert not model.certificates_.holds


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_of_probabilities_stay_finite_where_these_are_zero(dtype):
    X = np.array([[-1.0], [1.0], [0.5], [-0.5]], dtype=dtype)
    model = LogisticRegression().fit(X, [0, 1, 1, 0])
    model.coef_, model.intercept_ = np.array([[1.0]], dtype=dtype), np.zeros(1, dtype=dtype)
    far = np.array([[-800.0], [800.0]], dtype=dtype)
    logs = model.predict_log_proba(far)
    assert_allclose(logs, [[0, -800], [-800, 0]])
    assert logs.dtype == dtype
    assert_allclose(model.predict_log_proba(far + dtype(10), offset=np.full(2, -10.0)), logs)
    # A chance of 1e-20 has its digits beside the one near 1.
    small = model.predict_proba(np.array([[46.0]], dtype=dtype), offset=[0.0])
    assert_allclose(small, [[np.exp(-46.0), 1]], rtol=1e-4)
    three = LogisticRegression().fit(X, [0, 1, 2, 0])
    three.coef_, three.intercept_ = np.array([[1.0], [0], [-1]], dtype=dtype), np.zeros(3, dtype=dtype)
    assert_allclose(three.predict_log_proba(far), [[-1600, -800, 0], [0, -800, -1600]])
    with pytest.raises(ValueError, match="An offset is a part of the score of two classes"):
        three.predict_proba(X, offset=np.zeros(4))


def test_an_offset_is_a_known_part_of_the_score(two):
    X, y = two
    offset = 0.7 * X[:, 0] + 0.2
    model = LogisticRegression(C=INF).fit(X, y, offset=offset)
    plain = LogisticRegression(C=INF).fit(X, y)
    assert_allclose(model.coef_[0] + [0.7, 0, 0], plain.coef_[0], atol=1e-8)
    assert_allclose(model.predict_proba(X, offset=offset), plain.predict_proba(X), atol=1e-9)
    assert_allclose(model.predict_log_proba(X, offset=offset), plain.predict_log_proba(X), atol=1e-8)
    model.certify(X, y, offset=offset).require()
    penalised = LogisticRegression(penalty_strength=0.1, l1_ratio=0.5).fit(X, y, offset=offset)
    penalised.certify(X, y, offset=offset).require()
    with pytest.raises(ValueError, match="offset must be one-dimensional"):
        LogisticRegression().fit(X, y, offset=offset[1:])


def test_class_weights_are_repetitions_of_the_rows_of_a_class(two):
    X, y = two
    keep = np.concatenate([np.arange(len(y)), np.flatnonzero(y > 0), np.flatnonzero(y > 0)])
    weighted = LogisticRegression(penalty_strength=0.1, class_weight={1: 3.0}).fit(X, y)
    repeated = LogisticRegression(penalty_strength=0.1).fit(X[keep], y[keep])
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    lasso = LogisticRegression(penalty_strength=0.1, l1_ratio=1.0, class_weight={1: 3.0}).fit(X, y)
    again = LogisticRegression(penalty_strength=0.1, l1_ratio=1.0).fit(X[keep], y[keep])
    assert_allclose(lasso.coef_, again.coef_, atol=1e-5)
    balanced = LogisticRegression(class_weight="balanced").fit(X[keep], y[keep])
    peer = Peer(class_weight="balanced", tol=1e-10, max_iter=1000).fit(X[keep], y[keep])
    assert_allclose(balanced.coef_, peer.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="'class_weight' of 1 must be a finite number above 0"):
        LogisticRegression(class_weight={1: 0.0}).fit(X, y)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.7])
def test_memory_sparse_parquet_and_dask_agree(two, tmp_path, l1_ratio):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    da = pytest.importorskip("dask.array")
    X, y = two
    pq.write_table(
        pa.table({f"x{j}": X[:, j] for j in range(3)} | {"label": y}),
        tmp_path / "rows.parquet",
        row_group_size=70,
    )
    model = LogisticRegression(0.1, l1_ratio=l1_ratio)
    memory = model.fit(X, y)
    others = [
        LogisticRegression(0.1, l1_ratio=l1_ratio).fit(sparse.csr_matrix(X), y),
        LogisticRegression(0.1, l1_ratio=l1_ratio).fit(str(tmp_path / "rows.parquet"), "label"),
        LogisticRegression(0.1, l1_ratio=l1_ratio).fit(
            da.from_array(X, chunks=(80, 3)), da.from_array(y, chunks=80)
        ),
    ]
    for other in others:
        assert_allclose(other.coef_, memory.coef_, atol=1e-9 if l1_ratio == 0 else 2e-5)
        assert list(other.classes_) == [-1, 1]
        assert other.certificates_.holds


def test_many_columns_take_quasi_newton_steps_to_the_same_minimum(rng):
    X = rng.normal(size=(400, 300))
    y = (X[:, 0] + rng.logistic(size=400) > 0).astype(int)
    quick, full = (LogisticRegression(C=0.01, solver=solver).fit(X, y) for solver in ("auto", "newton"))
    assert (quick.solver_, full.solver_) == ("quasi_newton", "newton")
    assert_allclose(quick.coef_, full.coef_, atol=1e-7)
    quick.certificates_.require()
    few = LogisticRegression(C=0.01).fit(X[:, :200], y)
    assert few.solver_ == "newton"


def test_many_rows_take_quasi_newton_steps_to_the_same_minimum():
    X, y = GaussianClasses([[0.3] * 5, [-0.3] * 5]).sample(120_000, random_state=0)
    quick, full = LogisticRegression().fit(X, y), LogisticRegression(solver="newton").fit(X, y)
    assert (quick.solver_, full.solver_) == ("quasi_newton", "newton")
    assert_allclose(quick.coef_, full.coef_, atol=1e-9)
    assert quick.dual_gap_ < 1e-8


def test_more_parameters_than_a_hessian_can_hold_are_fitted_by_gradients():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 400))
    y = np.argmax(X[:, :4] + rng.gumbel(size=(500, 4)), axis=1)
    model = LogisticRegression(0.01).fit(X, y)
    assert model.solver_ == "quasi_newton"
    peer = Peer(C=0.01, tol=1e-9, max_iter=10_000).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    assert model.certificates_.holds
    wide = sparse.random_array((300, 5000), density=0.01, rng=rng, format="csr")
    label = np.asarray(wide.sum(axis=1)).ravel() > 25
    found = LogisticRegression().fit(wide, label)
    assert_allclose(found.coef_, Peer(tol=1e-10, max_iter=10_000).fit(wide, label).coef_, atol=1e-4)
    assert found.certificates_.holds


@pytest.mark.spec("rudi/M2.7")
def test_a_feature_map_bends_the_boundary():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.where(np.sum(X**2, axis=1) + 0.1 * rng.normal(size=400) < 0.5, "inside", "outside")
    straight = LogisticRegression(C=100).fit(X, y)
    bent = make_pipeline(PolynomialMap(degree=2), LogisticRegression(C=100)).fit(X, y)
    assert straight.score(X, y) < 0.75
    assert bent.score(X, y) > 0.9
    assert bent[-1].certificates_.holds


@pytest.mark.parametrize(
    ("options", "labels", "words"),
    [
        ({}, ["a"] * 6, r"needs rows of at least two classes. Got one class only: 'a'"),
        ({}, [0.1, 0.7, 0.3, 0.4, 0.5, 0.6], r"Unknown label type"),
        ({"reference_class": "d"}, list("abcabc"), r"'reference_class' parameter .* one of the labels"),
        ({"l1_ratio": 1.0, "solver": "newton"}, list("ababab"), r"'solver' parameter .* 'auto' with an l1"),
        ({"C": 0.0}, list("ababab"), r"'C' parameter"),
        ({"C": -1.0}, list("ababab"), r"'C' parameter"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options, labels, words):
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(ValueError, match=words) as refusal:
        LogisticRegression(**options).fit(X, labels)
    assert "\n" not in str(refusal.value)


def test_labels_of_any_kind_and_rows_of_no_weight():
    X, y = wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = np.array(["barolo", "grignolino", "barbera"], dtype=object)[y.astype(int)]
    model = LogisticRegression().fit(X, names)
    assert set(model.predict(X)) == {"barolo", "grignolino", "barbera"}
    weight = (y != 2).astype(float)
    left = LogisticRegression().fit(X, names, sample_weight=weight)
    assert list(left.classes_) == ["barbera", "barolo", "grignolino"]  # a class of weight 0 is a class
    assert set(left.predict(X[y != 2])) == {"barolo", "grignolino"}
    truth = LogisticRegression().fit(X, y > 0)
    assert truth.predict(X).dtype == bool
    with pytest.raises(ValueError, match="is not among the classes of the fit"):
        truth.certify(X, y + 7)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.spec("wei/M7.7", "rudi/M1.16")
def test_a_path_holds_the_fits_of_its_strengths(request, name, l1_ratio):
    X, y = request.getfixturevalue(name)
    path = LogisticRegression(l1_ratio=l1_ratio).path(X, y, [0.1, 0.01])
    for row, strength in enumerate(path.penalty_strengths):
        single = LogisticRegression(penalty_strength=strength, l1_ratio=l1_ratio).fit(X, y)
        assert_allclose(path.coef[row], single.coef_, atol=2e-5)
        assert_allclose(path.risk[row], single.empirical_risk_, rtol=1e-6)
    assert np.all(path.dual_gap <= 1e-9)
    grid = LogisticRegression(l1_ratio=1.0).path(X, y, n_strengths=10)
    assert np.all(grid.coef[0] == 0), "nothing at the critical strength"
    assert np.any(grid.coef[1] != 0)


@pytest.mark.spec("rudi/M1.16")
def test_selection_gives_the_curve_and_the_refitted_choice(three):
    X, y = three
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 6))])
    model, grid = LogisticRegression(l1_ratio=1.0), np.geomspace(0.2, 0.002, 8)
    best = model.select(X, y, penalty_strengths=grid, random_state=0)
    simple = model.select(X, y, rule="one_se", penalty_strengths=grid, random_state=0)
    assert best.alpha == best.best_alpha
    assert simple.alpha >= best.alpha
    assert np.count_nonzero(simple.model.coef_) <= np.count_nonzero(best.model.coef_)
    assert_allclose(simple.model.penalty_strength_, simple.alpha)
    from sklearn.model_selection import cross_val_score

    peer = Peer(C=1 / (best.alpha * len(y)), solver="saga", l1_ratio=1.0, max_iter=10_000, random_state=0)
    loss = -cross_val_score(peer, X, y, scoring="neg_log_loss", cv=5).mean()
    assert_allclose(best.curve.min(), loss, rtol=0.05)
    sparser = model.select(X, y, rule="bic", penalty_strengths=grid)
    larger = model.select(X, y, rule="aic", penalty_strengths=grid)
    assert np.count_nonzero(sparser.model.coef_) <= np.count_nonzero(larger.model.coef_)
    with pytest.raises(ValueError, match="'rule' parameter"):
        model.select(X, y, rule="oracle")
    with pytest.raises(ValueError, match="A fold has no row of some class"):
        model.select(X[:6], ["a", "a", "a", "b", "b", "b"], cv=2)


@pytest.mark.parametrize("far", [1e5, 1e8])
def test_columns_far_from_zero_lose_no_digits(two, far):
    X, y = two
    X = np.round(X * 1024) / 1024  # so that the shifted table holds the same numbers
    near = LogisticRegression(C=INF).fit(X, y)
    away = LogisticRegression(C=INF).fit(X + far, y)
    assert away.converged_
    assert_allclose(away.coef_, near.coef_, rtol=1e-7)
    assert_allclose(away.inference().bse[1:], near.inference().bse[1:], rtol=1e-6)
    assert_allclose(
        away.inference(X + far, y, covariance="HC0").bse[1:],
        near.inference(X, y, covariance="HC0").bse[1:],
        rtol=1e-6,
    )
    away.certify(X + far, y).require()
    sparse_fit = LogisticRegression(l1_ratio=1.0).fit(X + far, y)
    assert_allclose(sparse_fit.coef_, LogisticRegression(l1_ratio=1.0).fit(X, y).coef_, atol=1e-4)


@pytest.mark.parametrize(
    "options", [{"solver": "gradient_descent"}, {"solver": "newton", "max_iter": 3}, {"tol": 0.1}, {}]
)
@pytest.mark.spec("sangnier/T-1.2.2-b")
def test_separable_classes_are_refused_however_early_the_solver_stops(options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    with pytest.raises(ValueError, match="A hyperplane separates the classes"):
        LogisticRegression(C=INF, **options).fit(X, y)


@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.spec("sangnier/T-1.2.2-b")
def test_the_correction_that_proves_overlap_bounds_the_one_of_every_row(request, name, weighted):
    X, y = request.getfixturevalue(name)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=INF, solver="newton", max_iter=3).fit(X, y, weight)
    bound = model.certificates_[-1].value
    assert 0 < bound < 0.5
    # The exact correction, from the probabilities alone: margins z = (e_y − e_k) ⊗ (x, 1), weights p_k.
    p, Z = model.predict_proba(X), np.column_stack([X, np.ones(len(X))])
    codes = np.searchsorted(model.classes_, y)
    rows, lam = [], []
    for k in range(len(model.classes_)):
        other = codes != k
        side = np.zeros((other.sum(), len(model.classes_)))
        side[np.arange(other.sum()), codes[other]] = 1
        side[:, k] = -1
        rows.append(np.einsum("ij,il->ijl", side, Z[other]).reshape(other.sum(), -1))
        lam.append(p[other, k] * (1.0 if weight is None else weight[other]))
    z, lam = np.vstack(rows), np.concatenate(lam)
    v = np.linalg.lstsq((z * lam[:, None]).T @ z, lam @ z, rcond=1e-10)[0]
    assert np.abs(z @ v).max() <= bound
    balanced = lam * (1 - z @ v)
    assert np.all(balanced > 0)
    assert_allclose(balanced @ z, 0, atol=1e-9)


def test_overlap_is_measured_again_and_fails_on_other_labels(two):
    X, y = two
    model = LogisticRegression(C=INF).fit(X, y)
    assert len(model.certify(X, y)) == 4
    separated = np.where(X[:, 0] > 0, 1, -1)
    found = model.certify(X, separated)
    assert not found[-1].holds
    assert found[-1].value == len(y)
