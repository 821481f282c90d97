"""Kernel logistic regression, any convex risk and the machines of a share on features of their kernel."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from assay.datasets import TwoMoons
from assay.kernel_machines import (
    KernelERM,
    KernelLogisticRegression,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    RandomFourierFeatures,
)
from assay.kernels import Sigmoid

SMOOTH = ["huber", "squared", "logistic", "squared_hinge", "exponential"]
CORNERED = ["absolute", "hinge", "epsilon_insensitive"]
LABELS = ("logistic", "hinge", "squared_hinge", "exponential")
MODELS = {
    "two classes": KernelLogisticRegression(C=5.0, gamma=1.0),
    "softmax": KernelLogisticRegression(C=5.0, gamma=1.0),
    "no intercept": KernelLogisticRegression(gamma=1.0, fit_intercept=False),
    "weighted classes": KernelLogisticRegression(gamma=1.0, class_weight="balanced"),
    **{loss: KernelERM(loss, gamma=1.0) for loss in SMOOTH + CORNERED},
    "ball, smooth": KernelERM("huber", gamma=1.0, constraint="ball", radius=1.0),
    "ball, corners": KernelERM("absolute", gamma=1.0, constraint="ball", radius=1.0),
    "nu classes": NuSVC(nu=0.3, gamma=1.0),
    "nu of three": NuSVC(nu=0.2, gamma=1.0),
    "nu tube": NuSVR(nu=0.4, gamma=1.0),
    "nu closed tube": NuSVR(nu=1.0, gamma=1.0),
    "one class": OneClassSVM(nu=0.2, gamma=1.0),
}
every = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def table():
    X, y = TwoMoons(noise_std=0.2).sample(180, random_state=0)
    return X, y, np.sin(2 * X[:, 0]) + 0.1 * np.cos(40 * X[:, 1])


def target_of(name, table):
    X, y, t = table
    if name in ("softmax", "nu of three"):
        return np.where(X[:, 0] > 1.0, 2, (y > 0).astype(int))
    if isinstance(MODELS[name], KernelERM):
        loss = MODELS[name].loss
        return np.where(y > 0, 1.0, -1.0) if loss in LABELS else t
    return t if isinstance(MODELS[name], NuSVR) else y


def on_features(name, approximation=None, **options):
    given = Nystroem(n_components=25, random_state=0) if approximation is None else approximation
    return copy.deepcopy(MODELS[name]).set_params(approximation=given, **options)


def scores(model, X):
    return model.predict(X) if isinstance(model, KernelERM | NuSVR) else model.decision_function(X)


def objective(model):
    return model.objective_ if hasattr(model, "objective_") else model.primal_value_


@every
def test_as_many_landmarks_as_rows_give_the_model_of_all_pairs(name, table):
    X, y = table[0], target_of(name, table)
    exact = copy.deepcopy(MODELS[name]).fit(X, y)
    model = on_features(name, Nystroem(n_components=len(X), random_state=0)).fit(X, y)
    assert model.converged_
    assert model.certificates_.holds
    assert model.certify(X, y).holds
    np.testing.assert_allclose(objective(model), objective(exact), rtol=1e-5)
    np.testing.assert_allclose(model.rkhs_norm_, exact.rkhs_norm_, rtol=1e-3)
    np.testing.assert_allclose(scores(model, X), scores(exact, X), atol=2e-3 * np.abs(scores(exact, X)).max())
    if hasattr(exact, "epsilon_"):
        assert model.epsilon_ == pytest.approx(exact.epsilon_, abs=1e-5)


@every
def test_the_minimum_over_fewer_functions_is_above_that_of_all(name, table):
    X, y = table[0], target_of(name, table)
    exact, model = copy.deepcopy(MODELS[name]).fit(X, y), on_features(name).fit(X, y)
    assert model.certify(X, y).holds
    if name not in ("nu classes", "nu of three", "nu tube") and "ball" not in name:  # other costs and tubes
        assert np.all(objective(model) >= objective(exact) - 1e-6 * np.abs(objective(exact)))
    if "ball" in name:
        assert model.constraint_active_
        assert model.rkhs_norm_ == pytest.approx(1.0, rel=1e-5)
        assert model.empirical_risk_ >= exact.empirical_risk_ * (1 - 1e-6)
    if hasattr(model, "error_share_"):
        tube = getattr(model, "epsilon_", 1.0) > 0
        assert np.all(model.error_share_ <= model.nu + 1e-9)
        assert np.all(model.support_share_ >= model.nu - 1e-7) or not tube


@every
def test_rows_of_a_file_or_a_cluster_give_the_model_of_memory(name, table, tmp_path, monkeypatch):
    dask_frame = pytest.importorskip("dask.dataframe")
    X, y = table[0], target_of(name, table)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    columns = frame[["a", "b"]]
    given = (frame, "y") if not isinstance(MODELS[name], OneClassSVM) else (columns, None)
    given[0].to_parquet(tmp_path / "rows.parquet")
    path = str(tmp_path / "rows.parquet")
    here, there = on_features(name).fit(X, y), on_features(name).fit(path, given[1])
    close = {"rtol": 1e-6, "atol": 1e-7 * np.abs(here.feature_coef_).max()}
    np.testing.assert_allclose(there.feature_coef_, here.feature_coef_, **close)
    assert there.certify(path, given[1]).holds
    np.testing.assert_allclose(scores(there, columns), scores(here, X), rtol=1e-5, atol=1e-6)
    cluster = dask_frame.from_pandas(given[0], npartitions=3)
    if getattr(here, "feature_dual_", None) is None:  # a number per row is kept here for corners
        lazy = on_features(name).fit(cluster, given[1])
        np.testing.assert_allclose(lazy.feature_coef_, here.feature_coef_, rtol=1e-5, atol=close["atol"])
    predicted = there.predict(cluster[["a", "b"]])
    assert hasattr(predicted, "compute")
    np.testing.assert_allclose(np.asarray(predicted.compute()), here.predict(X), atol=1e-6)
    # Features that are not held are made anew in every walk.
    monkeypatch.setattr("assay.kernel_machines.approximation.base.HELD", 0)
    again = on_features(name).fit(X, y)
    np.testing.assert_allclose(again.feature_coef_, here.feature_coef_, **close)


@every
def test_a_per_cent_of_damage_is_seen(name, table):
    X, y = table[0], target_of(name, table)
    model = on_features(name).fit(X, y)
    assert model.certify(X, y).holds
    stored = ["feature_coef_", "feature_dual_", "intercept_", "rkhs_norm_", "C_", "penalty_strength_"]
    stored += ["objective_", "dual_objective_", "empirical_risk_", "primal_value_", "dual_value_"]
    stored += ["margin_", "offset_", "epsilon_", "error_share_", "support_share_", "loss_value_"]
    seen = 0
    for attribute in stored:
        value = getattr(model, attribute, None)
        if value is None or not np.any(value):
            continue
        broken = copy.copy(model)
        setattr(broken, attribute, value * 1.01)
        assert not broken.certify(X, y).holds, attribute
        seen += 1
    assert seen >= 5
    broken = copy.copy(model)
    broken.features_ = copy.copy(model.features_)
    broken.features_.components_ = 1.01 * model.features_.components_
    assert not broken.certify(X, y).holds


@every
def test_weights_are_repetitions_and_single_precision_is_kept(name, table):
    X, y = table[0], target_of(name, table)
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    weight[5] = 0.0
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    landmarks = Nystroem(n_components=200, landmarks="pivoted_cholesky")  # all rows, however often
    weighted = on_features(name, landmarks).fit(X, y, sample_weight=weight)
    repeated = on_features(name, landmarks).fit(X[twice], y[twice])
    np.testing.assert_allclose(objective(weighted), objective(repeated), rtol=1e-5)
    assert weighted.certify(X, y, weight).holds
    single = on_features(name).fit(X.astype(np.float32), y)
    assert single.feature_coef_.dtype == np.float32
    assert scores(single, X.astype(np.float32)).dtype == np.float32
    assert single.certify(X.astype(np.float32), y).holds


def test_probabilities_and_random_frequencies(table):
    X, y, _ = table
    exact = KernelLogisticRegression(gamma=0.7).fit(X, y)
    frequencies = RandomFourierFeatures(n_components=400, random_state=0)
    model = KernelLogisticRegression(gamma=0.7, approximation=frequencies).fit(X, y)
    assert model.features_.kernel_.gamma == 0.7
    assert model.certify(X, y).holds
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=0.1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    three = target_of("softmax", table)
    several = KernelLogisticRegression(gamma=0.7, approximation=frequencies).fit(X, three)
    assert several.feature_coef_.shape == (3, 400)
    assert several.predict_proba(X).shape == (180, 3)
    assert several.certify(X, three).holds


def test_an_exact_fit_and_one_on_features_leave_nothing_of_each_other(table):
    X = table[0]
    for name in ("two classes", "huber", "one class", "nu tube"):
        y = target_of(name, table)
        model = copy.deepcopy(MODELS[name]).fit(X, y)
        assert hasattr(model, "dual_coef_")
        model.set_params(approximation=Nystroem(n_components=10, random_state=0)).fit(X, y)
        assert not hasattr(model, "dual_coef_")
        model.set_params(approximation=None).fit(X, y)
        assert not hasattr(model, "features_")
        assert model.certify(X, y).holds


def test_what_needs_all_pairs_is_refused_in_a_sentence(table, tmp_path):
    X, y, t = table
    path = str(tmp_path / "rows.parquet")
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(path)
    for model in (KernelLogisticRegression(), KernelERM(), NuSVC(), NuSVR(), OneClassSVM()):
        with pytest.raises(ValueError, match="give 'approximation'"):
            model.fit(path, "y")
    for penalty in ("l1", "l2"):
        with pytest.raises(ValueError, match="LogisticRegression with an l1 penalty on those of Nystroem"):
            KernelLogisticRegression(penalty=penalty, approximation=5).fit(X, y)
    with pytest.raises(ValueError, match="leave 'approximation' out"):
        KernelLogisticRegression(approximation=5).path(X, y)
    with pytest.raises(ValueError, match="above 0"):
        KernelLogisticRegression(approximation=5, penalty_strength=0.0).fit(X, y)
    for model in (KernelLogisticRegression(), KernelERM("logistic"), NuSVC(), OneClassSVM()):
        model.set_params(kernel="precomputed", approximation=5)
        with pytest.raises(ValueError, match="not a precomputed matrix"):
            model.fit(X @ X.T, np.where(y > 0, 1.0, -1.0))
    with pytest.raises(ValueError, match="at most twice the share of the smaller"):
        NuSVC(nu=1.0, approximation=5).fit(X, np.arange(180) < 20)
    with pytest.raises(ValueError, match="finds no margin between two classes"):
        NuSVC(nu=0.01, kernel="linear", approximation=2).fit(X, np.arange(180) % 2)
    with pytest.raises(ValueError, match="finds no half-space"):
        OneClassSVM(nu=0.5, kernel="linear", approximation=2).fit(np.vstack([X, -X]))
    with pytest.raises(ValueError, match="labels: y must hold"):
        KernelERM("logistic", approximation=5).fit(X, t)
    with pytest.raises(ValueError, match="all targets are alike"):
        KernelERM("logistic", approximation=5).fit(X, np.ones(180))
    with pytest.raises(ValueError, match="'approximation' parameter"):
        KernelERM(approximation=0).fit(X, t)


def test_a_share_is_met_where_its_sum_jumps():
    # With more rows at their corner than features the sum of |ν| jumps in the level that is looked for.
    X = np.repeat(np.linspace(-1, 1, 9), 10)[:, None]
    y = np.tile([-0.3, 0.3, 0.1, -0.1, 0.5, -0.5, 0.2, -0.2, 0.4, -0.4], 9)
    for nu in (0.15, 0.25, 0.35, 0.55):
        model = NuSVR(nu=nu, C=10.0, kernel="linear", approximation=1).fit(X, y)
        assert model.certify(X, y).holds
        assert np.abs(model.feature_dual_).sum() == pytest.approx(10 * nu * 90, rel=1e-9)
        assert model.error_share_[0] <= nu <= model.support_share_[0]
    # No row is outside: the width of the tube is that of its rows to the last digit, or the loss is not 0.
    assert NuSVR(nu=0.15, C=10.0, kernel="linear", approximation=1).fit(X, y).epsilon_ == 0.5


@pytest.mark.parametrize("name", ["two classes", "huber", "absolute", "nu classes", "nu tube", "one class"])
def test_bad_input_is_answered_or_refused_in_a_sentence(name, table):
    X, y = table[0][:40], target_of(name, table)[:40]
    twice = np.repeat(np.arange(20), 2)
    for rows, target in ((np.ones((40, 2)), y), (X[twice], y[twice]), (X * 1e-200, y)):
        if name == "nu classes" and np.ptp(rows) < 1e-100:
            with pytest.raises(ValueError, match="finds no margin"):
                on_features(name).fit(rows, target)
            continue
        assert on_features(name).fit(rows, target).certify(rows, target).holds
    pair = np.array([0, int(np.flatnonzero(y != y[0])[0])])
    assert on_features(name).fit(X[pair], y[pair]).certify(X[pair], y[pair]).holds
    table_of_zeros = sparse.csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X))
    dense, thin = on_features(name), on_features(name)
    dense.fit(table_of_zeros.toarray(), y)
    thin.fit(table_of_zeros, y)
    np.testing.assert_allclose(scores(thin, X), scores(dense, X), rtol=1e-6, atol=1e-8)
    for rows, words in (
        (np.where(np.arange(2) == 0, np.nan, X), "NaN"),
        (X[:0], "0 sample|minimum of 1|empty"),
        (X * 1e200, "overflow|too large|infinity|large"),
    ):
        if "large" in words:
            model = on_features(name, kernel="polynomial")
        else:
            model = on_features(name)
        with pytest.raises(ValueError, match=words):
            model.fit(rows, y[: len(rows)])
    with pytest.raises(ValueError, match="positive semi-definite"):
        on_features(name, kernel=Sigmoid(gamma=1.0, coef0=-1.0)).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        on_features(name).fit(X, y).predict(X[:, :1])
    with pytest.raises(ValueError, match="weight"):
        on_features(name).fit(X, y, sample_weight=np.zeros(40))


def test_a_class_whose_rows_weigh_nothing_has_next_to_no_probability(table):
    X, y = table[0], target_of("softmax", table)
    weight = np.where(y == 2, 0.0, 1.0)
    model = on_features("softmax").fit(X, y, sample_weight=weight)
    assert model.predict_proba(X)[:, 2].max() < 1e-10
    landmarks = Nystroem(n_components=400, random_state=0)
    weighted = on_features("softmax", landmarks).fit(X, y, sample_weight=weight)
    alone = KernelLogisticRegression(C=5.0, gamma=1.0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.predict_proba(X), alone.predict_proba(X), atol=1e-5)
    assert model.certify(X, y, weight).holds
    two = target_of("two classes", table)
    alone = on_features("two classes").fit(X, two, sample_weight=(two > 0).astype(float))
    assert np.all(alone.predict(X) == two.max())
    assert alone.intercept_[0] == pytest.approx(50.0)
    assert alone.certify(X, two, (two > 0).astype(float)).holds


def claim_of(certificates, quantity):
    (found,) = [claim for claim in certificates if claim.quantity == quantity]
    return found.value


def test_the_gap_of_the_share_is_that_of_its_problem(table):
    X = table[0]
    model = on_features("one class").fit(X)
    model.feature_coef_ = 1.05 * model.feature_coef_
    Z, w, alpha, rho = (
        model.features_.transform(X),
        model.feature_coef_[0],
        model.feature_dual_[0],
        float(model.offset_[0]),
    )
    primal = 0.5 * w @ w - model.nu * rho * len(X) + np.maximum(rho - Z @ w, 0).sum()
    dual = -0.5 * np.sum((Z.T @ alpha) ** 2)
    told = claim_of(model.certify(X), "relative duality gap of the share")
    assert told == pytest.approx((primal - dual) / abs(primal), rel=1e-5)
    y = target_of("nu tube", table)
    tube = on_features("nu tube", C=2.0).fit(X, y)
    tube.feature_coef_ = 1.05 * tube.feature_coef_
    Z, w, beta = tube.features_.transform(X), tube.feature_coef_[0], tube.feature_dual_[0]
    errors = np.maximum(np.abs(y - Z @ w - tube.intercept_[0]) - tube.epsilon_, 0)
    primal = 0.5 * w @ w + 2.0 * (tube.nu * tube.epsilon_ * len(X) + errors.sum())
    dual = beta @ y - 0.5 * np.sum((Z.T @ beta) ** 2)
    told = claim_of(tube.certify(X, y), "relative duality gap of the share")
    assert told == pytest.approx((primal - dual) / primal, rel=1e-5)


@pytest.mark.parametrize("name", ["two classes", "logistic", "softmax", "exponential"])
def test_slopes_that_do_not_balance_are_told(name, table):
    X, y = table[0], target_of(name, table)
    model = on_features(name).fit(X, y)
    moved = copy.copy(model)
    moved.feature_coef_ = 1.05 * model.feature_coef_
    assert claim_of(model.certify(X, y), "KKT residual") < 1e-4
    assert claim_of(moved.certify(X, y), "KKT residual") > 1e-3
    lifted = copy.copy(model)
    lifted.intercept_ = model.intercept_ + (0.05 if name != "softmax" else np.array([0.1, -0.05, -0.05]))
    assert claim_of(model.certify(X, y), "relative sum of slopes") < 1e-4
    assert claim_of(lifted.certify(X, y), "relative sum of slopes") > 1e-3


@pytest.mark.parametrize("name", ["two classes", "softmax", "exponential", "hinge", "nu tube", "one class"])
def test_a_fit_that_was_stopped_says_so(name, table):
    X, y = table[0], target_of(name, table)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = on_features(name, max_iter=1).fit(X, y)
    assert not model.converged_
    assert not model.certificates_.holds


def test_pictures_need_no_training_rows(table):
    X = table[0]
    for name in ("two classes", "huber", "nu classes", "nu tube", "one class"):
        y = target_of(name, table)
        model = on_features(name).fit(X, y)
        assert model.plot(X, y).get_title()
        with pytest.raises(ValueError, match="is one on features"):
            model.plot(X, y, kind="weights")
