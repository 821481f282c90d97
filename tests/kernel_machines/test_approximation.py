"""Machines on features of their kernel: what they minimise, where their rows may be, what proves them."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from assay.datasets import TwoMoons
from assay.display import MachineValuesDisplay, MarginDisplay
from assay.kernel_machines import SVC, SVR, KernelQuantileRegressor, Nystroem, RandomFourierFeatures
from assay.kernels import Gaussian

DAMAGED = [
    "feature_coef_",
    "feature_dual_",
    "intercept_",
    "rkhs_norm_",
    "margin_",
    "primal_value_",
    "dual_value_",
]
DAMAGED += ["loss_value_", "C_", "penalty_strength_"]
CLASSIFIERS = [SVC(C=2.0, gamma=1.0), SVC(C=2.0, gamma=1.0, loss="squared_hinge")]
REGRESSORS = [SVR(C=2.0, gamma=1.0), KernelQuantileRegressor(quantile=0.7, C=2.0, gamma=1.0)]
each_machine = pytest.mark.parametrize(
    "model", [*CLASSIFIERS, *REGRESSORS], ids=["hinge", "squared", "tube", "quantile"]
)


@pytest.fixture(scope="module")
def table():
    X, y = TwoMoons(noise_std=0.2).sample(240, random_state=0)
    return X, y, np.sin(2 * X[:, 0]) + 0.1 * np.cos(40 * X[:, 1])


def with_features(model, approximation, **options):
    return copy.deepcopy(model).set_params(approximation=approximation, **options)


def target_of(model, table):
    return table[1] if isinstance(model, SVC) else table[2]


@each_machine
def test_as_many_landmarks_as_rows_give_the_machine_of_all_pairs(model, table):
    X, y = table[0], target_of(model, table)
    exact = copy.deepcopy(model).fit(X, y)
    machine = with_features(model, Nystroem(n_components=len(X), random_state=0)).fit(X, y)
    assert machine.certify(X, y).holds
    assert machine.primal_value_ == pytest.approx(exact.primal_value_, rel=1e-5)
    assert machine.rkhs_norm_ == pytest.approx(exact.rkhs_norm_, rel=1e-2)
    np.testing.assert_allclose(values(machine, X), values(exact, X), atol=2e-2)


def values(model, X):
    return model.decision_function(X) if isinstance(model, SVC) else model.predict(X)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_machine_is_the_best_of_the_functions_that_the_landmarks_span(table, loss):
    X, y, _ = table
    model = SVC(C=2.0, gamma=1.0, loss=loss, approximation=12, random_state=0).fit(X, y)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    landmarks = model.features_.components_
    K, across = Gaussian(1.0).gram(landmarks), Gaussian(1.0).cross(X, landmarks)
    power = 1 if loss == "hinge" else 2

    def objective(point):
        slack = np.maximum(0, 1 - sign * (across @ point[:-1] + point[-1]))
        return 0.5 * point[:-1] @ K @ point[:-1] + 2.0 * np.sum(slack**power)

    ours = np.append(model.features_.normalization_ @ model.feature_coef_[0], model.intercept_[0])
    assert objective(ours) == pytest.approx(model.primal_value_[0], rel=1e-8)
    for start in (ours, np.zeros(13)):
        least = optimize.minimize(objective, start, method="Powell", options={"maxfev": 4000}).fun
        assert model.primal_value_[0] <= least * (1 + 1e-6)
    exact = SVC(C=2.0, gamma=1.0, loss=loss).fit(X, y)
    assert model.primal_value_[0] >= exact.dual_value_[0]


@each_machine
def test_rows_of_a_file_or_a_cluster_give_the_machine_of_memory(model, table, tmp_path, monkeypatch):
    dask_frame = pytest.importorskip("dask.dataframe")
    X, y = table[0], target_of(model, table)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    frame.to_parquet(tmp_path / "rows.parquet")
    machine = with_features(model, Nystroem(n_components=20, random_state=0))
    here = copy.deepcopy(machine).fit(X, y)
    there = copy.deepcopy(machine).fit(str(tmp_path / "rows.parquet"), "y")
    np.testing.assert_allclose(there.feature_coef_, here.feature_coef_, rtol=1e-6, atol=1e-8)
    assert there.certify(str(tmp_path / "rows.parquet"), "y").holds
    np.testing.assert_allclose(values(there, frame[["a", "b"]]), values(here, X), rtol=1e-6, atol=1e-8)
    cluster = dask_frame.from_pandas(frame, npartitions=3)
    if getattr(model, "loss", "") == "squared_hinge":
        lazy = copy.deepcopy(machine).fit(cluster, "y")
        np.testing.assert_allclose(lazy.feature_coef_, here.feature_coef_, rtol=1e-5, atol=1e-7)
    predicted = there.predict(cluster[["a", "b"]])
    assert hasattr(predicted, "compute")
    np.testing.assert_allclose(np.asarray(predicted.compute()), here.predict(X), atol=1e-8)
    # Features that are not held are made anew in every walk.
    monkeypatch.setattr("assay.kernel_machines.approximation.base.HELD", 0)
    again = copy.deepcopy(machine).fit(X, y)
    np.testing.assert_allclose(again.feature_coef_, here.feature_coef_, rtol=1e-6, atol=1e-8)


def test_several_classes_weights_and_probabilities(table):
    X, y, _ = table
    three = np.where(X[:, 0] > 1.0, 2, (y > 0).astype(int))
    for options in ({}, {"multi_class": "ovr"}, {"class_weight": "balanced"}):
        exact = SVC(C=2.0, gamma=1.0, **options).fit(X, three)
        model = SVC(C=2.0, gamma=1.0, approximation=Nystroem(n_components=240, random_state=0), **options)
        assert model.fit(X, three).certify(X, three).holds
        assert model.feature_coef_.shape == (3, 240)
        assert np.mean(model.predict(X) == exact.predict(X)) > 0.99
        np.testing.assert_allclose(model.primal_value_, exact.primal_value_, rtol=1e-5)
    model = SVC(gamma=1.0, approximation=30, probability=True, random_state=0).fit(X, three)
    chosen = model.classes_[model.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(chosen, model.predict(X))
    weight = np.where(np.arange(240) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(240), weight.astype(int))
    features = Nystroem(Gaussian(1.0), n_components=240, random_state=0)
    weighted = SVC(gamma=1.0, approximation=features).fit(X, y, sample_weight=weight)
    repeated = SVC(gamma=1.0, approximation=features).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.primal_value_, repeated.primal_value_, rtol=1e-6)
    assert weighted.certify(X, y, weight).holds


def test_frequencies_take_the_kernel_of_the_machine(table):
    X, y, _ = table
    model = SVC(gamma=0.7, approximation=RandomFourierFeatures(n_components=300, random_state=0)).fit(X, y)
    assert model.features_.kernel_.gamma == 0.7
    assert model.certify(X, y).holds
    exact = SVC(gamma=0.7).fit(X, y)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.95
    polynomial = SVC(kernel="polynomial", approximation=RandomFourierFeatures())
    with pytest.raises(ValueError, match="draws the frequencies of the Gaussian or the Laplacian"):
        polynomial.fit(X, y)


@each_machine
@pytest.mark.parametrize("name", DAMAGED)
def test_a_per_cent_of_damage_is_seen(model, table, name):
    X, y = table[0], target_of(model, table)
    machine = with_features(model, Nystroem(n_components=25, random_state=0)).fit(X, y)
    assert machine.certify(X, y).holds
    if getattr(machine, name, None) is None:  # squares have no ν, regressions no margin
        return
    broken = copy.copy(machine)
    setattr(broken, name, getattr(machine, name) * 1.01)
    assert not broken.certify(X, y).holds


def test_a_fit_leaves_nothing_of_the_other_kind(table):
    X, y, _ = table
    model = SVC(gamma=1.0).fit(X, y)
    model.set_params(approximation=10, random_state=0).fit(X, y)
    assert not hasattr(model, "support_vectors_")
    model.set_params(approximation=None).fit(X, y)
    assert not hasattr(model, "features_")
    assert model.certify(X, y).holds


def test_what_needs_all_pairs_is_refused_in_a_sentence(table, tmp_path):
    X, y, t = table
    path = str(tmp_path / "rows.parquet")
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(path)
    with pytest.raises(
        ValueError, match="give 'approximation', or map the rows by Nystroem, and fit LinearSVC"
    ):
        SVC().fit(path, "y")
    with pytest.raises(ValueError, match="'probability'"):
        SVC(approximation=5, probability=True).fit(path, "y")
    with pytest.raises(ValueError, match="leave 'radius' and 'budget' out"):
        SVR(approximation=5, radius=1.0).fit(X, t)
    with pytest.raises(ValueError, match="not a precomputed matrix"):
        SVC(approximation=5, kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="leave 'approximation' out"):
        SVC(approximation=5).path(X, y)
    with pytest.raises(ValueError, match="machine of all pairs"):
        SVC(approximation=5, random_state=0).fit(X, y).certify(X, y, leave_one_out=True)
    with pytest.raises(ValueError, match="'approximation' parameter"):
        SVC(approximation=0).fit(X, y)
    chosen = SVC(approximation=20, random_state=0).select(X, y, Cs=[0.1, 1.0], gammas=[0.5, 1.0])
    assert chosen.model.features_.kernel_.gamma == chosen.best["gamma"]


def test_pictures_need_no_support_vectors(table):
    X, y, t = table
    model = SVC(gamma=1.0, approximation=10, random_state=0).fit(X, y)
    shown = MarginDisplay.from_estimator(model, X, y)
    assert shown.values.max() == pytest.approx(model.decision_function(X).max(), rel=0.5)
    assert len(shown.support) == 0
    assert MachineValuesDisplay.from_estimator(model, X, y).sets is None
    tube = SVR(gamma=1.0, approximation=10, random_state=0).fit(X[:, :1], t)
    assert tube.plot(X[:, :1], t, kind="tube").get_title().endswith("10 features")
    with pytest.raises(ValueError, match="one on features"):
        model.plot(X, y, kind="weights")
