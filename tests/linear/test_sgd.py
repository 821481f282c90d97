"""Stochastic gradient descent: what it reaches, in which order, and how it is certified."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse
from sklearn import linear_model
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning

import assay
from assay.linear import (
    HuberRegressor,
    LinearSVC,
    LinearSVR,
    QuantileRegressor,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from assay.losses import Absolute, Hinge, Huber, Logistic, Quantile, SquaredEpsilonInsensitive, SquaredHinge
from assay.rows import MemoryRows
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.stochastic.gap import gather_risk, risk_gap
from assay.solvers.stochastic.sgd import LEARNING_RATES


@pytest.fixture
def line(rng):
    X = rng.standard_normal((1500, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 0.0]
    return X, X @ [1.0, -0.2, 5.0, 0.0] + 3 + rng.standard_normal(1500)


@pytest.fixture
def two(rng):
    X = rng.standard_normal((1500, 3))
    return X, (X @ [1.0, -1.0, 0.5] + rng.logistic(size=1500) > 0.3).astype(int)


@pytest.mark.spec("rudi/M1.6")
@pytest.mark.parametrize("batch_size", [1, 16, 64, 1500])
def test_least_squares_by_batches_reaches_the_closed_form(line, batch_size):
    X, y = line
    model = SGDRegressor(alpha=0.01, batch_size=batch_size, tol=1e-3, random_state=0).fit(X, y)
    exact = Ridge(0.01 * len(y)).fit(X, y)

    def objective(coef, intercept):
        return np.mean((y - X @ coef - intercept) ** 2) / 2 + 0.005 * coef @ coef

    least = objective(exact.coef_, exact.intercept_)
    ours = objective(model.coef_, model.intercept_)
    assert least <= ours + 1e-12
    assert ours - least <= model.dual_gap_ * ours  # the gap bounds what is left
    assert model.dual_gap_ <= 1e-3


@pytest.mark.spec("rudi/M1.6")
@pytest.mark.parametrize("batch_size", [1, 16])
def test_without_a_penalty_batches_reach_least_squares(line, batch_size):
    X, y = line
    model = SGDRegressor(alpha=0.0, batch_size=batch_size, tol=1e-5, max_iter=300, random_state=0).fit(X, y)
    Z = np.column_stack([X, np.ones(len(X))])
    best = np.linalg.lstsq(Z, y, rcond=None)[0]
    excess = np.mean((Z @ (np.append(model.coef_, model.intercept_) - best)) ** 2)
    assert excess < 1e-4 * np.mean((y - Z @ best) ** 2)


@pytest.mark.spec("rudi/M2.3", "wei/M7.6")
def test_logistic_regression_by_batches_is_near_the_exact_minimum(two):
    X, y = two
    model = SGDClassifier(alpha=0.01, batch_size=64, tol=1e-3, random_state=0).fit(X, y)
    t = 2 * y - 1

    def objective(point):
        return np.mean(np.logaddexp(0, -t * (X @ point[:3] + point[3]))) + 0.005 * point[:3] @ point[:3]

    least = optimize.minimize(objective, np.zeros(4)).fun
    ours = objective(np.append(model.coef_[0], model.intercept_))
    assert -1e-9 <= ours - least <= model.dual_gap_ * ours
    assert model.certify(X, y).holds


@pytest.mark.spec("sangnier/T-1.2.1-c")
def test_the_logistic_majorant_is_the_loss_over_log_two(two):
    X, y = two
    found = SGDClassifier(random_state=0).fit(X, y).certificates_.named("training error")
    model = SGDClassifier(random_state=0).fit(X, y)
    margin = (2 * y - 1) * model.decision_function(X)
    assert found.value == pytest.approx(np.mean(margin <= 0))
    assert found.bound == pytest.approx(np.mean(np.logaddexp(0, -margin)) / np.log(2))
    # Without the division it is no majorant: a row on the plane is an error, its loss log 2 < 1.
    assert Logistic().margin_value(np.zeros(1))[0] < 1


def test_the_squared_hinge_agrees_with_the_exact_machine(two):
    X, y = two
    model = SGDClassifier("squared_hinge", alpha=0.1, tol=1e-4, random_state=0).fit(X, y)
    exact = LinearSVC(1 / (0.1 * len(y))).fit(X, y)
    assert_allclose(model.coef_, exact.coef_, atol=0.01)


@pytest.mark.parametrize(
    ("loss", "exact"),
    [
        ("hinge", lambda n: LinearSVC(1 / (0.05 * n), loss="hinge")),
        ("squared_hinge", lambda n: LinearSVC(1 / (0.05 * n))),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 32, 2000])
def test_margin_losses_come_as_near_the_exact_machine_as_they_say(two, loss, exact, batch_size):
    X, y = two
    model = SGDClassifier(loss, alpha=0.05, batch_size=batch_size, random_state=0).fit(X, y)
    best, t = exact(len(y)).fit(X, y), 2 * y - 1

    def objective(machine):
        hinge = np.maximum(1 - t * machine.decision_function(X), 0)
        return np.mean(hinge ** (1 if loss == "hinge" else 2)) + 0.025 * np.sum(machine.coef_**2)

    assert -1e-9 <= objective(model) - objective(best) <= model.dual_gap_ * objective(model)
    assert model.dual_gap_ <= 0.01
    assert model.certify(X, y).holds


def regression_objective(loss, model, X, y, alpha):
    return loss.value(y, model.predict(X)).mean() + alpha / 2 * model.coef_ @ model.coef_


@pytest.mark.parametrize(
    ("name", "settings", "loss"),
    [
        ("absolute_error", {}, Absolute()),
        ("quantile", {"quantile": 0.8}, Quantile(0.8)),
        ("huber", {"epsilon": 0.5}, Huber(0.5)),
        ("squared_epsilon_insensitive", {"epsilon": 0.5}, SquaredEpsilonInsensitive(0.5)),
    ],
)
@pytest.mark.parametrize("batch_size", [32, 2000])
def test_losses_of_numbers_come_as_near_the_minimum_as_they_say(line, name, settings, loss, batch_size):
    X, y = line
    model = SGDRegressor(name, alpha=0.01, batch_size=batch_size, random_state=0, **settings).fit(X, y)
    scale = X.std(axis=0)

    def objective(point):
        coef = point[:4] / scale
        return loss.value(y, (X - X.mean(axis=0)) @ coef + point[4]).mean() + 0.005 * coef @ coef

    start = np.append(model.coef_ * scale, model.intercept_ + X.mean(axis=0) @ model.coef_)
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    least = optimize.minimize(objective, start, method="Nelder-Mead", options=options).fun
    ours = regression_objective(loss, model, X, y, 0.01)
    assert ours == pytest.approx(objective(start))
    assert -1e-9 <= ours - least <= model.dual_gap_ * ours
    assert model.dual_gap_ <= 0.01


def test_the_insensitive_loss_comes_near_the_exact_machine(line):
    X, y = line
    model = SGDRegressor("epsilon_insensitive", alpha=0.01, epsilon=0.3, random_state=0).fit(X, y)
    exact = LinearSVR(0.3, C=1 / (0.01 * len(y))).fit(X, y)
    values = [
        np.mean(np.maximum(np.abs(y - item.predict(X)) - 0.3, 0)) + 0.005 * item.coef_ @ item.coef_
        for item in (model, exact)
    ]
    assert -1e-6 <= values[0] - values[1] <= model.dual_gap_ * values[0]


def test_the_level_of_the_quantile_is_the_share_of_rows_below(line):
    X, y = line
    model = SGDRegressor("quantile", quantile=0.9, alpha=1e-6, batch_size=50, penalty=None, random_state=0)
    model.fit(X, y)
    assert np.mean(y <= model.predict(X)) == pytest.approx(0.9, abs=0.03)
    exact = QuantileRegressor(0.9).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), atol=0.5)


@pytest.mark.parametrize("rate", LEARNING_RATES)
@pytest.mark.parametrize("batch_size", [100, 2000])
def test_every_step_rule_reaches_the_ridge_estimate(line, rate, batch_size):
    X, y = line
    model = SGDRegressor(alpha=0.05, learning_rate=rate, batch_size=batch_size, random_state=0).fit(X, y)
    exact = Ridge(0.05 * len(y)).fit(X, y)
    assert model.certify(X, y).holds
    assert np.mean((model.predict(X) - exact.predict(X)) ** 2) <= 2 * 0.01 * np.mean(
        (y - exact.predict(X)) ** 2
    )


def test_a_constant_step_stalls_where_falling_steps_do_not(two):
    X, y = two
    options = {
        "alpha": 0.01,
        "batch_size": 5,
        "average": False,
        "tol": 1e-6,
        "max_iter": 60,
        "random_state": 0,
    }
    gaps = {}
    for rate in ("constant", "root"):
        with pytest.warns(ConvergenceWarning):
            model = SGDClassifier(learning_rate=rate, history=True, **options).fit(X, y)
        gaps[rate] = model.history_[0]
    assert min(gaps["constant"][-3:]) > 0.1 * min(gaps["constant"][:3])
    assert gaps["root"][-1] < 0.1 * gaps["constant"][-1]


@pytest.mark.parametrize("loss", [Logistic(), SquaredEpsilonInsensitive(0.2), Hinge()])
def test_the_gap_bounds_the_distance_from_the_minimum_of_any_point(two, loss, rng):
    X, code = two
    data = MemoryRows(X, code.astype(float))
    t = 2.0 * code - 1

    def objective(point):
        penalty = 0.02 * np.abs(point[:3]).sum() + 0.05 * point[:3] @ point[:3]
        return loss.value(t, X @ point[:3] + point[3]).mean() + penalty

    least = optimize.minimize(objective, np.full(4, 0.1), method="Nelder-Mead", options={"xatol": 1e-8}).fun
    for size in (0.0, 0.1, 1.0):
        point = size * rng.standard_normal(4)
        evidence = gather_risk(data, MachineLoss(loss, positive=1), point[:3], point[3])
        gap = risk_gap(evidence, point[:3], 0.02, 0.1, fit_intercept=True)
        assert gap.objective == pytest.approx(objective(point))
        assert gap.relative * gap.objective >= objective(point) - least - 1e-6


@pytest.mark.parametrize("loss", [Logistic(), SquaredEpsilonInsensitive(0.2), Hinge(), Quantile(0.3)])
def test_slopes_of_the_loss_and_the_same_slopes_handed_in_are_one_dual_point(two, loss, rng):
    X, code = two
    weight = rng.integers(0, 3, len(code)).astype(float)
    data, point = MemoryRows(X, code.astype(float), weight), rng.standard_normal(4)
    slopes = loss.gradient(2.0 * code - 1, X @ point[:3] + point[3])
    own = gather_risk(data, MachineLoss(loss, positive=1), point[:3], point[3])
    given = gather_risk(data, MachineLoss(loss, positive=1), point[:3], point[3], slopes)
    for one, other in zip(own, given, strict=True):
        assert_allclose(one, other, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("penalty", ["l2", None])
def test_a_dual_point_that_is_not_of_this_fit_certifies_nothing(two, penalty):
    X, y = two
    model = SGDClassifier("hinge", penalty=penalty, alpha=0.01, random_state=0).fit(X, y)
    assert model.dual_coef_.shape == (1, len(y))
    assert model.certify(X, y).holds
    assert not model.certify(X[::-1], y[::-1]).holds
    assert not model.certify(X, 1 - y).holds
    slopes = model.dual_coef_.copy()
    model.dual_coef_[0, 0] = -2.0 * model.dual_coef_[0, 0] - 2.0  # outside the domain of the conjugate
    assert not model.certify(X, y).holds
    model.dual_coef_ = 0.5 * slopes
    assert not model.certify(X, y).holds


def test_memory_disk_and_cluster_give_the_same_batches(line, tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = line
    np.save(tmp_path / "rows.npy", X)
    models = [
        SGDRegressor(batch_size=50, tol=0.05, random_state=3).fit(table, target)
        for table, target in (
            (X, y),
            (str(tmp_path / "rows.npy"), y),
            (da.from_array(X, chunks=(333, 2)), da.from_array(y, chunks=200)),
        )
    ]
    for other in models[1:]:
        assert_allclose(other.coef_, models[0].coef_, atol=1e-9)


def test_tables_beyond_memory_are_fetched_in_slabs(line, tmp_path, monkeypatch):
    X, y = line
    np.save(tmp_path / "rows.npy", X)
    whole = SGDRegressor(batch_size=50, tol=0.05, random_state=3).fit(X, y)
    monkeypatch.setattr("assay.solvers.stochastic.sgd.LARGEST_BYTES", 0)
    monkeypatch.setattr("assay.solvers.stochastic.sgd.SLAB_BYTES", 1)
    slabs = SGDRegressor(batch_size=50, tol=0.05, random_state=3).fit(str(tmp_path / "rows.npy"), y)
    assert_allclose(slabs.coef_, whole.coef_, atol=1e-9)


def test_sparse_rows_are_scaled_and_not_filled(two):
    X, y = two
    X = X * (np.abs(X) > 0.7)
    model = SGDClassifier(alpha=0.01, random_state=0).fit(sparse.csr_array(X), y)
    assert model.certificates_.holds
    assert model.certify(X, y).holds


def test_the_l1_penalty_leaves_columns_out(line):
    X, y = line
    model = SGDRegressor(penalty="l1", alpha=0.3, average=False, random_state=0).fit(X, y)
    assert model.coef_[3] == 0
    assert model.dual_gap_ <= 0.01
    assert model.certificates_[0].quantity == "relative duality gap"

    def objective(point):
        return np.mean((y - X @ point[:4] - point[4]) ** 2) / 2 + 0.3 * np.abs(point[:4]).sum()

    ours = objective(np.append(model.coef_, model.intercept_))
    exact = linear_model.Lasso(alpha=0.3, tol=1e-10, random_state=0).fit(X, y)
    assert ours - objective(np.append(exact.coef_, exact.intercept_)) <= model.dual_gap_ * ours


def test_a_stopped_descent_says_so(line):
    X, y = line
    with pytest.warns(ConvergenceWarning, match="passes with relative duality gap"):
        model = SGDRegressor(tol=1e-9, max_iter=2, history=True, random_state=0).fit(X, y)
    assert not model.certificates_.holds
    assert len(model.history_) == 2


@pytest.fixture
def chunks(line):
    X, y = line
    return [(X[k : k + 100], y[k : k + 100]) for k in range(0, 1500, 100)]


def test_a_stream_of_chunks_comes_near_the_whole(line, chunks):
    X, y = line
    model = SGDRegressor(alpha=0.01, batch_size=10, random_state=0)
    for _ in range(8):
        for chunk in chunks:
            model.partial_fit(*chunk)
    assert model.n_iter_ == 8 * 15
    exact = Ridge(0.01 * len(y)).fit(X, y)
    assert np.mean((model.predict(X) - exact.predict(X)) ** 2) < 0.02 * np.var(y - exact.predict(X))


@pytest.mark.parametrize("rate", ["auto", "adagrad", "adam", "adadelta", "rmsprop"])
def test_two_calls_are_two_passes_of_one_descent(line, rate):
    X, y = line
    model = SGDRegressor(learning_rate=rate, batch_size=1500, average=False, tol=1e-12, max_iter=2)
    twice = model.partial_fit(X, y).partial_fit(X, y).coef_
    rate = "root" if rate == "auto" else rate  # rows of a stream are never all there are: steps fall
    with pytest.warns(ConvergenceWarning):
        at_once = model.set_params(learning_rate=rate).fit(X, y).coef_
    assert_allclose(twice, at_once, rtol=1e-12)


def test_a_stream_goes_on_after_a_fit_and_after_a_file(line, tmp_path):
    X, y = line
    model = SGDRegressor(learning_rate="adam", tol=0.5, batch_size=50, random_state=0).fit(X, y)
    assay.save(model, tmp_path / "model.skops")
    loaded = assay.load(tmp_path / "model.skops")
    assert_allclose(loaded.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_, rtol=1e-14)
    fresh = SGDRegressor(learning_rate="adam", tol=0.5, batch_size=50, random_state=0).partial_fit(X, y)
    assert not np.allclose(fresh.coef_, model.coef_, rtol=1e-6)


def test_classes_of_a_stream_are_told_at_first(two):
    X, y = two
    names = np.array(["no", "yes", "maybe"])
    with pytest.raises(ValueError, match="must be given 'classes'"):
        SGDClassifier().partial_fit(X, names[y])
    model = SGDClassifier(alpha=0.01, batch_size=20, random_state=0)
    model.partial_fit(X[y == 0][:1], names[y[y == 0]][:1], classes=names)
    for _ in range(3):
        model.partial_fit(X, names[y])
    assert model.coef_.shape == (3, 3)
    assert np.mean(model.predict(X) == names[y]) > 0.7
    with pytest.raises(ValueError, match="must be those of the first call"):
        model.partial_fit(X, names[y], classes=["no", "yes"])
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X[:1], ["never"])
    with pytest.raises(ValueError, match="'fit_intercept' parameter"):
        model.set_params(fit_intercept=False).partial_fit(X, names[y])


def test_bad_rows_of_a_stream_are_refused(line):
    X, y = line
    model = SGDRegressor(random_state=0).partial_fit(X, y)
    before = model.coef_.copy()
    for table, target, weight in (
        (np.where(X[0, 0] == X, np.nan, X), y, None),
        (X, np.append(y[1:], np.inf), None),
        (X[:, :2], y, None),
        (X, y[:-1], None),
        (X, y, -np.ones(len(y))),
    ):
        with pytest.raises(ValueError, match=r"NaN|infinity|features|rows|weight|samples"):
            model.partial_fit(table, target, sample_weight=weight)
    assert np.array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="'early_stopping' parameter"):
        model.set_params(early_stopping=True).partial_fit(X, y)


def test_a_first_chunk_that_misleads_about_the_scale_does_not_explode(line):
    X, y = line
    model = SGDRegressor(random_state=0).partial_fit(1e-6 * X[:2], y[:2])
    for _ in range(20):
        model.partial_fit(1e3 * X, y)
    assert np.isfinite(model.coef_).all()
    assert np.abs(model.predict(1e3 * X)).max() < 100 * np.abs(y).max()


@pytest.mark.parametrize("kind", [SGDRegressor, SGDClassifier])
def test_early_stopping_holds_rows_out_and_certifies_their_loss(line, two, kind):
    X, y = line if kind is SGDRegressor else two
    model = kind(early_stopping=True, validation_fraction=0.2, batch_size=50, history=True, random_state=0)
    model.fit(X, y)
    assert model.converged_
    assert len(model.held_out_) == 300
    if kind is SGDClassifier:  # of every class its share
        assert y[model.held_out_].mean() == pytest.approx(y.mean(), abs=1 / 300)
    found = model.certificates_.named("held-out loss")
    inside, outside = X[model.held_out_], y[model.held_out_]
    if kind is SGDRegressor:
        expected = np.mean((outside - model.predict(inside)) ** 2) / 2
        assert found.bound == pytest.approx(np.var(outside) / 2)
        losses = model.history_
    else:
        expected = np.mean(np.logaddexp(0, -(2 * outside - 1) * model.decision_function(inside)))
        losses = model.history_[0]
    assert found.value == pytest.approx(expected)
    assert found.value == pytest.approx(min(losses))
    assert model.certify(X, y).holds
    model.coef_ *= -1
    assert not model.certify(X, y).holds


def test_rows_held_out_do_not_move_the_fit(line):
    X, y = line
    first = SGDRegressor(early_stopping=True, n_iter_no_change=50, max_iter=50, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="still falls"):
        first.fit(X, y)
    changed = y.copy()
    changed[first.held_out_] += 1e-9  # too little to change which pass is best
    with pytest.warns(ConvergenceWarning):
        second = SGDRegressor(**first.get_params()).fit(X, changed)
    assert np.array_equal(first.coef_, second.coef_)


def test_early_stopping_stops_after_so_many_passes_without_a_fall(two):
    X, y = two
    model = SGDClassifier(early_stopping=True, n_iter_no_change=3, tol=0.99, random_state=0).fit(X, y)
    assert model.n_iter_ == 4


def test_callbacks_do_not_change_the_fit(two, capsys):
    X, y = two
    options = {"alpha": 1e-3, "batch_size": 2000, "tol": 1e-5, "random_state": 0}
    plain = SGDClassifier(**options).fit(X, y)
    watched = SGDClassifier(**options).set_callbacks(ProgressBar()).fit(X, y)
    assert capsys.readouterr().out
    assert plain.n_iter_ == watched.n_iter_ > 4
    assert_allclose(watched.coef_, plain.coef_, rtol=1e-12)


def test_defaults_converge_on_nearly_separable_labels():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 5))
        y = (X.sum(axis=1) + 0.1 * rng.normal(size=40) > 0).astype(int)
        assert SGDClassifier().fit(X, y).certificates_.holds


def test_weights_are_factors_of_the_gradient_in_batches_and_repetitions_in_the_objective(line, rng):
    X, y = line
    weight = rng.integers(0, 3, len(y)).astype(float)
    model = SGDRegressor(alpha=0.01, batch_size=50, tol=1e-3, random_state=0).fit(X, y, sample_weight=weight)
    keep = np.repeat(np.arange(len(y)), weight.astype(int))
    assert model.certify(X[keep], y[keep]).holds  # the same objective
    scaled = SGDRegressor(alpha=0.01, batch_size=50, tol=1e-3, random_state=0)
    assert_allclose(scaled.fit(X, y, sample_weight=8 * weight).coef_, model.coef_, rtol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_hinge"])
def test_margins_are_the_same_for_columns_in_fortran_order_and_for_csr(two, loss):
    X, y = two
    fits = [
        SGDClassifier(loss, fit_intercept=False, alpha=0.05, batch_size=40, random_state=0).fit(table, y)
        for table in (X, np.asfortranarray(X), sparse.csr_array(X))
    ]
    for other in fits[1:]:
        assert_allclose(other.coef_, fits[0].coef_, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_the_scale_of_the_target_does_not_matter(line, loss, scale):
    X, y = line
    one, other = (
        SGDRegressor(loss, penalty=None, epsilon=0.5 * factor, batch_size=100, random_state=0).fit(
            X, factor * y
        )
        for factor in (1.0, scale)
    )
    assert_allclose(other.coef_ / scale, one.coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_one_row_is_fitted_by_the_intercept(loss):
    model = SGDRegressor(loss, random_state=0).fit([[1.0, 2.0]], [5.0])
    assert model.predict([[1.0, 2.0]]) == pytest.approx(5.0, abs=1e-3)


@pytest.mark.parametrize("rate", ["auto", "adam"])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "epsilon_insensitive"])
def test_a_target_far_from_zero_is_fitted_like_one_near(line, loss, rate):
    X, y = line
    near, far = (
        SGDRegressor(loss, learning_rate=rate, batch_size=100, random_state=0).fit(X, y + level)
        for level in (0.0, 1e6)
    )
    assert_allclose(far.coef_, near.coef_, rtol=1e-6, atol=1e-6)
    assert far.intercept_ == pytest.approx(near.intercept_ + 1e6, abs=1e-4)


def test_bad_rows_are_refused(line):
    X, y = line
    for table, target, weight in (
        (X, y[:-1], None),
        (X[:0], y[:0], None),
        (X, np.where(y == y[3], np.nan, y), None),
        (X, y, np.zeros(len(y))),
        (X, y, np.ones(3)),
        (X, np.column_stack([y, y]), None),
    ):
        with pytest.raises(ValueError, match=r"NaN|rows|weight|samples|sample\(s\)|one-dimensional"):
            SGDRegressor().fit(table, target, sample_weight=weight)
    with pytest.raises(ValueError, match="'validation_fraction' parameter"):
        SGDRegressor(early_stopping=True).fit(X, y, sample_weight=np.arange(len(y)) == 0)
    with pytest.raises(ValueError, match="two classes"):
        SGDClassifier().fit(X, np.ones(len(y)))


@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("penalty", [None, "l1"])
def test_without_strong_convexity_the_gap_bounds_what_is_left_of_numbers(line, loss, penalty):
    X, y = line
    model = SGDRegressor(loss, penalty=penalty, alpha=0.05, random_state=0).fit(X, y)
    far = SGDRegressor(loss, penalty=penalty, alpha=0.05, random_state=0, tol=1e9).fit(X, y)
    strength = 0.05 if penalty else 0.0

    def objective(point):
        coef = point[:4] / X.std(axis=0)
        losses = model._loss().value(y, (X - X.mean(axis=0)) @ coef + point[4])
        return losses.mean() + strength * np.abs(coef).sum()

    start = np.append(model.coef_ * X.std(axis=0), model.intercept_ + X.mean(axis=0) @ model.coef_)
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    least = optimize.minimize(objective, start, method="Nelder-Mead", options=options).fun
    assert model.certificates_.holds
    assert objective(start) - least <= 0.011 * objective(start)
    for fit in (model, far):
        place = np.append(fit.coef_ * X.std(axis=0), fit.intercept_ + X.mean(axis=0) @ fit.coef_)
        assert objective(place) - least <= fit.dual_gap_ * objective(place) + 1e-9


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_hinge"])
def test_without_penalty_a_large_gradient_certifies_nothing(two, loss):
    X, y = two
    model = SGDClassifier(loss, penalty=None, random_state=0).fit(X, y)
    t, kind = 2 * y - 1, {"log_loss": Logistic(), "hinge": Hinge(), "squared_hinge": SquaredHinge()}[loss]

    def objective(point):
        return kind.margin_value(t * (X @ point[:3] + point[3])).mean()

    start = np.append(model.coef_[0], model.intercept_)
    least = optimize.minimize(objective, start, method="Nelder-Mead", options={"maxiter": 5000}).fun
    assert model.certificates_.holds
    assert objective(start) - least <= 0.011 * objective(start)
    worse = SGDClassifier(loss, penalty=None, random_state=0, tol=0.01, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        worse.set_params(eta0=1e-3).fit(X, y)
    assert not worse.certificates_.holds


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("penalty", [None, "l1", "l2"])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_hinge", "squared_error", "huber"])
def test_no_fit_that_is_visibly_above_the_minimum_holds(two, line, loss, penalty):
    """Descents stopped anywhere, by any step: what holds is within its tolerance, and the others are seen."""
    numbers = loss in ("squared_error", "huber")
    (X, y), kind = (line, SGDRegressor) if numbers else (two, SGDClassifier)
    options = {"penalty": penalty, "alpha": 0.01, "random_state": 0}
    rule, t = kind(loss, **options)._loss(), y if numbers else 2.0 * y - 1
    scale = X.std(axis=0)

    def objective(point):
        coef = point[:-1] / scale
        size = {None: 0.0, "l1": np.abs(coef).sum(), "l2": coef @ coef / 2}[penalty]
        return rule.value(t, (X - X.mean(axis=0)) @ coef + point[-1]).mean() + 0.01 * size

    def place(fit):
        coef = np.ravel(fit.coef_)
        return np.append(coef * scale, np.ravel(fit.intercept_) + X.mean(axis=0) @ coef)

    start = place(kind(loss, tol=1e-3, **options).fit(X, y))
    exact = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    least = optimize.minimize(objective, start, method="Nelder-Mead", options=exact).fun
    held = []
    for max_iter, eta0 in itertools.product((1, 2, 5, 1000), (1e-4, 1e-2, 1.0, 30.0)):
        fit = kind(loss, max_iter=max_iter, eta0=eta0, **options).fit(X, y)
        excess = objective(place(fit)) / least - 1
        held.append(fit.certificates_.holds)
        assert not (held[-1] and excess > 0.011), (max_iter, eta0, excess)
    assert any(held)
    assert not all(held)


@pytest.mark.parametrize("penalty", ["l2", None])
def test_a_perfect_fit_raises_no_alarm(rng, penalty):
    X = rng.standard_normal((600, 3))
    model = SGDRegressor(penalty=penalty, alpha=1e-8, random_state=0).fit(X, X @ [1.0, 2.0, 3.0] + 5)
    assert model.converged_
    assert model.certificates_.holds
    assert_allclose(model.coef_, [1.0, 2.0, 3.0], atol=0.05)


@pytest.mark.parametrize("name", ["coef_", "intercept_"])
def test_coefficients_that_the_descent_did_not_end_with_do_not_hold(two, line, name):
    for model, table in ((SGDClassifier(random_state=0), two), (SGDRegressor(random_state=0), line)):
        model.fit(*table)
        assert model.certify(*table).holds
        setattr(model, name, getattr(model, name) * 1.001)
        assert not model.certify(*table).holds


@pytest.mark.parametrize("kind", [SGDRegressor, HuberRegressor, QuantileRegressor])
def test_coefficients_beyond_their_precision_are_refused_in_a_sentence(kind, rng):
    X = rng.standard_normal((60, 2)).astype(np.float32)
    y = X[:, 0] + 1
    X[:, 0] *= np.float32(1e-40)
    options = {"penalty": None} if kind is SGDRegressor else {"alpha": 0.0}
    with pytest.raises(ValueError, match=r"coefficients of .* do not fit into float32"):
        kind(**options).fit(X, y.astype(np.float32))
